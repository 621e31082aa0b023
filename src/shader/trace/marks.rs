//! Which sectors of its buffers a dispatch touches: a module that sets a bit for each that it loads, and another for each that it stores.
//!
//! Records tell that of a few workgroups; how much of it all of them have in common, only all of them tell.

use rspirv::dr::Instruction;
use rspirv::spirv::{Op, Word};
use serde::{Deserialize, Serialize};

use super::writer::Writer;
use super::{AccessKind, Root, Run, Site, Space, Target, TraceError, TraceOptions, Traced};
use crate::shader::edit::{Editor, WordBuffer, keep_entry};
use crate::shader::loader::load;
use crate::shader::reflect::SpecValues;
use crate::shader::validator::validate_rewritten;

/// Sectors of one access that are marked, at most: each is code of its own.
const MOST_OF_ACCESS: usize = 32;

/// An access of up to so many bytes doesn't cross the end of a sector.
const ALIGNED_BYTES: u64 = 4;

const WORD_BITS: u32 = 32;

/// Where the bits are: those of loads and those of stores, buffer by buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    sector_bytes: u64,
    /// By the roots' indexes; nothing of what isn't a buffer that one descriptor leads to.
    roots: Vec<Option<MarkedRoot>>,
    words: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MarkedRoot {
    sectors: u32,
    /// The words in which the bits begin.
    loaded: u32,
    stored: u32,
}

/// Bytes of buffers that a dispatch touches, in whole sectors, each once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    pub loaded_bytes: u64,
    pub stored_bytes: u64,
    /// Whether accesses to memory, or some of them, aren't among them.
    pub is_partial: bool,
}

/// The first word takes the bits of what lies beyond its buffer.
const SPARE_WORD: u32 = 0;

impl Marks {
    /// Of sectors whose size is a power of two; `bytes` tells how large a variable's buffer is. Nothing where bits have no room.
    pub fn of(traced: &Traced, sector_bytes: u64, bytes: impl Fn(&Root) -> Option<u64>) -> Option<Self> {
        let mut new = Self { sector_bytes, roots: Vec::new(), words: SPARE_WORD + 1 };
        for root in &traced.roots {
            let bytes = bytes(root).filter(|_| matches!(root.space, Space::Storage { .. }));
            let marked = match bytes {
                Some(bytes) => Some(new.take(bytes)?),
                None => None,
            };
            new.roots.push(marked);
        }
        Some(new)
    }

    fn take(&mut self, bytes: u64) -> Option<MarkedRoot> {
        let sectors = u32::try_from(bytes.div_ceil(self.sector_bytes)).ok()?;
        let each = sectors.div_ceil(WORD_BITS);
        let loaded = self.words;
        let stored = loaded.checked_add(each)?;
        self.words = stored.checked_add(each)?;
        Some(MarkedRoot { sectors, loaded, stored })
    }

    /// How large the buffer of the bits must be. Before a pass it must be zero.
    pub fn bytes(&self) -> u64 {
        4 * u64::from(self.words)
    }

    /// Whether an instruction marks what it touches. One that touches no memory does.
    pub fn mark(&self, site: &Site) -> bool {
        match &site.target {
            Target::Nothing => true,
            Target::Root { root, is_array, runs } => {
                let is_marked = self.roots.get(*root).is_some_and(Option::is_some);
                is_marked && !is_array && self.places(runs).len() <= MOST_OF_ACCESS
            }
            Target::Chosen { .. } | Target::Address { .. } | Target::Unfollowed(_) => false,
        }
    }

    /// Bytes, counted from the offset of an access, one in each sector that it may touch.
    fn places(&self, runs: &[Run]) -> Vec<u64> {
        let of_run = |run: &Run| {
            let last = run.offset + run.bytes.max(1) - 1;
            if run.bytes <= ALIGNED_BYTES {
                return vec![run.offset];
            }
            let step = usize::try_from(self.sector_bytes).unwrap_or(usize::MAX);
            (run.offset..last).step_by(step).chain([last]).collect::<Vec<_>>()
        };
        runs.iter().flat_map(of_run).collect()
    }

    /// What was touched, out of the buffer's bytes.
    pub fn touched(&self, bits: &[u8]) -> Touched {
        let count = |first: u32, sectors: u32| {
            let bytes = bits.iter().skip(4 * first as usize).take(4 * sectors.div_ceil(WORD_BITS) as usize);
            bytes.map(|byte| u64::from(byte.count_ones())).sum::<u64>() * self.sector_bytes
        };
        let marked = || self.roots.iter().flatten();
        Touched {
            loaded_bytes: marked().map(|root| count(root.loaded, root.sectors)).sum(),
            stored_bytes: marked().map(|root| count(root.stored, root.sectors)).sum(),
            is_partial: false,
        }
    }

