//! The new module: what it declares, what it notes before each access, and what it writes at its end.

mod follow;

use std::collections::{BTreeMap, HashMap};

use rspirv::dr::{Block, Function, Instruction, Module, Operand};
use rspirv::spirv::{Decoration, MemoryModel, Op, Scope, SelectionControl, StorageClass, Word};

use super::{Home, NotedArray, Notes, NotingError};
use crate::shader::loader::id;
use crate::shader::reflect::index::Index as Names;
use crate::shader::reflect::reach::Mentions;
use follow::{Index, Pointee, Step, is_unguarded, pointers, reaches_further};

pub(super) struct Array {
    pub(super) told: NotedArray,
    variable: Word,
    path: Vec<Step>,
    ty: Word,
    /// The variable that holds the largest index so far.
    largest: Word,
}

#[derive(Default)]
pub(super) struct Writer {
    pub(super) module: Module,
    names: Names,
    types: HashMap<Word, Instruction>,
    type_of: HashMap<Word, Word>,
    constants: HashMap<Word, Instruction>,
    places: HashMap<Word, Pointee>,
    pub(super) place: (u32, u32),
    pub(super) arrays: Vec<Array>,
    /// Where an array is among them.
    known: BTreeMap<(Word, Vec<Step>), usize>,
    pub(super) unfollowed: usize,
    uint: Word,
    bool: Word,
    zero: Word,
    /// A pointer to a word of the invocation's own.
    own_pointer: Word,
    next: Word,
    /// The variable that counts iterations, and how many are noted.
    iterations: Option<(Word, Word)>,
}

impl Writer {
    pub(super) fn new(module: Module) -> Result<Self, NotingError> {
        let next = module.header.as_ref().map(|header| header.bound).ok_or(NotingError::Missing("header"))?;
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
        new.note_variables();
        new.place = (0, new.free_binding());
        Ok(new)
    }

    fn take_id(&mut self) -> Word {
        self.next += 1;
        self.next - 1
    }

    // ---- declarations -----------------------------------------------------------------------------------------------------

    fn declare(&mut self, op: Op, ty: Option<Word>, operands: Vec<Operand>) -> Word {
        let id = self.take_id();
        self.module.types_global_values.push(Instruction::new(op, ty, Some(id), operands));
        if let Some(ty) = ty {
            self.type_of.insert(id, ty);
        }
        id
    }

    /// A type of which a module may have only one. A new one is of use to what is declared after it, which is all that is new.
    fn find_type(&mut self, op: Op, operands: &[Operand]) -> Word {
        let mut all = self.module.types_global_values.iter();
        let found = all.find(|instruction| instruction.class.opcode == op && instruction.operands == operands);
        found.and_then(|instruction| instruction.result_id).unwrap_or_else(|| self.declare(op, None, operands.to_vec()))
    }

    fn constant(&mut self, value: u32) -> Word {
        self.declare(Op::Constant, Some(self.uint), vec![Operand::LiteralBit32(value)])
    }

    fn pointer(&mut self, class: StorageClass, to: Word) -> Word {
        self.find_type(Op::TypePointer, &[Operand::StorageClass(class), Operand::IdRef(to)])
    }

    fn decorate(&mut self, target: Word, decoration: Decoration, value: Option<u32>) {
        let value = value.map(Operand::LiteralBit32);
        let operands = [Operand::IdRef(target), Operand::Decoration(decoration)].into_iter().chain(value);
        self.module.annotations.push(Instruction::new(Op::Decorate, None, None, operands.collect()));
    }

    fn free_binding(&self) -> u32 {
        let is_binding =
            |instruction: &&Instruction| instruction.operands.get(1) == Some(&Operand::Decoration(Decoration::Binding));
        let bindings =
            self.module.annotations.iter().filter(is_binding).filter_map(|instruction| match instruction.operands[..] {
                [_, _, Operand::LiteralBit32(binding)] => Some(binding),
                _ => None,
            });
        bindings.max().map_or(0, |last| last.saturating_add(1))
    }

