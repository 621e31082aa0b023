//! `sync/false_sharing`: what do atomics cost whose words nobody shares, but whose cache lines others use?

use crate::experiments::common::ledger;
use crate::experiments::common::prelude::*;
use crate::model::Repeat;

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Placement, ..Experiment::new("sync/false_sharing", axes, build) };

const NEIGHBOURS: &[&str] = &["lanes", "workgroups"];

/// Bytes from one word to the next: side by side, sectors, lines, and beyond what devices fetch at once.
const SPACINGS: &[u64] = &[4, 8, 16, 32, 64, 128, 256, 512];

/// Atomics of an iteration of the shader's loop.
const ATOMICS_PER_ITERATION: u64 = 8;

/// More would outlast the loops of some drivers.
const MOST_ATOMICS: u64 = 1 << 16;

fn axes(setting: &Setting) -> Vec<Axis> {
    let neighbours = setting.quick_or(&NEIGHBOURS[1..], NEIGHBOURS).iter().copied();
    let spacings = setting.quick_or(&SPACINGS[..1], SPACINGS).iter().copied();
    let (groups, atomics) = setting.by_class((16_u64, 64_u64), (264, 256));
    let local_size = setting.by_class(64_u64, usual_size(setting));
    vec![
        Axis::new("neighbours", "whose words are side by side", AxisKind::Choices(NEIGHBOURS), neighbours),
        Axis::new("spacing_bytes", "from a word to the next one", AxisKind::Numbers(SPACINGS), spacings)
            .relative_to(SPACINGS[0]),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), [local_size]),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_work(),
        Axis::new("atomics", "operations per invocation", AxisKind::AtLeast(ATOMICS_PER_ITERATION), [atomics])
            .multiple_of(ATOMICS_PER_ITERATION)
            .up_to(MOST_ATOMICS)
            .of_monotone_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let atomics = config.integer("atomics");
    let cells = Cells::new(config);
    u32_of(cells.words())?;
    let kernel = Kernel::new("sync/false_sharing.comp", config.workgroup())
        .constant("ATOMICS", Scalar::U32(cells.atomics))
        .constant("SPACING", Scalar::U32(u32_of(cells.spacing)?));
    let push = if cells.is_by_lane { [1, u32_of(cells.local_size)?] } else { [u32_of(cells.groups)?, 1] };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let [of_cells, of_notes, of_passes] = cells.after(1);
    let target = case.output_from(0, "cells", of_cells);
    let terms = case.input("terms", cells.invocations(), cells.terms);
    let notes = case.output_from(0, "notes", of_notes);
    let passes = case.output_from(0, "passes", of_passes);
    case.run(kernel, &[target, terms, notes, passes], cells.grid, &push);
    let after_passes = move |left: &PassOutputs| left.compare(&cells.after(ledger::passes(left.of(passes))?));
    let items = Some(product([cells.invocations(), atomics]));
    let work = Work { ops: items, items, ..Work::default() };
    let case = case.repeat(Repeat::Resumes).iterations(atomics / ATOMICS_PER_ITERATION).checked_by(after_passes);
    Ok(case.build(work, Headline::COST))
}

#[derive(Clone, Copy, Debug)]
struct Cells {
    local_size: u64,
    grid: [u32; 3],
    groups: u64,
    /// Words from one that is somebody's to the next one.
    spacing: u64,
    is_by_lane: bool,
    atomics: u32,
    terms: Sequence,
}

impl Cells {
    fn new(config: &Config) -> Self {
        let grid = fold_groups(config.integer("groups"), config.most_groups());
        Self {
            local_size: config.integer("local_size_x"),
            grid,
            groups: workgroups(grid),
            spacing: config.integer("spacing_bytes") / 4,
            is_by_lane: config.choice("neighbours") == "lanes",
            atomics: config.u32("atomics"),
            terms: Sequence::Words { seed: config.seed() },
        }
    }

    fn invocations(&self) -> u64 {
        product([self.groups, self.local_size])
    }

    /// Words from the first cell to the end of what lies around the last one.
    fn words(&self) -> u64 {
        product([self.invocations(), self.spacing])
    }

    /// What the outputs hold after so many passes: cells, notes and passes. Nobody shares a word: nothing depends on any order.
    fn after(self, passes: u32) -> [Expected; 3] {
        let Self { local_size, groups, spacing, is_by_lane, atomics, terms, .. } = self;
        let sum = move |i: u64| terms.word(i).wrapping_mul(atomics).wrapping_mul(passes);
        let owner = move |cell: u64| if is_by_lane { cell } else { cell % groups * local_size + cell / groups };
        let cell = move |word: u64| if word % spacing == 0 { sum(owner(word / spacing)) } else { 0 };
        [
            Expected::words(self.words(), cell),
            Expected::words(self.invocations(), move |i| ledger::rise(0, sum(i))),
            Expected::words(1, move |_| passes),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{quick, with};
    use crate::model::DeviceInfo;
    use crate::validate::Output;

    #[test]
    fn every_invocation_has_a_word_of_its_own() {
        for (neighbours, spacing) in [("lanes", 4), ("workgroups", 4), ("lanes", 64), ("workgroups", 64)] {
            let told = format!("local_size_x=4 groups=3 atomics=8 spacing_bytes={spacing} neighbours={neighbours}");
            with(&EXPERIMENT, "", quick(&DeviceInfo::mock()), &told, |config| {
                let cells = Cells::new(config);
                let outputs = cells.after(3).map(|expected| expected.bytes());
                let words = Output { name: "cells", bytes: &outputs[0] }.words();
                assert_eq!(words.len(), 12 * spacing / 4);
                let mut left: Vec<u32> = words.into_iter().filter(|word| *word != 0).collect();
                let mut all: Vec<u32> = (0..12).map(|i| cells.terms.word(i).wrapping_mul(24)).collect();
                left.sort_unstable();
                all.sort_unstable();
                assert_eq!(left, all, "{told}");
                let built = build(config).unwrap();
                assert_eq!(built.check(&outputs), Ok(()));
                let miscounted = [&outputs[..2], &[2_u32.to_ne_bytes().to_vec()]].concat();
                assert!(built.check(&miscounted).is_err());
            });
        }
    }
}
