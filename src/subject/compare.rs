//! What a configuration computed, beside what it should have.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::OnceLock;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::scalars::Number;
use super::scale::Scale;
use super::sized::Layout;
use super::slots::{Kind, Stretch};
use super::written::Written;
use crate::model::Data;
use crate::validate::{Mismatch, Position};

/// Outputs of more numbers aren't tried another way where they differ.
const MOST_TRIED: usize = 1 << 16;

/// Differences of more times the tolerance aren't what another order of sums makes.
const MOST_ROUNDED: f64 = 300.0;

/// How far a float may be from the reference's: by `absolute`, or by `relative` of its size, whichever is more. Its size is what the
/// reference has there, or the root mean square of what it changed in that column of the output, if that is more: see
/// `Scale`. Whole numbers are exact. Texels that stand for 0 to 1 count as such, and may be a step off where
/// nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// In the values' own unit; `None` for what suits the type.
    pub absolute: Option<f64>,
    /// A share; `None` for what suits the type.
    pub relative: Option<f64>,
}

impl Tolerance {
    /// How far a number is from the reference's, in units of what is allowed: up to 1 is right. `usual` is how far it may be, absolutely
    /// and as a share, where nothing is said.
    fn error(self, usual: (f64, f64), [got, expected]: [Number; 2], size: f64) -> f64 {
        let (Number::Real(got), Number::Real(expected)) = (got, expected) else {
            return if got == expected { 0.0 } else { f64::INFINITY };
        };
        self.of_reals(usual, [got, expected], expected.abs().max(size))
    }

    fn of_reals(self, usual: (f64, f64), [got, expected]: [f64; 2], size: f64) -> f64 {
        let apart = (got - expected).abs();
        if got == expected || (got.is_nan() && expected.is_nan()) {
            0.0
        } else if apart.is_finite() {
            apart / self.absolute.unwrap_or(usual.0).max(self.relative.unwrap_or(usual.1) * size)
        } else {
            f64::INFINITY
        }
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
    /// How many times the tolerance is allowed.
    pub(super) slack: f64,
}

impl Compared<'_> {
    /// How far a number is from the reference's, in units of what is allowed.
    pub(super) fn error(&self, usual: (f64, f64), numbers: [Number; 2], size: f64) -> f64 {
        self.tolerance.error(usual, numbers, size) / self.slack
    }
}

/// What an output must hold.
#[derive(Default)]
pub(super) struct Right {
    pub(super) written: Written,
    /// What the pass found there, where that is known.
    before: Option<Before>,
    scale: OnceLock<Scale>,
}

/// What an output held before a pass: a part of memory, or all of its own.
#[derive(Clone)]
pub(super) struct Before {
    pub(super) data: Data,
    pub(super) part: Option<Range<usize>>,
}

impl Before {
    pub(super) fn bytes(&self) -> &[u8] {
        let all = self.data.bytes();
        self.part.as_ref().map_or(all, |part| all.get(part.clone()).unwrap_or_default())
    }
}

impl Right {
    pub(super) fn new(written: Written, before: Option<Before>) -> Self {
        Self { written, before, scale: OnceLock::new() }
    }

    /// Of what the pass changed: memory may hold much that is none of its results. It is found when something differs for the first
    /// time. The output's layout is always the same.
    pub(super) fn scale(&self, layout: &Layout) -> &Scale {
        self.scale.get_or_init(|| {
            let changed = self.before.as_ref().and_then(|before| self.written.changed(before.bytes()));
            Scale::new(layout, changed.as_ref().unwrap_or(&self.written))
        })
    }
}

/// How far it is from what is right, in units of what is allowed; or the first thing that differs and how many do.
pub(super) fn compare(output: Compared<'_>, got: &Written, right: &Right) -> Result<f64, Mismatch> {
    if got.bytes == right.written.bytes && !got.has_unwritten() {
        return Ok(0.0);
    }
    match output.how {
        Comparison::Elements => elements(output, got, right),
        Comparison::Sum => sums(output, [got, &right.written]),
        Comparison::Set => sets(output, got, right),
        Comparison::None => Ok(0.0),
    }
}

