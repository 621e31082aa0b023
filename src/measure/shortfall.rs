//! Timestamps that show less of a submission than the host saw it take.
//!
//! The host's clock alone can't tell why: a submission has launching, resets, preparations and evictions beside its samples, and on a
//! busy machine whoever waits for it is late. So where it gives a reason, samples are taken that another timestamp follows at once,
//! behind a barrier. One that comes long after the sample's end shows that work went on: time passed on the same clock, with nothing
//! else to do. Where all timestamps of a submission come early, that doesn't show; there the host's clock is believed if nothing but
//! passes can have taken the time, and no other process took the processor.
//!
//! Whatever disturbs a sample only adds to these times, so a single one that is as it should be ends the matter. A case is looked at once
//! while it is loaded.

use std::collections::HashMap;
use std::time::Duration;

use super::rig::Rig;
use super::visit::{SampledCase, outlasts_timestamps};
use super::{Conditions, flags};
use crate::gpu::{CaseHandle, Samples, Submission};
use crate::model::{DeviceKind, Failure};
use crate::units::{Nanos, TickScale};

/// What a sample takes at least, by the host's clock, for launching and waiting to be short beside it.
const LONG: Nanos = Nanos(1e6);

/// The share of the host's time that timestamps may leave out. Those that halve a time leave out more.
const MISSING: f64 = 1.0 / 3.0;

/// How long after a sample's end the next timestamp comes that shows its work to have gone on: at least, and as a share of the sample.
const LATE: Nanos = Nanos(200e3);
const LATE_SHARE: f64 = 0.5;

/// From here on the host's clock can be believed: waking a thread was seen to take 0.55 ms, and other threads' turns some more.
const VERY_LONG: Nanos = Nanos(50e6);

/// How many samples are looked at: so many at most, and long ones no longer than this.
const MOST: u32 = 20;
const ENOUGH: Duration = Duration::from_secs(1);

/// What was found of the cases that were looked at; nothing where timestamps are right, or nobody can tell.
pub(super) type Shortfalls = HashMap<CaseHandle, Option<String>>;

/// What both clocks say of a submission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Both {
    /// The sum of its samples, by the device's timestamps.
    pub(super) device: Nanos,
    pub(super) host: Nanos,
}

impl Both {
    fn is_short(self) -> bool {
        self.device.0 < (1.0 - MISSING) * self.host.0
    }
}

/// A sample, and how long after its end the next timestamp comes.
#[derive(Clone, Copy, Debug)]
struct Followed {
    both: Both,
    gap: Nanos,
}

impl Followed {
    fn of(submission: &Submission, scale: TickScale) -> Option<Self> {
        let (&(start, end), (next, _)) = (submission.samples.last()?, submission.after?);
        let both = Both { device: scale.between(start, end), host: Nanos::from_duration(submission.host) };
        Some(Self { both, gap: scale.between(end, next) })
    }

    /// Timestamps that run backwards are another matter, and seem to lie further apart than the host saw pass.
    fn goes_on(self) -> bool {
        let least = LATE.0.max(LATE_SHARE * self.both.device.0);
        self.gap.0 > least && self.gap.0 <= self.both.host.0
    }

    fn is_short_for_the_host(self) -> bool {
        self.both.host.0 >= VERY_LONG.0 && self.both.is_short()
    }
}

impl Rig<'_> {
    /// What is wrong where the timestamps of a case show too little of a submission of so many samples.
    pub(super) fn shortfall(
        &mut self,
        subject: &SampledCase,
        scale: TickScale,
        samples: u32,
        seen: Both,
    ) -> Result<Option<String>, Failure> {
        if !seen.is_short() || seen.host.0 < LONG.0 * f64::from(samples) {
            return Ok(None);
        }
        if let Some(known) = self.shortfalls.get(&subject.slot) {
            return Ok(known.clone());
        }
        let found = self.find_shortfall(subject, scale)?;
        self.shortfalls.insert(subject.slot, found.clone());
        Ok(found)
    }

    fn find_shortfall(&mut self, subject: &SampledCase, scale: TickScale) -> Result<Option<String>, Failure> {
        let (started, before) = (self.device.now(), self.device.processor_time());
        let case = &subject.prepared.case;
        let (mut goes_on, mut is_short) = (true, case.reset.is_empty() && case.prepare.is_empty() && !subject.is_cold());
        let mut tries = 0;
        let last = loop {
            let wanted = Samples::of(subject.slot, subject.sizes.batch, 1);
            let wanted =
                Samples { evictor: self.tools.evictor.filter(|_| subject.is_cold()), then: Some(self.tools.empty), ..wanted };
            let submission = self.device.sample_between(wanted)?;
            outlasts_timestamps(&submission, scale)?;
            let Some(followed) = Followed::of(&submission, scale) else { return Ok(None) };
            (goes_on, is_short) = (goes_on && followed.goes_on(), is_short && followed.is_short_for_the_host());
            tries += 1;
            if !(goes_on || is_short) {
                return Ok(None);
            }
            if tries == MOST || self.device.now().saturating_sub(started) >= ENOUGH {
                break followed;
            }
        };
        let Followed { both: Both { device, host }, gap } = last;
        if goes_on {
            return Ok(Some(format!(
                "by its timestamps a sample took {device}, but the next one came {gap} after its end, with nothing to do between"
            )));
        }
        let lost = before.zip(self.device.processor_time()).and_then(|(before, after)| self.contention.lost(&before, after));
        let is_known = lost.is_some() || self.device.info().kind != DeviceKind::Cpu;
        let is_quiet = is_known && flags::is_steady(&Conditions { lost, ..Conditions::UNTOLD });
        Ok(is_quiet.then(|| format!("by its timestamps the device took {device} for what the host saw take {host}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Ticks;

    const SCALE: TickScale = TickScale { valid_bits: 64, period: 1.0 };

    /// What times in microseconds show: the sample's end, the next timestamp and the host's time.
    fn followed(end: u64, next: u64, host: u64) -> Followed {
        let [end, next] = [end, next].map(|time| Ticks(1_000_000_000 + 1000 * time));
        let samples = vec![(Ticks(1_000_000_000), end)];
        let submission = Submission { host: Duration::from_micros(host), samples, after: Some((next, next)) };
        Followed::of(&submission, SCALE).unwrap()
    }

    #[test]
    fn work_that_goes_on_after_its_end_is_seen() {
        assert!(followed(1000, 2000, 2050).goes_on() && followed(0, 2000, 2050).goes_on());
        assert!(!followed(2000, 2010, 40_000).goes_on(), "the host was late");
        assert!(!followed(100, 290, 2050).goes_on(), "so little may be a barrier");
        assert!(!followed(3000, 2000, 2050).goes_on(), "a clock that runs backwards");
    }

    #[test]
    fn the_hosts_clock_counts_where_it_shows_much_more() {
        assert!(followed(30_000, 30_010, 60_000).is_short_for_the_host() && followed(0, 0, 60_000).is_short_for_the_host());
        assert!(!followed(50_000, 50_010, 60_000).is_short_for_the_host());
        assert!(!followed(1000, 1010, 40_000).is_short_for_the_host(), "other threads had their turns");
    }
}
