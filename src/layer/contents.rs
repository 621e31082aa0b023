//! What the buffers of chosen kernels hold before a dispatch and after it. The device copies it within the same command buffer, so that it
//! is what the kernel found, whoever wrote it when. The host reads the copies once no execution of the command buffer is pending, and
//! writes them to files.
//!
//! `LANESCOPE_CAPTURE_KERNELS` names the file that says which kernels: lines of fields that tabs separate.
//!
//! | line | fields |
//! |---|---|
//! | `most` | bytes that all copies may have |
//! | `kernel` | as in the log: module, entry point, constants, required subgroup size; groups in x, y and z (`?` where the device reads them); which of such dispatches, by the order in which they are recorded, from 0 |
//! | `binding` | of that kernel: set, binding, how many descriptors, `r`, `w` or `rw`, the most bytes that it can reach (empty where nobody knows) |
//! | `addresses` | of that kernel: bytes of the push constants at which addresses may stand, separated by commas; `all` where others may stand in memory; `w` where it may write there |
//!
//! What is copied is described in a file of its own, `contents-PROCESS-NUMBER.txt`, beside the files with the bytes.
//!
//! | line | fields |
//! |---|---|
//! | `kernel` | its number in the order, groups in x, y and z, base groups in x, y and z, push constants in hex, then with commas between them `compute` where the queue does no graphics, `robust` where the device keeps accesses within buffers |
//! | `bound` | set, binding, element, type of descriptor by its number, then region, first byte in it and bytes; or why nothing was copied |
//! | `address` | of a buffer: where it begins for the device, in hex, its bytes, then as for `bound` |
//! | `region` | its number, bytes, whether it was copied before (0 or 1), and after (also what the kernel doesn't write, where the host might have), where it lies: `device`, `host` (not in the device's own memory) or `cached` (the same, through the host's caches) |
//! | `end` | |

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};
use std::{env, io, process};

use ash::vk;
use ash::vk::Handle;

use super::device::{Device, locked};
use super::log::{ORDER, hex};
use super::pins::Pinned;
use super::recording::barrier;
use super::sets::{Bound, Buffer, Descriptor, is_buffer};
use super::slots::Chunk;

/// Names the file that says whose contents are copied.
pub const KERNELS: &str = "LANESCOPE_CAPTURE_KERNELS";

/// What is asked for.
pub(crate) struct Wanted {
    most: u64,
    pub(crate) kernels: Vec<WantedKernel>,
}

pub(crate) struct WantedKernel {
    /// What tells the kernel apart, as in the log.
    pub(crate) fields: String,
    pub(crate) groups: Option<[u32; 3]>,
    pub(crate) call: u64,
    bindings: Vec<WantedBinding>,
    addresses: Option<WantedAddresses>,
}

/// Buffers that a kernel may reach by their addresses.
struct WantedAddresses {
    /// Bytes of the push constants.
    pushed: Vec<usize>,
    /// Whether memory may have others.
    are_in_memory: bool,
    is_written: bool,
}

impl WantedAddresses {
    fn read([pushed, others, access]: [&str; 3]) -> Option<Self> {
        let pushed = pushed.split(',').filter(|at| !at.is_empty()).map(|at| at.parse().ok()).collect::<Option<_>>()?;
        Some(Self { pushed, are_in_memory: others == "all", is_written: access == "w" })
    }

    /// Whether one of the pushed addresses leads into a buffer that begins here.
    fn reaches(&self, push: &[u8], start: u64, bytes: u64) -> bool {
        let address = |at: &usize| Some(u64::from_le_bytes(push.get(*at..*at + 8)?.try_into().ok()?));
        let is_within = |address: u64| (start..start.saturating_add(bytes)).contains(&address);
        self.pushed.iter().filter_map(address).any(is_within)
    }
}

struct WantedBinding {
    place: (u32, u32),
    count: u32,
    is_written: bool,
    reach: Option<u64>,
}

/// Nothing where no contents are asked for.
pub(crate) static WANTED: LazyLock<Option<Wanted>> = LazyLock::new(|| {
    let path = env::var_os(KERNELS).filter(|path| !path.is_empty())?;
    let text = fs::read_to_string(path).ok()?;
    Wanted::read(&text)
});

