//! What each axis matters: over the whole space, and beside the best.

use std::collections::BTreeMap;

use serde::Serialize;

use super::joint::{Joint, STILL, SWEEPS};
use super::{Timing, Trial};
use crate::model::{AxisValue, Point};
use crate::stats::Ratio;
use crate::tuning::space::{Dimension, Space};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AxisEffect {
    pub axis: String,
    pub best: Option<AxisValue>,
    /// Its share in the variance of the time's logarithm, 0 to 1; the shares of all axes and what they do together are the whole.
    ///
    /// The additive model is fitted that comes nearest to the measured times. What an axis adds to the variance over the whole space
    /// that the model's axes explain, on average over all orders in which they can be added, is its share (Lindeman, Merenda and
    /// Gold, Introduction to Bivariate and Multivariate Analysis, 1980; Grömping, The American Statistician 61, 2007), less what as
    /// many values explain by chance. Axes that restrictions tie to each other share what each of them would explain. The fit weighs
    /// what was measured so that each value of each axis weighs what it does in the space: that mends how often a value was measured,
    /// not which company it was measured in, so that the share is a hint where a search left bad regions early. Failures don't count.
    /// Nothing where too few were measured to tell, all take the same, or there are more than 12 axes.
    pub share: Option<f64>,
    /// How many other values it could have beside the best's other values.
    pub others: usize,
    pub measured: usize,
    /// The other value that loses least (or, as a rough one may, gains), the best's other values kept.
    pub least: Option<Loss>,
    pub most: Option<Loss>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loss {
    pub value: AxisValue,
    pub ratio: Ratio,
}

/// What each axis matters, and the share of the variance that no sum over the axes explains.
pub(super) fn effects(space: &Space, trials: &[Trial], point: &Point, best: &Timing) -> (Vec<AxisEffect>, Option<f64>) {
    let outcomes: BTreeMap<usize, &Trial> =
        trials.iter().filter_map(|trial| Some((space.find(&trial.point)?, trial))).collect();
    let shares = Sample::of(space, &outcomes).and_then(|sample| sample.shares(space));
    let effect = |(i, axis): (usize, &Dimension)| {
        let share = shares.as_ref().map(|shares| shares.alone[i]);
        AxisEffect { share, ..beside_best(space, axis, &outcomes, point, best) }
    };
    (space.axes().iter().enumerate().map(effect).collect(), shares.as_ref().map(|shares| shares.together))
}

fn beside_best(
    space: &Space,
    axis: &Dimension,
    outcomes: &BTreeMap<usize, &Trial>,
    point: &Point,
    best: &Timing,
) -> AxisEffect {
    let own = point.get(&axis.name);
    let others = axis.values.iter().filter(|value| Some(*value) != own);
    let others: Vec<(&AxisValue, usize)> =
        others.filter_map(|value| Some((value, space.find(&point.with(&axis.name, value))?))).collect();
    let timed = others.iter().filter_map(|(value, configuration)| Some((*value, outcomes.get(configuration)?.timing()?)));
    let losses = timed.map(|(value, timing)| (value, timing.over(best)));
    let mut losses: Vec<Loss> = losses.map(|(value, ratio)| Loss { value: value.clone(), ratio }).collect();
    losses.sort_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value));
    AxisEffect {
        axis: axis.name.to_string(),
        best: own.cloned(),
        share: None,
        others: others.len(),
        measured: losses.len(),
        least: losses.first().cloned(),
        most: losses.last().cloned(),
    }
}

/// The most that one configuration weighs, times the mean: a value that was measured once must not decide alone.
const HEAVIEST: f64 = 20.0;

/// How many configurations there have to be for each of the additive model's parameters: with fewer, chance explains most.
const TOLD: f64 = 2.0;

struct Sample {
    places: Vec<Vec<usize>>,
    /// For each axis, its number of values, and how many of them were measured.
    values: Vec<usize>,
    measured_values: Vec<usize>,
    /// For each axis, what each value weighs in the space, as far as it was measured.
    targets: Vec<Vec<f64>>,
    logarithms: Vec<f64>,
    /// What each one stands for; together 1.
    weights: Vec<f64>,
}

struct Shares {
    alone: Vec<f64>,
    together: f64,
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 configurations")]
impl Sample {
    fn of(space: &Space, outcomes: &BTreeMap<usize, &Trial>) -> Option<Self> {
        let timed: Vec<(usize, f64)> =
            (outcomes.iter()).filter_map(|(configuration, trial)| Some((*configuration, trial.timing()?.time.ln()))).collect();
        if timed.len() < 2 {
            return None;
        }
        let axes = space.axes().len();
        let rows: Vec<Vec<usize>> = timed.iter().map(|(configuration, _)| space.places(*configuration)).collect();
        let places: Vec<Vec<usize>> = (0..axes).map(|axis| rows.iter().map(|row| row[axis]).collect()).collect();
        let values: Vec<usize> = space.axes().iter().map(|axis| axis.values.len()).collect();
        let weights = vec![1.0 / timed.len() as f64; timed.len()];
        let logarithms = timed.into_iter().map(|(_, logarithm)| logarithm).collect();
        let mut sample = Self { places, values, measured_values: Vec::new(), targets: targets(space), logarithms, weights };
        for axis in 0..axes {
            let counts = sample.sums(axis, |_| 1.0);
            sample.measured_values.push(counts.iter().filter(|count| **count > 0.0).count());
            let target = &mut sample.targets[axis];
            target.iter_mut().zip(&counts).filter(|(_, count)| **count == 0.0).for_each(|(target, _)| *target = 0.0);
            let reachable: f64 = target.iter().sum();
            target.iter_mut().for_each(|target| *target /= reachable);
        }
        if sample.logarithms.len() < space.len() {
            sample.rake();
        }
        Some(sample)
    }

