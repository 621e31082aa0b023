//! Least squares: the curve that so many caches, one behind the other, make.

/// Exponents of the law by which a cache's share of hits falls beyond its capacity: 1 where what it holds is any part of the set,
/// about 2 where a walk in a cycle meets random replacement, and more the nearer the replacement is to taking the oldest line.
/// The small ones are close together: what a coarser choice left unexplained would look like a knee.
pub(super) const SHAPES: [f64; 11] = [1.0, 1.2, 1.4, 1.7, 2.0, 2.8, 4.0, 5.7, 8.0, 16.0, 32.0];

/// The end of a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// The binary logarithm of its capacity.
    pub(super) capacity: f64,
    /// One of the exponents, by its index.
    pub(super) shape: usize,
}

impl Step {
    /// The share of loads that miss the level, at the binary logarithm of a working set.
    pub(super) fn misses(self, set: f64) -> f64 {
        if set <= self.capacity { 0.0 } else { 1.0 - (SHAPES[self.shape] * (self.capacity - set)).exp2() }
    }
}

/// A measured latency.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// The binary logarithm of the working set.
    pub(super) set: f64,
    /// Nanoseconds.
    pub(super) latency: f64,
}

/// What fits best with given steps.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    /// In the order of their capacities.
    pub(super) steps: Vec<Step>,
    /// Nanoseconds of each level, the one behind the last step included.
    pub(super) latencies: Vec<f64>,
    /// The sum of the squares of the relative errors.
    pub(super) unexplained: f64,
    /// The variance of each latency, for errors of one: a factor for that of the relative errors.
    pub(super) variances: Vec<f64>,
}

impl Fit {
    /// The best latencies for some steps; nothing where they would have to fall from a level to the next.
    pub(super) fn of(mut steps: Vec<Step>, samples: &[Sample]) -> Option<Self> {
        steps.sort_by(|a, b| a.capacity.total_cmp(&b.capacity));
        // Relative errors: all is divided by what was measured, which becomes one.
        let column = |of: &dyn Fn(f64) -> f64| samples.iter().map(|sample| of(sample.set) / sample.latency).collect();
        let mut columns: Vec<Vec<f64>> = vec![column(&|_| 1.0)];
        columns.extend(steps.iter().map(|step| column(&|set| step.misses(set))));
        let Solution { inverse, factors: rises, unexplained } = solve(&columns)?;
        if !rises.iter().all(|rise| *rise > 0.0) {
            return None;
        }
        let latencies = (1..=rises.len()).map(|n| rises[..n].iter().sum()).collect();
        let variances = (1..=rises.len()).map(|n| inverse[..n].iter().flat_map(|row| &row[..n]).sum()).collect();
        Some(Self { steps, latencies, unexplained, variances })
    }

    /// The latency of a working set, by its binary logarithm.
    pub(super) fn latency(&self, set: f64) -> f64 {
        let rises = self.latencies.windows(2).map(|pair| pair[1] - pair[0]);
        self.latencies[0] + self.steps.iter().zip(rises).map(|(step, rise)| step.misses(set) * rise).sum::<f64>()
    }

    /// The sum of the squares of the relative errors of some samples alone.
    pub(super) fn squares(&self, samples: &[Sample]) -> f64 {
        samples.iter().map(|sample| (self.latency(sample.set) / sample.latency - 1.0).powi(2)).sum()
    }

    /// How much the latency rises at a step.
    pub(super) fn rise(&self, step: usize) -> f64 {
        self.latencies[step + 1] / self.latencies[step]
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The best factors of some columns whose sum should be one everywhere.
struct Solution {
    /// Of the normal equations' matrix.
    inverse: Vec<Vec<f64>>,
    factors: Vec<f64>,
    /// The sum of the squares of the errors.
    unexplained: f64,
}

fn solve(columns: &[Vec<f64>]) -> Option<Solution> {
    let normal = columns.iter().map(|a| columns.iter().map(|b| dot(a, b)).collect()).collect();
    let inverse = invert(normal)?;
    let right: Vec<f64> = columns.iter().map(|column| column.iter().sum()).collect();
    let factors: Vec<f64> = inverse.iter().map(|row| dot(row, &right)).collect();
    let mut errors = vec![1.0; columns[0].len()];
    for (column, factor) in columns.iter().zip(&factors) {
        errors.iter_mut().zip(column).for_each(|(error, x)| *error -= factor * x);
    }
    Some(Solution { inverse, factors, unexplained: dot(&errors, &errors) })
}

/// The inverse of a positive definite matrix, by Gauss and Jordan; nothing where it has none to speak of.
fn invert(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    let diagonal: Vec<f64> = (0..n).map(|i| matrix[i][i]).collect();
    for (i, row) in matrix.iter_mut().enumerate() {
        row.extend((0..n).map(|j| if i == j { 1.0 } else { 0.0 }));
    }
    for i in 0..n {
        let pivot = matrix[i][i];
        if pivot.is_nan() || pivot <= 1e-9 * diagonal[i] {
            return None;
        }
        matrix[i].iter_mut().for_each(|x| *x /= pivot);
        let row = matrix[i].clone();
        for (_, other) in matrix.iter_mut().enumerate().filter(|(j, _)| *j != i) {
            let factor = other[i];
            other.iter_mut().zip(&row).for_each(|(x, y)| *x -= factor * y);
        }
    }
    Some(matrix.into_iter().map(|row| row[n..].to_vec()).collect())
}

/// What a steady rise leaves unexplained, without any level: a + b x set^q with the best q, which is a straight line in
/// the logarithm for the smallest ones.
pub(super) fn unexplained_by_a_rise(samples: &[Sample]) -> f64 {
    // Scaled, so that large powers of large sets stay numbers.
    let largest = samples.iter().map(|sample| sample.set).fold(f64::NEG_INFINITY, f64::max);
    let unexplained = |power: f64| {
        let constant = samples.iter().map(|sample| 1.0 / sample.latency).collect();
        let rising = samples.iter().map(|sample| (power * (sample.set - largest)).exp2() / sample.latency).collect();
        solve(&[constant, rising]).map(|solution| solution.unexplained)
    };
    let powers = (-8..=40).filter(|q| *q != 0).map(|q| 0.05 * f64::from(q));
    powers.filter_map(unexplained).fold(f64::INFINITY, f64::min)
}
