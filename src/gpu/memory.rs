//! Memory: buffers, the staging buffers that fill them and read them back, and how much there is.

use std::ops::Range;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use ash::vk;
use gpu_allocator::MemoryLocation;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme};

use rayon::prelude::*;

use crate::model::{self, Budget, Contents, DeviceInfo, Footprint, MemoryKind, MemoryType, Status};

use super::error::{Context, Error};
use super::image::Image;
use super::logical::Logical;
use super::object::Owned;
use super::resource::{Resource, is_undefined};
use super::submit::Queue;

/// Bytes that one staging copy moves: large enough that the submission is no part of the time, small beside what is measured.
const CHUNK: u64 = 16 << 20;

/// Buffers from this size on have memory of their own, so that they begin where pages do, whatever was loaded before.
const DEDICATED_FROM: u64 = 1 << 20;

/// Bytes that lie unused behind a buffer that is reached by its address.
const ADDRESS_GAP: u64 = 64 << 10;

pub(super) struct Buffer {
    raw: Owned<vk::Buffer>,
    memory: Memory,
    /// The memory types that it may lie in, by bits.
    allowed: u32,
    bytes: u64,
    /// Where it begins for the device, if it was made for kernels that ask.
    address: Option<u64>,
    name: String,
}

/// Memory that is returned when dropped.
pub(super) enum Memory {
    /// From the allocator; empty while it is returned.
    Allocated { allocation: Option<Allocation>, logical: Arc<Logical> },
    /// Of one type that was asked for, mapped.
    Mapped { memory: Owned<vk::DeviceMemory>, start: Pointer, ty: MemoryType },
}

pub(super) struct Pointer(NonNull<u8>);

// SAFETY: what it points to stays mapped as long as the memory that holds it, on whichever thread that is.
unsafe impl Send for Pointer {}
// SAFETY: as above; `Buffer::with_mapped` says who may use it when.
unsafe impl Sync for Pointer {}

impl Drop for Memory {
    fn drop(&mut self) {
        let Self::Allocated { allocation, logical } = self else { return };
        let Some(allocation) = allocation.take() else { return };
        if logical.may_destroy() {
            // An allocation of this allocator can't fail to be freed; if it did, the memory would go with the device.
            logical.allocator(|allocator| allocator.free(allocation).is_ok());
        } else {
            std::mem::forget(allocation);
        }
    }
}

impl Memory {
    /// From the allocator, which chooses the type by where the memory is to be.
    fn allocate(logical: &Arc<Logical>, what: &str, desc: &AllocationCreateDesc<'_>) -> Result<Self, Error> {
        let allocation = logical
            .allocator(|allocator| allocator.allocate(desc))
            .ok_or_else(|| Error::new(Status::Error, "the device is being closed"))?
            .map_err(|error| Error::allocation(what, desc.requirements.size, &error))?;
        Ok(Self::Allocated { allocation: Some(allocation), logical: Arc::clone(logical) })
    }

    /// Memory for an image, bound to it.
    pub(super) fn of_image(logical: &Arc<Logical>, name: &str, image: &Owned<vk::Image>) -> Result<Self, Error> {
        // SAFETY: the image lives.
        let requirements = unsafe { logical.raw.get_image_memory_requirements(image.raw()) };
        let (location, allocation_scheme) = (MemoryLocation::GpuOnly, AllocationScheme::DedicatedImage(image.raw()));
        let desc = AllocationCreateDesc { name, requirements, location, linear: false, allocation_scheme };
        let memory = Self::allocate(logical, &format!("image `{name}`"), &desc)?;
        let (raw, offset) = memory.place();
        // SAFETY: the memory is unbound, fits the image's requirements, and outlives it: the image's owner drops it last.
        let bound = unsafe { logical.raw.bind_image_memory(image.raw(), raw, offset) };
        bound.on("vkBindImageMemory", || format!("image `{name}`"))?;
        Ok(memory)
    }

