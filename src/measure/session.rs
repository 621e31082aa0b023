//! A block of cases from loading to outcome, on the benches of one device.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::ControlFlow;
use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::bench::{Answer, Call, CaseKey, Job, Loss, Order, ShaderFacts};
use super::crew::{Crew, Work};
use super::entry::Entry;
use super::stop::{self, JUDGED_ROUNDS, LAST_ROUND, Progress, Stop};
use super::{Instrument, Measured};
use crate::model::{Case, Failure, Status};
use crate::stats;
use crate::units::Nanos;

/// The most cases in a block: more would spread one case's rounds over minutes, with other clocks at each end.
pub const BLOCK_CASES: usize = 64;

/// Of each batch size, the medians of an empty pass in the rounds so far.
type EmptyPasses = HashMap<u32, Vec<f64>>;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The noise that is precise enough.
    pub max_noise: f64,
    /// The time that may be spent on timing one case.
    pub max_time: Duration,
    /// Selects the order of visits.
    pub seed: u64,
}

/// A case to be measured.
#[derive(Clone, Debug)]
pub struct Task<'c> {
    /// What benches know it by.
    pub key: CaseKey,
    /// The case.
    pub case: &'c Case,
    /// What it is measured alternately with.
    pub base: Option<Base>,
}

/// What a case is measured alternately with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// A case on the same device.
    Here(CaseKey),
    /// A case on the session's other device.
    There(CaseKey),
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What compiling told, if it got that far.
    pub shader: Option<ShaderFacts>,
    /// Its figures, or why there are none.
    pub result: Result<Measured, Failure>,
}

/// What happens meanwhile, for whoever shows progress.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A case is compiled by the driver and checked.
    Loading(&'a Case),
    /// A case is timed.
    Timing(&'a Case, u32),
    /// A case has an outcome.
    Ended(&'a Case),
}

/// Takes events, and says whether to go on: where not, measuring ends after the current visit.
pub type Observer<'o> = dyn FnMut(Event) -> ControlFlow<()> + 'o;

/// One device, calibrated, ready to measure blocks of cases.
pub struct Session<'a> {
    pub(super) crew: Crew<'a>,
    /// The device on which the bases of pairs run, where it isn't the same.
    pub(super) base_crew: Option<Crew<'a>>,
    pub(super) options: Options,
    rng: ChaCha8Rng,
}

impl<'a> Session<'a> {
    /// Measures on these benches.
    pub fn new(crew: Crew<'a>, options: Options) -> Self {
        Self { crew, base_crew: None, options, rng: ChaCha8Rng::seed_from_u64(options.seed) }
    }

    /// The same session, the bases of pairs being run on another device.
    #[must_use]
    pub fn with_base(self, crew: Crew<'a>) -> Self {
        Self { base_crew: Some(crew), ..self }
    }

    /// What is known about the instrument.
    pub fn instrument(&self) -> &Instrument {
        self.crew.instrument()
    }

    /// Why the device was given up, if it was: nothing more can be measured.
    pub fn given_up(&self) -> Option<&Failure> {
        self.crew.given_up()
    }

    /// Measures the cases as one block, or as several where they don't fit the device's memory at one time. One outcome each, in
    /// their order; `None` for those that weren't measured because the observer didn't want to go on, or the device was given up.
    pub fn measure(&mut self, tasks: &[Task], observe: &mut Observer) -> Vec<Option<Outcome>> {
        let mut outcomes = Vec::with_capacity(tasks.len());
        let mut goes_on = true;
        while outcomes.len() < tasks.len() && goes_on && self.given_up().is_none() {
            let mut block = Block { session: self, observe, goes_on };
            let measured = block.measure(&tasks[outcomes.len()..]);
            goes_on = block.goes_on;
            outcomes.extend(measured);
        }
        outcomes.resize(tasks.len(), None);
        outcomes
    }

    /// Among how many benches the device's memory is shared.
    pub(super) fn share(&self) -> u32 {
        let is_same = |base: &Crew| base.info().device_uuid == self.crew.info().device_uuid;
        let crews = 1 + usize::from(self.base_crew.as_ref().is_some_and(is_same));
        u32::try_from(crews * self.crew.len()).unwrap_or(u32::MAX)
    }
}

/// Some cases that are measured together.
pub(super) struct Block<'s, 'a, 'o> {
    pub(super) session: &'s mut Session<'a>,
    observe: &'s mut Observer<'o>,
    goes_on: bool,
}

