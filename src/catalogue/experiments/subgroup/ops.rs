//! `subgroup/ops`: what does each operation between the lanes of a subgroup cost?

mod ids;
mod number;
mod table;
mod twin;

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::experiments::common::prelude::*;
use crate::experiments::common::words;
use crate::model::Subgroup;
use crate::validate::{Mismatch, Position};

use number::Number;
use table::{Operation, WORDS};
use twin::Twin;

pub const EXPERIMENT: Experiment = Experiment {
    variants: Number::WORDS,
    quick_variants: &["u32", "f32"],
    axes_of: Some(axes_of),
    ..Experiment::new("subgroup/ops", axes, build)
};

/// The types whose operations are all measured by default. Of the others a few tell what the type costs.
const COMMON: &[&str] = &["u32", "i32", "f32"];

/// One operation of each kind that a type may make slower: a crossing of lanes, a reduction, a scan.
const FEW: &[&str] = &["shuffle", "add", "inclusive_add"];

/// One operation of each kind that is built otherwise in hardware: a vote, a ballot, a crossing of lanes, a reduction, a scan.
const QUICK: &[&str] = &["all_equal", "ballot", "shuffle", "add", "inclusive_add"];

/// Clusters of this size stand for none where an operation has none.
const CLUSTER_SIZE: u64 = 4;

/// How much smaller the workgroup is that ends in a part of a subgroup: 250 of 256 is a multiple of no size from 4 on.
const LEFT_OUT: u64 = 6;

/// The largest workgroup that is measured by default.
const LOCAL_SIZE: u64 = 256;

/// Workgroups with words of their own, which the shader knows by the same name: the others repeat them, and the twin what came of
/// them.
const BEGINNINGS: usize = 16;

fn axes_of(variant: &str, setting: &Setting) -> Vec<Axis> {
    let mut axes = axes(setting);
    if setting.preset == Preset::Default && !COMMON.contains(&variant) {
        let ops = axes.iter_mut().filter(|axis| axis.name == "op");
        ops.for_each(|op| op.defaults = FEW.iter().copied().map(Into::into).collect());
    }
    axes
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let limits = &setting.device.limits;
    let full = LOCAL_SIZE.min(limits.workgroup_invocations.min(limits.workgroup_size[0]).into());
    let partial = full.saturating_sub(LEFT_OUT).max(1);
    let local_sizes = if quick { vec![partial] } else { vec![full, partial] };
    let sizes = subgroup_sizes(&setting.device.subgroup, quick);
    let clusters = match (setting.preset, sizes.last()) {
        (Preset::Thorough, Some(&largest)) => powers_of_two(2, largest.clamp(CLUSTER_SIZE, 128)).collect(),
        (Preset::Quick | Preset::Default, _) | (_, None) => vec![CLUSTER_SIZE],
    };
    let chain = setting.by_class(128_u64, 2048);
    let groups = if quick { setting.by_class(16_u64, 1056) } else { setting.by_class(64_u64, 1056) };
    let words = if quick { QUICK } else { WORDS };
    vec![
        Axis::new("op", "the operation", AxisKind::Choices(WORDS), words.iter().copied()),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), local_sizes).relative_to(full),
        Axis::new("subgroup_size", "lanes of a subgroup, required where there is a choice", AxisKind::AtLeast(1), sizes),
        Axis {
            neutral: Some(CLUSTER_SIZE.into()),
            ..Axis::new(
                "cluster_size",
                "lanes of a cluster, for the operations that have them",
                AxisKind::Numbers(&[2, 4, 8, 16, 32, 64, 128]),
                clusters,
            )
        },
        Axis::new(
            "chain",
            "dependent operations per invocation",
            AxisKind::Numbers(&[16, 32, 64, 128, 256, 512, 1024, 2048, 4096]),
            [chain],
        )
        .of_monotone_work(),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let Some(operation) = Operation::of(config.choice("op")) else {
        return Err(Skip::new(
            "VK_SUBGROUP_FEATURE_PARTITIONED_BIT_NV is one vendor's own class, of which the catalogue has no kernel: the \
             case needs one",
        ));
    };
    let (number, variant) = (Number::of(config.variant), config.variant);
    config.require_classes(&[operation.class])?;
    require_type(operation, number, variant)?;
    let of_variant = |Skip { reason }: Skip| Skip::new(format!("{reason} for {variant}"));
    config.require(number.needs()).map_err(of_variant)?;
    require_cluster(operation, config)?;
    let required_subgroup_size = required_size(config)?;
    let kernel = config.kernel(operation.shader(), &["chain"]).define("OP", operation.code());
    let kernel = if operation.is_clustered() { kernel.define("CLUSTER_SIZE", config.integer("cluster_size")) } else { kernel };
    let kernel = if number == Number::U32 { kernel } else { kernel.define(&variant.to_uppercase(), "") };
    let kernel = Kernel { required_subgroup_size, ..kernel };
    let grid = Grid::of(config, operation, number);
    let [local_size, size] = [grid.local_size, grid.twin.size].map(|size| size as u64);
    // What a device writes that numbers its lanes in order.
    let own_id = move |i: u64| ids::in_order(i % local_size, size);
    let in_order = move || grid.results(&(0..grid.invocations()).map(own_id).collect::<Vec<_>>()).unwrap_or_default();
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let results = case.output("results", grid.expected(in_order));
    let recorded = case.output("ids", Expected::words(grid.invocations(), own_id));
    let words = case.input("words", grid.invocations().min(BEGINNINGS as u64 * local_size), grid.words);
    case.run(kernel, &[results, recorded, words], grid.groups, &[]);
    // Which invocation is which lane is the driver's choice: the twin follows what was recorded, once that makes sense.
    let as_recorded = move |left: &PassOutputs| {
        let right = grid.results(&left.of(recorded).words())?;
        left.of(results).compare(&grid.expected(move || right.clone()))
    };
    let chain = config.integer("chain");
    // Those that lack lanes as well.
    let subgroups = grid.times(local_size.div_ceil(size));
    let work =
        Work { ops: Some(product([grid.invocations(), chain])), items: Some(product([subgroups, chain])), ..Work::default() };
    Ok(case.checked_by(as_recorded).build(work, Headline::COST))
}

