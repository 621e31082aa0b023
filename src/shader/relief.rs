//! A kernel with one of its costs taken away, and its results with it: what then becomes of its time tells whether that cost binds.
//!
//! What is taken away hangs on words that the module reads from a buffer of its own where it begins. With other words the same module does
//! what it did before, at the same cost: that is the relief's placebo.
//!
//! A kernel isn't relieved of anything that decides where it branches, or what it accesses besides.

mod flow;
mod loops;
mod taint;
mod writer;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use rspirv::binary::Assemble;
use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::{Op, Scope, Word};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::edit::{Editor, Missing, RewriteError, keep_entry};
use super::lines::{Lines, SourceLine};
use super::loader::{id, load};
use super::narrow::narrowed;
use super::trace::{Dispatch, Padding};
use super::validator::validate_rewritten;
use super::{Module, Prepared};
use crate::model::{Binding, Check, Contents, Data, MemoryKind, Resource, ResourceKind, Step};
use flow::Choices;
use loops::Halved;
use taint::{Memory, Seeds, Tainted};
use writer::Writer;

/// A cost that can be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relief {
    /// Loads from a buffer are led into a few kilobytes of it, which the nearest cache holds.
    Loads,
    /// Nothing is stored to buffers.
    Stores,
    LoadsAndStores,
    /// Accesses to shared memory are led to elements side by side: no two lanes of a subgroup want one bank.
    Conflicts,
    /// Nothing is changed by atomic operations.
    Atomics,
    /// Nobody waits for others of the workgroup.
    Barriers,
    /// Loops that only compute end after half of their iterations.
    Loops,
}

impl Relief {
    pub const ALL: [Self; 7] =
        [Self::Loads, Self::Stores, Self::LoadsAndStores, Self::Conflicts, Self::Atomics, Self::Barriers, Self::Loops];

    fn takes(self, other: Self) -> bool {
        self == other || (self == Self::LoadsAndStores && matches!(other, Self::Loads | Self::Stores))
    }
}

/// A cost in some places of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ReliefAt {
    pub relief: Relief,
    /// The lines of the source; nothing where all of the kernel is meant.
    pub lines: Option<Vec<SourceLine>>,
    pub kept: Kept,
}

/// The instructions of a relief that stay as they are, since the kernel goes by what they do.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Kept {
    /// Which they are among all of that kind, in ascending order.
    pub numbers: Vec<usize>,
    /// The lines that they are at, as far as the module says, in ascending order.
    pub lines: Vec<SourceLine>,
}

impl ReliefAt {
    /// Whether it is of all of the kernel.
    pub fn is_whole(&self) -> bool {
        self.lines.is_none() && self.kept.numbers.is_empty()
    }
}

impl From<Relief> for ReliefAt {
    fn from(relief: Relief) -> Self {
        Self { relief, lines: None, kept: Kept::default() }
    }
}

/// A case that is otherwise, to see what that does to its time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alteration {
    /// It is relieved of a cost, or has the placebo of that. Its results are spoiled, and nothing checks them.
    Relieved { of: ReliefAt, is_placebo: bool },
    /// Each of its workgroups has so many more bytes of shared memory, so that fewer are there at once. It computes what it did.
    Crowded(u32),
    /// Its dispatch is there so often, side by side. What it leaves isn't checked.
    Copies(u32),
    /// An array in shared memory has other lengths. It computes what it did.
    Padded(Padding),
    /// It computes in f32 what it computes in f64, where nothing asks for that. It computes the same, within what that allows.
    Narrowed,
}

impl Alteration {
    /// The same but for these instructions.
    pub fn except(&self, kept: Kept) -> Self {
        match self {
            Self::Relieved { of, is_placebo } => {
                Self::Relieved { of: ReliefAt { kept, ..of.clone() }, is_placebo: *is_placebo }
            }
            other => other.clone(),
        }
    }
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
    #[error("it branches by what that would change")]
    Flow,
    #[error("it accesses memory by what that would change")]
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
#[derive(Clone, Debug)]
pub struct BoundBuffers {
    /// Whether two of them may have bytes in common.
    pub may_overlap: bool,
    /// How large they are, by set and binding; of several elements the smallest.
    pub bytes: HashMap<(u32, u32), u64>,
}

impl Relieved {
    /// Rewrites a module for one entry point.
    pub fn of(original: &[u32], entry: &str, at: &ReliefAt, buffers: &BoundBuffers) -> Result<Self, ReliefError> {
        let mut plan = Plan::of(original, entry, at, buffers)?;
        plan.meant.all.retain(|of| !at.kept.numbers.contains(&of.number));
        plan.judge(&plan.meant.all, buffers)?;
        let Plan { mut writer, meant, entry, .. } = plan;
        let places: HashMap<Place, Relief> = meant.all.iter().map(|of| (of.place, of.cost)).collect();
        let mut functions = std::mem::take(&mut writer.edit.module.functions);
        for (at, of) in functions.iter_mut().enumerate() {
            writer.relieve(of, |block, instruction| places.get(&(at, block, instruction)).copied());
        }
        match (writer.relieved, writer.missed + meant.missed) {
            (0, 0) => return Err(ReliefError::Nothing),
            (_, 0) => {}
            _ => return Err(ReliefError::Partial),
        }
        writer.edit.module.functions = functions;
        Self::finished(original, writer, entry, None)
    }

