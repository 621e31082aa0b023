//! What a user's buffer or image holds before anything runs.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use flate2::read::GzDecoder;
use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use super::scalars;
use crate::digest;
use crate::model::{FilePath, Sequence, Shown, Skip, path_text, words};
use crate::regular::{self, DATA};
use crate::shader::{ScalarType, StructLayout};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Seeded: floats of 0 to 1, whole numbers below the count of the buffer's elements, so that those that are indexes stay within;
    /// any bits of texels that stand for 0 to 1.
    Random,
    Zero,
    /// 0, 1, 2, ... through all numbers of the buffer, as far as each one's type goes.
    Iota,
    Constant(#[serde(with = "crate::model::real")] f64),
    /// The bytes of a file, which has to have as many.
    File(FilePath),
    /// What a second trial fills with instead of [`Fill::Random`]; no user says it.
    #[serde(skip)]
    Unusual(Unusual),
}

words! {
    /// Inputs unlike the usual random ones, on which a configuration may fail that is right on those.
    pub enum Unusual, as_str {
        OtherSeed = "another seed",
        NegativeFloats = "floats of both signs",
        NegativeWholes = "whole numbers of both signs",
        BelowZeroFloats = "floats below zero",
        BelowZeroWholes = "whole numbers below zero",
        Zeros = "zeros",
        EqualNeighbours = "equal neighbours",
        LargeFloats = "large floats",
        LargeWholes = "large whole numbers",
    }
}

/// How many numbers in a row are equal, and how many are told apart in all.
const EQUAL: u64 = 3;
const LEVELS: u64 = 8;

/// What differs from the subject's usual inputs: all buffers and images that the user doesn't fill, or the one at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variation {
    pub how: Unusual,
    pub only: Option<(u32, u32, u32)>,
}

impl FromStr for Fill {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let constant = |value: &str| value.trim().parse().map_err(|_| format!("`{value}` is no number")).map(Self::Constant);
        match text.split_once('=') {
            Some(("constant", value)) => constant(value),
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(FilePath::of_text(path))),
            None if text == "random" => Ok(Self::Random),
            None if text == "zero" => Ok(Self::Zero),
            None if text == "iota" => Ok(Self::Iota),
            _ => Err(format!("`{text}` is no fill: random, zero, iota, constant=VALUE or file=PATH is needed")),
        }
    }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str("random"),
            Self::Zero => f.write_str("zero"),
            Self::Iota => f.write_str("iota"),
            Self::Constant(value) => write!(f, "constant={value}"),
            Self::File(path) => write!(f, "file={}", path_text(path)),
            Self::Unusual(unusual) => f.write_str(unusual.as_str()),
        }
    }
}

impl Fill {
    pub(super) fn file(&self) -> Option<&FilePath> {
        if let Self::File(path) = self { Some(path) } else { None }
    }

    /// The bytes of a buffer of this layout. `elements` is what whole random numbers stay below.
    pub(super) fn bytes(&self, layout: &StructLayout, bytes: u64, elements: u64, seed: u64) -> Result<Vec<u8>, Skip> {
        if let Self::File(path) = self {
            return file(path, bytes, "the buffer");
        }
        let mut filled = room(bytes)?;
        if *self == Self::Zero {
            return Ok(filled);
        }
        scalars::fill(layout, &mut filled, &|bytes, scalar, index| {
            write(bytes, scalar, self.number(scalar, index, elements, seed));
        });
        Ok(filled)
    }

    #[expect(clippy::cast_precision_loss, reason = "test data: what a type can't hold is rounded")]
    fn number(&self, scalar: ScalarType, index: u64, elements: u64, seed: u64) -> Number {
        match self {
            Self::Random if scalar.is_float() => Number::Real(unit(seed, index)),
            Self::Random => Number::Whole(wide(seed, index) % most(scalar).min(elements).max(1)),
            Self::Iota if scalar.is_float() => Number::Real(index as f64),
            Self::Iota => Number::Whole(index),
            Self::Constant(value) => Number::of(*value, scalar),
            Self::Unusual(unusual) => {
                let most = most(scalar);
                let of =
                    Range { elements: most.min(elements).max(1), most, large: large(scalar), is_signed: scalar.is_signed() };
                match scalar.is_float() {
                    true => Number::Real(unusual.real(of, index, seed)),
                    false => Number::Whole(unusual.whole(of, index, seed)),
                }
            }
            Self::Zero | Self::File(_) => Number::Whole(0),
        }
    }
}

