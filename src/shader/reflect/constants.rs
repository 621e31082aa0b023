//! Constants under a specialization: literals, composites, and the operations that `OpSpecConstantOp` does on them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Decoration, Op, Word};

use super::index::Index;
use super::operation;
use super::types::{Components, Types};
use super::{ReflectError, ScalarType, SpecConstant};
use crate::shader::loader::id;

/// A constant as the module defines it. A scalar may be replaced by its `constant_id`; null is all zeros, of any type.
#[derive(Clone, Debug)]
enum Definition {
    Scalar { bits: u64, constant_id: Option<u32> },
    Null,
    Composite(Vec<Word>),
    Operation { operation: Op, operands: Vec<Operand> },
}

/// Composites within composites that have a value: as many as structs may nest. What walks a value needs this much stack.
const DEEPEST: u32 = 255;
/// Conversions of one constant, one of another, that are followed.
const MOST_CONVERSIONS: usize = 8;
/// Parts of a composite into which a value is inserted, which copies them: the longest vector's.
const MOST_COPIED: usize = 16;

/// The value of a constant. Composites share their parts: a module may name the same part any number of times.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Scalar(u64),
    Null,
    Composite { parts: Arc<[Value]>, depth: u32 },
}

#[derive(Clone, Debug)]
struct Constant {
    id: Word,
    ty: Word,
    definition: Definition,
}

/// The constants of a module, in the order of their definitions, in which each depends only on those before it.
#[derive(Clone, Debug, Default)]
pub(in crate::shader) struct Constants {
    in_order: Vec<Constant>,
    by_id: HashMap<Word, usize>,
}

/// The values of all constants that have one. Operations on floats have none: no size depends on them.
#[derive(Debug, Default)]
pub(in crate::shader) struct Values {
    by_id: HashMap<Word, Value>,
}

impl Constants {
    /// Notes a constant; does nothing for other instructions.
    pub(in crate::shader) fn note(&mut self, instruction: &Instruction, index: &Index) {
        let (Some(ty), Some(result)) = (instruction.result_type, instruction.result_id) else { return };
        let constant_id = index.argument(result, Decoration::SpecId);
        let scalar = |bits| Definition::Scalar { bits, constant_id };
        let definition = match (instruction.class.opcode, &instruction.operands[..]) {
            (Op::ConstantTrue | Op::SpecConstantTrue, _) => scalar(1),
            (Op::ConstantFalse | Op::SpecConstantFalse, _) => scalar(0),
            (Op::Constant | Op::SpecConstant, [Operand::LiteralBit32(bits)]) => scalar((*bits).into()),
            (Op::Constant | Op::SpecConstant, [Operand::LiteralBit64(bits)]) => scalar(*bits),
            (Op::ConstantNull, _) => Definition::Null,
            (Op::ConstantComposite | Op::SpecConstantComposite, parts) => {
                Definition::Composite(parts.iter().filter_map(id).collect())
            }
            (Op::SpecConstantOp, [Operand::LiteralSpecConstantOpInteger(operation), operands @ ..]) => {
                Definition::Operation { operation: *operation, operands: operands.to_vec() }
            }
            _ => return,
        };
        self.by_id.insert(result, self.in_order.len());
        self.in_order.push(Constant { id: result, ty, definition });
    }

    pub(in crate::shader) fn specializable(&self, types: &Types, index: &Index) -> Result<Vec<SpecConstant>, ReflectError> {
        let mut found = Vec::new();
        for constant in &self.in_order {
            let Definition::Scalar { bits, constant_id: Some(id) } = constant.definition else { continue };
            let name = index.name(constant.id).to_owned();
            let ty = types.scalar(constant.ty).ok_or(ReflectError::SpecConstantType { id })?;
            found.push(SpecConstant { id, name, ty, default_bits: ty.truncate(bits) });
        }
        found.sort_by_key(|constant: &SpecConstant| constant.id);
        Ok(found)
    }

