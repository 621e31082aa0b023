//! Comparing what a device computed with what its CPU twin says.

pub mod invariants;

use std::fmt;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// What a checked pass left in a case's outputs, in the order of its check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    pub bytes: Vec<Vec<u8>>,
    /// The same of a pass before it whose reset left [`OTHER_POISON`](crate::model::OTHER_POISON) in the place of
    /// [`POISON`](crate::model::POISON), where there was one.
    pub poisoned: Option<Vec<Vec<u8>>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learned {
    /// What the user should know, a sentence each.
    pub notes: Vec<String>,
    /// Why comparing with it shows nothing, a sentence each: then no result counts as checked.
    pub doubts: Vec<String>,
}

/// What a check found: nothing, where every element was compared and is right.
pub type Verdict = Result<(), Mismatch>;

/// What there is to say of outputs that are right, or why they are wrong.
pub type Remarked = Result<Option<String>, Mismatch>;

/// The first wrong element, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    pub output: String,
    pub at: Position,
    pub got: String,
    pub expected: String,
    pub wrong: u64,
    pub total: u64,
    /// How it might be compared instead, in words.
    pub hint: Option<Box<str>>,
}

impl Mismatch {
    pub fn single(output: &str, at: Position, got: String, expected: String) -> Self {
        Self { output: output.to_owned(), at, got, expected, wrong: 1, total: 1, hint: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    Element(u64),
    Texel(Box<TexelPosition>),
    /// An element by its index, all being sorted.
    Sorted(u64),
    Sum,
    Count,
    Row(u64),
    Whole,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TexelPosition {
    /// The texel's place, as shaders say it.
    pub place: Vec<u64>,
    /// Which component: `r`, `g`, `b` or `a`.
    pub component: &'static str,
}

/// As behind an output's name: `[7]`, or `[3, 5].g`.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Element(index) => write!(f, "[{index}]"),
            Self::Texel(texel) => write!(f, "{:?}.{}", texel.place, texel.component),
            Self::Sorted(index) => write!(f, "[{index}] of the sorted elements"),
            Self::Sum | Self::Count | Self::Row(_) | Self::Whole => Ok(()),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { output, at, got, expected, wrong, total, hint } = self;
        match at {
            Position::Sum => write!(f, "the sum of {output} is {got}, should be {expected}")?,
            Position::Row(row) => {
                write!(f, "row {row} of {output} is {got}, should be {expected} ({wrong} of {total} rows are wrong)")?
            }
            Position::Whole => write!(f, "{output} is {got}, should be {expected}")?,
            Position::Count => write!(f, "{output} has {got} written elements, should have {expected}")?,
            _ => write!(f, "{output}{at} is {got}, should be {expected} ({wrong} of {total} elements are wrong)")?,
        }
        hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

/// What an output must hold, as a CPU twin computes it: any element by itself, so that nothing is held and all processors can
/// share the work. A twin that can't compute elements one by one computes them all beforehand and looks them up.
pub struct Expected {
    elements: u64,
    /// Has the twin compute what it looks up. Nothing keeps that beyond a comparison: it may be as large as the output, and twins last
    /// as long as their cases are loaded.
    prepare: Box<dyn Fn() -> Elements>,
}

#[derive(Clone)]
enum Elements {
    Words(Arc<dyn Fn(u64) -> u32 + Send + Sync>),
    /// The same float, bit by bit.
    Floats(Arc<dyn Fn(u64) -> f32 + Send + Sync>),
    Near(Arc<dyn Fn(u64) -> Near + Send + Sync>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    pub value: f64,
    /// The largest distance that is right.
    pub error: f64,
}

impl Near {
    /// The sum of products in `f32`, in any order. Each product and each sum on the way may be off by a whole unit in the last place of the
    /// largest sum that there can be, as [`Self::rounded`] says. They are fewer than 2^16, or the bound is a little too narrow.
    pub fn of_products(products: impl Iterator<Item = f64>) -> Self {
        let add =
            |(value, largest, count): (f64, f64, f64), product: f64| (value + product, largest + product.abs(), count + 1.0);
        let (value, largest, count) = products.fold((0.0, 0.0, 0.0), add);
        // What errors add to errors is less than the hundredth.
        Self { value, error: 1.01 * f64::from(f32::EPSILON) * (count + 2.0) * largest }
    }

    /// The same so many times, without rounding.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self { value: self.value * f64::from(count), error: self.error * f64::from(count) }
    }

    /// The same where so many additions and multiplications of `f32` lead to it, of which no result is larger than this: fewer than 2^22 of
    /// them, and none after it that makes an error larger.
    ///
    /// N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.1. Vulkan leaves to devices which way
    /// they round, so that each operation is off by a whole unit in the last place.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "operations are fewer than 2^22")]
    pub fn rounded(self, operations: u64, largest: f64) -> Self {
        let units = operations as f64 * f64::from(f32::EPSILON);
        Self { error: self.error + units / (1.0 - units) * largest, ..self }
    }
}

/// Added up without rounding.
impl std::iter::Sum for Near {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        let add = |sum: Self, term: Self| Self { value: sum.value + term.value, error: sum.error + term.error };
        terms.fold(Self { value: 0.0, error: 0.0 }, add)
    }
}

impl Expected {
    /// 32-bit words, compared exactly.
    pub fn words(elements: u64, at: impl Fn(u64) -> u32 + Send + Sync + 'static) -> Self {
        Self::each(elements, Elements::Words(Arc::new(at)))
    }

    /// `f32` values, compared bit by bit: test data are chosen so that no intermediate rounds.
    pub fn floats(elements: u64, at: impl Fn(u64) -> f32 + Send + Sync + 'static) -> Self {
        Self::each(elements, Elements::Floats(Arc::new(at)))
    }

    /// `f32` values that may differ from the twin's, each by a distance of its own: for results that no rule makes exact, such as a
    /// sampler's or a sum's of many terms. The twin derives from what is computed how far each can be off.
    pub fn near(elements: u64, at: impl Fn(u64) -> Near + Send + Sync + 'static) -> Self {
        Self::each(elements, Elements::Near(Arc::new(at)))
    }

    fn each(elements: u64, each: Elements) -> Self {
        Self { elements, prepare: Box::new(move || each.clone()) }
    }

    /// As [`Self::near`], of a twin that computes beforehand what it looks up, as [`Self::words_from`] has it.
    pub fn near_from<F>(elements: u64, prepare: impl Fn() -> F + 'static) -> Self
    where
        F: Fn(u64) -> Near + Send + Sync + 'static,
    {
        Self { elements, prepare: Box::new(move || Elements::Near(Arc::new(prepare()))) }
    }

    /// As [`Self::words`], of a twin that computes beforehand what it looks up: once for each comparison.
    pub fn words_from<F>(elements: u64, prepare: impl Fn() -> F + 'static) -> Self
    where
        F: Fn(u64) -> u32 + Send + Sync + 'static,
    {
        Self { elements, prepare: Box::new(move || Elements::Words(Arc::new(prepare()))) }
    }

    /// As [`Self::floats`], of a twin that computes beforehand what it looks up, as [`Self::words_from`] has it.
    pub fn floats_from<F>(elements: u64, prepare: impl Fn() -> F + 'static) -> Self
    where
        F: Fn(u64) -> f32 + Send + Sync + 'static,
    {
        Self { elements, prepare: Box::new(move || Elements::Floats(Arc::new(prepare()))) }
    }

    pub fn elements(&self) -> u64 {
        self.elements
    }

    pub fn bytes(&self) -> Vec<u8> {
        let elements = (self.prepare)();
        (0..self.elements).flat_map(|index| elements.bits(index).to_ne_bytes()).collect()
    }
}

impl Elements {
    fn bits(&self, index: u64) -> u32 {
        match self {
            Self::Words(at) => at(index),
            Self::Floats(at) => at(index).to_bits(),
            Self::Near(at) => narrowed(at(index).value).to_bits(),
        }
    }

    fn show(&self, bits: u32) -> String {
        match self {
            Self::Words(_) => format!("{bits:#010x}"),
            Self::Floats(_) | Self::Near(_) => format!("{:?}", f32::from_bits(bits)),
        }
    }

    fn show_expected(&self, index: u64) -> String {
        let right = self.show(self.bits(index));
        match self {
            Self::Near(at) => format!("{right} within {:?}", narrowed(at(index).error)),
            Self::Words(_) | Self::Floats(_) => right,
        }
    }

    fn accepts(&self, got: u32, index: u64) -> bool {
        match self {
            Self::Words(_) | Self::Floats(_) => got == self.bits(index),
            Self::Near(at) => {
                let Near { value, error } = at(index);
                // Not what is farther: neither is what is no number at all, nor an infinity.
                (f64::from(f32::from_bits(got)) - value).abs() <= error
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "as near as f32 comes")]
fn narrowed(value: f64) -> f32 {
    value as f32
}

/// What a checked pass left in one output.
#[derive(Clone, Copy, Debug)]
pub struct Output<'o> {
    pub name: &'o str,
    pub bytes: &'o [u8],
}

impl Output<'_> {
    pub fn words(&self) -> Vec<u32> {
        self.bytes.chunks_exact(4).filter_map(|word| word.first_chunk()).map(|word| u32::from_ne_bytes(*word)).collect()
    }

    /// Errors: the first that is wrong, missing or left over.
    pub fn compare(&self, expected: &Expected) -> Verdict {
        let element = |index: u64| {
            let start = usize::try_from(index).ok()?.checked_mul(4)?;
            self.bytes.get(start..start + 4).map(|bytes| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        // Before all processors share the comparison, since the twin may share this among them: each would wait for the one that
        // computes, and that one for what they had yet to do.
        let twin = (expected.prepare)();
        let is_wrong = |index: &u64| element(*index).is_none_or(|got| !twin.accepts(got, *index));
        let missing_or_more = (self.bytes.len() as u64).abs_diff(expected.elements * 4).div_ceil(4);
        // Two passes only where something is wrong: the first wrong element costs order.
        let wrong = (0..expected.elements).into_par_iter().filter(is_wrong).count() as u64;
        if wrong == 0 && missing_or_more == 0 {
            return Ok(());
        }
        let index = (0..expected.elements).find(is_wrong).unwrap_or(expected.elements);
        let beyond = || "nothing".to_owned();
        let got = element(index).map_or_else(beyond, |bits| twin.show(bits));
        let right = if index < expected.elements { twin.show_expected(index) } else { beyond() };
        let found = Mismatch::single(self.name, Position::Element(index), got, right);
        Err(Mismatch { wrong: wrong.max(missing_or_more), total: expected.elements, ..found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(bytes: &[u8], expected: &Expected) -> Verdict {
        Output { name: "out", bytes }.compare(expected)
    }

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn the_first_wrong_element_is_named_and_all_are_counted() {
        let expected = Expected::words(4, |i| u32::try_from(i).unwrap() + 1);
        assert_eq!(compare(&bytes(&[1, 2, 3, 4]), &expected), Ok(()));
        let Err(mismatch) = compare(&bytes(&[1, 9, 3, 9]), &expected) else { panic!("wrong words pass") };
        assert_eq!((mismatch.at.clone(), mismatch.wrong, mismatch.total), (Position::Element(1), 2, 4));
        assert_eq!(mismatch.to_string(), "out[1] is 0x00000009, should be 0x00000002 (2 of 4 elements are wrong)");
    }

    /// From one of the threads that share the comparison, it could have to wait for itself.
    #[test]
    fn what_a_twin_computes_beforehand_it_may_share_among_all_processors() {
        let twin = || {
            assert_eq!(rayon::current_thread_index(), None, "asked for by a thread that compares");
            let sum: u32 = (0..1000_u32).into_par_iter().sum();
            move |i| sum + u32::try_from(i).unwrap()
        };
        assert_eq!(compare(&bytes(&[499_500, 499_501]), &Expected::words_from(2, twin)), Ok(()));
    }

    /// A twin lasts as long as its case is loaded, and what it computes may be as large as the output.
    #[test]
    fn what_a_twin_computes_beforehand_is_let_go_after_each_comparison() {
        let table = Arc::new([7, 9]);
        let of_twin = Arc::clone(&table);
        let expected = Expected::words_from(2, move || {
            let looked_up = Arc::clone(&of_twin);
            move |i| looked_up[usize::try_from(i).unwrap()]
        });
        for _ in 0..2 {
            assert_eq!(compare(&bytes(&[7, 9]), &expected), Ok(()));
            assert_eq!(expected.bytes(), bytes(&[7, 9]));
            assert_eq!(Arc::strong_count(&table), 2, "the one here and the one that is yet to be looked up");
        }
    }

    #[test]
    fn a_missing_tail_is_wrong() {
        let expected = Expected::words(2, |i| u32::try_from(i).unwrap() + 1);
        let Err(mismatch) = compare(&bytes(&[1]), &expected) else { panic!("a short output passes") };
        assert_eq!((mismatch.at, mismatch.wrong, mismatch.got.as_str()), (Position::Element(1), 1, "nothing"));
        let Err(mismatch) = compare(&bytes(&[1, 2, 3]), &expected) else { panic!("a long output passes") };
        assert_eq!((mismatch.at, mismatch.wrong, mismatch.expected.as_str()), (Position::Element(2), 1, "nothing"));
    }

    #[test]
    fn near_floats_differ_by_no_more_than_the_tolerance() {
        let verdict = |got: f32| compare(&got.to_ne_bytes(), &Expected::near(1, |_| Near { value: 8.0, error: 0.5 }));
        assert!([7.5, 8.0, 8.5].into_iter().all(|got| verdict(got) == Ok(())));
        for got in [7.4375, 8.5625, -8.0, f32::NAN, f32::INFINITY, f32::from_bits(crate::model::POISON)] {
            let Err(mismatch) = verdict(got) else { panic!("{got} passes") };
            assert_eq!((mismatch.got, mismatch.expected.as_str()), (format!("{got:?}"), "8.0 within 0.5"));
        }
    }

    /// In `f32`, rounded either way, sums of numbers of any size stay within what is derived for them.
    #[test]
    fn rounded_sums_are_as_near_as_told() {
        let terms: Vec<f32> = (1..1000_u32).map(|i| 1.0 / (i.wrapping_mul(0x9E37_79B1) >> 12) as f32).collect();
        let exact: Near = terms.iter().map(|term| Near { value: f64::from(*term), error: 0.0 }).sum();
        let sums = [
            terms.iter().fold(0.0, |sum, term| sum + term),
            terms.iter().fold(0.0, |sum: f32, term| (sum + term).next_down()),
            terms.iter().fold(0.0, |sum: f32, term| (sum + term).next_up()),
        ];
        let near = exact.rounded(terms.len() as u64, exact.value);
        assert!(sums.iter().all(|sum| (f64::from(*sum) - exact.value).abs() <= near.error), "{sums:?} {near:?}");
        let largest = sums.map(|sum| (f64::from(sum) - exact.value).abs()).into_iter().fold(0.0, f64::max);
        assert!(largest > near.error / 10.0, "a bound that is far too wide finds nothing: {largest} of {}", near.error);
    }

    #[test]
    fn floats_differ_in_sign_of_zero() {
        assert!(compare(&0.0_f32.to_ne_bytes(), &Expected::floats(1, |_| -0.0)).is_err());
    }
}
