//! The cases of plans, one of each device, become rows: block by block.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::assembled::{CaseResult, Described};
use super::begin::Campaign;
use super::claim::Ledger;
use super::device::{DeviceSession, Numbered};
use super::interrupt;
use super::lanes::{self, Waiting};
use super::plan_judge::DeviceKept;
use super::settings::Settings;
use super::sink::Written;
use super::turns::Turns;
use crate::analysis::Relations;
use crate::experiments::DERIVATIONS;
use crate::measure::{CaseKey, Event, Measured, Opener, Options, Outcome, PairBase, Pool, Rule, Session, Task};
use crate::model::{BLOCK_CASES, Case, DeviceInfo, Failure, Feature, Measurand, PipelineDetail};
use crate::output::{Bar, Progress};
use crate::plan::{Estimate, Plan, Planned, Shard};
use crate::record::{Completeness, Record};
use crate::units::Bytes;
use crate::worker::{FoundDevice, Opening};

const QUICK_TIME: Duration = Duration::from_secs(45);
/// The least that a case is given, however many there are: below it, samples are too few to judge.
const LEAST_TIME: Duration = Duration::from_millis(20);

/// What `--stats` and `--isa` get from a driver that tells nothing.
const NO_STATISTICS: &str =
    "this driver reports no pipeline statistics and no code (VK_KHR_pipeline_executable_properties is missing)";

/// Which of a plan's cases are measured, and how.
#[derive(Clone, Debug)]
pub struct Selection {
    /// As experiments were asked for.
    pub filters: Vec<String>,
    pub is_paired: bool,
    pub shard: Option<Shard>,
    /// These cases alone, by their ids.
    pub listed: Option<HashSet<String>>,
    /// How many devices at a time.
    pub jobs: usize,
    /// How those wait for each other that can't be measured on at the same time.
    pub waiting: Waiting,
}

/// The cases of plans, one of each device.
pub struct PlanRun<'r> {
    pub selection: &'r Selection,
    pub plans: &'r [Plan<'r>],
    pub ledger: &'r Ledger<'r>,
}

#[derive(Clone, Copy)]
enum Pairing<'r> {
    None,
    /// The case that each is compared with, on the same device.
    Bases,
    /// The same case on another device.
    Device(&'r FoundDevice, &'r Plan<'r>),
}

impl PlanRun<'_> {
    /// Measures those that have no row yet, or writes them as planned where nothing is to be measured.
    /// Errors: where rows can't be written. What a device refuses stands in its rows.
    pub fn run(&self, kept: Vec<DeviceKept>) -> anyhow::Result<()> {
        let Self { selection, ledger, .. } = self;
        let Campaign { targets, voice, settings } = ledger.claim.campaign;
        let kept: Vec<Mutex<DeviceKept>> = kept.into_iter().map(Mutex::new).collect();
        let measure = |index: usize, turns: Turns| {
            if ledger.is_over() {
                return Ok(());
            }
            let mut kept = kept[index].lock().unwrap_or_else(PoisonError::into_inner);
            let relations = std::mem::take(&mut kept.relations);
            let run = self.on_device(index, &kept, relations, turns);
            if settings.is_dry { run.plan_only() } else { run.run() }?;
            // Those of a case are in its row; these came when the device was closed.
            for message in targets.messages() {
                voice.fault(&format!("validation: {message}"));
            }
            Ok(())
        };
        lanes::run(targets.devices(), selection.jobs, selection.waiting, measure)
    }

    fn on_device<'d>(&'d self, index: usize, kept: &'d DeviceKept, relations: Relations, turns: Turns<'d>) -> DeviceRun<'d> {
        let Self { selection, plans, ledger } = *self;
        let Campaign { targets, voice, .. } = ledger.claim.campaign;
        let (place, plan) = (targets.device(index), &plans[index]);
        let name = if plans.len() > 1 { place.info.name.as_str() } else { "" };
        // About so many: telling exactly would take making them all.
        let cases = selection.count(plan);
        let cases = selection.shard.map_or(cases, |shard| cases / shard.count()).saturating_sub(kept.places.len() as u64);
        let bar = Arc::new(voice.progress.bar(name, cases));
        DeviceRun { selection, ledger, place, plan, index, pairing: self.pairing(index), kept, bar, relations, turns }
    }

    fn pairing(&self, index: usize) -> Pairing<'_> {
        match (self.selection.is_paired, self.plans.len(), index) {
            (false, ..) => Pairing::None,
            (true, 1, _) => Pairing::Bases,
            // The first device is what the others are paired with.
            (true, _, 0) => Pairing::None,
            (true, ..) => Pairing::Device(self.ledger.claim.campaign.targets.device(0), &self.plans[0]),
        }
    }
}

