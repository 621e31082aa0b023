//! What a configuration computed, beside what it should have.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::scalars::{self, Number, Part};
use super::sized::Layout;
use super::written::Written;
use crate::shader::ScalarType;
use crate::validate::{Mismatch, Position};

/// Outputs of more numbers aren't tried another way where they differ.
const MOST_TRIED: usize = 1 << 16;

/// How far a float may be from the reference's: by `absolute`, or by `relative` of the larger of the two. Whole numbers are exact.
/// Texels that stand for 0 to 1 count as such, and may be a step off where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// In the values' own unit; `None` for what suits the type.
    pub absolute: Option<f64>,
    /// A share; `None` for what suits the type.
    pub relative: Option<f64>,
}

impl Tolerance {
    /// By type: a few hundred steps of the last digit, as sums in another order have them.
    fn usual(scalar: ScalarType) -> (f64, f64) {
        match scalar {
            ScalarType::F64 => (1e-12, 1e-10),
            ScalarType::F32 => (1e-6, 1e-4),
            _ => (1e-3, 2e-2),
        }
    }

    /// `usual` is how far, absolutely and as a share, where nothing is said.
    pub(super) fn accepts_near(self, usual: (f64, f64), got: f64, expected: f64) -> bool {
        self.accepts_beside(usual, got, expected, got.abs().max(expected.abs()))
    }

    /// The share is one of `scale`.
    fn accepts_beside(self, usual: (f64, f64), got: f64, expected: f64, scale: f64) -> bool {
        let (absolute, relative) = (self.absolute.unwrap_or(usual.0), self.relative.unwrap_or(usual.1));
        let apart = (got - expected).abs();
        (got.is_nan() && expected.is_nan())
            || got == expected
            || apart <= absolute
            || (apart.is_finite() && apart <= relative * scale)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// Every element, at its place.
    #[default]
    Elements,
    /// The sum of what was written: partial sums of another number of workgroups are another number of elements.
    Sum,
    /// The elements that were written, in whatever order: a list to which invocations append. Both sides are sorted and compared pair
    /// by pair, so among many floats a wrong one may pass for one that is near it.
    Set,
    /// Nothing: it holds no result.
    None,
}

impl Comparison {
    pub const ALL: [Self; 4] = [Self::Elements, Self::Sum, Self::Set, Self::None];
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Elements => "elements",
            Self::Sum => "sum",
            Self::Set => "set",
            Self::None => "none",
        })
    }
}

impl FromStr for Comparison {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let names = Self::ALL.map(|known| known.to_string());
        let known = Self::ALL.into_iter().zip(&names).find(|(_, known)| *known == name);
        known.map(|(known, _)| known).ok_or_else(|| format!("`{name}` is none of {}", names.join(", ")))
    }
}

#[derive(Clone, Copy)]
pub(super) struct Compared<'o> {
    pub(super) name: &'o str,
    pub(super) layout: &'o Layout,
    pub(super) how: Comparison,
    pub(super) tolerance: Tolerance,
}

/// The first thing that differs and how many do; nothing where all is right.
pub(super) fn compare(output: Compared<'_>, [got, expected]: [&Written; 2]) -> Option<Mismatch> {
    if got.bytes == expected.bytes && !got.has_unwritten() {
        return None;
    }
    match output.how {
        Comparison::Elements => {
            let found = elements(output, [got, expected])?;
            // A few wrong elements are wrong; another order has most of them elsewhere.
            let is_much = found.wrong.saturating_mul(8) >= found.total;
            let hint = if is_much { hint(output, [got, expected]) } else { None };
            Some(Mismatch { hint, ..found })
        }
        Comparison::Sum => sums(output, [got, expected]),
        Comparison::Set => sets(output, [got, expected]),
        Comparison::None => None,
    }
}

fn hint(output: Compared<'_>, sides: [&Written; 2]) -> Option<Box<str>> {
    let mut count = 0;
    for_each(output.layout, sides[1], &mut |_, _, _| count += 1);
    if !(2..=MOST_TRIED).contains(&count) {
        return None;
    }
    // Among many floats, nearly each has a near one: the same elements are the very same.
    let exact = Tolerance { absolute: Some(0.0), relative: Some(0.0) };
    let tolerance = |how| if how == Comparison::Set { exact } else { output.tolerance };
    let accepts = |how| compare(Compared { how, tolerance: tolerance(how), ..output }, sides).is_none();
    // Where zeros alone are missing, any sum is the same.
    let nonzero = |side: &Written| {
        let mut count = 0;
        for_each(output.layout, side, &mut |number, _, _| {
            count += usize::from(!matches!(number, Number::Whole(0)) && number != Number::Real(0.0));
        });
        count
    };
    let (what, how) = if accepts(Comparison::Set) {
        ("the elements are the reference's in another order", Comparison::Set)
    } else if nonzero(sides[0]) != nonzero(sides[1]) && accepts(Comparison::Sum) {
        ("their sum is the reference's", Comparison::Sum)
    } else {
        return None;
    };
    Some(format!("{what}: if that is as it should be, say --check {}={how}", output.name).into())
}

