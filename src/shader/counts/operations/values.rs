//! Which results of a function are the same, and which stay as they are while a loop goes on: compilers work them out once.

use std::collections::{HashMap, HashSet};

use rspirv::binary::Assemble;
use rspirv::dr::{Block, Function, Instruction, Operand};
use rspirv::spirv::{Op, StorageClass, Word};

use super::{Work, operand, within};
use crate::shader::loader::id;
use crate::shader::trace::Loops;

/// A component of a result; of a scalar, 0.
pub(super) type Place = (Word, u32);

pub(super) struct Values<'w, 'm> {
    work: &'w Work<'m>,
    loops: Loops,
    /// Of each result, the block that it is in.
    blocks: HashMap<Word, Word>,
    /// The blocks that write to a variable, and those that call functions.
    written: HashMap<Word, Vec<Word>>,
    calls: Vec<Word>,
    /// What is in variables that are stored to once.
    only: HashMap<Word, Word>,
    /// The results so far.
    stands: HashSet<Word>,
    /// Of results that are another one, which that is; and which are a component of one.
    same: HashMap<Word, Word>,
    parts: HashMap<Word, Place>,
    /// The first of those that are made in one way.
    firsts: HashMap<Vec<u32>, Word>,
    repeated: HashSet<Word>,
    /// Of each loop that is the innermost one of a block, the results that change while it goes on.
    changing: HashMap<usize, HashSet<Word>>,
    innermost: Option<usize>,
}

impl<'w, 'm> Values<'w, 'm> {
    pub(super) fn of(work: &'w Work<'m>, function: &Function) -> Self {
        let mut new = Self {
            work,
            loops: Loops::of(function),
            blocks: HashMap::new(),
            written: HashMap::new(),
            calls: Vec::new(),
            only: HashMap::new(),
            stands: HashSet::new(),
            same: HashMap::new(),
            parts: HashMap::new(),
            firsts: HashMap::new(),
            repeated: HashSet::new(),
            changing: HashMap::new(),
            innermost: None,
        };
        for block in &function.blocks {
            let label = block.label.as_ref().and_then(|label| label.result_id).unwrap_or_default();
            block.instructions.iter().for_each(|of| new.note(of, label));
        }
        new.only.retain(|variable, _| new.written.get(variable).is_some_and(|blocks| blocks.len() == 1));
        function.blocks.iter().for_each(|block| new.number(block));
        for block in &function.blocks {
            new.enter(block);
            if let Some(innermost) = new.innermost.filter(|innermost| !new.changing.contains_key(innermost)) {
                let changing = new.changing_in(function, innermost);
                new.changing.insert(innermost, changing);
            }
        }
        new
    }

    /// Notes where a result is, and what is written.
    fn note(&mut self, of: &Instruction, label: Word) {
        of.result_id.into_iter().for_each(|result| _ = self.blocks.insert(result, label));
        let opcode = of.class.opcode;
        match opcode {
            Op::FunctionCall => self.calls.push(label),
            Op::Store => {
                let (Some(pointer), Some(value)) = (operand(of, 0), operand(of, 1)) else { return };
                if self.class(pointer) == Some(StorageClass::Function) {
                    self.only.insert(pointer, value);
                }
            }
            Op::Variable if of.operands.len() < 2 => return,
            Op::Load | Op::AccessChain | Op::InBoundsAccessChain => return,
            _ => {}
        }
        // What takes a pointer otherwise may write to it.
        let taken = of.operands.iter().filter_map(id).take(if opcode == Op::Store { 1 } else { usize::MAX });
        let roots: Vec<Word> =
            taken.filter(|taken| opcode == Op::Store || self.is_pointer(*taken)).map(|of| self.root(of)).collect();
        let own = of.result_id.filter(|_| opcode == Op::Variable);
        roots.into_iter().chain(own).for_each(|root| self.written.entry(root).or_default().push(label));
    }

    fn is_pointer(&self, value: Word) -> bool {
        let chains = [Op::Variable, Op::AccessChain, Op::InBoundsAccessChain, Op::PtrAccessChain];
        self.work.definitions.get(&value).is_some_and(|of| chains.contains(&of.class.opcode))
    }

    /// What a pointer starts from.
    fn root(&self, mut pointer: Word) -> Word {
        while let Some(of) = self.work.definitions.get(&pointer) {
            match (of.class.opcode, operand(of, 0)) {
                (Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::CopyObject, Some(base)) => pointer = base,
                _ => break,
            }
        }
        pointer
    }

    /// Of a variable.
    fn class(&self, variable: Word) -> Option<StorageClass> {
        match self.work.definitions.get(&variable)?.operands.first() {
            Some(Operand::StorageClass(class)) => Some(*class),
            _ => None,
        }
    }

