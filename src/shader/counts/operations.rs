//! What arithmetic the blocks of a module hold, as far as no compiler does without it.

mod special;
mod values;

use std::collections::{BTreeMap, HashMap, HashSet};

use rspirv::dr::{Block, Function, Instruction, Module, Operand};
use rspirv::spirv::{Decoration, GlslStd450Op, Op, Scope, Word};
use serde::{Deserialize, Serialize};

use crate::shader::loader::id;
use crate::shader::reflect::index::Index;
use crate::shader::reflect::types::{TypeNode, Types};
use crate::shader::reflect::{ScalarType, SpecValues};
use crate::shader::trace::mattering;
use special::Evaluation;
use values::{Place, Values};

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

    /// What an invocation does in each block of a function.
    pub(super) fn of_function(&self, function: &Function) -> Vec<Done> {
        let (mut known, mut evaluated) = (Values::of(self, function), HashSet::new());
        function.blocks.iter().map(|block| self.of_block(block, &mut known, &mut evaluated)).collect()
    }

    /// The same of one block, without what is `evaluated` in others.
    fn of_block(&self, block: &Block, known: &mut Values, evaluated: &mut HashSet<Evaluation>) -> Done {
        let mut contracting: BTreeMap<u32, Contracting> = BTreeMap::new();
        let (mut done, mut together) = (Operations::new(), Done::default());
        known.enter(block);
        for of in &block.instructions {
            let Some((bits, count)) = self.size(of) else { continue };
            if self.is_of_floats(of) && known.is_spared(of) {
                continue;
            }
            let open = contracting.entry(bits).or_default();
            let mut add = |operation: Operation, times: u64| *done.entry(operation).or_default() += times;
            let mut special = self.evaluations(of, known);
            special.retain(|evaluation| !known.is_settled(evaluation.1.0) && evaluated.insert(*evaluation));
            add(Operation::Special { bits }, special.len() as u64);
            match of.class.opcode {
                Op::FAdd | Op::FSub => {
                    open.sums += count;
                    open.open_sums += if self.takes_product(of) { count } else { 0 };
                }
                opcode if is_product(opcode) => {
                    let (products, results) = self.products(of, count, known);
                    open.products += products;
                    open.open_products += if self.is_open(of) { results.min(products) } else { 0 };
                }
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

    /// Whether it gives floats, or compares them.
    fn is_of_floats(&self, of: &Instruction) -> bool {
        let is_float = |ty: Word| match self.types.get(ty) {
            Some(TypeNode::Matrix { .. }) => true,
            _ => self.types.shape(ty).is_some_and(|shape| shape.component.is_float()),
        };
        of.result_type.is_some_and(is_float) || within(of.class.opcode as u32, Op::FOrdEqual, Op::FUnordGreaterThanEqual)
    }

    /// The multiplications of an instruction, each with the addition that takes it up, and how many of them are in the end one that another
    /// addition may take up.
    fn products(&self, of: &Instruction, count: u64, known: &Values) -> (u64, u64) {
        match of.class.opcode {
            // One over something is a special function alone.
            Op::FDiv => {
                let numerator = |at: &u32| known.component(operand(of, 0).unwrap_or_default(), *at);
                let count = self.places(of).filter(|at| self.constant(numerator(at)) != Some(1.0)).count() as u64;
                (count, count)
            }
            Op::Dot => (self.terms(of, &[0, 1], known), 1),
            Op::MatrixTimesVector => (count * self.terms(of, &[1], known), count),
            Op::VectorTimesMatrix => (count * self.terms(of, &[0], known), count),
            Op::MatrixTimesMatrix => (count * self.columns(of, 0), count),
            _ => (count, count),
        }
    }

    /// How many products a sum has of components of these vectors, but for those with 0 or 1, which are none.
    fn terms(&self, of: &Instruction, vectors: &[usize], known: &Values) -> u64 {
        let count = vectors.first().map_or(1, |vector| self.components(of, *vector));
        let factor = |vector: &usize, at: u32| self.constant(known.component(operand(of, *vector).unwrap_or_default(), at));
        let is_none = |at: &u32| vectors.iter().any(|vector| matches!(factor(vector, *at), Some(0.0 | 1.0)));
        (0..u32::try_from(count).unwrap_or(1)).filter(|at| !is_none(at)).count().max(1) as u64
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
        let is_contracted = |of: &&Instruction| of.result_id.is_some_and(|result| !self.uncontracted.contains(&result));
        self.ends(result).iter().all(|taker| is_sum(taker.class.opcode) && is_contracted(taker))
    }

    /// What takes a result in the end, whatever it is put into before.
    fn ends(&self, result: Word) -> Vec<&'m Instruction> {
        let (mut open, mut seen, mut ends) = (vec![result], HashSet::new(), Vec::new());
        while let Some(value) = open.pop() {
            if !seen.insert(value) {
                continue;
            }
            for taker in self.takers.get(&value).into_iter().flatten() {
                match taker.result_id {
                    Some(next) if is_passed_on(taker.class.opcode) => open.push(next),
                    _ => ends.push(*taker),
                }
            }
        }
        ends
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
                opcode if is_product(opcode) && self.is_open(of) => return true,
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
        let Some(number) = self.number(of) else { return Vec::new() };
        let add = Operation::MultiplyAdd { bits };
        // What it works on, where the result is one number.
        let given = self.components(of, 2);
        match number {
            G::Fma => vec![(add, count)],
            // The factors that make other bases of 2 go into others.
            G::Sin | G::Cos | G::Exp2 | G::Log2 | G::Exp | G::Log | G::Sqrt | G::InverseSqrt => Vec::new(),
            G::Pow if operand(of, 2).is_some_and(|base| self.constant((base, 0)).is_some()) => Vec::new(),
            G::Pow | G::Tan => vec![(add, count)],
            G::Length => vec![(add, given)],
            G::Distance => vec![(add, 2 * given)],
            G::Normalize => vec![(add, given + count)],
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

    /// The value of a float that is a constant; of one whose value isn't followed, 0.
    fn constant(&self, (value, _): Place) -> Option<f64> {
        let of = self.definitions.get(&value).filter(|of| of.class.opname.contains("Constant"))?;
        let bits = of.result_type.and_then(|ty| self.types.scalar(ty)).map(bits);
        let literal = self.literal(value).and_then(|literal| u32::try_from(literal).ok()).filter(|_| bits == Some(32));
        Some(literal.map_or(0.0, |literal| f32::from_bits(literal).into()))
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

fn is_product(opcode: Op) -> bool {
    let op = opcode as u32;
    matches!(opcode, Op::FMul | Op::FDiv) || within(op, Op::VectorTimesScalar, Op::Dot)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SpirvTarget;
    use crate::shader::loader::load;
    use crate::shader::{Compiler, Library};

    /// Multiply-adds and special functions of all blocks, each once. `x`, `y` and `v` are read, `r` is written.
    fn counted(body: &str) -> [u64; 2] {
        let text = format!(
            "#version 450\nlayout(constant_id = 0) const float C = 3.0;\nlayout(binding = 0) buffer A {{ vec4 a[]; }};\n\
             layout(push_constant) uniform P {{ float u; uint n; }} p;\nvoid main() {{\n\
             uint i = gl_GlobalInvocationID.x;\nvec3 v = a[i].xyz;\nfloat x = a[i + 1u].x, y = a[i + 1u].y, r = a[i + 1u].z;\n\
             {body}\na[i] = vec4(r, v);\n}}\n"
        );
        let library = Library::embedded().with("a.comp", text);
        let words = Compiler::new(library).unwrap().compile("a.comp", &[], SpirvTarget::Vulkan1_1).unwrap().words.clone();
        let module = load(&words).unwrap();
        let work = Work::of(&module, &SpecValues::new());
        let done = module.functions.iter().flat_map(|function| work.of_function(function));
        let (mut adds, mut special) = (0, 0);
        for (operation, count) in done.flat_map(|done| done.own) {
            match operation {
                Operation::MultiplyAdd { .. } => adds += count,
                Operation::Special { .. } => special += count,
                _ => {}
            }
        }
        [adds, special]
    }

    #[test]
    fn a_special_function_of_another_is_one_with_it() {
        for (body, special) in [
            ("r = x / y;", 1),
            ("r = 1.0 / exp2(x);", 1),
            ("r = x / exp(y);", 1),
            ("r = x / sqrt(y);", 1),
            ("r = inversesqrt(1.0 / y);", 1),
            ("r = x / (y / r);", 1),
            ("r = x / -pow(y, r);", 2),
            ("r = log2(sqrt(x));", 1),
            ("r = log(exp(x));", 1),
            ("r = pow(sqrt(x), y);", 2),
            ("r = exp2(x) * exp2(y);", 1),
            ("v = v / length(v);", 1),
            ("r = length(v); v = normalize(v);", 1),
            ("r = exp(sqrt(x));", 2),
            ("r = 1.0 / sin(x) + 1.0 / log(y);", 4),
            ("r = sin(x) + cos(x) + tan(x);", 3),
            ("r = pow(x, 3.0);", 0),
            ("r = pow(x, 2.5);", 1),
            ("r = pow(x, 0.3) + pow(x, y);", 3),
            ("r = pow(2.0, x);", 1),
            // Constants, also those that a pipeline tells.
            ("r = x / 3.0 + x / C + sqrt(C);", 0),
            ("r = float(double(x) / double(y));", 1),
        ] {
            assert_eq!(counted(body)[1], special, "{body}");
        }
    }

    #[test]
    fn what_is_the_same_is_worked_out_once() {
        for (body, all) in [
            ("r = x / y + r / y;", [2, 1]),
            ("v = v / y;", [3, 1]),
            ("r = x / y; y = y + 1.0; r = r / y;", [3, 2]),
            ("float z = y; r = x / y; if (x > 0.0) r = r / z;", [2, 1]),
            ("r = (x * y + r) * (x * y + r);", [2, 0]),
            // In a loop, what doesn't change there is done before.
            ("for (uint k = 0u; k < p.n; k++) r = r / y + p.u / x;", [1, 0]),
            ("for (uint k = 0u; k < p.n; k++) r = x / r + x * y;", [1, 1]),
            ("for (uint k = 0u; k < p.n; k++) r = x / (r + y);", [2, 1]),
            ("for (uint k = 0u; k < p.n; k++) { r = r + sqrt(y); y = y + 1.0; }", [2, 1]),
            // What was never written before may be made of itself.
            ("vec3 w; for (uint k = 0u; k < p.n; k++) w = -w.yzx; r = r / w.x;", [1, 1]),
        ] {
            assert_eq!(counted(body), all, "{body}");
        }
    }

    #[test]
    fn products_go_into_the_sums_that_take_them() {
        for (body, adds) in [
            ("r = x / y + r;", 1),
            ("r = 1.0 / y + r;", 1),
            ("r = dot(v, v) + x;", 3),
            ("r = dot(vec4(v, 1.0), a[i + 2u]);", 3),
            ("r = exp(x) + log(y);", 1),
            ("v = mat3(v, v.zxy, v.yxz) * v + v;", 9),
        ] {
            assert_eq!(counted(body)[0], adds, "{body}");
        }
        // A step of n bodies: one over a power is a power, and all three components are divided by it.
        let step = "vec4 other = a[n]; vec3 far = other.xyz - v;\n\
                    s += p.u * far * other.w / pow(dot(far, far) + p.u, p.u);";
        let body = format!("vec3 s = vec3(0.0); for (uint n = 0u; n < p.n; n++) {{ {step} }} v = s;");
        assert_eq!(counted(&body), [16, 2]);
    }
}
