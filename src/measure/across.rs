//! Pairs of which each side has a device of its own: the session alternates their samples.

use std::ops::ControlFlow;
use std::time::Duration;

use super::bench::{Answer, Call, Job, Loss, Order, Visited};
use super::block::Block;
use super::block_case::BlockCase;
use super::flags;
use super::local::REPEATS;
use super::pair::{is_base_first, joined, pairs};
use super::pool::Pool;
use super::rig::Conditions;
use super::session::Event;
use super::visit::{Sizes, Visit, finish};
use crate::model::{Failure, Stage, Status};

/// Both devices work by turns while a round lasts, so that both have their clocks up in the next one.
const TURN: Duration = Duration::from_millis(1);

enum Trouble {
    Failed(Failure),
    Lost(Loss),
}

enum PairTrouble {
    Own(Trouble),
    PairBase(Trouble),
}

impl Block<'_, '_, '_> {
    /// Loads the bases of pairs at a slot of their own pool, where they aren't yet. One that can't be loaded leaves its case alone;
    /// what doesn't fit beside the others waits for another block with its case.
    pub(super) fn load_bases(&mut self, slot: usize, entries: &mut [BlockCase]) {
        loop {
            let is_first = slot == 0 && entries.iter().all(|entry| entry.visits.is_empty());
            let share = is_first.then(|| self.session.share());
            let Some(pool) = &mut self.session.base_pool else { return };
            // One that died meanwhile is found out.
            pool.is_there(slot);
            let lacks =
                |entry: &BlockCase| entry.is_active() && entry.is_paired_across() && entry.base_place(pool, slot).is_none();
            let wanted: Vec<usize> = (0..entries.len()).filter(|&i| lacks(&entries[i])).collect();
            let jobs: Vec<Job> = wanted.iter().filter_map(|&i| entries[i].base_job()).collect();
            if jobs.is_empty() || !self.observing.goes_on {
                return;
            }
            if let Err(failure) = pool.bench(slot) {
                return wanted.iter().for_each(|&i| entries[i].part_from_base(failure.clone().before_any_case()));
            }
            let (mut done, mut is_ready, mut unready) = (0, false, None);
            let process = pool.process(slot);
            let observing = &mut self.observing;
            let result = pool.carry_out(slot, Order::Load { jobs, share, is_ahead: false }, &mut |answer| {
                match answer {
                    Answer::Ready(Ok(())) => is_ready = true,
                    Answer::Ready(Err(failure)) => unready = Some(failure),
                    Answer::Loaded(loading) if done < wanted.len() => {
                        let entry = &mut entries[wanted[done]];
                        match loading.result {
                            Ok(_) => entry.base_loaded(slot, process, loading.place),
                            Err(failure) => entry.part_from_base(failure),
                        }
                        done += 1;
                        wanted.get(done).into_iter().for_each(|&next| observing.see(Event::Working(entries[next].case())));
                    }
                    _ => {}
                }
                observing.flow()
            });
            if done > 0 {
                pool.succeeded(Stage::Loading);
            }
            let rest = &wanted[done..];
            match (result, unready) {
                (Err(loss), _) => {
                    pool.lose(slot, Stage::Loading, &loss);
                    rest.first().filter(|_| is_ready).into_iter().for_each(|&i| entries[i].part_from_base(loss.0.clone()));
                }
                (Ok(()), Some(failure)) => return rest.iter().for_each(|&i| entries[i].part_from_base(failure.clone())),
                (Ok(()), None) if done == 0 && self.observing.goes_on => {
                    let failure = Failure::new(Status::OutOfMemory, "its base doesn't fit, though no other is loaded");
                    rest.first().into_iter().for_each(|&i| entries[i].part_from_base(failure.clone()));
                }
                (Ok(()), None) => {
                    if self.observing.goes_on {
                        rest.iter().for_each(|&i| entries[i].is_deferred = true);
                    }
                    return;
                }
            }
        }
    }

    /// Chooses the sizes of bases on the first bench of their pool.
    pub(super) fn size_bases(&mut self, entries: &mut [BlockCase]) {
        let left = self.session.options.max_time;
        for i in 0..entries.len() {
            self.load_bases(0, entries);
            if !self.observing.goes_on {
                return;
            }
            let entry = &mut entries[i];
            self.observing.see(Event::Working(entry.case()));
            let Some(pool) = &mut self.session.base_pool else { return };
            let (Some(place), Some((own, None)), true) = (entry.base_place(pool, 0), entry.sizes, entry.is_active()) else {
                continue;
            };
            let expected = left + entry.longest_sizing();
            let call = Call { place, left, expected, is_alone: true, most_samples: None, is_glance: false };
            let sized = |answer| if let Answer::Sized(result) = answer { Some(result) } else { None };
            match ask(pool, 0, Order::Size { calls: vec![call], is_race: false }, sized) {
                Ok((base, _)) => {
                    entry.sizes = Some((own, Some(base)));
                    pool.succeeded(Stage::Sizing);
                }
                Err(trouble) => part(pool, 0, entry, &trouble),
            }
        }
    }

    /// One visit to a case and its base, and again where either device was disturbed, as long as its time allows.
    pub(super) fn visit_across(&mut self, slot: usize, index: usize, entries: &mut [BlockCase]) {
        let entry = &mut entries[index];
        let (process, sentinel) = (self.session.pool.process(slot), self.session.pool.instrument().sentinel);
        let left = self.session.options.max_time.saturating_sub(entry.spent());
        match self.try_across(slot, entry, left) {
            Ok(visited) => {
                entry.announce((process, sentinel), &visited, &mut self.observing);
                visited.conditions.core.into_iter().for_each(|core| self.session.pool.core_clock.learn_from(core));
                entry.visited(slot, (process, self.session.rounds), visited);
                let pools = [Some(&mut self.session.pool), self.session.base_pool.as_mut()];
                pools.into_iter().flatten().for_each(|pool| pool.succeeded(Stage::Timing));
            }
            Err(PairTrouble::Own(Trouble::Failed(failure))) => self.fail(entry, failure.at(Stage::Timing)),
            Err(PairTrouble::Own(Trouble::Lost(loss))) => self.lose(slot, Stage::Timing, &loss, Some(index), entries),
            Err(PairTrouble::PairBase(trouble)) => {
                self.session.base_pool.iter_mut().for_each(|pool| part(pool, slot, entry, &trouble));
            }
        }
    }

    fn try_across(&mut self, slot: usize, entry: &BlockCase, left: Duration) -> Result<Visited, PairTrouble> {
        let mut spent = Duration::ZERO;
        let (mut repeats, mut recovers) = (0, false);
        loop {
            let (visit, conditions, base_conditions, took) = self.visit_across_once(slot, entry, recovers)?;
            spent += took;
            let is_steady = flags::is_steady(&conditions) && flags::is_steady(&base_conditions);
            if is_steady || repeats == REPEATS || spent + took >= left {
                return Ok(Visited { visit, conditions, spent });
            }
            recovers = flags::is_slowed(&conditions) || flags::is_slowed(&base_conditions);
            repeats += 1;
        }
    }

    fn visit_across_once(&mut self, slot: usize, entry: &BlockCase, recovers: bool) -> Result<Across, PairTrouble> {
        let session = &mut *self.session;
        let floors = [&session.pool, session.base_pool.as_ref().unwrap_or(&session.pool)].map(|pool| pool.instrument().floor);
        let pool = &mut session.pool;
        let base_place = session.base_pool.as_ref().and_then(|base_pool| entry.base_place(base_pool, slot));
        let (Some(base_pool), Some(place), Some(base_place), Some((sizes, Some(base_sizes)))) =
            (&mut session.base_pool, entry.place(pool, slot), base_place, entry.sizes)
        else {
            let failure = Failure::new(Status::Error, "the pair isn't loaded");
            return Err(PairTrouble::PairBase(Trouble::Failed(failure)));
        };
        let begun = |answer| if let Answer::Begun(result) = answer { Some(result) } else { None };
        ask(base_pool, slot, Order::Begin { recovers }, begun).map_err(PairTrouble::PairBase)?;
        ask(pool, slot, Order::Begin { recovers }, begun).map_err(PairTrouble::Own)?;
        let (mut own, mut base) = (Visit::default(), Visit::default());
        for i in 0..=pairs(sizes, base_sizes) {
            for is_base in [is_base_first(i), !is_base_first(i)] {
                if is_base {
                    add(&mut base, sample(base_pool, slot, base_place, base_sizes).map_err(PairTrouble::PairBase)?);
                } else {
                    add(&mut own, sample(pool, slot, place, sizes).map_err(PairTrouble::Own)?);
                }
            }
        }
        let ended = |answer| if let Answer::Ended(result) = answer { Some(result) } else { None };
        let (base_conditions, _) = ask(base_pool, slot, Order::End, ended).map_err(PairTrouble::PairBase)?;
        let (conditions, took) = ask(pool, slot, Order::End, ended).map_err(PairTrouble::Own)?;
        finish(&mut own, sizes, floors[0]);
        finish(&mut base, base_sizes, floors[1]);
        Ok((joined(own, base, Some(base_conditions)), conditions, base_conditions, took))
    }

    pub(super) fn keep_both_busy(&mut self, slot: usize, time: Duration) {
        let session = &mut *self.session;
        let Some(base_pool) = &mut session.base_pool else { return };
        let ready = |answer| if let Answer::Ready(result) = answer { Some(result) } else { None };
        let turns = time.as_nanos().div_ceil(2 * TURN.as_nanos());
        for _ in 0..turns {
            for pool in [&mut session.pool, base_pool] {
                if !pool.is_there(slot) {
                    return;
                }
                match ask(pool, slot, Order::Work { time: TURN }, ready) {
                    Ok(()) => {}
                    Err(Trouble::Lost(loss)) => return pool.lose(slot, Stage::Timing, &loss),
                    // What is wrong will show in the next visit, and in its row.
                    Err(Trouble::Failed(_)) => return,
                }
            }
        }
    }
}

