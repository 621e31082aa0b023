//! The core's clock, by the device's own counters: cycles over time of a chain of work (calibration/core_clock).

use serde::{Deserialize, Serialize};

use super::instrument::greatest_common_divisor;
use super::{Dispatcher, Timer, Tools};
use crate::experiments::calibration::core_clock::{COUNTERS, LONG, MORE_STEPS, SHORT};
use crate::gpu::CaseHandle;
use crate::model::{CoreClocks, Failure, real};
use crate::stats;

/// How many cycles the counted ones may be from a whole number for each step of a chain.
const FROM_WHOLE: u64 = 64;

/// Readings from which on what they show is believed.
const FEWEST: usize = 3;

/// Readings at the start. A counter of time whose steps are a larger share of the chain tells too little.
const READINGS: usize = 5;
const COARSEST: f64 = 0.0003;

/// A chain whose times are further apart ran at two clocks, where steps of the counter of time aren't as large.
const MOVED: f64 = 0.001;
const OF_STEPS: f64 = 4.0;

/// Chains whose cycles are further apart did not run alike.
const SAME_CYCLES: f64 = 0.000_75;

/// What no core's clock reaches: a counter that wrapped between two readings seems to.
const FASTEST_MHZ: f64 = 1e5;

/// What the counters showed around the long chain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoreReading {
    cycles: u64,
    ticks: u64,
    /// Nanoseconds in a tick.
    #[serde(with = "real")]
    pub(super) period: f64,
    /// Cycles that it took more than the short one.
    more_cycles: u64,
}

/// The readings before and after a visit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoreReadings {
    pub before: CoreReading,
    pub after: CoreReading,
}

#[expect(clippy::cast_precision_loss, reason = "a chain takes less than 2^53 of either")]
impl CoreReading {
    /// Runs the chains. Nothing where the counters don't count, or wrap too soon.
    pub(super) fn take(device: &mut dyn Dispatcher, case: CaseHandle, period: f64) -> Result<Option<Self>, Failure> {
        device.run_checked(case)?;
        let bytes = device.read(case, COUNTERS)?;
        let counters: Vec<u64> =
            bytes.chunks_exact(8).filter_map(|bytes| bytes.first_chunk()).map(|bytes| u64::from_ne_bytes(*bytes)).collect();
        let [_, short_before, _, short_behind, time_before, before, time_behind, behind] = *counters else { return Ok(None) };
        let (cycles, ticks) = (behind.wrapping_sub(before), time_behind.wrapping_sub(time_before));
        let short = short_behind.wrapping_sub(short_before);
        let more_cycles = cycles.wrapping_sub(short);
        // A counter of few bits, as RDNA's of 20, wraps within the long chain: less than half is left.
        let has_wrapped = cycles as f64 / f64::from(LONG) < 0.5 * short as f64 / f64::from(SHORT);
        let reading = Self { cycles, ticks, period, more_cycles };
        Ok((ticks > 0 && cycles > 0 && !has_wrapped && reading.mhz() < FASTEST_MHZ).then_some(reading))
    }

    fn ns(self) -> f64 {
        self.ticks as f64 * self.period
    }

    /// The clock, if it is the core's cycles that are counted.
    pub(super) fn mhz(self) -> f64 {
        self.cycles as f64 * 1e3 / self.ns()
    }

    /// Whether each step took a whole number of cycles. Of another clock's it would by chance alone.
    fn is_whole(self) -> bool {
        let steps = u64::from(MORE_STEPS);
        let beyond = self.more_cycles % steps;
        self.more_cycles >= steps && beyond.min(steps - beyond) <= FROM_WHOLE
    }
}

impl CoreReadings {
    /// The clocks, if it is the core's cycles that are counted.
    pub(super) fn clocks(self) -> CoreClocks {
        CoreClocks { before: self.before.mhz(), after: self.after.mhz() }
    }
}

/// The median over rounds of what was read before and after each.
pub fn median(rounds: &[Option<CoreClocks>]) -> Option<f64> {
    let read: Vec<f64> = rounds.iter().flatten().map(|clocks| clocks.mean()).collect();
    (!read.is_empty()).then(|| stats::median(&read))
}

/// The first readings, enough to show what the counter counts. None where the device's clock doesn't count as its timestamps do: the
/// chains are nearly all of a pass.
#[expect(clippy::cast_precision_loss, reason = "a chain takes less than 2^53 of either")]
pub(super) fn begin(device: &mut dyn Dispatcher, tools: Tools, timer: Timer) -> Result<Vec<CoreReading>, Failure> {
    let (Some(case), Timer::Device(scale)) = (tools.core_clock, timer) else { return Ok(Vec::new()) };
    let mut readings = Vec::new();
    for _ in 0..READINGS {
        readings.extend(CoreReading::take(device, case, scale.period)?);
    }
    let submission = device.sample(case, 1, 1)?;
    let pass = submission.samples.last().map_or(f64::NAN, |(start, end)| scale.between(*start, *end).0);
    let ticks: Vec<u64> = readings.iter().map(|reading: &CoreReading| reading.ticks).collect();
    let step = ticks.iter().copied().fold(0, greatest_common_divisor);
    // Of readings that are all alike, the step of the counter doesn't show.
    let is_coarse = ticks.iter().any(|ticks| *ticks > step && step as f64 > COARSEST * *ticks as f64);
    readings.retain(|reading| !is_coarse && (0.9..1.01).contains(&(reading.ns() / pass)));
    Ok(readings)
}

