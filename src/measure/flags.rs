//! What is to be said against a measurement. Pure, so that every flag can be provoked.

use std::time::Duration;

use super::rig::Conditions;
use crate::model::{Case, Flag, Peaks};
use crate::stats;

const NEAR_FLOORS: f64 = 20.0;

const LAUNCH_BOUND: f64 = 20.0;

/// A clock that is further from its rate at the start is flagged.
const DRIFT: f64 = 0.02;

/// A clock below this share of its rate at the start is a reason to visit again.
const THROTTLED: f64 = 0.97;

/// Memory whose speed is further from that at the start is flagged, and slower by more a reason to visit again. Repeated sweeps of an
/// H100 differed by 0.2 %, and clocks of memory change in few large steps: 5 % is far from both.
const MEMORY_CHANGED: f64 = 0.05;

/// More of its processor time than this lost to others is a reason to visit again.
pub const CONTENDED: f64 = 0.1;

/// A row is flagged where more than this share of its visits stayed disturbed: fewer don't move the middle one of the rounds.
const DISTURBED: f64 = 0.25;

#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Half the interval over the median.
    pub noise: f64,
    pub max_noise: f64,
    /// Of a timed pass, and of its base in a pair.
    pub passes: &'a [Pass],
    /// Of each visit that was kept; of the base's device as well where that is another one.
    pub(super) conditions: [&'a [Conditions]; 2],
}

/// Times of a pass, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    pub time: f64,
    /// Passes per sample.
    pub batch: u32,
    /// Two timestamps back to back.
    pub floor: f64,
    /// An empty pass in the same batch form; `None` where the pass is to do nothing but launch, or doesn't launch.
    pub empty_pass: Option<f64>,
}

/// The flags of a measurement, in the order in which a row has them.
pub fn flags(subject: &Evidence) -> Vec<Flag> {
    let near_floor = |pass: &Pass| pass.time * f64::from(pass.batch) < NEAR_FLOORS * pass.floor;
    let launch_bound = |pass: &Pass| pass.empty_pass.is_some_and(|empty| pass.time < LAUNCH_BOUND * empty);
    let on_either = |raised: fn(&[Conditions]) -> bool| subject.conditions.into_iter().any(raised);
    [
        (Flag::NearFloor, subject.passes.iter().any(near_floor)),
        (Flag::LaunchBound, subject.passes.iter().any(launch_bound)),
        // Noise that is no number is no precision either.
        (Flag::Noisy, subject.noise.is_nan() || subject.noise > subject.max_noise),
        (Flag::Drift, on_either(|all| clock_ratio(all).is_some_and(|clock| (clock - 1.0).abs() > DRIFT))),
        (Flag::Throttled, on_either(|all| are_many(all, is_throttled))),
        (Flag::MemorySpeed, on_either(has_memory_changed)),
        (Flag::Contended, on_either(|all| are_many(all, is_contended))),
    ]
    .into_iter()
    .filter_map(|(flag, raised)| raised.then_some(flag))
    .collect()
}

/// The clock rate over that at the start, of the middle one of the visits. `None` where nothing was visited.
pub(super) fn clock_ratio(conditions: &[Conditions]) -> Option<f64> {
    middle(conditions, |conditions| Some(conditions.clock))
}

/// The core clock beside the middle one of the visits, in MHz. `None` where none has a reading.
pub(super) fn clock_mhz(conditions: &[Conditions]) -> Option<f64> {
    middle(conditions, |conditions| conditions.mhz)
}

/// Memory's speed over that at the start, beside the middle one of the visits. `None` where it wasn't watched.
pub(super) fn memory_speed_ratio(conditions: &[Conditions]) -> Option<f64> {
    middle(conditions, |conditions| conditions.memory)
}

fn middle(conditions: &[Conditions], of: fn(&Conditions) -> Option<f64>) -> Option<f64> {
    let all: Vec<f64> = conditions.iter().filter_map(of).collect();
    Some(stats::median(&all)).filter(|middle| middle.is_finite())
}

/// Whether memory's speed, over that at the start, is another one.
pub(super) fn is_memory_changed(ratio: f64) -> bool {
    (ratio - 1.0).abs() > MEMORY_CHANGED
}

