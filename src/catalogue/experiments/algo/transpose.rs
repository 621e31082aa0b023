//! `algo/transpose`: what does a matrix transpose gain by each way of turning it?

use crate::experiments::MOST_SIZE;
use crate::experiments::common::prelude::*;
use crate::model::DeviceInfo;

pub const EXPERIMENT: Experiment = Experiment {
    variants: Rung::WORDS,
    peak_kind: Some("global"),
    repeatability: |_| Repeatability::Memory,
    traffic,
    ..Experiment::of_ladder(LADDER, axes, build)
};

choices! {
    enum Rung {
        Naive = "naive",
        NaiveLoadsFirst = "naive_loads_first",
        Tiled = "tiled",
        Padded = "padded",
        Swizzled = "swizzled",
        Shuffle = "shuffle",
    }
}

/// `shuffle` turns blocks of 2^3 x 2^3 words where subgroups are large enough: rows of eight words are whole 32-byte sectors,
/// and eight words are few registers.
const MOST_STAGES: u32 = 3;

const LADDER: Ladder =
    Ladder { experiment: "algo/transpose", first: Rung::Naive.word(), choices: &["local_size_x", "local_size_y", "tile"] };

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let size = if quick { setting.by_class(512_u64, 8192) } else { setting.by_class(1024_u64, 8192) };
    let height = (usual_size(setting) / 32).max(1);
    let (widths, heights) =
        if quick { (vec![32], vec![height]) } else { (powers_of_two(8, 32).collect(), powers_of_two(1, 32).collect()) };
    vec![
        Axis::new("local_size_x", "width of a workgroup", AxisKind::AtLeast(1), widths),
        Axis::new("local_size_y", "height of a workgroup", AxisKind::AtLeast(1), heights),
        Axis::new("tile", "edge of a workgroup's tile, words", AxisKind::Numbers(&[4, 8, 16, 32, 64]), [32_u64]),
        Axis::new("matrix_size", "width and height of the matrix, words", AxisKind::AtLeast(1), [size])
            .up_to(MOST_SIZE)
            .of_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [size, tile] = ["matrix_size", "tile"].map(|axis| config.u32(axis));
    let kernel = kernel(config)?.constant("TILE", Scalar::U32(tile));
    let (edge, source) = (u64::from(size), Sequence::Words { seed: config.seed() });
    let words = edge.pow(2);
    let transposed = move |i: u64| {
        let [across, down] = [i % edge, i / edge];
        source.word(across * edge + down)
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [case.input("source", words, source), case.output("target", Expected::words(words, transposed))];
    case.run(kernel, &resources, [size.div_ceil(tile), size.div_ceil(tile), 1], &[size]);
    let work = Work { bytes: Some(words * 2 * 4), items: Some(words), ..Work::default() };
    Ok(case.bound(beyond_caches(words * 4)).build(work, Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let rung = Rung::of(&case.variant);
    if rung == Rung::Shuffle {
        return Err("blocks are dealt to subgroups, of which some may have none");
    }
    let [tile, x, y] = ["tile", "local_size_x", "local_size_y"].map(|axis| case.point.integer(axis));
    let steps = tile.div_ceil(x) * tile.div_ceil(y);
    let (loops, usual) = (vec![steps.div_ceil(4)], Traffic::usual(case));
    // A whole tile has a way of its own beside the one that checks, where there is such a tile.
    let is_twice = rung == Rung::NaiveLoadsFirst && tile % x == 0 && tile % y == 0 && steps % steps.min(4) == 0;
    let uncounted = if is_twice { usual.total / usual.invocations } else { 0 };
    Ok(vec![Traffic { loops, uncounted, ..usual }])
}

fn kernel(config: &Config) -> Result<Kernel, Skip> {
    let local_size = [config.u32("local_size_x"), config.u32("local_size_y"), 1];
    let naive =
        |loads_first| Kernel::new("algo/transpose_naive.comp", local_size).constant("LOADS_FIRST", Scalar::Bool(loads_first));
    let tiled = |padding, swizzled| {
        Kernel::new("algo/transpose_tiled.comp", local_size)
            .constant("PADDING", Scalar::U32(padding))
            .constant("SWIZZLED", Scalar::Bool(swizzled))
    };
    match Rung::of(config.variant) {
        Rung::Naive => Ok(naive(false)),
        Rung::NaiveLoadsFirst => Ok(naive(true)),
        Rung::Tiled => Ok(tiled(0, false)),
        Rung::Padded => Ok(tiled(1, false)),
        Rung::Swizzled => Ok(tiled(0, true)),
        Rung::Shuffle => shuffling(local_size, config.device()),
    }
}

/// `shuffle`, where the device has what it needs: shuffles, and subgroups of a known size that a workgroup fills.
fn shuffling(local_size: [u32; 3], device: &DeviceInfo) -> Result<Kernel, Skip> {
    let subgroup = &device.subgroup;
    if !(subgroup.in_compute && subgroup.classes.contains(&SubgroupClass::Shuffle)) {
        return Err(Skip::new("VK_SUBGROUP_FEATURE_SHUFFLE_BIT is not there for compute shaders: the case needs shuffles"));
    }
    let size = subgroup.size.max(1);
    let invocations = product(local_size.map(u64::from));
    // Only multiples in x are sure to fill subgroups. GPUs fill them across rows as well; llvmpipe begins a new one in every
    // row.
    let filled = if device.is_cpu() { local_size[0].into() } else { invocations };
    if filled % u64::from(size) != 0 {
        let [x, y, _] = local_size;
        return Err(Skip::new(format!("subgroupSize is {size}, a workgroup {x} x {y}: the case needs full subgroups")));
    }
    // A driver that may choose among sizes doesn't tell which it chose.
    let required = (subgroup.size_control && subgroup.min_size < subgroup.max_size).then_some(size);
    let subgroups = invocations / u64::from(size);
    if required.is_some() && subgroups > subgroup.max_workgroup_subgroups.into() {
        let most = subgroup.max_workgroup_subgroups;
        return Err(Skip::new(format!("maxComputeWorkgroupSubgroups is {most}, the case needs {subgroups}")));
    }
    let stages = Scalar::U32(size.ilog2().min(MOST_STAGES));
    let kernel = Kernel::new("algo/transpose_shuffle.comp", local_size).constant("STAGES", stages);
    Ok(Kernel { required_subgroup_size: required, ..kernel })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceKind, Subgroup};

    fn device(kind: DeviceKind, size: u32) -> DeviceInfo {
        let classes = [SubgroupClass::Basic, SubgroupClass::Shuffle].into();
        let subgroup = Subgroup { size, min_size: size, max_size: size, in_compute: true, classes, ..Subgroup::default() };
        DeviceInfo { kind, subgroup, ..DeviceInfo::mock() }
    }

    #[test]
    fn shuffling_needs_full_subgroups() {
        let [gpu, cpu] = [DeviceKind::Discrete, DeviceKind::Cpu].map(|kind| device(kind, 32));
        let without = DeviceInfo { subgroup: Subgroup { classes: [].into(), ..gpu.subgroup.clone() }, ..gpu.clone() };
        let subgroup = Subgroup { min_size: 8, size_control: true, max_workgroup_subgroups: 2, ..gpu.subgroup.clone() };
        let several = DeviceInfo { subgroup, ..gpu.clone() };
        for (device, local_size, expected) in [
            (&gpu, [8, 4, 1], Ok(None)),
            (&cpu, [32, 3, 1], Ok(None)),
            (&gpu, [8, 2, 1], Err("full subgroups")),
            (&gpu, [12, 4, 1], Err("full subgroups")),
            (&cpu, [8, 4, 1], Err("full subgroups")),
            (&without, [8, 4, 1], Err("SHUFFLE")),
            // A size is required only where there are several.
            (&gpu, [32, 2, 1], Ok(None)),
            (&several, [32, 2, 1], Ok(Some(32))),
            (&several, [32, 3, 1], Err("maxComputeWorkgroupSubgroups")),
        ] {
            match (shuffling(local_size, device), expected) {
                (Ok(kernel), Ok(required)) => assert_eq!(kernel.required_subgroup_size, required),
                (Err(skip), Err(why)) => assert!(skip.reason.contains(why), "{}", skip.reason),
                (kernel, _) => panic!("{local_size:?}: {kernel:?} where {expected:?} is right"),
            }
        }
    }

    #[test]
    fn blocks_fit_into_subgroups() {
        for (size, stages) in [(1, 0), (4, 2), (8, 3), (32, 3), (128, 3)] {
            let kernel = shuffling([128, 1, 1], &device(DeviceKind::Discrete, size)).unwrap();
            assert_eq!(kernel.constants, [("STAGES".to_owned(), Scalar::U32(stages))]);
        }
    }
}
