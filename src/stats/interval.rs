//! A confidence interval for the median that assumes nothing about the distribution but independence.

use super::sorted;

/// The coverage that an interval guarantees.
const CONFIDENCE: f64 = 0.95;

/// A confidence interval, in the unit of its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The interval that holds the median of the population with at least 95 % confidence: between the order statistics k and
/// n + 1 - k, for the largest k that gives the coverage. `None` for fewer than six values, where not even the range gives it.
///
/// The coverage of such a pair is 1 - 2 P(Bin(n, 1/2) <= k - 1) for any continuous distribution, and no less for any other:
/// David and Nagaraja, Order Statistics, 3rd edition (2003), section 7.1. Six values give minimum to maximum (96.9 %), nine the
/// 2nd to the 8th (96.1 %), thirteen the 3rd to the 11th (97.8 %), nineteen the 5th to the 15th (98.1 %).
///
/// ```
/// use lanescope::stats::{Interval, median_interval};
///
/// let rounds = [3.0, 1.0, 6.0, 2.0, 5.0, 4.0];
/// assert_eq!(median_interval(&rounds), Some(Interval { low: 1.0, high: 6.0 }));
/// assert_eq!(median_interval(&rounds[..5]), None);
/// ```
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let rank = rank(values.len())?;
    let sorted = sorted(values);
    Some(Interval { low: sorted[rank - 1], high: sorted[sorted.len() - rank] })
}

/// Half the interval over the median: 0.01 says "within 1 %". Not finite where the median is zero.
pub fn noise(interval: Interval, median: f64) -> f64 {
    (interval.high - interval.low) / 2.0 / median.abs()
}

/// The largest k whose pair of order statistics gives the coverage.
#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 values")]
fn rank(n: usize) -> Option<usize> {
    let allowed = (1.0 - CONFIDENCE) / 2.0;
    // ln P(Bin(n, 1/2) = 0); in logarithms, since 2^-n itself vanishes beyond n = 1074.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    let mut rank = None;
    for k in 1..=n.div_ceil(2) {
        below += log_term.exp();
        if below > allowed {
            break;
        }
        rank = Some(k);
        log_term += ((n + 1 - k) as f64 / k as f64).ln();
    }
    rank
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::median;

    /// The interval over 1, 2, ... n, which are their own ranks.
    fn ranks(n: u32) -> Option<(f64, f64)> {
        let values: Vec<f64> = (1..=n).map(f64::from).collect();
        median_interval(&values).map(|interval| (interval.low, interval.high))
    }

    #[test]
    fn ranks_are_those_of_the_binomial_tables() {
        assert!((0..6).all(|n| ranks(n).is_none()));
        assert_eq!(ranks(6), Some((1.0, 6.0)));
        assert_eq!(ranks(8), Some((1.0, 8.0)));
        assert_eq!(ranks(9), Some((2.0, 8.0)));
        assert_eq!(ranks(13), Some((3.0, 11.0)));
        assert_eq!(ranks(19), Some((5.0, 15.0)));
        // Normal approximation: n/2 - 0.98 sqrt(n), and 2^-n vanishes in f64.
        assert_eq!(ranks(2000), Some((956.0, 1045.0)));
    }

    #[test]
    fn noise_is_half_the_width_over_the_median() {
        assert_eq!(noise(Interval { low: 95.0, high: 115.0 }, 100.0), 0.1);
        assert!(!noise(Interval { low: 0.0, high: 0.0 }, 0.0).is_finite());
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_sample_median(values in prop::collection::vec(0.0..1e9_f64, 6..80)) {
            let interval = median_interval(&values).unwrap();
            prop_assert!(interval.low <= median(&values) && median(&values) <= interval.high);
        }

        #[test]
        fn order_does_not_matter(values in prop::collection::vec(0.0..1e9_f64, 6..80).prop_shuffle()) {
            prop_assert_eq!(median_interval(&values), median_interval(&sorted(&values)));
        }

        #[test]
        fn noise_has_no_unit(values in prop::collection::vec(1.0..1e9_f64, 6..80), exponent in -20..20_i32) {
            let of = |values: &[f64]| noise(median_interval(values).unwrap(), median(values));
            let scaled: Vec<f64> = values.iter().map(|v| v * 2_f64.powi(exponent)).collect();
            prop_assert_eq!(of(&values), of(&scaled));
        }
    }
}
