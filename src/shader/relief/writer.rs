//! What a relief writes into a module.

use std::collections::HashMap;

use rspirv::dr::{Block, Function, Instruction, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, Scope, SelectionControl, StorageClass, Word};

use super::taint::Memory;
use super::{BoundBuffers, Relief, WINDOW};
use crate::shader::edit::{Editor, Missing, WordBuffer, ids, labelled};
use crate::shader::loader::id;

/// The access chains of a function, by their results.
pub(super) fn chains(function: &Function) -> HashMap<Word, Instruction> {
    let is_chain = |of: &&Instruction| matches!(of.class.opcode, Op::AccessChain | Op::InBoundsAccessChain);
    function.all_inst_iter().filter(is_chain).filter_map(|of| Some((of.result_id?, of.clone()))).collect()
}

/// Hardly any word that a kernel writes: as an f32 it is no number.
const NEVER: u32 = 0x7FB3_91D5;

/// A word of the buffer, and the invocation's own variable that holds it.
pub(super) struct Switch {
    variable: Word,
    pub(super) relieving: u32,
    pub(super) placebo: u32,
}

pub(super) struct Writer {
    pub(super) edit: Editor,
    pub(super) memory: Memory,
    buffer: WordBuffer,
    pub(super) place: (u32, u32),
    pub(super) switches: Vec<Switch>,
    /// The masks of indexes, by the types of the arrays.
    masks: HashMap<Word, Word>,
    /// The mask of the words that conditions look at, and what they have to be then.
    guard: Option<(Word, Word)>,
    /// What stands for the results of instructions behind a condition.
    own_phis: Vec<Word>,
    /// What of the indexes of shared memory is kept.
    keep: Option<Word>,
    /// By the types of nested arrays, the variables with the indexes of the element that has the invocation's number.
    own_places: Vec<(Vec<Word>, Vec<Word>)>,
    /// By the comparisons that end loops, the place of the operand that is halved.
    pub(super) bounds: HashMap<Word, usize>,
    /// Whether loops do half of their iterations: all bits, or none.
    halves: Option<Word>,
    /// Instructions that were rewritten, and those that should have been.
    pub(super) relieved: usize,
    pub(super) missed: usize,
}

impl Writer {
    pub(super) fn new(mut edit: Editor, memory: Memory) -> Self {
        let place = (0, edit.free_binding());
        let buffer = edit.word_buffer(place);
        let (switches, masks) = (Vec::new(), HashMap::new());
        Self {
            edit,
            memory,
            buffer,
            place,
            switches,
            masks,
            guard: None,
            own_phis: Vec::new(),
            keep: None,
            own_places: Vec::new(),
            bounds: HashMap::new(),
            halves: None,
            relieved: 0,
            missed: 0,
        }
    }

    fn switch(&mut self, relieving: u32, placebo: u32) -> Word {
        let variable = self.edit.own_variable();
        self.switches.push(Switch { variable, relieving, placebo });
        variable
    }

    /// Whether what hangs on a word is done: for the placebo it is, whatever the word; else if it is one that hardly any is.
    fn guard(&mut self, word: Word, code: &mut Vec<Instruction>) -> Word {
        let (mask, key) = self.guard.unwrap_or_else(|| (self.switch(u32::MAX, 0), self.switch(NEVER, 0)));
        self.guard = Some((mask, key));
        let [mask, key] = [mask, key].map(|switch| self.edit.emit(code, Op::Load, self.edit.uint, &[switch]));
        let held = self.edit.emit(code, Op::BitwiseAnd, self.edit.uint, &[word, mask]);
        self.edit.emit(code, Op::IEqual, self.edit.bool, &[held, key])
    }

