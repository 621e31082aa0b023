//! Ladders: variants of one problem, from the first idea to a good one. What does the best of them gain over the first?

use std::collections::BTreeMap;

use crate::model::{Cache, Derived, Figure, Finished, NoFigure, Point};
use crate::units;

#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    pub experiment: &'static str,
    pub first: &'static str,
    /// The axes that a program may choose freely, such as the workgroup's size. All others are the problem.
    pub choices: &'static [&'static str],
}

impl Ladder {
    pub const NAME: &'static str = "algo/ladder";

    /// For each problem, how many times as fast the best of all rows is as the best of the first variant.
    pub fn derive(&self, rows: &[Finished]) -> Vec<Derived> {
        let mut problems: BTreeMap<Point, Vec<&Finished>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.cache == Cache::Warm) {
            problems.entry(row.point.without(self.choices)).or_default().push(row);
        }
        problems.into_iter().map(|(point, rows)| self.gain(point, &rows)).collect()
    }

    fn gain(&self, point: Point, rows: &[&Finished]) -> Derived {
        let fastest = |all: &mut dyn Iterator<Item = &Finished>| all.min_by(|a, b| a.time.total_cmp(&b.time)).cloned();
        let first = fastest(&mut rows.iter().copied().filter(|row| row.variant == self.first));
        let best = fastest(&mut rows.iter().copied());
        let is_one = rows.iter().all(|row| row.variant == self.first);
        let (figure, note) = match (first, best) {
            (Some(first), Some(best)) if !is_one => (Ok(ratio(&first, &best)), self.note(&first, &best, rows)),
            (None, _) => (
                Err(NoFigure::TooFew(format!("no row of the first variant: run {}:{} as well", self.experiment, self.first))),
                String::new(),
            ),
            _ => (
                Err(NoFigure::TooFew(format!(
                    "only {} was measured: its other variants were not chosen, or were skipped",
                    self.first
                ))),
                String::new(),
            ),
        };
        Derived {
            experiment: Self::NAME,
            variant: self.experiment,
            point,
            metric: "gain",
            unit: "ratio",
            better: "higher",
            figure,
            note,
        }
    }

    fn note(&self, first: &Finished, best: &Finished, rows: &[&Finished]) -> String {
        let choice = |row: &Finished| {
            let chosen = row.point.iter().filter(|(axis, _)| self.choices.contains(axis));
            let chosen: Vec<String> = chosen.map(|(axis, value)| format!("{axis}={value}")).collect();
            format!("{} {} ({})", row.variant, chosen.join(";"), units::time(row.time, None))
        };
        let is_tied = |row: &&&Finished| may_be_as_fast(row, best);
        let tied = rows.iter().filter(|row| row.case_id != best.case_id).filter(is_tied).count();
        let of_all = format!("the best of {} rows", rows.len());
        let of_all = if tied == 0 { of_all } else { format!("{of_all}, {tied} of them tied with it") };
        format!("{}, {of_all}, over {}", choice(best), choice(first))
    }
}

/// Whether what is known of two times leaves open that the first is no longer.
fn may_be_as_fast(row: &Finished, best: &Finished) -> bool {
    let [own, of_best] = [row, best].map(|row| row.interval.unwrap_or((row.time, row.time)));
    own.0 <= of_best.1
}

pub fn ratio(first: &Finished, best: &Finished) -> Figure {
    let (first_low, first_high) = first.rate_ends(1.0);
    let (best_low, best_high) = best.rate_ends(1.0);
    let is_known = first.interval.is_some() && best.interval.is_some();
    let value = first.time / best.time;
    // A row is as fast as itself.
    let interval = if first.case_id == best.case_id { (1.0, 1.0) } else { (best_low / first_high, best_high / first_low) };
    Figure { value, interval: is_known.then_some(interval) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::point;

    const LADDER: Ladder = Ladder { experiment: "algo/example", first: "naive", choices: &["local_size_x"] };

    fn row(variant: &str, n: u64, local_size: u64, time: f64) -> Finished {
        Finished {
            variant: variant.to_owned(),
            point: point(&format!("local_size_x={local_size} n={n}")),
            case_id: format!("c{variant}{n}{local_size}"),
            time,
            interval: Some((time - 1.0, time + 1.0)),
            ..Finished::default()
        }
    }

    #[test]
    fn each_problem_has_its_best_rung() {
        let rows = [
            row("naive", 8, 32, 400.0),
            row("naive", 8, 64, 300.0),
            row("tiled", 8, 32, 100.0),
            row("tiled", 8, 64, 150.0),
            row("naive", 9, 32, 50.0),
            row("tiled", 9, 32, 60.0),
        ];
        let told = LADDER.derive(&rows);
        let [large, small] = &told[..] else { panic!("{told:?}") };
        let figure = large.figure.as_ref().unwrap();
        assert_eq!((large.variant, large.point.integer("n"), figure.value), ("algo/example", 8, 3.0));
        let (low, high) = figure.interval.unwrap();
        assert!((low - 299.0 / 101.0).abs() < 1e-9 && (high - 301.0 / 99.0).abs() < 1e-9, "{low} {high}");
        assert_eq!(large.note, "tiled local_size_x=32 (100 ns), the best of 4 rows, over naive local_size_x=64 (300 ns)");
        // Where the first rung is the best one, nothing is gained, and that is sure.
        assert_eq!(small.figure, Ok(Figure { value: 1.0, interval: Some((1.0, 1.0)) }));
    }

    #[test]
    fn a_ladder_needs_its_first_rung_and_another() {
        let lacking = |rows: &[Finished]| LADDER.derive(rows)[0].lacking().unwrap().to_owned();
        assert!(lacking(&[row("tiled", 8, 32, 1.0)]).contains("run algo/example:naive"));
        assert!(lacking(&[row("naive", 8, 32, 1.0)]).contains("only naive"));
        assert!(LADDER.derive(&[]).is_empty());
        let cold = Finished { cache: Cache::Cold, ..row("naive", 8, 32, 1.0) };
        assert!(LADDER.derive(&[cold]).is_empty());
    }
}
