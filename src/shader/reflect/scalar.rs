//! Scalar types of shaders.

use std::fmt;

use half::{bf16, f16};
use serde::{Serialize, Serializer};

use crate::model::Scalar;
use crate::units::parse_number;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarType {
    /// `bool`; 32 bits wherever it has a size.
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
    /// A float of another encoding, of so many bytes: `bfloat16_t`, `floate4m3_t`.
    OtherFloat(u8),
}

impl ScalarType {
    /// All but truth values and floats of other encodings.
    pub const NUMBERS: [Self; 11] =
        [Self::U8, Self::I8, Self::U16, Self::I16, Self::U32, Self::I32, Self::U64, Self::I64, Self::F16, Self::F32, Self::F64];

    pub(super) fn int(bits: u32, signed: bool) -> Option<Self> {
        let is_it = |scalar: &Self| scalar.is_whole() && 8 * scalar.bytes() == u64::from(bits) && scalar.is_signed() == signed;
        Self::NUMBERS.into_iter().find(is_it)
    }

    pub(super) fn float(bits: u32, encoded: bool) -> Option<Self> {
        Some(match bits {
            16 if !encoded => Self::F16,
            32 if !encoded => Self::F32,
            64 if !encoded => Self::F64,
            8 => Self::OtherFloat(1),
            16 => Self::OtherFloat(2),
            _ => return None,
        })
    }

    /// Its size in memory and in specialization data.
    pub fn bytes(self) -> u64 {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::Bool | Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
            Self::OtherFloat(bytes) => bytes.into(),
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64 | Self::OtherFloat(_))
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    pub fn is_whole(self) -> bool {
        !self.is_float() && self != Self::Bool
    }

    /// What GLSL puts before `vec` and `mat` for a component's type.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Bool => "b",
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u",
            Self::I32 => "i",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::F32 => "",
            Self::F64 => "d",
            Self::OtherFloat(_) => "small float ",
        }
    }

    pub(super) fn truncate(self, bits: u64) -> u64 {
        match self.bytes() {
            8 => bits,
            bytes => bits & ((1 << (8 * bytes)) - 1),
        }
    }

    pub(super) fn extend(self, bits: u64) -> i64 {
        let unused = 64 - 8 * self.bytes();
        signed(bits << unused) >> unused
    }

    /// The bits of a value in words, such as `2^10`, `-1` or `true`; nothing where it is none, and for floats of 8 bits. What is too large
    /// for a float of 16 bits is none.
    pub fn parse(self, value: &str) -> Option<u64> {
        let signed = || match value.strip_prefix('-') {
            Some(rest) => parse_number(rest).and_then(|number| 0_i64.checked_sub_unsigned(number)),
            None => parse_number(value).and_then(|number| i64::try_from(number).ok()),
        };
        let least = i64::MIN >> (64 - 8 * self.bytes());
        match self {
            Self::Bool => match value {
                "true" | "1" => Some(1),
                "false" | "0" => Some(0),
                _ => None,
            },
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => {
                parse_number(value).filter(|number| self.truncate(*number) == *number)
            }
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => {
                signed().filter(|number| (least..=!least).contains(number)).map(|number| self.truncate(unsigned(number)))
            }
            Self::F32 => value.parse::<f32>().ok().map(|number| number.to_bits().into()),
            Self::F64 => value.parse::<f64>().ok().map(f64::to_bits),
            Self::F16 => half_of(value, |number| f16::from_f64(number).to_bits(), |bits| f16::from_bits(bits).is_infinite()),
            Self::OtherFloat(2) => {
                half_of(value, |number| bf16::from_f64(number).to_bits(), |bits| bf16::from_bits(bits).is_infinite())
            }
            Self::OtherFloat(_) => None,
        }
    }

    /// A value in words, as [`parse`](Self::parse) takes it.
    pub fn shown(self, bits: u64) -> String {
        match self {
            Self::Bool => (bits != 0).to_string(),
            _ if self.is_signed() => self.extend(bits).to_string(),
            Self::F32 => u32::try_from(bits).map_or_else(|_| format!("{bits:#x}"), |bits| f32::from_bits(bits).to_string()),
            Self::F64 => f64::from_bits(bits).to_string(),
            Self::F16 => u16::try_from(bits).map_or_else(|_| format!("{bits:#x}"), |bits| f16::from_bits(bits).to_string()),
            Self::OtherFloat(2) => {
                u16::try_from(bits).map_or_else(|_| format!("{bits:#x}"), |bits| bf16::from_bits(bits).to_string())
            }
            Self::OtherFloat(_) => format!("{bits:#x}"),
            _ => bits.to_string(),
        }
    }

    /// The type of a value, and the value's bits as specialization takes them.
    pub fn typed(scalar: Scalar) -> (Self, u64) {
        match scalar {
            Scalar::Bool(value) => (Self::Bool, value.into()),
            Scalar::U32(value) => (Self::U32, value.into()),
            Scalar::I32(value) => (Self::I32, u32::from_ne_bytes(value.to_ne_bytes()).into()),
            Scalar::F32(value) => (Self::F32, value.to_bits().into()),
            Scalar::U64(value) => (Self::U64, value),
            Scalar::I64(value) => (Self::I64, unsigned(value)),
            Scalar::F64(value) => (Self::F64, value.to_bits()),
        }
    }
}