    /// Rewrites the instructions of a function of which this says the cost that each is.
    pub(super) fn relieve(&mut self, function: &mut Function, cost: impl Fn(usize, usize) -> Option<Relief>) {
        let chains = chains(function);
        let mut blocks = Vec::with_capacity(function.blocks.len());
        // By the label of a block, that of its last part, which is what its successors know it by.
        let mut ends: HashMap<Word, Word> = HashMap::new();
        for (at, block) in std::mem::take(&mut function.blocks).into_iter().enumerate() {
            let first = block.label.as_ref().and_then(|label| label.result_id).unwrap_or_default();
            // A loop's header has to stay one block.
            let is_header = block.instructions.iter().any(|of| of.class.opcode == Op::LoopMerge);
            let (mut label, mut code) = (first, Vec::new());
            for (place, mut of) in block.instructions.into_iter().enumerate() {
                let chain = of.operands.first().and_then(id).and_then(|pointer| chains.get(&pointer));
                let led = match cost(at, place) {
                    None => {
                        code.push(of);
                        continue;
                    }
                    Some(Relief::Stores | Relief::Atomics | Relief::Barriers) if !is_header => {
                        self.relieved += 1;
                        let word = self.taken(&of, &mut code);
                        label = self.guarded((label, word), &mut code, vec![of], &mut blocks);
                        continue;
                    }
                    Some(Relief::Loads) => chain.and_then(|chain| self.masked(chain, &mut code)).map(|led| (0, led)),
                    Some(Relief::Conflicts) => chain.and_then(|chain| self.side_by_side(chain, &mut code)).map(|led| (0, led)),
                    Some(Relief::Loops) => self.halved(&of, &mut code),
                    Some(_) => None,
                };
                match led {
                    None => self.missed += 1,
                    Some((at, value)) => {
                        of.operands[at] = Operand::IdRef(value);
                        self.relieved += 1;
                    }
                }
                code.push(of);
            }
            blocks.push(labelled(label, code));
            ends.insert(first, label);
        }
        self.rename(&mut blocks, &ends);
        function.blocks = blocks;
    }

    /// Has what comes after a block that is in parts know it by its last one.
    fn rename(&self, blocks: &mut [Block], ends: &HashMap<Word, Word>) {
        let is_old = |of: &&mut Instruction| {
            of.class.opcode == Op::Phi && of.result_id.is_none_or(|result| !self.own_phis.contains(&result))
        };
        let phis = blocks.iter_mut().flat_map(|block| &mut block.instructions).filter(is_old);
        for operand in phis.flat_map(|phi| phi.operands.iter_mut().skip(1).step_by(2)) {
            if let Some(end) = id(operand).and_then(|label| ends.get(&label)) {
                *operand = Operand::IdRef(*end);
            }
        }
    }

    /// Has the entry point use so many bytes of shared memory behind a condition that never holds: no compiler can leave them out.
    pub(super) fn crowd(&mut self, entry: &mut Function, bytes: u32) {
        let Some(first) = entry.blocks.first_mut() else { return };
        let label = first.label.as_ref().and_then(|label| label.result_id).unwrap_or_default();
        let is_variable = |of: &Instruction| of.class.opcode == Op::Variable;
        let own = first.instructions.iter().rposition(is_variable).map_or(0, |last| last + 1);
        let rest = first.instructions.split_off(own);
        let mut code = std::mem::take(&mut first.instructions);
        let (uint, words, one) = (self.edit.uint, self.edit.constant(bytes / 4), self.edit.constant(1));
        let array = self.edit.declare(Op::TypeArray, None, ids(&[uint, words]));
        let (to_array, to_word) =
            (self.edit.pointer(StorageClass::Workgroup, array), self.edit.pointer(StorageClass::Workgroup, uint));
        let class = vec![Operand::StorageClass(StorageClass::Workgroup)];
        let array = self.edit.declare(Op::Variable, Some(to_array), class);
        self.edit.list(array);
        let mut body = Vec::new();
        let number = self.edit.built_in(BuiltIn::LocalInvocationIndex, 1);
        let number = self.edit.load_built_in(number, &mut body);
        let number = self.edit.emit(&mut body, Op::UMod, uint, &[number, words]);
        let place = self.edit.emit(&mut body, Op::AccessChain, to_word, &[array, number]);
        let (scope, zero) = (self.edit.constant(Scope::Workgroup as u32), self.edit.zero);
        let before = self.edit.take_id();
        let operands =
            vec![Operand::IdRef(place), Operand::IdScope(scope), Operand::IdMemorySemantics(zero), Operand::IdRef(one)];
        body.push(Instruction::new(Op::AtomicIAdd, Some(uint), Some(before), operands));
        let seen = self.edit.emit(&mut body, Op::AccessChain, self.buffer.to_word, &[self.buffer.variable, zero, zero]);
        body.push(Instruction::new(Op::Store, None, None, ids(&[seen, before])));
        let mut blocks = Vec::new();
        let after = self.guarded((label, zero), &mut code, body, &mut blocks);
        blocks.push(labelled(after, rest));
        entry.blocks.splice(..1, blocks);
        self.rename(&mut entry.blocks, &HashMap::from([(label, after)]));
    }

