//! Student's t distribution, for whole and other degrees of freedom.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Beyond, the distribution is the normal one as far as any figure here shows.
const MANY: f64 = 1e6;

/// The probability of a value that lies at least as far from zero as this one, on either side.
pub fn two_sided_p(t: f64, degrees: f64) -> f64 {
    (2.0 * upper_p(t.abs(), degrees)).min(1.0)
}

/// The probability of a value above this one. 1 for what is no number: nothing is shown by it.
pub fn upper_p(t: f64, degrees: f64) -> f64 {
    distribution(degrees).filter(|_| !t.is_nan()).map_or(1.0, |student| student.sf(t))
}

/// The value that a share of the distribution lies below: 2.57 for 0.975 and 5 degrees of freedom. Infinite without degrees.
pub fn quantile_of_t(share: f64, degrees: f64) -> f64 {
    distribution(degrees).map_or(f64::INFINITY, |student| student.inverse_cdf(share))
}

fn distribution(degrees: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, degrees.min(MANY)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (share, degrees, expected) in [
            (0.975, 2.0, 4.302_65),
            (0.975, 10.0, 2.228_14),
            (0.95, 4.0, 2.131_85),
            (0.999_95, 10.0, 6.211_1),
            (0.975, 1e9, 1.959_96),
        ] {
            let quantile = quantile_of_t(share, degrees);
            assert!((quantile / expected - 1.0).abs() < 1e-4, "{share} {degrees}: {quantile}");
        }
        // Between those of 4 and 5.
        assert!((quantile_of_t(0.975, 4.5) - 2.659).abs() < 0.01);
    }

    #[test]
    fn probabilities_are_those_of_the_quantiles() {
        for degrees in [1.5, 4.0, 12.7, 300.0] {
            for share in [0.9, 0.975, 0.9999] {
                assert!((upper_p(quantile_of_t(share, degrees), degrees) - (1.0 - share)).abs() < 1e-6);
            }
        }
        assert!((two_sided_p(2.570_58, 5.0) - 0.05).abs() < 1e-5 && two_sided_p(0.0, 5.0) == 1.0);
        assert!(two_sided_p(40.0, 30.0) > 0.0 && two_sided_p(40.0, 30.0) < 1e-20, "small ones are told apart from none");
    }

    #[test]
    fn what_tells_nothing_shows_nothing() {
        assert_eq!((upper_p(f64::NAN, 5.0), two_sided_p(9.0, 0.0), two_sided_p(f64::INFINITY, 5.0)), (1.0, 1.0, 0.0));
        assert_eq!(quantile_of_t(0.975, 0.0), f64::INFINITY);
    }
}
