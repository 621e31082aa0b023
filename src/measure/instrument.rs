//! Knowing the instrument before measuring with it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::LocalOptions;
use super::core_clock::CoreReading;
use crate::gpu::{CaseHandle, Submission};
use crate::measure::Dispatcher;
use crate::model::Failure;
use crate::shader::Prepared;
use crate::stats;
use crate::units::{Nanos, TickScale, Ticks};

/// How far device and host clock may differ before the device's is not believed.
const CLOCK_TOLERANCE: f64 = 0.01;

/// How much device work the two clocks are compared over before anything is measured.
const CLOCK_SPAN: Duration = Duration::from_millis(200);

/// Timestamps that wrap sooner can't tell how long a submission was: most are up to half of this. The specification asks for at
/// least 36 bits where there are any, which at a nanosecond each is 68 s; queues of 32 were seen.
const SHORTEST_WRAP: Nanos = Nanos(200e6);

/// Runs of the sentinel of which the least is its time.
const SENTINELS: u32 = 3;

/// Times of the sentinel whose median is what later ones are compared with.
const SENTINEL_TIMES: u32 = 9;

/// Tries until such a median no longer falls, and what counts as falling.
const SETTLING: u32 = 20;
const SETTLED: f64 = 0.99;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    Device(TickScale),
    /// The host's clock around a whole submission: the device has no timestamps, or wrong ones.
    Host,
}

impl Timer {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Device(_) => "device",
            Self::Host => "host",
        }
    }

    pub fn durations(self, submission: &Submission) -> Vec<Nanos> {
        match self {
            Self::Device(scale) => submission.samples.iter().map(|(start, end)| scale.between(*start, *end)).collect(),
            Self::Host => vec![Nanos::from_duration(submission.host)],
        }
    }

    /// The sentinel's time now: the least of a few, since whatever disturbs one makes it longer.
    pub fn sentinel(self, device: &mut dyn Dispatcher, tools: Tools) -> Result<Nanos, Failure> {
        let mut least = f64::INFINITY;
        for _ in 0..SENTINELS {
            let submission = device.sample(tools.sentinel, 1, 1)?;
            least = self.durations(&submission).iter().fold(least, |least, time| least.min(time.0));
        }
        Ok(Nanos(least))
    }
}

/// The cases that the instrument itself runs.
#[derive(Clone, Copy, Debug)]
pub struct ToolSet<T> {
    /// One workgroup that does nothing.
    pub empty: T,
    /// A fixed amount of arithmetic.
    pub sentinel: T,
    /// A chain of arithmetic between readings of the device's counters, where it has them.
    pub core_clock: Option<T>,
    /// What runs before every sample of a pass, in cold mode.
    pub evictor: Option<T>,
    /// Reading far more than caches hold, by which memory's speed is watched where there is room for it.
    pub sweep: Option<T>,
}

pub type ToolCases = ToolSet<Prepared>;
/// As loaded.
pub type Tools = ToolSet<CaseHandle>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instrument {
    pub timer: Timer,
    /// How the queue's timestamps become time, believed or not; `None` where it has none.
    pub scale: Option<TickScale>,
    /// Two timestamps back to back (or an empty submission, by the host's clock).
    pub floor: Nanos,
    /// The sentinel's time when the plan's first process began, the device's clocks being up: clocks relate to it.
    pub sentinel: Nanos,
    /// What its counters of time and cycles showed then, where they tell the core's clock.
    #[serde(default)]
    pub core_readings: Vec<CoreReading>,
    /// What a user should know, in a sentence.
    pub note: Option<String>,
}

impl Instrument {
    /// Measures the instrument, once the device's clocks have risen.
    pub fn calibrate(device: &mut dyn Dispatcher, tools: Tools, options: LocalOptions) -> Result<Self, Failure> {
        let LocalOptions { warm_up, timer, sentinel, .. } = options;
        let (timer, note) = timer.map_or_else(|| choose_timer(device, tools), |timer| Ok((timer, None)))?;
        let floor = floor(device, tools, timer)?;
        let until = device.now() + warm_up;
        while device.now() < until {
            device.sample(tools.sentinel, 1, 1)?;
        }
        let found = settled(SENTINEL_TIMES, || timer.sentinel(device, tools))?;
        // By another timer it took as long as that saw.
        let sentinel = sentinel.filter(|_| timer != Timer::Host).unwrap_or(found);
        Ok(Self { timer, scale: device.tick_scale(), floor, sentinel, core_readings: Vec::new(), note })
    }
}

/// Durations of `samples` samples, one before them discarded, each in a submission of its own, which outlasts no watchdog.
pub fn repeat(
    device: &mut dyn Dispatcher,
    slot: CaseHandle,
    timer: Timer,
    batch: u32,
    samples: u32,
) -> Result<Vec<f64>, Failure> {
    let mut times = Vec::new();
    for _ in 0..=samples {
        times.extend(timer.durations(&device.sample(slot, batch, 1)?).iter().map(|time| time.0));
    }
    times.remove(0);
    Ok(times)
}

fn choose_timer(device: &mut dyn Dispatcher, tools: Tools) -> Result<(Timer, Option<String>), Failure> {
    let host = |why: String| Ok((Timer::Host, Some(format!("{why}: the host's clock is used (timer=host)"))));
    let Some(scale) = device.tick_scale() else {
        return host("the queue has no usable timestamps".to_owned());
    };
    if scale.wrap() < SHORTEST_WRAP {
        return host(format!("the device's timestamps wrap after {}", scale.wrap()));
    }
    let mut rate = f64::NAN;
    // One disturbed comparison must not cost the whole run its timer.
    for span in [CLOCK_SPAN, 2 * CLOCK_SPAN] {
        rate = clock_rate(device, tools, scale, span)?;
        if (rate - 1.0).abs() <= CLOCK_TOLERANCE {
            return Ok((Timer::Device(scale), None));
        }
    }
    host(format!("the device's clock runs at {rate:.4} times the host's, though it should agree within 1 %"))
}

