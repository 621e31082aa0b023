//! The twin of `load/path`.

use super::table::{Kind, Path, SIDE, Value};
use super::walk::{LOADS_PER_ITERATION, Term, Walk};
use crate::model::{Format, Precision, Sequence};
use crate::validate::{Expected, Near};

pub fn expected(invocations: u64, path: &'static Path, walk: Walk, source: Sequence) -> Expected {
    let format = match path.value {
        Value::Words(_) => {
            let [begin, stride] = path.layout();
            let word = move |term: &Term| source.word((begin + term.element * stride + term.component).into());
            return Expected::words_from(invocations, move || walk.words(&word));
        }
        Value::Texel(format) => format,
    };
    let texels = Texels { format, sequence: source };
    if path.kind == Kind::Linear {
        // The sum of an iteration of bytes is rounded once more.
        let of_sum = if format.precision() == Precision::Unorm8 { 0.5 / f64::from(LOADS_PER_ITERATION) } else { 0.0 };
        let error = texels.error_of_sampler() + of_sum;
        let mean = move |term: &Term| Near { value: texels.mean(term.element, term.component), error };
        Expected::near_from(invocations, move || walk.near(&mean))
    } else {
        let at = move |term: &Term| texels.at(term.element.into(), term.component);
        Expected::floats_from(invocations, move || walk.floats(&at))
    }
}

/// Texels as whole numbers, those between 0 and 1 as the bytes that they are.
#[derive(Clone, Copy)]
pub struct Texels {
    pub format: Format,
    pub sequence: Sequence,
}

impl Texels {
    pub fn at(&self, texel: u64, component: u32) -> f64 {
        let index = texel * u64::from(self.format.channels()) + u64::from(component);
        match self.format.precision() {
            Precision::Unorm8 => f64::from((self.sequence.word(index / 4) >> (8 * (index % 4))) & 0xFF),
            Precision::Float16 => self.sequence.half(index).to_f64(),
            _ => self.sequence.float(index).into(),
        }
    }

    /// Of a texel of the image and its neighbours to the right and below, which at the edges are itself.
    fn mean(&self, texel: u32, component: u32) -> f64 {
        self.mixed([texel % SIDE, texel / SIDE], [0.5, 0.5], component)
    }

    /// Mixed with these neighbours, which have these weights.
    pub fn mixed(&self, [x, y]: [u32; 2], [right, below]: [f64; 2], component: u32) -> f64 {
        let texel = |x: u32, y: u32| self.at((y.min(SIDE - 1) * SIDE + x.min(SIDE - 1)).into(), component);
        let row = |y| (1.0 - right) * texel(x, y) + right * texel(x + 1, y);
        (1.0 - below) * row(y) + below * row(y + 1)
    }

    /// How far components can be apart.
    pub fn range(&self) -> f64 {
        match self.format.precision() {
            Precision::Unorm8 => 255.0,
            _ => f64::from(2 * super::MAGNITUDE),
        }
    }

    /// How far what a sampler makes of four texels may be off.
    ///
    /// It weighs them by fractions of eight bits, which may be off by the last of them: the mix then is by that share of the
    /// range, along each axis. Bytes may be rounded to bytes after either axis.
    pub fn error_of_sampler(&self) -> f64 {
        let rounding = if self.format.precision() == Precision::Unorm8 { 0.5 } else { 0.0 };
        2.0 * (self.range() / 256.0 + rounding)
    }
}
