//! What a module declares: entry points, workgroup size, specialization constants, descriptors and their blocks, push constants,
//! Workgroup memory, capabilities; and what its functions contain: subgroup operations, instructions of each kind.
//!
//! Sizes that depend on specialization constants are kept as the module states them, and evaluated under the values that a
//! pipeline gets.

mod addresses;
mod blocks;
mod calls;
mod code;
pub(super) mod constants;
mod directions;
pub(super) mod flow;
mod image;
pub(super) mod index;
mod interface;
mod kinds;
mod mix;
mod operation;
mod overlap;
mod pointers;
pub(super) mod reach;
mod reads;
mod scalar;
mod sizeless;
pub(super) mod subgroup;
pub(super) mod types;
mod uses;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rspirv::dr::{self, Operand};
use rspirv::spirv::{BuiltIn, Decoration, ExecutionMode, ExecutionModel, Op, Word};
use serde::Serialize;
use thiserror::Error;

use self::addresses::ByAddress;
use self::calls::Reached;
use self::code::Code;
use self::constants::{Constants, Values};
use self::index::Index;
use self::interface::Interface;
use self::sizeless::Declared;
use self::types::Types;
use super::capabilities::{Treatment, treatment};
use super::loader::{self, LoadError, id};
use crate::model::{Shown, SubgroupClass};

pub use addresses::{Led, Pointee, Seen};
pub use blocks::{BlockInfo, BlockPlace, MatrixOrder, MemberLayout, StructLayout, TypeLayout};
pub use image::ImageInfo;
pub use kinds::InstructionKind;
pub use mix::{InstructionCounts, InstructionMix};
pub use overlap::Overlap;
pub use rspirv::spirv::Capability;
pub use scalar::ScalarType;

/// Values of specialization constants: their bits, by `constant_id`. A constant that is left out has its default.
pub type SpecValues = BTreeMap<u32, u64>;

#[derive(Clone, Debug)]
pub struct Reflection {
    pub version: (u8, u8),
    pub capabilities: Vec<Capability>,
    pub extensions: Vec<String>,
    /// The compute entry points; at least one. What the GLSL compiler makes has exactly one, `main`.
    pub entry_points: Vec<EntryPoint>,
    /// The specialization constants, sorted by `constant_id`, those of the workgroup size among them.
    pub spec_constants: Vec<SpecConstant>,
    /// The descriptors, sorted by set and binding, each pair once.
    pub bindings: Vec<BindingInfo>,
    /// Bytes of push constants, from offset 0; a multiple of four.
    pub push_bytes: u32,
    /// The same with what functions really do with storage for its access: few shaders declare what they only read, or only write. What
    /// nothing touches is read-only.
    pub used_bindings: Vec<BindingInfo>,
    /// Whether functions plainly use x, y and z of `gl_GlobalInvocationID` or `gl_WorkGroupID`.
    pub directions: [bool; 3],
    /// Whether it has an invocation's place among all: its work is cut into invocations then, and else into workgroups.
    pub counts_invocations: bool,
    types: Types,
    constants: Constants,
    interface: Interface,
    by_address: ByAddress,
    code: Code,
}

#[derive(Clone, Debug, Serialize)]
pub struct EntryPoint {
    pub name: String,
    pub local_size: [Extent; 3],
    /// Whether the size stands in the execution mode `LocalSizeId`, for which a device needs `maintenance4`.
    pub needs_local_size_id: bool,
    #[serde(skip)]
    pub(super) function: Word,
    #[serde(skip)]
    /// The ids of its size's directions; nothing where the execution mode has literals.
    pub(super) local_size_ids: Option<[Word; 3]>,
}

