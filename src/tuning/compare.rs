//! What a configuration computed, beside what it should have.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::scalars::{self, Part};
use super::sized::Layout;
use crate::model::POISON;
use crate::shader::ScalarType;
use crate::validate::{Mismatch, Position};

/// How far a float may be from the reference's: by `absolute`, or by `relative` of the larger of the two. Whole numbers are exact.
/// Texels that stand for 0 to 1 count as such, and may be a step off where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// In the values' own unit; `None` for what suits the type.
    pub absolute: Option<f64>,
    /// A share; `None` for what suits the type.
    pub relative: Option<f64>,
}

impl Tolerance {
    /// By type: a few hundred steps of the last digit, as sums in another order have them.
    fn usual(scalar: ScalarType) -> (f64, f64) {
        match scalar {
            ScalarType::F64 => (1e-12, 1e-10),
            ScalarType::F32 => (1e-6, 1e-4),
            _ => (1e-3, 2e-2),
        }
    }

    fn accepts(self, scalar: ScalarType, got: f64, expected: f64) -> bool {
        self.accepts_near(Self::usual(scalar), got, expected)
    }

    /// `usual` is how far, absolutely and as a share, where nothing is said.
    pub(super) fn accepts_near(self, usual: (f64, f64), got: f64, expected: f64) -> bool {
        let (absolute, relative) = (self.absolute.unwrap_or(usual.0), self.relative.unwrap_or(usual.1));
        let apart = (got - expected).abs();
        (got.is_nan() && expected.is_nan())
            || got == expected
            || apart <= absolute
            || (apart.is_finite() && apart <= relative * got.abs().max(expected.abs()))
    }
}

/// The first number that differs and how many do; nothing where all are right.
pub(super) fn compare(name: &str, layout: &Layout, [got, expected]: [&[u8]; 2], tolerance: Tolerance) -> Option<Mismatch> {
    if got == expected {
        return None;
    }
    if got.len() != expected.len() {
        let bytes = |bytes: &[u8]| format!("{} bytes", bytes.len());
        let (wrong, total) = (1, 1);
        let at = Position::Element(0);
        return Some(Mismatch { output: name.to_owned(), at, got: bytes(got), expected: bytes(expected), wrong, total });
    }
    let layout = match layout {
        Layout::Block(layout) => layout,
        Layout::Texels(texels) => return texels.compare(name, [got, expected], tolerance),
    };
    let parts = scalars::parts(layout, got.len() as u64);
    let found: Vec<Compared> = parts.par_iter().map(|part| Compared::of(part, [got, expected], tolerance)).collect();
    let wrong = found.iter().map(|part| part.wrong).sum();
    let total = found.iter().map(|part| part.total).sum();
    let at = found.iter().position(|part| part.first.is_some())?;
    let before: u64 = found[..at].iter().map(|part| part.total).sum();
    let (index, [got, expected]) = found.into_iter().nth(at)?.first?;
    Some(Mismatch { output: name.to_owned(), at: Position::Element(before + index), got, expected, wrong, total })
}

/// What came of a part of a buffer.
#[derive(Default)]
struct Compared {
    /// The first wrong number: which one of the part it is, what it is, and what it should be.
    first: Option<(u64, [String; 2])>,
    wrong: u64,
    total: u64,
}

impl Compared {
    fn of(part: &Part, sides: [&[u8]; 2], tolerance: Tolerance) -> Self {
        let mut found = Self::default();
        part.for_each(&mut |at, scalar| {
            let [own, right] = sides.map(|bytes| number(bytes, at, scalar));
            // What was never written is a NaN of its own, and none that was computed.
            let is_unwritten = [own, right].iter().any(|bytes| is_poison(bytes, at));
            if own != right && (is_unwritten || !is_near(scalar, own, right, tolerance)) {
                found.wrong += 1;
                if found.first.is_none() {
                    found.first = Some((found.total, [own, right].map(|bytes| shown(scalar, bytes))));
                }
            }
            found.total += 1;
        });
        found
    }
}

fn number(bytes: &[u8], at: u64, scalar: ScalarType) -> &[u8] {
    let start = usize::try_from(at).unwrap_or(usize::MAX);
    let length = usize::try_from(scalar.bytes()).unwrap_or(0);
    bytes.get(start..start.saturating_add(length)).unwrap_or_default()
}