    /// Memory of a kind that the host can map, of the best type that the requirements allow and that has room.
    fn map(
        new: NewBuffer<'_>,
        requirements: vk::MemoryRequirements,
        kind: MemoryKind,
        info: &DeviceInfo,
    ) -> Result<Self, Error> {
        let NewBuffer { logical, name, usage, .. } = new;
        let what = || format!("{} bytes of {} memory for buffer `{name}`", requirements.size, kind.as_str());
        let none = || Error::new(Status::Error, format!("no memory type of the device serves as {}", what()));
        let mut failure = None;
        for ty in info.memory_types_for(kind, requirements.memory_type_bits) {
            let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
            let mut allocate = vk::MemoryAllocateInfo::default().allocation_size(requirements.size).memory_type_index(ty.index);
            if usage.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS) {
                allocate = allocate.push_next(&mut flags);
            }
            // SAFETY: the device lives, and the type is one of its own; what has the usage is on a device with such addresses.
            match unsafe { logical.raw.allocate_memory(&allocate, None) } {
                Ok(memory) => return Self::mapped(logical, name, Owned::new(logical, memory, name), ty),
                Err(result) => failure = Some(Error::call("vkAllocateMemory", &what(), result)),
            }
        }
        Err(failure.unwrap_or_else(none))
    }

    fn mapped(logical: &Logical, name: &str, memory: Owned<vk::DeviceMemory>, ty: MemoryType) -> Result<Self, Error> {
        // SAFETY: the memory lives, its type is visible to the host, and it isn't mapped yet. Freeing it unmaps it.
        let start = unsafe { logical.raw.map_memory(memory.raw(), 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) };
        let start = start.on("vkMapMemory", || format!("buffer `{name}`"))?;
        match NonNull::new(start.cast()) {
            Some(start) => Ok(Self::Mapped { memory, start: Pointer(start), ty }),
            None => Err(Error::new(Status::Error, format!("vkMapMemory gave no address for buffer `{name}`"))),
        }
    }

    fn place(&self) -> (vk::DeviceMemory, u64) {
        match self {
            Self::Allocated { allocation: Some(allocation), .. } => {
                // SAFETY: the object isn't freed or mapped by whoever asks, who only binds it.
                (unsafe { allocation.memory() }, allocation.offset())
            }
            Self::Allocated { allocation: None, .. } => (vk::DeviceMemory::null(), 0),
            Self::Mapped { memory, .. } => (memory.raw(), 0),
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct NewBuffer<'a> {
    pub(super) logical: &'a Arc<Logical>,
    pub(super) name: &'a str,
    /// One at least.
    pub(super) bytes: u64,
    pub(super) usage: vk::BufferUsageFlags,
}

impl Buffer {
    pub(super) fn of_kind(new: NewBuffer<'_>, kind: MemoryKind, info: &DeviceInfo) -> Result<Self, Error> {
        if !kind.is_mapped() {
            return Self::new(new, MemoryLocation::GpuOnly);
        }
        let (raw, requirements) = Self::unbound(new)?;
        let memory = Memory::map(new, requirements, kind, info)?;
        Self::bind(new, raw, memory, requirements.memory_type_bits)
    }

    /// A buffer where the allocator puts it.
    pub(super) fn new(new: NewBuffer<'_>, location: MemoryLocation) -> Result<Self, Error> {
        let NewBuffer { logical, name, .. } = new;
        let (raw, requirements) = Self::unbound(new)?;
        let allocation_scheme = if requirements.size >= DEDICATED_FROM {
            AllocationScheme::DedicatedBuffer(raw.raw())
        } else {
            AllocationScheme::GpuAllocatorManaged
        };
        let desc = AllocationCreateDesc { name, requirements, location, linear: true, allocation_scheme };
        let memory = Memory::allocate(logical, &format!("buffer `{name}`"), &desc)?;
        Self::bind(new, raw, memory, requirements.memory_type_bits)
    }

    /// The same for kernels that reach it by its address.
    pub(super) fn with_address(new: NewBuffer<'_>, kind: MemoryKind, info: &DeviceInfo) -> Result<Self, Error> {
        let NewBuffer { logical, name, bytes, usage } = new;
        let Some(address_of) = &logical.address_of else {
            return Err(Error::new(Status::Error, format!("the device tells no addresses, as of buffer `{name}`")));
        };
        let usage = usage | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        // What goes beyond its end would be within the buffer that comes next, and nobody could tell.
        let with_gap = Some(bytes + ADDRESS_GAP).filter(|all| *all <= info.limits.storage_buffer_range);
        let buffer = Self::of_kind(NewBuffer { usage, bytes: with_gap.unwrap_or(bytes), ..new }, kind, info)?;
        // SAFETY: the buffer lives and has the usage; on a device that tells addresses, the allocator has all memory for that, and what
        // is mapped is allocated for it where the buffer has the usage.
        let address = unsafe { address_of.buffer(&logical.raw, buffer.raw()) };
        Ok(Self { address: Some(address), bytes, ..buffer })
    }

    fn unbound(new: NewBuffer<'_>) -> Result<(Owned<vk::Buffer>, vk::MemoryRequirements), Error> {
        let NewBuffer { logical, name, bytes, usage } = new;
        let info = vk::BufferCreateInfo::default().size(bytes).usage(usage).sharing_mode(vk::SharingMode::EXCLUSIVE);
        // SAFETY: the device lives, and the caller asks for at least one byte.
        let raw = unsafe { logical.raw.create_buffer(&info, None) }.on("vkCreateBuffer", || format!("buffer `{name}`"))?;
        let raw = Owned::new(logical, raw, name);
        // SAFETY: the buffer lives.
        let requirements = unsafe { logical.raw.get_buffer_memory_requirements(raw.raw()) };
        Ok((raw, requirements))
    }

    fn bind(new: NewBuffer<'_>, raw: Owned<vk::Buffer>, memory: Memory, allowed: u32) -> Result<Self, Error> {
        let NewBuffer { logical, name, bytes, .. } = new;
        let (object, offset) = memory.place();
        // SAFETY: the memory is unbound, fits the buffer's requirements, and outlives it (fields drop in order).
        let bound = unsafe { logical.raw.bind_buffer_memory(raw.raw(), object, offset) };
        bound.on("vkBindBufferMemory", || format!("buffer `{name}`"))?;
        Ok(Self { raw, memory, allowed, bytes, address: None, name: name.to_owned() })
    }

    /// The type of its memory. The allocator tells its properties alone: it takes the first type that has them.
    pub(super) fn memory_type(&self, info: &DeviceInfo) -> Option<MemoryType> {
        match &self.memory {
            Memory::Mapped { ty, .. } => Some(*ty),
            Memory::Allocated { allocation, .. } => {
                let properties = properties(allocation.as_ref()?.memory_properties());
                let is_it = |ty: &&MemoryType| {
                    (self.allowed >> ty.index) & 1 == 1 && [ty.device_local, ty.host_visible, ty.host_cached] == properties
                };
                info.memory_types.iter().find(is_it).copied()
            }
        }
    }

    /// Lets the host work on the buffer, where it is mapped for that. While nothing runs on the device, and one caller at a time:
    /// both hold for whoever has the device's case, which nobody shares.
    pub(super) fn with_mapped<T>(&self, work: impl FnOnce(&mut [u8]) -> T) -> Option<T> {
        let Memory::Mapped { start, .. } = &self.memory else { return None };
        let length = usize::try_from(self.bytes).ok()?;
        // SAFETY: so many bytes are mapped from there on, as long as `self` lives; every submission was waited for, and the
        // slice doesn't leave `work`.
        Some(work(unsafe { slice::from_raw_parts_mut(start.0.as_ptr(), length) }))
    }

    /// What the host sees of it at this moment, where it is mapped for that, though a device at work, or one that hangs, may still write:
    /// whole words.
    pub(super) fn peek(&self) -> Option<Vec<u8>> {
        let Memory::Mapped { start, .. } = &self.memory else { return None };
        let first: *const u32 = start.0.as_ptr().cast();
        // SAFETY: mappings begin at multiples of 64 bytes or more, and so many bytes are mapped as long as `self` lives. What a device
        // writes meanwhile is no access of this program: a volatile read gives the word before or after it.
        let word = |at| unsafe { first.add(at).read_volatile() };
        let words = 0..usize::try_from(self.bytes / 4).ok()?;
        Some(words.flat_map(|at| word(at).to_ne_bytes()).collect())
    }

    pub(super) fn raw(&self) -> vk::Buffer {
        self.raw.raw()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where it begins for the device, if it was made for kernels that ask.
    pub(super) fn address(&self) -> Option<u64> {
        self.address
    }

    /// The first `bytes` bytes as the host sees them; for staging buffers while nothing runs on the device.
    fn mapped(&mut self, bytes: u64) -> Result<&mut [u8], Error> {
        let slice = match &mut self.memory {
            Memory::Allocated { allocation, .. } => allocation.as_mut().and_then(Allocation::mapped_slice_mut),
            Memory::Mapped { .. } => None,
        };
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

/// A part of a buffer, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chunk {
    offset: u64,
    length: u64,
}

fn chunks(all: u64, most: u64) -> impl Iterator<Item = Chunk> {
    (0..all.div_ceil(most)).map(move |i| Chunk { offset: i * most, length: most.min(all - i * most) })
}

impl Staging {
    pub(super) fn upload(&mut self, queue: &mut Queue, target: &Buffer, contents: &Contents) -> Result<(), Error> {
        if is_undefined(contents) {
            return Ok(());
        }
        let staging = self.up(&queue.logical)?;
        for chunk in chunks(target.bytes(), CHUNK) {
            fill(staging.mapped(chunk.length)?, contents, chunk.offset);
            let copy = vk::BufferCopy { src_offset: 0, dst_offset: chunk.offset, size: chunk.length };
            // Submitting makes the host's writes visible to the device.
            queue.run("an upload", |recorder| {
                recorder.copy(staging, target, copy);
                if matches!(target.memory, Memory::Mapped { .. }) {
                    recorder.host_read_barrier();
                }
            })?;
        }
        Ok(())
    }

    /// Makes a buffer begin with these bytes, and be zero behind them.
    pub(super) fn restart(&mut self, queue: &mut Queue, target: &Buffer, bytes: &[u8]) -> Result<(), Error> {
        queue.run("a fill", |recorder| recorder.fill(target, 0))?;
        let staging = self.up(&queue.logical)?;
        let length = target.bytes().min(bytes.len() as u64);
        for (chunk, bytes) in chunks(length, CHUNK).zip(bytes.chunks(usize::try_from(CHUNK).unwrap_or(usize::MAX))) {
            staging.mapped(bytes.len() as u64)?.copy_from_slice(bytes);
            let copy = vk::BufferCopy { src_offset: 0, dst_offset: chunk.offset, size: chunk.length };
            queue.run("an upload", |recorder| recorder.copy(staging, target, copy))?;
        }
        Ok(())
    }

    /// Fills an image with its contents, part by part, and leaves it in the layout in which kernels use it.
    pub(super) fn upload_image(&mut self, queue: &mut Queue, target: &Image, contents: &Contents) -> Result<(), Error> {
        queue.run("an upload", |recorder| recorder.begin_filling(target))?;
        if !is_undefined(contents) {
            let staging = self.up(&queue.logical)?;
            for part in target.parts(CHUNK) {
                fill(staging.mapped(part.length)?, contents, part.offset);
                queue.run("an upload", |recorder| recorder.copy_part_in(staging, target, part))?;
            }
        }
        queue.run("an upload", |recorder| recorder.end_filling(target)).map(drop)
    }

    fn up(&mut self, logical: &Arc<Logical>) -> Result<&mut Buffer, Error> {
        let (name, usage) = ("staging for uploads", vk::BufferUsageFlags::TRANSFER_SRC);
        or_new(&mut self.up, NewBuffer { logical, name, bytes: CHUNK, usage }, MemoryLocation::CpuToGpu)
    }

    pub(super) fn download(&mut self, queue: &mut Queue, source: &Buffer, range: Range<u64>) -> Result<Vec<u8>, Error> {
        let staging = self.down(&queue.logical)?;
        let length = range.end - range.start;
        let mut bytes = room(length, &format!("to read buffer `{}` back into", source.name))?;
        for chunk in chunks(length, CHUNK) {
            let copy = vk::BufferCopy { src_offset: range.start + chunk.offset, dst_offset: 0, size: chunk.length };
            queue.run("a readback", |recorder| {
                recorder.copy(source, staging, copy);
                recorder.host_read_barrier();
            })?;
            append(&mut bytes, staging.mapped(chunk.length)?);
        }
        Ok(bytes)
    }

    /// Reads an image that kernels write back whole, texels packed.
    pub(super) fn download_image(&mut self, queue: &mut Queue, source: &Image) -> Result<Vec<u8>, Error> {
        let staging = self.down(&queue.logical)?;
        let mut bytes = room(source.bytes(), "to read an image back into")?;
        for part in source.parts(CHUNK) {
            queue.run("a readback", |recorder| {
                recorder.copy_part_out(source, staging, part);
                recorder.host_read_barrier();
            })?;
            append(&mut bytes, staging.mapped(part.length)?);
        }
        Ok(bytes)
    }

    fn down(&mut self, logical: &Arc<Logical>) -> Result<&mut Buffer, Error> {
        let (name, usage) = ("staging for readback", vk::BufferUsageFlags::TRANSFER_DST);
        or_new(&mut self.down, NewBuffer { logical, name, bytes: CHUNK, usage }, MemoryLocation::GpuToCpu)
    }
}

fn or_new<'s>(staging: &'s mut Option<Buffer>, new: NewBuffer<'_>, at: MemoryLocation) -> Result<&'s mut Buffer, Error> {
    match staging {
        Some(staging) => Ok(staging),
        empty => Ok(empty.insert(Buffer::new(new, at)?)),
    }
}

/// Room of the host's.
pub(super) fn room(length: u64, purpose: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let room = bytes.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX));
    room.map_err(|_| Error::new(Status::OutOfMemory, format!("the host has no {length} bytes {purpose}")))?;
    Ok(bytes)
}

/// Appends bytes with all processors: a single one spends more time on a new vector's pages than the bus on the bytes.
fn append(bytes: &mut Vec<u8>, more: &[u8]) {
    const PART: usize = 1 << 20;
    bytes.reserve(more.len());
    let length = bytes.len();
    let room = &mut bytes.spare_capacity_mut()[..more.len()];
    room.par_chunks_mut(PART).zip(more.par_chunks(PART)).for_each(|(to, from)| {
        // SAFETY: both are of the same length, being parts of slices of one length, and apart, one being borrowed mutably.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr().cast(), from.len()) };
    });
    // SAFETY: there is room for so many, and each was just written.
    unsafe { bytes.set_len(length + more.len()) };
}

/// Writes a part of what a resource holds, from the byte `offset` on; zeros where that has no more bytes.
pub(super) fn fill(target: &mut [u8], contents: &Contents, offset: u64) {
    match contents {
        Contents::Undefined => {}
        Contents::Sequence(sequence) => {
            let byte = |at: u64| sequence.word(at / 4).to_ne_bytes()[usize::try_from(at % 4).unwrap_or(0)];
            let single = |bytes: &mut [u8], first: u64| bytes.iter_mut().zip(first..).for_each(|(to, at)| *to = byte(at));
            // Rows of images may begin and end within words.
            let head = usize::try_from(offset.next_multiple_of(4) - offset).unwrap_or(0).min(target.len());
            let (before, rest) = target.split_at_mut(head);
            single(before, offset);
            let (words, after) = rest.split_at_mut(rest.len() / 4 * 4);
            let first = offset.div_ceil(4);
            single(after, 4 * first + words.len() as u64);
            let words = words.par_chunks_exact_mut(4).enumerate();
            words.for_each(|(index, word)| word.copy_from_slice(&sequence.word(first + index as u64).to_ne_bytes()));
        }
        Contents::Data(data) => {
            let rest = usize::try_from(offset).ok().and_then(|offset| data.bytes().get(offset..)).unwrap_or_default();
            let (held, beyond) = target.split_at_mut(rest.len().min(target.len()));
            held.copy_from_slice(&rest[..held.len()]);
            beyond.fill(0);
        }
    }
}

/// What of a type's properties matters to where buffers go: whether it is local to the device, whether the host can map it
/// without having to flush anything, and whether the host's caches hold it.
pub(super) fn properties(flags: vk::MemoryPropertyFlags) -> [bool; 3] {
    use vk::MemoryPropertyFlags as Flags;
    [Flags::DEVICE_LOCAL, Flags::HOST_VISIBLE | Flags::HOST_COHERENT, Flags::HOST_CACHED].map(|flag| flags.contains(flag))
}

/// Says in which memory types the buffers of a case are: `source, target: type 1 of heap 0 (device_local)`.
pub(super) fn placements<'a>(
    resources: impl Iterator<Item = (&'a model::Resource, &'a Arc<Resource>)>,
    info: &DeviceInfo,
) -> String {
    let mut told: Vec<(MemoryType, Vec<&str>)> = Vec::new();
    for (model, ty) in resources.filter_map(|(model, loaded)| Some((model, loaded.buffer()?.memory_type(info)?))) {
        match told.iter_mut().find(|(known, _)| *known == ty) {
            Some((_, names)) => names.push(&model.name),
            None => told.push((ty, vec![&model.name])),
        }
    }
    told.iter().map(|(ty, names)| format!("{}: {ty}", names.join(", "))).collect::<Vec<_>>().join("; ")
}

