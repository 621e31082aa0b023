//! The core's clock over a run.

use super::chart::{Body, Chart, Curves, Datum, Line, Scale, Ticks};
use super::charts::Picture;
use super::conclusion::{Conclusion, alike};
use super::figures::{is_doubted, tip_of};
use crate::model::CoreClocks;
use crate::record::{Record, round_clocks};

/// Fewer rows show no course.
const LEAST: usize = 8;
/// The most points of a line.
const MOST: usize = 400;
/// A clock that moves by less stands still.
const STEADY: f64 = 1.02;

/// The clock of each row of one source that has one, in MHz, by the row's number.
#[derive(Default)]
pub struct Clocks {
    rows: u32,
    points: Vec<Datum>,
}

impl Clocks {
    pub fn take(&mut self, record: &Record) {
        self.rows += 1;
        let rounds: Vec<f64> = round_clocks(&record.round_clocks_mhz).into_iter().flatten().map(CoreClocks::mean).collect();
        if rounds.is_empty() {
            return;
        }
        let (low, high) = ends(&rounds);
        let mean = rounds.iter().sum::<f64>() / rounds.len() as f64;
        let told = format!("{mean:.0} MHz, from {low:.0} to {high:.0} in its rounds");
        let tip = tip_of([record.case_name(), told, record.quality_flags.replace(';', ", ")]);
        let datum = Datum { x: self.rows.into(), y: mean, interval: Some((low, high)), is_doubted: is_doubted(record), tip };
        self.points.push(datum);
    }
}

fn ends(clocks: &[f64]) -> (f64, f64) {
    clocks.iter().fold((f64::INFINITY, 0.0), |(low, high), mhz| (low.min(*mhz), high.max(*mhz)))
}

/// The clocks of all sources that have some; nothing where there are too few.
pub fn picture(all: Vec<Clocks>, labels: &[&str]) -> Option<Picture> {
    let known: Vec<(usize, Clocks)> = all.into_iter().enumerate().filter(|(_, clocks)| clocks.points.len() >= LEAST).collect();
    if known.is_empty() {
        return None;
    }
    let sources = known.iter().map(|(source, _)| *source).collect();
    let clocks: Vec<f64> = known.iter().flat_map(|(_, clocks)| &clocks.points).map(|datum| datum.y).collect();
    let line = |(source, Clocks { points, .. }): (usize, Clocks)| Line {
        name: if labels.len() == 1 { String::new() } else { labels[source].to_owned() },
        points: points.iter().step_by(points.len().div_ceil(MOST)).cloned().collect(),
    };
    let scale = |label: &str| Scale { label: label.to_owned(), is_log: false, ticks: Ticks::Plain };
    let (x, y) = (scale("row, in the order of the plan"), scale("core clock, MHz"));
    let lines = known.into_iter().map(line).collect();
    let curves = Curves { x, y, lines, marks: Vec::new(), expected: Vec::new() };
    let (low, high) = ends(&clocks);
    let text = if high <= STEADY * low { alike(high / low) } else { format!("from {low:.0} to {high:.0} MHz") };
    let chart = Chart { title: "The core's clock over the run".to_owned(), body: Body::Curves(curves) };
    Some(Picture { chart, sources, conclusion: Some(Conclusion { text, factor: 1.0, is_step: false }) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_told_row_by_row_where_enough_have_them() {
        let of = |count: u32, mhz: &dyn Fn(u32) -> u32| {
            let mut clocks = Clocks::default();
            for number in 0..count {
                clocks.take(&Record { round_clocks_mhz: format!("1:{}", mhz(number)), ..Record::new() });
            }
            picture(vec![clocks], &["a GPU"])
        };
        assert_eq!(of(7, &|_| 1980), None);
        let said = |picture: Option<Picture>| picture.unwrap().conclusion.unwrap().text;
        assert_eq!(said(of(10, &|_| 1980)), "within 1 %");
        let falling = of(10, &|number| 1980 - 50 * number).unwrap();
        let Body::Curves(curves) = &falling.chart.body else { panic!("{falling:?}") };
        assert_eq!((curves.lines[0].points.len(), curves.lines[0].points[9].x), (10, 10.0));
        assert_eq!(said(Some(falling)), "from 1530 to 1980 MHz");
    }
}
