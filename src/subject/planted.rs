//! Which kinds of errors a comparison would not have found.

use super::compare::{Compared, Comparison, Right};
use super::scalars::Number;
use super::slots::NumberSlot;

/// The share of planted errors that must be found.
const FOUND: f64 = 0.95;

/// Kinds of errors as kernels make them. None depends on the tolerance.
#[derive(Clone, Copy)]
enum Plant {
    Zero,
    Neighbour,
    /// The value so many elements on: a workgroup's.
    Workgroup(usize),
    Before,
    Sign,
}

impl Plant {
    fn words(self) -> &'static str {
        match self {
            Self::Zero => "a zero",
            Self::Neighbour => "the neighbour's value",
            Self::Workgroup(_) => "the value of the next workgroup",
            Self::Before => "what was there before",
            Self::Sign => "the other sign",
        }
    }
}

/// The kinds of errors that would pass in an output, in words. What differs by no more than `error`, in units of what is allowed,
/// would: a configuration that is as far off was taken for right.
pub(super) fn undetected(
    output: Compared<'_>,
    right: &Right,
    error: f64,
    before: Option<&[u8]>,
    workgroup: usize,
) -> Vec<String> {
    // What is the same bit by bit hides nothing.
    if error <= 0.0 || output.how == Comparison::None {
        return Vec::new();
    }
    let kinds = [Plant::Zero, Plant::Neighbour, Plant::Workgroup(workgroup), Plant::Before, Plant::Sign];
    // Sets have no places, and sums no elements: what stands elsewhere is right there.
    let suits = |plant: &Plant| matches!(plant, Plant::Zero | Plant::Sign) || output.how == Comparison::Elements;
    let passing = |plant: Plant| {
        let passing = share_passing(output, right, error, before, plant)?;
        (passing > 1.0 - FOUND)
            .then(|| format!("{} would pass in {:.0} % of `{}`", plant.words(), 100.0 * passing, output.name))
    };
    kinds.into_iter().filter(suits).filter_map(passing).collect()
}

/// The share of the elements which a kind of error changes that would be taken for right; nothing where it changes none.
fn share_passing(output: Compared<'_>, right: &Right, limit: f64, before: Option<&[u8]>, plant: Plant) -> Option<f64> {
    let Compared { layout, how, .. } = output;
    let (scale, written) = (right.scale(layout), &right.written);
    let sum = if how == Comparison::Sum { total(output, right) } else { 0.0 };
    let (mut changed, mut passing) = (0.0, 0.0);
    for (i, stretch) in layout.stretches(written.bytes.len()).iter().enumerate() {
        let place = (i, stretch.grain());
        // Of each column those before, of which the last ones may stand in this one's place.
        let mut seen: Vec<Vec<Number>> = vec![Vec::new(); layout.columns()];
        stretch.for_each(&mut |slot: NumberSlot| {
            if slot.is_unwritten(written) {
                return;
            }
            let (number, seen) = (slot.number(written), &mut seen[slot.column as usize]);
            let ago = |places: usize| seen.len().checked_sub(places).and_then(|at| seen.get(at)).copied();
            let planted = match (plant, number) {
                (Plant::Zero, Number::Real(_)) => Some(Number::Real(0.0)),
                (Plant::Sign, Number::Real(real)) => Some(Number::Real(-real)),
                (Plant::Neighbour, Number::Real(_)) => ago(1),
                (Plant::Workgroup(places), Number::Real(_)) => ago(places),
                (Plant::Before, Number::Real(_)) => before.map(|before| slot.kind.number(slot.bytes(before))),
                // Whole numbers are exact.
                (_, Number::Whole(_)) => None,
            };
            seen.push(number);
            let Some(planted) = planted.filter(|planted| *planted != number) else { return };
            let size = match how {
                Comparison::Elements | Comparison::None => scale.at(place, &slot),
                Comparison::Set => scale.of_column(slot.column),
                Comparison::Sum => sum,
            };
            changed += 1.0;
            passing += f64::from(u8::from(output.error(slot.kind.usual(), [planted, number], size) <= limit));
        });
    }
    (changed > 0.0).then(|| passing / changed)
}

/// The sum of an output's floats without their signs.
fn total(Compared { layout, .. }: Compared<'_>, right: &Right) -> f64 {
    let mut sum = 0.0;
    layout.for_each(right.written.bytes.len(), &mut |slot| {
        if let (false, Number::Real(real)) = (slot.is_unwritten(&right.written), slot.number(&right.written)) {
            sum += real.abs();
        }
    });
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shader::ScalarType;
    use crate::subject::compare::Tolerance;
    use crate::subject::scalars;
    use crate::subject::sized::Layout;
    use crate::subject::written::Written;

    fn found(how: Comparison, right: &[f32], error: f64, before: Option<&[f32]>) -> Vec<String> {
        let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
        let layout = Layout::MemberBlock(scalars::plain(ScalarType::F32));
        // A tenth, so that errors are small numbers.
        let tolerance = Tolerance { absolute: None, relative: Some(0.1) };
        let output = Compared { name: "y", layout: &layout, how, tolerance, slack: 1.0 };
        undetected(output, &Right::new(Written::of(bytes(right), None), None), error, before.map(bytes).as_deref(), 8)
    }

    #[test]
    fn what_is_the_same_bit_by_bit_hides_nothing() {
        assert_eq!(found(Comparison::Elements, &[1e-6; 64], 0.0, None), [""; 0]);
    }

    #[test]
    fn each_kind_of_error_that_would_pass_is_named() {
        let scattered: Vec<f32> = (0_u16..64).map(|i| f32::from(i * 37 % 64) - 31.5).collect();
        assert_eq!(found(Comparison::Elements, &scattered, 0.1, None), [""; 0]);
        // A half of it is far below the tenth of its size.
        let halves: Vec<f32> = (0_u16..64).map(|i| if i % 2 == 0 { 0.001 } else { 10.0 * f32::from(i % 7 + 1) }).collect();
        let told = found(Comparison::Elements, &halves, 1.0, None);
        assert!(told.contains(&"a zero would pass in 50 % of `y`".to_owned()), "{told:?}");
        assert!(told.iter().any(|words| words.starts_with("the other sign")), "{told:?}");
        let slope: Vec<f32> = (0_u16..64).map(|i| 100.0 + f32::from(i) / 8.0).collect();
        let told = found(Comparison::Elements, &slope, 0.5, Some(&slope.iter().map(|y| y + 0.01).collect::<Vec<f32>>()));
        let kinds = ["the neighbour's value", "the value of the next workgroup", "what was there before"];
        assert!(kinds.iter().zip(&told).all(|(kind, words)| words.starts_with(kind)) && told.len() == 3, "{told:?}");
        assert_eq!(found(Comparison::Sum, &[1.0; 4], 0.5, None), [""; 0]);
        assert_eq!(found(Comparison::Sum, &[1.0; 64], 0.5, None).len(), 2, "of so many, one isn't missed");
    }
}
