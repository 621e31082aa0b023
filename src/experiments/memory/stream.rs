//! `memory/stream`: how fast does the device move memory in order?

use std::ops::Add;

use crate::experiments::{
    Built, CaseBuilder, Config, Elements, Experiment, Setting, issue_axes, issued, issuing, local_size_axis,
};
use crate::model::{
    Axis, AxisKind, Bound, Case, Contents, Headline, Kernel, MemoryKind, POISON, Preset, Repeatability, Resource, Scalar,
    Sequence, Skip, Traffic, Work,
};
use crate::validate::Expected;

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Memory, traffic, ..Experiment::new("memory/stream", axes, build) };

/// The operations. All but `read` are values of the shader's specialization constant, in this order.
const OPS: &[&str] = &["read", "init", "copy", "scale", "triad", "3-point", "5-point"];
/// Those of the quick overview: a direction alone, both, and two streams in.
const FEW_OPS: &[&str] = &["read", "init", "copy", "triad"];

/// A whole number, so that results are exact.
const SCALAR: f32 = 3.0;

/// Words per array from which no cache of today holds a part that matters: 1 GiB.
const BEYOND_CACHES: u64 = 1 << 28;

/// Sums of 64 elements of 4 words stay below 2^24, where every whole number is an exact f32.
const MAGNITUDE: u32 = 1 << 15;

/// The sizes that a point stands for.
#[derive(Clone, Copy)]
struct Shape {
    /// Words per element.
    width: u64,
    elements: Elements,
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let n = if quick { setting.by_class(1_u64 << 18, 1 << 28) } else { setting.by_class(1_u64 << 20, 1 << 28) };
    let widths: &[u64] = if quick { &[1, 4] } else { &[1, 2, 4] };
    let ops = if quick { FEW_OPS } else { OPS };
    let mut axes = vec![
        Axis::new("op", "what is done", AxisKind::Choices(OPS), ops.iter().copied()),
        Axis::new("width", "words per element", AxisKind::Numbers(&[1, 2, 4]), widths.iter().copied()),
        Axis::new("n", "words per array", AxisKind::AtLeast(4), [n]).of_work(),
        local_size_axis(setting),
        Elements::unroll_axis("elements per invocation", 8),
    ];
    axes.extend(issue_axes(setting));
    axes
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    build_in(MemoryKind::DeviceLocal, EXPERIMENT.name, config, |kernel| issuing(kernel, config))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    if case.point.choice("op").ends_with("-point") {
        return Err("neighbours that a stencil reads again count once");
    }
    // `read` writes one sum.
    let rest = if case.point.choice("op") == "read" { 4 } else { 0 };
    Ok(vec![issued(case, rest)])
}

/// The case and its twin, with the arrays in memory of some kind, for the experiment of this name.
///
/// # Errors
/// As [`Experiment::build`].
pub(super) fn build_in<'a>(
    memory: MemoryKind,
    experiment: &str,
    config: &Config<'a>,
    shaped: impl Fn(Kernel) -> Kernel,
) -> Result<Built<'a>, Skip> {
    let [n, width] = ["n", "width"].map(|axis| config.integer(axis));
    let op = config.choice("op");
    let shape = Shape { width, elements: Elements::new(n / width, config)? };
    if n % width != 0 {
        return Err(Skip::new(format!("n={n} is not a whole number of elements of width={width}")));
    }
    let [a, b] = [config.seed(), !config.seed()].map(|seed| Sequence::WholeFloats { seed, magnitude: MAGNITUDE });
    let expected = match op {
        "read" => Expected::floats(shape.elements.invocations(), move |i| sum(&shape, a, i)),
        _ => Expected::floats(n, move |i| value(op, &shape, a, b, i)),
    };
    let written = expected.elements();
    let mut case = CaseBuilder::new(experiment, config);
    let output = Resource::words_in(memory, "c", written, Contents::Undefined);
    let input = |name, sequence| Resource::words_in(memory, name, n, Contents::Sequence(sequence));
    let mut resources = vec![case.output_in(output, POISON, expected), case.add(input("a", a))];
    if op != "read" {
        resources.push(case.add(input("b", b)));
    }
    let kernel = Kernel::new("memory/stream.comp", config.workgroup())
        .define("WIDTH", width)
        .constant("UNROLL", Scalar::U32(config.u32("unroll")));
    let kernel = match (0..).zip(OPS.iter().skip(1)).find(|(_, name)| **name == op) {
        Some((code, _)) => kernel.constant("OP", Scalar::U32(code)),
        None => kernel.define("READ", ""),
    };
    let push = [u32::try_from(shape.elements.count).unwrap_or(u32::MAX), SCALAR.to_bits()];
    case.run(shaped(kernel), &resources, shape.elements.groups, &push);
    // The limit that is known is that of the device's own memory.
    let is_bound = n >= BEYOND_CACHES && memory == MemoryKind::DeviceLocal;
    Ok(case.bound(is_bound.then_some(Bound::Memory)).build(work(op, n, written), Headline::BANDWIDTH))
}

fn work(op: &str, n: u64, written: u64) -> Work {
    let (arrays_read, flops_per_word) = match op {
        "init" => (0, None),
        "read" => (1, Some(1)),
        "copy" => (1, None),
        "scale" => (1, Some(1)),
        "triad" => (2, Some(2)),
        "3-point" => (1, Some(2)),
        _ => (1, Some(4)),
    };
    Work {
        bytes: Some((n * arrays_read + written) * 4),
        flops: flops_per_word.map(|flops: u64| n * flops),
        items: Some(n),
        ..Work::default()
    }
}

/// What the shader's function of the same name gives, for one word of an element.
#[expect(clippy::cast_precision_loss, reason = "16 bits are exact in f32")]
fn value(op: &str, shape: &Shape, a: Sequence, b: Sequence, word: u64) -> f32 {
    let (element, component) = (word / shape.width, word % shape.width);
    let at = |offset: i64| {
        let neighbour = element.saturating_add_signed(offset).min(shape.elements.count - 1);
        a.float(neighbour * shape.width + component)
    };
    match op {
        "init" => (element & 0xFFFF) as f32 + SCALAR,
        "copy" => a.float(word),
        "scale" => SCALAR * a.float(word),
        "triad" => a.float(word) + SCALAR * b.float(word),
        "3-point" => (-1..=1).map(at).fold(0.0, f32::add),
        _ => (-2..=2).map(at).fold(0.0, f32::add),
    }
}

/// What one invocation of `read` sums up.
fn sum(shape: &Shape, a: Sequence, invocation: u64) -> f32 {
    shape
        .elements
        .of(invocation)
        .flat_map(|element| (0..shape.width).map(move |component| a.float(element * shape.width + component)))
        .fold(0.0, f32::add) // not sum(), whose neutral element is -0.0
}
