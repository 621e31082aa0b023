//! `sync/atomic`: what does an atomic operation cost, by how many share its address?

mod twin;

use crate::experiments::common::ledger;
use crate::experiments::common::prelude::*;
use crate::experiments::common::words;
use crate::model::{AxisValue, POISON, Repeat};
use crate::validate::{Output, Verdict};
use twin::{Op, Twin, Type, first_word};

pub const EXPERIMENT: Experiment = Experiment {
    variants: &[USED, COMBINABLE],
    quick_variants: &[USED],
    repeatability,
    ..Experiment::new("sync/atomic", axes, build)
};

/// Results that are used, at addresses that depend on data; and neither.
const USED: &str = "used";
const COMBINABLE: &str = "combinable";

const MEMORY: &[&str] = &["global", "shared"];

choices! {
    /// Who shares a cell; in capitals, the shader's macros for what a compiler may know.
    enum Contention { Distinct = "distinct", PerSubgroup = "per_subgroup", PerWorkgroup = "per_workgroup", One = "one" }
}

/// Operations that devices do in ways of their own: sums, comparisons, bits; and what replaces a value.
const FEW_OPERATIONS: &[Op] = &[Op::Add, Op::Max, Op::Xor, Op::Exchange, Op::CompareExchange];

/// The sign costs nothing.
const FEW_TYPES: &[Type] = &[Type::U32, Type::U64, Type::F32];

/// Atomics of an iteration of the shader's loop.
const ATOMICS_PER_ITERATION: u64 = 8;

/// More would keep the twin busy for minutes, and some drivers end loops that are so long.
const MOST_ATOMICS: u64 = 1 << 16;

/// Invocations whose floats, of 4 at most each, sum up to less than 2^24: up to there every whole number is one.
const MOST_FLOATS: u64 = 1 << 21;
/// The same of doubles, which begin with a multiple of 2^-22: sums below 2^31 keep it.
const MOST_DOUBLES: u64 = 1 << 28;

