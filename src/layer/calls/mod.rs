//! The calls that the layer stands in for. Each does what the application asked for; what it notes besides must never fail it.
//!
//! ```text
//! objects   modules, pipelines, buffers and descriptors
//! commands  command buffers, and what is recorded into them
//! transfers work beside dispatches
//! queues    what is submitted, and what waits for it
//! ```

mod commands;
mod objects;
mod queues;
mod transfers;

use std::ffi::{CStr, c_void};
use std::sync::Arc;
use std::{mem, slice};

use ash::vk;
use ash::vk::Handle;
use lanescope_chain::{Function, Instance, Named, call};

use super::device::{DEVICES, Device, INSTANCES};
use super::kernel::chained;
use super::log::note_instance;
use super::statistics;
use commands::*;
use objects::*;
use queues::*;
use transfers::*;

/// What needs no instance.
pub(crate) const GLOBAL: &[Named] = &[
    call!(c"vkGetInstanceProcAddr", PFN_vkGetInstanceProcAddr, super::get_instance_proc_addr),
    call!(c"vkCreateInstance", PFN_vkCreateInstance, create_instance),
];

/// What is called on instances and physical devices.
pub(crate) const INSTANCE: &[Named] = &[
    call!(c"vkDestroyInstance", PFN_vkDestroyInstance, destroy_instance),
    call!(c"vkCreateDevice", PFN_vkCreateDevice, create_device),
];

