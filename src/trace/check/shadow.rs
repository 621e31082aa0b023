//! Who accessed each byte of memory since it was last written in order, and what of that isn't ordered.

use std::collections::{HashMap, HashSet};

use super::clocks::{BUFFERS, Clocks, EXECUTION, SHARED};
use super::schedule::Step;
use super::{Access, Class};
use crate::shader::{AccessKind, AtomicOp, Record, Run, Space, Target, Traced};

/// A word: of which variable, which descriptor of an array, and its number from the beginning.
type Word = (Option<usize>, u32, u64);

/// What an invocation did to some bytes of a word.
#[derive(Clone, Copy, Debug)]
struct Entry<'w> {
    record: Record<'w>,
    time: u32,
    /// Which of the word's bytes.
    mask: u8,
    /// What it stores there, where that is known; and whether that was there before.
    value: Option<u32>,
    is_silent: bool,
    /// Whether it changes memory: a store, or an atomic operation that isn't a load or a comparison that failed.
    writes: bool,
}

#[derive(Default)]
struct Cell<'w> {
    stores: Vec<Entry<'w>>,
    loads: Vec<Entry<'w>>,
    atomics: Vec<Entry<'w>>,
    /// The bytes that were ever written; those whose values are known, and what they are.
    written: u8,
    known: u8,
    bits: u32,
}

pub struct Shadow<'s, 'w> {
    traced: &'s Traced,
    ends: &'s dyn Fn(usize, u32) -> Option<u64>,
    cells: HashMap<Word, Cell<'w>>,
    /// Words with a race: that nobody wrote them before says nothing more.
    raced: HashSet<Word>,
}

type Report<'r, 'w> = dyn FnMut(Class, Access<'w>, Option<Access<'w>>) + 'r;

/// The bits of a word's bytes.
fn bits(mask: u8) -> u32 {
    (0..4).filter(|byte| mask >> byte & 1 == 1).fold(0, |bits, byte| bits | 0xff << (8 * byte))
}

/// The words that a run touches from an offset on: the number of each, which of its bytes, and how many bytes of the run come before it.
fn words(offset: u64, run: Run) -> impl Iterator<Item = (u64, u8, i64)> {
    let (start, end) = (offset + run.offset, offset + run.offset + run.bytes);
    (start / 4..end.div_ceil(4)).map(move |word| {
        let (from, to) = ((4 * word).max(start) - 4 * word, (4 * word + 4).min(end) - 4 * word);
        let mask = (from..to).fold(0_u8, |mask, byte| mask | 1 << byte);
        (word, mask, i64::try_from(4 * word).unwrap_or(0) - i64::try_from(start).unwrap_or(0))
    })
}

/// The word of a value that begins so many bytes before, or after, where the value does.
fn part(values: &[u32], before: i64) -> Option<u32> {
    let at = |index: i64| usize::try_from(index).ok().and_then(|index| values.get(index)).copied().unwrap_or(0);
    if values.is_empty() {
        return None;
    }
    let (index, shift) = (before.div_euclid(4), u32::try_from(8 * before.rem_euclid(4)).ok()?);
    let both = u64::from(at(index)) | u64::from(at(index + 1)) << 32;
    u32::try_from(both >> shift & u64::from(u32::MAX)).ok()
}

impl<'s, 'w> Shadow<'s, 'w> {
    pub fn new(traced: &'s Traced, ends: &'s dyn Fn(usize, u32) -> Option<u64>) -> Self {
        Self { traced, ends, cells: HashMap::new(), raced: HashSet::new() }
    }

    pub fn take(&mut self, step: Step<'_, 'w>, report: &mut Report<'_, 'w>) {
        match step {
            Step::Finds { class, first, second, has_ended } => {
                report(class, Access::of(first), Some(Access { is_last: has_ended, ..Access::of(second) }));
            }
            Step::Accesses { record, time, clocks } => self.access(record, time, clocks, report),
        }
    }

