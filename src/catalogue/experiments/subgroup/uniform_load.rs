//! `subgroup/uniform_load`: should one lane load what all lanes need?

use crate::experiments::common::prelude::*;
use crate::experiments::common::words;

pub const EXPERIMENT: Experiment = Experiment {
    variants: Who::WORDS,
    quick_variants: &[Who::All.word()],
    base_variant: Some(Who::All.word()),
    ..Experiment::new("subgroup/uniform_load", axes, build)
};

choices! {
    /// Who loads what all need; in capitals, but for the first, the shader's macros.
    enum Who { All = "all", Leader = "leader", Known = "known" }
}

/// Loads of an iteration of the shader's loop.
const LOADS_PER_ITERATION: u64 = 8;

/// More would outlast the loops of some drivers.
const MOST_LOADS: u64 = 1 << 16;

/// Words from one load to the next one, and from a workgroup's first to the next one's.
const STEP: u64 = 33;
const GROUP_STEP: u64 = 5;

fn axes(setting: &Setting) -> Vec<Axis> {
    let (groups, loads) = setting.by_class((16_u64, 64_u64), (1056, 1024));
    let windows: &[u64] = match setting.preset {
        Preset::Quick => &[16 << 10],
        Preset::Default => &[16 << 10, 1 << 20],
        Preset::Thorough => &[4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20],
    };
    vec![
        Axis::new("working_set_bytes", "memory that is read, a power of two", AxisKind::AtLeast(4), windows.iter().copied()),
        local_size_axis(setting),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_work(),
        Axis::new("reads", "words per invocation", AxisKind::AtLeast(LOADS_PER_ITERATION), [loads])
            .multiple_of(LOADS_PER_ITERATION)
            .up_to(MOST_LOADS)
            .of_monotone_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [bytes, local_size, loads] = ["working_set_bytes", "local_size_x", "reads"].map(|axis| config.integer(axis));
    if !bytes.is_power_of_two() {
        return Err(Skip::new(format!("working_set_bytes is {bytes}: the case needs a power of two")));
    }
    let (who, seed) = (Who::of(config.variant), config.seed());
    if who == Who::Leader {
        config.require_classes(&[SubgroupClass::Ballot])?;
    }
    let (groups, invocations) = config.grid(config.integer("groups"));
    u32_of(invocations)?;
    let window = bytes / 4;
    let kernel = Kernel::new("subgroup/uniform_load.comp", config.workgroup())
        .constant("LOADS", Scalar::U32(config.u32("reads")))
        .constant("WINDOW", Scalar::U32(u32_of(window)?));
    let kernel = if who == Who::All { kernel } else { kernel.define(&who.word().to_uppercase(), "") };
    let source = Sequence::Words { seed };
    let results = move || {
        // What a workgroup's invocations add to 3^loads times their own number.
        let of_group = |group: u64| {
            let at = |k: u64| (group * GROUP_STEP + k * STEP) & (window - 1);
            (0..loads).fold(0_u32, |result, k| result.wrapping_mul(3).wrapping_add(source.word(at(k))))
        };
        let of_groups: Vec<u32> = (0..invocations / local_size).map(of_group).collect();
        let factor = (0..loads).fold(1_u32, |factor, _| factor.wrapping_mul(3));
        move |i: u64| words::at(&of_groups, i / local_size).wrapping_add(narrow(i).wrapping_mul(factor))
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let mut resources =
        vec![case.output("results", Expected::words_from(invocations, results)), case.input("words", window, source)];
    if who != Who::Known {
        let numbers = Sequence::Shuffled(Shuffled { seed, n: invocations, block: 1 });
        resources.push(case.input("numbers", invocations, numbers));
    }
    case.run(kernel, &resources, groups, &[]);
    let items = Some(product([invocations, loads]));
    let work = Work { ops: items, items, ..Work::default() };
    Ok(case.iterations(loads / LOADS_PER_ITERATION).build(work, Headline::COST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{built, quick, reason};
    use crate::model::DeviceInfo;

    #[test]
    fn every_invocation_gets_its_workgroups_words() {
        let source = Sequence::Words { seed: 1 };
        let word = |i: u64| source.word(i % 4);
        let walk = |start: u32, first: u64| (0..8).fold(start, |x, k| x.wrapping_mul(3).wrapping_add(word(first + 33 * k)));
        let right = [walk(0, 0), walk(1, 0), walk(2, 5), walk(3, 5), walk(4, 10), walk(5, 10)];
        let told = "working_set_bytes=16 reads=8 groups=3 local_size_x=2";
        let results = |built: Built| built.expected()[0].bytes();
        let results = built(&EXPERIMENT, "all", quick(&DeviceInfo::mock()), told, results).unwrap();
        assert_eq!(results, right.map(u32::to_ne_bytes).concat());
    }

    #[test]
    fn what_the_shader_can_not_do_is_skipped() {
        for (variant, bytes, why) in
            [("all", 48_u64, "power of two"), ("all", 1 << 40, "32 bits"), ("leader", 64, "VK_SUBGROUP_FEATURE_BALLOT_BIT")]
        {
            let reason = reason(&EXPERIMENT, variant, quick(&DeviceInfo::mock()), &format!("working_set_bytes={bytes}"));
            assert!(reason.contains(why), "{reason}");
        }
    }
}
