//! The buffer that a traced module writes to: what it must hold before a pass, and what it holds afterwards.

use std::collections::HashMap;

use crate::model::MemoryKind;

use super::recorder::{ENDED, RETURNED_EARLY, UNBEGUN, header};
use super::{CallTree, Site, Target, Traced, UNKNOWN_ROOT};

/// Which workgroups of a dispatch are recorded, and how much room there is.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'g> {
    /// Linear numbers (x + width * (y + height * z)) in ascending order.
    pub groups: &'g [u32],
    /// Workgroups of the dispatch.
    pub grid: [u32; 3],
    pub invocations_per_group: u32,
    /// Words of records, which all invocations share alike.
    pub capacity: u32,
    /// The invocations of each workgroup that are recorded, by their linear numbers in ascending order; nothing where all are.
    pub invocations: Option<&'g [u32]>,
    /// Where the buffer lies.
    pub memory: MemoryKind,
}

/// Words that nobody reads: as many as a record has. What is beyond them is beyond the buffer.
const UNREAD_WORDS: u64 = 256;

/// An address this many bytes beyond a memory's end has nothing to do with it.
const FAR: u64 = 1 << 32;

impl Recording<'_> {
    fn group_count(&self) -> u32 {
        u32::try_from(self.groups.len()).unwrap_or(u32::MAX)
    }

    /// Words of lanes.
    fn lanes(&self) -> u32 {
        self.group_count().saturating_mul(self.invocations_per_group)
    }

    fn invocations_at(&self) -> u32 {
        header::WORDS.saturating_add(self.group_count())
    }

    fn records_at(&self) -> u32 {
        self.invocations_at().saturating_add(self.lanes())
    }

    fn rooms_per_group(&self) -> u32 {
        self.invocations.map_or(self.invocations_per_group, |some| u32::try_from(some.len()).unwrap_or(u32::MAX))
    }

    fn per_invocation(&self) -> u32 {
        self.capacity.checked_div(self.group_count().saturating_mul(self.rooms_per_group())).unwrap_or(0)
    }

    /// Which room an invocation has, by its number among those of all workgroups; nothing where it isn't recorded.
    fn room(&self, number: u32) -> Option<u32> {
        let (group, invocation) = (number / self.invocations_per_group, number % self.invocations_per_group);
        let place = match self.invocations {
            None => invocation,
            Some(some) => u32::try_from(some.binary_search(&invocation).ok()?).ok()?,
        };
        Some(group * self.rooms_per_group() + place)
    }

    /// How large the buffer must be: bytes.
    pub fn bytes(&self) -> u64 {
        4 * (u64::from(self.records_at()) + u64::from(self.capacity) + UNREAD_WORDS)
    }

    /// What the buffer must begin with before a pass. All that follows must be zero.
    pub fn beginning(&self) -> Vec<u8> {
        let mut words = vec![0; header::WORDS as usize];
        let mut set = |at: u32, word: u32| words[at as usize] = word;
        set(header::PER_INVOCATION, self.per_invocation());
        set(header::GROUPS, self.group_count());
        set(header::GRID[0], self.grid[0]);
        set(header::GRID[1], self.grid[1]);
        set(header::INVOCATIONS_PER_GROUP, self.invocations_per_group);
        set(header::INVOCATIONS, self.invocations_at());
        set(header::RECORDS, self.records_at());
        set(header::UNREAD, self.records_at().saturating_add(self.capacity));
        words.extend(self.groups);
        words.extend((0..self.lanes()).map(|number| UNBEGUN + self.room(number).map_or(0, |room| room + 1)));
        words.into_iter().flat_map(u32::to_ne_bytes).collect()
    }

    /// What [`Traced::recorded`] reads, out of what a pass left of the buffer. `starts` are the addresses at which what kernels reach by
    /// address began in this pass, in the order of its roots, which are the last of the module's.
    pub fn compacted(&self, buffer: &[u8], traced: &Traced, starts: &[u64]) -> Vec<u32> {
        let word = |bytes: &[u8]| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let after = |words: u32| buffer.get(4 * words as usize..).unwrap_or_default();
        let invocations = self.lanes() as usize;
        let lanes = after(self.invocations_at()).chunks_exact(4).take(invocations).map(word);
        let head = [0, self.invocations_per_group, self.lanes(), u32::try_from(starts.len()).unwrap_or(u32::MAX)];
        let starts = starts.iter().flat_map(|start| [start >> 32, start & u64::from(u32::MAX)]);
        let starts = starts.map(|half| u32::try_from(half).unwrap_or(u32::MAX));
        let mut all: Vec<u32> = head.into_iter().chain(starts).chain(lanes).collect();
        let ends_at = all.len();
        all.resize(ends_at + invocations, 0);
        let (records_at, room, longest) = (all.len(), self.per_invocation() as usize, traced.longest_record());
        let rooms = after(self.records_at());
        for number in 0..self.lanes() {
            let own = self.room(number).map(|own| own as usize);
            let region = own.and_then(|own| rooms.get(4 * own * room..4 * (own + 1) * room)).unwrap_or_default();
            // A record may end with zeros.
            let written = region.chunks_exact(4).rposition(|word| word != [0; 4]).map_or(0, |last| last + 1);
            let length = if written == 0 { 0 } else { room.min(written + longest) };
            all.extend(region[..4 * length].chunks_exact(4).map(word));
            all[ends_at + number as usize] = u32::try_from(all.len() - records_at).unwrap_or(u32::MAX);
            // One that follows may have found no room.
            all[0] |= u32::from(own.is_some() && written + 2 * longest > room);
        }
        all
    }
}

