//! Compute pipelines, and how they are told apart: by their module, entry point and constants, since handles are used again.

use std::ffi::CStr;
use std::slice;
use std::sync::Arc;

use ash::vk;

use super::log::{clean, hex};

/// A module's code.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) words: Vec<u32>,
    /// Its name in the log and among the files.
    pub(crate) name: String,
}

/// What a compute pipeline runs.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// Nothing where the layer never saw the module.
    pub(crate) module: Option<Arc<Module>>,
    entry: String,
    /// Of each specialization constant, its bytes.
    constants: Vec<(u32, Vec<u8>)>,
    required_subgroup_size: u32,
    /// Whether subgroups are required to be full.
    has_full_subgroups: bool,
    /// How many descriptor sets it takes.
    pub(crate) sets: usize,
}

/// FNV-1a, 64 bits: the same on all machines.
fn hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Module {
    /// # Safety
    /// The structure is one that vkCreateShaderModule takes.
    pub(crate) unsafe fn of(info: &vk::ShaderModuleCreateInfo<'_>) -> Self {
        // SAFETY: the caller's promise.
        let words = unsafe { slice::from_raw_parts(info.p_code, info.code_size / 4) }.to_vec();
        let name = format!("{:016x}", hash(words.iter().flat_map(|word| word.to_le_bytes())));
        Self { words, name }
    }
}

/// What follows a structure in its chain, of a type.
///
/// # Safety
/// The chain is a valid one, and `T` the structure of that type.
pub(crate) unsafe fn chained<'c, T>(mut next: *const std::ffi::c_void, structure_type: vk::StructureType) -> Option<&'c T> {
    while !next.is_null() {
        // SAFETY: every structure of a chain begins with its type and its successor.
        unsafe {
            let base = &*next.cast::<vk::BaseInStructure<'_>>();
            if base.s_type == structure_type {
                return Some(&*next.cast::<T>());
            }
            next = base.p_next.cast();
        }
    }
    None
}

impl Kernel {
    /// `module` is that of the stage, where it is known.
    ///
    /// # Safety
    /// The structure is one that vkCreateComputePipelines takes.
    pub(crate) unsafe fn of(stage: &vk::PipelineShaderStageCreateInfo<'_>, module: Option<Arc<Module>>, sets: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let inline: Option<&vk::ShaderModuleCreateInfo<'_>> =
                chained(stage.p_next, vk::StructureType::SHADER_MODULE_CREATE_INFO);
            let module = match inline {
                Some(info) if stage.module == vk::ShaderModule::null() => Some(Arc::new(Module::of(info))),
                _ => module,
            };
            let size: Option<&vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo<'_>> =
                chained(stage.p_next, vk::StructureType::PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
            let required_subgroup_size = size.map_or(0, |size| size.required_subgroup_size);
            let entry = clean(&CStr::from_ptr(stage.p_name).to_string_lossy());
            let has_full_subgroups = stage.flags.contains(vk::PipelineShaderStageCreateFlags::REQUIRE_FULL_SUBGROUPS);
            let constants = constants(stage.p_specialization_info);
            Self { module, entry, constants, required_subgroup_size, has_full_subgroups, sets }
        }
    }

    /// What tells it apart from others: its fields in the log, without a name.
    pub(crate) fn fields(&self) -> String {
        let module = self.module.as_ref().map_or("", |module| &module.name);
        let constants: Vec<String> = self.constants.iter().map(|(id, bytes)| format!("{id}={}", hex(bytes))).collect();
        let subgroups = if self.has_full_subgroups { "full" } else { "" };
        format!("{module}\t{}\t{}\t{}{subgroups}", self.entry, constants.join(","), self.required_subgroup_size)
    }
}

/// # Safety
/// The structure is null, or a valid one.
unsafe fn constants(info: *const vk::SpecializationInfo<'_>) -> Vec<(u32, Vec<u8>)> {
    // SAFETY: the caller's promise; a count of 0 comes with any pointer.
    unsafe {
        let Some(info) = info.as_ref() else { return Vec::new() };
        if info.map_entry_count == 0 || info.data_size == 0 {
            return Vec::new();
        }
        let entries = slice::from_raw_parts(info.p_map_entries, info.map_entry_count as usize);
        let data = slice::from_raw_parts(info.p_data.cast::<u8>(), info.data_size);
        let of = |entry: &vk::SpecializationMapEntry| {
            let bytes = data.get(entry.offset as usize..entry.offset as usize + entry.size);
            (entry.constant_id, bytes.unwrap_or_default().to_vec())
        };
        let mut all: Vec<(u32, Vec<u8>)> = entries.iter().map(of).collect();
        all.sort();
        all
    }
}
