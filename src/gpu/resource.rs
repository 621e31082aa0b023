//! What a case's kernels bind and its steps touch, as the device has it.

use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;
use gpu_allocator::MemoryLocation;

use crate::model::{Contents, DeviceInfo, Format, ImageRole, Shape, Status};

use super::error::{Context, Error};
use super::logical::Logical;
use super::memory::{Buffer, Memory, Staging, fill};
use super::object::Owned;
use super::submit::Queue;

/// A resource of a case. Cases share those that are equal.
pub(super) enum Resource {
    Buffer(Buffer),
    Texels { view: Owned<vk::BufferView>, buffer: Buffer },
    Image(Image),
    Sampler(Owned<vk::Sampler>),
    HostMemory(Mutex<Vec<u8>>),
}

/// An image with its view. Users first: they are dropped in this order.
pub(super) struct Image {
    pub(super) view: Owned<vk::ImageView>,
    pub(super) raw: Owned<vk::Image>,
    pub(super) role: ImageRole,
    pub(super) extent: [u32; 2],
    pub(super) texel_bytes: u32,
    _memory: Memory,
}

/// Vulkan's name of a format.
pub(super) fn format(format: Format) -> vk::Format {
    match format {
        Format::R8Unorm => vk::Format::R8_UNORM,
        Format::Rg8Unorm => vk::Format::R8G8_UNORM,
        Format::Rgba8Unorm => vk::Format::R8G8B8A8_UNORM,
        Format::R16Float => vk::Format::R16_SFLOAT,
        Format::Rg16Float => vk::Format::R16G16_SFLOAT,
        Format::Rgba16Float => vk::Format::R16G16B16A16_SFLOAT,
        Format::R32Float => vk::Format::R32_SFLOAT,
        Format::Rg32Float => vk::Format::R32G32_SFLOAT,
        Format::Rgba32Float => vk::Format::R32G32B32A32_SFLOAT,
    }
}

impl Resource {
    /// Makes a resource and fills it.
    pub(super) fn new(
        logical: &Arc<Logical>,
        queue: &mut Queue,
        staging: &mut Staging,
        info: &DeviceInfo,
        model: &crate::model::Resource,
    ) -> Result<Self, Error> {
        let name = model.name.as_ref();
        match model.shape {
            Shape::Buffer { bytes, memory } => {
                let usage = vk::BufferUsageFlags::STORAGE_BUFFER
                    | vk::BufferUsageFlags::UNIFORM_BUFFER
                    | vk::BufferUsageFlags::INDIRECT_BUFFER
                    | vk::BufferUsageFlags::TRANSFER_SRC
                    | vk::BufferUsageFlags::TRANSFER_DST;
                let buffer = Buffer::of_kind(logical, name, bytes, usage, memory, info)?;
                staging.upload(logical, queue, &buffer, &model.contents)?;
                Ok(Self::Buffer(buffer))
            }
            Shape::Texels { format, .. } => {
                let usage = vk::BufferUsageFlags::UNIFORM_TEXEL_BUFFER | vk::BufferUsageFlags::TRANSFER_DST;
                let buffer = Buffer::new(logical, name, model.bytes(), usage, MemoryLocation::GpuOnly)?;
                staging.upload(logical, queue, &buffer, &model.contents)?;
                Ok(Self::Texels { view: buffer_view(logical, name, &buffer, self::format(format))?, buffer })
            }
            Shape::Image { format, extent, role } => {
                let image = Image::new(logical, name, format, extent, role)?;
                staging.upload_image(logical, queue, &image, &model.contents)?;
                Ok(Self::Image(image))
            }
            Shape::Sampler { is_linear } => sampler(logical, name, is_linear).map(Self::Sampler),
            Shape::HostMemory { bytes } => {
                host_memory(name, bytes, &model.contents).map(|all| Self::HostMemory(Mutex::new(all)))
            }
        }
    }

    /// The buffer that it is or views.
    pub(super) fn buffer(&self) -> Option<&Buffer> {
        match self {
            Self::Buffer(buffer) | Self::Texels { buffer, .. } => Some(buffer),
            Self::Image(_) | Self::Sampler(_) | Self::HostMemory(_) => None,
        }
    }

    /// Lets the host work on the bytes, where they are its own or mapped. Nothing runs on the device meanwhile.
    pub(super) fn with_bytes<T>(&self, work: impl FnOnce(&mut [u8]) -> T) -> Option<T> {
        match self {
            Self::Buffer(buffer) => buffer.with_mapped(work),
            Self::HostMemory(bytes) => Some(work(&mut bytes.lock().unwrap_or_else(PoisonError::into_inner))),
            Self::Texels { .. } | Self::Image(_) | Self::Sampler(_) => None,
        }
    }
}

