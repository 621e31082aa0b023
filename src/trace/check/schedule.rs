//! One order in which a workgroup may have run, that keeps what barriers and atomic operations order.
//!
//! Invocations go on, one after the other, until they come to a barrier or read what another one has yet to write. Where nobody can go
//! on, those that wait at barriers meet. Whatever isn't ordered by that is unordered in any other order as well.

use std::collections::{BTreeMap, HashMap};

use super::clocks::{Clocks, EXECUTION, WAYS, Ways};
use super::{Access, Class};
use crate::shader::{AccessKind, AtomicOp, Record, Sync, SyncScope, Traced};

/// What an invocation did, in its order.
pub type Stream<'w> = Vec<Record<'w>>;

/// What happens next.
pub enum Step<'s, 'w> {
    Accesses {
        record: Record<'w>,
        time: u32,
        clocks: &'s Clocks,
    },
    /// Something about barriers.
    Finds {
        class: Class,
        first: Record<'w>,
        second: Record<'w>,
        /// Whether the second ended without coming to a barrier: what is given is what it did last.
        has_ended: bool,
    },
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Whether an atomic operation read what several may have written.
    pub is_ambiguous: bool,
}

/// Whether atomic operations of the shader may order accesses.
pub fn is_ordering(traced: &Traced) -> bool {
    let orders = |sync: &Option<Sync>| sync.is_some_and(|sync| sync.acquires || sync.releases);
    traced.sites.iter().any(|site| {
        site.kind == AccessKind::Fence && orders(&site.sync) || site.kind == AccessKind::Atomic && orders(&site.sync)
    })
}

/// An invocation, and the place among what it did.
type Event = (u32, u32);

/// The word that an atomic operation uses.
type Place = (Option<usize>, u32, u64);

/// What a write hands on to whoever reads it.
#[derive(Clone, Debug)]
struct Released {
    clocks: Clocks,
    scope: SyncScope,
}

struct Invocation<'s, 'w> {
    stream: &'s [Record<'w>],
    at: usize,
    clocks: Clocks,
    /// How often it handed on what it did, from 1.
    time: u32,
    /// What its last fence releases by the atomic operations behind it, and what those before a fence that acquires read.
    fenced: Option<Released>,
    pending: Vec<Released>,
    subgroup: u32,
    has_returned_early: bool,
    /// Up to which of its times its fences release what it did, in each way; and the ways in which they acquire since the last barrier.
    fence_times: [u32; WAYS],
    fence_acquires: Ways,
    /// Whether it read what nobody wrote in the end, as somebody waits for it in turn.
    is_forced: bool,
}

struct Schedule<'s, 'w> {
    traced: &'s Traced,
    invocations: Vec<Invocation<'s, 'w>>,
    is_ordering: bool,
    is_lenient: bool,
    /// Who wrote a value to a word that had another one. Whoever reads that value, and leaves it, hands on what it was handed.
    writers: HashMap<(Place, u32), Vec<Event>>,
    released: HashMap<Event, Released>,
    outcome: Outcome,
    /// Whether invocations waited at different barriers: who ends later says nothing more.
    has_diverged: bool,
}

/// What is known of an invocation besides its records.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub subgroup: u32,
    /// Whether it ended at another return than the last one.
    pub has_returned_early: bool,
}

/// Runs a workgroup's records. `lenient` takes an atomic operation that may have read from several for one that read from all of them,
/// and otherwise for one that read from none.
pub fn run<'s, 'w>(
    traced: &'s Traced,
    streams: &'s [Stream<'w>],
    known: &dyn Fn(u32) -> Known,
    is_lenient: bool,
    take: &mut dyn FnMut(Step<'_, 'w>),
) -> Outcome {
    let numbers = 0..u32::try_from(streams.len()).unwrap_or(u32::MAX);
    let none = Clocks::new(streams.len());
    let invocations = numbers.zip(streams).map(|(number, stream)| (known(number), stream)).map(|(known, stream)| Invocation {
        stream,
        at: 0,
        clocks: none.clone(),
        time: 1,
        fenced: None,
        pending: Vec::new(),
        subgroup: known.subgroup,
        has_returned_early: known.has_returned_early,
        fence_times: [0; WAYS],
        fence_acquires: [false; WAYS],
        is_forced: false,
    });
    let mut schedule = Schedule {
        traced,
        invocations: invocations.collect(),
        is_ordering: is_ordering(traced),
        is_lenient,
        writers: HashMap::new(),
        released: HashMap::new(),
        outcome: Outcome::default(),
        has_diverged: false,
    };
    if schedule.is_ordering {
        schedule.note_writers();
    }
    schedule.run(take);
    schedule.outcome
}

