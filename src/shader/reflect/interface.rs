//! Variables that connect a module with the world: descriptors, push constants, Workgroup memory.

use std::collections::{BTreeMap, HashSet};

use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{Decoration, Dim, Op, SourceLanguage, StorageClass, Word};

use super::constants::Values;
use super::index::Index;
use super::reads::{Path, reads};
use super::types::{Layout, Member, TypeNode, Types};
use super::uses::{Use, uses};
use super::{Access, BindingInfo, BindingKind, BlockPlace, ImageInfo, ReflectError};
use crate::shader::loader::id;

#[derive(Clone, Debug, Default)]
pub(super) struct Interface {
    descriptors: Vec<Descriptor>,
    push: Vec<Named>,
    shared: Vec<Shared>,
    pub(super) unused_shared: Vec<String>,
    /// What to do where a descriptor is declared as different ones.
    advice: &'static str,
}

#[derive(Clone, Debug)]
struct Descriptor {
    /// The count is left for later.
    info: BindingInfo,
    variable: Word,
    ty: Word,
    /// The lengths of its arrays, outermost first; nothing for a length that the module leaves open.
    lengths: Vec<Option<Word>>,
    /// What functions read of it, or of any of it where it is an array.
    reads: Vec<Path>,
}

#[derive(Clone, Debug)]
struct Named {
    name: String,
    ty: Word,
    /// What functions read of it.
    reads: Vec<Path>,
}

#[derive(Clone, Debug)]
struct Shared {
    variable: Named,
    /// A block with a layout of its own: all such blocks lie over each other.
    block: bool,
}

impl Interface {
    pub(super) fn of(module: &Module, types: &Types, index: &Index) -> Self {
        let mut interface = Self { advice: advice(module), ..Self::default() };
        // Variables that no function mentions are declared, but take no memory.
        let operands = module.functions.iter().flat_map(Function::all_inst_iter).flat_map(|instruction| &instruction.operands);
        let used: HashSet<Word> = operands.filter_map(id).collect();
        let (mut reads, mut unused_push) = (reads(module), Vec::new());
        for (variable, class, ty) in module.types_global_values.iter().filter_map(|instruction| variable(instruction, types)) {
            let reads = reads.remove(&variable).unwrap_or_default().into_iter().collect();
            let named = Named { name: name(variable, ty, types, index), ty, reads };
            match class {
                StorageClass::UniformConstant | StorageClass::Uniform | StorageClass::StorageBuffer => {
                    interface.descriptors.extend(descriptor(variable, class, &named, types, index));
                }
                StorageClass::PushConstant if used.contains(&variable) => interface.push.push(named),
                StorageClass::PushConstant => unused_push.push(named),
                StorageClass::Workgroup if used.contains(&variable) => {
                    let block = matches!(types.get(ty), Some(TypeNode::Struct { block: true, .. }));
                    interface.shared.push(Shared { variable: named, block });
                }
                StorageClass::Workgroup => interface.unused_shared.push(named.name),
                _ => {}
            }
        }
        interface.leave_out(&used);
        // An entry point has one block of them: the one that it uses.
        if interface.push.is_empty() {
            interface.push = unused_push;
        }
        interface
    }

    /// Leaves descriptors out that no function uses, where others have their places: Vulkan asks only for those that are used.
    fn leave_out(&mut self, used: &HashSet<Word>) {
        let place = |of: &Descriptor| (of.info.set, of.info.binding);
        let taken: HashSet<(u32, u32)> = self.descriptors.iter().filter(|of| used.contains(&of.variable)).map(place).collect();
        self.descriptors.retain(|of| used.contains(&of.variable) || !taken.contains(&place(of)));
    }

    pub(super) fn variables(&self, set: u32, binding: u32) -> Vec<&str> {
        let here = self.descriptors.iter().map(|descriptor| &descriptor.info);
        here.filter(|info| (info.set, info.binding) == (set, binding)).map(|info| info.name.as_str()).collect()
    }

