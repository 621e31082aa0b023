//! Where a function branches to, and what is done in between.

use std::collections::{HashMap, HashSet};

use rspirv::dr::{Block, Function, Instruction, Module};
use rspirv::spirv::{Op, Word};

use super::taint::{Memory, is_step, operands};
use crate::shader::loader::id;

pub(super) fn places(function: &Function) -> HashMap<Word, usize> {
    let label = |(at, block): (usize, &Block)| Some((block.label.as_ref()?.result_id?, at));
    function.blocks.iter().enumerate().filter_map(label).collect()
}

pub(super) fn targets(block: &Block) -> Vec<Word> {
    let Some(last) = block.instructions.last() else { return Vec::new() };
    let first = match last.class.opcode {
        Op::Branch => 0,
        Op::BranchConditional | Op::Switch => 1,
        _ => return Vec::new(),
    };
    last.operands.iter().skip(first).filter_map(id).collect()
}

/// The blocks that can be come to from these without passing `merge`.
pub(super) fn between(function: &Function, places: &HashMap<Word, usize>, from: Vec<usize>, merge: Word) -> HashSet<usize> {
    let (mut inside, mut open) = (HashSet::new(), from);
    while let Some(at) = open.pop() {
        if inside.insert(at) {
            let next = targets(&function.blocks[at]).into_iter().filter(|target| *target != merge);
            open.extend(next.filter_map(|target| places.get(&target).copied()));
        }
    }
    inside
}

/// The instructions of some blocks.
pub(super) fn within<'m>(function: &'m Function, inside: &'m HashSet<usize>) -> impl Iterator<Item = &'m Instruction> {
    function.blocks.iter().enumerate().filter(|(at, _)| inside.contains(at)).flat_map(|(_, block)| &block.instructions)
}

/// Whether others see what an instruction does, or it exchanges something with them.
pub(super) fn is_seen(of: &Instruction, memory: &Memory) -> bool {
    let name = of.class.opname;
    let exchanges = ["Image", "Atomic", "Group", "Subgroup", "ControlBarrier", "MemoryBarrier", "CooperativeMatrix"];
    let leads = is_step(of) || matches!(of.class.opcode, Op::Phi | Op::Select | Op::FunctionCall | Op::ArrayLength);
    exchanges.iter().any(|prefix| name.starts_with(prefix))
        || (!leads && operands(of).any(|pointer| memory.is_buffer(pointer) || memory.is_shared(pointer)))
}

/// The variables and parameters that some code may write.
pub(super) fn written<'m>(code: impl Iterator<Item = &'m Instruction>, memory: &Memory) -> HashSet<Word> {
    let writes = |of: &&Instruction| !is_step(of) && !matches!(of.class.opcode, Op::Load | Op::ArrayLength | Op::Variable);
    code.filter(writes).flat_map(operands).filter_map(|pointer| memory.root(pointer)).collect()
}

/// Branches that only choose between values: either way does a little arithmetic, and they meet again. One that goes the other way spoils
/// values, and hardly changes what the kernel costs.
pub(super) struct Choices(HashMap<Word, Chosen>);

/// What depends on a choice.
#[derive(Default)]
pub(super) struct Chosen {
    pub(super) values: Vec<Word>,
    pub(super) roots: HashSet<Word>,
}

impl Choices {
    pub(super) fn of(module: &Module, memory: &Memory) -> Self {
        let mut all = HashMap::new();
        for function in &module.functions {
            let places = places(function);
            all.extend(function.blocks.iter().filter_map(|block| chosen(function, &places, block, memory)));
        }
        Self(all)
    }

    /// What depends on which way a block is left, where that is such a choice.
    pub(super) fn at(&self, block: &Block) -> Option<&Chosen> {
        self.0.get(&block.label.as_ref()?.result_id?)
    }
}

fn chosen(function: &Function, places: &HashMap<Word, usize>, block: &Block, memory: &Memory) -> Option<(Word, Chosen)> {
    let merge = block.instructions.iter().find(|of| of.class.opcode == Op::SelectionMerge)?;
    let merge = merge.operands.first().and_then(id)?;
    let ways = targets(block).into_iter().filter(|target| *target != merge);
    let inside = between(function, places, ways.map(|target| places.get(&target).copied()).collect::<Option<_>>()?, merge);
    let is_more = |of: &Instruction| {
        let leaves =
            matches!(of.class.opcode, Op::LoopMerge | Op::FunctionCall | Op::Return | Op::ReturnValue | Op::Unreachable);
        leaves || of.class.opcode == Op::Kill || of.class.opname.starts_with("Terminate") || is_seen(of, memory)
    };
    if within(function, &inside).any(is_more) {
        return None;
    }
    let after = &function.blocks[*places.get(&merge)?].instructions;
    let values = after.iter().filter(|of| of.class.opcode == Op::Phi).filter_map(|of| of.result_id).collect();
    let roots = written(within(function, &inside), memory);
    Some((block.label.as_ref()?.result_id?, Chosen { values, roots }))
}
