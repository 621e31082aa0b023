//! How the values of axes go together in a space, and what follows for the variance that each axis explains.

use rayon::prelude::*;

use crate::tuning::space::Space;

/// Sweeps over the axes until weights, or components, no longer move.
pub(super) const SWEEPS: usize = 500;
/// A move that is none.
pub(super) const STILL: f64 = 1e-10;
/// The most axes whose shares are told: there are 2^12 sets of them.
const MOST_AXES: usize = 12;

/// For each pair of axes, in which share of a space the one has a value and the other has another.
pub(super) struct Joint {
    /// By the first axis and the second; then by the first one's value and the second one's.
    shares: Vec<Vec<Vec<f64>>>,
    values: Vec<usize>,
}

impl Joint {
    /// Of all configurations of a space.
    #[expect(clippy::cast_precision_loss, reason = "there are never 2^53 configurations")]
    pub fn of(space: &Space) -> Self {
        let values: Vec<usize> = space.axes().iter().map(|axis| axis.values.len()).collect();
        let tables = |own: &usize| values.iter().map(|other| vec![0.0; own * other]).collect();
        let mut shares: Vec<Vec<Vec<f64>>> = values.iter().map(tables).collect();
        for configuration in 0..space.len() {
            let places = space.places(configuration);
            for (tables, own) in shares.iter_mut().zip(&places) {
                for ((table, other), values) in tables.iter_mut().zip(&places).zip(&values) {
                    table[own * values + other] += 1.0 / space.len() as f64;
                }
            }
        }
        Self { shares, values }
    }

    /// The rows of a pair of axes: for each value of the one, in which share of the space the other has each of its values.
    fn rows(&self, own: usize, other: usize) -> impl Iterator<Item = &[f64]> {
        self.shares[own][other].chunks_exact(self.values[other])
    }

    /// The mean of a component of another axis where an axis has each of its values.
    fn given(&self, own: usize, other: usize, component: &[f64]) -> Vec<f64> {
        let mean = |row: &[f64]| {
            let share: f64 = row.iter().sum();
            let sum: f64 = row.iter().zip(component).map(|(share, value)| share * value).sum();
            if share > 0.0 { sum / share } else { 0.0 }
        };
        self.rows(own, other).map(mean).collect()
    }

    /// The mean over the space of the product of two axes' components.
    fn product(&self, [own, other]: [usize; 2], [first, second]: [&[f64]; 2]) -> f64 {
        let inner = |row: &[f64]| row.iter().zip(second).map(|(share, value)| share * value).sum::<f64>();
        self.rows(own, other).zip(first).map(|(row, value)| value * inner(row)).sum()
    }

    /// The variance over the space that some axes explain of the sum of all components, whose mean is 0.
    fn explained(&self, axes: &[usize], means: &[Vec<f64>]) -> f64 {
        let mut own: Vec<Vec<f64>> = axes.iter().map(|axis| vec![0.0; self.values[*axis]]).collect();
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
        let pairs = axes.iter().zip(&own).flat_map(|one| axes.iter().zip(&own).map(move |other| (one, other)));
        pairs.map(|((i, one), (j, other))| self.product([*i, *j], [one, other])).sum::<f64>().max(0.0)
    }

    /// What each of these axes adds to the variance over the space that axes explain of the sum of all components, on average over all
    /// orders in which they can be added; together that is all of it. Nothing where there are too many axes.
    pub fn shapley(&self, axes: &[usize], components: &[Vec<f64>]) -> Option<Vec<f64>> {
        if axes.len() > MOST_AXES {
            return None;
        }
        // By axis: the mean of the sum of all components where it has each of its values, less the mean of all.
        let mean: f64 = axes.iter().map(|&i| self.product([i, i], [&components[i], &vec![1.0; self.values[i]]])).sum();
        let means = |axis: usize| {
            let mut means = vec![-mean; self.values[axis]];
            for other in axes {
                let given = self.given(axis, *other, &components[*other]);
                means.iter_mut().zip(given).for_each(|(mean, given)| *mean += given);
            }
            means
        };
        let means: Vec<Vec<f64>> = (0..components.len()).map(means).collect();
        let chosen = |set: usize| axes.iter().enumerate().filter(move |(i, _)| (set >> i) & 1 == 1).map(|(_, axis)| *axis);
        let sets = (0..1_usize << axes.len()).into_par_iter();
        let explained: Vec<f64> = sets.map(|set| self.explained(&chosen(set).collect::<Vec<_>>(), &means)).collect();
        let mut added = vec![0.0; components.len()];
        for (i, axis) in axes.iter().enumerate() {
            for set in (0..explained.len()).filter(|set| (set >> i) & 1 == 0) {
                added[*axis] += share_of_orders(set.count_ones(), axes.len()) * (explained[set | (1 << i)] - explained[set]);
            }
        }
        Some(added)
    }
}

/// The share of all orders of so many axes in which a certain axis comes next after a certain set of so many others.
#[expect(clippy::cast_precision_loss, reason = "axes are few")]
fn share_of_orders(before: u32, axes: usize) -> f64 {
    // One over how many sets of that size the others have, and over the places that the axis may have.
    (0..before).fold(1.0 / axes as f64, |share, i| share * f64::from(i + 1) / (axes as f64 - 1.0 - f64::from(i)))
}