    /// The types of the variables of a name that have a size, and whether they are blocks with a layout.
    pub(super) fn types_of(&self, name: &str) -> Vec<(Word, bool)> {
        let shared = self.shared.iter().map(|Shared { variable, block }| (variable.name.as_str(), variable.ty, *block));
        let pushed = self.push.iter().map(|variable| (variable.name.as_str(), variable.ty, true));
        let bound = self.descriptors.iter().map(|descriptor| (descriptor.info.name.as_str(), descriptor.ty, true));
        shared.chain(pushed).chain(bound).filter(|(known, ..)| *known == name).map(|(_, ty, is_block)| (ty, is_block)).collect()
    }

    pub(super) fn bindings(&self, values: &Values) -> Result<Vec<BindingInfo>, ReflectError> {
        let mut merged: BTreeMap<(u32, u32), BindingInfo> = BTreeMap::new();
        for descriptor in &self.descriptors {
            let info = BindingInfo { count: descriptor.count(values)?, ..descriptor.info.clone() };
            match merged.get_mut(&(info.set, info.binding)) {
                Some(other) if other.kind != info.kind => {
                    if let Some(image) = combined(other, &info) {
                        let count = if other.count == 0 { 0 } else { info.count.max(other.count) };
                        let count = if info.count == 0 { 0 } else { count };
                        *other = BindingInfo { kind: BindingKind::CombinedImageSampler, image, count, ..other.clone() };
                        continue;
                    }
                    let BindingInfo { set, binding, .. } = info;
                    let those = format!("as {} and as {}", described(other), described(&info));
                    return Err(ReflectError::Conflict { set, binding, those, advice: self.advice });
                }
                Some(other) => {
                    other.access = if other.access == info.access { info.access } else { Access::ReadWrite };
                    // An open length wins: the layout has to be made for it.
                    other.count = if other.count == 0 { 0 } else { other.count.max(info.count) };
                }
                None => {
                    merged.insert((info.set, info.binding), info);
                }
            }
        }
        Ok(merged.into_values().collect())
    }

    /// The descriptors, with the access to storage buffers and images that functions make use of.
    pub(super) fn used_bindings(&self, module: &Module, values: &Values) -> Result<Vec<BindingInfo>, ReflectError> {
        let uses = uses(module);
        let mut of_place: BTreeMap<(u32, u32), Use> = BTreeMap::new();
        for Descriptor { info, variable, .. } in &self.descriptors {
            let found = of_place.entry((info.set, info.binding)).or_default();
            *found = found.and(uses.get(variable).copied().unwrap_or_default());
        }
        let mut bindings = self.bindings(values)?;
        for info in &mut bindings {
            info.is_untouched = of_place.get(&(info.set, info.binding)).is_some_and(|used| *used == Use::default());
        }
        let is_narrowed = |info: &&mut BindingInfo| match info.kind {
            BindingKind::StorageBuffer => true,
            // No atomic works on an image that is declared to be only written: there declarations hold wherever it is passed to.
            BindingKind::StorageImage | BindingKind::StorageTexelBuffer => info.access == Access::ReadWrite,
            _ => false,
        };
        for info in bindings.iter_mut().filter(is_narrowed) {
            info.access = of_place.get(&(info.set, info.binding)).map_or(info.access, |used| used.of(info.access));
        }
        Ok(bindings)
    }

    /// The blocks of buffers by set and binding, then those of push constants: place, name, type, and what functions read.
    pub(super) fn blocks(&self) -> Vec<(BlockPlace, &str, Word, &[Path])> {
        let mut descriptors: Vec<&Descriptor> = self.descriptors.iter().collect();
        descriptors.sort_by_key(|descriptor| (descriptor.info.set, descriptor.info.binding));
        let buffers = descriptors
            .into_iter()
            .filter_map(|of| Some((of.info.block_place()?, of.info.name.as_str(), of.ty, of.reads.as_slice())));
        buffers
            .chain(self.push.iter().map(|push| (BlockPlace::PushConstants, push.name.as_str(), push.ty, push.reads.as_slice())))
            .collect()
    }

    /// Bytes of push constants up to the end of the last block, rounded up as `vkCmdPushConstants` wants them.
    pub(super) fn push_bytes(&self, types: &Types, values: &Values) -> Result<u32, ReflectError> {
        let sizes = types.explicit(values);
        let mut largest = 0;
        for block in &self.push {
            let size = sizes.get(&block.ty).and_then(|size| u32::try_from(*size).ok()?.checked_next_multiple_of(4));
            largest = largest.max(size.ok_or_else(|| block.size_error())?);
        }
        Ok(largest)
    }

