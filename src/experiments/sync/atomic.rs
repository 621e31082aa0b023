//! `sync/atomic`: what does an atomic operation cost, by how many share its address?

mod twin;

use crate::experiments::common::ledger;
use crate::experiments::{Experiment, Setting, fold_groups, lanes, require_classes, size_to_require, usual_size};
use crate::model::{
    Axis, AxisKind, Binding, Case, Check, Contents, DeviceInfo, Feature, Headline, Kernel, POISON, Point, Preset, Repeat,
    Resource, Scalar, Sequence, Shuffled, Skip, Step, SubgroupClass, Work,
};
use crate::validate::{Expected, Verdict, compare};
use twin::{OPERATIONS, TYPES, Twin, first_word};

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Atomic;

/// Results that are used, at addresses that depend on data; and neither.
const USED: &str = "used";
const COMBINABLE: &str = "combinable";

/// Where cells lie.
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

struct Atomic;

/// Who shares what at a point.
#[derive(Clone, Copy, Debug)]
struct Shape {
    local_size: u64,
    groups: [u32; 3],
    /// Invocations of the whole grid.
    invocations: u64,
    /// Atomics of one invocation.
    atomics: u64,
    /// Neighbouring invocations of a workgroup that share a cell.
    sharers: u64,
    /// Cells from one workgroup's first to the next one's.
    cells_per_group: u64,
    /// Cells in all.
    cells: u64,
}

impl Shape {
    fn new(point: &Point, device: &DeviceInfo) -> Self {
        let groups = fold_groups(point.integer("groups"), device.limits.workgroup_count[0]);
        Self::of_groups(point, groups, u64::from(lanes(device)))
    }

    fn of_groups(point: &Point, groups: [u32; 3], lanes: u64) -> Self {
        let [local_size, atomics] = ["local_size_x", "atomics"].map(|axis| point.integer(axis));
        let count = groups.iter().fold(1, |product: u64, &count| product.saturating_mul(count.into()));
        let sharers = match point.choice("contention") {
            "distinct" => 1,
            "per_subgroup" => lanes.min(local_size),
            _ => local_size,
        };
        let is_one = point.choice("contention") == "one";
        let cells_per_group = if is_one { 0 } else { local_size.div_ceil(sharers) };
        Self {
            local_size,
            groups,
            invocations: count.saturating_mul(local_size),
            atomics,
            sharers,
            cells_per_group,
            cells: if is_one { 1 } else { count.saturating_mul(cells_per_group) },
        }
    }

    /// The cell of an invocation.
    fn cell(&self, i: u64) -> u64 {
        i / self.local_size * self.cells_per_group + i % self.local_size / self.sharers
    }
}

