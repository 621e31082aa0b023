//! One visit to a case: how many passes and samples it takes, and taking them.

use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::batch::{PassTime, STEPS, Target, constant, is_differenced};
use super::core_clock::CoreReading;
use super::instrument;
use super::rig::{Conditions, Rig};
use super::shortfall::Both;
use super::stop::LAST_ROUND;
use super::{Instrument, Timer};
use crate::gpu::{CaseHandle, Submission};
use crate::model::{Cache, Case, Failure, Measurand, Repeat, Status, Step, real};
use crate::shader::Prepared;
use crate::stats;
use crate::units::{Nanos, TickScale};

/// One submission stays below this: graphics watchdogs end those that last seconds.
const MAX_SUBMISSION: Nanos = Nanos(100e6);

/// What a sample of the host's own work takes at least: many times what reading its clock does.
const HOST_SAMPLE: Nanos = Nanos(100e3);

/// The most samples of one visit. More would only narrow the error within the visit, which isn't the one that counts.
const MAX_SAMPLES: f64 = 31.0;

/// A visit of samples that are longer, for the sake of what they carry beside passes, has fewer: so many floors together, but so many
/// samples at least. It takes no longer than one of many short samples.
const VISIT_FLOORS: f64 = 6400.0;
const LEAST_SAMPLES: f64 = 5.0;

/// Samples of a single pass in a visit, besides one that is discarded.
const SHORTS: u32 = 7;

/// Device time may exceed the host's for the same submission by this share, which is how far the two clocks may differ.
const CLOCKS_AGREE: f64 = 1.01;

/// A clock further off than this isn't one that is wrong, but none: it stands still, jumps or runs backwards.
const CLOCKS_APART: f64 = 2.0;

/// A sample below this share of the floor is too short: the floor itself is known to a tenth or so on software drivers.
const BELOW_FLOOR: f64 = 0.75;

/// In a race, how many times as slow as another one a case is that needs no second look, and how long its pass takes at least.
pub(super) const FAR_SLOWER: f64 = 3.0;
const LONG: Nanos = Nanos(5e6);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Passes per sample; 0 where the timer itself is measured.
    pub batch: u32,
    /// Samples per visit, besides one that is discarded.
    pub samples: u32,
    /// Samples of a single pass, besides one that is discarded, by which what a sample carries is taken off; 0 where it stays in.
    #[serde(default)]
    pub shorts: u32,
    /// Samples that one submission may hold.
    pub samples_at_once: u32,
    /// What a sample took when they were chosen.
    pub sample_time: Duration,
}

impl Sizes {
    /// One sample of one pass: those of a case of which nothing is known yet.
    pub const ONE: Self = Self { batch: 1, samples: 1, shorts: 0, samples_at_once: 1, sample_time: Duration::ZERO };

    /// Whether they can have been chosen, with samples of so long at most. What an earlier run left may be damaged.
    pub(super) fn can_be(&self, longest: Duration) -> bool {
        let Self { batch, samples, shorts, samples_at_once, sample_time } = *self;
        let may_be = |count: u32, most: f64| (1.0..=most).contains(&f64::from(count));
        (batch == 0 || STEPS.contains(&batch))
            && may_be(samples, MAX_SAMPLES)
            && may_be(samples_at_once, f64::from(samples + 1))
            && [0, SHORTS].contains(&shorts)
            && sample_time <= longest
    }

    /// Samples of a single pass that a visit lacks. One more is discarded.
    fn lacking(&self, visit: &Visit) -> u32 {
        let wanted = if self.shorts > 0 { self.shorts + 1 } else { 0 };
        wanted.saturating_sub(u32::try_from(visit.shorts.len()).unwrap_or(u32::MAX))
    }

    /// About how long a pass took when they were chosen, where nothing but passes is in a sample: only there cases compare by it.
    pub(super) fn pass_time(&self, case: &Case) -> Option<Duration> {
        let is_pass = case.measurand == Measurand::Pass && case.prepare.is_empty();
        is_pass.then(|| self.sample_time / self.batch.max(1))
    }
}

