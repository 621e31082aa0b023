//! The operations and the types, which of them go together, and what their kernels are told.

use crate::experiments::common::chains::Coefficients;
use crate::experiments::common::choices::choices;
use crate::model::{DeviceInfo, Feature, Skip};

use Operation::{Add, BitCount, Div, Exp2, Fma, Log2, Mul, Rcp, Rem, Rsqrt, Shift, Sin, Sqrt};

choices! {
    pub enum Type {
        F16 = "f16",
        F32 = "f32",
        F64 = "f64",
        Bf16 = "bf16",
        /// Sums and products of f32, which are rounded now and then.
        Bf16F32 = "bf16_f32",
        I8 = "i8",
        I16 = "i16",
        I32 = "i32",
        I64 = "i64",
    }
}

impl Type {
    pub fn is_real(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64 | Self::Bf16 | Self::Bf16F32)
    }

    pub fn bits(self) -> u32 {
        match self {
            Self::I8 => 8,
            Self::F16 | Self::Bf16 | Self::Bf16F32 | Self::I16 => 16,
            Self::F32 | Self::I32 => 32,
            Self::F64 | Self::I64 => 64,
        }
    }

    /// The feature without which a device can't compute with it.
    fn needs(self) -> Option<Feature> {
        match self {
            Self::F32 | Self::I32 => None,
            Self::F16 => Some(Feature::Float16),
            Self::F64 => Some(Feature::Float64),
            Self::Bf16 | Self::Bf16F32 => Some(Feature::BFloat16),
            Self::I8 => Some(Feature::Int8),
            Self::I16 => Some(Feature::Int16),
            Self::I64 => Some(Feature::Int64),
        }
    }
}

choices! {
    /// In capitals, they are the shader's macros.
    pub enum Operation {
        Fma = "fma",
        Add = "add",
        Mul = "mul",
        Div = "div",
        Rem = "rem",
        Rcp = "rcp",
        Sqrt = "sqrt",
        Rsqrt = "rsqrt",
        Exp2 = "exp2",
        Log2 = "log2",
        Sin = "sin",
        Shift = "shift",
        BitCount = "bit_count",
    }
}

impl Operation {
    /// Pairs of them in a block of the loop: fewer where one is many instructions, so that code stays short.
    pub fn pairs(self) -> u64 {
        match self {
            Self::Fma | Self::Add | Self::Mul | Self::Shift | Self::BitCount => 8,
            Self::Rcp | Self::Sqrt | Self::Rsqrt | Self::Exp2 | Self::Log2 | Self::Sin => 2,
            Self::Div | Self::Rem => 1,
        }
    }

    pub fn weight(self) -> u64 {
        if self == Self::Fma { 2 } else { 1 }
    }

    /// Whether results of this type need not be those of the twin to the last bit.
    pub fn is_inexact(self, ty: Type) -> bool {
        ty.is_real() && matches!(self, Div | Rcp | Sqrt | Rsqrt | Exp2 | Log2 | Sin)
    }

    /// Whether it can be done with values of this type at all, and on this device.
    pub fn require(self, ty: Type, device: &DeviceInfo) -> Result<(), Skip> {
        let word = self.word();
        let of_both = matches!(self, Fma | Add | Mul | Div | Rem);
        let of_whole = of_both || matches!(self, Shift | BitCount);
        let of_real = of_both || !of_whole;
        let missing = if ty.is_real() && !of_real {
            format!("floats have no `{word}`: the case needs a variant of whole numbers")
        } else if !ty.is_real() && !of_whole {
            format!("whole numbers have no `{word}`: the case needs a variant of floats")
        } else if matches!(ty, Type::Bf16 | Type::Bf16F32) && !matches!(self, Fma | Add | Mul) {
            format!("SPV_KHR_bfloat16 has no arithmetic, and `{word}` through f32 would be that of f32: the case needs f32")
        } else if ty == Type::F64 && matches!(self, Exp2 | Log2 | Sin) {
            format!("GLSL.std.450 has no `{word}` of 64 bits: the case needs f16 or f32")
        } else if !ty.is_real() && ty != Type::I32 && self == BitCount {
            "Vulkan counts the bits of 32 alone (VUID-StandaloneSpirv-Base-04781): the case needs i32".to_owned()
        } else if let Some(feature) = ty.needs().filter(|feature| !device.has(*feature)) {
            format!("{} is missing: the case needs it", feature.vulkan_name())
        } else {
            return Ok(());
        };
        Err(Skip::new(missing))
    }