type Across = (Visit, Conditions, Conditions, Duration);

/// The base of a pair failed, though the case didn't.
fn part(pool: &mut Pool, slot: usize, entry: &mut BlockCase, trouble: &Trouble) {
    match trouble {
        Trouble::Failed(failure) => entry.part_from_base(failure.clone()),
        Trouble::Lost(loss) => {
            pool.lose(slot, Stage::Timing, loss);
            entry.part_from_base(loss.0.clone());
        }
    }
}

fn sample(pool: &mut Pool, slot: usize, place: usize, sizes: Sizes) -> Result<Visit, Trouble> {
    let order = Order::Sample { place, expected: sizes.sample_time };
    ask(pool, slot, order, |answer| if let Answer::Sampled(result) = answer { Some(result) } else { None })
}

fn add(visit: &mut Visit, sample: Visit) {
    visit.samples.extend(sample.samples);
    visit.shorts.extend(sample.shorts);
    visit.host_times.extend(sample.host_times);
    visit.implausible = visit.implausible.take().or(sample.implausible);
}

fn ask<T>(
    pool: &mut Pool,
    slot: usize,
    order: Order,
    take: impl Fn(Answer) -> Option<Result<T, Failure>>,
) -> Result<T, Trouble> {
    let mut taken = None;
    let result = pool.carry_out(slot, order, &mut |answer| {
        taken = take(answer).or(taken.take());
        ControlFlow::Continue(())
    });
    match (result, taken) {
        (Err(loss), _) => Err(Trouble::Lost(loss)),
        (Ok(()), Some(Ok(value))) => Ok(value),
        (Ok(()), Some(Err(failure))) => Err(Trouble::Failed(failure)),
        (Ok(()), None) => Err(Trouble::Failed(Failure::new(Status::Error, "the bench didn't answer"))),
    }
}