impl Block<'_, '_, '_> {
    /// Measures as many of the cases as memory holds at one time, at least one unless nothing can go on.
    fn measure(&mut self, tasks: &[Task]) -> Vec<Option<Outcome>> {
        let seats = self.session.crew.len();
        let mut entries: Vec<Entry> = tasks.iter().map(|task| Entry::new(task, seats)).collect();
        let fitting = self.load(0, &mut entries);
        entries.truncate(fitting);
        self.load_bases(0, &mut entries);
        self.size(&mut entries);
        self.time(&mut entries);
        self.unload();
        entries.into_iter().map(|entry| self.outcome(entry)).collect()
    }

    fn outcome(&self, mut entry: Entry) -> Option<Outcome> {
        let shader = entry.shader.take();
        let result = match entry.ended.take()? {
            Ok(stop) => self.session.measured(entry, stop),
            Err(failure) => Err(failure),
        };
        Some(Outcome { shader, result })
    }

    /// Tells what happens, and hears whether to go on.
    pub(super) fn observe(&mut self, event: Event) {
        self.goes_on &= (self.observe)(event).is_continue();
    }

    pub(super) fn fail(&mut self, entry: &mut Entry, failure: Failure) {
        entry.fail(failure);
        self.observe(Event::Ended(entry.case()));
    }

    /// Loads what is active at a seat, where it isn't yet. Gives how many of the entries, from the first, needn't wait for another
    /// block: those that don't fit beside the others at the first seat have to.
    fn load(&mut self, seat: usize, entries: &mut [Entry]) -> usize {
        loop {
            if !self.session.crew.is_there(seat) {
                entries.iter_mut().for_each(|entry| entry.places[seat] = None);
            }
            let wanted: Vec<usize> =
                (0..entries.len()).filter(|&i| entries[i].is_active() && entries[i].places[seat].is_none()).collect();
            if wanted.is_empty() || !self.goes_on {
                return entries.len();
            }
            match self.load_those(seat, entries, &wanted) {
                Loaded::All => return entries.len(),
                Loaded::Some(count) if seat == 0 && entries.iter().all(|entry| entry.visits.is_empty()) => {
                    return wanted[count];
                }
                Loaded::Some(count) => {
                    for &i in &wanted[count..] {
                        let reason = "it fits into one process beside the others, not into several: try --processes 1";
                        self.fail(&mut entries[i], Failure::new(Status::OutOfMemory, reason));
                    }
                    return entries.len();
                }
                // The bench was lost, and with it all that was loaded.
                Loaded::Again => {}
                Loaded::Never(failure) => {
                    wanted.iter().for_each(|&i| self.fail(&mut entries[i], not_run(&failure)));
                    return entries.len();
                }
            }
        }
    }

    fn load_those(&mut self, seat: usize, entries: &mut [Entry], wanted: &[usize]) -> Loaded {
        let jobs: Vec<Job> = wanted.iter().map(|&i| entries[i].job()).collect();
        let share = (seat == 0).then(|| self.session.share());
        let (mut done, mut is_ready, mut unready) = (0, false, None);
        if let Err(failure) = self.session.crew.bench(seat) {
            return Loaded::Never(failure);
        }
        let (crew, observe) = (&mut self.session.crew, &mut self.observe);
        let mut goes_on = observe(Event::Loading(entries[wanted[0]].case()));
        let result = crew.carry_out(seat, Order::Load { jobs, share }, &mut |answer| {
            match answer {
                Answer::Ready(Ok(())) => is_ready = true,
                Answer::Ready(Err(failure)) => unready = Some(failure),
                Answer::Loaded(loading) => {
                    let entry = &mut entries[wanted[done]];
                    entry.loaded(seat, *loading);
                    done += 1;
                    if entry.ended.is_some() && observe(Event::Ended(entry.case())).is_break() {
                        goes_on = ControlFlow::Break(());
                    }
                    if let Some(&next) = wanted.get(done) {
                        if observe(Event::Loading(entries[next].case())).is_break() {
                            goes_on = ControlFlow::Break(());
                        }
                    }
                }
                _ => {}
            }
            goes_on
        });
        self.goes_on &= goes_on.is_continue();
        if done > 0 {
            self.session.crew.succeeded(Work::Loading);
        }
        match (result, unready) {
            (Err(loss), _) => {
                self.session.crew.lose(seat, Work::Loading, &loss);
                if let Some(&i) = wanted.get(done).filter(|_| is_ready) {
                    self.fail(&mut entries[i], loss.0);
                }
                Loaded::Again
            }
            (Ok(()), Some(failure)) => Loaded::Never(failure),
            (Ok(()), None) if done == wanted.len() || !self.goes_on => Loaded::All,
            (Ok(()), None) => Loaded::Some(done),
        }
    }

    /// Chooses the sizes of all entries, on the first bench.
    fn size(&mut self, entries: &mut [Entry]) {
        let unsized_ones = |entries: &[Entry]| -> VecDeque<usize> {
            let lacks = |entry: &Entry| entry.is_active() && entry.places[0].is_some() && entry.sizes.is_none();
            (0..entries.len()).filter(|&i| lacks(&entries[i])).collect()
        };
        let mut queue = unsized_ones(entries);
        while !queue.is_empty() && self.goes_on {
            let left = self.session.options.max_time;
            let call = |entry: &Entry| Some(Call { place: entry.places[0]?, left, expected: left + entry.longest_sizing() });
            let calls = queue.iter().filter_map(|&i| call(&entries[i])).collect();
            let mut failed = Vec::new();
            let result = self.session.crew.carry_out(0, Order::Size { calls }, &mut |answer| {
                if let (Answer::Sized(sized), Some(i)) = (answer, queue.pop_front()) {
                    match sized {
                        Ok((own, base)) => entries[i].sizes = Some((own, base)),
                        Err(failure) => failed.push((i, failure)),
                    }
                }
                ControlFlow::Continue(())
            });
            for (i, failure) in failed {
                self.fail(&mut entries[i], failure);
            }
            if let Err(loss) = result {
                self.lose(0, &loss, queue.pop_front().map(|i| &mut entries[i]));
                self.load(0, entries);
            }
            queue = unsized_ones(entries);
        }
        self.size_bases(entries);
    }

    /// A bench was lost while it measured; with it this entry, if it was at one.
    pub(super) fn lose(&mut self, seat: usize, loss: &Loss, entry: Option<&mut Entry>) {
        self.session.crew.lose(seat, Work::Measuring, loss);
        entry.into_iter().for_each(|entry| self.fail(entry, loss.0.clone()));
    }

    /// Times all entries in rounds until each has ended. Rounds are dealt over the benches.
    fn time(&mut self, entries: &mut [Entry]) {
        let mut empty_passes = EmptyPasses::default();
        for round in 1..=LAST_ROUND {
            let seat = (round as usize - 1) % self.session.crew.len();
            self.load(seat, entries);
            self.load_bases(seat, entries);
            let mut order: Vec<usize> = (0..entries.len()).filter(|&i| entries[i].is_active()).collect();
            if order.is_empty() || !self.goes_on {
                break;
            }
            order.shuffle(&mut self.session.rng);
            self.visit_all(seat, round, order, entries);
            self.end_round(seat, entries, &mut empty_passes);
            if stop::is_judged(round) && self.goes_on {
                self.judge(entries, round);
            }
        }
        if !self.goes_on {
            self.end_early(entries);
        }
        for entry in entries.iter_mut().filter(|entry| dispatches(entry.case())) {
            entry.overhead = empty_passes.get(&entry.batch()).map(|medians| Nanos(stats::median(medians)));
        }
    }

    /// Visits the entries in this order; pairs across devices one by one, since the session itself alternates their samples.
    fn visit_all(&mut self, seat: usize, round: u32, order: Vec<usize>, entries: &mut [Entry]) {
        let mut queue = VecDeque::from(order);
        while self.goes_on {
            queue.retain(|&i| entries[i].is_active());
            let Some(&first) = queue.front() else { break };
            // A bench that was lost is replaced, and has to load everything.
            self.load(seat, entries);
            self.load_bases(seat, entries);
            if !entries[first].is_active() {
                continue;
            }
            if entries[first].is_paired_across() {
                queue.pop_front();
                self.observe(Event::Timing(entries[first].case(), round));
                self.visit_across(seat, first, entries);
            } else {
                self.visit_next(seat, round, &mut queue, entries);
            }
        }
    }

    /// Visits the next entries up to one whose base is on another device.
    fn visit_next(&mut self, seat: usize, round: u32, queue: &mut VecDeque<usize>, entries: &mut [Entry]) {
        let max_time = self.session.options.max_time;
        let call = |entry: &Entry| {
            let left = max_time.saturating_sub(entry.spent);
            Some(Call { place: entry.places[seat]?, left, expected: max_time + entry.longest_visit() })
        };
        let plain = queue.iter().take_while(|&&i| !entries[i].is_paired_across() && entries[i].is_active());
        let calls = plain.filter_map(|&i| call(&entries[i])).collect();
        let order = Order::Visit { calls, is_busy: round > 1 && self.session.crew.len() > 1 };
        let process = self.session.crew.process(seat);
        let (crew, observe) = (&mut self.session.crew, &mut self.observe);
        let mut goes_on = observe(Event::Timing(entries[queue[0]].case(), round));
        let mut visited_any = false;
        let result = crew.carry_out(seat, order, &mut |answer| {
            let (Answer::Visited(visited), Some(i)) = (answer, queue.pop_front()) else { return goes_on };
            match visited {
                Ok(visited) => {
                    visited_any = true;
                    entries[i].visited(process, visited);
                }
                Err(failure) => {
                    entries[i].fail(failure);
                    if observe(Event::Ended(entries[i].case())).is_break() {
                        goes_on = ControlFlow::Break(());
                    }
                }
            }
            if let Some(&next) = queue.front() {
                if observe(Event::Timing(entries[next].case(), round)).is_break() {
                    goes_on = ControlFlow::Break(());
                }
            }
            goes_on
        });
        self.goes_on &= goes_on.is_continue();
        if visited_any {
            self.session.crew.succeeded(Work::Measuring);
        }
        if let Err(loss) = result {
            self.lose(seat, &loss, queue.pop_front().map(|i| &mut entries[i]));
        }
    }

    /// Measures empty passes, and lets the round last. A bench that is lost here takes no case with it; one that fails otherwise
    /// takes all: their figures would stand without what they are judged by.
    fn end_round(&mut self, seat: usize, entries: &mut [Entry], empty_passes: &mut EmptyPasses) {
        if !self.session.crew.is_there(seat) || !self.goes_on {
            return;
        }
        let active = entries.iter().filter(|entry| entry.is_active() && dispatches(entry.case()));
        let batches: Vec<u32> = active.map(Entry::batch).collect::<BTreeSet<u32>>().into_iter().collect();
        let is_across = entries.iter().any(|entry| entry.is_active() && entry.is_paired_across());
        let order = Order::EndRound { batches: batches.clone(), stays_busy: !is_across };
        let mut ended = None;
        let result = self.session.crew.carry_out(seat, order, &mut |answer| {
            if let Answer::RoundEnded(result) = answer {
                ended = Some(result);
            }
            ControlFlow::Continue(())
        });
        if let Err(loss) = result {
            return self.lose(seat, &loss, None);
        }
        match ended {
            Some(Ok((medians, left))) => {
                for (batch, median) in batches.into_iter().zip(medians) {
                    empty_passes.entry(batch).or_default().push(median);
                }
                if is_across {
                    self.keep_both_busy(seat, left);
                }
            }
            Some(Err(failure)) => {
                for entry in entries.iter_mut().filter(|entry| entry.is_active()) {
                    self.fail(entry, failure.clone());
                }
            }
            None => {}
        }
    }

    /// Decides which entries leave, and checks the results of those that do.
    fn judge(&mut self, entries: &mut [Entry], round: u32) {
        let Options { max_noise, max_time, .. } = self.session.options;
        let mut leaving = Vec::new();
        for (i, entry) in entries.iter_mut().enumerate().filter(|(_, entry)| entry.is_active()) {
            entry.noise.push(entry.noise_now());
            let progress = Progress { round, noise: &entry.noise, max_noise, spent: entry.spent, max_time };
            leaving.extend(stop::judge(&progress).map(|stop| (i, stop)));
        }
        self.check(entries, &leaving);
    }

    /// What has as many rounds as an interval needs leaves with what it has.
    fn end_early(&mut self, entries: &mut [Entry]) {
        let enough = JUDGED_ROUNDS[0] as usize;
        let has_enough = |entry: &Entry| entry.is_active() && entry.visits.len() >= enough;
        let leaving: Vec<_> = (0..entries.len()).filter(|&i| has_enough(&entries[i])).map(|i| (i, Stop::Budget)).collect();
        self.check(entries, &leaving);
    }

    /// Compares what these entries leave behind, on every bench that timed them, and ends them.
    fn check(&mut self, entries: &mut [Entry], leaving: &[(usize, Stop)]) {
        for seat in 0..self.session.crew.len() {
            let is_open = |entries: &[Entry], i: usize| entries[i].is_active() && entries[i].places[seat].is_some();
            let mut queue: VecDeque<usize> = leaving.iter().map(|(i, _)| *i).filter(|&i| is_open(entries, i)).collect();
            while !queue.is_empty() && self.session.crew.is_there(seat) {
                let places = queue.iter().filter_map(|&i| entries[i].places[seat]).collect();
                let mut failed = Vec::new();
                let result = self.session.crew.carry_out(seat, Order::Check { places }, &mut |answer| {
                    if let (Answer::Checked(checked), Some(i)) = (answer, queue.pop_front()) {
                        failed.extend(checked.err().map(|failure| (i, failure)));
                    }
                    ControlFlow::Continue(())
                });
                for (i, failure) in failed {
                    self.fail(&mut entries[i], failure);
                }
                if let Err(loss) = result {
                    self.lose(seat, &loss, queue.pop_front().map(|i| &mut entries[i]));
                    self.load(seat, entries);
                    queue.retain(|&i| is_open(entries, i));
                }
            }
        }
        for (i, stop) in leaving {
            if entries[*i].is_active() {
                entries[*i].ended = Some(Ok(*stop));
                self.observe(Event::Ended(entries[*i].case()));
            }
        }
    }

    fn unload(&mut self) {
        let crews = [Some(&mut self.session.crew), self.session.base_crew.as_mut()];
        for crew in crews.into_iter().flatten() {
            for seat in 0..crew.len() {
                if !crew.is_there(seat) {
                    continue;
                }
                if let Err(loss) = crew.carry_out(seat, Order::Unload, &mut |_| ControlFlow::Continue(())) {
                    crew.lose(seat, Work::Loading, &loss);
                }
            }
        }
    }
}

/// How far loading got.
enum Loaded {
    All,
    /// So many of those that were wanted.
    Some(usize),
    /// The bench was lost.
    Again,
    /// There is no bench.
    Never(Failure),
}

/// What becomes of cases that were never tried.
pub(super) fn not_run(failure: &Failure) -> Failure {
    Failure::new(Status::Error, format!("not run: {}: {}", failure.status, failure.reason))
}

/// Whether a case launches anything: only then does an empty launch say something about it.
fn dispatches(case: &Case) -> bool {
    !case.kernels.is_empty()
}