    /// Whether a chain of so many operations is somewhere else than where it began: floats that stay exact go round.
    /// Skipped: where it is back: its result would be that of no operation at all.
    pub fn require_motion(self, ty: Type, depth: u64) -> Result<(), Skip> {
        let round = match self {
            Mul if ty.is_real() => 6,
            Add if ty.is_real() => 12,
            Add | Mul | Fma | Div | Rem | Rcp | Sqrt | Rsqrt | Exp2 | Log2 | Sin | Shift | BitCount => return Ok(()),
        };
        if depth % round != 0 {
            return Ok(());
        }
        let word = self.word();
        Err(Skip::new(format!(
            "after {depth} operations `{word}` is back where it began, as after none: the case needs iterations that 3 doesn't divide"
        )))
    }

    pub fn coefficients(self, ty: Type) -> Coefficients {
        if ty.is_real() { self.of_reals().told() } else { self.of_wholes(ty.bits()) }
    }

    /// Its coefficients and starts for floats: few bits each, so that every type has them exactly.
    pub fn of_reals(self) -> Reals {
        let reals = |a, b, x, y| Reals { a, b, x, y };
        match self {
            // Squares less 29/16 go round: -7/4, 5/4, -1/4 (Poonen, "The classification of rational preperiodic points of
            // quadratic polynomials over Q", 1998). No type rounds any of them, nor their squares; and since three is no
            // factor of the number of operations, one that is left out shows.
            Self::Fma => reals(-1.8125, 0.0, (3.0, -1.75), (3.0, -1.75)),
            // Sums and differences in turn go round as well: x, y, y - x, -x, -y, x - y. None of them is zero.
            Self::Add => reals(-1.0, 0.0, (2.0, -31.0), (2.0, 2.0)),
            // 1 and -1.
            Self::Mul => reals(0.0, 0.0, (2.0, -1.0), (2.0, -1.0)),
            Self::Div => reals(1.5, 1.25, (0.03125, 0.0), (0.03125, 1.0)),
            // Halves never come near a multiple, where a quotient that is a little wrong would be rounded to another number.
            Self::Rem => reals(61.0, 53.0, (1.0, 0.5), (1.0, 1.0)),
            Self::Exp2 => reals(-1.75, 0.0, (0.015_625, 0.0), (0.015_625, -2.0)),
            Self::Log2 => reals(5.0, 0.0, (0.03125, 1.0), (0.0625, 4.0)),
            Self::Sin => reals(0.75, 0.0, (0.03125, 0.0), (0.015_625, 0.5)),
            Self::Rcp | Self::Sqrt | Self::Rsqrt => reals(1.5, 0.0, (0.03125, 0.0), (0.03125, 1.0)),
            Self::Shift | Self::BitCount => panic!("floats have no `{}`", self.word()),
        }
    }

    fn of_wholes(self, bits: u32) -> Coefficients {
        const ALL: u64 = u64::MAX;
        let told = |a, b, x_shape, y_shape| Coefficients { a, b, x_shape, y_shape };
        match (self, bits) {
            // Sums of x and y must fit the type, and be positive.
            (Self::Div, 8) => told(100, 90, 15, 15),
            (Self::Div, 16) => told(30_011, 25_013, 255, 255),
            (Self::Div, 32) => told(2_000_000_011, 1_500_000_001, 0xFFFF, 0xFFFF),
            (Self::Div, _) => told(9_000_000_000_000_000_011, 7_000_000_000_000_000_003, 0xFFFF_FFFF, 0xFFFF_FFFF),
            (Self::Rem, 8) => told(61, 53, 31, 31),
            (Self::Rem, 16) => told(16_381, 16_363, 0x1FFF, 0x1FFF),
            (Self::Rem, 32) => told(1_073_741_789, 1_073_741_783, 0x1FFF_FFFF, 0x1FFF_FFFF),
            (Self::Rem, _) => told((1 << 62) - 57, (1 << 62) - 87, (1 << 61) - 1, (1 << 61) - 1),
            // What is shifted is less than the number of bits, and so is what it is shifted by.
            (Self::Shift, _) => told(u64::from(bits) * 3 / 4, 0, u64::from(bits) - 1, u64::from(bits) - 1),
            (Fma | Add | Mul | BitCount, _) => told(0x5851_F42D_4C95_7F2D, 0, ALL, ALL),
            (Rcp | Sqrt | Rsqrt | Exp2 | Log2 | Sin, _) => panic!("whole numbers have no `{}`", self.word()),
        }
    }
}

/// Coefficients and starts of floats; a start is made of a number below 32, or of one bit, by a scale and an offset.
#[derive(Clone, Copy, Debug)]
pub struct Reals {
    /// Of the first operation of each pair.
    pub a: f32,
    /// Of the second.
    pub b: f32,
    /// Scale and offset of the first value.
    pub x: (f32, f32),
    /// The same of the second.
    pub y: (f32, f32),
}

impl Reals {
    fn told(self) -> Coefficients {
        let bits = |value: f32| u64::from(value.to_bits());
        let both = |(scale, offset)| bits(scale) | (bits(offset) << 32);
        Coefficients { a: bits(self.a), b: bits(self.b), x_shape: both(self.x), y_shape: both(self.y) }
    }
}