impl Wanted {
    fn read(text: &str) -> Option<Self> {
        let mut new = Self { most: 0, kernels: Vec::new() };
        for line in text.lines() {
            match line.split('\t').collect::<Vec<_>>()[..] {
                ["most", bytes] => new.most = bytes.parse().ok()?,
                ["kernel", module, entry, constants, size, x, y, z, call] => {
                    let groups = [x.parse().ok(), y.parse().ok(), z.parse().ok()];
                    let groups = groups.iter().all(Option::is_some).then(|| groups.map(Option::unwrap_or_default));
                    let fields = [module, entry, constants, size].join("\t");
                    let (call, bindings, addresses) = (call.parse().ok()?, Vec::new(), None);
                    new.kernels.push(WantedKernel { fields, groups, call, bindings, addresses });
                }
                ["addresses", pushed, others, access] => {
                    new.kernels.last_mut()?.addresses = Some(WantedAddresses::read([pushed, others, access])?);
                }
                ["binding", set, binding, count, access, reach] => {
                    let (place, count) = ((set.parse().ok()?, binding.parse().ok()?), count.parse().ok()?);
                    let own = WantedBinding { place, count, is_written: access.contains('w'), reach: reach.parse().ok() };
                    new.kernels.last_mut()?.bindings.push(own);
                }
                _ => return None,
            }
        }
        Some(new)
    }
}

/// What a command buffer has bound when a dispatch is recorded.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// By set: what is bound, and whether that may change once the buffer was recorded.
    pub(crate) sets: BTreeMap<u32, (Bound, bool)>,
    pub(crate) push: Vec<u8>,
}

impl State {
    pub(crate) fn push(&mut self, offset: u32, bytes: &[u8]) {
        let (start, end) = (offset as usize, offset as usize + bytes.len());
        if self.push.len() < end {
            self.push.resize(end, 0);
        }
        self.push[start..end].copy_from_slice(bytes);
    }
}

/// A dispatch whose buffers are copied.
pub(crate) struct Call<'c> {
    pub(crate) wanted: usize,
    pub(crate) groups: Option<[u32; 3]>,
    pub(crate) base: [u32; 3],
    /// Where the device reads the groups.
    pub(crate) indirect: Option<(vk::Buffer, u64)>,
    pub(crate) is_compute: bool,
    pub(crate) state: &'c State,
}

/// Bytes of one buffer, and where they are in what overlaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    buffer: vk::Buffer,
    from: u64,
    at: u64,
    bytes: u64,
}

/// What overlaps.
#[derive(Debug, Default, PartialEq, Eq)]
struct Region {
    bytes: u64,
    pieces: Vec<Piece>,
    is_written: bool,
    /// Whether the kernel is known to be given it.
    is_given: bool,
    place: MemoryPlace,
    /// Where its copies are, from before and from after.
    copies: [Option<u64>; 2],
}

/// Where memory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MemoryPlace {
    #[default]
    Device,
    /// The device's own, which the host sees as well.
    Mapped,
    Host,
    Cached,
}

impl MemoryPlace {
    pub(crate) fn of(flags: vk::MemoryPropertyFlags) -> Self {
        use vk::MemoryPropertyFlags as Flags;
        if flags.contains(Flags::DEVICE_LOCAL | Flags::HOST_VISIBLE) {
            Self::Mapped
        } else if flags.is_empty() || flags.contains(Flags::DEVICE_LOCAL) {
            Self::Device
        } else if flags.contains(Flags::HOST_CACHED) {
            Self::Cached
        } else {
            Self::Host
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Device | Self::Mapped => "device",
            Self::Host => "host",
            Self::Cached => "cached",
        }
    }
}

/// A range of a buffer that is bound: what it lies in, from where on, and what it is of.
#[derive(Clone, Copy, Debug)]
struct Placed {
    /// Memory, or the buffer itself where its memory isn't known.
    home: (bool, u64),
    start: u64,
    piece: Piece,
    is_written: bool,
    is_given: bool,
    place: MemoryPlace,
}

impl Placed {
    fn of(descriptor: &Descriptor, buffer: &Buffer, bytes: u64, is_written: bool, is_given: bool) -> Self {
        let piece = Piece { buffer: descriptor.buffer, from: descriptor.offset, at: 0, bytes };
        let place = buffer.place;
        match buffer.memory {
            Some((memory, offset)) => {
                Self { home: (true, memory.as_raw()), start: offset + descriptor.offset, piece, is_written, is_given, place }
            }
            None => {
                Self { home: (false, descriptor.buffer.as_raw()), start: descriptor.offset, piece, is_written, is_given, place }
            }
        }
    }
}

