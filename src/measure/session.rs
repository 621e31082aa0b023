//! Measuring on the benches of one device: what is asked for, and what comes of it.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::bench::{CaseKey, ShaderFacts, Visited};
use super::block::{Block, Observing};
use super::earlier::Earlier;
use super::pool::Pool;
use super::visit::Sizes;
use super::{Instrument, Measured};
use crate::model::{Case, Failure, Status};
use crate::units::Nanos;
use crate::validate::Learned;

/// So many crashes that nobody is found to be to blame for, and cases are measured one by one: one may be a kill from outside.
const MOST_UNEXPLAINED: u32 = 2;

/// Which cases are measured precisely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    #[default]
    Each,
    /// None: a few rounds of short visits tell which of a block may be its fastest. Another one leaves after the first round that
    /// shows it to be slower ([`Race`]). The results of its first pass were compared as those of any case; that of a timed batch is
    /// compared of whatever beats others, before it does.
    ///
    /// Cases that don't fit the memory beside the others race by themselves.
    ///
    /// [`Race`]: super::Race
    Race,
    /// None: each is visited once, and shortly. Enough to tell a search where to go on.
    Glance,
    /// Each, and how it compares with the fastest: it stays until it is shown slower or as good, as long as there is time.
    Beside,
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub rule: Rule,
    /// The noise that is precise enough.
    pub max_noise: f64,
    /// The time that may be spent on timing one case.
    pub max_time: Duration,
    /// Selects the order of visits.
    pub seed: u64,
}

#[derive(Clone, Debug)]
pub struct Task<'c> {
    pub key: CaseKey,
    pub case: &'c Case,
    pub base: Option<PairBase>,
}

/// What a case is measured alternately with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairBase {
    /// A case on the same device.
    Here(CaseKey),
    /// A case on the session's other device.
    There(CaseKey),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub shader: Option<ShaderFacts>,
    pub result: Result<Measured, Failure>,
}

