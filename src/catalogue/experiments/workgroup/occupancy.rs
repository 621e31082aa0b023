//! `workgroup/occupancy`: what does it cost when workgroup memory keeps other workgroups away?

use crate::experiments::common::axes::sizes_up_to;
use crate::experiments::common::elements::mixed;
use crate::experiments::common::knee;
use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[RESIDENCY],
    derive: |rows| knee::falls([RESIDENCY, "", "spoiler", "B"], "spoiler_bytes", rows),
    traffic: |case| Ok(vec![Traffic { loops: vec![READS], ..Traffic::usual(case) }]),
    ..Experiment::of_memory("workgroup/occupancy", axes, build)
};

const RESIDENCY: &str = "workgroup/residency";

/// Reads of an invocation, as in the shader.
const READS: u64 = 32;
/// Words of an element.
const WORDS: u64 = 2;

fn axes(setting: &Setting) -> Vec<Axis> {
    let sizes: Vec<u64> = match setting.preset {
        Preset::Quick => vec![64],
        Preset::Default => vec![64, usual_size(setting)],
        Preset::Thorough => powers_of_two(32, size_up_to(u64::MAX, setting)).collect(),
    };
    let limit = setting.device.limits.shared_bytes;
    let spoilers = if setting.preset == Preset::Quick { vec![4] } else { spoilers(limit.into()) };
    // On a GPU 256 MiB: five times the last cache of a large one of today.
    let n = setting.by_class(1_u64 << 16, 1 << 25);
    vec![
        Axis::new("spoiler_bytes", "workgroup memory of a workgroup", AxisKind::AtLeast(4), spoilers).relative_to(4_u64),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("n", "elements of 8 bytes", AxisKind::AtLeast(1), [n]).of_work(),
    ]
}

#[expect(clippy::cast_possible_truncation, reason = "a sum of words wraps as the device's does")]
fn build(config: &Config) -> Result<Built, Skip> {
    let [n, local_size, spoiler] = ["n", "local_size_x", "spoiler_bytes"].map(|axis| config.integer(axis));
    // The plan sees the size as well, but only once the kernel is compiled with numbers of 32 bits.
    let limit = config.device().limits.shared_bytes;
    let words = u32::try_from(spoiler / 4).ok().filter(|_| spoiler <= limit.into());
    let words = words.ok_or_else(|| Skip::new(format!("maxComputeSharedMemorySize is {limit}, the case needs {spoiler}")))?;
    let (groups, invocations) = config.grid(n.div_ceil(local_size * READS));
    let source = Sequence::Words { seed: config.seed() };
    let result = move |invocation: u64| {
        let (group, lane) = (invocation / local_size, invocation % local_size);
        let own = (0..READS).map(|k| (group * READS + k) * local_size + lane).take_while(|i| *i < n);
        own.map(|i| mixed((0..WORDS).map(|word| source.word(WORDS * i + word)))).fold(5 * group as u32, u32::wrapping_add)
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [case.output("results", Expected::words(invocations, result)), case.input("source", n * WORDS, source)];
    let kernel = Kernel::new("workgroup/occupancy.comp", config.workgroup()).constant("SPOILER", Scalar::U32(words));
    case.run(kernel, &resources, groups, &[config.u32("n"), words - 1, words - 1, 0]);
    let work = Work { bytes: Some((n * WORDS + invocations) * 4), items: Some(n), ..Work::default() };
    Ok(case.bound(beyond_caches(n * WORDS * 4)).iterations(READS).build(work, Headline::BANDWIDTH))
}

/// Next to nothing, then sizes up to the device's limit.
fn spoilers(limit: u64) -> Vec<u64> {
    std::iter::once(4).chain(sizes_up_to(limit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::rows::{row, untold};
    use crate::experiments::common::testing::{quick, reason};
    use crate::model::{DeviceInfo, Figure};

    /// A processor with so much workgroup memory for all of its workgroups, of which it holds 32 at most, and 16 saturate it.
    fn rows(room: u64, local_size: u64) -> Vec<Finished> {
        let row = |bytes: u64| {
            let resident = (room / bytes.max(1)).clamp(1, 32);
            let time = 1000.0 / f64::from(u32::try_from(resident.min(16)).unwrap());
            row(&format!("spoiler_bytes={bytes} local_size_x={local_size} n=65536"), time)
        };
        spoilers(48 << 10).into_iter().map(row).collect()
    }

    #[test]
    fn the_knee_is_told_for_each_workgroup_size() {
        let derived = EXPERIMENT.derive(&[rows(128 << 10, 64), rows(128 << 10, 256)].concat());
        let told: Vec<_> = derived.iter().map(|row| (row.point.integer("local_size_x"), row.figure.clone())).collect();
        let figure = Ok(Figure { value: 8192.0, interval: Some((8192.0, 12288.0)) });
        assert_eq!(told, [(64, figure.clone()), (256, figure)]);
    }

    #[test]
    fn what_loses_nothing_has_none() {
        let reason = |rows: &[Finished]| untold(&EXPERIMENT.derive(rows)[0]);
        assert!(reason(&rows(1 << 30, 64)).starts_with("no knee seen: up to spoiler_bytes=49152"));
        assert!(reason(&[]).contains("0 values"));
    }

    #[test]
    fn spoilers_reach_the_limit() {
        assert_eq!(spoilers(4 << 10), [4, 1 << 10, 1536, 2 << 10, 3 << 10, 4 << 10]);
        assert_eq!(spoilers(5000).last(), Some(&5000));
    }

    #[test]
    fn a_spoiler_beyond_the_limit_is_skipped() {
        let reason = |bytes: u64| reason(&EXPERIMENT, "", quick(&DeviceInfo::mock()), &format!("spoiler_bytes={bytes}"));
        assert_eq!(reason(48 << 10), "");
        for beyond in [(48 << 10) + 4, 1 << 34] {
            assert_eq!(reason(beyond), format!("maxComputeSharedMemorySize is 49152, the case needs {beyond}"));
        }
    }
}
