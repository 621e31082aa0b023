//! `subgroup/aggregate`: does it pay to ask for places in a list together: by lanes, by subgroups, by workgroups?

use crate::experiments::common::ledger;
use crate::experiments::common::prelude::*;
use crate::experiments::common::words;
use crate::model::Repeat;

pub const EXPERIMENT: Experiment = Experiment {
    variants: Who::WORDS,
    quick_variants: &[Who::Lane.word()],
    base_variant: Some(Who::Lane.word()),
    repeatability: |_| Repeatability::Placement,
    ..Experiment::new("subgroup/aggregate", axes, build)
};

choices! {
    /// Who does an atomic for all of it.
    enum Who { Lane = "lane", Subgroup = "subgroup", Workgroup = "workgroup" }
}

const CLASSES: &[SubgroupClass] = &[SubgroupClass::Arithmetic, SubgroupClass::Shuffle];

/// More would outlast the loops of some drivers.
const MOST_ROUNDS: u64 = 60_000;

fn axes(setting: &Setting) -> Vec<Axis> {
    let (groups, rounds) = setting.by_class((16_u64, 16_u64), (264, 128));
    let sizes = match setting.preset {
        Preset::Quick => vec![usual_size(setting)],
        Preset::Default => vec![64, usual_size(setting)],
        Preset::Thorough => vec![32, 64, 128, 256, 512, 1024],
    };
    vec![
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_work(),
        loop_axis("requests", "times that an invocation asks", [rounds], MOST_ROUNDS),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [local_size, rounds] = ["local_size_x", "requests"].map(|axis| config.integer(axis));
    let who = Who::of(config.variant);
    if who == Who::Subgroup {
        config.require_classes(CLASSES)?;
    }
    let (groups, invocations) = config.grid(config.integer("groups"));
    let requests = Requests { invocations, rounds: config.u32("requests"), terms: Sequence::Words { seed: config.seed() } };
    let kernel = Kernel::new("subgroup/aggregate.comp", config.workgroup())
        .define(&format!("BY_{}", who.word().to_uppercase()), "")
        .constant("ROUNDS", Scalar::U32(requests.rounds));
    let kernel = Kernel { required_subgroup_size: size_to_require(config.device(), local_size), ..kernel };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    // What a device leaves behind whose invocations come one after the other.
    let counter = case.output_from(0, "counter", Expected::words(1, move |_| requests.places()));
    let terms = case.input("terms", invocations, requests.terms);
    let notes = case.output_from(0, "notes", Expected::words_from(invocations, move || requests.notes_in_order()));
    let passes = case.output_from(0, "passes", Expected::words(1, |_| 1));
    case.run(kernel, &[counter, terms, notes, passes], groups, &[]);
    let in_any_order = move |left: &PassOutputs| {
        let places = requests.places().wrapping_mul(ledger::passes(left.of(passes))?);
        left.of(counter).compare(&Expected::words(1, move |_| places))?;
        ledger::check(left.of(notes), invocations, |_| 0, |_| (0, places))
    };
    let items = Some(product([invocations, rounds]));
    let work = Work { ops: items, items, ..Work::default() };
    Ok(case.repeat(Repeat::Resumes).iterations(rounds).checked_by(in_any_order).build(work, Headline::COST))
}

#[derive(Clone, Copy, Debug)]
struct Requests {
    invocations: u64,
    rounds: u32,
    terms: Sequence,
}

impl Requests {
    fn needs(self) -> impl Iterator<Item = u32> {
        let need = move |term: u32| (0..self.rounds).map(|number| 1 + ((term >> (number & 15)) & 3)).fold(0, u32::wrapping_add);
        (0..self.invocations).map(move |i| need(self.terms.word(i)))
    }

    fn places(self) -> u32 {
        self.needs().fold(0, u32::wrapping_add)
    }

    fn notes_in_order(self) -> impl Fn(u64) -> u32 + Send + Sync {
        let note = |taken: &mut u32, need: u32| {
            let first = *taken;
            *taken = first.wrapping_add(need);
            Some(ledger::rise(first, *taken))
        };
        words::of(self.needs().scan(0, note).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{built, bytes, quick, reason};
    use crate::model::DeviceInfo;

    /// Two workgroups of eight invocations.
    const SMALL: &str = "local_size_x=8 groups=2 requests=128";

    /// One round of each invocation in an order of its own, in places that begin here.
    fn outputs(order: &[usize], lost: u32) -> Vec<Vec<u8>> {
        let requests = Requests { invocations: 16, rounds: 128, terms: Sequence::Words { seed: 1 } };
        let needs: Vec<u32> = requests.needs().collect();
        let (mut notes, mut taken) = (vec![0_u32; needs.len()], 0_u32);
        for i in order {
            notes[*i] = ledger::rise(taken, taken + needs[*i]);
            taken += needs[*i] - lost;
        }
        vec![bytes(&[taken + lost * 16]), bytes(&notes), bytes(&[1])]
    }

    #[test]
    fn places_may_be_had_in_any_order_but_once() {
        let order: Vec<usize> = (0..16).collect();
        let backwards: Vec<usize> = (0..16).rev().collect();
        let verdict = |outputs: &[Vec<u8>]| {
            built(&EXPERIMENT, "lane", quick(&DeviceInfo::mock()), SMALL, |built| built.check(outputs)).unwrap()
        };
        assert_eq!(verdict(&outputs(&order, 0)), Ok(()));
        assert_eq!(verdict(&outputs(&backwards, 0)), Ok(()));
        // Everybody's last place is the next one's first.
        let Err(mismatch) = verdict(&outputs(&order, 1)) else { panic!("shared places pass") };
        assert_eq!(mismatch.output, "notes");
    }

    #[test]
    fn operations_that_a_device_lacks_are_named() {
        let reason = reason(&EXPERIMENT, "subgroup", quick(&DeviceInfo::mock()), SMALL);
        assert!(reason.contains("VK_SUBGROUP_FEATURE_ARITHMETIC_BIT"), "{reason}");
    }
}
