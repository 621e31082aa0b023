//! Measures the configurations that a search asks for, writes their rows, and keeps what the answer needs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::bounds::{Accesses, BoundsChecker};
use super::checks::WinnerChecks;
use super::figures::Measurement;
use super::races::RaceCheck;
use super::rows::{Trial, TrialRows};
use super::spec::Search;
use crate::campaign::assembled::CaseResult;
use crate::campaign::claim::Ledger;
use crate::campaign::device::{DeviceSession, Numbered};
use crate::campaign::interrupt;
use crate::measure::{CaseKey, Event, Outcome, Rule, Session, Task};
use crate::model::{BLOCK_CASES, Cache, Case, Failure, Point, Status, Stop};
use crate::output::Progress;
use crate::platform::now;
use crate::stats::{Timed, reach};
use crate::subject::UserKernel;
use crate::tuning::ending::Figure;
use crate::tuning::search::Budget;
use crate::tuning::search::{Strategy, search};

/// Those of several blocks that race once more beside each other are no slower than the best by more than this.
const NEAR: f64 = 1.1;

/// The most that are measured beside each other in the end, and the default.
const FINALISTS: usize = 15;

/// The share of a time budget that a search may take; the rest is for measuring the best beside each other.
const SEARCHING: f64 = 0.75;

pub struct SearchRun<'r> {
    pub search: &'r Search<'r>,
    pub kernel: UserKernel,
    pub(super) checker: BoundsChecker<'r>,
    pub races: RaceCheck<'r>,
    pub checks: WinnerChecks<'r>,
    ledger: &'r Ledger<'r>,
    rows: TrialRows<'r>,
    started: Instant,
    /// What was tried, by configuration.
    pub trials: BTreeMap<usize, Trial>,
    /// Those whose rows have changed since they were written last.
    changed: BTreeSet<usize>,
    pub hash: String,
    /// Why comparing with the reference shows nothing.
    pub silent: Vec<String>,
    blocks: usize,
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

impl<'r> SearchRun<'r> {
    pub fn new(
        search: &'r Search<'r>,
        mut kernel: UserKernel,
        checker: BoundsChecker<'r>,
        ledger: &'r Ledger<'r>,
        rows: TrialRows<'r>,
    ) -> Self {
        Self {
            search,
            hash: kernel.hash().unwrap_or_default(),
            kernel,
            checker,
            races: RaceCheck::new(search),
            checks: WinnerChecks::new(search),
            ledger,
            rows,
            started: Instant::now(),
            trials: BTreeMap::new(),
            changed: BTreeSet::new(),
            silent: Vec::new(),
            blocks: 0,
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
    /// other. What an `earlier` search has tried counts. Tells whether it came to its end.
    pub fn run(&mut self, session: Session, earlier: BTreeMap<usize, Trial>) -> anyhow::Result<bool> {
        let bar = Arc::new(self.progress().bar("", self.search.most_tried() as u64));
        let mut session = DeviceSession::new(session, self.ledger, 0, bar);
        self.introduce(&session);
        self.go_on(&session, earlier);
        // A search that goes by answers waits for them: one look at each is enough for it.
        let is_glancing = self.search.is_race && !self.asks_ahead();
        if is_glancing {
            session.set_rule(Rule::Glance);
        }
        self.explore(&mut session)?;
        self.has_searched = true;
        self.checker.tell_time();
        if !interrupt::is_asked() && session.given_up().is_none() {
            // What an earlier search has tried isn't looked at again.
            if !self.is_resumed {
                self.checker.tell_unused();
            }
            if self.search.is_race && (self.blocks > 1 || is_glancing || self.is_resumed) {
                session.set_rule(Rule::Race);
                self.race_near(&mut session)?;
            }
            session.set_rule(Rule::Beside);
            self.compare(&mut session)?;
            self.examine(&mut session)?;
        }
        self.keep(true)?;
        let Some(failure) = session.given_up() else { return Ok(!interrupt::is_asked()) };
        self.ledger.sink.give_up(failure);
        self.search.campaign.voice.fault(&format!("given up: {}: {}", failure.status, failure.words()));
        Ok(false)
    }

    /// Asks the strategy what to try until it knows enough.
    fn explore(&mut self, session: &mut DeviceSession) -> anyhow::Result<()> {
        let Search { strategy, space, campaign, written, .. } = self.search;
        let mut search = search(*strategy, space, campaign.settings.seed, *written);
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
                self.block(session, &new)?;
            }
            for configuration in asked {
                // What isn't there was broken off, and so is the search.
                if let Some(trial) = self.trials.get(&configuration) {
                    search.tell(configuration, trial.cost());
                }
            }
        }
        Ok(())
    }

