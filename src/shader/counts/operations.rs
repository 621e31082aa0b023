//! What arithmetic the blocks of a module hold.

use std::collections::{BTreeMap, HashMap, HashSet};

use rspirv::dr::{Block, Instruction, Module, Operand};
use rspirv::spirv::{Decoration, GlslStd450Op, Op, Scope, Word};
use serde::{Deserialize, Serialize};

use crate::shader::loader::id;
use crate::shader::reflect::index::Index;
use crate::shader::reflect::types::{TypeNode, Types};
use crate::shader::reflect::{ScalarType, SpecValues};
use crate::shader::trace::mattering;

/// A kind of arithmetic, on scalars of so many bits: a vector counts as its components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// A multiplication of floats and an addition that takes its result; or one of the two by itself.
    MultiplyAdd { bits: u32 },
    /// A reciprocal, a root, an exponential, a logarithm, a sine or a cosine.
    Special { bits: u32 },
    /// Other arithmetic on floats: comparisons, conversions, `min`, `floor`.
    OtherFloat { bits: u32 },
    /// Arithmetic on whole numbers, shifts, bits and comparisons among them; that of addresses isn't.
    Integer { bits: u32 },
    /// A dot product of bytes or of a few whole numbers.
    DotProduct,
    /// A multiplication and an addition of a product of cooperative matrices, by the factors' bits.
    MatrixMultiplyAdd { bits: u32 },
}

pub type Operations = BTreeMap<Operation, u64>;

/// What an invocation does in a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Done {
    pub(super) own: Operations,
    /// What it does together with its subgroup, and with its workgroup: all of it.
    pub(super) of_subgroup: Operations,
    pub(super) of_workgroup: Operations,
}

impl Done {
    pub(super) fn is_empty(&self) -> bool {
        [&self.own, &self.of_subgroup, &self.of_workgroup].iter().all(|operations| operations.is_empty())
    }
}

/// What has to be known of a module to tell what its blocks do.
pub(super) struct Work<'m> {
    types: Types,
    definitions: HashMap<Word, &'m Instruction>,
    /// Of each result, the instructions that take it. What is stored in a variable of the invocation's is taken by all that load it.
    takers: HashMap<Word, Vec<&'m Instruction>>,
    /// What is stored in such variables.
    stored: HashMap<Word, Vec<Word>>,
    /// Which components of results are of use.
    matters: HashMap<Word, u32>,
    glsl: HashSet<Word>,
    /// What may not be put together with anything.
    uncontracted: HashSet<Word>,
    /// Specialization constants, by their ids in the module, and their values where they are given some.
    specialized: HashMap<Word, u64>,
}

/// The multiply-adds of a block, for one width.
#[derive(Default)]
struct Contracting {
    products: u64,
    sums: u64,
    /// The products that additions may take up, all of them; and the additions that may take one up.
    open_products: u64,
    open_sums: u64,
}

