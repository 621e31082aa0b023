//! Checking results whose order nobody knows: what many invocations note of a word that they all change.
//!
//! Each invocation adds up by how much its changes raised the word's weight (`glsl/include/ledger.glsl`). Whatever the order, one
//! invocation's new value is the next one's old value, so that all notes together tell the last weight less the first: a change
//! that is lost, done twice, or told wrongly leaves another sum, but for one in 2^32.

use std::collections::BTreeMap;

use crate::validate::{Expected, Mismatch, Output, Position, Verdict};

/// `x * x + x`: no two values that differ in few bits have the same, and sums of it aren't sums of the values.
fn weight(x: u32) -> u32 {
    x.wrapping_mul(x).wrapping_add(x)
}

pub fn rise(before: u32, now: u32) -> u32 {
    weight(now).wrapping_sub(weight(before))
}

/// Compares the notes of all invocations with what became of the words that they changed.
pub fn check(
    notes: Output,
    invocations: u64,
    place_of: impl Fn(usize) -> usize,
    ends: impl Fn(usize) -> (u32, u32),
) -> Verdict {
    let mut sums: BTreeMap<usize, (usize, u32)> = BTreeMap::new();
    let words = notes.words();
    if words.len() as u64 != invocations {
        return notes.compare(&Expected::words(invocations, |_| 0));
    }
    for (i, note) in words.iter().enumerate() {
        let (_, sum) = sums.entry(place_of(i)).or_insert((i, 0));
        *sum = sum.wrapping_add(*note);
    }
    let expected = |place| {
        let (first, last) = ends(place);
        rise(first, last)
    };
    let wrong: Vec<_> = sums.into_iter().filter(|(place, (_, sum))| *sum != expected(*place)).collect();
    let Some((place, (first, sum))) = wrong.first() else { return Ok(()) };
    let got = format!("one of {sum:#010x} in all");
    let right = format!("of {:#010x}, as what became of word {place} says", expected(*place));
    let found = Mismatch::single(notes.name, Position::Element(*first as u64), got, right);
    Err(Mismatch { wrong: wrong.len() as u64, total: words.len() as u64, ..found })
}

/// How many passes an output of one word has counted.
pub fn passes(output: Output) -> Result<u32, Mismatch> {
    match output.words()[..] {
        [count] if count > 0 => Ok(count),
        ref other => {
            let (got, expected) = (format!("{other:?}"), "one pass at least".to_owned());
            Err(Mismatch::single(output.name, Position::Element(0), got, expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::bytes;

    /// Three invocations add 1, 2 and 3 to one word, in some order, in two passes.
    fn notes(order: [usize; 3]) -> ([u32; 3], u32) {
        let (mut notes, mut word) = ([0_u32; 3], 7_u32);
        for i in order.into_iter().chain([0, 1, 2]) {
            let now = word + [1, 2, 3][i];
            notes[i] = notes[i].wrapping_add(rise(word, now));
            word = now;
        }
        (notes, word)
    }

    fn checked(notes: &[u32], place_of: impl Fn(usize) -> usize, ends: (u32, u32)) -> Verdict {
        check(Output { name: "notes", bytes: &bytes(notes) }, notes.len() as u64, place_of, |_| ends)
    }

    #[test]
    fn notes_balance_in_any_order() {
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let (notes, last) = notes(order);
            assert_eq!(checked(&notes, |_| 0, (7, last)), Ok(()));
        }
    }

    #[test]
    fn what_is_lost_or_told_wrongly_is_found() {
        let (right, last) = notes([0, 1, 2]);
        let verdict = |notes: &[u32], last| checked(notes, |_| 0, (7, last));
        assert!(verdict(&right, last - 1).is_err(), "a change that memory lost");
        assert!(verdict(&[right[0] ^ 1, right[1], right[2]], last).is_err());
        // Two invocations that were told the same old value.
        let raced = [rise(7, 8), rise(7, 9)];
        assert!(verdict(&raced, 10).is_err() && verdict(&raced, 9).is_err());
        assert!(check(Output { name: "notes", bytes: &[] }, 3, |_| 0, |_| (7, last)).is_err(), "no notes at all");
        let Err(mismatch) = checked(&[0, 5, 5], |i| i, (1, 1)) else { panic!("notes of nothing pass") };
        assert_eq!((mismatch.at, mismatch.wrong, mismatch.total), (Position::Element(1), 2, 3));
    }

    #[test]
    fn passes_are_counted_from_one() {
        let counted = |bytes: &[u8]| passes(Output { name: "passes", bytes });
        assert_eq!(counted(&3_u32.to_ne_bytes()), Ok(3));
        assert!(counted(&0_u32.to_ne_bytes()).is_err() && counted(&[]).is_err());
    }
}
