//! Where most of a few values lie, and how far apart, whatever some of them are.

use super::{mad, median};

/// A normal distribution's standard deviation over its median absolute deviation.
const OF_MAD: f64 = 1.4826;

/// A value so many deviations from the centre tells nothing of most.
const BEYOND: f64 = 3.0;

/// The standard deviation of what is left of a normal distribution within that.
const LEFT: f64 = 0.9866;

/// How often what lies beyond is found anew; it hardly changes after five times.
const TRIES: usize = 10;

/// Most values, without those that lie far from them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bulk {
    pub centre: f64,
    /// A standard deviation.
    pub scale: f64,
    count: f64,
    /// Degrees of freedom of the scale. Half of those of a normal distribution: what is far away is found by the scale itself. By
    /// simulation (`benches/fleet.rs`), with these one in twenty of what is said to be outlying isn't.
    pub degrees: f64,
}

impl Bulk {
    /// Nothing where there are fewer than three values. No scale is below `least`: values that are told in steps may be equal.
    #[expect(clippy::cast_precision_loss, reason = "a few values")]
    pub fn of(values: &[f64], least: f64) -> Option<Self> {
        let count = values.len() as f64;
        if values.len() < 3 {
            return None;
        }
        let mut centre = median(values);
        // Of few values the median absolute deviation is too small.
        let mut scale = (OF_MAD * mad(values) * (1.0 + 1.2 / count)).max(least);
        for _ in 0..TRIES {
            let near: Vec<f64> = values.iter().copied().filter(|value| (value - centre).abs() <= BEYOND * scale).collect();
            if near.len() < 3 {
                break;
            }
            centre = median(&near);
            let mean = super::mean(&near);
            let squares: f64 = near.iter().map(|value| (value - mean).powi(2)).sum();
            let anew = ((squares / (near.len() as f64 - 1.0)).sqrt() / LEFT).max(least);
            if (anew - scale).abs() <= 1e-6 * scale {
                break;
            }
            scale = anew;
        }
        (scale > 0.0).then_some(Self { centre, scale, count, degrees: (count - 1.0) / 2.0 })
    }

    /// The chance of a value at least as far away, if it were one of them.
    pub fn p_value(&self, value: f64) -> f64 {
        let own = self.scale * (1.0 + 1.0 / self.count).sqrt();
        super::two_sided_p((value - self.centre) / own, self.degrees)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_far_away_moves_nothing() {
        let mut values: Vec<f64> = (0..20).map(|i| f64::from(i % 7)).collect();
        let before = Bulk::of(&values, 0.0).unwrap();
        values.extend([1000.0, -3000.0]);
        let after = Bulk::of(&values, 0.0).unwrap();
        assert!((after.centre - before.centre).abs() < 0.6 && (after.scale / before.scale - 1.0).abs() < 0.1, "{after:?}");
        assert!(after.p_value(1000.0) < 1e-6 && after.p_value(4.0) > 0.3, "{after:?}");
    }

    #[test]
    fn few_values_have_no_scale_and_equal_ones_the_least() {
        assert_eq!(Bulk::of(&[1.0, 2.0], 0.1), None);
        assert_eq!(Bulk::of(&[1.0, 1.0, 1.0, 1.0, 9.0], 0.0), None);
        let equal = Bulk::of(&[1.0, 1.0, 1.0, 1.0, 9.0], 0.1).unwrap();
        assert_eq!((equal.centre, equal.scale), (1.0, 0.1));
    }
}