/// Calls for each number that was written, with the usual tolerance of its kind and the bits that it has.
fn for_each(layout: &Layout, side: &Written, visit: &mut dyn FnMut(Number, (f64, f64), u32)) {
    match layout {
        Layout::Block(layout) => scalars::for_each(layout, side.bytes.len() as u64, &mut |at, scalar| {
            if !side.is_unwritten(at, scalar.bytes()) {
                let bits = u32::try_from(scalar.bytes() * 8).unwrap_or(u32::MAX);
                visit(Number::of(scalar, bytes_at(&side.bytes, at, scalar)), Tolerance::usual(scalar), bits);
            }
        }),
        Layout::Texels(texels) => texels.for_each(side, visit),
    }
}

// ---- element by element ---------------------------------------------------------------------------------------------------

fn elements(output: Compared<'_>, [got, expected]: [&Written; 2]) -> Option<Mismatch> {
    let Compared { name, layout, tolerance, .. } = output;
    if got.bytes.len() != expected.bytes.len() {
        let bytes = |side: &Written| format!("{} bytes", side.bytes.len());
        return Some(Mismatch::single(name, Position::Element(0), bytes(got), bytes(expected)));
    }
    let layout = match layout {
        Layout::Block(layout) => layout,
        Layout::Texels(texels) => return texels.compare(name, [got, expected], tolerance),
    };
    let parts = scalars::parts(layout, got.bytes.len() as u64);
    let found: Vec<Differing> = parts.par_iter().map(|part| Differing::of(part, [got, expected], tolerance)).collect();
    let wrong = found.iter().map(|part| part.wrong).sum();
    let total = found.iter().map(|part| part.total).sum();
    let at = found.iter().position(|part| part.first.is_some())?;
    let before: u64 = found[..at].iter().map(|part| part.total).sum();
    let (index, [got, expected]) = found.into_iter().nth(at)?.first?;
    Some(Mismatch { wrong, total, ..Mismatch::single(name, Position::Element(before + index), got, expected) })
}

#[derive(Default)]
struct Differing {
    /// The first wrong number: which one of the part it is, what it is, and what it should be.
    first: Option<(u64, [String; 2])>,
    wrong: u64,
    total: u64,
}

impl Differing {
    fn of(part: &Part, [got, expected]: [&Written; 2], tolerance: Tolerance) -> Self {
        let mut found = Self::default();
        part.for_each(&mut |at, scalar| {
            let [own, right] = [got, expected].map(|side| bytes_at(&side.bytes, at, scalar));
            let is_written = !got.is_unwritten(at, scalar.bytes());
            // What the reference never wrote, nobody knows.
            let is_known = !expected.is_unwritten(at, scalar.bytes());
            let is_right = || own == right || is_near(scalar, own, right, tolerance);
            if is_known && !(is_written && is_right()) {
                found.wrong += 1;
                if found.first.is_none() {
                    let own = if is_written { shown(scalar, own) } else { NEVER.to_owned() };
                    found.first = Some((found.total, [own, shown(scalar, right)]));
                }
            }
            found.total += 1;
        });
        found
    }
}

pub(super) const NEVER: &str = "never written";

fn bytes_at(bytes: &[u8], at: u64, scalar: ScalarType) -> &[u8] {
    let start = usize::try_from(at).unwrap_or(usize::MAX);
    let length = usize::try_from(scalar.bytes()).unwrap_or(0);
    bytes.get(start..start.saturating_add(length)).unwrap_or_default()
}

fn is_near(scalar: ScalarType, got: &[u8], expected: &[u8], tolerance: Tolerance) -> bool {
    match [got, expected].map(|bytes| Number::of(scalar, bytes)) {
        [Number::Real(got), Number::Real(expected)] => tolerance.accepts_near(Tolerance::usual(scalar), got, expected),
        _ => false,
    }
}

fn shown(scalar: ScalarType, bytes: &[u8]) -> String {
    match Number::of(scalar, bytes) {
        Number::Real(real) => format!("{real:?}"),
        Number::Whole(_) => scalar.shown(scalars::wide(bytes)),
    }
}