/// The regions of ranges, and for each range its region and where it begins there.
fn regions(ranges: &[Placed]) -> (Vec<Region>, Vec<(usize, u64)>) {
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_by_key(|at| (ranges[*at].home, ranges[*at].start));
    let mut all: Vec<Region> = Vec::new();
    let mut places = vec![(0, 0); ranges.len()];
    // What the last region lies in, and where that begins.
    let mut last: Option<((bool, u64), u64)> = None;
    for at in order {
        let Placed { home, start, piece, is_written, is_given, place } = ranges[at];
        let meets = all.last().zip(last).is_some_and(|(region, (of, begin))| of == home && start < begin + region.bytes);
        if !meets {
            all.push(Region { place, ..Region::default() });
            last = Some((home, start));
        }
        let (Some(region), Some((_, begin))) = (all.last_mut(), last) else { continue };
        let offset = start - begin;
        region.bytes = region.bytes.max(offset + piece.bytes);
        region.is_written |= is_written;
        region.is_given |= is_given;
        region.pieces.push(Piece { at: offset, ..piece });
        places[at] = (all.len() - 1, offset);
    }
    (all, places)
}

/// Copies of what a dispatch found and left.
pub(crate) struct Snapshot {
    wanted: usize,
    groups: Option<[u32; 3]>,
    base: [u32; 3],
    push: Vec<u8>,
    /// Lines about descriptors.
    bound: String,
    regions: Vec<Region>,
    /// Where the groups are that the device read.
    counts: Option<u64>,
    is_compute: bool,
    is_robust: bool,
    pinned: Vec<Pinned>,
    bytes: u64,
    /// Whoever writes it to files holds the lock, and so does whoever is about to have the device write it once more. Nothing is here
    /// once it was freed.
    staging: Mutex<Option<Staging>>,
}

struct Staging {
    chunk: Chunk,
    is_written: bool,
}

impl Snapshot {
    /// Records a dispatch by `record`, with copies before and behind it. Nothing where there is no memory for copies.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a render pass.
    pub(crate) unsafe fn record(
        device: &Device,
        buffer: vk::CommandBuffer,
        call: &Call<'_>,
        record: &impl Fn(),
    ) -> Option<Self> {
        let wanted = WANTED.as_ref()?;
        let (bound, mut regions, pinned) = described(device, wanted.kernels.get(call.wanted)?, call.state);
        let mut bytes = placed(&mut regions, device.contents_left(wanted.most));
        let may_copy = |(from, _): &(vk::Buffer, u64)| {
            device.sets().buffers.get(from).is_some_and(|of| of.usage.contains(vk::BufferUsageFlags::TRANSFER_SRC))
        };
        let counts = call.indirect.filter(may_copy).map(|_| {
            bytes += 16;
            bytes - 16
        });
        // SAFETY: the caller's promise.
        let Some(staging) = (unsafe { device.chunk(bytes.max(16)) }) else {
            device.log.not_followed("kernels whose copies found no memory");
            // SAFETY: nothing was recorded that reads them.
            unsafe { device.unpin(&pinned) };
            return None;
        };
        device.take_contents(bytes);
        let (all, transfer) = (vk::PipelineStageFlags::ALL_COMMANDS, vk::PipelineStageFlags::TRANSFER);
        // SAFETY: the same; each region lies within its buffers, which may be copied from, and the staging has room for all copies.
        unsafe {
            barrier(device, buffer, all, transfer);
            regions.iter().for_each(|region| region.copy(device, buffer, &staging, 0));
            if let Some(((from, src_offset), dst_offset)) = call.indirect.zip(counts) {
                let region = vk::BufferCopy { src_offset, dst_offset, size: 12 };
                device.below.cmd_copy_buffer(buffer, from, staging.buffer, &[region]);
            }
            barrier(device, buffer, transfer, all);
            record();
            barrier(device, buffer, all, transfer);
            regions.iter().for_each(|region| region.copy(device, buffer, &staging, 1));
            barrier(device, buffer, transfer, all | vk::PipelineStageFlags::HOST);
        }
        let Call { wanted, groups, base, state, is_compute, .. } = *call;
        let push = state.push.clone();
        let staging = Mutex::new(Some(Staging { chunk: staging, is_written: false }));
        let is_robust = device.is_robust;
        Some(Self { wanted, groups, base, push, bound, regions, counts, is_compute, is_robust, pinned, bytes, staging })
    }

