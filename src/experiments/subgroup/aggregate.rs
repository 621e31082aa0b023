//! `subgroup/aggregate`: does it pay to ask for places in a list together: by lanes, by subgroups, by workgroups?

use crate::experiments::common::ledger;
use crate::experiments::{Experiment, Setting, fold_groups, require_classes, size_to_require, usual_size};
use crate::model::{
    Axis, AxisKind, Case, Check, Contents, Headline, Kernel, Point, Preset, Repeat, Resource, Scalar, Sequence, Skip, Step,
    SubgroupClass, Work,
};
use crate::validate::{Expected, Verdict, compare};

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Aggregate;

/// Who does an atomic for all of it.
const VARIANTS: &[&str] = &["lane", "subgroup", "workgroup"];

/// What the subgroup's form needs.
const CLASSES: &[(SubgroupClass, &str)] = &[
    (SubgroupClass::Arithmetic, "VK_SUBGROUP_FEATURE_ARITHMETIC_BIT"),
    (SubgroupClass::Shuffle, "VK_SUBGROUP_FEATURE_SHUFFLE_BIT"),
];

/// More would outlast the loops of some drivers.
const MOST_ROUNDS: u64 = 60_000;

/// The resources, in this order.
const COUNTER: usize = 0;
const TERMS: usize = 1;
const NOTES: usize = 2;
const PASSES: usize = 3;

struct Aggregate;

impl Experiment for Aggregate {
    fn name(&self) -> &'static str {
        "subgroup/aggregate"
    }

    fn variants(&self) -> &[&str] {
        VARIANTS
    }

    fn quick_variants(&self) -> &[&str] {
        &VARIANTS[..1]
    }

    fn base_variant(&self) -> Option<&str> {
        Some("lane")
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let (groups, rounds) = setting.by_class((16_u64, 16_u64), (264, 128));
        let sizes = match setting.preset {
            Preset::Quick => vec![usual_size(setting)],
            Preset::Default => vec![64, usual_size(setting)],
            Preset::Thorough => vec![32, 64, 128, 256, 512, 1024],
        };
        vec![
            Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
            Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_work(),
            Axis::new("requests", "times that an invocation asks", AxisKind::AtLeast(1), [rounds]).of_monotone_work(),
        ]
    }

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let [local_size, rounds] = ["local_size_x", "requests"].map(|axis| point.integer(axis));
        if rounds > MOST_ROUNDS {
            return Err(Skip::new(format!("requests are {MOST_ROUNDS} at most: the case needs {rounds}")));
        }
        if variant == "subgroup" {
            require_classes(&setting.device.subgroup, CLASSES)?;
        }
        let groups = fold_groups(point.integer("groups"), setting.device.limits.workgroup_count[0]);
        let invocations = groups.iter().fold(local_size, |product, &count| product.saturating_mul(count.into()));
        let kernel = Kernel::new("subgroup/aggregate.comp", [point.u32("local_size_x"), 1, 1], 4)
            .define(&format!("BY_{}", variant.to_uppercase()), "")
            .constant("ROUNDS", Scalar::U32(point.u32("requests")));
        let kernel = Kernel { required_subgroup_size: size_to_require(setting.device, local_size), ..kernel };
        let resources = vec![
            Resource::words("counter", 1, Contents::Undefined),
            Resource::words("terms", invocations, Contents::Sequence(Sequence::Words { seed: setting.seed })),
            Resource::words("notes", invocations, Contents::Undefined),
            Resource::words("passes", 1, Contents::Undefined),
        ];
        let outputs = vec![COUNTER, NOTES, PASSES];
        let items = invocations.checked_mul(rounds);
        let case = Case::single_dispatch(self.name(), point, kernel, groups, &[], resources, Vec::new());
        Ok(Case {
            variant: variant.to_owned(),
            reset: outputs.iter().map(|&resource| Step::Fill { resource, word: 0 }).collect(),
            check: Check::Twin(outputs),
            repeat: Repeat::Resumes,
            work: Work { ops: items, items, ..Work::default() },
            headline: Headline::COST,
            iterations: rounds,
            ..case
        })
    }

    /// What a device leaves behind whose invocations come one after the other.
    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let needs = needs(case);
        let note = |taken: &mut u32, need: &u32| {
            let first = *taken;
            *taken = first.wrapping_add(*need);
            Some(ledger::rise(first, *taken))
        };
        let notes: Vec<u32> = needs.iter().scan(0, note).collect();
        let total = needs.iter().copied().fold(0, u32::wrapping_add);
        vec![
            Expected::words(1, move |_| total),
            Expected::words(notes.len() as u64, move |i| usize::try_from(i).map_or(0, |i| notes[i])),
            Expected::words(1, |_| 1),
        ]
    }

    fn check(&self, case: &Case, outputs: &[Vec<u8>]) -> Verdict {
        let [counter, notes, passes] = outputs else { panic!("{}: {} outputs, not 3", case.experiment, outputs.len()) };
        let passes = match ledger::passes("passes", passes) {
            Ok(passes) => passes,
            Err(verdict) => return verdict,
        };
        let needs = needs(case);
        let total = needs.iter().copied().fold(0, u32::wrapping_add).wrapping_mul(passes);
        let notes = ledger::words(notes);
        if notes.len() != needs.len() {
            return compare("notes", &[], &Expected::words(needs.len() as u64, |_| 0));
        }
        match compare("counter", counter, &Expected::words(1, |_| total)) {
            Verdict::Right => ledger::check("notes", &notes, |_| 0, |_| (0, total)),
            wrong @ Verdict::Wrong(_) => wrong,
        }
    }
}