/// What is called on devices, queues and command buffers, under each of its names.
pub(crate) const DEVICE: &[Named] = &[
    call!(c"vkGetDeviceProcAddr", PFN_vkGetDeviceProcAddr, super::get_device_proc_addr),
    call!(c"vkDestroyDevice", PFN_vkDestroyDevice, destroy_device),
    call!(c"vkGetDeviceQueue", PFN_vkGetDeviceQueue, get_device_queue),
    call!(c"vkGetDeviceQueue2", PFN_vkGetDeviceQueue2, get_device_queue2),
    // Modules and pipelines.
    call!(c"vkCreateShaderModule", PFN_vkCreateShaderModule, create_shader_module),
    call!(c"vkDestroyShaderModule", PFN_vkDestroyShaderModule, destroy_shader_module),
    call!(c"vkCreatePipelineLayout", PFN_vkCreatePipelineLayout, create_pipeline_layout),
    call!(c"vkDestroyPipelineLayout", PFN_vkDestroyPipelineLayout, destroy_pipeline_layout),
    call!(c"vkCreateComputePipelines", PFN_vkCreateComputePipelines, create_compute_pipelines),
    call!(c"vkDestroyPipeline", PFN_vkDestroyPipeline, destroy_pipeline),
    call!(c"vkSetDebugUtilsObjectNameEXT", PFN_vkSetDebugUtilsObjectNameEXT, set_name),
    call!(c"vkDebugMarkerSetObjectNameEXT", PFN_vkDebugMarkerSetObjectNameEXT, set_marker_name),
    // Buffers and descriptors.
    call!(c"vkCreateBuffer", PFN_vkCreateBuffer, create_buffer),
    call!(c"vkDestroyBuffer", PFN_vkDestroyBuffer, destroy_buffer),
    call!(c"vkAllocateMemory", PFN_vkAllocateMemory, allocate_memory),
    call!(c"vkFreeMemory", PFN_vkFreeMemory, free_memory),
    call!(c"vkBindBufferMemory", PFN_vkBindBufferMemory, bind_buffer_memory),
    call!(c"vkBindBufferMemory2", PFN_vkBindBufferMemory2, bind_buffer_memory2),
    call!(c"vkBindBufferMemory2KHR", PFN_vkBindBufferMemory2, bind_buffer_memory2),
    call!(c"vkGetDeviceBufferMemoryRequirements", PFN_vkGetDeviceBufferMemoryRequirements, get_buffer_requirements),
    call!(c"vkGetDeviceBufferMemoryRequirementsKHR", PFN_vkGetDeviceBufferMemoryRequirements, get_buffer_requirements),
    call!(c"vkGetBufferDeviceAddress", PFN_vkGetBufferDeviceAddress, get_address),
    call!(c"vkGetBufferDeviceAddressKHR", PFN_vkGetBufferDeviceAddress, get_address_khr),
    call!(c"vkGetBufferDeviceAddressEXT", PFN_vkGetBufferDeviceAddress, get_address_ext),
    call!(c"vkCreateDescriptorSetLayout", PFN_vkCreateDescriptorSetLayout, create_set_layout),
    call!(c"vkDestroyDescriptorSetLayout", PFN_vkDestroyDescriptorSetLayout, destroy_set_layout),
    call!(c"vkCreateBufferView", PFN_vkCreateBufferView, create_buffer_view),
    call!(c"vkDestroyBufferView", PFN_vkDestroyBufferView, destroy_buffer_view),
    call!(c"vkAllocateDescriptorSets", PFN_vkAllocateDescriptorSets, allocate_sets),
    call!(c"vkFreeDescriptorSets", PFN_vkFreeDescriptorSets, free_sets),
    call!(c"vkResetDescriptorPool", PFN_vkResetDescriptorPool, reset_descriptor_pool),
    call!(c"vkDestroyDescriptorPool", PFN_vkDestroyDescriptorPool, destroy_descriptor_pool),
    call!(c"vkUpdateDescriptorSets", PFN_vkUpdateDescriptorSets, update_sets),
    call!(c"vkCreateDescriptorUpdateTemplate", PFN_vkCreateDescriptorUpdateTemplate, create_template),
    call!(c"vkCreateDescriptorUpdateTemplateKHR", PFN_vkCreateDescriptorUpdateTemplate, create_template),
    call!(c"vkDestroyDescriptorUpdateTemplate", PFN_vkDestroyDescriptorUpdateTemplate, destroy_template),
    call!(c"vkDestroyDescriptorUpdateTemplateKHR", PFN_vkDestroyDescriptorUpdateTemplate, destroy_template),
    call!(c"vkUpdateDescriptorSetWithTemplate", PFN_vkUpdateDescriptorSetWithTemplate, update_with_template),
    call!(c"vkUpdateDescriptorSetWithTemplateKHR", PFN_vkUpdateDescriptorSetWithTemplate, update_with_template),
    // Command buffers.
    call!(c"vkCreateCommandPool", PFN_vkCreateCommandPool, create_command_pool),
    call!(c"vkDestroyCommandPool", PFN_vkDestroyCommandPool, destroy_command_pool),
    call!(c"vkResetCommandPool", PFN_vkResetCommandPool, reset_command_pool),
    call!(c"vkAllocateCommandBuffers", PFN_vkAllocateCommandBuffers, allocate_command_buffers),
    call!(c"vkFreeCommandBuffers", PFN_vkFreeCommandBuffers, free_command_buffers),
    call!(c"vkBeginCommandBuffer", PFN_vkBeginCommandBuffer, begin_command_buffer),
    call!(c"vkResetCommandBuffer", PFN_vkResetCommandBuffer, reset_command_buffer),
    call!(c"vkEndCommandBuffer", PFN_vkEndCommandBuffer, end_command_buffer),
    call!(c"vkCmdBindPipeline", PFN_vkCmdBindPipeline, bind_pipeline),
    call!(c"vkCmdBindShadersEXT", PFN_vkCmdBindShadersEXT, bind_shaders),
    call!(c"vkCmdBindDescriptorSets", PFN_vkCmdBindDescriptorSets, bind_sets),
    call!(c"vkCmdBindDescriptorSets2KHR", PFN_vkCmdBindDescriptorSets2KHR, bind_sets2),
    call!(c"vkCmdBindDescriptorSets2", PFN_vkCmdBindDescriptorSets2KHR, bind_sets2_of_core),
    call!(c"vkCmdPushDescriptorSet2KHR", PFN_vkCmdPushDescriptorSet2KHR, push_set2),
    call!(c"vkCmdPushDescriptorSet2", PFN_vkCmdPushDescriptorSet2KHR, push_set2_of_core),
    call!(c"vkCmdPushDescriptorSetWithTemplate2KHR", PFN_vkCmdPushDescriptorSetWithTemplate2KHR, push_with_template2),
    call!(c"vkCmdPushDescriptorSetWithTemplate2", PFN_vkCmdPushDescriptorSetWithTemplate2KHR, push_with_template2_of_core),
    call!(c"vkCmdPushDescriptorSetKHR", PFN_vkCmdPushDescriptorSetKHR, push_set),
    call!(c"vkCmdPushDescriptorSet", PFN_vkCmdPushDescriptorSetKHR, push_set_of_core),
    call!(c"vkCmdPushDescriptorSetWithTemplateKHR", PFN_vkCmdPushDescriptorSetWithTemplateKHR, push_with_template),
    call!(c"vkCmdPushDescriptorSetWithTemplate", PFN_vkCmdPushDescriptorSetWithTemplateKHR, push_with_template_of_core),
    call!(c"vkCmdDispatch", PFN_vkCmdDispatch, dispatch),
    call!(c"vkCmdDispatchBase", PFN_vkCmdDispatchBase, dispatch_base),
    call!(c"vkCmdDispatchBaseKHR", PFN_vkCmdDispatchBase, dispatch_base),
    call!(c"vkCmdDispatchIndirect", PFN_vkCmdDispatchIndirect, dispatch_indirect),
    call!(c"vkCmdExecuteCommands", PFN_vkCmdExecuteCommands, execute_commands),
    call!(c"vkCmdPushConstants", PFN_vkCmdPushConstants, push_constants),
    call!(c"vkCmdPushConstants2KHR", PFN_vkCmdPushConstants2KHR, push_constants2),
    call!(c"vkCmdPushConstants2", PFN_vkCmdPushConstants2KHR, push_constants2_of_core),
    call!(c"vkCmdBeginDebugUtilsLabelEXT", PFN_vkCmdBeginDebugUtilsLabelEXT, begin_label),
    call!(c"vkCmdEndDebugUtilsLabelEXT", PFN_vkCmdEndDebugUtilsLabelEXT, end_label),
    // Queues, and what waits for them.
    call!(c"vkQueueSubmit", PFN_vkQueueSubmit, queue_submit),
    call!(c"vkQueueSubmit2", PFN_vkQueueSubmit2, queue_submit2),
    call!(c"vkQueueSubmit2KHR", PFN_vkQueueSubmit2, queue_submit2),
    call!(c"vkQueueWaitIdle", PFN_vkQueueWaitIdle, queue_wait_idle),
    call!(c"vkDeviceWaitIdle", PFN_vkDeviceWaitIdle, device_wait_idle),
    call!(c"vkWaitForFences", PFN_vkWaitForFences, wait_for_fences),
    call!(c"vkGetFenceStatus", PFN_vkGetFenceStatus, get_fence_status),
    call!(c"vkWaitSemaphores", PFN_vkWaitSemaphores, wait_semaphores),
    call!(c"vkWaitSemaphoresKHR", PFN_vkWaitSemaphores, wait_semaphores),
    call!(c"vkGetSemaphoreCounterValue", PFN_vkGetSemaphoreCounterValue, get_counter_value),
    call!(c"vkGetSemaphoreCounterValueKHR", PFN_vkGetSemaphoreCounterValue, get_counter_value),
    // Other work.
    call!(c"vkCmdCopyBuffer", PFN_vkCmdCopyBuffer, copy_buffer),
    call!(c"vkCmdCopyBuffer2", PFN_vkCmdCopyBuffer2, copy_buffer2),
    call!(c"vkCmdCopyBuffer2KHR", PFN_vkCmdCopyBuffer2, copy_buffer2_khr),
    call!(c"vkCmdCopyImage", PFN_vkCmdCopyImage, copy_image),
    call!(c"vkCmdCopyImage2", PFN_vkCmdCopyImage2, copy_image2),
    call!(c"vkCmdCopyImage2KHR", PFN_vkCmdCopyImage2, copy_image2_khr),
    call!(c"vkCmdCopyBufferToImage", PFN_vkCmdCopyBufferToImage, copy_to_image),
    call!(c"vkCmdCopyBufferToImage2", PFN_vkCmdCopyBufferToImage2, copy_to_image2),
    call!(c"vkCmdCopyBufferToImage2KHR", PFN_vkCmdCopyBufferToImage2, copy_to_image2_khr),
    call!(c"vkCmdCopyImageToBuffer", PFN_vkCmdCopyImageToBuffer, copy_from_image),
    call!(c"vkCmdCopyImageToBuffer2", PFN_vkCmdCopyImageToBuffer2, copy_from_image2),
    call!(c"vkCmdCopyImageToBuffer2KHR", PFN_vkCmdCopyImageToBuffer2, copy_from_image2_khr),
    call!(c"vkCmdBlitImage", PFN_vkCmdBlitImage, blit_image),
    call!(c"vkCmdBlitImage2", PFN_vkCmdBlitImage2, blit_image2),
    call!(c"vkCmdBlitImage2KHR", PFN_vkCmdBlitImage2, blit_image2_khr),
    call!(c"vkCmdResolveImage", PFN_vkCmdResolveImage, resolve_image),
    call!(c"vkCmdResolveImage2", PFN_vkCmdResolveImage2, resolve_image2),
    call!(c"vkCmdResolveImage2KHR", PFN_vkCmdResolveImage2, resolve_image2_khr),
    call!(c"vkCmdClearColorImage", PFN_vkCmdClearColorImage, clear_colour),
    call!(c"vkCmdClearDepthStencilImage", PFN_vkCmdClearDepthStencilImage, clear_depth),
    call!(c"vkCmdFillBuffer", PFN_vkCmdFillBuffer, fill_buffer),
    call!(c"vkCmdUpdateBuffer", PFN_vkCmdUpdateBuffer, update_buffer),
    call!(c"vkCmdCopyQueryPoolResults", PFN_vkCmdCopyQueryPoolResults, copy_results),
    call!(c"vkCmdBuildAccelerationStructuresKHR", PFN_vkCmdBuildAccelerationStructuresKHR, build_structures),
    call!(
        c"vkCmdBuildAccelerationStructuresIndirectKHR",
        PFN_vkCmdBuildAccelerationStructuresIndirectKHR,
        build_structures_indirect
    ),
    call!(c"vkCmdCopyAccelerationStructureKHR", PFN_vkCmdCopyAccelerationStructureKHR, copy_structure),
    call!(c"vkCmdCopyMemoryIndirectNV", PFN_vkCmdCopyMemoryIndirectNV, copy_memory_indirect),
    call!(c"vkCmdDecompressMemoryNV", PFN_vkCmdDecompressMemoryNV, decompress_memory),
    // What isn't followed.
    call!(c"vkCmdBeginRenderPass", PFN_vkCmdBeginRenderPass, begin_render_pass),
    call!(c"vkCmdBeginRenderPass2", PFN_vkCmdBeginRenderPass2, begin_render_pass2),
    call!(c"vkCmdBeginRenderPass2KHR", PFN_vkCmdBeginRenderPass2, begin_render_pass2_khr),
    call!(c"vkCmdBeginRendering", PFN_vkCmdBeginRendering, begin_rendering),
    call!(c"vkCmdBeginRenderingKHR", PFN_vkCmdBeginRendering, begin_rendering_khr),
    call!(c"vkCmdTraceRaysKHR", PFN_vkCmdTraceRaysKHR, trace_rays),
    call!(c"vkCmdTraceRaysIndirectKHR", PFN_vkCmdTraceRaysIndirectKHR, trace_rays_indirect),
    call!(c"vkCmdTraceRaysIndirect2KHR", PFN_vkCmdTraceRaysIndirect2KHR, trace_rays_indirect2),
    call!(c"vkCreateShadersEXT", PFN_vkCreateShadersEXT, create_shaders),
    call!(c"vkCmdBindDescriptorBuffersEXT", PFN_vkCmdBindDescriptorBuffersEXT, bind_descriptor_buffers),
    call!(c"vkCmdBeginConditionalRenderingEXT", PFN_vkCmdBeginConditionalRenderingEXT, begin_conditional),
    call!(c"vkCmdExecuteGeneratedCommandsNV", PFN_vkCmdExecuteGeneratedCommandsNV, execute_generated_nv),
    call!(c"vkCmdCudaLaunchKernelNV", PFN_vkCmdCudaLaunchKernelNV, launch_cuda),
    call!(c"vkCmdCuLaunchKernelNVX", PFN_vkCmdCuLaunchKernelNVX, launch_cu),
    // ash knows neither of these yet; who calls them knows their types.
    of_unknown_type(c"vkCmdExecuteGeneratedCommandsEXT", execute_generated_ext as *const ()),
    of_unknown_type(c"vkCreatePipelineBinariesKHR", create_pipeline_binaries as *const ()),
];