    /// Of a scalar that no expression makes, which specialization constant it is, if any; else it is a literal. One that only gets
    /// another type on the way is what it was.
    pub(in crate::shader) fn constant_id(&self, mut id: Word) -> Option<Option<u32>> {
        // Each depends on those before it alone, unless the module is invalid.
        for _ in 0..=MOST_CONVERSIONS {
            match &self.get(id)?.definition {
                Definition::Scalar { constant_id, .. } => return Some(*constant_id),
                Definition::Operation { operation, operands } => id = self.converted(*operation, operands)?,
                _ => return None,
            }
        }
        None
    }

    /// What an operation gives another type: compilers write `x + 0`, since a shader may have no bit cast of constants.
    fn converted(&self, operation: Op, operands: &[Operand]) -> Option<Word> {
        let is_zero = |of: Word| {
            let definition = self.get(of).map(|constant| &constant.definition);
            matches!(definition, Some(Definition::Scalar { bits: 0, constant_id: None } | Definition::Null))
        };
        match (operation, operands) {
            (Op::Bitcast | Op::UConvert | Op::SConvert | Op::CopyObject, [of]) => id(of),
            (Op::IAdd, [of, with]) => {
                let (of, with) = (id(of)?, id(with)?);
                [(of, with), (with, of)].into_iter().find(|(_, other)| is_zero(*other)).map(|(of, _)| of)
            }
            _ => None,
        }
    }

    /// The `constant_id`s of all specialization constants that this one is made of.
    pub(in crate::shader) fn ids_of(&self, id: Word) -> BTreeSet<u32> {
        let (mut found, mut seen, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![id]);
        while let Some(id) = open.pop() {
            let Some(constant) = self.get(id).filter(|_| seen.insert(id)) else { continue };
            match &constant.definition {
                Definition::Scalar { constant_id, .. } => found.extend(*constant_id),
                Definition::Null => {}
                Definition::Composite(parts) => open.extend(parts),
                Definition::Operation { operands, .. } => open.extend(operands.iter().filter_map(self::id)),
            }
        }
        found
    }

    pub(in crate::shader) fn scalar(&self, id: Word, types: &Types) -> Option<ScalarType> {
        types.scalar(self.get(id)?.ty)
    }

    pub(in crate::shader) fn parts(&self, id: Word) -> Option<&[Word]> {
        match &self.get(id)?.definition {
            Definition::Composite(parts) => Some(parts),
            _ => None,
        }
    }

    /// All values, with these bits for these specialization ids and the defaults for the others.
    pub(in crate::shader) fn evaluate(&self, types: &Types, specialization: &BTreeMap<u32, u64>) -> Values {
        let mut values = Values::default();
        for constant in &self.in_order {
            let value = match &constant.definition {
                Definition::Scalar { bits, constant_id } => {
                    let given = constant_id.and_then(|constant_id| specialization.get(&constant_id));
                    Some(Value::Scalar(*given.unwrap_or(bits)))
                }
                Definition::Null => Some(Value::Null),
                Definition::Composite(parts) => {
                    let parts: Option<Vec<Value>> = parts.iter().map(|part| values.by_id.get(part).cloned()).collect();
                    parts.and_then(Value::composite)
                }
                Definition::Operation { operation, operands } => {
                    let operand_type = operands.iter().rev().find_map(|operand| self.type_of(operand, types));
                    values.operate(*operation, operands, types.shape(constant.ty), operand_type)
                }
            };
            if let Some(value) = value {
                values.by_id.insert(constant.id, value);
            }
        }
        values
    }

    fn get(&self, id: Word) -> Option<&Constant> {
        self.in_order.get(*self.by_id.get(&id)?)
    }

    /// The type of an operand's components. Operations ask it of the last operand: the first of a select is its condition.
    fn type_of(&self, operand: &Operand, types: &Types) -> Option<ScalarType> {
        Some(types.shape(self.get(id(operand)?)?.ty)?.component)
    }
}

