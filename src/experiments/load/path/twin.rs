//! The twin of `load/path`.
//!
//! What an invocation computes depends on the element that it begins with, and on no more. So all results are computed once,
//! and looked up.

use super::table::{Kind, Path, SIDE, Value};
use crate::model::{Case, Format, Point, Precision, Scalar, Sequence, Step};
use crate::validate::Expected;

/// The shader's constants of the same names.
const TURN: u32 = 16;
const STEP: u32 = 12;
const STEP_OF_TURN: u32 = 96;

/// What each invocation must write.
pub fn expected(case: &Case) -> Expected<'_> {
    let path = Path::of(&case.variant);
    let mask = path.elements() - 1;
    let first = {
        let lanes = Lanes::new(&case.point);
        move |i: u64| (lanes.first_index(i) & mask) as usize
    };
    let loads = case.point.u32("loads");
    let of_each_first = |result: &dyn Fn(u32) -> u32| (0..path.elements()).map(result).collect::<Vec<u32>>();
    let invocations = case.point.integer("n");
    match path.value {
        Value::Words(_) => {
            let component = words(case, path);
            let results = of_each_first(&|first| sum(terms(path, loads, first), &component));
            Expected::words(invocations, move |i| results[first(i)])
        }
        Value::Texel(format) => {
            let texels = Texels { format, sequence: case.resources[1].sequence() };
            let is_linear = path.kind == Kind::Linear;
            let component = |term: &Term| if is_linear { texels.mean(term) } else { texels.component(term) };
            let results = of_each_first(&|first| float_sum(terms(path, loads, first), &component).to_bits());
            let at = move |i| f32::from_bits(results[first(i)]);
            if is_linear {
                Expected::near(invocations, tolerance(format, loads), at)
            } else {
                Expected::floats(invocations, at)
            }
        }
    }
}

/// Which invocation begins where.
struct Lanes {
    is_uniform: bool,
    is_linear: bool,
    local_size: u64,
}

impl Lanes {
    fn new(point: &Point) -> Self {
        let pattern = point.word("pattern");
        Self { is_uniform: pattern == "uniform", is_linear: pattern == "linear", local_size: point.integer("local_size_x") }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a dispatch has less than 2^32 invocations")]
    fn first_index(&self, i: u64) -> u32 {
        let [group, lane] = [i / self.local_size, i % self.local_size].map(|n| n as u32);
        if self.is_uniform {
            scattered(group)
        } else if self.is_linear {
            scattered(group).wrapping_mul(32).wrapping_add(lane)
        } else {
            scattered(i as u32)
        }
    }
}

/// A hash by Chris Wellons (lowbias32).
fn scattered(x: u32) -> u32 {
    let x = (x ^ (x >> 16)).wrapping_mul(0x7FEB_352D);
    let x = (x ^ (x >> 15)).wrapping_mul(0x846C_A68B);
    x ^ (x >> 16)
}

/// A component of an element, and how often it counts in the result.
struct Term {
    element: u32,
    component: u32,
    weight: u32,
}

/// All that goes into the result of an invocation that begins with this element.
fn terms(path: &Path, loads: u32, first: u32) -> impl Iterator<Item = Term> {
    let (mask, components) = (path.elements() - 1, path.value.components());
    (0..loads).flat_map(move |load| {
        let (turn, k) = (load / TURN, load % TURN);
        let element = ((first + turn * STEP_OF_TURN) ^ (k * STEP)) & mask;
        (0..components).map(move |component| Term { element, component, weight: (turn + 1) * (component + 1) })
    })
}

/// How often each component counts in a result.
#[cfg(test)]
pub fn weights(path: &Path, loads: u32) -> impl Iterator<Item = u32> {
    terms(path, loads, 0).map(|term| term.weight)
}

// ---- words ----------------------------------------------------------------------------------------------------------------

fn sum(terms: impl Iterator<Item = Term>, component: &dyn Fn(&Term) -> u32) -> u32 {
    terms.fold(0_u32, |sum, term| sum.wrapping_add(component(&term).wrapping_mul(term.weight)))
}

/// The components of a path's elements.
fn words<'a>(case: &'a Case, path: &Path) -> Box<dyn Fn(&Term) -> u32 + 'a> {
    let width = path.value.components();
    let in_buffer = |stride: u32, begin: u32| -> Box<dyn Fn(&Term) -> u32> {
        let sequence = case.resources[1].sequence();
        Box::new(move |term| sequence.word((term.element * stride + begin + term.component).into()))
    };
    match path.kind {
        Kind::PushConstants => Box::new(|term| pushed(case)[BEFORE_WORDS + term.element as usize]),
        Kind::SpecConstants => Box::new(|term| specialized(case, term.element)),
        Kind::Unaligned => in_buffer(width, 1),
        _ => in_buffer(aligned(width), 0),
    }
}

