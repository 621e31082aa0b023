//! `memory/stream`: how fast does the device move memory in order?

use std::ops::Add;

use crate::experiments::common::prelude::*;
use crate::experiments::{issue_axes, issued, issuing};
use crate::model::{Contents, MemoryKind, POISON, Resource};

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Memory, traffic, ..Experiment::new("memory/stream", axes, build) };

choices! {
    /// All but `read` are values of the shader's specialization constant, from 0 on.
    pub(super) enum Op {
        Read = "read",
        Init = "init",
        Copy = "copy",
        Scale = "scale",
        Triad = "triad",
        ThreePoint = "3-point",
        FivePoint = "5-point",
    }
}

/// A whole number, so that results are exact.
const SCALAR: f32 = 3.0;

/// Sums of 64 elements of 4 words stay below 2^24, where every whole number is an exact f32.
const MAGNITUDE: u32 = 1 << 15;

/// Elements of so many words.
#[derive(Clone, Copy)]
struct Vectors {
    width: u64,
    elements: Elements,
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let n = if quick { setting.by_class(1_u64 << 18, 1 << 28) } else { setting.by_class(1_u64 << 20, 1 << 28) };
    let widths: &[u64] = if quick { &[1, 4] } else { &[1, 2, 4] };
    // In the quick overview a direction alone, both, and two streams in.
    let ops = if quick { &[Op::Read, Op::Init, Op::Copy, Op::Triad] } else { Op::ALL };
    let mut axes = vec![
        Op::axis("op", "what is done", ops),
        Axis::new("width", "words per element", AxisKind::Numbers(&[1, 2, 4]), widths.iter().copied()),
        Axis::new("n", "words per array", AxisKind::AtLeast(4), [n]).of_work(),
        local_size_axis(setting),
        Elements::unroll_axis("elements per invocation", 8),
    ];
    axes.extend(issue_axes(setting));
    axes
}

fn build(config: &Config) -> Result<Built, Skip> {
    build_in(MemoryKind::DeviceLocal, EXPERIMENT.name, config, |kernel| issuing(kernel, config))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    match Op::of(case.point.choice("op")) {
        Op::ThreePoint | Op::FivePoint => Err("neighbours that a stencil reads again count once"),
        // It writes one sum.
        Op::Read => Ok(vec![issued(case, 4)]),
        Op::Init | Op::Copy | Op::Scale | Op::Triad => Ok(vec![issued(case, 0)]),
    }
}

/// The case and its twin, with the arrays in memory of some kind, for the experiment of this name.
pub(super) fn build_in(
    memory: MemoryKind,
    experiment: &str,
    config: &Config,
    shaped: impl Fn(Kernel) -> Kernel,
) -> Result<Built, Skip> {
    let [n, width] = ["n", "width"].map(|axis| config.integer(axis));
    let op = Op::of(config.choice("op"));
    let vectors = Vectors { width, elements: Elements::new(n / width, config)? };
    let elements = vectors.elements;
    if n % width != 0 {
        return Err(Skip::new(format!("n={n} is not a whole number of elements of width={width}")));
    }
    let [a, b] = [config.seed(), !config.seed()].map(|seed| Sequence::WholeFloats { seed, magnitude: MAGNITUDE });
    let words = move |element| (0..width).map(|component| a.float(element * width + component)).fold(0.0, f32::add);
    let kernel = config.kernel("memory/stream.comp", &["unroll"]).define("WIDTH", width);
    let (expected, kernel) = if op == Op::Read {
        (elements.float_sums(words), kernel.define("READ", ""))
    } else {
        (Expected::floats(n, move |i| vectors.value(op, a, b, i)), kernel.constant("OP", Scalar::U32(op.code() - 1)))
    };
    let written = expected.elements();
    let mut case = CaseBuilder::new(experiment, config);
    let output = Resource::words_in(memory, "c", written, Contents::Undefined);
    let input = |name, sequence| Resource::words_in(memory, name, n, Contents::Sequence(sequence));
    let mut resources = vec![case.output_in(output, POISON, expected), case.add(input("a", a))];
    if op != Op::Read {
        resources.push(case.add(input("b", b)));
    }
    case.run(shaped(kernel), &resources, elements.groups, &[elements.pushed(), SCALAR.to_bits()]);
    // The limit that is known is that of the device's own memory.
    let bound = if memory == MemoryKind::DeviceLocal { beyond_caches(n * 4) } else { None };
    Ok(case.bound(bound).build(work(op, n, written), Headline::BANDWIDTH))
}

fn work(op: Op, n: u64, written: u64) -> Work {
    let (arrays_read, flops_per_word) = match op {
        Op::Read => (1, Some(1)),
        Op::Init => (0, None),
        Op::Copy => (1, None),
        Op::Scale => (1, Some(1)),
        Op::Triad => (2, Some(2)),
        Op::ThreePoint => (1, Some(2)),
        Op::FivePoint => (1, Some(4)),
    };
    let flops = flops_per_word.map(|flops: u64| n * flops);
    Work { bytes: Some((n * arrays_read + written) * 4), flops, items: Some(n), ..Work::default() }
}

impl Vectors {
    /// What the shader's function of the same name gives, for one word of an element.
    #[expect(clippy::cast_precision_loss, reason = "16 bits are exact in f32")]
    fn value(self, op: Op, a: Sequence, b: Sequence, word: u64) -> f32 {
        let (element, component) = (word / self.width, word % self.width);
        let at = |offset: i64| {
            let neighbour = element.saturating_add_signed(offset).min(self.elements.count - 1);
            a.float(neighbour * self.width + component)
        };
        match op {
            Op::Init => (element & 0xFFFF) as f32 + SCALAR,
            Op::Read | Op::Copy => a.float(word),
            Op::Scale => SCALAR * a.float(word),
            Op::Triad => a.float(word) + SCALAR * b.float(word),
            Op::ThreePoint => (-1..=1).map(at).fold(0.0, f32::add),
            Op::FivePoint => (-2..=2).map(at).fold(0.0, f32::add),
        }
    }
}
