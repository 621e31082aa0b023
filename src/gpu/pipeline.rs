//! Kernels: a specialized pipeline with its layout and its descriptor sets.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;

use crate::model::{self, PipelineStatistics, ResourceKind, Status};
use crate::shader::{BindingInfo, BindingKind, Prepared, Specialized};

use super::check;
use super::error::{CREATE_PIPELINES, Context, Error};
use super::logical::Logical;
use super::object::Owned;
use super::resource::Resource;
use super::statistics::Inquirer;

pub(super) struct BoundKernel {
    pub(super) compiled: Compiled,
    sets: Vec<vk::DescriptorSet>,
    /// The sets live in it; a kernel without bindings has none.
    _pool: Option<Owned<vk::DescriptorPool>>,
}

/// A kernel's pipeline, whose layout is as its module declares it: no resource is needed for it.
pub(super) struct Compiled {
    pipeline: Owned<vk::Pipeline>,
    layout: Owned<vk::PipelineLayout>,
    set_layouts: Vec<Owned<vk::DescriptorSetLayout>>,
    /// What its shader module and its pipeline took.
    pub(super) time: Duration,
    logical: Arc<Logical>,
}

/// What a pipeline is made from.
pub(super) struct PipelineSource<'a> {
    pub(super) name: String,
    pub(super) specialized: &'a Specialized,
    /// Whether dispatches may begin at other workgroups than 0.
    pub(super) has_base: bool,
}

/// What a kernel of a case is made from.
pub(super) struct BoundSource<'a> {
    pub(super) source: PipelineSource<'a>,
    kernel: &'a model::Kernel,
    resources: &'a [model::Resource],
}

impl<'a> BoundSource<'a> {
    pub(super) fn all(prepared: &'a Prepared) -> impl Iterator<Item = Self> {
        let title = check::title(&prepared.case);
        let has_base = prepared.case.has_base();
        prepared.case.kernels.iter().zip(&prepared.kernels).map(move |(kernel, specialized)| {
            let [x, y, z] = specialized.local_size;
            let name = format!("{title} {} ({x}x{y}x{z})", kernel.source);
            Self { source: PipelineSource { name, specialized, has_base }, kernel, resources: &prepared.case.resources }
        })
    }
}

fn refused(name: &str, info: &BindingInfo, problem: &str) -> Error {
    let BindingInfo { set, binding, name: variable, .. } = info;
    Error::new(Status::Error, format!("{name}: set {set}, binding {binding} ({variable}): {problem}"))
}

type SetBinding = vk::DescriptorSetLayoutBinding<'static>;

/// The descriptor sets of a kernel, by number and without gaps, as its module declares them.
fn set_slots(source: &PipelineSource<'_>) -> Result<Vec<Vec<SetBinding>>, Error> {
    let mut sets: BTreeMap<u32, Vec<SetBinding>> = BTreeMap::new();
    for info in &source.specialized.bindings {
        let unknown = || refused(&source.name, info, "a kind of descriptor that Lanescope doesn't know");
        let kind = descriptor_type(info.kind).ok_or_else(unknown)?;
        // An array whose length only the layout says has one: what the compiler makes of it is the same for any.
        let slot = SetBinding::default().binding(info.binding).descriptor_type(kind).descriptor_count(info.count.max(1));
        sets.entry(info.set).or_default().push(slot.stage_flags(vk::ShaderStageFlags::COMPUTE));
    }
    let count = sets.keys().next_back().map_or(0, |last| last + 1);
    Ok((0..count).map(|set| sets.remove(&set).unwrap_or_default()).collect())
}

fn descriptor_type(kind: BindingKind) -> Option<vk::DescriptorType> {
    Some(match kind {
        BindingKind::StorageBuffer => vk::DescriptorType::STORAGE_BUFFER,
        BindingKind::UniformBuffer => vk::DescriptorType::UNIFORM_BUFFER,
        BindingKind::UniformTexelBuffer => vk::DescriptorType::UNIFORM_TEXEL_BUFFER,
        BindingKind::StorageTexelBuffer => vk::DescriptorType::STORAGE_TEXEL_BUFFER,
        BindingKind::SampledImage => vk::DescriptorType::SAMPLED_IMAGE,
        BindingKind::StorageImage => vk::DescriptorType::STORAGE_IMAGE,
        BindingKind::Sampler => vk::DescriptorType::SAMPLER,
        BindingKind::CombinedImageSampler => vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
        BindingKind::Other => return None,
    })
}