/// Whether a number still is what the reset left there.
fn is_poison(bytes: &[u8], at: u64) -> bool {
    let poison = POISON.to_ne_bytes();
    let start = usize::try_from(at % 4).unwrap_or(0);
    bytes.len() >= 4 && bytes.iter().eq(poison.iter().cycle().skip(start).take(bytes.len()))
}

fn is_near(scalar: ScalarType, got: &[u8], expected: &[u8], tolerance: Tolerance) -> bool {
    match (real(scalar, got), real(scalar, expected)) {
        (Some(got), Some(expected)) => tolerance.accepts(scalar, got, expected),
        _ => false,
    }
}

/// A float's value; nothing for whole numbers, and for floats of 8 bits, whose encoding isn't known.
fn real(scalar: ScalarType, bytes: &[u8]) -> Option<f64> {
    Some(match scalar {
        ScalarType::F64 => f64::from_ne_bytes(bytes.try_into().ok()?),
        ScalarType::F32 => f32::from_ne_bytes(bytes.try_into().ok()?).into(),
        ScalarType::F16 => half::f16::from_ne_bytes(bytes.try_into().ok()?).to_f64(),
        ScalarType::OtherFloat(2) => half::bf16::from_ne_bytes(bytes.try_into().ok()?).to_f64(),
        _ => return None,
    })
}

fn shown(scalar: ScalarType, bytes: &[u8]) -> String {
    if let Some(real) = real(scalar, bytes) {
        return format!("{real:?}");
    }
    let mut wide = [0; 8];
    let length = bytes.len().min(8);
    if cfg!(target_endian = "big") {
        wide[8 - length..].copy_from_slice(&bytes[..length]);
    } else {
        wide[..length].copy_from_slice(&bytes[..length]);
    }
    scalar.shown(u64::from_ne_bytes(wide))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(scalar: ScalarType, got: &[u8], expected: &[u8], tolerance: Tolerance) -> Option<Mismatch> {
        compare("out", &Layout::Block(scalars::plain(scalar)), [got, expected], tolerance)
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    #[test]
    fn whole_numbers_are_exact_and_the_first_wrong_one_is_named() {
        let words = |words: &[i32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let mismatch = found(ScalarType::I32, &words(&[1, -2, 4]), &words(&[1, 2, 3]), Tolerance::default()).unwrap();
        assert_eq!(mismatch.to_string(), "out[1] is -2, should be 2 (2 of 3 elements are wrong)");
        assert_eq!(found(ScalarType::I32, &words(&[1]), &words(&[1]), Tolerance::default()), None);
    }

    #[test]
    fn floats_may_be_a_little_off() {
        let exact = Tolerance { absolute: Some(0.0), relative: Some(0.0) };
        let (one, other) = (floats(&[1.0, f32::NAN, f32::INFINITY]), floats(&[1.000_01, f32::NAN, f32::INFINITY]));
        assert_eq!(found(ScalarType::F32, &one, &other, Tolerance::default()), None);
        assert_eq!(found(ScalarType::F32, &one, &other, exact).unwrap().wrong, 1);
        let half = Tolerance { absolute: Some(0.5), relative: Some(0.0) };
        assert_eq!(found(ScalarType::F32, &floats(&[8.5]), &floats(&[8.0]), half), None);
        for wrong in [8.6, f32::NAN, f32::INFINITY, f32::from_bits(POISON)] {
            assert!(found(ScalarType::F32, &floats(&[wrong]), &floats(&[8.0]), half).is_some(), "{wrong}");
        }
    }

    #[test]
    fn what_was_never_written_is_no_nan_that_was_computed() {
        let (unwritten, nan) = (POISON.to_ne_bytes(), f32::NAN.to_ne_bytes());
        let any = Tolerance { absolute: Some(f64::MAX), relative: Some(1.0) };
        assert_eq!(found(ScalarType::F32, &unwritten, &nan, any).unwrap().wrong, 1);
        assert_eq!(found(ScalarType::F32, &nan, &unwritten, any).unwrap().wrong, 1);
        assert_eq!(found(ScalarType::F32, &unwritten, &unwritten, any), None);
        assert_eq!(found(ScalarType::F64, &[unwritten; 2].concat(), &f64::NAN.to_ne_bytes(), any).unwrap().wrong, 1);
    }

    #[test]
    fn another_size_is_no_match() {
        let mismatch = found(ScalarType::U32, &[0; 8], &[0; 4], Tolerance::default()).unwrap();
        assert_eq!((mismatch.got.as_str(), mismatch.expected.as_str()), ("8 bytes", "4 bytes"));
    }
}
