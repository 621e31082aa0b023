//! `lanescope tune --dry-run`: what would be searched, whether a first configuration passes its checks, and about how long all takes.

use std::time::{Duration, Instant};

use super::bounds::{Accesses, BoundsChecker};
use super::spec::{Search, unopened};
use crate::campaign::lock;
use crate::measure::{Answer, Bench, CaseKey, JUDGED_ROUNDS, Job, Loss, Order, answers_of};
use crate::model::{Failure, Point, Status};
use crate::output::Progress;
use crate::plan::Estimate;
use crate::subject::{Reference, UserKernel};
use crate::tuning::search::Budget;
use crate::units::Nanos;

/// The passes of a visit: one that is discarded, and a sample.
const PASSES: u32 = 2;

pub struct DryRun<'r> {
    pub search: &'r Search<'r>,
}

/// What one configuration took until it was known to be right, and a pass of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Took {
    preparing: Duration,
    pass: Duration,
}

impl DryRun<'_> {
    /// Checks the shader as it is written where that is a configuration, else the first one that can be. Tells whether all was well; nothing
    /// where the user interrupted the wait for the device.
    /// Errors: that the reference can't be run, as for a search.
    pub fn run(&self, kernel: &mut UserKernel) -> anyhow::Result<Option<bool>> {
        self.search.introduce(kernel)?;
        let campaign = self.search.campaign;
        let Some(_locks) = lock::take_all(&campaign.settings, &campaign.targets, &campaign.voice)? else { return Ok(None) };
        self.check(kernel).map(Some)
    }

    fn check(&self, kernel: &mut UserKernel) -> anyhow::Result<bool> {
        let began = Instant::now();
        let mut candidates =
            self.search.written.into_iter().chain(0..self.search.space.len()).map(|at| self.search.space.point(at));
        let case = candidates.find_map(|point| kernel.describe(&point).ok().map(|case| (point, case)));
        let Some((point, case)) = case else {
            self.progress().answer("no configuration can be run on this device");
            return Ok(false);
        };
        let mut checker = BoundsChecker::new(self.search, kernel)?;
        let mut bench = self.search.opener(None)(None).map_err(|Loss(failure)| unopened(failure))?;
        self.progress().notes(bench.instrument().note.iter().chain(&bench.learned().notes));
        let starting = began.elapsed();
        let looking = Instant::now();
        let Accesses { excluded, leaves, .. } = checker.look(&point, &[]);
        if let Some(why) = excluded {
            return Ok(self.fails(&point, &Failure::new(Status::Skipped, why)));
        }
        let took = match checked(bench.as_mut(), CaseKey::from_case(&case), looking) {
            Ok(took) => took,
            Err(failure) => return Ok(self.fails(&point, &failure)),
        };
        let doubt = bench.learned().doubts.first();
        self.progress().answer(&match (leaves, doubt) {
            (true, _) => {
                format!("{point}: it accesses a buffer or an image out of bounds, and what it computes there is undefined")
            }
            (_, Some(doubt)) => format!("{point}: {doubt}"),
            _ => self.well(&point, &checker),
        });
        self.tell_time(starting, took);
        Ok(!leaves && doubt.is_none() && !self.search.campaign.voice.has_faults())
    }

    fn well(&self, point: &Point, checker: &BoundsChecker) -> String {
        let bounds = if checker.is_blind() { "" } else { ", stays within its arrays" };
        let compared = match self.search.subject.reference {
            Reference::Files(_) => "what the files hold",
            _ => "what the reference computes",
        };
        format!("{point}: it compiles{bounds}, and computes {compared}")
    }

    fn progress(&self) -> &Progress {
        &self.search.campaign.voice.progress
    }

    fn fails(&self, point: &Point, Failure { status, reason, .. }: &Failure) -> bool {
        self.progress().answer(&format!("{point}: {status}: {reason}"));
        false
    }

    fn tell_time(&self, starting: Duration, took: Took) {
        let Search { is_race, budget, campaign, .. } = *self.search;
        let (count, max_time) = (self.search.most_tried(), self.search.max_time());
        let processes = u32::try_from(campaign.settings.processes).unwrap_or(u32::MAX);
        let mut estimate = estimated(count, is_race, max_time, took);
        for bound in [&mut estimate.least, &mut estimate.most] {
            if let Budget::Time(time) = budget {
                *bound = time.min(*bound);
            }
            *bound = bound.saturating_add(starting.saturating_mul(processes));
        }
        let [pass, preparing] = [took.pass, took.preparing].map(Nanos::from_duration);
        let timing = humantime::format_duration(Duration::from_millis(max_time.as_millis().try_into().unwrap_or(u64::MAX)));
        self.progress().answer(&format!(
            "the search takes {estimate}, about: an estimate from {pass} a pass and {preparing} of preparing and checking here, and up to \
             {timing} of timing for each of {count}; nothing was measured"
        ));
    }
}

/// Of so many configurations, each of which takes what this one did: all but one are dropped when they were visited once, or all are
/// measured as long as they may be.
fn estimated(count: usize, is_raced: bool, max_time: Duration, Took { preparing, pass }: Took) -> Estimate {
    let visits = |visits: u32| pass.saturating_mul(PASSES * visits);
    // Six rounds are taken in any case.
    let whole = max_time.max(visits(JUDGED_ROUNDS[0]));
    let all = |timing: Duration| {
        let each = preparing.saturating_add(timing);
        each.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
    };
    let most = all(whole);
    let least = if is_raced { all(visits(1).min(whole)).saturating_add(whole) } else { all(visits(JUDGED_ROUNDS[0])) };
    Estimate { cases: count as u64, least: least.min(most), most }
}

/// Loads a case, which runs it once and compares the results, and runs it twice more.
fn checked(bench: &mut dyn Bench, key: CaseKey, began: Instant) -> Result<Took, Failure> {
    let job = Job { key, base: None, sizes: None, is_checked: true };
    let load = Order::Load { jobs: vec![job], share: Some(1), is_ahead: false };
    let loading = answers_of(bench, load)?.into_iter().find_map(|answer| match answer {
        Answer::Loaded(loading) => Some(loading.result),
        Answer::Ready(Err(failure)) => Some(Err(failure)),
        _ => None,
    });
    loading.unwrap_or_else(|| Err(Failure::new(Status::OutOfMemory, "it doesn't fit the device's memory")))?;
    let preparing = began.elapsed();
    answers_of(bench, Order::Begin { recovers: false })?;
    let mut pass = f64::NAN;
    for _ in 0..PASSES {
        for answer in answers_of(bench, Order::Sample { place: 0, expected: preparing })? {
            if let Answer::Sampled(visit) = answer {
                pass = visit?.samples.first().copied().unwrap_or(pass);
            }
        }
    }
    answers_of(bench, Order::End)?;
    Ok(Took { preparing, pass: Duration::try_from_secs_f64(pass / 1e9).unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_race_takes_less_than_measuring_all_and_nothing_takes_more_than_it_may() {
        let took = Took { preparing: Duration::from_millis(100), pass: Duration::from_millis(10) };
        let of = |is_raced, max_time| {
            let Estimate { least, most, .. } = estimated(100, is_raced, Duration::from_millis(max_time), took);
            [least, most].map(|time| time.as_millis())
        };
        // A visit of two passes each, and one that is measured to its end.
        assert_eq!(of(true, 500), [12_000 + 500, 60_000]);
        assert_eq!(of(false, 500), [22_000, 60_000]);
        // Six rounds take 120 ms, whatever is allowed.
        assert_eq!(of(true, 50), [12_000 + 120, 22_000]);
    }
}