/// A resource at its place in a case, and where it is to stand.
struct Placed {
    set: usize,
    binding: u32,
    element: u32,
    kind: vk::DescriptorType,
    resource: usize,
    sampler: Option<usize>,
}

/// Which resource of its case stands at each of a kernel's descriptors.
fn placed(bound: &BoundSource<'_>) -> Result<Vec<Placed>, Error> {
    let place = |info: &BindingInfo, element: u32| {
        let here = |other: &&model::Binding| (other.set, other.binding, other.element) == (info.set, info.binding, element);
        let Some(&model::Binding { resource, sampler, .. }) = bound.kernel.bindings.iter().find(here) else {
            return Err("the case binds nothing here");
        };
        let has_sampler = info.kind == BindingKind::CombinedImageSampler;
        let fits = takes(info.kind, &bound.resources[resource]) && sampler.is_some() == has_sampler;
        let kind = descriptor_type(info.kind).filter(|_| fits);
        let kind = kind.ok_or("the resource that the case binds is of another kind")?;
        Ok(Placed { set: info.set as usize, binding: info.binding, element, kind, resource, sampler })
    };
    let mut all = Vec::new();
    for info in &bound.source.specialized.bindings {
        let refused = |problem| refused(&bound.source.name, info, problem);
        if info.count == 0 {
            return Err(refused("arrays of descriptors without a length can't be bound"));
        }
        for element in 0..info.count {
            all.push(place(info, element).map_err(refused)?);
        }
    }
    Ok(all)
}

fn takes(kind: BindingKind, resource: &model::Resource) -> bool {
    match (kind, resource.kind) {
        (BindingKind::StorageBuffer | BindingKind::UniformBuffer, ResourceKind::Buffer { .. } | ResourceKind::Range { .. }) => {
            true
        }
        (BindingKind::UniformTexelBuffer, ResourceKind::Texels { role, .. }) => role.is_sampled(),
        (BindingKind::StorageTexelBuffer, ResourceKind::Texels { role, .. }) => role.is_storage(),
        (BindingKind::SampledImage | BindingKind::CombinedImageSampler, ResourceKind::Image { role, .. }) => role.is_sampled(),
        (BindingKind::StorageImage, ResourceKind::Image { role, .. }) => role.is_storage(),
        (BindingKind::Sampler, ResourceKind::Sampler(_)) => true,
        _ => false,
    }
}

impl Compiled {
    pub(super) fn new(logical: &Arc<Logical>, source: &PipelineSource<'_>) -> Result<Self, Error> {
        let slots = set_slots(source)?;
        let set_layouts = slots.iter().map(|slots| set_layout(logical, slots, source)).collect::<Result<Vec<_>, _>>()?;
        let layout = pipeline_layout(logical, &set_layouts, source)?;
        let start = Instant::now();
        let module = shader_module(logical, source)?;
        let pipeline = pipeline(logical, &module, &layout, source)?;
        let time = start.elapsed();
        Ok(Self { pipeline, layout, set_layouts, time, logical: Arc::clone(logical) })
    }

    /// What the driver tells of the pipeline; `None` where it wasn't asked for when the device was opened, or tells nothing.
    pub(super) fn statistics(&self, name: &str) -> Result<Option<PipelineStatistics>, Error> {
        let Some(inquirer) = &self.logical.inquirer else { return Ok(None) };
        // SAFETY: the pipeline lives, is of this device, and `pipeline` below sets the inquirer's flags.
        unsafe { inquirer.ask(self.pipeline.raw(), name) }.map(Some)
    }
}

impl BoundKernel {
    /// Makes the kernel from its pipeline and the resources of its case. The pipeline isn't asked for where these don't fit.
    pub(super) fn new(
        compiled: impl FnOnce() -> Result<Compiled, Error>,
        bound: &BoundSource<'_>,
        resources: &[Arc<Resource>],
    ) -> Result<Self, Error> {
        let placed = placed(bound)?;
        let compiled = compiled()?;
        let (pool, sets) = descriptor_sets(&compiled, &placed, resources, &bound.source.name)?;
        Ok(Self { compiled, sets, _pool: pool })
    }

    pub(super) fn bind(&self, device: &ash::Device, buffer: vk::CommandBuffer) {
        self.bind_pipeline(device, buffer);
        self.bind_descriptors(device, buffer);
    }

    pub(super) fn bind_pipeline(&self, device: &ash::Device, buffer: vk::CommandBuffer) {
        // SAFETY: the recorder's buffer is recording; the pipeline lives.
        unsafe { device.cmd_bind_pipeline(buffer, vk::PipelineBindPoint::COMPUTE, self.compiled.pipeline.raw()) };
    }

