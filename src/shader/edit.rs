//! A module that is being rewritten, by whatever adds code to it: what it declares, and what is added.

use std::collections::HashMap;

use rspirv::dr::{Block, Instruction, Module, Operand};
use rspirv::spirv::{Capability, Decoration, MemoryModel, Op, Scope, StorageClass, Word};
use thiserror::Error;

use super::loader::{LoadError, id};
use super::reflect::index::Index as Names;
use super::validator::Invalid;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the module has no {0}")]
pub struct Missing(pub(super) &'static str);

/// Why a module isn't rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RewriteError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Missing(#[from] Missing),
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

#[derive(Default)]
pub(super) struct Editor {
    pub(super) module: Module,
    pub(super) names: Names,
    pub(super) types: HashMap<Word, Instruction>,
    /// Of each result, its type.
    pub(super) type_of: HashMap<Word, Word>,
    pub(super) constants: HashMap<Word, Instruction>,
    pub(super) uint: Word,
    pub(super) bool: Word,
    pub(super) zero: Word,
    /// A pointer to a word of the invocation's own.
    own_pointer: Word,
    /// Constants that are words, by their values.
    words: HashMap<u32, Word>,
    /// Variables of built-in inputs that were asked for.
    pub(super) built_ins: HashMap<u32, Word>,
    next: Word,
}

/// How an access chain goes on: to a member of a struct, or to an element of an array, a component of a vector, a column of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Member(u32),
    Element,
}

/// A storage buffer of words that the module was given.
pub(super) struct WordBuffer {
    pub(super) variable: Word,
    pub(super) to_word: Word,
}

impl Editor {
    pub(super) fn new(module: Module) -> Result<Self, Missing> {
        let next = module.header.as_ref().map(|header| header.bound).ok_or(Missing("header"))?;
        let functions = module.functions.iter();
        let inner = functions.flat_map(|function| {
            function.parameters.iter().chain(function.blocks.iter().flat_map(|block| &block.instructions))
        });
        let results = module.types_global_values.iter().chain(inner);
        let type_of = results.filter_map(|instruction| Some((instruction.result_id?, instruction.result_type?))).collect();
        let of_kind = |is_kind: fn(Op) -> bool| {
            let found = module.types_global_values.iter().filter(|instruction| is_kind(instruction.class.opcode));
            found.filter_map(|instruction| Some((instruction.result_id?, instruction.clone()))).collect::<HashMap<_, _>>()
        };
        let (types, constants) = (of_kind(|op| op.is_type()), of_kind(|op| op.is_constant()));
        let names = Names::of(&module);
        let mut new = Self { types, type_of, constants, next, names, module, ..Self::default() };
        new.uint = new.find_type(Op::TypeInt, &[Operand::LiteralBit32(32), Operand::LiteralBit32(0)]);
        new.bool = new.find_type(Op::TypeBool, &[]);
        new.zero = new.constant(0);
        new.own_pointer = new.pointer(StorageClass::Private, new.uint);
        Ok(new)
    }

    /// The module as it is now.
    pub(super) fn finish(mut self) -> Module {
        if let Some(header) = &mut self.module.header {
            header.bound = self.next;
        }
        self.module
    }

    pub(super) fn take_id(&mut self) -> Word {
        self.next += 1;
        self.next - 1
    }

    pub(super) fn require(&mut self, capability: Capability) {
        let operand = Operand::Capability(capability);
        if self.module.capabilities.iter().all(|known| known.operands.first() != Some(&operand)) {
            self.module.capabilities.push(Instruction::new(Op::Capability, None, None, vec![operand]));
        }
    }

    // ---- declarations -----------------------------------------------------------------------------------------------------

    pub(super) fn declare(&mut self, op: Op, ty: Option<Word>, operands: Vec<Operand>) -> Word {
        let id = self.take_id();
        let instruction = Instruction::new(op, ty, Some(id), operands);
        match ty {
            Some(ty) => drop(self.type_of.insert(id, ty)),
            None => drop(self.types.insert(id, instruction.clone())),
        }
        self.module.types_global_values.push(instruction);
        id
    }

    /// A type of which a module may have only one. A new one is of use to what is declared after it, which is all that is new.
    pub(super) fn find_type(&mut self, op: Op, operands: &[Operand]) -> Word {
        let mut all = self.module.types_global_values.iter();
        let found = all.find(|instruction| instruction.class.opcode == op && instruction.operands == operands);
        found.and_then(|instruction| instruction.result_id).unwrap_or_else(|| self.declare(op, None, operands.to_vec()))
    }

