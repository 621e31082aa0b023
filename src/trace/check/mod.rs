//! What the invocations of a workgroup do to one another: races, reads of what nobody wrote, barriers that not all come to.
//!
//! ```text
//! clocks    what comes before what
//! schedule  one order in which a workgroup may have run, with the clocks of each access
//! shadow    who accessed each byte of memory, and what of that isn't ordered
//! ```
//!
//! Two accesses of a byte by two invocations race if one of them writes, not both are atomic, and nothing orders them: barriers of their
//! workgroup or subgroup, or a release that an acquire reads from. Lanes of a subgroup aren't ordered by running in step.

mod clocks;
mod schedule;
mod shadow;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::shader::{AccessKind, Record, Recorded, Traced};
use schedule::{Known, Stream};
use shadow::Shadow;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    Race,
    /// A race whose writes all store what is there already, or the same.
    SameValue,
    /// A race, or none, as atomic operations were ordered; the values that they read don't say how.
    Undecided,
    /// Ordered by execution, but what is written needn't be seen.
    Memory,
    /// Ordered in all ways, but the buffer isn't declared coherent: what is written needn't be seen either.
    NotCoherent,
    /// Shared memory is read that nobody wrote.
    Uninitialised,
    /// Invocations of a workgroup wait at different barriers.
    Divergence,
    /// A barrier that some of a workgroup leave out.
    LeftOut,
    /// Invocations returned before a barrier at which others wait.
    Exited,
    /// An access leaves its buffer or variable.
    Bounds,
}

impl Class {
    pub const ALL: [Self; 10] = [
        Self::Race,
        Self::SameValue,
        Self::Undecided,
        Self::Memory,
        Self::NotCoherent,
        Self::Uninitialised,
        Self::Divergence,
        Self::LeftOut,
        Self::Exited,
        Self::Bounds,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Race => "race",
            Self::SameValue => "same-value",
            Self::Undecided => "undecided",
            Self::Memory => "memory",
            Self::NotCoherent => "not-coherent",
            Self::Uninitialised => "uninitialised",
            Self::Divergence => "barrier",
            Self::LeftOut => "left-out",
            Self::Exited => "exited",
            Self::Bounds => "bounds",
        }
    }
}

/// Which instructions did it; one alone where there is no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cause {
    pub class: Class,
    /// The variable or memory, by its index; nothing of barriers, and of addresses that lead to nothing.
    pub root: Option<usize>,
    /// By their indexes. Of a race the one that came first in the order that was looked at.
    pub first: usize,
    pub second: Option<usize>,
}

/// Who made an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The workgroup's linear number, and the invocation's within it.
    pub group: u32,
    pub invocation: u32,
    pub subgroup: u32,
    pub lane: u32,
    pub iterations: Vec<u32>,
}

/// How often it was seen, and once of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub count: u64,
    /// The byte that both touch, from its variable's beginning.
    pub offset: Option<u64>,
    pub element: u32,
    pub first: Actor,
    pub second: Option<Actor>,
}

/// What was found, by its cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    pub all: BTreeMap<Cause, Finding>,
    /// Workgroups of which the passes that recorded them didn't take the same ways.
    pub unsteady: u64,
    /// Those of which invocations never came to their end; and the barriers at which they were last, by the instructions' indexes.
    pub unfinished: u64,
    pub stopped_at: BTreeSet<usize>,
}

/// A workgroup's records, in one pass for each window of instructions.
pub struct Workgroup<'p, 'w> {
    pub passes: &'p [Recorded<'w>],
    /// Its place among the passes' workgroups, and its linear number.
    pub place: u32,
    pub number: u32,
    pub invocations: u32,
}

/// One side of what was found.
#[derive(Clone, Copy, Debug)]
struct Access<'w> {
    record: Record<'w>,
    offset: u64,
    /// Whether it is what an invocation did last, and not what is found.
    is_last: bool,
}