const fn of_unknown_type(name: &'static CStr, function: *const ()) -> Named {
    // SAFETY: a function's type doesn't matter until it is called, and callers know it by the name.
    (name, unsafe { mem::transmute::<*const (), Function>(function) })
}

type Allocator<'a> = *const vk::AllocationCallbacks<'a>;

/// The device that a device, a queue or a command buffer belongs to. There is none only if the application broke Vulkan's rules.
///
/// # Safety
/// The object lives.
unsafe fn device(object: impl Handle + Copy) -> Option<Arc<Device>> {
    // SAFETY: the caller's promise.
    unsafe { DEVICES.of(object) }
}

/// What a call gives for an object that isn't known.
const UNKNOWN: vk::Result = vk::Result::ERROR_UNKNOWN;

/// `count` elements, which may be none at any address.
///
/// # Safety
/// There are so many.
unsafe fn list<'l, T>(first: *const T, count: u32) -> &'l [T] {
    // SAFETY: the caller's promise.
    if first.is_null() { &[] } else { unsafe { slice::from_raw_parts(first, count as usize) } }
}

/// Functions that make an object, and note it once it is there.
macro_rules! made {
    ($($function:ident, $version:ident.$below:ident, $info:ty => $object:ty, |$device:ident, $given:ident, $made:ident| $note:expr;)*) => { $(
        pub(super) unsafe extern "system" fn $function(
            of: vk::Device,
            info: *const $info,
            allocator: Allocator<'_>,
            made: *mut $object,
        ) -> vk::Result {
            // SAFETY: as this function is called.
            unsafe {
                let Some($device) = device(of) else { return UNKNOWN };
                let result = ($device.below.$version().$below)(of, info, allocator, made);
                if result == vk::Result::SUCCESS {
                    let ($given, $made) = (&*info, *made);
                    $note;
                }
                result
            }
        }
    )* };
}