/// What a block of cases may take, beside `loaded` bytes of the device's that earlier ones took, which count as free. Three
/// quarters of what the driver's budget leaves, or half the heap where it states none: the rest is for staging, for pipelines and
/// for other programs. Of the host's memory half of what the device may see of it.
pub(super) fn budget(logical: &Logical, info: &DeviceInfo, loaded: u64) -> Footprint {
    let device = match free_bytes(logical, info) {
        Some(free) => free.saturating_add(loaded) / 4 * 3,
        None => info.local_heap_bytes() / 2,
    };
    Footprint { device, host: info.host_heap().map_or(0, |heap| info.heap_bytes(heap)) / 2 }
}

/// What the budget of the largest heap of the device's own leaves now; `None` where the driver states none.
pub(super) fn free_bytes(logical: &Logical, info: &DeviceInfo) -> Option<u64> {
    let budgets = logical.has_budget.then(|| budgets(&logical.instance.raw, logical.physical))?;
    let (_, budget) = info.heaps.iter().zip(budgets).max_by_key(|(heap, _)| heap.rank())?;
    budget.map(|budget| budget.free)
}

/// The budget of each heap, on a device of Vulkan 1.1 that has `VK_EXT_memory_budget`.
pub(super) fn budgets(instance: &ash::Instance, physical: vk::PhysicalDevice) -> Vec<Option<Budget>> {
    let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
    let mut memory = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
    // SAFETY: the device belongs to this instance, is of Vulkan 1.1 and has the extension.
    unsafe { instance.get_physical_device_memory_properties2(physical, &mut memory) };
    let memory = memory.memory_properties;
    let told = budget.heap_budget.iter().zip(&budget.heap_usage);
    let budget = |(heap, (limit, usage)): (&vk::MemoryHeap, (&u64, &u64))| {
        // Some drivers state a budget of zero, or one beyond the heap.
        let bytes = Some(*limit).filter(|limit| *limit > 0)?.min(heap.size);
        Some(Budget { bytes, free: bytes.saturating_sub(*usage) })
    };
    memory.memory_heaps_as_slice().iter().zip(told).map(budget).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_a_buffer_without_gap() {
        let parts: Vec<Chunk> = chunks(2 * CHUNK + 12, CHUNK).collect();
        assert_eq!(parts.iter().map(|chunk| chunk.length).sum::<u64>(), 2 * CHUNK + 12);
        assert!(parts.windows(2).all(|pair| pair[0].offset + pair[0].length == pair[1].offset));
        assert_eq!(parts.last(), Some(&Chunk { offset: 2 * CHUNK, length: 12 }));
        assert_eq!(chunks(CHUNK, CHUNK).count(), 1);
    }

    #[test]
    fn what_is_appended_follows_what_was_there() {
        let more: Vec<u8> = (0..3_u32 << 20).flat_map(u32::to_le_bytes).skip(1).collect();
        let mut bytes = vec![1, 2];
        append(&mut bytes, &more);
        assert_eq!((&bytes[..2], &bytes[2..]), (&[1, 2][..], &more[..]));
    }

    #[test]
    fn a_chunk_goes_on_where_the_last_ended() {
        let sequence = model::Sequence::Words { seed: 5 };
        let mut bytes = [0; 8];
        fill(&mut bytes, &Contents::Sequence(sequence), 12);
        assert_eq!(bytes[..4], sequence.word(3).to_ne_bytes());
        assert_eq!(bytes[4..], sequence.word(4).to_ne_bytes());
        let whole: Vec<u8> = (0..8).flat_map(|i| sequence.word(i).to_ne_bytes()).collect();
        for (from, to) in [(1, 2), (3, 9), (6, 7), (5, 16), (8, 19), (7, 8)] {
            let mut bytes = vec![0; to - from];
            fill(&mut bytes, &Contents::Sequence(sequence), from as u64);
            assert_eq!(bytes, whole[from..to], "{from} to {to}");
        }
    }
}