/// A moment on both clocks: nanoseconds since the first.
#[derive(Clone, Copy, Debug)]
struct Mark {
    device: f64,
    host: f64,
}

/// The device clock's rate over the host's, across submissions of real work that last at least `span`.
///
/// Device time is added up submission by submission: timestamps of few bits may wrap many times within the span.
pub fn clock_rate(device: &mut dyn Dispatcher, tools: Tools, scale: TickScale, span: Duration) -> Result<f64, Failure> {
    let mut stamp = || -> Result<(Ticks, Duration), Failure> {
        let submission = device.sample(tools.sentinel, 1, 1)?;
        Ok((submission.samples.last().map_or(Ticks(0), |(_, end)| *end), device.now()))
    };
    stamp()?;
    let (mut last, started) = stamp()?;
    let mut marks = vec![Mark { device: 0.0, host: 0.0 }];
    let (mut ticks, mut elapsed) = (0, Duration::ZERO);
    while elapsed < span || marks.len() < 6 {
        let (next, now) = stamp()?;
        // Timestamps that run backwards make the sum absurd, and the clock one that isn't believed; it must not wrap to a right one.
        ticks = u64::saturating_add(ticks, scale.ticks(last, next));
        (last, elapsed) = (next, now.saturating_sub(started));
        marks.push(Mark { device: scale.nanos(ticks).0, host: Nanos::from_duration(elapsed).0 });
    }
    Ok(rate(&marks))
}

/// The rate between the promptest mark of the first third and that of the last. Waiting only ever delays the host's time, so the
/// marks at which the host is least behind are those that the waiting disturbed least.
fn rate(marks: &[Mark]) -> f64 {
    let third = marks.len().div_ceil(3);
    let promptest = |marks: &[Mark]| {
        let behind = |mark: &Mark| mark.host - mark.device;
        marks.iter().copied().reduce(|a, b| if behind(&b) < behind(&a) { b } else { a })
    };
    match (promptest(&marks[..third]), promptest(&marks[marks.len() - third..])) {
        (Some(first), Some(last)) => (last.device - first.device) / (last.host - first.host),
        _ => f64::NAN,
    }
}

/// The median of so many times once it has stopped falling: some devices take long to get up to speed.
pub(super) fn settled(count: u32, mut time: impl FnMut() -> Result<Nanos, Failure>) -> Result<Nanos, Failure> {
    let mut median = || -> Result<f64, Failure> {
        let times = (0..count).map(|_| Ok(time()?.0)).collect::<Result<Vec<_>, Failure>>()?;
        Ok(stats::median(&times))
    };
    let mut last = median()?;
    for _ in 0..SETTLING {
        let next = median()?;
        let has_settled = next >= SETTLED * last;
        last = next;
        if has_settled {
            break;
        }
    }
    Ok(Nanos(last))
}

const FLOOR_VISITS: usize = 9;
const FLOOR_SAMPLES: u32 = 15;

/// The least of several visits' medians: a floor is a lower bound, and whatever disturbs a visit only raises it. Batches are
/// chosen by it, so it must be the same in every run.
fn floor(device: &mut dyn Dispatcher, tools: Tools, timer: Timer) -> Result<Nanos, Failure> {
    let mut least = f64::INFINITY;
    for _ in 0..FLOOR_VISITS {
        device.sample(tools.sentinel, 1, 1)?;
        least = least.min(stats::median(&repeat(device, tools.empty, timer, 0, FLOOR_SAMPLES)?));
    }
    Ok(Nanos(least))
}

/// The step in which the device counts: the greatest common divisor of all differences between a submission's timestamps, since
/// many devices count in coarser steps than their period. Zero where all are alike.
pub fn step(submission: &Submission, scale: TickScale) -> Nanos {
    let stamps: Vec<Ticks> = submission.samples.iter().flat_map(|(start, end)| [*start, *end]).collect();
    let divisor = stamps.windows(2).map(|pair| scale.ticks(pair[0], pair[1])).fold(0, greatest_common_divisor);
    scale.nanos(divisor)
}

pub(super) fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_marks_do_not_change_the_rate() {
        let late = |i: u32| if i % 4 == 0 { 0.0 } else { 5e6 };
        let marks: Vec<Mark> =
            (0..24).map(|i| Mark { device: 1.04e7 * f64::from(i), host: 1e7 * f64::from(i) + late(i) }).collect();
        assert!((rate(&marks) - 1.04).abs() < 1e-12);
        assert!(rate(&[]).is_nan());
    }

    #[test]
    fn the_step_is_what_all_differences_share() {
        let samples = vec![(Ticks(1000), Ticks(1640)), (Ticks(1960), Ticks(2632))];
        let submission = Submission { host: Duration::ZERO, samples, after: None };
        let scale = TickScale { valid_bits: 64, period: 2.0 };
        assert_eq!(step(&submission, scale), Nanos(64.0));
        let alike = Submission { host: Duration::ZERO, samples: vec![(Ticks(0), Ticks(0)); 3], after: None };
        assert_eq!(step(&alike, scale), Nanos(0.0));
    }
}
