//! What depends on values that a relief changes.

use std::collections::{HashMap, HashSet};

use rspirv::dr::{Block, Function, Instruction, Module, Operand};
use rspirv::spirv::{Capability, Decoration, Op, StorageClass, Word};

use super::flow::Choices;
use super::{Relief, ReliefError, copies_to};
use crate::shader::edit::{RewriteError, keep_entry};
use crate::shader::loader::{id, load};
use crate::shader::narrow::stray_results;

/// Which memory pointers lead to.
pub(super) struct Memory {
    /// The variable or parameter that each pointer starts from, itself among them.
    roots: HashMap<Word, Word>,
    /// Of variables and of pointers of parameters, what kind of memory they are.
    kinds: HashMap<Word, Kind>,
    variables: HashSet<Word>,
    /// Whether variables of one kind may be the same memory.
    overlaps: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Buffer,
    Shared,
    Other,
}

pub(super) fn operands(of: &Instruction) -> impl Iterator<Item = Word> + '_ {
    of.operands.iter().filter_map(id)
}

pub(super) fn code(function: &Function) -> impl Iterator<Item = &Instruction> {
    function.blocks.iter().flat_map(|block| &block.instructions)
}

impl Memory {
    pub(super) fn of(module: &Module, may_overlap: bool) -> Self {
        let blocks: HashSet<Word> = module
            .annotations
            .iter()
            .filter(|of| of.operands.get(1) == Some(&Operand::Decoration(Decoration::BufferBlock)))
            .filter_map(|of| of.operands.first().and_then(id))
            .collect();
        let globals = &module.types_global_values;
        let pointers: HashMap<Word, Kind> =
            globals.iter().filter_map(|of| Some((of.result_id?, kind_of(of, &blocks, globals)?))).collect();
        let overlaps = may_overlap || shares_bindings(module);
        let mut new = Self { roots: HashMap::new(), kinds: HashMap::new(), variables: HashSet::new(), overlaps };
        let parameters = module.functions.iter().flat_map(|function| &function.parameters);
        for of in globals.iter().filter(|of| of.class.opcode == Op::Variable).chain(parameters) {
            let (Some(result), Some(kind)) = (of.result_id, of.result_type.and_then(|ty| pointers.get(&ty))) else { continue };
            new.roots.insert(result, result);
            new.kinds.insert(result, *kind);
            if of.class.opcode == Op::Variable {
                new.variables.insert(result);
            }
        }
        for of in module.functions.iter().flat_map(code) {
            let Some(result) = of.result_id else { continue };
            let base = operands(of).next().filter(|_| is_step(of)).and_then(|base| new.roots.get(&base).copied());
            if let Some(base) = base {
                new.roots.insert(result, base);
            } else if let Some(kind) = of.result_type.and_then(|ty| pointers.get(&ty)) {
                // A variable of the function's, or a pointer from elsewhere.
                new.roots.insert(result, result);
                new.kinds.insert(result, *kind);
            }
        }
        new
    }

    pub(super) fn root(&self, pointer: Word) -> Option<Word> {
        self.roots.get(&pointer).copied()
    }

    fn kind(&self, pointer: Word) -> Option<Kind> {
        self.kinds.get(&self.root(pointer)?).copied()
    }

    pub(super) fn is_buffer(&self, pointer: Word) -> bool {
        self.kind(pointer) == Some(Kind::Buffer)
    }

    pub(super) fn is_shared(&self, pointer: Word) -> bool {
        self.kind(pointer) == Some(Kind::Shared)
    }

    /// Whether it is a variable of the module's.
    pub(super) fn is_variable(&self, pointer: Word) -> bool {
        self.variables.contains(&pointer)
    }
}

/// Whether an instruction makes a pointer out of another one.
pub(super) fn is_step(of: &Instruction) -> bool {
    matches!(
        of.class.opcode,
        Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain | Op::CopyObject
    )
}