/// Functions that destroy an object, and forget it first: its handle may be used again at once.
macro_rules! destroyed {
    ($($function:ident, $version:ident.$below:ident, $object:ty, |$device:ident, $destroyed:ident| $forget:expr;)*) => { $(
        pub(super) unsafe extern "system" fn $function(of: vk::Device, $destroyed: $object, allocator: Allocator<'_>) {
            // SAFETY: as this function is called.
            unsafe {
                let Some($device) = device(of) else { return };
                $forget;
                ($device.below.$version().$below)(of, $destroyed, allocator);
            }
        }
    )* };
}

pub(super) use {destroyed, made};

/// Something that calls are for.
trait Subject: Copy {
    /// Itself, where it is a command buffer.
    fn as_commands(self) -> Option<vk::CommandBuffer>;
}

impl Subject for vk::CommandBuffer {
    fn as_commands(self) -> Option<vk::CommandBuffer> {
        Some(self)
    }
}

impl Subject for vk::Device {
    fn as_commands(self) -> Option<vk::CommandBuffer> {
        None
    }
}

/// A function that passes a call on, and counts what isn't followed.
macro_rules! counted {
    ($($name:literal, $function:ident, $kind:literal, $object:ident: $of:ty $(, $argument:ident: $ty:ty)* $(=> $result:ty)?;)*) => { $(
        unsafe extern "system" fn $function($object: $of $(, $argument: $ty)*) $(-> $result)? {
            type Next = unsafe extern "system" fn($of $(, $ty)*) $(-> $result)?;
            // SAFETY: as this function is called; the layer below has one of this name and type.
            unsafe {
                let Some(device) = device($object) else { return Default::default() };
                device.log.not_followed($kind);
                if let Some(commands) = $object.as_commands() {
                    disturbed(&device, commands);
                }
                let Some(next) = device.function($name) else { return Default::default() };
                mem::transmute::<Function, Next>(next)($object $(, $argument)*)
            }
        }
    )* };
}

