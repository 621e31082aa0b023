//! `subgroup/uniform_load`: should one lane load what all lanes need?

use crate::experiments::{Experiment, Setting, fold_groups, local_size_axis, require_classes};
use crate::model::{
    Axis, AxisKind, Case, Contents, Headline, Kernel, Point, Preset, Resource, Scalar, Sequence, Shuffled, Skip, SubgroupClass,
    Work,
};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &UniformLoad;

/// Loads of an iteration of the shader's loop.
const LOADS_PER_ITERATION: u64 = 8;

/// More would outlast the loops of some drivers.
const MOST_LOADS: u64 = 1 << 16;

/// Words from one load to the next one, and from a workgroup's first to the next one's.
const STEP: u64 = 33;
const GROUP_STEP: u64 = 5;

struct UniformLoad;

impl Experiment for UniformLoad {
    fn name(&self) -> &'static str {
        "subgroup/uniform_load"
    }

    fn variants(&self) -> &[&str] {
        &["all", "leader", "known"]
    }

    fn quick_variants(&self) -> &[&str] {
        &["all"]
    }

    fn base_variant(&self) -> Option<&str> {
        Some("all")
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let (groups, loads) = setting.by_class((16_u64, 64_u64), (1056, 1024));
        let windows: &[u64] = match setting.preset {
            Preset::Quick => &[16 << 10],
            Preset::Default => &[16 << 10, 1 << 20],
            Preset::Thorough => &[4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20],
        };
        vec![
            Axis::new(
                "working_set_bytes",
                "memory that is read, a power of two",
                AxisKind::AtLeast(4),
                windows.iter().copied(),
            ),
            local_size_axis(setting),
            Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_work(),
            Axis::new("reads", "words per invocation, a multiple of 8", AxisKind::AtLeast(LOADS_PER_ITERATION), [loads])
                .of_monotone_work(),
        ]
    }

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let [bytes, local_size, loads] = ["working_set_bytes", "local_size_x", "reads"].map(|axis| point.integer(axis));
        if !bytes.is_power_of_two() {
            return Err(Skip::new(format!("working_set_bytes is {bytes}: the case needs a power of two")));
        }
        if loads % LOADS_PER_ITERATION != 0 || loads > MOST_LOADS {
            return Err(Skip::new(format!(
                "reads is {loads}, the case needs a multiple of {LOADS_PER_ITERATION} up to {MOST_LOADS}"
            )));
        }
        if variant == "leader" {
            let class = (SubgroupClass::Ballot, "VK_SUBGROUP_FEATURE_BALLOT_BIT");
            require_classes(&setting.device.subgroup, &[class])?;
        }
        let groups = fold_groups(point.integer("groups"), setting.device.limits.workgroup_count[0]);
        let invocations = groups.iter().fold(local_size, |product, &count| product.saturating_mul(count.into()));
        u32_of(invocations)?;
        let kernel = Kernel::new("subgroup/uniform_load.comp", [point.u32("local_size_x"), 1, 1], buffers(variant))
            .constant("LOADS", Scalar::U32(point.u32("reads")))
            .constant("WINDOW", Scalar::U32(u32_of(bytes / 4)?));
        let kernel = if variant == "all" { kernel } else { kernel.define(&variant.to_uppercase(), "") };
        let seed = setting.seed;
        let numbers = Sequence::Shuffled(Shuffled { seed, n: invocations, block: 1 });
        let mut resources = vec![
            Resource::words("results", invocations, Contents::Undefined),
            Resource::words("words", bytes / 4, Contents::Sequence(Sequence::Words { seed })),
            Resource::words("numbers", invocations, Contents::Sequence(numbers)),
        ];
        resources.truncate(buffers(variant));
        let case = Case::single_dispatch(self.name(), point, kernel, groups, &[], resources, vec![0]);
        let items = invocations.checked_mul(loads);
        let work = Work { ops: items, items, ..Work::default() };
        Ok(Case {
            variant: variant.to_owned(),
            work,
            headline: Headline::COST,
            iterations: loads / LOADS_PER_ITERATION,
            ..case
        })
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let [local_size, loads] = ["local_size_x", "reads"].map(|axis| case.point.integer(axis));
        let (words, invocations) = (case.resources[1].sequence(), case.resources[0].bytes() / 4);
        let mask = case.resources[1].bytes() / 4 - 1;
        // What a workgroup's invocations add to 3^loads times their own number.
        let of_group = |group: u64| {
            let at = |k: u64| (group * GROUP_STEP + k * STEP) & mask;
            (0..loads).fold(0_u32, |result, k| result.wrapping_mul(3).wrapping_add(words.word(at(k))))
        };
        let of_groups: Vec<u32> = (0..invocations / local_size).map(of_group).collect();
        let factor = (0..loads).fold(1_u32, |factor, _| factor.wrapping_mul(3));
        #[expect(clippy::cast_possible_truncation, reason = "invocations are fewer than 2^32")]
        let result = move |i: u64| of_groups[(i / local_size) as usize].wrapping_add((i as u32).wrapping_mul(factor));
        vec![Expected::words(invocations, result)]
    }
}

/// How many buffers the kernel of a variant binds.
fn buffers(variant: &str) -> usize {
    if variant == "known" { 2 } else { 3 }
}

fn u32_of(n: u64) -> Result<u32, Skip> {
    u32::try_from(n).map_err(|_| Skip::new(format!("the kernel counts in 32 bits, the case needs {n}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DeviceInfo;

    fn case(variant: &str, bytes: u64, loads: u64) -> Result<Case, Skip> {
        let device = DeviceInfo::mock();
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        let values = [("working_set_bytes", bytes), ("reads", loads), ("groups", 3), ("local_size_x", 2)];
        UniformLoad.case(variant, &Point::new(values.map(|(name, value)| (name.into(), value.into()))), &setting)
    }

    #[test]
    fn every_invocation_gets_its_workgroups_words() {
        let case = case("all", 16, 8).unwrap();
        let word = |i: u64| case.resources[1].sequence().word(i % 4);
        let walk = |start: u32, first: u64| (0..8).fold(start, |x, k| x.wrapping_mul(3).wrapping_add(word(first + 33 * k)));
        let right = [walk(0, 0), walk(1, 0), walk(2, 5), walk(3, 5), walk(4, 10), walk(5, 10)];
        assert_eq!(UniformLoad.expected(&case)[0].bytes(), right.map(u32::to_ne_bytes).concat());
    }

    #[test]
    fn what_the_shader_can_not_do_is_skipped() {
        let reason = |variant, bytes, loads| case(variant, bytes, loads).unwrap_err().reason;
        assert!(reason("all", 48, 8).contains("power of two") && reason("all", 64, 9).contains("multiple of 8"));
        assert!(reason("all", 1 << 40, 8).contains("32 bits"));
        assert!(reason("leader", 64, 8).contains("VK_SUBGROUP_FEATURE_BALLOT_BIT"));
    }
}