impl Findings {
    /// Looks at what a workgroup did. `ends` says how large a buffer is.
    pub fn add(&mut self, workgroup: &Workgroup, ends: &dyn Fn(usize, u32) -> Option<u64>) {
        let Some(streams) = streams(workgroup) else {
            self.unsteady += 1;
            return;
        };
        let Some(traced) = workgroup.passes.first().map(Recorded::traced) else { return };
        self.note_unfinished(workgroup, &streams);
        // Its own findings alone: what is unsure here may be sure in another workgroup.
        let (mut own, mut lenient) = (Self::default(), Self::default());
        let is_ambiguous = own.looked(workgroup, traced, &streams, ends, false).is_ambiguous;
        if is_ambiguous {
            lenient.looked(workgroup, traced, &streams, ends, true);
        }
        for (mut cause, found) in own.all {
            // What is there in both orders is a race.
            if is_ambiguous && cause.class == Class::Race && !lenient.all.contains_key(&cause) {
                cause.class = Class::Undecided;
            }
            match self.all.entry(cause) {
                Entry::Occupied(mut known) => known.get_mut().count += found.count,
                Entry::Vacant(new) => drop(new.insert(found)),
            }
        }
    }

    fn note_unfinished(&mut self, workgroup: &Workgroup, streams: &[Stream]) {
        let has_ended = |invocation| workgroup.passes.iter().all(|pass| pass.has_ended(workgroup.place, invocation));
        let unfinished: Vec<&Stream> = (0..).zip(streams).filter(|(number, _)| !has_ended(*number)).map(|(_, of)| of).collect();
        self.unfinished += u64::from(!unfinished.is_empty());
        let sites = workgroup.passes.first().map(|pass| &pass.traced().sites[..]).unwrap_or_default();
        let last = unfinished.iter().filter_map(|stream| stream.last()).map(|last| last.site);
        self.stopped_at.extend(last.filter(|site| sites[*site].kind == AccessKind::Barrier));
    }

    /// Leaves out what a race of the same instruction on the same variable explains: reads before anybody writes, and writes of the same.
    pub fn settle(&mut self) {
        let unordered = |cause: &&Cause| matches!(cause.class, Class::Race | Class::SameValue | Class::Undecided);
        let races: Vec<Cause> = self.all.keys().filter(unordered).copied().collect();
        self.all.retain(|cause, _| {
            let shares = |race: &&Cause| {
                let of_race = [Some(race.first), race.second];
                let own = [Some(cause.first), cause.second.or(Some(cause.first))];
                race.root == cause.root && own.iter().any(|site| of_race.contains(site))
            };
            match cause.class {
                Class::Uninitialised => !races.iter().any(|race| shares(&race)),
                Class::SameValue => !races.iter().filter(|race| race.class == Class::Race).any(|race| shares(&race)),
                _ => true,
            }
        });
    }

    fn looked(
        &mut self,
        workgroup: &Workgroup,
        traced: &Traced,
        streams: &[Stream],
        ends: &dyn Fn(usize, u32) -> Option<u64>,
        is_lenient: bool,
    ) -> schedule::Outcome {
        let mut shadow = Shadow::new(traced, ends);
        let lane = |invocation| workgroup.passes[0].lane(workgroup.place, invocation);
        let mut report = |class, first: Access, second: Option<Access>| {
            // Which of two came first says nothing where nothing orders them.
            let is_ordered = matches!(class, Class::Memory | Class::NotCoherent | Class::LeftOut | Class::Exited);
            let (first, second) = match second {
                Some(second) if !is_ordered && second.record.site < first.record.site => (second, Some(first)),
                second => (first, second),
            };
            let actor = |access: &Access| {
                let invocation = access.record.invocation;
                let (subgroup, lane) = lane(invocation).unwrap_or_default();
                Actor { group: workgroup.number, invocation, subgroup, lane, iterations: access.record.iterations.to_vec() }
            };
            let at = second.as_ref().unwrap_or(&first);
            let is_place = !matches!(class, Class::Divergence | Class::LeftOut | Class::Exited);
            let cause = Cause {
                class,
                root: at.record.root.filter(|_| is_place),
                first: first.record.site,
                // Who ended isn't known by what it did last.
                second: second.as_ref().filter(|second| !second.is_last).map(|second| second.record.site),
            };
            let found = self.all.entry(cause).or_insert_with(|| Finding {
                count: 0,
                offset: is_place.then_some(at.offset),
                element: at.record.element,
                first: actor(&first),
                second: second.as_ref().map(actor),
            });
            found.count += 1;
        };
        let known = |invocation| Known {
            subgroup: lane(invocation).map_or(u32::MAX, |(subgroup, _)| subgroup),
            has_returned_early: workgroup.passes.iter().any(|pass| pass.has_returned_early(workgroup.place, invocation)),
        };
        schedule::run(traced, streams, &known, is_lenient, &mut |step| shadow.take(step, &mut report))
    }
}

