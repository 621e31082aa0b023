//! A module that records each access to memory.
//!
//! Before each load, store, copy and barrier, and after each atomic operation, the module calls a function of its own that writes a
//! record to a buffer: which instruction it is, which invocation, in which iteration of which loops and by which calls, and the offset
//! in bytes. What the instruction always touches beside that offset stands with its [`Site`], and never in records.
//!
//! No block of the shader is split, and no phi is repaired: all control flow is in the functions that are added. An access chain is
//! flattened to the variable that it starts from and an offset. Pointers that are given to functions, or chosen by a select or a phi,
//! have the variable, the descriptor of an array and the offset beside them, as words. Loops are counted by a phi in their headers, so
//! that lanes are in one request exactly where they run the same instruction in the same iterations by the same calls.
//!
//! What can't be followed is recorded without an offset: how often it happens is known all the same.

mod added;
mod calls;
mod dispatch;
mod layout;
mod loops;
mod marks;
mod pointers;
mod polls;
mod recorder;
mod records;
mod sync;
mod unforeseen;
mod uniform;
mod uses;
mod values;
mod writer;

use rspirv::binary::Assemble;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::edit::{Missing, keep_entry};
use super::lines::SourceLine;
use super::loader::{LoadError, load};
use super::reflect::SpecValues;
use super::validator::{Invalid, validate_rewritten};
use writer::Writer;

pub use added::{AddedBarrier, Side, Unordered};
pub use calls::{CallSite, CallTree};
pub use dispatch::{Change, Dispatch, DispatchError, Padding};
pub(super) use loops::Loops;
pub use marks::{Marks, Touched};
pub use records::{Record, Recorded, Recording};
pub use sync::{AtomicOp, Sync, SyncScope};
pub(super) use uses::mattering;

/// A module that records, and what its records mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Traced {
    /// The module; the entry point is its only one.
    #[serde(skip)]
    pub words: Vec<u32>,
    /// The set and binding of the storage buffer that it records in.
    pub place: (u32, u32),
    /// By the numbers in records, which begin with 1.
    pub sites: Vec<Site>,
    pub roots: Vec<Root>,
    pub calls: CallTree,
    /// Whether records say by which lane the device led the lanes that made the access together.
    pub has_leaders: bool,
}

/// A variable that accesses lead to, or several that are the same memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    pub space: Space,
    /// Its name in the source; may be empty.
    pub name: String,
    /// Whether its layout is the driver's: then that of `std430` is assumed, from offset 0.
    pub is_natural: bool,
    /// How large it is, where that doesn't depend on what is bound.
    pub bytes: Option<u64>,
    /// Whether it is of shared memory that holds something from the beginning, or that may be written where nobody sees it.
    pub has_initial: bool,
    /// What it is where it is an array whose layout is the driver's.
    pub array: Option<NaturalArray>,
}

/// An array in shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NaturalArray {
    /// The outermost first.
    pub lengths: Vec<u64>,
    pub element_bytes: u64,
}

/// What holds the bytes of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    Storage {
        set: u32,
        binding: u32,
    },
    Uniform {
        set: u32,
        binding: u32,
    },
    PushConstants,
    /// Memory that a workgroup shares.
    Shared,
    /// A buffer that is reached by its address.
    Address,
}

/// An instruction that accesses memory, or a barrier; one that copies is two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    pub kind: AccessKind,
    /// Of what it accesses, its name in the source, such as `lights[].weights`; may be empty.
    pub name: String,
    pub line: Option<SourceLine>,
    pub target: Target,
    /// How many loops of its function it is in.
    pub loops: usize,
    /// Whether the record ends with the value that it read and how often in a row it read that: a loop that polls is one record.
    pub polls: bool,
    /// What it orders, of barriers and atomic operations.
    pub sync: Option<Sync>,
    pub atomic: Option<AtomicOp>,
    /// What a driver may make of an atomic operation of several lanes.
    pub merging: Merging,
    pub foreseen: Foreseen,
    /// On which of the first 32 bytes that it reads, a bit each, a store, a branch, an address or an atomic operation may depend.
    pub matters: u32,
    /// Whether others see what it stores, and it sees what others stored, once it is ordered: not of a buffer that isn't declared coherent.
    /// Where that isn't known, it is taken to be so.
    pub is_coherent: bool,
    /// Words of values that its record has: what is stored; of an atomic operation what was there, and then its values. 0 where they aren't
    /// recorded.
    pub values: usize,
}

/// The widest access of shared memory, in bytes.
pub const WIDEST: u64 = 16;

/// What compilers know of where an access of shared memory leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreseen {
    /// How it is aligned, in bytes, but for what is constant in it: at most [`WIDEST`].
    pub alignment: u64,
    /// Which of its function's loops, from the outermost one on, move it to where no compiler foresees: a bit each.
    pub loops: u32,
}

impl Default for Foreseen {
    fn default() -> Self {
        Self { alignment: WIDEST, loops: 0 }
    }
}

/// What becomes of an atomic operation that the lanes of a subgroup do together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Merging {
    /// Each lane's is done by itself: something takes what was there before, and lanes may change several places.
    Separate,
    /// Compilers may sum up first what lanes want of one place, or what nobody takes.
    #[default]
    Summed,
    /// All lanes change one place by one amount: compilers do one operation for all, and tell each lane what would have been there.
    Once,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    Load,
    Store,
    Atomic,
    Barrier,
    /// A barrier at which nobody waits.
    Fence,
}

