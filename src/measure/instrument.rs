//! Knowing the instrument before measuring with it.

use std::collections::HashMap;
use std::time::Duration;

use crate::gpu::{Slot, Submission};
use crate::measure::Dispatcher;
use crate::model::Failure;
use crate::stats;
use crate::units::{Nanos, TickScale, Ticks};

/// A sample should last this many floors, so that the timer's own error stays below a percent.
pub const FLOORS_PER_SAMPLE: f64 = 100.0;

/// How far device and host clock may differ before the device's is not believed.
const CLOCK_TOLERANCE: f64 = 0.01;

/// How much device work the two clocks are compared over before anything is measured.
const CLOCK_SPAN: Duration = Duration::from_millis(200);

/// Where times come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timer {
    /// The device's timestamps.
    Device(TickScale),
    /// The host's clock around a whole submission: the device has no timestamps, or wrong ones.
    Host,
}

impl Timer {
    /// As written in a row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Device(_) => "device",
            Self::Host => "host",
        }
    }

    /// The time of each sample of a submission.
    pub fn durations(self, submission: &Submission) -> Vec<Nanos> {
        match self {
            Self::Device(scale) => submission.samples.iter().map(|(start, end)| scale.between(*start, *end)).collect(),
            Self::Host => vec![Nanos::from_duration(submission.host)],
        }
    }
}

/// The cases that the instrument itself runs, as loaded.
#[derive(Clone, Copy, Debug)]
pub struct Tools {
    /// One workgroup that does nothing.
    pub empty: Slot,
    /// A fixed amount of arithmetic.
    pub sentinel: Slot,
    /// What runs before every sample of a pass, in cold mode.
    pub evictor: Option<Slot>,
}

/// What is known about a device's timing.
#[derive(Clone, Debug)]
pub struct Instrument {
    /// Where times come from.
    pub timer: Timer,
    /// Two timestamps back to back (or an empty submission, by the host's clock).
    pub floor: Nanos,
    /// Time of an empty pass per batch, as far as asked for.
    empty_pass: HashMap<u32, Nanos>,
    /// What a user should know, in a sentence.
    pub note: Option<String>,
}

impl Instrument {
    /// Measures the instrument.
    ///
    /// # Errors
    /// What the device refused.
    pub fn calibrate(device: &mut dyn Dispatcher, tools: Tools) -> Result<Self, Failure> {
        let (timer, note) = choose_timer(device, tools)?;
        let floor = floor(device, tools, timer)?;
        Ok(Self { timer, floor, empty_pass: HashMap::new(), note })
    }

    /// The time of an empty pass in a batch of this size.
    ///
    /// # Errors
    /// What the device refused.
    pub fn empty_pass(&mut self, device: &mut dyn Dispatcher, tools: Tools, batch: u32) -> Result<Nanos, Failure> {
        if let Some(known) = self.empty_pass.get(&batch) {
            return Ok(*known);
        }
        let times = repeat(device, tools.empty, self.timer, batch, 9)?;
        let time = Nanos(stats::median(&times) / f64::from(batch));
        self.empty_pass.insert(batch, time);
        Ok(time)
    }
}

/// Durations of single samples, the first of all discarded, however many submissions the timer needs for them.
fn repeat(device: &mut dyn Dispatcher, slot: Slot, timer: Timer, batch: u32, samples: u32) -> Result<Vec<f64>, Failure> {
    let mut times = Vec::new();
    while times.len() <= samples as usize {
        let submission = device.sample(slot, batch, if timer == Timer::Host { 1 } else { samples + 1 })?;
        times.extend(timer.durations(&submission).iter().map(|time| time.0));
    }
    times.remove(0);
    Ok(times)
}

fn choose_timer(device: &mut dyn Dispatcher, tools: Tools) -> Result<(Timer, Option<String>), Failure> {
    let host = |why: String| Ok((Timer::Host, Some(format!("{why}: the host's clock is used (timer=host)"))));
    let Some(scale) = device.tick_scale() else {
        return host("the queue has no usable timestamps".to_owned());
    };
    let rate = clock_rate(device, tools, scale, CLOCK_SPAN)?;
    if (rate - 1.0).abs() <= CLOCK_TOLERANCE {
        return Ok((Timer::Device(scale), None));
    }
    // One disturbed comparison must not cost the whole run its timer.
    let again = clock_rate(device, tools, scale, 2 * CLOCK_SPAN)?;
    if (again - 1.0).abs() <= CLOCK_TOLERANCE {
        return Ok((Timer::Device(scale), None));
    }
    host(format!("the device's clock runs at {again:.4} times the host's, though it should agree within 1 %"))
}

/// The device clock's rate over the host's, across submissions of real work that last at least `span`.
///
/// The host's time is taken when a submission has come back, at both ends alike, so that the latency of waiting cancels.
///
/// # Errors
/// What the device refused.
pub fn clock_rate(device: &mut dyn Dispatcher, tools: Tools, scale: TickScale, span: Duration) -> Result<f64, Failure> {
    let mark = |device: &mut dyn Dispatcher| -> Result<(Ticks, Duration), Failure> {
        let submission = device.sample(tools.sentinel, 1, 1)?;
        let now = device.now();
        Ok((submission.samples.last().map_or(Ticks(0), |(_, end)| *end), now))
    };
    mark(device)?;
    let (first, started) = mark(device)?;
    let (mut last, mut ended) = mark(device)?;
    while ended.saturating_sub(started) < span {
        (last, ended) = mark(device)?;
    }
    Ok(scale.between(first, last).0 / Nanos::from_duration(ended.saturating_sub(started)).0)
}

fn floor(device: &mut dyn Dispatcher, tools: Tools, timer: Timer) -> Result<Nanos, Failure> {
    Ok(Nanos(stats::median(&repeat(device, tools.empty, timer, 0, 32)?)))
}

/// The step in which the device counts: the greatest common divisor of all differences between a submission's timestamps, since
/// many devices count in coarser steps than their period. Zero where all are alike.
pub fn step(submission: &Submission, scale: TickScale) -> Nanos {
    let stamps: Vec<Ticks> = submission.samples.iter().flat_map(|(start, end)| [*start, *end]).collect();
    let divisor = stamps.windows(2).map(|pair| scale.ticks(pair[0], pair[1])).fold(0, greatest_common_divisor);
    scale.nanos(divisor)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_what_all_differences_share() {
        let samples = vec![(Ticks(1000), Ticks(1640)), (Ticks(1960), Ticks(2632))];
        let submission = Submission { host: Duration::ZERO, samples };
        let scale = TickScale { valid_bits: 64, period: 2.0 };
        assert_eq!(step(&submission, scale), Nanos(64.0));
        let alike = Submission { host: Duration::ZERO, samples: vec![(Ticks(0), Ticks(0)); 3] };
        assert_eq!(step(&alike, scale), Nanos(0.0));
    }
}