// ---- what the device offers -----------------------------------------------------------------------------------------------

fn require_type(operation: &Operation, number: Number, variant: &str) -> Result<(), Skip> {
    let word = operation.word;
    if !operation.has_type() && number != Number::U32 {
        Err(Skip::new(format!("`{word}` takes no {variant}, and is measured once: the case needs the variant u32")))
    } else if operation.is_bitwise() && number.is_float() {
        Err(Skip::new(format!("`{word}` is not defined for floats: the case needs a variant of whole numbers")))
    } else {
        Ok(())
    }
}

fn require_cluster(operation: &Operation, config: &Config) -> Result<(), Skip> {
    let [cluster_size, size] = ["cluster_size", "subgroup_size"].map(|axis| config.integer(axis));
    if operation.is_clustered() && cluster_size > size {
        Err(Skip::new(format!("subgroups have {size} lanes: the case needs {cluster_size} for a cluster")))
    } else if !operation.is_clustered() && cluster_size != CLUSTER_SIZE {
        let word = operation.word;
        Err(Skip::new(format!("`{word}` has no clusters: the case needs cluster_size={CLUSTER_SIZE}, which stands for none")))
    } else {
        Ok(())
    }
}

/// Whether the driver would choose a size by itself where none is required.
fn has_choice(subgroup: &Subgroup) -> bool {
    subgroup.size_control && subgroup.min_size < subgroup.max_size
}

fn subgroup_sizes(subgroup: &Subgroup, quick: bool) -> Vec<u64> {
    if has_choice(subgroup) && !quick {
        powers_of_two(subgroup.min_size.into(), subgroup.max_size.into()).collect()
    } else {
        vec![subgroup.size.max(1).into()]
    }
}

/// The size to require of the driver; nothing where there is only one.
fn required_size(config: &Config) -> Result<Option<u32>, Skip> {
    let subgroup = &config.device().subgroup;
    let Subgroup { size, min_size, max_size, max_workgroup_subgroups, .. } = *subgroup;
    let [asked, local_size] = ["subgroup_size", "local_size_x"].map(|axis| config.u32(axis));
    if !has_choice(subgroup) {
        let lacks = if subgroup.size_control { "minSubgroupSize is maxSubgroupSize" } else { "subgroupSizeControl is missing" };
        let otherwise =
            || Skip::new(format!("{lacks}, subgroupSize is {size}: the case needs a requiredSubgroupSize of {asked}"));
        return if asked == size { Ok(None) } else { Err(otherwise()) };
    }
    if !asked.is_power_of_two() || !(min_size..=max_size).contains(&asked) {
        let range = format!("requiredSubgroupSize is a power of two from {min_size} to {max_size}");
        return Err(Skip::new(format!("{range}: the case needs {asked}")));
    }
    let subgroups = local_size.div_ceil(asked);
    if subgroups > max_workgroup_subgroups {
        let limit = format!("maxComputeWorkgroupSubgroups is {max_workgroup_subgroups}");
        return Err(Skip::new(format!("{limit}, the case needs {subgroups}")));
    }
    Ok(Some(asked))
}