/// What a module records.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceOptions<'s> {
    /// By which lane the device led lanes together. The device has to know ballots.
    pub leaders: bool,
    /// Values as well, and barriers at which nobody waits.
    pub values: bool,
    /// Which of the sites record, by their indexes; nothing where all do.
    pub sites: Option<&'s [usize]>,
    /// Whether it is told what compilers know of where accesses of shared memory lead: it takes a while.
    pub foresees: bool,
}

/// Where an access leads, and what its record says of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A variable, by its index; a word for the element of an array of descriptors, where it is one, and a word for the offset.
    Root { root: usize, is_array: bool, runs: Vec<Run> },
    /// One of several variables: words for the variable, the element, and the offset. A variable of all ones is none of them.
    Chosen { runs: Vec<Run> },
    /// A buffer's address: two words, the high one first.
    Address { runs: Vec<Run> },
    /// Nothing: it is a barrier.
    Nothing,
    /// Something that isn't followed.
    Unfollowed(Unfollowed),
}

impl Target {
    /// The variable, where it is one alone.
    pub fn root(&self) -> Option<usize> {
        match self {
            Self::Root { root, .. } => Some(*root),
            _ => None,
        }
    }

    /// The bytes that an access touches, from its offset.
    pub fn runs(&self) -> &[Run] {
        match self {
            Self::Root { runs, .. } | Self::Chosen { runs } | Self::Address { runs } => runs,
            Self::Nothing | Self::Unfollowed(_) => &[],
        }
    }
}

/// What stands for a variable in a record where a pointer came from where it isn't followed.
pub const UNKNOWN_ROOT: u32 = u32::MAX;

/// Bytes that an access touches, from its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Run {
    pub offset: u64,
    pub bytes: u64,
}

/// Why an access isn't followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unfollowed {
    Image,
    CooperativeMatrix,
    /// A pointer to a matrix in a buffer, given to a function or chosen: how the matrix lies isn't known there.
    Matrix,
    /// A pointer that was read from a variable, came back from a function or is a constant.
    Pointer,
    /// Its type has no size, or its value has too many pieces.
    Pieces,
}

impl Unfollowed {
    pub fn words(self) -> &'static str {
        match self {
            Self::Image => "images aren't followed",
            Self::CooperativeMatrix => "cooperative matrices aren't followed",
            Self::Matrix => "a pointer to a matrix that is given to a function or chosen isn't followed",
            Self::Pointer => "a pointer that comes from a variable, a function's result or a constant isn't followed",
            Self::Pieces => "a value of a size that isn't known, or of too many pieces",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Missing(#[from] Missing),
    #[error("a function of the shader calls itself, which SPIR-V for Vulkan forbids")]
    Recursion,
    #[error("the shader has more than 2^32 chains of calls")]
    Paths,
    #[error("the shader has more than 65535 accesses")]
    Sites,
    #[error("the dispatch begins at another workgroup than 0: that can't be recorded so far")]
    Base,
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl Traced {
    /// Whether an access may be one of a buffer's bytes, which are memory that the whole device sees.
    pub fn may_reach_buffers(&self, site: &Site) -> bool {
        match &site.target {
            Target::Nothing => false,
            Target::Root { root, .. } => self.roots.get(*root).is_none_or(|root| matches!(root.space, Space::Storage { .. })),
            Target::Chosen { .. } | Target::Address { .. } | Target::Unfollowed(_) => true,
        }
    }

    /// Rewrites a module for one entry point, for these values of its specialization constants; they may be given again when a
    /// pipeline is made, but no others.
    pub fn of(words: &[u32], entry: &str, constants: &SpecValues, options: &TraceOptions) -> Result<Self, TraceError> {
        let mut module = load(words)?;
        let function = keep_entry(&mut module, entry)?;
        let mut writer = Writer::new(module, constants, options)?;
        writer.instrument(function)?;
        let traced = writer.finish(function)?;
        validate_rewritten(words, &traced.words)?;
        Ok(traced)
    }
}

fn assembled(module: &rspirv::dr::Module) -> Vec<u32> {
    module.assemble()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SpirvTarget;
    use crate::shader::{Compiler, Library};

    #[test]
    fn what_a_cooperative_matrix_may_have_written_is_not_called_unwritten() {
        let text = |stores: &str| {
            format!(
                "#version 450\n#extension GL_KHR_cooperative_matrix : require\n#extension GL_KHR_memory_scope_semantics : require\n\
                 #extension GL_EXT_shader_explicit_arithmetic_types : require\nlayout(local_size_x = 32) in;\n\
                 layout(binding = 0) buffer O {{ float o[]; }};\nshared float tile[256];\nshared float other[32];\n\
                 void main() {{\n  coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m =\n\
                 coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(1.0);\n  {stores}\n  barrier();\n\
                 o[gl_LocalInvocationIndex] = tile[gl_LocalInvocationIndex] + other[gl_LocalInvocationIndex];\n}}\n"
            )
        };
        let seen = |stores: &str| {
            let library = Library::embedded().with("a.comp", text(stores));
            let module = Compiler::new(library).unwrap().compile("a.comp", &[], SpirvTarget::Vulkan1_3).unwrap();
            let options = TraceOptions { leaders: false, values: true, sites: None, foresees: false };
            let traced = Traced::of(&module.words, "main", &SpecValues::new(), &options).unwrap();
            let shared = traced.roots.into_iter().filter(|root| root.space == Space::Shared);
            shared.map(|root| (root.name, root.has_initial)).collect::<Vec<_>>()
        };
        let of = |tile: bool| vec![("tile".to_owned(), tile), ("other".to_owned(), false)];
        assert_eq!(seen("coopMatStore(m, tile, 0, 16, gl_CooperativeMatrixLayoutRowMajor);"), of(true));
        assert_eq!(seen(""), of(false));
    }
}