    pub(super) fn bind_descriptors(&self, device: &ash::Device, buffer: vk::CommandBuffer) {
        let (compute, layout) = (vk::PipelineBindPoint::COMPUTE, self.compiled.layout.raw());
        if !self.sets.is_empty() {
            // SAFETY: recording; the sets were made for this layout and are not updated while in use.
            unsafe { device.cmd_bind_descriptor_sets(buffer, compute, layout, 0, &self.sets, &[]) };
        }
    }

    pub(super) fn push(&self, device: &ash::Device, buffer: vk::CommandBuffer, offset: u32, bytes: &[u8]) {
        let layout = self.compiled.layout.raw();
        // SAFETY: recording; `check` holds the bytes to the layout's range, and the offset to whole words.
        unsafe { device.cmd_push_constants(buffer, layout, vk::ShaderStageFlags::COMPUTE, offset, bytes) };
    }
}

type Made<T> = Result<Owned<T>, Error>;

fn set_layout(logical: &Arc<Logical>, slots: &[SetBinding], source: &PipelineSource<'_>) -> Made<vk::DescriptorSetLayout> {
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(slots);
    // SAFETY: the device lives; reflection has each binding of a set once.
    let layout = unsafe { logical.raw.create_descriptor_set_layout(&info, None) }
        .on("vkCreateDescriptorSetLayout", || source.name.clone())?;
    Ok(Owned::new(logical, layout, &source.name))
}

fn pipeline_layout(
    logical: &Arc<Logical>,
    set_layouts: &[Owned<vk::DescriptorSetLayout>],
    source: &PipelineSource<'_>,
) -> Made<vk::PipelineLayout> {
    let set_layouts: Vec<_> = set_layouts.iter().map(Owned::raw).collect();
    let range = vk::PushConstantRange::default()
        .stage_flags(vk::ShaderStageFlags::COMPUTE)
        .size(source.specialized.push_bytes.next_multiple_of(4));
    let ranges = if range.size == 0 { &[][..] } else { std::slice::from_ref(&range) };
    let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts).push_constant_ranges(ranges);
    // SAFETY: the set layouts live; sets and push constants are within the limits.
    let layout = unsafe { logical.raw.create_pipeline_layout(&info, None) };
    let layout = layout.on("vkCreatePipelineLayout", || source.name.clone())?;
    Ok(Owned::new(logical, layout, &source.name))
}

fn shader_module(logical: &Arc<Logical>, source: &PipelineSource<'_>) -> Made<vk::ShaderModule> {
    let info = vk::ShaderModuleCreateInfo::default().code(&source.specialized.module.words);
    // SAFETY: the words are valid SPIR-V: a compiler wrote them (the boundary's one trusted promise). Those of a user's own file
    // come here in a process that may die of them.
    let module = unsafe { logical.raw.create_shader_module(&info, None) }.on("vkCreateShaderModule", || source.name.clone())?;
    Ok(Owned::new(logical, module, &source.name))
}

fn pipeline(
    logical: &Arc<Logical>,
    module: &Owned<vk::ShaderModule>,
    layout: &Owned<vk::PipelineLayout>,
    source: &PipelineSource<'_>,
) -> Made<vk::Pipeline> {
    let specialized = source.specialized;
    let entry = CString::new(specialized.entry.as_str())
        .map_err(|_| Error::new(Status::Error, format!("{}: the entry point's name holds a zero byte", source.name)))?;
    let entries: Vec<_> = (specialized.entries.iter())
        .map(|entry| {
            let map = vk::SpecializationMapEntry::default().constant_id(entry.id).offset(entry.offset);
            map.size(entry.size as usize)
        })
        .collect();
    let constants = vk::SpecializationInfo::default().map_entries(&entries).data(&specialized.data);
    let mut required = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default()
        .required_subgroup_size(specialized.required_subgroup_size.unwrap_or_default());
    let stage_flags = match specialized.full_subgroups {
        true => vk::PipelineShaderStageCreateFlags::REQUIRE_FULL_SUBGROUPS,
        false => vk::PipelineShaderStageCreateFlags::empty(),
    };
    let mut stage = vk::PipelineShaderStageCreateInfo::default()
        .flags(stage_flags)
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(module.raw())
        .name(&entry)
        .specialization_info(&constants);
    if specialized.required_subgroup_size.is_some() {
        stage = stage.push_next(&mut required);
    }
    let mut flags = logical.inquirer.as_ref().map(Inquirer::flags).unwrap_or_default();
    if source.has_base {
        flags |= vk::PipelineCreateFlags::DISPATCH_BASE;
    }
    let info = vk::ComputePipelineCreateInfo::default().flags(flags).stage(stage).layout(layout.raw());
    // SAFETY: all that `info` refers to lives until the call returns; `check` held sizes and constants to the limits.
    let pipelines = unsafe { logical.raw.create_compute_pipelines(vk::PipelineCache::null(), &[info], None) };
    let pipelines = pipelines.map_err(|(_, result)| result).on(CREATE_PIPELINES, || source.name.clone())?;
    let pipeline = pipelines.first().copied().unwrap_or_default();
    Ok(Owned::new(logical, pipeline, &source.name))
}

