//! `sync/false_sharing`: what do atomics cost whose words nobody shares, but whose cache lines others use?

use crate::experiments::common::ledger;
use crate::experiments::{Experiment, Setting, compare_all, fold_groups, usual_size};
use crate::model::{
    Axis, AxisKind, Case, Check, Contents, Headline, Kernel, Point, Preset, Repeat, Resource, Scalar, Sequence, Skip, Step,
    Work,
};
use crate::validate::{Expected, Verdict};

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &FalseSharing;

/// Whose words lie side by side.
const NEIGHBOURS: &[&str] = &["lanes", "workgroups"];

/// Bytes from one word to the next: side by side, sectors, lines, and beyond what devices fetch at once.
const SPACINGS: &[u64] = &[4, 8, 16, 32, 64, 128, 256, 512];

/// Atomics of an iteration of the shader's loop.
const ATOMICS_PER_ITERATION: u64 = 8;

/// More would outlast the loops of some drivers.
const MOST_ATOMICS: u64 = 1 << 16;

/// The resources, in this order.
const CELLS: usize = 0;
const TERMS: usize = 1;
const NOTES: usize = 2;
const PASSES: usize = 3;

struct FalseSharing;

impl Experiment for FalseSharing {
    fn name(&self) -> &'static str {
        "sync/false_sharing"
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let quick = setting.preset == Preset::Quick;
        let neighbours = if quick { &NEIGHBOURS[1..] } else { NEIGHBOURS };
        let spacings = match setting.preset {
            Preset::Quick => &SPACINGS[..1],
            _ => SPACINGS,
        };
        let (groups, atomics) = setting.by_class((16_u64, 64_u64), (264, 256));
        let local_size = setting.by_class(64_u64, usual_size(setting));
        vec![
            Axis::new("neighbours", "whose words are side by side", AxisKind::Choices(NEIGHBOURS), neighbours.iter().copied()),
            Axis::new("spacing_bytes", "from a word to the next one", AxisKind::Numbers(SPACINGS), spacings.iter().copied())
                .relative_to(SPACINGS[0]),
            Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), [local_size]),
            Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_work(),
            Axis::new(
                "atomics",
                "operations per invocation, a multiple of 8",
                AxisKind::AtLeast(ATOMICS_PER_ITERATION),
                [atomics],
            )
            .of_monotone_work(),
        ]
    }

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let [local_size, spacing, atomics] = ["local_size_x", "spacing_bytes", "atomics"].map(|axis| point.integer(axis));
        if atomics % ATOMICS_PER_ITERATION != 0 || atomics > MOST_ATOMICS {
            return Err(Skip::new(format!(
                "atomics is {atomics}, the case needs a multiple of {ATOMICS_PER_ITERATION} up to {MOST_ATOMICS}"
            )));
        }
        let groups = fold_groups(point.integer("groups"), setting.device.limits.workgroup_count[0]);
        let count = groups.iter().fold(1, |product: u64, &count| product.saturating_mul(count.into()));
        let invocations = count.saturating_mul(local_size);
        let words = invocations.saturating_mul(spacing / 4);
        u32_of(words)?;
        let kernel = Kernel::new("sync/false_sharing.comp", [point.u32("local_size_x"), 1, 1], 4)
            .constant("ATOMICS", Scalar::U32(point.u32("atomics")))
            .constant("SPACING", Scalar::U32(u32_of(spacing / 4)?));
        let push = match point.choice("neighbours") {
            "lanes" => [1, u32_of(local_size)?],
            _ => [u32_of(count)?, 1],
        };
        let resources = vec![
            Resource::words("cells", words, Contents::Undefined),
            Resource::words("terms", invocations, Contents::Sequence(Sequence::Words { seed: setting.seed })),
            Resource::words("notes", invocations, Contents::Undefined),
            Resource::words("passes", 1, Contents::Undefined),
        ];
        let outputs = vec![CELLS, NOTES, PASSES];
        let items = invocations.checked_mul(atomics);
        let case = Case::single_dispatch(self.name(), point, kernel, groups, &push, resources, Vec::new());
        Ok(Case {
            reset: outputs.iter().map(|&resource| Step::Fill { resource, word: 0 }).collect(),
            check: Check::Twin(outputs),
            repeat: Repeat::Resumes,
            work: Work { ops: items, items, ..Work::default() },
            headline: Headline::COST,
            iterations: atomics / ATOMICS_PER_ITERATION,
            ..case
        })
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        expected(case, 1)
    }

    fn check(&self, case: &Case, outputs: &[Vec<u8>]) -> Verdict {
        let count = outputs.last().map(Vec::as_slice).unwrap_or_default();
        match ledger::passes("passes", count) {
            Ok(passes) => compare_all(case, outputs, expected(case, passes)),
            Err(verdict) => verdict,
        }
    }
}

