//! A block of cases from loading to outcome.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::mem;
use std::ops::ControlFlow;
use std::time::Instant;

use rand::seq::SliceRandom;

use super::bench::{Answer, Call, CaseKey, Job, Loss, Order};
use super::block_case::BlockCase;
use super::pool::Pool;
use super::race::open_comparisons;
use super::racing::MostSamples;
use super::rig::IDLE;
use super::session::{Event, Observer, Options, Outcome, PairBase, Rule, Session, Task};
use super::stop::{self, LAST_HELD, LEAST_HELD, Progress};
use crate::model::{Case, Failure, Stage, Status, Stop};
use crate::stats::{self, Timed};
use crate::units::Nanos;

/// Of each batch size, the medians of an empty pass in the rounds so far.
type EmptyPasses = HashMap<u32, Vec<f64>>;

pub(super) struct Block<'s, 'a, 'o> {
    pub(super) session: &'s mut Session<'a>,
    pub(super) observing: Observing<'s, 'o>,
    /// The case at which a process crashed that had had others as well, by its place: nobody is to blame yet, and the block is over.
    pub(super) suspect: Option<usize>,
}

/// Tells what happens, and knows whether to go on.
pub(super) struct Observing<'s, 'o> {
    pub(super) observe: &'s mut Observer<'o>,
    pub(super) goes_on: bool,
}

impl Observing<'_, '_> {
    pub(super) fn see(&mut self, event: Event) {
        self.goes_on &= (self.observe)(event).is_continue();
    }

    pub(super) fn see_end(&mut self, entry: &mut BlockCase) {
        if !mem::replace(&mut entry.is_told, true) {
            self.see(Event::Ended);
        }
    }

