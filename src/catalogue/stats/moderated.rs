//! Variances of many alike things, each known by few values: what all of them show helps each.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};
use statrs::function::gamma::digamma;

/// Fewest variances that tell how variances are distributed.
const FEWEST: usize = 8;

/// More degrees of freedom than that aren't believed of things that are alike but not the same.
const MOST_DEGREES: f64 = 40.0;

/// A variance that is so unlikely among the others isn't one of them.
const STRANGER: f64 = 0.001;

/// How variances are distributed: scaled inverse chi-squared, with this scale and these degrees of freedom. Smyth, Linear Models and
/// Empirical Bayes Methods, Statistical Applications in Genetics and Molecular Biology 3 (2004), who compares many genes by few arrays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    pub variance: f64,
    /// How alike variances are, in degrees of freedom: none where the usual says nothing of a single one.
    pub degrees: f64,
}

impl Prior {
    /// Of estimates, each with its degrees of freedom: by the mean and the variance of their logarithms. Nothing where they are too few.
    pub fn of(estimates: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        let known =
            estimates.into_iter().filter(|(variance, degrees)| *variance > 0.0 && *degrees > 0.0 && degrees.is_finite());
        let (logs, errors): (Vec<f64>, Vec<f64>) =
            known.map(|(variance, degrees)| (variance.ln() - log_bias(degrees), trigamma(degrees / 2.0))).unzip();
        if logs.len() < FEWEST {
            return None;
        }
        let mean = super::mean(&logs);
        let spread = super::mean(&logs.iter().map(|log| (log - mean).powi(2)).collect::<Vec<_>>());
        let degrees = 2.0 * inverse_trigamma(spread - super::mean(&errors)).min(MOST_DEGREES / 2.0);
        Some(Self { variance: (mean + log_bias(degrees)).exp(), degrees })
    }

    /// What is known of one variance by its own estimate and by the others': the variance, and its degrees of freedom. One that is far
    /// larger than others stands by itself: it isn't made smaller by what it has nothing to do with.
    pub fn moderated(&self, variance: f64, degrees: f64) -> (f64, f64) {
        let is_stranger = FisherSnedecor::new(degrees, self.degrees)
            .is_ok_and(|alike| variance > self.variance && alike.sf(variance / self.variance) < STRANGER);
        if is_stranger {
            return (variance, degrees);
        }
        let both = degrees + self.degrees;
        ((degrees * variance + self.degrees * self.variance) / both, both)
    }
}

/// The mean of the logarithm of an estimate whose truth is one.
fn log_bias(degrees: f64) -> f64 {
    digamma(degrees / 2.0) - (degrees / 2.0).ln()
}

/// The second derivative of the logarithm of the gamma function: by its recurrence up to where the expansion 6.4.12 of Abramowitz and
/// Stegun, Handbook of Mathematical Functions (1964), is right to 1e-9.
fn trigamma(x: f64) -> f64 {
    let (mut sum, mut x) = (0.0, x);
    while x < 12.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    sum + 1.0 / x + square / 2.0 + square / x * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0))
}

/// Where the function above takes this value; infinite for none above zero.
fn inverse_trigamma(value: f64) -> f64 {
    if value <= 0.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (1e-6_f64, 1e6_f64);
    // It falls from 1e12 to 1e-6.
    for _ in 0..100 {
        let middle = (low * high).sqrt();
        if trigamma(middle) > value {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_those_of_the_tables() {
        let six = std::f64::consts::PI.powi(2) / 6.0;
        assert!((trigamma(1.0) - six).abs() < 1e-9 && (trigamma(0.5) - 3.0 * six).abs() < 1e-8);
        for x in [0.3, 2.0, 17.0, 400.0] {
            assert!((inverse_trigamma(trigamma(x)) / x - 1.0).abs() < 1e-6, "{x}");
        }
        assert_eq!(inverse_trigamma(-0.1), f64::INFINITY);
    }

    #[test]
    fn variances_that_are_alike_help_each_other() {
        // The quantiles of chi-squared over its five degrees: all truths are one.
        let estimates = [0.23, 0.37, 0.49, 0.61, 0.74, 0.87, 1.03, 1.21, 1.46, 1.85, 2.57].map(|variance| (variance, 5.0));
        let prior = Prior::of(estimates).unwrap();
        assert!((prior.variance - 1.0).abs() < 0.1 && prior.degrees > 30.0, "{prior:?}");
        let (variance, degrees) = prior.moderated(0.1, 5.0);
        assert!(variance > 0.8 && degrees > 35.0);
    }

    #[test]
    fn variances_that_differ_stand_by_themselves() {
        let estimates = (0..20).map(|i| (4_f64.powi(i - 10), 5.0));
        let prior = Prior::of(estimates).unwrap();
        assert!(prior.degrees < 1.0, "{prior:?}");
        let (variance, degrees) = prior.moderated(0.01, 5.0);
        assert!(variance < 0.2 && degrees < 6.0);
    }

    #[test]
    fn one_far_larger_than_the_others_is_not_made_smaller() {
        let prior = Prior { variance: 1.0, degrees: 40.0 };
        assert_eq!(prior.moderated(20.0, 5.0), (20.0, 5.0));
        assert!(prior.moderated(2.0, 5.0).0 < 1.2);
    }

    #[test]
    fn few_tell_nothing_of_others() {
        assert_eq!(Prior::of([(1.0, 5.0); 7]), None);
        assert_eq!(Prior::of([(0.0, 5.0); 20]), None);
        assert!(Prior::of([(1.0, 5.0); 8]).is_some());
    }
}
