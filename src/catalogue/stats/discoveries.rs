//! Which of many differences are real, where each has a chance to look so.

/// How many of the smallest of these p-values count as discoveries among so many tests, so that at most this share of them is false
/// on average: the step-up rule of Benjamini and Hochberg, Controlling the False Discovery Rate, Journal of the Royal Statistical
/// Society B 57 (1995). `tests` may be more than there are p-values: tests that were decided otherwise still had their chance.
#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 tests")]
pub fn largest_discovery(p_values: &[f64], tests: usize, rate: f64) -> Option<f64> {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let allowed = |rank: usize| rate * (rank + 1) as f64 / tests.max(sorted.len()) as f64;
    sorted.iter().enumerate().rev().find(|(rank, p)| **p <= allowed(*rank)).map(|(_, p)| *p)
}

/// The largest p-value of those that are sure, where the chance that any of these is false is to be this at most: Holm, Scandinavian
/// Journal of Statistics 6 (1979). `None` where none is.
pub fn largest_sure(p_values: &[f64], chance: f64) -> Option<f64> {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let is_sure = |(rank, p): &(usize, &f64)| **p <= chance / (sorted.len() - rank) as f64;
    sorted.iter().enumerate().take_while(is_sure).last().map(|(_, p)| *p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sure_ends_at_the_first_that_is_not() {
        assert_eq!(largest_sure(&[0.04, 0.001, 0.9, 0.02], 0.05), Some(0.001));
        assert_eq!(largest_sure(&[0.02, 0.001, 0.012], 0.05), Some(0.02));
        assert_eq!(largest_sure(&[0.04, 0.03], 0.05), None);
        assert_eq!(largest_sure(&[], 0.05), None);
    }

    #[test]
    fn a_larger_one_may_let_smaller_ones_pass() {
        // The fourth is above 4/6 of 5 %, but the fifth is below 5/6 of it.
        assert_eq!(largest_discovery(&[0.001, 0.035, 0.008, 0.02, 0.04, 0.9], 6, 0.05), Some(0.04));
        assert_eq!(largest_discovery(&[0.04, 0.9], 6, 0.05), None);
    }

    #[test]
    fn tests_that_were_decided_otherwise_count() {
        let p_values = [0.004, 0.02];
        assert_eq!(largest_discovery(&p_values, 2, 0.05), Some(0.02));
        assert_eq!(largest_discovery(&p_values, 10, 0.05), Some(0.004));
        assert_eq!(largest_discovery(&p_values, 100, 0.05), None);
        assert_eq!(largest_discovery(&[], 0, 0.05), None);
    }
}
