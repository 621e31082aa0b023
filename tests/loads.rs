//! What a case counts is what its kernels move: an optimizer that knows all constants, one that is not ours, leaves every load and
//! store that is counted, no more and no fewer, and hoists none out of a loop.
//!
//! The law: the bytes that an invocation's loads and stores move, in loops times their turns, times all invocations, are the useful
//! bytes that the case states. It is checked where every lane has work to do: bounds then exclude nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

mod support;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lanescope::experiments::{CATALOGUE, Experiment, Setting};
use lanescope::model::{AxisKind, Case, Kernel, Point, Preset, Scalar, SpirvTarget};
use lanescope::shader::{Compiler, Library, Specialized, specialize};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Op, StorageClass, Word};
use support::blocks::{depths, id, label};
use support::{device_classes, optimized};

// ---- the table ------------------------------------------------------------------------------------------------------------

/// How the bytes of an experiment's cases are to be found in its kernels.
struct Rule {
    experiment: &'static str,
    /// What its useful bytes are made of.
    counted: fn(&Moved, &Case) -> u64,
    /// The turns of the loops that remain, outermost first; loops side by side have the same.
    turns: fn(&Case) -> Vec<u64>,
    /// Cases of which the law doesn't hold, and why.
    beside: fn(&Case) -> Option<&'static str>,
}

impl Rule {
    /// Useful bytes are those of all loads and stores of buffers, and no loop is left.
    const fn of(experiment: &'static str) -> Self {
        Self { experiment, counted: |moved, _| moved.read + moved.written, turns: |_| Vec::new(), beside: |_| None }
    }
}

const RULES: &[Rule] = &[
    Rule::of("calibration/evict"),
    Rule::of("workgroup/linear"),
    Rule::of("workgroup/tile2d"),
    Rule {
        beside: |case| case.point.word("op").ends_with("-point").then_some("neighbours that a stencil reads again count once"),
        ..Rule::of("memory/stream")
    },
    Rule::of("memory/stride"),
    Rule::of("memory/gather"),
    Rule::of("memory/scatter"),
    Rule::of("memory/layout"),
    Rule::of("memory/dtype"),
    Rule::of("memory/misaligned"),
    Rule::of("memory/row_column"),
    Rule {
        // What `shared` reads of buffers is the copy, which doesn't count.
        counted: |moved, _| if moved.shared_read > 0 { moved.shared_read + moved.written } else { moved.read + moved.written },
        turns: |case| {
            // Each turn passes over the tile of 2048 words in steps of 8 for each invocation, and so does the copy.
            let steps = 2048 / (8 * case.point.integer("local_size_x"));
            vec![case.point.integer("reuse"), steps]
        },
        ..Rule::of("memory/reuse")
    },
    Rule::of("memory/host_visible"),
    Rule {
        // Elements alone: what else a kernel reads and writes is little beside them.
        counted: |moved, case| {
            let element = case.work.bytes.unwrap() / case.work.items.unwrap();
            moved.read + moved.indexed + moved.texels * element
        },
        turns: |case| vec![case.point.integer("loads") / 16],
        ..Rule::of("load/path")
    },
    Rule {
        beside: |case| match (case.point.word("by"), case.point.word("direction")) {
            ("shader", "device_to_device") => None,
            ("shader", _) => Some("what crosses the bus counts once"),
            _ => Some("no kernel copies"),
        },
        ..Rule::of("transfer/copy")
    },
    Rule {
        // One sum per invocation is written, which doesn't count.
        counted: |moved, _| moved.read,
        turns: |case| vec![case.point.integer("reads") / 8],
        ..Rule::of("cache/bandwidth")
    },
    Rule {
        counted: |moved, _| moved.shared_read,
        turns: |case| vec![case.point.integer("iterations")],
        ..Rule::of("shared/bank_conflict")
    },
    // Where there is much arithmetic, elements are a loop.
    Rule { turns: |case| vec![case.point.integer("unroll")], ..Rule::of("peak/roofline") },
    Rule {
        turns: |case| {
            let [tile, x, y] = ["tile", "local_size_x", "local_size_y"].map(|axis| case.point.integer(axis));
            vec![(tile.div_ceil(x) * tile.div_ceil(y)).div_ceil(4)]
        },
        beside: |case| (case.variant == "shuffle").then_some("blocks are dealt to subgroups, of which some may have none"),
        ..Rule::of("algo/transpose")
    },
];

// ---- the law --------------------------------------------------------------------------------------------------------------

