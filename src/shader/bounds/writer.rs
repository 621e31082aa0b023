//! The new module: what it declares, what it notes before each access, and what it writes at its end.

mod follow;
mod texels;

use std::collections::{BTreeMap, HashMap};

use rspirv::dr::{Block, Function, Instruction, Module, Operand};
use rspirv::spirv::{Decoration, Op, SelectionControl, StorageClass, Word};

use super::{Detail, Dimension, Home, NotedArray, NotedSite, Notes};
use crate::shader::edit::{Editor, Missing, RewriteError, Step, WordBuffer, ids, is_unguarded, labelled};
use crate::shader::lines::{Lines, SourceLine};
use crate::shader::loader::id;
use crate::shader::reflect::reach::Mentions;
use follow::{Index, Pointee, pointers, reaches_further};

struct Array {
    told: NotedArray,
    key: Key,
    ty: Word,
    /// The variable that holds the largest index so far.
    largest: Word,
    /// The variable that holds the size of the image that was left.
    length: Option<Word>,
}

/// What has a note of its own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    variable: Word,
    path: Vec<Step>,
    dimension: Option<Dimension>,
    site: Option<NotedSite>,
}

/// A pointer that is accessed, and where.
#[derive(Clone)]
struct Access {
    pointer: Word,
    site: Option<NotedSite>,
}

/// A module, and what it notes, where.
type Noted = (Module, Vec<(NotedArray, Option<NotedSite>)>);