/// Whether two variables have one binding, or arrays in shared memory one place.
fn shares_bindings(module: &Module) -> bool {
    let of_kind = |kind: Decoration| -> HashMap<Word, u32> {
        let place = |of: &Instruction| match of.operands[..] {
            [Operand::IdRef(target), Operand::Decoration(own), Operand::LiteralBit32(value)] if own == kind => {
                Some((target, value))
            }
            _ => None,
        };
        module.annotations.iter().filter_map(place).collect()
    };
    let (sets, bindings) = (of_kind(Decoration::DescriptorSet), of_kind(Decoration::Binding));
    let places: HashSet<(Option<&u32>, u32)> = bindings.iter().map(|(of, binding)| (sets.get(of), *binding)).collect();
    let explicit = Operand::Capability(Capability::WorkgroupMemoryExplicitLayoutKHR);
    places.len() < bindings.len() || module.capabilities.iter().any(|of| of.operands.first() == Some(&explicit))
}

pub(super) fn reads_image(of: &Instruction) -> bool {
    let is_read = ["ImageRead", "ImageSample", "ImageFetch", "ImageGather", "ImageDref", "ImageSparse"];
    is_read.iter().any(|prefix| of.class.opname.starts_with(prefix))
}

/// Whether it has instructions that lead values where nobody follows them.
pub(super) fn is_beyond(module: &Module) -> bool {
    let all = || module.functions.iter().flat_map(code);
    let is_unknown = |of: &Instruction| {
        let name = of.class.opname;
        ["Untyped", "RawAccessChain", "RayQuery", "ImageTexelPointer"].iter().any(|prefix| name.starts_with(prefix))
    };
    all().any(is_unknown) || (all().any(reads_image) && all().any(|of| of.class.opcode == Op::ImageWrite))
}

/// What memory a type of pointers is of.
fn kind_of(ty: &Instruction, blocks: &HashSet<Word>, globals: &[Instruction]) -> Option<Kind> {
    if ty.class.opcode != Op::TypePointer {
        return None;
    }
    let [Operand::StorageClass(class), Operand::IdRef(mut pointee)] = ty.operands[..] else { return None };
    Some(match class {
        StorageClass::StorageBuffer | StorageClass::PhysicalStorageBuffer => Kind::Buffer,
        StorageClass::Workgroup => Kind::Shared,
        StorageClass::Uniform => {
            // An array of descriptors is of its elements' kind.
            while let Some(of) = globals.iter().find(|of| of.result_id == Some(pointee)) {
                match (of.class.opcode, of.operands.first().and_then(id)) {
                    (Op::TypeArray | Op::TypeRuntimeArray, Some(element)) => pointee = element,
                    _ => break,
                }
            }
            if blocks.contains(&pointee) { Kind::Buffer } else { Kind::Other }
        }
        _ => Kind::Other,
    })
}

/// The values that a relief changes, and the variables that hold such.
pub(super) struct Tainted<'c> {
    values: HashSet<Word>,
    memory: HashSet<Word>,
    choices: &'c Choices,
}

impl<'c> Tainted<'c> {
    pub(super) fn of(module: &Module, memory: &Memory, choices: &'c Choices, seeds: &Seeds) -> Self {
        let mut new = Self { values: seeds.values.clone(), memory: HashSet::new(), choices };
        seeds.roots.iter().for_each(|root| new.write(Some(*root), memory));
        let parameters: HashMap<Word, Vec<Word>> = module
            .functions
            .iter()
            .filter_map(|of| Some((of.def_id()?, of.parameters.iter().filter_map(|own| own.result_id).collect())))
            .collect();
        let mut before = usize::MAX;
        while before != new.values.len() + new.memory.len() {
            before = new.values.len() + new.memory.len();
            for function in &module.functions {
                for block in &function.blocks {
                    block.instructions.iter().for_each(|of| new.pass_on(function, of, memory, &parameters));
                    new.choose(block, memory);
                }
            }
        }
        new
    }

    /// Passes on what decides a choice between values.
    fn choose(&mut self, block: &Block, memory: &Memory) {
        let Some(chosen) = self.choices.at(block).filter(|_| self.decides(block)) else { return };
        self.values.extend(&chosen.values);
        chosen.roots.iter().for_each(|root| self.write(Some(*root), memory));
    }