/// What a pass recorded.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'w> {
    traced: &'w Traced,
    is_cut: bool,
    invocations_per_group: u32,
    /// Two words for each of the last roots, the high one first: the address at which it begins.
    starts: &'w [u32],
    /// Of each invocation its subgroup and its lane, and where its records end.
    lanes: &'w [u32],
    ends: &'w [u32],
    records: &'w [u32],
}

/// An access, or a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record<'w> {
    /// By its index among the module's.
    pub site: usize,
    /// The workgroup, by its place among those that are recorded.
    pub group: u32,
    /// The linear number in the workgroup.
    pub invocation: u32,
    /// The lowest of the lanes that the device led here together, where it tells that.
    pub leader: u32,
    /// The number of the chain of calls.
    pub chain: u32,
    /// The iterations of the loops around it, from 0; the outermost first.
    pub iterations: &'w [u32],
    /// What it stored, or what was there and the values that went in, where those are recorded.
    pub values: &'w [u32],
    /// The variable, by its index, or the memory that an address leads to; nothing where it leads to none, of a barrier, and of what isn't
    /// followed.
    pub root: Option<usize>,
    /// Of an array of descriptors.
    pub element: u32,
    /// Bytes from where that begins; an address that leads to nothing; nothing of what isn't followed.
    pub offset: Option<u64>,
    /// What was read, of sites that may poll; and how often in a row.
    pub value: Option<u32>,
    pub count: u32,
}

impl Traced {
    /// What was recorded, out of [`Recording::compacted`].
    pub fn recorded<'w>(&'w self, words: &'w [u32]) -> Recorded<'w> {
        let (head, rest) = words.split_first_chunk::<4>().unwrap_or((&[0; 4], &[]));
        let &[is_cut, invocations_per_group, invocations, memories] = head;
        let (starts, rest) = rest.split_at_checked(2 * memories as usize).unwrap_or_default();
        let (lanes, rest) = rest.split_at_checked(invocations as usize).unwrap_or_default();
        let (ends, records) = rest.split_at_checked(invocations as usize).unwrap_or_default();
        Recorded { traced: self, is_cut: is_cut != 0, invocations_per_group, starts, lanes, ends, records }
    }

    /// The most words that a record of the module has.
    fn longest_record(&self) -> usize {
        let words = |site: &Site| {
            let of_target = match site.target {
                Target::Root { is_array, .. } => 1 + usize::from(is_array),
                Target::Chosen { .. } => 3,
                Target::Address { .. } => 2,
                Target::Nothing | Target::Unfollowed(_) => 0,
            };
            1 + site.loops + site.values + of_target + 2 * usize::from(site.polls)
        };
        let own = self.sites.iter().map(words).max().unwrap_or(0);
        own + usize::from(self.calls.has_paths) + self.calls.deepest
    }
}

