//! Measures the configurations that a search asks for, writes their rows, and keeps what the answer needs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, RangeInclusive};
use std::time::{Duration, Instant, SystemTime};

use anyhow::anyhow;

use super::bounds::{Looker, Seen};
use super::figures::figure;
use super::trials::Trials;
use crate::cli::args::tune::{Budget, Tune};
use crate::cli::device_run::show;
use crate::cli::interrupt;
use crate::cli::journal::{Ended, Journal};
use crate::cli::settings::Settings;
use crate::cli::sink::Sink;
use crate::cli::target::Targets;
use crate::gpu::compile_threads;
use crate::measure::{BLOCK_CASES, CaseKey, Event, Measured, Opener, Options, Outcome, Pool, Rule, Session, Stop, Task};
use crate::model::{AxisValue, Cache, Case, DeviceInfo, Failure, Flag, Point, Quirk, Stage, Status};
use crate::output::Bar;
use crate::plan::case_id;
use crate::record::{Described, Fate, Record, Standing, quirk_flag};
use crate::stats::{Timed, reach};
use crate::subject::{Doubt, Subject, UserKernel};
use crate::tuning::ending::Figure;
use crate::tuning::search::{Strategy, search};
use crate::tuning::space::Space;
use crate::worker::Opening;

/// Those of several blocks that race once more beside each other are no slower than the best by more than this.
const NEAR: f64 = 1.1;

/// The most that are measured beside each other in the end, and the default.
const FINALISTS: usize = 15;

/// Rows are kept for now so many times as long after the last time as that took.
const HOLDING: u32 = 20;

/// The share of a time budget that a search may take; the rest is for measuring the best beside each other.
const SEARCHING: f64 = 0.75;

/// The column of the problem's size, which is no axis: all configurations have the same.
pub const SIZE: &str = "n";

/// The time that all configurations share with the preset quick, and what each has of it.
const QUICK_TIME: Duration = Duration::from_secs(45);
const QUICK_EACH: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_millis(500);

pub struct Trial {
    pub point: Point,
    row: Option<Record>,
    pub measured: Option<Measured>,
    pub failure: Option<Failure>,
    pub when: SystemTime,
    /// Where the device's limits allow it.
    pub case: Option<Case>,
    /// Whether it leaves buffers, as the reference does.
    pub leaves: bool,
    /// A fault of the driver's that it comes to.
    quirk: Option<Quirk>,
    /// Whether it was measured beside those that may be the best, after the search: an answer follows from nothing else.
    is_finalist: bool,
}

impl Trial {
    fn new(point: Point, case: Option<Case>) -> Self {
        let when = SystemTime::now();
        Self { point, row: None, measured: None, failure: None, when, case, leaves: false, quirk: None, is_finalist: false }
    }

    pub fn cost(&self) -> Option<f64> {
        self.measured.as_ref().map(Measured::value)
    }

    fn has_stopped(&self, stop: Stop) -> bool {
        self.measured.as_ref().is_some_and(|measured| measured.stop == stop)
    }

    /// Whether it has an interval.
    fn is_precise(&self) -> bool {
        self.measured.as_ref().is_some_and(|measured| !measured.stop.is_early())
    }

    /// What it took, if that may be the least.
    fn rival_cost(&self) -> Option<f64> {
        self.cost().filter(|_| !self.has_stopped(Stop::Beaten))
    }
}