    pub(super) fn integer_type(&mut self, width: u32, is_signed: bool) -> Word {
        self.find_type(Op::TypeInt, &[Operand::LiteralBit32(width), Operand::LiteralBit32(is_signed.into())])
    }

    pub(super) fn constant(&mut self, value: u32) -> Word {
        if let Some(known) = self.words.get(&value) {
            return *known;
        }
        let word = self.declare(Op::Constant, Some(self.uint), vec![Operand::LiteralBit32(value)]);
        self.words.insert(value, word);
        word
    }

    pub(super) fn pointer(&mut self, class: StorageClass, to: Word) -> Word {
        self.find_type(Op::TypePointer, &[Operand::StorageClass(class), Operand::IdRef(to)])
    }

    /// The storage class of a type of pointers, and what it points to.
    pub(super) fn pointee(&self, pointer: Word) -> Option<(StorageClass, Word)> {
        let pointer = self.types.get(&pointer).filter(|ty| ty.class.opcode == Op::TypePointer)?;
        match pointer.operands[..] {
            [Operand::StorageClass(class), Operand::IdRef(ty)] => Some((class, ty)),
            _ => None,
        }
    }

    /// A constant that no specialization changes.
    pub(super) fn literal(&self, constant: Word) -> Option<u32> {
        let instruction = self.constants.get(&constant).filter(|constant| constant.class.opcode == Op::Constant)?;
        match instruction.operands[..] {
            [Operand::LiteralBit32(value)] => Some(value),
            _ => None,
        }
    }

    /// How the shader calls what lies so many steps from a variable of this type: members of a block without a name of its own are
    /// global.
    pub(super) fn path_name(&self, variable: Word, ty: Word, path: &[Step]) -> String {
        let (mut name, mut ty) = (self.names.name(variable).to_owned(), Some(ty));
        for step in path {
            let instruction = ty.and_then(|ty| self.types.get(&ty));
            let place = match step {
                Step::Member(member) => {
                    // Compilers of other languages leave the members of a buffer's block without names.
                    let member_name = ty.map_or("", |ty| self.names.member_name(ty, *member));
                    let dot = if name.is_empty() || member_name.is_empty() { "" } else { "." };
                    name = format!("{name}{dot}{member_name}");
                    *member as usize
                }
                Step::Element => {
                    name.push_str("[]");
                    0
                }
            };
            ty = instruction.and_then(|ty| id(ty.operands.get(place)?));
        }
        name
    }

    pub(super) fn decorate(&mut self, target: Word, decoration: Decoration, value: Option<u32>) {
        let value = value.map(Operand::LiteralBit32);
        let operands = [Operand::IdRef(target), Operand::Decoration(decoration)].into_iter().chain(value);
        self.module.annotations.push(Instruction::new(Op::Decorate, None, None, operands.collect()));
    }

    /// A binding that nothing in the module has, in whatever set.
    pub(super) fn free_binding(&self) -> u32 {
        let is_binding =
            |instruction: &&Instruction| instruction.operands.get(1) == Some(&Operand::Decoration(Decoration::Binding));
        let bindings =
            self.module.annotations.iter().filter(is_binding).filter_map(|instruction| match instruction.operands[..] {
                [_, _, Operand::LiteralBit32(binding)] => Some(binding),
                _ => None,
            });
        bindings.max().map_or(0, |last| last.saturating_add(1))
    }

    /// A word of the invocation's own, which is 0 at first.
    pub(super) fn own_variable(&mut self) -> Word {
        self.own_variable_from(0)
    }

    pub(super) fn own_variable_from(&mut self, first: u32) -> Word {
        let operands = vec![Operand::StorageClass(StorageClass::Private), Operand::IdRef(self.constant(first))];
        let variable = self.declare(Op::Variable, Some(self.own_pointer), operands);
        self.list(variable);
        variable
    }

    pub(super) fn word_buffer(&mut self, (set, binding): (u32, u32)) -> WordBuffer {
        // Before SPIR-V 1.3, storage buffers are uniforms with another decoration.
        let is_old = self.version() < 0x0001_0300;
        let (class, decoration) = if is_old {
            (StorageClass::Uniform, Decoration::BufferBlock)
        } else {
            (StorageClass::StorageBuffer, Decoration::Block)
        };
        let words = self.declare(Op::TypeRuntimeArray, None, vec![Operand::IdRef(self.uint)]);
        let block = self.declare(Op::TypeStruct, None, vec![Operand::IdRef(words)]);
        let to_block = self.pointer(class, block);
        let to_word = self.pointer(class, self.uint);
        let variable = self.declare(Op::Variable, Some(to_block), vec![Operand::StorageClass(class)]);
        self.decorate(words, Decoration::ArrayStride, Some(4));
        self.decorate(block, decoration, None);
        let offset = [
            Operand::IdRef(block),
            Operand::LiteralBit32(0),
            Operand::Decoration(Decoration::Offset),
            Operand::LiteralBit32(0),
        ];
        self.module.annotations.push(Instruction::new(Op::MemberDecorate, None, None, offset.to_vec()));
        self.decorate(variable, Decoration::DescriptorSet, Some(set));
        self.decorate(variable, Decoration::Binding, Some(binding));
        self.list(variable);
        WordBuffer { variable, to_word }
    }