/// What each invocation did, in its order: what windows recorded apart, put together between what orders accesses. Nothing where that
/// isn't the same in all.
fn streams<'w>(workgroup: &Workgroup<'_, 'w>) -> Option<Vec<Stream<'w>>> {
    let traced = workgroup.passes.first()?.traced();
    let is_ordering = schedule::is_ordering(traced);
    let of = |invocation| {
        let mut all = workgroup.passes.iter().map(|pass| pass.of_invocation(workgroup.place, invocation).collect());
        let first: Stream = all.next().unwrap_or_default();
        all.try_fold(first, |before, more| merged(|record| does_order(traced, record.site, is_ordering), &before, &more))
    };
    (0..workgroup.invocations).map(of).collect()
}

/// Whether all invocations of a workgroup come to an instruction, in the same iterations of the loops around it.
pub fn is_uniform(recorded: &Recorded, place: u32, invocations: u32, site: usize) -> bool {
    let times = |invocation| -> Vec<_> {
        let own = recorded.of_invocation(place, invocation).filter(|record| record.site == site);
        own.map(|record| (record.chain, record.iterations)).collect()
    };
    let first = times(0);
    !first.is_empty() && (1..invocations).all(|invocation| times(invocation) == first)
}

/// Whether all windows record it.
pub fn orders(traced: &Traced, site: usize) -> bool {
    does_order(traced, site, schedule::is_ordering(traced))
}

fn does_order(traced: &Traced, site: usize, is_ordering: bool) -> bool {
    match traced.sites.get(site).map(|site| site.kind) {
        Some(AccessKind::Barrier | AccessKind::Fence) => true,
        Some(AccessKind::Atomic) => is_ordering,
        _ => false,
    }
}

fn merged<'w>(is_sync: impl Fn(&Record) -> bool, one: &[Record<'w>], other: &[Record<'w>]) -> Option<Stream<'w>> {
    let (mut all, mut one, mut other) = (Vec::with_capacity(one.len() + other.len()), one, other);
    loop {
        let split = |of: &[Record]| of.iter().position(&is_sync).unwrap_or(of.len());
        let (before, rest) = one.split_at(split(one));
        let (more, other_rest) = other.split_at(split(other));
        interleave(before, more, &mut all);
        match (rest.split_first(), other_rest.split_first()) {
            (None, None) => return Some(all),
            (Some((sync, rest)), Some((same, other_rest)))
                if (sync.site, sync.chain, sync.iterations) == (same.site, same.chain, same.iterations) =>
            {
                all.push(*sync);
                (one, other) = (rest, other_rest);
            }
            _ => return None,
        }
    }
}

/// Instructions stand in the order in which they run, but for the iterations of the loops that are around both.
fn interleave<'w>(mut one: &[Record<'w>], mut other: &[Record<'w>], all: &mut Stream<'w>) {
    while let (Some((first, rest)), Some((second, other_rest))) = (one.split_first(), other.split_first()) {
        let common = first.iterations.len().min(second.iterations.len());
        let key = |of: &Record<'w>| (&of.iterations[..common], of.site);
        if key(first) <= key(second) {
            all.push(*first);
            one = rest;
        } else {
            all.push(*second);
            other = other_rest;
        }
    }
    all.extend(one.iter().chain(other));
}
