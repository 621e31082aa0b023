//! GLSL to SPIR-V: the library of sources with `#include`, compilation, reflection and specialization.

pub mod apart;
mod bounds;
mod capabilities;
mod compile;
mod counts;
mod defaults;
mod edit;
mod explain;
mod files;
mod fit;
mod inlined;
mod language;
mod lengths;
mod library;
mod lines;
mod loader;
mod local_size;
mod localize;
mod narrow;
mod needs;
mod passes;
mod reflect;
mod relief;
mod specialize;
mod strip;
mod trace;
mod undecorate;
mod undefined;
mod validator;
mod words;

use std::sync::Arc;
use std::time::Duration;

use crate::model::Case;

pub use bounds::{Dimension, Home, NotedArray, Noting, Overrun};
pub use compile::{CompileError, Compiler, GlslError, ModuleKey, glsl_compiler};
pub use counts::{Counting, Operation, Operations, Visited};
pub use edit::RewriteError;
pub use files::{FileError, Reading, from_file, included_files, size_macros, written_path};
pub use fit::{LargestFit, Stop, WorkgroupFit};
pub use lengths::{LengthsError, with_lengths};
pub use library::Library;
pub use lines::SourceLine;
pub use loader::{LoadError, load, spirv_parser};
pub use local_size::with_local_size_ids;
pub use localize::{LocalSizeIds, LocalizeError, specializable};
pub use narrow::{narrowed, stray_doubles};
pub use needs::{Lack, Needs};
pub use reflect::{
    Access, BindingInfo, BindingKind, BlockInfo, BlockPlace, Capability, EntryPoint, Extent, ImageInfo, InstructionCounts,
    InstructionKind, InstructionMix, Led, MatrixOrder, MemberLayout, Overlap, Pointee, ReflectError, Reflection, ScalarType,
    Seen, SpecConstant, SpecValues, StructLayout, TypeLayout,
};
pub use relief::{Alteration, Kept, Relief, ReliefAt, ReliefError, Relieved};
pub use specialize::{SpecializeError, prepare, specialize, specialize_entry, specialize_kernel};
pub use strip::without_source;
pub use trace::{
    AccessKind, AddedBarrier, AtomicOp, CallSite, CallTree, Change, Dispatch, DispatchError, Foreseen, Marks, Merging,
    NaturalArray, Padding, Record, Recorded, Recording, Root, Run, Side, Site, Space, Sync, SyncScope, Target, Touched,
    TraceError, TraceOptions, Traced, Unfollowed, Unordered, WIDEST,
};
pub use undecorate::{Undecorated, undecorated};
pub use validator::{BlockLayouts, Invalid, block_layouts, validate, validate_within};

/// A compiled module and what is known about it. One exists per source, macros and target; cases share it.
#[derive(Debug)]
pub struct Module {
    pub words: Vec<u32>,
    /// SHA-256 over everything that the compiler read (all sources, macros, target), as [`label`](crate::digest::label) writes it with `s`.
    pub source_hash: String,
    /// SHA-256 over the words, as [`label`](crate::digest::label) writes it with `v`.
    pub spirv_hash: String,
    pub compile_time: Duration,
    pub reflection: Reflection,
    /// What its reader is told: it isn't quite as it was written.
    pub notes: Vec<String>,
    /// Whether it was taken though it isn't valid, or nobody could tell.
    pub is_invalid: bool,
}

impl Module {
    /// SPIR-V of whatever origin, described as far as one entry point needs it, or whole where none is named.
    pub fn of_spirv(words: Vec<u32>, entry: Option<&str>) -> Result<Self, ReflectError> {
        let reflection = match entry {
            Some(name) => Reflection::of_entry(&words, name)?,
            None => Reflection::parse(&words)?,
        };
        let spirv_hash = compile::spirv_hash(&words);
        let notes = capabilities::unread(&reflection.capabilities).collect();
        Ok(Self {
            words,
            source_hash: String::new(),
            spirv_hash,
            compile_time: Duration::ZERO,
            reflection,
            notes,
            is_invalid: false,
        })
    }
}

#[derive(Clone, Debug)]
pub struct Specialized {
    pub module: Arc<Module>,
    pub entry: String,
    /// Specialization map entries into `data`.
    pub entries: Vec<SpecializationEntry>,
    pub data: Vec<u8>,
    pub local_size: [u32; 3],
    pub shared_bytes: u64,
    pub push_bytes: u32,
    pub bindings: Vec<BindingInfo>,
    pub required_subgroup_size: Option<u32>,
    pub full_subgroups: bool,
}

/// Where a specialization constant's value lies in the data: bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecializationEntry {
    pub id: u32,
    pub offset: u32,
    pub size: u32,
}

/// A case with its kernels compiled and specialized: all that a device needs.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub case: Case,
    pub kernels: Vec<Specialized>,
}
