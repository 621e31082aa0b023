//! A Vulkan layer for tests: it stands between Lanescope and a driver, passes every call on, and plays the faults that
//! environment variables name. So tests see what real drivers do to a profiler, on drivers that don't do it.
//!
//! `LANESCOPE_FAULT` holds faults, joined by commas, each of them `KIND[=VALUE][:PLACE[=N[+]]][:CONDITION=VALUE]`. Without it nothing
//! is played. What can't be understood ends the process as soon as an instance is made, so that no test passes by a typo.
//!
//! | KIND | what happens | PLACE (the first is meant where none is given) |
//! |---|---|---|
//! | `device_lost` | the call and all later ones that can say so give VK_ERROR_DEVICE_LOST; nothing is submitted any more | `submit`, `open` |
//! | `out_of_memory` | the call gives VK_ERROR_OUT_OF_DEVICE_MEMORY | `memory`, `buffer`, `open` |
//! | `pipeline_error` | the call gives VK_ERROR_UNKNOWN | `pipeline` |
//! | `invalid_shader` | the call gives VK_ERROR_INVALID_SHADER_NV | `pipeline` |
//! | `wrong` | one group less is dispatched in x | `dispatch` |
//! | `spin` | the pipeline gets the SPIR-V of the file that `LANESCOPE_FAULT_SPIRV` names (its entry point `main`) | `pipeline` |
//! | `opcode=FROM/TO` | instructions of the one opcode become those of the other, as in `349/361`: subgroups exclude bits where they are to add | `module` |
//! | `discrete` | devices say that they are GPUs with memory of their own | |
//! | `registers=N` | devices have VK_KHR_pipeline_executable_properties, which tells of N registers for every pipeline | |
//! | `unfinished` | the work is accepted and never ends: fences stay unsignalled, and vkQueueWaitIdle, vkDeviceWaitIdle and vkDestroyDevice never return | `submit` |
//! | `hang` | the call never returns | `submit`, `pipeline`, `memory`, `buffer`, `instance`, `devices`, `open`, `close` |
//! | `abort` | SIGABRT | as `hang` |
//! | `segfault` | SIGSEGV | as `hang` |
//! | `chatter` | the call writes lines to the error stream, as drivers' logs do | as `hang` |
//! | `timestamps=zero` | every timestamp is zero | |
//! | `timestamps=wrap` | the valid bits wrap 100 ms after the first timestamp that is read | |
//! | `timestamps=backwards` | every fifth timestamp is 100 ms too early | |
//! | `timestamps=late` | a timestamp is written at the next vkCmdPipelineBarrier, or at the buffer's end: what follows it begins first, which the specification allows | |
//! | `timestamp_spans=F` | every second timestamp of those that are read together comes F times as long after the one before it | |
//! | `timestamp_bits=N` | timestampValidBits is N, from 0 to 64, and timestamps have no more bits | |
//! | `timestamp_period=NS` | timestampPeriod is NS nanoseconds, and timestamps are scaled so that times stay right; `0` and `inf` are only said | |
//!
//! Timestamps are what vkGetQueryPoolResults gives; copies that the device makes of them stay as they are.
//!
//! The places are calls: `instance` vkCreateInstance, `devices` vkEnumeratePhysicalDevices, `open` vkCreateDevice, `close`
//! vkDestroyDevice, `memory` vkAllocateMemory, `buffer` vkCreateBuffer, `module` vkCreateShaderModule, `pipeline` each pipeline that vkCreateComputePipelines makes,
//! `dispatch` vkCmdDispatch, `submit` vkQueueSubmit and vkQueueSubmit2. A fault comes at every call that meets its condition, with
//! `=N` only at the N-th that does, with `=N+` at that and all later ones, counted from 1 in each process. The conditions:
//!
//! - `groups=X`, at `submit` and `dispatch`: X groups in x are dispatched, or were recorded into a submitted buffer (by the
//!   application; secondary buffers don't count);
//! - `constant=W`, at `pipeline`: the 32-bit word W stands in the specialization constants' data;
//! - `bytes=B`, at `memory` and `buffer`: at least B bytes are asked for;
//! - `driver=T`, at `instance` and `devices`: the variable VK_DRIVER_FILES has the text T.
//!
//! With `LANESCOPE_FAULT_ONCE=PATH` a fault comes once, whatever the number of processes: only where it makes the file PATH (the
//! second of several faults makes PATH.1, the third PATH.2). Faults of timestamps are then one process's, for all its life.

#![allow(unsafe_code, reason = "a layer is called by the Vulkan loader, through C's types")]
#![expect(clippy::print_stderr, reason = "a layer has nowhere else to speak, and what is wrong here must be seen")]

mod calls;
mod chain;
mod clock;
mod faults;
mod registers;

use std::ffi::{CStr, c_char, c_void};

use ash::vk;

use lanescope_chain::find;

/// What the loader asks for first: which version of its interface the layer speaks, and where its calls are.
///
/// # Safety
/// As the loader calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn vkNegotiateLoaderLayerInterfaceVersion(interface: *mut c_void) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe { lanescope_chain::negotiate(interface, get_instance_proc_addr, get_device_proc_addr) }
}

unsafe extern "system" fn get_instance_proc_addr(instance: vk::Instance, name: *const c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: the loader gives a C string.
    let name = unsafe { CStr::from_ptr(name) };
    if let Some(own) = find(calls::GLOBAL, name) {
        return Some(own);
    }
    // SAFETY: the loader gives an instance, or none.
    let next = unsafe { chain::instance(instance) }?.next(name)?;
    find(calls::INSTANCE, name).or_else(|| find(calls::DEVICE, name)).or(Some(next))
}

unsafe extern "system" fn get_device_proc_addr(device: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: the loader gives a C string and a device.
    let (name, device) = unsafe { (CStr::from_ptr(name), chain::device(device)) };
    if let Some(offered) = find(registers::CALLS, name).filter(|_| registers::told().is_some()) {
        return Some(offered);
    }
    // What isn't there below isn't there: an extension may not be enabled.
    let next = device.next(name)?;
    find(calls::DEVICE, name).or(Some(next))
}
