//! One entry point of a module with several: what belongs to the others alone is taken out.

use std::collections::{HashMap, HashSet};

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{ExecutionModel, Op, Word};

use super::ReflectError;
use crate::shader::loader::id;

/// Takes the other entry points out of a module, and with them functions that this one doesn't call, and the variables that functions mention, but none that this one comes to.
/// Which entry points the module has doesn't count: those of the others may be gone, and their functions not. A variable that no
/// function mentions stays: it is declared for all of them.
pub(super) fn narrow(module: &mut Module, name: &str) -> Result<(), ReflectError> {
    let function = find(module, name)?;
    module.entry_points.retain(|entry| compute(entry) == Some((function, name)));
    let mentions = Mentions::of(module);
    let own = mentions.from([function]);
    let mentioned: HashSet<Word> = mentions.0.values().flatten().copied().collect();
    module.types_global_values.retain(|instruction| {
        let variable = instruction.result_id.filter(|_| instruction.class.opcode == Op::Variable);
        variable.is_none_or(|variable| own.contains(&variable) || !mentioned.contains(&variable))
    });
    module.functions.retain(|function| function.def_id().is_some_and(|id| own.contains(&id)));
    Ok(())
}

fn find(module: &Module, name: &str) -> Result<Word, ReflectError> {
    let all = || module.entry_points.iter().filter_map(compute);
    let found = all().find(|(_, known)| *known == name).map(|(function, _)| function);
    found.ok_or_else(|| match all().next() {
        Some(_) => {
            ReflectError::NoEntryPoint { name: name.to_owned(), known: all().map(|(_, name)| name.to_owned()).collect() }
        }
        None => ReflectError::NoComputeEntryPoint,
    })
}

fn compute(instruction: &Instruction) -> Option<(Word, &str)> {
    match &instruction.operands[..] {
        [Operand::ExecutionModel(ExecutionModel::GLCompute), Operand::IdRef(function), Operand::LiteralString(name), ..] => {
            Some((*function, name))
        }
        _ => None,
    }
}

/// The ids that each function mentions, those of functions that it calls among them.
pub(in crate::shader) struct Mentions(HashMap<Word, HashSet<Word>>);

impl Mentions {
    pub(in crate::shader) fn of(module: &Module) -> Self {
        let functions = module.functions.iter().filter_map(|function| {
            let operands = function.all_inst_iter().flat_map(|instruction| &instruction.operands);
            Some((function.def_id()?, operands.filter_map(id).collect()))
        });
        Self(functions.collect())
    }

    /// All ids that these functions mention, and those that they call, their own among them.
    pub(in crate::shader) fn from(&self, functions: impl IntoIterator<Item = Word>) -> HashSet<Word> {
        let mut open: Vec<Word> = functions.into_iter().collect();
        let mut seen: HashSet<Word> = open.iter().copied().collect();
        while let Some(function) = open.pop() {
            for mentioned in self.0.get(&function).into_iter().flatten() {
                if seen.insert(*mentioned) {
                    open.push(*mentioned);
                }
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shader::loader::load;
    use crate::shader::words::module;
    use rspirv::spirv::StorageClass;

    /// What rewrites a module takes the other entry points out: their functions stay, and what these use isn't this one's for that.
    #[test]
    fn what_only_functions_of_others_use_is_theirs_though_their_entry_points_are_gone() {
        let name = u32::from_le_bytes(*b"own\0");
        let variable = |id: u32| [Op::Variable as u32, 1, id, StorageClass::PushConstant as u32];
        let function = |id: u32, uses: u32| {
            [
                vec![Op::Function as u32, 2, id, 0, 3],
                vec![Op::Label as u32, id + 1],
                vec![Op::Load as u32, 4, id + 2, uses],
                vec![Op::Return as u32],
                vec![Op::FunctionEnd as u32],
            ]
        };
        let entry = [Op::EntryPoint as u32, ExecutionModel::GLCompute as u32, 20, name];
        let other = [Op::EntryPoint as u32, ExecutionModel::GLCompute as u32, 30, u32::from_le_bytes(*b"two\0")];
        let (own, foreign) = (function(20, 10), function(30, 11));
        for entries in [vec![&entry[..]], vec![&entry[..], &other[..]]] {
            let variables = [variable(10), variable(11), variable(12)];
            let functions = own.iter().chain(&foreign).map(Vec::as_slice);
            let all: Vec<&[u32]> = entries.into_iter().chain(variables.iter().map(|one| &one[..])).chain(functions).collect();
            let mut module = load(&module(&all)).unwrap();
            narrow(&mut module, "own").unwrap();
            let left: Vec<Option<Word>> = module.types_global_values.iter().map(|one| one.result_id).collect();
            assert_eq!((left, module.entry_points.len()), (vec![Some(10), Some(12)], 1));
        }
    }
}