    // ---- noting -----------------------------------------------------------------------------------------------------------

    /// Has the loops that an entry point comes to count their iterations, all together.
    pub(super) fn count_iterations(&mut self, entry: Word, most: u32) {
        let (count, most) = (self.own_variable(), self.constant(most));
        let one = self.constant(1);
        self.iterations = Some((count, most));
        self.each_called(entry, |writer, function| {
            // What an iteration begins with, the last one included, which finds that there is nothing left to do.
            let is_header =
                |block: &&mut Block| block.instructions.iter().any(|instruction| instruction.class.opcode == Op::LoopMerge);
            for block in function.blocks.iter_mut().filter(is_header) {
                let is_phi = |instruction: &Instruction| matches!(instruction.class.opcode, Op::Phi | Op::Line | Op::NoLine);
                let rest = block.instructions.iter().position(|instruction| !is_phi(instruction)).unwrap_or(0);
                let after = block.instructions.split_off(rest);
                let so_far = writer.emit(&mut block.instructions, Op::Load, writer.uint, &[count]);
                let more = writer.emit(&mut block.instructions, Op::IAdd, writer.uint, &[so_far, one]);
                block.instructions.push(Instruction::new(Op::Store, None, None, ids(&[count, more])));
                block.instructions.extend(after);
            }
        });
    }

    /// A variable of the invocation's own, which is 0 at first.
    fn own_variable(&mut self) -> Word {
        let operands = vec![Operand::StorageClass(StorageClass::Private), Operand::IdRef(self.zero)];
        let variable = self.declare(Op::Variable, Some(self.own_pointer), operands);
        self.list(variable);
        variable
    }

    pub(super) fn instrument(&mut self, entry: Word) {
        // Blocks stand after those that dominate them: what a pointer is made of comes before it.
        self.each_called(entry, |writer, function| {
            function.parameters.iter().for_each(|parameter| writer.root(parameter));
            let uses = uses(function);
            function.blocks.iter_mut().for_each(|block| writer.instrument_block(block, &uses));
        });
    }

    /// Changes the functions that an entry point comes to. The others, of other entry points, use buffers that nobody gives.
    fn each_called(&mut self, entry: Word, mut change: impl FnMut(&mut Self, &mut Function)) {
        let called = Mentions::of(&self.module).from([entry]);
        let mut functions = std::mem::take(&mut self.module.functions);
        let is_run = |function: &&mut Function| function.def_id().is_some_and(|id| called.contains(&id));
        functions.iter_mut().filter(is_run).for_each(|function| change(self, function));
        self.module.functions = functions;
    }

    fn instrument_block(&mut self, block: &mut Block, uses: &HashMap<Word, usize>) {
        let mut choosable = self.choosable(block, uses);
        for mut instruction in std::mem::take(&mut block.instructions) {
            if instruction.class.opcode == Op::Variable {
                self.root(&instruction);
            }
            self.follow(&instruction);
            self.keep_within(&mut instruction, &mut block.instructions);
            self.unfollowed += usize::from(reaches_further(&instruction));
            match instruction.result_id.and_then(|result| choosable.get_mut(&result)) {
                Some(pointer) => *pointer = instruction.operands.first().and_then(id),
                None => {
                    pointers(&instruction).into_iter().for_each(|pointer| self.note(pointer, None, &mut block.instructions))
                }
            }
            if let (Op::Select, [condition, values @ ..]) = (instruction.class.opcode, &instruction.operands[..]) {
                for (i, value) in values.iter().enumerate() {
                    let pointer = id(value).and_then(|value| choosable.get(&value).copied().flatten());
                    if let (Some(pointer), Some(condition)) = (pointer, id(condition)) {
                        self.note(pointer, Some((condition, i == 0)), &mut block.instructions);
                    }
                }
            }
            block.instructions.push(instruction);
        }
    }

