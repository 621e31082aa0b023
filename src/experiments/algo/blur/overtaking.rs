//! From which radius on tiles in workgroup memory pay.

use std::collections::BTreeMap;

use crate::model::{Cache, Derived, Figure, Finished, Point, Untold};
use crate::units;

/// What it is told under.
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

/// Whether a row is faster than another, by more than their intervals leave open.
fn is_faster(row: &Finished, than: &Finished) -> bool {
    let ends = |row: &Finished| row.interval.unwrap_or((row.time, row.time));
    ends(row).1 < ends(than).0
}

fn told(point: Point, pairs: &BTreeMap<u64, Pair>) -> Derived {
    let both: Vec<(u64, &Finished, &Finished)> =
        pairs.iter().filter_map(|(radius, pair)| Some((*radius, pair.naive.0?, pair.tiled.0?))).collect();
    // From the largest radius down as long as it is faster.
    let since = both.iter().rposition(|(_, naive, tiled)| !is_faster(tiled, naive)).map_or(0, |last| last + 1);
    let (figure, note) = match (both.get(since), both.last()) {
        (Some((radius, naive, tiled)), _) => {
            let below = since.checked_sub(1).and_then(|below| both.get(below)).map(|(radius, ..)| *radius);
            let times = format!("{} against {}", units::time(tiled.time, None), units::time(naive.time, None));
            let note = match below {
                Some(below) => {
                    format!("at radius={radius} tiled takes {times} of naive; at radius={below} it isn't faster yet")
                }
                None => format!("at radius={radius}, the smallest that was measured, tiled takes {times} of naive already"),
            };
            (Ok(figure(*radius, below)), note)
        }
        (None, Some((radius, ..))) => (
            Err(Untold::Unseen(format!("at radius={radius}, the largest that was measured, tiled isn't faster than naive"))),
            String::new(),
        ),
        _ => (Err(Untold::TooFew("no radius was measured with both naive and tiled".to_owned())), String::new()),
    };
    Derived { experiment: TILING, variant: "", point, metric: "radius", unit: "", better: "", figure, note }
}

/// A radius, which is above the one below it.
#[expect(clippy::cast_precision_loss, reason = "radii are far below 2^53")]
fn figure(radius: u64, below: Option<u64>) -> Figure {
    Figure { value: radius as f64, interval: below.map(|below| (below as f64, radius as f64)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(variant: &str, radius: u64, local_size: u64, time: f64) -> Finished {
        let point = [("local_size_x", local_size), ("radius", radius), ("image_size", 64)];
        Finished {
            variant: variant.to_owned(),
            point: Point::new(point.map(|(axis, value)| (axis.into(), value.into()))),
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
        assert_eq!(told.figure, Ok(Figure { value: 8.0, interval: Some((4.0, 8.0)) }), "at 2 it isn't for good");
        assert!(told.note.contains("at radius=4 it isn't faster yet"), "{}", told.note);
        assert_eq!(told.point.integer("image_size"), 64);
    }

    #[test]
    fn never_and_always_are_told_as_such() {
        let always = with(&[(20.0, 10.0), (50.0, 40.0)]);
        assert_eq!(always.figure, Ok(Figure { value: 1.0, interval: None }));
        assert!(always.note.contains("the smallest that was measured"), "{}", always.note);
        let never = with(&[(20.0, 30.0), (50.0, 49.5)]);
        assert!(matches!(&never.figure, Err(Untold::Unseen(why)) if why.contains("radius=2, the largest")), "{never:?}");
        let alone = derive(&[row("naive", 1, 8, 5.0)], &["local_size_x"]);
        assert!(alone[0].lacking().unwrap().contains("both naive and tiled"));
    }

    #[test]
    fn the_best_shapes_are_compared() {
        let rows = [row("naive", 1, 8, 50.0), row("naive", 1, 16, 10.0), row("tiled", 1, 8, 20.0), row("tiled", 1, 16, 60.0)];
        assert!(matches!(derive(&rows, &["local_size_x"])[0].figure, Err(Untold::Unseen(_))));
    }
}
