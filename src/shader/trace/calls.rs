//! Which functions an entry point calls, and numbers for the chains of calls that lead to them.
//!
//! A chain of calls has a number: an entry point's own is 0, and each call adds one more than all chains through the calls before it
//! in its function. So an invocation adds a constant before a call and takes it off afterwards, and each number is one chain.

use std::collections::{BTreeMap, HashMap, HashSet};

use rspirv::dr::{Function, Instruction};
use rspirv::spirv::{Op, Word};
use serde::{Deserialize, Serialize};

use super::{TraceError, loops::Loops};
use crate::shader::lines::SourceLine;
use crate::shader::loader::id;

/// The calls that lead to accesses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallTree {
    entry: Word,
    /// The calls of each function, in the order of their numbers.
    calls: BTreeMap<Word, Vec<CallSite>>,
    /// Whether records have a word for the chain of calls.
    pub has_paths: bool,
    /// The most loops around a chain of calls; records have a word for each.
    pub deepest: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallSite {
    /// What a chain through this call has more than its function's own.
    pub(super) offset: u32,
    callee: Word,
    /// How many loops of its function the call is in.
    loops: usize,
    pub line: Option<SourceLine>,
}

/// What has to be known of the functions before any is changed.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Those that have accesses, or call such functions.
    pub(super) matter: HashSet<Word>,
    pub(super) tree: CallTree,
}

struct Called {
    /// The functions that it calls, by the places of the calls, each with the loops around it.
    calls: Vec<(Word, usize)>,
    has_sites: bool,
}

impl Calls {
    pub(super) fn of(
        entry: Word,
        functions: &[(Function, Loops)],
        is_site: impl Fn(&Instruction) -> bool,
    ) -> Result<Self, TraceError> {
        let called: HashMap<Word, Called> = functions
            .iter()
            .filter_map(|(function, loops)| Some((function.def_id()?, Called::of(function, loops, &is_site))))
            .collect();
        let order = callees_first(entry, &called)?;
        let mut new = Self::default();
        new.tree.entry = entry;
        // How many chains lead on from a function, its own among them; and the most loops around those.
        let (mut chains, mut depths): (HashMap<Word, u32>, HashMap<Word, usize>) = (HashMap::new(), HashMap::new());
        for id in &order {
            let Some(Called { calls, has_sites, .. }) = called.get(id) else { continue };
            let of_use: Vec<(Word, usize)> = calls.iter().copied().filter(|(callee, _)| new.matter.contains(callee)).collect();
            if !has_sites && of_use.is_empty() && *id != entry {
                continue;
            }
            new.matter.insert(*id);
            let (mut next, mut deepest, mut sites) = (1_u32, 0, Vec::new());
            for (callee, loops) in of_use {
                let line = None;
                sites.push(CallSite { offset: next, callee, loops, line });
                next = next.checked_add(chains[&callee]).ok_or(TraceError::Paths)?;
                deepest = deepest.max(loops + depths[&callee]);
            }
            chains.insert(*id, next);
            depths.insert(*id, deepest);
            new.tree.calls.insert(*id, sites);
        }
        new.tree.deepest = depths.get(&entry).copied().unwrap_or(0);
        // One chain to each function is one that its accesses tell.
        let mut chains_to: HashMap<Word, u32> = HashMap::from([(entry, 1)]);
        for id in order.iter().rev() {
            let here = chains_to.get(id).copied().unwrap_or(0);
            for site in new.tree.calls.get(id).into_iter().flatten() {
                let to = chains_to.entry(site.callee).or_default();
                *to = to.saturating_add(here);
            }
        }
        new.tree.has_paths = new.tree.deepest > 0 || chains_to.values().any(|count| *count > 1);
        Ok(new)
    }

    /// What the call numbered so in its function is.
    pub(super) fn call(&mut self, function: Word, at: usize) -> Option<&mut CallSite> {
        self.tree.calls.get_mut(&function)?.get_mut(at)
    }
}

impl Called {
    fn of(function: &Function, loops: &Loops, is_site: impl Fn(&Instruction) -> bool) -> Self {
        let mut new = Self { calls: Vec::new(), has_sites: false };
        for block in &function.blocks {
            let Some(around) = block.label.as_ref().and_then(|label| loops.around(label.result_id?)) else { continue };
            for instruction in &block.instructions {
                new.has_sites |= is_site(instruction);
                if instruction.class.opcode == Op::FunctionCall {
                    new.calls.extend(instruction.operands.first().and_then(id).map(|callee| (callee, around.len())));
                }
            }
        }
        new
    }
}

/// Each function after those that it calls.
fn callees_first(entry: Word, called: &HashMap<Word, Called>) -> Result<Vec<Word>, TraceError> {
    let callees = |id: Word| called.get(&id).map_or_else(Vec::new, |of| of.calls.iter().map(|(callee, _)| *callee).collect());
    let (mut order, mut seen, mut open) = (Vec::new(), HashSet::from([entry]), vec![(entry, callees(entry))]);
    while let Some((id, left)) = open.last_mut() {
        let id = *id;
        match left.pop() {
            Some(callee) if open.iter().any(|(caller, _)| *caller == callee) => return Err(TraceError::Recursion),
            Some(callee) if seen.insert(callee) => open.push((callee, callees(callee))),
            Some(_) => {}
            None => {
                order.push(id);
                open.pop();
            }
        }
    }
    Ok(order)
}

impl CallTree {
    /// The calls of a chain, the outermost first.
    pub fn chain(&self, mut number: u32) -> Vec<&CallSite> {
        let (mut chain, mut function) = (Vec::new(), self.entry);
        while number > 0 {
            let calls = self.calls.get(&function).into_iter().flatten();
            let Some(call) = calls.take_while(|call| call.offset <= number).last() else { break };
            (number, function) = (number - call.offset, call.callee);
            chain.push(call);
        }
        chain
    }

    /// How many loops are around the calls of a chain.
    pub fn loops_around(&self, number: u32) -> usize {
        self.chain(number).iter().map(|call| call.loops).sum()
    }
}
