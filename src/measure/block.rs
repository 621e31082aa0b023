//! A block of cases from loading to outcome.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::ControlFlow;
use std::time::Instant;

use rand::seq::SliceRandom;

use super::bench::{Answer, Call, CaseKey, Job, Loss, Order};
use super::crew::Work;
use super::entry::{Entry, Trial};
use super::rig::IDLE;
use super::session::{Base, Event, Observer, Options, Outcome, Session, Task};
use super::stop::{self, JUDGED_ROUNDS, LAST_ROUND, Progress, Stop};
use crate::model::{Case, Failure, Status};
use crate::stats;
use crate::units::Nanos;

/// Of each batch size, the medians of an empty pass in the rounds so far.
type EmptyPasses = HashMap<u32, Vec<f64>>;

/// Some cases that are measured together.
pub(super) struct Block<'s, 'a, 'o> {
    pub(super) session: &'s mut Session<'a>,
    pub(super) observe: &'s mut Observer<'o>,
    pub(super) goes_on: bool,
}

impl Block<'_, '_, '_> {
    /// Measures as many of the cases as memory holds at one time, at least one unless nothing can go on. `None` for the others.
    pub(super) fn measure(&mut self, tasks: &[&Task]) -> Vec<Option<Outcome>> {
        let seats = self.session.crew.len();
        let mut entries: Vec<Entry> = tasks.iter().map(|task| Entry::new(task, seats)).collect();
        if let Some(failure) = &self.session.base_failure {
            entries.iter_mut().filter(|entry| entry.is_paired_across()).for_each(|entry| entry.part_from_base(failure.clone()));
        }
        self.load(0, &mut entries);
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
    pub(super) fn observe(&mut self, event: Event) -> ControlFlow<()> {
        self.goes_on &= (self.observe)(event).is_continue();
        if self.goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Whether to go on.
    pub(super) fn goes_on(&self) -> bool {
        self.goes_on
    }

    pub(super) fn fail(&mut self, entry: &mut Entry, failure: Failure) {
        entry.fail(failure);
        let _ = self.observe(Event::Ended(entry.case()));
    }

    /// Carries out an order at a seat, the answers going to `answer` with this block, which sees to what they mean.
    pub(super) fn carry_out(
        &mut self,
        seat: usize,
        order: Order,
        answer: &mut dyn FnMut(&mut Observing, Answer),
    ) -> Result<(), Loss> {
        let mut observing = Observing { observe: self.observe, goes_on: self.goes_on };
        let result = self.session.crew.carry_out(seat, order, &mut |item| {
            answer(&mut observing, item);
            if observing.goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        self.goes_on &= observing.goes_on;
        result
    }

    /// Loads what is active at a seat, where it isn't yet. What doesn't fit beside the others waits for another block.
    pub(super) fn load(&mut self, seat: usize, entries: &mut [Entry]) {
        loop {
            if !self.session.crew.is_there(seat) {
                entries.iter_mut().for_each(|entry| entry.places[seat] = None);
            }
            let mut wanted: Vec<usize> =
                (0..entries.len()).filter(|&i| entries[i].is_active() && entries[i].places[seat].is_none()).collect();
            if let Some(&i) = wanted.iter().find(|&&i| entries[i].on_trial == Some(Trial::Loading)) {
                wanted = vec![i];
            }
            if wanted.is_empty() || !self.goes_on {
                return;
            }
            if let Err(failure) = self.session.crew.bench(seat) {
                return wanted.iter().for_each(|&i| self.fail(&mut entries[i], not_run(&failure)));
            }
            match self.load_those(seat, entries, &wanted) {
                Ok(done) if done < wanted.len() => self.defer(entries, &wanted[done..], seat),
                Ok(_) => {}
                Err(failure) => return wanted.iter().for_each(|&i| self.fail(&mut entries[i], failure.clone())),
            }
        }
    }

    /// Those that don't fit wait for another block, unless nothing else was loaded: then they never will.
    fn defer(&mut self, entries: &mut [Entry], those: &[usize], seat: usize) {
        if !self.goes_on {
            return;
        }
        let is_alone = !entries.iter().any(|entry| entry.is_active() && entry.places[seat].is_some());
        for (i, &place) in those.iter().enumerate() {
            if is_alone && i == 0 && entries.iter().all(|entry| entry.ended.is_none()) {
                self.fail(
                    &mut entries[place],
                    Failure::new(Status::OutOfMemory, "it doesn't fit, though nothing else is loaded"),
                );
            } else {
                entries[place].is_deferred = true;
            }
        }
    }

    /// Loads these, and tells how many were answered; a bench that is lost takes the one under way with it.
    fn load_those(&mut self, seat: usize, entries: &mut [Entry], wanted: &[usize]) -> Result<usize, Failure> {
        let jobs: Vec<Job> = wanted.iter().map(|&i| entries[i].job()).collect();
        let is_first = seat == 0 && entries.iter().all(|entry| entry.visits.is_empty());
        let share = is_first.then(|| self.session.share());
        let begins = |case| if is_first { Event::Loading(case) } else { Event::Working(case) };
        let (mut done, mut is_ready, mut unready) = (0, false, None);
        let _ = self.observe(begins(entries[wanted[0]].case()));
        let result = self.carry_out(seat, Order::Load { jobs, share }, &mut |observing, answer| match answer {
            Answer::Ready(Ok(())) => is_ready = true,
            Answer::Ready(Err(failure)) => unready = Some(failure),
            Answer::Loaded(loading) if done < wanted.len() => {
                let entry = &mut entries[wanted[done]];
                entry.loaded(seat, *loading);
                done += 1;
                if entry.ended.is_some() {
                    observing.see(Event::Ended(entry.case()));
                }
                wanted.get(done).into_iter().for_each(|&next| observing.see(begins(entries[next].case())));
            }
            _ => {}
        });
        if done > 0 {
            self.session.crew.succeeded(Work::Loading);
            Self::convict(entries);
        }
        match (result, unready) {
            (Err(loss), _) => {
                let entry = wanted.get(done).filter(|_| is_ready).map(|&i| &mut entries[i]);
                self.lose(seat, Work::Loading, &loss, entry);
                Ok(wanted.len())
            }
            (Ok(()), Some(failure)) => Err(failure),
            (Ok(()), None) => Ok(done),
        }
    }

    /// Chooses the sizes of all entries, on the first bench.
    fn size(&mut self, entries: &mut [Entry]) {
        let left = self.session.options.max_time;
        loop {
            self.load(0, entries);
            let call = |entry: &Entry| {
                let expected = left + entry.longest_sizing();
                Some(Call { place: entry.places[0]?, left, expected, is_alone: entry.base_here().is_none() })
            };
            let lacks = |entry: &Entry| entry.is_active() && entry.sizes.is_none();
            let mut listed: VecDeque<(usize, Call)> =
                (0..entries.len()).filter(|&i| lacks(&entries[i])).filter_map(|i| Some((i, call(&entries[i])?))).collect();
            if let Some(&on_trial) = listed.iter().find(|(i, _)| entries[*i].on_trial.is_some()) {
                listed = VecDeque::from([on_trial]);
            }
            if listed.is_empty() || !self.goes_on {
                break;
            }
            let calls = listed.iter().map(|(_, call)| *call).collect();
            let mut any = false;
            let result = self.carry_out(0, Order::Size { calls }, &mut |observing, answer| {
                let (Answer::Sized(sized), Some((i, _))) = (answer, listed.pop_front()) else { return };
                match sized {
                    Ok(sizes) => (entries[i].sizes, any) = (Some(sizes), true),
                    Err(failure) => {
                        entries[i].fail(failure);
                        observing.see(Event::Ended(entries[i].case()));
                    }
                }
                listed.front().into_iter().for_each(|(next, _)| observing.see(Event::Working(entries[*next].case())));
            });
            self.after(0, result, any, listed.pop_front().map(|(i, _)| i), entries);
        }
        self.size_bases(entries);
    }

    /// What became of an order to measure: whether any item succeeded, and which one was under way if the bench was lost.
    fn after(&mut self, seat: usize, result: Result<(), Loss>, any: bool, at: Option<usize>, entries: &mut [Entry]) {
        if any {
            self.session.crew.succeeded(Work::Measuring);
            Self::convict(entries);
        }
        match (result, at) {
            (Err(loss), at) => self.lose(seat, Work::Measuring, &loss, at.map(|i| &mut entries[i])),
            (Ok(()), Some(i)) if self.goes_on => {
                self.fail(&mut entries[i], Failure::new(Status::Error, "its worker process didn't answer"));
            }
            (Ok(()), _) => {}
        }
    }

    /// A bench was lost; with it this entry, if it was at one. One that was paired is first tried alone: its base may be to blame.
    pub(super) fn lose(&mut self, seat: usize, at: Work, loss: &Loss, entry: Option<&mut Entry>) {
        self.session.crew.lose(seat, at, loss);
        match entry {
            Some(entry) if entry.base_here().is_some() && entry.on_trial.is_none() => {
                entry.on_trial = Some(match at {
                    Work::Measuring if entry.sizes.is_some() => Trial::Visiting,
                    Work::Measuring => Trial::Sizing,
                    Work::Opening | Work::Loading => Trial::Loading,
                });
                entry.part_from_base(loss.0.clone());
            }
            Some(entry) => self.fail(entry, loss.0.clone()),
            None => {}
        }
    }

    /// A case that took its process down together with its base, and does well alone: it was the base, which others then do without.
    fn convict(entries: &mut [Entry]) {
        let acquitted: Vec<(CaseKey, Failure)> = entries
            .iter_mut()
            .filter(|entry| entry.is_acquitted())
            .filter_map(|entry| {
                entry.on_trial = None;
                match &entry.task.base {
                    Some(Base::Here(key)) => Some((key.clone(), entry.unpaired.clone()?)),
                    _ => None,
                }
            })
            .collect();
        for (base, failure) in acquitted {
            let with_it = entries.iter_mut().filter(|entry| entry.is_active() && entry.base_here() == Some(&base));
            with_it.for_each(|entry| entry.part_from_base(failure.clone()));
        }
    }

    /// Times all entries in rounds until each has ended. Rounds are dealt over the benches. What lost its pair begins anew.
    fn time(&mut self, entries: &mut [Entry]) {
        let mut empty_passes = EmptyPasses::default();
        for round in 1..=2 * LAST_ROUND {
            let seat = (round as usize - 1) % self.session.crew.len();
            self.load(seat, entries);
            self.load_bases(seat, entries);
            let mut order: Vec<usize> = (0..entries.len()).filter(|&i| entries[i].is_active()).collect();
            if order.is_empty() || !self.goes_on {
                break;
            }
            order.shuffle(&mut self.session.rng);
            self.begin_round(seat);
            self.visit_all(seat, round, order, entries);
            self.end_round(seat, entries, &mut empty_passes);
            if self.goes_on {
                self.judge(entries);
            }
        }
        if !self.goes_on {
            self.end_early(entries);
        }
        for entry in entries.iter_mut().filter(|entry| dispatches(entry.case())) {
            entry.overhead = empty_passes.get(&entry.batch()).map(|medians| Nanos(stats::median(medians)));
        }
    }

    /// Tells both devices that a round begins. A bench that is lost here shows that at its first visit.
    fn begin_round(&mut self, seat: usize) {
        let is_busy = self.session.last_round.is_some_and(|ended| ended.elapsed() < IDLE);
        for crew in [Some(&mut self.session.crew), self.session.base_crew.as_mut()].into_iter().flatten() {
            if crew.is_there(seat) {
                let order = Order::BeginRound { is_busy };
                if let Err(loss) = crew.carry_out(seat, order, &mut |_| ControlFlow::Continue(())) {
                    crew.lose(seat, Work::Measuring, &loss);
                }
            }
        }
    }

    /// Visits the entries in this order; pairs across devices one by one, since the session itself alternates their samples.
    fn visit_all(&mut self, seat: usize, round: u32, order: Vec<usize>, entries: &mut [Entry]) {
        let mut queue = VecDeque::from(order);
        while self.goes_on {
            // A bench that was lost is replaced, and has to load everything.
            self.load(seat, entries);
            self.load_bases(seat, entries);
            queue.retain(|&i| entries[i].is_active() && entries[i].places[seat].is_some());
            let Some(&first) = queue.front() else { break };
            if !self.goes_on {
                break;
            }
            if entries[first].is_paired_across() {
                queue.pop_front();
                let _ = self.observe(Event::Timing(entries[first].case(), round));
                self.visit_across(seat, first, entries);
            } else {
                self.visit_next(seat, round, &mut queue, entries);
            }
        }
    }

    /// Visits the next entries up to one whose base is on another device. One on trial is visited first, and alone.
    fn visit_next(&mut self, seat: usize, round: u32, queue: &mut VecDeque<usize>, entries: &mut [Entry]) {
        let max_time = self.session.options.max_time;
        let call = |entry: &Entry| {
            let (left, expected) = (max_time.saturating_sub(entry.spent), max_time + entry.longest_visit());
            Some(Call { place: entry.places[seat]?, left, expected, is_alone: entry.base_here().is_none() })
        };
        let plain = queue.iter().take_while(|&&i| !entries[i].is_paired_across());
        let mut listed: VecDeque<(usize, Call)> = plain.filter_map(|&i| Some((i, call(&entries[i])?))).collect();
        if let Some(&on_trial) = listed.iter().find(|(i, _)| entries[*i].on_trial.is_some()) {
            listed = VecDeque::from([on_trial]);
        }
        let calls = listed.iter().map(|(_, call)| *call).collect();
        let process = self.session.crew.process(seat);
        let mut any = false;
        if let Some((first, _)) = listed.front() {
            let _ = self.observe(Event::Timing(entries[*first].case(), round));
        }
        let mut done = Vec::new();
        let result = self.carry_out(seat, Order::Visit { calls }, &mut |observing, answer| {
            let (Answer::Visited(visited), Some((i, _))) = (answer, listed.pop_front()) else { return };
            done.push(i);
            match visited {
                Ok(visited) => {
                    any = true;
                    entries[i].visited(seat, process, visited);
                }
                Err(failure) => {
                    entries[i].fail(failure);
                    observing.see(Event::Ended(entries[i].case()));
                }
            }
            listed.front().into_iter().for_each(|(next, _)| observing.see(Event::Timing(entries[*next].case(), round)));
        });
        queue.retain(|i| !done.contains(i));
        self.after(seat, result, any, listed.pop_front().map(|(i, _)| i), entries);
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
        let result = self.carry_out(seat, order, &mut |_, answer| {
            if let Answer::RoundEnded(result) = answer {
                ended = Some(result);
            }
        });
        if let Err(loss) = result {
            return self.lose(seat, Work::Measuring, &loss, None);
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
        self.session.last_round = Some(Instant::now());
    }

    /// Decides which entries leave, and checks the results of those that do.
    fn judge(&mut self, entries: &mut [Entry]) {
        let Options { max_noise, max_time, .. } = self.session.options;
        let mut leaving = Vec::new();
        for (i, entry) in entries.iter_mut().enumerate().filter(|(_, entry)| entry.is_due()) {
            entry.noise.push(entry.noise_now());
            let round = u32::try_from(entry.visits.len()).unwrap_or(u32::MAX);
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
        // Checking takes milliseconds, and without it nothing measured may stand.
        self.goes_on = true;
        self.check(entries, &leaving);
        self.goes_on = false;
    }

    /// Compares what these entries leave behind, on every bench that timed them, and ends them.
    fn check(&mut self, entries: &mut [Entry], leaving: &[(usize, Stop)]) {
        for seat in 0..self.session.crew.len() {
            loop {
                let is_open = |entry: &Entry| entry.is_active() && entry.timed[seat] && !entry.checked[seat];
                let open: Vec<usize> = leaving.iter().map(|(i, _)| *i).filter(|&i| is_open(&entries[i])).collect();
                if open.is_empty() || !self.goes_on {
                    break;
                }
                // One that was lost since it timed them is replaced: the same pipeline has to give the right result again.
                self.load(seat, entries);
                let open: Vec<usize> = open.into_iter().filter(|&i| is_open(&entries[i])).collect();
                self.check_at(seat, entries, open);
            }
        }
        for (i, stop) in leaving {
            if entries[*i].is_active() && entries[*i].is_checked() {
                entries[*i].ended = Some(Ok(*stop));
                let _ = self.observe(Event::Ended(entries[*i].case()));
            }
        }
    }

    fn check_at(&mut self, seat: usize, entries: &mut [Entry], open: Vec<usize>) {
        let listed = open.into_iter().filter_map(|i| Some((i, entries[i].places[seat]?)));
        let mut listed: VecDeque<(usize, usize)> = listed.collect();
        let places = listed.iter().map(|(_, place)| *place).collect();
        let mut any = false;
        // Not to be broken off: a second one that asks ends everything.
        let result = self.session.crew.carry_out(seat, Order::Check { places }, &mut |answer| {
            if let (Answer::Checked(checked), Some((i, _))) = (answer, listed.pop_front()) {
                entries[i].checked[seat] = true;
                match checked {
                    Ok(()) => any = true,
                    Err(failure) => entries[i].fail(failure),
                }
            }
            ControlFlow::Continue(())
        });
        self.after(seat, result, any, listed.pop_front().map(|(i, _)| i), entries);
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

/// Passes events on while an order is under way.
pub(super) struct Observing<'s, 'o> {
    observe: &'s mut Observer<'o>,
    goes_on: bool,
}

impl Observing<'_, '_> {
    /// Tells what happens, and hears whether to go on.
    pub(super) fn see(&mut self, event: Event) {
        self.goes_on &= (self.observe)(event).is_continue();
    }
}

/// What becomes of cases that were never tried.
pub(super) fn not_run(failure: &Failure) -> Failure {
    Failure::new(Status::Error, format!("not run: {}: {}", failure.status, failure.reason))
}

/// Whether a case launches anything: only then does an empty launch say something about it.
fn dispatches(case: &Case) -> bool {
    !case.kernels.is_empty()
}