    /// Whether the items of an order that are left are still wanted.
    pub(super) fn flow(&self) -> ControlFlow<()> {
        if self.goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

impl Block<'_, '_, '_> {
    /// Measures as many of the cases as memory holds at one time, at least one unless nothing can go on. `None` for the others.
    pub(super) fn measure(&mut self, tasks: &[&Task]) -> Vec<Option<Outcome>> {
        let slots = self.session.pool.len();
        let earlier = |task: &Task| self.session.earlier.get(&task.key).cloned();
        let mut entries: Vec<BlockCase> = tasks.iter().map(|task| BlockCase::new(task, slots, earlier(task))).collect();
        if let Some(failure) = &self.session.base_failure {
            entries.iter_mut().filter(|entry| entry.is_paired_across()).for_each(|entry| entry.part_from_base(failure.clone()));
        }
        self.load(0, &mut entries);
        self.load_bases(0, &mut entries);
        self.size(&mut entries);
        self.anticipate();
        self.time(&mut entries);
        self.unload();
        entries.into_iter().map(|entry| self.outcome(entry)).collect()
    }

    /// Has what comes next compiled while this block is timed.
    fn anticipate(&mut self) {
        let keys = mem::take(&mut self.session.anticipated);
        if keys.is_empty() || self.session.is_careful || !self.session.pool.compiles_ahead(0) || !self.observing.goes_on {
            return;
        }
        let order = Order::Anticipate { keys };
        if let Err(loss) = self.session.pool.carry_out(0, order, &mut |_| ControlFlow::Continue(())) {
            self.lose(0, Stage::Loading, &loss, None, &mut []);
        }
    }

    fn outcome(&self, mut entry: BlockCase) -> Option<Outcome> {
        let shader = entry.shader.take();
        let result = match entry.ended.take()? {
            Ok(stop) => self.session.measured(entry, stop),
            Err(failure) => Err(failure),
        };
        Some(Outcome { shader, result })
    }

    pub(super) fn fail(&mut self, entry: &mut BlockCase, failure: Failure) {
        entry.fail(failure);
        self.observing.see_end(entry);
    }

    /// Loads what is active at a slot, where it isn't yet. What doesn't fit beside the others waits for another block.
    pub(super) fn load(&mut self, slot: usize, entries: &mut [BlockCase]) {
        loop {
            // One that died meanwhile is found out.
            self.session.pool.is_there(slot);
            let lacks = |entry: &BlockCase| entry.is_active() && entry.place(&self.session.pool, slot).is_none();
            let mut wanted: Vec<usize> = (0..entries.len()).filter(|&i| lacks(&entries[i])).collect();
            if let Some(&i) = wanted.iter().find(|&&i| entries[i].suspected_at == Some(Stage::Loading)) {
                wanted = vec![i];
            }
            if wanted.is_empty() || !self.observing.goes_on {
                return;
            }
            if wanted.iter().any(|&i| entries[i].case().is_alone) {
                self.empty_others(slot, entries);
            }
            if let Err(failure) = self.session.pool.bench(slot) {
                return wanted.iter().for_each(|&i| self.fail(&mut entries[i], failure.clone().before_any_case()));
            }
            match self.load_those(slot, entries, &wanted) {
                Ok(done) if done < wanted.len() => self.defer(entries, &wanted[done..], slot),
                Ok(_) => {}
                Err(failure) => {
                    let failure = failure.at(Stage::Loading);
                    return wanted.iter().for_each(|&i| self.fail(&mut entries[i], failure.clone()));
                }
            }
        }
    }

    /// Frees what the other benches hold: processes take turns at a device's memory where a case needs it all.
    fn empty_others(&mut self, slot: usize, entries: &mut [BlockCase]) {
        for other in (0..self.session.pool.len()).filter(|other| *other != slot) {
            if entries.iter().any(|entry| entry.place(&self.session.pool, other).is_some()) {
                unload_at(&mut self.session.pool, other);
                entries.iter_mut().for_each(|entry| entry.unloaded(other));
            }
        }
    }

    /// Those that don't fit wait for another block, unless nothing else was loaded: then they never will.
    fn defer(&mut self, entries: &mut [BlockCase], those: &[usize], slot: usize) {
        if !self.observing.goes_on {
            return;
        }
        let pool = &self.session.pool;
        let is_alone = !entries.iter().any(|entry| entry.is_active() && entry.place(pool, slot).is_some());
        for (i, &place) in those.iter().enumerate() {
            if is_alone && i == 0 && entries.iter().all(|entry| entry.ended.is_none()) {
                self.fail(
                    &mut entries[place],
                    Failure::new(Status::OutOfMemory, "it doesn't fit, though nothing else is loaded").at(Stage::Loading),
                );
            } else {
                entries[place].is_deferred = true;
            }
        }
    }

    /// Loads these, and tells how many were answered; a bench that is lost takes the one under way with it.
    fn load_those(&mut self, slot: usize, entries: &mut [BlockCase], wanted: &[usize]) -> Result<usize, Failure> {
        let jobs: Vec<Job> = wanted.iter().map(|&i| entries[i].job()).collect();
        let is_first = slot == 0 && entries.iter().all(|entry| entry.visits.is_empty());
        let share = is_first.then(|| self.session.share());
        let begins = |case| if is_first { Event::Loading(case) } else { Event::Working(case) };
        let (mut done, mut is_ready, mut unready) = (0, false, None);
        let order = Order::Load { jobs, share, is_ahead: !self.session.is_careful };
        self.observing.see(begins(entries[wanted[0]].case()));
        let process = self.session.pool.process(slot);
        let observing = &mut self.observing;
        let result = self.session.pool.carry_out(slot, order, &mut |answer| {
            match answer {
                Answer::Ready(Ok(())) => is_ready = true,
                Answer::Ready(Err(failure)) => unready = Some(failure),
                Answer::Loaded(loading) if done < wanted.len() => {
                    let entry = &mut entries[wanted[done]];
                    entry.loaded(slot, process, *loading);
                    done += 1;
                    if entry.ended.is_some() {
                        observing.see_end(entry);
                    }
                    wanted.get(done).into_iter().for_each(|&next| observing.see(begins(entries[next].case())));
                }
                _ => {}
            }
            observing.flow()
        });
        (0..done).for_each(|_| self.session.pool.welcome(slot));
        if done > 0 {
            self.session.pool.succeeded(Stage::Loading);
            self.blame_bases(entries);
        }
        match (result, unready) {
            (Err(loss), _) => {
                let at = wanted.get(done).filter(|_| is_ready).copied();
                self.lose(slot, Stage::Loading, &loss, at, entries);
                Ok(wanted.len())
            }
            (Ok(()), Some(failure)) => Err(failure),
            (Ok(()), None) => Ok(done),
        }
    }

    /// Chooses the sizes of all entries, on the first bench.
    fn size(&mut self, entries: &mut [BlockCase]) {
        let Options { max_time: left, rule, .. } = self.session.options;
        let is_race = matches!(rule, Rule::Race | Rule::Glance);
        loop {
            self.load(0, entries);
            let pool = &self.session.pool;
            let call = |entry: &BlockCase| {
                let expected = left + entry.longest_sizing();
                let is_alone = entry.base_here().is_none();
                let is_glance = rule == Rule::Glance;
                Some(Call { place: entry.place(pool, 0)?, left, expected, is_alone, most_samples: None, is_glance })
            };
            let lacks = |entry: &BlockCase| entry.is_active() && entry.sizes.is_none();
            let mut listed: VecDeque<(usize, Call)> =
                (0..entries.len()).filter(|&i| lacks(&entries[i])).filter_map(|i| Some((i, call(&entries[i])?))).collect();
            if let Some(&suspected_at) = listed.iter().find(|(i, _)| entries[*i].suspected_at.is_some()) {
                listed = VecDeque::from([suspected_at]);
            }
            if listed.is_empty() || !self.observing.goes_on {
                break;
            }
            let calls = listed.iter().map(|(_, call)| *call).collect();
            let mut any = false;
            let observing = &mut self.observing;
            let result = self.session.pool.carry_out(0, Order::Size { calls, is_race }, &mut |answer| {
                let (Answer::Sized(sized), Some((i, _))) = (answer, listed.pop_front()) else { return observing.flow() };
                match sized {
                    Ok(sizes) => (entries[i].sizes, any) = (Some(sizes), true),
                    Err(failure) => {
                        entries[i].fail(failure.at(Stage::Sizing));
                        observing.see_end(&mut entries[i]);
                    }
                }
                listed.front().into_iter().for_each(|(next, _)| observing.see(Event::Working(entries[*next].case())));
                observing.flow()
            });
            let at = listed.pop_front().map(|(i, _)| i);
            self.after(0, Stage::Sizing, result, any, at, entries);
        }
        self.size_bases(entries);
    }

    /// What became of an order: whether any item succeeded, and which one was under way if the bench was lost.
    fn after(
        &mut self,
        slot: usize,
        stage: Stage,
        result: Result<(), Loss>,
        any: bool,
        at: Option<usize>,
        entries: &mut [BlockCase],
    ) {
        if any {
            self.session.pool.succeeded(stage);
            self.blame_bases(entries);
        }
        match (result, at) {
            (Err(loss), at) => self.lose(slot, stage, &loss, at, entries),
            // Checks are never broken off.
            (Ok(()), Some(i)) if self.observing.goes_on || stage == Stage::Checking => {
                self.fail(&mut entries[i], Failure::new(Status::Error, "its worker process didn't answer"));
            }
            (Ok(()), _) => {}
        }
    }

    /// A bench was lost; with it this entry, if it was at one. An entry is to blame for a crash only where its process has had no
    /// other: what corrupts a driver's memory may show much later. Else the block is over, and the session tries it alone. Nor is it
    /// to blame where others were compiled meanwhile: what the next bench is lost at, which compiles them one by one, is. One that was
    /// paired is first tried without its base, which may be to blame, unless the results of the case itself were being checked.
    pub(super) fn lose(&mut self, slot: usize, at: Stage, loss: &Loss, index: Option<usize>, entries: &mut [BlockCase]) {
        let is_crash = loss.0.status == Status::Crashed;
        let may_be_another = is_crash && self.session.pool.compiles_ahead(slot) && !self.session.is_careful;
        let has_had_others = self.session.pool.has_had_others(slot, at);
        if may_be_another {
            self.session.pool.lose(slot, at, loss);
            self.session.is_careful = true;
            return;
        }
        if index.is_some() && is_crash && has_had_others {
            self.session.pool.lose_unexplained(slot);
            self.suspect = index;
            index.into_iter().for_each(|i| self.observing.see(Event::Suspected(entries[i].case(), &loss.0)));
            return entries.iter_mut().filter(|entry| entry.is_active()).for_each(|entry| entry.is_deferred = true);
        }
        self.session.pool.lose(slot, at, loss);
        match index.map(|i| &mut entries[i]) {
            Some(entry) if entry.base_here().is_some() && entry.suspected_at.is_none() && at != Stage::Checking => {
                entry.suspected_at = Some(at);
                entry.part_from_base(loss.0.clone());
            }
            Some(entry) => self.fail(entry, loss.0.clone().at(at)),
            None => {}
        }
    }

    /// A case that took its process down together with its base, and does well alone: it was the base, which others then do without.
    fn blame_bases(&self, entries: &mut [BlockCase]) {
        let cleared: Vec<(CaseKey, Failure)> = entries
            .iter_mut()
            .filter(|entry| entry.is_cleared(&self.session.pool))
            .filter_map(|entry| {
                entry.suspected_at = None;
                match &entry.task.base {
                    Some(PairBase::Here(key)) => Some((key.clone(), entry.unpaired.clone()?)),
                    _ => None,
                }
            })
            .collect();
        for (base, failure) in cleared {
            let with_it = entries.iter_mut().filter(|entry| entry.is_active() && entry.base_here() == Some(&base));
            with_it.for_each(|entry| entry.part_from_base(failure.clone()));
        }
    }

    /// Times all entries in rounds until each has ended. Rounds are dealt over the benches. What lost its pair begins anew.
    fn time(&mut self, entries: &mut [BlockCase]) {
        let mut empty_passes = EmptyPasses::default();
        for round in 1..=2 * LAST_HELD {
            if entries.iter().any(BlockCase::is_active) {
                self.observing.see(Event::Round(round));
                self.session.rounds += 1;
            }
            let slot = (round as usize - 1) % self.session.pool.len();
            self.load(slot, entries);
            self.load_bases(slot, entries);
            if Self::revive(entries) {
                self.load(slot, entries);
            }
            let mut order: Vec<usize> = (0..entries.len()).filter(|&i| entries[i].is_active()).collect();
            if order.is_empty() || !self.observing.goes_on {
                break;
            }
            order.shuffle(&mut self.session.rng);
            self.begin_round(slot);
            self.visit_all(slot, round, order, entries);
            self.end_round(slot, entries, &mut empty_passes);
            match self.session.options.rule {
                _ if !self.observing.goes_on => {}
                Rule::Each | Rule::Beside => {}
                Rule::Race => self.race(slot, entries),
                Rule::Glance => self.end_glanced(entries, 1),
            }
            if self.observing.goes_on {
                self.judge(entries);
            }
        }
        if self.observing.goes_on {
            // Or they would wait for another block for ever.
            for entry in entries.iter_mut().filter(|entry| entry.is_active()) {
                let reason = "it had to be begun anew too often, and has too few rounds";
                self.fail(entry, Failure::new(Status::Error, reason));
            }
        } else {
            self.end_early(entries);
        }
        for entry in entries.iter_mut().filter(|entry| dispatches(entry.case())) {
            entry.overhead = empty_passes.get(&entry.batch()).map(|medians| Nanos(stats::median(medians)));
        }
    }

    /// Tells both devices that a round begins. A bench that is lost here shows that at its first visit.
    fn begin_round(&mut self, slot: usize) {
        let is_busy = self.session.last_round.is_some_and(|ended| ended.elapsed() < IDLE);
        for pool in [Some(&mut self.session.pool), self.session.base_pool.as_mut()].into_iter().flatten() {
            if pool.is_there(slot) {
                let order = Order::BeginRound { is_busy };
                if let Err(loss) = pool.carry_out(slot, order, &mut |_| ControlFlow::Continue(())) {
                    pool.lose(slot, Stage::Timing, &loss);
                }
            }
        }
    }

    /// Visits the entries in this order; pairs across devices one by one, since the session itself alternates their samples.
    fn visit_all(&mut self, slot: usize, round: u32, order: Vec<usize>, entries: &mut [BlockCase]) {
        let mut queue = VecDeque::from(order);
        while self.observing.goes_on {
            // A bench that was lost is replaced, and has to load everything.
            self.load(slot, entries);
            self.load_bases(slot, entries);
            queue.retain(|&i| entries[i].is_active() && entries[i].place(&self.session.pool, slot).is_some());
            let Some(&first) = queue.front() else { break };
            if !self.observing.goes_on {
                break;
            }
            if entries[first].is_paired_across() {
                queue.pop_front();
                self.observing.see(Event::Timing(entries[first].case(), round));
                self.visit_across(slot, first, entries);
            } else {
                self.visit_next(slot, round, &mut queue, entries);
            }
        }
    }

    /// Visits the next entries up to one whose base is on another device. One on trial is visited first, and alone.
    fn visit_next(&mut self, slot: usize, round: u32, queue: &mut VecDeque<usize>, entries: &mut [BlockCase]) {
        let Options { max_time, rule, .. } = self.session.options;
        let max_time = if rule == Rule::Beside { max_time.max(LEAST_HELD) } else { max_time };
        let most = MostSamples::new(rule, entries);
        let pool = &self.session.pool;
        let call = |entry: &BlockCase| {
            let (left, expected) = (max_time.saturating_sub(entry.spent()), max_time + entry.longest_visit());
            let most_samples = most.of(entry);
            let (is_alone, is_glance) = (entry.base_here().is_none(), rule == Rule::Glance);
            Some(Call { place: entry.place(pool, slot)?, left, expected, is_alone, most_samples, is_glance })
        };
        let plain = queue.iter().take_while(|&&i| !entries[i].is_paired_across());
        let mut listed: VecDeque<(usize, Call)> = plain.filter_map(|&i| Some((i, call(&entries[i])?))).collect();
        if let Some(&suspected_at) = listed.iter().find(|(i, _)| entries[*i].suspected_at.is_some()) {
            listed = VecDeque::from([suspected_at]);
        }
        let calls = listed.iter().map(|(_, call)| *call).collect();
        let (process, sentinel) = (self.session.pool.process(slot), self.session.pool.instrument().sentinel);
        let (mut any, number) = (false, self.session.rounds);
        if let Some((first, _)) = listed.front() {
            self.observing.see(Event::Timing(entries[*first].case(), round));
        }
        let (mut done, mut read) = (Vec::new(), Vec::new());
        let observing = &mut self.observing;
        let result = self.session.pool.carry_out(slot, Order::Visit { calls }, &mut |answer| {
            let (Answer::Visited(visited), Some((i, _))) = (answer, listed.pop_front()) else { return observing.flow() };
            done.push(i);
            match visited {
                Ok(visited) => {
                    any = true;
                    entries[i].announce((process, sentinel), &visited, observing);
                    read.extend(visited.conditions.core);
                    entries[i].visited(slot, (process, number), visited);
                }
                Err(failure) => {
                    entries[i].fail(failure.at(Stage::Timing));
                    observing.see_end(&mut entries[i]);
                }
            }
            listed.front().into_iter().for_each(|(next, _)| observing.see(Event::Timing(entries[*next].case(), round)));
            observing.flow()
        });
        queue.retain(|i| !done.contains(i));
        read.into_iter().for_each(|core| self.session.pool.core_clock.learn_from(core));
        self.after(slot, Stage::Timing, result, any, listed.pop_front().map(|(i, _)| i), entries);
    }

    /// Measures empty passes, and lets the round last. A bench that is lost here takes no case with it; one that fails otherwise
    /// takes all: their figures would stand without what they are judged by.
    fn end_round(&mut self, slot: usize, entries: &mut [BlockCase], empty_passes: &mut EmptyPasses) {
        if !self.session.pool.is_there(slot) || !self.observing.goes_on {
            return;
        }
        let active = entries.iter().filter(|entry| entry.is_active() && dispatches(entry.case()));
        let batches: Vec<u32> = active.map(BlockCase::batch).collect::<BTreeSet<u32>>().into_iter().collect();
        let is_across = entries.iter().any(|entry| entry.is_active() && entry.is_paired_across());
        // The only round of a glance has none after it to differ from.
        let stays_busy = !is_across && self.session.options.rule != Rule::Glance;
        let order = Order::EndRound { batches: batches.clone(), stays_busy };
        let mut ended = None;
        let result = self.session.pool.carry_out(slot, order, &mut |answer| {
            if let Answer::RoundEnded(result) = answer {
                ended = Some(result);
            }
            ControlFlow::Continue(())
        });
        if let Err(loss) = result {
            return self.lose(slot, Stage::Timing, &loss, None, entries);
        }
        match ended {
            Some(Ok((medians, left))) => {
                for (batch, median) in batches.into_iter().zip(medians) {
                    empty_passes.entry(batch).or_default().push(median);
                }
                if is_across {
                    self.keep_both_busy(slot, left);
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
    fn judge(&mut self, entries: &mut [BlockCase]) {
        let Options { max_noise, max_time, rule, .. } = self.session.options;
        let held = if rule == Rule::Beside { held(entries) } else { BTreeSet::new() };
        let mut leaving = Vec::new();
        for (i, entry) in entries.iter_mut().enumerate().filter(|(_, entry)| entry.is_due()) {
            entry.noise.push(entry.noise_now());
            let round = u32::try_from(entry.visits.len()).unwrap_or(u32::MAX);
            let (spent, is_held) = (entry.spent(), held.contains(&i));
            let progress = Progress { round, noise: &entry.noise, max_noise, is_held, spent, max_time };
            leaving.extend(stop::judge(&progress).map(|stop| (i, stop)));
        }
        self.check(entries, &leaving);
    }

    /// What has as many rounds as an interval needs, or as few as are kept, leaves with what it has, once that is checked.
    fn end_early(&mut self, entries: &mut [BlockCase]) {
        if self.session.options.rule == Rule::Glance {
            self.end_glanced(entries, 1);
        }
        let stop = |entry: &BlockCase| if entry.has_enough() { Stop::Budget } else { Stop::BrokenOff };
        let leaving: Vec<_> = (0..entries.len()).filter(|&i| entries[i].is_active()).map(|i| (i, stop(&entries[i]))).collect();
        self.check(entries, &leaving);
    }

    fn may_leave(&self, entry: &BlockCase) -> bool {
        entry.has_enough() || (self.session.keeps_few && !self.observing.goes_on && !entry.visits.is_empty())
    }

    /// Compares what these entries leave behind, on every bench that timed them, and ends them. One that lost its base meanwhile, or
    /// its bench when there is no time for another one, stays.
    fn check(&mut self, entries: &mut [BlockCase], leaving: &[(usize, Stop)]) {
        for slot in 0..self.session.pool.len() {
            let is_open = |block: &Self, entry: &BlockCase| {
                entry.is_active() && block.may_leave(entry) && entry.timed[slot] && !entry.checked[slot]
            };
            while leaving.iter().any(|(i, _)| is_open(self, &entries[*i])) {
                // One that was lost since it timed them is replaced: the same pipeline has to give the right result again.
                self.load(slot, entries);
                let open = leaving.iter().map(|(i, _)| *i).filter(|&i| is_open(self, &entries[i]));
                let pool = &self.session.pool;
                let open: VecDeque<(usize, usize)> = open.filter_map(|i| Some((i, entries[i].place(pool, slot)?))).collect();
                if open.is_empty() {
                    break;
                }
                self.check_at(slot, entries, open);
            }
        }
        for (i, stop) in leaving {
            let may_leave = self.may_leave(&entries[*i]);
            let entry = &mut entries[*i];
            if entry.is_active() && may_leave && entry.is_checked() {
                entry.ended = Some(Ok(*stop));
                self.observing.see_end(entry);
            }
        }
    }

    pub(super) fn check_at(&mut self, slot: usize, entries: &mut [BlockCase], mut listed: VecDeque<(usize, usize)>) {
        let places = listed.iter().map(|(_, place)| *place).collect();
        let mut any = false;
        let observing = &mut self.observing;
        // Not to be broken off: a second one that asks ends everything.
        let result = self.session.pool.carry_out(slot, Order::Check { places }, &mut |answer| {
            if let (Answer::Checked(checked), Some((i, _))) = (answer, listed.pop_front()) {
                entries[i].checked[slot] = true;
                match checked {
                    Ok(compared) => {
                        any = true;
                        entries[i].take_compared(compared);
                    }
                    Err(failure) => {
                        entries[i].fail(failure.at(Stage::Checking));
                        observing.see_end(&mut entries[i]);
                    }
                }
            }
            ControlFlow::Continue(())
        });
        self.after(slot, Stage::Checking, result, any, listed.pop_front().map(|(i, _)| i), entries);
    }

    fn unload(&mut self) {
        let pools = [Some(&mut self.session.pool), self.session.base_pool.as_mut()];
        for pool in pools.into_iter().flatten() {
            (0..pool.len()).for_each(|slot| unload_at(pool, slot));
        }
    }
}

/// Frees all that the bench at a slot holds, if one is there.
fn unload_at(pool: &mut Pool, slot: usize) {
    if !pool.is_there(slot) {
        return;
    }
    if let Err(loss) = pool.carry_out(slot, Order::Unload, &mut |_| ControlFlow::Continue(())) {
        pool.lose(slot, Stage::Loading, &loss);
    }
}

/// The entries that stay until it is known how they compare with the fastest. Where they are disturbed, more rounds tell no more.
fn held(entries: &[BlockCase]) -> BTreeSet<usize> {
    let stands = |entry: &BlockCase| !entry.is_deferred && !matches!(entry.ended, Some(Err(_)));
    let standing: Vec<usize> = (0..entries.len()).filter(|&i| stands(&entries[i])).collect();
    let runners: Vec<(Vec<Timed>, bool)> =
        standing.iter().map(|&i| (entries[i].timed_rounds(), entries[i].is_active() && !entries[i].is_disturbed())).collect();
    open_comparisons(&runners).into_iter().map(|place| standing[place]).collect()
}

/// Whether a case launches anything: only then does an empty launch say something about it.
fn dispatches(case: &Case) -> bool {
    !case.kernels.is_empty()
}
