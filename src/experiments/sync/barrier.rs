//! `sync/barrier`: what does it cost a workgroup to wait for itself?

use crate::experiments::{Experiment, Setting, lanes, powers_of_two, require_classes, usual_size};
use crate::model::{
    Axis, AxisKind, Case, Contents, Feature, Headline, Kernel, Point, Preset, Resource, Scalar, Skip, SubgroupClass, Work,
};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Barrier;

/// What stands in each step; in capitals, all but `nothing` are the shader's macros.
const KINDS: &[&str] = &[
    "nothing",
    "memory_shared",
    "memory_workgroup",
    "subgroup",
    "control",
    "control_subgroup",
    "control_queue_family",
    "control_device",
];

/// Those that the overview has.
const QUICK: &[&str] = &["nothing", "memory_shared", "subgroup", "control"];

/// What a step works on: registers alone, or workgroup memory as well.
const TRAFFIC: &[&str] = &["registers", "shared"];

/// Steps that the shader's loop unrolls.
const UNROLL: u64 = 8;

/// More would keep the twin busy for minutes.
const MOST_BARRIERS: u32 = 1 << 20;

struct Barrier;

impl Experiment for Barrier {
    fn name(&self) -> &'static str {
        "sync/barrier"
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let limits = &setting.device.limits;
        let largest = limits.workgroup_size[0].min(limits.workgroup_invocations).max(1);
        let quick = setting.preset == Preset::Quick;
        let kinds = KINDS.iter().copied().filter(|kind| !quick || QUICK.contains(kind));
        let sizes = if quick { vec![usual_size(setting)] } else { powers_of_two(1, largest.into()).collect() };
        // One alone, and as many as a large GPU of today holds at once, whatever their size: two for each of its processors.
        let groups = if quick { vec![1] } else { setting.by_class(vec![1_u64], vec![1, 256]) };
        // On a GPU, enough that a lone workgroup takes many times what launching it does.
        let barriers = setting.by_class(if quick { 800_u64 } else { 4000 }, 16384);
        vec![
            Axis::new("kind", "the barrier", AxisKind::Choices(KINDS), kinds).relative_to("nothing"),
            Axis::new("traffic", "what a step works on", AxisKind::Choices(TRAFFIC), TRAFFIC.iter().copied()),
            Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
            Axis::new("groups", "workgroups", AxisKind::AtLeast(1), groups),
            Axis::new("barriers", "steps per invocation, a multiple of 8", AxisKind::AtLeast(UNROLL), [barriers])
                .of_monotone_work(),
        ]
    }

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let (kind, barriers) = (point.choice("kind"), point.integer("barriers"));
        let (local_size, groups) = (point.u32("local_size_x"), point.u32("groups"));
        if kind.ends_with("subgroup") {
            let basic = (SubgroupClass::Basic, "VK_SUBGROUP_FEATURE_BASIC_BIT");
            require_classes(&setting.device.subgroup, &[basic])?;
            if has_traffic(point) && lanes(setting.device) == 1 {
                return Err(Skip::new("subgroups have one lane, which waits for no neighbour: the case needs two"));
            }
        }
        if let Some((_, name)) = needs(kind).iter().find(|(feature, _)| !setting.device.has(*feature)) {
            return Err(Skip::new(format!("{name} is missing: the case needs it")));
        }
        let is_right = |count: &u32| barriers % UNROLL == 0 && *count <= MOST_BARRIERS;
        let count = u32::try_from(barriers).ok().filter(is_right).ok_or_else(|| {
            Skip::new(format!("barriers is {barriers}, the case needs a multiple of {UNROLL} up to {MOST_BARRIERS}"))
        })?;
        let kernel = Kernel::new("sync/barrier.comp", [local_size, 1, 1], 1).constant("BARRIERS", Scalar::U32(count));
        let kernel = if kind == "nothing" { kernel } else { kernel.define(&kind.to_uppercase(), "") };
        let kernel = if has_traffic(point) { kernel.define("TRAFFIC", "") } else { kernel };
        let invocations = u64::from(groups) * u64::from(local_size);
        let resources = vec![Resource::words("result", invocations, Contents::Undefined)];
        let push = [partner_bits(kind, local_size)];
        let case = Case::single_dispatch(self.name(), point, kernel, [groups, 1, 1], &push, resources, vec![0]);
        // Steps of all workgroups, and those that follow each other.
        let work = Work { ops: barriers.checked_mul(groups.into()), items: Some(barriers), ..Work::default() };
        // At most: where the driver doesn't unroll the inner loop, both count.
        Ok(Case { work, headline: Headline::COST, iterations: barriers + barriers / UNROLL, ..case })
    }

    #[expect(clippy::cast_possible_truncation, reason = "a buffer holds less than 2^32 words, and a list in memory fewer")]
    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let local_size = case.point.u32("local_size_x");
        // All workgroups do the same, up to their last addition.
        let x = after_all_steps(&case.point);
        let finished =
            move |i: u64| x[(i % u64::from(local_size)) as usize].wrapping_add((i / u64::from(local_size)) as u32) >> 1;
        vec![Expected::words(case.point.integer("groups") * u64::from(local_size), finished)]
    }
}