fn half_of(value: &str, of: fn(f64) -> u16, is_infinite: fn(u16) -> bool) -> Option<u64> {
    let number: f64 = value.parse().ok()?;
    let bits = of(number);
    (number.is_infinite() || !is_infinite(bits)).then_some(bits.into())
}

pub(super) fn signed(bits: u64) -> i64 {
    i64::from_ne_bytes(bits.to_ne_bytes())
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::from_ne_bytes(number.to_ne_bytes())
}

impl Serialize for ScalarType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "bool",
            Self::U8 => "uint8_t",
            Self::I8 => "int8_t",
            Self::U16 => "uint16_t",
            Self::I16 => "int16_t",
            Self::U32 => "uint",
            Self::I32 => "int",
            Self::U64 => "uint64_t",
            Self::I64 => "int64_t",
            Self::F16 => "float16_t",
            Self::F32 => "float",
            Self::F64 => "double",
            Self::OtherFloat(_) => "a small float",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_words_come_back() {
        let cases = [
            (ScalarType::U8, "255"),
            (ScalarType::I8, "-128"),
            (ScalarType::U16, "65535"),
            (ScalarType::I16, "-1"),
            (ScalarType::U32, "4294967295"),
            (ScalarType::I32, "-2147483648"),
            (ScalarType::I64, "9223372036854775807"),
            (ScalarType::U64, "18446744073709551615"),
            (ScalarType::F32, "0.5"),
            (ScalarType::F64, "-1.25"),
            (ScalarType::F16, "0.5"),
            (ScalarType::OtherFloat(2), "-2"),
            (ScalarType::Bool, "true"),
        ];
        for (ty, text) in cases {
            assert_eq!(ty.parse(text).map(|bits| ty.shown(bits)).as_deref(), Some(text), "{ty}");
        }
        let wrong = [
            (ScalarType::U8, "256"),
            (ScalarType::I8, "128"),
            (ScalarType::I8, "-129"),
            (ScalarType::U32, "-1"),
            (ScalarType::U32, "2^32"),
            (ScalarType::I32, "2147483648"),
            (ScalarType::I64, "2^63"),
            (ScalarType::F32, "x"),
            (ScalarType::Bool, "2"),
            (ScalarType::F16, "70000"),
            (ScalarType::OtherFloat(1), "1"),
        ];
        for (ty, text) in wrong {
            assert_eq!(ty.parse(text), None, "{ty} {text}");
        }
        assert_eq!((ScalarType::I8.parse("-1"), ScalarType::I8.parse("-0x7f")), (Some(0xFF), Some(0x81)));
        assert_eq!((ScalarType::U32.parse("0xFFFFFFFF"), ScalarType::F16.parse("1")), (Some(0xFFFF_FFFF), Some(0x3C00)));
    }
}