/// What an atomic operation read, and what it left.
fn values(op: AtomicOp, values: &[u32]) -> Option<(u32, Option<u32>)> {
    if op == AtomicOp::Store {
        return Some((0, Some(*values.first()?)));
    }
    // Values of two words each aren't followed.
    let expected = match op {
        AtomicOp::Load | AtomicOp::Increment | AtomicOp::Decrement => 1,
        AtomicOp::CompareExchange => 3,
        _ => 2,
    };
    let (old, rest) = values.split_first().filter(|_| values.len() == expected)?;
    Some((*old, op.written(*old, rest)))
}

fn place(record: &Record) -> Option<Place> {
    Some((record.root, record.element, record.offset?))
}

fn ways(sync: &Sync) -> Ways {
    let mut ways = [false; WAYS];
    ways[EXECUTION] = true;
    ways[super::clocks::SHARED] = sync.shared;
    ways[super::clocks::BUFFERS] = sync.buffers;
    ways
}

impl<'w> Schedule<'_, 'w> {
    fn note_writers(&mut self) {
        for (invocation, of) in (0_u32..).zip(&self.invocations) {
            for (at, record) in (0_u32..).zip(of.stream) {
                let Some(op) = self.traced.sites[record.site].atomic else { continue };
                let (Some(place), Some((old, Some(written)))) = (place(record), values(op, record.values)) else { continue };
                if !op.reads() || old != written {
                    self.writers.entry((place, written)).or_default().push((invocation, at));
                }
            }
        }
    }

    fn run(&mut self, take: &mut dyn FnMut(Step<'_, 'w>)) {
        loop {
            let mut has_moved = false;
            for number in 0..self.invocations.len() {
                while self.advance(number, take) {
                    has_moved = true;
                }
            }
            if has_moved {
                continue;
            }
            if !self.meet(take) && !self.force() {
                return;
            }
        }
    }

    /// Takes an invocation's next step, if it waits for nobody.
    fn advance(&mut self, number: usize, take: &mut dyn FnMut(Step<'_, 'w>)) -> bool {
        let invocation = &self.invocations[number];
        let Some(record) = invocation.stream.get(invocation.at).copied() else { return false };
        let site = &self.traced.sites[record.site];
        match (site.kind, site.sync) {
            (AccessKind::Barrier, _) => return false,
            (AccessKind::Fence, Some(sync)) => self.fence(number, &sync),
            (AccessKind::Atomic, Some(sync)) if self.is_ordering => {
                if !self.atomic(number, &record, &sync, take) {
                    return false;
                }
            }
            (AccessKind::Fence, None) => {}
            _ => {
                let (time, clocks) = (invocation.time, &invocation.clocks);
                take(Step::Accesses { record, time, clocks });
            }
        }
        self.invocations[number].at += 1;
        true
    }

    // ---- atomic operations --------------------------------------------------------------------------------------------------

    fn fence(&mut self, number: usize, sync: &Sync) {
        let invocation = &mut self.invocations[number];
        let own_ways = ways(sync);
        if sync.acquires {
            for released in std::mem::take(&mut invocation.pending) {
                invocation.clocks.join(own_ways, &released.clocks);
            }
            (0..WAYS).for_each(|way| invocation.fence_acquires[way] |= own_ways[way]);
        }
        if sync.releases {
            let own = u32::try_from(number).unwrap_or(u32::MAX);
            let clocks = Clocks::new(self.invocations.len());
            let invocation = &mut self.invocations[number];
            let mut released = clocks.with(ways(sync), own, invocation.time);
            released.join(ways(sync), &invocation.clocks);
            invocation.fenced = Some(Released { clocks: released, scope: sync.memory });
            if sync.memory >= SyncScope::Workgroup {
                (0..WAYS).filter(|way| own_ways[*way]).for_each(|way| invocation.fence_times[way] = invocation.time);
            }
            invocation.time += 1;
        }
    }

    /// Takes an atomic operation, unless it read what hasn't been written yet.
    fn atomic(&mut self, number: usize, record: &Record<'w>, sync: &Sync, take: &mut dyn FnMut(Step<'_, 'w>)) -> bool {
        let own = u32::try_from(number).unwrap_or(u32::MAX);
        let event = (own, u32::try_from(self.invocations[number].at).unwrap_or(u32::MAX));
        let op = self.traced.sites[record.site].atomic.unwrap_or(AtomicOp::Other);
        let known = place(record).zip(values(op, record.values));
        let mut read: Option<Released> = None;
        if let Some((place, (old, _))) = known.filter(|_| op.reads()) {
            let writers = self.writers.get(&(place, old)).cloned().unwrap_or_default();
            let others: Vec<Event> = writers.into_iter().filter(|writer| *writer != event).collect();
            let is_done = |(invocation, at): &Event| self.invocations[*invocation as usize].at > *at as usize;
            let is_taken = match &others[..] {
                [] => true,
                [one] => is_done(one),
                all => !self.is_lenient || all.iter().all(is_done),
            };
            if !is_taken && !self.invocations[number].is_forced {
                return false;
            }
            if others.len() > 1 {
                self.outcome.is_ambiguous = true;
            }
            if others.len() == 1 || self.is_lenient {
                for writer in &others {
                    let Some(released) = self.released.get(writer) else { continue };
                    let scope = released.scope.min(sync.memory);
                    let is_near = scope >= SyncScope::Workgroup
                        || self.invocations[writer.0 as usize].subgroup == self.invocations[number].subgroup;
                    if !is_near {
                        continue;
                    }
                    match &mut read {
                        Some(read) => read.clocks.join([true; WAYS], &released.clocks),
                        None => read = Some(released.clone()),
                    }
                }
            }
        }
        let invocation = &mut self.invocations[number];
        if let Some(read) = &read {
            if sync.acquires {
                invocation.clocks.join(ways(sync), &read.clocks);
            }
            invocation.pending.push(read.clone());
        }
        let (time, clocks) = (invocation.time, &invocation.clocks);
        take(Step::Accesses { record: *record, time, clocks });
        if op.writes() {
            self.release(number, event, sync, read);
        }
        true
    }

    /// What a write hands on: what its invocation releases, and of an operation that reads what was handed on to it.
    fn release(&mut self, number: usize, event: Event, sync: &Sync, read: Option<Released>) {
        let empty = Clocks::new(self.invocations.len());
        let invocation = &mut self.invocations[number];
        let mut parts: Vec<Released> = invocation.fenced.iter().cloned().chain(read).collect();
        if sync.releases {
            let mut clocks = empty.with(ways(sync), event.0, invocation.time);
            clocks.join(ways(sync), &invocation.clocks);
            parts.push(Released { clocks, scope: sync.memory });
            invocation.time += 1;
        }
        let all = parts.into_iter().reduce(|mut all, part| {
            all.clocks.join([true; WAYS], &part.clocks);
            Released { scope: all.scope.max(part.scope), ..all }
        });
        if let Some(all) = all {
            self.released.insert(event, all);
        }
    }

    /// Lets those go on that wait for what will never be written: each waits for another.
    fn force(&mut self) -> bool {
        let waits = |of: &&mut Invocation<'_, 'w>| {
            let record = of.stream.get(of.at);
            record.is_some_and(|record| self.traced.sites[record.site].kind == AccessKind::Atomic) && !of.is_forced
        };
        let Some(first) = self.invocations.iter_mut().find(waits) else { return false };
        first.is_forced = true;
        self.outcome.is_ambiguous = true;
        true
    }

    // ---- barriers -----------------------------------------------------------------------------------------------------------

    /// The barrier that an invocation waits at.
    fn waits_at(&self, number: usize) -> Option<(Record<'w>, Sync)> {
        let of = &self.invocations[number];
        let record = of.stream.get(of.at)?;
        let site = &self.traced.sites[record.site];
        Some((*record, site.sync?)).filter(|_| site.kind == AccessKind::Barrier)
    }

    /// Nobody can go on: those that wait at barriers meet.
    fn meet(&mut self, take: &mut dyn FnMut(Step<'_, 'w>)) -> bool {
        let waiting: Vec<(usize, Record<'w>, Sync)> = (0..self.invocations.len())
            .filter_map(|number| self.waits_at(number).map(|(record, sync)| (number, record, sync)))
            .collect();
        let mut subgroups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (number, record, _) in waiting.iter().filter(|(.., sync)| sync.execution != Some(SyncScope::Workgroup)) {
            let own = self.invocations[*number].subgroup;
            subgroups.entry((own, record.site, record.chain, record.iterations)).or_default().push(*number);
        }
        if !subgroups.is_empty() {
            for members in subgroups.into_values() {
                self.pass_barrier(&members);
            }
            return true;
        }
        // Who waits for an atomic operation may come to the barrier yet.
        let is_busy = |number: &usize| {
            let of = &self.invocations[*number];
            of.at < of.stream.len() && self.waits_at(*number).is_none()
        };
        let Some((_, first, _)) = waiting.first() else { return false };
        if (0..self.invocations.len()).any(|number| is_busy(&number)) {
            return false;
        }
        let is_same =
            |record: &Record| (record.site, record.chain, record.iterations) == (first.site, first.chain, first.iterations);
        if let Some((_, other, _)) = waiting.iter().find(|(_, record, _)| !is_same(record)) {
            take(Step::Finds { class: Class::Divergence, first: *first, second: *other, has_ended: false });
            self.has_diverged = true;
        }
        for (class, is_early) in [(Class::Exited, true), (Class::LeftOut, false)] {
            let has_ended = |of: &Invocation| of.at >= of.stream.len() && of.has_returned_early == is_early;
            let ended = self.invocations.iter().position(has_ended);
            let Some(ended) = ended.filter(|_| !self.has_diverged) else { continue };
            // Nothing else is known of one that did nothing.
            let invocation = u32::try_from(ended).unwrap_or(u32::MAX);
            let last = self.invocations[ended].stream.last().copied().unwrap_or(Record { invocation, ..*first });
            take(Step::Finds { class, first: *first, second: last, has_ended: true });
        }
        let all: Vec<usize> = waiting.iter().map(|(number, ..)| *number).collect();
        self.pass_barrier(&all);
        true
    }

    fn pass_barrier(&mut self, members: &[usize]) {
        let sync = members.first().and_then(|first| self.waits_at(*first)).map(|(_, sync)| sync);
        let Some(sync) = sync else { return };
        let is_memory = sync.acquires && sync.releases && sync.memory >= SyncScope::Subgroup;
        let mut execution = [false; WAYS];
        execution[EXECUTION] = true;
        let all = if is_memory { ways(&sync) } else { execution };
        if is_memory && sync.memory < SyncScope::Workgroup && sync.execution == Some(SyncScope::Workgroup) {
            // All wait, and those of a subgroup see what the others wrote.
            let mut subgroups: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
            members.iter().for_each(|number| subgroups.entry(self.invocations[*number].subgroup).or_default().push(*number));
            subgroups.into_values().for_each(|group| self.join(all, &group));
            self.join(execution, members);
        } else {
            self.join(all, members);
        }
        self.hand_over(all, members);
        for number in members {
            let of = &mut self.invocations[*number];
            (of.time, of.at, of.fence_acquires) = (of.time + 1, of.at + 1, [false; WAYS]);
        }
    }

    /// At a barrier that doesn't order memory itself, fences before it release, and fences before or behind it acquire.
    fn hand_over(&mut self, ordered: Ways, members: &[usize]) {
        let is_fenced = |way: usize| !ordered[way] && members.iter().any(|of| self.invocations[*of].fence_times[way] > 0);
        let ways: Ways = std::array::from_fn(is_fenced);
        if ways == [false; WAYS] {
            return;
        }
        let mut all = Clocks::new(self.invocations.len());
        for number in members {
            let of = &self.invocations[*number];
            all.join(ways, &of.clocks);
        }
        for number in members {
            for way in (0..WAYS).filter(|way| ways[*way]) {
                let mut only = [false; WAYS];
                only[way] = true;
                let own = u32::try_from(*number).unwrap_or(u32::MAX);
                all = all.with(only, own, self.invocations[*number].fence_times[way]);
            }
        }
        let handed = all.only(ways);
        for number in members {
            let of = &mut self.invocations[*number];
            let acquires: Ways = std::array::from_fn(|way| ways[way] && of.fence_acquires[way]);
            of.clocks.join(acquires, &all);
            of.pending.push(Released { clocks: handed.clone(), scope: SyncScope::Workgroup });
        }
    }

    fn join(&mut self, ways: Ways, members: &[usize]) {
        let mut rest: Vec<Option<&mut Invocation<'_, 'w>>> = self.invocations.iter_mut().map(Some).collect();
        let taken = members.iter().filter_map(|number| Some((*number, rest.get_mut(*number)?.take()?)));
        let met = taken.map(|(number, of)| (u32::try_from(number).unwrap_or(u32::MAX), of.time, &mut of.clocks));
        Clocks::meet(ways, met);
    }
}

impl<'w> Access<'w> {
    pub(super) fn of(record: Record<'w>) -> Self {
        Self { record, offset: record.offset.unwrap_or(0), is_last: false }
    }
}