counted! {
    c"vkCmdBeginRenderPass", begin_render_pass, "render passes", buffer: vk::CommandBuffer,
        info: *const vk::RenderPassBeginInfo<'_>, contents: vk::SubpassContents;
    c"vkCmdBeginRenderPass2", begin_render_pass2, "render passes", buffer: vk::CommandBuffer,
        info: *const vk::RenderPassBeginInfo<'_>, begin: *const vk::SubpassBeginInfo<'_>;
    c"vkCmdBeginRenderPass2KHR", begin_render_pass2_khr, "render passes", buffer: vk::CommandBuffer,
        info: *const vk::RenderPassBeginInfo<'_>, begin: *const vk::SubpassBeginInfo<'_>;
    c"vkCmdTraceRaysKHR", trace_rays, "ray tracing", buffer: vk::CommandBuffer,
        raygen: *const vk::StridedDeviceAddressRegionKHR, miss: *const vk::StridedDeviceAddressRegionKHR,
        hit: *const vk::StridedDeviceAddressRegionKHR, callable: *const vk::StridedDeviceAddressRegionKHR,
        width: u32, height: u32, depth: u32;
    c"vkCmdTraceRaysIndirectKHR", trace_rays_indirect, "ray tracing", buffer: vk::CommandBuffer,
        raygen: *const vk::StridedDeviceAddressRegionKHR, miss: *const vk::StridedDeviceAddressRegionKHR,
        hit: *const vk::StridedDeviceAddressRegionKHR, callable: *const vk::StridedDeviceAddressRegionKHR,
        address: vk::DeviceAddress;
    c"vkCmdTraceRaysIndirect2KHR", trace_rays_indirect2, "ray tracing", buffer: vk::CommandBuffer, address: vk::DeviceAddress;
    c"vkCreateShadersEXT", create_shaders, "shader objects", of: vk::Device, count: u32,
        infos: *const vk::ShaderCreateInfoEXT<'_>, allocator: Allocator<'_>, shaders: *mut vk::ShaderEXT => vk::Result;
    c"vkCmdBindDescriptorBuffersEXT", bind_descriptor_buffers, "descriptor buffers", buffer: vk::CommandBuffer, count: u32,
        infos: *const vk::DescriptorBufferBindingInfoEXT<'_>;
    c"vkCmdBeginConditionalRenderingEXT", begin_conditional, "conditional work", buffer: vk::CommandBuffer,
        info: *const vk::ConditionalRenderingBeginInfoEXT<'_>;
    c"vkCmdExecuteGeneratedCommandsNV", execute_generated_nv, "device-generated commands", buffer: vk::CommandBuffer,
        is_preprocessed: vk::Bool32, info: *const vk::GeneratedCommandsInfoNV<'_>;
    c"vkCmdExecuteGeneratedCommandsEXT", execute_generated_ext, "device-generated commands", buffer: vk::CommandBuffer,
        is_preprocessed: vk::Bool32, info: *const c_void;
    c"vkCreatePipelineBinariesKHR", create_pipeline_binaries, "pipeline binaries", of: vk::Device, info: *const c_void,
        allocator: Allocator<'_>, binaries: *mut c_void => vk::Result;
    c"vkCmdCudaLaunchKernelNV", launch_cuda, "CUDA launches", buffer: vk::CommandBuffer, info: *const vk::CudaLaunchInfoNV<'_>;
    c"vkCmdCuLaunchKernelNVX", launch_cu, "CUDA launches", buffer: vk::CommandBuffer, info: *const vk::CuLaunchInfoNVX<'_>;
}