impl Values {
    /// An array's length: at least one.
    pub(in crate::shader) fn length(&self, id: Word) -> Option<u64> {
        self.integer(id).filter(|length| *length > 0)
    }

    /// The bits of a whole number; nothing where the id has no such value.
    pub(in crate::shader) fn integer(&self, id: Word) -> Option<u64> {
        match self.by_id.get(&id)? {
            Value::Scalar(bits) => Some(*bits),
            Value::Null => Some(0),
            Value::Composite { .. } => None,
        }
    }

    fn operate(
        &self,
        operation: Op,
        operands: &[Operand],
        result: Option<Components>,
        of: Option<ScalarType>,
    ) -> Option<Value> {
        let values: Vec<&Value> = operands.iter().filter_map(id).map(|id| self.by_id.get(&id)).collect::<Option<_>>()?;
        let literals = operands.iter().filter_map(|operand| match operand {
            Operand::LiteralBit32(literal) => Some(*literal as usize),
            _ => None,
        });
        match (operation, &values[..]) {
            (Op::CompositeExtract, [whole]) => {
                literals.into_iter().try_fold((*whole).clone(), |value, member| value.component(member))
            }
            (Op::CompositeInsert, [part, whole]) => insert(part, whole, &literals.collect::<Vec<_>>()),
            (Op::VectorShuffle, [first, second]) => shuffle(first, second, literals),
            _ => {
                let shape = result?;
                let scalar = |component: Option<usize>| {
                    let arguments: Option<Vec<u64>> = values.iter().map(|value| value.scalar_at(component)).collect();
                    operation::evaluate(operation, of?, shape.component, &arguments?).map(Value::Scalar)
                };
                match shape.components {
                    None => scalar(None),
                    Some(count) => (0..count).map(|i| scalar(Some(i))).collect::<Option<Vec<_>>>().and_then(Value::composite),
                }
            }
        }
    }
}

impl Value {
    /// A composite of these parts; nothing where it nests too deep.
    fn composite(parts: Vec<Value>) -> Option<Value> {
        let depth = parts.iter().map(Self::depth).max().unwrap_or(0) + 1;
        (depth <= DEEPEST).then(|| Self::Composite { parts: parts.into(), depth })
    }

    fn depth(&self) -> u32 {
        match self {
            Self::Scalar(_) | Self::Null => 0,
            Self::Composite { depth, .. } => *depth,
        }
    }

    fn component(&self, member: usize) -> Option<Value> {
        match self {
            Self::Scalar(_) => None,
            Self::Null => Some(Self::Null),
            Self::Composite { parts, .. } => parts.get(member).cloned(),
        }
    }

    /// The bits of this scalar, or of one component of this vector.
    fn scalar_at(&self, component: Option<usize>) -> Option<u64> {
        match (self, component) {
            (Self::Scalar(bits), None) => Some(*bits),
            (Self::Null, _) => Some(0),
            (Self::Composite { .. }, Some(i)) => self.component(i)?.scalar_at(None),
            _ => None,
        }
    }
}

fn insert(part: &Value, whole: &Value, path: &[usize]) -> Option<Value> {
    let Some((member, rest)) = path.split_first() else { return Some(part.clone()) };
    // Into a null one would have to know its type's members; no compiler does that.
    let Value::Composite { parts, .. } = whole else { return None };
    if parts.len() > MOST_COPIED {
        return None;
    }
    let mut parts = parts.to_vec();
    let place = parts.get_mut(*member)?;
    *place = insert(part, place, rest)?;
    Value::composite(parts)
}

fn shuffle(first: &Value, second: &Value, selected: impl Iterator<Item = usize>) -> Option<Value> {
    let (Value::Composite { parts: first, .. }, Value::Composite { parts: second, .. }) = (first, second) else { return None };
    let all: Option<Vec<Value>> = selected.map(|i| first.iter().chain(second.iter()).nth(i).cloned()).collect();
    all.and_then(Value::composite)
}