    /// The loads of a block whose values are for `OpSelect` alone, as compilers write `i > 0 ? a[i - 1] : 0`: they read from where nothing
    /// is, and nobody takes what they read. What isn't chosen counts as index 0.
    fn choosable(&self, block: &Block, uses: &HashMap<Word, usize>) -> HashMap<Word, Option<Word>> {
        let is_plain = |condition: &Operand| id(condition).and_then(|id| self.type_of.get(&id)) == Some(&self.bool);
        let mut chosen: HashMap<Word, usize> = HashMap::new();
        for instruction in block.instructions.iter().filter(|instruction| instruction.class.opcode == Op::Select) {
            if let [condition, values @ ..] = &instruction.operands[..] {
                values
                    .iter()
                    .filter(|_| is_plain(condition))
                    .filter_map(id)
                    .for_each(|value| *chosen.entry(value).or_default() += 1);
            }
        }
        let loads = block.instructions.iter().filter(|instruction| instruction.class.opcode == Op::Load);
        let results = loads
            .filter_map(|load| load.result_id)
            .filter(|load| chosen.get(load).is_some_and(|count| Some(count) == uses.get(load)));
        results.map(|load| (load, None)).collect()
    }

    /// Replaces indexes beyond the ends of arrays that no robust access guards.
    fn keep_within(&mut self, chain: &mut Instruction, code: &mut Vec<Instruction>) {
        if !matches!(chain.class.opcode, Op::AccessChain | Op::InBoundsAccessChain) {
            return;
        }
        let place_of = |pointer: Option<Word>| pointer.and_then(|pointer| self.places.get(&pointer));
        let base = place_of(chain.operands.first().and_then(id)).filter(|base| is_unguarded(base.class));
        let (Some(base), Some(place)) = (base, place_of(chain.result_id)) else { return };
        // Each operand behind the base is a step.
        let (steps, indexes) = (base.path.len(), place.indexes[base.indexes.len()..].to_vec());
        for index in indexes {
            if self.is_surely_within(index.ty, index.index) {
                continue;
            }
            let (Some(within), Some(length)) = (self.as_uint(index.index, code), self.length_of(index.ty, code)) else {
                continue;
            };
            let is_within = self.emit(code, Op::ULessThan, self.bool, &[within, length]);
            let kept = self.emit(code, Op::Select, self.uint, &[is_within, within, self.zero]);
            chain.operands[1 + index.steps - steps] = Operand::IdRef(kept);
        }
    }

    /// Notes how far a pointer's indexes go, if what it leads to is chosen: where the condition is as it says.
    fn note(&mut self, pointer: Word, chosen: Option<(Word, bool)>, code: &mut Vec<Instruction>) {
        let Some(place) = self.places.get(&pointer).cloned() else {
            self.unfollowed += usize::from(self.may_be_array(pointer));
            return;
        };
        for Index { steps, ty, index } in place.indexes {
            if self.is_surely_within(ty, index) {
                continue;
            }
            let Some(array) = self.array(place.variable, &place.path[..steps]) else { continue };
            self.arrays[array].told.is_signed &= self.is_signed(index);
            let Some(index) = self.as_uint(index, code) else { continue };
            let index = match chosen {
                Some((condition, true)) => self.emit(code, Op::Select, self.uint, &[condition, index, self.zero]),
                Some((condition, false)) => self.emit(code, Op::Select, self.uint, &[condition, self.zero, index]),
                None => index,
            };
            let largest = self.arrays[array].largest;
            let so_far = self.emit(code, Op::Load, self.uint, &[largest]);
            let is_larger = self.emit(code, Op::UGreaterThan, self.bool, &[index, so_far]);
            let larger = self.emit(code, Op::Select, self.uint, &[is_larger, index, so_far]);
            code.push(Instruction::new(Op::Store, None, None, ids(&[largest, larger])));
        }
    }