fn is_memory_slowed(conditions: &Conditions) -> bool {
    conditions.memory.is_some_and(|ratio| ratio < 1.0 && is_memory_changed(ratio))
}

fn has_memory_changed(conditions: &[Conditions]) -> bool {
    memory_speed_ratio(conditions).is_some_and(is_memory_changed) || are_many(conditions, is_memory_slowed)
}

/// Whether a visit under these conditions can stand as it is.
pub(super) fn is_steady(conditions: &Conditions) -> bool {
    !is_slowed(conditions) && !is_contended(conditions) && !conditions.core.is_some_and(|core| core.clocks().has_stepped())
}

/// Whether so many visits were disturbed that more of them tell no more.
pub(super) fn are_disturbed(conditions: &[Conditions]) -> bool {
    are_many(conditions, is_throttled) || are_many(conditions, is_contended)
}

/// Whether a clock fell, of the core or of memory.
pub(super) fn is_slowed(conditions: &Conditions) -> bool {
    is_throttled(conditions) || is_memory_slowed(conditions)
}

#[expect(clippy::cast_precision_loss, reason = "visits are few")]
fn are_many(conditions: &[Conditions], disturbed: fn(&Conditions) -> bool) -> bool {
    let count = conditions.iter().filter(|conditions| disturbed(conditions)).count();
    count as f64 > DISTURBED * conditions.len() as f64
}

pub(super) fn is_throttled(conditions: &Conditions) -> bool {
    conditions.clock < THROTTLED
}

fn is_contended(conditions: &Conditions) -> bool {
    conditions.lost.is_some_and(|lost| lost > CONTENDED)
}

/// How long a device has to work before the next try: clocks that fell come back by working.
pub(super) fn recovery(conditions: &Conditions, warm_up: Duration) -> Duration {
    if is_slowed(conditions) { warm_up } else { Duration::ZERO }
}

/// A rate may exceed a limit by this share: that is how far the device's clock may be from the host's, and published clocks are
/// nominal (an H100 of 1980 MHz was seen at 0.07 % more).
const NOMINAL: f64 = 1.01;

