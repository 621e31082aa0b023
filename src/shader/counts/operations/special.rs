//! The special functions that no compiler does without: what each has to work out, told from what others work out as well.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{GlslStd450Op as G, Op, Word};

use super::values::{Place, Values};
use super::{Work, operand};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Special {
    Reciprocal,
    /// Also of one over it.
    Root,
    Exponential,
    Logarithm,
    Sine,
    Cosine,
}

/// A function, and what of.
pub(super) type Evaluation = (Special, Place);

/// Stands for all components of a vector: of the root of the sum of their squares.
const LENGTH: u32 = u32::MAX;

impl Work<'_> {
    /// What an instruction has to work out.
    pub(super) fn evaluations(&self, of: &Instruction, known: &Values) -> Vec<Evaluation> {
        let Some(result) = of.result_id else { return Vec::new() };
        let given = |place: usize, at: u32| known.component(operand(of, place).unwrap_or_default(), at);
        let each = |special: Special, place: usize| -> Vec<Evaluation> {
            self.places(of).filter_map(|at| self.evaluation(special, given(place, at), known)).collect()
        };
        match (of.class.opcode, self.number(of)) {
            (Op::FDiv, _) => each(Special::Reciprocal, 1),
            (_, Some(G::Sqrt | G::InverseSqrt)) => each(Special::Root, 2),
            (_, Some(G::Log | G::Log2)) => each(Special::Logarithm, 2),
            (_, Some(G::Exp | G::Exp2)) if !self.is_joined(result, known) => each(Special::Exponential, 2),
            (_, Some(G::Sin)) => each(Special::Sine, 2),
            (_, Some(G::Cos)) => each(Special::Cosine, 2),
            (_, Some(G::Tan)) => {
                let quotient = self.places(of).map(|at| (Special::Reciprocal, (result, at)));
                [each(Special::Sine, 2), each(Special::Cosine, 2), quotient.collect()].concat()
            }
            (_, Some(G::Length | G::Normalize)) => vec![(Special::Root, (given(2, LENGTH).0, LENGTH))],
            (_, Some(G::Distance)) => vec![(Special::Root, (result, LENGTH))],
            (_, Some(G::Pow)) => {
                let power = |at: u32| self.of_power([given(2, at), given(3, at)], (result, at), known);
                self.places(of).flat_map(power).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A function of a value; nothing where the two are one function of what the value is made of: 1/sqrt, 1/exp, log of exp.
    fn evaluation(&self, special: Special, of: Place, known: &Values) -> Option<Evaluation> {
        let made = self.made(of, known);
        let is_one = match special {
            Special::Reciprocal | Special::Root | Special::Logarithm => !matches!(made, None | Some(Special::Logarithm)),
            Special::Exponential => made == Some(Special::Logarithm),
            Special::Sine | Special::Cosine => false,
        };
        (!is_one).then(|| (special, self.squared(of, known).filter(|_| special == Special::Root).unwrap_or(of)))
    }

    /// x^y is exp2(y * log2(x)), but for powers that are products or roots.
    fn of_power(&self, [base, exponent]: [Place; 2], result: Place, known: &Values) -> Vec<Evaluation> {
        let is_whole = |value: f64| value.fract() == 0.0;
        match self.constant(exponent) {
            Some(exponent) if is_whole(exponent) => return Vec::new(),
            Some(exponent) if is_whole(2.0 * exponent) => {
                return self.evaluation(Special::Root, base, known).into_iter().collect();
            }
            _ => {}
        }
        if self.made(base, known) == Some(Special::Exponential) || self.is_joined(result.0, known) {
            return Vec::new();
        }
        let logarithm = self.evaluation(Special::Logarithm, base, known);
        logarithm.into_iter().chain([(Special::Exponential, result)]).collect()
    }

    /// Which function ends in a value, if it is one that others may be put together with.
    fn made(&self, (value, at): Place, known: &Values) -> Option<Special> {
        let of = self.definitions.get(&value)?;
        match (of.class.opcode, self.number(of)) {
            (Op::FDiv, _) => {
                let divisor = known.component(operand(of, 1)?, at);
                self.constant(divisor).is_none().then_some(Special::Reciprocal)
            }
            (_, Some(G::Sqrt | G::InverseSqrt | G::Length | G::Distance)) => Some(Special::Root),
            (_, Some(G::Exp | G::Exp2 | G::Pow)) => Some(Special::Exponential),
            (_, Some(G::Log | G::Log2)) => Some(Special::Logarithm),
            _ => None,
        }
    }

    /// The vector whose squares a value is the sum of.
    fn squared(&self, (value, _): Place, known: &Values) -> Option<Place> {
        let of = self.definitions.get(&value).filter(|of| of.class.opcode == Op::Dot)?;
        let [one, other] = [0, 1].map(|place| operand(of, place).map(|of| known.component(of, LENGTH)));
        one.filter(|_| one == other)
    }

    /// Whether an exponential is the right factor of a product of two: that is the exponential of a sum.
    fn is_joined(&self, result: Word, known: &Values) -> bool {
        let is_product = |of: &&Instruction| {
            let [left, right] = [0, 1].map(|place| operand(of, place).map(|of| known.component(of, 0)));
            let is_right = right.is_some_and(|right| right.0 == result) && left != right;
            is_right && left.is_some_and(|left| self.made(left, known) == Some(Special::Exponential))
        };
        self.ends(result).iter().filter(|of| matches!(of.class.opcode, Op::FMul | Op::FDiv)).any(is_product)
    }

    /// The components of a result that are of use.
    pub(super) fn places(&self, of: &Instruction) -> impl Iterator<Item = u32> + use<> {
        let result = of.result_id.unwrap_or_default();
        let shape = of.result_type.and_then(|ty| self.types.shape(ty));
        let count = shape.and_then(|shape| shape.components).map_or(1, |count| u32::try_from(count).unwrap_or(1));
        let mask = self.matters.get(&result).copied().unwrap_or(0);
        (0..count).filter(move |at| count == 1 || mask >> at & 1 == 1)
    }

    /// Of GLSL's instructions.
    pub(super) fn number(&self, of: &Instruction) -> Option<G> {
        let set = operand(of, 0).filter(|_| of.class.opcode == Op::ExtInst)?;
        match of.operands.get(1) {
            Some(Operand::LiteralExtInstInteger(number)) if self.glsl.contains(&set) => G::from_u32(*number),
            _ => None,
        }
    }
}
