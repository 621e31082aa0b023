//! What a case counts is what its kernel computes: an optimizer that is not ours leaves every operation that is counted, folds none
//! and takes none out of the loop, and the loop holds next to nothing else.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lanescope::model::{Case, DeviceInfo, Feature, Kernel, Preset, Scalar};
use lanescope::plan::{Plan, Request};
use lanescope::shader::{Compiler, Library, Specialized, specialize};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{GlslStd450Op, Op, Word};

use crate::support::blocks::{depths, label};
use crate::support::form::{Form, form, sample};
use crate::support::{device_classes, only, optimized, setting};

/// The experiments that compute.
const EXPERIMENTS: &[&str] = &["peak/arith", "peak/latency", "peak/dot", "peak/roofline"];

// ---- what is counted --------------------------------------------------------------------------------------------------------

/// What one component of an instruction counts in a case; `None` where it isn't one of those that are.
fn weight(case: &Case, name: &str) -> Option<u64> {
    let is_real = case.variant.contains('f');
    let counted: &[(&str, u64)] = match case.point.get("op").map_or("", |_| case.point.choice("op")) {
        "" => &[("Fma", 2)],
        "fma" if is_real => &[("Fma", 2)],
        "fma" => &[("IMul", 1), ("IAdd", 1)],
        "add" if is_real => &[("FAdd", 1), ("FSub", 1)],
        "add" => &[("IAdd", 1)],
        "mul" => &[("FMul", 1), ("IMul", 1)],
        "div" => &[("FDiv", 1), ("SDiv", 1)],
        "rem" => &[("FMod", 1), ("SMod", 1)],
        "rcp" => &[("FDiv", 1)],
        "sqrt" => &[("Sqrt", 1)],
        "rsqrt" => &[("InverseSqrt", 1)],
        "exp2" => &[("Exp2", 1)],
        "log2" => &[("Log2", 1)],
        "sin" => &[("Sin", 1)],
        "shift" => &[("ShiftRightArithmetic", 1)],
        "bit_count" => &[("BitCount", 1)],
        "dot" => &[("SDot", 8), ("UDot", 8), ("SUDot", 8)],
        "dot_acc_sat" => &[("SDotAccSat", 8), ("UDotAccSat", 8), ("SUDotAccSat", 8)],
        other => panic!("what does {other} count?"),
    };
    counted.iter().find(|(counted, _)| *counted == name).map(|(_, weight)| *weight)
}

/// Instructions that a counted operation needs beside itself: what is added to a dot product, to the argument of a function.
fn helpers(case: &Case) -> &'static [&'static str] {
    match case.point.get("op").map(|_| case.point.choice("op")) {
        Some("fma" | "add" | "mul" | "shift" | "dot_acc_sat") | None => &[],
        Some("bit_count") => &["BitwiseXor"],
        Some(_) => &["FAdd", "IAdd"],
    }
}

/// Operations of one invocation, as its case counts them.
fn stated(case: &Case) -> u64 {
    let groups = case.groups().iter().fold(1, |product, &count| product * u64::from(count));
    let invocations = only(&case.kernels).local_size.iter().fold(groups, |product, &size| product * u64::from(size));
    match (case.work.flops.or(case.work.ops), case.work.items) {
        (Some(operations), _) => operations / invocations,
        // Of a latency the operations are the items, and a multiply-add is one of them.
        (None, items) => items.unwrap() * if case.point.choice("op") == "fma" { 2 } else { 1 },
    }
}

// ---- what is computed -------------------------------------------------------------------------------------------------------

/// What stands in one loop, or outside of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Body {
    /// Instructions by their names and components, but for those of control flow and phis.
    instructions: BTreeMap<(String, u64), u64>,
}

impl Body {
    fn counted(&self, case: &Case) -> u64 {
        let of = |((name, components), count): (&(String, u64), &u64)| weight(case, name).map_or(0, |w| w * components * count);
        self.instructions.iter().map(of).sum()
    }

    fn number(&self, is_meant: impl Fn(&str) -> bool) -> u64 {
        self.instructions.iter().filter(|((name, _), _)| is_meant(name)).map(|(_, count)| count).sum()
    }
}

/// What is left of a kernel once its constants are known, hinted loops are unrolled, and all that is redundant, dead or invariant is
/// gone; by loop depth.
fn bodies(specialized: &Specialized) -> Vec<Body> {
    let words = optimized(specialized, &["--fold-spec-const-op-composite", "-O", "--loop-invariant-code-motion", "-O"]);
    let module = rspirv::dr::load_words(words).unwrap();
    let [main] = &module.functions[..] else { panic!("a function was not inlined") };
    let depths = depths(main);
    let mut bodies = Vec::new();
    for block in &main.blocks {
        let depth = depths[&label(block)];
        bodies.resize_with(bodies.len().max(depth + 1), Body::default);
        for instruction in &block.instructions {
            if let Some(name) = name(instruction) {
                *bodies[depth].instructions.entry((name, components(&module, instruction))).or_default() += 1;
            }
        }
    }
    bodies
}

