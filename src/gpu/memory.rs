//! Buffers, the staging buffers that fill them and read them back, and how much memory there is.

use std::sync::Arc;

use ash::vk;
use gpu_allocator::MemoryLocation;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme};

use rayon::prelude::*;

use crate::model::{Contents, DeviceInfo, Sequence, Status};

use super::error::{Context, Error};
use super::logical::Logical;
use super::object::Owned;
use super::submit::Queue;

/// Bytes that one staging copy moves: large enough that the submission is no part of the time, small beside what is measured.
const CHUNK: u64 = 16 << 20;

/// Buffers from this size on have memory of their own, so that they begin where pages do, whatever was loaded before.
const DEDICATED_FROM: u64 = 1 << 20;

/// A buffer with its memory.
pub(super) struct Buffer {
    raw: Owned<vk::Buffer>,
    memory: Memory,
    bytes: u64,
    name: String,
}

/// Memory from the allocator, returned when dropped.
struct Memory {
    allocation: Option<Allocation>,
    logical: Arc<Logical>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        let Some(allocation) = self.allocation.take() else { return };
        if self.logical.may_destroy() {
            // An allocation of this allocator can't fail to be freed; if it did, the memory would go with the device.
            self.logical.allocator(|allocator| allocator.free(allocation).is_ok());
        } else {
            std::mem::forget(allocation);
        }
    }
}

impl Buffer {
    /// A buffer that kernels and copies use, in the device's own memory.
    pub(super) fn storage(logical: &Arc<Logical>, name: &str, bytes: u64) -> Result<Self, Error> {
        let usage =
            vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        Self::new(logical, name, bytes, usage, MemoryLocation::GpuOnly)
    }

    fn new(
        logical: &Arc<Logical>,
        name: &str,
        bytes: u64,
        usage: vk::BufferUsageFlags,
        location: MemoryLocation,
    ) -> Result<Self, Error> {
        let info = vk::BufferCreateInfo::default().size(bytes).usage(usage).sharing_mode(vk::SharingMode::EXCLUSIVE);
        // SAFETY: the device lives, and the caller asks for at least one byte.
        let raw = unsafe { logical.raw.create_buffer(&info, None) }.on("vkCreateBuffer", || format!("buffer `{name}`"))?;
        let raw = Owned::new(logical, raw, name);
        // SAFETY: the buffer lives.
        let requirements = unsafe { logical.raw.get_buffer_memory_requirements(raw.raw()) };
        let allocation_scheme = if requirements.size >= DEDICATED_FROM {
            AllocationScheme::DedicatedBuffer(raw.raw())
        } else {
            AllocationScheme::GpuAllocatorManaged
        };
        let desc = AllocationCreateDesc { name, requirements, location, linear: true, allocation_scheme };
        let allocation = logical
            .allocator(|allocator| allocator.allocate(&desc))
            .ok_or_else(|| Error::new(Status::Error, "the device is being closed"))?
            .map_err(|error| Error::allocation(&format!("buffer `{name}`"), bytes, &error))?;
        // SAFETY: the memory is unbound, fits the buffer's requirements, and outlives it (fields drop in order).
        let bound = unsafe { logical.raw.bind_buffer_memory(raw.raw(), allocation.memory(), allocation.offset()) };
        let memory = Memory { allocation: Some(allocation), logical: Arc::clone(logical) };
        bound.on("vkBindBufferMemory", || format!("buffer `{name}`"))?;
        Ok(Self { raw, memory, bytes, name: name.to_owned() })
    }

    /// The handle, valid as long as this object.
    pub(super) fn raw(&self) -> vk::Buffer {
        self.raw.raw()
    }

    /// Its size.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The first `bytes` bytes as the host sees them; for staging buffers while nothing runs on the device.
    fn mapped(&mut self, bytes: u64) -> Result<&mut [u8], Error> {
        let slice = self.memory.allocation.as_mut().and_then(Allocation::mapped_slice_mut);
        let length = usize::try_from(bytes).unwrap_or(usize::MAX);
        slice.and_then(|slice| slice.get_mut(..length)).ok_or_else(|| {
            Error::new(Status::Error, format!("buffer `{}` is not mapped: the driver has no memory for it", self.name))
        })
    }
}

/// The staging buffers, made when first needed. The allocator gives coherent memory, so nothing has to be flushed.
#[derive(Default)]
pub(super) struct Staging {
    up: Option<Buffer>,
    down: Option<Buffer>,
}

/// A range of at most [`CHUNK`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chunk {
    offset: u64,
    bytes: u64,
}

fn chunks(bytes: u64) -> impl Iterator<Item = Chunk> {
    (0..bytes.div_ceil(CHUNK)).map(move |i| Chunk { offset: i * CHUNK, bytes: CHUNK.min(bytes - i * CHUNK) })
}