/// The places that each invocation needs in a pass.
fn needs(case: &Case) -> Vec<u32> {
    let (terms, rounds) = (case.resources[TERMS].sequence(), case.point.u32("requests"));
    let need = |term: u32| (0..rounds).map(|number| 1 + ((term >> (number & 15)) & 3)).fold(0, u32::wrapping_add);
    (0..case.resources[NOTES].bytes() / 4).map(|i| need(terms.word(i))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DeviceInfo;

    fn case() -> Case {
        let device = DeviceInfo::mock();
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        let axes = Aggregate.axes(&setting).into_iter().map(|axis| (axis.name, axis.defaults[0].clone()));
        let point = Point::new(axes).with("groups", &2_u64.into()).with("local_size_x", &8_u64.into());
        Aggregate.case("lane", &point, &setting).unwrap()
    }

    /// One round of each invocation in an order of its own, in places that begin here.
    fn outputs(order: &[usize], lost: u32) -> Vec<Vec<u8>> {
        let needs = needs(&case());
        let (mut notes, mut taken) = (vec![0_u32; needs.len()], 0_u32);
        for i in order {
            notes[*i] = ledger::rise(taken, taken + needs[*i]);
            taken += needs[*i] - lost;
        }
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        vec![bytes(&[taken + lost * 16]), bytes(&notes), bytes(&[1])]
    }

    #[test]
    fn places_may_be_had_in_any_order_but_once() {
        let order: Vec<usize> = (0..16).collect();
        let backwards: Vec<usize> = (0..16).rev().collect();
        assert_eq!(Aggregate.check(&case(), &outputs(&order, 0)), Verdict::Right);
        assert_eq!(Aggregate.check(&case(), &outputs(&backwards, 0)), Verdict::Right);
        // Everybody's last place is the next one's first.
        let Verdict::Wrong(mismatch) = Aggregate.check(&case(), &outputs(&order, 1)) else { panic!("shared places pass") };
        assert_eq!(mismatch.output, "notes");
    }

    #[test]
    fn operations_that_a_device_lacks_are_named() {
        let device = DeviceInfo::mock();
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        let reason = Aggregate.case("subgroup", &case().point, &setting).unwrap_err().reason;
        assert!(reason.contains("VK_SUBGROUP_FEATURE_ARITHMETIC_BIT"), "{reason}");
    }
}