pub struct Race<'r> {
    arguments: &'r Tune,
    settings: &'r Settings,
    targets: &'r Targets,
    pub kernel: UserKernel,
    pub space: &'r Space,
    pub(super) looker: Looker<'r>,
    pub beside: Trials<'r>,
    strategy: Strategy,
    budget: Budget,
    template: &'r Record,
    sink: &'r Sink,
    journal: Option<&'r Journal>,
    bar: Bar,
    started: Instant,
    /// What was tried, by configuration.
    pub trials: BTreeMap<usize, Trial>,
    written: Option<usize>,
    pub hash: String,
    doubts: Vec<Doubt>,
    /// Whether the shader was taken though it isn't valid SPIR-V.
    is_invalid: bool,
    /// Why comparing with the reference shows nothing.
    pub silent: Vec<String>,
    blocks: usize,
    /// When rows were last kept for now, and how long that took.
    held: Option<(Instant, Duration)>,
    /// What a configuration of the last block took until each was visited once.
    pace: Option<Duration>,
    has_searched: bool,
    /// Those within reach of the best that were measured beside it, and how many others weren't.
    finalists: BTreeSet<usize>,
    pub cut: usize,
    /// Of those beyond reach the nearest, and its time over the fastest's in the search.
    pub nearest_behind: Option<(Point, f64)>,
    /// Samples so far, those of measurements that were replaced included.
    samples: usize,
    is_resumed: bool,
}

