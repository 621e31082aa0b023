//! What is submitted, and what waits for it.

use std::ffi::c_void;
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
            let is_timed = !is_protected(info.p_next) && !has_masks(info.p_next);
            if !is_timed {
                device.log.not_followed("submissions of protected work or of device groups");
            }
            let buffers = list(info.p_command_buffers, info.command_buffer_count);
            all.push(own.extended(&device, buffers, is_timed, &mut submitted));
        }
        for (info, buffers) in infos.iter_mut().zip(&all) {
            info.command_buffer_count = u32::try_from(buffers.len()).unwrap_or(u32::MAX);
            info.p_command_buffers = buffers.as_ptr();
        }
        let result = below(queue, count, infos.as_ptr(), fence);
        own.submitted(&device, submitted, result == vk::Result::SUCCESS);
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

/// Whether each command buffer has a mask of devices: one more would have none.
///
/// # Safety
/// The chain is a valid one.
unsafe fn has_masks(next: *const c_void) -> bool {
    // SAFETY: the caller's promise.
    let info: Option<&vk::DeviceGroupSubmitInfo<'_>> = unsafe { chained(next, vk::StructureType::DEVICE_GROUP_SUBMIT_INFO) };
    info.is_some_and(|info| info.command_buffer_count > 0)
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
            let is_timed = !info.flags.contains(vk::SubmitFlags::PROTECTED);
            if !is_timed {
                device.log.not_followed("submissions of protected work or of device groups");
            }
            let mut buffers = Vec::new();
            for buffer in list(info.p_command_buffer_infos, info.command_buffer_info_count) {
                let extended = own.extended(&device, &[buffer.command_buffer], is_timed, &mut submitted);
                buffers.extend(
                    extended.into_iter().map(|command_buffer| vk::CommandBufferSubmitInfo { command_buffer, ..*buffer }),
                );
            }
            all.push(buffers);
        }
        for (info, buffers) in infos.iter_mut().zip(&all) {
            info.command_buffer_info_count = u32::try_from(buffers.len()).unwrap_or(u32::MAX);
            info.p_command_buffer_infos = buffers.as_ptr();
        }
        let result = below(queue, count, infos.as_ptr(), fence);
        own.submitted(&device, submitted, result == vk::Result::SUCCESS);
        result
    }
}
