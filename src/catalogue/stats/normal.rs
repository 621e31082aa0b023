//! The normal distribution, as far as bounds of several comparisons need it.

/// What a standard normal value exceeds with this probability, at most one half: 1.96 for 0.025. By the expansion 26.2.23 of Abramowitz
/// and Stegun, Handbook of Mathematical Functions (1964), which is right to 0.00045.
pub fn normal_bound(probability: f64) -> f64 {
    let t = (-2.0 * probability.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_the_tables() {
        for (probability, expected) in [(0.05, 1.644_854), (0.025, 1.959_964), (0.001, 3.090_232), (0.000_01, 4.264_891)] {
            assert!((normal_bound(probability) - expected).abs() < 0.000_45, "{probability}");
        }
    }
}
