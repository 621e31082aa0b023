//! The buffer that a traced module writes to: what it must hold before a pass, and what it holds afterwards.

use std::collections::HashMap;

use super::recorder::header;
use super::{CallTree, Site, Target, Traced, UNKNOWN_ROOT};

/// Which workgroups of a dispatch are recorded, and how much room there is.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'g> {
    /// Linear numbers (x + width * (y + height * z)) in ascending order.
    pub groups: &'g [u32],
    /// Workgroups of the dispatch.
    pub grid: [u32; 3],
    pub invocations_per_group: u32,
    /// Words of records.
    pub capacity: u32,
    /// The subgroups of each workgroup that are recorded, by their numbers in it.
    pub subgroups: (u32, u32),
    /// How many invocations in a row count as a subgroup there; 0 if the device's own do.
    pub in_row: u32,
}

/// All subgroups of a workgroup.
pub const ALL_SUBGROUPS: (u32, u32) = (0, u32::MAX);

/// What stands for an invocation that never began.
const NEVER_BEGAN: u32 = u32::MAX;

impl Recording<'_> {
    fn invocations_at(&self) -> u32 {
        header::WORDS.saturating_add(u32::try_from(self.groups.len()).unwrap_or(u32::MAX))
    }

    fn records_at(&self) -> u32 {
        let groups = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        self.invocations_at().saturating_add(groups.saturating_mul(self.invocations_per_group))
    }

    /// How large the buffer must be: bytes.
    pub fn bytes(&self) -> u64 {
        4 * (u64::from(self.records_at()) + u64::from(self.capacity))
    }

    /// The part of the buffer that a pass has written to, or could have before its records.
    pub fn used<'b>(&self, buffer: &'b [u8]) -> &'b [u8] {
        let word = |at: u32| {
            let bytes = buffer.get(at as usize * 4..at as usize * 4 + 4);
            bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
        };
        let words = self.records_at() as usize + word(header::CURSOR).min(self.capacity) as usize;
        &buffer[..(4 * words).min(buffer.len())]
    }

    /// What the buffer must begin with before a pass. What follows is written before it is read.
    pub fn beginning(&self) -> Vec<u8> {
        let mut words = vec![0; header::WORDS as usize];
        let mut set = |at: u32, word: u32| words[at as usize] = word;
        set(header::CAPACITY, self.capacity);
        set(header::GROUPS, u32::try_from(self.groups.len()).unwrap_or(u32::MAX));
        set(header::GRID[0], self.grid[0]);
        set(header::GRID[1], self.grid[1]);
        set(header::INVOCATIONS_PER_GROUP, self.invocations_per_group);
        set(header::INVOCATIONS, self.invocations_at());
        set(header::RECORDS, self.records_at());
        set(header::SUBGROUPS[0], self.subgroups.0);
        set(header::SUBGROUPS[1], self.subgroups.1);
        set(header::IN_ROW, self.in_row);
        words.extend(self.groups);
        words.resize(self.records_at() as usize, NEVER_BEGAN);
        words.into_iter().flat_map(u32::to_ne_bytes).collect()
    }
}

/// What a pass recorded.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'w> {
    traced: &'w Traced,
    words: &'w [u32],
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
    /// The variable, by its index; nothing where it is an address, a barrier or isn't followed.
    pub root: Option<usize>,
    /// Of an array of descriptors.
    pub element: u32,
    /// Bytes from the variable's beginning, or the address; nothing of what isn't followed.
    pub offset: Option<u64>,
    /// What was read, of sites that may poll; and how often in a row.
    pub value: Option<u32>,
    pub count: u32,
}

impl Traced {
    pub fn recorded<'w>(&'w self, words: &'w [u32]) -> Recorded<'w> {
        Recorded { traced: self, words }
    }
}

impl<'w> Recorded<'w> {
    fn header(&self, at: u32) -> u32 {
        self.words.get(at as usize).copied().unwrap_or(0)
    }

    /// Whether some accesses found no place.
    pub fn is_cut(&self) -> bool {
        self.header(header::CURSOR) > self.header(header::CAPACITY)
    }

    /// The subgroup and the lane of an invocation; nothing where it never began.
    pub fn lane(&self, group: u32, invocation: u32) -> Option<(u32, u32)> {
        let at = self.header(header::INVOCATIONS) + group * self.header(header::INVOCATIONS_PER_GROUP) + invocation;
        let word = self.words.get(at as usize).copied().filter(|word| *word != NEVER_BEGAN)?;
        Some((word >> 16, word & 0xffff))
    }

    /// The records, in an order in which those of an invocation are as it went.
    pub fn records(&self) -> impl Iterator<Item = Record<'w>> + use<'w> {
        self.placed().map(|(_, record)| record)
    }

    /// The same, each with its place, by which [`Self::at`] finds it.
    pub fn placed(&self) -> impl Iterator<Item = (u32, Record<'w>)> + use<'w> {
        let all = self.all();
        let (traced, mut rest, mut outer) = (self.traced, all, OuterLoops::default());
        std::iter::from_fn(move || {
            let place = u32::try_from(all.len() - rest.len()).ok()?;
            let (record, after) = traced.split(rest, |calls, chain| outer.of(calls, chain))?;
            rest = after;
            Some((place, record))
        })
    }

    pub fn at(&self, place: u32) -> Option<Record<'w>> {
        let (record, _) = self.traced.split(self.all().get(place as usize..)?, CallTree::loops_around)?;
        Some(record)
    }

    /// The words of all records.
    fn all(&self) -> &'w [u32] {
        let first = self.header(header::RECORDS) as usize;
        let taken = self.header(header::CURSOR).min(self.header(header::CAPACITY)) as usize;
        let end = (first + taken).min(self.words.len());
        self.words.get(first..end).unwrap_or_default()
    }

    pub fn traced(&self) -> &'w Traced {
        self.traced
    }
}

/// How many loops are around the calls of each chain.
#[derive(Default)]
struct OuterLoops(HashMap<u32, usize>);

impl OuterLoops {
    fn of(&mut self, calls: &CallTree, chain: u32) -> usize {
        *self.0.entry(chain).or_insert_with(|| calls.loops_around(chain))
    }
}

impl Traced {
    /// The first record of words, and what follows it; nothing where they end, or the last one was cut off.
    fn split<'w>(
        &self,
        words: &'w [u32],
        mut loops_around: impl FnMut(&CallTree, u32) -> usize,
    ) -> Option<(Record<'w>, &'w [u32])> {
        let (&[head, group], mut rest) = words.split_first_chunk::<2>()?;
        let site = (head >> 16).checked_sub(1)? as usize;
        let Site { target, loops, polls, .. } = self.sites.get(site)?;
        let mut take = |count: usize| {
            let (taken, after) = rest.split_at_checked(count)?;
            rest = after;
            Some(taken)
        };
        let chain = if self.calls.has_paths { take(1)?[0] } else { 0 };
        let around = if self.calls.has_outer_loops { loops_around(&self.calls, chain) } else { 0 };
        let iterations = take(around + loops)?;
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
                (None, 0, Some(u64::from(words[0]) << 32 | u64::from(words[1])))
            }
            Target::Nothing | Target::Unfollowed(_) => (None, 0, None),
        };
        let (value, count) = if *polls {
            let words = take(2)?;
            (Some(words[0]), words[1])
        } else {
            (None, 1)
        };
        let (invocation, leader) = (head & 0xffff, group & 0xff);
        let record =
            Record { site, group: group >> 8, invocation, leader, chain, iterations, root, element, offset, value, count };
        Some((record, rest))
    }
}
