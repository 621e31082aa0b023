//! `subgroup/uniform_load`: should one lane load what all lanes need?

use crate::experiments::{Built, CaseBuilder, Config, Experiment, Setting, local_size_axis, product, u32_of};
use crate::model::{Axis, AxisKind, Headline, Kernel, Preset, Scalar, Sequence, Shuffled, Skip, SubgroupClass, Work};
use crate::validate::Expected;

pub const EXPERIMENT: Experiment = Experiment {
    variants: &["all", "leader", "known"],
    quick_variants: &["all"],
    base_variant: Some("all"),
    ..Experiment::new("subgroup/uniform_load", axes, build)
};

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

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let [bytes, local_size, loads] = ["working_set_bytes", "local_size_x", "reads"].map(|axis| config.integer(axis));
    if !bytes.is_power_of_two() {
        return Err(Skip::new(format!("working_set_bytes is {bytes}: the case needs a power of two")));
    }
    let (variant, seed) = (config.variant, config.seed());
    if variant == "leader" {
        config.require_classes(&[SubgroupClass::Ballot])?;
    }
    let (groups, invocations) = config.grid(config.integer("groups"));
    u32_of(invocations)?;
    let window = bytes / 4;
    let kernel = Kernel::new("subgroup/uniform_load.comp", config.workgroup())
        .constant("LOADS", Scalar::U32(config.u32("reads")))
        .constant("WINDOW", Scalar::U32(u32_of(window)?));
    let kernel = if variant == "all" { kernel } else { kernel.define(&variant.to_uppercase(), "") };
    let words = Sequence::Words { seed };
    let results = move || {
        // What a workgroup's invocations add to 3^loads times their own number.
        let of_group = |group: u64| {
            let at = |k: u64| (group * GROUP_STEP + k * STEP) & (window - 1);
            (0..loads).fold(0_u32, |result, k| result.wrapping_mul(3).wrapping_add(words.word(at(k))))
        };
        let of_groups: Vec<u32> = (0..invocations / local_size).map(of_group).collect();
        let factor = (0..loads).fold(1_u32, |factor, _| factor.wrapping_mul(3));
        #[expect(clippy::cast_possible_truncation, reason = "invocations are fewer than 2^32")]
        let result = move |i: u64| {
            let of_group = of_groups.get((i / local_size) as usize).copied().unwrap_or_default();
            of_group.wrapping_add((i as u32).wrapping_mul(factor))
        };
        result
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let mut resources =
        vec![case.output("results", Expected::words_from(invocations, results)), case.input("words", window, words)];
    if variant != "known" {
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
    use crate::model::{DeviceInfo, Point};

    /// What becomes of three workgroups of two invocations.
    fn built<T>(variant: &str, bytes: u64, loads: u64, then: impl FnOnce(Built) -> T) -> Result<T, Skip> {
        let device = DeviceInfo::mock();
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        let values = [("working_set_bytes", bytes), ("reads", loads), ("groups", 3), ("local_size_x", 2)];
        let point = Point::new(values.map(|(name, value)| (name.into(), value.into())));
        build(&Config::new(variant, &point, &setting)).map(then)
    }

    #[test]
    fn every_invocation_gets_its_workgroups_words() {
        let (words, results) =
            built("all", 16, 8, |built| (built.case.resources[1].sequence(), built.expected()[0].bytes())).unwrap();
        let word = |i: u64| words.word(i % 4);
        let walk = |start: u32, first: u64| (0..8).fold(start, |x, k| x.wrapping_mul(3).wrapping_add(word(first + 33 * k)));
        let right = [walk(0, 0), walk(1, 0), walk(2, 5), walk(3, 5), walk(4, 10), walk(5, 10)];
        assert_eq!(results, right.map(u32::to_ne_bytes).concat());
    }

    #[test]
    fn what_the_shader_can_not_do_is_skipped() {
        let reason = |variant, bytes, loads| built(variant, bytes, loads, |_| ()).unwrap_err().reason;
        assert!(reason("all", 48, 8).contains("power of two"));
        assert!(reason("all", 1 << 40, 8).contains("32 bits"));
        assert!(reason("leader", 64, 8).contains("VK_SUBGROUP_FEATURE_BALLOT_BIT"));
    }
}