/// Push constants before those that are read.
const BEFORE_WORDS: usize = 2;

fn pushed(case: &Case) -> Vec<u32> {
    let bytes = case.pass.iter().find_map(|step| if let Step::Push { bytes } = step { Some(&bytes[..]) } else { None });
    let word = |bytes: &[u8]| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    bytes.unwrap_or_default().chunks_exact(4).map(word).collect()
}

fn specialized(case: &Case, i: u32) -> u32 {
    let name = format!("WORD_{i}");
    let value = case.kernels[0].constants.iter().find(|(constant, _)| *constant == name).map(|(_, value)| *value);
    if let Some(Scalar::U32(word)) = value { word } else { panic!("{name} is no word") }
}

/// Words from one element of an array to the next one: vectors of three lie as those of four.
pub fn aligned(width: u32) -> u32 {
    width.next_power_of_two()
}

// ---- texels ---------------------------------------------------------------------------------------------------------------

/// Exact where all components are whole numbers: see [`super::MAGNITUDE`].
#[expect(clippy::cast_possible_truncation, reason = "whole numbers below 2^24 are exact f32")]
fn float_sum(terms: impl Iterator<Item = Term>, component: &dyn Fn(&Term) -> f64) -> f32 {
    terms.map(|term| f64::from(term.weight) * component(&term)).fold(0.0, |a, b| a + b) as f32
}

/// Texels as whole numbers, those between 0 and 1 as the bytes that they are.
struct Texels {
    format: Format,
    sequence: Sequence,
}

impl Texels {
    fn at(&self, element: u32, component: u32) -> f64 {
        let index = u64::from(element * self.format.channels() + component);
        match self.format.precision() {
            Precision::Unorm8 => f64::from((self.sequence.word(index / 4) >> (8 * (index % 4))) & 0xFF),
            Precision::Float16 => self.sequence.half(index).to_f64(),
            Precision::Float32 => self.sequence.float(index).into(),
        }
    }

    fn component(&self, term: &Term) -> f64 {
        self.at(term.element, term.component)
    }

    /// Of the texel and its neighbours to the right and below, which at the edges are itself.
    fn mean(&self, term: &Term) -> f64 {
        let [x, y] = [term.element % SIDE, term.element / SIDE];
        let [right, below] = [x, y].map(|at| (at + 1).min(SIDE - 1));
        let corners = [(x, y), (right, y), (x, below), (right, below)];
        corners.into_iter().map(|(x, y)| self.at(y * SIDE + x, term.component)).sum::<f64>() / 4.0
    }
}

/// How far a right result may lie from the exact one where a sampler mixes texels.
///
/// It weighs them by fractions of 8 bits. A half is one of them, but no rule says that a sampler finds it: either weight may be
/// off by 1/256, and the mix by that share of the widest range along each axis. Bytes may be rounded to bytes after either axis,
/// and the sum of a turn is rounded once more.
fn tolerance(format: Format, loads: u32) -> f32 {
    let (range, rounding, of_turn) = match format.precision() {
        Precision::Unorm8 => (255.0, 0.5, 0.5),
        Precision::Float16 | Precision::Float32 => (2.0 * super::MAGNITUDE as f32, 0.0, 0.0),
    };
    let of_load = 2.0 * (range / 256.0 + rounding);
    let weights = |count: u32| (count * (count + 1) / 2) as f32;
    (TURN as f32 * of_load + of_turn) * weights(loads / TURN) * weights(format.channels())
}
