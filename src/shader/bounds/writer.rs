//! The new module: what it declares, what it notes before each access, and what it writes at its end.

mod follow;

use std::collections::{BTreeMap, HashMap};

use rspirv::dr::{Block, Function, Instruction, Module, Operand};
use rspirv::spirv::{Decoration, MemoryModel, Op, Scope, SelectionControl, StorageClass, Word};

use super::{Home, NotedArray, Notes, NotingError};
use crate::shader::edit::{Editor, Missing, Step, WordBuffer, ids, is_unguarded, labelled};
use crate::shader::loader::id;
use crate::shader::reflect::reach::Mentions;
use follow::{Index, Pointee, pointers, reaches_further};

pub(super) struct Array {
    pub(super) told: NotedArray,
    variable: Word,
    path: Vec<Step>,
    ty: Word,
    /// The variable that holds the largest index so far.
    largest: Word,
}

pub(super) struct Writer {
    edit: Editor,
    places: HashMap<Word, Pointee>,
    pub(super) place: (u32, u32),
    pub(super) arrays: Vec<Array>,
    /// Where an array is among them.
    known: BTreeMap<(Word, Vec<Step>), usize>,
    pub(super) unfollowed: usize,
    /// The variable that counts iterations, and how many are noted.
    iterations: Option<(Word, Word)>,
}

impl Writer {
    pub(super) fn new(module: Module) -> Result<Self, NotingError> {
        let edit = Editor::new(module)?;
        let mut new = Self {
            place: (0, edit.free_binding()),
            edit,
            places: HashMap::new(),
            arrays: Vec::new(),
            known: BTreeMap::new(),
            unfollowed: 0,
            iterations: None,
        };
        new.note_variables();
        Ok(new)
    }

    // ---- noting -----------------------------------------------------------------------------------------------------------

    /// Has the loops that an entry point comes to count their iterations, all together.
    pub(super) fn count_iterations(&mut self, entry: Word, most: u32) {
        let (count, most) = (self.edit.own_variable(), self.edit.constant(most));
        let one = self.edit.constant(1);
        self.iterations = Some((count, most));
        self.each_called(entry, |writer, function| {
            // What an iteration begins with, the last one included, which finds that there is nothing left to do.
            let is_header =
                |block: &&mut Block| block.instructions.iter().any(|instruction| instruction.class.opcode == Op::LoopMerge);
            for block in function.blocks.iter_mut().filter(is_header) {
                let is_phi = |instruction: &Instruction| matches!(instruction.class.opcode, Op::Phi | Op::Line | Op::NoLine);
                let rest = block.instructions.iter().position(|instruction| !is_phi(instruction)).unwrap_or(0);
                let after = block.instructions.split_off(rest);
                let so_far = writer.edit.emit(&mut block.instructions, Op::Load, writer.edit.uint, &[count]);
                let more = writer.edit.emit(&mut block.instructions, Op::IAdd, writer.edit.uint, &[so_far, one]);
                block.instructions.push(Instruction::new(Op::Store, None, None, ids(&[count, more])));
                block.instructions.extend(after);
            }
        });
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
        let called = Mentions::of(&self.edit.module).from([entry]);
        let mut functions = std::mem::take(&mut self.edit.module.functions);
        let is_run = |function: &&mut Function| function.def_id().is_some_and(|id| called.contains(&id));
        functions.iter_mut().filter(is_run).for_each(|function| change(self, function));
        self.edit.module.functions = functions;
    }

