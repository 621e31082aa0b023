//! What a case's kernels bind and its steps touch, as the device has it.

use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;
use gpu_allocator::MemoryLocation;

use crate::model::{Contents, DeviceInfo, ResourceKind, Status};

use super::error::{Context, Error};
use super::format;
use super::image::{Image, sampler};
use super::logical::Logical;
use super::memory::{Buffer, NewBuffer, Staging, fill, room};
use super::object::Owned;
use super::submit::Queue;

/// A resource of a case. Cases share those that are equal.
pub(super) enum Resource {
    Buffer(Buffer),
    Texels {
        view: Owned<vk::BufferView>,
        buffer: Buffer,
        /// Those of the elements; the buffer has whole words.
        bytes: u64,
    },
    Image(Image),
    Sampler(Owned<vk::Sampler>),
    /// A part of a buffer.
    Range {
        whole: Arc<Self>,
        offset: u64,
        bytes: u64,
    },
    HostMemory(Mutex<Vec<u8>>),
}

impl Resource {
    /// Makes a resource and fills it. Kernels may reach it by its address. `before` are the case's that stand before it.
    pub(super) fn new(
        queue: &mut Queue,
        staging: &mut Staging,
        info: &DeviceInfo,
        model: &crate::model::Resource,
        is_addressed: bool,
        before: &[Arc<Self>],
    ) -> Result<Self, Error> {
        let logical = &Arc::clone(&queue.logical);
        let name = model.name.as_ref();
        match model.kind {
            ResourceKind::Buffer { bytes, memory } => {
                let usage = vk::BufferUsageFlags::STORAGE_BUFFER
                    | vk::BufferUsageFlags::UNIFORM_BUFFER
                    | vk::BufferUsageFlags::INDIRECT_BUFFER
                    | vk::BufferUsageFlags::TRANSFER_SRC
                    | vk::BufferUsageFlags::TRANSFER_DST;
                let new = NewBuffer { logical, name, bytes, usage };
                let buffer =
                    if is_addressed { Buffer::with_address(new, memory, info)? } else { Buffer::of_kind(new, memory, info)? };
                staging.upload(queue, &buffer, &model.contents)?;
                Ok(Self::Buffer(buffer))
            }
            ResourceKind::Texels { format, role, .. } => {
                let mut usage = vk::BufferUsageFlags::TRANSFER_DST;
                if role.is_sampled() {
                    usage |= vk::BufferUsageFlags::UNIFORM_TEXEL_BUFFER;
                }
                if role.is_storage() {
                    usage |= vk::BufferUsageFlags::STORAGE_TEXEL_BUFFER | vk::BufferUsageFlags::TRANSFER_SRC;
                }
                let bytes = model.bytes();
                let new = NewBuffer { logical, name, bytes: bytes.next_multiple_of(4), usage };
                let buffer = Buffer::new(new, MemoryLocation::GpuOnly)?;
                staging.upload(queue, &buffer, &model.contents)?;
                let view = buffer_view(logical, name, &buffer, (format::raw(format), bytes))?;
                Ok(Self::Texels { view, buffer, bytes })
            }
            ResourceKind::Image { format, dimension, extent, role } => {
                let image = Image::new(logical, name, format, (dimension, extent), role)?;
                staging.upload_image(queue, &image, &model.contents)?;
                Ok(Self::Image(image))
            }
            ResourceKind::Sampler(sampling) => sampler(logical, name, sampling).map(Self::Sampler),
            ResourceKind::Range { of, offset, bytes } => match before.get(of) {
                Some(whole) => Ok(Self::Range { whole: Arc::clone(whole), offset, bytes }),
                None => Err(Error::new(Status::Error, format!("`{name}` is no part of anything"))),
            },
            ResourceKind::HostMemory { bytes } => {
                host_memory(name, bytes, &model.contents).map(|all| Self::HostMemory(Mutex::new(all)))
            }
        }
    }

    /// The buffer that it is or views.
    pub(super) fn buffer(&self) -> Option<&Buffer> {
        match self {
            Self::Buffer(buffer) | Self::Texels { buffer, .. } => Some(buffer),
            Self::Range { .. } | Self::Image(_) | Self::Sampler(_) | Self::HostMemory(_) => None,
        }
    }

    pub(super) fn image(&self) -> Option<&Image> {
        match self {
            Self::Image(image) => Some(image),
            _ => None,
        }
    }

    /// Lets the host work on the bytes, where they are its own or mapped. Nothing runs on the device meanwhile.
    pub(super) fn with_bytes<T>(&self, work: impl FnOnce(&mut [u8]) -> T) -> Option<T> {
        match self {
            Self::Buffer(buffer) => buffer.with_mapped(work),
            Self::HostMemory(bytes) => Some(work(&mut bytes.lock().unwrap_or_else(PoisonError::into_inner))),
            Self::Range { .. } | Self::Texels { .. } | Self::Image(_) | Self::Sampler(_) => None,
        }
    }
}

fn buffer_view(
    logical: &Arc<Logical>,
    name: &str,
    buffer: &Buffer,
    (format, bytes): (vk::Format, u64),
) -> Result<Owned<vk::BufferView>, Error> {
    let info = vk::BufferViewCreateInfo::default().buffer(buffer.raw()).format(format).range(bytes);
    // SAFETY: the buffer lives and has the usage; `check` found that the format can be used so and the elements within the limit.
    let view = unsafe { logical.raw.create_buffer_view(&info, None) };
    let view = view.on("vkCreateBufferView", || format!("buffer `{name}`"))?;
    Ok(Owned::new(logical, view, name))
}

/// Touched here, so that no page is missing when it is measured.
fn host_memory(name: &str, bytes: u64, contents: &Contents) -> Result<Vec<u8>, Error> {
    let mut memory = room(bytes, &format!("for `{name}`"))?;
    memory.resize(usize::try_from(bytes).unwrap_or(usize::MAX), 0xA5);
    if !is_undefined(contents) {
        fill(&mut memory, contents, 0);
    }
    Ok(memory)
}

/// Whether nobody asks what a resource holds before anything runs.
pub(super) fn is_undefined(contents: &Contents) -> bool {
    *contents == Contents::Undefined
}