    /// The number that a loop counts up to, or half of it, with its place in the comparison.
    fn halved(&mut self, of: &Instruction, code: &mut Vec<Instruction>) -> Option<(usize, Word)> {
        let at = *self.bounds.get(&of.result_id?)?;
        let bound = id(&of.operands[at])?;
        let ty = *self.edit.type_of.get(&bound)?;
        let is_signed = of.class.opname.starts_with('S');
        let halves = self.halves.unwrap_or_else(|| self.switch(u32::MAX, 0));
        self.halves = Some(halves);
        let (uint, one) = (self.edit.uint, self.edit.constant(1));
        let halves = self.edit.emit(code, Op::Load, uint, &[halves]);
        let mut count = self.edit.as_uint(bound, code)?;
        if is_signed {
            // A half of less than nothing is more.
            let bits = self.edit.constant(31);
            let sign = self.edit.emit(code, Op::ShiftRightArithmetic, uint, &[count, bits]);
            let above = self.edit.emit(code, Op::Not, uint, &[sign]);
            count = self.edit.emit(code, Op::BitwiseAnd, uint, &[count, above]);
        }
        let half = self.edit.emit(code, Op::ShiftRightLogical, uint, &[count, one]);
        let less = self.edit.emit(code, Op::BitwiseAnd, uint, &[half, halves]);
        // Numbers with a sign and without may stand together in a difference.
        Some((at, self.edit.emit(code, Op::ISub, ty, &[bound, less])))
    }

    /// A word that depends on all that an instruction writes: behind a condition that doesn't, a compiler would also put what that is
    /// worked out from, and the loads of it.
    fn taken(&mut self, of: &Instruction, code: &mut Vec<Instruction>) -> Word {
        let at = match of.class.opcode {
            Op::Store => 1,
            Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => 4,
            _ => 3,
        };
        let value = of.operands.get(at).and_then(id);
        value.and_then(|value| self.edit.folded(value, code)).unwrap_or(self.edit.zero)
    }

    /// Puts instructions behind a condition on a word. Gives the block that goes on after them, where the last has its result.
    fn guarded(
        &mut self,
        (label, word): (Word, Word),
        code: &mut Vec<Instruction>,
        mut body: Vec<Instruction>,
        blocks: &mut Vec<Block>,
    ) -> Word {
        let (done, after) = (self.edit.take_id(), self.edit.take_id());
        let is_on = self.guard(word, code);
        let merge = vec![Operand::IdRef(after), Operand::SelectionControl(SelectionControl::NONE)];
        code.push(Instruction::new(Op::SelectionMerge, None, None, merge));
        code.push(Instruction::new(Op::BranchConditional, None, None, ids(&[is_on, done, after])));
        blocks.push(labelled(label, std::mem::take(code)));
        let last = body.last_mut();
        if let Some((of, result, ty)) =
            last.and_then(|of| Some((of.result_id?, of.result_type?)).map(|(result, ty)| (of, result, ty)))
        {
            let own = self.edit.take_id();
            of.result_id = Some(own);
            let null = self.edit.declare(Op::ConstantNull, Some(ty), Vec::new());
            code.push(Instruction::new(Op::Phi, Some(ty), Some(result), ids(&[own, done, null, label])));
            self.own_phis.push(result);
        }
        body.push(Instruction::new(Op::Branch, None, None, ids(&[after])));
        blocks.push(labelled(done, body));
        after
    }

    /// Whether a chain leads to another place each time, as far as can be told.
    pub(super) fn is_varied(&self, chain: &Instruction) -> bool {
        let is_varied =
            |(at, _): &(usize, Word)| id(&chain.operands[*at]).is_none_or(|index| self.edit.literal(index).is_none());
        self.arrays(chain).is_none_or(|arrays| arrays.iter().any(is_varied))
    }