// ---- instances and devices ------------------------------------------------------------------------------------------------

unsafe extern "system" fn create_instance(
    info: *const vk::InstanceCreateInfo<'_>,
    allocator: Allocator<'_>,
    instance: *mut vk::Instance,
) -> vk::Result {
    note_instance();
    // SAFETY: as this function is called.
    unsafe { Instance::create_known(&INSTANCES, info, allocator, instance) }
}

unsafe extern "system" fn destroy_instance(instance: vk::Instance, allocator: Allocator<'_>) {
    // SAFETY: as this function is called.
    unsafe { Instance::destroy_known(&INSTANCES, instance, allocator) }
}

unsafe extern "system" fn create_device(
    physical: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    allocator: Allocator<'_>,
    device: *mut vk::Device,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(instance) = INSTANCES.of(physical) else { return UNKNOWN };
        let make =
            |info: &vk::DeviceCreateInfo<'_>| lanescope_chain::Device::create(&instance, physical, info, allocator, device);
        let (chain, has_statistics) = match statistics::enabled(&instance, physical, &*info, make) {
            Ok(made) => made,
            Err(result) => return result,
        };
        let raw = chain.raw;
        let is_robust = is_robust(&*info);
        if let Some(known) = Device::new(&instance, physical, chain, has_statistics, is_robust) {
            DEVICES.add(raw, known);
        }
    }
    vk::Result::SUCCESS
}

