//! What is to be said against a measurement. Pure, so that every flag can be provoked.

use crate::model::Flag;

/// A sample below this many floors is flagged.
const NEAR_FLOORS: f64 = 20.0;

/// A pass below this many empty passes is flagged.
const LAUNCH_BOUND: f64 = 20.0;

/// What flags are judged by.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Half the interval over the median.
    pub noise: f64,
    /// What was asked for.
    pub max_noise: f64,
    /// Of a timed pass.
    pub pass: Option<Pass>,
}

/// Times of a pass, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// One pass.
    pub time: f64,
    /// Passes per sample.
    pub batch: u32,
    /// Two timestamps back to back.
    pub floor: f64,
    /// An empty pass in the same batch form; `None` where the pass is to do nothing but launch, or doesn't launch.
    pub empty_pass: Option<f64>,
}

/// The flags of a measurement, in the order in which a row has them.
pub fn flags(subject: &Subject) -> Vec<Flag> {
    let near_floor = |pass: &Pass| pass.time * f64::from(pass.batch) < NEAR_FLOORS * pass.floor;
    let launch_bound = |pass: &Pass| pass.empty_pass.is_some_and(|empty| pass.time < LAUNCH_BOUND * empty);
    [
        (Flag::NearFloor, subject.pass.as_ref().is_some_and(near_floor)),
        (Flag::LaunchBound, subject.pass.as_ref().is_some_and(launch_bound)),
        // Noise that is no number is no precision either.
        (Flag::Noisy, subject.noise.is_nan() || subject.noise > subject.max_noise),
    ]
    .into_iter()
    .filter_map(|(flag, raised)| raised.then_some(flag))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: Pass = Pass { time: 1000.0, batch: 64, floor: 500.0, empty_pass: Some(40.0) };

    fn flags_of(pass: Pass) -> Vec<Flag> {
        flags(&Subject { noise: 0.001, max_noise: 0.01, pass: Some(pass) })
    }

    #[test]
    fn each_flag_has_its_cause() {
        assert_eq!(flags_of(FINE), []);
        assert_eq!(flags_of(Pass { batch: 9, ..FINE }), [Flag::NearFloor]);
        assert_eq!(flags_of(Pass { empty_pass: Some(51.0), ..FINE }), [Flag::LaunchBound]);
        assert_eq!(flags_of(Pass { empty_pass: None, ..FINE }), []);
    }

    #[test]
    fn noise_is_flagged_when_it_is_too_much_or_no_number() {
        for (noise, flagged) in [(0.01, false), (0.011, true), (f64::NAN, true), (f64::INFINITY, true)] {
            let found = flags(&Subject { noise, max_noise: 0.01, pass: None });
            assert_eq!(found == [Flag::Noisy], flagged, "{noise}");
        }
    }
}