    /// Finds out which results of a block are others, which stand before it.
    fn number(&mut self, block: &Block) {
        let label = block.label.as_ref().and_then(|label| label.result_id).unwrap_or_default();
        // What variables hold, and how often memory was written to.
        let (mut held, mut writes): (HashMap<Word, Word>, u32) = (HashMap::new(), 0);
        for of in &block.instructions {
            self.stands.extend(of.result_id);
            let (opcode, pointer) = (of.class.opcode, operand(of, 0).unwrap_or_default());
            match (opcode, of.result_id) {
                (Op::Load, Some(result)) => {
                    let root = self.root(pointer);
                    let is_own = self.work.is_variable(root);
                    let only =
                        self.only.get(&root).filter(|value| self.stands.contains(value) || !self.blocks.contains_key(value));
                    let holds = held.get(&root).or(only).copied();
                    match holds.filter(|_| is_own) {
                        Some(value) if root == pointer => _ = self.same.insert(result, self.first(value)),
                        Some(value) => self.load_part(result, pointer, root, value),
                        None if root == pointer && is_own => _ = held.insert(root, result),
                        None if !is_own => self.find(of, &self.version(root, label, writes)),
                        None => {}
                    }
                }
                (Op::Store, _) if self.work.is_variable(pointer) => {
                    held.insert(pointer, operand(of, 1).map_or(0, |value| self.first(value)));
                }
                (Op::Store, _) if self.work.is_variable(self.root(pointer)) => _ = held.remove(&self.root(pointer)),
                _ if is_pure(opcode) => self.find(of, &[]),
                (Op::Phi | Op::Variable | Op::Line | Op::NoLine, _) => {}
                _ => {
                    writes += 1;
                    // Calls write to what they are given, and to what all functions have.
                    let given = of.operands.iter().filter_map(id).filter(|given| self.is_pointer(*given));
                    given.for_each(|given| _ = held.remove(&self.root(given)));
                    held.retain(|variable, _| {
                        opcode != Op::FunctionCall || self.class(*variable) == Some(StorageClass::Function)
                    });
                }
            }
        }
    }

    /// By what loads of memory are told apart that may have been written to meanwhile.
    fn version(&self, root: Word, label: Word, writes: u32) -> Vec<u32> {
        if self.class(root).is_some_and(is_constant) { Vec::new() } else { vec![label, writes] }
    }

    /// Takes a load by a constant index of what is held for that component.
    fn load_part(&mut self, result: Word, pointer: Word, root: Word, value: Word) {
        let Some(of) = self.work.definitions.get(&pointer) else { return };
        let index = operand(of, 1).and_then(|index| self.work.literal(index)).and_then(|at| u32::try_from(at).ok());
        if let Some(at) = index.filter(|_| operand(of, 0) == Some(root) && of.operands.len() == 2 && self.is_vector(value)) {
            self.parts.insert(result, (self.first(value), at));
        }
    }

    fn is_vector(&self, value: Word) -> bool {
        let of = self.work.definitions.get(&value).and_then(|of| self.work.types.shape(of.result_type?));
        of.is_some_and(|shape| shape.components.is_some())
    }

    /// Finds the first result that is made like this one.
    fn find(&mut self, of: &Instruction, version: &[u32]) {
        let Some(result) = of.result_id else { return };
        let mut key = vec![of.class.opcode as u32, of.result_type.unwrap_or_default()];
        for taken in &of.operands {
            match id(taken) {
                Some(taken) => key.push(self.first(taken)),
                None => taken.assemble_into(&mut key),
            }
        }
        key.extend(version);
        let first = *self.firsts.entry(key).or_insert(result);
        if first != result {
            self.same.insert(result, first);
            self.repeated.insert(result);
        }
    }

    fn first(&self, value: Word) -> Word {
        self.same.get(&value).copied().unwrap_or(value)
    }

    /// The result that a component is, of whatever vectors it was put into and taken from, and whatever its sign.
    pub(super) fn component(&self, value: Word, at: u32) -> Place {
        let mut place = (self.first(value), at);
        while let Some((value, at)) = self.parts.get(&place.0).copied().or_else(|| self.made_of(place)) {
            place = (self.first(value), at);
        }
        place
    }