    /// Bytes of Workgroup memory: variables one after the other, blocks over each other.
    pub(super) fn shared_bytes(&self, types: &Types, values: &Values) -> Result<u64, ReflectError> {
        let (layouts, sizes) = (types.std430(values), types.explicit(values));
        let (mut end, mut blocks) = (0_u64, 0_u64);
        for Shared { variable, block } in &self.shared {
            if *block {
                blocks = blocks.max(*sizes.get(&variable.ty).ok_or_else(|| variable.size_error())?);
            } else {
                let layout: Option<&Layout> = layouts.get(&variable.ty);
                end = layout.and_then(|layout| layout.after(end)).ok_or_else(|| variable.size_error())?;
            }
        }
        Ok(end.max(blocks))
    }
}

impl Named {
    fn size_error(&self) -> ReflectError {
        ReflectError::Size { name: self.name.clone() }
    }
}

impl BindingInfo {
    pub fn block_place(&self) -> Option<BlockPlace> {
        let Self { set, binding, kind, .. } = *self;
        match kind {
            BindingKind::StorageBuffer => Some(BlockPlace::StorageBuffer { set, binding }),
            BindingKind::UniformBuffer => Some(BlockPlace::UniformBuffer { set, binding }),
            _ => None,
        }
    }
}

impl Descriptor {
    fn count(&self, values: &Values) -> Result<u32, ReflectError> {
        let mut count = 1_u32;
        for length in &self.lengths {
            let Some(length) = length else { return Ok(0) };
            let length = values.length(*length).and_then(|length| u32::try_from(length).ok());
            let product = length.and_then(|length| count.checked_mul(length));
            count = product.ok_or_else(|| ReflectError::Size { name: self.info.name.clone() })?;
        }
        Ok(count)
    }
}

/// Of an image and a sampler at one place: they are one descriptor, which has both.
fn combined(one: &BindingInfo, other: &BindingInfo) -> Option<Option<ImageInfo>> {
    use BindingKind::{CombinedImageSampler, SampledImage, Sampler};
    let is_part = |kind| matches!(kind, CombinedImageSampler | SampledImage | Sampler);
    (is_part(one.kind) && is_part(other.kind)).then(|| one.image.clone().or_else(|| other.image.clone()))
}

/// A binding with its kind, as a user knows it: `Sizes` (uniform_buffer).
fn described(BindingInfo { name, kind, .. }: &BindingInfo) -> String {
    let kind = serde_json::to_value(kind).ok().and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default();
    if name.is_empty() { kind } else { format!("`{name}` ({kind})") }
}

fn advice(module: &Module) -> &'static str {
    let is_hlsl =
        |instruction: &Instruction| matches!(instruction.operands.first(), Some(Operand::SourceLanguage(SourceLanguage::HLSL)));
    if module.debug_string_source.iter().any(is_hlsl) {
        return "HLSL's registers b, t, s and u count apart: compile it with dxc's -fvk-b-shift, -fvk-t-shift, -fvk-s-shift or \
                -fvk-u-shift, as in -fvk-u-shift 8 0, or say [[vk::binding(8, 0)]]";
    }
    match module.entry_points.len() {
        0 | 1 => "give one of them another binding",
        _ => "name one of the entry points by --entry if each is for another, or give one of them another binding",
    }
}

fn variable(instruction: &Instruction, types: &Types) -> Option<(Word, StorageClass, Word)> {
    if instruction.class.opcode != Op::Variable {
        return None;
    }
    match types.get(instruction.result_type?)? {
        TypeNode::Pointer { class, pointee } => Some((instruction.result_id?, *class, *pointee)),
        _ => None,
    }
}

/// The name of a variable, or of its type: an unnamed block's members are global in GLSL, and its variable has no name.
fn name(variable: Word, ty: Word, types: &Types, index: &Index) -> String {
    match index.name(variable) {
        "" => index.name(element(ty, types).0).to_owned(),
        name => name.to_owned(),
    }
}

/// Arrays of arrays that are taken off a type: no compiler nests as many, and each variable lists their lengths.
const MOST_ARRAYS: usize = 255;

