//! From which radius on tiles in workgroup memory pay.

use std::collections::BTreeMap;

use crate::experiments::common::prelude::*;
use crate::model::{Cache, Figure, NoFigure};
use crate::units;

pub(super) const TILING: &str = "algo/blur_tiling";

/// For each filter and picture: the smallest radius that was measured from which on `tiled` is faster than `naive`, each at the best of the
/// axes that a program may choose freely.
pub(super) fn derive(rows: &[Finished], choices: &[&str]) -> Vec<Derived> {
    let mut sweeps: BTreeMap<Point, BTreeMap<u64, Pair>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.cache == Cache::Warm) {
        let problem = row.point.without(choices);
        let pair = sweeps.entry(problem.without(&["radius"])).or_default().entry(problem.integer("radius")).or_default();
        match row.variant.as_str() {
            "naive" => pair.naive.take_faster(row),
            "tiled" => pair.tiled.take_faster(row),
            _ => {}
        }
    }
    sweeps.into_iter().map(|(point, pairs)| told(point, &pairs)).collect()
}

/// The fastest rows of both variants at a radius.
#[derive(Default)]
struct Pair<'r> {
    naive: Fastest<'r>,
    tiled: Fastest<'r>,
}

#[derive(Default)]
struct Fastest<'r>(Option<&'r Finished>);

impl<'r> Fastest<'r> {
    fn take_faster(&mut self, row: &'r Finished) {
        if self.0.is_none_or(|fastest| row.time < fastest.time) {
            self.0 = Some(row);
        }
    }
}

/// Whether a row is faster than another for sure: by more than their intervals leave open.
fn is_faster(row: &Finished, than: &Finished) -> bool {
    let ends = |row: &Finished| row.interval.unwrap_or((row.time, row.time));
    ends(row).1 < ends(than).0
}

fn told(point: Point, pairs: &BTreeMap<u64, Pair>) -> Derived {
    let both: Vec<Compared> = pairs
        .iter()
        .filter_map(|(&radius, pair)| Some(Compared { radius, naive: pair.naive.0?, tiled: pair.tiled.0? }))
        .collect();
    let (figure, note) = match (overtaking(&both), both.last()) {
        (Some(since), _) => (Ok(figure(&both, since)), note(&both, since)),
        (None, Some(last)) => (
            Err(NoFigure::Unseen(format!(
                "at radius={}, the largest that was measured, tiled takes {}",
                last.radius,
                last.times()
            ))),
            String::new(),
        ),
        _ => (
            Err(NoFigure::TooFew("no radius was measured with both naive and tiled: run algo/blur:tiled as well".to_owned())),
            String::new(),
        ),
    };
    Derived { experiment: TILING, variant: "", point, metric: "radius", unit: "", better: "", figure, note }
}

struct Compared<'r> {
    radius: u64,
    naive: &'r Finished,
    tiled: &'r Finished,
}

impl Compared<'_> {
    fn times(&self) -> String {
        format!("{}, naive {}", units::time(self.tiled.time, None), units::time(self.naive.time, None))
    }
}

/// The first radius, by its place, from which on `tiled` is faster.
fn overtaking(both: &[Compared]) -> Option<usize> {
    let since = both.iter().rposition(|at| at.tiled.time >= at.naive.time).map_or(0, |last| last + 1);
    (since < both.len()).then_some(since)
}

/// Its interval: from the last radius where `naive` is faster for sure to the first one from which on `tiled` is.
#[expect(clippy::cast_precision_loss, reason = "radii are far below 2^53")]
fn figure(both: &[Compared], since: usize) -> Figure {
    let below = both[..since].iter().rfind(|at| is_faster(at.naive, at.tiled));
    let from = both.iter().rposition(|at| !is_faster(at.tiled, at.naive)).map_or(0, |last| last + 1);
    let interval = below.zip(both.get(from)).map(|(low, high)| (low.radius as f64, high.radius as f64));
    Figure { value: both[since].radius as f64, interval }
}

fn note(both: &[Compared], since: usize) -> String {
    let at = &both[since];
    let at = format!("at radius={} tiled takes {}", at.radius, at.times());
    match since.checked_sub(1).map(|below| &both[below]) {
        Some(below) => format!("{at}; at radius={} tiled takes {}", below.radius, below.times()),
        None => format!("{at}; no smaller radius was measured"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::point;

    fn row(variant: &str, radius: u64, local_size: u64, time: f64) -> Finished {
        Finished {
            variant: variant.to_owned(),
            point: point(&format!("local_size_x={local_size} radius={radius} image_size=64")),
            time,
            interval: Some((time - 1.0, time + 1.0)),
            ..Finished::default()
        }
    }

    /// Radii 1, 2, 4 ... with these times of `naive` and of `tiled`.
    fn with(times: &[(f64, f64)]) -> Derived {
        let rows: Vec<Finished> = times
            .iter()
            .enumerate()
            .flat_map(|(at, (naive, tiled))| [row("naive", 1 << at, 8, *naive), row("tiled", 1 << at, 8, *tiled)])
            .collect();
        let [told] = &derive(&rows, &["local_size_x"])[..] else { panic!("one picture") };
        told.clone()
    }

    #[test]
    fn the_radius_is_the_first_from_which_on_tiles_are_faster() {
        let told = with(&[(10.0, 20.0), (50.0, 40.0), (90.0, 91.0), (200.0, 50.0), (800.0, 90.0)]);
        assert_eq!(told.figure, Ok(Figure { value: 8.0, interval: Some((1.0, 8.0)) }), "at 2 for a while, at 4 nobody knows");
        assert_eq!(told.note, "at radius=8 tiled takes 50.0 ns, naive 200 ns; at radius=4 tiled takes 91.0 ns, naive 90.0 ns");
        assert_eq!(told.point.integer("image_size"), 64);
        let close = with(&[(10.0, 20.0), (50.0, 49.0), (90.0, 60.0)]);
        assert_eq!(close.figure, Ok(Figure { value: 2.0, interval: Some((1.0, 4.0)) }));
        assert_eq!(with(&[(10.0, 20.0), (50.0, 49.0)]).figure, Ok(Figure { value: 2.0, interval: None }));
    }

    #[test]
    fn never_and_always_are_told_as_such() {
        let always = with(&[(20.0, 10.0), (50.0, 40.0)]);
        assert_eq!(always.figure, Ok(Figure { value: 1.0, interval: None }));
        assert!(always.note.ends_with("no smaller radius was measured"), "{}", always.note);
        let never = with(&[(20.0, 30.0), (50.0, 50.5)]);
        assert!(matches!(&never.figure, Err(NoFigure::Unseen(why)) if why.contains("radius=2, the largest")), "{never:?}");
        let alone = derive(&[row("naive", 1, 8, 5.0)], &["local_size_x"]);
        assert!(alone[0].lacking().unwrap().contains("both naive and tiled"));
    }

    #[test]
    fn the_best_shapes_are_compared() {
        let rows = [row("naive", 1, 8, 50.0), row("naive", 1, 16, 10.0), row("tiled", 1, 8, 20.0), row("tiled", 1, 16, 60.0)];
        assert!(matches!(derive(&rows, &["local_size_x"])[0].figure, Err(NoFigure::Unseen(_))));
    }
}
