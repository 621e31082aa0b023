//! Statistics of samples: pure functions of `f64`, in whatever unit the values are.
//!
//! Values may come in any order and should be finite. A statistic of no values is NaN, which a row shows as an empty cell.

mod discoveries;
mod interval;
mod moderated;
mod normal;
mod outlying;
mod ratio;
mod student;

pub use discoveries::{largest_discovery, largest_sure};
pub use interval::{Interval, clustered_interval, median_interval, noise, student_t};
pub use moderated::Prior;
pub use normal::normal_bound;
pub use outlying::Bulk;
pub use ratio::{Ratio, Timed, common, reach};
pub use student::{quantile_of_t, two_sided_p, upper_p};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub min: f64,
    /// 5 % are below.
    pub p05: f64,
    pub median: f64,
    pub mean: f64,
    /// 95 % are below.
    pub p95: f64,
    pub max: f64,
    /// The median absolute deviation from the median, unscaled.
    pub mad: f64,
}

pub fn summary(samples: &[f64]) -> Summary {
    let sorted = sorted(samples);
    Summary {
        min: quantile_of_sorted(&sorted, 0.0),
        p05: quantile_of_sorted(&sorted, 0.05),
        median: quantile_of_sorted(&sorted, 0.5),
        mean: mean(&sorted),
        p95: quantile_of_sorted(&sorted, 0.95),
        max: quantile_of_sorted(&sorted, 1.0),
        mad: mad(&sorted),
    }
}

/// The median: the middle value, or the mean of the two middle ones.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The quantile at `p` (0 to 1), interpolated linearly between order statistics: type 7 of Hyndman and Fan, Sample Quantiles in
/// Statistical Packages, The American Statistician 50 (1996), the one that R, NumPy, pandas and DuckDB compute by default.
pub fn quantile(values: &[f64], p: f64) -> f64 {
    quantile_of_sorted(&sorted(values), p)
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 samples")]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The median absolute deviation from the median. Unscaled: times 1.4826 it estimates a normal distribution's standard deviation.
pub fn mad(values: &[f64]) -> f64 {
    let centre = median(values);
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&deviations)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 samples")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the rank lies between 0 and the last index")]
fn quantile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let rank = p.clamp(0.0, 1.0) * last as f64;
    let below = rank.floor() as usize;
    let (low, high) = (sorted[below], sorted[last.min(below + 1)]);
    low + (rank - rank.floor()) * (high - low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy_and_r() {
        // numpy.quantile([1, 2, 4, 8, 16], [0.05, 0.3, 0.5, 0.95])
        let values = [16.0, 1.0, 8.0, 2.0, 4.0];
        for (p, expected) in [(0.0, 1.0), (0.05, 1.2), (0.3, 2.4), (0.5, 4.0), (0.95, 14.4), (1.0, 16.0)] {
            assert!((quantile(&values, p) - expected).abs() < 1e-12, "p = {p}");
        }
        assert_eq!(median(&[1.0, 2.0, 3.0, 10.0]), 2.5);
    }

    #[test]
    fn the_deviation_is_not_scaled() {
        // The textbook's example: median 2, deviations 1 1 0 0 2 4 7.
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), 1.0);
    }

    #[test]
    fn one_value_is_its_own_summary_and_none_has_none() {
        let Summary { min, p05, median, mean, p95, max, mad } = summary(&[3.5]);
        assert_eq!([min, p05, median, mean, p95, max, mad], [3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 0.0]);
        assert!(summary(&[]).median.is_nan() && summary(&[]).mean.is_nan() && summary(&[]).mad.is_nan());
    }

    proptest! {
        #![proptest_config(crate::properties::config())]

        #[test]
        fn a_summary_is_ordered_and_lies_within_the_samples(samples in prop::collection::vec(0.0..1e9_f64, 1..60)) {
            let s = summary(&samples);
            prop_assert!(s.min <= s.p05 && s.p05 <= s.median && s.median <= s.p95 && s.p95 <= s.max);
            prop_assert!(s.min * (1.0 - 1e-12) <= s.mean && s.mean <= s.max * (1.0 + 1e-12));
            prop_assert!(s.mad <= s.max - s.min);
        }

        #[test]
        fn order_does_not_matter(samples in prop::collection::vec(0.0..1e9_f64, 1..60).prop_shuffle()) {
            prop_assert_eq!(summary(&samples), summary(&sorted(&samples)));
        }

        #[test]
        fn scaling_the_samples_scales_the_summary(samples in prop::collection::vec(1.0..1e9_f64, 1..60)) {
            // By a power of two, so that nothing is rounded.
            let (a, b) = (summary(&samples), summary(&samples.iter().map(|v| v * 4.0).collect::<Vec<_>>()));
            prop_assert_eq!((a.median * 4.0, a.p95 * 4.0, a.mean * 4.0, a.mad * 4.0), (b.median, b.p95, b.mean, b.mad));
        }
    }
}