    /// Lists a variable at the entry point, which must name all of them since SPIR-V 1.4.
    pub(super) fn list(&mut self, variable: Word) {
        if self.version() >= 0x0001_0400 {
            self.module.entry_points[0].operands.push(Operand::IdRef(variable));
        }
    }

    pub(super) fn version(&self) -> u32 {
        self.module.header.as_ref().map_or(0, |header| header.version)
    }

    /// Whether the module states Vulkan's memory model, and not GLSL's.
    pub(super) fn is_vulkan_model(&self) -> bool {
        let model = self.module.memory_model.as_ref().and_then(|model| model.operands.get(1));
        model == Some(&Operand::MemoryModel(MemoryModel::Vulkan))
    }

    // ---- code -------------------------------------------------------------------------------------------------------------

    pub(super) fn emit(&mut self, code: &mut Vec<Instruction>, op: Op, ty: Word, operands: &[Word]) -> Word {
        let result = self.take_id();
        code.push(Instruction::new(op, Some(ty), Some(result), ids(operands)));
        self.type_of.insert(result, ty);
        result
    }

    pub(super) fn component(&mut self, of: Word, ty: Word, at: u32, code: &mut Vec<Instruction>) -> Word {
        let result = self.take_id();
        let operands = vec![Operand::IdRef(of), Operand::LiteralBit32(at)];
        code.push(Instruction::new(Op::CompositeExtract, Some(ty), Some(result), operands));
        self.type_of.insert(result, ty);
        result
    }

    /// Changes a word of a buffer by an atomic operation. Gives what was there before.
    pub(super) fn change_word(
        &mut self,
        op: Op,
        buffer: &WordBuffer,
        word: usize,
        value: Word,
        code: &mut Vec<Instruction>,
    ) -> Word {
        let word = self.constant(u32::try_from(word).unwrap_or(u32::MAX));
        self.change_word_at(op, buffer, word, value, code)
    }

    /// The same of a word whose index is a value of the module.
    pub(super) fn change_word_at(
        &mut self,
        op: Op,
        buffer: &WordBuffer,
        word: Word,
        value: Word,
        code: &mut Vec<Instruction>,
    ) -> Word {
        // Under the Vulkan memory model, the device's scope takes a capability of its own.
        let scope = self.constant(if self.is_vulkan_model() { Scope::QueueFamily } else { Scope::Device } as u32);
        let place = self.emit(code, Op::AccessChain, buffer.to_word, &[buffer.variable, self.zero, word]);
        let before = self.take_id();
        let operands =
            vec![Operand::IdRef(place), Operand::IdScope(scope), Operand::IdMemorySemantics(self.zero), Operand::IdRef(value)];
        code.push(Instruction::new(op, Some(self.uint), Some(before), operands));
        self.type_of.insert(before, self.uint);
        before
    }

    /// Replaces the indexes of an access chain that lie beyond the ends of arrays which no robust access guards.
    pub(super) fn keep_within(&mut self, chain: &mut Instruction, code: &mut Vec<Instruction>) {
        if !matches!(chain.class.opcode, Op::AccessChain | Op::InBoundsAccessChain) {
            return;
        }
        let base = chain.operands.first().and_then(id).and_then(|base| self.pointee(*self.type_of.get(&base)?));
        let Some((_, mut ty)) = base.filter(|(class, _)| is_unguarded(*class)) else { return };
        for at in 1..chain.operands.len() {
            let Some(index) = id(&chain.operands[at]) else { return };
            let member = self.literal(index).unwrap_or(0) as usize;
            let Some(of) = self.types.get(&ty) else { return };
            let is_struct = of.class.opcode == Op::TypeStruct;
            let Some(next) = of.operands.get(if is_struct { member } else { 0 }).and_then(id) else { return };
            if !is_struct && !self.is_surely_within(ty, index) {
                if let (Some(within), Some(length)) = (self.as_uint(index, code), self.length_of(ty, code)) {
                    let is_within = self.emit(code, Op::ULessThan, self.bool, &[within, length]);
                    let kept = self.emit(code, Op::Select, self.uint, &[is_within, within, self.zero]);
                    chain.operands[at] = Operand::IdRef(kept);
                }
            }
            ty = next;
        }
    }

