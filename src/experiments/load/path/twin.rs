//! The twin of `load/path`.

use super::table::{Kind, Path, SIDE, Value};
use super::walk::{Pattern, Term, Walk};
use crate::model::{Case, Format, Precision, Scalar, Sequence, Step};
use crate::validate::Expected;

/// What each invocation must write.
pub fn expected(case: &Case) -> Expected<'_> {
    let path = Path::of(&case.variant);
    let walk = Walk::new(&case.point, Pattern::of(case.point.choice("pattern")), path.elements(), path.value.components());
    let invocations = case.point.integer("n");
    let format = match path.value {
        Value::Words(_) => return Expected::words(invocations, walk.words(&words(case, path))),
        Value::Texel(format) => format,
    };
    let texels = Texels { format, sequence: case.resources[1].sequence() };
    if path.kind == Kind::Linear {
        let mean = walk.floats(&|term| texels.mean(term.element, term.component));
        // The sum of an iteration of bytes is rounded once more.
        let of_iterations =
            if format.precision() == Precision::Unorm8 { 0.5 * walk.weight_of_iterations() as f32 } else { 0.0 };
        Expected::near(invocations, texels.error_of_sampler() * walk.weight() as f32 + of_iterations, mean)
    } else {
        Expected::floats(invocations, walk.floats(&|term| texels.at(term.element, term.component)))
    }
}

// ---- words ----------------------------------------------------------------------------------------------------------------

/// The components of a path's elements.
fn words<'a>(case: &'a Case, path: &Path) -> Box<dyn Fn(&Term) -> u32 + 'a> {
    let width = path.value.components();
    let in_buffer = |stride: u32, begin: u32| -> Box<dyn Fn(&Term) -> u32> {
        let sequence = case.resources[1].sequence();
        Box::new(move |term| sequence.word((term.element * stride + begin + term.component).into()))
    };
    match path.kind {
        Kind::PushConstants => of_table(pushed(case)),
        Kind::SpecConstants => of_table(specialized(case)),
        Kind::Unaligned => in_buffer(width, 1),
        _ => in_buffer(aligned(width), 0),
    }
}

/// Words from one element of an array to the next one: vectors of three lie as those of four.
pub fn aligned(width: u32) -> u32 {
    width.next_power_of_two()
}

fn of_table(words: Vec<u32>) -> Box<dyn Fn(&Term) -> u32> {
    Box::new(move |term| words[term.element as usize])
}

/// The push constants that are read: those after the number of invocations and the mask.
fn pushed(case: &Case) -> Vec<u32> {
    let bytes = case.pass.iter().find_map(|step| if let Step::Push { bytes } = step { Some(&bytes[..]) } else { None });
    let word = |bytes: &[u8]| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    bytes.unwrap_or_default().chunks_exact(4).skip(2).map(word).collect()
}

fn specialized(case: &Case) -> Vec<u32> {
    let constants = &case.kernels[0].constants;
    let word = |(name, value): &(String, Scalar)| match value {
        Scalar::U32(word) if name.starts_with("WORD_") => Some(*word),
        _ => None,
    };
    constants.iter().filter_map(word).collect()
}

// ---- texels ---------------------------------------------------------------------------------------------------------------

/// Texels as whole numbers, those between 0 and 1 as the bytes that they are.
pub struct Texels {
    /// What a texel is.
    pub format: Format,
    /// What they are made from.
    pub sequence: Sequence,
}

impl Texels {
    /// A component of a texel.
    pub fn at(&self, texel: u32, component: u32) -> f64 {
        let index = u64::from(texel * self.format.channels() + component);
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
        let texel = |x: u32, y: u32| self.at(y.min(SIDE - 1) * SIDE + x.min(SIDE - 1), component);
        let row = |y| (1.0 - right) * texel(x, y) + right * texel(x + 1, y);
        (1.0 - below) * row(y) + below * row(y + 1)
    }

    /// How far components can be apart.
    pub fn range(&self) -> f32 {
        match self.format.precision() {
            Precision::Unorm8 => 255.0,
            _ => (2 * super::MAGNITUDE) as f32,
        }
    }

    /// How far what a sampler makes of four texels may be off.
    ///
    /// It weighs them by fractions of eight bits, which may be off by the last of them: the mix then is by that share of the
    /// range, along each axis. Bytes may be rounded to bytes after either axis.
    pub fn error_of_sampler(&self) -> f32 {
        let rounding = if self.format.precision() == Precision::Unorm8 { 0.5 } else { 0.0 };
        2.0 * (self.range() / 256.0 + rounding)
    }
}