    /// `bytes` are those of shared memory that nothing uses.
    fn crowded(original: &[u32], entry: &str, bytes: u32) -> Result<Self, ReliefError> {
        let mut module = load(original).map_err(RewriteError::from)?;
        let function = keep_entry(&mut module, entry)?;
        let memory = Memory::of(&module, false);
        Self::finished(original, Writer::new(Editor::new(module)?, memory), function, Some(bytes))
    }

    fn finished(original: &[u32], mut writer: Writer, entry: Word, more_shared: Option<u32>) -> Result<Self, ReliefError> {
        let mut functions = std::mem::take(&mut writer.edit.module.functions);
        let entry =
            functions.iter_mut().find(|of| of.def_id() == Some(entry)).ok_or(Missing("function of that entry point"))?;
        if let Some(bytes) = more_shared {
            writer.crowd(entry, bytes);
        }
        writer.begin(entry)?;
        writer.edit.module.functions = functions;
        let (relieving, placebo) = writer.switches.iter().map(|switch| (switch.relieving, switch.placebo)).unzip();
        let words = writer.edit.finish().assemble();
        validate_rewritten(original, &words).map_err(RewriteError::from)?;
        Ok(Self { words, place: writer.place, relieving, placebo })
    }
}

/// By function, block and instruction.
type Place = (usize, usize, usize);

/// An instruction that a relief is of.
#[derive(Clone)]
struct One {
    place: Place,
    cost: Relief,
    number: usize,
    line: Option<SourceLine>,
}

/// The instructions that a relief is of.
#[derive(Default)]
struct Meant {
    all: Vec<One>,
    /// What becomes other where loops end.
    of_loops: Seeds,
    /// How many can't be rewritten, whatever is around them.
    missed: usize,
}

/// A relief of a module, before it is written.
struct Plan {
    module: dr::Module,
    writer: Writer,
    meant: Meant,
    entry: Word,
    choices: Choices,
}

impl Plan {
    fn of(original: &[u32], entry: &str, at: &ReliefAt, buffers: &BoundBuffers) -> Result<Self, ReliefError> {
        let mut module = load(original).map_err(RewriteError::from)?;
        let entry = keep_entry(&mut module, entry)?;
        if taint::is_beyond(&module) {
            return Err(ReliefError::Partial);
        }
        let memory = Memory::of(&module, buffers.may_overlap);
        let mut writer = Writer::new(Editor::new(module.clone())?, memory);
        let meant = match at.relief {
            Relief::Loops => Meant::loops(&mut module, &mut writer, entry),
            _ => Meant::of(&module, &writer, at),
        };
        let choices = Choices::of(&module, &writer.memory);
        Ok(Self { module, writer, meant, entry, choices })
    }

    /// # Errors
    /// Where the kernel, relieved of these, would do something else than it did before.
    fn judge(&self, all: &[One], buffers: &BoundBuffers) -> Result<(), ReliefError> {
        let (writer, memory) = (&self.writer, &self.writer.memory);
        let (mut seeds, mut loads) = (self.meant.of_loops.clone(), HashSet::new());
        for One { place: (function, block, place), cost, .. } in all.iter().filter(|of| of.cost != Relief::Loops) {
            let of = &self.module.functions[*function].blocks[*block].instructions[*place];
            seeds.add(of, *cost, memory);
            loads.extend(of.result_id.filter(|_| *cost == Relief::Loads));
        }
        // An index that depends on what is read may be any that the mask lets pass.
        let held =
            |chain: &Instruction| writer.held(chain).filter(|_| writer.bytes_from(chain, buffers) >= 2 * u64::from(WINDOW));
        Tainted::of(&self.module, memory, &self.choices, &seeds).judge(&self.module, memory, &loads, &held)
    }