impl Experiment for Atomic {
    fn name(&self) -> &'static str {
        "sync/atomic"
    }

    fn variants(&self) -> &[&str] {
        &[USED, COMBINABLE]
    }

    fn quick_variants(&self) -> &[&str] {
        &[USED]
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
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
            Axis::new(
                "atomics",
                "operations per invocation, a multiple of 8",
                AxisKind::AtLeast(ATOMICS_PER_ITERATION),
                [atomics],
            )
            .of_monotone_work(),
        ]
    }

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let (is_used, is_shared) = (variant == USED, is_shared(point));
        let shape = Shape::new(point, setting.device);
        require_operation(point, is_used)?;
        require_features(point, setting.device)?;
        require_size(point, &shape)?;
        if !is_used && point.choice("contention") == "per_subgroup" {
            require_classes(&setting.device.subgroup, &[(SubgroupClass::Basic, "VK_SUBGROUP_FEATURE_BASIC_BIT")])?;
        }
        let resources = resources(point, &shape, is_used, setting.seed);
        let kernel = Kernel {
            required_subgroup_size: size_to_require(setting.device, shape.local_size),
            bindings: bindings(&resources, is_used),
            ..kernel(point, &shape, is_used)
        };
        // The notes of what is used, and what counts the passes.
        let outputs: Vec<usize> = (0..resources.len()).filter(|i| resources[*i].contents == Contents::Undefined).collect();
        let first = first_word(point.choice("op"), point.choice("type"));
        let push: &[u32] = match (is_used, is_shared) {
            (true, _) => &[first, u32_of(shape.cells_per_group)?],
            (false, true) => &[first],
            (false, false) => &[],
        };
        let fill = |resource: &usize| {
            let word = if is_shared {
                POISON
            } else if *resource == 0 {
                first
            } else {
                0
            };
            Step::Fill { resource: *resource, word }
        };
        let reset = outputs.iter().map(fill).collect();
        let items = shape.invocations.checked_mul(shape.atomics);
        let case = Case::single_dispatch(self.name(), point, kernel, shape.groups, push, resources, Vec::new());
        Ok(Case {
            variant: variant.to_owned(),
            reset,
            check: Check::Twin(outputs),
            repeat: if is_shared { Repeat::Overwrites } else { Repeat::Resumes },
            work: Work { ops: items, items, ..Work::default() },
            headline: Headline::COST,
            iterations: shape.atomics / ATOMICS_PER_ITERATION + 2 * shape.cells_per_group.div_ceil(shape.local_size),
            ..case
        })
    }

    /// What a device leaves behind whose invocations come one after the other.
    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let run = Run::of(case);
        let (cells, notes) = run.one_after_the_other();
        let expected = |output: &usize| {
            let resource = &case.resources[*output];
            match resource.name.as_ref() {
                "cells" => expected_cells(run.twin, cells.clone()),
                "notes" => {
                    let notes = notes.clone();
                    Expected::words(resource.bytes() / 4, move |i| notes[index(i)])
                }
                _ => Expected::words(1, |_| 1),
            }
        };
        case.check.outputs().iter().map(expected).collect()
    }

    fn check(&self, case: &Case, outputs: &[Vec<u8>]) -> Verdict {
        let of = |name: &str| {
            let outputs = case.check.outputs().iter().zip(outputs);
            outputs.into_iter().find(|(output, _)| case.resources[**output].name == name).map(|(_, bytes)| bytes)
        };
        let passes = match of("passes").map(|bytes| ledger::passes("passes", bytes)).transpose() {
            Ok(count) => count.unwrap_or(1),
            Err(verdict) => return verdict,
        };
        let run = Run::of(case);
        let cells = of("cells").map(Vec::as_slice).unwrap_or_default();
        let verdict = run.check_cells(cells, passes);
        match of("notes") {
            Some(notes) if verdict == Verdict::Right => run.check_notes(notes, cells),
            _ => verdict,
        }
    }
}

// ---- what is needed -------------------------------------------------------------------------------------------------------

fn is_shared(point: &Point) -> bool {
    point.choice("memory") == "shared"
}

fn require_operation(point: &Point, is_used: bool) -> Result<(), Skip> {
    let (op, ty) = (point.choice("op"), point.choice("type"));
    if ty.starts_with('f') && op != "add" {
        Err(Skip::new(format!("`{op}` of floats is not what VK_EXT_shader_atomic_float offers: the case needs op=add")))
    } else if is_shared(point) && point.choice("contention") == "one" {
        Err(Skip::new("each workgroup has its own memory: the case needs contention=per_workgroup, which is one cell there"))
    } else if !is_used && op.ends_with("exchange") {
        Err(Skip::new(format!("`{op}` is for its result: the case needs the variant {USED}")))
    } else {
        Ok(())
    }
}

