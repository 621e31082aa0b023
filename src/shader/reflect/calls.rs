//! What an entry point executes: its function, and those that it calls, directly or through others.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rspirv::spirv::Word;

use super::code::{Block, Code};
use super::constants::Values;
use super::mix::{DEEPEST, InstructionMix};
use crate::model::SubgroupClass;

/// The functions that an entry point reaches under a specialization.
pub(super) struct Reached<'a> {
    /// Callers come before what they call. A function that calls itself, which SPIR-V forbids, is taken once.
    functions: Vec<Function<'a>>,
}

/// A function's blocks that control flow reaches, with the number of the function's loops in which each stands.
struct Function<'a> {
    id: Word,
    blocks: Vec<(&'a Block, usize)>,
}

impl<'a> Reached<'a> {
    pub(super) fn from(entry: Word, code: &'a Code, values: &Values) -> Self {
        let open = |id| {
            let function = Function { id, blocks: code.reached(id, values) };
            let calls: Vec<Word> = function.blocks.iter().flat_map(|(block, _)| &block.calls).copied().collect();
            (function, calls)
        };
        // Depth first, with the functions that wait for their callees on a stack of our own: a call chain may be long.
        let (mut seen, mut stack, mut finished) = (HashSet::from([entry]), vec![open(entry)], Vec::new());
        while let Some((_, calls)) = stack.last_mut() {
            match calls.pop() {
                Some(callee) if seen.insert(callee) => stack.push(open(callee)),
                Some(_) => {}
                None => finished.extend(stack.pop().map(|(function, _)| function)),
            }
        }
        finished.reverse();
        Self { functions: finished }
    }

    /// The classes of subgroup operations in them.
    pub(super) fn subgroup_classes(&self) -> BTreeSet<SubgroupClass> {
        let blocks = self.functions.iter().flat_map(|function| &function.blocks);
        blocks.flat_map(|(block, _)| &block.classes).copied().collect()
    }

    /// Their instructions, those of a function once for each of its calls and at the call's depth.
    pub(super) fn mix(&self) -> InstructionMix {
        let mut mix = InstructionMix::default();
        // How often each function is called, by the loop depth of the call.
        let mut calls: HashMap<Word, BTreeMap<usize, u64>> = HashMap::new();
        if let Some(entry) = self.functions.first() {
            calls.insert(entry.id, BTreeMap::from([(0, 1)]));
        }
        for function in &self.functions {
            for (outer, times) in calls.remove(&function.id).unwrap_or_default() {
                for (block, inner) in &function.blocks {
                    let depth = (outer + inner).min(DEEPEST);
                    mix.add(depth, &block.counts, times);
                    for callee in &block.calls {
                        let at_depth = calls.entry(*callee).or_default().entry(depth).or_default();
                        *at_depth = at_depth.saturating_add(times);
                    }
                }
            }
        }
        mix
    }
}
