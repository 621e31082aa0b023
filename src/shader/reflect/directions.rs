//! In which directions functions tell invocations apart.

use std::collections::{HashMap, HashSet};

use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, Word};

use super::index::Index;
use super::reads::numbers;
use crate::shader::loader::id;

/// Whether functions use x, y and z of an invocation's place among all, or of its workgroup's, as far as that is plain: a component of
/// a copy isn't followed.
pub(super) fn directions(module: &Module, index: &Index) -> [bool; 3] {
    let numbers = numbers(module);
    let is_place = |variable: &Word| {
        let built_in = index.argument(*variable, Decoration::BuiltIn);
        [BuiltIn::GlobalInvocationId, BuiltIn::WorkgroupId].iter().any(|place| built_in == Some(*place as u32))
    };
    let variables = module.types_global_values.iter().filter_map(|instruction| instruction.result_id);
    // Pointers to a place, and what is loaded from them.
    let mut places: HashSet<Word> = variables.filter(is_place).collect();
    let mut used = [false; 3];
    for instruction in module.functions.iter().flat_map(Function::all_inst_iter) {
        let Some(base) = instruction.operands.first().and_then(id).filter(|base| places.contains(base)) else { continue };
        if instruction.class.opcode == Op::Load {
            places.extend(instruction.result_id);
        }
        for component in components(instruction, base, &numbers) {
            used.iter_mut().skip(component as usize).take(1).for_each(|used| *used = true);
        }
    }
    used
}

pub(super) fn counts_invocations(module: &Module, index: &Index) -> bool {
    let is_it = |variable| index.argument(variable, Decoration::BuiltIn) == Some(BuiltIn::GlobalInvocationId as u32);
    module.types_global_values.iter().filter_map(|instruction| instruction.result_id).any(is_it)
}

/// Those that an instruction takes of the vector that is its first operand, or that this leads to.
fn components(instruction: &Instruction, base: Word, numbers: &HashMap<Word, u32>) -> Vec<u32> {
    match (instruction.class.opcode, &instruction.operands[..]) {
        (Op::AccessChain | Op::InBoundsAccessChain, [_, component]) => {
            id(component).and_then(|component| numbers.get(&component)).copied().into_iter().collect()
        }
        (Op::CompositeExtract, [_, Operand::LiteralBit32(component)]) => vec![*component],
        (Op::VectorShuffle, [_, other, components @ ..]) if id(other) == Some(base) => {
            let literal =
                |operand: &Operand| if let Operand::LiteralBit32(literal) = operand { Some(literal % 3) } else { None };
            components.iter().filter_map(literal).collect()
        }
        _ => Vec::new(),
    }
}
