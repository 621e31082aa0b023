//! The functions of a module, as far as counting their instructions needs them.

use std::collections::{BTreeSet, HashMap};

use rspirv::dr::{self, Instruction, Module, Operand};
use rspirv::spirv::{Op, Word};

use super::constants::{Constants, Values};
use super::flow::{self, End, Flow, Node};
use super::index::Index;
use super::kinds::{self, ExtendedSet};
use super::mix::InstructionCounts;
use super::pointers::Pointers;
use super::subgroup::{self, Subgroups};
use super::types::Types;
use crate::model::SubgroupClass;
use crate::shader::loader::id;

#[derive(Clone, Debug)]
pub(super) struct Code {
    functions: HashMap<Word, Vec<BasicBlock>>,
}

#[derive(Clone, Debug)]
pub(super) struct BasicBlock {
    pub(super) counts: InstructionCounts,
    pub(super) classes: BTreeSet<SubgroupClass>,
    /// Subgroup reductions and scans, which are among those.
    pub(super) reductions: u64,
    /// The functions that it calls, each as often as it does.
    pub(super) calls: Vec<Word>,
    node: Node,
}

impl Code {
    pub(super) fn of(module: &Module, types: &Types, constants: &Constants, defaults: &Values, index: &Index) -> Self {
        let mut reader = Reader {
            pointers: Pointers::of(module, types, index),
            subgroups: Subgroups::of(module, index, defaults),
            sets: module.ext_inst_imports.iter().filter_map(extended_set).collect(),
        };
        let mut functions = HashMap::new();
        for function in &module.functions {
            let Some(id) = function.def.as_ref().and_then(|definition| definition.result_id) else { continue };
            function.parameters.iter().for_each(|parameter| reader.pointers.note(parameter));
            let blocks = function.blocks.iter().filter_map(|block| reader.block(block, types, constants));
            functions.insert(id, blocks.collect());
        }
        Self { functions }
    }

    pub(super) fn reached(&self, function: Word, values: &Values) -> (&[BasicBlock], Flow) {
        let blocks = self.functions.get(&function).map_or(&[][..], Vec::as_slice);
        (blocks, flow::reached(blocks.iter().map(|block| &block.node), values))
    }
}

fn extended_set(import: &Instruction) -> Option<(Word, ExtendedSet)> {
    match &import.operands[..] {
        [Operand::LiteralString(name)] => Some((import.result_id?, ExtendedSet::named(name))),
        _ => None,
    }
}

/// Reads blocks in their order, in which pointers are made before they are used.
struct Reader<'a> {
    pointers: Pointers,
    subgroups: Subgroups<'a>,
    sets: HashMap<Word, ExtendedSet>,
}

impl Reader<'_> {
    fn block(&mut self, block: &dr::Block, types: &Types, constants: &Constants) -> Option<BasicBlock> {
        let label = block.label.as_ref()?.result_id?;
        let instructions = &block.instructions;
        let loop_merge = instructions.iter().find(|instruction| instruction.class.opcode == Op::LoopMerge);
        let loop_merge = loop_merge.and_then(|merge| id(merge.operands.first()?));
        let calls = instructions.iter().filter(|instruction| instruction.class.opcode == Op::FunctionCall);
        let mut read = BasicBlock {
            counts: InstructionCounts::default(),
            classes: BTreeSet::new(),
            reductions: 0,
            calls: calls.filter_map(|call| id(call.operands.first()?)).collect(),
            node: Node { label, loop_merge, end: End::of(block, types, constants) },
        };
        for instruction in instructions {
            self.pointers.note(instruction);
            self.subgroups.note(instruction, &mut read.classes);
            self.count(instruction, &mut read.counts);
            read.reductions += u64::from(subgroup::is_reduction(instruction));
        }
        Some(read)
    }

    fn count(&self, instruction: &Instruction, counts: &mut InstructionCounts) {
        let operands = &instruction.operands;
        // Cooperative matrices and vectors have loads and stores of several vendors.
        let name = instruction.class.opname;
        let is = |verb| name == verb || (name.starts_with("Cooperative") && name.contains(verb));
        let kind = match (instruction.class.opcode, &operands[..]) {
            _ if is("Load") => self.pointers.load(operands.first()),
            _ if is("Store") => Some(self.pointers.store(operands.first())),
            (Op::CopyMemory | Op::CopyMemorySized, _) => {
                counts.count(self.pointers.store(operands.first()));
                self.pointers.load(operands.get(1))
            }
            (Op::ExtInst, [Operand::IdRef(set), Operand::LiteralExtInstInteger(number), ..]) => {
                self.sets.get(set).copied().unwrap_or(ExtendedSet::Unknown).kind(*number)
            }
            (opcode, _) => kinds::of_opcode(opcode),
        };
        if let Some(kind) = kind {
            counts.count(kind);
        }
    }
}
