//! One entry point of a module with several: what belongs to the others alone is taken out.

use std::collections::{HashMap, HashSet};

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{ExecutionModel, Op, Word};

use super::ReflectError;
use crate::shader::loader::id;

/// Takes the other entry points out of a module, and with them the variables that their functions mention and this one's don't.
/// A variable that no function mentions stays: it is declared for all of them.
pub(super) fn narrow(module: &mut Module, name: &str) -> Result<(), ReflectError> {
    let function = find(module, name)?;
    let (others, own): (Vec<Instruction>, Vec<Instruction>) =
        module.entry_points.drain(..).partition(|entry| compute(entry) != Some((function, name)));
    module.entry_points = own;
    let mentions = Mentions::of(module);
    let own = mentions.from([function]);
    let foreign = mentions.from(others.iter().filter_map(|entry| id(entry.operands.get(1)?)));
    module.types_global_values.retain(|instruction| {
        let variable = instruction.result_id.filter(|_| instruction.class.opcode == Op::Variable);
        variable.is_none_or(|variable| own.contains(&variable) || !foreign.contains(&variable))
    });
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
