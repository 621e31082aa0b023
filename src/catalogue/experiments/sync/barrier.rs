//! `sync/barrier`: what does it cost a workgroup to wait for itself?

use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment = Experiment::new("sync/barrier", axes, build);

choices! {
    /// What stands in each step; in capitals, all but `nothing` are the shader's macros.
    enum Kind {
        Nothing = "nothing",
        MemoryShared = "memory_shared",
        MemoryWorkgroup = "memory_workgroup",
        Subgroup = "subgroup",
        Control = "control",
        Execution = "execution",
        ControlSubgroup = "control_subgroup",
        ControlQueueFamily = "control_queue_family",
        ControlDevice = "control_device",
    }
}

const QUICK: &[Kind] = &[Kind::Nothing, Kind::MemoryShared, Kind::Subgroup, Kind::Control];

/// What a step works on: registers alone, or workgroup memory as well.
const TRAFFIC: &[&str] = &["registers", "shared"];

/// Steps that the shader's loop unrolls.
const UNROLL: u64 = 8;

/// More would keep the twin busy for minutes.
const MOST_BARRIERS: u64 = 1 << 20;

fn axes(setting: &Setting) -> Vec<Axis> {
    let limits = &setting.device.limits;
    let largest = limits.workgroup_size[0].min(limits.workgroup_invocations).max(1);
    let quick = setting.preset == Preset::Quick;
    let sizes = if quick { vec![usual_size(setting)] } else { powers_of_two(1, largest.into()).collect() };
    // One alone, and as many as a large GPU of today holds at once, whatever their size: two for each of its processors.
    let groups = if quick { vec![1] } else { setting.by_class(vec![1_u64], vec![1, 256]) };
    // On a GPU, enough that a lone workgroup takes many times what launching it does.
    let barriers = setting.by_class(if quick { 800_u64 } else { 4000 }, 16384);
    vec![
        Kind::axis("kind", "the barrier", setting.quick_or(QUICK, Kind::ALL)).relative_to("nothing"),
        Axis::new("traffic", "what a step works on", AxisKind::Choices(TRAFFIC), TRAFFIC.iter().copied()),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), groups),
        Axis::new("barriers", "steps per invocation", AxisKind::AtLeast(UNROLL), [barriers])
            .multiple_of(UNROLL)
            .up_to(MOST_BARRIERS)
            .of_monotone_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let (kind, barriers) = (Kind::of(config.choice("kind")), config.integer("barriers"));
    let has_traffic = config.choice("traffic") == "shared";
    if matches!(kind, Kind::Subgroup | Kind::ControlSubgroup) {
        config.require_classes(&[SubgroupClass::Basic])?;
        if has_traffic && lanes(config.device()) == 1 {
            return Err(Skip::new("subgroups have one lane, which waits for no neighbour: the case needs two"));
        }
    }
    if kind == Kind::Execution && has_traffic {
        return Err(Skip::new("this barrier orders no memory: nobody may read behind it what others wrote before it"));
    }
    config.require(match kind {
        Kind::ControlQueueFamily => &[Feature::MemoryModel],
        Kind::ControlDevice => &[Feature::MemoryModel, Feature::MemoryModelDeviceScope],
        Kind::Nothing | Kind::MemoryShared | Kind::MemoryWorkgroup | Kind::Subgroup => &[],
        Kind::Control | Kind::Execution | Kind::ControlSubgroup => &[],
    })?;
    let count = config.u32("barriers");
    let (local_size, groups) = (config.u32("local_size_x"), config.u32("groups"));
    let steps = Steps { local_size, count, partner_bits: partner_bits(kind, local_size), has_traffic };
    let kernel = config.kernel("sync/barrier.comp", &["barriers"]);
    let kernel = if kind == Kind::Nothing { kernel } else { kernel.define(&kind.word().to_uppercase(), "") };
    let kernel = if has_traffic { kernel.define("TRAFFIC", "") } else { kernel };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let invocations = u64::from(groups) * u64::from(local_size);
    let result = case.output("result", Expected::words_from(invocations, move || steps.results()));
    case.run(kernel, &[result], [groups, 1, 1], &[steps.partner_bits]);
    // Steps of all workgroups, and those that follow each other.
    let work = Work { ops: Some(product([barriers, groups.into()])), items: Some(barriers), ..Work::default() };
    // At most: where the driver doesn't unroll the inner loop, both count.
    Ok(case.iterations(barriers + barriers / UNROLL).build(work, Headline::COST))
}

