//! What the inferences from sweeps along an axis have in common.

use std::collections::BTreeMap;

use crate::model::{Derived, Figure, Finished, NoFigure, Point};

/// The rows of each sweep along some axes, by what else they lie at. One empty sweep where there are no rows, so that what is drawn
/// from it can say so.
pub fn grouped<'r>(rows: impl IntoIterator<Item = &'r Finished>, along: &[&str]) -> BTreeMap<Point, Vec<&'r Finished>> {
    let mut sweeps: BTreeMap<Point, Vec<&Finished>> = BTreeMap::new();
    for row in rows {
        sweeps.entry(row.point.without(along)).or_default().push(row);
    }
    if sweeps.is_empty() {
        sweeps.insert(Point::default(), Vec::new());
    }
    sweeps
}

/// The figures of each sweep along an axis.
pub fn sweeps<'r>(rows: impl IntoIterator<Item = &'r Finished>, axis: &str) -> BTreeMap<Point, Vec<(u64, f64)>> {
    let figure = |row: &&Finished| (row.point.integer(axis), row.value);
    let figures = |rows: Vec<&Finished>| rows.iter().map(figure).collect();
    grouped(rows, &[axis]).into_iter().map(|(point, rows)| (point, figures(rows))).collect()
}

/// What the derived rows of a sweep share.
pub struct Telling<'t> {
    pub experiment: &'static str,
    pub point: &'t Point,
    pub note: &'t str,
}

impl Telling<'_> {
    /// The row of a variant, which tells a metric in a unit; which is better of two, or nothing.
    pub fn row(
        &self,
        variant: &'static str,
        [metric, unit, better]: [&'static str; 3],
        figure: Result<Figure, NoFigure>,
    ) -> Derived {
        let Self { experiment, point, note } = *self;
        Derived { experiment, variant, point: point.clone(), metric, unit, better, figure, note: note.to_owned() }
    }
}

/// What so many more numbers have to pay for, in twice the logarithm of a likelihood, before they are believed (Schwarz, Estimating
/// the dimension of a model, 1978).
pub fn price(numbers: f64, samples: usize) -> f64 {
    numbers * count(samples).ln()
}

#[expect(clippy::cast_precision_loss, reason = "a small number")]
pub fn count(n: usize) -> f64 {
    n as f64
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len())
}

/// The sum of the squared distances from the mean.
pub fn sum_of_squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Noise of which tests always see the same.
#[cfg(test)]
pub struct Noise(u64);

#[cfg(test)]
impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xD134_2543_DE82_EF95))
    }

    /// Uniform from 0 to 1, 1 left out.
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        f64::from(u32::try_from((z ^ (z >> 31)) >> 32).unwrap()) / (f64::from(u32::MAX) + 1.0)
    }

    /// Uniform from -1 to 1.
    pub fn uniform(&mut self) -> f64 {
        2.0 * self.share() - 1.0
    }

    /// Normal, with a standard deviation of 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.share()).cos()
    }
}