impl<'r> Race<'r> {
    pub fn new(
        (arguments, settings): (&'r Tune, &'r Settings),
        targets: &'r Targets,
        mut kernel: UserKernel,
        (space, strategy): (&'r Space, Strategy),
        looker: Looker<'r>,
        template: &'r Record,
        (sink, journal): (&'r Sink, Option<&'r Journal>),
    ) -> Self {
        let budget = arguments.budget.unwrap_or(Budget::usual(strategy, space.len()));
        let axes: Vec<&str> = space.axes().iter().map(|axis| axis.name.as_ref()).collect();
        let written = kernel.written(&axes).ok().and_then(|point| space.find(&point));
        let beside = Trials::new(settings, targets, looker.subject(), &sink.voice, arguments.any_size);
        let is_invalid = kernel.is_invalid().unwrap_or_default();
        let (hash, doubts) = (kernel.hash().unwrap_or_default(), kernel.doubts().unwrap_or_default());
        let bar = sink.voice.progress.bar("", most_tried(budget, space) as u64);
        let (started, trials) = (Instant::now(), BTreeMap::new());
        Self {
            arguments,
            settings,
            targets,
            kernel,
            space,
            looker,
            beside,
            strategy,
            budget,
            template,
            sink,
            journal,
            bar,
            started,
            trials,
            written,
            hash,
            doubts,
            is_invalid,
            silent: Vec::new(),
            blocks: 0,
            held: None,
            pace: None,
            has_searched: false,
            finalists: BTreeSet::new(),
            cut: 0,
            nearest_behind: None,
            samples: 0,
            is_resumed: false,
        }
    }

    /// Searches until everything was tried, or the budget is spent, which tells who may be the best; then measures those beside each
    /// other. Tells whether it came to its end.
    pub fn run(&mut self, mut session: Session) -> anyhow::Result<bool> {
        self.introduce(&session);
        self.go_on(&mut session)?;
        // A search that goes by answers waits for them: one look at each is enough for it.
        let is_glancing = !self.arguments.no_race && !self.asks_ahead();
        if is_glancing {
            session.set_rule(Rule::Glance);
        }
        let mut search = search(self.strategy, self.space, self.settings.flags.seed, self.written);
        let mut ahead = Vec::new();
        while self.goes_on() && session.given_up().is_none() {
            let asked = if ahead.is_empty() { search.ask(self.room(0)) } else { std::mem::take(&mut ahead) };
            if asked.is_empty() {
                break;
            }
            // What comes next depends on no answer: it is compiled while these are timed. How many fit a time, the first one tells.
            if self.asks_ahead() && self.knows_room() {
                ahead = search.ask(self.room(asked.len()));
                session.anticipate(ahead.iter().map(|configuration| self.key(*configuration)).collect());
            }
            let new: Vec<usize> = asked.iter().filter(|asked| !self.trials.contains_key(asked)).copied().collect();
            if !new.is_empty() {
                self.block(&mut session, &new)?;
            }
            for configuration in asked {
                // What isn't there was broken off, and so is the search.
                if let Some(trial) = self.trials.get(&configuration) {
                    search.tell(configuration, trial.cost());
                }
            }
        }
        self.has_searched = true;
        self.looker.tell_time();
        if !interrupt::is_asked() && session.given_up().is_none() {
            if !self.arguments.no_race && (self.blocks > 1 || is_glancing || self.is_resumed) {
                session.set_rule(Rule::Race);
                self.race_near(&mut session)?;
            }
            session.set_rule(Rule::Beside);
            self.compare(&mut session)?;
            self.examine(&mut session)?;
        }
        if let Some(failure) = session.given_up() {
            self.sink.give_up(failure);
            self.sink.voice.fault(&format!("given up: {}: {}", failure.status, failure.words()));
        }
        self.write_rest()?;
        Ok(!interrupt::is_asked() && session.given_up().is_none())
    }

    pub fn device(&self) -> &DeviceInfo {
        &self.targets.device(0).info
    }

    /// The configuration that is the shader as it is written, if that is one of the space.
    pub fn written_point(&self) -> Option<Point> {
        self.written.map(|written| self.space.point(written))
    }

    pub fn spent(&self) -> (Duration, usize) {
        (self.started.elapsed(), self.samples)
    }

    // ---- how far --------------------------------------------------------------------------------------------------------------

    fn goes_on(&self) -> bool {
        !self.sink.is_closed() && !interrupt::is_asked() && !self.is_late() && self.room(0) > 0
    }

    fn asks_ahead(&self) -> bool {
        matches!(self.strategy, Strategy::Exhaustive | Strategy::Random)
    }

    fn is_late(&self) -> bool {
        self.time_left().is_some_and(|left| left.is_zero())
    }

    /// What is left of a time budget, or of the part of it that is for searching.
    fn time_left(&self) -> Option<Duration> {
        let Budget::Time(time) = self.budget else { return None };
        let share = if self.has_searched { 1.0 } else { SEARCHING };
        Some(time.mul_f64(share).saturating_sub(self.started.elapsed()))
    }

    /// Whether it can be told how many the next block may have.
    fn knows_room(&self) -> bool {
        self.pace.is_some() || matches!(self.budget, Budget::Count(_))
    }

    /// How many may be measured in the next block, beside the best so far, once so many more are. Of a time budget as many as fit
    /// it at the last block's pace, and one to begin with: what was broken off while it was loaded has no figure.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is positive, and is cut to a block")]
    fn room(&self, pending: usize) -> usize {
        let block = BLOCK_CASES - 1;
        match (self.budget, self.time_left(), self.pace) {
            (Budget::Count(count), ..) => count.saturating_sub(self.trials.len() + pending).min(block),
            (Budget::Time(_), Some(left), Some(pace)) => {
                let fitting = left.as_secs_f64() / pace.as_secs_f64().max(1e-9);
                (fitting as usize).clamp(1, block)
            }
            (Budget::Time(_), ..) => 1,
        }
    }

    /// The fastest so far of those that may be.
    fn best(&self) -> Option<usize> {
        let costs = self.trials.iter().filter_map(|(configuration, trial)| Some((*configuration, trial.rival_cost()?)));
        costs.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(configuration, _)| configuration)
    }

    // ---- measuring ------------------------------------------------------------------------------------------------------------

    fn introduce(&mut self, session: &Session) {
        self.silent.clone_from(&session.learned().doubts);
        let instrument = session.instrument();
        self.sink.voice.progress.notes(instrument.note.iter().chain(&session.learned().notes));
        self.silent.iter().for_each(|doubt| self.sink.voice.progress.note(&format!("warning: {doubt}")));
        let said = format!("timer: {}, floor {}", instrument.timer.as_str(), instrument.floor);
        self.sink.voice.progress.detail(&said);
    }

