//! What cases take on a device, one session after the other in the same processes.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::campaign::{Campaign, interrupt};
use crate::gpu::compile_threads;
use crate::measure::{CaseKey, Event, Measured, Options, Pool, Rule, Session, Task};
use crate::model::{Case, Failure, Status};
use crate::output::Bar;
use crate::record::Figures;
use crate::units::Ends;
use crate::worker::{AlteredCase, Opening};

/// The time for timing a case.
const TIME: Duration = Duration::from_secs(1);
const MAX_NOISE: f64 = 0.005;

/// What a pass took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    pub ns: f64,
    /// The ends of its 95 % interval; nothing below six rounds.
    pub ends: Option<Ends>,
    pub rounds: usize,
    pub processes: usize,
    /// Reasons to doubt it, as rows have them.
    pub flags: Vec<&'static str>,
    /// What the driver has no registers for, of each invocation, where it says so.
    pub spill_bytes: Option<u64>,
}

impl Taken {
    fn of(measured: &Measured, driver_id: &str) -> Self {
        let executables = measured.statistics.iter().flatten().map(|kernel| &kernel.executables[..]);
        let spills = executables.filter_map(|all| Figures::from_executables(driver_id, all).spill_bytes);
        Self {
            spill_bytes: spills.max(),
            ns: measured.value(),
            ends: measured.interval().map(|interval| (interval.low, interval.high)),
            rounds: measured.rounds.samples.len(),
            processes: measured.rounds.process_count(),
            flags: measured.flags.iter().map(|flag| flag.name()).collect(),
        }
    }
}

/// What measures cases with warm caches on the campaign's device.
pub struct Meter<'c> {
    session: Session<'c>,
    driver_id: String,
}

impl<'c> Meter<'c> {
    /// `altered` are the cases that aren't as the catalogue or the user has them.
    ///
    /// # Errors
    /// Where the device can't be measured on.
    pub fn new(campaign: &'c Campaign, altered: Vec<AlteredCase>) -> Result<Self, Failure> {
        let (settings, place) = (&campaign.settings, campaign.targets.device(0));
        let opening = settings.opening(place, TIME);
        let opening = Opening { evict_bytes: None, compile_threads: compile_threads(&place.info), altered, ..opening };
        let pool = Pool::new(settings.processes, campaign.opener(place, opening))?;
        let options = Options { rule: Rule::Each, max_noise: MAX_NOISE, max_time: TIME, seed: settings.seed };
        let driver_id = place.info.driver.id.clone();
        Ok(Self { session: Session::new(pool, options).keeping_few_rounds(), driver_id })
    }

    /// Measures cases beside each other: what each takes, or why that isn't known.
    ///
    /// # Errors
    /// Where the device was given up.
    pub fn times(&mut self, cases: &[(CaseKey, Case)], bar: &Bar) -> Result<Vec<Result<Taken, Failure>>, Failure> {
        let tasks: Vec<Task> = cases.iter().map(|(key, case)| Task { key: key.clone(), case, base: None }).collect();
        let outcomes = self.session.measure(&tasks, &mut |event| {
            match event {
                Event::Loading(case) => bar.start(&format!("checking {}", case.experiment)),
                Event::Timing(case, round) => bar.start(&format!("round {round}: {}", case.experiment)),
                _ => {}
            }
            if interrupt::is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let driver = &self.driver_id;
        let given_up = self.session.given_up().cloned();
        let nothing = || given_up.clone().unwrap_or_else(|| Failure::new(Status::Error, "it wasn't measured"));
        Ok(outcomes.into_iter().map(|outcome| outcome.ok_or_else(nothing)?.result.map(|of| Taken::of(&of, driver))).collect())
    }
}
