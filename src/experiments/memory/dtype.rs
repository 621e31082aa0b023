//! `memory/dtype`: does it matter in what types the same bytes are read?

use std::ops::Add;

use crate::experiments::{Built, CaseBuilder, Config, Elements, Experiment, Setting, local_size_axis};
use crate::model::{Axis, AxisKind, Bound, Feature, Headline, Kernel, Preset, Repeatability, Scalar, Sequence, Skip, Work};
use crate::validate::Expected;

pub const EXPERIMENT: Experiment = Experiment {
    peak_kind: Some("global"),
    repeatability: |_| Repeatability::Memory,
    ..Experiment::new("memory/dtype", axes, build)
};

const TYPES: &[&str] = &["u8", "u16", "f16", "u32", "f32", "u64", "f64"];

/// Words from which no cache of today holds a part that matters: 1 GiB.
const BEYOND_CACHES: u64 = 1 << 28;

/// Sums of 64 vectors of 4 stay below 2^24, where every whole number is an exact f32: halves are summed up as f32.
const FLOAT_MAGNITUDE: u32 = 1 << 15;
/// Below 2^11, up to which every whole number is an exact f16.
const HALF_MAGNITUDE: u32 = 1 << 10;
/// Sums of 256 stay far below 2^53.
const DOUBLE_MAGNITUDE: u32 = (1 << 31) - 1;

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let n = if quick { setting.by_class(1_u64 << 18, 1 << 26) } else { setting.by_class(1_u64 << 20, 1 << 28) };
    let types = if quick { &["u8", "f16", "u32"] } else { TYPES };
    let widths: &[u64] = if quick { &[1] } else { &[1, 2, 4] };
    // On a GPU, as many as it takes to make the sums few even beside bytes.
    let unroll = setting.by_class(16_u64, 64);
    vec![
        Axis::new("type", "what is read", AxisKind::Choices(TYPES), types.iter().copied()).relative_to("u32"),
        Axis::new("width", "values per vector", AxisKind::Numbers(&[1, 2, 4]), widths.iter().copied()),
        Axis::new("n", "words of memory", AxisKind::AtLeast(1), [n]).of_work(),
        local_size_axis(setting),
        Elements::unroll_axis("vectors per invocation", unroll),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let [n, width] = ["n", "width"].map(|axis| config.integer(axis));
    let ty = config.choice("type");
    config.require(needs(ty))?;
    let (bytes, vector) = (n * 4, bytes_of(ty) * width);
    if bytes % vector != 0 {
        return Err(Skip::new(format!("n={n} words end within a vector: the case needs a multiple of {vector} bytes")));
    }
    let elements = Elements::new(bytes / vector, config)?;
    let (sums, data) = (elements.invocations(), data(ty, config.seed()));
    let values = move |invocation| {
        elements.of(invocation).flat_map(move |vector| (0..width).map(move |component| vector * width + component))
    };
    let sum = move |invocation| sum(ty, data, values(invocation));
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [case.output("sums", Expected::words(sums, sum)), case.input("data", n, data)];
    let kernel = Kernel::new("memory/dtype.comp", config.workgroup())
        .define(&ty.to_uppercase(), "")
        .define("WIDTH", width)
        .constant("UNROLL", Scalar::U32(config.u32("unroll")));
    case.run(kernel, &resources, elements.groups, &[u32::try_from(elements.count).unwrap_or(u32::MAX)]);
    let work = Work { bytes: Some((n + sums) * 4), items: Some(elements.count * width), ..Work::default() };
    Ok(case.bound((n >= BEYOND_CACHES).then_some(Bound::Memory)).build(work, Headline::BANDWIDTH))
}

/// The features without which a device can't read a type.
fn needs(ty: &str) -> &'static [Feature] {
    match ty {
        "u8" => &[Feature::Storage8],
        "u16" | "f16" => &[Feature::Storage16],
        "u64" => &[Feature::Int64],
        "f64" => &[Feature::Float64],
        _ => &[],
    }
}

fn bytes_of(ty: &str) -> u64 {
    match ty {
        "u8" => 1,
        "u16" | "f16" => 2,
        "u32" | "f32" => 4,
        _ => 8,
    }
}