    /// The place of the index by which a chain enters its outermost array, where a mask can hold it.
    fn entered(&self, chain: &Instruction) -> Option<usize> {
        let (at, array) = *self.arrays(chain)?.first()?;
        let index = id(&chain.operands[at]).filter(|index| self.edit.literal(*index).is_none())?;
        self.edit.integer(index)?;
        self.edit.names.argument(array, Decoration::ArrayStride).filter(|stride| *stride <= WINDOW).map(|_| at)
    }

    /// The same where whatever passes the mask lies within the buffer, if that is no smaller than the window.
    pub(super) fn held(&self, chain: &Instruction) -> Option<usize> {
        let (_, array) = *self.arrays(chain)?.first()?;
        let is_open = self.edit.types.get(&array).is_some_and(|ty| ty.class.opcode == Op::TypeRuntimeArray);
        self.entered(chain).filter(|_| is_open)
    }

    /// How many bytes there are in a buffer from the outermost array on that a chain enters; 0 where that isn't known.
    pub(super) fn bytes_from(&self, chain: &Instruction, buffers: &BoundBuffers) -> u64 {
        let of = |variable: Word| {
            let argument = |decoration| self.edit.names.argument(variable, decoration);
            let place = (argument(Decoration::DescriptorSet)?, argument(Decoration::Binding)?);
            let (_, mut ty) = self.edit.pointee(*self.edit.type_of.get(&variable)?)?;
            let mut left = *buffers.bytes.get(&place)?;
            for operand in &chain.operands[1..] {
                let of = self.edit.types.get(&ty).filter(|of| of.class.opcode == Op::TypeStruct);
                let Some(of) = of else { break };
                let member = id(operand).and_then(|index| self.edit.literal(index))?;
                left = left.saturating_sub(self.edit.names.member_argument(ty, member, Decoration::Offset)?.into());
                ty = id(of.operands.get(member as usize)?)?;
            }
            Some(left)
        };
        chain.operands.first().and_then(id).and_then(of).unwrap_or(0)
    }

    /// The same pointer, whose outermost array is entered near its beginning; nothing where it has none, or at a place that is known.
    fn masked(&mut self, chain: &Instruction, code: &mut Vec<Instruction>) -> Option<Word> {
        let at = self.entered(chain)?;
        let (_, array) = *self.arrays(chain)?.first()?;
        let index = id(&chain.operands[at])?;
        let stride = self.edit.names.argument(array, Decoration::ArrayStride)?.max(1);
        let mask = match self.masks.get(&array) {
            Some(known) => *known,
            None => {
                let elements = (WINDOW / stride).max(1);
                let mask = self.switch((1 << elements.ilog2()) - 1, u32::MAX);
                self.masks.insert(array, mask);
                mask
            }
        };
        let mask = self.edit.emit(code, Op::Load, self.edit.uint, &[mask]);
        let index = self.edit.as_uint(index, code)?;
        let index = self.edit.emit(code, Op::BitwiseAnd, self.edit.uint, &[index, mask]);
        Some(self.led(chain, &[(at, index)], code))
    }

    /// The same pointer with other indexes.
    fn led(&mut self, chain: &Instruction, indexes: &[(usize, Word)], code: &mut Vec<Instruction>) -> Word {
        let mut new = chain.clone();
        for (at, index) in indexes {
            new.operands[*at] = Operand::IdRef(*index);
        }
        let result = self.edit.take_id();
        new.result_id = Some(result);
        self.edit.type_of.insert(result, new.result_type.unwrap_or_default());
        code.push(new);
        result
    }

    /// The arrays that a chain enters, the outermost first, each with the place of its index among the operands. Nothing of a chain that
    /// doesn't begin at a variable, or begins with the choice of a descriptor.
    fn arrays(&self, chain: &Instruction) -> Option<Vec<(usize, Word)>> {
        if !matches!(chain.class.opcode, Op::AccessChain | Op::InBoundsAccessChain) {
            return None;
        }
        let base = chain.operands.first().and_then(id)?;
        let (class, mut ty) = self.edit.pointee(*self.edit.type_of.get(&base)?)?;
        if !self.memory.is_variable(base) {
            return None;
        }
        let mut found = Vec::new();
        for at in 1..chain.operands.len() {
            let of = self.edit.types.get(&ty)?;
            match of.class.opcode {
                Op::TypeStruct => {
                    let member = id(&chain.operands[at]).and_then(|index| self.edit.literal(index))?;
                    ty = id(of.operands.get(member as usize)?)?;
                }
                Op::TypeArray | Op::TypeRuntimeArray => {
                    if at == 1 && class != StorageClass::Workgroup {
                        return None;
                    }
                    found.push((at, ty));
                    ty = id(of.operands.first()?)?;
                }
                // A component, or a column.
                _ => break,
            }
        }
        Some(found)
    }