/// Whether the application has the device keep accesses within buffers.
///
/// # Safety
/// The structure is one that vkCreateDevice takes.
unsafe fn is_robust(info: &vk::DeviceCreateInfo<'_>) -> bool {
    // SAFETY: the caller's promise: features are in the chain, or else there.
    let features = unsafe {
        let chained: Option<&vk::PhysicalDeviceFeatures2<'_>> =
            chained(info.p_next, vk::StructureType::PHYSICAL_DEVICE_FEATURES_2);
        chained.map(|features| &features.features).or(info.p_enabled_features.as_ref())
    };
    features.is_some_and(|features| features.robust_buffer_access == vk::TRUE)
}

unsafe extern "system" fn destroy_device(of: vk::Device, allocator: Allocator<'_>) {
    // SAFETY: as this function is called: nothing of the device is in use.
    unsafe {
        if let Some(device) = DEVICES.remove(of) {
            device.finish();
            (device.below.fp_v1_0().destroy_device)(of, allocator);
        }
    }
}

unsafe extern "system" fn get_device_queue(of: vk::Device, family: u32, index: u32, queue: *mut vk::Queue) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return };
        (device.below.fp_v1_0().get_device_queue)(of, family, index, queue);
        device.add_queue(*queue, family);
    }
}

unsafe extern "system" fn get_device_queue2(of: vk::Device, info: *const vk::DeviceQueueInfo2<'_>, queue: *mut vk::Queue) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return };
        (device.below.fp_v1_1().get_device_queue2)(of, info, queue);
        device.add_queue(*queue, (*info).queue_family_index);
    }
}
