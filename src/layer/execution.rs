//! What was submitted, and its timestamps once the device wrote them.
//!
//! Behind each command buffer of the application a buffer of the layer's own runs in the same batch, which copies the timestamps to a slot
//! of that execution, and then writes the slot's last word. The host looks at that word, and never waits. A fence behind the batches tells
//! when the layer's own buffers may be used again.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;

use ash::vk;
use ash::vk::Handle;

use super::device::Device;
use super::recording::{Recorded, barrier, copy_sources};
use super::slots::Slot;

/// A command buffer that was submitted.
struct Execution {
    submission: u64,
    recorded: Arc<Recorded>,
    slot: Option<Slot>,
}

/// The layer's own command buffers of one call.
struct Batch {
    pool: vk::CommandPool,
    buffers: Vec<vk::CommandBuffer>,
    used: usize,
    fence: vk::Fence,
}

/// A queue.
pub(crate) struct Queue {
    raw: vk::Queue,
    family: u32,
    executions: VecDeque<Execution>,
    /// Slots that were read, or whose work was never seen to end, in order of the batches that wrote them.
    pending: VecDeque<(Batch, Vec<Slot>)>,
    free: Vec<Batch>,
}

impl Queue {
    pub(crate) fn new(raw: vk::Queue, family: u32) -> Self {
        Self { raw, family, executions: VecDeque::new(), pending: VecDeque::new(), free: Vec::new() }
    }

    /// Reads what has come, and takes back what the device is through with. Gives lines for the log, which are written once the queue is
    /// free again: a slow disk keeps nobody from submitting.
    #[must_use]
    pub(crate) fn collect(&mut self, device: &Device) -> String {
        let mut lines = String::new();
        // SAFETY: the fences are this queue's, and live.
        let is_through = |batch: &Batch| unsafe { device.below.get_fence_status(batch.fence) } == Ok(true);
        // Asked for before slots are read: of these, all has come.
        let through = self.pending.iter().take_while(|(batch, _)| is_through(batch)).count();
        while let Some(execution) = self.executions.pop_front() {
            let slot = execution.slot.as_ref();
            let is_done = slot.is_none_or(|slot| slot.word(execution.recorded.words).is_some_and(|word| word != 0));
            if !is_done {
                self.executions.push_front(execution);
                break;
            }
            self.write(&mut lines, device, &execution, true);
        }
        for (batch, slots) in self.pending.drain(..through) {
            let mut all = device.slots();
            slots.into_iter().for_each(|slot| all.give_back(slot));
            self.free.push(batch);
        }
        lines
    }

    fn write(&self, lines: &mut String, device: &Device, Execution { submission, recorded, slot }: &Execution, is_whole: bool) {
        let is_known = is_whole && slot.is_some();
        let slot = slot.as_ref().filter(|_| is_whole && !recorded.is_shared());
        recorded.ended();
        if is_known {
            recorded.write_snapshots();
        }
        let mut times = format!("times\t{submission}\t{}\t", self.family);
        // Writing to a string can't fail, here and below.
        let mask = device.timestamp_mask(self.family);
        for dispatch in &recorded.dispatches {
            let at = |word: Option<usize>, more: usize| slot.zip(word).and_then(|(slot, word)| slot.word(word + more));
            let both = at(dispatch.times, 0).zip(at(dispatch.times, 1)).filter(|(start, end)| *start != 0 && *end != 0);
            let Some(number) = dispatch.number else {
                if let Some((start, end)) = both {
                    let _ = writeln!(lines, "floor\t{}", end.wrapping_sub(start) & mask);
                }
                continue;
            };
            let _ = match both {
                Some((start, end)) => write!(times, "{number}:{}:{}", start & mask, end.wrapping_sub(start) & mask),
                None => write!(times, "{number}"),
            };
            if let Some((first, second)) = at(dispatch.groups, 0).zip(at(dispatch.groups, 1)) {
                let [x, y] = [first & 0xffff_ffff, first >> 32];
                let _ = write!(times, "@{x},{y},{}", second & 0xffff_ffff);
            }
            times.push(' ');
        }
        let _ = writeln!(lines, "{}", times.trim_end());
    }

    /// What to submit in the place of a command buffer: itself, and behind it what copies its timestamps.
    ///
    /// # Safety
    /// The buffer is about to be submitted to this queue.
    pub(crate) unsafe fn extended(
        &mut self,
        device: &Device,
        buffer: vk::CommandBuffer,
        is_timed: bool,
        submitted: &mut Submitted,
    ) -> impl Iterator<Item = vk::CommandBuffer> + use<> {
        let recorded = device.recorded(buffer).filter(|recorded| !recorded.dispatches.is_empty());
        let copy = recorded.and_then(|recorded| {
            recorded.began(self.raw.as_raw());
            let has_any = recorded.words > 0 || recorded.has_snapshots();
            let is_copied = is_timed && has_any && !recorded.suspends;
            // SAFETY: the caller's promise.
            let copy = if is_copied { unsafe { self.copy(device, &recorded, submitted) } } else { None };
            let submission = submitted.submission;
            submitted.executions.push(Execution { submission, recorded, slot: copy.map(|(_, slot)| slot) });
            copy.map(|(copy, _)| copy)
        });
        [buffer].into_iter().chain(copy)
    }