/// What happens meanwhile, for whoever shows progress.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A round begins: nothing is under way, and what comes next is on another process where there are several.
    Round(u32),
    /// A case is compiled by the driver and checked.
    Loading(&'a Case),
    /// A case is worked on in another way: loaded once more, sized, or checked.
    Working(&'a Case),
    Timing(&'a Case, u32),
    Visited(VisitMade<'a>),
    /// A process crashed at a case, so, and had had others: the case is measured once more, alone.
    Suspected(&'a Case, &'a Failure),
    /// A case has an outcome.
    Ended,
}

/// A visit to a case, with all that a later run needs to go on from it ([`Earlier`]).
#[derive(Clone, Copy, Debug)]
pub struct VisitMade<'a> {
    pub key: &'a CaseKey,
    pub spirv_hash: &'a str,
    pub sizes: (Sizes, Option<Sizes>),
    /// How many visits there were before that still count. Where it is fewer than were made, the others were dropped.
    pub before: usize,
    pub process: u32,
    /// The sentinel's time that its clock relates to.
    pub sentinel: Nanos,
    pub visited: &'a Visited,
}

/// Takes events, and says whether to go on: where not, measuring ends after the current visit.
pub type Observer<'o> = dyn FnMut(Event) -> ControlFlow<()> + 'o;

/// One device, calibrated, ready to measure blocks of cases.
pub struct Session<'a> {
    pub(super) pool: Pool<'a>,
    /// The device on which the bases of pairs run, where it isn't the same.
    pub(super) base_pool: Option<Pool<'a>>,
    /// Why that device can't be paired with.
    pub(super) base_failure: Option<Failure>,
    pub(super) options: Options,
    pub(super) rng: ChaCha8Rng,
    /// When the device last ended a round, whichever bench it was on.
    pub(super) last_round: Option<Instant>,
    /// How many rounds there were.
    pub(super) rounds: u32,
    /// What comes after the next block.
    pub(super) anticipated: Vec<CaseKey>,
    /// Whether cases are compiled one by one, since a bench was lost that compiled others meanwhile: that shows which it is lost at.
    pub(super) is_careful: bool,
    /// Whether a case with too few rounds for an interval has an outcome where measuring is broken off.
    pub(super) keeps_few: bool,
    /// Among how many sessions the device's memory is shared.
    pub(super) sessions: usize,
    /// What earlier runs measured of cases that are yet to come.
    pub(super) earlier: HashMap<CaseKey, Earlier>,
}

impl<'a> Session<'a> {
    pub fn new(pool: Pool<'a>, options: Options) -> Self {
        Self {
            pool,
            base_pool: None,
            base_failure: None,
            options,
            rng: ChaCha8Rng::seed_from_u64(options.seed),
            last_round: None,
            rounds: 0,
            anticipated: Vec::new(),
            is_careful: false,
            keeps_few: false,
            sessions: 1,
            earlier: HashMap::new(),
        }
    }

    /// The same session, where a case that was visited has an outcome, said to be rough, even if it has no interval yet.
    #[must_use]
    pub fn keeping_few_rounds(self) -> Self {
        Self { keeps_few: true, ..self }
    }

    /// The same session, where so many have cases in the device's memory, this one included.
    #[must_use]
    pub fn beside_others(self, sessions: usize) -> Self {
        Self { sessions, ..self }
    }

    /// The same session, the bases of pairs being run on another device. Where it can't be, cases are measured alone and say so.
    #[must_use]
    pub fn with_base(self, pool: Result<Pool<'a>, Failure>) -> Self {
        let timers = |pool: &Pool<'a>| [&self.pool, pool].map(|pool| pool.instrument().timer.as_str());
        let failure = match &pool {
            Err(failure) => Some(failure.clone()),
            Ok(pool) => match timers(pool) {
                [own, base] if own != base => {
                    let reason = format!("times by the {own}'s and by the {base}'s clock can't be compared");
                    Some(Failure::new(Status::Error, reason))
                }
                _ => None,
            },
        };
        Self { base_pool: pool.ok().filter(|_| failure.is_none()), base_failure: failure, ..self }
    }

    pub fn instrument(&self) -> &Instrument {
        self.pool.instrument()
    }

    /// What the reference showed that cases are compared with, where there is one.
    pub fn learned(&self) -> &Learned {
        self.pool.learned()
    }

    /// Why the device was given up, if it was: nothing more can be measured.
    pub fn given_up(&self) -> Option<&Failure> {
        self.pool.given_up()
    }

    pub fn set_rule(&mut self, rule: Rule) {
        self.options.rule = rule;
    }

    /// Says which cases come after those that are measured next: benches that compile on other threads do so while these are timed.
    /// Of no effect where none does, and on what is measured.
    pub fn anticipate(&mut self, keys: Vec<CaseKey>) {
        self.anticipated = keys;
    }

    /// Measures the cases as one block, or as several where they don't fit the device's memory at one time. One outcome each, in
    /// their order; `None` for those that weren't measured because the observer didn't want to go on, or the device was given up.
    ///
    /// Where a process crashes that has had several cases, the one that it was at is measured alone, in a fresh process: it is to
    /// blame if that crashes as well. If it doesn't, another one was, which harmed the process before. Where that happens again, each
    /// that is left is measured alone.
    pub fn measure(&mut self, tasks: &[Task], observe: &mut Observer) -> Vec<Option<Outcome>> {
        let mut outcomes: Vec<Option<Outcome>> = vec![None; tasks.len()];
        let mut pending: VecDeque<usize> = (0..tasks.len()).collect();
        let (mut alone, mut unexplained) = (VecDeque::new(), 0);
        let mut goes_on = true;
        self.is_careful = false;
        while goes_on && self.given_up().is_none() {
            let tried = alone.pop_front();
            let those: Vec<usize> = tried.map_or_else(|| pending.drain(..).collect(), |i| vec![i]);
            if those.is_empty() {
                break;
            }
            if tried.is_some() {
                self.pool.renew();
            }
            let together: Vec<&Task> = those.iter().map(|&i| &tasks[i]).collect();
            let mut block = Block { session: self, observing: Observing { observe, goes_on }, suspect: None };
            let ended = block.measure(&together);
            goes_on = block.observing.goes_on;
            let suspect = block.suspect.map(|at| those[at]);
            for (outcome, i) in ended.into_iter().zip(those) {
                match outcome {
                    Some(outcome) => {
                        // Whoever measures it once more begins anew.
                        self.earlier.remove(&tasks[i].key);
                        outcomes[i] = Some(outcome);
                    }
                    None if suspect == Some(i) => alone.push_back(i),
                    None => pending.push_back(i),
                }
            }
            unexplained += u32::from(tried.is_some_and(|i| outcomes[i].as_ref().is_some_and(is_innocent)));
            if unexplained >= MOST_UNEXPLAINED {
                alone.append(&mut pending);
            }
        }
        outcomes
    }

    pub(super) fn share(&self) -> u32 {
        let is_same = |base: &Pool| base.info().device_uuid == self.pool.info().device_uuid;
        let pools = 1 + usize::from(self.base_pool.as_ref().is_some_and(is_same));
        u32::try_from(self.sessions * pools * self.pool.len()).unwrap_or(u32::MAX)
    }
}

fn is_innocent(outcome: &Outcome) -> bool {
    outcome.result.as_ref().map_or_else(|failure| failure.status != Status::Crashed || failure.is_untried, |_| true)
}
