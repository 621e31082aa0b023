//! A module that notes how far it indexes its buffers' arrays.
//!
//! A device doesn't tell that a shader reads or writes beyond a buffer: at best it ignores that, at worst the process is gone. So
//! the module is rewritten here. Before each load, store and atomic operation, each index by which the pointer came about is held
//! against the largest one so far, in a variable of the invocation; where the entry point returns, that and the array's length go to
//! a buffer of two words an array. What the device does beyond the ends doesn't matter for that, as long as it lives.
//!
//! Pointers are followed from the buffer's variable through access chains. What comes by another way (a function's parameter, a
//! choice between pointers) is counted, and otherwise left alone.

use std::collections::{BTreeMap, HashMap, HashSet};

use rspirv::binary::Assemble;
use rspirv::dr::{Block, Function, Instruction, Module, Operand};
use rspirv::spirv::{Decoration, MemoryModel, Op, Scope, StorageClass, Word};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::loader::{LoadError, id, load};
use super::validator::{Invalid, validate};

/// A module that notes how far it indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noting {
    /// The module; the entry point is its only one.
    pub words: Vec<u32>,
    /// The set and binding of the storage buffer that it notes in, which must be filled with zeros before it runs.
    pub place: (u32, u32),
    /// The arrays, in the order in which it notes them.
    pub arrays: Vec<NotedArray>,
    /// Loads, stores and atomic operations through pointers that can't be followed back to a buffer.
    pub unfollowed: usize,
}

/// An array in a buffer, or an array of buffers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedArray {
    /// The descriptor set of its buffer.
    pub set: u32,
    /// The binding of its buffer.
    pub binding: u32,
    /// Its name, as in `lights[].weights`.
    pub path: String,
    /// Whether its length is that of the buffer.
    pub is_runtime: bool,
    /// Whether all its indexes are signed: then those from 2^31 on are negative ones.
    is_signed: bool,
}

/// An array that is indexed beyond its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrun {
    /// The array.
    pub array: NotedArray,
    /// The largest index, or the last negative one.
    pub index: i64,
    /// How many elements the array has.
    pub length: u32,
}

/// Why a module can't note anything.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotingError {
    /// The words are no module.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The module lacks something that it must have.
    #[error("the module has no {0}")]
    Missing(&'static str),
    /// The rewritten module isn't valid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl Noting {
    /// Rewrites a module whose only purpose is this entry point.
    ///
    /// # Errors
    /// Where the words are no module, or the new ones aren't valid.
    pub fn of(words: &[u32], entry: &str) -> Result<Self, NotingError> {
        let mut module = load(words)?;
        let function = keep_entry(&mut module, entry)?;
        let mut writer = Writer::new(module)?;
        writer.instrument(function);
        writer.finish(function)?;
        let Writer { module, place, arrays, unfollowed, .. } = writer;
        let words = module.assemble();
        validate(&words)?;
        Ok(Self { words, place, arrays: arrays.into_iter().map(|array| array.told).collect(), unfollowed })
    }

    /// How large the buffer must be.
    pub fn bytes(&self) -> u64 {
        8 * self.arrays.len().max(1) as u64
    }

    /// What was noted that shouldn't be. Arrays that weren't touched have no length.
    pub fn overruns(&self, noted: &[u8]) -> Vec<Overrun> {
        let words = noted.chunks_exact(4).map(|word| word.try_into().map_or(0, u32::from_ne_bytes)).collect::<Vec<u32>>();
        let pairs = self.arrays.iter().zip(words.chunks_exact(2));
        let beyond = pairs.filter(|(_, pair)| pair[0] >= pair[1] && pair[0] > 0);
        let told = |(array, pair): (&NotedArray, &[u32])| Overrun {
            array: array.clone(),
            index: if array.is_signed { i32::from_ne_bytes(pair[0].to_ne_bytes()).into() } else { pair[0].into() },
            length: pair[1],
        };
        beyond.map(told).collect()
    }
}

/// Takes the other entry points out, and gives the function of this one.
fn keep_entry(module: &mut Module, name: &str) -> Result<Word, NotingError> {
    let is_it = |instruction: &Instruction| matches!(&instruction.operands[..], [_, _, Operand::LiteralString(known), ..] if known == name);
    module.entry_points.retain(is_it);
    let function = module.entry_points.first().and_then(|entry| id(entry.operands.get(1)?));
    let function = function.ok_or(NotingError::Missing("such entry point"))?;
    module.execution_modes.retain(|mode| mode.operands.first().and_then(id) == Some(function));
    Ok(function)
}