// ---- sums -----------------------------------------------------------------------------------------------------------------

struct Sum {
    usual: (f64, f64),
    bits: u32,
    is_real: bool,
    real: f64,
    /// The sum of the numbers without their signs.
    scale: f64,
    /// As the shader adds: what is beyond the bits is gone.
    whole: u64,
}

impl Sum {
    fn of(layout: &Layout, side: &Written) -> Vec<Self> {
        let mut sums: Vec<Self> = Vec::new();
        for_each(layout, side, &mut |number, usual, bits| {
            let is_real = matches!(number, Number::Real(_));
            let known = sums.iter().position(|sum| (sum.is_real, sum.bits) == (is_real, bits));
            let place = known.unwrap_or_else(|| {
                sums.push(Self { usual, bits, is_real, real: 0.0, scale: 0.0, whole: 0 });
                sums.len() - 1
            });
            let sum = &mut sums[place];
            match number {
                Number::Real(real) => {
                    sum.real += real;
                    sum.scale += real.abs();
                }
                Number::Whole(whole) => {
                    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
                    sum.whole = sum.whole.wrapping_add(u64::from_ne_bytes(whole.to_ne_bytes())) & mask;
                }
            }
        });
        sums
    }

    fn shown(&self) -> String {
        if self.is_real { format!("{:?}", self.real) } else { self.whole.to_string() }
    }
}

fn sums(Compared { name, layout, tolerance, .. }: Compared<'_>, sides: [&Written; 2]) -> Option<Mismatch> {
    let [got, expected] = sides.map(|side| Sum::of(layout, side));
    let differs = |got: &Sum, expected: &Sum| {
        let scale = got.scale.max(expected.scale);
        match expected.is_real {
            true => !tolerance.accepts_beside(expected.usual, got.real, expected.real, scale),
            false => got.whole != expected.whole,
        }
    };
    let of = |sum: &Sum| got.iter().find(|own| (own.is_real, own.bits) == (sum.is_real, sum.bits));
    expected.iter().find_map(|sum| match of(sum) {
        Some(own) if !differs(own, sum) => None,
        own => {
            let own = own.map_or_else(|| NEVER.to_owned(), Sum::shown);
            Some(Mismatch::single(name, Position::Sum, own, sum.shown()))
        }
    })
}

// ---- sets -----------------------------------------------------------------------------------------------------------------

/// A number, with how far it may be off, absolutely and as a share, where nothing is said.
pub(super) type Judged = (Number, (f64, f64));

fn numbers(part: &Part, side: &Written) -> Vec<Judged> {
    let mut numbers = Vec::new();
    part.for_each(&mut |at, scalar| {
        if !side.is_unwritten(at, scalar.bytes()) {
            numbers.push((Number::of(scalar, bytes_at(&side.bytes, at, scalar)), Tolerance::usual(scalar)));
        }
    });
    numbers
}

/// The elements of an output's array that were written, sorted. What stands before the array is an element of its own.
fn sorted(layout: &Layout, side: &Written) -> Vec<Vec<Judged>> {
    let mut all: Vec<Vec<Judged>> = match layout {
        Layout::Block(layout) => {
            let elements = scalars::elements(layout, side.bytes.len() as u64);
            elements.iter().map(|element| numbers(element, side)).collect()
        }
        Layout::Texels(texels) => texels.elements(side),
    };
    all.retain(|element| !element.is_empty());
    all.par_sort_by(|a, b| {
        let orders = a.iter().zip(b).map(|((one, _), (other, _))| one.order(*other));
        orders.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
    });
    all
}

fn sets(Compared { name, layout, tolerance, .. }: Compared<'_>, sides: [&Written; 2]) -> Option<Mismatch> {
    let [got, expected] = sides.map(|side| sorted(layout, side));
    if got.len() != expected.len() {
        let [got, expected] = [got, expected].map(|all| all.len().to_string());
        return Some(Mismatch::single(name, Position::Count, got, expected));
    }
    let is_same = |got: &[Judged], expected: &[Judged]| {
        let near = |((got, _), (expected, usual)): (&Judged, &Judged)| match (*got, *expected) {
            (Number::Real(got), Number::Real(expected)) => tolerance.accepts_near(*usual, got, expected),
            (got, expected) => got == expected,
        };
        got.len() == expected.len() && got.iter().zip(expected).all(near)
    };
    let wrong: Vec<usize> = (0..got.len()).into_par_iter().filter(|i| !is_same(&got[*i], &expected[*i])).collect();
    let first = *wrong.first()?;
    let shown = |element: &[Judged]| element.iter().map(|(number, _)| number.to_string()).collect::<Vec<_>>().join(", ");
    let single = Mismatch::single(name, Position::Sorted(first as u64), shown(&got[first]), shown(&expected[first]));
    Some(Mismatch { wrong: wrong.len() as u64, total: got.len() as u64, ..single })
}