/// Learns from readings whether the counter counts the core's cycles. Either each step of a chain takes a whole number of them. Or they
/// stay while the chain's time moves: a counter with a clock of its own shows more in a longer time.
#[derive(Clone, Debug, Default)]
pub(super) struct CoreClock {
    /// How many readings there were, and in how many a step took a whole number of cycles.
    seen: usize,
    whole: usize,
    /// The fewest cycles that the long chain took: where they are more, it was disturbed.
    least_cycles: u64,
    /// The shortest times and the longest of chains that took as many, in ticks, and how many of these the counter counts at once.
    shortest: Vec<u64>,
    longest: Vec<u64>,
    step: u64,
}

#[expect(clippy::cast_precision_loss, reason = "a chain takes less than 2^53 of either")]
impl CoreClock {
    pub(super) fn learn(&mut self, reading: CoreReading) {
        let CoreReading { cycles, ticks, .. } = reading;
        self.seen += 1;
        self.whole += usize::from(reading.is_whole());
        let are_more = |cycles: u64, than: u64| cycles as f64 > than as f64 * (1.0 + SAME_CYCLES);
        if self.least_cycles == 0 || are_more(self.least_cycles, cycles) {
            *self = Self { seen: self.seen, whole: self.whole, least_cycles: cycles, ..Self::default() };
        }
        if are_more(cycles, self.least_cycles) {
            return;
        }
        self.least_cycles = self.least_cycles.min(cycles);
        self.step = greatest_common_divisor(ticks, self.step);
        self.shortest.push(ticks);
        self.shortest.sort_unstable();
        self.shortest.truncate(FEWEST);
        self.longest.push(ticks);
        self.longest.sort_unstable_by_key(|ticks| std::cmp::Reverse(*ticks));
        self.longest.truncate(FEWEST);
    }

    pub(super) fn learn_from(&mut self, CoreReadings { before, after }: CoreReadings) {
        self.learn(before);
        self.learn(after);
    }

    pub(super) fn is_shown(&self) -> bool {
        // Of a clock of its own, now and then one is whole by chance.
        (self.whole >= FEWEST && 10 * self.whole >= 9 * self.seen) || self.has_moved()
    }

    fn has_moved(&self) -> bool {
        let Some((&shortest, &longest)) = self.shortest.get(FEWEST - 1).zip(self.longest.get(FEWEST - 1)) else { return false };
        let least = (MOVED * shortest as f64).max(OF_STEPS * self.step as f64);
        longest as f64 - shortest as f64 > least
    }

    /// The clock around a visit, where what the counter counts was shown.
    pub(super) fn clocks(&self, readings: Option<CoreReadings>) -> Option<CoreClocks> {
        readings.filter(|_| self.is_shown()).map(CoreReadings::clocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: u64 = MORE_STEPS as u64;

    /// At nanoseconds a tick. What a step of the chain took is no whole number.
    fn reading(cycles: u64, ticks: u64) -> CoreReading {
        CoreReading { cycles, ticks, period: 1.0, more_cycles: STEPS * 11 / 2 }
    }

    fn learned(readings: &[CoreReading]) -> CoreClock {
        let mut clock = CoreClock::default();
        readings.iter().for_each(|reading| clock.learn(*reading));
        clock
    }

    #[test]
    fn a_counter_counts_the_cores_cycles_where_steps_take_whole_numbers_of_them() {
        let shown = |more_cycles| learned(&[CoreReading { more_cycles, ..reading(458_994, 231_808) }; 3]).is_shown();
        assert!(shown(7 * STEPS) && shown(7 * STEPS + 40) && shown(7 * STEPS - 40));
        assert!(!shown(7 * STEPS / 2) && !shown(7 * STEPS + 400) && !shown(0) && !shown(20));
        assert!(!learned(&[CoreReading { more_cycles: 7 * STEPS, ..reading(458_994, 231_808) }; 2]).is_shown(), "two of them");
    }

    #[test]
    fn or_where_they_stay_while_the_time_moves() {
        let (up, down) = (reading(365_500, 184_600), reading(365_600, 185_100));
        assert!(!learned(&[up; 20]).is_shown(), "the clock didn't move");
        assert!(!learned(&[up, up, up, down, down]).is_shown(), "two readings may be disturbed");
        assert!(learned(&[up, up, up, down, down, down]).is_shown());
        assert!(!learned(&[reading(184_600, 184_600), reading(185_100, 185_100)].repeat(9)).is_shown(), "a clock of 1 GHz");
        assert!(!learned(&[reading(365_500, 184_000), reading(365_500, 185_000)].repeat(9)).is_shown(), "coarse steps");
        let disturbed = reading(420_000, 215_000);
        assert!(!learned(&[disturbed, disturbed, disturbed, up, up, up]).is_shown(), "the first ones were disturbed");
        assert!(learned(&[disturbed, up, up, up, disturbed, down, down, down]).is_shown());
    }

    #[test]
    fn a_clock_is_told_once_it_is_shown() {
        let (before, after) = (reading(396_000, 200_000), reading(396_000, 202_001));
        let readings = CoreReadings { before, after };
        assert_eq!(CoreClock::default().clocks(Some(readings)), None);
        let clocks = learned(&[before, after].repeat(3)).clocks(Some(readings)).unwrap();
        assert!(clocks.has_stepped() && (clocks.before, clocks.mean().round()) == (1980.0, 1970.0), "{clocks:?}");
    }
}