/// A function and all that are called from it. The others, of other entry points, use buffers that nobody gives.
fn called_from(module: &Module, function: Word) -> HashSet<Word> {
    let bodies: HashMap<Word, &Function> = module.functions.iter().filter_map(|body| Some((body.def_id()?, body))).collect();
    let (mut called, mut open) = (HashSet::from([function]), vec![function]);
    while let Some(function) = open.pop() {
        let instructions = bodies.get(&function).into_iter().flat_map(|body| body.all_inst_iter());
        let calls = instructions.filter(|instruction| instruction.class.opcode == Op::FunctionCall);
        open.extend(calls.filter_map(|call| id(call.operands.first()?)).filter(|callee| called.insert(*callee)));
    }
    called
}

/// A step from a buffer's variable towards what a pointer leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Member(u32),
    Element,
}

/// What a pointer leads to: so many steps from a variable; and the indexes on the way, each with the array that it is one of.
#[derive(Clone, Debug)]
struct Place {
    variable: Word,
    path: Vec<Step>,
    /// The type of what it leads to; nothing within vectors and matrices, which have no arrays.
    ty: Option<Word>,
    /// How many of the steps lead to the array, and the index.
    indexes: Vec<(usize, Word)>,
}

struct Array {
    told: NotedArray,
    variable: Word,
    path: Vec<Step>,
    /// The type of the array.
    ty: Word,
    /// The variable that holds the largest index so far.
    largest: Word,
}

/// A module under change.
struct Writer {
    module: Module,
    types: HashMap<Word, Instruction>,
    /// The types of all results.
    type_of: HashMap<Word, Word>,
    constants: HashMap<Word, Instruction>,
    places: HashMap<Word, Place>,
    place: (u32, u32),
    arrays: Vec<Array>,
    /// Where an array is among them.
    known: BTreeMap<(Word, Vec<Step>), usize>,
    unfollowed: usize,
    uint: Word,
    bool: Word,
    zero: Word,
    /// A pointer to a word of the invocation's own.
    own_pointer: Word,
    next: Word,
}