    /// Writes all to files, once, if the device is through with it.
    pub(crate) fn write(&self, is_through: impl Fn() -> bool) {
        let mut staging = locked(&self.staging);
        let (Some(staging), Some(order)) = (staging.as_mut(), ORDER.as_ref()) else { return };
        if !staging.is_written && is_through() {
            staging.is_written = true;
            // Where the disk is full there is no end in the description.
            let _ = self.write_to(&order.folder, &staging.chunk);
        }
    }

    /// Waits for whoever writes it to files.
    pub(crate) fn settle(&self) {
        drop(locked(&self.staging));
    }

    fn write_to(&self, folder: &Path, staging: &Chunk) -> io::Result<()> {
        let (mut description, head) = described_in(folder)?;
        let groups = self.groups.or_else(|| {
            let counts = staging.bytes_at(self.counts?, 12)?;
            let word = |at: usize| Some(u32::from_le_bytes(counts.get(at..at + 4)?.try_into().ok()?));
            Some([word(0)?, word(4)?, word(8)?])
        });
        let three = |of: [u32; 3]| of.map(|count| count.to_string()).join("\t");
        let groups = groups.map_or_else(|| "?\t?\t?".to_owned(), three);
        let kinds = [(self.is_compute, "compute"), (self.is_robust, "robust")];
        let kinds: Vec<&str> = kinds.into_iter().filter_map(|(is_it, name)| is_it.then_some(name)).collect();
        let (base, push, kinds) = (three(self.base), hex(&self.push), kinds.join(","));
        let mut text = format!("kernel\t{}\t{groups}\t{base}\t{push}\t{kinds}\n", self.wanted);
        text += &self.bound;
        for (number, region) in self.regions.iter().enumerate() {
            for (copy, when) in region.copies.iter().zip(["before", "after"]) {
                if let Some(bytes) = copy.and_then(|at| staging.bytes_at(at, region.bytes)) {
                    fs::write(format!("{}-{number}.{when}", head.display()), bytes)?;
                }
            }
            let [before, after] = region.copies.map(|copy| u8::from(copy.is_some()));
            // Writing to a string can't fail.
            let place = region.place.as_str();
            let _ = writeln!(text, "region\t{number}\t{}\t{before}\t{after}\t{place}", region.bytes);
        }
        io::Write::write_all(&mut description, format!("{text}end\n").as_bytes())
    }

    /// Frees the copies.
    ///
    /// # Safety
    /// The device is through with them, and the command buffer isn't submitted again.
    pub(crate) unsafe fn destroy(&self, device: &Device) {
        if let Some(staging) = locked(&self.staging).take() {
            device.return_contents(self.bytes);
            // SAFETY: the caller's promise.
            unsafe {
                staging.chunk.destroy(&device.below);
                device.unpin(&self.pinned);
            }
        }
    }
}

