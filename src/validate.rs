//! Comparing what a device computed with what its CPU twin says.

use std::fmt;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every element was compared and is right.
    Right,
    /// Something is wrong.
    Wrong(Mismatch),
}

/// The first wrong element, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The output's name.
    pub output: String,
    /// Index of the first wrong element.
    pub index: u64,
    /// What the device wrote there.
    pub got: String,
    /// What the twin says.
    pub expected: String,
    /// Wrong elements in this output.
    pub wrong: u64,
    /// Elements in this output.
    pub total: u64,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { output, index, got, expected, wrong, total } = self;
        write!(f, "{output}[{index}] is {got}, should be {expected} ({wrong} of {total} elements are wrong)")
    }
}

/// Compares every 32-bit word of an output with the twin's word at the same index.
pub fn compare_words(output: &str, bytes: &[u8], expected: impl Fn(u64) -> u32) -> Verdict {
    compare(output, bytes, expected, |word| word, |word| format!("{word:#010x}"))
}

/// Compares every `f32` of an output, bit by bit, with the twin's.
pub fn compare_floats(output: &str, bytes: &[u8], expected: impl Fn(u64) -> f32) -> Verdict {
    compare(output, bytes, expected, f32::to_bits, |bits| format!("{:?}", f32::from_bits(bits)))
}

fn compare<T>(
    output: &str,
    bytes: &[u8],
    expected: impl Fn(u64) -> T,
    bits: impl Fn(T) -> u32,
    show: impl Fn(u32) -> String,
) -> Verdict {
    let mut first = None;
    let mut wrong = 0;
    let mut total = 0;
    for (index, word) in (0_u64..).zip(bytes.chunks_exact(4)) {
        let got = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
        let want = bits(expected(index));
        total += 1;
        if got != want {
            wrong += 1;
            first.get_or_insert((index, got, want));
        }
    }
    match first {
        None => Verdict::Right,
        Some((index, got, want)) => {
            Verdict::Wrong(Mismatch { output: output.to_owned(), index, got: show(got), expected: show(want), wrong, total })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wrong_element_is_named_and_all_are_counted() {
        let bytes: Vec<u8> = [1_u32, 9, 3, 9].iter().flat_map(|w| w.to_ne_bytes()).collect();
        assert_eq!(compare_words("out", &bytes[..4], |i| i as u32 + 1), Verdict::Right);
        let Verdict::Wrong(mismatch) = compare_words("out", &bytes, |i| i as u32 + 1) else { panic!("wrong words pass") };
        assert_eq!((mismatch.index, mismatch.wrong, mismatch.total), (1, 2, 4));
    }

    #[test]
    fn floats_differ_in_sign_of_zero() {
        let bytes = 0.0_f32.to_ne_bytes();
        assert!(matches!(compare_floats("out", &bytes, |_| -0.0), Verdict::Wrong(_)));
    }
}
