//! Scalar types of shaders.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::model::Scalar;

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarType {
    /// `bool`; 32 bits wherever it has a size.
    Bool,
    /// `uint8_t`
    U8,
    /// `int8_t`
    I8,
    /// `uint16_t`
    U16,
    /// `int16_t`
    I16,
    /// `uint`
    U32,
    /// `int`
    I32,
    /// `uint64_t`
    U64,
    /// `int64_t`
    I64,
    /// `float16_t`
    F16,
    /// `float`
    F32,
    /// `double`
    F64,
    /// A float of another encoding, of so many bytes: `bfloat16_t`, `floate4m3_t`.
    OtherFloat(u8),
}

impl ScalarType {
    pub(super) fn int(bits: u32, signed: bool) -> Option<Self> {
        Some(match (bits, signed) {
            (8, false) => Self::U8,
            (8, true) => Self::I8,
            (16, false) => Self::U16,
            (16, true) => Self::I16,
            (32, false) => Self::U32,
            (32, true) => Self::I32,
            (64, false) => Self::U64,
            (64, true) => Self::I64,
            _ => return None,
        })
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

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64 | Self::OtherFloat(_))
    }

    /// The bits that a value of this type has.
    pub(super) fn truncate(self, bits: u64) -> u64 {
        match self.bytes() {
            8 => bits,
            bytes => bits & ((1 << (8 * bytes)) - 1),
        }
    }

    /// The bits as a signed number of this width.
    pub(super) fn extend(self, bits: u64) -> i64 {
        let unused = 64 - 8 * self.bytes();
        signed(bits << unused) >> unused
    }

    /// The type of a value, and the value's bits as specialization takes them.
    pub fn of(scalar: Scalar) -> (Self, u64) {
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

/// The same bits as a signed number.
pub(super) fn signed(bits: u64) -> i64 {
    i64::from_ne_bytes(bits.to_ne_bytes())
}

/// The bits of a signed number.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::from_ne_bytes(number.to_ne_bytes())
}

/// As GLSL names it.
impl Serialize for ScalarType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// As GLSL names it.
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
