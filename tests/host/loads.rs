//! What a case counts is what its kernels move: an optimizer that knows all constants, one that is not ours, leaves every load and
//! store that is counted, no more and no fewer, and hoists none out of a loop.
//!
//! The law: what an invocation's loads and stores move, in loops times their iterations, times all invocations, is what the case
//! states. How it shows in the code, each experiment says itself ([`Experiment::traffic`]). It is checked where every lane has
//! work to do: bounds then exclude nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

use std::collections::{BTreeMap, HashMap, HashSet};

use lanescope::experiments::{CATALOGUE, Config, Experiment, Setting};
use lanescope::model::{AxisKind, Binding, Case, Kernel, Moved, Point, Preset, Scalar, SpirvTarget};
use lanescope::shader::{Compiler, Library, Specialized, specialize};
use rspirv::dr::{Block, Instruction, Module, Operand};
use rspirv::spirv::{Op, StorageClass, Word};

use crate::support::blocks::{depths, id, label};
use crate::support::form::sample;
use crate::support::{device_classes, optimized};

/// Families whose experiments are about loads: each of their cases says how they show, whatever it counts.
const OF_LOADS: &[&str] = &["memory/", "load/", "cache/", "transfer/"];

// ---- the law --------------------------------------------------------------------------------------------------------------

#[test]
fn kernels_do_what_their_cases_count() {
    let mut compiler = Compiler::new(Library::embedded()).unwrap();
    let mut known: HashMap<String, Moves> = HashMap::new();
    let mut checked: BTreeMap<String, u32> = BTreeMap::new();
    for device in [&device_classes()[0], &device_classes()[2]] {
        for experiment in CATALOGUE {
            for case in sample(cases(experiment, device), 1, 3) {
                let is_of_loads = OF_LOADS.iter().any(|family| case.experiment.starts_with(family));
                let name = format!("{} {} {}", case.experiment, case.variant, case.point);
                if case.work.bytes.is_some() || is_of_loads {
                    // Each of them, in one case at least.
                    checked.entry(case.experiment.clone()).or_default();
                }
                let Ok(shown) = experiment.traffic(&case) else { continue };
                let kernels = if is_of_loads { case.kernels.len() } else { case.work.bytes.map_or(0, |_| 1) };
                assert!(shown.len() >= kernels, "{name}: say of each kernel how its loads show");
                for traffic in shown {
                    *checked.entry(case.experiment.clone()).or_default() += 1;
                    let kernel = &case.kernels[traffic.kernel];
                    let module = compiler.compile(&kernel.source, &kernel.macros, kernel.target).unwrap();
                    let specialized = specialize(&module, kernel).unwrap();
                    let key = format!("{} {:?} {:?}", module.spirv_hash, specialized.data, specialized.entries);
                    let moves = known.entry(key).or_insert_with(|| Moves::of(&specialized));
                    let own = moves.with(&traffic.loops).weighted(traffic.counted);
                    assert_eq!((own - traffic.uncounted) * traffic.invocations, traffic.total, "{name}: {moves:?}");
                }
            }
        }
    }
    let unchecked: Vec<_> = checked.iter().filter(|(_, count)| **count == 0).collect();
    assert!(unchecked.is_empty(), "no case of {unchecked:?} shows in its kernel");
    assert!(checked.values().sum::<u32>() > 100, "{checked:?}");
}

/// Each variant at every combination of what makes another kernel (words, and the few numbers that an axis has), and of what a
/// quick run takes of all else.
fn cases(experiment: &Experiment, device: &lanescope::model::DeviceInfo) -> Vec<Case> {
    let [quick, thorough] = [Preset::Quick, Preset::Thorough].map(|preset| Setting { queue: None, device, preset, seed: 1 });
    let mut points: Vec<Vec<_>> = vec![Vec::new()];
    for (few, all) in experiment.axes(&quick).into_iter().zip(experiment.axes(&thorough)) {
        let values = if matches!(few.kind, AxisKind::AtLeast(_)) { few.defaults } else { all.defaults };
        let with = |point: &Vec<_>, value: &_| [&point[..], &[(few.name.clone(), Clone::clone(value))]].concat();
        points = points.iter().flat_map(|point| values.iter().map(move |value| with(point, value))).collect();
    }
    let points: Vec<Point> = points.into_iter().map(Point::new).collect();
    let of = |variant: &&str| {
        let case = |point| experiment.case(&Config::new(variant, point, &quick)).ok();
        points.iter().filter_map(case).collect::<Vec<_>>()
    };
    experiment.variants().iter().flat_map(of).collect()
}

// ---- what an optimized kernel moves ---------------------------------------------------------------------------------------

/// What an invocation moves by loop depth, each loop's iterations counted once.
#[derive(Debug)]
struct Moves(Vec<Moved>);

