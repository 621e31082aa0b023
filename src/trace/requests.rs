//! Which lanes make an access together.
//!
//! A request is the invocations of one subgroup at one instruction, by one chain of calls, in the same iterations of all loops around it.
//! These are compared as they are, and never by a hash of them: an invocation is in a request once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::ops::Range;

use rayon::prelude::*;

use crate::shader::{AccessKind, Record, Recorded};

/// How invocations make subgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// As on the device.
    OfDevice,
    /// So many in a row, by their linear number in the workgroup: for software drivers, whose subgroups are smaller than a GPU's.
    InRow(u32),
}

impl Lanes {
    /// The subgroup and the lane of an invocation.
    pub fn of(self, recorded: &Recorded, group: u32, invocation: u32) -> (u32, u32) {
        match self {
            Self::OfDevice => recorded.lane(group, invocation).unwrap_or((u32::MAX, invocation)),
            Self::InRow(count) => (invocation / count, invocation % count),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key<'w> {
    site: usize,
    chain: u32,
    iterations: &'w [u32],
}

/// All requests of what was recorded, in the order of their instructions and workgroups.
pub struct Requests<'w> {
    recorded: Recorded<'w>,
    lanes: Lanes,
    subgroups: Vec<Subgroup>,
    order: Vec<Place>,
}

/// What the invocations of one subgroup recorded: the numbers of invocations and the places of records, those of a request in a row.
struct Subgroup {
    number: u32,
    records: Vec<(u32, u32)>,
}

/// Where a request is.
struct Place {
    site: usize,
    group: u32,
    /// The place of its first record.
    first: u32,
    moment: Moment,
    records: Range<u32>,
}

/// When a request was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// By which subgroup of those that were recorded.
    pub subgroup: u32,
    /// How many barriers were before it.
    pub barriers: u32,
    /// How many requests.
    pub requests: u32,
}

pub struct Request<'w> {
    pub site: usize,
    pub group: u32,
    pub subgroup: u32,
    pub moment: Moment,
    /// The lanes that are active, in ascending order, each with its record.
    pub lanes: Vec<(u32, Record<'w>)>,
}