fn require_features(point: &Point, device: &DeviceInfo) -> Result<(), Skip> {
    let [wide, double] = [(Feature::Int64, "shaderInt64"), (Feature::Float64, "shaderFloat64")];
    let needed = match (point.choice("type"), is_shared(point)) {
        ("u64" | "i64", false) => vec![wide, (Feature::BufferInt64Atomics, "shaderBufferInt64Atomics")],
        ("u64" | "i64", true) => vec![wide, (Feature::SharedInt64Atomics, "shaderSharedInt64Atomics")],
        ("f32", false) => vec![(Feature::BufferFloat32AtomicAdd, "shaderBufferFloat32AtomicAdd")],
        ("f32", true) => vec![(Feature::SharedFloat32AtomicAdd, "shaderSharedFloat32AtomicAdd")],
        ("f64", false) => vec![double, (Feature::BufferFloat64AtomicAdd, "shaderBufferFloat64AtomicAdd")],
        ("f64", true) => vec![double, (Feature::SharedFloat64AtomicAdd, "shaderSharedFloat64AtomicAdd")],
        _ => Vec::new(),
    };
    match needed.iter().find(|(feature, _)| !device.has(*feature)) {
        Some((_, name)) => Err(Skip::new(format!("{name} is missing: the case needs it"))),
        None => Ok(()),
    }
}

