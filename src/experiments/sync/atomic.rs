//! `sync/atomic`: what does an atomic operation cost, by how many share its address?

mod twin;

use std::sync::{Arc, LazyLock};

use crate::experiments::common::ledger;
use crate::experiments::{
    Built, CaseBuilder, Config, Experiment, Left, Setting, lanes, product, size_to_require, u32_of, usual_size, workgroups,
};
use crate::model::{
    Axis, AxisKind, AxisValue, Feature, Headline, Kernel, POISON, Point, Preset, Repeat, Repeatability, Scalar, Sequence,
    Shuffled, Skip, SubgroupClass, Work,
};
use crate::validate::{Expected, Output, Verdict};
use twin::{OPERATIONS, TYPES, Twin, first_word};

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

/// Who shares a cell; in capitals, the shader's macros for what a compiler may know.
const CONTENTION: &[&str] = &["distinct", "per_subgroup", "per_workgroup", "one"];

/// Operations that devices do in ways of their own: sums, comparisons, bits; and what replaces a value.
const FEW_OPERATIONS: &[&str] = &["add", "max", "xor", "exchange", "compare_exchange"];

/// The sign costs nothing.
const FEW_TYPES: &[&str] = &["u32", "u64", "f32"];

/// Atomics of an iteration of the shader's loop.
const ATOMICS_PER_ITERATION: u64 = 8;

/// More would keep the twin busy for minutes, and some drivers end loops that are so long.
const MOST_ATOMICS: u64 = 1 << 16;

/// Invocations whose floats, of 4 at most each, sum up to less than 2^24: up to there every whole number is one.
const MOST_FLOATS: u64 = 1 << 21;
/// The same of doubles, which begin with a multiple of 2^-22: sums below 2^31 keep it.
const MOST_DOUBLES: u64 = 1 << 28;

/// Who shares what at a point.
#[derive(Clone, Copy, Debug)]
struct Shape {
    local_size: u64,
    groups: [u32; 3],
    /// Invocations of the whole grid.
    invocations: u64,
    atomics: u64,
    /// Neighbouring invocations of a workgroup that share a cell.
    sharers: u64,
    /// Cells from one workgroup's first to the next one's.
    cells_per_group: u64,
    cells: u64,
}

impl Shape {
    fn new(config: &Config) -> Self {
        let (groups, invocations) = config.grid(config.integer("groups"));
        let [local_size, atomics] = ["local_size_x", "atomics"].map(|axis| config.integer(axis));
        let count = workgroups(groups);
        let sharers = match config.choice("contention") {
            "distinct" => 1,
            "per_subgroup" => local_size.min(lanes(config.device()).into()),
            _ => local_size,
        };
        let is_one = config.choice("contention") == "one";
        let cells_per_group = if is_one { 0 } else { local_size.div_ceil(sharers) };
        Self {
            local_size,
            groups,
            invocations,
            atomics,
            sharers,
            cells_per_group,
            cells: if is_one { 1 } else { product([count, cells_per_group]) },
        }
    }

    /// The cell of an invocation.
    fn cell(&self, i: u64) -> u64 {
        i / self.local_size * self.cells_per_group + i % self.local_size / self.sharers
    }
}

