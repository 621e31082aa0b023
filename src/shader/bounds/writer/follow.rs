//! Following pointers from variables, and what arrays are called on the way.

use rspirv::dr::Instruction;
use rspirv::spirv::{Op, StorageClass, Word};

use super::Writer;
use crate::shader::edit::{Step, is_unguarded};
use crate::shader::loader::id;

/// What a pointer leads to: so many steps from a variable; and the indexes on the way, each with the array that it is one of.
#[derive(Clone, Debug)]
pub(super) struct Pointee {
    /// The variable, or the parameter.
    pub(super) variable: Word,
    pub(super) class: StorageClass,
    pub(super) path: Vec<Step>,
    pub(super) ty: Option<Word>,
    /// The array, by how many of the steps lead to it and its type, and the index.
    pub(super) indexes: Vec<Index>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Index {
    /// How many steps lead to the array.
    pub(super) steps: usize,
    pub(super) ty: Word,
    pub(super) index: Word,
}

impl Writer<'_> {
    pub(super) fn note_variables(&mut self) {
        for instruction in self.edit.module.types_global_values.clone() {
            if instruction.class.opcode == Op::Variable {
                self.root(&instruction);
            }
        }
    }

    /// A variable or a parameter, from which pointers are followed: but for samplers, and buffers and images that come as parameters.
    pub(super) fn root(&mut self, instruction: &Instruction) {
        let (Some(variable), Some(pointer)) = (instruction.result_id, instruction.result_type) else { return };
        let is_variable = instruction.class.opcode == Op::Variable;
        let is_followed = |(class, ty): &(StorageClass, Word)| match class {
            StorageClass::StorageBuffer | StorageClass::Uniform => is_variable,
            StorageClass::UniformConstant => is_variable && self.is_image(*ty),
            _ => is_unguarded(*class),
        };
        let Some((class, ty)) = self.edit.pointee(pointer).filter(is_followed) else { return };
        self.places.insert(variable, Pointee { variable, class, path: Vec::new(), ty: Some(ty), indexes: Vec::new() });
    }

    pub(super) fn follow(&mut self, instruction: &Instruction) {
        let Some(result) = instruction.result_id else { return };
        let base = instruction.operands.first().and_then(id).and_then(|base| self.places.get(&base));
        let Some(mut place) = base.cloned() else { return };
        match instruction.class.opcode {
            Op::CopyObject | Op::Image | Op::SampledImage => {}
            // An image is known by where it was loaded from.
            Op::Load if instruction.result_type.is_some_and(|ty| self.is_image(ty)) => {}
            Op::AccessChain | Op::InBoundsAccessChain => {
                for index in instruction.operands[1..].iter().filter_map(id) {
                    self.step(&mut place, index);
                }
            }
            _ => return,
        }
        self.places.insert(result, place);
    }

    pub(super) fn step(&self, place: &mut Pointee, index: Word) {
        let Some(id_of_type) = place.ty else { return };
        let Some(ty) = self.edit.types.get(&id_of_type) else { return };
        place.ty = match ty.class.opcode {
            Op::TypeStruct => {
                let member = self.edit.literal(index).unwrap_or(u32::MAX);
                place.path.push(Step::Member(member));
                ty.operands.get(member as usize).and_then(id)
            }
            Op::TypeArray | Op::TypeRuntimeArray | Op::TypeVector | Op::TypeMatrix => {
                place.indexes.push(Index { steps: place.path.len(), ty: id_of_type, index });
                place.path.push(Step::Element);
                ty.operands.first().and_then(id)
            }
            _ => None,
        };
    }

    /// Whether a pointer that wasn't followed leads to memory with arrays.
    pub(super) fn may_be_array(&self, pointer: Word) -> bool {
        let is_buffer =
            |class| matches!(class, StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::PhysicalStorageBuffer);
        let class = self.edit.type_of.get(&pointer).and_then(|ty| self.edit.pointee(*ty)).map(|(class, _)| class);
        class.is_some_and(|class| is_buffer(class) || is_unguarded(class))
    }

    /// Whether a type is that of an image, or of an array of them.
    fn is_image(&self, ty: Word) -> bool {
        let Some(ty) = self.edit.types.get(&ty) else { return false };
        match ty.class.opcode {
            Op::TypeImage | Op::TypeSampledImage => true,
            Op::TypeArray | Op::TypeRuntimeArray => ty.operands.first().and_then(id).is_some_and(|of| self.is_image(of)),
            _ => false,
        }
    }

    pub(super) fn type_at(&self, variable: Word, path: &[Step]) -> Option<Word> {
        let mut ty = self.places.get(&variable)?.ty?;
        for step in path {
            let place = match step {
                Step::Member(member) => *member as usize,
                Step::Element => 0,
            };
            ty = self.edit.types.get(&ty)?.operands.get(place).and_then(id)?;
        }
        Some(ty)
    }
}

/// The pointers that an instruction accesses, and whether it only reads there.
pub(super) fn pointers(instruction: &Instruction) -> Vec<(Word, bool)> {
    let accesses: &[bool] = match instruction.class.opcode {
        Op::Load | Op::CooperativeMatrixLoadKHR => &[true],
        Op::Store | Op::CooperativeMatrixStoreKHR => &[false],
        Op::CopyMemory | Op::CopyMemorySized => &[false, true],
        _ if instruction.class.opname.starts_with("Atomic") => &[false],
        _ => &[],
    };
    instruction.operands.iter().zip(accesses).filter_map(|(operand, is_read)| Some((id(operand)?, *is_read))).collect()
}

pub(super) fn reaches_further(instruction: &Instruction) -> bool {
    matches!(instruction.class.opcode, Op::CooperativeMatrixLoadKHR | Op::CooperativeMatrixStoreKHR)
}