    /// Whether which way a block is left depends on what is tainted.
    fn decides(&self, block: &Block) -> bool {
        let last = block.instructions.last();
        let last = last.filter(|of| matches!(of.class.opcode, Op::BranchConditional | Op::Switch));
        last.and_then(|of| operands(of).next()).is_some_and(|condition| self.values.contains(&condition))
    }

    fn pass_on(&mut self, function: &Function, of: &Instruction, memory: &Memory, parameters: &HashMap<Word, Vec<Word>>) {
        match of.class.opcode {
            Op::ReturnValue => {
                if operands(of).any(|value| self.values.contains(&value)) {
                    self.values.extend(function.def_id());
                }
            }
            Op::FunctionCall => {
                let callee = operands(of).next();
                let taken = callee.and_then(|callee| parameters.get(&callee)).into_iter().flatten();
                for (own, given) in taken.zip(operands(of).skip(1)) {
                    if self.values.contains(&given) {
                        self.values.insert(*own);
                    }
                    // What a pointer leads to is the same on both sides.
                    if let (Some(own), Some(given)) = (memory.root(*own), memory.root(given)) {
                        if self.memory.contains(&own) || self.memory.contains(&given) {
                            self.memory.extend([own, given]);
                        }
                    }
                }
                if callee.is_some_and(|callee| self.values.contains(&callee)) {
                    self.values.extend(of.result_id);
                }
            }
            // These lead to memory, and do nothing with it.
            _ if is_step(of) || matches!(of.class.opcode, Op::Phi | Op::Select) => {
                if operands(of).any(|value| self.values.contains(&value)) {
                    self.values.extend(of.result_id);
                }
            }
            opcode => {
                let reads = operands(of).any(|pointer| self.holds(pointer, memory));
                // A store doesn't read what it writes over.
                let takes = operands(of).any(|value| self.values.contains(&value)) || (reads && opcode != Op::Store);
                if takes {
                    self.values.extend(of.result_id);
                }
                if takes && !matches!(opcode, Op::Load | Op::ArrayLength) {
                    operands(of).for_each(|pointer| self.write(memory.root(pointer), memory));
                }
            }
        }
    }

    /// Whether what a pointer leads to may be changed. One that isn't a variable's may lead to any that is shared with others.
    fn holds(&self, pointer: Word, memory: &Memory) -> bool {
        let Some(root) = memory.root(pointer) else { return false };
        let kind = memory.kinds.get(&root).copied().filter(|kind| *kind != Kind::Other && !memory.is_variable(root));
        self.memory.contains(&root) || kind.is_some_and(|kind| self.memory.iter().any(|of| memory.kinds.get(of) == Some(&kind)))
    }

    /// Notes what is written there.
    fn write(&mut self, root: Option<Word>, memory: &Memory) {
        let Some(root) = root else { return };
        self.memory.insert(root);
        let is_any = memory.overlaps || !memory.is_variable(root);
        let kind = memory.kinds.get(&root).copied().filter(|kind| is_any && *kind != Kind::Other);
        self.memory.extend(memory.kinds.iter().filter(|(_, of)| Some(**of) == kind).map(|(of, _)| *of));
    }