type Sets = (Option<Owned<vk::DescriptorPool>>, Vec<vk::DescriptorSet>);

fn descriptor_sets(compiled: &Compiled, placed: &[Placed], resources: &[Arc<Resource>], name: &str) -> Result<Sets, Error> {
    let Compiled { set_layouts: layouts, logical, .. } = compiled;
    if layouts.is_empty() {
        return Ok((None, Vec::new()));
    }
    let mut counts: BTreeMap<vk::DescriptorType, u32> = BTreeMap::new();
    placed.iter().for_each(|placed| *counts.entry(placed.kind).or_default() += 1);
    let sizes: Vec<_> =
        counts.into_iter().map(|(ty, count)| vk::DescriptorPoolSize::default().ty(ty).descriptor_count(count)).collect();
    let sets = u32::try_from(layouts.len()).unwrap_or(u32::MAX);
    let info = vk::DescriptorPoolCreateInfo::default().max_sets(sets).pool_sizes(&sizes);
    // SAFETY: the device lives, and there is at least one set.
    let pool = unsafe { logical.raw.create_descriptor_pool(&info, None) }.on("vkCreateDescriptorPool", || name.to_owned())?;
    let pool = Owned::new(logical, pool, name);
    let layouts: Vec<_> = layouts.iter().map(Owned::raw).collect();
    let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool.raw()).set_layouts(&layouts);
    // SAFETY: pool and layouts live, and the pool has room for them.
    let sets = unsafe { logical.raw.allocate_descriptor_sets(&info) }.on("vkAllocateDescriptorSets", || name.to_owned())?;
    sets.iter().for_each(|set| logical.name(*set, name));
    placed.iter().for_each(|placed| write_descriptor(logical, sets[placed.set], placed, resources));
    Ok((Some(pool), sets))
}

fn write_descriptor(logical: &Logical, set: vk::DescriptorSet, placed: &Placed, resources: &[Arc<Resource>]) {
    let mut write = vk::WriteDescriptorSet::default().dst_set(set).dst_binding(placed.binding).descriptor_type(placed.kind);
    write = write.dst_array_element(placed.element);
    write.descriptor_count = 1;
    let (buffer, texels, mut image);
    match resources[placed.resource].as_ref() {
        Resource::Buffer(bound) => {
            buffer = vk::DescriptorBufferInfo { buffer: bound.raw(), offset: 0, range: bound.bytes() };
            write = write.buffer_info(std::slice::from_ref(&buffer));
        }
        Resource::Range { whole, offset, bytes } => {
            let Some(whole) = whole.buffer() else { return };
            buffer = vk::DescriptorBufferInfo { buffer: whole.raw(), offset: *offset, range: *bytes };
            write = write.buffer_info(std::slice::from_ref(&buffer));
        }
        Resource::Texels { view, .. } => {
            texels = view.raw();
            write = write.texel_buffer_view(std::slice::from_ref(&texels));
        }
        Resource::Image(bound) => {
            image = vk::DescriptorImageInfo::default().image_view(bound.view.raw()).image_layout(bound.layout());
            if let Some(Resource::Sampler(sampler)) = placed.sampler.map(|sampler| resources[sampler].as_ref()) {
                image = image.sampler(sampler.raw());
            }
            write = write.image_info(std::slice::from_ref(&image));
        }
        Resource::Sampler(sampler) => {
            image = vk::DescriptorImageInfo::default().sampler(sampler.raw());
            write = write.image_info(std::slice::from_ref(&image));
        }
        // No type of descriptor takes it: the layout wasn't made.
        Resource::HostMemory(_) => return,
    }
    // SAFETY: set and resource live, the layout has this binding with this type, and nothing uses the set yet.
    unsafe { logical.raw.update_descriptor_sets(&[write], &[]) };
}