fn require_size(point: &Point, shape: &Shape) -> Result<(), Skip> {
    let Shape { atomics, invocations, .. } = *shape;
    if atomics % ATOMICS_PER_ITERATION != 0 || atomics > MOST_ATOMICS {
        return Err(Skip::new(format!(
            "atomics is {atomics}, the case needs a multiple of {ATOMICS_PER_ITERATION} up to {MOST_ATOMICS}"
        )));
    }
    let together = if point.choice("contention") == "one" { invocations } else { shape.sharers };
    let ty = point.choice("type");
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

fn u32_of(n: u64) -> Result<u32, Skip> {
    u32::try_from(n).map_err(|_| Skip::new(format!("the kernel counts in 32 bits, the case needs {n}")))
}

// ---- the case -------------------------------------------------------------------------------------------------------------

fn kernel(point: &Point, shape: &Shape, is_used: bool) -> Kernel {
    let kernel = Kernel::new("sync/atomic.comp", [point.u32("local_size_x"), 1, 1], 0)
        .define(&point.choice("type").to_uppercase(), "")
        .define(&point.choice("op").to_uppercase(), "")
        .constant("ATOMICS", Scalar::U32(point.u32("atomics")));
    let contention = point.choice("contention");
    let kernel = if is_used { kernel } else { kernel.define("COMBINABLE", "").define(&contention.to_uppercase(), "") };
    let kernel = if is_used || contention == "per_subgroup" {
        kernel.constant("SHARERS", Scalar::U32(u32::try_from(shape.sharers).unwrap_or(u32::MAX)))
    } else {
        kernel
    };
    if is_shared(point) {
        let cells = u32::try_from(shape.cells_per_group).unwrap_or(u32::MAX);
        kernel.define("SHARED", "").constant("CELLS", Scalar::U32(cells))
    } else {
        kernel
    }
}

/// The resources of a case, in the order of their bindings.
fn resources(point: &Point, shape: &Shape, is_used: bool, seed: u64) -> Vec<Resource> {
    let Shape { invocations, cells, .. } = *shape;
    let words = Twin { op: point.choice("op"), ty: point.choice("type"), factor: 1 }.words();
    let order = Sequence::Shuffled(Shuffled { seed, n: invocations, block: 1 });
    let mut resources = vec![
        Resource::words("cells", cells.saturating_mul(words), Contents::Undefined),
        Resource::words("terms", invocations, Contents::Sequence(Sequence::Words { seed })),
    ];
    if is_used {
        resources.push(Resource::words("numbers", invocations, Contents::Sequence(order)));
        resources.push(Resource::words("notes", invocations, Contents::Undefined));
    }
    if !is_shared(point) {
        resources.push(Resource::words("passes", 1, Contents::Undefined));
    }
    resources
}

fn bindings(resources: &[Resource], is_used: bool) -> Vec<Binding> {
    let binding = |resource: usize| if !is_used && resource == 2 { 2 } else { resource };
    (0..resources.len()).map(|resource| Binding::new(0, place_of(binding(resource)), resource)).collect()
}

fn place_of(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

// ---- the twin -------------------------------------------------------------------------------------------------------------

/// A pass of a case.
struct Run<'a> {
    twin: Twin<'a>,
    shape: Shape,
    terms: Sequence,
}

impl<'a> Run<'a> {
    fn of(case: &'a Case) -> Self {
        let terms = case.resources[1].sequence();
        let twin = Twin { op: case.point.choice("op"), ty: case.point.choice("type"), factor: terms.word(0) | 1 };
        let sharers = case.kernels[0].constants.iter().find(|(name, _)| name == "SHARERS");
        let lanes = match sharers {
            Some((_, Scalar::U32(sharers))) => u64::from(*sharers),
            // Contention says it all.
            _ => 1,
        };
        let shape = Shape::of_groups(&case.point, case.groups(), lanes);
        Self { twin, shape, terms }
    }

    /// The cells and the notes after the first pass, if invocations come one after the other.
    fn one_after_the_other(&self) -> (Vec<u64>, Vec<u32>) {
        let mut cells = vec![self.twin.first(); index(self.shape.cells)];
        let note = |i: u64| {
            let (cell, term) = (self.shape.cell(i), self.terms.word(i));
            let value = &mut cells[index(cell)];
            (0..self.shape.atomics).fold(0_u32, |note, k| {
                #[expect(clippy::cast_possible_truncation, reason = "atomics are few")]
                let k = k as u32;
                let old = *value;
                *value = self.twin.after(old, term, cell, k);
                note.wrapping_add(ledger::rise(self.twin.word(old), self.twin.word(*value)))
            })
        };
        let notes = (0..self.shape.invocations).map(note).collect();
        (cells, notes)
    }

    /// What cells hold that don't depend on the order.
    fn check_cells(&self, got: &[u8], passes: u32) -> Verdict {
        let (once, _) = self.one_after_the_other();
        let has_others = self.shape.sharers > 1 || self.shape.cells < self.shape.invocations;
        let after = |once: &u64| self.twin.after_passes(*once, passes, has_others);
        match once.iter().map(after).collect::<Option<Vec<u64>>>() {
            Some(cells) => compare("cells", got, &expected_cells(self.twin, cells)),
            None if got.len() as u64 == self.shape.cells * self.twin.words() * 4 => Verdict::Right,
            None => compare("cells", got, &expected_cells(self.twin, once)),
        }
    }

    /// Whether what invocations noted is what became of the cells.
    fn check_notes(&self, notes: &[u8], cells: &[u8]) -> Verdict {
        let notes = ledger::words(notes);
        if notes.len() as u64 != self.shape.invocations {
            return compare("notes", &[], &Expected::words(self.shape.invocations, |_| 0));
        }
        let words = ledger::words(cells);
        let value = |cell: usize| match words.chunks_exact(index(self.twin.words())).nth(cell) {
            Some([low, high]) => u64::from(*low) | (u64::from(*high) << 32),
            Some([word]) => (*word).into(),
            _ => 0,
        };
        let first = self.twin.word(self.twin.first());
        let place_of = |i: usize| index(self.shape.cell(i as u64));
        ledger::check("notes", &notes, place_of, |cell| (first, self.twin.word(value(cell))))
    }
}

fn expected_cells(twin: Twin, cells: Vec<u64>) -> Expected<'static> {
    let words = twin.words();
    let count = cells.len() as u64 * words;
    #[expect(clippy::cast_possible_truncation, reason = "half of a value is meant")]
    let word = move |i: u64| (cells[index(i / words)] >> (32 * (i % words))) as u32;
    Expected::words(count, word)
}