    /// The array so many steps from a variable.
    fn array(&mut self, variable: Word, path: &[Step]) -> Option<usize> {
        if let Some(known) = self.known.get(&(variable, path.to_vec())) {
            return Some(*known);
        }
        let ty = self.type_at(variable, path)?;
        let is_runtime = self.types.get(&ty).is_some_and(|ty| ty.class.opcode == Op::TypeRuntimeArray);
        // How many descriptors an array without an end has, no instruction tells.
        if is_runtime && !matches!(path.last(), Some(Step::Member(_))) {
            return None;
        }
        let largest = self.own_variable();
        let home = match self.places.get(&variable)?.class {
            StorageClass::Workgroup => Home::Shared,
            StorageClass::PushConstant => Home::PushConstants,
            class if is_unguarded(class) => Home::Invocation,
            _ => Home::Buffer {
                set: self.names.argument(variable, Decoration::DescriptorSet).unwrap_or(0),
                binding: self.names.argument(variable, Decoration::Binding).unwrap_or(0),
            },
        };
        let told = NotedArray { home, path: self.path_name(variable, path), is_runtime, is_signed: true };
        self.arrays.push(Array { told, variable, path: path.to_vec(), ty, largest });
        self.known.insert((variable, path.to_vec()), self.arrays.len() - 1);
        Some(self.arrays.len() - 1)
    }

    /// Whether both the index and the length of an array of this type are written down.
    fn is_surely_within(&self, ty: Word, index: Word) -> bool {
        let length = self.types.get(&ty).and_then(|ty| match (ty.class.opcode, ty.operands.get(1)?) {
            (Op::TypeArray, Operand::IdRef(length)) => self.literal(*length),
            (_, Operand::LiteralBit32(length)) => Some(*length),
            _ => None,
        });
        length.zip(self.literal(index)).is_some_and(|(length, index)| index < length)
    }

