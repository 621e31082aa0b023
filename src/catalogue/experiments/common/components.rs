//! What factors and sums of products of matrices are made of.

use half::f16;

use crate::experiments::common::choices::choices;
use crate::model::{Component, Kernel, Sequence};

choices! {
    /// Those of factors and of sums, or of both.
    pub enum Types {
        F32 = "f32",
        F16F16 = "f16_f16",
        F16F32 = "f16_f32",
        Bf16F32 = "bf16_f32",
        I8I32 = "i8_i32",
        U8U32 = "u8_u32",
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    pub types: Types,
    pub factor: Component,
    pub sum: Component,
    pub names: [&'static str; 2],
    /// The largest absolute value in memory; bytes of whole numbers take all values.
    pub magnitude: u32,
    /// Up to here every whole number is exact in a sum; `None` where sums wrap around.
    pub exact: Option<u64>,
}

/// What a name of types stands for.
pub fn kind(name: &str) -> Kind {
    let types = Types::of(name);
    let (factor, sum, names, magnitude, exact) = match types {
        Types::F32 => (Component::F32, Component::F32, ["float", "float"], 4, Some(1 << 24)),
        Types::F16F16 => (Component::F16, Component::F16, ["float16_t", "float16_t"], 1, Some(1 << 11)),
        Types::Bf16F32 => (Component::Bf16, Component::F32, ["bfloat16_t", "float"], 4, Some(1 << 24)),
        Types::I8I32 => (Component::I8, Component::I32, ["int8_t", "int32_t"], 128, None),
        Types::U8U32 => (Component::U8, Component::U32, ["uint8_t", "uint32_t"], 255, None),
        Types::F16F32 => (Component::F16, Component::F32, ["float16_t", "float"], 4, Some(1 << 24)),
    };
    Kind { types, factor, sum, names, magnitude, exact }
}

impl Kind {
    pub fn factor_bytes(self) -> u64 {
        match self.types {
            Types::I8I32 | Types::U8U32 => 1,
            Types::F16F16 | Types::F16F32 | Types::Bf16F32 => 2,
            Types::F32 => 4,
        }
    }

    pub fn sum_bytes(self) -> u64 {
        if self.sum == Component::F16 { 2 } else { 4 }
    }

    /// The kernel, told what its cooperative matrices are made of.
    pub fn defines(self, kernel: Kernel) -> Kernel {
        let [factor, sum] = self.names;
        let kernel = kernel.define("A", factor).define("A_BYTES", format!("{}u", self.factor_bytes())).define("C", sum);
        if self.factor == Component::Bf16 { kernel.define("BFLOAT16", 1) } else { kernel }
    }

    /// Whether every second product takes the one before back: sums of few bits would not stay exact.
    pub fn cancels(self) -> bool {
        self.sum == Component::F16
    }

    pub fn is_float(self) -> bool {
        self.exact.is_some()
    }

    pub fn contents(self, seed: u64) -> Sequence {
        let magnitude = self.magnitude;
        match self.types {
            Types::F32 => Sequence::WholeFloats { seed, magnitude },
            Types::F16F16 | Types::F16F32 => Sequence::WholeHalves { seed, magnitude },
            Types::Bf16F32 => Sequence::WholeBfloats { seed, magnitude },
            Types::I8I32 | Types::U8U32 => Sequence::Words { seed },
        }
    }

    /// Factors whose mantissas take all values.
    pub fn full_contents(self, seed: u64) -> Sequence {
        match self.types {
            Types::F32 => Sequence::FullFloats { seed },
            Types::F16F16 | Types::F16F32 => Sequence::FullHalves { seed },
            Types::Bf16F32 => Sequence::FullBfloats { seed },
            Types::I8I32 | Types::U8U32 => panic!("bytes have no mantissas"),
        }
    }

    /// A component of a factor, which is a float.
    pub fn real(self, of: Sequence, index: u64) -> f64 {
        match self.types {
            Types::F32 => of.float(index).into(),
            Types::F16F16 | Types::F16F32 => of.half(index).to_f64(),
            Types::Bf16F32 => of.bfloat(index).to_f64(),
            Types::I8I32 | Types::U8U32 => panic!("bytes are no floats"),
        }
    }

    /// A component of a factor, as a whole number.
    #[expect(clippy::cast_possible_truncation, reason = "magnitudes are small")]
    pub fn value(self, of: Sequence, index: u64) -> i32 {
        match self.types {
            Types::F32 => of.float(index) as i32,
            Types::F16F16 | Types::F16F32 => f32::from(of.half(index)) as i32,
            Types::Bf16F32 => of.bfloat(index).to_f32() as i32,
            Types::I8I32 => i32::from(i8::from_ne_bytes([byte(of, index)])),
            Types::U8U32 => i32::from(byte(of, index)),
        }
    }

    /// The bits of a sum; the value is exact, or wraps around.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sums of floats are exact, those of whole numbers wrap"
    )]
    pub fn bits(self, sum: i64) -> u32 {
        match self.types {
            Types::F16F16 => f16::from_f32(sum as f32).to_bits().into(),
            Types::F32 | Types::F16F32 | Types::Bf16F32 => (sum as f32).to_bits(),
            Types::I8I32 | Types::U8U32 => sum as u32,
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a byte of a word")]
fn byte(of: Sequence, index: u64) -> u8 {
    (of.word(index / 4) >> (8 * (index % 4))) as u8
}
