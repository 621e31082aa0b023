//! The numbers in texels: what images are filled with, and how they are compared.

use half::f16;
use rayon::prelude::*;

use super::fill::{self, Fill, Range};
use super::scalars::Number;
use super::slots::Kind;
use crate::model::{Dimension, Format, Numbers, Sequence, Skip};
use crate::shader::ScalarType;
use crate::validate::{Position, TexelPosition};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Texels {
    pub(super) format: Format,
    /// The image's dimensions; nothing for a texel buffer.
    pub(super) dimension: Option<Dimension>,
    /// What these extend to; a texel buffer has a width alone.
    pub(super) extent: [u32; 3],
}

const CHANNELS: [&str; 4] = ["r", "g", "b", "a"];

impl Texels {
    pub(super) fn count(&self) -> u64 {
        self.extent.iter().map(|side| u64::from(*side)).product()
    }

    fn bytes(&self) -> u64 {
        self.count() * u64::from(self.format.bytes())
    }

    fn place(&self, index: u64) -> Vec<u64> {
        let directions = self.dimension.map_or(1, |dimension| dimension.directions().len());
        let [width, height, _] = self.extent.map(u64::from);
        let place = [index % width, index / width % height, index / width / height];
        place[..directions].to_vec()
    }

    pub(super) fn filled(&self, fill: &Fill, seed: u64) -> Result<Vec<u8>, Skip> {
        if let Fill::File(path) = fill {
            return fill::file(path, self.bytes(), "the texels have");
        }
        let mut bytes = fill::room(self.bytes())?;
        if *fill == Fill::Zero {
            return Ok(bytes);
        }
        let channels = self.format.channels();
        let texels = bytes.par_chunks_exact_mut(self.format.bytes() as usize).enumerate();
        texels.for_each(|(texel, bytes)| {
            for channel in 0..channels {
                let index = texel as u64 * u64::from(channels) + u64::from(channel);
                write(self.format, bytes, channel, self.bits(fill, channel, index, seed));
            }
        });
        Ok(bytes)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a number takes its channel's bits"
    )]
    fn bits(&self, fill: &Fill, channel: u32, index: u64, seed: u64) -> u32 {
        let width = self.format.channel_bits(channel);
        let numbers = self.format.numbers();
        let sign = u32::from(matches!(numbers, Numbers::Sint | Numbers::Snorm));
        match (fill, numbers) {
            (Fill::Random, Numbers::Unorm | Numbers::Snorm) => Sequence::Words { seed }.word(index),
            (Fill::Random, Numbers::Float) => float(width, fill::unit(seed, index)),
            // As in buffers: those that are indexes stay within.
            (Fill::Random, _) => (fill::wide(seed, index) % self.count().clamp(1, 1 << (width - sign))) as u32,
            (Fill::Unusual(unusual), numbers) => {
                let most = 1 << (width - sign);
                let (elements, is_signed) = (self.count().clamp(1, most), sign == 1);
                let of = Range { elements, most, large: 1e3, is_signed };
                match numbers {
                    Numbers::Float => float(width, unusual.real(of, index, seed)),
                    Numbers::Unorm | Numbers::Snorm => {
                        let least = if is_signed { -1.0 } else { 0.0 };
                        let value = unusual.real(Range { large: 1.0, ..of }, index, seed).clamp(least, 1.0);
                        (value * steps(numbers, width)).round() as i64 as u32
                    }
                    Numbers::Uint | Numbers::Sint => unusual.whole(of, index, seed) as u32,
                }
            }
            (Fill::Iota, Numbers::Float) => float(width, index as f64),
            (Fill::Iota, _) => index as u32,
            (Fill::Constant(value), Numbers::Float) => float(width, *value),
            (Fill::Constant(value), Numbers::Unorm | Numbers::Snorm) => {
                let least = -f64::from(sign);
                (value.clamp(least, 1.0) * steps(numbers, width)).round() as i64 as u32
            }
            (Fill::Constant(value), _) => *value as i64 as u32,
            (Fill::Zero | Fill::File(_), _) => 0,
        }
    }

    /// Where a channel of all of them is.
    pub(super) fn position(&self, number: u64) -> Position {
        let channels = u64::from(self.format.channels());
        let component = CHANNELS[usize::try_from(number % channels).unwrap_or(0)];
        Position::Texel(Box::new(TexelPosition { place: self.place(number / channels), component }))
    }
}

