//! A kernel with one of its costs taken away, and its results with it: what then becomes of its time tells whether that cost binds.
//!
//! What is taken away hangs on words that the module reads from a buffer of its own where it begins. With other words the same module does
//! what it did before, at the same cost: that is the relief's placebo.
//!
//! A kernel isn't relieved of anything that decides where it branches, or what it accesses besides.

mod taint;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rspirv::binary::Assemble;
use rspirv::dr::{Block, Function, Instruction, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, SelectionControl, StorageClass, Word};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::edit::{Editor, Missing, RewriteError, WordBuffer, ids, keep_entry, labelled};
use super::loader::{id, load};
use super::validator::validate_rewritten;
use super::{Module, Prepared};
use crate::model::{Binding, Check, Contents, Data, MemoryKind, Resource, ResourceKind};
use taint::{Memory, Tainted};

/// A cost that can be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relief {
    /// Loads from a buffer are led into a few kilobytes of it, which the nearest cache holds.
    Loads,
    /// Nothing is stored to buffers.
    Stores,
    /// Accesses to shared memory are led to elements side by side: no two lanes of a subgroup want one bank.
    Conflicts,
}

impl Relief {
    pub const ALL: [Self; 3] = [Self::Loads, Self::Stores, Self::Conflicts];
}

/// A module that reads from a buffer whether it is relieved.
#[derive(Clone, Debug, PartialEq)]
pub struct Relieved {
    pub words: Vec<u32>,
    /// The set and binding of that buffer.
    pub place: (u32, u32),
    /// What it must hold for the relief, and for its placebo.
    pub relieving: Vec<u32>,
    pub placebo: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReliefError {
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
    #[error("where it branches depends on what it reads")]
    Flow,
    #[error("where it reads or writes depends on what it reads")]
    Address,
    /// What one does, another may go by.
    #[error("its pass has several dispatches, or one whose size a buffer says")]
    Several,
    /// Without them, a relief that changes nothing would tell nothing.
    #[error("some of what it does of that kind can't be rewritten")]
    Partial,
    #[error("it does nothing of that kind")]
    Nothing,
}

impl From<Missing> for ReliefError {
    fn from(missing: Missing) -> Self {
        Self::Rewrite(missing.into())
    }
}

/// The bytes of each buffer that loads are led into.
const WINDOW: u32 = 4096;

/// What is bound for a kernel, as far as reliefs depend on it.
#[derive(Clone, Copy, Debug)]
pub struct BoundBuffers {
    /// Whether two of them may have bytes in common.
    pub may_overlap: bool,
    pub smallest: u64,
}

impl Relieved {
    /// Rewrites a module for one entry point.
    pub fn of(original: &[u32], entry: &str, relief: Relief, buffers: BoundBuffers) -> Result<Self, ReliefError> {
        let mut module = load(original).map_err(RewriteError::from)?;
        let function = keep_entry(&mut module, entry)?;
        if taint::is_beyond(&module) {
            return Err(ReliefError::Partial);
        }
        let memory = Memory::of(&module, buffers.may_overlap);
        let tainted = Tainted::of(&module, &memory, relief);
        // An index that depends on what is read may be any that the mask lets pass.
        let can_hold = relief == Relief::Loads && buffers.smallest >= 2 * u64::from(WINDOW);
        let mut writer = Writer::new(Editor::new(module.clone())?, memory);
        tainted.judge(&module, &writer.memory, &|chain| writer.held(chain).filter(|_| can_hold))?;
        let mut functions = std::mem::take(&mut writer.edit.module.functions);
        for of in &mut functions {
            writer.relieve(of, relief);
        }
        match (writer.relieved, writer.missed) {
            (0, 0) => return Err(ReliefError::Nothing),
            (_, 0) => {}
            _ => return Err(ReliefError::Partial),
        }
        let entry = functions.iter_mut().find(|of| of.def_id() == Some(function));
        writer.begin(entry.ok_or(Missing("function of that entry point"))?);
        writer.edit.module.functions = functions;
        let (relieving, placebo) = writer.switches.iter().map(|switch| (switch.relieving, switch.placebo)).unzip();
        let words = writer.edit.finish().assemble();
        validate_rewritten(original, &words).map_err(RewriteError::from)?;
        Ok(Self { words, place: writer.place, relieving, placebo })
    }
}

impl Prepared {
    /// The same case, whose kernel is relieved, or has the placebo of that. Its results are spoiled, and nothing checks them.
    ///
    /// # Errors
    /// Where it can't be without doing something else, or has nothing to be relieved of.
    pub fn relieved(&self, relief: Relief, is_placebo: bool) -> Result<Self, ReliefError> {
        let [dispatch] = self.dispatches()[..] else { return Err(ReliefError::Several) };
        if dispatch.groups == [0; 3] || dispatch.kernel != dispatch.sets() {
            return Err(ReliefError::Several);
        }
        let mut new = self.clone();
        let (kernel, described) = (&mut new.kernels[dispatch.kernel], &mut new.case.kernels[dispatch.kernel]);
        let relieved = Relieved::of(&kernel.module.words, &kernel.entry, relief, self.bound_buffers(dispatch.kernel))?;
        let module = Module::of_spirv(relieved.words, Some(&kernel.entry)).map_err(|_| ReliefError::Partial)?;
        let (set, binding) = relieved.place;
        let info = module.reflection.bindings.iter().find(|info| (info.set, info.binding) == (set, binding)).cloned();
        let words = if is_placebo { relieved.placebo } else { relieved.relieving };
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_ne_bytes).collect();
        described.bindings.push(Binding::new(set, binding, new.case.resources.len()));
        new.case.resources.push(Resource {
            name: Cow::Borrowed("switches of a relief"),
            kind: ResourceKind::Buffer { bytes: bytes.len() as u64, memory: MemoryKind::DeviceLocal },
            contents: Contents::Data(Data::new(bytes)),
        });
        kernel.bindings.extend(info);
        kernel.module = Arc::new(module);
        new.case.check = Check::Nothing("a relief spoils the results");
        Ok(new)
    }

