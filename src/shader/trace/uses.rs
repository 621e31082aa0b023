//! Which values matter: those that a store, a branch, an address or an atomic operation may depend on.

use std::collections::HashMap;

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Op, StorageClass, Word};

use crate::shader::loader::id;

#[derive(Default)]
struct Slice<'m> {
    definitions: HashMap<Word, &'m Instruction>,
    /// What is stored to variables of the invocation's own, by their ids, and whether that is all that is there.
    stored: HashMap<Word, Vec<(Word, bool)>>,
    /// What functions return, and the arguments of calls by the parameters that take them.
    returned: HashMap<Word, Vec<Word>>,
    given: HashMap<Word, Vec<Word>>,
    /// Those that matter, and which of their components.
    matters: HashMap<Word, u32>,
    open: Vec<Word>,
}

fn operands(of: &Instruction) -> impl Iterator<Item = Word> + '_ {
    of.operands.iter().filter_map(id)
}

/// The results that matter, and which of their first 32 components, a bit each.
pub(in crate::shader) fn mattering(module: &Module) -> HashMap<Word, u32> {
    let mut slice = Slice::default();
    let parameters: HashMap<Word, Vec<Word>> = module
        .functions
        .iter()
        .filter_map(|of| Some((of.def_id()?, of.parameters.iter().filter_map(|parameter| parameter.result_id).collect())))
        .collect();
    for global in &module.types_global_values {
        slice.define(global);
    }
    for function in &module.functions {
        let own = function.def_id().unwrap_or_default();
        function.parameters.iter().for_each(|parameter| slice.define(parameter));
        for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
            slice.define(instruction);
            match instruction.class.opcode {
                Op::ReturnValue => slice.returned.entry(own).or_default().extend(operands(instruction)),
                Op::FunctionCall => {
                    let mut arguments = operands(instruction);
                    let callee = arguments.next().and_then(|callee| parameters.get(&callee));
                    for (parameter, argument) in callee.into_iter().flatten().zip(arguments) {
                        slice.given.entry(*parameter).or_default().push(argument);
                    }
                }
                _ => {}
            }
        }
    }
    for instruction in module.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.instructions) {
        slice.begin(instruction);
    }
    while let Some(value) = slice.open.pop() {
        slice.reach(value);
    }
    slice.matters
}

impl<'m> Slice<'m> {
    fn define(&mut self, instruction: &'m Instruction) {
        if let Some(result) = instruction.result_id {
            self.definitions.insert(result, instruction);
        }
    }

    fn mark(&mut self, value: Word) {
        self.mark_components(value, u32::MAX);
    }

    fn mark_components(&mut self, value: Word, components: u32) {
        let known = self.matters.entry(value).or_default();
        if components & !*known != 0 {
            *known |= components;
            self.open.push(value);
        }
    }

    /// The variable or parameter that a pointer starts from.
    fn root(&self, mut pointer: Word) -> Word {
        while let Some(of) = self.definitions.get(&pointer) {
            let is_step = matches!(
                of.class.opcode,
                Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain | Op::CopyObject
            );
            match operands(of).next().filter(|_| is_step) {
                Some(base) => pointer = base,
                None => break,
            }
        }
        pointer
    }

    /// The component, or the member, of a variable that a pointer leads to, if it is one of the first 32.
    fn component(&self, pointer: Word, root: Word) -> Option<u32> {
        let of = self.definitions.get(&pointer)?;
        let is_chain = matches!(of.class.opcode, Op::AccessChain | Op::InBoundsAccessChain);
        let (base, index) = (operands(of).next()?, operands(of).nth(1)?);
        let constant = self.definitions.get(&index).filter(|of| is_chain && base == root && of.class.opcode == Op::Constant)?;
        match constant.operands.first() {
            Some(Operand::LiteralBit32(at)) if *at < 32 => Some(*at),
            _ => None,
        }
    }

    /// The invocation's own variable that a pointer leads to.
    fn own(&self, pointer: Word) -> Option<Word> {
        let root = self.root(pointer);
        let of = self.definitions.get(&root)?;
        let is_own = |class| matches!(class, StorageClass::Function | StorageClass::Private);
        let class = of.operands.first().and_then(|operand| match operand {
            Operand::StorageClass(class) => Some(*class),
            _ => None,
        });
        (of.class.opcode == Op::Variable && class.is_some_and(is_own)).then_some(root)
    }

    /// Marks what an instruction makes matter by itself.
    fn begin(&mut self, instruction: &'m Instruction) {
        let values: Vec<Word> = operands(instruction).collect();
        match instruction.class.opcode {
            Op::Store => match (self.own(values[0]), values.get(1)) {
                (Some(own), Some(value)) => self.stored.entry(own).or_default().push((*value, values[0] == own)),
                _ => values.into_iter().for_each(|value| self.mark(value)),
            },
            Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain => {
                values.into_iter().skip(1).for_each(|index| self.mark(index));
            }
            Op::BranchConditional | Op::Switch => values.into_iter().take(1).for_each(|value| self.mark(value)),
            // Whoever is called may do anything with what pointers lead to.
            Op::FunctionCall => {
                let own: Vec<Word> = values.iter().skip(1).filter_map(|argument| self.own(*argument)).collect();
                own.into_iter().for_each(|own| self.mark(own));
            }
            Op::ReturnValue | Op::SelectionMerge | Op::LoopMerge | Op::Branch | Op::Line => {}
            _ if instruction.result_id.is_none() || instruction.class.opname.starts_with("Atomic") => {
                values.into_iter().for_each(|value| self.mark(value));
            }
            _ => {}
        }
    }

    /// Marks what a value that matters is made of.
    fn reach(&mut self, value: Word) {
        let components = self.matters.get(&value).copied().unwrap_or(u32::MAX);
        for (stored, is_whole) in self.stored.get(&value).cloned().unwrap_or_default() {
            self.mark_components(stored, if is_whole { components } else { u32::MAX });
        }
        self.given.remove(&value).into_iter().flatten().for_each(|given| self.mark(given));
        let Some(of) = self.definitions.get(&value).copied() else { return };
        match of.class.opcode {
            Op::FunctionCall => {
                let callee = operands(of).next();
                callee
                    .and_then(|callee| self.returned.remove(&callee))
                    .into_iter()
                    .flatten()
                    .for_each(|given| self.mark(given));
            }
            Op::Load => {
                let pointer = operands(of).next().unwrap_or_default();
                let root = self.root(pointer);
                match self.component(pointer, root) {
                    Some(component) => self.mark_components(root, 1 << component),
                    None => self.mark_components(root, if pointer == root { components } else { u32::MAX }),
                }
            }
            Op::CompositeExtract => {
                let component = of.operands.get(1).and_then(|operand| match operand {
                    Operand::LiteralBit32(at) if *at < 32 => Some(1 << at),
                    _ => None,
                });
                operands(of).for_each(|operand| self.mark_components(operand, component.unwrap_or(u32::MAX)));
            }
            _ => operands(of).for_each(|operand| self.mark(operand)),
        }
    }
}
