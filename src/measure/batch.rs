//! How many passes a sample has. Pure, so that what flips can be shown.
//!
//! A sample takes a part beside its passes: two timestamps, the barriers around them, what the first pass waits for. It is constant,
//! whatever the batch. Two timestamps back to back take the floor; how much of that is hidden behind passes differs from device to
//! device, and is anything between nothing and all of it. So that no figure has an error that its interval doesn't hold:
//!
//! - Where a batch has [`DIFFERENCED_FROM`] passes or more, samples of a single pass are taken beside it, and the difference is that of
//!   passes alone, whatever the constant part is ([`constant`]). A single pass adds little to such a batch, neither time nor
//!   noise.
//! - With fewer passes a difference would be noisy and dear. There a sample lasts [`FLOORS_UNDIVIDED`] floors: the constant part is below
//!   0.1 % of it.
//! - What is left is in the interval ([`SampleOverhead`](super::SampleOverhead)): of samples that can't be as long, since a pass has to be reset or
//!   prepared before each, or the time doesn't suffice.
//!
//! A batch is one of few sizes, far apart, and by a floor that is rounded: a time near the border between two sizes chooses now this and
//! now that, so borders must be few. Where it happens the figure doesn't move, since the constant part is in neither.

use crate::units::Nanos;

/// From this batch on, a sample of a single pass is short beside one of the batch.
pub(super) const DIFFERENCED_FROM: u32 = 8;

/// The sizes of a batch. Where the constant part is taken off, a sample may be four times as long as it has to be: it has fewer borders.
/// The largest is one where a pass is all launch.
pub(super) const STEPS: [u32; 8] = [1, 2, 4, DIFFERENCED_FROM, 32, 128, 512, 2048];

/// By how many floors the constant part differs from one at most. A sample lasts many more.
const DISTURBED_FLOORS: f64 = 9.0;

/// How many floors a sample lasts at least where the constant part is taken off: many enough for the timer's own scatter to be small.
const FLOORS_PER_SAMPLE: f64 = 50.0;

/// How many floors it lasts where that isn't, and the time suffices; and where it doesn't.
const FLOORS_UNDIVIDED: f64 = 1000.0;
const FLOORS_IN_HASTE: f64 = 100.0;

/// A batch grows by this factor at most before it is looked at again: a time near the floor says little.
const GROWTH: u32 = 32;

/// How long samples should be, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// Of a batch whose constant part is taken off.
    differenced: f64,
    /// Of a smaller one, at least and better.
    undivided: f64,
    better: f64,
    /// What no sample may exceed, and what none is lengthened to for the sake of the better one.
    most: f64,
    longest: f64,
}

/// What is known about a pass, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassTime {
    pub(super) timed: f64,
    /// As it takes of the case's time: more where a part of that isn't timed.
    pub(super) spent: f64,
}

impl Target {
    /// For samples by a timer with this floor.
    pub(super) fn of_floor(floor: Nanos, most: f64, longest: f64) -> Self {
        let floor = rounded(floor);
        Self {
            differenced: FLOORS_PER_SAMPLE * floor,
            undivided: FLOORS_IN_HASTE * floor,
            better: FLOORS_UNDIVIDED * floor,
            most,
            longest,
        }
    }

    /// For samples of which every part belongs to what is measured.
    pub(super) fn whole(time: Nanos, most: f64) -> Self {
        Self { differenced: time.0, undivided: time.0, better: 0.0, most, longest: 0.0 }
    }

    /// The batch to go on with after one of this size, of which a pass took so long; the same where that is right.
    pub(super) fn next(&self, batch: u32, pass: PassTime) -> u32 {
        self.best(pass).clamp(batch, batch.saturating_mul(GROWTH))
    }

    fn best(&self, pass: PassTime) -> u32 {
        let lasts = |batch: u32, least: f64| f64::from(batch) * pass.timed >= least;
        let is_enough = |batch: u32| lasts(batch, if is_differenced(batch) { self.differenced } else { self.undivided });
        let is_sound = |batch: u32| is_differenced(batch) || lasts(batch, self.better);
        let within = |most: f64| move |batch: &u32| *batch == 1 || f64::from(*batch) * pass.spent <= most;
        let fitting = || STEPS.into_iter().take_while(within(self.most));
        let enough = fitting().find(|batch| is_enough(*batch)).or(fitting().last()).unwrap_or(1);
        let longer = || STEPS.into_iter().filter(|batch| *batch >= enough).take_while(within(self.longest.min(self.most)));
        longer().find(|batch| is_sound(*batch)).or(longer().last()).unwrap_or(enough)
    }
}

/// Whether the constant part of a sample of such a batch can be told from the passes.
pub(super) fn is_differenced(batch: u32) -> bool {
    batch >= DIFFERENCED_FROM
}

