//! The core's clock over a run.

use std::time::SystemTime;

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

/// When rows of one source were written, in seconds, and the clock that ran meanwhile, in MHz.
#[derive(Default)]
pub struct Clocks(Vec<(f64, Datum)>);

impl Clocks {
    pub fn take(&mut self, record: &Record) {
        let rounds: Vec<f64> = round_clocks(&record.round_clocks_mhz).into_iter().flatten().map(CoreClocks::mean).collect();
        let Ok(written) = humantime::parse_rfc3339(&record.written_at) else { return };
        let Ok(since) = written.duration_since(SystemTime::UNIX_EPOCH) else { return };
        if rounds.is_empty() {
            return;
        }
        let (low, high) = rounds.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), mhz| (low.min(*mhz), high.max(*mhz)));
        let mean = rounds.iter().sum::<f64>() / rounds.len() as f64;
        let told = format!("{mean:.0} MHz, from {low:.0} to {high:.0} in its rounds");
        let tip = tip_of([record.case_name(), told, record.quality_flags.replace(';', ", ")]);
        let datum = Datum { x: 0.0, y: mean, interval: Some((low, high)), is_doubted: is_doubted(record), tip };
        self.0.push((since.as_secs_f64(), datum));
    }
}

/// The clocks of all sources that have some, by the time since each began; nothing where there are too few.
pub fn picture(all: Vec<Clocks>, labels: &[&str]) -> Option<Picture> {
    let known = all.into_iter().enumerate().filter(|(_, clocks)| clocks.0.len() >= LEAST);
    let mut lines: Vec<(usize, Vec<(f64, Datum)>)> = known.map(|(source, clocks)| (source, clocks.0)).collect();
    if lines.is_empty() {
        return None;
    }
    let mut longest = 0.0_f64;
    for (_, points) in &mut lines {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let first = points[0].0;
        points.iter_mut().for_each(|(at, _)| *at -= first);
        longest = longest.max(points.last().map_or(0.0, |(at, _)| *at));
        let every = points.len().div_ceil(MOST);
        let thinned = std::mem::take(points).into_iter().step_by(every);
        *points = thinned.collect();
    }
    let (unit, name) = if longest > 600.0 { (60.0, "min") } else { (1.0, "s") };
    let is_one = labels.len() == 1;
    let sources = lines.iter().map(|(source, _)| *source).collect();
    let clocks: Vec<f64> = lines.iter().flat_map(|(_, points)| points).map(|(_, datum)| datum.y).collect();
    let line = |(source, points): (usize, Vec<(f64, Datum)>)| Line {
        name: if is_one { String::new() } else { labels[source].to_owned() },
        points: points.into_iter().map(|(at, datum)| Datum { x: at / unit, ..datum }).collect(),
    };
    let scale = |label: String| Scale { label, is_log: false, ticks: Ticks::Plain };
    let curves = Curves {
        x: scale(format!("time since its first row, {name}")),
        y: scale("core clock, MHz".to_owned()),
        lines: lines.into_iter().map(line).collect(),
        marks: Vec::new(),
        expected: Vec::new(),
    };
    let (low, high) = clocks.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), mhz| (low.min(*mhz), high.max(*mhz)));
    let text = if high <= STEADY * low { alike(high / low) } else { format!("from {low:.0} to {high:.0} MHz") };
    let chart = Chart { title: "The core's clock over the run".to_owned(), body: Body::Curves(curves) };
    Some(Picture { chart, sources, conclusion: Some(Conclusion { text, factor: 1.0, is_step: false }) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_told_over_time_where_enough_rows_have_them() {
        let of = |count: u32, mhz: &dyn Fn(u32) -> u32| {
            let mut clocks = Clocks::default();
            for number in 0..count {
                clocks.take(&Record {
                    written_at: format!("2026-01-01T00:00:{number:02}Z"),
                    round_clocks_mhz: format!("1:{}", mhz(number)),
                    ..Record::new()
                });
            }
            picture(vec![clocks], &["a GPU"])
        };
        assert_eq!(of(7, &|_| 1980), None);
        let said = |picture: Option<Picture>| picture.unwrap().conclusion.unwrap().text;
        assert_eq!(said(of(10, &|_| 1980)), "within 1 %");
        let falling = of(10, &|number| 1980 - 50 * number).unwrap();
        let Body::Curves(curves) = &falling.chart.body else { panic!("{falling:?}") };
        assert_eq!((curves.lines[0].points.len(), curves.lines[0].points[9].x), (10, 9.0));
        assert_eq!(said(Some(falling)), "from 1530 to 1980 MHz");
    }
}