fn repeatability(point: &Point) -> Repeatability {
    match point.get("memory") {
        Some(AxisValue::Choice(memory)) if memory == "shared" => Repeatability::Core,
        _ => Repeatability::Placement,
    }
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let (ops, types) = match setting.preset {
        Preset::Quick => (&Op::ALL[..1], &Type::ALL[..1]),
        Preset::Default => (FEW_OPERATIONS, FEW_TYPES),
        Preset::Thorough => (Op::ALL, Type::ALL),
    };
    let memory = setting.quick_or(&MEMORY[..1], MEMORY).iter().copied();
    let contention = setting.quick_or(&Contention::ALL[..1], Contention::ALL);
    let sizes = if setting.preset == Preset::Thorough { vec![64, 256, 1024] } else { vec![usual_size(setting)] };
    let (groups, atomics) = setting.by_class((16_u64, 32_u64), (264, 512));
    vec![
        Op::axis("op", "the operation", ops),
        Type::axis("type", "what a cell holds", types),
        Axis::new("memory", "where cells lie", AxisKind::Choices(MEMORY), memory),
        Contention::axis("contention", "who shares a cell", contention).relative_to("distinct"),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_work(),
        Axis::new("atomics", "operations per invocation", AxisKind::AtLeast(ATOMICS_PER_ITERATION), [atomics])
            .multiple_of(ATOMICS_PER_ITERATION)
            .up_to(MOST_ATOMICS)
            .of_monotone_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let (way, seed) = (Way::of(config), config.seed());
    let Way { is_used, is_shared, op, ty, .. } = way;
    let cells = Cells::new(config, way.contention);
    way.require(config, &cells)?;
    let (first, terms) = (first_word(op, ty), Sequence::Words { seed });
    let run = Run { twin: Twin { op, ty, factor: terms.word(0) | 1 }, cells, terms };
    // What a device leaves behind whose invocations come one after the other.
    let of_cells = Expected::words_from(run.cell_words(), move || run.words_of(run.one_after_the_other().cells));
    let of_notes = Expected::words_from(cells.invocations, move || words::of(run.one_after_the_other().notes));
    // Passes go on from what the last one left, unless the cells are gone with their workgroups.
    let [cell, note, pass] = if is_shared { [POISON; 3] } else { [first, 0, 0] };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let target = case.output_from(cell, "cells", of_cells);
    let mut resources = vec![target, case.input("terms", cells.invocations, terms)];
    let notes = is_used.then(|| {
        let order = Sequence::Shuffled(Shuffled { seed, n: cells.invocations, block: 1 });
        resources.push(case.input("numbers", cells.invocations, order));
        case.output_from(note, "notes", of_notes)
    });
    let passes = (!is_shared).then(|| case.output_from(pass, "passes", Expected::words(1, |_| 1)));
    resources.extend([notes, passes].into_iter().flatten());
    let push: &[u32] = match (is_used, is_shared) {
        (true, _) => &[first, u32_of(cells.per_group)?],
        (false, true) => &[first],
        (false, false) => &[],
    };
    case.run(way.kernel(config, &cells), &resources, cells.groups, push);
    let in_any_order = move |left: &PassOutputs| {
        let passes = passes.map_or(Ok(1), |passes| ledger::passes(left.of(passes)))?;
        run.check_cells(run.one_after_the_other().cells, left.of(target), passes)?;
        notes.map_or(Ok(()), |notes| run.check_notes(left.of(notes), left.of(target)))
    };
    let items = Some(product([cells.invocations, cells.atomics]));
    let work = Work { ops: items, items, ..Work::default() };
    // Each try that fails is another's that didn't.
    let tries = if way.op == Op::AddByLoop { product([cells.atomics, way.together(&cells)]) } else { 0 };
    let iterations = tries + cells.atomics / ATOMICS_PER_ITERATION + 2 * cells.per_group.div_ceil(cells.local_size);
    let case = case.repeat(if is_shared { Repeat::Overwrites } else { Repeat::Resumes }).iterations(iterations);
    Ok(case.checked_by(in_any_order).build(work, Headline::COST))
}

#[derive(Clone, Copy, Debug)]
struct Cells {
    local_size: u64,
    groups: [u32; 3],
    invocations: u64,
    atomics: u64,
    /// Neighbouring invocations of a workgroup that share a cell.
    sharers: u64,
    /// Cells from one workgroup's first to the next one's.
    per_group: u64,
    count: u64,
}

impl Cells {
    fn new(config: &Config, contention: Contention) -> Self {
        let (groups, invocations) = config.grid(config.integer("groups"));
        let [local_size, atomics] = ["local_size_x", "atomics"].map(|axis| config.integer(axis));
        let sharers = match contention {
            Contention::Distinct => 1,
            Contention::PerSubgroup => local_size.min(lanes(config.device()).into()),
            Contention::PerWorkgroup | Contention::One => local_size,
        };
        let is_one = contention == Contention::One;
        let per_group = if is_one { 0 } else { local_size.div_ceil(sharers) };
        let count = if is_one { 1 } else { product([workgroups(groups), per_group]) };
        Self { local_size, groups, invocations, atomics, sharers, per_group, count }
    }

    fn of(&self, i: u64) -> u64 {
        i / self.local_size * self.per_group + i % self.local_size / self.sharers
    }
}

#[derive(Clone, Copy)]
struct Way {
    is_used: bool,
    is_shared: bool,
    op: Op,
    ty: Type,
    contention: Contention,
}

impl Way {
    fn of(config: &Config) -> Self {
        Self {
            is_used: config.variant == USED,
            is_shared: config.choice("memory") == "shared",
            op: Op::of(config.choice("op")),
            ty: Type::of(config.choice("type")),
            contention: Contention::of(config.choice("contention")),
        }
    }

    /// Skipped: what doesn't go together, and what the device lacks.
    fn require(self, config: &Config, cells: &Cells) -> Result<(), Skip> {
        let Self { is_used, is_shared, op, ty, contention } = self;
        let word = op.word();
        if ty.is_real() && op != Op::Add {
            return Err(Skip::new(format!(
                "`{word}` of floats is not what VK_EXT_shader_atomic_float offers: the case needs op=add"
            )));
        }
        if is_shared && contention == Contention::One {
            let reason = "each workgroup has its own memory: the case needs contention=per_workgroup, which is one cell there";
            return Err(Skip::new(reason));
        }
        if !is_used && matches!(op, Op::Exchange | Op::CompareExchange) {
            return Err(Skip::new(format!("`{word}` is for its result: the case needs the variant {USED}")));
        }
        config.require(match (ty, is_shared) {
            (Type::U32 | Type::I32, _) => &[],
            (Type::U64 | Type::I64, false) => &[Feature::Int64, Feature::BufferInt64Atomics],
            (Type::U64 | Type::I64, true) => &[Feature::Int64, Feature::SharedInt64Atomics],
            (Type::F32, false) => &[Feature::BufferFloat32AtomicAdd],
            (Type::F32, true) => &[Feature::SharedFloat32AtomicAdd],
            (Type::F64, false) => &[Feature::Float64, Feature::BufferFloat64AtomicAdd],
            (Type::F64, true) => &[Feature::Float64, Feature::SharedFloat64AtomicAdd],
        })?;
        let together = self.together(cells);
        let exact = match ty {
            Type::F32 => MOST_FLOATS,
            Type::F64 => MOST_DOUBLES,
            Type::U32 | Type::I32 | Type::U64 | Type::I64 => u64::MAX,
        };
        if together > exact {
            let ty = ty.word();
            return Err(Skip::new(format!(
                "sums of {ty} are exact for up to {exact} invocations per cell: the case needs {together}"
            )));
        }
        u32_of(cells.invocations)?;
        if !is_used && contention == Contention::PerSubgroup {
            config.require_classes(&[SubgroupClass::Basic])?;
        }
        Ok(())
    }

    /// Invocations that share a cell.
    fn together(self, cells: &Cells) -> u64 {
        if self.contention == Contention::One { cells.invocations } else { cells.sharers }
    }

    fn kernel(self, config: &Config, cells: &Cells) -> Kernel {
        let mut kernel = config
            .kernel("sync/atomic.comp", &["atomics"])
            .define(&self.ty.word().to_uppercase(), "")
            .define(&self.op.word().to_uppercase(), "");
        if !self.is_used {
            kernel = kernel.define("COMBINABLE", "").define(&self.contention.word().to_uppercase(), "");
        }
        if self.is_used || self.contention == Contention::PerSubgroup {
            kernel = kernel.constant("SHARERS", number(cells.sharers));
        }
        if self.is_shared {
            kernel = kernel.define("SHARED", "").constant("CELLS", number(cells.per_group));
        }
        Kernel { required_subgroup_size: size_to_require(config.device(), cells.local_size), ..kernel }
    }
}

// ---- the twin -------------------------------------------------------------------------------------------------------------

#[derive(Clone, Copy, Debug)]
struct Run {
    twin: Twin,
    cells: Cells,
    terms: Sequence,
}

struct Once {
    cells: Vec<u64>,
    notes: Vec<u32>,
}

impl Run {
    /// What the first pass leaves, if invocations come one after the other.
    fn one_after_the_other(&self) -> Once {
        let mut cells = vec![self.twin.first(); index(self.cells.count)];
        let note = |i: u64| {
            let (cell, term) = (self.cells.of(i), self.terms.word(i));
            let Some(value) = cells.get_mut(index(cell)) else { return 0 };
            (0..self.cells.atomics).fold(0_u32, |note, k| {
                #[expect(clippy::cast_possible_truncation, reason = "atomics are few")]
                let k = k as u32;
                let old = *value;
                *value = self.twin.after(old, term, cell, k);
                note.wrapping_add(ledger::rise(self.twin.word(old), self.twin.word(*value)))
            })
        };
        let notes = (0..self.cells.invocations).map(note).collect();
        Once { cells, notes }
    }

    fn cell_words(&self) -> u64 {
        product([self.cells.count, self.twin.words()])
    }

    #[expect(clippy::cast_possible_truncation, reason = "half of a value is meant")]
    fn words_of(self, cells: Vec<u64>) -> impl Fn(u64) -> u32 + Send + Sync {
        let words = self.twin.words();
        move |i| cells.get(index(i / words)).map_or(0, |cell| (cell >> (32 * (i % words))) as u32)
    }

    /// What cells hold that don't depend on the order.
    fn check_cells(self, once: Vec<u64>, got: Output, passes: u32) -> Verdict {
        let has_others = self.cells.sharers > 1 || self.cells.count < self.cells.invocations;
        let after = |once: &u64| self.twin.after_passes(*once, passes, has_others);
        let compare = |cells| got.compare(&Expected::words(self.cell_words(), self.words_of(cells)));
        match once.iter().map(after).collect::<Option<Vec<u64>>>() {
            Some(cells) => compare(cells),
            None if got.bytes.len() as u64 == self.cell_words() * 4 => Ok(()),
            None => compare(once),
        }
    }

    /// Whether what invocations noted is what became of the cells.
    fn check_notes(&self, notes: Output, cells: Output) -> Verdict {
        let words = cells.words();
        let value = |cell: usize| match words.chunks_exact(index(self.twin.words())).nth(cell) {
            Some([low, high]) => u64::from(*low) | (u64::from(*high) << 32),
            Some([word]) => (*word).into(),
            _ => 0,
        };
        let first = self.twin.word(self.twin.first());
        let place_of = |i: usize| index(self.cells.of(i as u64));
        ledger::check(notes, self.cells.invocations, place_of, |cell| (first, self.twin.word(value(cell))))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a list in memory has fewer than usize can count")]
fn index(i: u64) -> usize {
    i as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{built, mock_with, quick, reason, with};
    use crate::model::DeviceInfo;

    /// Three workgroups of 48 invocations.
    const SMALL: &str = "local_size_x=48 groups=3 atomics=16";

    fn device() -> DeviceInfo {
        let features = [Feature::Int64, Feature::BufferInt64Atomics, Feature::SharedFloat32AtomicAdd];
        mock_with(&features, &[SubgroupClass::Basic])
    }

    #[test]
    fn any_bit_of_what_is_left_counts() {
        for words in [
            "op=add type=u32 memory=global contention=one",
            "op=compare_exchange type=u64 memory=global contention=per_subgroup",
            "op=exchange type=u32 memory=shared contention=per_workgroup",
            "op=add type=f32 memory=shared contention=distinct",
        ] {
            let check = |built: Built| {
                let outputs: Vec<Vec<u8>> = built.expected().iter().map(Expected::bytes).collect();
                assert_eq!(built.check(&outputs), Ok(()), "{words}");
                // How many passes there were shows in sums alone, and there in the lower bits.
                let name = |output: usize| built.case.resources[built.case.check.outputs()[output]].name.as_ref();
                let ends = |output: usize| match (name(output), words.contains("op=add")) {
                    ("passes", true) => vec![0],
                    ("passes", false) => Vec::new(),
                    _ => vec![0, outputs[output].len() - 1],
                };
                for (output, byte) in (0..outputs.len()).flat_map(|o| ends(o).into_iter().map(move |byte| (o, byte))) {
                    let mut wrong = outputs.clone();
                    wrong[output][byte] ^= 0x10;
                    assert_ne!(built.check(&wrong), Ok(()), "{words}: output {output} byte {byte}");
                }
                let shorter = outputs.iter().map(|bytes| bytes[..bytes.len() - 4].to_vec()).collect::<Vec<_>>();
                assert_ne!(built.check(&shorter), Ok(()));
            };
            built(&EXPERIMENT, USED, quick(&device()), &format!("{SMALL} {words}"), check).unwrap();
        }
    }

    #[test]
    fn who_shares_a_cell_follows_from_the_contention() {
        let cells = |contention| {
            let cells = with(&EXPERIMENT, USED, quick(&device()), SMALL, |config| Cells::new(config, contention));
            (cells.count, [0, 31, 32, 48, 143].map(|i| cells.of(i)))
        };
        assert_eq!(cells(Contention::Distinct), (144, [0, 31, 32, 48, 143]));
        assert_eq!(cells(Contention::PerSubgroup), (6, [0, 0, 1, 2, 5]));
        assert_eq!(cells(Contention::PerWorkgroup), (3, [0, 0, 0, 1, 2]));
        assert_eq!(cells(Contention::One), (1, [0; 5]));
    }

    #[test]
    fn what_a_device_or_an_operation_lacks_is_named() {
        for (variant, words, lacks) in [
            (USED, "type=u64 memory=shared", "shaderSharedInt64Atomics"),
            (USED, "type=f32", "shaderBufferFloat32AtomicAdd"),
            (USED, "op=min type=f32 memory=shared", "op=add"),
            (USED, "memory=shared contention=one", "contention=per_workgroup"),
            (COMBINABLE, "op=exchange contention=one", "variant used"),
        ] {
            let reason = reason(&EXPERIMENT, variant, quick(&device()), words);
            assert!(reason.contains(lacks), "{words}: {reason}");
        }
    }
}