/// How far a channel's numbers may be off, as [`Kind::usual`](super::slots::Kind::usual) says.
pub(super) fn usual_tolerance(numbers: Numbers, width: u32) -> (f64, f64) {
    match (numbers, width) {
        (Numbers::Float, 32) => Kind::Scalar(ScalarType::F32).usual(),
        (Numbers::Float, 16) => Kind::Scalar(ScalarType::F16).usual(),
        // One step of five bits and the hidden one.
        (Numbers::Float, _) => (0.0, 4e-2),
        // And what dividing by steps is off by.
        _ => ((1.0 + 1e-9) / steps(numbers, width), 0.0),
    }
}

fn steps(numbers: Numbers, width: u32) -> f64 {
    f64::from(mask(if numbers == Numbers::Snorm { width - 1 } else { width }))
}

fn mask(width: u32) -> u32 {
    u32::MAX >> (32 - width)
}

pub(super) fn read(format: Format, texel: &[u8], channel: u32) -> u32 {
    let width = format.channel_bits(channel);
    if format.is_packed() {
        return (word(texel) >> shift(format, channel)) & mask(width);
    }
    let at = (channel * width / 8) as usize;
    match width {
        8 => texel[at].into(),
        16 => u16::from_ne_bytes([texel[at], texel[at + 1]]).into(),
        _ => word(&texel[at..]),
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn shift(format: Format, channel: u32) -> u32 {
    (0..channel).map(|before| format.channel_bits(before)).sum()
}

/// Writes a channel's bits, of which those count that it has.
#[expect(clippy::cast_possible_truncation, reason = "only the channel's bits count")]
fn write(format: Format, texel: &mut [u8], channel: u32, bits: u32) {
    let width = format.channel_bits(channel);
    if format.is_packed() {
        let all = word(texel) | ((bits & mask(width)) << shift(format, channel));
        texel[..4].copy_from_slice(&all.to_ne_bytes());
        return;
    }
    let at = (channel * width / 8) as usize;
    match width {
        8 => texel[at] = bits as u8,
        16 => texel[at..at + 2].copy_from_slice(&(bits as u16).to_ne_bytes()),
        _ => texel[at..at + 4].copy_from_slice(&bits.to_ne_bytes()),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a number takes its type")]
fn float(width: u32, value: f64) -> u32 {
    match width {
        32 => (value as f32).to_bits(),
        16 => f16::from_f64(value).to_bits().into(),
        // As `f16` without the sign and with fewer digits, the rest cut off.
        _ => u32::from(f16::from_f64(value.max(0.0)).to_bits()) >> (15 - width),
    }
}

pub(super) fn number(format: Format, texel: &[u8], channel: u32) -> Number {
    let (bits, width) = (read(format, texel, channel), format.channel_bits(channel));
    let signed = || i64::from(i32::from_ne_bytes((bits << (32 - width)).to_ne_bytes()) >> (32 - width));
    match format.numbers() {
        Numbers::Uint => Number::Whole(bits.into()),
        Numbers::Sint => Number::Whole(signed()),
        Numbers::Unorm => Number::Real(f64::from(bits) / steps(Numbers::Unorm, width)),
        #[expect(clippy::cast_precision_loss, reason = "of at most 16 bits")]
        Numbers::Snorm => Number::Real((signed() as f64 / steps(Numbers::Snorm, width)).max(-1.0)),
        Numbers::Float => Number::Real(match width {
            32 => f32::from_bits(bits).into(),
            #[expect(clippy::cast_possible_truncation, reason = "of at most 16 bits")]
            width => f16::from_bits((bits << (if width == 16 { 0 } else { 15 - width })) as u16).to_f64(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::{Compared, Comparison, Right, Tolerance, compare};
    use super::super::sized::Layout;
    use super::super::written::Written;
    use super::*;
    use crate::model::POISON;
    use crate::validate::Mismatch;

    fn square(format: Format) -> Texels {
        Texels { format, dimension: Some(Dimension::D2), extent: [5, 5, 1] }
    }

    fn compared(texels: Texels, got: &[u8], right: &[u8], tolerance: Tolerance) -> Option<Mismatch> {
        let (layout, how) = (Layout::Texels(texels), Comparison::Elements);
        let [got, right] = [got, right].map(|bytes| Written::of(bytes.to_vec(), None));
        compare(Compared { name: "picture", layout: &layout, how, tolerance, slack: 1.0 }, &got, &Right::new(right, None)).err()
    }

    fn numbers(format: Format, bytes: &[u8]) -> Vec<Number> {
        let texels = bytes.chunks_exact(format.bytes() as usize);
        texels.flat_map(|texel| (0..format.channels()).map(|channel| number(format, texel, channel))).collect()
    }

    #[test]
    fn constants_are_in_the_formats_unit() {
        for format in Format::ALL {
            let bytes = square(*format).filled(&Fill::Constant(1.0), 1).unwrap();
            let one = if format.numbers().is_whole() { Number::Whole(1) } else { Number::Real(1.0) };
            assert!(numbers(*format, &bytes).iter().all(|number| *number == one), "{format:?}: {bytes:?}");
        }
        let half = square(Format::Rg11B10Float).filled(&Fill::Constant(0.375), 1).unwrap();
        assert!(numbers(Format::Rg11B10Float, &half).iter().all(|number| *number == Number::Real(0.375)));
        let less = square(Format::Rg8Snorm).filled(&Fill::Constant(-1.0), 1).unwrap();
        assert!(less.iter().all(|byte| *byte == 0x81));
        let minus = square(Format::R16Sint).filled(&Fill::Constant(-3.0), 1).unwrap();
        assert_eq!(numbers(Format::R16Sint, &minus)[0], Number::Whole(-3));
    }

    #[test]
    fn random_texels_are_numbers_of_their_range() {
        for format in Format::ALL {
            let texels = Texels { format: *format, dimension: None, extent: [1000, 1, 1] };
            let bytes = texels.filled(&Fill::Random, 7).unwrap();
            let all = numbers(*format, &bytes);
            let fits = |number: &Number| match number {
                Number::Whole(whole) => (0..1000).contains(whole),
                Number::Real(real) => (-1.0..=1.0).contains(real) && (format.numbers() == Numbers::Snorm || *real >= 0.0),
            };
            assert!(all.iter().all(fits), "{format:?}");
            assert!(all.iter().any(|number| *number != all[0]), "{format:?}");
            assert_ne!(bytes, texels.filled(&Fill::Random, 8).unwrap(), "{format:?}");
        }
        let bytes = square(Format::R8Uint).filled(&Fill::Iota, 7).unwrap();
        assert_eq!(bytes, (0..25).collect::<Vec<u8>>());
    }

    #[test]
    fn the_first_wrong_texel_is_named_by_its_place() {
        let texels = square(Format::Rgba8Unorm);
        let right = texels.filled(&Fill::Constant(0.5), 1).unwrap();
        let judged = |bytes: &[u8], tolerance| compared(texels, bytes, &right, tolerance);
        let mut next = right.clone();
        next[4 * 13 + 1] += 1;
        let exact = Tolerance { absolute: Some(0.0), relative: None };
        assert_eq!(judged(&next, Tolerance::default()), None, "a step is what rounding may do");
        assert!(judged(&next, exact).is_some());
        next[4 * 13 + 1] += 1;
        let told = judged(&next, Tolerance::default()).unwrap();
        assert_eq!((told.wrong, told.total), (1, 100));
        let place = "picture[3, 2].g is 0.5098039215686274, should be 0.5019607843137255 (1 of 100 elements are wrong)";
        assert_eq!(told.to_string(), place);
        assert_eq!(judged(&next, Tolerance { absolute: Some(0.01), relative: None }), None);
        let whole = square(Format::R8Uint);
        let any = Tolerance { absolute: Some(9.0), relative: Some(1.0) };
        let told = compared(whole, &[1; 25], &[2; 25], any);
        assert_eq!(told.unwrap().to_string(), "picture[0, 0].r is 1, should be 2 (25 of 25 elements are wrong)");
    }

    #[test]
    fn what_was_never_written_is_near_nothing() {
        let any = Tolerance { absolute: Some(f64::MAX), relative: Some(1.0) };
        for (format, value) in [(Format::R8Unorm, 1.0), (Format::R32Float, f64::NAN), (Format::Rgba16Float, 0.0)] {
            let texels = Texels { format, dimension: None, extent: [4, 1, 1] };
            let poison: Vec<u8> = POISON.to_ne_bytes().into_iter().cycle().take(4 * format.bytes() as usize).collect();
            let right = texels.filled(&Fill::Constant(value), 1).unwrap();
            assert!(compared(texels, &poison, &right, any).is_some(), "{format:?}");
            assert_eq!(compared(texels, &poison, &poison, any), None);
        }
    }
}