fn repeatability(point: &Point) -> Repeatability {
    match point.get("memory") {
        Some(AxisValue::Choice(memory)) if memory == "shared" => Repeatability::Core,
        _ => Repeatability::Placement,
    }
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let (quick, thorough) = (setting.preset == Preset::Quick, setting.preset == Preset::Thorough);
    let ops = match setting.preset {
        Preset::Quick => &OPERATIONS[..1],
        Preset::Default => FEW_OPERATIONS,
        Preset::Thorough => OPERATIONS,
    };
    let types = match setting.preset {
        Preset::Quick => &TYPES[..1],
        Preset::Default => FEW_TYPES,
        Preset::Thorough => TYPES,
    };
    let memory = if quick { &MEMORY[..1] } else { MEMORY };
    let contention = if quick { &CONTENTION[..1] } else { CONTENTION };
    let sizes = if thorough { vec![64, 256, 1024] } else { vec![usual_size(setting)] };
    let (groups, atomics) = setting.by_class((16_u64, 32_u64), (264, 512));
    vec![
        Axis::new("op", "the operation", AxisKind::Choices(OPERATIONS), ops.iter().copied()),
        Axis::new("type", "what a cell holds", AxisKind::Choices(TYPES), types.iter().copied()),
        Axis::new("memory", "where cells lie", AxisKind::Choices(MEMORY), memory.iter().copied()),
        Axis::new("contention", "who shares a cell", AxisKind::Choices(CONTENTION), contention.iter().copied())
            .relative_to("distinct"),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_work(),
        Axis::new("atomics", "operations per invocation", AxisKind::AtLeast(ATOMICS_PER_ITERATION), [atomics])
            .multiple_of(ATOMICS_PER_ITERATION)
            .up_to(MOST_ATOMICS)
            .of_monotone_work(),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let (is_used, is_shared) = (config.variant == USED, is_shared(config));
    let shape = Shape::new(config);
    require_operation(config, is_used)?;
    require_features(config)?;
    require_size(config, &shape)?;
    if !is_used && config.choice("contention") == "per_subgroup" {
        config.require_classes(&[SubgroupClass::Basic])?;
    }
    let (op, ty, seed) = (config.choice("op"), config.choice("type"), config.seed());
    let (first, terms) = (first_word(op, ty), Sequence::Words { seed });
    let run = Run { twin: Twin { op, ty, factor: terms.word(0) | 1 }, shape, terms };
    // What a device leaves behind whose invocations come one after the other.
    let once = Arc::new(LazyLock::new(move || run.one_after_the_other()));
    let (of_cells, of_notes) = (Arc::clone(&once), Arc::clone(&once));
    let of_cells = Expected::words(run.cell_words(), move |i| run.cell_word(&of_cells.cells, i));
    let of_notes = Expected::words(shape.invocations, move |i| of_notes.notes.get(index(i)).copied().unwrap_or_default());
    // Passes go on from what the last one left, unless the cells are gone with their workgroups.
    let [cell, note, pass] = if is_shared { [POISON; 3] } else { [first, 0, 0] };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let cells = case.output_from(cell, "cells", of_cells);
    let mut resources = vec![cells, case.input("terms", shape.invocations, terms)];
    let notes = is_used.then(|| {
        let order = Sequence::Shuffled(Shuffled { seed, n: shape.invocations, block: 1 });
        resources.push(case.input("numbers", shape.invocations, order));
        case.output_from(note, "notes", of_notes)
    });
    let passes = (!is_shared).then(|| case.output_from(pass, "passes", Expected::words(1, |_| 1)));
    resources.extend([notes, passes].into_iter().flatten());
    let push: &[u32] = match (is_used, is_shared) {
        (true, _) => &[first, u32_of(shape.cells_per_group)?],
        (false, true) => &[first],
        (false, false) => &[],
    };
    case.run(kernel(config, &shape, is_used), &resources, shape.groups, push);
    let in_any_order = move |left: &Left| {
        let passes = passes.map_or(Ok(1), |passes| ledger::passes(left.of(passes)))?;
        run.check_cells(&once.cells, left.of(cells), passes)?;
        notes.map_or(Ok(()), |notes| run.check_notes(left.of(notes), left.of(cells)))
    };
    let items = Some(product([shape.invocations, shape.atomics]));
    let work = Work { ops: items, items, ..Work::default() };
    let iterations = shape.atomics / ATOMICS_PER_ITERATION + 2 * shape.cells_per_group.div_ceil(shape.local_size);
    let case = case.repeat(if is_shared { Repeat::Overwrites } else { Repeat::Resumes }).iterations(iterations);
    Ok(case.checked_by(in_any_order).build(work, Headline::COST))
}

// ---- what is needed -------------------------------------------------------------------------------------------------------

fn is_shared(config: &Config) -> bool {
    config.choice("memory") == "shared"
}

fn require_operation(config: &Config, is_used: bool) -> Result<(), Skip> {
    let (op, ty) = (config.choice("op"), config.choice("type"));
    if ty.starts_with('f') && op != "add" {
        Err(Skip::new(format!("`{op}` of floats is not what VK_EXT_shader_atomic_float offers: the case needs op=add")))
    } else if is_shared(config) && config.choice("contention") == "one" {
        Err(Skip::new("each workgroup has its own memory: the case needs contention=per_workgroup, which is one cell there"))
    } else if !is_used && op.ends_with("exchange") {
        Err(Skip::new(format!("`{op}` is for its result: the case needs the variant {USED}")))
    } else {
        Ok(())
    }
}

fn require_features(config: &Config) -> Result<(), Skip> {
    config.require(match (config.choice("type"), is_shared(config)) {
        ("u64" | "i64", false) => &[Feature::Int64, Feature::BufferInt64Atomics],
        ("u64" | "i64", true) => &[Feature::Int64, Feature::SharedInt64Atomics],
        ("f32", false) => &[Feature::BufferFloat32AtomicAdd],
        ("f32", true) => &[Feature::SharedFloat32AtomicAdd],
        ("f64", false) => &[Feature::Float64, Feature::BufferFloat64AtomicAdd],
        ("f64", true) => &[Feature::Float64, Feature::SharedFloat64AtomicAdd],
        _ => &[],
    })
}

fn require_size(config: &Config, shape: &Shape) -> Result<(), Skip> {
    let invocations = shape.invocations;
    let together = if config.choice("contention") == "one" { invocations } else { shape.sharers };
    let ty = config.choice("type");
    let exact = match ty {
        "f32" => MOST_FLOATS,
        "f64" => MOST_DOUBLES,
        _ => u64::MAX,
    };
    if together > exact {
        return Err(Skip::new(format!(
            "sums of {ty} are exact for up to {exact} invocations per cell: the case needs {together}"
        )));
    }
    u32_of(invocations).map(drop)
}

// ---- the case -------------------------------------------------------------------------------------------------------------

fn kernel(config: &Config, shape: &Shape, is_used: bool) -> Kernel {
    let kernel = Kernel::new("sync/atomic.comp", config.workgroup())
        .define(&config.choice("type").to_uppercase(), "")
        .define(&config.choice("op").to_uppercase(), "")
        .constant("ATOMICS", Scalar::U32(config.u32("atomics")));
    let contention = config.choice("contention");
    let kernel = if is_used { kernel } else { kernel.define("COMBINABLE", "").define(&contention.to_uppercase(), "") };
    let kernel = if is_used || contention == "per_subgroup" {
        kernel.constant("SHARERS", Scalar::U32(u32::try_from(shape.sharers).unwrap_or(u32::MAX)))
    } else {
        kernel
    };
    let kernel = if is_shared(config) {
        let cells = u32::try_from(shape.cells_per_group).unwrap_or(u32::MAX);
        kernel.define("SHARED", "").constant("CELLS", Scalar::U32(cells))
    } else {
        kernel
    };
    Kernel { required_subgroup_size: size_to_require(config.device(), shape.local_size), ..kernel }
}

// ---- the twin -------------------------------------------------------------------------------------------------------------

/// A pass of a case.
#[derive(Clone, Copy, Debug)]
struct Run<'a> {
    twin: Twin<'a>,
    shape: Shape,
    terms: Sequence,
}