    fn progress(&self) -> &'r Progress {
        &self.search.campaign.voice.progress
    }

    pub fn spent(&self) -> (Duration, usize) {
        (self.started.elapsed(), self.samples)
    }

    // ---- how far --------------------------------------------------------------------------------------------------------------

    fn goes_on(&self) -> bool {
        !self.ledger.is_over() && !self.is_late() && self.room(0) > 0
    }

    fn asks_ahead(&self) -> bool {
        matches!(self.search.strategy, Strategy::Exhaustive | Strategy::Random)
    }

    fn is_late(&self) -> bool {
        self.time_left().is_some_and(|left| left.is_zero())
    }

    /// What is left of a time budget, or of the part of it that is for searching.
    fn time_left(&self) -> Option<Duration> {
        let Budget::Time(time) = self.search.budget else { return None };
        let share = if self.has_searched { 1.0 } else { SEARCHING };
        Some(time.mul_f64(share).saturating_sub(self.started.elapsed()))
    }

    /// Whether it can be told how many the next block may have.
    fn knows_room(&self) -> bool {
        self.pace.is_some() || matches!(self.search.budget, Budget::Count(_))
    }

    /// How many may be measured in the next block, beside the best so far, once so many more are. Of a time budget as many as fit
    /// it at the last block's pace, and one to begin with: what was broken off while it was loaded has no figure.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is positive, and is cut to a block")]
    fn room(&self, pending: usize) -> usize {
        let block = BLOCK_CASES - 1;
        match (self.search.budget, self.time_left(), self.pace) {
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
        self.progress().notes(instrument.note.iter().chain(&session.learned().notes));
        self.silent.iter().for_each(|doubt| self.progress().note(&format!("warning: {doubt}")));
        let said = format!("timer: {}, floor {}", instrument.timer.as_str(), instrument.floor);
        self.progress().detail(&said);
    }

    /// Takes what an earlier search has tried: its rows are in the file.
    fn go_on(&mut self, session: &DeviceSession, earlier: BTreeMap<usize, Trial>) {
        self.is_resumed = !earlier.is_empty();
        self.samples += earlier.values().filter_map(|trial| Some(trial.measured.as_ref()?.samples)).sum::<usize>();
        session.bar.advance(earlier.len() as u64);
        self.changed.extend(earlier.keys());
        self.trials = earlier;
    }

    /// Measures configurations beside the best so far.
    fn block(&mut self, session: &mut DeviceSession, asked: &[usize]) -> anyhow::Result<()> {
        self.blocks += 1;
        // One look is at each, not at who leads.
        let races = self.asks_ahead() && self.search.is_race;
        let champion = self.best().filter(|best| races && !asked.contains(best));
        let began = Instant::now();
        for (i, &configuration) in asked.iter().enumerate() {
            let has_any = self.trials.values().any(|trial| trial.measured.is_some());
            if interrupt::is_asked() || (has_any && self.is_late()) {
                break;
            }
            let trial = self.prepared(session, configuration, &asked[i + 1..]);
            self.changed.insert(configuration);
            self.trials.insert(configuration, trial);
        }
        let asked: Vec<usize> = asked.iter().filter(|asked| self.trials.contains_key(asked)).copied().collect();
        let looking = began.elapsed() / u32::try_from(asked.len().max(1)).unwrap_or(u32::MAX);
        let runnable = |configuration: &&usize| self.trials[*configuration].case.is_some();
        let those: Vec<usize> = champion.iter().chain(&asked).filter(runnable).copied().collect();
        session.bar.advance((asked.len() + usize::from(champion.is_some()) - those.len()) as u64);
        self.measure(session, &those);
        // What a configuration takes until it has a time.
        self.pace = self.pace.map(|pace| pace + looking);
        // What was broken off was never tried.
        self.trials.retain(|_, trial| trial.measured.is_some() || trial.failure.is_some());
        self.keep(false)
    }

    fn key(&self, configuration: usize) -> CaseKey {
        CaseKey {
            experiment: self.rows.experiment().to_owned(),
            variant: String::new(),
            point: self.search.space.point(configuration),
            cache: Cache::Warm,
        }
    }

    /// A configuration that wasn't measured yet, with those that come next.
    fn prepared(&mut self, session: &DeviceSession, configuration: usize, next: &[usize]) -> Trial {
        let trial = Trial::new(self.search.space.point(configuration), None);
        let case = match self.kernel.describe(&trial.point) {
            Ok(case) => case,
            Err(failure) => {
                let row = self.rows.row(configuration, &trial, Err(&failure), CaseResult::Planned);
                return Trial { row: Some(row), failure: Some(failure), ..trial };
            }
        };
        let next: Vec<Point> = next.iter().map(|next| self.search.space.point(*next)).collect();
        session.bar.start(&format!("looking at {} {}", case.experiment, case.point));
        let Accesses { excluded, leaves, quirk } = self.checker.look(&trial.point, &next);
        let Some(reason) = excluded else { return Trial { case: Some(case), leaves, quirk, ..trial } };
        let failure = Failure::new(Status::Skipped, reason);
        let outcome = Outcome { shader: None, result: Err(failure.clone()) };
        let left = Trial { leaves: true, ..trial };
        let row = self.rows.row(configuration, &left, Ok(&case), CaseResult::Tried(&outcome));
        Trial { row: Some(row), failure: Some(failure), leaves: false, ..left }
    }

    fn measure(&mut self, session: &mut DeviceSession, those: &[usize]) {
        let cases: Vec<(usize, Case)> = those.iter().filter_map(|i| Some((*i, self.trials[i].case.clone()?))).collect();
        let numbered: Vec<Numbered> = cases.iter().map(|(i, case)| self.task(&self.trials[i], case)).collect();
        // A search that is late is broken off once there is anything to tell: the second visit shows that there was a first.
        let has_any = self.trials.values().any(|trial| trial.measured.is_some());
        let (began, mut visits, mut first_round) = (Instant::now(), 0, None);
        let outcomes = session.measure(&numbered, &mut |event| {
            if let Event::Timing(_, round) = event {
                visits += 1;
                first_round = first_round.or((*round > 1).then(|| began.elapsed()));
            }
            let ends = (has_any || visits > 1) && self.is_late();
            if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let tasks = u32::try_from(numbered.len().max(1)).unwrap_or(u32::MAX);
        self.pace = Some(first_round.unwrap_or_else(|| began.elapsed()) / tasks);
        for ((configuration, case), outcome) in cases.iter().zip(outcomes) {
            outcome.into_iter().for_each(|outcome| self.take(*configuration, case, &outcome));
        }
    }

    fn task<'c>(&self, trial: &Trial, case: &'c Case) -> Numbered<'c> {
        let task = Task { key: CaseKey::from_case(case), case, base: None };
        // What has a figure is measured anew: others are to stand beside it.
        Numbered { case_id: self.rows.case_id(&trial.point), task, goes_on: trial.measured.is_none() }
    }

    /// Takes what came of a configuration, unless more is known of it.
    fn take(&mut self, configuration: usize, case: &Case, outcome: &Outcome) {
        let Some(known) = self.trials.get(&configuration) else { return };
        let is_less = match (&known.measured, &outcome.result) {
            // The best so far was measured before: a try that failed is no reason to doubt that, unless it was wrong. In the end it is.
            (Some(_), Err(failure)) => failure.is_untried || !(known.is_finalist || failure.status == Status::WrongResult),
            // Nor is one that was broken off.
            (_, Ok(measured)) => known.is_precise() && measured.stop == Stop::BrokenOff,
            (None, Err(_)) => false,
        };
        if is_less {
            return;
        }
        let mut row = self.rows.row(configuration, known, Ok(case), CaseResult::Tried(outcome));
        let (measured, failure) = match &outcome.result {
            Ok(measured) => {
                self.samples += measured.samples();
                if let Some(doubt) = self.silent.first() {
                    row.leave_unchecked(doubt);
                }
                (Some(Measurement::from(measured)), None)
            }
            // What was never tried counts as in its row.
            Err(failure) => {
                let (status, reason) = failure.told();
                (None, Some(Failure::new(status, reason)))
            }
        };
        let keeps_row = known.keeps_row(outcome);
        // The file doesn't show it.
        if let Some(Failure { status, reason, .. }) = failure.as_ref().filter(|_| keeps_row) {
            self.progress().note(&format!("{}: {status}: {reason}; its row stays as it was measured before", known.point));
        }
        if let Some(trial) = self.trials.get_mut(&configuration) {
            (trial.measured, trial.failure, trial.when) = (measured, failure, now());
            if !keeps_row {
                (trial.row, trial.is_earlier) = (Some(row), false);
                self.changed.insert(configuration);
            }
        }
    }

    /// Has those of several blocks that may be the best race beside each other.
    fn race_near(&mut self, session: &mut DeviceSession) -> anyhow::Result<()> {
        let Some(best) = self.best().and_then(|best| self.trials[&best].cost()) else { return Ok(()) };
        let near =
            self.trials.iter().filter_map(|(i, trial)| Some((*i, trial.rival_cost().filter(|cost| *cost <= NEAR * best)?)));
        let mut near: Vec<(usize, f64)> = near.collect();
        near.sort_by(|a, b| a.1.total_cmp(&b.1));
        let those: Vec<usize> = near.into_iter().map(|(configuration, _)| configuration).take(BLOCK_CASES).collect();
        self.keep(true)?;
        self.measure(session, &those);
        self.keep(false)
    }

    /// Measures those within reach of the best, and the default, beside each other, until one of them stands: the fastest of many
    /// looks faster than it is, and what a search saw of it is no figure. Whoever finds that one of them doesn't stand gives it a
    /// failure, and may ask for this again.
    pub(super) fn compare(&mut self, session: &mut DeviceSession) -> anyhow::Result<()> {
        while !interrupt::is_asked() && session.given_up().is_none() && !self.has_finalist() {
            let Ranked { near: mut those, cut, behind } = self.within_reach();
            if those.is_empty() {
                break;
            }
            self.finalists.extend(&those);
            let has_time = |written: &usize| self.trials.get(written).is_some_and(|trial| trial.measured.is_some());
            those.extend(self.search.written.filter(|written| !those.contains(written) && has_time(written)));
            self.cut = cut.into_iter().filter(|cut| !those.contains(cut)).count();
            let nearest = behind.into_iter().find(|(configuration, _)| !those.contains(configuration));
            self.nearest_behind = nearest.map(|(configuration, over)| (self.search.space.point(configuration), over));
            for (_, trial) in self.trials.iter_mut().filter(|(configuration, _)| those.contains(configuration)) {
                trial.is_finalist = true;
            }
            self.keep(true)?;
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
            Some(case) => self.rows.row(configuration, trial, Ok(case), CaseResult::Tried(&outcome)),
            None => self.rows.row(configuration, trial, Err(&failure), CaseResult::Planned),
        };
        if let Some(trial) = self.trials.get_mut(&configuration) {
            (trial.row, trial.measured, trial.failure) = (Some(row), None, Some(failure));
        }
        self.changed.insert(configuration);
    }

    /// Whether one of those within reach of the best stands. The default alone is no answer: faster ones weren't looked at.
    fn has_finalist(&self) -> bool {
        self.finalists.iter().any(|finalist| self.trials[finalist].measured.is_some())
    }

    /// Those that may be the best by what the search saw.
    fn within_reach(&self) -> Ranked {
        let open: Vec<(usize, &Measurement)> = (self.trials.iter().filter(|(_, trial)| !trial.is_finalist))
            .filter_map(|(i, trial)| Some((*i, trial.measured.as_ref()?)))
            .collect();
        // Where none of the finalists stands, nothing was beaten by what stands.
        let is_out = |measured: &Measurement| measured.stop == Stop::Beaten && self.finalists.is_empty();
        let costs = open.iter().enumerate().filter(|(_, (_, measured))| !is_out(measured));
        let Some((best, (_, fastest))) = costs.min_by(|a, b| a.1.1.time().total_cmp(&b.1.1.time())) else {
            return Ranked::default();
        };
        let timed: Vec<Vec<Timed>> = open.iter().map(|(_, measured)| measured.rounds_or_figure()).collect();
        let places = reach::within(&timed, best).into_iter().zip(&open);
        // Nothing was beaten by what turned out to be slower.
        let may_be =
            |is_near: bool, measured: &Measurement| (is_near && !is_out(measured)) || measured.time() <= fastest.time();
        let (mut near, mut behind): (Vec<_>, Vec<_>) = places
            .map(|((over, is_near), (i, measured))| (*i, over, may_be(is_near, measured)))
            .partition(|(_, _, may_be)| *may_be);
        [&mut near, &mut behind].into_iter().for_each(|places| places.sort_by(|a, b| a.1.total_cmp(&b.1)));
        let mut near: Vec<usize> = near.into_iter().map(|(configuration, ..)| configuration).collect();
        let cut = near.split_off(near.len().min(FINALISTS));
        Ranked { near, cut, behind: behind.into_iter().map(|(configuration, over, _)| (configuration, over)).collect() }
    }

    /// What an answer follows from.
    pub fn figures(&self) -> Vec<Figure> {
        // One of many that alone was tried is the best of nothing.
        let is_search = self.trials.len() > 1 || self.search.space.len() == 1;
        let finalists = self.trials.values().filter(|trial| trial.is_finalist && is_search);
        finalists.filter_map(|trial| Some(trial.measured.as_ref()?.figure(&trial.point))).collect()
    }

    /// Where the device is slower than it was when the search beat a configuration, that one's time is below the best's: no row says
    /// that it was beaten then.
    fn relabel(&mut self) {
        let finalists = self.trials.values().filter(|trial| trial.is_finalist);
        let best = finalists.filter_map(Trial::cost).fold(f64::INFINITY, f64::min);
        let beyond = |trial: &Trial| !trial.is_finalist && trial.cost().is_some_and(|cost| cost <= best);
        for (configuration, trial) in self.trials.iter_mut().filter(|(_, trial)| beyond(trial)) {
            if let (Some(measured), Some(row)) = (&mut trial.measured, &mut trial.row) {
                if measured.stop == Stop::Beaten && row.stop == Stop::Beaten.as_str() {
                    measured.stop = Stop::Glanced;
                    row.stop = Stop::Glanced.as_str().to_owned();
                    self.changed.insert(*configuration);
                }
            }
        }
    }

    /// Keeps the answer, and what is said beside it, in the row of a configuration, and in no other one.
    pub fn keep_answer(&mut self, point: &Point, answer: &str, notes: &str) {
        for (configuration, trial) in &mut self.trials {
            let [answer, notes] = if trial.point == *point { [answer, notes] } else { [""; 2] };
            let Some(row) = &mut trial.row else { continue };
            if row.search_answer == answer && row.search_notes == notes {
                continue;
            }
            answer.clone_into(&mut row.search_answer);
            notes.clone_into(&mut row.search_notes);
            self.changed.insert(*configuration);
        }
        self.hold_changed();
    }

    // ---- rows -----------------------------------------------------------------------------------------------------------------

    /// Keeps the rows as they are now, in case that this process is killed before they are final.
    fn keep(&mut self, is_urgent: bool) -> anyhow::Result<()> {
        self.hold_changed();
        self.ledger.sink.sync(is_urgent)
    }

    fn hold_changed(&mut self) {
        let changed = std::mem::take(&mut self.changed);
        self.ledger.sink.hold(changed.iter().filter_map(|configuration| self.trials.get(configuration)?.row.clone()));
    }
}

/// Where the configurations lie that a search has timed, the fastest first.
#[derive(Default)]
struct Ranked {
    /// Those that may be the best: as many as are measured beside each other, and the others.
    near: Vec<usize>,
    cut: Vec<usize>,
    /// Those that were slower, with their times over the fastest's.
    behind: Vec<(usize, f64)>,
}
