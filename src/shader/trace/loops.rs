//! Which loops of a function each of its blocks is in.

use std::collections::{HashMap, HashSet};

use rspirv::dr::Function;
use rspirv::spirv::{Op, Word};

use crate::shader::loader::id;
use crate::shader::reflect::constants::{Constants, Values};
use crate::shader::reflect::flow::{End, Node, reached};
use crate::shader::reflect::types::Types;

#[derive(Debug, Default)]
pub(in crate::shader) struct Loops {
    /// Of each block that control flow comes to, the loops that it is in, the outermost first.
    of_block: HashMap<Word, Vec<usize>>,
    pub(super) all: Vec<Loop>,
}

#[derive(Debug)]
pub(super) struct Loop {
    pub(super) header: Word,
    /// The blocks that lead to the header, each with whether it is in the loop.
    pub(super) before: Vec<(Word, bool)>,
}

impl Loops {
    /// Whatever constants are.
    pub(in crate::shader) fn of(function: &Function) -> Self {
        Self::taken(function, &Types::default(), &Constants::default(), &Values::default())
    }

    /// With these constants: what they rule out, control flow doesn't come to.
    pub(super) fn taken(function: &Function, types: &Types, constants: &Constants, values: &Values) -> Self {
        let nodes: Vec<Node> = function
            .blocks
            .iter()
            .filter_map(|block| {
                let label = block.label.as_ref()?.result_id?;
                let merge = block.instructions.iter().find(|instruction| instruction.class.opcode == Op::LoopMerge);
                let loop_merge = merge.and_then(|merge| id(merge.operands.first()?));
                Some(Node { label, loop_merge, end: End::of(block, types, constants) })
            })
            .collect();
        let flow = reached(nodes.iter(), values);
        let chain = |innermost: Option<usize>| {
            let mut chain: Vec<usize> = std::iter::successors(innermost, |at| flow.loops[*at].outside).collect();
            chain.reverse();
            chain
        };
        let of_block: HashMap<Word, Vec<usize>> =
            flow.blocks.iter().map(|(place, innermost)| (nodes[*place].label, chain(*innermost))).collect();
        let mut leading: HashMap<Word, Vec<Word>> = HashMap::new();
        for node in &nodes {
            let targets: HashSet<Word> = node.end.targets(&Values::default()).into_iter().collect();
            targets.into_iter().for_each(|target| leading.entry(target).or_default().push(node.label));
        }
        let headers = flow.blocks.iter().filter(|(place, _)| nodes[*place].loop_merge.is_some());
        let mut headers: Vec<(usize, Word)> =
            headers.filter_map(|(place, innermost)| Some(((*innermost)?, nodes[*place].label))).collect();
        headers.sort_unstable();
        let all = headers.into_iter().map(|(at, header)| {
            let is_inside = |block: &Word| of_block.get(block).is_some_and(|chain| chain.contains(&at));
            let mut before = leading.remove(&header).unwrap_or_default();
            before.sort_unstable();
            Loop { header, before: before.into_iter().map(|block| (block, is_inside(&block))).collect() }
        });
        let all = all.collect();
        Self { of_block, all }
    }

    /// The loops that a block is in; nothing where control flow doesn't come to it.
    pub(in crate::shader) fn around(&self, block: Word) -> Option<&[usize]> {
        self.of_block.get(&block).map(Vec::as_slice)
    }
}
