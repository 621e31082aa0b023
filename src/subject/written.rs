//! What a pass left in an output, and what of it no pass wrote.

use crate::model::{OTHER_POISON, POISON};

#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    /// A bit for each byte that was never written; empty where all were.
    unwritten: Vec<u64>,
}

impl Written {
    /// After one pass, and where there is one, after another over the other poison. A word that holds its poison after both was
    /// never written. After one alone, a whole word that holds it may have been computed.
    pub(super) fn of(bytes: Vec<u8>, other: Option<&[u8]>) -> Self {
        let (poison, second) = (POISON.to_ne_bytes(), OTHER_POISON.to_ne_bytes());
        let mut unwritten = Vec::new();
        for (place, word) in bytes.chunks(4).enumerate() {
            let mask = match other.and_then(|other| other.get(place * 4..place * 4 + word.len())) {
                Some(other) => (0..word.len())
                    .filter(|byte| word[*byte] == poison[*byte] && other[*byte] == second[*byte])
                    .fold(0, |mask, byte| mask | 1 << byte),
                None if word == poison => 0b1111,
                None => 0,
            };
            if mask != 0 {
                unwritten.resize(bytes.len().div_ceil(64), 0);
                unwritten[place / 16] |= mask << (place % 16 * 4);
            }
        }
        Self { bytes, unwritten }
    }

    /// What a later pass left, which may have written what the first one didn't.
    pub(super) fn later(&self, bytes: Vec<u8>) -> Self {
        let mut later = self.with(bytes);
        let poison = POISON.to_ne_bytes();
        for (place, byte) in later.bytes.iter().enumerate() {
            if *byte != poison[place % 4] {
                if let Some(word) = later.unwritten.get_mut(place / 64) {
                    *word &= !(1 << (place % 64));
                }
            }
        }
        later
    }

    /// The same, in which what is still as it was counts as never written; nothing where all is.
    pub(super) fn changed(&self, before: &[u8]) -> Option<Self> {
        let mut unwritten = vec![0_u64; self.bytes.len().div_ceil(64)];
        let same = self.bytes.iter().zip(before).enumerate().filter(|(_, (own, before))| own == before);
        same.for_each(|(at, _)| unwritten[at / 64] |= 1 << (at % 64));
        unwritten.iter_mut().zip(&self.unwritten).for_each(|(own, known)| *own |= known);
        let kept: u64 = unwritten.iter().map(|word| u64::from(word.count_ones())).sum();
        (kept < self.bytes.len() as u64).then(|| Self { bytes: self.bytes.clone(), unwritten })
    }

    /// Other bytes, of which the same were never written.
    pub(super) fn with(&self, bytes: Vec<u8>) -> Self {
        Self { bytes, unwritten: self.unwritten.clone() }
    }

    pub(super) fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Whether none of these bytes was ever written.
    pub(super) fn is_unwritten(&self, at: u64, length: u64) -> bool {
        let is_it = |byte: u64| {
            let word = usize::try_from(byte / 64).ok().and_then(|word| self.unwritten.get(word));
            word.is_some_and(|word| word & (1 << (byte % 64)) != 0)
        };
        self.has_unwritten() && (at..at.saturating_add(length)).all(is_it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_holds_both_poisons_was_never_written() {
        let words = |words: [u32; 3]| words.map(u32::to_ne_bytes).concat();
        let (first, second) = (words([POISON, POISON, 7]), words([OTHER_POISON, POISON, 7]));
        let both = Written::of(first.clone(), Some(&second));
        assert!(both.is_unwritten(0, 4) && !both.is_unwritten(4, 4) && !both.is_unwritten(0, 8) && !both.is_unwritten(8, 4));
        let one = Written::of(first, None);
        assert!(one.is_unwritten(0, 8) && !one.is_unwritten(8, 4));
        assert!(!Written::of(words([1, 2, 3]), None).has_unwritten());
    }

    #[test]
    fn what_a_later_pass_left_is_told_by_the_first() {
        let halves = |first: u16| {
            let mut bytes = POISON.to_ne_bytes();
            bytes[..2].copy_from_slice(&first.to_ne_bytes());
            bytes
        };
        let mut second = OTHER_POISON.to_ne_bytes();
        second[..2].copy_from_slice(&7_u16.to_ne_bytes());
        let first = Written::of(halves(7).to_vec(), Some(&second));
        let later = first.with(Vec::new()).later(halves(9).to_vec());
        assert!(later.is_unwritten(2, 2) && !later.is_unwritten(0, 2), "a word of which one half was written");
        let whole = first.later(vec![1, 2, 3, 4]);
        assert!(!whole.is_unwritten(2, 2));
    }

    #[test]
    fn what_is_as_it_was_counts_as_never_written() {
        let written = Written::of(vec![1, 2, 3, 4, 5, 6, 7, 8], None);
        let changed = written.changed(&[1, 2, 3, 4, 5, 0, 7, 8]).unwrap();
        assert!(changed.is_unwritten(0, 5) && !changed.is_unwritten(4, 4) && changed.is_unwritten(6, 2));
        assert!(written.changed(&written.bytes).is_none());
    }

    #[test]
    fn halves_of_a_word_are_told_apart() {
        let (mut first, mut second) = (POISON.to_ne_bytes(), OTHER_POISON.to_ne_bytes());
        (first[0], second[0]) = (9, 9);
        (first[1], second[1]) = (8, 8);
        let halves = Written::of(first.to_vec(), Some(&second));
        assert!(!halves.is_unwritten(0, 2) && halves.is_unwritten(2, 2));
        let poisons = POISON.to_ne_bytes().into_iter().zip(OTHER_POISON.to_ne_bytes());
        assert!(poisons.into_iter().all(|(one, other)| one != other));
    }
}