    /// Which of the instructions have to stay, so that the kernel does what it did before. Halves are tried, then halves of what fails.
    fn decisive(&self, buffers: &BoundBuffers) -> Kept {
        let (mut relieved, mut kept): (Vec<One>, Vec<One>) = (Vec::new(), Vec::new());
        let mut open = vec![&self.meant.all[..]];
        while let Some(part) = open.pop() {
            let together = [&relieved[..], part].concat();
            if self.judge(&together, buffers).is_ok() {
                relieved = together;
            } else if part.len() == 1 {
                kept.extend_from_slice(part);
            } else {
                let (first, second) = part.split_at(part.len() / 2);
                open.extend([second, first]);
            }
        }
        let lines: BTreeSet<SourceLine> = kept.iter().filter_map(|of| of.line.clone()).collect();
        Kept { numbers: kept.iter().map(|of| of.number).collect(), lines: lines.into_iter().collect() }
    }
}

impl Meant {
    fn loops(module: &mut dr::Module, writer: &mut Writer, entry: Word) -> Self {
        let is_word = |value: Word| writer.edit.integer(value).is_some_and(|(width, _)| width == 32);
        let Halved { bounds, seeds } = Halved::of(module, &writer.memory, entry, &is_word);
        let mut new = Self { of_loops: seeds, ..Self::default() };
        for (function, of) in module.functions.iter().enumerate() {
            for (block, of) in of.blocks.iter().enumerate() {
                let ends = |of: &Instruction| of.result_id.is_some_and(|result| bounds.contains_key(&result));
                for (place, _) in of.instructions.iter().enumerate().filter(|(_, of)| ends(of)) {
                    new.add((function, block, place), Relief::Loops, None);
                }
            }
        }
        writer.bounds = bounds;
        new
    }

    fn add(&mut self, place: Place, cost: Relief, line: Option<SourceLine>) {
        self.all.push(One { place, cost, number: self.all.len(), line });
    }

    fn of(module: &dr::Module, writer: &Writer, at: &ReliefAt) -> Self {
        let (memory, mut lines, mut found) = (&writer.memory, Lines::of(module), Self::default());
        let is_buffer = |pointer: Word| memory.is_buffer(pointer);
        let is_shared = |pointer: Word| memory.is_shared(pointer);
        for (function, of) in module.functions.iter().enumerate() {
            let chains = writer::chains(of);
            for (block, of) in of.blocks.iter().enumerate() {
                lines.begin_block();
                for (place, of) in of.instructions.iter().enumerate() {
                    lines.note(of);
                    let is_here = |lines_meant: &Vec<SourceLine>| lines.now().is_some_and(|line| lines_meant.contains(&line));
                    if !at.lines.as_ref().is_none_or(is_here) {
                        continue;
                    }
                    found.missed += match at.relief {
                        Relief::Loads => usize::from(reads_apart(of, is_buffer)),
                        Relief::Stores => usize::from(writes_apart(of, is_buffer)),
                        Relief::LoadsAndStores => usize::from(reads_apart(of, is_buffer) || writes_apart(of, is_buffer)),
                        Relief::Conflicts => usize::from(copies_from(of, is_shared) || copies_to(of, is_shared)),
                        Relief::Atomics | Relief::Barriers | Relief::Loops => 0,
                    };
                    if let Some(cost) = cost(of, &chains, writer).filter(|cost| at.relief.takes(*cost)) {
                        found.add((function, block, place), cost, lines.now());
                    }
                }
            }
        }
        found
    }
}

/// What kind of cost an instruction is.
fn cost(of: &Instruction, chains: &HashMap<Word, Instruction>, writer: &Writer) -> Option<Relief> {
    let memory = &writer.memory;
    match (of.class.opcode, of.operands.first().and_then(id)) {
        // What lies at a place that is written down is near already.
        (Op::Load, Some(pointer)) if memory.is_buffer(pointer) && !memory.is_variable(pointer) => {
            chains.get(&pointer).is_none_or(|chain| writer.is_varied(chain)).then_some(Relief::Loads)
        }
        (Op::Store, Some(pointer)) if memory.is_buffer(pointer) => Some(Relief::Stores),
        (Op::Load | Op::Store, Some(pointer)) if memory.is_shared(pointer) && !memory.is_variable(pointer) => {
            Some(Relief::Conflicts)
        }
        (Op::ControlBarrier, _) if waits_for_workgroup(of, writer) => Some(Relief::Barriers),
        _ if of.class.opname.starts_with("Atomic") => Some(Relief::Atomics),
        _ => None,
    }
}

fn waits_for_workgroup(of: &Instruction, writer: &Writer) -> bool {
    let scope = match of.operands.first() {
        Some(Operand::IdScope(scope)) => writer.edit.literal(*scope),
        _ => None,
    };
    scope == Some(Scope::Workgroup as u32)
}

impl Prepared {
    /// # Errors
    /// Where it can't be without doing something else, or has nothing to be relieved of.
    pub fn altered(&self, alteration: &Alteration) -> Result<Self, ReliefError> {
        let [dispatch] = self.dispatches()[..] else { return Err(ReliefError::Several) };
        if dispatch.groups == [0; 3] || dispatch.kernel != dispatch.sets() {
            return Err(ReliefError::Several);
        }
        match alteration {
            Alteration::Relieved { of, is_placebo } => self.relieved(dispatch, of, *is_placebo),
            Alteration::Crowded(bytes) => {
                let kernel = &self.kernels[dispatch.kernel];
                let crowded = Relieved::crowded(&kernel.module.words, &kernel.entry, *bytes)?;
                self.switched(dispatch, crowded, false)
            }
            Alteration::Copies(count) => self.copied(dispatch, *count),
            Alteration::Padded(padding) => self.padded(dispatch, padding).map_err(|_| ReliefError::Partial),
            Alteration::Narrowed => {
                let kernel = &self.kernels[dispatch.kernel];
                let may_overlap = self.bound_buffers(dispatch.kernel).may_overlap;
                taint::judge_rounded(&kernel.module.words, &kernel.entry, may_overlap)?;
                let words = narrowed(&kernel.module.words, &kernel.entry).ok_or(ReliefError::Partial)?;
                self.with_words(dispatch, words).map_err(|_| ReliefError::Partial)
            }
        }
    }