    fn access(&mut self, record: Record<'w>, time: u32, clocks: &Clocks, report: &mut Report<'_, 'w>) {
        let site = &self.traced.sites[record.site];
        let Some(offset) = record.offset else { return };
        let space = record.root.and_then(|root| self.traced.roots.get(root)).map(|root| root.space);
        let is_address = matches!(site.target, Target::Address { .. });
        let farthest = site.target.runs().iter().map(|run| run.offset + run.bytes).max().unwrap_or(0);
        if let Some(root) = record.root {
            let end = self.traced.roots.get(root).and_then(|of| of.bytes).or_else(|| (self.ends)(root, record.element));
            if end.is_some_and(|end| offset + farthest > end) {
                report(Class::Bounds, Access { record, offset, is_last: false }, None);
                return;
            }
        } else if is_address {
            report(Class::Bounds, Access { record, offset, is_last: false }, None);
            return;
        }
        // Nobody writes there.
        if matches!(space, Some(Space::Uniform { .. } | Space::PushConstants)) {
            return;
        }
        let is_shared = space == Some(Space::Shared);
        let bytes = site.target.runs().iter().map(|run| run.bytes).sum();
        let written = written(site.atomic, &record, bytes);
        let writes = site.atomic.map_or(site.kind == AccessKind::Store, |op| does_write(op, record.values));
        let mut done = 0;
        for run in site.target.runs() {
            for (word, mask, before) in words(offset, *run) {
                // Of a value in several pieces, those before this one are of it as well.
                let value = written.as_deref().and_then(|values| part(values, before + done));
                let entry = Entry { record, time, mask, value, is_silent: false, writes };
                let place = (record.root, record.element, word);
                let matters =
                    (0..4).filter(|byte| does_matter(site.matters, before + done + byte)).fold(0, |all, byte| all | 1 << byte);
                self.word(place, entry, site.kind, matters, (is_shared, clocks), report);
            }
            done += i64::try_from(run.bytes).unwrap_or(0);
        }
    }

    fn word(
        &mut self,
        place: Word,
        mut entry: Entry<'w>,
        kind: AccessKind,
        matters: u8,
        (is_shared, clocks): (bool, &Clocks),
        report: &mut Report<'_, 'w>,
    ) {
        let site = &self.traced.sites[entry.record.site];
        let reads = site.atomic.map_or(kind == AccessKind::Load, AtomicOp::reads);
        let is_unset = reads && is_shared && self.is_unset(&entry.record);
        let cell = self.cells.entry(place).or_default();
        let missing = entry.mask & !cell.written & matters;
        if is_unset && missing != 0 && !self.raced.contains(&place) {
            let offset = 4 * place.2 + u64::from(missing.trailing_zeros());
            report(Class::Uninitialised, Access { record: entry.record, offset, is_last: false }, None);
        }
        if kind == AccessKind::Store {
            let is_known = entry.mask & !cell.known == 0;
            entry.is_silent = is_known && entry.value.is_some_and(|value| (value ^ cell.bits) & bits(entry.mask) == 0);
        }
        let way = if is_shared { SHARED } else { BUFFERS };
        let sites = &self.traced.sites;
        let mut is_raced = false;
        let mut conflict = |other: &Entry<'w>, other_kind: AccessKind| {
            let common = other.mask & entry.mask;
            if common == 0 || other.record.invocation == entry.record.invocation || !(other.writes || entry.writes) {
                return;
            }
            let offset = 4 * place.2 + u64::from(common.trailing_zeros());
            let access = |of: &Entry<'w>| Access { record: of.record, offset, is_last: false };
            if !clocks.has(EXECUTION, other.record.invocation, other.time) {
                let class = if is_same(other, other_kind, &entry, kind, common) { Class::SameValue } else { Class::Race };
                is_raced = true;
                report(class, access(other), Some(access(&entry)));
            } else if other.writes && !clocks.has(way, other.record.invocation, other.time) {
                report(Class::Memory, access(other), Some(access(&entry)));
            } else if other.writes && !is_shared {
                // Atomic operations are coherent.
                let is_coherent = |of: &Entry<'w>| sites[of.record.site].is_coherent;
                if !(is_coherent(other) && is_coherent(&entry)) {
                    report(Class::NotCoherent, access(other), Some(access(&entry)));
                }
            }
        };
        cell.stores.iter().for_each(|other| conflict(other, AccessKind::Store));
        if kind != AccessKind::Atomic {
            cell.atomics.iter().for_each(|other| conflict(other, AccessKind::Atomic));
        }
        if kind != AccessKind::Load {
            cell.loads.iter().for_each(|other| conflict(other, AccessKind::Load));
        }
        if is_raced {
            self.raced.insert(place);
        }
        cell.add(entry, kind, clocks);
    }

    /// Whether memory of that variable begins with nothing.
    fn is_unset(&self, record: &Record) -> bool {
        let root = record.root.and_then(|root| self.traced.roots.get(root));
        root.is_some_and(|root| !root.has_initial)
    }
}

