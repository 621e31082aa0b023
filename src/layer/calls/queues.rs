//! What is submitted, and what waits for it.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex};

use ash::vk;

use super::{UNKNOWN, device, list};
use crate::device::{Device, locked};
use crate::execution::{Queue, Submitted};
use crate::kernel::chained;

/// Functions after which the device may be through with more.
macro_rules! waited {
    ($($function:ident, $version:ident.$below:ident, $object:ident: $of:ty $(, $argument:ident: $ty:ty)*;)*) => { $(
        pub(super) unsafe extern "system" fn $function($object: $of $(, $argument: $ty)*) -> vk::Result {
            // SAFETY: as this function is called.
            unsafe {
                let Some(device) = device($object) else { return UNKNOWN };
                let result = (device.below.$version().$below)($object $(, $argument)*);
                if result == vk::Result::SUCCESS {
                    device.collect();
                }
                result
            }
        }
    )* };
}

waited! {
    queue_wait_idle, fp_v1_0.queue_wait_idle, queue: vk::Queue;
    device_wait_idle, fp_v1_0.device_wait_idle, of: vk::Device;
    wait_for_fences, fp_v1_0.wait_for_fences, of: vk::Device, count: u32, fences: *const vk::Fence, wait_all: vk::Bool32, timeout: u64;
    get_fence_status, fp_v1_0.get_fence_status, of: vk::Device, fence: vk::Fence;
    wait_semaphores, fp_v1_2.wait_semaphores, of: vk::Device, info: *const vk::SemaphoreWaitInfo<'_>, timeout: u64;
    get_counter_value, fp_v1_2.get_semaphore_counter_value, of: vk::Device, semaphore: vk::Semaphore, value: *mut u64;
}

pub(super) unsafe extern "system" fn queue_submit(
    queue: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: as this function is called; what is submitted is as the application's, with more command buffers.
    unsafe {
        let Some(device) = device(queue) else { return UNKNOWN };
        let below = device.below.fp_v1_0().queue_submit;
        let mut infos = list(submits, count).to_vec();
        let mut buffers = infos.iter().flat_map(|info| list(info.p_command_buffers, info.command_buffer_count));
        let Some((own, number)) = counted(&device, queue, buffers.any(|buffer| device.has_dispatches(*buffer))) else {
            return below(queue, count, submits, fence);
        };
        let mut own = locked(&own);
        let (mut submitted, mut all) = (Submitted::new(number), Vec::new());
        for info in &infos {
            let masks = Masks::of(info.p_next);
            let is_timed = !is_protected(info.p_next) && masks.as_ref().is_none_or(Masks::is_followed);
            note_untimed(&device, is_timed);
            let (mut buffers, mut of_devices) = (Vec::new(), Vec::new());
            for (at, buffer) in list(info.p_command_buffers, info.command_buffer_count).iter().enumerate() {
                buffers.extend(own.extended(&device, *buffer, is_timed, &mut submitted));
                // The layer's own runs where the application's does.
                of_devices.resize(buffers.len(), masks.as_ref().map_or(0, |masks| masks.mask(at)));
            }
            all.push((buffers, of_devices, masks));
        }
        for (info, (buffers, of_devices, masks)) in infos.iter_mut().zip(&mut all) {
            info.command_buffer_count = u32::try_from(buffers.len()).unwrap_or(u32::MAX);
            info.p_command_buffers = buffers.as_ptr();
            if let Some(masks) = masks.as_mut().filter(|masks| masks.is_followed()) {
                info.p_next = masks.chain(of_devices);
            }
        }
        let result = below(queue, count, infos.as_ptr(), fence);
        let lines = own.submitted(&device, submitted, result == vk::Result::SUCCESS);
        drop(own);
        device.log.lines(&lines);
        result
    }
}

/// The queue, and the number of a submission to it; nothing where that isn't captured.
fn counted(device: &Device, queue: vk::Queue, has_dispatches: bool) -> Option<(Arc<Mutex<Queue>>, u64)> {
    let queue = device.queue(queue).filter(|_| has_dispatches)?;
    Some((queue, device.next_submission()?))
}

/// # Safety
/// The chain is a valid one.
unsafe fn is_protected(next: *const c_void) -> bool {
    // SAFETY: the caller's promise.
    let info: Option<&vk::ProtectedSubmitInfo<'_>> = unsafe { chained(next, vk::StructureType::PROTECTED_SUBMIT_INFO) };
    info.is_some_and(|info| info.protected_submit == vk::TRUE)
}

