//! A confidence interval for the median that assumes nothing about the distribution but independence.

use std::collections::BTreeMap;

use super::{mean, median, sorted};

/// The coverage that an interval guarantees.
const CONFIDENCE: f64 = 0.95;

/// A confidence interval, in the unit of its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// The interval that holds the median of the population with at least 95 % confidence: between the order statistics k and
/// n + 1 - k, for the largest k that gives the coverage. `None` for fewer than six values, where not even the range gives it.
///
/// The coverage of such a pair is 1 - 2 P(Bin(n, 1/2) <= k - 1) for any continuous distribution, and no less for any other:
/// David and Nagaraja, Order Statistics, 3rd edition (2003), section 7.1. Six values give minimum to maximum (96.9 %), nine the
/// 2nd to the 8th (96.1 %), thirteen the 3rd to the 11th (97.8 %), nineteen the 5th to the 15th (98.1 %).
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let rank = rank(values.len())?;
    let sorted = sorted(values);
    Some(Interval { low: sorted[rank - 1], high: sorted[sorted.len() - rank] })
}

/// The fewest clusters that tell how much they differ. The interval of two would be nine times as wide as they lie apart.
const FEWEST_CLUSTERS: usize = 3;

/// The same for values that come in clusters, such as rounds in processes: values of one cluster share an error that the others
/// haven't got, which the values alone don't show. `clusters` tells for each value which it belongs to. From three clusters on,
/// the interval is widened to hold that of the clusters' medians as well: mean and standard error of these, by Student's t. Times
/// and rates differ by factors and can't fall below zero, so the logarithms of positive medians are taken for normal.
///
/// With fewer clusters it is [`median_interval`]: what lies between them isn't known.
pub fn clustered_interval(values: &[f64], clusters: &[u32]) -> Option<Interval> {
    let inner = median_interval(values)?;
    let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (value, cluster) in values.iter().zip(clusters) {
        groups.entry(*cluster).or_default().push(*value);
    }
    let medians: Vec<f64> = groups.values().map(|values| median(values)).collect();
    if medians.len() < FEWEST_CLUSTERS {
        return Some(inner);
    }
    let outer = if medians.iter().all(|median| *median > 0.0) {
        let logarithms: Vec<f64> = medians.iter().map(|median| median.ln()).collect();
        let Interval { low, high } = mean_interval(&logarithms);
        Interval { low: low.exp(), high: high.exp() }
    } else {
        mean_interval(&medians)
    };
    Some(Interval { low: inner.low.min(outer.low), high: inner.high.max(outer.high) })
}

/// The 95 % interval of the mean of normally distributed values, of which there are at least three.
#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 values")]
fn mean_interval(values: &[f64]) -> Interval {
    let (count, mean) = (values.len() as f64, mean(values));
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let half = student_t(values.len() - 1) * (squares / (count - 1.0) / count).sqrt();
    Interval { low: mean - half, high: mean + half }
}

/// The 97.5 % quantile of Student's t distribution with so many degrees of freedom, two at least: from the tables up to nine, beyond
/// by the expansion 26.7.5 of Abramowitz and Stegun, Handbook of Mathematical Functions (1964), which is right to 0.003 there.
#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 degrees")]
pub fn student_t(degrees: usize) -> f64 {
    const TABLE: [f64; 8] = [4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
    let (z, n): (f64, f64) = (1.959_964, degrees as f64);
    let first = (z.powi(3) + z) / (4.0 * n);
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n);
    TABLE.get(degrees.saturating_sub(2)).copied().unwrap_or(z + first + second)
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

    /// The interval over 1, 2, ... n, which are their own ranks.
    fn ranks(n: u32) -> Option<(f64, f64)> {
        let values: Vec<f64> = (1..=n).map(f64::from).collect();
        median_interval(&values).map(|interval| (interval.low, interval.high))
    }

    #[test]
    fn clusters_that_differ_widen_the_interval() {
        let alike = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0];
        let held = |clusters: &[u32], values: &[f64]| clustered_interval(values, clusters).unwrap();
        assert_eq!(held(&[1, 1, 2, 2, 3, 3], &alike), Interval { low: 1.0, high: 2.0 }, "all medians are 1.5");
        let apart = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0];
        // Of -1, 0 and 1: the standard deviation is 1.
        let half = 4.303 / 3.0_f64.sqrt();
        let doubling = [0.5, 0.5, 1.0, 1.0, 2.0, 2.0];
        let wide = held(&[1, 1, 2, 2, 3, 3], &doubling);
        assert!((wide.low * half.exp2() - 1.0).abs() < 1e-12 && (wide.high / half.exp2() - 1.0).abs() < 1e-12, "{wide:?}");
        let from_zero = [0.0, 0.0, 1.0, 1.0, 2.0, 2.0];
        let wide = held(&[1, 1, 2, 2, 3, 3], &from_zero);
        assert!((wide.low - (1.0 - half)).abs() < 1e-12 && (wide.high - (1.0 + half)).abs() < 1e-12, "{wide:?}");
        assert_eq!(held(&[1, 1, 1, 2, 2, 2], &apart), Interval { low: 1.0, high: 3.0 }, "two tell nothing");
        assert_eq!(held(&[7; 6], &apart), Interval { low: 1.0, high: 3.0 });
        assert_eq!(clustered_interval(&apart[..5], &[1, 1, 2, 2, 3]), None);
    }

    #[test]
    fn quantiles_of_students_t_are_those_of_the_tables() {
        for (degrees, quantile) in [(2, 4.303), (9, 2.262), (10, 2.228), (20, 2.086), (60, 2.000), (1000, 1.962)] {
            assert!((student_t(degrees) - quantile).abs() < 0.003, "{degrees}: {}", student_t(degrees));
        }
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
        #![proptest_config(crate::properties::config())]

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
