//! One device's share of a run: from its plan to its rows, block by block.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

use super::estimate::Estimate;
use super::interrupt;
use super::journal::Journal;
use super::lanes;
use super::settings::{RunSettings, Settings};
use super::sink::Sink;
use super::target::Targets;
use super::turns::Turns;
use super::voice::Voice;
use crate::analysis::Relations;
use crate::experiments::DERIVATIONS;
use crate::measure::{
    BLOCK_CASES, CaseKey, Event, JUDGED_ROUNDS, Measured, Opener, Options, PairBase, Pool, Rule, Session, Task,
};
use crate::model::{Case, DeviceInfo, Failure, Feature, Measurand, PipelineDetail};
use crate::output::{Bar, Progress};
use crate::plan::{Plan, Planned};
use crate::record::{Described, Fate, Record, Standing};
use crate::units::Bytes;
use crate::worker::{Opening, Place};

const QUICK_TIME: Duration = Duration::from_secs(45);
/// The least that a case is given, however many there are: below it, samples are too few to judge.
const LEAST_TIME: Duration = Duration::from_millis(20);

/// What `--stats` and `--isa` get from a driver that tells nothing.
const NO_STATISTICS: &str =
    "this driver reports no pipeline statistics and no code (VK_KHR_pipeline_executable_properties is missing)";

#[derive(Clone, Copy)]
pub enum Pairing<'r> {
    None,
    /// The case that each is compared with, on the same device.
    Bases,
    /// The same case on another device.
    Device(&'r Place, &'r Plan<'r>),
}

pub struct DeviceRun<'r> {
    pub settings: &'r RunSettings,
    pub targets: &'r Targets,
    pub place: &'r Place,
    pub plan: &'r Plan<'r>,
    pub pairing: Pairing<'r>,
    /// A row with all that is the same in this device's rows.
    pub template: &'r Record,
    pub sink: &'r Sink,
    /// How many of the plan's cases are to be measured, where they are listed.
    pub listed: Option<u64>,
    /// Where visits are noted, and the device's place in the run.
    pub journal: Option<(&'r Journal, usize)>,
    pub bar: Bar,
    /// What is known of the rows so far, those that were kept of an earlier run included.
    pub relations: Relations,
    /// Whether a case is to be measured: it is this shard's, and no earlier run has its row.
    pub is_wanted: &'r (dyn Fn(&Planned) -> bool + Sync),
    /// When it may work, where others wait for it and it for them.
    pub turns: Turns<'r>,
}

impl<'r> DeviceRun<'r> {
    /// Errors: where rows can't be written. What a device refuses stands in its rows.
    pub fn run(mut self) -> anyhow::Result<()> {
        let plan = self.plan;
        self.announce();
        let mut pending = plan.iter().filter(self.is_wanted).peekable();
        if pending.peek().is_some() {
            self.turns.begin();
            self.bar.start("opening the device, calibrating its timer");
            match self.session() {
                Ok(session) => self.measure(session, pending)?,
                Err(failure) => self.give_up(&failure, pending)?,
            }
        }
        self.derive()
    }

    fn measure(&mut self, mut session: Session, pending: impl Iterator<Item = Planned>) -> anyhow::Result<()> {
        self.introduce(&session);
        let mut pending = pending.peekable();
        while pending.peek().is_some() && self.goes_on() {
            self.turns.begin_block();
            let block: Vec<Planned> = pending.by_ref().take(BLOCK_CASES).collect();
            self.run_block(&mut session, &block)?;
            if let Some(failure) = session.given_up().cloned() {
                // Its worker processes end before the next device's begin.
                drop(session);
                return self.give_up(&failure, pending);
            }
        }
        Ok(())
    }

    fn announce(&self) {
        let DeviceInfo { name, driver, .. } = &self.place.info;
        let cases = self.plan.count();
        let part = self.settings.shard.map(|shard| format!(", of which part {shard}")).unwrap_or_default();
        let plural = if cases == 1 { "" } else { "s" };
        let listed = self.listed.map(|count| format!(", of which {count} {} listed", if count == 1 { "is" } else { "are" }));
        let listed = listed.unwrap_or_default();
        self.progress().note(&format!("{name} ({}): {cases} case{plural}{listed}{part}", driver.label()));
    }