impl<'w> Recorded<'w> {
    /// Whether some accesses may have found no room.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The subgroup and the lane of an invocation; nothing where it never began.
    pub fn lane(&self, group: u32, invocation: u32) -> Option<(u32, u32)> {
        let at = group * self.invocations_per_group + invocation;
        let word = self.lanes.get(at as usize).copied().filter(|word| *word < UNBEGUN)?;
        Some(((word & !(ENDED | RETURNED_EARLY)) >> 16, word & 0xffff))
    }

    pub fn invocations_per_group(&self) -> u32 {
        self.invocations_per_group
    }

    /// Whether an invocation came to its end, of a module that records that.
    pub fn has_ended(&self, group: u32, invocation: u32) -> bool {
        self.has_bit(group, invocation, ENDED)
    }

    /// Whether it ended at another return than the last one.
    pub fn has_returned_early(&self, group: u32, invocation: u32) -> bool {
        self.has_bit(group, invocation, RETURNED_EARLY)
    }

    fn has_bit(&self, group: u32, invocation: u32, bit: u32) -> bool {
        let word = self.lanes.get((group * self.invocations_per_group + invocation) as usize).copied().unwrap_or(0);
        word < UNBEGUN && word & bit != 0
    }

    /// The records, invocation by invocation, those of each as it went.
    pub fn records(&self) -> impl Iterator<Item = Record<'w>> + use<'w> {
        let own = *self;
        own.invocations().flat_map(move |(_, _, number)| own.placed(number).map(|(_, record)| record))
    }

    /// Those of one invocation, as it went.
    pub fn of_invocation(&self, group: u32, invocation: u32) -> impl Iterator<Item = Record<'w>> + use<'w> {
        self.placed(group * self.invocations_per_group + invocation).map(|(_, record)| record)
    }

    /// Workgroups and invocations that recorded something, each with its number.
    pub fn invocations(&self) -> impl Iterator<Item = (u32, u32, u32)> + use<'w> {
        let own = *self;
        let have_records =
            (0..u32::try_from(own.ends.len()).unwrap_or(u32::MAX)).filter(move |number| !own.region(*number).is_empty());
        have_records.map(move |number| (number / own.invocations_per_group, number % own.invocations_per_group, number))
    }

    /// The records of an invocation, by its number, as it went: each with its place, by which [`Self::at`] finds it.
    pub fn placed(&self, number: u32) -> impl Iterator<Item = (u32, Record<'w>)> + use<'w> {
        let (own, end, mut outer) = (*self, self.ends.get(number as usize).copied().unwrap_or(0), OuterLoops::default());
        let mut rest = self.region(number);
        std::iter::from_fn(move || {
            let place = end - u32::try_from(rest.len()).ok()?;
            let (record, after) = own.split(number, rest, |calls, chain| outer.of(calls, chain))?;
            rest = after;
            Some((place, record))
        })
    }

    pub fn at(&self, number: u32, place: u32) -> Option<Record<'w>> {
        let (record, _) = self.split(number, self.records.get(place as usize..)?, CallTree::loops_around)?;
        Some(record)
    }

    /// The words of an invocation's records, and zeros.
    fn region(&self, number: u32) -> &'w [u32] {
        let end = |number: usize| self.ends.get(number).map_or(0, |end| *end as usize);
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, end);
        self.records.get(start..end(number)).unwrap_or_default()
    }

    pub fn traced(&self) -> &'w Traced {
        self.traced
    }

    /// The address at which a root begins that is reached by it.
    pub fn start(&self, root: usize) -> Option<u64> {
        self.memories().find(|(at, _)| *at == root).map(|(_, start)| start)
    }

    /// What is reached by address: the roots, and where they begin.
    fn memories(&self) -> impl Iterator<Item = (usize, u64)> + use<'w> {
        let first = self.traced.roots.len().saturating_sub(self.starts.len() / 2);
        (first..).zip(self.starts.chunks_exact(2).map(|words| address(words[0], words[1])))
    }

    /// The memory that an address leads to, and the byte of it. One that leads to nothing is taken to have left the memory before it,
    /// unless that is far away.
    fn memory_at(&self, address: u64) -> (Option<usize>, u64) {
        let before = self.memories().filter(|(_, start)| *start <= address).max_by_key(|(_, start)| *start);
        let bytes = |root: usize| self.traced.roots.get(root).and_then(|root| root.bytes).unwrap_or(0);
        match before.map(|(root, start)| (root, address - start)) {
            Some((root, offset)) if offset < bytes(root).saturating_add(FAR) => (Some(root), offset),
            _ => (None, address),
        }
    }
}

