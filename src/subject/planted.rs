//! Which kinds of errors a comparison would not have found.

use super::compare::{Compared, Comparison, Right};
use super::scalars::Number;
use super::slots::Slot;

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
    let Compared { layout, how, tolerance, .. } = output;
    let (scale, written) = (right.scale(layout), &right.written);
    let sum = if how == Comparison::Sum { total(output, right) } else { 0.0 };
    let (mut changed, mut passing) = (0.0, 0.0);
    for (i, stretch) in layout.stretches(written.bytes.len()).iter().enumerate() {
        let place = (i, stretch.grain());
        // Of each column those before, of which the last ones may stand in this one's place.
        let mut seen: Vec<Vec<Number>> = vec![Vec::new(); layout.columns()];
        stretch.for_each(&mut |slot: Slot| {
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
            passing += f64::from(u8::from(tolerance.error(slot.kind.usual(), [planted, number], size) <= limit));
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