    /// Sets the bits of what an access touches.
    pub(super) fn write(
        &self,
        edit: &mut Editor,
        buffer: &WordBuffer,
        (kind, target): (AccessKind, &Target),
        offset: Word,
        code: &mut Vec<Instruction>,
    ) {
        let Target::Root { root, runs, .. } = target else { return };
        let Some(MarkedRoot { sectors, loaded, stored }) = self.roots.get(*root).copied().flatten() else { return };
        let first: &[u32] = match kind {
            AccessKind::Load => &[loaded],
            AccessKind::Store => &[stored],
            AccessKind::Atomic => &[loaded, stored],
            AccessKind::Barrier | AccessKind::Fence => &[],
        };
        let uint = edit.uint;
        let [one, five, low, end, spare] =
            [1, WORD_BITS.ilog2(), WORD_BITS - 1, sectors, SPARE_WORD].map(|value| edit.constant(value));
        let shift = edit.constant(self.sector_bytes.ilog2());
        for place in self.places(runs) {
            let place = edit.constant(u32::try_from(place).unwrap_or(u32::MAX));
            let byte = edit.emit(code, Op::IAdd, uint, &[offset, place]);
            let sector = edit.emit(code, Op::ShiftRightLogical, uint, &[byte, shift]);
            let is_within = edit.emit(code, Op::ULessThan, edit.bool, &[sector, end]);
            let word = edit.emit(code, Op::ShiftRightLogical, uint, &[sector, five]);
            let place = edit.emit(code, Op::BitwiseAnd, uint, &[sector, low]);
            let bit = edit.emit(code, Op::ShiftLeftLogical, uint, &[one, place]);
            for first in first {
                let first = edit.constant(*first);
                let at = edit.emit(code, Op::IAdd, uint, &[word, first]);
                let at = edit.emit(code, Op::Select, uint, &[is_within, at, spare]);
                edit.change_word_at(Op::AtomicOr, buffer, at, bit, code);
            }
        }
    }
}

/// A module that marks, and the set and binding of the storage buffer that it does so in.
pub struct Marking {
    pub words: Vec<u32>,
    pub place: (u32, u32),
}

impl Marking {
    /// Rewrites a module for one entry point, as [`Traced::of`] does: these of its instructions mark what they touch.
    pub fn of(words: &[u32], entry: &str, constants: &SpecValues, marks: &Marks, sites: &[usize]) -> Result<Self, TraceError> {
        let mut module = load(words)?;
        let function = keep_entry(&mut module, entry)?;
        let options = TraceOptions { sites: Some(sites), ..TraceOptions::default() };
        let mut writer = Writer::new(module, constants, &options)?.marking(marks.clone());
        writer.instrument(function)?;
        let marking = writer.finish_marking()?;
        validate_rewritten(words, &marking.words)?;
        Ok(marking)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_marks_each_sector_that_it_may_touch() {
        let marks = Marks { sector_bytes: 32, roots: Vec::new(), words: 1 };
        let places = |offset, bytes| marks.places(&[Run { offset, bytes }]);
        assert_eq!(places(8, 4), [8]);
        assert_eq!(places(0, 16), [0, 15]);
        assert_eq!(places(4, 100), [4, 36, 68, 100, 103]);
        assert_eq!(marks.places(&[Run { offset: 0, bytes: 4 }, Run { offset: 64, bytes: 4 }]), [0, 64]);
    }

    #[test]
    fn bits_are_counted_buffer_by_buffer() {
        let root = |sectors, loaded, stored| Some(MarkedRoot { sectors, loaded, stored });
        let marks = Marks { sector_bytes: 32, roots: vec![root(33, 1, 3), None, root(4, 5, 6)], words: 7 };
        let mut bits = vec![0_u8; 28];
        // What lies beyond its buffer counts for none.
        bits[0] = 0xff;
        for (byte, value) in [(4, 0b101), (8, 1), (12, 0b1), (20, 0b1111), (24, 0b11)] {
            bits[byte] = value;
        }
        let touched = Touched { loaded_bytes: 32 * 7, stored_bytes: 32 * 3, is_partial: false };
        assert_eq!((marks.touched(&bits), marks.bytes()), (touched, 28));
    }
}