impl Selection {
    fn count(&self, plan: &Plan) -> u64 {
        self.listed.as_ref().map_or(plan.count(), |listed| listed.len() as u64)
    }

    fn holds(&self, planned: &Planned) -> bool {
        self.shard.is_none_or(|shard| shard.holds(&planned.case_id))
            && self.listed.as_ref().is_none_or(|listed| listed.contains(&planned.case_id))
    }
}

/// One device's share: from its plan to its rows.
struct DeviceRun<'r> {
    selection: &'r Selection,
    ledger: &'r Ledger<'r>,
    place: &'r FoundDevice,
    plan: &'r Plan<'r>,
    /// The device's place among those of the campaign.
    index: usize,
    pairing: Pairing<'r>,
    kept: &'r DeviceKept,
    bar: Arc<Bar>,
    /// What is known of the rows so far, those that were kept of an earlier run included.
    relations: Relations,
    /// When it may work, where others wait for it and it for them.
    turns: Turns<'r>,
}

impl<'r> DeviceRun<'r> {
    fn run(mut self) -> anyhow::Result<()> {
        self.announce();
        let mut pending = self.wanted().peekable();
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

    /// Writes cases as they are planned, and says how long they would take.
    fn plan_only(self) -> anyhow::Result<()> {
        let mut runnable = 0;
        for planned in self.wanted() {
            runnable += u64::from(planned.case.is_ok());
            self.ledger.sink.write([self.row(&planned, CaseResult::Planned)])?;
            self.bar.advance(1);
            if self.ledger.is_over() {
                return Ok(());
            }
        }
        let (name, estimate) = (&self.place.info.name, self.estimate(runnable));
        self.progress().note(&format!("{name}: measuring these takes {estimate}, about"));
        Ok(())
    }

    /// The cases that have no row yet.
    fn wanted(&self) -> impl Iterator<Item = Planned> + use<'r> {
        let (selection, kept) = (self.selection, self.kept);
        self.plan.iter().filter(move |planned| selection.holds(planned) && !kept.holds(planned))
    }

    fn measure(&mut self, session: Session<'r>, pending: impl Iterator<Item = Planned>) -> anyhow::Result<()> {
        self.introduce(&session);
        let mut session = DeviceSession::new(session, self.ledger, self.index, Arc::clone(&self.bar));
        let mut pending = pending.peekable();
        while pending.peek().is_some() && !self.ledger.is_over() {
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
        let part = self.selection.shard.map(|shard| format!(", of which part {shard}")).unwrap_or_default();
        let plural = if cases == 1 { "" } else { "s" };
        let listed = self.selection.listed.as_ref().map(HashSet::len);
        let listed = listed.map(|count| format!(", of which {count} {} listed", if count == 1 { "is" } else { "are" }));
        let listed = listed.unwrap_or_default();
        self.progress().note(&format!("{name} ({}): {cases} case{plural}{listed}{part}", driver.label()));
    }

    fn session(&self) -> Result<Session<'r>, Failure> {
        let slots = self.settings().processes;
        let pool = Pool::new(slots, self.opener(self.place))?.limited(self.place.info.peaks.clone());
        let session = Session::new(pool, self.options()).keeping_few_rounds().beside_others(self.turns.devices());
        match self.pairing {
            Pairing::Device(base, _) => Ok(session.with_base(Pool::new(slots, self.opener(base)))),
            Pairing::None | Pairing::Bases => Ok(session),
        }
    }

