//! The types that operations work on: how each is held, computed with and written. Values are held as their bits.

use half::f16;

use super::table::Reduction;
use crate::experiments::common::choices::choices;
use crate::model::Feature;

choices! {
    pub enum Number {
        U32 = "u32",
        I32 = "i32",
        F32 = "f32",
        F16 = "f16",
        F64 = "f64",
        U64 = "u64",
        I64 = "i64",
        U8 = "u8",
        I8 = "i8",
        U16 = "u16",
        I16 = "i16",
    }
}

/// Subgroup operations on all but words and doubles.
const EXTENDED: Feature = Feature::SubgroupExtendedTypes;

impl Number {
    pub fn needs(self) -> &'static [Feature] {
        match self {
            Self::U32 | Self::I32 | Self::F32 => &[],
            Self::F64 => &[Feature::Float64],
            Self::F16 => &[Feature::Float16, EXTENDED],
            Self::U64 | Self::I64 => &[Feature::Int64, EXTENDED],
            Self::U8 | Self::I8 => &[Feature::Int8, EXTENDED],
            Self::U16 | Self::I16 => &[Feature::Int16, EXTENDED],
        }
    }

    pub fn width(self) -> u32 {
        match self {
            Self::U8 | Self::I8 => 8,
            Self::U16 | Self::I16 | Self::F16 => 16,
            Self::U32 | Self::I32 | Self::F32 => 32,
            Self::U64 | Self::I64 | Self::F64 => 64,
        }
    }

    /// Words that the shader writes of a value.
    pub fn words(self) -> u64 {
        if self.width() == 64 { 2 } else { 1 }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.width())
    }

    // ---- words ------------------------------------------------------------------------------------------------------------

    /// A word as an operand. Of a float's bits `kept` are the word's; the others are those of 1.
    pub fn operand_of(self, word: u32, (kept, kept_low): (u32, u32)) -> u64 {
        let one_to_two = || (word & kept) ^ 1.0_f32.to_bits();
        match self {
            Self::F32 => one_to_two().into(),
            Self::F16 => f16::from_f32(f32::from_bits(one_to_two())).to_bits().into(),
            Self::F64 => {
                let low = word.wrapping_mul(0x9E37_79B1) & kept_low;
                (u64::from((word & kept) ^ 0x3FF0_0000) << 32) | u64::from(low)
            }
            Self::U64 | Self::I64 => u64::from(word).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            Self::U8 | Self::I8 | Self::U16 | Self::I16 | Self::U32 | Self::I32 => (word >> (32 - self.width())).into(),
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the bits of the lower word are meant")]
    pub fn lower_word(self, bits: u64) -> u32 {
        match self {
            Self::F16 => f16::from_bits(bits as u16).to_f32().to_bits(),
            Self::F64 => bits as u32 ^ (bits >> 32) as u32,
            Self::U8 | Self::I8 | Self::U16 | Self::I16 | Self::U32 | Self::I32 | Self::F32 | Self::U64 | Self::I64 => {
                self.signed(bits) as u32
            }
        }
    }

    /// A word of what the shader writes of a value.
    #[expect(clippy::cast_possible_truncation, reason = "half of the bits are meant")]
    pub fn stored(self, bits: u64, half: u64) -> u32 {
        if self.words() == 2 { (bits >> (32 * half)) as u32 } else { self.lower_word(bits) }
    }

    // ---- arithmetic -------------------------------------------------------------------------------------------------------

    /// A whole number: the bits, and all above them those of its sign where it has one.
    fn signed(self, bits: u64) -> i64 {
        let unused = 64 - self.width();
        let value = i64::from_ne_bytes(bits.to_ne_bytes());
        if self.is_signed() { (value << unused) >> unused } else { value }
    }

    #[expect(clippy::cast_possible_truncation, reason = "no value has more bits than its type")]
    fn float(self, bits: u64) -> f64 {
        match self {
            Self::F16 => f16::from_bits(bits as u16).to_f64(),
            Self::F32 => f32::from_bits(bits as u32).into(),
            Self::F64 => f64::from_bits(bits),
            Self::U8 | Self::I8 | Self::U16 | Self::I16 | Self::U32 | Self::I32 | Self::U64 | Self::I64 => {
                panic!("{self:?} is no float")
            }
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "exact: operands are chosen so that nothing is rounded")]
    fn bits_of(self, value: f64) -> u64 {
        match self {
            Self::F16 => f16::from_f64(value).to_bits().into(),
            Self::F32 => (value as f32).to_bits().into(),
            Self::F64 => value.to_bits(),
            Self::U8 | Self::I8 | Self::U16 | Self::I16 | Self::U32 | Self::I32 | Self::U64 | Self::I64 => {
                panic!("{self:?} is no float")
            }
        }
    }

    /// What one operand in 64 lies below.
    pub fn rare(self) -> u64 {
        let rare = 1 << (self.width() - 6);
        if self.is_float() { self.bits_of(1.015_625) } else { self.least() | rare }
    }

    fn least(self) -> u64 {
        if self.is_signed() { 1 << (self.width() - 1) } else { 0 }
    }

    /// What changes nothing.
    pub fn identity(self, reduction: Reduction) -> u64 {
        match reduction {
            Reduction::Add | Reduction::Or | Reduction::Xor => 0,
            Reduction::Mul if self.is_float() => self.bits_of(1.0),
            Reduction::Mul => 1,
            Reduction::And => self.mask(),
            Reduction::Min if self.is_float() => self.bits_of(f64::INFINITY),
            Reduction::Max if self.is_float() => self.bits_of(f64::NEG_INFINITY),
            Reduction::Min => self.least() ^ self.mask(),
            Reduction::Max => self.least(),
        }
    }

    pub fn combine(self, reduction: Reduction, a: u64, b: u64) -> u64 {
        let of_floats = |combine: fn(f64, f64) -> f64| self.bits_of(combine(self.float(a), self.float(b)));
        let is_less = if self.is_signed() { self.signed(a) < self.signed(b) } else { a < b };
        let result = match reduction {
            Reduction::Add if self.is_float() => of_floats(|a, b| a + b),
            Reduction::Mul if self.is_float() => of_floats(|a, b| a * b),
            Reduction::Min if self.is_float() => of_floats(f64::min),
            Reduction::Max if self.is_float() => of_floats(f64::max),
            Reduction::Add => a.wrapping_add(b),
            Reduction::Mul => a.wrapping_mul(b),
            Reduction::Min => return if is_less { a } else { b },
            Reduction::Max => return if is_less { b } else { a },
            Reduction::And => a & b,
            Reduction::Or => a | b,
            Reduction::Xor => a ^ b,
        };
        result & self.mask()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_types() {
        for number in Number::ALL {
            let (kind, width) = number.word().split_at(1);
            assert_eq!((kind == "f", kind == "i"), (number.is_float(), number.is_signed()));
            assert_eq!(width.parse(), Ok(number.width()));
        }
    }

    #[test]
    fn values_are_written_whole() {
        assert_eq!(Number::I8.lower_word(0x80), 0xFFFF_FF80);
        assert_eq!([Number::U8.lower_word(0x80), Number::U16.lower_word(0x8001)], [0x80, 0x8001]);
        assert_eq!(Number::F16.lower_word(f16::from_f32(-1.5).to_bits().into()), (-1.5_f32).to_bits());
        assert_eq!([0, 1].map(|half| Number::U64.stored(0x1_0000_0002, half)), [2, 1]);
        assert_eq!([0, 1].map(|half| Number::F64.stored(1.0_f64.to_bits(), half)), [0, 0x3FF0_0000]);
    }

    #[test]
    fn what_changes_nothing_changes_nothing() {
        for number in Number::ALL {
            let whole = [0, 1, 5, number.mask(), number.mask() >> 1, number.least()];
            let values = if number.is_float() { [-1.5, 0.5, 1.0, 2.0, 100.0, -4.0].map(|v| number.bits_of(v)) } else { whole };
            for reduction in Reduction::ALL {
                let identity = number.identity(*reduction);
                assert!(values.iter().all(|value| number.combine(*reduction, identity, *value) == *value), "{number:?}");
            }
        }
    }

    #[test]
    fn one_operand_in_64_is_rare() {
        let operand = |number: Number, word: u32| number.operand_of(word, (0x007F_FF80, 0));
        for number in [Number::U8, Number::I8, Number::U16, Number::I16, Number::U32, Number::I32] {
            let is_rare = |i: &u32| {
                let operand = operand(number, i << 20);
                number.combine(Reduction::Min, operand, number.rare()) != number.rare()
            };
            assert_eq!((0..4096).filter(is_rare).count(), 64, "{number:?}");
        }
    }
}
