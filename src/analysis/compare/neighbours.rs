//! The core's clock beside what was measured at about the same time: a case that has another one makes it itself.

use std::collections::HashMap;

use super::core_clock::{ClockSource, ClockedRound};
use super::effect::{Matched, Row};
use super::observation::Observation;
use super::sides::{Run, Side};
use crate::model::BLOCK_CASES;
use crate::stats;

/// A case beside which the clock differs from that of its neighbours by a larger share, in most of its rounds, makes it do so. The steps
/// that the clock takes by itself last for minutes and fall on any case: none of 63 had so many of them in ten studies.
const OWN: f64 = 0.003;
const MOST: f64 = 0.8;
/// The same by the sentinel: of a row as a whole, which may have had more rounds at another step than its neighbours.
const OWN_BY_SENTINEL: f64 = 0.012;

/// Cases that were measured beside each other, of which the median tells the clock that isn't one's own.
const FEWEST: usize = 5;

/// What was measured at about the same time: in this round of one process of a run, in one block of its cases.
type Moment = (ClockSource, u64, usize, u32, usize);

/// What a case makes of the clock.
pub enum Apart {
    /// It makes it another one on one side than on the other, in words. What it loses by that is its own.
    Own(String),
    /// It may: in half of its rounds, by this as a logarithm.
    Doubtful(f64),
}

pub struct Neighbours<'s> {
    runs: [&'s [Run]; 2],
    /// The places in the plan of all rows of each run, in order.
    places: HashMap<u64, Vec<u32>>,
    /// The clock at each moment, as a logarithm. Where both sides are of one run, their rows are neighbours.
    clocks: HashMap<Moment, f64>,
}

impl<'s> Neighbours<'s> {
    pub fn new(sides: [&'s Side; 2]) -> Self {
        let mut new = Self { runs: sides.map(|side| side.runs.as_slice()), places: HashMap::new(), clocks: HashMap::new() };
        let rows = || sides.into_iter().enumerate().flat_map(|(place, side)| side.rows().map(move |row| (place, row)));
        for (side, row) in rows() {
            new.places.entry(new.runs[side][row.run].id).or_default().push(row.place);
        }
        new.places.values_mut().for_each(|places| places.sort_unstable());
        let mut clocks: HashMap<Moment, Vec<f64>> = HashMap::new();
        for (side, row) in rows() {
            for source in ClockSource::ALL {
                new.moments(side, row, source).for_each(|(moment, clock)| clocks.entry(moment).or_default().push(clock));
            }
        }
        clocks.retain(|_, clocks| clocks.len() >= FEWEST);
        new.clocks = clocks.into_iter().map(|(moment, clocks)| (moment, stats::median(&clocks))).collect();
        new
    }

    /// What a case makes of the clock on one side that it doesn't on the other.
    pub fn apart(&self, case: &Matched) -> Option<Apart> {
        let source = case.clock_source()?;
        let sides = [self.own(case, source, 0)?, self.own(case, source, 1)?];
        let [base, new] = sides.each_ref().map(|own| stats::median(own));
        let least = if source == ClockSource::Counters { OWN } else { OWN_BY_SENTINEL };
        if (new - base).abs() <= least {
            return None;
        }
        let is_own = |own: &Vec<f64>| stats::quantile(own, MOST) < -least || stats::quantile(own, 1.0 - MOST) > least;
        let words = |own: f64| format!("{} by {:.1} %", if own < 0.0 { "fall" } else { "rise" }, 100.0 * own.abs());
        let told = match sides.each_ref().map(is_own) {
            [true, true] => {
                format!("it makes the core's clock {} on the base side, {} on the new one", words(base), words(new))
            }
            [true, false] => format!("on the base side it makes the core's clock {}", words(base)),
            [false, true] => format!("on the new side it makes the core's clock {}", words(new)),
            [false, false] => return Some(Apart::Doubtful(new - base)),
        };
        Some(Apart::Own(format!("{told}: nothing is taken out")))
    }

    /// How far the clock beside a case's rounds is from that beside its neighbours'. Nothing where it has too few.
    fn own(&self, case: &Matched, source: ClockSource, side: usize) -> Option<Vec<f64>> {
        let of_row = |row: Row| {
            let own = |(moment, clock)| Some(clock - self.clocks.get(&moment)?);
            self.moments(side, &row, source).filter_map(own).collect::<Vec<f64>>()
        };
        let all: Vec<f64> = case.rows(side).flat_map(of_row).collect();
        (!all.is_empty()).then_some(all)
    }

    /// The moments of a row's rounds, with the clock beside each.
    fn moments(&self, side: usize, row: &Observation, source: ClockSource) -> impl Iterator<Item = (Moment, f64)> {
        let run = self.runs[side][row.run].id;
        let block = self.places.get(&run).map_or(0, |places| places.partition_point(|place| *place < row.place) / BLOCK_CASES);
        let mut rounds_of: HashMap<u32, usize> = HashMap::new();
        let moment = |round: &ClockedRound| {
            let ordinal = rounds_of.entry(round.process).or_default();
            *ordinal += 1;
            ((source, run, block, round.process, *ordinal), round.clock())
        };
        let rounds = row.clocked_rounds(source);
        rounds.iter().flat_map(|rounds| rounds.iter()).map(moment).collect::<Vec<_>>().into_iter()
    }
}
