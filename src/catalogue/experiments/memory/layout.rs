//! `memory/layout`: how should the fields of many records lie in memory?

use std::ops::Add;

use crate::experiments::common::prelude::*;
use crate::model::DeviceInfo;

pub const EXPERIMENT: Experiment = Experiment {
    variants: Layout::WORDS,
    base_variant: Some(Layout::Arrays.word()),
    ..Experiment::of_memory("memory/layout", axes, build)
};

choices! { enum Layout { Arrays = "soa", Structs = "aos", Padded = "padded", Blocks8 = "aosoa8", Blocks32 = "aosoa32" } }

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

fn build(config: &Config) -> Result<Built, Skip> {
    let [n, fields] = ["n", "fields_used"].map(|axis| config.integer(axis));
    let layout = Layout::of(config.variant);
    let elements = Elements::new(n, config)?;
    let data = Sequence::WholeFloats { seed: config.seed(), magnitude: MAGNITUDE };
    let vertex = move |i| (0..fields).map(|field| data.float(layout.place(n, i, field))).fold(0.0, f32::add);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [case.output("sums", elements.float_sums(vertex)), case.input("data", layout.words(n), data)];
    let kernel = config.kernel("memory/layout.comp", &["unroll"]).constant("FIELDS", Scalar::U32(config.u32("fields_used")));
    let kernel = match layout {
        Layout::Arrays => kernel,
        Layout::Structs => kernel.define("AOS", ""),
        Layout::Padded => kernel.define("PADDED", ""),
        Layout::Blocks8 => kernel.define("AOSOA", 8),
        Layout::Blocks32 => kernel.define("AOSOA", 32),
    };
    case.run(kernel, &resources, elements.groups, &[elements.pushed()]);
    let work = Work { bytes: Some((n * fields + elements.invocations()) * 4), items: Some(n), ..Work::default() };
    // Of vertices of which one field alone is more than any cache holds.
    Ok(case.bound(beyond_caches(n * 4)).build(work, Headline::BANDWIDTH))
}

/// On a GPU, 512 MiB for each field, ten times the last cache of a large one of today; less where the device can't bind that
/// much, padding included.
fn vertices_on(device: &DeviceInfo) -> u64 {
    let most = device.limits.storage_buffer_range.min(device.limits.allocation_bytes) / 16;
    1 << most.clamp(1, 1 << 27).ilog2()
}

impl Layout {
    /// Words that n vertices take.
    fn words(self, n: u64) -> u64 {
        match self {
            Self::Arrays | Self::Structs => n * 3,
            Self::Padded => n * 4,
            Self::Blocks8 => n.div_ceil(8) * 3 * 8,
            Self::Blocks32 => n.div_ceil(32) * 3 * 32,
        }
    }

    /// The word that holds a field of a vertex: the shader's X, Y and Z.
    fn place(self, n: u64, vertex: u64, field: u64) -> u64 {
        let in_blocks = |block: u64| vertex / block * 3 * block + field * block + vertex % block;
        match self {
            Self::Arrays => field * n + vertex,
            Self::Structs => 3 * vertex + field,
            Self::Padded => 4 * vertex + field,
            Self::Blocks8 => in_blocks(8),
            Self::Blocks32 => in_blocks(32),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_field_has_a_place_of_its_own() {
        for n in [1, 8, 31, 100] {
            for layout in Layout::ALL {
                let place = |i, field| layout.place(n, i, field);
                let places: BTreeSet<u64> = (0..n).flat_map(|i| (0..3).map(move |field| place(i, field))).collect();
                assert_eq!(places.len() as u64, 3 * n, "{layout:?}");
                assert!(places.last() < Some(&layout.words(n)), "{layout:?}");
            }
        }
    }

    #[test]
    fn vertices_fit_into_what_a_device_can_bind() {
        let with = |range| {
            let mut device = DeviceInfo::mock();
            device.limits.storage_buffer_range = range;
            vertices_on(&device)
        };
        assert_eq!([1 << 32, 1 << 31, (1 << 30) - 1, 16, 0].map(with), [1 << 27, 1 << 27, 1 << 25, 1, 1]);
    }
}
