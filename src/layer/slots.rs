//! Memory that the host sees, for what the device writes: cut into slots, which come back once the device is through with them.

use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk;

/// Bytes of a chunk; a slot that needs more gets one of its own.
const CHUNK: u64 = 1 << 20;

/// Memory of a device, mapped for as long as that lives.
pub(crate) struct Chunk {
    pub(crate) buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    bytes: u64,
    mapped: *mut u64,
    /// Where the next slot begins, and how many slots are out.
    next: u64,
    out: u32,
}

// SAFETY: mapped memory is one process's, and may be reached from any of its threads.
unsafe impl Send for Chunk {}
// SAFETY: the same; who reads its bytes knows that the device is through with them.
unsafe impl Sync for Chunk {}

/// A piece of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) buffer: vk::Buffer,
    pub(crate) offset: u64,
    pub(crate) words: usize,
    at: *const u64,
    chunk: usize,
}

// SAFETY: as for chunks, which are kept as long as the device.
unsafe impl Send for Slot {}
// SAFETY: the same; its words are read as atomic ones.
unsafe impl Sync for Slot {}

#[derive(Default)]
pub(crate) struct Slots {
    chunks: Vec<Chunk>,
}

impl Slots {
    /// A slot of so many 64-bit words, all zero; nothing where there is no more memory.
    ///
    /// # Safety
    /// The device lives, and its memory is of these types.
    pub(crate) unsafe fn take(
        &mut self,
        device: &ash::Device,
        memory: &vk::PhysicalDeviceMemoryProperties,
        words: usize,
    ) -> Option<Slot> {
        let bytes = (words as u64) * 8;
        let has_room = |chunk: &Chunk| chunk.bytes - chunk.next >= bytes;
        let at = match self.chunks.iter().position(has_room) {
            Some(at) => at,
            None => {
                // SAFETY: the caller's promise.
                self.chunks.push(unsafe { Chunk::new(device, memory, bytes.max(CHUNK)) }?);
                self.chunks.len() - 1
            }
        };
        let chunk = &mut self.chunks[at];
        let offset = chunk.next;
        chunk.next += bytes;
        chunk.out += 1;
        // SAFETY: the slot lies within the chunk, which is mapped whole; nobody else has these bytes.
        let first = unsafe { chunk.mapped.byte_add(usize::try_from(offset).ok()?) };
        // SAFETY: the same.
        unsafe { first.write_bytes(0, words) };
        Some(Slot { buffer: chunk.buffer, offset, words, at: first, chunk: at })
    }

    /// Takes a slot back that the device is through with.
    pub(crate) fn give_back(&mut self, slot: Slot) {
        let Some(chunk) = self.chunks.get_mut(slot.chunk) else { return };
        chunk.out = chunk.out.saturating_sub(1);
        if chunk.out == 0 {
            chunk.next = 0;
        }
    }

    /// # Safety
    /// The device is idle, or lost.
    pub(crate) unsafe fn destroy(&mut self, device: &ash::Device) {
        for chunk in self.chunks.drain(..) {
            // SAFETY: the caller's promise.
            unsafe { chunk.destroy(device) };
        }
    }
}

impl Chunk {
    /// # Safety
    /// As [`Slots::take`].
    pub(crate) unsafe fn new(device: &ash::Device, memory: &vk::PhysicalDeviceMemoryProperties, bytes: u64) -> Option<Self> {
        let info = vk::BufferCreateInfo::default()
            .size(bytes)
            .usage(vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST);
        // SAFETY: the caller's promise; what was made goes again where the next step fails.
        unsafe {
            let buffer = device.create_buffer(&info, None).ok()?;
            let needed = device.get_buffer_memory_requirements(buffer);
            let found = memory_type(memory, needed.memory_type_bits).and_then(|memory_type| {
                let info = vk::MemoryAllocateInfo::default().allocation_size(needed.size).memory_type_index(memory_type);
                let memory = device.allocate_memory(&info, None).ok()?;
                let mapped = device
                    .bind_buffer_memory(buffer, memory, 0)
                    .and_then(|()| device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()));
                if mapped.is_err() {
                    device.free_memory(memory, None);
                }
                Some((memory, mapped.ok()?))
            });
            let Some((memory, mapped)) = found else {
                device.destroy_buffer(buffer, None);
                return None;
            };
            Some(Self { buffer, memory, bytes, mapped: mapped.cast(), next: 0, out: 0 })
        }
    }

    /// So many bytes from one on, which the device is through with.
    pub(crate) fn bytes_at(&self, at: u64, bytes: u64) -> Option<&[u8]> {
        let end = at.checked_add(bytes).filter(|end| *end <= self.bytes)?;
        let (at, bytes) = (usize::try_from(at).ok()?, usize::try_from(end - at).ok()?);
        // SAFETY: they lie within the chunk, which is mapped whole.
        Some(unsafe { slice::from_raw_parts(self.mapped.cast::<u8>().add(at), bytes) })
    }

    /// # Safety
    /// The device is through with it, and nobody else has its slots.
    pub(crate) unsafe fn destroy(&self, device: &ash::Device) {
        // SAFETY: the caller's promise; nobody has these objects but this.
        unsafe {
            device.destroy_buffer(self.buffer, None);
            device.free_memory(self.memory, None);
        }
    }
}

/// Memory that the host reads without more ado, best through its caches.
fn memory_type(memory: &vk::PhysicalDeviceMemoryProperties, allowed: u32) -> Option<u32> {
    use vk::MemoryPropertyFlags as Flags;
    let coherent = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
    let of = |wanted: Flags| {
        (0..memory.memory_type_count)
            .find(|at| allowed >> at & 1 == 1 && memory.memory_types[*at as usize].property_flags.contains(wanted))
    };
    of(coherent | Flags::HOST_CACHED).or_else(|| of(coherent))
}

impl Slot {
    /// A word, as it is now: the device may yet write it.
    pub(crate) fn word(&self, at: usize) -> Option<u64> {
        // SAFETY: the word lies within the slot, whose memory is kept; the device writes whole words.
        (at < self.words).then(|| unsafe { AtomicU64::from_ptr(self.at.add(at).cast_mut()).load(Ordering::Acquire) })
    }
}
