//! `algo/histogram`: how fast can keys be counted by bins, and how much of it do the data decide?

use std::ops::Range;

use crate::experiments::common::parts::in_parts;
use crate::experiments::common::prelude::*;
use crate::experiments::common::words;
use crate::model::{DeviceInfo, Distribution};

pub const EXPERIMENT: Experiment = Experiment {
    variants: Rung::WORDS,
    quick_variants: &[Rung::GlobalAtomics.word(), Rung::Vector.word()],
    peak_kind: Some("global"),
    repeatability: |_| Repeatability::Placement,
    traffic,
    ..Experiment::of_ladder(LADDER, axes, build)
};

choices! {
    enum Rung {
        GlobalAtomics = "global_atomics",
        SharedAtomics = "shared_atomics",
        SubgroupCopies = "subgroup_copies",
        LaneCopies = "lane_copies",
        Aggregated = "aggregated",
        Vector = "vector",
    }
}

/// A bin for each value of a key's top byte.
const BINS: usize = 256;
const COPY_BYTES: u32 = 4 * 256;

choices! {
    enum Named { Uniform = "uniform", Zipf = "zipf", One = "one" }
}

const ITEMS: &[u64] = &[1, 2, 4, 8, 16, 32];

/// Copies of the bins that lanes may have: devices of today have no more than 32 banks, and 64 lanes.
const COPIES: &[u64] = &[1, 2, 4, 8, 16, 32, 64];
const USUAL_BANKS: u32 = 32;

/// Keys in a load of `vector`.
const VECTOR: u64 = 4;

/// More workgroups than any device holds at once find no key.
const MOST_GROUPS: u64 = 1 << 20;

/// What the kernels' indexes of 32 bits must stay below, those past the end included.
const INDEXES: u64 = 1 << 32;

const LADDER: Ladder = Ladder {
    experiment: "algo/histogram",
    first: Rung::GlobalAtomics.word(),
    choices: &["local_size_x", "groups", "items", "copies"],
};