/// What the first pass leaves.
struct Once {
    cells: Vec<u64>,
    notes: Vec<u32>,
}

impl Run<'_> {
    /// What the first pass leaves, if invocations come one after the other.
    fn one_after_the_other(&self) -> Once {
        let mut cells = vec![self.twin.first(); index(self.shape.cells)];
        let note = |i: u64| {
            let (cell, term) = (self.shape.cell(i), self.terms.word(i));
            let Some(value) = cells.get_mut(index(cell)) else { return 0 };
            (0..self.shape.atomics).fold(0_u32, |note, k| {
                #[expect(clippy::cast_possible_truncation, reason = "atomics are few")]
                let k = k as u32;
                let old = *value;
                *value = self.twin.after(old, term, cell, k);
                note.wrapping_add(ledger::rise(self.twin.word(old), self.twin.word(*value)))
            })
        };
        let notes = (0..self.shape.invocations).map(note).collect();
        Once { cells, notes }
    }

    fn cell_words(&self) -> u64 {
        product([self.shape.cells, self.twin.words()])
    }

    #[expect(clippy::cast_possible_truncation, reason = "half of a value is meant")]
    fn cell_word(&self, cells: &[u64], i: u64) -> u32 {
        let words = self.twin.words();
        cells.get(index(i / words)).map_or(0, |cell| (cell >> (32 * (i % words))) as u32)
    }

    /// What cells hold that don't depend on the order.
    fn check_cells(&self, once: &[u64], got: Output, passes: u32) -> Verdict {
        let has_others = self.shape.sharers > 1 || self.shape.cells < self.shape.invocations;
        let after = |once: &u64| self.twin.after_passes(*once, passes, has_others);
        let compare = |cells: &[u64]| got.compare(&Expected::words(self.cell_words(), |i| self.cell_word(cells, i)));
        match once.iter().map(after).collect::<Option<Vec<u64>>>() {
            Some(cells) => compare(&cells),
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
        let place_of = |i: usize| index(self.shape.cell(i as u64));
        ledger::check(notes, self.shape.invocations, place_of, |cell| (first, self.twin.word(value(cell))))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a list in memory has fewer than usize can count")]
fn index(i: u64) -> usize {
    i as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceInfo, Point};

    /// What becomes of three workgroups of 48 invocations.
    fn with<T>(variant: &str, words: [&'static str; 4], then: impl FnOnce(&Config) -> T) -> T {
        let mut device = DeviceInfo::mock();
        device.subgroup.classes = [SubgroupClass::Basic].into();
        device.features.extend([Feature::Int64, Feature::BufferInt64Atomics, Feature::SharedFloat32AtomicAdd]);
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        let axes = axes(&setting).into_iter().map(|axis| (axis.name, axis.defaults[0].clone()));
        let point = [("local_size_x", 48_u64), ("groups", 3), ("atomics", 16)]
            .iter()
            .fold(Point::new(axes), |point, (name, value)| point.with(name, &(*value).into()));
        let point = ["op", "type", "memory", "contention"]
            .iter()
            .zip(words)
            .fold(point, |point, (name, word)| point.with(name, &word.into()));
        then(&Config::new(variant, &point, &setting))
    }

    #[test]
    fn any_bit_of_what_is_left_counts() {
        for (op, ty, memory, contention) in [
            ("add", "u32", "global", "one"),
            ("compare_exchange", "u64", "global", "per_subgroup"),
            ("exchange", "u32", "shared", "per_workgroup"),
            ("add", "f32", "shared", "distinct"),
        ] {
            with(USED, [op, ty, memory, contention], |config| {
                let built = build(config).unwrap();
                let outputs: Vec<Vec<u8>> = built.expected().iter().map(Expected::bytes).collect();
                assert_eq!(built.check(&outputs), Ok(()), "{op} {ty} {memory} {contention}");
                // How many passes there were shows in sums alone, and there in the lower bits.
                let name = |output: usize| built.case.resources[built.case.check.outputs()[output]].name.as_ref();
                let ends = |output: usize| match (name(output), op) {
                    ("passes", "add") => vec![0],
                    ("passes", _) => Vec::new(),
                    _ => vec![0, outputs[output].len() - 1],
                };
                for (output, byte) in (0..outputs.len()).flat_map(|o| ends(o).into_iter().map(move |byte| (o, byte))) {
                    let mut wrong = outputs.clone();
                    wrong[output][byte] ^= 0x10;
                    assert_ne!(built.check(&wrong), Ok(()), "{op} {ty} {memory} {contention}: output {output} byte {byte}");
                }
                let shorter = outputs.iter().map(|bytes| bytes[..bytes.len() - 4].to_vec()).collect::<Vec<_>>();
                assert_ne!(built.check(&shorter), Ok(()));
            });
        }
    }

    #[test]
    fn who_shares_a_cell_follows_from_the_contention() {
        let cells = |contention| {
            let shape = with(USED, ["add", "u32", "global", contention], Shape::new);
            (shape.cells, [0, 31, 32, 48, 143].map(|i| shape.cell(i)))
        };
        assert_eq!(cells("distinct"), (144, [0, 31, 32, 48, 143]));
        assert_eq!(cells("per_subgroup"), (6, [0, 0, 1, 2, 5]));
        assert_eq!(cells("per_workgroup"), (3, [0, 0, 0, 1, 2]));
        assert_eq!(cells("one"), (1, [0; 5]));
    }

    #[test]
    fn what_a_device_or_an_operation_lacks_is_named() {
        let reason = |variant, words| with(variant, words, |config| build(config).err().unwrap().reason);
        assert!(reason(USED, ["add", "u64", "shared", "distinct"]).starts_with("shaderSharedInt64Atomics"));
        assert!(reason(USED, ["add", "f32", "global", "distinct"]).starts_with("shaderBufferFloat32AtomicAdd"));
        assert!(reason(USED, ["min", "f32", "shared", "distinct"]).contains("op=add"));
        assert!(reason(USED, ["add", "u32", "shared", "one"]).contains("contention=per_workgroup"));
        assert!(reason(COMBINABLE, ["exchange", "u32", "global", "one"]).contains("variant used"));
    }
}