    /// Which instructions of a relief have to stay.
    ///
    /// # Errors
    /// Where these are all.
    pub fn decisive(&self, at: &ReliefAt) -> Result<Kept, ReliefError> {
        let [dispatch] = self.dispatches()[..] else { return Err(ReliefError::Several) };
        let (kernel, buffers) = (&self.kernels[dispatch.kernel], self.bound_buffers(dispatch.kernel));
        let plan = Plan::of(&kernel.module.words, &kernel.entry, at, &buffers)?;
        let kept = plan.decisive(&buffers);
        if kept.numbers.len() == plan.meant.all.len() { Err(ReliefError::Flow) } else { Ok(kept) }
    }

    fn relieved(&self, dispatch: Dispatch, at: &ReliefAt, is_placebo: bool) -> Result<Self, ReliefError> {
        let kernel = &self.kernels[dispatch.kernel];
        let relieved = Relieved::of(&kernel.module.words, &kernel.entry, at, &self.bound_buffers(dispatch.kernel))?;
        self.switched(dispatch, relieved, is_placebo)
    }

    fn switched(&self, dispatch: Dispatch, relieved: Relieved, is_placebo: bool) -> Result<Self, ReliefError> {
        let mut new = self.clone();
        let (kernel, described) = (&mut new.kernels[dispatch.kernel], &mut new.case.kernels[dispatch.kernel]);
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
        kernel.shared_bytes = module.reflection.shared_bytes(&kernel.values()).map_err(|_| ReliefError::Partial)?;
        kernel.module = Arc::new(module);
        new.case.check = Check::Nothing("a relief spoils the results");
        Ok(new)
    }

    /// What its invocations leave in buffers, others of the same number may find there: nothing may hang on it.
    fn copied(&self, dispatch: Dispatch, count: u32) -> Result<Self, ReliefError> {
        if self.case.has_base() {
            return Err(ReliefError::Several);
        }
        let kernel = &self.kernels[dispatch.kernel];
        taint::judge_written(&kernel.module.words, &kernel.entry, self.bound_buffers(dispatch.kernel).may_overlap)?;
        let mut new = self.clone();
        let is_dispatch = |step: &Step| matches!(step, Step::Dispatch { .. });
        let at = new.case.pass.iter().position(is_dispatch).ok_or(ReliefError::Several)?;
        let more = vec![new.case.pass[at].clone(); count.saturating_sub(1) as usize];
        new.case.pass.splice(at..at, more);
        new.case.check = Check::Nothing("several dispatches write the same places");
        Ok(new)
    }

    fn bound_buffers(&self, kernel: usize) -> BoundBuffers {
        let bound = self.case.kernels[kernel].bindings.iter().map(|binding| binding.resource);
        let is_range = |at: &usize| matches!(self.case.resources[*at].kind, ResourceKind::Range { .. });
        let all: Vec<usize> = bound.filter(|at| self.case.resources[*at].bytes() > 0).collect();
        let distinct: HashSet<usize> = all.iter().copied().collect();
        let may_overlap = distinct.len() < all.len() || all.iter().any(is_range) || self.case.addressed().next().is_some();
        let mut bytes: HashMap<(u32, u32), u64> = HashMap::new();
        for binding in &self.case.kernels[kernel].bindings {
            let own = self.case.resources[binding.resource].bytes();
            bytes.entry((binding.set, binding.binding)).and_modify(|least| *least = own.min(*least)).or_insert(own);
        }
        BoundBuffers { may_overlap, bytes }
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