    /// `held` is the place of an index that is kept within a few elements, of chains that only `relieved` loads use.
    ///
    /// # Errors
    /// Where the kernel would do something else than it did before.
    pub(super) fn judge(
        &self,
        module: &Module,
        memory: &Memory,
        relieved: &HashSet<Word>,
        held: &dyn Fn(&Instruction) -> Option<usize>,
    ) -> Result<(), ReliefError> {
        let is_tainted = |value: Word| self.values.contains(&value);
        let all = || module.functions.iter().flat_map(code);
        let mut blocks = module.functions.iter().flat_map(|function| &function.blocks);
        if blocks.any(|block| self.decides(block) && self.choices.at(block).is_none()) {
            return Err(ReliefError::Flow);
        }
        let is_relieved = |of: &Instruction| of.result_id.is_some_and(|result| relieved.contains(&result));
        let used_otherwise: HashSet<Word> = all().filter(|of| !is_relieved(of)).flat_map(operands).collect();
        let only_relieved = |chain: Word| !used_otherwise.contains(&chain);
        let is_free = |of: &Instruction| {
            let (Some(result), Some(at)) = (of.result_id, held(of)) else { return false };
            let others = of.operands.iter().enumerate().filter(|(place, _)| *place > 0 && *place != at);
            memory.is_buffer(result) && only_relieved(result) && !others.filter_map(|(_, index)| id(index)).any(is_tainted)
        };
        let free: HashSet<Word> = all().filter(|of| is_free(of)).filter_map(|of| of.result_id).collect();
        let accesses = |of: &&Instruction| !is_step(of) && !matches!(of.class.opcode, Op::Phi | Op::Select | Op::FunctionCall);
        let mut pointers = all().filter(accesses).flat_map(operands).filter(|pointer| memory.root(*pointer).is_some());
        if pointers.any(|pointer| is_tainted(pointer) && !free.contains(&pointer)) {
            return Err(ReliefError::Address);
        }
        Ok(())
    }
}

/// Values that a relief changes, and what it has another content in, whatever else follows from that.
#[derive(Clone, Default)]
pub(super) struct Seeds {
    pub(super) values: HashSet<Word>,
    pub(super) roots: HashSet<Word>,
}

impl Seeds {
    /// Takes in what becomes of an instruction that is one of these costs.
    pub(super) fn add(&mut self, of: &Instruction, cost: Relief, memory: &Memory) {
        self.values.extend(of.result_id);
        let changes = of.class.opcode != Op::Load;
        self.roots.extend(of.operands.first().and_then(id).filter(|_| changes).and_then(|pointer| memory.root(pointer)));
        if cost == Relief::Barriers {
            let is_shared_with_others = |root: &&Word| memory.is_buffer(**root) || memory.is_shared(**root);
            self.roots.extend(memory.kinds.keys().filter(is_shared_with_others));
        }
    }
}

/// # Errors
/// Where a number that others are rounded to decides where a kernel branches, or what it accesses.
pub(super) fn judge_rounded(words: &[u32], entry: &str, may_overlap: bool) -> Result<(), ReliefError> {
    let mut module = load(words).map_err(RewriteError::from)?;
    keep_entry(&mut module, entry)?;
    if is_beyond(&module) {
        return Err(ReliefError::Partial);
    }
    let (memory, seeds) = (Memory::of(&module, may_overlap), Seeds { values: stray_results(&module), ..Seeds::default() });
    let choices = Choices::of(&module, &memory);
    Tainted::of(&module, &memory, &choices, &seeds).judge(&module, &memory, &HashSet::new(), &|_| None)
}

/// # Errors
/// Where what a kernel writes to buffers decides where it branches, or what it accesses.
pub(super) fn judge_written(words: &[u32], entry: &str, may_overlap: bool) -> Result<(), ReliefError> {
    let mut module = load(words).map_err(RewriteError::from)?;
    keep_entry(&mut module, entry)?;
    if is_beyond(&module) {
        return Err(ReliefError::Partial);
    }
    let (memory, mut seeds) = (Memory::of(&module, may_overlap), Seeds::default());
    let is_buffer = |pointer: Word| memory.is_buffer(pointer);
    for of in module.functions.iter().flat_map(code) {
        let changes = of.class.opcode == Op::Store || of.class.opname.starts_with("Atomic");
        let pointer = of.operands.first().and_then(id);
        if (changes && pointer.is_some_and(is_buffer)) || copies_to(of, is_buffer) {
            seeds.add(of, Relief::Stores, &memory);
        }
    }
    let choices = Choices::of(&module, &memory);
    Tainted::of(&module, &memory, &choices, &seeds).judge(&module, &memory, &HashSet::new(), &|_| None)
}
