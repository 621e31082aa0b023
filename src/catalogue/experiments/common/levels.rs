//! Levels of a curve: where a cost that grows with a size is level, where it leaves one level for the next, and how sure that is.
//!
//! What fits a cache costs the same whatever its size; behind its capacity, the cost rises towards the next level's, by less and
//! less, whatever the replacement is. A capacity is thus where the curve bends upwards, and a level where it flattens behind such a
//! bend; a curve that only rises more steeply has none there. So the curve is cut where it clearly bends upwards, into as many
//! stretches as pay for themselves, each explained by a cost that leads to a level by the law of a cache's hits, or by a steady rise.
//! A stretch is told as a level if the first explains it clearly better, or if it doesn't rise.
//!
//! Curves are short, so that every way to cut one can be tried. An interval holds the figure of each way that explains the curve
//! about as well: everything else is fitted anew, and none of it is held.

mod curve;
mod cut;
mod piece;
#[cfg(test)]
mod tests;

use super::sweep::{Telling, count};
use crate::model::{Derived, Figure, Marks, NoFigure, Plot, Point};
use cut::Cuts;

/// The most levels that are told.
pub const MOST_LEVELS: usize = 5;

/// What is clear: three standard deviations.
const CLEARLY: f64 = 3.0;
/// What an interval reaches to: two of them.
const INTERVAL: f64 = 2.0;
/// A level costs at least so many times as much as the one before. Caches differ by more; side effects such as the end of a preload
/// and the first translations of addresses by a few percent.
const LEAST_RISE: f64 = 1.1;
/// What a stretch has to pay for: three numbers to fit, and its beginning, which counts three times, since it is looked for over all
/// samples (Ninomiya, Information criterion for Gaussian change-point model, 2005).
const NUMBERS: f64 = 6.0;
/// What a sample has to pay for that belongs to no stretch: for being whatever it is, and for which it is.
const ALONE: f64 = 2.0;

/// A number and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Estimate {
    /// The same times a factor.
    pub fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    /// The same of a rate instead of a cost.
    pub fn inverted(self) -> Self {
        Self { value: 1.0 / self.value, low: 1.0 / self.high, high: 1.0 / self.low }
    }

    pub fn figure(self) -> Figure {
        Figure { value: self.value, interval: Some((self.low, self.high)) }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The size up to which it reaches.
    pub capacity: Estimate,
    /// What it costs, or why that isn't known.
    pub cost: Result<Estimate, NoFigure>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The nearest first; one at least.
    pub levels: Vec<Level>,
    /// What the last level costs, which doesn't end, or why that isn't known.
    pub beyond: Result<Estimate, NoFigure>,
    /// What it rests on and how sure it is.
    pub note: String,
}

/// Infers levels from costs by size.
pub fn infer(curve: &[(u64, f64)]) -> Result<Finding, NoFigure> {
    let samples = curve::samples(curve)?;
    let cuts = Cuts::of(&samples);
    let cut = cuts.best();
    let levels = cut.levels();
    let Some(last) = levels.last() else {
        return Err("no levels seen: the curve nowhere rises from something level to something level".to_owned().into());
    };
    // What rises in between belongs to the level before.
    let owners = [0].into_iter().chain(levels.iter().copied());
    let told = owners.zip(&levels).map(|(own, next)| Level { capacity: cut.capacity(next - 1), cost: cut.cost(own) }).collect();
    let (sizes, left_out) = (curve.len(), curve.len() - samples.len());
    let note = format!(
        "from {sizes} sizes{}; the curve is {:.1} % from what explains it (root mean square)",
        if left_out > 0 { format!(", {left_out} of which stand alone and are left out") } else { String::new() },
        100.0 * cut.error()
    );
    Ok(Finding { levels: told, beyond: cut.cost(*last), note })
}

/// The names and units of derived rows that tell levels.
pub struct Names {
    pub experiment: &'static str,
    /// Variants: the number of levels; by level, what it holds and what it costs; what the last one costs.
    pub count: &'static str,
    pub capacities: [&'static str; MOST_LEVELS],
    pub costs: [&'static str; MOST_LEVELS],
    pub beyond: &'static str,
    /// What it costs: metric, unit and which is better, and how to get it from a cost.
    pub cost: [&'static str; 3],
    pub of_cost: fn(Estimate) -> Estimate,
}

impl Names {
    /// Figures over the size, with capacities marked.
    pub const fn plot(&'static self) -> Plot {
        let marks = Marks { experiment: self.experiment, variants: &self.capacities };
        Plot { marks: Some(marks), ..Plot::over("working_set_bytes") }
    }
}

/// The derived rows of a finding: at least the one that says how many levels there are, or why none is told.
pub fn derived(names: &Names, point: &Point, found: &Result<Finding, NoFigure>) -> Vec<Derived> {
    const LEVELS: [&str; 3] = ["levels", "levels", ""];
    let note = found.as_ref().map_or("", |finding| &finding.note);
    let telling = Telling { experiment: names.experiment, point, note };
    let finding = match found {
        Ok(finding) => finding,
        Err(why) => return vec![telling.row(names.count, LEVELS, Err(why.clone()))],
    };
    let cost = |variant, cost: &Result<Estimate, NoFigure>| {
        telling.row(variant, names.cost, cost.clone().map(|cost| (names.of_cost)(cost).figure()))
    };
    let levels = Figure { value: count(finding.levels.len()), interval: None };
    let mut rows = vec![telling.row(names.count, LEVELS, Ok(levels))];
    for ((level, capacity), variant) in finding.levels.iter().zip(names.capacities).zip(names.costs) {
        rows.push(telling.row(capacity, ["capacity", "B", ""], Ok(level.capacity.figure())));
        rows.push(cost(variant, &level.cost));
    }
    rows.push(cost(names.beyond, &finding.beyond));
    rows
}