    fn goes_on(&self) -> bool {
        !self.sink.is_closed() && !interrupt::is_asked()
    }

    fn session(&self) -> Result<Session<'r>, Failure> {
        let slots = self.common().processes;
        let pool = Pool::new(slots, self.opener(self.place))?.limited(self.place.info.peaks.clone());
        let mut session = Session::new(pool, self.options()).keeping_few_rounds().beside_others(self.turns.devices());
        if let Some((journal, _)) = self.journal {
            session.number_processes_behind(journal.last_process());
        }
        match self.pairing {
            Pairing::Device(base, _) => Ok(session.with_base(Pool::new(slots, self.opener(base)))),
            Pairing::None | Pairing::Bases => Ok(session),
        }
    }

    fn opener(&self, place: &'r Place) -> Opener<'r> {
        let mut usual = self.common().opening(place, self.options().max_time);
        if let Some(bytes) = usual.evict_bytes {
            self.progress().note(&format!("cold: {} are swept before every sample", Bytes(bytes)));
        }
        if !std::ptr::eq(place, self.place) {
            usual.detail = PipelineDetail::None;
        }
        let (targets, mut process) = (self.targets, 0);
        Box::new(move |timer| {
            process += 1;
            // What making a pipeline takes is a figure here, which other threads would disturb: none makes them ahead.
            targets.open(place, Opening { timer, process, ..usual.clone() }).map(|bench| bench as _)
        })
    }

    /// Writes a row for every case that is left of a device that can't be measured on: the plan is known, and other devices go on.
    fn give_up(&self, failure: &Failure, pending: impl Iterator<Item = Planned>) -> anyhow::Result<()> {
        let name = &self.place.info.name;
        self.sink.give_up(failure);
        self.progress().note(&format!("{name} can't be measured on: {}: {}", failure.status, failure.words()));
        for planned in pending {
            self.bar.advance(1);
            self.sink.write(self.row(&planned, Fate::NotRun(failure)))?;
            if !self.goes_on() {
                break;
            }
        }
        Ok(())
    }

    pub fn estimate(&self, cases: u64) -> Estimate {
        let sides = if self.settings.is_paired { 2 } else { 1 };
        Estimate::of_cases(cases, &self.place.info, self.common().processes, self.options().max_time * sides)
    }

    fn common(&self) -> &'r Settings {
        &self.settings.common
    }

    fn progress(&self) -> &Progress {
        &self.sink.voice.progress
    }

    fn introduce(&self, session: &Session) {
        let (device, instrument) = (&self.place.info, session.instrument());
        let whose = if self.targets.devices().count() > 1 { format!("{}: ", device.name) } else { String::new() };
        self.progress().notes(instrument.note.iter().map(|note| format!("{whose}{note}")));
        for quirk in &device.quirks {
            // A case in which it can show has its flag.
            self.progress().detail(&format!("{whose}known driver fault {}: {}", quirk.name, quirk.what));
        }
        if self.common().detail > PipelineDetail::None && !device.has(Feature::PipelineExecutableProperties) {
            self.progress().notes([format!("{whose}{NO_STATISTICS}")]);
        }
        self.progress().detail(&format!("timer: {}, floor {}", instrument.timer.as_str(), instrument.floor));
    }

    fn options(&self) -> Options {
        let common = self.common();
        Options {
            rule: Rule::Each,
            max_noise: common.max_noise(),
            max_time: common.max_time(quick_time(self.listed.unwrap_or(self.plan.count()).saturating_mul(self.turns()))),
            seed: common.flags.seed,
        }
    }

    /// Among how many the time of a quick run is shared: devices that take turns, and the two sides of a pair.
    fn turns(&self) -> u64 {
        let sides = if self.settings.is_paired { 2 } else { 1 };
        sides * lanes::turns(self.targets.devices(), self.settings.jobs)
    }

    /// Measures a block's cases, and writes a row for each that was measured, in the plan's order.
    fn run_block(&mut self, session: &mut Session, block: &[Planned]) -> anyhow::Result<()> {
        let runnable = block.iter().filter_map(|planned| Some((planned, planned.case.as_ref().ok()?)));
        let tasks: Vec<Task> = runnable.map(|(planned, case)| self.task(planned, case)).collect();
        self.bar.advance((block.len() - tasks.len()) as u64);
        let case_id_of = |case: &Case| {
            let is_it =
                |of: &&Planned| of.point == case.point && of.variant == case.variant && of.experiment.name() == case.experiment;
            block.iter().find(is_it).map(|planned| planned.case_id.as_str())
        };
        if let Some((journal, device)) = self.journal {
            for planned in block {
                journal.take(device, &planned.case_id).into_iter().for_each(|earlier| session.recall(key(planned), earlier));
            }
        }
        let outcomes = session.measure(&tasks, &mut |event| {
            if let (Event::Visited(made), Some((journal, device))) = (&event, self.journal) {
                case_id_of(made.case).into_iter().for_each(|case_id| journal.note(device, case_id, made));
            }
            if let Event::Round(round) = event {
                self.turns.begin_round(round);
            }
            show(&self.bar, &self.sink.voice, event);
            if interrupt::is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let given_up = session.given_up();
        let mut outcomes = outcomes.into_iter();
        let mut rows = Vec::new();
        let mut measured = HashMap::new();
        for planned in block {
            let row = match (planned.case.is_ok().then(|| outcomes.next().flatten()).flatten(), given_up) {
                (Some(outcome), _) => {
                    let mut row = self.row(planned, Fate::Tried(&outcome));
                    if let Ok(of_case) = outcome.result {
                        self.relations.judge(&planned.work, &mut row);
                        self.describe_pair(planned, &of_case, &mut row);
                        measured.insert(row.case_id.clone(), of_case);
                    }
                    row
                }
                (None, _) if planned.case.is_err() => self.row(planned, Fate::Planned),
                (None, Some(failure)) => self.row(planned, Fate::NotRun(failure)),
                // The run is about to end.
                (None, None) => continue,
            };
            rows.push((planned, row));
        }
        for (planned, row) in &rows {
            self.relations.keep(row, planned.base.as_ref().is_some_and(|base| base.case_id == planned.case_id));
        }
        let mut settled = Vec::new();
        for (planned, mut row) in rows {
            // What was broken off is to go on, and so is what the device was given up at.
            settled
                .extend(matches!(Standing::from_row(&row), Standing::Failed | Standing::Finished).then(|| row.case_id.clone()));
            if let Some(base) = &planned.base {
                self.relations.compare(&base.case_id, &mut row);
                // A merge compares with what another shard, or another try, has measured.
                if self.settings.shard.is_some() {
                    row.name_base(planned, self.plan);
                }
            }
            let measured = measured.remove(&row.case_id);
            let beside = planned.case.as_ref().ok().zip(measured.as_ref());
            self.sink.write_with(row, beside)?;
        }
        if let Some((journal, device)) = self.journal {
            journal.settle(device, settled.iter().map(String::as_str));
        }
        Ok(())
    }

    fn row(&self, planned: &Planned, fate: Fate) -> Record {
        Record::assembled(self.template, &Described::planned(planned), &self.place.info, fate)
    }

    /// Fills in a row's pair, or why it has none though it should: a base that is no case of this run fails the run by that.
    fn describe_pair(&self, planned: &Planned, measured: &Measured, row: &mut Record) {
        if let Some((_, name)) = self.base_of(planned) {
            row.describe_pair(&name, measured);
        }
        let is_by_host = planned.case.as_ref().is_ok_and(|case| case.measurand.is_by_host());
        if is_by_host && !matches!(self.pairing, Pairing::None) {
            row.add_reason("not paired: what the host's clock times isn't alternated".to_owned());
        }
        let Some(failure) = &measured.unpaired else { return };
        row.leave_unpaired(failure);
        if failure.status.is_failure() {
            let (case, (status, reason)) = (row.case_name(), failure.told());
            self.sink.voice.fault(&format!("{case}: not paired, its base failed: {status}: {reason}"));
        }
    }

    fn task<'c>(&self, planned: &Planned, case: &'c Case) -> Task<'c> {
        Task { key: key(planned), case, base: self.base_of(planned).map(|(base, _)| base) }
    }

    /// What a case is measured alternately with, where that runs, and how rows name it. Nothing for what measures the timer itself,
    /// which has no passes to alternate, nor for what the host does by itself: its passes have another clock.
    fn base_of(&self, planned: &Planned) -> Option<(PairBase, String)> {
        let experiment = planned.experiment.name();
        planned.case.as_ref().ok().filter(|case| case.measurand == Measurand::Pass)?;
        match self.pairing {
            Pairing::None => None,
            Pairing::Bases => {
                let base = planned.base.as_ref().filter(|base| base.case_id != planned.case_id)?;
                let key =
                    CaseKey { experiment: experiment.to_owned(), variant: base.variant.to_owned(), point: base.point.clone() };
                Some((PairBase::Here(key), base.case_id.clone()))
            }
            Pairing::Device(place, plan) => {
                let base = plan.case_at(experiment, planned.variant, &planned.point)?;
                let DeviceInfo { device_uuid, driver, .. } = &place.info;
                Some((PairBase::There(key(&base)), format!("{}@{device_uuid}/{}", base.case_id, driver.uuid)))
            }
        }
    }

    /// Says what can't be concluded from so few rows: to who asked for it, by its name or by that of the experiment that it follows from.
    /// What follows from several isn't asked for by asking for one of them.
    fn tell_lacking(&self, conclusion: &str, line: &str) {
        let is_joint = DERIVATIONS.iter().any(|derivation| derivation.name == conclusion);
        let is_asked = match is_joint {
            true => self.settings.filters.iter().any(|filter| filter == conclusion),
            false => !self.settings.filters.is_empty(),
        };
        if is_asked { self.progress().note(line) } else { self.progress().detail(line) }
    }

    /// Writes the figures that follow from the rows of this device. A shard has not all of them, nor have cases that are listed.
    fn derive(self) -> anyhow::Result<()> {
        if self.settings.shard.is_some() || self.listed.is_some() || interrupt::is_asked() {
            return Ok(());
        }
        let cache = self.common().cache();
        for (derived, flags) in self.relations.derive() {
            if let Some(lacking) = derived.lacking() {
                let name = [derived.experiment, derived.variant].join(" ");
                self.tell_lacking(derived.experiment, &format!("note: {}: {lacking}", name.trim_end()));
                continue;
            }
            let mut row = self.template.clone();
            row.describe_derived(&derived, &flags, cache);
            self.sink.write(row)?;
        }
        Ok(())
    }
}

