//! What an entry point executes: its function, and those that it calls, directly or through others.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rspirv::spirv::Word;

use super::code::{BasicBlock, Code};
use super::constants::Values;
use super::flow::Flow;
use super::mix::{DEEPEST, InstructionMix};
use crate::model::SubgroupClass;

pub(super) struct Reached<'a> {
    /// Callers come before what they call. A function that calls itself, which SPIR-V forbids, is taken once.
    functions: Vec<Function<'a>>,
}

struct Function<'a> {
    id: Word,
    all: &'a [BasicBlock],
    flow: Flow,
}

impl<'a> Function<'a> {
    /// The blocks, each with the number of the function's loops in which it stands.
    fn blocks(&self) -> impl Iterator<Item = (&'a BasicBlock, usize)> + '_ {
        self.flow.blocks.iter().map(|(place, inside)| (&self.all[*place], self.flow.depth(*inside)))
    }
}

impl<'a> Reached<'a> {
    pub(super) fn from(entry: Word, code: &'a Code, values: &Values) -> Self {
        let open = |id| {
            let (all, flow) = code.reached(id, values);
            let function = Function { id, all, flow };
            let calls: Vec<Word> = function.blocks().flat_map(|(block, _)| &block.calls).copied().collect();
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

    pub(super) fn subgroup_classes(&self) -> BTreeSet<SubgroupClass> {
        let blocks = self.functions.iter().flat_map(Function::blocks);
        blocks.flat_map(|(block, _)| &block.classes).copied().collect()
    }

    /// Those of a loop are with those in the loops within it and in the functions that it calls.
    pub(super) fn most_reductions_in_a_loop(&self) -> u64 {
        let mut most = 0;
        // Of each function, those of a call.
        let mut of_calls: HashMap<Word, u64> = HashMap::new();
        for function in self.functions.iter().rev() {
            let (mut whole, mut of_loops) = (0_u64, vec![0_u64; function.flow.loops.len()]);
            for (place, inside) in &function.flow.blocks {
                let block = &function.all[*place];
                let called = block.calls.iter().map(|callee| of_calls.get(callee).copied().unwrap_or(0));
                let reductions = called.fold(block.reductions, u64::saturating_add);
                whole = whole.saturating_add(reductions);
                if let Some(inside) = inside {
                    of_loops[*inside] = of_loops[*inside].saturating_add(reductions);
                }
            }
            // From the inside out.
            for (place, of) in function.flow.loops.iter().enumerate().rev() {
                if let Some(outside) = of.outside {
                    of_loops[outside] = of_loops[outside].saturating_add(of_loops[place]);
                }
            }
            most = of_loops.into_iter().fold(most, u64::max);
            of_calls.insert(function.id, whole);
        }
        most
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
                for (block, inner) in function.blocks() {
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