// ---- the twin -------------------------------------------------------------------------------------------------------------

/// All invocations, and the twin of each of their subgroups.
#[derive(Clone, Copy, Debug)]
struct Grid {
    twin: Twin,
    local_size: usize,
    groups: [u32; 3],
    /// What the invocations of the first workgroups read.
    words: Sequence,
}

impl Grid {
    fn of(config: &Config, operation: &'static Operation, number: Number) -> Self {
        let words = Sequence::Words { seed: config.seed() };
        let [local_size, size, cluster_size] =
            ["local_size_x", "subgroup_size", "cluster_size"].map(|axis| config.u32(axis) as usize);
        let twin = Twin { operation, number, size, cluster_size, chain: config.u32("chain"), same: words.word(0) };
        Self { twin, local_size, groups: fold_groups(config.integer("groups"), config.most_groups()), words }
    }

    /// What all workgroups have, where each has so many.
    fn times(&self, per_group: u64) -> u64 {
        product([per_group, workgroups(self.groups)])
    }

    fn invocations(&self) -> u64 {
        self.times(self.local_size as u64)
    }

    /// What the invocations must write, where these are their results.
    fn expected(&self, results: impl Fn() -> Vec<u64> + 'static) -> Expected {
        let number = self.twin.number;
        let words = product([self.invocations(), number.words()]);
        let stored = move || {
            let results = results();
            move |i: u64| number.stored(words::at(&results, i / number.words()), i % number.words())
        };
        if number.is_float() && number.words() == 1 {
            Expected::floats_from(words, move || {
                let stored = stored();
                move |i| f32::from_bits(stored(i))
            })
        } else {
            Expected::words_from(words, stored)
        }
    }

    /// What every invocation writes, where these are their lanes.
    fn results(&self, recorded: &[u32]) -> Result<Vec<u64>, Mismatch> {
        if recorded.len() as u64 != self.invocations() {
            let (got, expected) = (format!("the end of {} ids", recorded.len()), format!("one of {}", self.invocations()));
            return Err(self.mismatch(recorded.len(), got, expected));
        }
        let (beginnings, others) = recorded.split_at(recorded.len().min(BEGINNINGS * self.local_size));
        let of_beginning = |(place, ids): (usize, &[u32])| self.of_workgroup(place, ids);
        let known = beginnings.par_chunks(self.local_size).enumerate().map(of_beginning).collect::<Result<Vec<_>, _>>()?;
        // Where lanes are the same ones, so are results.
        let of_other =
            |(place, ids): (usize, &[u32])| match beginnings.chunks(self.local_size).zip(&known).nth(place % BEGINNINGS) {
                Some((same, results)) if same == ids => Ok(results.clone()),
                _ => self.of_workgroup(BEGINNINGS + place, ids),
            };
        let others = others.par_chunks(self.local_size).enumerate().map(of_other).collect::<Result<Vec<_>, _>>()?;
        Ok([known, others].concat().concat())
    }

    fn of_workgroup(&self, place: usize, recorded: &[u32]) -> Result<Vec<u64>, Mismatch> {
        let [first, own] = [place, place % BEGINNINGS].map(|place| place * self.local_size);
        let order = ids::order(recorded, self.twin.size)
            .map_err(|fault| self.mismatch(first + fault.invocation, fault.got, fault.expected))?;
        let of_subgroup = |subgroup: &[usize]| {
            let read: Vec<u32> = subgroup.iter().map(|invocation| self.words.word((own + invocation) as u64)).collect();
            subgroup.iter().copied().zip(self.twin.run(&read)).collect::<Vec<_>>()
        };
        // In the order of the invocations again.
        Ok(order.chunks(self.twin.size).flat_map(of_subgroup).collect::<BTreeMap<_, _>>().into_values().collect())
    }

