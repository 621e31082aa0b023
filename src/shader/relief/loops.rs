//! Loops that only compute, half of whose iterations can be left out.
//!
//! Where the number that a loop counts up to is halved, it does the first half of what it did, and all that is in it is as it was. What
//! it leaves is another value: that is where a relief's taint begins.

use std::collections::{HashMap, HashSet};

use rspirv::dr::{Block, Function, Instruction, Module, Operand};
use rspirv::spirv::{Op, Word};

use super::flow::{between, is_seen, places, targets, within, written};
use super::taint::{Memory, Seeds, code, is_step, operands};
use crate::shader::loader::id;
use crate::shader::reflect::reach::Mentions;

/// Of loops that only compute, those around which there is no other one.
#[derive(Default)]
pub(super) struct Halved {
    /// By the comparisons that end them, the place of the number that a loop counts up to among the operands.
    pub(super) bounds: HashMap<Word, usize>,
    pub(super) seeds: Seeds,
}

/// A loop of a function, with its blocks by their places.
struct Loop {
    merge: Word,
    inside: HashSet<usize>,
    bounds: Vec<(Word, usize)>,
}

impl Halved {
    /// Values that a loop leaves get another name outside of it, in the module as well.
    pub(super) fn of(module: &mut Module, memory: &Memory, entry: Word, is_word: &dyn Fn(Word) -> bool) -> Self {
        let mentions = Mentions::of(module);
        let seen: HashSet<Word> =
            module.functions.iter().filter(|of| code(of).any(|of| is_seen(of, memory))).filter_map(Function::def_id).collect();
        // Whether nobody sees what a function does.
        let is_silent = |function: Word| mentions.from([function]).is_disjoint(&seen);
        let mut all: Vec<(usize, Loop)> = Vec::new();
        for (at, function) in module.functions.iter().enumerate() {
            let may_return = function.def_id().is_some_and(|own| own != entry && is_silent(own));
            all.extend(loops(function, memory, may_return, &is_silent, is_word).into_iter().map(|of| (at, of)));
        }
        let calls = |(at, of): &(usize, Loop)| called(&module.functions[*at], &of.inside);
        let called: HashSet<Word> = mentions.from(all.iter().flat_map(calls));
        all.retain(|(at, _)| module.functions[*at].def_id().is_none_or(|own| !called.contains(&own)));
        let mut new = Self::default();
        for function in module.functions.iter().filter(|of| of.def_id().is_some_and(|own| called.contains(&own))) {
            new.seeds.roots.extend(written(code(function), memory).into_iter().filter(|root| memory.is_variable(*root)));
        }
        let mut next = module.header.as_ref().map_or(0, |header| header.bound);
        for (at, function) in module.functions.iter_mut().enumerate() {
            let of: Vec<&Loop> = all.iter().filter(|(own, _)| *own == at).map(|(_, of)| of).collect();
            new.leave(function, &of, memory);
            of.iter().for_each(|of| new.rename(function, of, &mut next));
        }
        new.bounds = all.into_iter().flat_map(|(_, of)| of.bounds).collect();
        new
    }