/// What is wrong with a time in which more went through a part of the device than it can move or compute.
#[expect(clippy::cast_precision_loss, reason = "a rate has far fewer digits than 2^53")]
pub(super) fn beyond_limit(case: &Case, time: f64, peaks: &Peaks, core_clock_mhz: Option<f64>) -> Option<String> {
    let bound = case.bound?;
    // A nominal limit may be exceeded.
    let limit = peaks.limit(bound)?.at(core_clock_mhz);
    let limit = Some(limit).filter(|peak| peak.is_hard)?.rate;
    let unit = bound.unit();
    let (amount, verb) = match unit {
        "GB/s" => (case.work.bytes?, "move"),
        "GFLOP/s" => (case.work.flops?, "compute"),
        _ => (case.work.ops?, "compute"),
    };
    let rate = amount as f64 / time;
    let beyond = || format!("{rate:.0} {unit} is more than the device can physically {verb} ({limit:.0} {unit})");
    (rate > NOMINAL * limit).then(beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: Pass = Pass { time: 1000.0, batch: 64, floor: 500.0, empty_pass: Some(40.0) };

    fn flags_of(pass: Pass) -> Vec<Flag> {
        flags(&Evidence { noise: 0.001, max_noise: 0.01, passes: &[pass], conditions: [&[], &[]] })
    }

    fn seen(clock: f64, lost: Option<f64>) -> Conditions {
        Conditions { clock, lost, ..Conditions::UNTOLD }
    }

    fn flags_under(conditions: &[(f64, Option<f64>)]) -> Vec<Flag> {
        let conditions: Vec<_> = conditions.iter().map(|(clock, lost)| seen(*clock, *lost)).collect();
        flags(&Evidence { noise: 0.001, max_noise: 0.01, passes: &[], conditions: [&conditions, &[]] })
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
            let found = flags(&Evidence { noise, max_noise: 0.01, passes: &[], conditions: [&[], &[]] });
            assert_eq!(found == [Flag::Noisy], flagged, "{noise}");
        }
    }

    #[test]
    fn conditions_are_flagged_where_they_can_move_the_middle_of_the_rounds() {
        let fine = (1.0, Some(0.05));
        let (slow, lost) = ((0.96, None), (1.0, Some(0.11)));
        assert_eq!(flags_under(&[fine; 6]), []);
        assert_eq!(flags_under(&[fine, fine, (1.3, None)]), []);
        assert_eq!(flags_under(&[(1.021, None); 6]), [Flag::Drift]);
        assert_eq!(flags_under(&[(0.979, None); 6]), [Flag::Drift]);
        assert_eq!(flags_under(&[fine, fine, fine, fine, fine, slow]), []);
        assert_eq!(flags_under(&[fine, fine, fine, fine, slow, slow]), [Flag::Throttled]);
        assert_eq!(flags_under(&[fine, fine, fine, fine, fine, lost]), []);
        let are_disturbed = |all: [(f64, Option<f64>); 6]| are_disturbed(&all.map(|(clock, lost)| seen(clock, lost)));
        assert_eq!(
            [[fine, fine, fine, fine, fine, lost], [fine, fine, fine, fine, lost, lost], [slow; 6]].map(are_disturbed),
            [false, true, true]
        );
        assert_eq!(flags_under(&[fine, fine, fine, fine, lost, lost]), [Flag::Contended]);
        let [own, base] = [[fine; 6], [slow; 6]].map(|all| all.map(|(clock, lost)| seen(clock, lost)));
        let subject = Evidence { noise: 0.001, max_noise: 0.01, passes: &[], conditions: [&own, &base] };
        assert_eq!(flags(&subject), [Flag::Drift, Flag::Throttled], "the base's device counts as well");
        assert_eq!(flags_under(&[(0.9, Some(0.5)); 6]), [Flag::Drift, Flag::Throttled, Flag::Contended]);
    }

    #[test]
    fn memory_that_changes_alone_is_flagged_and_visited_again_where_it_is_slower() {
        let under = |ratios: &[Option<f64>]| {
            let all: Vec<_> = ratios.iter().map(|memory| Conditions { memory: *memory, ..seen(1.0, None) }).collect();
            let found = flags(&Evidence { noise: 0.001, max_noise: 0.01, passes: &[], conditions: [&all, &[]] });
            assert!(found.is_empty() || found == [Flag::MemorySpeed], "{found:?}");
            (memory_speed_ratio(&all), !found.is_empty())
        };
        let (fine, slow, fast) = (Some(0.97), Some(0.9), Some(1.06));
        assert_eq!(under(&[None; 6]), (None, false));
        assert_eq!(under(&[fine; 6]), (Some(0.97), false));
        assert_eq!(under(&[fine, fine, fine, fine, fine, slow]), (Some(0.97), false));
        assert_eq!(under(&[fine, fine, fine, fine, slow, slow]), (Some(0.97), true));
        assert_eq!(under(&[fine, fine, fine, fast, fast]), (Some(0.97), false));
        assert_eq!(under(&[None, fine, fast, fast]), (Some(1.06), true));
        let again = [fine, slow, fast].map(|memory| {
            let conditions = Conditions { memory, ..seen(1.0, None) };
            (!is_steady(&conditions), recovery(&conditions, Duration::from_secs(1)) > Duration::ZERO)
        });
        assert_eq!(again, [(false, false), (true, true), (false, false)]);
    }

    #[test]
    fn the_core_clock_is_that_of_the_middle_reading() {
        let of = |readings: &[Option<f64>]| {
            let conditions: Vec<_> = readings.iter().map(|mhz| Conditions { mhz: *mhz, ..seen(1.0, None) }).collect();
            clock_mhz(&conditions)
        };
        assert_eq!(of(&[Some(1965.0), Some(345.0), Some(1980.0)]), Some(1965.0));
        assert_eq!(of(&[None, Some(1965.0), None, Some(1980.0)]), Some(1972.5), "of those that have one");
        assert_eq!(of(&[None, None]), None);
        assert_eq!(of(&[]), None);
    }
}