pub(super) fn element(ty: Word, types: &Types) -> (Word, Vec<Option<Word>>) {
    let (mut ty, mut lengths) = (ty, Vec::new());
    loop {
        let (inner, length) = match types.get(ty) {
            Some(TypeNode::Array { element, length, .. }) => (*element, Some(*length)),
            Some(TypeNode::RuntimeArray { element, .. }) => (*element, None),
            _ => return (ty, lengths),
        };
        // A type that contains itself is invalid, and would keep this going for ever.
        if lengths.len() == MOST_ARRAYS {
            return (ty, lengths);
        }
        lengths.push(length);
        ty = inner;
    }
}

fn descriptor(variable: Word, class: StorageClass, named: &Named, types: &Types, index: &Index) -> Option<Descriptor> {
    let set = index.argument(variable, Decoration::DescriptorSet)?;
    let binding = index.argument(variable, Decoration::Binding)?;
    let (ty, lengths) = element(named.ty, types);
    let behind = |path: &Path| path.get(lengths.len()..).unwrap_or_default().to_vec();
    let reads = named.reads.iter().map(behind).collect();
    let node = types.get(ty)?;
    let kind = kind(class, ty, node, types, index);
    let access = match kind {
        BindingKind::StorageBuffer | BindingKind::StorageImage | BindingKind::StorageTexelBuffer => {
            access(variable, ty, node, index)
        }
        _ => Access::ReadOnly,
    };
    Some(Descriptor {
        info: BindingInfo {
            set,
            binding,
            name: named.name.clone(),
            kind,
            count: 1,
            access,
            is_untouched: false,
            image: ImageInfo::of(node, types),
        },
        variable,
        ty,
        lengths,
        reads,
    })
}

fn kind(class: StorageClass, ty: Word, node: &TypeNode, types: &Types, index: &Index) -> BindingKind {
    match (class, node) {
        (StorageClass::StorageBuffer, TypeNode::Struct { .. }) => BindingKind::StorageBuffer,
        // Before SPIR-V 1.3, storage buffers are uniforms with another decoration.
        (StorageClass::Uniform, TypeNode::Struct { .. }) if index.has(ty, Decoration::BufferBlock) => {
            BindingKind::StorageBuffer
        }
        (StorageClass::Uniform, TypeNode::Struct { .. }) => BindingKind::UniformBuffer,
        (StorageClass::UniformConstant, TypeNode::Image { dim: Dim::DimBuffer, sampled: 1, .. }) => {
            BindingKind::UniformTexelBuffer
        }
        (StorageClass::UniformConstant, TypeNode::Image { dim: Dim::DimBuffer, sampled: 2, .. }) => {
            BindingKind::StorageTexelBuffer
        }
        (StorageClass::UniformConstant, TypeNode::Image { dim: Dim::DimSubpassData, .. }) => BindingKind::Other,
        (StorageClass::UniformConstant, TypeNode::Image { sampled: 1, .. }) => BindingKind::SampledImage,
        (StorageClass::UniformConstant, TypeNode::Image { sampled: 2, .. }) => BindingKind::StorageImage,
        (StorageClass::UniformConstant, TypeNode::Sampler) => BindingKind::Sampler,
        // Before SPIR-V 1.6, `samplerBuffer` is a sampled image of a buffer.
        (StorageClass::UniformConstant, TypeNode::SampledImage { image }) => match types.get(*image) {
            Some(TypeNode::Image { dim: Dim::DimBuffer, .. }) => BindingKind::UniformTexelBuffer,
            _ => BindingKind::CombinedImageSampler,
        },
        _ => BindingKind::Other,
    }
}

/// `readonly` and `writeonly` decorate an image's variable; on a block, glslang decorates each member instead.
fn access(variable: Word, ty: Word, node: &TypeNode, index: &Index) -> Access {
    let members: &[Member] = match node {
        TypeNode::Struct { members, .. } => members,
        _ => &[],
    };
    let everywhere = |decoration| {
        let all_members = (0..).zip(members).all(|(i, _)| index.member_has(ty, i, decoration));
        index.has(variable, decoration) || (!members.is_empty() && all_members)
    };
    match (everywhere(Decoration::NonWritable), everywhere(Decoration::NonReadable)) {
        // With both, a shader can only ask for the length.
        (true, _) => Access::ReadOnly,
        (false, true) => Access::WriteOnly,
        (false, false) => Access::ReadWrite,
    }
}