    fn made_of(&self, (value, at): Place) -> Option<Place> {
        let of = self.work.definitions.get(&value)?;
        let components = |value: Word| {
            let shape = self.work.types.shape(self.work.definitions.get(&value)?.result_type?)?;
            u32::try_from(shape.components.unwrap_or(1)).ok()
        };
        match (of.class.opcode, &of.operands[..]) {
            (Op::FNegate | Op::CopyObject, [Operand::IdRef(whole)]) => Some((*whole, at)),
            (Op::CompositeExtract, [Operand::IdRef(whole), Operand::LiteralBit32(at)]) if self.is_vector(*whole) => {
                Some((*whole, *at))
            }
            (Op::VectorShuffle, [Operand::IdRef(one), Operand::IdRef(other), places @ ..]) => {
                let Some(Operand::LiteralBit32(at)) = places.get(at as usize) else { return None };
                let first = components(*one)?;
                Some(if *at < first { (*one, *at) } else { (*other, at.checked_sub(first)?) })
            }
            (Op::CompositeConstruct | Op::ConstantComposite | Op::SpecConstantComposite, parts) if self.is_vector(value) => {
                let mut left = at;
                for part in parts.iter().filter_map(id) {
                    let count = components(part)?;
                    if left < count {
                        return Some((part, left));
                    }
                    left -= count;
                }
                None
            }
            _ => None,
        }
    }

    /// Goes on to a block.
    pub(super) fn enter(&mut self, block: &Block) {
        let label = block.label.as_ref().and_then(|label| label.result_id).unwrap_or_default();
        self.innermost = self.loops.around(label).and_then(|around| around.last().copied());
    }

    /// Whether nothing has to be done for a result in the block: it is there already, or from before the loop.
    pub(super) fn is_spared(&self, of: &Instruction) -> bool {
        of.result_id.is_some_and(|result| self.repeated.contains(&result) || self.is_settled(result))
    }

    /// Whether a value doesn't change in the innermost loop, or is a constant.
    pub(super) fn is_settled(&self, value: Word) -> bool {
        let is_constant = self.work.definitions.get(&value).is_some_and(|of| of.class.opname.contains("Constant"));
        let changing = self.innermost.and_then(|innermost| self.changing.get(&innermost));
        is_constant || changing.is_some_and(|changing| !changing.contains(&self.whole(value)))
    }

    /// What a value is, or is a component of.
    fn whole(&self, value: Word) -> Word {
        self.parts.get(&value).map_or(self.first(value), |(whole, _)| *whole)
    }

    /// The results that change in a loop. Blocks stand after those that their values are from.
    fn changing_in(&self, function: &Function, within: usize) -> HashSet<Word> {
        let mut changing = HashSet::new();
        let is_inside =
            |block: &&Block| block.label.as_ref().and_then(|of| of.result_id).is_some_and(|of| self.is_in(of, within));
        for of in function.blocks.iter().filter(is_inside).flat_map(|block| &block.instructions) {
            let is_fixed = match of.class.opcode {
                Op::Load => operand(of, 0).is_some_and(|pointer| self.is_kept(self.root(pointer), within)),
                opcode => is_pure(opcode),
            };
            let takes_others = || of.operands.iter().filter_map(id).any(|taken| changing.contains(&self.whole(taken)));
            if let Some(result) = of.result_id.filter(|_| !is_fixed || takes_others()) {
                changing.insert(result);
            }
        }
        changing
    }

    fn is_in(&self, block: Word, within: usize) -> bool {
        self.loops.around(block).is_some_and(|around| around.contains(&within))
    }

    /// Whether a loop leaves a variable as it is.
    fn is_kept(&self, variable: Word, within: usize) -> bool {
        let Some(class) = self.class(variable) else { return false };
        let is_written =
            self.written.get(&variable).is_some_and(|blocks| blocks.iter().any(|block| self.is_in(*block, within)));
        let is_seen = class != StorageClass::Function && self.calls.iter().any(|block| self.is_in(*block, within));
        is_constant(class) || class != StorageClass::Workgroup && !is_written && !is_seen
    }
}

/// Whether nobody writes to variables of a class.
fn is_constant(class: StorageClass) -> bool {
    use StorageClass::{Input, PushConstant, UniformConstant};
    matches!(class, Input | PushConstant | UniformConstant)
}

/// Whether a result depends on nothing but its operands.
fn is_pure(opcode: Op) -> bool {
    let op = opcode as u32;
    matches!(opcode, Op::ExtInst | Op::AccessChain | Op::InBoundsAccessChain)
        || within(op, Op::VectorExtractDynamic, Op::Transpose)
        || within(op, Op::ConvertFToU, Op::Bitcast)
        || within(op, Op::SNegate, Op::SMulExtended)
        || within(op, Op::Any, Op::FUnordGreaterThanEqual)
        || within(op, Op::ShiftRightLogical, Op::BitCount)
}