    /// Whether both the index and the length of an array of this type are written down.
    pub(super) fn is_surely_within(&self, ty: Word, index: Word) -> bool {
        let length = self.types.get(&ty).and_then(|ty| match (ty.class.opcode, ty.operands.get(1)?) {
            (Op::TypeArray, Operand::IdRef(length)) => self.literal(*length),
            (_, Operand::LiteralBit32(length)) => Some(*length),
            _ => None,
        });
        length.zip(self.literal(index)).is_some_and(|(length, index)| index < length)
    }

    /// The length of an array, a vector or a matrix that isn't as long as its buffer.
    pub(super) fn length_of(&mut self, ty: Word, code: &mut Vec<Instruction>) -> Option<Word> {
        let ty = self.types.get(&ty)?;
        match (ty.class.opcode, ty.operands.get(1)?) {
            (Op::TypeArray, Operand::IdRef(length)) => {
                let length = *length;
                self.as_uint(length, code)
            }
            (_, Operand::LiteralBit32(length)) => {
                let length = *length;
                Some(self.constant(length))
            }
            _ => None,
        }
    }

    /// The width of a whole number, and whether it is signed.
    pub(super) fn integer(&self, value: Word) -> Option<(u32, bool)> {
        match self.types.get(self.type_of.get(&value)?)?.operands[..] {
            [Operand::LiteralBit32(width), Operand::LiteralBit32(signed)] => Some((width, signed == 1)),
            _ => None,
        }
    }

    /// An index as a word without a sign; those beyond 32 bits are the largest one.
    pub(super) fn as_uint(&mut self, index: Word, code: &mut Vec<Instruction>) -> Option<Word> {
        let (width, is_signed) = self.integer(index)?;
        Some(match (width, is_signed) {
            (32, false) => index,
            (32, true) => self.emit(code, Op::Bitcast, self.uint, &[index]),
            (64, _) => {
                let wide = self.integer_type(64, false);
                let index = if is_signed { self.emit(code, Op::Bitcast, wide, &[index]) } else { index };
                let most = self.declare(Op::Constant, Some(wide), vec![Operand::LiteralBit64(u32::MAX.into())]);
                let is_beyond = self.emit(code, Op::UGreaterThan, self.bool, &[index, most]);
                let least = self.emit(code, Op::Select, wide, &[is_beyond, most, index]);
                self.emit(code, Op::UConvert, self.uint, &[least])
            }
            (_, false) => self.emit(code, Op::UConvert, self.uint, &[index]),
            (_, true) => {
                let signed = self.integer_type(32, true);
                let wide = self.emit(code, Op::SConvert, signed, &[index]);
                self.emit(code, Op::Bitcast, self.uint, &[wide])
            }
        })
    }
}

/// The most parts of a value that are folded into a word.
const MOST_PARTS: usize = 64;

impl Editor {
    /// A word that depends on all bits of a value; nothing for pointers and the like.
    pub(super) fn folded(&mut self, value: Word, code: &mut Vec<Instruction>) -> Option<Word> {
        let mut words = Vec::new();
        let mut open = vec![(value, *self.type_of.get(&value)?)];
        while let Some((value, ty)) = open.pop().filter(|_| words.len() < MOST_PARTS) {
            let of = self.types.get(&ty)?.clone();
            let part = of.operands.first().and_then(id);
            let of_parts = |count: u32| part.map(|part| vec![part; count as usize]);
            let parts = match (of.class.opcode, &of.operands[..]) {
                (Op::TypeVector | Op::TypeMatrix, [_, Operand::LiteralBit32(count)]) => of_parts(*count)?,
                (Op::TypeArray, [_, Operand::IdRef(length)]) => of_parts(self.literal(*length)?)?,
                (Op::TypeStruct, members) => members.iter().filter_map(id).collect(),
                _ => {
                    words.push(self.word(value, &of, code)?);
                    continue;
                }
            };
            for (at, ty) in (0..).zip(parts).take(MOST_PARTS) {
                open.push((self.part(value, at, ty, code), ty));
            }
        }
        let first = words.pop()?;
        Some(words.into_iter().fold(first, |all, word| self.emit(code, Op::BitwiseXor, self.uint, &[all, word])))
    }