    /// What variables hold where loops end that write them.
    fn leave(&mut self, function: &Function, loops: &[&Loop], memory: &Memory) {
        if loops.is_empty() {
            return;
        }
        let own: HashSet<Word> =
            code(function).filter(|of| of.class.opcode == Op::Variable).filter_map(|of| of.result_id).collect();
        let mut left: Vec<HashSet<Word>> = Vec::new();
        for of in loops {
            let (here, others) = written(within(function, &of.inside), memory).into_iter().partition(|root| own.contains(root));
            left.push(here);
            self.seeds.roots.extend::<HashSet<Word>>(others);
            let returns = |of: &Instruction| of.class.opcode == Op::ReturnValue;
            self.seeds.values.extend(function.def_id().filter(|_| within(function, &of.inside).any(returns)));
        }
        // By block, the variables of which a loop may have left the value, until nothing is added to them.
        let mut open: Vec<HashSet<Word>> = vec![HashSet::new(); function.blocks.len()];
        let places = places(function);
        // Which way a loop ended may be all that a value tells.
        let after = loops.iter().filter_map(|of| Some(&function.blocks[*places.get(&of.merge)?]));
        let chosen = after.flat_map(|block| &block.instructions).filter(|of| of.class.opcode == Op::Phi);
        self.seeds.values.extend(chosen.filter_map(|of| of.result_id));
        let mut is_new = true;
        while std::mem::take(&mut is_new) {
            for (at, block) in function.blocks.iter().enumerate() {
                let out = self.walk(block, open[at].clone(), memory);
                for target in targets(block) {
                    let Some(to) = places.get(&target) else { continue };
                    let ended = loops.iter().zip(&left).filter(|(of, _)| of.merge == target && of.inside.contains(&at));
                    let before = open[*to].len();
                    open[*to].extend(ended.flat_map(|(_, left)| left).chain(&out).copied());
                    is_new |= open[*to].len() > before;
                }
            }
        }
    }

    /// Notes what a block takes of variables that a loop left, and gives those that are left where it ends.
    fn walk(&mut self, block: &Block, mut open: HashSet<Word>, memory: &Memory) -> HashSet<Word> {
        for of in &block.instructions {
            let is_open = |pointer: &Word| memory.root(*pointer).is_some_and(|root| open.contains(&root));
            match of.class.opcode {
                Op::Store => {
                    if let Some(variable) = operands(of).next() {
                        open.remove(&variable);
                    }
                }
                Op::Load => self.seeds.values.extend(of.result_id.filter(|_| operands(of).any(|pointer| is_open(&pointer)))),
                _ if is_step(of) => {}
                _ => self.seeds.roots.extend(operands(of).filter(is_open).filter_map(|pointer| memory.root(pointer))),
            }
        }
        open
    }

    fn rename(&mut self, function: &mut Function, of: &Loop, next: &mut Word) {
        let defined: HashSet<Word> = within(function, &of.inside).filter_map(|of| of.result_id).collect();
        let mut names: HashMap<Word, Word> = HashMap::new();
        let outside = function.blocks.iter_mut().enumerate().filter(|(at, _)| !of.inside.contains(at));
        for operand in outside.flat_map(|(_, block)| &mut block.instructions).flat_map(|of| &mut of.operands) {
            let Operand::IdRef(value) = operand else { continue };
            if defined.contains(value) {
                *value = *names.entry(*value).or_insert_with(|| {
                    *next += 1;
                    *next
                });
            }
        }
        self.seeds.values.extend(names.into_values());
    }
}

fn called(function: &Function, inside: &HashSet<usize>) -> Vec<Word> {
    let calls = within(function, inside).filter(|of| of.class.opcode == Op::FunctionCall);
    calls.filter_map(|of| operands(of).next()).collect()
}

/// The outermost loops of a function that only compute, and count up to a number.
fn loops(
    function: &Function,
    memory: &Memory,
    may_return: bool,
    is_silent: &dyn Fn(Word) -> bool,
    is_word: &dyn Fn(Word) -> bool,
) -> Vec<Loop> {
    let places = places(function);
    let mut found: Vec<Loop> = Vec::new();
    for (header, block) in function.blocks.iter().enumerate() {
        let merge = block.instructions.iter().find(|of| of.class.opcode == Op::LoopMerge);
        let Some(merge) = merge.and_then(|of| of.operands.first().and_then(id)) else { continue };
        if found.iter().any(|of| of.inside.contains(&header)) {
            continue;
        }
        let inside = between(function, &places, vec![header], merge);
        let is_left = |at: &usize| targets(&function.blocks[*at]).is_empty();
        let defined: HashSet<Word> = within(function, &inside).filter_map(|of| of.result_id).collect();
        let leads_out = |(at, block): (usize, &Block)| {
            let used = || block.instructions.iter().flat_map(operands);
            !inside.contains(&at) && used().any(|value| memory.root(value).is_some() && defined.contains(&value))
        };
        let only_computes = !within(function, &inside).any(|of| is_seen(of, memory))
            && called(function, &inside).into_iter().all(is_silent)
            && (may_return || !inside.iter().any(is_left))
            && !function.blocks.iter().enumerate().any(leads_out);
        if only_computes {
            let bounds = Ends { function, places: &places, is_word }.bounds(merge, &inside);
            found.push(Loop { merge, inside, bounds });
        }
    }
    found.retain(|of| !of.bounds.is_empty());
    found
}