    fn bound_buffers(&self, kernel: usize) -> BoundBuffers {
        let bound = self.case.kernels[kernel].bindings.iter().map(|binding| binding.resource);
        let is_range = |at: &usize| matches!(self.case.resources[*at].kind, ResourceKind::Range { .. });
        let all: Vec<usize> = bound.filter(|at| self.case.resources[*at].bytes() > 0).collect();
        let distinct: HashSet<usize> = all.iter().copied().collect();
        let may_overlap = distinct.len() < all.len() || all.iter().any(is_range) || self.case.addressed().next().is_some();
        let smallest = all.iter().map(|at| self.case.resources[*at].bytes()).min().unwrap_or(0);
        BoundBuffers { may_overlap, smallest }
    }
}

/// Whether an instruction that is no load reads memory that is meant, or an image.
fn reads_apart(of: &Instruction, is_meant: impl Fn(Word) -> bool) -> bool {
    taint::reads_image(of) || copies_from(of, is_meant)
}

/// Whether an instruction that is no store writes memory that is meant, or an image. Atomic operations have a cost of their own.
fn writes_apart(of: &Instruction, is_meant: impl Fn(Word) -> bool) -> bool {
    of.class.opcode == Op::ImageWrite || copies_to(of, is_meant)
}

fn copies_from(of: &Instruction, is_meant: impl Fn(Word) -> bool) -> bool {
    let at = match of.class.opname {
        "CopyMemory" | "CopyMemorySized" => 1,
        name if name.starts_with("CooperativeMatrixLoad") => 0,
        _ => return false,
    };
    of.operands.get(at).and_then(id).is_some_and(is_meant)
}

fn copies_to(of: &Instruction, is_meant: impl Fn(Word) -> bool) -> bool {
    let name = of.class.opname;
    let copies = name.starts_with("CopyMemory") || name.starts_with("CooperativeMatrixStore");
    copies && of.operands.first().and_then(id).is_some_and(is_meant)
}

/// A word of the buffer, and the invocation's own variable that holds it.
struct Switch {
    variable: Word,
    relieving: u32,
    placebo: u32,
}

struct Writer {
    edit: Editor,
    memory: Memory,
    buffer: WordBuffer,
    place: (u32, u32),
    switches: Vec<Switch>,
    /// The masks of indexes, by the types of the arrays.
    masks: HashMap<Word, Word>,
    guard: Option<Word>,
    /// Where the invocation's number in its workgroup is.
    lane: Option<Word>,
    /// Instructions that were rewritten, and those that should have been.
    relieved: usize,
    missed: usize,
}

impl Writer {
    fn new(mut edit: Editor, memory: Memory) -> Self {
        let place = (0, edit.free_binding());
        let buffer = edit.word_buffer(place);
        let (switches, masks) = (Vec::new(), HashMap::new());
        Self { edit, memory, buffer, place, switches, masks, guard: None, lane: None, relieved: 0, missed: 0 }
    }

    fn switch(&mut self, relieving: u32, placebo: u32) -> Word {
        let variable = self.edit.own_variable();
        self.switches.push(Switch { variable, relieving, placebo });
        variable
    }