    fn part(&mut self, value: Word, at: u32, ty: Word, code: &mut Vec<Instruction>) -> Word {
        let part = self.take_id();
        self.type_of.insert(part, ty);
        let operands = vec![Operand::IdRef(value), Operand::LiteralBit32(at)];
        code.push(Instruction::new(Op::CompositeExtract, Some(ty), Some(part), operands));
        part
    }

    /// The same of a scalar.
    fn word(&mut self, value: Word, of: &Instruction, code: &mut Vec<Instruction>) -> Option<Word> {
        Some(match (of.class.opcode, &of.operands[..]) {
            (Op::TypeInt | Op::TypeFloat, [Operand::LiteralBit32(64), ..]) => {
                let pair = self.find_type(Op::TypeVector, &[Operand::IdRef(self.uint), Operand::LiteralBit32(2)]);
                let both = self.emit(code, Op::Bitcast, pair, &[value]);
                let [low, high] = [0, 1].map(|at| self.part(both, at, self.uint, code));
                self.emit(code, Op::BitwiseXor, self.uint, &[low, high])
            }
            (Op::TypeInt, _) => self.as_uint(value, code)?,
            (Op::TypeFloat, [Operand::LiteralBit32(32)]) => self.emit(code, Op::Bitcast, self.uint, &[value]),
            (Op::TypeFloat, [Operand::LiteralBit32(16)]) => {
                let float = self.find_type(Op::TypeFloat, &[Operand::LiteralBit32(32)]);
                let wide = self.emit(code, Op::FConvert, float, &[value]);
                self.emit(code, Op::Bitcast, self.uint, &[wide])
            }
            _ => return None,
        })
    }
}

/// Memory that no robust access guards.
pub(super) fn is_unguarded(class: StorageClass) -> bool {
    use StorageClass::{Function, Input, Private, PushConstant, Workgroup};
    matches!(class, Workgroup | Private | Function | PushConstant | Input)
}

/// Takes the other entry points out, and gives the function of this one.
pub(super) fn keep_entry(module: &mut Module, name: &str) -> Result<Word, Missing> {
    let is_it = |instruction: &Instruction| matches!(&instruction.operands[..], [_, _, Operand::LiteralString(known), ..] if known == name);
    module.entry_points.retain(is_it);
    let function = module.entry_points.first().and_then(|entry| id(entry.operands.get(1)?));
    let function = function.ok_or(Missing("such entry point"))?;
    module.execution_modes.retain(|mode| mode.operands.first().and_then(id) == Some(function));
    Ok(function)
}

pub(super) fn labelled(label: Word, instructions: Vec<Instruction>) -> Block {
    Block { label: Some(Instruction::new(Op::Label, None, Some(label), Vec::new())), instructions }
}

pub(super) fn ids(operands: &[Word]) -> Vec<Operand> {
    operands.iter().copied().map(Operand::IdRef).collect()
}

#[cfg(test)]
mod tests {
    use rspirv::binary::Assemble;

    use super::*;
    use crate::model::SpirvTarget;
    use crate::shader::validator::validate;
    use crate::shader::{Compiler, Library, load};

    /// A module may have each type of numbers and vectors only once, whichever of them it had before.
    #[test]
    fn values_of_all_widths_are_folded_where_their_types_are_there_already() {
        let text = "#version 450\n#extension GL_EXT_shader_explicit_arithmetic_types : require\n
            layout(binding = 0) buffer M { uint64_t wide[4]; f16vec4 narrow[4]; f64vec2 doubles[4]; uvec2 pairs[4]; float singles[4]; };
            void main() {
                wide[0] = wide[1] + 1ul; narrow[0] = narrow[1] + narrow[2]; doubles[0] = doubles[1]; pairs[0] = pairs[1]; singles[0] = singles[1];
            }";
        let library = Library::embedded().with("a.comp", text);
        let compiled = Compiler::new(library).unwrap().compile("a.comp", &[], SpirvTarget::Vulkan1_3).unwrap();
        let mut editor = Editor::new(load(&compiled.words).unwrap()).unwrap();
        let mut folded = 0;
        let mut functions = std::mem::take(&mut editor.module.functions);
        for block in functions.iter_mut().flat_map(|function| &mut function.blocks) {
            let stores = block.instructions.iter().filter(|instruction| instruction.class.opcode == Op::Store);
            let values: Vec<Word> = stores.filter_map(|store| id(&store.operands[1])).collect();
            let end = block.instructions.pop().unwrap();
            folded += values.into_iter().filter_map(|value| editor.folded(value, &mut block.instructions)).count();
            block.instructions.push(end);
        }
        editor.module.functions = functions;
        assert_eq!((folded, validate(&editor.finish().assemble())), (5, Ok(())));
    }
}
