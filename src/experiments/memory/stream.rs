//! `memory/stream`: how fast does the device move memory in order?

use std::ops::Add;

use crate::experiments::{Elements, Experiment, Setting, local_size_axis};
use crate::model::{
    Axis, AxisKind, Bound, Case, Contents, Headline, Kernel, Point, Preset, Resource, Scalar, Sequence, Skip, Traffic, Work,
};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Stream;

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

struct Stream;

/// The sizes that a point stands for.
struct Shape {
    /// Words per element.
    width: u64,
    elements: Elements,
}

impl Shape {
    fn new(point: &Point, limit_x: u32) -> Result<Self, Skip> {
        let width = point.integer("width");
        Ok(Self { width, elements: Elements::new(point.integer("n") / width, point, limit_x)? })
    }

    /// The sizes of a case, with the grid that it has.
    fn of_case(case: &Case) -> Self {
        let width = case.point.integer("width");
        Self { width, elements: Elements::of_case(case.point.integer("n") / width, case) }
    }
}

impl Experiment for Stream {
    fn name(&self) -> &'static str {
        "memory/stream"
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let quick = setting.preset == Preset::Quick;
        let n = if quick { setting.by_class(1_u64 << 18, 1 << 28) } else { setting.by_class(1_u64 << 20, 1 << 28) };
        let widths: &[u64] = if quick { &[1, 4] } else { &[1, 2, 4] };
        let ops = if quick { FEW_OPS } else { OPS };
        vec![
            Axis::new("op", "what is done", AxisKind::Choices(OPS), ops.iter().copied()),
            Axis::new("width", "words per element", AxisKind::Numbers(&[1, 2, 4]), widths.iter().copied()),
            Axis::new("n", "words per array", AxisKind::AtLeast(4), [n]).of_work(),
            local_size_axis(setting),
            Elements::unroll_axis("elements per invocation", 8),
        ]
    }

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let (n, op) = (point.integer("n"), point.choice("op"));
        let shape = Shape::new(point, setting.device.limits.workgroup_count[0])?;
        if n % shape.width != 0 {
            return Err(Skip::new(format!("n={n} is not a whole number of elements of width={}", shape.width)));
        }
        let input = |seed| Contents::Sequence(Sequence::WholeFloats { seed, magnitude: MAGNITUDE });
        let written = if op == "read" { shape.elements.invocations() } else { n };
        let mut resources = vec![
            Resource::words("c", written, Contents::Undefined),
            Resource::words("a", n, input(setting.seed)),
            Resource::words("b", n, input(!setting.seed)),
        ];
        resources.truncate(if op == "read" { 2 } else { 3 });
        let kernel = Kernel::new("memory/stream.comp", [point.u32("local_size_x"), 1, 1], resources.len())
            .define("WIDTH", shape.width)
            .constant("UNROLL", Scalar::U32(point.u32("unroll")));
        let kernel = match (0..).zip(&OPS[1..]).find(|(_, name)| **name == op) {
            Some((code, _)) => kernel.constant("OP", Scalar::U32(code)),
            None => kernel.define("READ", ""),
        };
        let push = [u32::try_from(shape.elements.count).unwrap_or(u32::MAX), SCALAR.to_bits()];
        let case = Case::single_dispatch(self.name(), point, kernel, shape.elements.groups, &push, resources, vec![0]);
        let bound = (n >= BEYOND_CACHES).then_some(Bound::Memory);
        Ok(Case { work: work(op, n, written), headline: Headline::BANDWIDTH, bound, ..case })
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let shape = Shape::of_case(case);
        let a = case.resources[1].sequence();
        let op = case.point.choice("op");
        if op == "read" {
            return vec![Expected::floats(shape.elements.invocations(), move |i| sum(&shape, a, i))];
        }
        let b = case.resources[2].sequence();
        vec![Expected::floats(case.point.integer("n"), move |i| value(op, &shape, a, b, i))]
    }

    fn traffic(&self, case: &Case) -> Result<Vec<Traffic>, &'static str> {
        if case.point.choice("op").ends_with("-point") {
            return Err("neighbours that a stencil reads again count once");
        }
        Ok(vec![Traffic::of(case)])
    }
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
        bytes: n.checked_mul(arrays_read).and_then(|read| read.checked_add(written)?.checked_mul(4)),
        flops: flops_per_word.and_then(|flops: u64| n.checked_mul(flops)),
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
