//! How the values of axes go together in a space, and what follows for the variance that each axis explains.

use rayon::prelude::*;

use crate::tuning::space::Space;

/// Sweeps over the axes until weights, or components, no longer move.
pub(super) const SWEEPS: usize = 500;
/// A move that is none.
pub(super) const STILL: f64 = 1e-10;
/// The most axes whose shares are told: there are 2^12 sets of them.
const MOST_AXES: usize = 12;

pub(super) struct Joint {
    /// For each axis, in which share of the space it has each of its values.
    single: Vec<Vec<f64>>,
    /// For each axis and each one after it: in which share of the space they have each pair of values, by the first one's value.
    pairs: Vec<Vec<Vec<f64>>>,
}

impl Joint {
    /// Of those configurations of a space in which each of these axes has a value that is known. Nothing where the axes are too many.
    #[expect(clippy::cast_precision_loss, reason = "there are never 2^53 configurations")]
    pub fn where_known(space: &Space, axes: &[usize], is_known: impl Fn(usize, usize) -> bool) -> Option<Self> {
        if axes.len() > MOST_AXES {
            return None;
        }
        let values: Vec<usize> = axes.iter().map(|axis| space.axes()[*axis].values.len()).collect();
        let mut single: Vec<Vec<f64>> = values.iter().map(|values| vec![0.0; *values]).collect();
        let tables = |i: usize| values[i + 1..].iter().map(|other| vec![0.0; values[i] * other]).collect();
        let mut pairs: Vec<Vec<Vec<f64>>> = (0..axes.len()).map(tables).collect();
        let mut known = 0_usize;
        for configuration in 0..space.len() {
            let all = space.places(configuration);
            let places: Vec<usize> = axes.iter().map(|axis| all[*axis]).collect();
            if !axes.iter().zip(&places).all(|(axis, place)| is_known(*axis, *place)) {
                continue;
            }
            known += 1;
            for (i, own) in places.iter().enumerate() {
                single[i][*own] += 1.0;
                for ((table, other), values) in pairs[i].iter_mut().zip(&places[i + 1..]).zip(&values[i + 1..]) {
                    table[own * values + other] += 1.0;
                }
            }
        }
        let shares = single.iter_mut().chain(pairs.iter_mut().flatten()).flatten();
        shares.for_each(|share| *share /= known.max(1) as f64);
        Some(Self { single, pairs })
    }

    /// The mean of a component of another axis where an axis has each of its values.
    fn given(&self, own: usize, other: usize, component: &[f64]) -> Vec<f64> {
        let shares = &self.single[own];
        let mut sums = vec![0.0; shares.len()];
        if own < other {
            let rows = self.pairs[own][other - own - 1].chunks_exact(component.len());
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = row.iter().zip(component).map(|(share, value)| share * value).sum();
            }
        } else {
            let rows = self.pairs[other][own - other - 1].chunks_exact(shares.len());
            for (row, value) in rows.zip(component) {
                sums.iter_mut().zip(row).for_each(|(sum, share)| *sum += share * value);
            }
        }
        sums.iter().zip(shares).map(|(sum, share)| if *share > 0.0 { sum / share } else { 0.0 }).collect()
    }

    /// The mean over the space of the product of two components of an axis.
    fn product(&self, axis: usize, [one, other]: [&[f64]; 2]) -> f64 {
        self.single[axis].iter().zip(one.iter().zip(other)).map(|(share, (one, other))| share * one * other).sum()
    }

    /// The variance over the space that some axes explain of the sum of all components. `means` has for each axis the mean of that
    /// sum where it has each of its values, less the mean of all.
    fn explained(&self, axes: &[usize], means: &[Vec<f64>]) -> f64 {
        let mut own: Vec<Vec<f64>> = axes.iter().map(|axis| vec![0.0; means[*axis].len()]).collect();
        for _ in 0..SWEEPS {
            let mut moved: f64 = 0.0;
            for (at, axis) in axes.iter().enumerate() {
                let mut component = means[*axis].clone();
                for (other, values) in axes.iter().zip(&own).filter(|(other, _)| *other != axis) {
                    let taken = self.given(*axis, *other, values);
                    component.iter_mut().zip(taken).for_each(|(value, taken)| *value -= taken);
                }
                moved = component.iter().zip(&own[at]).fold(moved, |moved, (new, old)| moved.max((new - old).abs()));
                own[at] = component;
            }
            if moved < STILL {
                break;
            }
        }
        // What is explained by a fit that isn't the best is less, by the square of what that lacks: 2 <sum, fit> - <fit, fit>.
        let mut explained = 0.0;
        for (i, one) in axes.iter().zip(&own) {
            explained += 2.0 * self.product(*i, [&means[*i], one]) - self.product(*i, [one, one]);
            for (j, other) in axes.iter().zip(&own).filter(|(j, _)| *j != i) {
                explained -= self.product(*i, [&self.given(*i, *j, other), one]);
            }
        }
        explained.max(0.0)
    }

    /// What each axis adds to the variance over the space that axes explain of the sum of all components, on average over all orders
    /// in which they can be added; together that is all of it.
    pub fn shapley(&self, components: &[&[f64]]) -> Vec<f64> {
        let axes = components.len();
        let mean: f64 = (0..axes).map(|i| self.product(i, [components[i], &vec![1.0; components[i].len()]])).sum();
        let means = |axis: usize| {
            let mut means: Vec<f64> = components[axis].iter().map(|value| value - mean).collect();
            for other in (0..axes).filter(|other| *other != axis) {
                let given = self.given(axis, other, components[other]);
                means.iter_mut().zip(given).for_each(|(mean, given)| *mean += given);
            }
            means
        };
        let means: Vec<Vec<f64>> = (0..axes).map(means).collect();
        let chosen = |set: usize| (0..axes).filter(move |axis| (set >> axis) & 1 == 1);
        let sets = (0..1_usize << axes).into_par_iter();
        let explained: Vec<f64> = sets.map(|set| self.explained(&chosen(set).collect::<Vec<_>>(), &means)).collect();
        let added = |axis: usize| {
            let without = (0..explained.len()).filter(|set| (set >> axis) & 1 == 0);
            without.map(|set| share_of_orders(set.count_ones(), axes) * (explained[set | (1 << axis)] - explained[set])).sum()
        };
        (0..axes).map(added).collect()
    }
}

/// The share of all orders of so many axes in which a certain axis comes next after a certain set of so many others.
#[expect(clippy::cast_precision_loss, reason = "axes are few")]
fn share_of_orders(before: u32, axes: usize) -> f64 {
    // One over how many sets of that size the others have, and over the places that the axis may have.
    (0..before).fold(1.0 / axes as f64, |share, i| share * f64::from(i + 1) / (axes as f64 - 1.0 - f64::from(i)))
}