    /// Takes what an earlier search has measured. Its rows are there again before anything else is measured.
    fn go_on(&mut self, session: &mut Session) -> anyhow::Result<()> {
        let Some(journal) = self.journal else { return Ok(()) };
        session.number_processes_behind(journal.last_process());
        for configuration in 0..self.space.len() {
            if journal.count_ended() == 0 {
                break;
            }
            let point = self.space.point(configuration);
            let Some(ended) = journal.take_ended(0, &self.case_id(&point)) else { continue };
            // It was described before it was measured.
            let Ok(case) = self.kernel.describe(&point) else { continue };
            let trial = Trial { leaves: ended.leaves, quirk: ended.quirk.clone(), ..Trial::new(point, Some(case.clone())) };
            self.trials.insert(configuration, trial);
            self.take(configuration, &case, &ended.outcome, ended.when);
            self.bar.advance(1);
            self.is_resumed = true;
        }
        if self.is_resumed { self.write_failed() } else { Ok(()) }
    }

    /// Measures configurations beside the best so far. Rows of those that failed are written.
    fn block(&mut self, session: &mut Session, asked: &[usize]) -> anyhow::Result<()> {
        self.blocks += 1;
        // One look is at each, not at who leads.
        let races = self.asks_ahead() && !self.arguments.no_race;
        let champion = self.best().filter(|best| races && !asked.contains(best));
        let began = Instant::now();
        for (i, &configuration) in asked.iter().enumerate() {
            let has_any = self.trials.values().any(|trial| trial.measured.is_some());
            if interrupt::is_asked() || (has_any && self.is_late()) {
                break;
            }
            let trial = self.prepared(configuration, &asked[i + 1..]);
            self.trials.insert(configuration, trial);
        }
        let asked: Vec<usize> = asked.iter().filter(|asked| self.trials.contains_key(asked)).copied().collect();
        let looking = began.elapsed() / u32::try_from(asked.len().max(1)).unwrap_or(u32::MAX);
        let runnable = |configuration: &&usize| self.trials[*configuration].case.is_some();
        let those: Vec<usize> = champion.iter().chain(&asked).filter(runnable).copied().collect();
        self.bar.advance((asked.len() + usize::from(champion.is_some()) - those.len()) as u64);
        self.measure(session, &those);
        // What a configuration takes until it has a time.
        self.pace = self.pace.map(|pace| pace + looking);
        // What was broken off was never tried.
        self.trials.retain(|_, trial| trial.measured.is_some() || trial.failure.is_some());
        self.write_failed()
    }

    fn key(&self, configuration: usize) -> CaseKey {
        CaseKey { experiment: self.kernel.name(), variant: String::new(), point: self.space.point(configuration) }
    }

    /// A configuration that wasn't measured yet, with those that come next.
    fn prepared(&mut self, configuration: usize, next: &[usize]) -> Trial {
        let trial = Trial::new(self.space.point(configuration), None);
        let case = match self.kernel.describe(&trial.point) {
            Ok(case) => case,
            Err(failure) => {
                let row = self.row(configuration, &trial, Err(&failure), Fate::Planned);
                return Trial { row: Some(row), failure: Some(failure), ..trial };
            }
        };
        let next: Vec<Point> = next.iter().map(|next| self.space.point(*next)).collect();
        self.bar.start(&format!("looking at {} {}", case.experiment, case.point));
        let Seen { excluded, leaves, quirk } = self.looker.look(&trial.point, &next);
        let Some(reason) = excluded else { return Trial { case: Some(case), leaves, quirk, ..trial } };
        let failure = Failure::new(Status::Skipped, reason);
        let outcome = Outcome { shader: None, result: Err(failure.clone()) };
        let left = Trial { leaves: true, ..trial };
        let row = self.row(configuration, &left, Ok(&case), Fate::Tried(&outcome));
        Trial { row: Some(row), failure: Some(failure), leaves: false, ..left }
    }