fn axes(setting: &Setting) -> Vec<Axis> {
    let usual = usual_size(setting);
    // Global atomics take too long for an overview where many keys fall into one bin, or are many.
    let distributions = setting.quick_or(&Named::ALL[..1], Named::ALL);
    let quick = setting.by_class(vec![1_u64 << 16], vec![1 << 26]);
    let n = setting.quick_or(quick, setting.by_class(vec![1 << 18, 100_003], vec![1 << 28, 100_000_007]));
    let (sizes, groups): (Vec<u64>, Vec<u64>) = match setting.preset {
        Preset::Quick => (vec![setting.by_class(usual, size_up_to(1024, setting))], setting.by_class(vec![4], vec![1056])),
        Preset::Default => (setting.by_class(vec![32, usual], vec![usual, 1024]), setting.by_class(vec![4], vec![1056])),
        Preset::Thorough => (powers_of_two(32, 1024).collect(), setting.by_class(vec![2, 4, 8], vec![264, 1056, 4224])),
    };
    let copies = u64::from(lane_copies(setting.device));
    vec![
        Named::axis("distribution", "which bins keys fall into", distributions),
        Axis::new("n", "keys of 32 bits", AxisKind::AtLeast(1), n).of_work(),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        // More of them are no more work.
        Axis::new("groups", "workgroups that share the keys", AxisKind::AtLeast(1), groups).up_to(MOST_GROUPS),
        Axis::new("items", "keys that an invocation loads before it counts one", AxisKind::Numbers(ITEMS), [16_u64]),
        Axis::new(
            "copies",
            "copies of the bins for the lanes, in those variants that have some",
            AxisKind::Numbers(COPIES),
            [copies],
        ),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let n = config.integer("n");
    let copies = copies(config);
    let kernel = kernel(config, copies)?;
    let groups = fold_groups(config.integer("groups"), config.most_groups());
    let tile = product([config.integer("local_size_x"), config.integer("items")]);
    let reached = product([tile, workgroups(groups)]).saturating_add(n);
    if reached >= INDEXES {
        return Err(Skip::new(format!("indexes of 32 bits end at {INDEXES}, the grid's last tile at {reached}")));
    }
    let distribution = match Named::of(config.choice("distribution")) {
        Named::Uniform => Distribution::Uniform,
        Named::Zipf => Distribution::Zipf,
        Named::One => Distribution::One,
    };
    let keys = Sequence::Keys { seed: config.seed(), distribution };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let bins = case.output("bins", Expected::words_from(BINS as u64, move || words::of(counts(keys, n).to_vec())));
    // Loads of several keys take the last ones whole.
    let keys = case.input("keys", n.next_multiple_of(VECTOR), keys);
    case.fill(bins, 0);
    case.barrier();
    case.run(kernel, &[bins, keys], groups, &[config.u32("n")]);
    // Its tiles, and the bins that it clears and adds up.
    let bins = BINS as u64 * if copies > 0 { u64::from(copies) + 1 } else { 0 };
    let iterations = n.div_ceil(tile).div_ceil(workgroups(groups)) + bins.div_ceil(config.integer("local_size_x"));
    let work = Work { bytes: Some(n * 4), items: Some(n), ..Work::default() };
    Ok(case.iterations(iterations).bound(beyond_caches(n * 4)).build(work, Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let [n, size, items] = ["n", "local_size_x", "items"].map(|axis| case.point.integer(axis));
    let round = product([size, items, workgroups(case.groups())]);
    if n % round != 0 {
        return Err("some workgroups take a tile less than others, or a part of one");
    }
    // A tile that isn't full has a way of its own.
    Ok(vec![Traffic { loops: vec![n / round], counted: Moved::READ, uncounted: items * 4, ..Traffic::usual(case) }])
}

/// Copies of the bins in the memory of a workgroup; none where it counts in the bins of all.
fn copies(config: &Config) -> u32 {
    match Rung::of(config.variant) {
        Rung::GlobalAtomics => 0,
        Rung::SharedAtomics | Rung::Aggregated => 1,
        Rung::SubgroupCopies => subgroup_copies(config.device(), config.u32("local_size_x")),
        Rung::LaneCopies | Rung::Vector => config.u32("copies"),
    }
}

/// The kernel of a variant, with so many copies of the bins.
fn kernel(config: &Config, copies: u32) -> Result<Kernel, Skip> {
    let [local_size, items] = ["local_size_x", "items"].map(|axis| config.integer(axis));
    let of_width = |source: &'static str, width: u64| config.kernel(source, &["items"]).define("WIDTH", width);
    let shared = |width: u64, is_interleaved: bool, sharers: u32| {
        of_width("algo/histogram_shared.comp", width)
            .constant("COPIES", Scalar::U32(copies))
            .constant("INTERLEAVED", Scalar::Bool(is_interleaved))
            .constant("SHARERS", Scalar::U32(sharers))
    };
    match Rung::of(config.variant) {
        Rung::GlobalAtomics => Ok(of_width("algo/histogram_global.comp", 1)),
        Rung::SharedAtomics => Ok(shared(1, false, 1)),
        Rung::SubgroupCopies => Ok(shared(1, false, lanes(config.device()))),
        Rung::LaneCopies => Ok(shared(1, true, 1)),
        Rung::Aggregated => {
            config.require_classes(&[SubgroupClass::Ballot])?;
            let kernel = of_width("algo/histogram_aggregated.comp", 1).constant("COPIES", Scalar::U32(copies));
            Ok(Kernel { required_subgroup_size: size_to_require(config.device(), local_size), ..kernel })
        }
        Rung::Vector if items % VECTOR != 0 => {
            Err(Skip::new(format!("items={items} is not a whole number of loads of {VECTOR} keys")))
        }
        Rung::Vector => Ok(shared(VECTOR, true, 1)),
    }
}

fn most_copies(device: &DeviceInfo) -> u32 {
    (device.limits.shared_bytes / COPY_BYTES).max(1)
}

/// A copy for each subgroup, or as many as there is room for.
fn subgroup_copies(device: &DeviceInfo, local_size: u32) -> u32 {
    local_size.div_ceil(lanes(device)).clamp(1, most_copies(device))
}

/// A copy for each lane, unless they are more than banks or than there is room for: a power of two.
fn lane_copies(device: &DeviceInfo) -> u32 {
    1 << lanes(device).min(USUAL_BANKS).min(most_copies(device)).ilog2()
}

/// How many of the first `n` keys have each top byte.
fn counts(keys: Sequence, n: u64) -> [u32; BINS] {
    let of_part = |part: Range<u64>| {
        let mut counts = [0_u32; BINS];
        part.for_each(|i| counts[(keys.word(i) >> 24) as usize] += 1);
        counts
    };
    let add = |mut counts: [u32; BINS], others: [u32; BINS]| {
        counts.iter_mut().zip(others).for_each(|(count, other)| *count += other);
        counts
    };
    in_parts(n, of_part).into_iter().fold([0; BINS], add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{quick, reason};
    use crate::model::Subgroup;

    fn device(lanes: u32, shared_bytes: u32) -> DeviceInfo {
        let mut device = DeviceInfo::mock();
        device.subgroup = Subgroup { size: lanes, ..device.subgroup };
        device.limits.shared_bytes = shared_bytes;
        device
    }

    #[test]
    fn copies_fit_into_workgroup_memory() {
        let subgroups = |device: &DeviceInfo| [1, 33, 1024].map(|local_size| subgroup_copies(device, local_size));
        for (lanes, shared, of_lanes, of_subgroups) in [
            (32, 49_152, 32, [1, 2, 32]),
            (64, 65_536, 32, [1, 1, 16]),
            (8, 32_768, 8, [1, 5, 32]),
            (4, 16_384, 4, [1, 9, 16]),
            (32, 16_384, 16, [1, 2, 16]),
            (0, 512, 1, [1, 1, 1]),
        ] {
            let device = device(lanes, shared);
            assert_eq!((lane_copies(&device), subgroups(&device)), (of_lanes, of_subgroups), "{lanes} lanes, {shared} bytes");
        }
    }

    #[test]
    fn every_key_is_counted_once() {
        for n in [1, 5, 200_003] {
            let keys = Sequence::Keys { seed: 1, distribution: Distribution::Zipf };
            let counts = counts(keys, n);
            assert_eq!(counts.iter().map(|count| u64::from(*count)).sum::<u64>(), n);
            let bin = keys.word(n - 1) >> 24;
            let of_bin = (0..n).filter(|i| keys.word(*i) >> 24 == bin).count();
            assert_eq!(counts[bin as usize] as usize, of_bin);
        }
    }

    #[test]
    fn what_can_not_be_counted_says_why() {
        let device = device(32, 49_152);
        for (variant, told, why) in [
            ("vector", "items=4", ""),
            ("vector", "items=2", "items=2 is not a whole number of loads of 4 keys"),
            ("lane_copies", "items=2", ""),
            (
                "global_atomics",
                "items=1 n=4294967232 groups=1",
                "indexes of 32 bits end at 4294967296, the grid's last tile at 4294967296",
            ),
        ] {
            let told = format!("n=100 groups=4 local_size_x=64 {told}");
            assert_eq!(reason(&EXPERIMENT, variant, quick(&device), &told), why);
        }
        assert!(reason(&EXPERIMENT, "aggregated", quick(&device), "").contains("VK_SUBGROUP_FEATURE_BALLOT_BIT"));
    }
}