/// What numbers of a type may be.
#[derive(Clone, Copy)]
pub(super) struct Range {
    /// Whole numbers below this stay within the buffer.
    pub(super) elements: u64,
    /// How many whole numbers from 0 on there are.
    pub(super) most: u64,
    /// A float that is large, and far from the end of its type.
    pub(super) large: f64,
    pub(super) is_signed: bool,
}

impl Unusual {
    #[expect(clippy::cast_precision_loss, reason = "a few levels")]
    pub(super) fn real(self, Range { large, .. }: Range, index: u64, seed: u64) -> f64 {
        match self {
            Self::OtherSeed | Self::NegativeWholes | Self::BelowZeroWholes | Self::LargeWholes => unit(seed, index),
            // What begins at zero, as a maximum may, never gets below it.
            Self::BelowZeroFloats => unit(seed, index) - 1.0,
            Self::NegativeFloats => 2.0 * unit(seed, index) - 1.0,
            Self::LargeFloats => large * unit(seed, index),
            Self::Zeros => 0.0,
            Self::EqualNeighbours => (wide(seed, index / EQUAL) % LEVELS) as f64 / LEVELS as f64,
        }
    }

    /// Two's complement, where it is negative.
    pub(super) fn whole(self, Range { elements, most, is_signed, .. }: Range, index: u64, seed: u64) -> u64 {
        let usual = wide(seed, index) % elements;
        match self {
            Self::NegativeWholes if is_signed && wide(seed, index) >> 63 == 1 => usual.wrapping_neg(),
            Self::BelowZeroWholes if is_signed => usual.wrapping_neg().wrapping_sub(1),
            Self::OtherSeed | Self::LargeFloats => usual,
            Self::NegativeFloats | Self::NegativeWholes | Self::BelowZeroFloats | Self::BelowZeroWholes => usual,
            Self::LargeWholes => wide(seed, index) % most,
            Self::Zeros => 0,
            Self::EqualNeighbours => wide(seed, index / EQUAL) % elements.min(LEVELS),
        }
    }
}

fn large(scalar: ScalarType) -> f64 {
    match scalar {
        ScalarType::F64 => 1e12,
        ScalarType::F16 | ScalarType::OtherFloat(1) => 1e3,
        _ => 1e6,
    }
}

#[derive(Clone, Copy)]
pub(super) enum Number {
    Whole(u64),
    Real(f64),
}

impl Number {
    #[expect(clippy::cast_possible_truncation, reason = "what a type can't hold is cut off")]
    fn of(value: f64, scalar: ScalarType) -> Self {
        if scalar.is_float() { Self::Real(value) } else { Self::Whole(u64::from_ne_bytes((value as i64).to_ne_bytes())) }
    }
}

/// A number of 0 to 1, of 24 bits: all floats but those of 16 bits and less hold it exactly.
pub(super) fn unit(seed: u64, index: u64) -> f64 {
    f64::from(Sequence::Words { seed }.word(index) >> 8) / f64::from(1 << 24)
}

pub(super) fn wide(seed: u64, index: u64) -> u64 {
    let words = Sequence::Words { seed };
    (u64::from(words.word(2 * index)) << 32) | u64::from(words.word(2 * index + 1))
}