    /// The same pointer, or to the element that has the invocation's number where the kernel is relieved.
    fn side_by_side(&mut self, chain: &Instruction, code: &mut Vec<Instruction>) -> Option<Word> {
        let arrays = self.arrays(chain).filter(|arrays| !arrays.is_empty())?;
        // Parts of elements that lie side by side are apart.
        if arrays.last().is_none_or(|(at, _)| at + 1 < chain.operands.len()) {
            return None;
        }
        let types: Vec<Word> = arrays.iter().map(|(_, array)| *array).collect();
        let keep = self.keep.unwrap_or_else(|| self.switch(0, u32::MAX));
        self.keep = Some(keep);
        let own = match self.own_places.iter().find(|(known, _)| *known == types) {
            Some((_, own)) => own.clone(),
            None => {
                let own: Vec<Word> = types.iter().map(|_| self.edit.own_variable()).collect();
                self.own_places.push((types, own.clone()));
                own
            }
        };
        let uint = self.edit.uint;
        let keep = self.edit.emit(code, Op::Load, uint, &[keep]);
        let mut indexes = Vec::new();
        for ((at, _), own) in arrays.into_iter().zip(own) {
            let index = id(&chain.operands[at]).and_then(|index| self.edit.as_uint(index, code))?;
            // One operation for both: this is all that the placebo costs.
            let kept = self.edit.emit(code, Op::BitwiseAnd, uint, &[index, keep]);
            let own = self.edit.emit(code, Op::Load, uint, &[own]);
            indexes.push((at, self.edit.emit(code, Op::BitwiseOr, uint, &[kept, own])));
        }
        Some(self.led(chain, &indexes, code))
    }

    /// Sets the indexes of the invocation's own element in arrays of arrays, which are 0 where nothing is relieved.
    fn set_own_places(&mut self, code: &mut Vec<Instruction>) -> Result<(), Missing> {
        let Some(keep) = self.keep else { return Ok(()) };
        let uint = self.edit.uint;
        let own = self.edit.built_in(BuiltIn::LocalInvocationIndex, 1);
        let number = self.edit.load_built_in(own, code);
        let keep = self.edit.emit(code, Op::Load, uint, &[keep]);
        let takes = self.edit.emit(code, Op::Not, uint, &[keep]);
        for (types, variables) in std::mem::take(&mut self.own_places) {
            let mut left = number;
            for (array, variable) in types.into_iter().zip(variables).rev() {
                let length = self.edit.length_of(array, code).ok_or(Missing("length of an array in shared memory"))?;
                let place = self.edit.emit(code, Op::UMod, uint, &[left, length]);
                left = self.edit.emit(code, Op::UDiv, uint, &[left, length]);
                let place = self.edit.emit(code, Op::BitwiseAnd, uint, &[place, takes]);
                code.push(Instruction::new(Op::Store, None, None, ids(&[variable, place])));
            }
        }
        Ok(())
    }

    /// Reads the switches where the entry point begins.
    pub(super) fn begin(&mut self, entry: &mut Function) -> Result<(), Missing> {
        let mut code = Vec::new();
        for (at, switch) in (0..).zip(&self.switches) {
            let at = self.edit.constant(at);
            let chain = [self.buffer.variable, self.edit.zero, at];
            let place = self.edit.emit(&mut code, Op::AccessChain, self.buffer.to_word, &chain);
            let word = self.edit.emit(&mut code, Op::Load, self.edit.uint, &[place]);
            code.push(Instruction::new(Op::Store, None, None, ids(&[switch.variable, word])));
        }
        self.set_own_places(&mut code)?;
        if let Some(block) = entry.blocks.first_mut() {
            let is_variable = |of: &Instruction| of.class.opcode == Op::Variable;
            let at = block.instructions.iter().rposition(is_variable).map_or(0, |last| last + 1);
            block.instructions.splice(at..at, code);
        }
        Ok(())
    }
}