pub(super) struct Writer<'a> {
    edit: Editor,
    places: HashMap<Word, Pointee>,
    pub(super) place: (u32, u32),
    arrays: Vec<Array>,
    /// Where an array is among them.
    known: BTreeMap<Key, usize>,
    lines: Lines,
    accepts: &'a dyn Fn(&SourceLine) -> bool,
    detail: Detail,
    pub(super) unfollowed: usize,
    /// The variable that counts iterations, and how many are noted.
    iterations: Option<(Word, Word)>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(module: Module, accepts: &'a dyn Fn(&SourceLine) -> bool, detail: Detail) -> Result<Self, RewriteError> {
        let lines = Lines::of(&module);
        let edit = Editor::new(module)?;
        let mut new = Self {
            place: (0, edit.free_binding()),
            edit,
            places: HashMap::new(),
            arrays: Vec::new(),
            known: BTreeMap::new(),
            lines,
            accepts,
            detail,
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
        self.lines.begin_block();
        for mut instruction in std::mem::take(&mut block.instructions) {
            if instruction.class.opcode == Op::Variable {
                self.root(&instruction);
            }
            self.lines.note(&instruction);
            self.follow(&instruction);
            self.edit.keep_within(&mut instruction, &mut block.instructions);
            self.unfollowed += usize::from(reaches_further(&instruction));
            let accesses =
                pointers(&instruction).into_iter().map(|(pointer, is_read)| Access { pointer, site: self.site(is_read) });
            let mut accesses: Vec<Access> = accesses.collect();
            match instruction.result_id.and_then(|result| choosable.get_mut(&result)) {
                Some(access) => *access = accesses.pop(),
                None => accesses.iter().for_each(|access| self.note(access, None, &mut block.instructions)),
            }
            self.note_texels(&instruction, &mut block.instructions);
            if let (Op::Select, [condition, values @ ..]) = (instruction.class.opcode, &instruction.operands[..]) {
                for (i, value) in values.iter().enumerate() {
                    let access = id(value).and_then(|value| choosable.get(&value)?.as_ref());
                    if let (Some(access), Some(condition)) = (access, id(condition)) {
                        self.note(access, Some((condition, i == 0)), &mut block.instructions);
                    }
                }
            }
            block.instructions.push(instruction);
        }
    }

    /// The loads of a block whose values are for `OpSelect` alone, as compilers write `i > 0 ? a[i - 1] : 0`: they read from where nothing
    /// is, and nobody takes what they read. What isn't chosen counts as index 0.
    fn choosable(&self, block: &Block, uses: &HashMap<Word, usize>) -> HashMap<Word, Option<Access>> {
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

    /// Where the instruction is that was read last.
    fn site(&self, is_read: bool) -> Option<NotedSite> {
        let line = self.lines.now()?;
        let is_accepted = is_read && (self.accepts)(&line);
        (is_accepted || self.detail == Detail::Lines).then_some(NotedSite { line, is_read, is_accepted })
    }

    /// Notes how far a pointer's indexes go, if what it leads to is chosen: where the condition is as it says.
    fn note(&mut self, access: &Access, chosen: Option<(Word, bool)>, code: &mut Vec<Instruction>) {
        let Some(place) = self.places.get(&access.pointer).cloned() else {
            self.unfollowed += usize::from(self.may_be_array(access.pointer));
            return;
        };
        for Index { steps, ty, index } in place.indexes {
            if self.edit.is_surely_within(ty, index) {
                continue;
            }
            let (path, site) = (place.path[..steps].to_vec(), access.site.clone());
            let Some(array) = self.array(Key { variable: place.variable, path, dimension: None, site }) else { continue };
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
            self.keep_largest(self.arrays[array].largest, index, code);
        }
    }

    fn keep_largest(&mut self, variable: Word, value: Word, code: &mut Vec<Instruction>) {
        let so_far = self.edit.emit(code, Op::Load, self.edit.uint, &[variable]);
        let is_larger = self.edit.emit(code, Op::UGreaterThan, self.edit.bool, &[value, so_far]);
        let larger = self.edit.emit(code, Op::Select, self.edit.uint, &[is_larger, value, so_far]);
        code.push(Instruction::new(Op::Store, None, None, ids(&[variable, larger])));
    }

    /// Where an array is among those that are noted; nothing where no instruction tells how long it is.
    fn array(&mut self, key: Key) -> Option<usize> {
        if let Some(known) = self.known.get(&key) {
            return Some(*known);
        }
        let ty = self.type_at(key.variable, &key.path)?;
        let opcode = self.edit.types.get(&ty).map(|ty| ty.class.opcode);
        let is_runtime = opcode == Some(Op::TypeRuntimeArray);
        // How many descriptors an array without an end has, no instruction tells.
        if is_runtime && !matches!(key.path.last(), Some(Step::Member(_))) {
            return None;
        }
        let is_image = matches!(opcode, Some(Op::TypeImage | Op::TypeSampledImage));
        // No index of 0 lies beyond an image of one texel.
        let (largest, length) = (self.edit.own_variable(), is_image.then(|| self.edit.own_variable_from(1)));
        let root = self.places.get(&key.variable)?;
        let argument = |which| self.edit.names.argument(key.variable, which).unwrap_or(0);
        let (set, binding) = (argument(Decoration::DescriptorSet), argument(Decoration::Binding));
        let home = match root.class {
            StorageClass::Workgroup => Home::Shared,
            StorageClass::PushConstant => Home::PushConstants,
            StorageClass::UniformConstant => Home::Image { set, binding },
            class if is_unguarded(class) => Home::Invocation,
            _ => Home::Buffer { set, binding },
        };
        let path = self.edit.path_name(key.variable, root.ty.unwrap_or_default(), &key.path);
        // A texel buffer is as long as the application makes it.
        let is_runtime = is_runtime || is_image && key.dimension.is_none();
        let told = NotedArray { home, path, dimension: key.dimension, is_runtime, is_signed: true };
        self.arrays.push(Array { told, key: key.clone(), ty, largest, length });
        self.known.insert(key, self.arrays.len() - 1);
        Some(self.arrays.len() - 1)
    }

    fn is_signed(&self, index: Word) -> bool {
        self.edit.integer(index).is_none_or(|(_, is_signed)| is_signed)
    }

    pub(super) fn count(&self) -> usize {
        self.arrays.len()
    }

    // ---- the end ----------------------------------------------------------------------------------------------------------

    pub(super) fn finish(mut self, function: Word, notes: Notes) -> Result<Noted, RewriteError> {
        let buffer = self.edit.word_buffer(self.place);
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
        let noted = self.arrays.into_iter().map(|array| (array.told, array.key.site)).collect();
        Ok((self.edit.finish(), noted))
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

    fn write_out(&mut self, buffer: &WordBuffer, lengths: &[Option<Word>], code: &mut Vec<Instruction>) {
        for (i, length) in lengths.iter().enumerate() {
            let largest = self.edit.emit(code, Op::Load, self.edit.uint, &[self.arrays[i].largest]);
            self.edit.change_word(Op::AtomicUMax, buffer, 2 * i, largest, code);
            if let Some(length) = length {
                self.edit.change_word(Op::AtomicUMax, buffer, 2 * i + 1, *length, code);
            }
        }
        if let Some((count, most)) = self.iterations {
            let count = self.edit.emit(code, Op::Load, self.edit.uint, &[count]);
            self.edit.change_word(Op::AtomicUMax, buffer, 2 * lengths.len(), count, code);
            self.edit.change_word(Op::AtomicUMax, buffer, 2 * lengths.len() + 1, most, code);
        }
    }

    /// The length of an array, as the shader itself sees it.
    fn length(&mut self, array: usize, code: &mut Vec<Instruction>) -> Option<Word> {
        let Array { key, ty, length, .. } = &self.arrays[array];
        let (Key { variable, path, .. }, ty) = (key.clone(), *ty);
        if let Some(length) = *length {
            return Some(self.edit.emit(code, Op::Load, self.edit.uint, &[length]));
        }
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

/// How many times instructions of a function name each id.
fn uses(function: &Function) -> HashMap<Word, usize> {
    let mut uses = HashMap::new();
    for named in function.all_inst_iter().flat_map(|instruction| &instruction.operands).filter_map(id) {
        *uses.entry(named).or_default() += 1;
    }
    uses
}