    fn guard(&mut self) -> Word {
        let guard = self.guard.unwrap_or_else(|| self.switch(0, 1));
        self.guard = Some(guard);
        guard
    }

    fn relieve(&mut self, function: &mut Function, relief: Relief) {
        let is_chain = |of: &&Instruction| matches!(of.class.opcode, Op::AccessChain | Op::InBoundsAccessChain);
        let chains: HashMap<Word, Instruction> =
            function.all_inst_iter().filter(is_chain).filter_map(|of| Some((of.result_id?, of.clone()))).collect();
        match relief {
            Relief::Loads => function.blocks.iter_mut().for_each(|block| self.relieve_loads(block, &chains)),
            Relief::Stores => self.relieve_stores(function),
            Relief::Conflicts => function.blocks.iter_mut().for_each(|block| self.relieve_conflicts(block, &chains)),
        }
    }

    fn relieve_loads(&mut self, block: &mut Block, chains: &HashMap<Word, Instruction>) {
        let mut code = Vec::with_capacity(block.instructions.len());
        for mut of in std::mem::take(&mut block.instructions) {
            let pointer = of.operands.first().and_then(id).filter(|pointer| self.memory.is_buffer(*pointer));
            match (of.class.opcode, pointer) {
                (Op::Load, Some(pointer)) if !self.memory.is_variable(pointer) => {
                    let chain = chains.get(&pointer).and_then(|chain| Some((chain, self.arrays(chain)?)));
                    let is_varied = |(at, _): &(usize, Word), chain: &Instruction| {
                        id(&chain.operands[*at]).is_none_or(|index| self.edit.literal(index).is_none())
                    };
                    match chain {
                        None => self.missed += 1,
                        // What lies at a place that is written down is near already.
                        Some((chain, arrays)) if !arrays.iter().any(|array| is_varied(array, chain)) => {}
                        Some((chain, _)) => match self.masked(chain, &mut code) {
                            None => self.missed += 1,
                            Some(within) => {
                                of.operands[0] = Operand::IdRef(within);
                                self.relieved += 1;
                            }
                        },
                    }
                }
                _ => self.missed += usize::from(reads_apart(&of, |pointer| self.memory.is_buffer(pointer))),
            }
            code.push(of);
        }
        block.instructions = code;
    }

    /// The place of the index by which a chain enters its outermost array, where a mask can hold it.
    fn entered(&self, chain: &Instruction) -> Option<usize> {
        let (at, array) = *self.arrays(chain)?.first()?;
        let index = id(&chain.operands[at]).filter(|index| self.edit.literal(*index).is_none())?;
        self.edit.integer(index)?;
        self.edit.names.argument(array, Decoration::ArrayStride).filter(|stride| *stride <= WINDOW).map(|_| at)
    }