/// How many whole numbers from 0 on a type has.
fn most(scalar: ScalarType) -> u64 {
    let bits = 8 * scalar.bytes() - u64::from(scalar.is_signed());
    if scalar == ScalarType::Bool { 2 } else { 1 << bits.min(63) }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a number takes its type"
)]
pub(super) fn write(target: &mut [u8], scalar: ScalarType, number: Number) {
    let (whole, real) = match number {
        Number::Whole(whole) => (whole, whole as f64),
        Number::Real(real) => (real as u64, real),
    };
    match scalar {
        ScalarType::F64 => target[..8].copy_from_slice(&real.to_ne_bytes()),
        ScalarType::F32 => target[..4].copy_from_slice(&(real as f32).to_ne_bytes()),
        ScalarType::F16 => target[..2].copy_from_slice(&f16::from_f64(real).to_ne_bytes()),
        ScalarType::OtherFloat(2) => target[..2].copy_from_slice(&bf16::from_f64(real).to_ne_bytes()),
        // Floats of 8 bits: patterns of numbers from 0 to about 1, in both encodings.
        ScalarType::OtherFloat(_) => target[0] = (real * 56.0) as u8,
        _ => {
            let bytes = usize::try_from(scalar.bytes()).unwrap_or(8);
            target[..bytes].copy_from_slice(&whole.to_le_bytes()[..bytes]);
        }
    }
}

pub(super) fn room(bytes: u64) -> Result<Vec<u8>, Skip> {
    let length = usize::try_from(bytes).unwrap_or(usize::MAX);
    let mut filled = Vec::new();
    filled.try_reserve_exact(length).map_err(|_| Skip::new(format!("the host has no {bytes} bytes to fill a buffer with")))?;
    filled.resize(length, 0);
    Ok(filled)
}

pub(super) fn file(path: &Path, bytes: u64, what: &str) -> Result<Vec<u8>, Skip> {
    let failed = |error| Skip::new(format!("can't read {}: {error}", path.shown()));
    let mut file = regular::open(path, DATA).map_err(failed)?;
    let wrong = |has: u64| Skip::new(format!("{} has {has} bytes, {what} {bytes}", path.shown()));
    let mut read = Vec::new();
    if is_compressed(path) {
        GzDecoder::new(file).take(bytes.saturating_add(1)).read_to_end(&mut read).map_err(failed)?;
        match read.len() as u64 {
            has if has > bytes => {
                let shown = path.shown();
                return Err(Skip::new(format!("{shown} has more than {bytes} bytes: it is damaged, or of something else")));
            }
            has if has < bytes => return Err(wrong(has)),
            _ => {}
        }
    } else {
        let has = file.metadata().map_err(failed)?.len();
        if has != bytes {
            return Err(wrong(has));
        }
        read = room(bytes)?;
        file.read_exact(&mut read).map_err(failed)?;
    }
    check_contents(path, &read)?;
    Ok(read)
}

/// Files of captured kernels are called after what they hold.
fn check_contents(path: &Path, bytes: &[u8]) -> Result<(), Skip> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_right = !digest::names_contents(&name) || name.split('.').next() == Some(&digest::of_contents(bytes));
    let damaged =
        || format!("{} isn't what was captured: its name is of other bytes. Copy it again, or rename it", path.shown());
    if is_right { Ok(()) } else { Err(Skip::new(damaged())) }
}

