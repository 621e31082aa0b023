//! The layer that `lanescope capture` puts between an application and its driver: it notes which compute kernels are dispatched, how
//! often, and what each takes.
//!
//! ```text
//! calls      the Vulkan calls that the layer stands in for
//! device     what is known of a device: modules, pipelines, buffers, command buffers, queues
//! kernel     compute pipelines, and how they are told apart
//! sets       what descriptor sets bind
//! recording  what is recorded into a command buffer, with timestamps around each dispatch
//! execution  what was submitted, and its timestamps once the device wrote them
//! slots      memory that timestamps come to
//! statistics what the driver's compiler tells of pipelines
//! contents   what the buffers of chosen kernels hold before and after a dispatch
//! log        the file that all of this is written to
//! ```
//!
//! Nothing here panics, and nothing waits for the device: it runs in the calls of an application. Where the layer can't follow, it passes
//! calls on and counts what it didn't follow.
//!
//! The environment says what to do: `log` has the variables.

#![allow(unsafe_code, reason = "a layer is called by the Vulkan loader, through C's types")]

mod calls;
mod contents;
mod device;
mod execution;
mod kernel;
mod log;
mod pins;
mod recording;
mod sets;
mod slots;
mod statistics;

use std::ffi::{CStr, c_char, c_void};

use ash::vk;
use lanescope_chain::find;

/// What the loader asks for first: which version of its interface the layer speaks, and where its calls are.
///
/// # Safety
/// As the loader calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn vkNegotiateLoaderLayerInterfaceVersion(interface: *mut c_void) -> vk::Result {
    if log::ORDER.is_none() {
        // There is nothing to do: the loader leaves the layer out.
        return vk::Result::ERROR_INITIALIZATION_FAILED;
    }
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
    let next = unsafe { device::INSTANCES.of(instance) }?.next(name)?;
    find(calls::INSTANCE, name).or_else(|| find(calls::DEVICE, name)).or(Some(next))
}

unsafe extern "system" fn get_device_proc_addr(device: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: the loader gives a C string and a device.
    let (name, device) = unsafe { (CStr::from_ptr(name), device::DEVICES.of(device)) };
    // What isn't there below isn't there: an extension may not be enabled.
    let next = device?.next(name)?;
    find(calls::DEVICE, name).or(Some(next))
}