/// How another comparison would see it.
fn hint(output: Compared<'_>, got: &Written, right: &Right) -> Option<String> {
    let mut count = 0;
    for_each(output.layout, &right.written, &mut |_, _| count += 1);
    if !(2..=MOST_TRIED).contains(&count) {
        return None;
    }
    // Among many floats, nearly each has a near one: the same elements are the very same.
    let exact = Tolerance { absolute: Some(0.0), relative: Some(0.0) };
    let tolerance = |how| if how == Comparison::Set { exact } else { output.tolerance };
    let accepts = |how| compare(Compared { how, tolerance: tolerance(how), ..output }, got, right).is_ok();
    // Where zeros alone are missing, any sum is the same.
    let nonzero = |side: &Written| {
        let mut count = 0;
        for_each(output.layout, side, &mut |number, _| {
            count += usize::from(!matches!(number, Number::Whole(0)) && number != Number::Real(0.0));
        });
        count
    };
    let (what, how) = if accepts(Comparison::Set) {
        ("the elements are the reference's in another order", Comparison::Set)
    } else if nonzero(got) != nonzero(&right.written) && accepts(Comparison::Sum) {
        ("their sum is the reference's", Comparison::Sum)
    } else {
        return None;
    };
    Some(format!("{what}: if that is as it should be, say --check {}={how}", output.name))
}

/// Calls for each number that was written.
fn for_each(layout: &Layout, side: &Written, visit: &mut dyn FnMut(Number, Kind)) {
    layout.for_each(side.bytes.len(), &mut |slot| {
        if !slot.is_unwritten(side) {
            visit(slot.number(side), slot.kind);
        }
    });
}

// ---- element by element ---------------------------------------------------------------------------------------------------

fn elements(output: Compared<'_>, got: &Written, right: &Right) -> Result<f64, Mismatch> {
    let Compared { name, layout, tolerance, .. } = output;
    let expected = &right.written;
    if got.bytes.len() != expected.bytes.len() {
        let bytes = |side: &Written| format!("{} bytes", side.bytes.len());
        return Err(Mismatch::single(name, Position::Element(0), bytes(got), bytes(expected)));
    }
    let (scale, stretches) = (right.scale(layout), layout.stretches(got.bytes.len()));
    let of = |(i, stretch): (usize, &Stretch)| {
        let place = (i, stretch.grain());
        Differing::of(stretch, [got, expected], &|kind, numbers, slot| {
            output.error(kind.usual(), numbers, scale.at(place, slot))
        })
    };
    let found: Vec<Differing> = stretches.par_iter().enumerate().map(of).collect();
    let worst = found.iter().map(|stretch| stretch.worst).fold(0.0, f64::max);
    let Some(at) = found.iter().position(|stretch| stretch.first.is_some()) else { return Ok(worst) };
    let wrong: u64 = found.iter().map(|stretch| stretch.wrong).sum();
    let total = found.iter().map(|stretch| stretch.total).sum();
    let before: u64 = found[..at].iter().map(|stretch| stretch.total).sum();
    let Some((index, kind, [own, right_one])) = found.into_iter().nth(at).and_then(|stretch| stretch.first) else {
        return Ok(worst);
    };
    let position = match layout {
        Layout::MemberBlock(_) => Position::Element(before + index),
        Layout::Texels(texels) => texels.position(before + index),
    };
    // A few wrong elements are wrong; another order has most of them elsewhere.
    let is_much = wrong.saturating_mul(8) >= total;
    let otherwise = is_much.then(|| hint(output, got, right)).flatten();
    let hint = otherwise.or_else(|| rounded(worst * output.slack, tolerance.relative.unwrap_or(kind.usual().1)));
    let hint = hint.map(String::into_boxed_str);
    Err(Mismatch { wrong, total, hint, ..Mismatch::single(name, position, own, right_one) })
}

/// What is said of differences that sums in another order may make.
fn rounded(worst: f64, relative: f64) -> Option<String> {
    // The next larger share of one digit.
    let share = worst * relative;
    let digit = 10_f64.powf(share.log10().floor());
    (relative > 0.0 && worst <= MOST_ROUNDED).then(|| {
        format!(
            "the largest difference is {worst:.1} times the tolerance; if sums in another order may make it, say \
             --relative-tolerance {:.0e}",
            (share / digit).ceil() * digit
        )
    })
}

/// The first wrong number: which one of the stretch it is, what it is, and what it should be.
type First = (u64, Kind, [String; 2]);

#[derive(Default)]
struct Differing {
    first: Option<First>,
    wrong: u64,
    total: u64,
    /// The largest error in units of what is allowed.
    worst: f64,
}

