//! What functions do with what a variable leads to.

use std::collections::{HashMap, HashSet};

use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{Op, Word};

use super::Access;
use crate::shader::loader::id;

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
    for instruction in module.functions.iter().flat_map(Function::all_inst_iter) {
        if roots.follow(instruction) {
            continue;
        }
        for (place, operand) in instruction.operands.iter().enumerate() {
            if let Some((root, reached)) = roots.root(operand) {
                let found = uses.entry(root).or_default();
                *found = found.and(match reached {
                    Reached::Memory => at(instruction, place),
                    Reached::Image => of_image(instruction, place),
                });
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

/// What an instruction does with the texels of the image at this place.
fn of_image(instruction: &Instruction, place: usize) -> Use {
    match (instruction.class.opcode, place) {
        (Op::ImageRead | Op::ImageSparseRead, 0) => READS,
        (Op::ImageWrite, 0) => WRITES,
        (
            Op::ImageQuerySize | Op::ImageQuerySizeLod | Op::ImageQueryFormat | Op::ImageQueryLevels | Op::ImageQuerySamples,
            0,
        ) => Use::default(),
        _ => BOTH,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    Memory,
    Image,
}

struct Roots {
    pointer_types: HashSet<Word>,
    image_types: HashSet<Word>,
    roots: HashMap<Word, (Word, Reached)>,
}

impl Roots {
    fn of(module: &Module) -> Self {
        let globals = || module.types_global_values.iter();
        let all = |opcode| globals().filter(move |i| i.class.opcode == opcode).filter_map(|i| i.result_id);
        let variables = all(Op::Variable).map(|id| (id, (id, Reached::Memory)));
        Self {
            pointer_types: all(Op::TypePointer).collect(),
            image_types: all(Op::TypeImage).collect(),
            roots: variables.collect(),
        }
    }

    fn root(&self, operand: &Operand) -> Option<(Word, Reached)> {
        self.roots.get(&id(operand)?).copied()
    }

    /// Whether an instruction only makes a pointer or an image of another one, or takes an image from where a pointer leads.
    fn follow(&mut self, instruction: &Instruction) -> bool {
        let makes = |types: &HashSet<Word>| instruction.result_type.is_some_and(|ty| types.contains(&ty));
        let (makes_pointer, makes_image) = (makes(&self.pointer_types), makes(&self.image_types));
        let is_chain = matches!(
            instruction.class.opcode,
            Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain | Op::CopyObject
        );
        let is_copy = matches!(instruction.class.opcode, Op::Load | Op::CopyObject);
        let root = instruction.operands.first().and_then(|base| self.root(base));
        match (instruction.result_id, root) {
            (Some(result), Some((root, reached))) if (makes_pointer && is_chain) || (makes_image && is_copy) => {
                self.roots.insert(result, (root, if makes_image { Reached::Image } else { reached }));
                true
            }
            _ => false,
        }
    }
}