fn data(ty: &str, seed: u64) -> Sequence {
    match ty {
        "f16" => Sequence::WholeHalves { seed, magnitude: HALF_MAGNITUDE },
        "f32" => Sequence::WholeFloats { seed, magnitude: FLOAT_MAGNITUDE },
        "f64" => Sequence::WholeDoubles { seed, magnitude: DOUBLE_MAGNITUDE },
        _ => Sequence::Words { seed },
    }
}

/// What the shader makes of the sum of these values. Floats are not summed up by sum(), whose neutral element is -0.0.
fn sum(ty: &str, data: Sequence, values: impl Iterator<Item = u64>) -> u32 {
    match ty {
        "u64" => both_halves(values.map(|i| wide(data, i)).fold(0, u64::wrapping_add)),
        "f64" => both_halves(values.map(|i| data.double(i)).fold(0.0, f64::add).to_bits()),
        "f32" => values.map(|i| data.float(i)).fold(0.0, f32::add).to_bits(),
        "f16" => values.map(|i| data.half(i).to_f32()).fold(0.0, f32::add).to_bits(),
        _ => values.map(|i| narrow(bytes_of(ty), data, i)).fold(0, u32::wrapping_add),
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
    use crate::model::Point;

    #[test]
    fn values_lie_in_words_as_the_device_reads_them() {
        let data = Sequence::Words { seed: 1 };
        let bytes: Vec<u8> = (0..6).flat_map(|i| data.word(i).to_le_bytes()).collect();
        for (i, byte) in bytes.iter().enumerate() {
            assert_eq!(narrow(1, data, i as u64), u32::from(*byte));
        }
        for (i, pair) in bytes.chunks_exact(2).enumerate() {
            assert_eq!(narrow(2, data, i as u64), u32::from(u16::from_le_bytes([pair[0], pair[1]])));
        }
        for (i, eight) in bytes.chunks_exact(8).enumerate() {
            assert_eq!(narrow(4, data, i as u64), data.word(i as u64));
            assert_eq!(wide(data, i as u64), u64::from_le_bytes(eight.try_into().unwrap()));
        }
    }

    /// Folded, a grid is larger than what it takes: here every byte has an index of 32 bits, and the grid's end has none.
    #[test]
    fn a_grid_whose_indexes_wrap_around_is_skipped() {
        let mut device = crate::model::DeviceInfo::mock();
        device.features.insert(Feature::Storage8);
        let reason = |limit_x: u32| {
            let mut device = device.clone();
            device.limits.workgroup_count[0] = limit_x;
            let setting = Setting { device: &device, queue: None, preset: Preset::Thorough, seed: 1 };
            let axes = axes(&setting).into_iter().map(|axis| (axis.name, axis.defaults[0].clone()));
            let at = |point: Point, (name, value): (&str, u64)| point.with(name, &value.into());
            let numbers = [("n", (1 << 30) - (1 << 13)), ("width", 1), ("unroll", 64), ("local_size_x", 256)];
            let point = numbers.into_iter().fold(Point::new(axes).with("type", &"u8".into()), at);
            build(&Config::new("", &point, &setting)).err().map(|skip| skip.reason)
        };
        assert_eq!(reason(1 << 20), None);
        assert!(reason(65_535).unwrap().starts_with("indexes of 32 bits end"));
    }

    #[test]
    fn what_a_device_lacks_is_named() {
        let device = crate::model::DeviceInfo::mock();
        let setting = Setting { device: &device, queue: None, preset: Preset::Thorough, seed: 1 };
        let reasons = TYPES.iter().map(|ty| {
            let axes = axes(&setting).into_iter();
            let point = Point::new(axes.map(|axis| (axis.name, axis.defaults[0].clone()))).with("type", &(*ty).into());
            build(&Config::new("", &point, &setting)).err().map_or_else(String::new, |skip| skip.reason)
        });
        let named = ["storageBuffer8", "storageBuffer16", "storageBuffer16", "", "", "shaderInt64", "shaderFloat64"];
        assert!(reasons.zip(named).all(|(reason, name)| reason.starts_with(name) && reason.is_empty() == name.is_empty()));
    }
}