fn key(planned: &Planned) -> CaseKey {
    CaseKey {
        experiment: planned.experiment.name().to_owned(),
        variant: planned.variant.to_owned(),
        point: planned.point.clone(),
    }
}

fn quick_time(cases: u64) -> Duration {
    let share = QUICK_TIME / u32::try_from(cases.max(1)).unwrap_or(u32::MAX);
    share.clamp(LEAST_TIME, Duration::from_secs(2))
}

pub(super) fn show(bar: &Bar, voice: &Voice, event: Event) {
    match event {
        Event::Loading(case) => {
            bar.start(&format!("checking {} {}", case.experiment, case.point));
            bar.step();
        }
        Event::Timing(case, round) => {
            bar.start(&format!("round {round}: {} {}", case.experiment, case.point));
            // Rounds beyond those that every case has would move the bar past the cases to come.
            if round <= JUDGED_ROUNDS[0] {
                bar.step();
            }
        }
        Event::Working(case) => bar.start(&format!("{} {}", case.experiment, case.point)),
        Event::Suspected(case, failure) => voice.progress.note(&format!(
            "warning: a worker process crashed at {} {}: {}; the case is measured once more, alone, to see whether it is to blame",
            case.experiment, case.point, failure.reason
        )),
        Event::Visited(_) | Event::Round(_) => {}
        Event::Ended => bar.advance(1),
    }
}