fn note_untimed(device: &Device, is_timed: bool) {
    if !is_timed {
        device.log.not_followed("submissions of protected work, or to several devices of a group");
    }
}

/// On which devices of a group each command buffer runs.
struct Masks<'m> {
    own: vk::DeviceGroupSubmitInfo<'m>,
    /// What stands before it in the chain; others than that aren't known well enough to be copied.
    timeline: Option<vk::TimelineSemaphoreSubmitInfo<'m>>,
    is_reached: bool,
}

impl<'m> Masks<'m> {
    /// # Safety
    /// The chain is a valid one.
    unsafe fn of(next: *const c_void) -> Option<Self> {
        const GROUP: vk::StructureType = vk::StructureType::DEVICE_GROUP_SUBMIT_INFO;
        const TIMELINE: vk::StructureType = vk::StructureType::TIMELINE_SEMAPHORE_SUBMIT_INFO;
        // SAFETY: the caller's promise: each begins with its type and its successor.
        unsafe {
            let own: &vk::DeviceGroupSubmitInfo<'m> = chained(next, GROUP)?;
            let first = &*next.cast::<vk::BaseInStructure<'_>>();
            let is_second = first.s_type == TIMELINE && ptr::eq(first.p_next.cast(), own);
            let timeline = is_second.then(|| *next.cast::<vk::TimelineSemaphoreSubmitInfo<'m>>());
            let is_reached = is_second || ptr::eq(next.cast(), own);
            (own.command_buffer_count > 0).then_some(Self { own: *own, timeline, is_reached })
        }
    }

    /// What one mask says of several devices would come to one slot.
    fn is_followed(&self) -> bool {
        let all = 0..self.own.command_buffer_count as usize;
        self.is_reached && all.into_iter().all(|at| self.mask(at).count_ones() == 1)
    }

    fn mask(&self, at: usize) -> u32 {
        // SAFETY: the application gave so many.
        unsafe { list(self.own.p_command_buffer_device_masks, self.own.command_buffer_count) }.get(at).copied().unwrap_or(0)
    }

    /// The chain with these masks, which must outlive it, as this must.
    fn chain(&mut self, masks: &[u32]) -> *const c_void {
        self.own.command_buffer_count = u32::try_from(masks.len()).unwrap_or(u32::MAX);
        self.own.p_command_buffer_device_masks = masks.as_ptr();
        let own = ptr::from_ref(&self.own).cast();
        match &mut self.timeline {
            Some(timeline) => {
                timeline.p_next = own;
                ptr::from_ref(timeline).cast()
            }
            None => own,
        }
    }
}

pub(super) unsafe extern "system" fn queue_submit2(
    queue: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo2<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: as for `queue_submit`.
    unsafe {
        let Some(device) = device(queue) else { return UNKNOWN };
        let below = device.below.fp_v1_3().queue_submit2;
        let mut infos = list(submits, count).to_vec();
        let mut buffers = infos.iter().flat_map(|info| list(info.p_command_buffer_infos, info.command_buffer_info_count));
        let has_dispatches = buffers.any(|buffer| device.has_dispatches(buffer.command_buffer));
        let Some((own, number)) = counted(&device, queue, has_dispatches) else {
            return below(queue, count, submits, fence);
        };
        let mut own = locked(&own);
        let (mut submitted, mut all) = (Submitted::new(number), Vec::new());
        for info in &infos {
            let given = list(info.p_command_buffer_infos, info.command_buffer_info_count);
            let is_on_one = given.iter().all(|buffer| buffer.device_mask.count_ones() <= 1);
            let is_timed = is_on_one && !info.flags.contains(vk::SubmitFlags::PROTECTED);
            note_untimed(&device, is_timed);
            let mut buffers = Vec::new();
            for buffer in given {
                let extended = own.extended(&device, buffer.command_buffer, is_timed, &mut submitted);
                // What else is said of the application's isn't said of the layer's.
                let of = |command_buffer| match command_buffer == buffer.command_buffer {
                    true => *buffer,
                    false => vk::CommandBufferSubmitInfo { command_buffer, p_next: ptr::null(), ..*buffer },
                };
                buffers.extend(extended.map(of));
            }
            all.push(buffers);
        }
        for (info, buffers) in infos.iter_mut().zip(&all) {
            info.command_buffer_info_count = u32::try_from(buffers.len()).unwrap_or(u32::MAX);
            info.p_command_buffer_infos = buffers.as_ptr();
        }
        let result = below(queue, count, infos.as_ptr(), fence);
        let lines = own.submitted(&device, submitted, result == vk::Result::SUCCESS);
        drop(own);
        device.log.lines(&lines);
        result
    }
}