    /// The sum of something over the configurations of each value of an axis.
    fn sums(&self, axis: usize, term: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.values[axis]];
        for (i, place) in self.places[axis].iter().enumerate() {
            sums[*place] += term(i);
        }
        sums
    }

    /// Weights by which each value of each axis weighs what it does in the space, as far as it was measured: iterative proportional
    /// fitting (Deming and Stephan, Annals of Mathematical Statistics 11, 1940), as surveys are weighted.
    fn rake(&mut self) {
        for _ in 0..SWEEPS {
            let mut moved: f64 = 0.0;
            for axis in 0..self.places.len() {
                let sums = self.sums(axis, |i| self.weights[i]);
                for (weight, place) in self.weights.iter_mut().zip(&self.places[axis]) {
                    let factor = self.targets[axis][*place] / sums[*place];
                    moved = moved.max((factor - 1.0).abs());
                    *weight *= factor;
                }
            }
            if moved < STILL {
                break;
            }
        }
        let most = HEAVIEST / self.weights.len() as f64;
        self.weights.iter_mut().for_each(|weight| *weight = weight.min(most));
        let total: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|weight| *weight /= total);
    }

    /// What each value of each axis adds to the logarithm, and what remains: the least squares are found by fitting one axis after
    /// the other to what the others leave (backfitting).
    fn components(&self) -> (Vec<Vec<f64>>, Vec<f64>) {
        let mean: f64 = self.logarithms.iter().zip(&self.weights).map(|(logarithm, weight)| weight * logarithm).sum();
        let mut rest: Vec<f64> = self.logarithms.iter().map(|logarithm| logarithm - mean).collect();
        let mut components: Vec<Vec<f64>> = self.values.iter().map(|values| vec![0.0; *values]).collect();
        for _ in 0..SWEEPS {
            let mut moved: f64 = 0.0;
            for (axis, component) in components.iter_mut().enumerate() {
                let (sums, weights) = (self.sums(axis, |i| self.weights[i] * rest[i]), self.sums(axis, |i| self.weights[i]));
                let steps: Vec<f64> =
                    sums.iter().zip(&weights).map(|(sum, weight)| if *weight > 0.0 { sum / weight } else { 0.0 }).collect();
                component.iter_mut().zip(&steps).for_each(|(component, step)| *component += step);
                rest.iter_mut().zip(&self.places[axis]).for_each(|(rest, place)| *rest -= steps[*place]);
                moved = steps.iter().fold(moved, |moved, step| moved.max(step.abs()));
            }
            if moved < STILL {
                break;
            }
        }
        (components, rest)
    }

    /// By how much an axis's component varies by chance, for a noise of 1: each value's mean is as sure as what it is drawn from is
    /// many.
    fn uncertainty(&self, axis: usize) -> f64 {
        let (sums, squares) = (self.sums(axis, |i| self.weights[i]), self.sums(axis, |i| self.weights[i].powi(2)));
        let terms = self.targets[axis].iter().zip(sums.iter().zip(&squares));
        terms.filter(|(target, _)| **target > 0.0).map(|(t, (sum, squares))| t * (1.0 - t) * squares / sum.powi(2)).sum()
    }

    fn shares(&self, space: &Space) -> Option<Shares> {
        let (components, rest) = self.components();
        let left: f64 = rest.iter().zip(&self.weights).map(|(rest, weight)| weight * rest * rest).sum();
        // Unequal weights tell as little as fewer equal ones (Kish, Survey Sampling, 1965).
        let effective = 1.0 / self.weights.iter().map(|weight| weight * weight).sum::<f64>();
        let parameters: f64 = 1.0 + self.measured_values.iter().map(|values| *values as f64 - 1.0).sum::<f64>();
        // Where all was measured, nothing is left to chance.
        let unmeasured = 1.0 - self.logarithms.len() as f64 / space.len() as f64;
        if unmeasured > 0.0 && effective < TOLD * parameters {
            return None;
        }
        let noise = if unmeasured > 0.0 { unmeasured * left / (1.0 - parameters / effective) } else { 0.0 };
        let varied: Vec<usize> = (0..components.len()).filter(|axis| self.measured_values[*axis] > 1).collect();
        // What was never measured weighs nothing.
        let joint = Joint::where_known(space, &varied, |axis, place| self.targets[axis][place] > 0.0)?;
        let added = joint.shapley(&varied.iter().map(|axis| components[*axis].as_slice()).collect::<Vec<_>>());
        let mut alone = vec![0.0; components.len()];
        for (axis, added) in varied.into_iter().zip(added) {
            alone[axis] = (added - noise * self.uncertainty(axis)).max(0.0);
        }
        let fitted: f64 = alone.iter().sum();
        let rest = left + noise * parameters / effective;
        // What rounding leaves of times that are all the same.
        if fitted + rest < 1e-18 {
            return None;
        }
        alone.iter_mut().for_each(|alone| *alone /= fitted + rest);
        Some(Shares { alone, together: rest / (fitted + rest) })
    }
}

/// For each axis, the share of the space's configurations that has each value.
#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 configurations")]
fn targets(space: &Space) -> Vec<Vec<f64>> {
    let mut targets: Vec<Vec<f64>> = space.axes().iter().map(|axis| vec![0.0; axis.values.len()]).collect();
    for configuration in 0..space.len() {
        for (target, place) in targets.iter_mut().zip(space.places(configuration)) {
            target[place] += 1.0 / space.len() as f64;
        }
    }
    targets
}