fn buffer_view(
    logical: &Arc<Logical>,
    name: &str,
    buffer: &Buffer,
    format: vk::Format,
) -> Result<Owned<vk::BufferView>, Error> {
    let info = vk::BufferViewCreateInfo::default().buffer(buffer.raw()).format(format).range(vk::WHOLE_SIZE);
    // SAFETY: the buffer lives and has the usage; `check` found that the format can be used so and the elements within the limit.
    let view = unsafe { logical.raw.create_buffer_view(&info, None) };
    let view = view.on("vkCreateBufferView", || format!("buffer `{name}`"))?;
    Ok(Owned::new(logical, view, name))
}

/// Texels repeat beyond an edge, and nothing else is done to them.
fn sampler(logical: &Arc<Logical>, name: &str, is_linear: bool) -> Result<Owned<vk::Sampler>, Error> {
    let filter = if is_linear { vk::Filter::LINEAR } else { vk::Filter::NEAREST };
    let edge = vk::SamplerAddressMode::CLAMP_TO_EDGE;
    let info = vk::SamplerCreateInfo::default()
        .mag_filter(filter)
        .min_filter(filter)
        .mipmap_mode(vk::SamplerMipmapMode::NEAREST)
        .address_mode_u(edge)
        .address_mode_v(edge)
        .address_mode_w(edge);
    // SAFETY: the device lives; a case has one or two samplers, far below any limit.
    let sampler = unsafe { logical.raw.create_sampler(&info, None) }.on("vkCreateSampler", || name.to_owned())?;
    Ok(Owned::new(logical, sampler, name))
}

/// Touched here, so that no page is missing when it is measured.
fn host_memory(name: &str, bytes: u64, contents: &Contents) -> Result<Vec<u8>, Error> {
    let length = usize::try_from(bytes).unwrap_or(usize::MAX);
    let mut memory = Vec::new();
    memory
        .try_reserve_exact(length)
        .map_err(|_| Error::new(Status::OutOfMemory, format!("the host has no {bytes} bytes for `{name}`")))?;
    memory.resize(length, 0xA5);
    if !is_undefined(contents) {
        fill(&mut memory, contents, 0);
    }
    Ok(memory)
}

impl Image {
    fn new(logical: &Arc<Logical>, name: &str, format: Format, extent: [u32; 2], role: ImageRole) -> Result<Self, Error> {
        let usage = vk::ImageUsageFlags::TRANSFER_DST
            | match role {
                ImageRole::Sampled => vk::ImageUsageFlags::SAMPLED,
                ImageRole::Storage => vk::ImageUsageFlags::STORAGE,
            };
        let [width, height] = extent;
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(self::format(format))
            .extent(vk::Extent3D { width, height, depth: 1 })
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(usage)
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        // SAFETY: the device lives; `check` found that the format can be used so, and the extent within the limits.
        let raw = unsafe { logical.raw.create_image(&info, None) }.on("vkCreateImage", || format!("image `{name}`"))?;
        let raw = Owned::new(logical, raw, name);
        let memory = Memory::of_image(logical, name, &raw)?;
        let whole = vk::ImageSubresourceRange::default().aspect_mask(vk::ImageAspectFlags::COLOR).level_count(1).layer_count(1);
        let info = vk::ImageViewCreateInfo::default()
            .image(raw.raw())
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(self::format(format))
            .subresource_range(whole);
        // SAFETY: the image lives and has its memory.
        let view = unsafe { logical.raw.create_image_view(&info, None) };
        let view = view.on("vkCreateImageView", || format!("image `{name}`"))?;
        let view = Owned::new(logical, view, name);
        Ok(Self { view, raw, role, extent, texel_bytes: format.bytes(), _memory: memory })
    }

    /// The layout in which kernels read it.
    pub(super) fn layout(&self) -> vk::ImageLayout {
        match self.role {
            ImageRole::Sampled => vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL,
            ImageRole::Storage => vk::ImageLayout::GENERAL,
        }
    }

    /// Bytes of a row of texels, as staging buffers hold it.
    pub(super) fn row_bytes(&self) -> u64 {
        u64::from(self.texel_bytes) * u64::from(self.extent[0])
    }
}

/// Whether nobody asks what a resource holds before anything runs.
pub(super) fn is_undefined(contents: &Contents) -> bool {
    *contents == Contents::Undefined
}