/// What ends the loops of a function.
struct Ends<'m> {
    function: &'m Function,
    places: &'m HashMap<Word, usize>,
    /// Whether a value is a whole number of 32 bits.
    is_word: &'m dyn Fn(Word) -> bool,
}

impl Ends<'_> {
    /// The comparisons that end a loop, each with the place of the operand which ends it the sooner the smaller it is.
    fn bounds(&self, merge: Word, inside: &HashSet<usize>) -> Vec<(Word, usize)> {
        let is_out = |target: Word| {
            let block = self.places.get(&target).map(|at| &self.function.blocks[*at].instructions);
            let goes_on = block.and_then(|code| code.last()).filter(|last| last.class.opcode == Op::Branch);
            target == merge || goes_on.is_some_and(|last| last.operands.first().and_then(id) == Some(merge))
        };
        let mut bounds = Vec::new();
        for at in inside {
            let Some(last) = self.function.blocks[*at].instructions.last() else { continue };
            let [Some(condition), Some(yes), Some(no)] = [0, 1, 2].map(|at| last.operands.get(at).and_then(id)) else {
                continue;
            };
            if last.class.opcode == Op::BranchConditional && is_out(yes) != is_out(no) {
                self.compared(condition, is_out(no), &mut bounds);
            }
        }
        bounds
    }

    /// `stays`: whether the loop goes on where the condition is true.
    fn compared(&self, condition: Word, stays: bool, bounds: &mut Vec<(Word, usize)>) {
        use Op::{SGreaterThan, SGreaterThanEqual, SLessThan, SLessThanEqual};
        use Op::{UGreaterThan, UGreaterThanEqual, ULessThan, ULessThanEqual};
        let Some(of) = code(self.function).find(|of| of.result_id == Some(condition)) else { return };
        let values: Vec<Word> = operands(of).collect();
        match (of.class.opcode, &values[..]) {
            (Op::LogicalNot, [value]) => self.compared(*value, !stays, bounds),
            (Op::LogicalAnd, [one, other]) if stays => {
                [one, other].into_iter().for_each(|of| self.compared(*of, stays, bounds))
            }
            (Op::LogicalOr, [one, other]) if !stays => {
                [one, other].into_iter().for_each(|of| self.compared(*of, stays, bounds))
            }
            // The second is looked at if the first doesn't decide.
            (Op::Phi, [one, from, other, _]) if self.ends_by(*from, *one) => {
                [one, other].into_iter().for_each(|of| self.compared(*of, stays, bounds));
            }
            (opcode, [one, other]) if (self.is_word)(*one) && (self.is_word)(*other) => {
                let is_less = matches!(opcode, SLessThan | SLessThanEqual | ULessThan | ULessThanEqual);
                if is_less || matches!(opcode, SGreaterThan | SGreaterThanEqual | UGreaterThan | UGreaterThanEqual) {
                    bounds.push((condition, usize::from(is_less == stays)));
                }
            }
            _ => {}
        }
    }

    fn ends_by(&self, block: Word, condition: Word) -> bool {
        let last = self.places.get(&block).and_then(|at| self.function.blocks[*at].instructions.last());
        let decided =
            last.filter(|of| of.class.opcode == Op::BranchConditional).and_then(|of| of.operands.first().and_then(id));
        let is_other = |of: &&Instruction| of.class.opcode == Op::LogicalNot && of.result_id == decided;
        let other = code(self.function).find(is_other).and_then(|of| operands(of).next());
        decided == Some(condition) || other == Some(condition)
    }
}