#[test]
fn kernels_move_the_bytes_that_their_cases_count() {
    let mut compiler = Compiler::new(Library::embedded()).unwrap();
    let mut known: HashMap<String, Moves> = HashMap::new();
    let mut checked: BTreeMap<&str, u32> = BTreeMap::new();
    for device in [&device_classes()[0], &device_classes()[2]] {
        for experiment in CATALOGUE {
            for case in cases(*experiment, device) {
                let Some(useful) = case.work.bytes else { continue };
                let rule = RULES.iter().find(|rule| rule.experiment == case.experiment);
                let rule = rule.unwrap_or_else(|| panic!("{} counts bytes: say how in RULES", case.experiment));
                *checked.entry(rule.experiment).or_default() += u32::from((rule.beside)(&case).is_none());
                if (rule.beside)(&case).is_some() {
                    continue;
                }
                let [kernel] = &case.kernels[..] else { panic!("{}: one kernel", case.experiment) };
                let module = compiler.compile(&kernel.source, &kernel.macros, kernel.target).unwrap();
                let specialized = specialize(&module, kernel).unwrap();
                let key = format!("{} {:?} {:?}", module.spirv_hash, specialized.data, specialized.entries);
                let moves = known.entry(key).or_insert_with(|| Moves::of(&specialized));
                let moved = (rule.counted)(&moves.with(&(rule.turns)(&case)), &case);
                let groups = case.groups().iter().fold(1, |product, &count| product * u64::from(count));
                let invocations = kernel.local_size.iter().fold(groups, |product, &size| product * u64::from(size));
                assert_eq!(moved * invocations, useful, "{} {} {}: {moves:?}", case.experiment, case.variant, case.point);
            }
        }
    }
    let named: BTreeSet<&str> = RULES.iter().map(|rule| rule.experiment).collect();
    assert_eq!(named.len(), RULES.len(), "an experiment is named twice");
    let unused: Vec<&&str> = named.iter().filter(|name| !checked.contains_key(**name)).collect();
    assert!(unused.is_empty(), "no case of {unused:?}");
    assert!(checked.values().sum::<u32>() > 100, "{checked:?}");
}

/// Each variant at every combination of what makes another kernel (words, and the few numbers that an axis has), and of what a
/// quick run takes of all else.
fn cases(experiment: &dyn Experiment, device: &lanescope::model::DeviceInfo) -> Vec<Case> {
    let [quick, thorough] = [Preset::Quick, Preset::Thorough].map(|preset| Setting { queue: None, device, preset, seed: 1 });
    let mut points: Vec<Vec<_>> = vec![Vec::new()];
    for (few, all) in experiment.axes(&quick).into_iter().zip(experiment.axes(&thorough)) {
        let values = if matches!(few.kind, AxisKind::AtLeast(_)) { few.defaults } else { all.defaults };
        let with = |point: &Vec<_>, value: &_| [&point[..], &[(few.name.clone(), Clone::clone(value))]].concat();
        points = points.iter().flat_map(|point| values.iter().map(move |value| with(point, value))).collect();
    }
    let points: Vec<Point> = points.into_iter().map(Point::new).collect();
    let of =
        |variant: &&str| points.iter().filter_map(|point| experiment.case(variant, point, &quick).ok()).collect::<Vec<_>>();
    experiment.variants().iter().flat_map(of).collect()
}

// ---- what an optimized kernel moves ---------------------------------------------------------------------------------------

/// Bytes that one invocation moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Moved {
    /// Read from buffers.
    read: u64,
    /// Written to buffers.
    written: u64,
    /// Read from workgroup memory.
    shared_read: u64,
    /// Read from uniform buffers, push constants and arrays of the kernel's own, by an index that varies.
    indexed: u64,
    /// Texels, of whatever size: those of buffers, of images, and what a sampler makes of several.
    texels: u64,
}

/// The same by loop depth, each loop's turns counted once.
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
        }
        Self(moves)
    }

    fn with(&self, turns: &[u64]) -> Moved {
        let mut times = 1;
        let mut total = Moved::default();
        for (depth, moved) in self.0.iter().enumerate() {
            if depth > 0 && *moved != Moved::default() {
                assert!(depth <= turns.len(), "a loop is left whose turns are not told: {self:?}");
            }
            times *= depth.checked_sub(1).and_then(|outer| turns.get(outer)).copied().unwrap_or(1);
            total.read += times * moved.read;
            total.written += times * moved.written;
            total.shared_read += times * moved.shared_read;
            total.indexed += times * moved.indexed;
            total.texels += times * moved.texels;
        }
        total
    }
}

/// A module's types.
struct Types<'a>(&'a Module);

impl Types<'_> {
    fn instruction(&self, id: Word) -> &Instruction {
        let mut all = self.0.all_inst_iter();
        all.find(|instruction| instruction.result_id == Some(id)).unwrap_or_else(|| panic!("nothing has the id {id}"))
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
            (Op::Load, StorageClass::StorageBuffer) => moved.read += self.bytes(pointee),
            (Op::Store, StorageClass::StorageBuffer) => moved.written += self.bytes(pointee),
            (Op::Load, StorageClass::Workgroup) => moved.shared_read += self.bytes(pointee),
            _ => {}
        }
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
    let kernel = Kernel::new("law.comp", [64, 1, 1], 2).constant("N", Scalar::U32(4));
    Moves::of(&specialize(&module, &kernel).unwrap())
}

#[test]
fn every_byte_that_an_invocation_moves_is_counted() {
    let unrolled = "[[unroll]] for (uint k = 0; k < N; ++k) { sum += data[i + k * 64]; }";
    let looped = "[[dont_unroll]] for (uint k = 0; k < N; ++k) { sum += data[i + k * 64]; tile[i] = sum.x; barrier();
        for (uint j = 0; j < i; ++j) { sum += tile[(i + j + k) % 64]; } }";
    assert_eq!(moves(unrolled).with(&[]), Moved { read: 4 * 16, written: 16, ..Moved::default() });
    assert_eq!(moves(looped).with(&[4, 10]), Moved { read: 4 * 16, written: 16, shared_read: 4 * 10 * 4, ..Moved::default() });
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
#[should_panic(expected = "turns are not told")]
fn a_loop_that_nobody_tells_of_is_found() {
    moves("[[dont_unroll]] for (uint k = 0; k < N; ++k) { sum += data[i + k * 64]; }").with(&[]);
}