impl Moves {
    /// What is left of a kernel once its constants are known, functions are inlined, hinted loops are unrolled, and redundant,
    /// dead and invariant loads are gone.
    fn of(specialized: &Specialized) -> Self {
        let words = optimized(specialized, &["--fold-spec-const-op-composite", "-O", "--loop-invariant-code-motion", "-O"]);
        let module = rspirv::dr::load_words(words).unwrap();
        let [main] = &module.functions[..] else { panic!("a function was not inlined") };
        let types = Types(&module);
        let depths = depths(main);
        let mut moves = Vec::new();
        for block in &main.blocks {
            let depth = depths[&label(block)];
            moves.resize(moves.len().max(depth + 1), Moved::default());
            block.instructions.iter().for_each(|instruction| types.count(instruction, &mut moves[depth]));
            moves[depth].dependent += types.longest_chain(block);
        }
        Self(moves)
    }

    fn with(&self, iterations: &[u64]) -> Moved {
        let mut times = 1;
        let mut total = Moved::default();
        for (depth, moved) in self.0.iter().enumerate() {
            if depth > 0 && *moved != Moved::default() {
                assert!(depth <= iterations.len(), "a loop is left whose iterations are not told: {self:?}");
            }
            times *= depth.checked_sub(1).and_then(|outer| iterations.get(outer)).copied().unwrap_or(1);
            total.read += times * moved.read;
            total.written += times * moved.written;
            total.shared_read += times * moved.shared_read;
            total.shared_written += times * moved.shared_written;
            total.indexed += times * moved.indexed;
            total.dependent += times * moved.dependent;
            total.texels += times * moved.texels;
        }
        total
    }
}

/// A module's types.
struct Types<'a>(&'a Module);

impl Types<'_> {
    fn instruction(&self, id: Word) -> &Instruction {
        self.find(id).unwrap_or_else(|| panic!("nothing has the id {id}"))
    }

    /// Labels are none: they have no type and no operands.
    fn find(&self, id: Word) -> Option<&Instruction> {
        self.0.all_inst_iter().find(|instruction| instruction.result_id == Some(id))
    }

    /// The storage class and the type that a pointer points to.
    fn pointee(&self, pointer: Word) -> (StorageClass, Word) {
        let ty = self.instruction(self.instruction(pointer).result_type.unwrap());
        match &ty.operands[..] {
            [Operand::StorageClass(class), Operand::IdRef(pointee)] => (*class, *pointee),
            other => panic!("no pointer: {other:?}"),
        }
    }

    /// Whether a pointer is one into something, by an index that is no constant.
    fn varies(&self, pointer: Word) -> bool {
        let chain = self.instruction(pointer);
        let is_constant = |index: &Operand| self.instruction(id(index)).class.opcode == Op::Constant;
        chain.class.opcode == Op::AccessChain && !chain.operands[1..].iter().all(is_constant)
    }

    fn bytes(&self, ty: Word) -> u64 {
        let ty = self.instruction(ty);
        match (ty.class.opcode, &ty.operands[..]) {
            (Op::TypeInt | Op::TypeFloat, [Operand::LiteralBit32(bits), ..]) => u64::from(bits / 8),
            (Op::TypeVector, [Operand::IdRef(part), Operand::LiteralBit32(count)]) => self.bytes(*part) * u64::from(*count),
            (Op::TypeStruct, members) => members.iter().map(|member| self.bytes(id(member))).sum(),
            other => panic!("no type of known size: {other:?}"),
        }
    }

    fn count(&self, instruction: &Instruction, moved: &mut Moved) {
        let opcode = instruction.class.opcode;
        if matches!(opcode, Op::ImageFetch | Op::ImageRead | Op::ImageSampleExplicitLod) {
            moved.texels += 1;
        }
        if !matches!(opcode, Op::Load | Op::Store) {
            return;
        }
        let pointer = id(&instruction.operands[0]);
        let (class, pointee) = self.pointee(pointer);
        match (opcode, class) {
            (Op::Load, StorageClass::Uniform | StorageClass::PushConstant | StorageClass::Private | StorageClass::Function)
                if self.varies(pointer) =>
            {
                moved.indexed += self.bytes(pointee);
            }
            (Op::Load, StorageClass::StorageBuffer | StorageClass::PhysicalStorageBuffer) => moved.read += self.bytes(pointee),
            (Op::Store, StorageClass::StorageBuffer | StorageClass::PhysicalStorageBuffer) => {
                moved.written += self.bytes(pointee)
            }
            (Op::Load, StorageClass::Workgroup) => moved.shared_read += self.bytes(pointee),
            (Op::Store, StorageClass::Workgroup) => moved.shared_written += self.bytes(pointee),
            _ => {}
        }
    }
}