/// The features that a kind needs, as Vulkan calls them.
fn needs(kind: &str) -> &'static [(Feature, &'static str)] {
    const MODEL: (Feature, &str) = (Feature::MemoryModel, "vulkanMemoryModel");
    match kind {
        "control_queue_family" => &[MODEL],
        "control_device" => &[MODEL, (Feature::MemoryModelDeviceScope, "vulkanMemoryModelDeviceScope")],
        _ => &[],
    }
}

/// The bits of an invocation's number that lead to the one whose slot it reads.
fn partner_bits(kind: &str, local_size: u32) -> u32 {
    match kind {
        // The other half of the workgroup: another subgroup, unless there is but one.
        "control" | "control_queue_family" | "control_device" => (local_size / 2).next_power_of_two(),
        // Subgroups take the invocations of a row in their order, on every driver known, and have an even number of them: one lane alone is skipped.
        "subgroup" | "control_subgroup" => 1,
        _ => 0,
    }
}

fn has_traffic(point: &Point) -> bool {
    point.choice("traffic") == "shared"
}

/// `x` of each invocation of a workgroup behind the shader's loops.
#[expect(clippy::cast_possible_truncation, reason = "a workgroup has less than 2^32 invocations")]
fn after_all_steps(point: &Point) -> Vec<u32> {
    let local_size = point.u32("local_size_x");
    let partner_bits = partner_bits(point.choice("kind"), local_size);
    let has_traffic = has_traffic(point);
    let mut x: Vec<u32> = (0..local_size).map(|lane| lane.wrapping_mul(2_654_435_761).wrapping_add(1)).collect();
    for _ in 0..point.integer("barriers") {
        let slots = x.clone();
        for (lane, x) in x.iter_mut().enumerate() {
            let swapped = lane as u32 ^ partner_bits;
            let partner = if swapped < local_size { swapped } else { lane as u32 };
            let other = if has_traffic { slots[partner as usize] } else { partner };
            *x = (*x ^ (other >> 3)).wrapping_mul(1_664_525);
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_scope_needs_is_named() {
        let mut device = crate::model::DeviceInfo::mock();
        let mut reasons = Vec::new();
        for feature in [None, Some(Feature::MemoryModel), Some(Feature::MemoryModelDeviceScope)] {
            device.features.extend(feature);
            let setting = Setting { device: &device, queue: None, preset: Preset::Default, seed: 1 };
            let axes = Barrier.axes(&setting).into_iter().map(|axis| (axis.name, axis.defaults[0].clone()));
            let point = Point::new(axes);
            let reason = |kind: &'static str| Barrier.case("", &point.with("kind", &kind.into()), &setting).err();
            reasons.push(["control_queue_family", "control_device"].map(|kind| reason(kind).map(|skip| skip.reason)));
        }
        let lacks = |name: &str| Some(format!("{name} is missing: the case needs it"));
        let model = lacks("vulkanMemoryModel");
        assert_eq!(reasons, [[model.clone(), model], [None, lacks("vulkanMemoryModelDeviceScope")], [None, None]]);
    }

    #[test]
    fn one_lane_alone_has_no_neighbour() {
        let mut device = crate::model::DeviceInfo::mock();
        device.subgroup =
            crate::model::Subgroup { in_compute: true, classes: [SubgroupClass::Basic].into(), ..device.subgroup };
        let mut reason = |lanes, kind: &'static str, traffic: &'static str| {
            device.subgroup.size = lanes;
            let setting = Setting { device: &device, queue: None, preset: Preset::Default, seed: 1 };
            let axes = Barrier.axes(&setting).into_iter().map(|axis| (axis.name, axis.defaults[0].clone()));
            let point = Point::new(axes).with("kind", &kind.into()).with("traffic", &traffic.into());
            Barrier.case("", &point, &setting).err().map(|skip| skip.reason)
        };
        assert!(reason(1, "subgroup", "shared").unwrap().contains("one lane"));
        let others = [(1, "subgroup", "registers"), (1, "control", "shared"), (2, "control_subgroup", "shared")];
        assert!(others.iter().all(|(lanes, kind, traffic)| reason(*lanes, kind, traffic).is_none()));
    }

    #[test]
    fn a_partner_is_in_the_other_half() {
        assert_eq!([1, 2, 64, 48].map(|size| partner_bits("control", size)), [1, 1, 32, 32]);
        assert_eq!(partner_bits("control", u32::MAX), 1 << 31);
    }
}