    fn opener(&self, place: &'r FoundDevice) -> Opener<'r> {
        let campaign = self.ledger.claim.campaign;
        // What making a pipeline takes is a figure here, which other threads would disturb: none makes them ahead.
        let sentinel = self.ledger.sentinels.of(&place.info);
        let mut opening = Opening { sentinel, ..campaign.settings.opening(place, self.options().max_time) };
        if let Some(bytes) = opening.evict_bytes {
            let what = if self.settings().evict.is_some() { "cold" } else { "cold cases" };
            self.progress().note(&format!("{what}: {} are swept before every sample", Bytes(bytes)));
        }
        if !std::ptr::eq(place, self.place) {
            opening.detail = PipelineDetail::None;
        }
        campaign.opener(place, opening)
    }

    /// Writes a row for every case that is left of a device that can't be measured on: the plan is known, and other devices go on.
    fn give_up(&self, failure: &Failure, pending: impl Iterator<Item = Planned>) -> anyhow::Result<()> {
        let name = &self.place.info.name;
        self.ledger.sink.give_up(failure);
        self.progress().note(&format!("{name} can't be measured on: {}: {}", failure.status, failure.words()));
        let mut pending = pending.peekable();
        while pending.peek().is_some() {
            let rows: Vec<Record> =
                pending.by_ref().take(BLOCK_CASES).map(|planned| self.row(&planned, CaseResult::NotRun(failure))).collect();
            self.bar.advance(rows.len() as u64);
            self.ledger.sink.write(rows)?;
            if self.ledger.is_over() {
                break;
            }
        }
        Ok(())
    }

    fn estimate(&self, cases: u64) -> Estimate {
        let sides = if self.selection.is_paired { 2 } else { 1 };
        Estimate::of_cases(cases, &self.place.info, self.settings().processes, self.options().max_time * sides)
    }

    fn settings(&self) -> &'r Settings {
        &self.ledger.claim.campaign.settings
    }

