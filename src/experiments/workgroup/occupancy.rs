//! `workgroup/occupancy`: what does it cost when workgroup memory keeps other workgroups away?

use crate::experiments::common::knee::{Mark, Told, fall, sweeps};
use crate::experiments::{Built, CaseBuilder, Config, Experiment, Setting, powers_of_two, usual_size};
use crate::model::{
    Axis, AxisKind, Bound, Derived, Finished, Headline, Kernel, Preset, Repeatability, Scalar, Sequence, Skip, Traffic, Work,
};
use crate::validate::Expected;

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[RESIDENCY],
    derive,
    peak_kind: Some("global"),
    repeatability: |_| Repeatability::Memory,
    traffic: |case| Ok(vec![Traffic { loops: vec![READS], ..Traffic::usual(case) }]),
    ..Experiment::new("workgroup/occupancy", axes, build)
};

/// What the knee is reported under.
const RESIDENCY: &str = "workgroup/residency";

/// Reads of an invocation, as in the shader.
const READS: u64 = 32;
/// Words of an element.
const WORDS: u64 = 2;
/// Elements from which no cache of today holds a part that matters: 1 GiB.
const BEYOND_CACHES: u64 = 1 << 27;

fn derive(rows: &[Finished]) -> Vec<Derived> {
    let axis = "spoiler_bytes";
    let told = Told { name: [RESIDENCY, "", "spoiler", "B"], axis };
    let knee = |rows: &[&Finished]| {
        fall(axis, &rows.iter().map(|row| Mark::new(row.point.integer(axis), 1.0, row)).collect::<Vec<_>>())
    };
    sweeps(axis, rows).into_iter().map(|(point, rows)| told.of(&point, &knee(&rows))).collect()
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let limits = &setting.device.limits;
    let largest = limits.workgroup_size[0].min(limits.workgroup_invocations).max(1);
    let sizes: Vec<u64> = match setting.preset {
        Preset::Quick => vec![64],
        Preset::Default => vec![64, usual_size(setting)],
        Preset::Thorough => powers_of_two(32, largest.into()).collect(),
    };
    let spoilers = if setting.preset == Preset::Quick { vec![4] } else { spoilers(limits.shared_bytes.into()) };
    // On a GPU 256 MiB: five times the last cache of a large one of today.
    let n = setting.by_class(1_u64 << 16, 1 << 25);
    vec![
        Axis::new("spoiler_bytes", "workgroup memory of a workgroup", AxisKind::AtLeast(4), spoilers).relative_to(4_u64),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("n", "elements of 8 bytes", AxisKind::AtLeast(1), [n]).of_work(),
    ]
}

#[expect(clippy::cast_possible_truncation, reason = "a sum of words wraps as the device's does")]
fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
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
        let mixed = |i: u64| source.word(WORDS * i).wrapping_add(source.word(WORDS * i + 1).wrapping_mul(3));
        own.map(mixed).fold(5 * group as u32, u32::wrapping_add)
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [case.output("results", Expected::words(invocations, result)), case.input("source", n * WORDS, source)];
    let kernel = Kernel::new("workgroup/occupancy.comp", config.workgroup()).constant("SPOILER", Scalar::U32(words));
    case.run(kernel, &resources, groups, &[config.u32("n"), words - 1, words - 1, 0]);
    let work = Work { bytes: Some((n * WORDS + invocations) * 4), items: Some(n), ..Work::default() };
    let bound = (n >= BEYOND_CACHES).then_some(Bound::Memory);
    Ok(case.bound(bound).iterations(READS).build(work, Headline::BANDWIDTH))
}

/// Next to nothing, then two for each doubling from 1 KiB on, up to the device's limit.
fn spoilers(limit: u64) -> Vec<u64> {
    let powers = powers_of_two(1 << 10, limit).flat_map(|power| [power, power / 2 * 3]);
    let mut all: Vec<u64> = std::iter::once(4).chain(powers).filter(|bytes| *bytes < limit).collect();
    all.push(limit.max(4));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Figure, Point};

    /// A processor with so much workgroup memory for all of its workgroups, of which it holds 32 at most, and 16 saturate it.
    fn rows(room: u64, local_size: u64) -> Vec<Finished> {
        let row = |bytes: u64| {
            let point = [("spoiler_bytes", bytes), ("local_size_x", local_size), ("n", 1 << 25)];
            let resident = (room / bytes.max(1)).clamp(1, 32);
            let time = 1000.0 / f64::from(u32::try_from(resident.min(16)).unwrap());
            let point = Point::new(point.map(|(name, value)| (name.into(), value.into())));
            Finished { point, time, interval: Some((0.99 * time, 1.01 * time)), ..Finished::default() }
        };
        spoilers(48 << 10).into_iter().map(row).collect()
    }

    #[test]
    fn the_knee_is_told_for_each_workgroup_size() {
        let derived = derive(&[rows(128 << 10, 64), rows(128 << 10, 256)].concat());
        let told: Vec<_> = derived.iter().map(|row| (row.point.integer("local_size_x"), row.figure.clone())).collect();
        let figure = Ok(Figure { value: 8192.0, interval: Some((8192.0, 12288.0)) });
        assert_eq!(told, [(64, figure.clone()), (256, figure)]);
    }

    #[test]
    fn what_loses_nothing_has_none() {
        let reason = |rows: &[Finished]| derive(rows)[0].figure.clone().unwrap_err().to_string();
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
        let device = crate::model::DeviceInfo::mock();
        let setting = Setting { queue: None, device: &device, preset: Preset::Quick, seed: 1 };
        let values = |bytes: u64| [("spoiler_bytes", bytes), ("local_size_x", 64), ("n", 4096)];
        let case = |bytes: u64| {
            let point = Point::new(values(bytes).map(|(name, value)| (name.into(), value.into())));
            build(&Config::new("", &point, &setting)).map(|built| built.case)
        };
        assert!(case(48 << 10).is_ok());
        for beyond in [(48 << 10) + 4, 1 << 34, u64::MAX] {
            let reason = case(beyond).unwrap_err().reason;
            assert_eq!(reason, format!("maxComputeSharedMemorySize is 49152, the case needs {beyond}"));
        }
    }
}