impl Types<'_> {
    /// The most loads of a block that follow each other, each from an address that the value of the one before is part of. The
    /// first one follows a load elsewhere, or that of the iteration before.
    fn longest_chain(&self, block: &Block) -> u64 {
        let mut lengths: HashMap<Word, u64> = HashMap::new();
        for load in block.instructions.iter().filter(|instruction| self.is_load_from_buffer(instruction)) {
            let before = self.loads_behind(id(&load.operands[0]));
            if !before.is_empty() {
                let longest = before.iter().filter_map(|load| lengths.get(load)).max();
                lengths.insert(load.result_id.unwrap(), 1 + longest.copied().unwrap_or(0));
            }
        }
        lengths.into_values().max().unwrap_or(0)
    }

    fn is_load_from_buffer(&self, instruction: &Instruction) -> bool {
        let class = || self.pointee(id(&instruction.operands[0])).0;
        instruction.class.opcode == Op::Load
            && matches!(class(), StorageClass::StorageBuffer | StorageClass::PhysicalStorageBuffer)
    }

    /// The loads from buffers whose values go into this one, through whatever is computed between.
    fn loads_behind(&self, value: Word) -> HashSet<Word> {
        let (mut seen, mut loads, mut ahead) = (HashSet::new(), HashSet::new(), vec![value]);
        while let Some(at) = ahead.pop() {
            let Some(instruction) = self.find(at).filter(|_| seen.insert(at)) else { continue };
            if self.is_load_from_buffer(instruction) {
                loads.insert(at);
            } else {
                ahead.extend(instruction.operands.iter().filter_map(Operand::id_ref_any));
            }
        }
        loads
    }
}

// ---- the law can be broken --------------------------------------------------------------------------------------------------

const HEAD: &str = "#version 450
    #extension GL_EXT_control_flow_attributes : require
    layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
    layout(constant_id = 3) const uint N = 1;
    layout(set = 0, binding = 0) restrict writeonly buffer Sums { vec4 sums[]; };
    layout(set = 0, binding = 1) restrict readonly buffer Data { vec4 data[]; };
    shared float tile[64];
    void main() {
        uint i = gl_LocalInvocationID.x;
        vec4 sum = vec4(0);";

/// What is left of a loop body with N = 4.
fn moves(body: &str) -> Moves {
    let source = format!("{HEAD} {body} sums[i] = sum; }}");
    let mut compiler = Compiler::new(Library::embedded().with("law.comp", source)).unwrap();
    let module = compiler.compile("law.comp", &[], SpirvTarget::default()).unwrap();
    let bindings = [(0, 0), (1, 1)].map(|(binding, resource)| Binding::new(0, binding, resource)).into();
    let kernel = Kernel { bindings, ..Kernel::new("law.comp", [64, 1, 1]).constant("N", Scalar::U32(4)) };
    Moves::of(&specialize(&module, &kernel).unwrap())
}

#[test]
fn every_byte_that_an_invocation_moves_is_counted() {
    let unrolled = "[[unroll]] for (uint k = 0; k < N; ++k) { sum += data[i + k * 64]; }";
    let looped = "[[dont_unroll]] for (uint k = 0; k < N; ++k) { sum += data[i + k * 64]; tile[i] = sum.x; barrier();
        for (uint j = 0; j < i; ++j) { sum += tile[(i + j + k) % 64]; } }";
    assert_eq!(moves(unrolled).with(&[]), Moved { read: 4 * 16, written: 16, ..Moved::default() });
    assert_eq!(
        moves(looped).with(&[4, 10]),
        Moved { read: 4 * 16, written: 16, shared_read: 4 * 10 * 4, shared_written: 4 * 4, ..Moved::default() }
    );
}

#[test]
fn what_an_optimizer_does_to_loads_is_seen() {
    for (what, body, read) in [
        ("merged", "[[unroll]] for (uint k = 0; k < N; ++k) { sum += data[i]; }", 16),
        ("dead", "[[unroll]] for (uint k = 0; k < N; ++k) { vec4 v = data[i + k * 64]; if (k == 0) sum += v; }", 16),
        ("narrowed", "[[unroll]] for (uint k = 0; k < N; ++k) { sum.x += data[i + k * 64].x; }", 4 * 4),
        ("hoisted", "[[dont_unroll]] for (uint k = 0; k < N; ++k) { sum = sum * 3 + data[i]; }", 16),
        ("ruled out", "if (N == 5) { sum += data[i]; }", 0),
    ] {
        assert_eq!(moves(body).with(&[4]).read, read, "{what}");
    }
}

#[test]
fn loads_that_wait_for_each_other_are_told_from_those_side_by_side() {
    for (what, body, dependent) in [
        ("a chain", "uint at = i; [[dont_unroll]] for (uint k = 0; k < N; ++k) { NEXT(at) NEXT(at) } sum.x = at;", 2 * 4),
        (
            "two",
            "uint at = i, b = 9; [[dont_unroll]] for (uint k = 0; k < N; ++k) { NEXT(at) NEXT(b) } sum.xy = vec2(at, b);",
            4,
        ),
        ("none", "uint at = i; [[dont_unroll]] for (uint k = 0; k < N; ++k) { sum += data[at]; at += 3; }", 0),
    ] {
        let next = |of: &str| format!("{of} = uint(data[{of} + 1].x);");
        let body = body.replace("NEXT(at)", &next("at")).replace("NEXT(b)", &next("b"));
        assert_eq!(moves(&body).with(&[4]).dependent, dependent, "{what}");
    }
}

#[test]
#[should_panic(expected = "iterations are not told")]
fn a_loop_that_nobody_tells_of_is_found() {
    moves("[[dont_unroll]] for (uint k = 0; k < N; ++k) { sum += data[i + k * 64]; }").with(&[]);
}
