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

/// What an output must hold, as a CPU twin computed it.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// 32-bit words, compared exactly.
    Words(Vec<u32>),
    /// `f32` values, compared bit by bit: test data are chosen so that no intermediate rounds.
    Floats(Vec<f32>),
}

impl Expected {
    /// The bytes that a right device would write.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Words(words) => bytemuck::cast_slice(words),
            Self::Floats(floats) => bytemuck::cast_slice(floats),
        }
    }

    fn show(&self, bits: u32) -> String {
        match self {
            Self::Words(_) => format!("{bits:#010x}"),
            Self::Floats(_) => format!("{:?}", f32::from_bits(bits)),
        }
    }
}

/// Compares every element of an output with what it must hold.
pub fn compare(output: &str, got: &[u8], expected: &Expected) -> Verdict {
    let want = expected.bytes();
    if got == want {
        return Verdict::Right;
    }
    let word = |bytes: &[u8]| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let pairs = || got.chunks_exact(4).zip(want.chunks_exact(4)).map(|(got, want)| (word(got), word(want)));
    let wrong = pairs().filter(|(got, want)| got != want).count();
    match (0_u64..).zip(pairs()).find(|(_, (got, want))| got != want) {
        Some((index, (got, want))) => Verdict::Wrong(Mismatch {
            output: output.to_owned(),
            index,
            got: expected.show(got),
            expected: expected.show(want),
            wrong: wrong as u64,
            total: element_count(expected),
        }),
        None => Verdict::Wrong(Mismatch {
            output: output.to_owned(),
            index: (got.len().min(want.len()) / 4) as u64,
            got: format!("{} bytes in all", got.len()),
            expected: format!("{} bytes in all", want.len()),
            wrong: got.len().abs_diff(want.len()).div_ceil(4) as u64,
            total: element_count(expected),
        }),
    }
}

fn element_count(expected: &Expected) -> u64 {
    (expected.bytes().len() / 4) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn the_first_wrong_element_is_named_and_all_are_counted() {
        let expected = Expected::Words(vec![1, 2, 3, 4]);
        assert_eq!(compare("out", &bytes(&[1, 2, 3, 4]), &expected), Verdict::Right);
        let Verdict::Wrong(mismatch) = compare("out", &bytes(&[1, 9, 3, 9]), &expected) else { panic!("wrong words pass") };
        assert_eq!((mismatch.index, mismatch.wrong, mismatch.total), (1, 2, 4));
        assert_eq!(mismatch.to_string(), "out[1] is 0x00000009, should be 0x00000002 (2 of 4 elements are wrong)");
    }

    #[test]
    fn a_missing_tail_is_wrong() {
        let expected = Expected::Words(vec![1, 2]);
        let Verdict::Wrong(mismatch) = compare("out", &bytes(&[1]), &expected) else { panic!("a short output passes") };
        assert_eq!((mismatch.index, mismatch.wrong), (1, 1));
    }

    #[test]
    fn floats_differ_in_sign_of_zero() {
        assert!(matches!(compare("out", &0.0_f32.to_ne_bytes(), &Expected::Floats(vec![-0.0])), Verdict::Wrong(_)));
    }
}
