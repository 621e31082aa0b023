//! What functions do with what a variable leads to.

use std::collections::{HashMap, HashSet};

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Op, Word};

use super::Access;
use crate::shader::loader::id;

/// Whether anything is read, and whether anything is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    reads: bool,
    writes: bool,
}

const READS: Use = Use { reads: true, writes: false };
const WRITES: Use = Use { reads: false, writes: true };
const BOTH: Use = Use { reads: true, writes: true };

impl Use {
    /// What is left of the access that a declaration grants. What nobody touches counts as read: it has no result.
    pub(super) fn of(self, declared: Access) -> Access {
        match (declared, self.reads, self.writes) {
            // Atomics read what is declared to be only written, and invalid modules do as they like.
            (_, true, true) | (Access::ReadOnly, false, true) => Access::ReadWrite,
            (Access::ReadWrite | Access::WriteOnly, false, true) => Access::WriteOnly,
            (Access::ReadWrite, _, false) => Access::ReadOnly,
            (declared, _, false) => declared,
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { reads: self.reads || other.reads, writes: self.writes || other.writes }
    }
}

/// What becomes of each variable of the module's, through whatever pointers are made of it. Where that can't be followed, such as
/// into another function, all is taken to be read and written.
pub(super) fn uses(module: &Module) -> HashMap<Word, Use> {
    let mut roots = Roots::of(module);
    let mut uses: HashMap<Word, Use> = HashMap::new();
    let blocks = module.functions.iter().flat_map(|function| &function.blocks);
    for instruction in blocks.flat_map(|block| &block.instructions) {
        if roots.follow(instruction) {
            continue;
        }
        for (place, operand) in instruction.operands.iter().enumerate() {
            if let Some(root) = roots.root(operand) {
                let found = uses.entry(root).or_default();
                *found = found.and(at(instruction, place));
            }
        }
    }
    uses
}

/// What an instruction does with the memory that the pointer at this place leads to.
fn at(instruction: &Instruction, place: usize) -> Use {
    match (instruction.class.opcode, place) {
        (Op::Load | Op::AtomicLoad, 0) | (Op::CopyMemory, 1) => READS,
        (Op::Store | Op::AtomicStore | Op::CopyMemory, 0) => WRITES,
        (Op::ArrayLength, 0) => Use::default(),
        _ => BOTH,
    }
}

/// The variable that each pointer leads to.
struct Roots {
    pointer_types: HashSet<Word>,
    roots: HashMap<Word, Word>,
}

impl Roots {
    fn of(module: &Module) -> Self {
        let globals = || module.types_global_values.iter();
        let pointer_types = globals().filter(|i| i.class.opcode == Op::TypePointer).filter_map(|i| i.result_id).collect();
        let variables = globals().filter(|i| i.class.opcode == Op::Variable).filter_map(|i| i.result_id);
        Self { pointer_types, roots: variables.map(|id| (id, id)).collect() }
    }

    fn root(&self, operand: &Operand) -> Option<Word> {
        self.roots.get(&id(operand)?).copied()
    }

    /// Whether an instruction only makes a pointer of another one.
    fn follow(&mut self, instruction: &Instruction) -> bool {
        let makes_pointer = instruction.result_type.is_some_and(|ty| self.pointer_types.contains(&ty));
        let is_chain = matches!(
            instruction.class.opcode,
            Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain | Op::CopyObject
        );
        let root = instruction.operands.first().and_then(|base| self.root(base));
        match (instruction.result_id, root) {
            (Some(result), Some(root)) if makes_pointer && is_chain => {
                self.roots.insert(result, root);
                true
            }
            _ => false,
        }
    }
}
