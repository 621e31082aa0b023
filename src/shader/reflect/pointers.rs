//! Which memory a pointer leads to.

use std::collections::HashMap;

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Decoration, Op, StorageClass, Word};

use super::index::Index;
use super::interface::element;
use super::kinds::InstructionKind;
use super::types::{TypeNode, Types};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// Storage buffers, and what addresses lead to.
    Global,
    Shared,
    Private,
    Uniform,
    /// Images and samplers: a load takes the descriptor, and reads no memory.
    Descriptor,
    Other,
}

/// The memory of each pointer, as far as instructions have been noted.
#[derive(Debug, Default)]
pub(super) struct Pointers {
    classes: HashMap<Word, StorageClass>,
    memories: HashMap<Word, Memory>,
}

impl Pointers {
    pub(super) fn of(module: &Module, types: &Types, index: &Index) -> Self {
        let mut pointers = Self::default();
        for instruction in &module.types_global_values {
            let Some(result) = instruction.result_id else { continue };
            if let (Op::TypePointer | Op::TypeUntypedPointerKHR, Some(Operand::StorageClass(class))) =
                (instruction.class.opcode, instruction.operands.first())
            {
                pointers.classes.insert(result, *class);
            }
            pointers.note(instruction);
            // Before SPIR-V 1.3, storage buffers are uniforms with another decoration.
            if let Some(TypeNode::Pointer { class: StorageClass::Uniform, pointee }) =
                instruction.result_type.and_then(|ty| types.get(ty))
            {
                if index.has(element(*pointee, types).0, Decoration::BufferBlock) {
                    pointers.memories.insert(result, Memory::Global);
                }
            }
        }
        pointers
    }

    /// Notes an instruction's result, if it is a pointer. One that is made from another leads to the same memory.
    pub(super) fn note(&mut self, instruction: &Instruction) {
        let (Some(ty), Some(result)) = (instruction.result_type, instruction.result_id) else { return };
        let Some(class) = self.classes.get(&ty) else { return };
        let memory = match Memory::of(*class) {
            Memory::Uniform => instruction.operands.first().and_then(|base| self.memory(base)).unwrap_or(Memory::Uniform),
            memory => memory,
        };
        self.memories.insert(result, memory);
    }

    fn memory(&self, operand: &Operand) -> Option<Memory> {
        match operand {
            Operand::IdRef(id) => self.memories.get(id).copied(),
            _ => None,
        }
    }

    /// The kind of a load from a pointer; none where it reads no memory.
    pub(super) fn load(&self, pointer: Option<&Operand>) -> Option<InstructionKind> {
        match pointer.and_then(|pointer| self.memory(pointer)).unwrap_or(Memory::Other) {
            Memory::Global => Some(InstructionKind::GlobalLoad),
            Memory::Shared => Some(InstructionKind::SharedLoad),
            Memory::Private => Some(InstructionKind::PrivateLoad),
            Memory::Uniform => Some(InstructionKind::UniformLoad),
            Memory::Descriptor => None,
            Memory::Other => Some(InstructionKind::Other),
        }
    }

    pub(super) fn store(&self, pointer: Option<&Operand>) -> InstructionKind {
        match pointer.and_then(|pointer| self.memory(pointer)).unwrap_or(Memory::Other) {
            // What can be written is a storage buffer, even where it came through a function's parameter.
            Memory::Global | Memory::Uniform => InstructionKind::GlobalStore,
            Memory::Shared => InstructionKind::SharedStore,
            Memory::Private => InstructionKind::PrivateStore,
            Memory::Descriptor | Memory::Other => InstructionKind::Other,
        }
    }
}

impl Memory {
    fn of(class: StorageClass) -> Self {
        match class {
            StorageClass::StorageBuffer | StorageClass::PhysicalStorageBuffer | StorageClass::ShaderRecordBufferKHR => {
                Self::Global
            }
            StorageClass::Workgroup | StorageClass::TaskPayloadWorkgroupEXT => Self::Shared,
            StorageClass::Private | StorageClass::Function => Self::Private,
            StorageClass::Uniform | StorageClass::PushConstant => Self::Uniform,
            StorageClass::UniformConstant => Self::Descriptor,
            _ => Self::Other,
        }
    }
}
