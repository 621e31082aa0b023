//! Which lanes make an access together.
//!
//! A request is the invocations of one subgroup at one instruction, by one chain of calls, in the same iterations of all loops around it.
//! These are compared as they are, and never by a hash of them: an invocation is in a request once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use crate::shader::{Record, Recorded};

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

#[derive(PartialEq, Eq, Hash)]
struct Key<'w> {
    site: usize,
    group: u32,
    subgroup: u32,
    chain: u32,
    iterations: &'w [u32],
}

/// All requests of what was recorded, in the order of their instructions and workgroups.
pub struct Requests<'w> {
    recorded: Recorded<'w>,
    lanes: Lanes,
    /// The places of records, those of a request in a row.
    places: Vec<u32>,
    /// Of each request, its instruction and where its places end.
    ends: Vec<(usize, u32)>,
}

pub struct Request<'w> {
    pub site: usize,
    pub group: u32,
    pub subgroup: u32,
    /// The lanes that are active, in ascending order, each with its record.
    pub lanes: Vec<(u32, Record<'w>)>,
}

impl<'w> Requests<'w> {
    pub fn of(recorded: Recorded<'w>, lanes: Lanes) -> Self {
        let mut known: HashMap<Key<'w>, u32, BuildHasherDefault<DefaultHasher>> = HashMap::default();
        // Of each record its place and its request.
        let mut records: Vec<(u32, u32)> = Vec::new();
        // Of each request its site, its workgroup and how many lanes it has.
        let mut requests: Vec<(usize, u32, u32)> = Vec::new();
        for (place, record) in recorded.placed() {
            let Record { site, group, invocation, chain, iterations, .. } = record;
            let (subgroup, _) = lanes.of(&recorded, group, invocation);
            let new = u32::try_from(requests.len()).unwrap_or(u32::MAX);
            let request = *known.entry(Key { site, group, subgroup, chain, iterations }).or_insert(new);
            if request == new {
                requests.push((site, group, 0));
            }
            requests[request as usize].2 += 1;
            records.push((place, request));
        }
        drop(known);
        let mut order: Vec<u32> = (0..u32::try_from(requests.len()).unwrap_or(u32::MAX)).collect();
        order.sort_by_key(|request| (requests[*request as usize].0, requests[*request as usize].1, *request));
        let (mut next, mut ends, mut end) = (vec![0_u32; requests.len()], Vec::with_capacity(requests.len()), 0);
        for request in order {
            let (site, _, count) = requests[request as usize];
            next[request as usize] = end;
            end += count;
            ends.push((site, end));
        }
        let mut places = vec![0; records.len()];
        for (place, request) in records {
            let at = &mut next[request as usize];
            places[*at as usize] = place;
            *at += 1;
        }
        Self { recorded, lanes, places, ends }
    }

    pub fn recorded(&self) -> &Recorded<'w> {
        &self.recorded
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Of how many records they are made.
    pub fn records(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = Request<'w>> + '_ {
        (0..self.ends.len()).filter_map(|at| self.get(at))
    }

    fn get(&self, at: usize) -> Option<Request<'w>> {
        let (site, end) = *self.ends.get(at)?;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before].1);
        let records = self.places[begin as usize..end as usize].iter().filter_map(|place| self.recorded.at(*place));
        let lane = |record: Record<'w>| {
            let (subgroup, lane) = self.lanes.of(&self.recorded, record.group, record.invocation);
            (subgroup, lane, record)
        };
        let all: Vec<(u32, u32, Record<'w>)> = records.map(lane).collect();
        let &(subgroup, _, Record { group, .. }) = all.first()?;
        let mut lanes: Vec<(u32, Record<'w>)> = all.into_iter().map(|(_, lane, record)| (lane, record)).collect();
        lanes.sort_by_key(|(lane, _)| *lane);
        Some(Request { site, group, subgroup, lanes })
    }

    /// The requests of one instruction after those of another, as ranges of their places.
    pub fn by_site(&self) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> + '_ {
        let mut begin = 0;
        self.ends.chunk_by(|one, other| one.0 == other.0).map(move |of_site| {
            let range = begin..begin + of_site.len();
            begin = range.end;
            (of_site[0].0, range)
        })
    }

    pub fn range(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = Request<'w>> + '_ {
        range.filter_map(|at| self.get(at))
    }
}

impl Request<'_> {
    /// Into how many parts the device split it, by the lanes that it led there together.
    pub fn parts(&self, recorded: &Recorded) -> usize {
        let leader = |(_, record): &(u32, Record)| {
            let subgroup = recorded.lane(record.group, record.invocation).map(|(subgroup, _)| subgroup);
            (subgroup, record.leader)
        };
        let mut leaders: Vec<(Option<u32>, u32)> = self.lanes.iter().map(leader).collect();
        leaders.sort_unstable();
        leaders.dedup();
        leaders.len()
    }
}