/// The bits of an invocation's number that lead to the one whose slot it reads.
fn partner_bits(kind: Kind, local_size: u32) -> u32 {
    match kind {
        // The other half of the workgroup: another subgroup, unless there is but one.
        Kind::Control | Kind::Execution | Kind::ControlQueueFamily | Kind::ControlDevice => {
            (local_size / 2).next_power_of_two()
        }
        // Subgroups take the invocations of a row in their order, on every driver known, and have an even number of them: one lane alone is skipped.
        Kind::Subgroup | Kind::ControlSubgroup => 1,
        Kind::Nothing | Kind::MemoryShared | Kind::MemoryWorkgroup => 0,
    }
}

#[derive(Clone, Copy, Debug)]
struct Steps {
    local_size: u32,
    count: u32,
    partner_bits: u32,
    has_traffic: bool,
}

impl Steps {
    /// What each invocation of the grid leaves: all workgroups do the same, up to their last addition.
    #[expect(clippy::cast_possible_truncation, reason = "a buffer holds less than 2^32 words, and a list in memory fewer")]
    fn results(self) -> impl Fn(u64) -> u32 + Send + Sync {
        let (x, local_size) = (self.after_all(), u64::from(self.local_size));
        move |i| {
            let of_lane = x.get((i % local_size) as usize).copied().unwrap_or_default();
            of_lane.wrapping_add((i / local_size) as u32) >> 1
        }
    }

    /// `x` of each invocation of a workgroup behind the shader's loops.
    #[expect(clippy::cast_possible_truncation, reason = "a workgroup has less than 2^32 invocations")]
    fn after_all(self) -> Vec<u32> {
        let mut x: Vec<u32> = (0..self.local_size).map(|lane| lane.wrapping_mul(2_654_435_761).wrapping_add(1)).collect();
        for _ in 0..self.count {
            let slots = x.clone();
            for (lane, x) in x.iter_mut().enumerate() {
                let swapped = lane as u32 ^ self.partner_bits;
                let partner = if swapped < self.local_size { swapped } else { lane as u32 };
                let other = if self.has_traffic { slots.get(partner as usize).copied().unwrap_or_default() } else { partner };
                *x = (*x ^ (other >> 3)).wrapping_mul(1_664_525);
            }
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{mock_with, quick, reason};

    #[test]
    fn what_a_barrier_lacks_is_named() {
        let model = [Feature::MemoryModel];
        let both = [Feature::MemoryModel, Feature::MemoryModelDeviceScope];
        for (lanes, features, words, why) in [
            (32, &[][..], "kind=control_queue_family", "vulkanMemoryModel is missing: the case needs it"),
            (32, &[], "kind=control_device", "vulkanMemoryModel is missing: the case needs it"),
            (32, &model, "kind=control_queue_family", ""),
            (32, &model, "kind=control_device", "vulkanMemoryModelDeviceScope is missing: the case needs it"),
            (32, &both, "kind=control_device", ""),
            (1, &[], "kind=subgroup traffic=shared", "one lane"),
            (1, &[], "kind=subgroup traffic=registers", ""),
            (1, &[], "kind=control traffic=shared", ""),
            (2, &[], "kind=control_subgroup traffic=shared", ""),
            (32, &[], "kind=execution traffic=registers", ""),
            (32, &[], "kind=execution traffic=shared", "orders no memory"),
        ] {
            let mut device = mock_with(features, &[SubgroupClass::Basic]);
            device.subgroup.size = lanes;
            let reason = reason(&EXPERIMENT, "", quick(&device), words);
            assert!(reason.contains(why) && reason.is_empty() == why.is_empty(), "{words}: {reason}");
        }
    }

    #[test]
    fn a_partner_is_in_the_other_half() {
        assert_eq!([1, 2, 64, 48].map(|size| partner_bits(Kind::Control, size)), [1, 1, 32, 32]);
        assert_eq!(partner_bits(Kind::Control, u32::MAX), 1 << 31);
    }
}
