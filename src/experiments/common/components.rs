//! What factors and sums of products of matrices are made of.

use half::f16;

use crate::model::{Component, Kernel, Sequence};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    pub factor: Component,
    pub sum: Component,
    pub names: [&'static str; 2],
    /// The largest absolute value in memory; bytes of whole numbers take all values.
    pub magnitude: u32,
    /// Up to here every whole number is exact in a sum; `None` where sums wrap around.
    pub exact: Option<u64>,
}

/// The types that a name tells, `FACTOR_SUM`, or `f32` of both.
pub fn kind(name: &str) -> Kind {
    let (factor, sum, names, magnitude, exact) = match name {
        "f32" => (Component::F32, Component::F32, ["float", "float"], 4, Some(1 << 24)),
        "f16_f16" => (Component::F16, Component::F16, ["float16_t", "float16_t"], 1, Some(1 << 11)),
        "bf16_f32" => (Component::Bf16, Component::F32, ["bfloat16_t", "float"], 4, Some(1 << 24)),
        "i8_i32" => (Component::I8, Component::I32, ["int8_t", "int32_t"], 128, None),
        "u8_u32" => (Component::U8, Component::U32, ["uint8_t", "uint32_t"], 255, None),
        "f16_f32" => (Component::F16, Component::F32, ["float16_t", "float"], 4, Some(1 << 24)),
        _ => panic!("no matrices are of `{name}`"),
    };
    Kind { factor, sum, names, magnitude, exact }
}

impl Kind {
    pub fn factor_bytes(self) -> u64 {
        match self.factor {
            Component::I8 | Component::U8 => 1,
            Component::F32 => 4,
            _ => 2,
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
        match self.factor {
            Component::F32 => Sequence::WholeFloats { seed, magnitude },
            Component::F16 => Sequence::WholeHalves { seed, magnitude },
            Component::Bf16 => Sequence::WholeBfloats { seed, magnitude },
            _ => Sequence::Words { seed },
        }
    }

    /// Factors whose mantissas take all values.
    pub fn full_contents(self, seed: u64) -> Sequence {
        match self.factor {
            Component::F32 => Sequence::FullFloats { seed },
            Component::F16 => Sequence::FullHalves { seed },
            _ => Sequence::FullBfloats { seed },
        }
    }

    /// A component of a factor, which is a float.
    pub fn real(self, of: Sequence, index: u64) -> f64 {
        match self.factor {
            Component::F32 => of.float(index).into(),
            Component::F16 => of.half(index).to_f64(),
            _ => of.bfloat(index).to_f64(),
        }
    }

    /// A component of a factor, as a whole number.
    #[expect(clippy::cast_possible_truncation, reason = "magnitudes are small")]
    pub fn value(self, of: Sequence, index: u64) -> i32 {
        match self.factor {
            Component::F32 => of.float(index) as i32,
            Component::F16 => f32::from(of.half(index)) as i32,
            Component::Bf16 => of.bfloat(index).to_f32() as i32,
            Component::I8 => i32::from(i8::from_ne_bytes([byte(of, index)])),
            _ => i32::from(byte(of, index)),
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
        match self.sum {
            Component::F16 => f16::from_f32(sum as f32).to_bits().into(),
            Component::F32 => (sum as f32).to_bits(),
            _ => sum as u32,
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a byte of a word")]
fn byte(of: Sequence, index: u64) -> u8 {
    (of.word(index / 4) >> (8 * (index % 4))) as u8
}