fn address(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// How many loops are around the calls of each chain.
#[derive(Default)]
struct OuterLoops(HashMap<u32, usize>);

impl OuterLoops {
    fn of(&mut self, calls: &CallTree, chain: u32) -> usize {
        *self.0.entry(chain).or_insert_with(|| calls.loops_around(chain))
    }
}

impl<'w> Recorded<'w> {
    /// The first record of an invocation's words, and what follows it; nothing where they end.
    fn split(
        &self,
        number: u32,
        words: &'w [u32],
        mut loops_around: impl FnMut(&CallTree, u32) -> usize,
    ) -> Option<(Record<'w>, &'w [u32])> {
        let (head, mut rest) = words.split_first()?;
        let site = (head >> 16).checked_sub(1)? as usize;
        let Traced { sites, calls, .. } = self.traced;
        let Site { target, loops, polls, values, .. } = sites.get(site)?;
        let mut take = |count: usize| {
            let (taken, after) = rest.split_at_checked(count)?;
            rest = after;
            Some(taken)
        };
        let chain = if calls.has_paths { take(1)?[0] } else { 0 };
        let around = if calls.deepest > 0 { loops_around(calls, chain) } else { 0 };
        let iterations = take(around + loops)?;
        let values = take(*values)?;
        let (root, element, offset) = match target {
            Target::Root { root, is_array, .. } => {
                let element = if *is_array { take(1)?[0] } else { 0 };
                (Some(*root), element, Some(take(1)?[0].into()))
            }
            Target::Chosen { .. } => match take(3)? {
                [UNKNOWN_ROOT, ..] => (None, 0, None),
                words => (Some(words[0] as usize), words[1], Some(words[2].into())),
            },
            Target::Address { .. } => {
                let words = take(2)?;
                let (root, offset) = self.memory_at(address(words[0], words[1]));
                (root, 0, Some(offset))
            }
            Target::Nothing | Target::Unfollowed(_) => (None, 0, None),
        };
        let (value, count) = if *polls {
            let words = take(2)?;
            (Some(words[0]), words[1])
        } else {
            (None, 1)
        };
        let (group, invocation) = (number / self.invocations_per_group, number % self.invocations_per_group);
        let leader = head & 0xffff;
        let record = Record { site, group, invocation, leader, chain, iterations, values, root, element, offset, value, count };
        Some((record, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Root, Space};
    use super::*;

    #[test]
    fn an_address_is_a_byte_of_the_memory_before_it() {
        let root = |name: &str, bytes| Root {
            space: Space::Address,
            name: name.to_owned(),
            is_natural: false,
            bytes: Some(bytes),
            has_initial: false,
            array: None,
        };
        let calls = serde_json::from_str(r#"{"entry":4,"calls":{},"has_paths":false,"deepest":0}"#).unwrap();
        let roots = vec![root("bound", 4), root("high", 16), root("low", 1 << 33)];
        let traced = Traced { words: Vec::new(), place: (0, 0), sites: Vec::new(), roots, calls, has_leaders: false };
        let words = [0, 1, 0, 2, 0x7f00, 0x40, 1, 0];
        let recorded = traced.recorded(&words);
        assert_eq!([0, 1, 2].map(|root| recorded.start(root)), [None, Some(0x7f00_0000_0040), Some(1 << 32)]);
        for (address, is) in [
            (0x7f00_0000_0040, (Some(1), 0)),
            (0x7f00_0000_0060, (Some(1), 0x20)),
            ((1 << 33) + 7, (Some(2), (1 << 32) + 7)),
            (4, (None, 4)),
            (u64::MAX, (None, u64::MAX)),
            (0x7f00_0000_003f, (None, 0x7f00_0000_003f)),
        ] {
            assert_eq!(recorded.memory_at(address), is, "{address:#x}");
        }
    }
}