fn name(instruction: &Instruction) -> Option<String> {
    match (instruction.class.opcode, &instruction.operands[..]) {
        (
            Op::Phi | Op::LoopMerge | Op::SelectionMerge | Op::Branch | Op::BranchConditional | Op::Return | Op::Unreachable,
            _,
        ) => None,
        (Op::ExtInst, [_, Operand::LiteralExtInstInteger(number), ..]) => {
            Some(format!("{:?}", GlslStd450Op::from_u32(*number).unwrap()))
        }
        (opcode, _) => Some(format!("{opcode:?}")),
    }
}

/// Components of a result; a scalar is one.
fn components(module: &Module, instruction: &Instruction) -> u64 {
    let is = |ty: Word, other: &Instruction| other.result_id == Some(ty) && other.class.opcode == Op::TypeVector;
    let vector = instruction.result_type.and_then(|ty| module.types_global_values.iter().find(|other| is(ty, other)));
    match vector.map(|vector| &vector.operands[..]) {
        Some([_, Operand::LiteralBit32(count)]) => u64::from(*count),
        _ => 1,
    }
}

// ---- the law ----------------------------------------------------------------------------------------------------------------

fn plan<'a>(device: &'a DeviceInfo, preset: Preset, experiment: &str, axes: &[&str]) -> Plan<'a> {
    let axes = axes.iter().map(ToString::to_string).collect();
    let request = Request { filters: vec![format!("{experiment}:*")], axes, ..Request::default() };
    Plan::new(&request, setting(device, preset)).unwrap()
}

#[test]
fn kernels_compute_what_their_cases_count() {
    let mut compiler = Compiler::new(Library::embedded()).unwrap();
    let mut known: HashMap<String, Vec<Body>> = HashMap::new();
    let mut checked: BTreeMap<String, u32> = BTreeMap::new();
    for device in [&device_classes()[0], &device_classes()[2]] {
        for experiment in EXPERIMENTS {
            let plan = plan(device, Preset::Default, experiment, &[]);
            for case in sample(plan.iter().filter_map(|planned| planned.case.ok()), 1, 3) {
                let (kernel, blocks) = alone(&case, only(&case.kernels));
                let module = compiler.compile(&kernel.source, &kernel.macros, kernel.target).unwrap();
                let specialized = specialize(&module, &kernel).unwrap();
                let key = format!("{} {:?} {:?}", module.spirv_hash, specialized.data, specialized.entries);
                let bodies = known.entry(key).or_insert_with(|| bodies(&specialized));
                check(&case, bodies, blocks, !device.is_cpu());
                *checked.entry(format!("{experiment} {}", case.variant)).or_default() += 1;
            }
        }
    }
    // All types and signs but bfloat16, of arithmetic and of latency, three of dot products, and the roofline.
    assert!(form() == Form::Quick || checked.len() == 7 + 7 + 3 + 1, "{checked:?}");
}

/// The kernel as the optimizer gets it, and how often what it leaves of the loop stands there. Sums of floats must be precise, else the
/// term that was added could be subtracted again; but the copies that spirv-opt makes of a loop's body lose their NoContraction, so
/// that it is given a block alone.
fn alone(case: &Case, kernel: &Kernel) -> (Kernel, u64) {
    let mut kernel = kernel.clone();
    let is_sum = case.point.get("op").is_some_and(|op| op.to_string() == "add");
    match kernel.constants.iter_mut().find(|(name, _)| is_sum && name == "UNROLL") {
        Some((_, value)) => {
            *value = Scalar::U32(1);
            (kernel, case.point.integer("unroll"))
        }
        None => (kernel, 1),
    }
}

fn check(case: &Case, bodies: &[Body], blocks: u64, is_long: bool) {
    let name = format!("{} {} {}", case.experiment, case.variant, case.point);
    let computed = if case.experiment == "peak/roofline" {
        // All is unrolled up to eight pairs of multiply-adds; beyond, elements are a loop, and blocks of 32 pairs a loop within.
        let (elements, blocks) = (case.point.integer("unroll"), (case.point.integer("flops_per_16_bytes") / 512).max(1));
        bodies.iter().zip([1, elements, elements * blocks]).map(|(body, iterations)| body.counted(case) * iterations).sum()
    } else {
        let [_, iteration] = bodies else { panic!("{name}: one loop: {bodies:?}") };
        // Its counter is an addition as well, of whole numbers.
        let counter = weight(case, "IAdd").unwrap_or(0);
        check_iteration(case, iteration, blocks, &name, is_long);
        (iteration.counted(case) - counter) * blocks * case.iterations
    };
    assert_eq!(computed, stated(case), "{name}: {bodies:?}");
}

