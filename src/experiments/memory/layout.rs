//! `memory/layout`: how should the fields of many records lie in memory?

use std::ops::Add;

use crate::experiments::{Built, CaseBuilder, Config, Elements, Experiment, Setting, local_size_axis};
use crate::model::{Axis, AxisKind, Bound, DeviceInfo, Headline, Kernel, Preset, Repeatability, Scalar, Sequence, Skip, Work};
use crate::validate::Expected;

pub const EXPERIMENT: Experiment = Experiment {
    variants: &["soa", "aos", "padded", "aosoa8", "aosoa32"],
    base_variant: Some("soa"),
    peak_kind: Some("global"),
    repeatability: |_| Repeatability::Memory,
    ..Experiment::new("memory/layout", axes, build)
};

/// Vertices of which one field alone is more than any cache of today holds: 1 GiB.
const BEYOND_CACHES: u64 = 1 << 28;

/// Sums of 64 vertices of 3 fields stay below 2^24, where every whole number is an exact f32.
const MAGNITUDE: u32 = 1 << 16;

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let on_gpu = vertices_on(setting.device);
    let n = if quick { setting.by_class(1 << 18, on_gpu / 4) } else { setting.by_class(1 << 20, on_gpu) };
    let fields: &[u64] = if quick { &[1] } else { &[1, 3] };
    let unroll = setting.by_class(8_u64, 32);
    vec![
        Axis::new("fields_used", "fields that are read, of 3", AxisKind::Numbers(&[1, 3]), fields.iter().copied()),
        Axis::new("n", "vertices", AxisKind::AtLeast(1), [n]).of_work(),
        local_size_axis(setting),
        Elements::unroll_axis("vertices per invocation", unroll),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let [n, fields] = ["n", "fields_used"].map(|axis| config.integer(axis));
    let variant = config.variant;
    let elements = Elements::new(n, config)?;
    let sums = elements.invocations();
    let data = Sequence::WholeFloats { seed: config.seed(), magnitude: MAGNITUDE };
    let vertex = move |i| (0..fields).map(move |field| data.float(place(variant, n, i, field)));
    // Not sum(), whose neutral element is -0.0.
    let sum = move |invocation| elements.of(invocation).flat_map(vertex).fold(0.0, f32::add);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [case.output("sums", Expected::floats(sums, sum)), case.input("data", words(variant, n), data)];
    let kernel = Kernel::new("memory/layout.comp", config.workgroup())
        .constant("UNROLL", Scalar::U32(config.u32("unroll")))
        .constant("FIELDS", Scalar::U32(config.u32("fields_used")));
    let kernel = match variant {
        "aos" => kernel.define("AOS", ""),
        "padded" => kernel.define("PADDED", ""),
        "aosoa8" => kernel.define("AOSOA", 8),
        "aosoa32" => kernel.define("AOSOA", 32),
        _ => kernel,
    };
    case.run(kernel, &resources, elements.groups, &[config.u32("n")]);
    let work = Work { bytes: Some((n * fields + sums) * 4), items: Some(n), ..Work::default() };
    Ok(case.bound((n >= BEYOND_CACHES).then_some(Bound::Memory)).build(work, Headline::BANDWIDTH))
}

/// On a GPU, 512 MiB for each field, ten times the last cache of a large one of today; less where the device can't bind that
/// much, padding included.
fn vertices_on(device: &DeviceInfo) -> u64 {
    let most = device.limits.storage_buffer_range.min(device.limits.allocation_bytes) / 16;
    1 << most.clamp(1, 1 << 27).ilog2()
}

/// Words that n vertices take.
fn words(variant: &str, n: u64) -> u64 {
    let of_blocks = |block: u64| n.div_ceil(block) * 3 * block;
    match variant {
        "padded" => n * 4,
        "aosoa8" => of_blocks(8),
        "aosoa32" => of_blocks(32),
        _ => n * 3,
    }
}

/// The word that holds a field of a vertex: the shader's X, Y and Z.
fn place(variant: &str, n: u64, vertex: u64, field: u64) -> u64 {
    let in_blocks = |block: u64| vertex / block * 3 * block + field * block + vertex % block;
    match variant {
        "aos" => 3 * vertex + field,
        "padded" => 4 * vertex + field,
        "aosoa8" => in_blocks(8),
        "aosoa32" => in_blocks(32),
        _ => field * n + vertex,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_place_of_its_own() {
        for n in [1, 8, 31, 100] {
            for variant in EXPERIMENT.variants() {
                let mut places: Vec<u64> = (0..n).flat_map(|i| (0..3).map(move |field| place(variant, n, i, field))).collect();
                places.sort_unstable();
                places.dedup();
                assert_eq!(places.len() as u64, 3 * n, "{variant}");
                assert!(places.iter().all(|place| *place < words(variant, n)), "{variant}");
            }
        }
    }

    #[test]
    fn vertices_fit_into_what_a_device_can_bind() {
        let mock = DeviceInfo::mock();
        let with = |range| {
            let limits = crate::model::Limits { storage_buffer_range: range, ..mock.limits };
            vertices_on(&DeviceInfo { limits, ..mock.clone() })
        };
        assert_eq!([1 << 32, 1 << 31, (1 << 30) - 1, 16, 0].map(with), [1 << 27, 1 << 27, 1 << 25, 1, 1]);
    }
}