    /// A command buffer that copies the timestamps of one execution, and its slot.
    ///
    /// # Safety
    /// The device lives; what was recorded is submitted before.
    unsafe fn copy(
        &mut self,
        device: &Device,
        recorded: &Recorded,
        submitted: &mut Submitted,
    ) -> Option<(vk::CommandBuffer, Slot)> {
        // SAFETY: the caller's promise; the batch isn't pending, its pool is this queue's.
        unsafe {
            if submitted.batch.is_none() {
                submitted.batch = Some(match self.free.pop() {
                    Some(batch) => batch.restarted(device)?,
                    None => Batch::new(device, self.family)?,
                });
            }
            let batch = submitted.batch.as_mut()?;
            let buffer = batch.next(device)?;
            let slot = device.slot(recorded.words + 1)?;
            submitted.slots.push(slot);
            let begin = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
            device.below.begin_command_buffer(buffer, &begin).ok()?;
            let (transfer, host) = (vk::PipelineStageFlags::TRANSFER, vk::PipelineStageFlags::HOST);
            copy_sources(device, buffer, recorded, &slot);
            let last = slot.offset + 8 * recorded.words as u64;
            device.below.cmd_fill_buffer(buffer, slot.buffer, last, 8, 1);
            barrier(device, buffer, transfer, host);
            device.below.end_command_buffer(buffer).ok()?;
            Some((buffer, slot))
        }
    }

    /// Notes what a call submitted, or that it failed. Gives what [`Self::collect`] does.
    ///
    /// # Safety
    /// The call on this queue has ended.
    #[must_use]
    pub(crate) unsafe fn submitted(&mut self, device: &Device, submitted: Submitted, is_done: bool) -> String {
        let Submitted { executions, batch, slots, .. } = submitted;
        if !is_done {
            executions.iter().for_each(|execution| execution.recorded.ended());
            let mut all = device.slots();
            slots.into_iter().for_each(|slot| all.give_back(slot));
            self.free.extend(batch);
            return String::new();
        }
        self.executions.extend(executions);
        if let Some(batch) = batch {
            // SAFETY: the caller's promise; the fence is unsignalled. Where this fails, the batch stays out for good.
            let _ = unsafe { device.below.queue_submit(self.raw, &[], batch.fence) };
            self.pending.push_back((batch, slots));
        }
        self.collect(device)
    }

    /// Destroys what the layer made, and gives what is left to be written: what never ended as far as anybody knows as well.
    ///
    /// # Safety
    /// The device is idle, or lost.
    #[must_use]
    pub(crate) unsafe fn destroy(&mut self, device: &Device) -> String {
        if !self.pending.is_empty() {
            // The application waited for its own work: at most the submission of a fence is left.
            // SAFETY: the caller's promise. A lost device has nothing to wait for.
            if unsafe { device.below.queue_wait_idle(self.raw) }.is_err() {
                device.lose();
            }
        }
        let mut lines = self.collect(device);
        for execution in std::mem::take(&mut self.executions) {
            self.write(&mut lines, device, &execution, false);
        }
        let pending = self.pending.drain(..).map(|(batch, _)| batch);
        for batch in pending.chain(self.free.drain(..)) {
            // SAFETY: the caller's promise; nobody else has these objects.
            unsafe {
                device.below.destroy_fence(batch.fence, None);
                device.below.destroy_command_pool(batch.pool, None);
            }
        }
        lines
    }
}

/// What one call submits.
pub(crate) struct Submitted {
    submission: u64,
    executions: Vec<Execution>,
    batch: Option<Batch>,
    slots: Vec<Slot>,
}

impl Submitted {
    pub(crate) fn new(submission: u64) -> Self {
        Self { submission, executions: Vec::new(), batch: None, slots: Vec::new() }
    }
}

impl Batch {
    /// # Safety
    /// The device lives.
    unsafe fn new(device: &Device, family: u32) -> Option<Self> {
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
        // SAFETY: the caller's promise.
        unsafe {
            let pool = device.below.create_command_pool(&info, None).ok()?;
            let Ok(fence) = device.below.create_fence(&vk::FenceCreateInfo::default(), None) else {
                device.below.destroy_command_pool(pool, None);
                return None;
            };
            Some(Self { pool, buffers: Vec::new(), used: 0, fence })
        }
    }

    /// # Safety
    /// The device is through with it.
    unsafe fn restarted(mut self, device: &Device) -> Option<Self> {
        self.used = 0;
        // SAFETY: the caller's promise.
        unsafe {
            device.below.reset_fences(&[self.fence]).ok()?;
            device.below.reset_command_pool(self.pool, vk::CommandPoolResetFlags::empty()).ok()?;
        }
        Some(self)
    }

    /// # Safety
    /// The device lives.
    unsafe fn next(&mut self, device: &Device) -> Option<vk::CommandBuffer> {
        if self.used == self.buffers.len() {
            let info = vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
            // SAFETY: the caller's promise; the buffer is new.
            unsafe {
                let buffer = device.below.allocate_command_buffers(&info).ok()?.pop()?;
                device.adopt(buffer).result().ok()?;
                self.buffers.push(buffer);
            }
        }
        self.used += 1;
        self.buffers.get(self.used - 1).copied()
    }
}