    fn progress(&self) -> &'r Progress {
        &self.ledger.claim.campaign.voice.progress
    }

    fn introduce(&self, session: &Session) {
        let (device, instrument) = (&self.place.info, session.instrument());
        let whose = if self.ledger.claim.templates.len() > 1 { format!("{}: ", device.name) } else { String::new() };
        self.progress().notes(instrument.note.iter().map(|note| format!("{whose}{note}")));
        for quirk in &device.quirks {
            // A case in which it can show has its flag.
            self.progress().detail(&format!("{whose}known driver fault {}: {}", quirk.name, quirk.what));
        }
        if self.settings().detail > PipelineDetail::None && !device.has(Feature::PipelineExecutableProperties) {
            self.progress().notes([format!("{whose}{NO_STATISTICS}")]);
        }
        self.progress().detail(&format!("timer: {}, floor {}", instrument.timer.as_str(), instrument.floor));
    }

    fn options(&self) -> Options {
        let settings = self.settings();
        Options {
            rule: Rule::Each,
            max_noise: settings.max_noise,
            max_time: settings.max_time(quick_time(self.selection.count(self.plan).saturating_mul(self.turns()))),
            seed: settings.seed,
        }
    }

    /// Among how many the time of a quick run is shared: devices that take turns, and the two sides of a pair.
    fn turns(&self) -> u64 {
        let sides = if self.selection.is_paired { 2 } else { 1 };
        sides * lanes::turns(self.ledger.claim.campaign.targets.devices(), self.selection.jobs)
    }

    /// Measures a block's cases, and writes a row for each that was measured, in the plan's order.
    fn run_block(&mut self, session: &mut DeviceSession, block: &[Planned]) -> anyhow::Result<()> {
        let runnable = block.iter().filter_map(|planned| Some((planned, planned.case.as_ref().ok()?)));
        let tasks: Vec<Numbered> = runnable.map(|(planned, case)| self.task(planned, case)).collect();
        self.bar.advance((block.len() - tasks.len()) as u64);
        let turns = &mut self.turns;
        let outcomes = session.measure(&tasks, &mut |event| {
            if let Event::Round(round) = event {
                turns.begin_round(*round);
            }
            ControlFlow::Continue(())
        });
        let mut outcomes = outcomes.into_iter();
        let ends = block.iter().map(|planned| (planned, planned.case.is_ok().then(|| outcomes.next().flatten()).flatten()));
        let rows = self.rows(ends.collect(), session.given_up());
        // What was broken off is to go on, and so is what the device was given up at.
        let is_settled = |of: &&Ended| matches!(Completeness::from_row(&of.row), Completeness::Failed | Completeness::Finished);
        let settled: Vec<String> = rows.iter().filter(is_settled).map(|of| of.row.case_id.clone()).collect();
        let rows = rows.iter().map(|Ended { planned, row, measured }| {
            let case = planned.case.as_ref().ok();
            Written { row: row.clone(), measured: case.zip(measured.as_ref()) }
        });
        self.ledger.sink.write(rows)?;
        session.settle(&settled);
        Ok(())
    }

    /// The rows of a block, each compared with its base; none where the run is about to end.
    fn rows<'b>(&mut self, ends: Vec<(&'b Planned, Option<Outcome>)>, given_up: Option<&Failure>) -> Vec<Ended<'b>> {
        let mut rows: Vec<Ended> = Vec::new();
        for (planned, outcome) in ends {
            let fate = match (&outcome, given_up) {
                (Some(outcome), _) => CaseResult::Tried(outcome),
                (None, _) if planned.case.is_err() => CaseResult::Planned,
                (None, Some(failure)) => CaseResult::NotRun(failure),
                (None, None) => continue,
            };
            let mut row = self.row(planned, fate);
            let measured = outcome.and_then(|outcome| outcome.result.ok());
            if let Some(measured) = &measured {
                self.relations.judge(&planned.work, &mut row);
                self.say_unpaired(&row, measured);
            }
            rows.push(Ended { planned, row, measured });
        }
        // The base of a case may come behind it.
        rows.iter().for_each(|Ended { planned, row, .. }| self.relations.keep(row, planned.is_own_base()));
        for Ended { planned, row, .. } in &mut rows {
            let Some(base) = &planned.base else { continue };
            self.relations.compare(&base.case_id, row);
            // A merge compares with what another shard, or another try, has measured.
            if self.selection.shard.is_some() {
                row.name_base(planned, self.plan);
            }
        }
        rows
    }

    fn row(&self, planned: &Planned, fate: CaseResult) -> Record {
        let is_by_host = planned.case.as_ref().is_ok_and(|case| case.measurand.is_by_host());
        let is_left = is_by_host && !matches!(self.pairing, Pairing::None);
        let described = Described {
            pair_base: self.base_of(planned).map(|(_, name)| name),
            unpaired: is_left.then_some("not paired: what the host's clock times isn't alternated"),
            ..Described::planned(planned)
        };
        Record::assembled(&self.ledger.claim.templates[self.index], &described, &self.place.info, fate)
    }

    /// A base that is no case of this run fails the run by its failure.
    fn say_unpaired(&self, row: &Record, measured: &Measured) {
        if let Some(failure) = measured.unpaired.as_ref().filter(|failure| failure.status.is_failure()) {
            let (case, (status, reason)) = (row.case_name(), failure.told());
            self.ledger.claim.campaign.voice.fault(&format!("{case}: not paired, its base failed: {status}: {reason}"));
        }
    }

    fn task<'c>(&self, planned: &Planned, case: &'c Case) -> Numbered<'c> {
        let task = Task { key: key(planned), case, base: self.base_of(planned).map(|(base, _)| base) };
        Numbered { case_id: planned.case_id.clone(), task, goes_on: true }
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
                let key = CaseKey {
                    experiment: experiment.to_owned(),
                    variant: base.variant.to_owned(),
                    point: base.point.clone(),
                    cache: planned.cache,
                };
                Some((PairBase::Here(key), base.case_id.clone()))
            }
            Pairing::Device(place, plan) => {
                let base = plan.case_at(experiment, planned.variant, &planned.point, planned.cache)?;
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
            true => self.selection.filters.iter().any(|filter| filter == conclusion),
            false => !self.selection.filters.is_empty(),
        };
        if is_asked { self.progress().note(line) } else { self.progress().detail(line) }
    }

    /// Writes the figures that follow from the rows of this device. A shard has not all of them, nor have cases that are listed.
    fn derive(self) -> anyhow::Result<()> {
        if self.selection.shard.is_some() || self.selection.listed.is_some() || interrupt::is_asked() {
            return Ok(());
        }
        let cache = self.settings().cache();
        let mut rows: Vec<Record> = Vec::new();
        for (derived, flags) in self.relations.derive() {
            if let Some(lacking) = derived.lacking() {
                let name = [derived.experiment, derived.variant].join(" ");
                self.tell_lacking(derived.experiment, &format!("note: {}: {lacking}", name.trim_end()));
                continue;
            }
            rows.push(Record::derived(&self.ledger.claim.templates[self.index], &derived, &flags, cache));
        }
        self.ledger.sink.derive(rows)
    }
}

fn key(planned: &Planned) -> CaseKey {
    CaseKey {
        experiment: planned.experiment.name().to_owned(),
        variant: planned.variant.to_owned(),
        point: planned.point.clone(),
        cache: planned.cache,
    }
}

fn quick_time(cases: u64) -> Duration {
    let share = QUICK_TIME / u32::try_from(cases.max(1)).unwrap_or(u32::MAX);
    share.clamp(LEAST_TIME, Duration::from_secs(2))
}

/// A case of a block, and what came of it.
struct Ended<'b> {
    planned: &'b Planned,
    row: Record,
    measured: Option<Measured>,
}