impl<'m> Work<'m> {
    pub(super) fn of(module: &'m Module, values: &SpecValues) -> Self {
        let (mut types, index) = (Types::default(), Index::of(module));
        module.types_global_values.iter().for_each(|global| types.note(global, &index));
        let code = || module.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.instructions);
        let all = module.types_global_values.iter().chain(code());
        let definitions: HashMap<Word, &Instruction> = all.filter_map(|of| Some((of.result_id?, of))).collect();
        let mut new = Self {
            types,
            definitions,
            takers: HashMap::new(),
            stored: HashMap::new(),
            matters: mattering(module),
            glsl: module
                .ext_inst_imports
                .iter()
                .filter(|import| is_glsl(import))
                .filter_map(|import| import.result_id)
                .collect(),
            uncontracted: module.annotations.iter().filter_map(uncontracted).collect(),
            specialized: module.annotations.iter().filter_map(|annotation| specialized(annotation, values)).collect(),
        };
        let mut loads: HashMap<Word, Vec<&Instruction>> = HashMap::new();
        for of in code().filter(|of| of.class.opcode == Op::Load) {
            of.operands.first().and_then(id).into_iter().for_each(|pointer| loads.entry(pointer).or_default().push(of));
        }
        for of in code() {
            let loaded = operand(of, 0).filter(|pointer| of.class.opcode == Op::Store && new.is_variable(*pointer));
            match (loaded, operand(of, 1)) {
                (Some(variable), Some(value)) => {
                    new.takers.entry(value).or_default().extend(loads.get(&variable).into_iter().flatten());
                    new.stored.entry(variable).or_default().push(value);
                }
                _ => of.operands.iter().filter_map(id).for_each(|taken| new.takers.entry(taken).or_default().push(of)),
            }
        }
        new
    }

    /// Whether it has products of matrices whose size it doesn't tell.
    pub(super) fn is_partial(&self) -> bool {
        self.definitions.values().any(|of| is_product_of_matrices(of.class.opcode) && self.product_of_matrices(of).is_none())
    }

    pub(super) fn of_block(&self, block: &Block) -> Done {
        let mut contracting: BTreeMap<u32, Contracting> = BTreeMap::new();
        let (mut done, mut together) = (Operations::new(), Done::default());
        for of in &block.instructions {
            let Some((bits, count)) = self.size(of) else { continue };
            let open = contracting.entry(bits).or_default();
            let mut add = |operation: Operation, times: u64| *done.entry(operation).or_default() += times;
            match of.class.opcode {
                Op::FMul | Op::VectorTimesScalar => {
                    open.products += count;
                    open.open_products += if self.is_open(of) { count } else { 0 };
                }
                Op::FAdd | Op::FSub => {
                    open.sums += count;
                    open.open_sums += if self.takes_product(of) { count } else { 0 };
                }
                Op::FDiv => {
                    add(Operation::Special { bits }, count);
                    add(Operation::MultiplyAdd { bits }, count);
                }
                Op::Dot => add(Operation::MultiplyAdd { bits }, self.components(of, 0)),
                Op::MatrixTimesScalar | Op::OuterProduct => add(Operation::MultiplyAdd { bits }, count),
                Op::MatrixTimesVector | Op::MatrixTimesMatrix => {
                    add(Operation::MultiplyAdd { bits }, count * self.columns(of, 0));
                }
                Op::VectorTimesMatrix => add(Operation::MultiplyAdd { bits }, count * self.components(of, 0)),
                Op::ExtInst => self.extended(of, bits, count).into_iter().for_each(|(operation, times)| add(operation, times)),
                opcode if is_product_of_matrices(opcode) => {
                    let Some((is_of_workgroup, operation, times)) = self.product_of_matrices(of) else { continue };
                    let all = if is_of_workgroup { &mut together.of_workgroup } else { &mut together.of_subgroup };
                    *all.entry(operation).or_default() += times;
                }
                opcode => self.other(opcode, of, bits).into_iter().for_each(|operation| add(operation, count)),
            }
        }
        for (bits, of) in contracting {
            let together = of.open_products.min(of.open_sums);
            *done.entry(Operation::MultiplyAdd { bits }).or_default() += of.products + of.sums - together;
        }
        done.retain(|_, count| *count > 0);
        Done { own: done, ..together }
    }

    /// The bits of the components of a result, and how many of them are of use; nothing where it is no number.
    fn size(&self, of: &Instruction) -> Option<(u32, u64)> {
        let (result, ty) = (of.result_id?, of.result_type?);
        let mask = self.matters.get(&result).copied().filter(|mask| *mask != 0)?;
        if let Some(TypeNode::Matrix { column, count }) = self.types.get(ty) {
            let rows = self.types.shape(*column)?;
            return Some((bits(rows.component), u64::from(*count) * rows.components.unwrap_or(1) as u64));
        }
        let Some(shape) = self.types.shape(ty) else { return is_product_of_matrices(of.class.opcode).then_some((0, 1)) };
        let all = shape.components.map_or(1, |count| (1_u32 << count) - 1);
        Some((bits(shape.component), (mask & all).count_ones().max(1).into()))
    }

    fn node(&self, of: &Instruction, place: usize) -> Option<&TypeNode> {
        self.types.get(self.definitions.get(&operand(of, place)?)?.result_type?)
    }

    /// The components of an operand that is a vector.
    fn components(&self, of: &Instruction, place: usize) -> u64 {
        match self.node(of, place) {
            Some(TypeNode::Vector { count, .. }) => u64::from(*count),
            _ => 1,
        }
    }

    fn columns(&self, of: &Instruction, place: usize) -> u64 {
        match self.node(of, place) {
            Some(TypeNode::Matrix { count, .. }) => u64::from(*count),
            _ => 1,
        }
    }

    fn is_variable(&self, pointer: Word) -> bool {
        use rspirv::spirv::StorageClass::{Function, Private};
        let is_own = |of: &&&Instruction| {
            matches!(of.operands.first(), Some(Operand::StorageClass(Function | Private))) && of.class.opcode == Op::Variable
        };
        self.definitions.get(&pointer).filter(is_own).is_some()
    }

    /// Whether all that takes a product are additions, which may take it up: then it takes no time of its own.
    fn is_open(&self, product: &Instruction) -> bool {
        let Some(result) = product.result_id.filter(|result| !self.uncontracted.contains(result)) else { return false };
        let (mut open, mut seen) = (vec![result], HashSet::new());
        while let Some(value) = open.pop() {
            if !seen.insert(value) {
                continue;
            }
            for taker in self.takers.get(&value).into_iter().flatten() {
                match taker.result_id {
                    Some(next) if is_passed_on(taker.class.opcode) => open.push(next),
                    Some(next) if is_sum(taker.class.opcode) && !self.uncontracted.contains(&next) => {}
                    _ => return false,
                }
            }
        }
        true
    }

    /// Whether an addition may take a product up.
    fn takes_product(&self, sum: &Instruction) -> bool {
        if sum.result_id.is_some_and(|result| self.uncontracted.contains(&result)) {
            return false;
        }
        let (mut open, mut seen): (Vec<Word>, HashSet<Word>) = (sum.operands.iter().filter_map(id).collect(), HashSet::new());
        while let Some(value) = open.pop() {
            let Some(of) = self.definitions.get(&value).filter(|_| seen.insert(value)) else { continue };
            match of.class.opcode {
                Op::FMul | Op::VectorTimesScalar if self.is_open(of) => return true,
                Op::Load => open.extend(operand(of, 0).and_then(|pointer| self.stored.get(&pointer)).into_iter().flatten()),
                opcode if is_passed_on(opcode) => open.extend(of.operands.iter().filter_map(id)),
                _ => {}
            }
        }
        false
    }

    /// An instruction of GLSL's own.
    fn extended(&self, of: &Instruction, bits: u32, count: u64) -> Vec<(Operation, u64)> {
        use GlslStd450Op as G;
        let is_glsl = operand(of, 0).is_some_and(|set| self.glsl.contains(&set));
        let number = of.operands.get(1).and_then(|operand| match operand {
            Operand::LiteralExtInstInteger(number) => G::from_u32(*number),
            _ => None,
        });
        let Some(number) = number.filter(|_| is_glsl) else { return Vec::new() };
        let (add, special) = (Operation::MultiplyAdd { bits }, Operation::Special { bits });
        // What it works on, where the result is one number.
        let given = self.components(of, 2);
        match number {
            G::Fma => vec![(add, count)],
            G::Sin | G::Cos | G::Exp2 | G::Log2 | G::Sqrt | G::InverseSqrt => vec![(special, count)],
            G::Exp | G::Log => vec![(special, count), (add, count)],
            G::Pow => vec![(special, 2 * count), (add, count)],
            G::Tan => vec![(special, 3 * count), (add, count)],
            G::Length => vec![(add, given), (special, 1)],
            G::Distance => vec![(add, 2 * given), (special, 1)],
            G::Normalize => vec![(add, given + count), (special, 1)],
            G::FMix => vec![(add, 2 * count)],
            G::Cross => vec![(add, 6)],
            G::Reflect => vec![(add, 2 * count)],
            G::SAbs
            | G::SSign
            | G::UMin
            | G::SMin
            | G::UMax
            | G::SMax
            | G::UClamp
            | G::SClamp
            | G::FindILsb
            | G::FindSMsb
            | G::FindUMsb => vec![(Operation::Integer { bits }, count)],
            _ => vec![(Operation::OtherFloat { bits }, count)],
        }
    }

    /// The multiply-adds of a product of matrices, and whether a workgroup shares it, and not a subgroup.
    fn product_of_matrices(&self, of: &Instruction) -> Option<(bool, Operation, u64)> {
        let matrix = |ty: Word| self.definitions.get(&ty).filter(|of| of.class.opcode == Op::TypeCooperativeMatrixKHR);
        let extent = |matrix: &Instruction, place: usize| self.literal(operand(matrix, place)?);
        let left = matrix(self.definitions.get(&operand(of, 0)?)?.result_type?)?;
        let result = matrix(of.result_type?)?;
        let scope = self.literal(operand(result, 1)?)?;
        let is_of_workgroup = scope == Scope::Workgroup as u64;
        if !is_of_workgroup && scope != Scope::Subgroup as u64 {
            return None;
        }
        let count = extent(result, 2)?.checked_mul(extent(result, 3)?)?.checked_mul(extent(left, 3)?)?;
        let factor = self.types.scalar(operand(left, 0)?)?;
        Some((is_of_workgroup, Operation::MatrixMultiplyAdd { bits: bits(factor) }, count))
    }

    fn literal(&self, constant: Word) -> Option<u64> {
        match self.definitions.get(&constant).map(|of| (of.class.opcode, &of.operands[..])) {
            Some((Op::Constant | Op::SpecConstant, [Operand::LiteralBit32(value)])) => {
                Some(self.specialized.get(&constant).copied().unwrap_or((*value).into()))
            }
            _ => None,
        }
    }

    /// What has one operation for each component.
    fn other(&self, opcode: Op, of: &Instruction, bits_of_result: u32) -> Option<Operation> {
        // A comparison is of what it compares.
        let compared = || {
            let ty = self.definitions.get(&operand(of, 0)?)?.result_type?;
            self.types.shape(ty).map(|shape| bits(shape.component))
        };
        Some(match opcode as u32 {
            op if within(op, Op::ConvertFToU, Op::FConvert) && !matches!(opcode, Op::UConvert | Op::SConvert) => {
                Operation::OtherFloat { bits: bits_of_result }
            }
            op if within(op, Op::FOrdEqual, Op::FUnordGreaterThanEqual) || opcode == Op::FRem || opcode == Op::FMod => {
                Operation::OtherFloat { bits: compared()? }
            }
            op if within(op, Op::IEqual, Op::SLessThanEqual) => Operation::Integer { bits: compared()? },
            op if within(op, Op::SDot, Op::SUDotAccSat) => Operation::DotProduct,
            op if within(op, Op::ShiftRightLogical, Op::BitCount) => Operation::Integer { bits: bits_of_result },
            _ => match opcode {
                Op::SNegate | Op::IAdd | Op::ISub | Op::IMul | Op::UDiv | Op::SDiv | Op::UMod | Op::SRem | Op::SMod => {
                    Operation::Integer { bits: bits_of_result }
                }
                _ => return None,
            },
        })
    }
}