    /// A row says what size its time is for.
    fn with_size(&self, point: &Point) -> Point {
        let size = (SIZE.into(), AxisValue::from(self.kernel.subject().n));
        Point::new(point.iter().map(|(name, value)| (name.to_owned().into(), value.clone())).chain([size]))
    }

    fn case_id(&self, point: &Point) -> String {
        case_id(&self.kernel.name(), &self.kernel.problem(), &[], &self.with_size(point), Cache::Warm)
    }

    /// The row of a configuration, as far as anything came of it.
    fn row(&self, configuration: usize, trial: &Trial, case: Result<&Case, &Failure>, fate: Fate) -> Record {
        let name = self.kernel.name();
        let point = &self.with_size(&trial.point);
        let case_id = case_id(&name, &self.kernel.problem(), &[], point, Cache::Warm);
        let seen = trial.quirk.iter().map(quirk_flag).chain(trial.leaves.then(|| Flag::OutOfBounds.to_string()));
        let invalid = self.is_invalid.then(|| Flag::InvalidSpirv.to_string());
        let doubted = self.doubts.iter().rev().map(|doubt| quirk_flag(&doubt.quirk));
        let described = Described {
            experiment: &name,
            variant: "",
            point,
            cache: Cache::Warm,
            case_id: &case_id,
            index: Some(configuration as u64),
            case: case.map_err(Clone::clone),
            flags: seen.chain(invalid).chain(doubted).collect(),
        };
        Record::assembled(self.template, &described, &self.targets.device(0).info, fate)
    }