impl Differing {
    fn of(
        stretch: &Stretch,
        [got, expected]: [&Written; 2],
        error: &dyn Fn(Kind, [Number; 2], &super::slots::NumberSlot) -> f64,
    ) -> Self {
        let mut found = Self::default();
        stretch.for_each(&mut |slot| {
            let is_written = !slot.is_unwritten(got);
            // What the reference never wrote, nobody knows.
            let is_known = !slot.is_unwritten(expected);
            if is_known && !(is_written && slot.bits(got) == slot.bits(expected)) {
                let numbers = [got, expected].map(|side| slot.number(side));
                let error = if is_written { error(slot.kind, numbers, &slot) } else { f64::INFINITY };
                found.worst = found.worst.max(error);
                if error > 1.0 {
                    found.wrong += 1;
                    found.first.get_or_insert_with(|| {
                        let shown = |side: &Written| slot.kind.shown(slot.bytes(&side.bytes));
                        let own = if is_written { shown(got) } else { NEVER.to_owned() };
                        (found.total, slot.kind, [own, shown(expected)])
                    });
                }
            }
            found.total += 1;
        });
        found
    }
}

const NEVER: &str = "never written";

// ---- sums -----------------------------------------------------------------------------------------------------------------

struct Sum {
    kind: Kind,
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
        for_each(layout, side, &mut |number, kind| {
            let is_real = matches!(number, Number::Real(_));
            let known = sums.iter().position(|sum| (sum.is_real, sum.kind.width()) == (is_real, kind.width()));
            let place = known.unwrap_or_else(|| {
                sums.push(Self { kind, is_real, real: 0.0, scale: 0.0, whole: 0 });
                sums.len() - 1
            });
            let sum = &mut sums[place];
            match number {
                Number::Real(real) => {
                    sum.real += real;
                    sum.scale += real.abs();
                }
                Number::Whole(whole) => {
                    let mask = u64::MAX >> (64 - kind.width().clamp(1, 64));
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

fn sums(Compared { name, layout, tolerance, slack, .. }: Compared<'_>, sides: [&Written; 2]) -> Result<f64, Mismatch> {
    let [got, expected] = sides.map(|side| Sum::of(layout, side));
    let error = |own: &Sum, sum: &Sum| match sum.is_real {
        true => tolerance.of_reals(sum.kind.usual(), [own.real, sum.real], own.scale.max(sum.scale)) / slack,
        false if own.whole == sum.whole => 0.0,
        false => f64::INFINITY,
    };
    let mut worst: f64 = 0.0;
    for sum in &expected {
        let own = got.iter().find(|own| (own.is_real, own.kind.width()) == (sum.is_real, sum.kind.width()));
        let error = own.map_or(f64::INFINITY, |own| error(own, sum));
        if error > 1.0 {
            let own = own.map_or_else(|| NEVER.to_owned(), Sum::shown);
            return Err(Mismatch::single(name, Position::Sum, own, sum.shown()));
        }
        worst = worst.max(error);
    }
    Ok(worst)
}

// ---- sets -----------------------------------------------------------------------------------------------------------------

/// A number of an element, what it is, and its column.
type Part = (Number, Kind, u32);

/// The elements of an output's array that were written, sorted. What stands before the array is an element of its own.
fn sorted(layout: &Layout, side: &Written) -> Vec<Vec<Part>> {
    let numbers = |element: &Stretch| {
        let mut numbers = Vec::new();
        element.for_each(&mut |slot| {
            if !slot.is_unwritten(side) {
                numbers.push((slot.number(side), slot.kind, slot.column));
            }
        });
        numbers
    };
    let mut all: Vec<Vec<Part>> = layout.elements(side.bytes.len()).iter().map(numbers).collect();
    all.retain(|element| !element.is_empty());
    all.par_sort_by(|a, b| {
        let orders = a.iter().zip(b).map(|((one, ..), (other, ..))| one.order(*other));
        orders.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
    });
    all
}

fn sets(output: Compared<'_>, got: &Written, right: &Right) -> Result<f64, Mismatch> {
    let Compared { name, layout, .. } = output;
    let [got, expected] = [got, &right.written].map(|side| sorted(layout, side));
    if got.len() != expected.len() {
        let [got, expected] = [got, expected].map(|all| all.len().to_string());
        return Err(Mismatch::single(name, Position::Count, got, expected));
    }
    let scale = right.scale(layout);
    let of_element = |(got, expected): (&Vec<Part>, &Vec<Part>)| {
        let of_part = |((got, ..), (expected, kind, column)): (&Part, &Part)| {
            output.error(kind.usual(), [*got, *expected], scale.of_column(*column))
        };
        let errors = got.iter().zip(expected).map(of_part).fold(0.0, f64::max);
        if got.len() == expected.len() { errors } else { f64::INFINITY }
    };
    let errors: Vec<f64> = got.par_iter().zip(&expected).map(of_element).collect();
    let Some(first) = errors.iter().position(|error| *error > 1.0) else {
        return Ok(errors.into_iter().fold(0.0, f64::max));
    };
    let shown = |element: &[Part]| element.iter().map(|(number, ..)| number.to_string()).collect::<Vec<_>>().join(", ");
    let single = Mismatch::single(name, Position::Sorted(first as u64), shown(&got[first]), shown(&expected[first]));
    let wrong = errors.iter().filter(|error| **error > 1.0).count() as u64;
    Err(Mismatch { wrong, total: got.len() as u64, ..single })
}

// ---- what was never written ------------------------------------------------------------------------------------------------

/// Which elements were never written, in words: nothing where all were. Tells whether any was.
pub(super) fn unwritten(name: &str, layout: &Layout, side: &Written) -> Option<(String, bool)> {
    if !side.has_unwritten() {
        return None;
    }
    let mut all = Vec::new();
    layout.for_each(side.bytes.len(), &mut |slot| {
        // A texel is one element.
        if !matches!(slot.kind, Kind::Channel(_, 1..)) {
            all.push(slot.is_unwritten(side));
        }
    });
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
    use super::super::scalars;
    use super::*;
    use crate::model::POISON;
    use crate::shader::ScalarType;

    fn compared(how: Comparison, scalar: ScalarType, got: &[u8], expected: &[u8], tolerance: Tolerance) -> Option<Mismatch> {
        let layout = Layout::MemberBlock(scalars::plain(scalar));
        let [got, expected] = [got, expected].map(|bytes| Written::of(bytes.to_vec(), None));
        compare(Compared { name: "out", layout: &layout, how, tolerance, slack: 1.0 }, &got, &Right::new(expected, None)).err()
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
        let (one, other) = (floats(&[1.0, f32::NAN, f32::INFINITY]), floats(&[1.000_001, f32::NAN, f32::INFINITY]));
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
        assert_eq!(set(ScalarType::F32, &floats(&[2.0, 1.000_001]), &floats(&[1.0, 2.0])), None);
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
        let layout = Layout::MemberBlock(scalars::plain(ScalarType::I32));
        let told = |numbers: &[i32]| unwritten("b", &layout, &Written::of(words(numbers), None));
        assert_eq!(told(&[1, 2]), None);
        assert_eq!(told(&[1, poison, poison]), Some(("elements 1 to 2 of `b` were never written".to_owned(), true)));
        assert_eq!(told(&[1, poison]), Some(("element 1 of `b` was never written".to_owned(), true)));
        assert_eq!(told(&[poison, 1, poison]).unwrap().0, "2 of the 3 elements of `b` were never written, element 0 for one");
        assert_eq!(told(&[poison; 2]), Some(("`b` was never written".to_owned(), false)));
    }

    /// How far off, in units of what is allowed.
    fn error(scalar: ScalarType, got: &[f64], expected: &[f64]) -> f64 {
        let bytes = |values: &[f64]| {
            let mut bytes = vec![0; values.len() * usize::try_from(scalar.bytes()).unwrap()];
            let size = usize::try_from(scalar.bytes()).unwrap();
            let each = bytes.chunks_exact_mut(size).zip(values);
            each.for_each(|(bytes, value)| super::super::fill::write(bytes, scalar, super::super::fill::Number::Real(*value)));
            Written::of(bytes, None)
        };
        let layout = Layout::MemberBlock(scalars::plain(scalar));
        let output =
            Compared { name: "out", layout: &layout, how: Comparison::Elements, tolerance: Tolerance::default(), slack: 1.0 };
        compare(output, &bytes(got), &Right::new(bytes(expected), None)).unwrap_or(f64::INFINITY)
    }

    #[test]
    fn a_tolerance_is_as_small_as_the_results() {
        for (scalar, step) in [(ScalarType::F32, 1e-6), (ScalarType::F64, 1e-15), (ScalarType::F16, 1e-3)] {
            for size in [1.0, 1e-4, if scalar == ScalarType::F16 { 100.0 } else { 1e-9 }] {
                let right: Vec<f64> = (1..=64).map(|i| f64::from(i) * size).collect();
                let off = |share: f64| right.iter().map(|value| value * (1.0 + share)).collect::<Vec<_>>();
                assert!(error(scalar, &off(step), &right) <= 1.0, "{scalar:?} {size}");
                assert!(error(scalar, &off(100.0 * step), &right) > 1.0, "{scalar:?} {size}");
                assert!(error(scalar, &[0.0; 64], &right) > 1.0, "{scalar:?} {size}");
            }
        }
    }

    #[test]
    fn what_cancels_is_judged_by_the_size_of_the_others() {
        let mut right: Vec<f64> = (0..64).map(|i| f64::from(i % 7) - 3.0).collect();
        right[5] = 1e-9;
        let mut got = right.clone();
        got[5] = -2e-7;
        assert!(error(ScalarType::F32, &got, &right) < 0.1);
    }

    #[test]
    fn what_is_of_many_sizes_is_judged_by_its_neighbours() {
        let large = (0..1024).map(|i| 1e6 + f64::from(i));
        let right: Vec<f64> = large.chain((0..1024).map(|i| 1e-3 * f64::from(i % 9 + 1))).collect();
        let mut got = right.clone();
        got[1500] = 0.0;
        assert!(error(ScalarType::F32, &got, &right) > 1.0);
        got.clone_from(&right);
        got[3] += 1.0;
        assert!(error(ScalarType::F32, &got, &right) <= 1.0);
    }

    /// Memory may hold weights beside small results.
    #[test]
    fn what_the_pass_left_as_it_was_has_no_size() {
        let layout = Layout::MemberBlock(scalars::plain(ScalarType::F32));
        let output =
            Compared { name: "heap", layout: &layout, how: Comparison::Elements, tolerance: Tolerance::default(), slack: 1.0 };
        let bytes =
            |results: f32| [[1.0_f32; 64], [results; 64]].concat().into_iter().flat_map(f32::to_ne_bytes).collect::<Vec<u8>>();
        let written = |results: f32| Written::of(bytes(results), None);
        let error = |before: Option<Before>| compare(output, &written(2e-6), &Right::new(written(1e-6), before)).is_err();
        let before = |bytes: Vec<u8>| Some(Before { data: Data::new(bytes), part: None });
        assert!(!error(None), "beside the weights it is nothing");
        assert!(error(before(bytes(0.0))));
        assert!(!error(before(bytes(1e-6))), "nothing was changed");
        let part = Some(Before { data: Data::new([vec![9; 8], bytes(0.0)].concat()), part: Some(8..8 + 512) });
        assert!(error(part));
    }

    #[test]
    fn members_of_a_struct_have_sizes_of_their_own() {
        use crate::shader::{MemberLayout, StructLayout, TypeLayout};
        let scalar = |offset| MemberLayout { name: String::new(), offset, ty: TypeLayout::Scalar { scalar: ScalarType::F32 } };
        let pair = StructLayout { type_name: String::new(), bytes: 8, members: vec![scalar(0), scalar(4)] };
        let ty = TypeLayout::RuntimeArray { stride: 8, element: Box::new(TypeLayout::Struct(pair)) };
        let members = vec![MemberLayout { name: String::new(), offset: 0, ty }];
        let layout = Layout::MemberBlock(StructLayout { type_name: String::new(), bytes: 0, members });
        let written = |small: f32| Written::of(floats(&[1e4, small, 2e4, small, 3e4, small]), None);
        let output =
            Compared { name: "out", layout: &layout, how: Comparison::Elements, tolerance: Tolerance::default(), slack: 1.0 };
        let found = compare(output, &written(0.0), &Right::new(written(1e-2), None)).unwrap_err();
        assert_eq!((found.wrong, found.total), (3, 6));
    }

    #[test]
    fn what_rounding_may_do_is_said_with_how_to_accept_it() {
        let right: Vec<f32> = (1_u8..=64).map(f32::from).collect();
        let got: Vec<f32> = right.iter().map(|value| value * 1.000_02).collect();
        let hint = found(ScalarType::F32, &floats(&got), &floats(&right), Tolerance::default()).unwrap().hint.unwrap();
        assert!(hint.contains("times the tolerance") && hint.ends_with("--relative-tolerance 3e-5"), "{hint}");
        let accepted = Tolerance { absolute: None, relative: Some(3e-5) };
        assert_eq!(found(ScalarType::F32, &floats(&got), &floats(&right), accepted), None);
    }
}
