//! `subgroup/ops`: what does each operation between the lanes of a subgroup cost?

mod ids;
mod number;
mod table;
mod twin;

use rayon::prelude::*;

use crate::experiments::{Experiment, Setting, fold_groups, powers_of_two};
use crate::model::{
    Axis, AxisKind, Case, Contents, Headline, Kernel, Point, Preset, Resource, Scalar, Sequence, Skip, Subgroup, Work,
};
use crate::validate::{Expected, Mismatch, Position, Verdict, compare};

use ids::Fault;
use number::{NAMES, Number};
use table::{Operation, PARTITIONED, WORDS};
use twin::Twin;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Ops;

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

struct Ops;

impl Experiment for Ops {
    fn name(&self) -> &'static str {
        "subgroup/ops"
    }

    fn variants(&self) -> &[&str] {
        NAMES
    }

    fn quick_variants(&self) -> &[&str] {
        &["u32", "f32"]
    }

    fn axes_of(&self, variant: &str, setting: &Setting) -> Vec<Axis> {
        let mut axes = self.axes(setting);
        if setting.preset == Preset::Default && !COMMON.contains(&variant) {
            let ops = axes.iter_mut().filter(|axis| axis.name == "op");
            ops.for_each(|op| op.defaults = FEW.iter().copied().map(Into::into).collect());
        }
        axes
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let quick = setting.preset == Preset::Quick;
        let limits = &setting.device.limits;
        let full = LOCAL_SIZE.min(limits.workgroup_invocations.min(limits.workgroup_size[0]).into());
        let partial = full.saturating_sub(LEFT_OUT).max(1);
        let local_sizes = if quick { vec![partial] } else { vec![full, partial] };
        let sizes = subgroup_sizes(&setting.device.subgroup, quick);
        let clusters = match (setting.preset, sizes.last()) {
            (Preset::Thorough, Some(&largest)) => powers_of_two(2, largest.clamp(CLUSTER_SIZE, 128)).collect(),
            _ => vec![CLUSTER_SIZE],
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

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        if point.choice("op") == PARTITIONED {
            return Err(Skip::new(
                "VK_SUBGROUP_FEATURE_PARTITIONED_BIT_NV is one vendor's own class, of which the catalogue has no kernel: the \
                 case needs one",
            ));
        }
        let operation = Operation::of(point.choice("op"));
        let (subgroup, number) = (&setting.device.subgroup, Number::named(variant));
        require_class(operation, subgroup)?;
        require_type(operation, variant)?;
        if let Some((_, name)) = number.needs().iter().find(|(feature, _)| !setting.device.has(*feature)) {
            return Err(Skip::new(format!("{name} is missing: the case needs it for {variant}")));
        }
        require_cluster(operation, point)?;
        let required = required_size(point, subgroup)?;
        let local_size = point.u32("local_size_x");
        let groups = fold_groups(point.integer("groups"), setting.device.limits.workgroup_count[0]);
        let invocations = groups.iter().fold(u64::from(local_size), |product, &count| product.saturating_mul(count.into()));
        let words = Sequence::Words { seed: setting.seed };
        let resources = vec![
            Resource::words("results", invocations.saturating_mul(number.words()), Contents::Undefined),
            Resource::words("ids", invocations, Contents::Undefined),
            Resource::words("words", invocations.min(BEGINNINGS as u64 * u64::from(local_size)), Contents::Sequence(words)),
        ];
        let kernel = Kernel::new(operation.shader(), [local_size, 1, 1], resources.len())
            .define("OP", operation.code())
            .constant("CHAIN", Scalar::U32(point.u32("chain")));
        let kernel =
            if operation.is_clustered() { kernel.define("CLUSTER_SIZE", point.integer("cluster_size")) } else { kernel };
        let kernel = if number == Number::U32 { kernel } else { kernel.define(&variant.to_uppercase(), "") };
        let kernel = Kernel { required_subgroup_size: required, ..kernel };
        let case = Case::single_dispatch(self.name(), point, kernel, groups, &[], resources, vec![0, 1]);
        let of_subgroups = subgroups(point, groups).checked_mul(point.integer("chain"));
        let work = Work { ops: invocations.checked_mul(point.integer("chain")), items: of_subgroups, ..Work::default() };
        Ok(Case { variant: variant.to_owned(), work, headline: Headline::COST, ..case })
    }

    /// What a device writes that numbers its lanes in order.
    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let [local_size, size] = ["local_size_x", "subgroup_size"].map(|axis| case.point.integer(axis));
        let own_id = move |i: u64| ids::in_order(i % local_size, size);
        let invocations = case.resources[1].bytes() / 4;
        let ids: Vec<u32> = (0..invocations).map(own_id).collect();
        let results = results(case, &ids).unwrap_or_default();
        vec![expected_results(case, results), Expected::words(invocations, own_id)]
    }

    /// Which invocation is which lane is the driver's choice: the twin follows what was recorded, once that makes sense.
    fn check(&self, case: &Case, outputs: &[Vec<u8>]) -> Verdict {
        let [got, recorded] = outputs else { panic!("{}: {} outputs were read, not 2", case.experiment, outputs.len()) };
        let word = |bytes: &[u8]| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let recorded: Vec<u32> = recorded.chunks_exact(4).map(word).collect();
        match results(case, &recorded) {
            Ok(results) => compare(&case.resources[0].name, got, &expected_results(case, results)),
            Err(mismatch) => Verdict::Wrong(mismatch),
        }
    }
}