impl Writer {
    fn new(module: Module) -> Result<Self, NotingError> {
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
        let mut new = Self {
            place: (0, 0),
            types,
            type_of,
            constants,
            places: HashMap::new(),
            arrays: Vec::new(),
            known: BTreeMap::new(),
            unfollowed: 0,
            uint: 0,
            bool: 0,
            zero: 0,
            own_pointer: 0,
            next,
            module,
        };
        new.uint = new.find_type(Op::TypeInt, &[Operand::LiteralBit32(32), Operand::LiteralBit32(0)]);
        new.bool = new.find_type(Op::TypeBool, &[]);
        new.zero = new.constant(0);
        new.own_pointer = new.pointer(StorageClass::Private, new.uint);
        new.note_buffers();
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

    /// What a decoration of a variable's says.
    fn decoration(&self, target: Word, decoration: Decoration) -> Option<u32> {
        self.module.annotations.iter().find_map(|instruction| match &instruction.operands[..] {
            [Operand::IdRef(id), Operand::Decoration(kind), Operand::LiteralBit32(value)]
                if (*id, *kind) == (target, decoration) =>
            {
                Some(*value)
            }
            _ => None,
        })
    }

    /// The variables of buffers, from which pointers are followed.
    fn note_buffers(&mut self) {
        for instruction in &self.module.types_global_values {
            let is_buffer =
                |class: &Operand| matches!(class, Operand::StorageClass(StorageClass::StorageBuffer | StorageClass::Uniform));
            let (Op::Variable, Some(variable), Some(pointer)) =
                (instruction.class.opcode, instruction.result_id, instruction.result_type)
            else {
                continue;
            };
            let pointee = self.types.get(&pointer).and_then(|pointer| id(pointer.operands.get(1)?));
            if let (true, Some(ty)) = (instruction.operands.first().is_some_and(is_buffer), pointee) {
                let place = Place { variable, path: Vec::new(), ty: Some(ty), indexes: Vec::new() };
                self.places.insert(variable, place);
            }
        }
    }

    /// A binding of set 0 that nothing has.
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

    // ---- following --------------------------------------------------------------------------------------------------------

    fn instrument(&mut self, entry: Word) {
        let called = called_from(&self.module, entry);
        let mut functions = std::mem::take(&mut self.module.functions);
        // Blocks stand after those that dominate them: what a pointer is made of comes before it.
        let is_run = |function: &&mut Function| function.def_id().is_some_and(|id| called.contains(&id));
        for block in functions.iter_mut().filter(is_run).flat_map(|function| &mut function.blocks) {
            self.instrument_block(block);
        }
        self.module.functions = functions;
    }

    fn instrument_block(&mut self, block: &mut Block) {
        for instruction in std::mem::take(&mut block.instructions) {
            self.follow(&instruction);
            for pointer in pointers(&instruction) {
                self.note(pointer, &mut block.instructions);
            }
            block.instructions.push(instruction);
        }
    }

    /// Notes where a pointer leads that is made of another.
    fn follow(&mut self, instruction: &Instruction) {
        let Some(result) = instruction.result_id else { return };
        let base = instruction.operands.first().and_then(id).and_then(|base| self.places.get(&base));
        let Some(mut place) = base.cloned() else { return };
        match instruction.class.opcode {
            Op::CopyObject => {}
            Op::AccessChain | Op::InBoundsAccessChain => {
                for index in instruction.operands[1..].iter().filter_map(id) {
                    self.step(&mut place, index);
                }
            }
            _ => return,
        }
        self.places.insert(result, place);
    }

    fn step(&self, place: &mut Place, index: Word) {
        let Some(ty) = place.ty.and_then(|ty| self.types.get(&ty)) else { return };
        place.ty = match ty.class.opcode {
            Op::TypeStruct => {
                let member = self.literal(index).unwrap_or(u32::MAX);
                place.path.push(Step::Member(member));
                ty.operands.get(member as usize).and_then(id)
            }
            Op::TypeArray | Op::TypeRuntimeArray => {
                place.indexes.push((place.path.len(), index));
                place.path.push(Step::Element);
                ty.operands.first().and_then(id)
            }
            _ => None,
        };
    }

    /// The value of a constant of 32 bits.
    fn literal(&self, constant: Word) -> Option<u32> {
        let instruction = self.constants.get(&constant).filter(|constant| constant.class.opcode == Op::Constant)?;
        match instruction.operands[..] {
            [Operand::LiteralBit32(value)] => Some(value),
            _ => None,
        }
    }

    // ---- noting -----------------------------------------------------------------------------------------------------------

    /// Notes the indexes of a pointer that is about to be used.
    fn note(&mut self, pointer: Word, code: &mut Vec<Instruction>) {
        let Some(place) = self.places.get(&pointer).cloned() else {
            self.unfollowed += usize::from(self.may_be_buffer(pointer));
            return;
        };
        for (steps, index) in &place.indexes {
            let Some(array) = self.array(place.variable, &place.path[..*steps]) else { continue };
            if self.is_surely_within(array, *index) {
                continue;
            }
            let Some(index) = self.as_uint(array, *index, code) else { continue };
            let largest = self.arrays[array].largest;
            let so_far = self.emit(code, Op::Load, self.uint, &[largest]);
            let is_larger = self.emit(code, Op::UGreaterThan, self.bool, &[index, so_far]);
            let larger = self.emit(code, Op::Select, self.uint, &[is_larger, index, so_far]);
            code.push(Instruction::new(Op::Store, None, None, ids(&[largest, larger])));
        }
    }

    /// Whether a pointer that wasn't followed leads to buffers.
    fn may_be_buffer(&self, pointer: Word) -> bool {
        let ty = self.type_of.get(&pointer).and_then(|ty| self.types.get(ty));
        matches!(
            ty.and_then(|ty| ty.operands.first()),
            Some(Operand::StorageClass(
                StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::PhysicalStorageBuffer
            ))
        )
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
        let largest = self.declare(
            Op::Variable,
            Some(self.own_pointer),
            vec![Operand::StorageClass(StorageClass::Private), Operand::IdRef(self.zero)],
        );
        self.list(largest);
        let told = NotedArray {
            set: self.decoration(variable, Decoration::DescriptorSet).unwrap_or(0),
            binding: self.decoration(variable, Decoration::Binding).unwrap_or(0),
            path: self.path_name(variable, path),
            is_runtime,
            is_signed: true,
        };
        self.arrays.push(Array { told, variable, path: path.to_vec(), ty, largest });
        self.known.insert((variable, path.to_vec()), self.arrays.len() - 1);
        Some(self.arrays.len() - 1)
    }

    fn type_at(&self, variable: Word, path: &[Step]) -> Option<Word> {
        let mut ty = self.places.get(&variable)?.ty?;
        for step in path {
            let place = match step {
                Step::Member(member) => *member as usize,
                Step::Element => 0,
            };
            ty = self.types.get(&ty)?.operands.get(place).and_then(id)?;
        }
        Some(ty)
    }

    /// Whether both index and length are written down.
    fn is_surely_within(&self, array: usize, index: Word) -> bool {
        let length = self.types.get(&self.arrays[array].ty).and_then(|ty| self.literal(id(ty.operands.get(1)?)?));
        length.zip(self.literal(index)).is_some_and(|(length, index)| index < length)
    }

    /// An index as a word without a sign; those beyond 32 bits are the largest one.
    fn as_uint(&mut self, array: usize, index: Word, code: &mut Vec<Instruction>) -> Option<Word> {
        let ty = *self.type_of.get(&index)?;
        let (width, is_signed) = match self.types.get(&ty)?.operands[..] {
            [Operand::LiteralBit32(width), Operand::LiteralBit32(signed)] => (width, signed == 1),
            _ => return None,
        };
        self.arrays[array].told.is_signed &= is_signed;
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

    /// Writes what was noted where the entry point returns.
    fn finish(&mut self, function: Word) -> Result<(), NotingError> {
        let buffer = self.declare_buffer();
        let entry = self.module.functions.iter().position(|f| f.def.as_ref().and_then(|def| def.result_id) == Some(function));
        let entry = entry.ok_or(NotingError::Missing("function of that entry point"))?;
        let mut blocks = std::mem::take(&mut self.module.functions[entry].blocks);
        for block in &mut blocks {
            if block.instructions.last().is_some_and(|last| last.class.opcode == Op::Return) {
                let end = block.instructions.pop();
                self.write_out(&buffer, &mut block.instructions);
                block.instructions.extend(end);
            }
        }
        self.module.functions[entry].blocks = blocks;
        if let Some(header) = &mut self.module.header {
            header.bound = self.next;
        }
        Ok(())
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

    fn write_out(&mut self, buffer: &Buffer, code: &mut Vec<Instruction>) {
        for i in 0..self.arrays.len() {
            let largest = self.emit(code, Op::Load, self.uint, &[self.arrays[i].largest]);
            self.raise(buffer, 2 * i, largest, code);
            if let Some(length) = self.length(i, code) {
                self.raise(buffer, 2 * i + 1, length, code);
            }
        }
    }

    /// Raises a word of the buffer to a value.
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
        if let Some(length) =
            self.types.get(&ty).filter(|ty| ty.class.opcode == Op::TypeArray).and_then(|ty| id(ty.operands.get(1)?))
        {
            let is_signed = self.arrays[array].told.is_signed;
            let length = self.as_uint(array, length, code);
            self.arrays[array].told.is_signed = is_signed;
            return length;
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

    // ---- names ------------------------------------------------------------------------------------------------------------

    /// How the shader calls the array: members of a block without a name of its own are global.
    fn path_name(&self, variable: Word, path: &[Step]) -> String {
        let mut name = self.name(variable, None).unwrap_or_default();
        let mut ty = self.places.get(&variable).and_then(|place| place.ty);
        for step in path {
            let instruction = ty.and_then(|ty| self.types.get(&ty));
            let place = match step {
                Step::Member(member) => {
                    let member_name = ty.and_then(|ty| self.name(ty, Some(*member))).unwrap_or_else(|| member.to_string());
                    name = if name.is_empty() { member_name } else { format!("{name}.{member_name}") };
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

    fn name(&self, target: Word, member: Option<u32>) -> Option<String> {
        let named = self.module.debug_names.iter().find_map(|instruction| match (&instruction.operands[..], member) {
            ([Operand::IdRef(id), Operand::LiteralString(name)], None) if *id == target => Some(name.clone()),
            ([Operand::IdRef(id), Operand::LiteralBit32(place), Operand::LiteralString(name)], Some(member))
                if (*id, *place) == (target, member) =>
            {
                Some(name.clone())
            }
            _ => None,
        });
        named.filter(|name| !name.is_empty())
    }
}

/// The buffer that is noted in.
struct Buffer {
    variable: Word,
    to_word: Word,
    scope: Word,
}

fn ids(operands: &[Word]) -> Vec<Operand> {
    operands.iter().copied().map(Operand::IdRef).collect()
}

/// The pointers through which an instruction reads or writes.
fn pointers(instruction: &Instruction) -> Vec<Word> {
    let op = instruction.class.opcode;
    let count = match op {
        Op::Load | Op::Store | Op::CooperativeMatrixLoadKHR | Op::CooperativeMatrixStoreKHR => 1,
        Op::CopyMemory | Op::CopyMemorySized => 2,
        _ if is_atomic(op) => 1,
        _ => 0,
    };
    instruction.operands.iter().take(count).filter_map(id).collect()
}

fn is_atomic(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        AtomicLoad
            | AtomicStore
            | AtomicExchange
            | AtomicCompareExchange
            | AtomicCompareExchangeWeak
            | AtomicIIncrement
            | AtomicIDecrement
            | AtomicIAdd
            | AtomicISub
            | AtomicSMin
            | AtomicUMin
            | AtomicSMax
            | AtomicUMax
            | AtomicAnd
            | AtomicOr
            | AtomicXor
            | AtomicFAddEXT
            | AtomicFMinEXT
            | AtomicFMaxEXT
            | AtomicFlagTestAndSet
            | AtomicFlagClear
    )
}