    fn measure(&mut self, session: &mut Session, those: &[usize]) {
        let cases: Vec<(usize, Case)> = those.iter().filter_map(|i| Some((*i, self.trials[i].case.clone()?))).collect();
        let task = |(_, case): &'_ (usize, Case)| CaseKey::from_case(case);
        let tasks: Vec<Task> = cases.iter().map(|of| Task { key: task(of), case: &of.1, base: None }).collect();
        if let Some(journal) = self.journal {
            // What has an outcome is measured anew: others are to stand beside it.
            for (configuration, case) in cases.iter().filter(|(configuration, _)| self.trials[configuration].measured.is_none())
            {
                let earlier = journal.take(0, &self.case_id(&self.trials[configuration].point));
                earlier.into_iter().for_each(|earlier| session.recall(CaseKey::from_case(case), earlier));
            }
        }
        // A search that is late is broken off once there is anything to tell: the second visit shows that there was a first.
        let has_any = self.trials.values().any(|trial| trial.measured.is_some());
        let (began, mut visits, mut first_round) = (Instant::now(), 0, None);
        let outcomes = session.measure(&tasks, &mut |event| {
            if let Event::Timing(_, round) = event {
                visits += 1;
                first_round = first_round.or((round > 1).then(|| began.elapsed()));
            }
            if let (Event::Visited(made), Some(journal)) = (&event, self.journal) {
                journal.note(0, &self.case_id(&made.case.point), made);
            }
            show(&self.bar, &self.sink.voice, event);
            let ends = interrupt::is_asked() || ((has_any || visits > 1) && self.is_late());
            if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let tasks = u32::try_from(tasks.len().max(1)).unwrap_or(u32::MAX);
        self.pace = Some(first_round.unwrap_or_else(|| began.elapsed()) / tasks);
        for ((configuration, case), outcome) in cases.into_iter().zip(outcomes) {
            if let Some(outcome) = outcome {
                if self.take(configuration, &case, &outcome, SystemTime::now()) {
                    self.note_ended(configuration, outcome);
                }
            }
        }
    }

    /// Notes what came of a configuration, if that won't be measured once more by a search that goes on.
    fn note_ended(&self, configuration: usize, outcome: Outcome) {
        let (Some(journal), Some(trial)) = (self.journal, self.trials.get(&configuration)) else { return };
        if trial.row.as_ref().is_some_and(|row| Standing::from_row(row) == Standing::Finished) {
            let Trial { leaves, quirk, when, .. } = trial;
            let ended = Ended { outcome, when: *when, leaves: *leaves, quirk: quirk.clone() };
            journal.note_ended(0, &self.case_id(&trial.point), ended);
        }
    }

    /// Takes what came of a configuration, unless more is known of it. Tells whether it did.
    fn take(&mut self, configuration: usize, case: &Case, outcome: &Outcome, when: SystemTime) -> bool {
        let Outcome { result, .. } = outcome;
        let Some(known) = self.trials.get(&configuration) else { return false };
        // The best so far was measured before: a try that failed is no reason to doubt that, unless it was wrong. In the end it is.
        if let (Some(_), Err(failure)) = (&known.measured, result) {
            if failure.is_untried || !(known.is_finalist || failure.status == Status::WrongResult) {
                return false;
            }
        }
        // Nor is one that was broken off.
        if known.is_precise() && result.as_ref().is_ok_and(|measured| measured.stop == Stop::BrokenOff) {
            return false;
        }
        let mut row = self.row(configuration, known, Ok(case), Fate::Tried(outcome));
        let (measured, failure) = match &outcome.result {
            Ok(measured) => {
                self.samples += measured.samples();
                if let Some(doubt) = self.silent.first() {
                    row.leave_unchecked(doubt);
                }
                (Some(measured.clone()), None)
            }
            // What was never tried counts as in its row.
            Err(failure) => {
                let (status, reason) = failure.told();
                (None, Some(Failure::new(status, reason)))
            }
        };
        if let Some(trial) = self.trials.get_mut(&configuration) {
            (trial.row, trial.measured, trial.failure, trial.when) = (Some(row), measured, failure, when);
        }
        true
    }

    /// Has those of several blocks that may be the best race beside each other.
    fn race_near(&mut self, session: &mut Session) -> anyhow::Result<()> {
        let Some(best) = self.best().and_then(|best| self.trials[&best].cost()) else { return Ok(()) };
        let near =
            self.trials.iter().filter_map(|(i, trial)| Some((*i, trial.rival_cost().filter(|cost| *cost <= NEAR * best)?)));
        let mut near: Vec<(usize, f64)> = near.collect();
        near.sort_by(|a, b| a.1.total_cmp(&b.1));
        let those: Vec<usize> = near.into_iter().map(|(configuration, _)| configuration).take(BLOCK_CASES).collect();
        self.held = None;
        self.hold_rest()?;
        self.measure(session, &those);
        self.write_failed()
    }

    /// Measures those within reach of the best, and the default, beside each other, until one of them stands: the fastest of many
    /// looks faster than it is, and what a search saw of it is no figure. Whoever finds that one of them doesn't stand gives it a
    /// failure, and may ask for this again.
    pub(super) fn compare(&mut self, session: &mut Session) -> anyhow::Result<()> {
        while !interrupt::is_asked() && session.given_up().is_none() && !self.has_finalist() {
            let Reach { near: mut those, cut, behind } = self.within_reach();
            if those.is_empty() {
                break;
            }
            self.finalists.extend(&those);
            let has_time = |written: &usize| self.trials.get(written).is_some_and(|trial| trial.measured.is_some());
            those.extend(self.written.filter(|written| !those.contains(written) && has_time(written)));
            self.cut = cut.into_iter().filter(|cut| !those.contains(cut)).count();
            let nearest = behind.into_iter().find(|(configuration, _)| !those.contains(configuration));
            self.nearest_behind = nearest.map(|(configuration, over)| (self.space.point(configuration), over));
            for (_, trial) in self.trials.iter_mut().filter(|(configuration, _)| those.contains(configuration)) {
                trial.is_finalist = true;
            }
            self.held = None;
            self.hold_rest()?;
            self.measure(session, &those);
        }
        self.relabel();
        Ok(())
    }

    /// Takes back that a configuration is right.
    pub(super) fn disqualify(&mut self, configuration: usize, why: String) {
        let Some(trial) = self.trials.get(&configuration) else { return };
        let failure = Failure::new(Status::WrongResult, why);
        let outcome = Outcome { shader: None, result: Err(failure.clone()) };
        let row = match &trial.case {
            Some(case) => self.row(configuration, trial, Ok(case), Fate::Tried(&outcome)),
            None => self.row(configuration, trial, Err(&failure), Fate::Planned),
        };
        if let Some(trial) = self.trials.get_mut(&configuration) {
            (trial.row, trial.measured, trial.failure) = (Some(row), None, Some(failure));
        }
    }

    /// Whether one of those within reach of the best stands. The default alone is no answer: faster ones weren't looked at.
    fn has_finalist(&self) -> bool {
        self.finalists.iter().any(|finalist| self.trials[finalist].measured.is_some())
    }

    /// Those that may be the best by what the search saw.
    fn within_reach(&self) -> Reach {
        let open: Vec<(usize, &Measured)> = (self.trials.iter().filter(|(_, trial)| !trial.is_finalist))
            .filter_map(|(i, trial)| Some((*i, trial.measured.as_ref()?)))
            .collect();
        // Where none of the finalists stands, nothing was beaten by what stands.
        let is_out = |measured: &Measured| measured.stop == Stop::Beaten && self.finalists.is_empty();
        let costs = open.iter().enumerate().filter(|(_, (_, measured))| !is_out(measured));
        let Some((best, (_, fastest))) = costs.min_by(|a, b| a.1.1.value().total_cmp(&b.1.1.value())) else {
            return Reach::default();
        };
        let timed: Vec<Vec<Timed>> = open.iter().map(|(_, measured)| measured.rounds_or_figure()).collect();
        let places = reach::within(&timed, best).into_iter().zip(&open);
        // Nothing was beaten by what turned out to be slower.
        let may_be = |is_near: bool, measured: &Measured| (is_near && !is_out(measured)) || measured.value() <= fastest.value();
        let (mut near, mut behind): (Vec<_>, Vec<_>) = places
            .map(|((over, is_near), (i, measured))| (*i, over, may_be(is_near, measured)))
            .partition(|(_, _, may_be)| *may_be);
        [&mut near, &mut behind].into_iter().for_each(|places| places.sort_by(|a, b| a.1.total_cmp(&b.1)));
        let mut near: Vec<usize> = near.into_iter().map(|(configuration, ..)| configuration).collect();
        let cut = near.split_off(near.len().min(FINALISTS));
        Reach { near, cut, behind: behind.into_iter().map(|(configuration, over, _)| (configuration, over)).collect() }
    }

    /// What an answer follows from.
    pub fn figures(&self) -> Vec<Figure> {
        // One of many that alone was tried is the best of nothing.
        let is_search = self.trials.len() > 1 || self.space.len() == 1;
        let finalists = self.trials.values().filter(|trial| trial.is_finalist && is_search);
        finalists.filter_map(|trial| Some(figure(&trial.point, trial.measured.as_ref()?))).collect()
    }

    /// Where the device is slower than it was when the search beat a configuration, that one's time is below the best's: no row says
    /// that it was beaten then.
    fn relabel(&mut self) {
        let finalists = self.trials.values().filter(|trial| trial.is_finalist);
        let best = finalists.filter_map(Trial::cost).fold(f64::INFINITY, f64::min);
        for trial in
            self.trials.values_mut().filter(|trial| !trial.is_finalist && trial.cost().is_some_and(|cost| cost <= best))
        {
            if let (Some(measured), Some(row)) = (&mut trial.measured, &mut trial.row) {
                if measured.stop == Stop::Beaten {
                    measured.stop = Stop::Glanced;
                    row.stop = Stop::Glanced.as_str().to_owned();
                }
            }
        }
    }

    // ---- rows -----------------------------------------------------------------------------------------------------------------

    fn write_failed(&mut self) -> anyhow::Result<()> {
        let written = self.written;
        self.write(|configuration, trial| trial.measured.is_none() && Some(configuration) != written)?;
        self.hold_rest()
    }

    /// Keeps the other rows as they are now, in case that this process is killed before they are final. Where they are many, that
    /// takes its time, of which it may have a small share.
    fn hold_rest(&mut self) -> anyhow::Result<()> {
        if self.held.is_some_and(|(when, took)| when.elapsed() < took * HOLDING) {
            return Ok(());
        }
        let began = Instant::now();
        self.sink.hold(self.trials.values().filter_map(|trial| trial.row.clone()).collect())?;
        self.held = Some((Instant::now(), began.elapsed()));
        Ok(())
    }

    fn write_rest(&mut self) -> anyhow::Result<()> {
        self.write(|_, _| true)
    }

    fn write(&mut self, is_due: impl Fn(usize, &Trial) -> bool) -> anyhow::Result<()> {
        for (_, trial) in self.trials.iter_mut().filter(|(configuration, trial)| is_due(**configuration, trial)) {
            if let Some(row) = trial.row.take() {
                self.sink.write(row)?;
            }
        }
        Ok(())
    }
}

/// Where the configurations lie that a search has timed, the fastest first.
#[derive(Default)]
struct Reach {
    /// Those that may be the best: as many as are measured beside each other, and the others.
    near: Vec<usize>,
    cut: Vec<usize>,
    /// Those that were slower, with their times over the fastest's.
    behind: Vec<(usize, f64)>,
}

/// How long a configuration may be timed, of so many that are tried.
pub fn max_time(settings: &Settings, configurations: usize) -> Duration {
    let share = QUICK_TIME / u32::try_from(configurations.max(1)).unwrap_or(u32::MAX);
    settings.max_time(share.clamp(*QUICK_EACH.start(), *QUICK_EACH.end()))
}

/// How many configurations are tried at most.
pub fn most_tried(budget: Budget, space: &Space) -> usize {
    match budget {
        Budget::Count(count) => count.min(space.len()),
        Budget::Time(_) => space.len(),
    }
}

pub fn session<'r>(
    arguments: &Tune,
    settings: &Settings,
    targets: &'r Targets,
    subject: &Subject,
    configurations: usize,
) -> anyhow::Result<Session<'r>> {
    let options = Options {
        max_noise: settings.max_noise(),
        max_time: max_time(settings, configurations),
        seed: settings.flags.seed,
        rule: if arguments.no_race { Rule::Each } else { Rule::Race },
    };
    let pool = Pool::new(settings.processes, opener(settings, targets, subject.clone(), options.max_time));
    let pool = pool.map_err(unopened)?;
    Ok(Session::new(pool, options).keeping_few_rounds())
}

/// Why no configuration can be measured.
pub fn unopened(Failure { status, stage, reason, .. }: Failure) -> anyhow::Error {
    match stage {
        Some(Stage::Reference) => anyhow!(
            "the reference, which all results are compared with, can't be run: {status}: {reason}; --reference names another one"
        ),
        _ => anyhow!("the device can't be measured on: {status}: {reason}"),
    }
}

pub fn opener<'r>(settings: &Settings, targets: &'r Targets, subject: Subject, max_time: Duration) -> Opener<'r> {
    let place = targets.device(0);
    let usual = Opening {
        compile_threads: compile_threads(&place.info),
        subject: Some(Box::new(subject)),
        ..settings.opening(place, max_time)
    };
    let mut process = 0;
    Box::new(move |timer| {
        process += 1;
        targets.open(place, Opening { timer, process, ..usual.clone() }).map(|bench| bench as _)
    })
}