// ---- what was never written ------------------------------------------------------------------------------------------------

/// Which elements were never written, in words: nothing where all were. Tells whether any was.
pub(super) fn unwritten(name: &str, layout: &Layout, side: &Written) -> Option<(String, bool)> {
    if !side.has_unwritten() {
        return None;
    }
    let all: Vec<bool> = match layout {
        Layout::Block(layout) => {
            let mut all = Vec::new();
            scalars::for_each(layout, side.bytes.len() as u64, &mut |at, scalar| {
                all.push(side.is_unwritten(at, scalar.bytes()))
            });
            all
        }
        Layout::Texels(texels) => texels.unwritten(side),
    };
    let count = all.iter().filter(|is_unwritten| **is_unwritten).count();
    let first = all.iter().position(|is_unwritten| *is_unwritten)?;
    let run = all[first..].iter().take_while(|is_unwritten| **is_unwritten).count();
    let last = first + run - 1;
    Some(match () {
        () if count == all.len() => (format!("`{name}` was never written"), false),
        () if run == count && count == 1 => (format!("element {first} of `{name}` was never written"), true),
        () if run == count => (format!("elements {first} to {last} of `{name}` were never written"), true),
        () => (format!("{count} of the {} elements of `{name}` were never written, element {first} for one", all.len()), true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::POISON;

    fn compared(how: Comparison, scalar: ScalarType, got: &[u8], expected: &[u8], tolerance: Tolerance) -> Option<Mismatch> {
        let layout = Layout::Block(scalars::plain(scalar));
        let [got, expected] = [got, expected].map(|bytes| Written::of(bytes.to_vec(), None));
        compare(Compared { name: "out", layout: &layout, how, tolerance }, [&got, &expected])
    }

    fn found(scalar: ScalarType, got: &[u8], expected: &[u8], tolerance: Tolerance) -> Option<Mismatch> {
        compared(Comparison::Elements, scalar, got, expected, tolerance)
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    fn words(words: &[i32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn whole_numbers_are_exact_and_the_first_wrong_one_is_named() {
        let mismatch = found(ScalarType::I32, &words(&[1, -2, 4]), &words(&[1, 2, 3]), Tolerance::default()).unwrap();
        assert_eq!(mismatch.to_string(), "out[1] is -2, should be 2 (2 of 3 elements are wrong)");
        assert_eq!(found(ScalarType::I32, &words(&[1]), &words(&[1]), Tolerance::default()), None);
    }

    #[test]
    fn floats_may_be_a_little_off() {
        let exact = Tolerance { absolute: Some(0.0), relative: Some(0.0) };
        let (one, other) = (floats(&[1.0, f32::NAN, f32::INFINITY]), floats(&[1.000_01, f32::NAN, f32::INFINITY]));
        assert_eq!(found(ScalarType::F32, &one, &other, Tolerance::default()), None);
        assert_eq!(found(ScalarType::F32, &one, &other, exact).unwrap().wrong, 1);
        let half = Tolerance { absolute: Some(0.5), relative: Some(0.0) };
        assert_eq!(found(ScalarType::F32, &floats(&[8.5]), &floats(&[8.0]), half), None);
        for wrong in [8.6, f32::NAN, f32::INFINITY, f32::from_bits(POISON)] {
            assert!(found(ScalarType::F32, &floats(&[wrong]), &floats(&[8.0]), half).is_some(), "{wrong}");
        }
    }

    #[test]
    fn what_the_reference_wrote_must_be_written_and_nothing_else() {
        let (unwritten, nan) = (POISON.to_ne_bytes(), f32::NAN.to_ne_bytes());
        let any = Tolerance { absolute: Some(f64::MAX), relative: Some(1.0) };
        let mismatch = found(ScalarType::F32, &unwritten, &nan, any).unwrap();
        assert_eq!((mismatch.wrong, mismatch.got.as_str()), (1, "never written"));
        assert_eq!(found(ScalarType::F32, &nan, &unwritten, any), None, "nobody knows what it should be");
        assert_eq!(found(ScalarType::F32, &unwritten, &unwritten, any), None);
        assert_eq!(found(ScalarType::F64, &[unwritten; 2].concat(), &f64::NAN.to_ne_bytes(), any).unwrap().wrong, 1);
    }

    #[test]
    fn another_size_is_no_match() {
        let mismatch = found(ScalarType::U32, &[0; 8], &[0; 4], Tolerance::default()).unwrap();
        assert_eq!((mismatch.got.as_str(), mismatch.expected.as_str()), ("8 bytes", "4 bytes"));
    }

    #[test]
    fn sums_are_of_what_was_written_and_wrap_as_shaders_add() {
        let sum = |scalar, got: &[u8], expected: &[u8]| compared(Comparison::Sum, scalar, got, expected, Tolerance::default());
        let unwritten = i32::from_ne_bytes(POISON.to_ne_bytes());
        assert_eq!(sum(ScalarType::U32, &words(&[1, 2, unwritten]), &words(&[3])), None);
        assert_eq!(sum(ScalarType::U32, &words(&[-1, 3]), &words(&[2])), None, "2^32 - 1 + 3");
        let mismatch = sum(ScalarType::U32, &words(&[1, 2]), &words(&[4])).unwrap();
        assert_eq!(mismatch.to_string(), "the sum of out is 3, should be 4");
        assert_eq!(
            sum(ScalarType::F32, &floats(&[1e6, 1.0, -1e6]), &floats(&[1.5])),
            None,
            "terms of a million have digits of one"
        );
        assert!(sum(ScalarType::F32, &floats(&[1.0, 1.0]), &floats(&[2.1])).is_some());
        assert!(sum(ScalarType::F32, &floats(&[1.0, f32::NAN]), &floats(&[1.0])).is_some());
        let nothing = sum(ScalarType::F32, &words(&[unwritten]), &floats(&[1.0])).unwrap();
        assert_eq!(nothing.to_string(), "the sum of out is never written, should be 1.0");
    }

    #[test]
    fn sets_have_no_order() {
        let set = |scalar, got: &[u8], expected: &[u8]| compared(Comparison::Set, scalar, got, expected, Tolerance::default());
        let unwritten = i32::from_ne_bytes(POISON.to_ne_bytes());
        assert_eq!(set(ScalarType::I32, &words(&[3, 1, 2, unwritten]), &words(&[1, unwritten, 2, 3])), None);
        let mismatch = set(ScalarType::I32, &words(&[3, 1, 1]), &words(&[1, 2, 3])).unwrap();
        assert_eq!(mismatch.to_string(), "out[1] of the sorted elements is 1, should be 2 (1 of 3 elements are wrong)");
        let mismatch = set(ScalarType::I32, &words(&[3, 1, unwritten]), &words(&[1, 2, 3])).unwrap();
        assert_eq!(mismatch.to_string(), "out has 2 written elements, should have 3");
        assert_eq!(set(ScalarType::F32, &floats(&[2.0, 1.000_01]), &floats(&[1.0, 2.0])), None);
    }

    #[test]
    fn what_another_comparison_would_accept_is_said() {
        let hint = |got: &[i32], expected: &[i32]| {
            found(ScalarType::I32, &words(got), &words(expected), Tolerance::default()).unwrap().hint.unwrap_or_default()
        };
        assert!(hint(&[2, 1], &[1, 2]).ends_with("--check out=set"));
        assert!(hint(&[3, 0], &[1, 2]).ends_with("--check out=sum"));
        assert!(hint(&[3, 1], &[2, 2]).is_empty(), "as many, and not the same");
        let poison = i32::from_ne_bytes(POISON.to_ne_bytes());
        assert!(hint(&[3, poison], &[3, 0]).is_empty(), "a zero that is missing changes no sum");
        assert!(hint(&[3, 1], &[1, 2]).is_empty());
    }

    #[test]
    fn what_was_never_written_is_told_by_its_places() {
        let poison = i32::from_ne_bytes(POISON.to_ne_bytes());
        let layout = Layout::Block(scalars::plain(ScalarType::I32));
        let told = |numbers: &[i32]| unwritten("b", &layout, &Written::of(words(numbers), None));
        assert_eq!(told(&[1, 2]), None);
        assert_eq!(told(&[1, poison, poison]), Some(("elements 1 to 2 of `b` were never written".to_owned(), true)));
        assert_eq!(told(&[1, poison]), Some(("element 1 of `b` was never written".to_owned(), true)));
        assert_eq!(told(&[poison, 1, poison]).unwrap().0, "2 of the 3 elements of `b` were never written, element 0 for one");
        assert_eq!(told(&[poison; 2]), Some(("`b` was never written".to_owned(), false)));
    }
}
