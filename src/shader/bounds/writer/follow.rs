//! Following pointers from the buffers' variables, and what arrays are called on the way.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, StorageClass, Word};

use super::Writer;
use crate::shader::loader::id;

/// A step from a buffer's variable towards what a pointer leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Member(u32),
    Element,
}

/// What a pointer leads to: so many steps from a variable; and the indexes on the way, each with the array that it is one of.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) variable: Word,
    pub(super) path: Vec<Step>,
    /// The type of what it leads to; nothing within vectors and matrices, which have no arrays.
    pub(super) ty: Option<Word>,
    /// How many of the steps lead to the array, and the index.
    pub(super) indexes: Vec<(usize, Word)>,
}

impl Writer {
    /// The variables of buffers, from which pointers are followed.
    pub(super) fn note_buffers(&mut self) {
        for instruction in &self.module.types_global_values {
            let is_buffer =
                |class: &Operand| matches!(class, Operand::StorageClass(StorageClass::StorageBuffer | StorageClass::Uniform));
            let (Op::Variable, Some(variable), Some(pointer)) =
                (instruction.class.opcode, instruction.result_id, instruction.result_type)
            else {
                continue;
            };
            let pointee = self.types.get(&pointer).and_then(|pointer| id(pointer.operands.get(1)?));
            if let (true, Some(ty)) = (instruction.operands.first().is_some_and(is_buffer), pointee) {
                let place = Place { variable, path: Vec::new(), ty: Some(ty), indexes: Vec::new() };
                self.places.insert(variable, place);
            }
        }
    }

    /// Notes where a pointer leads that is made of another.
    pub(super) fn follow(&mut self, instruction: &Instruction) {
        let Some(result) = instruction.result_id else { return };
        let base = instruction.operands.first().and_then(id).and_then(|base| self.places.get(&base));
        let Some(mut place) = base.cloned() else { return };
        match instruction.class.opcode {
            Op::CopyObject => {}
            Op::AccessChain | Op::InBoundsAccessChain => {
                for index in instruction.operands[1..].iter().filter_map(id) {
                    self.step(&mut place, index);
                }
            }
            _ => return,
        }
        self.places.insert(result, place);
    }

    pub(super) fn step(&self, place: &mut Place, index: Word) {
        let Some(ty) = place.ty.and_then(|ty| self.types.get(&ty)) else { return };
        place.ty = match ty.class.opcode {
            Op::TypeStruct => {
                let member = self.literal(index).unwrap_or(u32::MAX);
                place.path.push(Step::Member(member));
                ty.operands.get(member as usize).and_then(id)
            }
            Op::TypeArray | Op::TypeRuntimeArray => {
                place.indexes.push((place.path.len(), index));
                place.path.push(Step::Element);
                ty.operands.first().and_then(id)
            }
            _ => None,
        };
    }

    /// The value of a constant of 32 bits.
    pub(super) fn literal(&self, constant: Word) -> Option<u32> {
        let instruction = self.constants.get(&constant).filter(|constant| constant.class.opcode == Op::Constant)?;
        match instruction.operands[..] {
            [Operand::LiteralBit32(value)] => Some(value),
            _ => None,
        }
    }

    /// Whether a pointer that wasn't followed leads to buffers.
    pub(super) fn may_be_buffer(&self, pointer: Word) -> bool {
        let ty = self.type_of.get(&pointer).and_then(|ty| self.types.get(ty));
        matches!(
            ty.and_then(|ty| ty.operands.first()),
            Some(Operand::StorageClass(
                StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::PhysicalStorageBuffer
            ))
        )
    }

    pub(super) fn type_at(&self, variable: Word, path: &[Step]) -> Option<Word> {
        let mut ty = self.places.get(&variable)?.ty?;
        for step in path {
            let place = match step {
                Step::Member(member) => *member as usize,
                Step::Element => 0,
            };
            ty = self.types.get(&ty)?.operands.get(place).and_then(id)?;
        }
        Some(ty)
    }

    /// How the shader calls the array: members of a block without a name of its own are global.
    pub(super) fn path_name(&self, variable: Word, path: &[Step]) -> String {
        let mut name = self.name(variable, None).unwrap_or_default();
        let mut ty = self.places.get(&variable).and_then(|place| place.ty);
        for step in path {
            let instruction = ty.and_then(|ty| self.types.get(&ty));
            let place = match step {
                Step::Member(member) => {
                    let member_name = ty.and_then(|ty| self.name(ty, Some(*member))).unwrap_or_else(|| member.to_string());
                    name = if name.is_empty() { member_name } else { format!("{name}.{member_name}") };
                    *member as usize
                }
                Step::Element => {
                    name.push_str("[]");
                    0
                }
            };
            ty = instruction.and_then(|ty| id(ty.operands.get(place)?));
        }
        name
    }

    pub(super) fn name(&self, target: Word, member: Option<u32>) -> Option<String> {
        let named = self.module.debug_names.iter().find_map(|instruction| match (&instruction.operands[..], member) {
            ([Operand::IdRef(id), Operand::LiteralString(name)], None) if *id == target => Some(name.clone()),
            ([Operand::IdRef(id), Operand::LiteralBit32(place), Operand::LiteralString(name)], Some(member))
                if (*id, *place) == (target, member) =>
            {
                Some(name.clone())
            }
            _ => None,
        });
        named.filter(|name| !name.is_empty())
    }
}

/// The pointers through which an instruction reads or writes.
pub(super) fn pointers(instruction: &Instruction) -> Vec<Word> {
    let op = instruction.class.opcode;
    let count = match op {
        Op::Load | Op::Store | Op::CooperativeMatrixLoadKHR | Op::CooperativeMatrixStoreKHR => 1,
        Op::CopyMemory | Op::CopyMemorySized => 2,
        _ if is_atomic(op) => 1,
        _ => 0,
    };
    instruction.operands.iter().take(count).filter_map(id).collect()
}

fn is_atomic(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        AtomicLoad
            | AtomicStore
            | AtomicExchange
            | AtomicCompareExchange
            | AtomicCompareExchangeWeak
            | AtomicIIncrement
            | AtomicIDecrement
            | AtomicIAdd
            | AtomicISub
            | AtomicSMin
            | AtomicUMin
            | AtomicSMax
            | AtomicUMax
            | AtomicAnd
            | AtomicOr
            | AtomicXor
            | AtomicFAddEXT
            | AtomicFMinEXT
            | AtomicFMaxEXT
            | AtomicFlagTestAndSet
            | AtomicFlagClear
    )
}
