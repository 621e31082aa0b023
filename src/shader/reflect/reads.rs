//! Which parts of push constants and uniform blocks functions read: what nobody reads needs no value.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{Op, StorageClass, Word};

use super::blocks::{StructLayout, TypeLayout};
use crate::shader::loader::id;

/// Indexes from a variable down to what is read: all that lies below the last one.
pub(super) type Path = Vec<u32>;

/// The longest path that is followed, so that pointers made of pointers don't take all memory; no compiler nests as deep.
const LONGEST: usize = 64;

/// A pointer into a variable. It is open where further indexes would lead on from its path.
#[derive(Clone)]
struct Pointer {
    variable: Word,
    path: Path,
    is_open: bool,
}

/// What functions read of each variable of the module's. A pointer that isn't followed reads all that it leads to.
pub(super) fn reads(module: &Module) -> HashMap<Word, BTreeSet<Path>> {
    let numbers = numbers(module);
    let begin = |variable: Word| (variable, Pointer { variable, path: Path::new(), is_open: true });
    let mut places: HashMap<Word, Pointer> = module.types_global_values.iter().filter_map(uniform).map(begin).collect();
    let mut reads: HashMap<Word, BTreeSet<Path>> = HashMap::new();
    for instruction in module.functions.iter().flat_map(Function::all_inst_iter) {
        let base = instruction.operands.first().and_then(id).and_then(|base| places.get(&base));
        match (instruction.class.opcode, base, instruction.result_id) {
            (Op::AccessChain | Op::InBoundsAccessChain, Some(base), Some(result)) => {
                let mut place = base.clone();
                place.follow(&instruction.operands[1..], &numbers);
                places.insert(result, place);
            }
            (Op::ArrayLength, ..) => {}
            // Where these lead, one pass over the code doesn't tell.
            (Op::Phi | Op::PtrAccessChain | Op::InBoundsPtrAccessChain, ..) => {
                for Pointer { variable, .. } in instruction.operands.iter().filter_map(|operand| places.get(&id(operand)?)) {
                    reads.entry(*variable).or_default().insert(Path::new());
                }
            }
            _ => {
                for Pointer { variable, path, .. } in
                    instruction.operands.iter().filter_map(|operand| places.get(&id(operand)?))
                {
                    reads.entry(*variable).or_default().insert(path.clone());
                }
            }
        }
    }
    reads
}

impl Pointer {
    fn follow(&mut self, indexes: &[Operand], numbers: &HashMap<Word, u32>) {
        for index in indexes {
            let known = id(index).and_then(|index| numbers.get(&index)).filter(|_| self.is_open && self.path.len() < LONGEST);
            self.is_open = known.is_some();
            self.path.extend(known);
        }
    }
}

/// A variable whose memory nobody writes.
fn uniform(instruction: &Instruction) -> Option<Word> {
    match (instruction.class.opcode, instruction.operands.first()) {
        (Op::Variable, Some(Operand::StorageClass(StorageClass::Uniform | StorageClass::PushConstant))) => {
            instruction.result_id
        }
        _ => None,
    }
}

/// Constants of 32 bits that no pipeline sets.
pub(super) fn numbers(module: &Module) -> HashMap<Word, u32> {
    module.types_global_values.iter().filter_map(number).collect()
}

fn number(instruction: &Instruction) -> Option<(Word, u32)> {
    match (instruction.class.opcode, &instruction.operands[..]) {
        (Op::Constant, [Operand::LiteralBit32(value)]) => Some((instruction.result_id?, *value)),
        _ => None,
    }
}

/// The bytes of a block that a path leads to.
pub(super) fn bytes(layout: &StructLayout, path: &[u32]) -> Range<u64> {
    let Some((index, rest)) = path.split_first() else { return 0..u64::MAX };
    let Some(member) = layout.members.get(*index as usize) else { return 0..u64::MAX };
    in_type(&member.ty, member.offset.into(), rest)
}

fn in_type(ty: &TypeLayout, at: u64, path: &[u32]) -> Range<u64> {
    let all = at..ty.bytes().map_or(u64::MAX, |bytes| at.saturating_add(bytes));
    match (ty, path) {
        (TypeLayout::Struct(layout), [_, ..]) => {
            let Range { start, end } = bytes(layout, path);
            at.saturating_add(start)..at.saturating_add(end)
        }
        (TypeLayout::Array { stride, element, .. } | TypeLayout::RuntimeArray { stride, element }, [index, rest @ ..]) => {
            in_type(element, at.saturating_add(u64::from(*index) * u64::from(*stride)), rest)
        }
        // Of vectors and matrices all counts.
        _ => all,
    }
}