/// A new description, and how the files beside it begin.
fn described_in(folder: &Path) -> io::Result<(fs::File, PathBuf)> {
    for number in 0.. {
        let head = folder.join(format!("contents-{}-{number}", process::id()));
        match OpenOptions::new().append(true).create_new(true).open(head.with_extension("txt")) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return Ok((opened?, head)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Lines about what is bound where a kernel looks, the regions of that, and buffers that must stay.
fn described(device: &Device, wanted: &WantedKernel, state: &State) -> (String, Vec<Region>, Vec<Pinned>) {
    let known = device.sets();
    let (mut ranges, mut places, mut pinned) = (Vec::new(), Vec::new(), Vec::new());
    let mut lines = String::new();
    for WantedBinding { place: (set, binding), count, is_written, reach } in &wanted.bindings {
        let Some((bound, is_updated_after_bind)) = state.sets.get(set) else { continue };
        for ((_, element), descriptor) in bound.range((*binding, 0)..(*binding, *count)) {
            let head = format!("bound\t{set}\t{binding}\t{element}\t{}", descriptor.ty.as_raw());
            let buffer = known.buffers.get(&descriptor.buffer);
            let bytes = descriptor.bytes.min(reach.unwrap_or(u64::MAX));
            let buffer = match source(descriptor, buffer, bytes) {
                _ if *is_updated_after_bind => Err("it may change after it is bound"),
                found => found,
            };
            let buffer = match buffer {
                Ok(buffer) => buffer,
                Err(why) => {
                    let _ = writeln!(lines, "{head}\t{why}");
                    continue;
                }
            };
            ranges.push(Placed::of(descriptor, buffer, bytes, *is_written, true));
            places.push((head, bytes));
        }
    }
    let start = |(_, buffer): &(vk::Buffer, &Buffer)| buffer.address;
    let mut addressed: Vec<(vk::Buffer, &Buffer)> = known.buffers.iter().map(|(raw, buffer)| (*raw, buffer)).collect();
    addressed.sort_by_key(start);
    for (raw, buffer) in addressed {
        let (Some(start), Some(wanted)) = (buffer.address, &wanted.addresses) else { continue };
        let head = format!("address\t{start:x}\t{}", buffer.bytes);
        let is_given = wanted.reaches(&state.push, start, buffer.bytes);
        let ty = vk::DescriptorType::STORAGE_BUFFER;
        let whole = Descriptor { ty, buffer: raw, serial: buffer.serial, offset: 0, bytes: buffer.bytes };
        let memory = buffer.memory.filter(|(memory, _)| known.memories.contains_key(memory));
        let found = match (source(&whole, Some(buffer), buffer.bytes), memory) {
            _ if !is_given && !wanted.are_in_memory => Err("no address that it is given leads there"),
            (Err(why), _) => Err(why),
            (Ok(_), None) => Err("not all of its memory is there"),
            (Ok(buffer), Some((memory, _))) => Ok((buffer, memory)),
        };
        match found {
            Ok((buffer, memory)) => {
                device.pins().add((raw, memory));
                pinned.push((raw, memory));
                ranges.push(Placed::of(&whole, buffer, buffer.bytes, wanted.is_written, is_given));
                places.push((head, buffer.bytes));
            }
            Err(why) => drop(writeln!(lines, "{head}\t{why}")),
        }
    }
    let (regions, found) = regions(&ranges);
    for ((head, bytes), (region, offset)) in places.iter().zip(found) {
        let _ = writeln!(lines, "{head}\t{region}\t{offset}\t{bytes}");
    }
    (lines, regions, pinned)
}

/// The buffer that so many bytes of a descriptor are copied from, or why they aren't.
fn source<'b>(descriptor: &Descriptor, buffer: Option<&'b Buffer>, bytes: u64) -> Result<&'b Buffer, &'static str> {
    if !is_buffer(descriptor.ty) {
        return Err("it is no buffer");
    }
    if descriptor.buffer.is_null() || bytes == 0 {
        return Err("nothing is bound");
    }
    // A handle may be used again once its buffer is gone.
    let buffer = buffer.filter(|buffer| buffer.serial == descriptor.serial).ok_or("its buffer is gone")?;
    let end = descriptor.offset.checked_add(bytes);
    if end.is_none_or(|end| end > buffer.bytes) {
        return Err("it ends behind its buffer");
    }
    if buffer.memory.is_none() && !buffer.is_sparse {
        return Err("its buffer has no memory");
    }
    let may_copy = buffer.usage.contains(vk::BufferUsageFlags::TRANSFER_SRC);
    may_copy.then_some(buffer).ok_or("its buffer may not be copied from")
}

/// What isn't written is copied after a dispatch as well up to so many bytes.
const MOST_WATCHED: u64 = 64 << 20;

/// Places the copies one after the other, and gives their bytes in all. What doesn't fit isn't copied: first what the kernel may have
/// nothing to do with, and the largest.
fn placed(regions: &mut [Region], most: u64) -> u64 {
    let needed = |region: &Region| region.bytes.next_multiple_of(16) * (1 + u64::from(region.is_written));
    let mut order: Vec<usize> = (0..regions.len()).collect();
    order.sort_by_key(|at| (!regions[*at].is_given, needed(&regions[*at])));
    let mut next = 0;
    for at in order {
        let region = &mut regions[at];
        if next + needed(region) > most {
            continue;
        }
        let bytes = region.bytes.next_multiple_of(16);
        region.copies = [Some(next), region.is_written.then_some(next + bytes)];
        next += needed(region);
    }
    // What the host may change while the kernel runs, where that isn't much.
    let mut watched = MOST_WATCHED.min(most - next);
    for region in regions.iter_mut().filter(|region| !region.is_written && region.place != MemoryPlace::Device) {
        let bytes = region.bytes.next_multiple_of(16);
        if region.copies[0].is_some() && bytes <= watched {
            region.copies[1] = Some(next);
            (next, watched) = (next + bytes, watched - bytes);
        }
    }
    next
}

impl Region {
    /// # Safety
    /// As [`Snapshot::record`].
    unsafe fn copy(&self, device: &Device, buffer: vk::CommandBuffer, staging: &Chunk, which: usize) {
        let Some(to) = self.copies[which] else { return };
        for Piece { buffer: from, from: src_offset, at, bytes } in &self.pieces {
            let region = vk::BufferCopy { src_offset: *src_offset, dst_offset: to + at, size: *bytes };
            // SAFETY: the caller's promise.
            unsafe { device.below.cmd_copy_buffer(buffer, *from, staging.buffer, &[region]) };
        }
    }
}

// ---- buffers that may be copied from ---------------------------------------------------------------------------------------

/// The same buffer, which may be copied from; one that other parties know as it is stays so.
///
/// # Safety
/// The structure is one that vkCreateBuffer takes.
pub(crate) unsafe fn copied<'b>(info: &vk::BufferCreateInfo<'b>) -> vk::BufferCreateInfo<'b> {
    use vk::BufferCreateFlags as Flags;
    let kept = Flags::SPARSE_BINDING | Flags::DEVICE_ADDRESS_CAPTURE_REPLAY | Flags::PROTECTED;
    // Usage flags in the chain count in the place of these, and others may know external memory by its usage.
    let is_plain = WANTED.is_some() && info.p_next.is_null() && !info.flags.intersects(kept);
    let more = if is_plain { vk::BufferUsageFlags::TRANSFER_SRC } else { vk::BufferUsageFlags::empty() };
    vk::BufferCreateInfo { usage: info.usage | more, ..*info }
}