    /// The same where whatever passes the mask lies within the buffer, if that is no smaller than the window.
    fn held(&self, chain: &Instruction) -> Option<usize> {
        let (_, array) = *self.arrays(chain)?.first()?;
        let is_open = self.edit.types.get(&array).is_some_and(|ty| ty.class.opcode == Op::TypeRuntimeArray);
        self.entered(chain).filter(|_| is_open)
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

    /// Puts what stores to buffers behind a condition.
    fn relieve_stores(&mut self, function: &mut Function) {
        let mut blocks = Vec::with_capacity(function.blocks.len());
        // By the label of a block, that of its last part, which is what its successors know it by.
        let mut ends: HashMap<Word, Word> = HashMap::new();
        for block in std::mem::take(&mut function.blocks) {
            let first = block.label.as_ref().and_then(|label| label.result_id).unwrap_or_default();
            // A loop's header has to stay one block.
            let is_header = block.instructions.iter().any(|of| of.class.opcode == Op::LoopMerge);
            let (mut label, mut code) = (first, Vec::new());
            for of in block.instructions {
                let pointer = of.operands.first().and_then(id).filter(|_| of.class.opcode == Op::Store);
                let is_stored = pointer.is_some_and(|pointer| self.memory.is_buffer(pointer));
                if !is_stored || is_header {
                    let is_other = writes_apart(&of, |pointer| self.memory.is_buffer(pointer));
                    self.missed += usize::from(is_stored || is_other);
                    code.push(of);
                    continue;
                }
                self.relieved += 1;
                let (stored, after, guard) = (self.edit.take_id(), self.edit.take_id(), self.guard());
                let guard = self.edit.emit(&mut code, Op::Load, self.edit.uint, &[guard]);
                let is_on = self.edit.emit(&mut code, Op::INotEqual, self.edit.bool, &[guard, self.edit.zero]);
                let merge = vec![Operand::IdRef(after), Operand::SelectionControl(SelectionControl::NONE)];
                code.push(Instruction::new(Op::SelectionMerge, None, None, merge));
                code.push(Instruction::new(Op::BranchConditional, None, None, ids(&[is_on, stored, after])));
                blocks.push(labelled(label, std::mem::take(&mut code)));
                let on = Instruction::new(Op::Branch, None, None, ids(&[after]));
                blocks.push(labelled(stored, vec![of, on]));
                label = after;
            }
            blocks.push(labelled(label, code));
            ends.insert(first, label);
        }
        let phis = blocks.iter_mut().flat_map(|block| &mut block.instructions).filter(|of| of.class.opcode == Op::Phi);
        for operand in phis.flat_map(|phi| phi.operands.iter_mut().skip(1).step_by(2)) {
            if let Some(end) = id(operand).and_then(|label| ends.get(&label)) {
                *operand = Operand::IdRef(*end);
            }
        }
        function.blocks = blocks;
    }

    fn relieve_conflicts(&mut self, block: &mut Block, chains: &HashMap<Word, Instruction>) {
        let mut code = Vec::with_capacity(block.instructions.len());
        for mut of in std::mem::take(&mut block.instructions) {
            let pointer = of.operands.first().and_then(id).filter(|pointer| self.memory.is_shared(*pointer));
            match (of.class.opcode, pointer) {
                (Op::Load | Op::Store, Some(pointer)) if !self.memory.is_variable(pointer) => {
                    match chains.get(&pointer).and_then(|chain| self.side_by_side(chain, &mut code)) {
                        None => self.missed += 1,
                        Some(within) => {
                            of.operands[0] = Operand::IdRef(within);
                            self.relieved += 1;
                        }
                    }
                }
                _ => {
                    let is_shared = |pointer| self.memory.is_shared(pointer);
                    self.missed += usize::from(copies_from(&of, is_shared) || copies_to(&of, is_shared));
                }
            }
            code.push(of);
        }
        block.instructions = code;
    }

    /// The same pointer, or to the element that has the invocation's number where the kernel is relieved.
    fn side_by_side(&mut self, chain: &Instruction, code: &mut Vec<Instruction>) -> Option<Word> {
        let arrays = self.arrays(chain).filter(|arrays| !arrays.is_empty())?;
        // Parts of elements that lie side by side are apart.
        if arrays.last().is_none_or(|(at, _)| at + 1 < chain.operands.len()) {
            return None;
        }
        let lane = self.lane.unwrap_or_else(|| self.edit.own_variable());
        self.lane = Some(lane);
        let (guard, uint) = (self.guard(), self.edit.uint);
        let guard = self.edit.emit(code, Op::Load, uint, &[guard]);
        let is_placebo = self.edit.emit(code, Op::INotEqual, self.edit.bool, &[guard, self.edit.zero]);
        let mut left = self.edit.emit(code, Op::Load, uint, &[lane]);
        let mut indexes = Vec::new();
        for (at, array) in arrays.into_iter().rev() {
            let own = id(&chain.operands[at]).and_then(|index| self.edit.as_uint(index, code))?;
            let length = self.edit.length_of(array, code)?;
            let place = self.edit.emit(code, Op::UMod, uint, &[left, length]);
            left = self.edit.emit(code, Op::UDiv, uint, &[left, length]);
            indexes.push((at, self.edit.emit(code, Op::Select, uint, &[is_placebo, own, place])));
        }
        Some(self.led(chain, &indexes, code))
    }

    /// Reads the switches where the entry point begins.
    fn begin(&mut self, entry: &mut Function) {
        let mut code = Vec::new();
        for (at, switch) in (0..).zip(&self.switches) {
            let at = self.edit.constant(at);
            let chain = [self.buffer.variable, self.edit.zero, at];
            let place = self.edit.emit(&mut code, Op::AccessChain, self.buffer.to_word, &chain);
            let word = self.edit.emit(&mut code, Op::Load, self.edit.uint, &[place]);
            code.push(Instruction::new(Op::Store, None, None, ids(&[switch.variable, word])));
        }
        if let Some(lane) = self.lane {
            let own = self.edit.built_in(BuiltIn::LocalInvocationIndex, 1);
            let own = self.edit.load_built_in(own, &mut code);
            code.push(Instruction::new(Op::Store, None, None, ids(&[lane, own])));
        }
        if let Some(block) = entry.blocks.first_mut() {
            let is_variable = |of: &Instruction| of.class.opcode == Op::Variable;
            let at = block.instructions.iter().rposition(is_variable).map_or(0, |last| last + 1);
            block.instructions.splice(at..at, code);
        }
    }
}
