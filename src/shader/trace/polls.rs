//! Whether a loop goes on until an instruction in it reads another value.

use std::collections::{HashMap, HashSet};

use rspirv::dr::{Block, Function, Instruction};
use rspirv::spirv::{Op, Word};

use super::loops::Loops;
use crate::shader::loader::id;

/// What the values of a function's instructions lead to.
pub(super) struct Waiting<'f> {
    function: &'f Function,
    loops: &'f Loops,
    /// The blocks that lead to each block.
    before: HashMap<Word, Vec<&'f Block>>,
}

fn label(block: &Block) -> Option<Word> {
    block.label.as_ref()?.result_id
}

/// The blocks that a block leads to. What stands among the operands besides is no block.
fn targets(block: &Block) -> impl Iterator<Item = Word> + '_ {
    block.instructions.last().into_iter().flat_map(|end| end.operands.iter().filter_map(id))
}

fn condition(block: &Block) -> Option<Word> {
    let end = block.instructions.last()?;
    matches!(end.class.opcode, Op::BranchConditional | Op::Switch).then(|| id(end.operands.first()?)).flatten()
}

impl<'f> Waiting<'f> {
    pub(super) fn of(function: &'f Function, loops: &'f Loops) -> Self {
        let mut before: HashMap<Word, Vec<&Block>> = HashMap::new();
        for block in &function.blocks {
            targets(block).for_each(|target| before.entry(target).or_default().push(block));
        }
        Self { function, loops, before }
    }

    /// Whether it is by what an instruction reads that a loop ends.
    pub(super) fn ends(&self, at: usize, result: Word) -> bool {
        let derived = self.derived(result);
        let is_inside = |block: Word| self.loops.around(block).is_some_and(|around| around.contains(&at));
        let leaves = |block: &&Block| {
            let is_own = label(block).is_some_and(is_inside);
            let returns = block.instructions.last().is_some_and(|end| matches!(end.class.opcode, Op::Return | Op::ReturnValue));
            let is_block = |target: &Word| self.before.contains_key(target) && self.loops.around(*target).is_some();
            is_own && (returns || targets(block).filter(is_block).any(|target| !is_inside(target)))
        };
        let mut seen = HashSet::new();
        let mut open: Vec<&Block> = self.function.blocks.iter().filter(leaves).collect();
        while let Some(block) = open.pop() {
            let Some(own) = label(block).filter(|own| is_inside(*own) && seen.insert(*own)) else { continue };
            match condition(block) {
                Some(condition) if derived.contains(&condition) => return true,
                Some(_) => {}
                // It leaves where a block before it chose so.
                None => open.extend(self.before.get(&own).into_iter().flatten()),
            }
        }
        false
    }

    /// What is made of a value, also by way of variables of the invocation's own.
    fn derived(&self, result: Word) -> HashSet<Word> {
        let mut derived = HashSet::from([result]);
        loop {
            let known = derived.len();
            for instruction in self.function.all_inst_iter() {
                let uses = instruction.operands.iter().filter_map(id).any(|operand| derived.contains(&operand));
                if uses {
                    derived.extend(instruction.result_id);
                    derived.extend(stored_to(instruction));
                }
            }
            if derived.len() == known {
                return derived;
            }
        }
    }
}

fn stored_to(instruction: &Instruction) -> Option<Word> {
    (instruction.class.opcode == Op::Store).then(|| id(instruction.operands.first()?)).flatten()
}