// ---- what the device offers -----------------------------------------------------------------------------------------------

fn require_class(operation: &Operation, subgroup: &Subgroup) -> Result<(), Skip> {
    if !subgroup.in_compute {
        return Err(Skip::new("supportedStages of subgroup operations lacks VK_SHADER_STAGE_COMPUTE_BIT: the case needs it"));
    }
    if !subgroup.classes.contains(&operation.class) {
        return Err(Skip::new(format!("supportedOperations lacks {}: the case needs it", operation.flag())));
    }
    Ok(())
}

fn require_type(operation: &Operation, variant: &str) -> Result<(), Skip> {
    let word = operation.word;
    if !operation.has_type() && Number::named(variant) != Number::U32 {
        Err(Skip::new(format!("`{word}` takes no {variant}, and is measured once: the case needs the variant u32")))
    } else if operation.is_bitwise() && Number::named(variant).is_float() {
        Err(Skip::new(format!("`{word}` is not defined for floats: the case needs a variant of whole numbers")))
    } else {
        Ok(())
    }
}

fn require_cluster(operation: &Operation, point: &Point) -> Result<(), Skip> {
    let [cluster_size, size] = ["cluster_size", "subgroup_size"].map(|axis| point.integer(axis));
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

/// The sizes to measure, in rising order.
fn subgroup_sizes(subgroup: &Subgroup, quick: bool) -> Vec<u64> {
    if has_choice(subgroup) && !quick {
        powers_of_two(subgroup.min_size.into(), subgroup.max_size.into()).collect()
    } else {
        vec![subgroup.size.max(1).into()]
    }
}

/// Subgroups of all workgroups, those that lack lanes as well.
fn subgroups(point: &Point, groups: [u32; 3]) -> u64 {
    let per_group = point.integer("local_size_x").div_ceil(point.integer("subgroup_size"));
    groups.iter().fold(per_group, |product, &count| product.saturating_mul(count.into()))
}

/// The size to require of the driver; nothing where there is only one.
fn required_size(point: &Point, subgroup: &Subgroup) -> Result<Option<u32>, Skip> {
    let Subgroup { size, min_size, max_size, max_workgroup_subgroups, .. } = *subgroup;
    let [asked, local_size] = ["subgroup_size", "local_size_x"].map(|axis| point.u32(axis));
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

fn expected_results(case: &Case, results: Vec<u64>) -> Expected<'static> {
    let number = Number::named(&case.variant);
    let words = case.resources[0].bytes() / 4;
    let at = move |i: u64| {
        let bits = usize::try_from(i / number.words()).ok().and_then(|i| results.get(i).copied()).unwrap_or_default();
        number.stored(bits, i % number.words())
    };
    match number {
        Number::F16 | Number::F32 => Expected::floats(words, move |i| f32::from_bits(at(i))),
        _ => Expected::words(words, at),
    }
}

/// What every invocation writes, where these are their lanes.
fn results(case: &Case, recorded: &[u32]) -> Result<Vec<u64>, Mismatch> {
    let [local_size, size] = ["local_size_x", "subgroup_size"].map(|axis| case.point.u32(axis) as usize);
    let words = case.resources[2].sequence();
    let twin = Twin {
        operation: Operation::of(case.point.choice("op")),
        number: Number::named(&case.variant),
        size,
        cluster_size: case.point.u32("cluster_size") as usize,
        chain: case.point.u32("chain"),
        same: words.word(0),
    };
    let total = case.resources[1].bytes() / 4;
    let mismatch = |index: usize, fault: Fault| {
        let at = Position::Element(index as u64);
        Mismatch { total, ..Mismatch::single(&case.resources[1].name, at, fault.got, fault.expected) }
    };
    if recorded.len() as u64 != total {
        let (got, expected) = (format!("the end of {} ids", recorded.len()), format!("one of {total}"));
        return Err(mismatch(recorded.len(), Fault { invocation: 0, got, expected }));
    }
    let workgroups = (0..).step_by(local_size).zip(recorded.chunks(local_size)).collect::<Vec<(usize, _)>>();
    let of_workgroup = |(first, recorded): &(usize, &[u32])| {
        let own = first % (BEGINNINGS * local_size);
        let order = ids::order(recorded, size).map_err(|fault| mismatch(first + fault.invocation, fault))?;
        let mut results = vec![0; order.len()];
        for subgroup in order.chunks(size) {
            let read: Vec<u32> = subgroup.iter().map(|invocation| words.word((own + invocation) as u64)).collect();
            subgroup.iter().zip(twin.run(&read)).for_each(|(invocation, result)| results[*invocation] = result);
        }
        Ok(results)
    };
    let (beginnings, others) = workgroups.split_at(workgroups.len().min(BEGINNINGS));
    let known = beginnings.par_iter().map(of_workgroup).collect::<Result<Vec<_>, _>>()?;
    // Where lanes are the same ones, so are results.
    let of_other = |(place, workgroup): (usize, &(usize, &[u32]))| {
        let like = place % known.len();
        if beginnings[like].1 == workgroup.1 { Ok(known[like].clone()) } else { of_workgroup(workgroup) }
    };
    let others = others.par_iter().enumerate().map(of_other).collect::<Result<Vec<_>, _>>()?;
    Ok([known, others].concat().concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DeviceInfo;

    fn device(subgroup: Subgroup) -> DeviceInfo {
        let classes = table::OPERATIONS.iter().map(|operation| operation.class).collect();
        DeviceInfo { subgroup: Subgroup { classes, in_compute: true, ..subgroup }, ..DeviceInfo::mock() }
    }

    fn case(subgroup: Subgroup, variant: &str, values: &[(&'static str, u64)], op: &'static str) -> Result<Case, Skip> {
        let device = device(subgroup);
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        let value = |axis: Axis| match (values.iter().find(|(name, _)| *name == axis.name), axis.name.as_ref()) {
            (Some((_, value)), _) => (axis.name, (*value).into()),
            (None, "op") => (axis.name, op.into()),
            (None, _) => (axis.name, axis.defaults[0].clone()),
        };
        let point = Point::new(Ops.axes(&setting).into_iter().map(value));
        Ops.case(variant, &point, &setting)
    }

    fn fixed(size: u32) -> Subgroup {
        Subgroup { size, min_size: size, max_size: size, ..Subgroup::default() }
    }

    fn stored(results: &[u64]) -> Vec<u8> {
        results.iter().flat_map(|bits| Number::U32.word(*bits).to_ne_bytes()).collect()
    }

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn the_twin_follows_the_lanes_that_were_recorded() {
        let case = case(fixed(4), "u32", &[("local_size_x", 6), ("groups", 2)], "shuffle_up").unwrap();
        let ids: Vec<u32> = (0..12).map(|i| ids::in_order(i % 6, 4)).collect();
        let linear = results(&case, &ids).unwrap();
        assert_eq!(Ops.expected(&case).iter().map(Expected::bytes).collect::<Vec<_>>(), [stored(&linear), bytes(&ids)]);
        let exchanged = [&[ids[1], ids[0]], &ids[2..]].concat();
        let other = results(&case, &exchanged).unwrap();
        let verdict = |results: &[u64], ids: &[u32]| Ops.check(&case, &[stored(results), bytes(ids)]);
        assert_eq!(verdict(&linear, &ids), Verdict::Right);
        assert_eq!(verdict(&other, &exchanged), Verdict::Right);
        let Verdict::Wrong(mismatch) = verdict(&linear, &exchanged) else { panic!("results of other lanes pass") };
        assert_eq!((mismatch.output.as_str(), mismatch.total), ("results", 12));
        let twice = [&ids[..7], &[ids[6]], &ids[8..]].concat();
        let Verdict::Wrong(mismatch) = verdict(&linear, &twice) else { panic!("a lane that is there twice passes") };
        assert_eq!((mismatch.output.as_str(), mismatch.at), ("ids", Position::Element(7)));
        assert!(matches!(verdict(&linear, &ids[..11]), Verdict::Wrong(_)), "fewer ids");
    }

    #[test]
    fn a_size_is_required_only_where_there_is_a_choice() {
        let required = |subgroup, size| {
            let case = case(subgroup, "u32", &[("subgroup_size", size)], "add");
            case.map(|case| case.kernels[0].required_subgroup_size).map_err(|skip| skip.reason)
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
        let reason = |variant, values: &[_], op| case(fixed(4), variant, values, op).unwrap_err().reason;
        for reason in [
            reason("i32", &[], "ballot"),
            reason("f32", &[], "inclusive_xor"),
            reason("u32", &[("cluster_size", 8)], "clustered_add"),
            reason("u32", &[("cluster_size", 2)], "add"),
        ] {
            assert!(reason.contains("the case needs "), "{reason}");
        }
        assert!(reason("u32", &[], PARTITIONED).contains("VK_SUBGROUP_FEATURE_PARTITIONED_BIT_NV"));
        for (variant, lacks) in
            [("f16", "shaderFloat16"), ("f64", "shaderFloat64"), ("i64", "shaderInt64"), ("u8", "shaderInt8")]
        {
            assert!(reason(variant, &[], "add").starts_with(lacks), "{variant}");
        }
        assert!(case(fixed(4), "f32", &[], "broadcast").is_ok() && case(fixed(4), "i32", &[], "or").is_ok());
    }
}