/// What was copied so far, of what may be.
#[derive(Debug, Default)]
pub(crate) struct Budget(AtomicU64);

impl Budget {
    pub(crate) fn left(&self, most: u64) -> u64 {
        most.saturating_sub(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn take(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn give_back(&self, bytes: u64) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed_at(home: u64, start: u64, bytes: u64, is_written: bool) -> Placed {
        let piece = Piece { buffer: vk::Buffer::from_raw(home), from: start, at: 0, bytes };
        Placed { home: (true, home), start, piece, is_written, is_given: true, place: MemoryPlace::Device }
    }

    #[test]
    fn what_overlaps_is_one_region() {
        let ranges = [
            placed_at(1, 1024, 512, false),
            placed_at(2, 0, 64, true),
            placed_at(1, 0, 1024, false),
            placed_at(1, 1280, 512, true),
        ];
        let (all, places) = regions(&ranges);
        assert_eq!(
            all.iter().map(|region| (region.bytes, region.is_written)).collect::<Vec<_>>(),
            [(1024, false), (768, true), (64, true)]
        );
        assert_eq!(places, [(1, 0), (2, 0), (0, 0), (1, 256)]);
        assert_eq!(all[1].pieces[1], Piece { buffer: vk::Buffer::from_raw(1), from: 1280, at: 256, bytes: 512 });
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let (mut all, _) = regions(&[placed_at(1, 0, 100, true), placed_at(2, 0, 1000, false), placed_at(3, 0, 64, false)]);
        assert_eq!(placed(&mut all, 300), 288);
        assert_eq!(
            all.iter().map(|region| region.copies).collect::<Vec<_>>(),
            [[Some(64), Some(176)], [None, None], [Some(0), None]]
        );
    }

    #[test]
    fn an_order_is_read_line_by_line() {
        let text = "most\t4096\nkernel\tabc\tmain\t0=01\t32\t4\t1\t1\t7\nbinding\t0\t1\t1\trw\t\nbinding\t0\t2\t1\tr\t16\n\
                    kernel\tdef\tmain\t\t0\t?\t?\t?\t0\n";
        let wanted = Wanted::read(text).unwrap();
        let [one, other] = &wanted.kernels[..] else { panic!() };
        assert_eq!((one.fields.as_str(), one.groups, one.call), ("abc\tmain\t0=01\t32", Some([4, 1, 1]), 7));
        assert_eq!((other.groups, other.bindings.len(), wanted.most), (None, 0, 4096));
        assert!(one.bindings[0].is_written && one.bindings[1].reach == Some(16));
        assert!(Wanted::read("what\n").is_none());
    }
}