/// The floor as batches are chosen by it: the nearest power of two. It is found anew in every run, some percent off.
fn rounded(floor: Nanos) -> f64 {
    if floor.0 > 0.0 { floor.0.log2().round().exp2() } else { 0.0 }
}

/// What samples take beside their passes, of one of a batch and one of a single pass: the difference of the two is that of passes alone.
/// What is many floors away from the floor is no such part but a disturbance, and goes no further: so the rest is still that of passes.
/// As far to either side, so that the middle of noisy ones isn't moved.
pub(super) fn constant(sample: f64, batch: u32, single: f64, floor: Nanos) -> f64 {
    let pass = (sample - single) / (f64::from(batch) - 1.0);
    let beyond = DISTURBED_FLOORS * floor.0;
    (single - pass).max(floor.0 - beyond).min(floor.0 + beyond)
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const FLOOR: f64 = 3400.0;
    /// As measured in another run.
    const OTHER_FLOOR: f64 = 3530.0;

    fn target(floor: f64) -> Target {
        Target::of_floor(Nanos(floor), 100e6, 9e6)
    }

    /// The batch of a pass on a device whose samples take `constant` beside their passes, its times being off by `error`.
    fn batch(target: &Target, pass: f64, constant: f64, mut error: impl FnMut() -> f64) -> u32 {
        let mut batch = 1;
        loop {
            let time = (f64::from(batch) * pass + constant) * (1.0 + error()) / f64::from(batch);
            match target.next(batch, PassTime { timed: time, spent: time }) {
                next if next == batch => return batch,
                next => batch = next,
            }
        }
    }

    fn passes() -> impl Iterator<Item = f64> {
        // From a tenth of a floor to five thousand of them, a hundredth apart.
        (0..1090).map(|i| 0.1 * FLOOR * 1.01_f64.powi(i))
    }

    #[test]
    fn samples_are_long_or_have_their_constant_part_taken_off() {
        for pass in passes() {
            let batch = batch(&target(FLOOR), pass, FLOOR, || 0.0);
            let floors = pass * f64::from(batch) / FLOOR;
            let is_long = floors >= 0.8 * FLOORS_UNDIVIDED;
            assert!(is_differenced(batch) || is_long || pass > 4e6, "{pass} ns: {batch}");
            // 4096 ns is the nearest power of two, and up to four times as long may be wanted.
            assert!(floors >= 0.8 * FLOORS_PER_SAMPLE, "{pass} ns: {batch}");
            assert!(batch == 1 || floors <= 2.5 * FLOORS_UNDIVIDED, "{pass} ns: {batch}");
        }
    }

    #[test]
    fn what_has_little_time_is_not_lengthened_beyond_it() {
        let target = Target::of_floor(Nanos(FLOOR), 100e6, 1e6);
        assert_eq!(batch(&target, 900e3, FLOOR, || 0.0), 1, "the time doesn't suffice for two");
        assert_eq!(batch(&target, 100e3, FLOOR, || 0.0), 8);
        assert_eq!(batch(&Target::of_floor(Nanos(1e5), 100e6, 1e9), 30e6, 1e5, || 0.0), 2, "nor does a submission");
    }

    #[test]
    fn the_hosts_own_work_has_samples_of_its_length() {
        let target = Target::whole(Nanos(100e3), 100e6);
        assert_eq!(
            [200e3, 60e3, 20e3, 10e3, 100.0, 1.0].map(|pass| batch(&target, pass, 0.0, || 0.0)),
            [1, 2, 8, 32, 2048, 2048]
        );
    }

    #[test]
    fn a_clock_that_stands_still_ends_the_search() {
        assert_eq!(batch(&target(FLOOR), 0.0, 0.0, || 0.0), 2048);
        assert_eq!(batch(&target(0.0), 1000.0, 0.0, || 0.0), 1);
    }

    /// Two runs of one case: another floor, and times that differ by a hundredth.
    #[test]
    fn batches_hardly_ever_flip_between_runs() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (mut flips, mut count) = (0, 0);
        for pass in passes() {
            for _ in 0..20 {
                let mut error = || 0.01 * (rng.random::<f64>() - 0.5);
                let own = batch(&target(FLOOR), pass, FLOOR, &mut error);
                let other = batch(&target(OTHER_FLOOR), pass, OTHER_FLOOR, &mut error);
                count += 1;
                flips += u32::from(own != other);
            }
        }
        assert!(f64::from(flips) < 0.005 * f64::from(count), "{flips} of {count}");
    }

    #[test]
    fn the_constant_part_is_told_and_a_disturbance_is_bounded() {
        for part in [0.0, 100.0, 3400.0] {
            let sample = |batch: u32| part + 500.0 * f64::from(batch);
            assert!((constant(sample(32), 32, sample(1), Nanos(FLOOR)) - part).abs() < 1e-9);
        }
        let disturbed = |single| constant(64e3, 32, single, Nanos(1000.0));
        assert_eq!([1e6, -1e6].map(disturbed), [10e3, -8e3]);
    }
}