    /// The length of an array, a vector or a matrix that isn't as long as its buffer.
    fn length_of(&mut self, ty: Word, code: &mut Vec<Instruction>) -> Option<Word> {
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

    fn integer(&self, value: Word) -> Option<(u32, bool)> {
        match self.types.get(self.type_of.get(&value)?)?.operands[..] {
            [Operand::LiteralBit32(width), Operand::LiteralBit32(signed)] => Some((width, signed == 1)),
            _ => None,
        }
    }

    fn is_signed(&self, index: Word) -> bool {
        self.integer(index).is_none_or(|(_, is_signed)| is_signed)
    }

    /// An index as a word without a sign; those beyond 32 bits are the largest one.
    fn as_uint(&mut self, index: Word, code: &mut Vec<Instruction>) -> Option<Word> {
        let (width, is_signed) = self.integer(index)?;
        let int = |writer: &mut Self, width, signed: bool| {
            writer.find_type(Op::TypeInt, &[Operand::LiteralBit32(width), Operand::LiteralBit32(signed.into())])
        };
        Some(match (width, is_signed) {
            (32, false) => index,
            (32, true) => self.emit(code, Op::Bitcast, self.uint, &[index]),
            (64, _) => {
                let wide = int(self, 64, false);
                let index = if is_signed { self.emit(code, Op::Bitcast, wide, &[index]) } else { index };
                let most = self.declare(Op::Constant, Some(wide), vec![Operand::LiteralBit64(u32::MAX.into())]);
                let is_beyond = self.emit(code, Op::UGreaterThan, self.bool, &[index, most]);
                let least = self.emit(code, Op::Select, wide, &[is_beyond, most, index]);
                self.emit(code, Op::UConvert, self.uint, &[least])
            }
            (_, false) => self.emit(code, Op::UConvert, self.uint, &[index]),
            (_, true) => {
                let signed = int(self, 32, true);
                let wide = self.emit(code, Op::SConvert, signed, &[index]);
                self.emit(code, Op::Bitcast, self.uint, &[wide])
            }
        })
    }

    fn emit(&mut self, code: &mut Vec<Instruction>, op: Op, ty: Word, operands: &[Word]) -> Word {
        let result = self.take_id();
        code.push(Instruction::new(op, Some(ty), Some(result), ids(operands)));
        result
    }

    /// Lists a variable at the entry point, which must name all of them since SPIR-V 1.4.
    fn list(&mut self, variable: Word) {
        if self.version() >= 0x0001_0400 {
            self.module.entry_points[0].operands.push(Operand::IdRef(variable));
        }
    }

    fn version(&self) -> u32 {
        self.module.header.as_ref().map_or(0, |header| header.version)
    }

    // ---- the end ----------------------------------------------------------------------------------------------------------

    pub(super) fn finish(&mut self, function: Word, notes: Notes) -> Result<(), NotingError> {
        let buffer = self.declare_buffer();
        let entry = self.module.functions.iter().position(|f| f.def.as_ref().and_then(|def| def.result_id) == Some(function));
        let entry = entry.ok_or(NotingError::Missing("function of that entry point"))?;
        let mut blocks = Vec::new();
        for mut block in std::mem::take(&mut self.module.functions[entry].blocks) {
            let returns = block.instructions.last().is_some_and(|last| last.class.opcode == Op::Return);
            if !returns || (self.arrays.is_empty() && self.iterations.is_none()) {
                blocks.push(block);
                continue;
            }
            let end = block.instructions.pop();
            let lengths: Vec<Option<Word>> = (0..self.arrays.len()).map(|i| self.length(i, &mut block.instructions)).collect();
            match (notes, self.leaves(&lengths, &mut block.instructions)) {
                (Notes::Overruns, Some(leaves)) => {
                    let [noting, after] = [self.take_id(), self.take_id()];
                    block.instructions.push(Instruction::new(
                        Op::SelectionMerge,
                        None,
                        None,
                        vec![Operand::IdRef(after), Operand::SelectionControl(SelectionControl::NONE)],
                    ));
                    block.instructions.push(Instruction::new(Op::BranchConditional, None, None, ids(&[leaves, noting, after])));
                    blocks.push(block);
                    let mut code = Vec::new();
                    self.write_out(&buffer, &lengths, &mut code);
                    code.push(Instruction::new(Op::Branch, None, None, ids(&[after])));
                    blocks.push(labelled(noting, code));
                    blocks.push(labelled(after, end.into_iter().collect()));
                }
                _ => {
                    self.write_out(&buffer, &lengths, &mut block.instructions);
                    block.instructions.extend(end);
                    blocks.push(block);
                }
            }
        }
        self.module.functions[entry].blocks = blocks;
        if let Some(header) = &mut self.module.header {
            header.bound = self.next;
        }
        Ok(())
    }

    /// Whether any array was left; nothing where none has a length.
    fn leaves(&mut self, lengths: &[Option<Word>], code: &mut Vec<Instruction>) -> Option<Word> {
        let mut any = None;
        let arrays = lengths.iter().zip(&self.arrays).filter_map(|(length, array)| Some((array.largest, (*length)?)));
        let all: Vec<(Word, Word)> = arrays.chain(self.iterations).collect();
        for (largest, length) in all {
            let largest = self.emit(code, Op::Load, self.uint, &[largest]);
            let is_beyond = self.emit(code, Op::UGreaterThanEqual, self.bool, &[largest, length]);
            any = Some(match any {
                Some(any) => self.emit(code, Op::LogicalOr, self.bool, &[any, is_beyond]),
                None => is_beyond,
            });
        }
        any
    }

    fn declare_buffer(&mut self) -> Buffer {
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
        let (set, binding) = self.place;
        self.decorate(variable, Decoration::DescriptorSet, Some(set));
        self.decorate(variable, Decoration::Binding, Some(binding));
        self.list(variable);
        // Under the Vulkan memory model, the device's scope takes a capability of its own.
        let memory_model = self.module.memory_model.as_ref().and_then(|model| model.operands.get(1));
        let is_vulkan = memory_model == Some(&Operand::MemoryModel(MemoryModel::Vulkan));
        let scope = self.constant(if is_vulkan { Scope::QueueFamily } else { Scope::Device } as u32);
        Buffer { variable, to_word, scope }
    }

    fn write_out(&mut self, buffer: &Buffer, lengths: &[Option<Word>], code: &mut Vec<Instruction>) {
        for (i, length) in lengths.iter().enumerate() {
            let largest = self.emit(code, Op::Load, self.uint, &[self.arrays[i].largest]);
            self.raise(buffer, 2 * i, largest, code);
            if let Some(length) = length {
                self.raise(buffer, 2 * i + 1, *length, code);
            }
        }
        if let Some((count, most)) = self.iterations {
            let count = self.emit(code, Op::Load, self.uint, &[count]);
            self.raise(buffer, 2 * lengths.len(), count, code);
            self.raise(buffer, 2 * lengths.len() + 1, most, code);
        }
    }

    fn raise(&mut self, buffer: &Buffer, word: usize, value: Word, code: &mut Vec<Instruction>) {
        let word = self.constant(u32::try_from(word).unwrap_or(u32::MAX));
        let place = self.emit(code, Op::AccessChain, buffer.to_word, &[buffer.variable, self.zero, word]);
        let result = self.take_id();
        let operands = vec![
            Operand::IdRef(place),
            Operand::IdScope(buffer.scope),
            Operand::IdMemorySemantics(self.zero),
            Operand::IdRef(value),
        ];
        code.push(Instruction::new(Op::AtomicUMax, Some(self.uint), Some(result), operands));
    }

    /// The length of an array, as the shader itself sees it.
    fn length(&mut self, array: usize, code: &mut Vec<Instruction>) -> Option<Word> {
        let Array { variable, path, ty, .. } = &self.arrays[array];
        let (variable, path, ty) = (*variable, path.clone(), *ty);
        if let Some(length) = self.length_of(ty, code) {
            return Some(length);
        }
        // The last member of a block, or of the first of several.
        let (Step::Member(member), above) = path.split_last()? else { return None };
        let block = match above {
            [] => variable,
            _ => {
                let pointer = self.type_of.get(&variable).and_then(|pointer| self.types.get(pointer))?;
                let Some(Operand::StorageClass(class)) = pointer.operands.first().cloned() else { return None };
                let ty = self.type_at(variable, above)?;
                let pointer = self.pointer(class, ty);
                let first = vec![self.zero; above.len()];
                self.emit(code, Op::AccessChain, pointer, &[&[variable][..], &first].concat())
            }
        };
        let result = self.take_id();
        let operands = vec![Operand::IdRef(block), Operand::LiteralBit32(*member)];
        code.push(Instruction::new(Op::ArrayLength, Some(self.uint), Some(result), operands));
        Some(result)
    }
}

struct Buffer {
    variable: Word,
    to_word: Word,
    scope: Word,
}

fn labelled(label: Word, instructions: Vec<Instruction>) -> Block {
    Block { label: Some(Instruction::new(Op::Label, None, Some(label), Vec::new())), instructions }
}

fn ids(operands: &[Word]) -> Vec<Operand> {
    operands.iter().copied().map(Operand::IdRef).collect()
}

/// How many times instructions of a function name each id.
fn uses(function: &Function) -> HashMap<Word, usize> {
    let mut uses = HashMap::new();
    for named in function.all_inst_iter().flat_map(|instruction| &instruction.operands).filter_map(id) {
        *uses.entry(named).or_default() += 1;
    }
    uses
}