/// The workgroup size in one direction: a number that nothing changes, a constant, or an expression of constants, which GLSL doesn't have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    Literal(u32),
    Specialized { constant_id: u32, default: u32 },
    Derived { default: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpecConstant {
    pub id: u32,
    /// Its name in the source; empty for those that stand for the workgroup size.
    pub name: String,
    #[serde(rename = "type")]
    pub ty: ScalarType,
    /// The bits of its default, zero-extended; `true` is 1.
    pub default_bits: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BindingInfo {
    pub set: u32,
    pub binding: u32,
    /// The variable's name, or its block's where the variable has none; may be empty.
    pub name: String,
    pub kind: BindingKind,
    /// Descriptors: 1, or an array's length under the default specialization; 0 where only the descriptor set layout says it.
    pub count: u32,
    pub access: Access,
    /// Whether no instruction touches it; told of the bindings that functions use alone.
    #[serde(skip)]
    pub is_untouched: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageInfo>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BindingKind {
    StorageBuffer,
    UniformBuffer,
    /// `texture2D` and its kind
    SampledImage,
    /// `image2D` and its kind
    StorageImage,
    /// `sampler2D` and its kind
    CombinedImageSampler,
    Sampler,
    /// `textureBuffer`, `samplerBuffer`
    UniformTexelBuffer,
    /// `imageBuffer`
    StorageTexelBuffer,
    /// Anything else: an acceleration structure, a tensor.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    ReadOnly,
    WriteOnly,
    ReadWrite,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReflectError {
    #[error(transparent)]
    Load(#[from] LoadError),
    /// What would be told of the module would be wrong.
    #[error("{extension} isn't supported, and the module has its capability {capability:?}")]
    Unsupported { extension: &'static str, capability: Capability },
    #[error("the module has no compute entry point")]
    NoComputeEntryPoint,
    #[error("the module has no compute entry point `{name}`; it has {}", .known.iter().map(|name| name.shown()).collect::<Vec<_>>().join(", "))]
    NoEntryPoint { name: String, known: Vec<String> },
    #[error("specialization constant {id} has a type that pipelines can't set")]
    SpecConstantType { id: u32 },
    #[error("can't tell the workgroup size of `{entry}`")]
    LocalSize { entry: String },
    /// It is infinite, or depends on an operation that isn't on whole numbers, or a buffer's block lacks an offset or a stride.
    #[error("can't tell the size of {} under these specialization constants", called(.name))]
    Size { name: String },
    #[error("{} has no elements{why}", called(.name))]
    NoElements { name: String, why: String },
    #[error(
        "{} of {} has no {decoration}: the compiler that wrote the module has to say how a block lies in memory",
        called(.member),
        called(.block)
    )]
    NoLayout { block: String, member: String, decoration: &'static str },
    #[error("set {set}, binding {binding} is declared twice, {those}; {advice}")]
    Conflict { set: u32, binding: u32, those: String, advice: &'static str },
}

/// Builds strip names.
fn called(name: &str) -> String {
    if name.is_empty() { "something without a name".to_owned() } else { format!("`{name}`") }
}

impl Reflection {
    /// Reads what a module declares. Not everything that makes a module invalid is noticed.
    pub fn parse(words: &[u32]) -> Result<Self, ReflectError> {
        Self::read(&loader::load(words)?)
    }

    /// The same of one entry point of a module that may have several: the others, and variables that only they use, are left out.
    pub fn of_entry(words: &[u32], name: &str) -> Result<Self, ReflectError> {
        let mut module = loader::load(words)?;
        reach::narrow(&mut module, name)?;
        Self::read(&module)
    }

    fn read(module: &dr::Module) -> Result<Self, ReflectError> {
        let index = Index::of(module);
        let capabilities = declared(&module.capabilities, |operand| match operand {
            Operand::Capability(capability) => Some(*capability),
            _ => None,
        });
        for capability in &capabilities {
            if let Treatment::Refused(extension) = treatment(*capability) {
                return Err(ReflectError::Unsupported { extension, capability: *capability });
            }
        }
        let (mut types, mut constants) = (Types::default(), Constants::default());
        for instruction in &module.types_global_values {
            types.note(instruction, &index);
            constants.note(instruction, &index);
        }
        let defaults = constants.evaluate(&types, &SpecValues::new());
        let interface = Interface::of(module, &types, &index);
        let spec_constants = constants.specializable(&types, &index)?;
        let known = Declared { interface: &interface, types: &types, constants: &constants, spec_constants: &spec_constants };
        let explained = |error| known.explain(error, &SpecValues::new());
        let (bindings, used_bindings) = (interface.bindings(&defaults), interface.used_bindings(module, &defaults));
        let push_bytes = interface.push_bytes(&types, &defaults).map_err(explained)?;
        Ok(Self {
            version: module.header.as_ref().map_or((0, 0), dr::ModuleHeader::version),
            capabilities,
            extensions: declared(&module.extensions, |operand| match operand {
                Operand::LiteralString(name) => Some(name.clone()),
                _ => None,
            }),
            entry_points: entry_points(module, &constants, &defaults, &index)?,
            bindings: bindings.map_err(explained)?,
            used_bindings: used_bindings.map_err(explained)?,
            push_bytes,
            directions: directions::directions(module, &index),
            counts_invocations: directions::counts_invocations(module, &index),
            code: Code::of(module, &types, &constants, &defaults, &index),
            by_address: ByAddress::of(module, &types),
            spec_constants,
            types,
            constants,
            interface,
        })
    }

    pub fn local_size(&self, entry: &EntryPoint, values: &SpecValues) -> Result<[u32; 3], ReflectError> {
        let values = self.constants.evaluate(&self.types, values);
        let mut size = [0; 3];
        for (i, axis) in size.iter_mut().enumerate() {
            *axis = match (entry.local_size[i], entry.local_size_ids) {
                (Extent::Literal(literal), _) => literal,
                (_, ids) => ids.and_then(|ids| extent_of(&values, ids[i])).ok_or_else(|| local_size_error(&entry.name))?,
            };
        }
        Ok(size)
    }

    /// Bytes of Workgroup memory under a specialization, in a standard layout (std430, `bool` as 32 bits), as Vulkan counts them
    /// against `maxComputeSharedMemorySize`. Variables that no function uses don't count; blocks share their memory.
    pub fn shared_bytes(&self, values: &SpecValues) -> Result<u64, ReflectError> {
        let evaluated = self.constants.evaluate(&self.types, values);
        self.interface.shared_bytes(&self.types, &evaluated).map_err(|error| self.explain(error, values))
    }

    /// The names of the variables in Workgroup memory that no function uses.
    pub fn unused_shared(&self) -> &[String] {
        &self.interface.unused_shared
    }

    /// The names of the variables at a descriptor's set and binding: several where the module sees it in several ways.
    pub fn variables(&self, set: u32, binding: u32) -> Vec<&str> {
        self.interface.variables(set, binding)
    }

    pub fn bindings_under(&self, values: &SpecValues) -> Result<Vec<BindingInfo>, ReflectError> {
        self.interface.bindings(&self.constants.evaluate(&self.types, values)).map_err(|error| self.explain(error, values))
    }

    /// The blocks of buffers and of push constants under a specialization, on which array lengths may depend: those of buffers
    /// by set and binding, then those of push constants. A descriptor that the module declares as two blocks has both.
    pub fn blocks(&self, values: &SpecValues) -> Result<Vec<BlockInfo>, ReflectError> {
        let evaluated = self.constants.evaluate(&self.types, values);
        blocks::describe(&self.interface, &self.types, &evaluated).map_err(|error| self.explain(error, values))
    }

    fn explain(&self, error: ReflectError, values: &SpecValues) -> ReflectError {
        let Self { interface, types, constants, spec_constants, .. } = self;
        Declared { interface, types, constants, spec_constants }.explain(error, values)
    }

    /// The classes of subgroup operations that an entry point uses, with the functions that it calls; what control flow can't reach
    /// doesn't count. Barriers among a subgroup and its variables are `Basic`, masks `Ballot`; the other classes don't imply `Basic`.
    pub fn subgroup_classes(&self, entry: &EntryPoint, values: &SpecValues) -> BTreeSet<SubgroupClass> {
        self.reached(entry, values).subgroup_classes()
    }

    pub fn instruction_mix(&self, entry: &EntryPoint, values: &SpecValues) -> InstructionMix {
        self.reached(entry, values).mix()
    }

    /// The most subgroup reductions and scans (`subgroupAdd`, `subgroupInclusiveMin`, ...) that stand in one loop of an entry point.
    pub fn most_reductions_in_a_loop(&self, entry: &EntryPoint, values: &SpecValues) -> u64 {
        self.reached(entry, values).most_reductions_in_a_loop()
    }

    fn reached(&self, entry: &EntryPoint, values: &SpecValues) -> Reached<'_> {
        Reached::from(entry.function, &self.code, &self.constants.evaluate(&self.types, values))
    }
}

fn declared<T>(instructions: &[dr::Instruction], of: impl Fn(&Operand) -> Option<T>) -> Vec<T> {
    instructions.iter().flat_map(|instruction| &instruction.operands).filter_map(of).collect()
}

fn entry_points(
    module: &dr::Module,
    constants: &Constants,
    defaults: &Values,
    index: &Index,
) -> Result<Vec<EntryPoint>, ReflectError> {
    let decorated = LocalSize::decorated(module, constants, index);
    let modes = LocalSize::modes(module);
    let mut found = Vec::new();
    for instruction in &module.entry_points {
        if let [
            Operand::ExecutionModel(ExecutionModel::GLCompute),
            Operand::IdRef(function),
            Operand::LiteralString(name),
            ..,
        ] = &instruction.operands[..]
        {
            // A decorated constant wins over the execution modes: so says the specification of the decoration `WorkgroupSize`.
            let size = match decorated {
                Some(parts) => parts.try_into().ok().map(LocalSize::Decorated),
                None => modes.get(function).copied(),
            };
            let size = size.ok_or_else(|| local_size_error(name))?;
            found.push(size.entry_point(name, *function, constants, defaults)?);
        }
    }
    if found.is_empty() { Err(ReflectError::NoComputeEntryPoint) } else { Ok(found) }
}

#[derive(Clone, Copy)]
enum LocalSize {
    Literal([u32; 3]),
    Decorated([Word; 3]),
    Mode([Word; 3]),
}

impl LocalSize {
    /// The parts of the constant that is decorated as `WorkgroupSize`, if there is one.
    fn decorated<'a>(module: &dr::Module, constants: &'a Constants, index: &Index) -> Option<&'a [Word]> {
        let ids = module.types_global_values.iter().filter_map(|instruction| instruction.result_id);
        let mut sizes = ids.filter(|id| index.argument(*id, Decoration::BuiltIn) == Some(BuiltIn::WorkgroupSize as u32));
        sizes.find_map(|id| constants.parts(id))
    }

    /// The sizes that execution modes say, by function; the first of each counts.
    fn modes(module: &dr::Module) -> HashMap<Word, Self> {
        let mut modes = HashMap::new();
        for (function, size) in module.execution_modes.iter().filter_map(Self::mode) {
            modes.entry(function).or_insert(size);
        }
        modes
    }

    fn mode(instruction: &dr::Instruction) -> Option<(Word, Self)> {
        match (instruction.class.opcode, &instruction.operands[..]) {
            (
                Op::ExecutionMode,
                [
                    Operand::IdRef(of),
                    Operand::ExecutionMode(ExecutionMode::LocalSize),
                    Operand::LiteralBit32(x),
                    Operand::LiteralBit32(y),
                    Operand::LiteralBit32(z),
                ],
            ) => Some((*of, Self::Literal([*x, *y, *z]))),
            (Op::ExecutionModeId, [Operand::IdRef(of), Operand::ExecutionMode(ExecutionMode::LocalSizeId), x, y, z]) => {
                Some((*of, Self::Mode([id(x)?, id(y)?, id(z)?])))
            }
            _ => None,
        }
    }

    fn entry_point(
        &self,
        name: &str,
        function: Word,
        constants: &Constants,
        defaults: &Values,
    ) -> Result<EntryPoint, ReflectError> {
        let (local_size, local_size_ids) = match self {
            Self::Literal(literals) => (literals.map(Extent::Literal), None),
            Self::Decorated(ids) | Self::Mode(ids) => {
                let mut extents = [Extent::Literal(0); 3];
                for (extent, id) in extents.iter_mut().zip(ids) {
                    *extent = Extent::of(*id, constants, defaults).ok_or_else(|| local_size_error(name))?;
                }
                (extents, Some(*ids))
            }
        };
        let needs_local_size_id = matches!(self, Self::Mode(_));
        Ok(EntryPoint { name: name.to_owned(), local_size, needs_local_size_id, function, local_size_ids })
    }
}

impl Extent {
    fn of(id: Word, constants: &Constants, defaults: &Values) -> Option<Self> {
        let default = extent_of(defaults, id)?;
        Some(match constants.constant_id(id) {
            Some(Some(constant_id)) => Self::Specialized { constant_id, default },
            Some(None) => Self::Literal(default),
            None => Self::Derived { default },
        })
    }

    pub fn default_value(self) -> u32 {
        match self {
            Self::Literal(default) | Self::Specialized { default, .. } | Self::Derived { default } => default,
        }
    }
}

fn extent_of(values: &Values, id: Word) -> Option<u32> {
    values.integer(id).and_then(|extent| u32::try_from(extent).ok())
}

fn local_size_error(entry: &str) -> ReflectError {
    ReflectError::LocalSize { entry: entry.to_owned() }
}