/// Nothing in the loop touches memory, and beside what is counted there are the counter, its comparison and no more: less than one
/// instruction in a hundred where a GPU is to reach its peak.
fn check_iteration(case: &Case, iteration: &Body, blocks: u64, name: &str, is_long: bool) {
    let memory = iteration.number(|name| ["Load", "Store", "AccessChain"].contains(&name) || name.starts_with("Image"));
    assert_eq!(memory, 0, "{name}: {iteration:?}");
    let counted = iteration.number(|name| weight(case, name).is_some());
    let other = iteration.number(|name| weight(case, name).is_none() && !helpers(case).contains(&name));
    assert!(other <= 2, "{name}: {iteration:?}");
    // What becomes of a function or a division is many instructions.
    let is_one_instruction =
        ["fma", "add", "mul", "shift", "bit_count", "dot", "dot_acc_sat"].contains(&case.point.choice("op"));
    assert!(!is_long || !is_one_instruction || counted * blocks >= 300, "{name}: {iteration:?}");
}

/// bfloat16 is beyond the optimizer and the validator of the tests: it compiles, and is what it says.
#[test]
fn bfloat16_compiles() {
    let mut compiler = Compiler::new(Library::embedded()).unwrap();
    let mut device = device_classes().remove(2);
    device.features.insert(Feature::BFloat16);
    let mut compiled = BTreeSet::new();
    for experiment in ["peak/arith", "peak/latency"] {
        for case in plan(&device, Preset::Thorough, experiment, &[]).iter().filter_map(|planned| planned.case.ok()) {
            if case.variant.starts_with("bf16") {
                let kernel = only(&case.kernels);
                let module = compiler.compile(&kernel.source, &kernel.macros, kernel.target).unwrap();
                specialize(&module, kernel).unwrap();
                compiled.insert((case.variant.clone(), case.point.choice("op").to_owned()));
            }
        }
    }
    let all = ["bf16", "bf16_f32"].into_iter().flat_map(|variant| ["add", "fma", "mul"].map(|op| (variant.into(), op.into())));
    assert_eq!(compiled, all.collect());
}

// ---- the law can be broken ----------------------------------------------------------------------------------------------------

/// What is left of the first case of an experiment with a piece of its shader replaced.
fn broken(experiment: &str, axes: &[&str], shader: &str, from: &str, to: &str) -> (Case, Vec<Body>) {
    let library = Library::embedded();
    let text = library.get(shader).unwrap().to_owned();
    assert_eq!(text.matches(from).count(), 1, "{from}");
    let mut compiler = Compiler::new(library.with(shader, text.replacen(from, to, 1))).unwrap();
    let device = device_classes().remove(2);
    let case = plan(&device, Preset::Quick, experiment, axes).iter().find_map(|planned| planned.case.ok()).unwrap();
    let kernel = only(&case.kernels);
    let module = compiler.compile(&kernel.source, &kernel.macros, kernel.target).unwrap();
    let bodies = bodies(&specialize(&module, kernel).unwrap());
    (case, bodies)
}

#[test]
fn operations_that_go_missing_are_noticed() {
    let per_iteration = |axes: &[&str], shader: &str, from: &str, to: &str| {
        let (case, bodies) = broken("peak/arith", axes, shader, from, to);
        (bodies.iter().skip(1).map(|body| body.counted(&case)).sum::<u64>(), stated(&case) / case.iterations)
    };
    let (arith, chains) = ("peak/arith.comp", "peak/chains.glsl");
    for (what, op, shader, from, to) in [
        ("a folded difference", "op=fma", arith, "x = V(fma(VIA(y), VIA(y), VIA(k)));", "x = V(VIA(y));"),
        (
            "one half of each pair",
            "op=fma",
            chains,
            "#define PAIR EACH(DO_FIRST) EACH(DO_SECOND)",
            "#define PAIR EACH(DO_FIRST)",
        ),
        (
            "an invariant",
            "op=sqrt",
            arith,
            "#define FIRST(x, y, k) x = FUNCTION(x + y);",
            "#define FIRST(x, y, k) x = FUNCTION(y);",
        ),
        ("a dead chain", "op=sqrt", arith, "TAKE_ALL(x##c)\n#else", "if (c != 1) { TAKE_ALL(x##c) }\n#else"),
        ("a loop too few", "op=fma", arith, "block < UNROLL", "block < min(UNROLL, 1u)"),
    ] {
        let (computed, stated) = per_iteration(&[op], shader, from, to);
        assert!(computed < stated, "{what}: {computed} of {stated}");
    }
    let same = "const V a_ = COEFFICIENT(a)";
    let (computed, stated) = per_iteration(&["op=fma"], arith, same, same);
    assert_eq!(computed, stated);
}