#[expect(clippy::cast_possible_truncation, reason = "a list in memory has fewer than usize can count")]
fn index(i: u64) -> usize {
    i as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> DeviceInfo {
        let mut device = DeviceInfo::mock();
        device.subgroup.classes = [SubgroupClass::Basic].into();
        device.features.extend([Feature::Int64, Feature::BufferInt64Atomics, Feature::SharedFloat32AtomicAdd]);
        device
    }

    fn case(variant: &str, words: [&'static str; 4]) -> Result<Case, Skip> {
        let device = device();
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        let axes = Atomic.axes(&setting).into_iter().map(|axis| (axis.name, axis.defaults[0].clone()));
        let point = [("local_size_x", 48_u64), ("groups", 3), ("atomics", 16)]
            .iter()
            .fold(Point::new(axes), |point, (name, value)| point.with(name, &(*value).into()));
        let point = ["op", "type", "memory", "contention"]
            .iter()
            .zip(words)
            .fold(point, |point, (name, word)| point.with(name, &word.into()));
        Atomic.case(variant, &point, &setting)
    }

    #[test]
    fn any_bit_of_what_is_left_counts() {
        for (op, ty, memory, contention) in [
            ("add", "u32", "global", "one"),
            ("compare_exchange", "u64", "global", "per_subgroup"),
            ("exchange", "u32", "shared", "per_workgroup"),
            ("add", "f32", "shared", "distinct"),
        ] {
            let case = case(USED, [op, ty, memory, contention]).unwrap();
            let outputs: Vec<Vec<u8>> = Atomic.expected(&case).iter().map(Expected::bytes).collect();
            assert_eq!(Atomic.check(&case, &outputs), Verdict::Right, "{op} {ty} {memory} {contention}");
            // How many passes there were shows in sums alone, and there in the lower bits.
            let name = |output: usize| case.resources[case.check.outputs()[output]].name.as_ref();
            let ends = |output: usize| match (name(output), op) {
                ("passes", "add") => vec![0],
                ("passes", _) => Vec::new(),
                _ => vec![0, outputs[output].len() - 1],
            };
            for (output, byte) in (0..outputs.len()).flat_map(|o| ends(o).into_iter().map(move |byte| (o, byte))) {
                let mut wrong = outputs.clone();
                wrong[output][byte] ^= 0x10;
                assert_ne!(
                    Atomic.check(&case, &wrong),
                    Verdict::Right,
                    "{op} {ty} {memory} {contention}: output {output} byte {byte}"
                );
            }
            let shorter = outputs.iter().map(|bytes| bytes[..bytes.len() - 4].to_vec()).collect::<Vec<_>>();
            assert_ne!(Atomic.check(&case, &shorter), Verdict::Right);
        }
    }

    #[test]
    fn who_shares_a_cell_follows_from_the_contention() {
        let cells = |contention| {
            let case = case(USED, ["add", "u32", "global", contention]).unwrap();
            let shape = Run::of(&case).shape;
            (shape.cells, [0, 31, 32, 48, 143].map(|i| shape.cell(i)))
        };
        assert_eq!(cells("distinct"), (144, [0, 31, 32, 48, 143]));
        assert_eq!(cells("per_subgroup"), (6, [0, 0, 1, 2, 5]));
        assert_eq!(cells("per_workgroup"), (3, [0, 0, 0, 1, 2]));
        assert_eq!(cells("one"), (1, [0; 5]));
    }

    #[test]
    fn what_a_device_or_an_operation_lacks_is_named() {
        let reason = |variant, words| case(variant, words).unwrap_err().reason;
        assert!(reason(USED, ["add", "u64", "shared", "distinct"]).starts_with("shaderSharedInt64Atomics"));
        assert!(reason(USED, ["add", "f32", "global", "distinct"]).starts_with("shaderBufferFloat32AtomicAdd"));
        assert!(reason(USED, ["min", "f32", "shared", "distinct"]).contains("op=add"));
        assert!(reason(USED, ["add", "u32", "shared", "one"]).contains("contention=per_workgroup"));
        assert!(reason(COMBINABLE, ["exchange", "u32", "global", "one"]).contains("variant used"));
    }
}