/// A case that is loaded, and the sizes in which it is sampled.
#[derive(Clone, Debug)]
pub(super) struct SampledCase {
    pub(super) prepared: Rc<Prepared>,
    pub(super) slot: CaseHandle,
    pub(super) sizes: Sizes,
}

impl SampledCase {
    /// Whether caches are evicted before each sample.
    pub(super) fn is_cold(&self) -> bool {
        self.prepared.case.cache == Cache::Cold
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Visit {
    /// Nanoseconds per pass (or what else is measured), a value per sample.
    #[serde(with = "real")]
    pub samples: Vec<f64>,
    /// Samples of a single pass, ns, until what both kinds carry is taken off.
    #[serde(with = "real", default, skip_serializing_if = "Vec::is_empty")]
    pub shorts: Vec<f64>,
    /// What a sample took beside its passes, ns, where that was told and taken off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<f64>,
    /// Host time per pass of each submission, ns.
    #[serde(with = "real")]
    pub host_times: Vec<f64>,
    /// In pairs: the time over that of the base, of each pair of samples.
    #[serde(with = "real", default, skip_serializing_if = "Vec::is_empty")]
    pub ratios: Vec<f64>,
    /// In pairs: the base's samples, and under which conditions they were taken where that is on another device.
    #[serde(with = "real", default, skip_serializing_if = "Vec::is_empty")]
    pub base: Vec<f64>,
    /// Those of the base's device, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_conditions: Option<Conditions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implausible: Option<String>,
}

impl SampledCase {
    pub(super) fn measurand(&self) -> Measurand {
        self.prepared.case.measurand
    }

    /// Whether a sample takes much longer than what is timed of it: by what runs before, and where only the host's part counts.
    fn has_untimed_work(&self) -> bool {
        !self.prepared.case.prepare.is_empty() || matches!(self.measurand(), Measurand::HostCost(_))
    }

    /// Whether a pass has more than barriers. Without work between them drivers merge those of many passes into one.
    fn has_work(&self) -> bool {
        self.prepared.case.pass.iter().any(|step| !matches!(step, Step::Barrier | Step::Dependency(_)))
    }

    /// What its times are to be believed by: the least that a sample can show, and where they come from.
    fn timing(&self, instrument: &Instrument) -> (Nanos, Timer) {
        match self.measurand() {
            Measurand::HostPass | Measurand::HostCost(_) => (Nanos(0.0), Timer::Host),
            _ => (instrument.floor, instrument.timer),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Sizing {
    pub(super) max_time: Duration,
    /// Whether only the fastest counts: a sample isn't lengthened then for an error that is below what others are beaten by.
    pub(super) is_race: bool,
    /// How long a pass of a rival takes: one sample tells enough of a case that is far slower.
    pub(super) rival: Option<Duration>,
    pub(super) is_glance: bool,
}

impl Rig<'_> {
    /// Chooses passes per sample, so that what a sample carries beside them can be taken off or is little of it, and samples per visit,
    /// so that the visits of all rounds fit the case's time.
    pub(super) fn choose_sizes(&mut self, subject: &SampledCase, sizing: Sizing) -> Result<Sizes, Failure> {
        let Sizing { max_time, is_race, rival, is_glance } = sizing;
        if !subject.measurand().is_pass() {
            let (batch, samples, sample_time) = match subject.measurand() {
                Measurand::ClockRate => (0, 1, max_time),
                // A pass reads the counters.
                Measurand::CoreClock => (1, 31, Duration::ZERO),
                _ => (0, 31, Duration::ZERO),
            };
            return Ok(Sizes { batch, samples, shorts: 0, samples_at_once: samples + 1, sample_time });
        }
        let is_hosts = subject.measurand().is_by_host();
        if subject.measurand() != Measurand::HostPass {
            self.warm_up_if_idle(is_glance)?;
        }
        let visit = Nanos::from_duration(max_time).0 / f64::from(LAST_ROUND);
        let target = match is_hosts {
            true => Target::whole(HOST_SAMPLE, MAX_SUBMISSION.0),
            false => {
                let longest = if is_race { 0.0 } else { MAX_SUBMISSION.0.min(visit / (LEAST_SAMPLES + 1.0)) };
                Target::of_floor(self.instrument.floor, MAX_SUBMISSION.0, longest)
            }
        };
        let Case { repeat, prepare, .. } = &subject.prepared.case;
        let may_batch = *repeat != Repeat::AfterReset && prepare.is_empty() && !subject.is_cold();
        let mut batch = 1;
        let (mut timed, mut time) = self.least_sample(subject, batch, rival)?;
        loop {
            let passes = f64::from(batch);
            let next = target.next(batch, PassTime { timed: timed / passes, spent: time / passes });
            if !may_batch || next == batch {
                break;
            }
            batch = next;
            (timed, time) = self.least_sample(subject, batch, rival)?;
        }
        let shorts = if is_differenced(batch) && !is_hosts && subject.has_work() { SHORTS } else { 0 };
        let most = match batch > 1 && !is_hosts {
            true => (VISIT_FLOORS * self.instrument.floor.0 / timed).clamp(LEAST_SAMPLES, MAX_SAMPLES),
            false => MAX_SAMPLES,
        };
        // One is discarded, and those of a single pass take as long as another one at most.
        let beside = if shorts > 0 { 2.0 } else { 1.0 };
        let samples = whole(visit / time - beside, most);
        let samples_at_once = whole(MAX_SUBMISSION.0 / time, f64::from(samples + 1));
        Ok(Sizes { batch, samples, shorts, samples_at_once, sample_time: Nanos(time).to_duration() })
    }

    /// What one sample takes, by the timer, but by the host's clock where caches are evicted before it, outside the timestamps; and
    /// what it takes of the case's time. The least of three, so that a disturbed one doesn't choose the batch.
    fn least_sample(&mut self, subject: &SampledCase, batch: u32, rival: Option<Duration>) -> Result<(f64, f64), Failure> {
        let timer = if subject.is_cold() { Timer::Host } else { subject.timing(&self.instrument).1 };
        let (mut timed, mut spent) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..3 {
            let started = self.device.now();
            let submission = self.take(subject, batch, 1)?;
            spent = spent.min(Nanos::from_duration(self.device.now().saturating_sub(started)).0);
            timed = timer.durations(&submission).iter().fold(timed, |least, time| least.min(time.0));
            if rival.is_some_and(|rival| is_far_slower(spent / f64::from(batch), rival)) {
                break;
            }
        }
        self.was_busy();
        Ok((timed, if subject.has_untimed_work() { spent } else { timed }))
    }

    /// One visit: a discarded sample, then the case's number of samples.
    pub(super) fn visit(&mut self, subject: &SampledCase, max_time: Duration) -> Result<Visit, Failure> {
        let visit = match subject.measurand() {
            Measurand::Pass | Measurand::HostPass | Measurand::HostCost(_) => self.sample_passes(subject)?,
            Measurand::TimerFloor => self.sample_floor(subject)?,
            Measurand::TimerStep => self.sample_step(subject)?,
            Measurand::ClockRate => self.sample_clock(max_time)?,
            Measurand::CoreClock => self.sample_core_clock(subject)?,
        };
        self.was_busy();
        Ok(visit)
    }

    fn sample_passes(&mut self, subject: &SampledCase) -> Result<Visit, Failure> {
        let mut visit = Visit::default();
        let (floor, timer) = subject.timing(&self.instrument);
        let wanted = subject.sizes.samples as usize + 1;
        while visit.samples.len() < wanted {
            let left = u32::try_from(wanted - visit.samples.len()).unwrap_or(u32::MAX);
            let at_once = if timer == Timer::Host { 1 } else { left.min(subject.sizes.samples_at_once) };
            self.sample_into(&mut visit, subject, at_once)?;
        }
        loop {
            let lacking = subject.sizes.lacking(&visit);
            if lacking == 0 {
                break;
            }
            self.shorts_into(&mut visit, subject, if timer == Timer::Host { 1 } else { lacking })?;
        }
        finish(&mut visit, subject.sizes, floor);
        self.was_busy();
        Ok(visit)
    }

    /// Takes samples in one submission, and judges whether they can be right.
    pub(super) fn sample_into(&mut self, visit: &mut Visit, subject: &SampledCase, samples: u32) -> Result<(), Failure> {
        let batch = subject.sizes.batch;
        let (times, host) = self.timed(visit, subject, batch, samples)?;
        visit.host_times.push(host.0 / (f64::from(batch) * f64::from(samples)));
        visit.samples.extend(times.iter().map(|time| time.0 / f64::from(batch)));
        Ok(())
    }

    /// The same of a single pass, beside the others.
    fn shorts_into(&mut self, visit: &mut Visit, subject: &SampledCase, samples: u32) -> Result<(), Failure> {
        let (times, _) = self.timed(visit, subject, 1, samples)?;
        visit.shorts.extend(times.iter().map(|time| time.0));
        Ok(())
    }

    /// Takes one sample, and beside it one of a single pass where the visit lacks one: in alternation with another case.
    pub(super) fn sample_one_into(&mut self, visit: &mut Visit, subject: &SampledCase) -> Result<(), Failure> {
        self.sample_into(visit, subject, 1)?;
        if subject.sizes.lacking(visit) > 0 { self.shorts_into(visit, subject, 1) } else { Ok(()) }
    }

    /// The times of samples of one submission, and what the host saw of that.
    fn timed(&mut self, visit: &mut Visit, subject: &SampledCase, batch: u32, samples: u32) -> Result<Timed, Failure> {
        let submission = self.take_watched(subject, batch, samples)?;
        let (_, timer) = subject.timing(&self.instrument);
        let times = timer.durations(&submission);
        let host = Nanos::from_duration(submission.host);
        if let Timer::Device(scale) = timer {
            outlasts_timestamps(&submission, scale)?;
            let device = Nanos(times.iter().map(|time| time.0).sum());
            visit.implausible = visit.implausible.take().or_else(|| more_than_the_hosts(device, host));
            if visit.implausible.is_none() && batch == subject.sizes.batch {
                visit.implausible = self.shortfall(subject, scale, samples, Both { device, host })?;
            }
        }
        Ok((times, host))
    }

    fn sample_floor(&mut self, subject: &SampledCase) -> Result<Visit, Failure> {
        let (submission, scale) = self.sample_timer(subject)?;
        let times = Timer::Device(scale).durations(&submission);
        let samples: Vec<f64> = times.iter().skip(1).map(|time| time.0).collect();
        let all = Nanos(samples.iter().sum());
        let implausible = nothing("timestamps back to back", stats::median(&samples))
            .or_else(|| more_than_the_hosts(all, Nanos::from_duration(submission.host)));
        Ok(Visit { samples, implausible, ..of_timer(&submission) })
    }

    fn sample_step(&mut self, subject: &SampledCase) -> Result<Visit, Failure> {
        let (submission, scale) = self.sample_timer(subject)?;
        let step = instrument::step(&submission, scale).0;
        Ok(Visit { samples: vec![step], implausible: nothing("a step of the timestamps", step), ..of_timer(&submission) })
    }

    /// Timestamps back to back. They are the subject here, so they are read even where they are not believed.
    fn sample_timer(&mut self, subject: &SampledCase) -> Result<(Submission, TickScale), Failure> {
        let scale = self.scale()?;
        Ok((self.device.sample(subject.slot, 0, subject.sizes.samples + 1)?, scale))
    }

    fn sample_core_clock(&mut self, subject: &SampledCase) -> Result<Visit, Failure> {
        let read = (0..subject.sizes.samples).map(|_| self.read_core()).collect::<Result<Vec<_>, Failure>>()?;
        let samples: Vec<f64> = read.into_iter().flatten().map(CoreReading::mhz).collect();
        if samples.is_empty() {
            return Err(Failure::new(Status::Skipped, "the device's counters of time and cycles don't tell its core's clock"));
        }
        Ok(Visit { samples, ..Visit::default() })
    }

    fn sample_clock(&mut self, max_time: Duration) -> Result<Visit, Failure> {
        let (scale, tools) = (self.scale()?, self.tools);
        let rate = instrument::clock_rate(self.device.as_mut(), tools, scale, max_time.min(Duration::from_millis(100)))?;
        let is_wrong = !(1.0 / CLOCKS_APART..CLOCKS_APART).contains(&rate);
        let implausible = is_wrong.then(|| format!("the device's clock runs at {rate:.3} times the host's"));
        Ok(Visit { samples: vec![rate], implausible, ..Visit::default() })
    }
}

type Timed = (Vec<Nanos>, Nanos);

/// Discards the first sample, judges whether the others can be right, and takes off what they carry beside passes, if told.
pub(super) fn finish(visit: &mut Visit, sizes: Sizes, floor: Nanos) {
    visit.samples.remove(0);
    let sample = Nanos(stats::median(&visit.samples) * f64::from(sizes.batch));
    visit.implausible = visit.implausible.take().or_else(|| implausible_time(sample, floor));
    let shorts = std::mem::take(&mut visit.shorts);
    // The first one is discarded as well.
    let Some((_, shorts)) = shorts.split_first().filter(|(_, rest)| !rest.is_empty()) else { return };
    let single = stats::median(shorts);
    let constant = constant(sample.0, sizes.batch, single, floor);
    visit.samples.iter_mut().for_each(|time| *time -= constant / f64::from(sizes.batch));
    let pass = stats::median(&visit.samples);
    visit.constant = Some(constant);
    visit.implausible = visit.implausible.take().or_else(|| {
        let (batch, single) = (sizes.batch, Nanos(single));
        (pass.is_nan() || pass <= 0.0).then(|| format!("{batch} passes take {sample}, and one takes {single}"))
    });
}

#[expect(clippy::cast_precision_loss, reason = "samples are few")]
fn of_timer(submission: &Submission) -> Visit {
    let host = Nanos::from_duration(submission.host).0 / submission.samples.len() as f64;
    Visit { host_times: vec![host], ..Visit::default() }
}

/// Timestamps that wrapped within a submission say nothing about it.
pub(super) fn outlasts_timestamps(submission: &Submission, scale: TickScale) -> Result<(), Failure> {
    if Nanos::from_duration(submission.host) < scale.wrap() {
        return Ok(());
    }
    let (host, wrap) = (submission.host, scale.wrap());
    Err(Failure::new(Status::Error, format!("a submission of {host:?} outlasts the timestamps, which wrap after {wrap}")))
}

/// The device can't have worked longer than the host waited for it.
fn more_than_the_hosts(device: Nanos, host: Nanos) -> Option<String> {
    let plausible = device.0 <= CLOCKS_AGREE * host.0;
    (!plausible).then(|| format!("by its timestamps the device took {device} for what the host saw end after {host}"))
}

/// Timestamps that stand still show nothing.
fn nothing(what: &str, time: f64) -> Option<String> {
    (time.is_nan() || time <= 0.0).then(|| format!("{what} take {}: the device's clock stands still", Nanos(time)))
}

/// A sample can't be shorter than two timestamps back to back.
fn implausible_time(sample: Nanos, floor: Nanos) -> Option<String> {
    let plausible = sample.0.is_finite() && sample.0 > 0.0 && sample.0 >= BELOW_FLOOR * floor.0;
    (!plausible).then(|| format!("a sample takes {sample}, though two timestamps back to back take {floor}"))
}

/// Whether one sample of a pass is enough beside a rival's: it is long, so that looking twice costs, and nothing disturbs so much.
fn is_far_slower(pass: f64, rival: Duration) -> bool {
    pass > LONG.0 && pass > FAR_SLOWER * Nanos::from_duration(rival).0
}

/// A count between 1 and `most`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a small range; NaN becomes 1")]
fn whole(count: f64, most: f64) -> u32 {
    count.max(1.0).min(most) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_not_be_right_is_said() {
        assert_eq!(more_than_the_hosts(Nanos(1000.0), Nanos(1000.0)), None);
        let said = more_than_the_hosts(Nanos(1020.0), Nanos(1000.0));
        assert_eq!(said.as_deref(), Some("by its timestamps the device took 1.02 us for what the host saw end after 1.00 us"));
        assert!(more_than_the_hosts(Nanos(f64::NAN), Nanos(1000.0)).is_some());
        assert_eq!(implausible_time(Nanos(500.0), Nanos(640.0)), None);
        for wrong in [450.0, 0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(implausible_time(Nanos(wrong), Nanos(640.0)).is_some(), "{wrong}");
        }
    }
}