    fn mismatch(&self, id: usize, got: String, expected: String) -> Mismatch {
        let at = Position::Element(id as u64);
        Mismatch { total: self.invocations(), ..Mismatch::single("ids", at, got, expected) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{self, bytes, quick, with};
    use crate::model::DeviceInfo;

    fn device(subgroup: Subgroup) -> DeviceInfo {
        let classes = table::OPERATIONS.iter().map(|operation| operation.class).collect();
        DeviceInfo { subgroup: Subgroup { classes, in_compute: true, ..subgroup }, ..DeviceInfo::mock() }
    }

    fn case(subgroup: Subgroup, variant: &str, told: &str) -> Result<Case, Skip> {
        testing::case(&EXPERIMENT, variant, quick(&device(subgroup)), told)
    }

    fn fixed(size: u32) -> Subgroup {
        Subgroup { size, min_size: size, max_size: size, ..Subgroup::default() }
    }

    #[test]
    fn the_twin_follows_the_lanes_that_were_recorded() {
        let follow = |config: &Config| {
            let grid = Grid::of(config, Operation::of("shuffle_up").unwrap(), Number::U32);
            let built = build(config).unwrap();
            let stored =
                |results: &[u64]| bytes(&results.iter().map(|bits| Number::U32.lower_word(*bits)).collect::<Vec<u32>>());
            let ids: Vec<u32> = (0..12).map(|i| ids::in_order(i % 6, 4)).collect();
            let linear = grid.results(&ids).unwrap();
            assert_eq!(built.expected().iter().map(Expected::bytes).collect::<Vec<_>>(), [stored(&linear), bytes(&ids)]);
            let exchanged = [&[ids[1], ids[0]], &ids[2..]].concat();
            let other = grid.results(&exchanged).unwrap();
            let verdict = |results: &[u64], ids: &[u32]| built.check(&[stored(results), bytes(ids)]);
            assert_eq!(verdict(&linear, &ids), Ok(()));
            assert_eq!(verdict(&other, &exchanged), Ok(()));
            let Err(mismatch) = verdict(&linear, &exchanged) else { panic!("results of other lanes pass") };
            assert_eq!((mismatch.output.as_str(), mismatch.total), ("results", 12));
            let twice = [&ids[..7], &[ids[6]], &ids[8..]].concat();
            let Err(mismatch) = verdict(&linear, &twice) else { panic!("a lane that is there twice passes") };
            assert_eq!((mismatch.output.as_str(), mismatch.at), ("ids", Position::Element(7)));
            assert!(verdict(&linear, &ids[..11]).is_err(), "fewer ids");
        };
        with(&EXPERIMENT, "u32", quick(&device(fixed(4))), "op=shuffle_up local_size_x=6 groups=2", follow);
    }

    #[test]
    fn a_size_is_required_only_where_there_is_a_choice() {
        let required = |subgroup, size| {
            let case = case(subgroup, "u32", &format!("op=add subgroup_size={size}"));
            case.map(|case| case.kernels.iter().find_map(|kernel| kernel.required_subgroup_size)).map_err(|skip| skip.reason)
        };
        let chosen = |max_workgroup_subgroups| Subgroup {
            min_size: 8,
            max_size: 64,
            size_control: true,
            max_workgroup_subgroups,
            ..fixed(32)
        };
        assert_eq!(required(fixed(32), 32), Ok(None));
        assert_eq!(required(Subgroup { size_control: true, ..fixed(32) }, 32), Ok(None));
        assert_eq!(required(chosen(64), 32), Ok(Some(32)));
        assert_eq!(required(chosen(64), 8), Ok(Some(8)));
        for (subgroup, size, word) in [
            (fixed(32), 16, "subgroupSizeControl"),
            (Subgroup { size_control: true, ..fixed(32) }, 16, "minSubgroupSize"),
            (chosen(64), 24, "requiredSubgroupSize"),
            (chosen(64), 128, "requiredSubgroupSize"),
            (chosen(16), 8, "maxComputeWorkgroupSubgroups is 16, the case needs 32"),
        ] {
            let reason = required(subgroup, size).unwrap_err();
            assert!(reason.contains(word) && reason.contains("the case needs "), "{reason}");
        }
    }

    #[test]
    fn what_an_operation_does_not_take_is_skipped() {
        for (variant, told, why) in [
            ("i32", "op=ballot", "the case needs "),
            ("f32", "op=inclusive_xor", "the case needs "),
            ("u32", "op=clustered_add cluster_size=8", "the case needs "),
            ("u32", "op=add cluster_size=2", "the case needs "),
            ("u32", "op=partitioned", "VK_SUBGROUP_FEATURE_PARTITIONED_BIT_NV"),
            ("f16", "op=add", "shaderFloat16"),
            ("f64", "op=add", "shaderFloat64"),
            ("i64", "op=add", "shaderInt64"),
            ("u8", "op=add", "shaderInt8"),
        ] {
            let reason = case(fixed(4), variant, told).unwrap_err().reason;
            assert!(reason.contains(why), "{variant} {told}: {reason}");
        }
        assert!(case(fixed(4), "f32", "op=broadcast").is_ok() && case(fixed(4), "i32", "op=or").is_ok());
    }
}