/// Whether something depends on a byte of a value.
fn does_matter(bytes: u32, at: i64) -> bool {
    u32::try_from(at).is_ok_and(|at| at >= 32 && bytes != 0 || bytes.checked_shr(at).unwrap_or(0) & 1 == 1)
}

/// Whether an atomic operation wrote something; one of which that isn't known did.
fn does_write(op: AtomicOp, values: &[u32]) -> bool {
    match (op, values) {
        // Of values of one word each, what was there comes first, and what it was held against last.
        (AtomicOp::CompareExchange, [old, _, compared]) => old == compared,
        _ => op.writes(),
    }
}

/// The bytes that a store leaves, as words; nothing where they aren't known, as of what atomic operations leave.
fn written(atomic: Option<AtomicOp>, record: &Record, bytes: u64) -> Option<Vec<u32>> {
    let each = bytes.checked_div(record.values.len() as u64).filter(|_| atomic.is_none())?;
    if each == 4 {
        return Some(record.values.to_vec());
    }
    // Of numbers of less than 32 bits, each has a word of its own.
    let each = usize::try_from(each).ok().filter(|each| *each < 4)?;
    let packed: Vec<u8> = record.values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(each)).collect();
    let word = |bytes: &[u8]| {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        u32::from_le_bytes(word)
    };
    Some(packed.chunks(4).map(word).collect())
}

/// Whether what two leave doesn't depend on which comes first.
fn is_same(one: &Entry, one_kind: AccessKind, other: &Entry, other_kind: AccessKind, common: u8) -> bool {
    match (one_kind, other_kind) {
        (AccessKind::Store, AccessKind::Store) => {
            one.value.zip(other.value).is_some_and(|(one, other)| (one ^ other) & bits(common) == 0)
        }
        (AccessKind::Store, AccessKind::Load) => one.is_silent,
        (AccessKind::Load, AccessKind::Store) => other.is_silent,
        _ => false,
    }
}

impl<'w> Cell<'w> {
    fn add(&mut self, entry: Entry<'w>, kind: AccessKind, clocks: &Clocks) {
        let own = entry.record.invocation;
        // Whoever conflicts with one of those conflicts with this one.
        let is_over = |other: &Entry<'w>| {
            let is_before = other.record.invocation == own || clocks.has(EXECUTION, other.record.invocation, other.time);
            is_before && other.mask & !entry.mask == 0
        };
        match kind {
            AccessKind::Store => {
                self.stores.retain(|other| !is_over(other));
                self.loads.retain(|other| !is_over(other));
                self.atomics.retain(|other| !is_over(other));
                self.stores.push(entry);
                self.written |= entry.mask;
                match entry.value {
                    Some(value) => {
                        self.known |= entry.mask;
                        self.bits = self.bits & !bits(entry.mask) | value & bits(entry.mask);
                    }
                    None => self.known &= !entry.mask,
                }
            }
            AccessKind::Atomic => {
                let is_again = |last: &Entry<'w>| {
                    let is_own = last.record.invocation == own && last.time == entry.time && last.mask == entry.mask;
                    is_own && (last.writes || !entry.writes)
                };
                if !self.atomics.last().is_some_and(is_again) {
                    self.atomics.push(entry);
                }
                if entry.writes {
                    self.written |= entry.mask;
                    self.known &= !entry.mask;
                }
            }
            _ => {
                let is_again = |last: &Entry<'w>| {
                    last.record.invocation == own
                        && last.time == entry.time
                        && last.mask == entry.mask
                        && last.record.site == entry.record.site
                };
                if !self.loads.last().is_some_and(is_again) {
                    self.loads.push(entry);
                }
            }
        }
    }
}