fn within(opcode: u32, first: Op, last: Op) -> bool {
    (first as u32..=last as u32).contains(&opcode)
}

fn operand(of: &Instruction, place: usize) -> Option<Word> {
    of.operands.get(place).and_then(id)
}

fn bits(scalar: ScalarType) -> u32 {
    u32::try_from(8 * scalar.bytes()).unwrap_or(u32::MAX)
}

fn is_sum(opcode: Op) -> bool {
    matches!(opcode, Op::FAdd | Op::FSub)
}

/// Whether a driver works on what comes out as on what goes in: signs are free, and vectors are scalars to it.
fn is_passed_on(opcode: Op) -> bool {
    matches!(
        opcode,
        Op::FNegate | Op::CompositeExtract | Op::CompositeConstruct | Op::VectorShuffle | Op::CopyObject | Op::Load
    )
}

fn is_product_of_matrices(opcode: Op) -> bool {
    matches!(opcode, Op::CooperativeMatrixMulAddKHR)
}

fn is_glsl(import: &Instruction) -> bool {
    matches!(import.operands.first(), Some(Operand::LiteralString(name)) if name == "GLSL.std.450")
}

fn specialized(annotation: &Instruction, values: &SpecValues) -> Option<(Word, u64)> {
    match annotation.operands[..] {
        [Operand::IdRef(target), Operand::Decoration(Decoration::SpecId), Operand::LiteralBit32(id)] => {
            Some((target, *values.get(&id)?))
        }
        _ => None,
    }
}

fn uncontracted(annotation: &Instruction) -> Option<Word> {
    match annotation.operands[..] {
        [Operand::IdRef(target), Operand::Decoration(Decoration::NoContraction)] => Some(target),
        _ => None,
    }
}