    fn instrument_block(&mut self, block: &mut Block, uses: &HashMap<Word, usize>) {
        let mut choosable = self.choosable(block, uses);
        for mut instruction in std::mem::take(&mut block.instructions) {
            if instruction.class.opcode == Op::Variable {
                self.root(&instruction);
            }
            self.follow(&instruction);
            self.edit.keep_within(&mut instruction, &mut block.instructions);
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
        let is_plain = |condition: &Operand| id(condition).and_then(|id| self.edit.type_of.get(&id)) == Some(&self.edit.bool);
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

    /// Notes how far a pointer's indexes go, if what it leads to is chosen: where the condition is as it says.
    fn note(&mut self, pointer: Word, chosen: Option<(Word, bool)>, code: &mut Vec<Instruction>) {
        let Some(place) = self.places.get(&pointer).cloned() else {
            self.unfollowed += usize::from(self.may_be_array(pointer));
            return;
        };
        for Index { steps, ty, index } in place.indexes {
            if self.edit.is_surely_within(ty, index) {
                continue;
            }
            let Some(array) = self.array(place.variable, &place.path[..steps]) else { continue };
            self.arrays[array].told.is_signed &= self.is_signed(index);
            let Some(index) = self.edit.as_uint(index, code) else { continue };
            let index = match chosen {
                Some((condition, true)) => {
                    self.edit.emit(code, Op::Select, self.edit.uint, &[condition, index, self.edit.zero])
                }
                Some((condition, false)) => {
                    self.edit.emit(code, Op::Select, self.edit.uint, &[condition, self.edit.zero, index])
                }
                None => index,
            };
            let largest = self.arrays[array].largest;
            let so_far = self.edit.emit(code, Op::Load, self.edit.uint, &[largest]);
            let is_larger = self.edit.emit(code, Op::UGreaterThan, self.edit.bool, &[index, so_far]);
            let larger = self.edit.emit(code, Op::Select, self.edit.uint, &[is_larger, index, so_far]);
            code.push(Instruction::new(Op::Store, None, None, ids(&[largest, larger])));
        }
    }

    /// The array so many steps from a variable.
    fn array(&mut self, variable: Word, path: &[Step]) -> Option<usize> {
        if let Some(known) = self.known.get(&(variable, path.to_vec())) {
            return Some(*known);
        }
        let ty = self.type_at(variable, path)?;
        let is_runtime = self.edit.types.get(&ty).is_some_and(|ty| ty.class.opcode == Op::TypeRuntimeArray);
        // How many descriptors an array without an end has, no instruction tells.
        if is_runtime && !matches!(path.last(), Some(Step::Member(_))) {
            return None;
        }
        let largest = self.edit.own_variable();
        let home = match self.places.get(&variable)?.class {
            StorageClass::Workgroup => Home::Shared,
            StorageClass::PushConstant => Home::PushConstants,
            class if is_unguarded(class) => Home::Invocation,
            _ => Home::Buffer {
                set: self.edit.names.argument(variable, Decoration::DescriptorSet).unwrap_or(0),
                binding: self.edit.names.argument(variable, Decoration::Binding).unwrap_or(0),
            },
        };
        let of = self.places.get(&variable)?.ty.unwrap_or_default();
        let told = NotedArray { home, path: self.edit.path_name(variable, of, path), is_runtime, is_signed: true };
        self.arrays.push(Array { told, variable, path: path.to_vec(), ty, largest });
        self.known.insert((variable, path.to_vec()), self.arrays.len() - 1);
        Some(self.arrays.len() - 1)
    }

    fn is_signed(&self, index: Word) -> bool {
        self.edit.integer(index).is_none_or(|(_, is_signed)| is_signed)
    }

    // ---- the end ----------------------------------------------------------------------------------------------------------

    pub(super) fn finish(mut self, function: Word, notes: Notes) -> Result<(Module, Vec<NotedArray>), NotingError> {
        let buffer = self.declare_buffer();
        let entry =
            self.edit.module.functions.iter().position(|f| f.def.as_ref().and_then(|def| def.result_id) == Some(function));
        let entry = entry.ok_or(Missing("function of that entry point"))?;
        let mut blocks = Vec::new();
        for mut block in std::mem::take(&mut self.edit.module.functions[entry].blocks) {
            let returns = block.instructions.last().is_some_and(|last| last.class.opcode == Op::Return);
            if !returns || (self.arrays.is_empty() && self.iterations.is_none()) {
                blocks.push(block);
                continue;
            }
            let end = block.instructions.pop();
            let lengths: Vec<Option<Word>> = (0..self.arrays.len()).map(|i| self.length(i, &mut block.instructions)).collect();
            match (notes, self.leaves(&lengths, &mut block.instructions)) {
                (Notes::Overruns, Some(leaves)) => {
                    let [noting, after] = [self.edit.take_id(), self.edit.take_id()];
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
        self.edit.module.functions[entry].blocks = blocks;
        Ok((self.edit.finish(), self.arrays.into_iter().map(|array| array.told).collect()))
    }

    /// Whether any array was left; nothing where none has a length.
    fn leaves(&mut self, lengths: &[Option<Word>], code: &mut Vec<Instruction>) -> Option<Word> {
        let mut any = None;
        let arrays = lengths.iter().zip(&self.arrays).filter_map(|(length, array)| Some((array.largest, (*length)?)));
        let all: Vec<(Word, Word)> = arrays.chain(self.iterations).collect();
        for (largest, length) in all {
            let largest = self.edit.emit(code, Op::Load, self.edit.uint, &[largest]);
            let is_beyond = self.edit.emit(code, Op::UGreaterThanEqual, self.edit.bool, &[largest, length]);
            any = Some(match any {
                Some(any) => self.edit.emit(code, Op::LogicalOr, self.edit.bool, &[any, is_beyond]),
                None => is_beyond,
            });
        }
        any
    }

    fn declare_buffer(&mut self) -> Buffer {
        let words = self.edit.word_buffer(self.place);
        // Under the Vulkan memory model, the device's scope takes a capability of its own.
        let memory_model = self.edit.module.memory_model.as_ref().and_then(|model| model.operands.get(1));
        let is_vulkan = memory_model == Some(&Operand::MemoryModel(MemoryModel::Vulkan));
        let scope = self.edit.constant(if is_vulkan { Scope::QueueFamily } else { Scope::Device } as u32);
        Buffer { words, scope }
    }

    fn write_out(&mut self, buffer: &Buffer, lengths: &[Option<Word>], code: &mut Vec<Instruction>) {
        for (i, length) in lengths.iter().enumerate() {
            let largest = self.edit.emit(code, Op::Load, self.edit.uint, &[self.arrays[i].largest]);
            self.raise(buffer, 2 * i, largest, code);
            if let Some(length) = length {
                self.raise(buffer, 2 * i + 1, *length, code);
            }
        }
        if let Some((count, most)) = self.iterations {
            let count = self.edit.emit(code, Op::Load, self.edit.uint, &[count]);
            self.raise(buffer, 2 * lengths.len(), count, code);
            self.raise(buffer, 2 * lengths.len() + 1, most, code);
        }
    }

    fn raise(&mut self, buffer: &Buffer, word: usize, value: Word, code: &mut Vec<Instruction>) {
        let word = self.edit.constant(u32::try_from(word).unwrap_or(u32::MAX));
        let place = self.edit.emit(code, Op::AccessChain, buffer.words.to_word, &[buffer.words.variable, self.edit.zero, word]);
        let result = self.edit.take_id();
        let operands = vec![
            Operand::IdRef(place),
            Operand::IdScope(buffer.scope),
            Operand::IdMemorySemantics(self.edit.zero),
            Operand::IdRef(value),
        ];
        code.push(Instruction::new(Op::AtomicUMax, Some(self.edit.uint), Some(result), operands));
    }

    /// The length of an array, as the shader itself sees it.
    fn length(&mut self, array: usize, code: &mut Vec<Instruction>) -> Option<Word> {
        let Array { variable, path, ty, .. } = &self.arrays[array];
        let (variable, path, ty) = (*variable, path.clone(), *ty);
        if let Some(length) = self.edit.length_of(ty, code) {
            return Some(length);
        }
        // The last member of a block, or of the first of several.
        let (Step::Member(member), above) = path.split_last()? else { return None };
        let block = match above {
            [] => variable,
            _ => {
                let pointer = self.edit.type_of.get(&variable).and_then(|pointer| self.edit.types.get(pointer))?;
                let Some(Operand::StorageClass(class)) = pointer.operands.first().cloned() else { return None };
                let ty = self.type_at(variable, above)?;
                let pointer = self.edit.pointer(class, ty);
                let first = vec![self.edit.zero; above.len()];
                self.edit.emit(code, Op::AccessChain, pointer, &[&[variable][..], &first].concat())
            }
        };
        let result = self.edit.take_id();
        let operands = vec![Operand::IdRef(block), Operand::LiteralBit32(*member)];
        code.push(Instruction::new(Op::ArrayLength, Some(self.edit.uint), Some(result), operands));
        Some(result)
    }
}

struct Buffer {
    words: WordBuffer,
    scope: Word,
}

/// How many times instructions of a function name each id.
fn uses(function: &Function) -> HashMap<Word, usize> {
    let mut uses = HashMap::new();
    for named in function.all_inst_iter().flat_map(|instruction| &instruction.operands).filter_map(id) {
        *uses.entry(named).or_default() += 1;
    }
    uses
}