/// By its name: `a.bin.gz`.
pub(super) fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "gz")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(fill: &str, scalar: ScalarType, bytes: u64, elements: u64) -> Vec<u8> {
        fill.parse::<Fill>().unwrap().bytes(&scalars::plain(scalar), bytes, elements, 7).unwrap()
    }

    fn floats(bytes: &[u8]) -> Vec<f32> {
        bytes.chunks_exact(4).map(|word| f32::from_ne_bytes(word.try_into().unwrap())).collect()
    }

    #[test]
    fn fills_say_what_they_are() {
        for text in ["random", "zero", "iota", "constant=1.5", "file=a b.bin"] {
            assert_eq!(text.parse::<Fill>().unwrap().to_string(), text);
        }
        for wrong in ["", "ones", "constant", "constant=x", "file=", "random=1"] {
            assert!(wrong.parse::<Fill>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_take_their_types() {
        assert_eq!(floats(&filled("iota", ScalarType::F32, 12, 3)), [0.0, 1.0, 2.0]);
        assert_eq!(floats(&filled("constant=-0.5", ScalarType::F32, 8, 2)), [-0.5, -0.5]);
        assert_eq!(filled("iota", ScalarType::U8, 4, 4), [0, 1, 2, 3]);
        assert_eq!(filled("constant=-1", ScalarType::I16, 4, 2), [255; 4]);
        assert_eq!(filled("constant=2", ScalarType::F16, 2, 1), f16::from_f32(2.0).to_ne_bytes());
        assert_eq!(filled("zero", ScalarType::F64, 8, 1), [0; 8]);
    }

    #[test]
    fn random_floats_are_within_one_and_whole_numbers_within_the_buffer() {
        let random = floats(&filled("random", ScalarType::F32, 4000, 1000));
        assert!(random.iter().all(|value| (0.0..1.0).contains(value)));
        let mean = random.iter().sum::<f32>() / 1000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
        let indexes = filled("random", ScalarType::U32, 4000, 10);
        let indexes: Vec<u32> = indexes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
        assert!((0..10).all(|value| indexes.contains(&value)) && indexes.iter().all(|value| *value < 10));
        assert_ne!(filled("random", ScalarType::F32, 64, 16)[..], filled("random", ScalarType::F32, 128, 32)[64..]);
    }

    #[test]
    fn a_file_must_fit() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [1, 2, 3, 4]).unwrap();
        let fill = Fill::File(file.path().to_owned().into());
        let layout = scalars::plain(ScalarType::U32);
        assert_eq!(fill.bytes(&layout, 4, 1, 1), Ok(vec![1, 2, 3, 4]));
        assert!(fill.bytes(&layout, 8, 2, 1).unwrap_err().reason.contains("has 4 bytes, the buffer 8"));
    }

    #[test]
    fn unusual_fills_change_what_they_name_and_nothing_else() {
        let of = |unusual: Unusual, scalar: ScalarType, elements: u64| {
            let fill = Fill::Unusual(unusual);
            fill.bytes(&scalars::plain(scalar), 4 * 300, elements, 7).unwrap()
        };
        let wholes = |unusual, scalar| -> Vec<i32> {
            let bytes = of(unusual, scalar, 100);
            bytes.chunks_exact(4).map(|word| i32::from_ne_bytes(word.try_into().unwrap())).collect()
        };
        let reals = |unusual| floats(&of(unusual, ScalarType::F32, 100));
        let usual = filled("random", ScalarType::F32, 1200, 100);
        for unusual in [Unusual::NegativeWholes, Unusual::BelowZeroWholes, Unusual::LargeWholes] {
            assert_eq!(of(unusual, ScalarType::F32, 100), usual, "{unusual}");
        }
        assert_eq!(wholes(Unusual::NegativeFloats, ScalarType::U32), wholes(Unusual::NegativeWholes, ScalarType::U32));
        let signed = wholes(Unusual::NegativeWholes, ScalarType::I32);
        assert!(signed.iter().any(|whole| *whole < 0) && signed.iter().all(|whole| (-100..100).contains(whole)));
        assert!(wholes(Unusual::LargeWholes, ScalarType::I32).iter().all(|whole| *whole >= 0));
        assert!(wholes(Unusual::LargeWholes, ScalarType::I32).iter().any(|whole| *whole > 1 << 30));
        assert!(reals(Unusual::NegativeFloats).iter().any(|real| *real < -0.5));
        assert!(reals(Unusual::BelowZeroFloats).iter().all(|real| (-1.0..0.0).contains(real)));
        assert!(wholes(Unusual::BelowZeroWholes, ScalarType::I32).iter().all(|whole| (-100..0).contains(whole)));
        assert!(reals(Unusual::LargeFloats).iter().any(|real| *real > 1e5));
        assert!(reals(Unusual::Zeros).iter().all(|real| *real == 0.0));
        let equal = reals(Unusual::EqualNeighbours);
        assert!(equal.chunks_exact(3).all(|run| run[0] == run[1] && run[1] == run[2]));
    }
}