impl Staging {
    /// Fills a buffer with its contents.
    pub(super) fn upload(
        &mut self,
        logical: &Arc<Logical>,
        queue: &mut Queue,
        target: &Buffer,
        contents: &Contents,
    ) -> Result<(), Error> {
        let sequence = match contents {
            Contents::Undefined => return Ok(()),
            Contents::Sequence(sequence) => sequence,
        };
        let staging = match &mut self.up {
            Some(staging) => staging,
            empty => empty.insert(Buffer::new(
                logical,
                "staging for uploads",
                CHUNK,
                vk::BufferUsageFlags::TRANSFER_SRC,
                MemoryLocation::CpuToGpu,
            )?),
        };
        for chunk in chunks(target.bytes()) {
            fill(staging.mapped(chunk.bytes)?, *sequence, chunk.offset / 4);
            let copy = vk::BufferCopy { src_offset: 0, dst_offset: chunk.offset, size: chunk.bytes };
            // Submitting makes the host's writes visible to the device.
            queue.run("an upload", |recorder| recorder.copy(staging, target, copy))?;
        }
        Ok(())
    }

    /// Reads a buffer back whole.
    pub(super) fn download(&mut self, logical: &Arc<Logical>, queue: &mut Queue, source: &Buffer) -> Result<Vec<u8>, Error> {
        let staging = match &mut self.down {
            Some(staging) => staging,
            empty => empty.insert(Buffer::new(
                logical,
                "staging for readback",
                CHUNK,
                vk::BufferUsageFlags::TRANSFER_DST,
                MemoryLocation::GpuToCpu,
            )?),
        };
        let mut bytes = Vec::new();
        let room = bytes.try_reserve_exact(usize::try_from(source.bytes()).unwrap_or(usize::MAX));
        room.map_err(|_| {
            let reason = format!("the host has no {} bytes to read buffer `{}` back into", source.bytes(), source.name);
            Error::new(Status::OutOfMemory, reason)
        })?;
        for chunk in chunks(source.bytes()) {
            let copy = vk::BufferCopy { src_offset: chunk.offset, dst_offset: 0, size: chunk.bytes };
            queue.run("a readback", |recorder| {
                recorder.copy(source, staging, copy);
                recorder.host_read_barrier();
            })?;
            bytes.extend_from_slice(staging.mapped(chunk.bytes)?);
        }
        Ok(bytes)
    }
}

/// Writes a part of a sequence, from the word `first` on.
fn fill(target: &mut [u8], sequence: Sequence, first: u64) {
    let words = target.par_chunks_exact_mut(4).enumerate();
    words.for_each(|(index, word)| word.copy_from_slice(&sequence.word(first + index as u64).to_ne_bytes()));
}

/// Bytes that a block of cases may take, beside `loaded` bytes of earlier ones, which count as free. Three quarters of what the
/// driver's budget leaves, or half the heap where it states none: the rest is for staging, for pipelines and for other programs.
pub(super) fn budget(logical: &Logical, info: &DeviceInfo, loaded: u64) -> u64 {
    match logical.has_budget.then(|| free_bytes(logical)).flatten() {
        Some(free) => free.saturating_add(loaded) / 4 * 3,
        None => info.local_heap_bytes() / 2,
    }
}

/// What the budget of the largest heap of the device's own leaves.
fn free_bytes(logical: &Logical) -> Option<u64> {
    let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
    let mut memory = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
    // SAFETY: the device belongs to this instance, is of Vulkan 1.1 and has the extension.
    unsafe { logical.instance.raw.get_physical_device_memory_properties2(logical.physical, &mut memory) };
    let memory = memory.memory_properties;
    let heaps = memory.memory_heaps_as_slice().iter().enumerate();
    let largest = heaps.max_by_key(|(_, heap)| (heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL), heap.size));
    let (index, heap) = largest?;
    // Some drivers state a budget of zero, or one beyond the heap.
    let limit = budget.heap_budget.get(index).copied().filter(|limit| *limit > 0)?.min(heap.size);
    Some(limit.saturating_sub(*budget.heap_usage.get(index)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_a_buffer_without_gap() {
        let parts: Vec<Chunk> = chunks(2 * CHUNK + 12).collect();
        assert_eq!(parts.iter().map(|chunk| chunk.bytes).sum::<u64>(), 2 * CHUNK + 12);
        assert!(parts.windows(2).all(|pair| pair[0].offset + pair[0].bytes == pair[1].offset));
        assert_eq!(parts.last(), Some(&Chunk { offset: 2 * CHUNK, bytes: 12 }));
        assert_eq!(chunks(CHUNK).count(), 1);
    }

    #[test]
    fn a_chunk_goes_on_where_the_last_ended() {
        let sequence = Sequence::Words { seed: 5 };
        let mut bytes = [0; 8];
        fill(&mut bytes, sequence, 3);
        assert_eq!(bytes[..4], sequence.word(3).to_ne_bytes());
        assert_eq!(bytes[4..], sequence.word(4).to_ne_bytes());
    }
}
