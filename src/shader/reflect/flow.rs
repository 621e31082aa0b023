//! Where control flow goes within a function: which blocks it reaches under a specialization, and in which loops they stand.
//!
//! SPIR-V states its loops: a header names the block after the loop. A valid module enters a loop only through its header, and
//! leaves it only to that block or out of the function. So a block stands in the loops of the blocks that lead to it, less those
//! that end with it, and one walk tells all depths.

use std::collections::HashMap;

use rspirv::dr::{self, Operand};
use rspirv::spirv::{Op, Word};

use super::ScalarType;
use super::constants::{Constants, Values};
use super::types::Types;
use crate::shader::loader::id;

/// The way out of a block. Of a switch, `constant` is its selector's type where that is a constant; its cases are bits of a selector,
/// and where they lead.
#[derive(Clone, Debug)]
pub(in crate::shader) enum End {
    Return,
    Branch(Word),
    Condition { condition: Word, yes: Word, no: Word },
    Switch { selector: Word, constant: Option<ScalarType>, default: Word, cases: Vec<(u64, Word)> },
}

impl End {
    pub(in crate::shader) fn of(block: &dr::Block, types: &Types, constants: &Constants) -> Self {
        let Some(last) = block.instructions.last() else { return Self::Return };
        match (last.class.opcode, &last.operands[..]) {
            (Op::Branch, [Operand::IdRef(target)]) => Self::Branch(*target),
            (Op::BranchConditional, [Operand::IdRef(condition), Operand::IdRef(yes), Operand::IdRef(no), ..]) => {
                Self::Condition { condition: *condition, yes: *yes, no: *no }
            }
            (Op::Switch, [Operand::IdRef(selector), Operand::IdRef(default), cases @ ..]) => {
                let constant = constants.scalar(*selector, types);
                let bits = |bits: u64| constant.map_or(bits, |ty| ty.truncate(bits));
                let cases = cases.chunks_exact(2).filter_map(|case| match case {
                    [Operand::LiteralBit32(literal), target] => Some((bits((*literal).into()), id(target)?)),
                    [Operand::LiteralBit64(literal), target] => Some((bits(*literal), id(target)?)),
                    _ => None,
                });
                Self::Switch { selector: *selector, constant, default: *default, cases: cases.collect() }
            }
            _ => Self::Return,
        }
    }

    /// The blocks to which it may lead: all of them, but where a constant decides.
    pub(in crate::shader) fn targets(&self, values: &Values) -> Vec<Word> {
        match self {
            Self::Return => Vec::new(),
            Self::Branch(target) => vec![*target],
            Self::Condition { condition, yes, no } => match values.integer(*condition) {
                Some(0) => vec![*no],
                Some(_) => vec![*yes],
                None => vec![*yes, *no],
            },
            Self::Switch { selector, constant, default, cases } => {
                match constant.and_then(|ty| Some(ty.truncate(values.integer(*selector)?))) {
                    Some(bits) => vec![cases.iter().find(|(case, _)| *case == bits).map_or(*default, |(_, target)| *target)],
                    None => cases.iter().map(|(_, target)| *target).chain([*default]).collect(),
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(in crate::shader) struct Node {
    pub(in crate::shader) label: Word,
    /// The block after the loop, where this block is a loop's header.
    pub(in crate::shader) loop_merge: Option<Word>,
    pub(in crate::shader) end: End,
}

#[derive(Clone, Debug, Default)]
pub(in crate::shader) struct Flow {
    /// The blocks, by their places, each with the innermost of the loops in which it stands.
    pub(in crate::shader) blocks: Vec<(usize, Option<usize>)>,
    /// The loops, each after the one around it.
    pub(in crate::shader) loops: Vec<Loop>,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::shader) struct Loop {
    pub(in crate::shader) outside: Option<usize>,
    /// How many there are around what stands in it, itself included.
    depth: usize,
}

impl Flow {
    pub(in crate::shader) fn depth(&self, innermost: Option<usize>) -> usize {
        innermost.map_or(0, |of| self.loops[of].depth)
    }
}

pub(in crate::shader) fn reached<'a>(nodes: impl Iterator<Item = &'a Node>, values: &Values) -> Flow {
    let nodes: Vec<&Node> = nodes.collect();
    let mut unvisited: HashMap<Word, usize> = nodes.iter().enumerate().map(|(place, node)| (node.label, place)).collect();
    // In which loop blocks after loops stand, known from the loops' headers.
    let mut after: HashMap<Word, Option<usize>> = HashMap::new();
    let mut flow = Flow::default();
    let mut next: Vec<(Word, Option<usize>)> = nodes.first().map(|first| (first.label, None)).into_iter().collect();
    while let Some((label, outside)) = next.pop() {
        let Some(place) = unvisited.remove(&label) else { continue };
        let node = nodes[place];
        let mut inside = outside;
        if let Some(merge) = node.loop_merge {
            after.entry(merge).or_insert(outside);
            inside = Some(flow.loops.len());
            flow.loops.push(Loop { outside, depth: flow.depth(outside) + 1 });
        }
        flow.blocks.push((place, inside));
        let targets = node.end.targets(values).into_iter();
        next.extend(targets.map(|target| (target, after.get(&target).copied().unwrap_or(inside))));
    }
    flow
}