fn u32_of(n: u64) -> Result<u32, Skip> {
    u32::try_from(n).map_err(|_| Skip::new(format!("the kernel counts in 32 bits, the case needs {n}")))
}

/// What the outputs hold after so many passes. Nobody shares a word: nothing depends on any order.
fn expected(case: &Case, passes: u32) -> Vec<Expected<'_>> {
    let [local_size, spacing] = ["local_size_x", "spacing_bytes"].map(|axis| case.point.integer(axis));
    let (terms, atomics) = (case.resources[TERMS].sequence(), case.point.u32("atomics"));
    let groups = case.groups().iter().fold(1, |product, &count| product * u64::from(count));
    let is_by_lane = case.point.choice("neighbours") == "lanes";
    let sum = move |i: u64| terms.word(i).wrapping_mul(atomics).wrapping_mul(passes);
    let owner = move |cell: u64| if is_by_lane { cell } else { cell % groups * local_size + cell / groups };
    let cell = move |word: u64| if word % (spacing / 4) == 0 { sum(owner(word / (spacing / 4))) } else { 0 };
    vec![
        Expected::words(case.resources[CELLS].bytes() / 4, cell),
        Expected::words(case.resources[NOTES].bytes() / 4, move |i| ledger::rise(0, sum(i))),
        Expected::words(1, move |_| passes),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DeviceInfo;

    fn case(neighbours: &'static str, spacing: u64) -> Case {
        let device = DeviceInfo::mock();
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        let values = [("local_size_x", 4_u64), ("groups", 3), ("spacing_bytes", spacing), ("atomics", 8)];
        let axes = FalseSharing.axes(&setting).into_iter().map(|axis| (axis.name, axis.defaults[0].clone()));
        let point = Point::new(axes).with("neighbours", &neighbours.into());
        let point = values.iter().fold(point, |point, (name, value)| point.with(name, &(*value).into()));
        FalseSharing.case("", &point, &setting).unwrap()
    }

    #[test]
    fn every_invocation_has_a_word_of_its_own() {
        for (neighbours, spacing) in [("lanes", 4), ("workgroups", 4), ("lanes", 64), ("workgroups", 64)] {
            let case = case(neighbours, spacing);
            let outputs: Vec<Vec<u8>> = expected(&case, 3).iter().map(Expected::bytes).collect();
            let cells = ledger::words(&outputs[0]);
            assert_eq!(cells.len() as u64, 12 * spacing / 4);
            let mut left: Vec<u32> = cells.into_iter().filter(|cell| *cell != 0).collect();
            let terms = case.resources[TERMS].sequence();
            let mut all: Vec<u32> = (0..12).map(|i| terms.word(i).wrapping_mul(24)).collect();
            left.sort_unstable();
            all.sort_unstable();
            assert_eq!(left, all, "{neighbours} {spacing}");
            assert_eq!(FalseSharing.check(&case, &outputs), Verdict::Right);
            let miscounted = [&outputs[..2], &[2_u32.to_ne_bytes().to_vec()]].concat();
            assert!(matches!(FalseSharing.check(&case, &miscounted), Verdict::Wrong(_)));
        }
    }
}
