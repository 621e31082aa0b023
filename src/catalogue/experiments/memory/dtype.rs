//! `memory/dtype`: does it matter in what types the same bytes are read?

use std::ops::Add;

use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment = Experiment::of_memory("memory/dtype", axes, build);

choices! { enum Type { U8 = "u8", U16 = "u16", F16 = "f16", U32 = "u32", F32 = "f32", U64 = "u64", F64 = "f64" } }

/// Sums of 64 vectors of 4 stay below 2^24, where every whole number is an exact f32: halves are summed up as f32.
const FLOAT_MAGNITUDE: u32 = 1 << 15;
/// Below 2^11, up to which every whole number is an exact f16.
const HALF_MAGNITUDE: u32 = 1 << 10;
/// Sums of 256 stay far below 2^53.
const DOUBLE_MAGNITUDE: u32 = (1 << 31) - 1;

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let n = if quick { setting.by_class(1_u64 << 18, 1 << 26) } else { setting.by_class(1_u64 << 20, 1 << 28) };
    let types = if quick { &[Type::U8, Type::F16, Type::U32] } else { Type::ALL };
    let widths: &[u64] = if quick { &[1] } else { &[1, 2, 4] };
    // On a GPU, as many as it takes to make the sums few even beside bytes.
    let unroll = setting.by_class(16_u64, 64);
    vec![
        Type::axis("type", "what is read", types).relative_to(Type::U32.word()),
        Axis::new("width", "values per vector", AxisKind::Numbers(&[1, 2, 4]), widths.iter().copied()),
        Axis::new("n", "words of memory", AxisKind::AtLeast(1), [n]).of_work(),
        local_size_axis(setting),
        Elements::unroll_axis("vectors per invocation", unroll),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [n, width] = ["n", "width"].map(|axis| config.integer(axis));
    let ty = Type::of(config.choice("type"));
    config.require(ty.needs())?;
    let (bytes, vector) = (n * 4, ty.bytes() * width);
    if bytes % vector != 0 {
        return Err(Skip::new(format!("n={n} words end within a vector: the case needs a multiple of {vector} bytes")));
    }
    let elements = Elements::new(bytes / vector, config)?;
    let (sums, data) = (elements.invocations(), ty.data(config.seed()));
    let values = move |invocation| {
        elements.of(invocation).flat_map(move |vector| (0..width).map(move |component| vector * width + component))
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [
        case.output("sums", Expected::words(sums, move |invocation| ty.sum(data, values(invocation)))),
        case.input("data", n, data),
    ];
    let kernel = config.kernel("memory/dtype.comp", &["unroll"]).define(&ty.word().to_uppercase(), "").define("WIDTH", width);
    case.run(kernel, &resources, elements.groups, &[elements.pushed()]);
    let work = Work { bytes: Some((n + sums) * 4), items: Some(elements.count * width), ..Work::default() };
    Ok(case.bound(beyond_caches(bytes)).build(work, Headline::BANDWIDTH))
}

impl Type {
    /// The features without which a device can't read it.
    fn needs(self) -> &'static [Feature] {
        match self {
            Self::U8 => &[Feature::Storage8],
            Self::U16 | Self::F16 => &[Feature::Storage16],
            Self::U32 | Self::F32 => &[],
            Self::U64 => &[Feature::Int64],
            Self::F64 => &[Feature::Float64],
        }
    }

    fn bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 => 2,
            Self::U32 | Self::F32 => 4,
            Self::U64 | Self::F64 => 8,
        }
    }

    fn data(self, seed: u64) -> Sequence {
        match self {
            Self::F16 => Sequence::WholeHalves { seed, magnitude: HALF_MAGNITUDE },
            Self::F32 => Sequence::WholeFloats { seed, magnitude: FLOAT_MAGNITUDE },
            Self::F64 => Sequence::WholeDoubles { seed, magnitude: DOUBLE_MAGNITUDE },
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Sequence::Words { seed },
        }
    }

    /// What the shader makes of the sum of these values. Floats are not summed up by sum(), whose neutral element is -0.0.
    fn sum(self, data: Sequence, values: impl Iterator<Item = u64>) -> u32 {
        match self {
            Self::U8 | Self::U16 | Self::U32 => values.map(|i| narrow(self.bytes(), data, i)).fold(0, u32::wrapping_add),
            Self::U64 => both_halves(values.map(|i| wide(data, i)).fold(0, u64::wrapping_add)),
            Self::F16 => values.map(|i| data.half(i).to_f32()).fold(0.0, f32::add).to_bits(),
            Self::F32 => values.map(|i| data.float(i)).fold(0.0, f32::add).to_bits(),
            Self::F64 => both_halves(values.map(|i| data.double(i)).fold(0.0, f64::add).to_bits()),
        }
    }
}

/// The shader's WORD, for 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "the halves are meant")]
fn both_halves(sum: u64) -> u32 {
    (sum as u32).wrapping_add(((sum >> 32) as u32).wrapping_mul(3))
}

/// The value of 64 bits at an index.
fn wide(data: Sequence, index: u64) -> u64 {
    u64::from(data.word(2 * index)) | (u64::from(data.word(2 * index + 1)) << 32)
}

/// The value of so many bytes, four at most, at an index.
fn narrow(bytes: u64, data: Sequence, index: u64) -> u32 {
    let in_word = 4 / bytes;
    (data.word(index / in_word) >> (8 * bytes * (index % in_word))) & (u32::MAX >> (32 - 8 * bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{mock_with, quick, reason};
    use crate::model::DeviceInfo;

    #[test]
    fn values_lie_in_words_as_the_device_reads_them() {
        let data = Sequence::Words { seed: 1 };
        let bytes: Vec<u8> = (0..6).flat_map(|i| data.word(i).to_le_bytes()).collect();
        let value = |of: &[u8]| of.iter().rev().fold(0, |value, byte| (value << 8) | u64::from(*byte));
        for size in [1, 2, 4] {
            let values = bytes.chunks_exact(size).map(value);
            assert!(values.eq((0..24 / size as u64).map(|i| u64::from(narrow(size as u64, data, i)))), "{size}");
        }
        assert!(bytes.chunks_exact(8).map(value).eq((0..3).map(|i| wide(data, i))));
    }

    /// Folded, a grid is larger than what it takes: here every byte has an index of 32 bits, and the grid's end has none.
    #[test]
    fn a_grid_whose_indexes_wrap_around_is_skipped() {
        let mut device = mock_with(&[Feature::Storage8], &[]);
        for (limit, why) in [(1 << 20, ""), (65_535, "indexes of 32 bits end")] {
            device.limits.workgroup_count[0] = limit;
            let n = (1 << 30) - (1 << 13);
            let reason = reason(&EXPERIMENT, "", quick(&device), &format!("type=u8 n={n} width=1 unroll=64 local_size_x=256"));
            assert!(reason.starts_with(why) && reason.is_empty() == why.is_empty(), "{reason}");
        }
    }

    #[test]
    fn what_a_device_lacks_is_named() {
        let named = ["storageBuffer8", "storageBuffer16", "storageBuffer16", "", "", "shaderInt64", "shaderFloat64"];
        for (ty, name) in Type::WORDS.iter().zip(named) {
            let reason = reason(&EXPERIMENT, "", quick(&DeviceInfo::mock()), &format!("type={ty}"));
            assert!(reason.starts_with(name) && reason.is_empty() == name.is_empty(), "{reason}");
        }
    }
}
