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

    fn summary(&self) -> &'static str {
        "one atomic per lane, per subgroup, or per workgroup"
    }

    fn description(&self) -> &'static str {
        "All invocations of a dispatch append to one list, `requests` times each: each time an invocation asks for 1 to 4 places, \
         as its data say, and gets the number of the first. One counter knows how many are taken. In `lane`, every invocation \
         adds what it needs to the counter. In `subgroup`, the lanes add up their needs (an inclusive scan), the last lane does \
         one atomic for all, and a shuffle tells the others where they begin. In `workgroup`, invocations add up their needs by \
         atomics in workgroup memory, one does the atomic for all, and two barriers stand between.\n\
         \n\
         How to read it: the headline is the time per request of one invocation, with all that the device does at once; \
         `relative` compares with `lane`. Where every atomic goes to memory, `lane` takes what sync/atomic with contention=one \
         takes, and the others less, up to as many times as lanes or invocations share an atomic; until the \
         scan, or the barriers, are all that remains. The counter's address is plain to see, as in real code: where `lane` is \
         hardly dearer than `subgroup`, the compiler or the memory adds up by itself, and doing it by hand buys little \
         (sync/atomic tells which of them). `workgroup` beats \
         `subgroup` only where the counter is still the limit: its barriers and its own atomics cost more than a scan. On \
         processors a workgroup often runs on one thread, so that few compete: there, subgroup operations that are emulated may \
         cost more than the atomics that they save.\n\
         \n\
         Who gets which places depends on the order in which atomics come. So each invocation sums up by how much its \
         requests raised the counter's weight (see src/experiments/common/ledger.rs): places that two got, or nobody, leave \
         another sum than what the counter says at the end, which is exact.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04), with workgroups of 256, `lane` takes 23.2 ps and `subgroup` as well, although \
         `lane` has an atomic for every request in the source: the compiler adds up a subgroup's requests by itself where the \
         counter's address is plain, even though each lane wants its own result. 32 times that, 0.74 ns, is the pace of \
         atomics at one address (see sync/atomic), so the scan itself is hidden. Only `workgroup` gets beyond: one atomic for \
         256 requests instead of 32 has 0.34 of the time (launch_bound, so at most that). With workgroups of 64 there are a \
         quarter as many subgroups to hide what each waits for, and `lane` takes 26.4 and `subgroup` 28.6."
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