impl<'w> Requests<'w> {
    pub fn of(recorded: Recorded<'w>, lanes: Lanes) -> Self {
        let mut all: Vec<(u32, u32, u32)> = recorded
            .invocations()
            .map(|(group, invocation, number)| (group, lanes.of(&recorded, group, invocation).0, number))
            .collect();
        all.sort_unstable();
        let chunks: Vec<&[(u32, u32, u32)]> = all.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)).collect();
        let numbered = chunks.into_par_iter().enumerate();
        let found: Vec<(Subgroup, Vec<Place>)> =
            numbered.map(|(at, of)| Subgroup::of(&recorded, u32::try_from(at).unwrap_or(u32::MAX), of)).collect();
        let (subgroups, places): (Vec<Subgroup>, Vec<Vec<Place>>) = found.into_iter().unzip();
        let mut order: Vec<Place> = places.into_iter().flatten().collect();
        order.par_sort_unstable_by_key(|of| (of.site, of.group, of.first));
        Self { recorded, lanes, subgroups, order }
    }

    pub fn recorded(&self) -> &Recorded<'w> {
        &self.recorded
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Of how many records they are made.
    pub fn records(&self) -> usize {
        self.subgroups.iter().map(|of| of.records.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = Request<'w>> + '_ {
        self.range(0..self.len())
    }

    pub fn get(&self, at: usize) -> Option<Request<'w>> {
        let Place { site, group, moment, ref records, .. } = *self.order.get(at)?;
        let of = &self.subgroups[moment.subgroup as usize];
        let records = of.records[records.start as usize..records.end as usize].iter();
        let lane = |(number, place): &(u32, u32)| {
            let record = self.recorded.at(*number, *place)?;
            Some((self.lanes.of(&self.recorded, group, record.invocation).1, record))
        };
        let mut lanes: Vec<(u32, Record<'w>)> = records.filter_map(lane).collect();
        lanes.sort_by_key(|(lane, _)| *lane);
        Some(Request { site, group, subgroup: of.number, moment, lanes })
    }

    /// The requests of one instruction after those of another, as ranges of their places.
    pub fn by_site(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let mut begin = 0;
        self.order.chunk_by(|one, other| one.site == other.site).map(move |of_site| {
            let range = begin..begin + of_site.len();
            begin = range.end;
            (of_site[0].site, range)
        })
    }

    pub fn range(&self, range: Range<usize>) -> impl Iterator<Item = Request<'w>> + '_ {
        range.filter_map(|at| self.get(at))
    }
}

impl Subgroup {
    /// Those of these invocations, which are one subgroup, by workgroup, subgroup and number; with the requests that they make.
    fn of(recorded: &Recorded, at: u32, invocations: &[(u32, u32, u32)]) -> (Self, Vec<Place>) {
        let (group, number, _) = invocations[0];
        let mut known: HashMap<Key, u32, BuildHasherDefault<DefaultHasher>> = HashMap::default();
        let (mut keys, mut places): (Vec<Key>, Vec<Place>) = (Vec::new(), Vec::new());
        // What the invocation before did, request by request, and where each is there: invocations mostly go the same way.
        let (mut before, mut own, mut steps): (Vec<u32>, Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new(), Vec::new());
        let mut records: Vec<(u32, u32, u32)> = Vec::new();
        for (_, _, number) in invocations {
            let (mut step, mut barriers) = (0, 0);
            for (place, Record { site, chain, iterations, .. }) in recorded.placed(*number) {
                let key = Key { site, chain, iterations };
                let new = u32::try_from(keys.len()).unwrap_or(u32::MAX);
                let expected = before.get(step).copied().filter(|request| keys[*request as usize] == key);
                let request = expected.unwrap_or_else(|| *known.entry(key).or_insert(new));
                if request == new {
                    keys.push(key);
                    steps.push(0);
                    let moment = Moment { subgroup: at, barriers, requests: new };
                    places.push(Place { site, group, first: place, moment, records: 0..0 });
                }
                step = if expected.is_some() { step } else { steps[request as usize] as usize } + 1;
                barriers += u32::from(recorded.traced().sites.get(site).is_some_and(|site| site.kind == AccessKind::Barrier));
                places[request as usize].records.end += 1;
                records.push((request, *number, place));
                own.push(request);
            }
            std::mem::swap(&mut before, &mut own);
            own.clear();
            for (step, request) in (0..).zip(&before) {
                steps[*request as usize] = step;
            }
        }
        (Self { number, records: in_rows(records, &mut places) }, places)
    }
}

/// Records in the order of their requests, which are told where theirs are; each has only their number before.
fn in_rows(records: Vec<(u32, u32, u32)>, places: &mut [Place]) -> Vec<(u32, u32)> {
    let mut end = 0;
    for place in &mut *places {
        let count = place.records.end;
        place.records = end..end;
        end += count;
    }
    let mut all = vec![(0, 0); records.len()];
    for (request, number, place) in records {
        let at = &mut places[request as usize].records.end;
        all[*at as usize] = (number, place);
        *at += 1;
    }
    all
}

impl Request<'_> {
    /// Into how many parts the device split it, by the lanes that it led there together.
    pub fn parts(&self, recorded: &Recorded) -> usize {
        let leader = |(_, record): &(u32, Record)| {
            let subgroup = recorded.lane(record.group, record.invocation).map(|(subgroup, _)| subgroup);
            (subgroup, record.leader)
        };
        let first = self.lanes.first().map(leader);
        if self.lanes.iter().all(|lane| Some(leader(lane)) == first) {
            return usize::from(first.is_some());
        }
        let mut leaders: Vec<(Option<u32>, u32)> = self.lanes.iter().map(leader).collect();
        leaders.sort_unstable();
        leaders.dedup();
        leaders.len()
    }
}
