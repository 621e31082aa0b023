//! The calls that the layer stands in for. Each does what the application asked for; what it notes besides must never fail it.

use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;
use std::{mem, slice};

use ash::vk;
use ash::vk::Handle;
use lanescope_chain::{Function, Instance, Named, call};

use super::device::{CommandPool, DEVICES, Device, INSTANCES, locked};
use super::execution::Submitted;
use super::kernel::{Kernel, Module, chained};
use super::log::clean;
use super::recording::Recording;
use super::sets::Buffer;

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
    call!(c"vkCmdPushDescriptorSetKHR", PFN_vkCmdPushDescriptorSetKHR, push_set),
    call!(c"vkCmdPushDescriptorSet", PFN_vkCmdPushDescriptorSetKHR, push_set_of_core),
    call!(c"vkCmdPushDescriptorSetWithTemplateKHR", PFN_vkCmdPushDescriptorSetWithTemplateKHR, push_with_template),
    call!(c"vkCmdPushDescriptorSetWithTemplate", PFN_vkCmdPushDescriptorSetWithTemplateKHR, push_with_template_of_core),
    call!(c"vkCmdDispatch", PFN_vkCmdDispatch, dispatch),
    call!(c"vkCmdDispatchBase", PFN_vkCmdDispatchBase, dispatch_base),
    call!(c"vkCmdDispatchBaseKHR", PFN_vkCmdDispatchBase, dispatch_base),
    call!(c"vkCmdDispatchIndirect", PFN_vkCmdDispatchIndirect, dispatch_indirect),
    call!(c"vkCmdExecuteCommands", PFN_vkCmdExecuteCommands, execute_commands),
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

/// A function that passes a call on, and counts what isn't followed.
macro_rules! counted {
    ($($name:literal, $function:ident, $kind:literal, $object:ident: $of:ty $(, $argument:ident: $ty:ty)* $(=> $result:ty)?;)*) => { $(
        unsafe extern "system" fn $function($object: $of $(, $argument: $ty)*) $(-> $result)? {
            type Next = unsafe extern "system" fn($of $(, $ty)*) $(-> $result)?;
            // SAFETY: as this function is called; the layer below has one of this name and type.
            unsafe {
                let Some(device) = device($object) else { return Default::default() };
                device.log.not_followed($kind);
                let Some(next) = device.next($name) else { return Default::default() };
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
    c"vkCmdBeginRendering", begin_rendering, "render passes", buffer: vk::CommandBuffer, info: *const vk::RenderingInfo<'_>;
    c"vkCmdBeginRenderingKHR", begin_rendering_khr, "render passes", buffer: vk::CommandBuffer, info: *const vk::RenderingInfo<'_>;
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
    // SAFETY: as this function is called.
    unsafe {
        match Instance::create(info, allocator, instance) {
            Ok(made) => {
                INSTANCES.add(made.raw, made);
                vk::Result::SUCCESS
            }
            Err(result) => result,
        }
    }
}

unsafe extern "system" fn destroy_instance(instance: vk::Instance, allocator: Allocator<'_>) {
    // SAFETY: as this function is called.
    unsafe {
        if let Some(known) = INSTANCES.remove(instance) {
            (known.below.fp_v1_0().destroy_instance)(instance, allocator);
        }
    }
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
        let chain = match lanescope_chain::Device::create(&instance, physical, info, allocator, device) {
            Ok(made) => made,
            Err(result) => return result,
        };
        let raw = chain.raw;
        if let Some(known) = Device::new(&instance, physical, chain) {
            DEVICES.add(raw, known);
        }
    }
    vk::Result::SUCCESS
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

// ---- modules and pipelines ------------------------------------------------------------------------------------------------

unsafe extern "system" fn create_shader_module(
    of: vk::Device,
    info: *const vk::ShaderModuleCreateInfo<'_>,
    allocator: Allocator<'_>,
    module: *mut vk::ShaderModule,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_0().create_shader_module)(of, info, allocator, module);
        if result == vk::Result::SUCCESS {
            device.names().remove(&*module);
            device.modules().insert(*module, Arc::new(Module::of(&*info)));
        }
        result
    }
}

unsafe extern "system" fn destroy_shader_module(of: vk::Device, module: vk::ShaderModule, allocator: Allocator<'_>) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return };
        device.modules().remove(&module);
        (device.below.fp_v1_0().destroy_shader_module)(of, module, allocator);
    }
}

unsafe extern "system" fn create_pipeline_layout(
    of: vk::Device,
    info: *const vk::PipelineLayoutCreateInfo<'_>,
    allocator: Allocator<'_>,
    layout: *mut vk::PipelineLayout,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_0().create_pipeline_layout)(of, info, allocator, layout);
        if result == vk::Result::SUCCESS {
            device.sets().layouts.insert(*layout, (*info).set_layout_count as usize);
        }
        result
    }
}

unsafe extern "system" fn destroy_pipeline_layout(of: vk::Device, layout: vk::PipelineLayout, allocator: Allocator<'_>) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return };
        device.sets().layouts.remove(&layout);
        (device.below.fp_v1_0().destroy_pipeline_layout)(of, layout, allocator);
    }
}

unsafe extern "system" fn create_compute_pipelines(
    of: vk::Device,
    cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    allocator: Allocator<'_>,
    pipelines: *mut vk::Pipeline,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_0().create_compute_pipelines)(of, cache, count, infos, allocator, pipelines);
        // Of several some may have been made.
        for (info, pipeline) in list(infos, count).iter().zip(list(pipelines, count)).filter(|(_, raw)| !raw.is_null()) {
            let stage = &info.stage;
            let module = device.modules().get(&stage.module).map(Arc::clone);
            let sets = device.sets().layouts.get(&info.layout).copied().unwrap_or(usize::MAX);
            let identifier: Option<&vk::PipelineShaderStageModuleIdentifierCreateInfoEXT<'_>> =
                chained(stage.p_next, vk::StructureType::PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT);
            if identifier.is_some_and(|identifier| identifier.identifier_size > 0) {
                device.log.not_followed("module identifiers");
            }
            device.add_pipeline(*pipeline, Kernel::of(stage, module, sets), stage.module);
        }
        result
    }
}

unsafe extern "system" fn destroy_pipeline(of: vk::Device, pipeline: vk::Pipeline, allocator: Allocator<'_>) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return };
        device.remove_pipeline(pipeline);
        (device.below.fp_v1_0().destroy_pipeline)(of, pipeline, allocator);
    }
}

/// Notes the name of a pipeline or a module.
///
/// # Safety
/// The name is null, or a C string.
unsafe fn note_name(device: &Device, is_pipeline: bool, object: u64, name: *const c_char) {
    if name.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    let name = clean(&unsafe { CStr::from_ptr(name) }.to_string_lossy());
    if !is_pipeline {
        device.names().insert(vk::ShaderModule::from_raw(object), name);
    } else if let Some(pipeline) = device.pipeline(vk::Pipeline::from_raw(object)) {
        *locked(&pipeline.name) = Some(name);
    }
}

unsafe extern "system" fn set_name(of: vk::Device, info: *const vk::DebugUtilsObjectNameInfoEXT<'_>) -> vk::Result {
    const NAME: &CStr = c"vkSetDebugUtilsObjectNameEXT";
    // SAFETY: as this function is called; the layer below has one of this name and type.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let info = &*info;
        if [vk::ObjectType::PIPELINE, vk::ObjectType::SHADER_MODULE].contains(&info.object_type) {
            note_name(&device, info.object_type == vk::ObjectType::PIPELINE, info.object_handle, info.p_object_name);
        }
        let Some(next) = device.next(NAME) else { return vk::Result::SUCCESS };
        mem::transmute::<Function, vk::PFN_vkSetDebugUtilsObjectNameEXT>(next)(of, info)
    }
}

unsafe extern "system" fn set_marker_name(of: vk::Device, info: *const vk::DebugMarkerObjectNameInfoEXT<'_>) -> vk::Result {
    const NAME: &CStr = c"vkDebugMarkerSetObjectNameEXT";
    // SAFETY: as for `set_name`.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let info = &*info;
        let ty = info.object_type;
        if [vk::DebugReportObjectTypeEXT::PIPELINE, vk::DebugReportObjectTypeEXT::SHADER_MODULE].contains(&ty) {
            note_name(&device, ty == vk::DebugReportObjectTypeEXT::PIPELINE, info.object, info.p_object_name);
        }
        let Some(next) = device.next(NAME) else { return vk::Result::SUCCESS };
        mem::transmute::<Function, vk::PFN_vkDebugMarkerSetObjectNameEXT>(next)(of, info)
    }
}

// ---- buffers and descriptors ------------------------------------------------------------------------------------------------

unsafe extern "system" fn create_buffer(
    of: vk::Device,
    info: *const vk::BufferCreateInfo<'_>,
    allocator: Allocator<'_>,
    buffer: *mut vk::Buffer,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_0().create_buffer)(of, info, allocator, buffer);
        if result == vk::Result::SUCCESS {
            device.sets().buffers.insert(*buffer, Buffer { bytes: (*info).size, usage: (*info).usage });
        }
        result
    }
}

unsafe extern "system" fn destroy_buffer(of: vk::Device, buffer: vk::Buffer, allocator: Allocator<'_>) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return };
        device.sets().buffers.remove(&buffer);
        (device.below.fp_v1_0().destroy_buffer)(of, buffer, allocator);
    }
}

unsafe extern "system" fn create_buffer_view(
    of: vk::Device,
    info: *const vk::BufferViewCreateInfo<'_>,
    allocator: Allocator<'_>,
    view: *mut vk::BufferView,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_0().create_buffer_view)(of, info, allocator, view);
        if result == vk::Result::SUCCESS {
            let mut sets = device.sets();
            let bytes = sets.range((*info).buffer, (*info).offset, (*info).range);
            sets.views.insert(*view, bytes);
        }
        result
    }
}

unsafe extern "system" fn destroy_buffer_view(of: vk::Device, view: vk::BufferView, allocator: Allocator<'_>) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return };
        device.sets().views.remove(&view);
        (device.below.fp_v1_0().destroy_buffer_view)(of, view, allocator);
    }
}

unsafe extern "system" fn allocate_sets(
    of: vk::Device,
    info: *const vk::DescriptorSetAllocateInfo<'_>,
    sets: *mut vk::DescriptorSet,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_0().allocate_descriptor_sets)(of, info, sets);
        if result == vk::Result::SUCCESS {
            device.sets().allocated((*info).descriptor_pool, list(sets, (*info).descriptor_set_count));
        }
        result
    }
}

unsafe extern "system" fn free_sets(
    of: vk::Device,
    pool: vk::DescriptorPool,
    count: u32,
    sets: *const vk::DescriptorSet,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        device.sets().freed(pool, list(sets, count));
        (device.below.fp_v1_0().free_descriptor_sets)(of, pool, count, sets)
    }
}

unsafe extern "system" fn reset_descriptor_pool(
    of: vk::Device,
    pool: vk::DescriptorPool,
    flags: vk::DescriptorPoolResetFlags,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        device.sets().emptied(pool);
        (device.below.fp_v1_0().reset_descriptor_pool)(of, pool, flags)
    }
}

unsafe extern "system" fn destroy_descriptor_pool(of: vk::Device, pool: vk::DescriptorPool, allocator: Allocator<'_>) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return };
        device.sets().emptied(pool);
        (device.below.fp_v1_0().destroy_descriptor_pool)(of, pool, allocator);
    }
}

unsafe extern "system" fn update_sets(
    of: vk::Device,
    write_count: u32,
    writes: *const vk::WriteDescriptorSet<'_>,
    copy_count: u32,
    copies: *const vk::CopyDescriptorSet<'_>,
) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return };
        let mut sets = device.sets();
        sets.write(list(writes, write_count), None);
        list(copies, copy_count).iter().for_each(|copy| sets.copy(copy));
        drop(sets);
        (device.below.fp_v1_0().update_descriptor_sets)(of, write_count, writes, copy_count, copies);
    }
}

unsafe extern "system" fn create_template(
    of: vk::Device,
    info: *const vk::DescriptorUpdateTemplateCreateInfo<'_>,
    allocator: Allocator<'_>,
    template: *mut vk::DescriptorUpdateTemplate,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_1().create_descriptor_update_template)(of, info, allocator, template);
        if result == vk::Result::SUCCESS {
            let entries = list((*info).p_descriptor_update_entries, (*info).descriptor_update_entry_count);
            device.sets().templates.insert(*template, entries.to_vec());
        }
        result
    }
}

unsafe extern "system" fn destroy_template(of: vk::Device, template: vk::DescriptorUpdateTemplate, allocator: Allocator<'_>) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return };
        device.sets().templates.remove(&template);
        (device.below.fp_v1_1().destroy_descriptor_update_template)(of, template, allocator);
    }
}

unsafe extern "system" fn update_with_template(
    of: vk::Device,
    set: vk::DescriptorSet,
    template: vk::DescriptorUpdateTemplate,
    data: *const c_void,
) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return };
        device.sets().write_by_template(set, template, data, None);
        (device.below.fp_v1_1().update_descriptor_set_with_template)(of, set, template, data);
    }
}

// ---- command buffers ------------------------------------------------------------------------------------------------------

unsafe extern "system" fn create_command_pool(
    of: vk::Device,
    info: *const vk::CommandPoolCreateInfo<'_>,
    allocator: Allocator<'_>,
    pool: *mut vk::CommandPool,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_0().create_command_pool)(of, info, allocator, pool);
        if result == vk::Result::SUCCESS {
            let family = (*info).queue_family_index;
            device.command_pools().insert(*pool, CommandPool { family, buffers: Vec::new() });
        }
        result
    }
}

unsafe extern "system" fn destroy_command_pool(of: vk::Device, pool: vk::CommandPool, allocator: Allocator<'_>) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return };
        let own = device.command_pools().remove(&pool);
        device.remove_buffers(&own.map(|own| own.buffers).unwrap_or_default());
        (device.below.fp_v1_0().destroy_command_pool)(of, pool, allocator);
    }
}

unsafe extern "system" fn reset_command_pool(
    of: vk::Device,
    pool: vk::CommandPool,
    flags: vk::CommandPoolResetFlags,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let own = device.command_pools().get(&pool).map(|own| own.buffers.clone()).unwrap_or_default();
        for buffer in own {
            with(&device, buffer, |recording| recording.reset(&device));
        }
        (device.below.fp_v1_0().reset_command_pool)(of, pool, flags)
    }
}

unsafe extern "system" fn allocate_command_buffers(
    of: vk::Device,
    info: *const vk::CommandBufferAllocateInfo<'_>,
    buffers: *mut vk::CommandBuffer,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_0().allocate_command_buffers)(of, info, buffers);
        if result == vk::Result::SUCCESS {
            let info = &*info;
            let is_primary = info.level == vk::CommandBufferLevel::PRIMARY;
            device.add_buffers(info.command_pool, list(buffers, info.command_buffer_count), is_primary);
        }
        result
    }
}

unsafe extern "system" fn free_command_buffers(
    of: vk::Device,
    pool: vk::CommandPool,
    count: u32,
    buffers: *const vk::CommandBuffer,
) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return };
        let freed = list(buffers, count);
        if let Some(own) = device.command_pools().get_mut(&pool) {
            own.buffers.retain(|buffer| !freed.contains(buffer));
        }
        device.remove_buffers(freed);
        (device.below.fp_v1_0().free_command_buffers)(of, pool, count, buffers);
    }
}

/// Does something with what is known of a command buffer.
fn with<T>(device: &Device, buffer: vk::CommandBuffer, act: impl FnOnce(&mut Recording) -> T) -> Option<T> {
    let recording = device.recording(buffer)?;
    let mut recording = locked(&recording);
    Some(act(&mut recording))
}

unsafe extern "system" fn begin_command_buffer(
    buffer: vk::CommandBuffer,
    info: *const vk::CommandBufferBeginInfo<'_>,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(buffer) else { return UNKNOWN };
        with(&device, buffer, |recording| recording.reset(&device));
        (device.below.fp_v1_0().begin_command_buffer)(buffer, info)
    }
}

unsafe extern "system" fn reset_command_buffer(buffer: vk::CommandBuffer, flags: vk::CommandBufferResetFlags) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(buffer) else { return UNKNOWN };
        with(&device, buffer, |recording| recording.reset(&device));
        (device.below.fp_v1_0().reset_command_buffer)(buffer, flags)
    }
}

unsafe extern "system" fn end_command_buffer(buffer: vk::CommandBuffer) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(buffer) else { return UNKNOWN };
        with(&device, buffer, Recording::end);
        (device.below.fp_v1_0().end_command_buffer)(buffer)
    }
}

unsafe extern "system" fn bind_pipeline(buffer: vk::CommandBuffer, point: vk::PipelineBindPoint, pipeline: vk::Pipeline) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(buffer) else { return };
        if point == vk::PipelineBindPoint::COMPUTE {
            let known = device.pipeline(pipeline);
            with(&device, buffer, |recording| recording.bind_pipeline(known));
        }
        (device.below.fp_v1_0().cmd_bind_pipeline)(buffer, point, pipeline);
    }
}

/// A dispatch after this is of a shader object, and not of the pipeline that was bound before.
unsafe extern "system" fn bind_shaders(
    buffer: vk::CommandBuffer,
    count: u32,
    stages: *const vk::ShaderStageFlags,
    shaders: *const vk::ShaderEXT,
) {
    const NAME: &CStr = c"vkCmdBindShadersEXT";
    // SAFETY: as this function is called; the layer below has one of this name and type.
    unsafe {
        let Some(device) = device(buffer) else { return };
        if list(stages, count).contains(&vk::ShaderStageFlags::COMPUTE) {
            with(&device, buffer, |recording| recording.bind_pipeline(None));
        }
        if let Some(next) = device.next(NAME) {
            mem::transmute::<Function, vk::PFN_vkCmdBindShadersEXT>(next)(buffer, count, stages, shaders);
        }
    }
}

unsafe extern "system" fn bind_sets(
    buffer: vk::CommandBuffer,
    point: vk::PipelineBindPoint,
    layout: vk::PipelineLayout,
    first: u32,
    count: u32,
    sets: *const vk::DescriptorSet,
    dynamic_count: u32,
    dynamic: *const u32,
) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(buffer) else { return };
        if point == vk::PipelineBindPoint::COMPUTE {
            let bytes: Vec<u64> = {
                let known = device.sets();
                list(sets, count).iter().map(|set| known.bytes(*set)).collect()
            };
            with(&device, buffer, |recording| {
                (first..).zip(bytes).for_each(|(at, bytes)| recording.bind_set(at, bytes));
            });
        }
        let bind = device.below.fp_v1_0().cmd_bind_descriptor_sets;
        bind(buffer, point, layout, first, count, sets, dynamic_count, dynamic);
    }
}

/// Notes what is pushed.
///
/// # Safety
/// The writes are ones that vkCmdPushDescriptorSetKHR takes.
unsafe fn note_pushed(
    device: &Device,
    buffer: vk::CommandBuffer,
    point: vk::PipelineBindPoint,
    set: u32,
    writes: &[vk::WriteDescriptorSet<'_>],
) {
    if point == vk::PipelineBindPoint::COMPUTE {
        with(device, buffer, |recording| {
            // SAFETY: the caller's promise.
            recording.push_set(set, |bound| unsafe { device.sets().write(writes, Some(bound)) });
        });
    }
}

macro_rules! push_sets {
    ($($name:literal, $function:ident;)*) => { $(
        unsafe extern "system" fn $function(
            buffer: vk::CommandBuffer,
            point: vk::PipelineBindPoint,
            layout: vk::PipelineLayout,
            set: u32,
            count: u32,
            writes: *const vk::WriteDescriptorSet<'_>,
        ) {
            // SAFETY: as this function is called; the layer below has one of this name and type.
            unsafe {
                let Some(device) = device(buffer) else { return };
                note_pushed(&device, buffer, point, set, list(writes, count));
                if let Some(next) = device.next($name) {
                    mem::transmute::<Function, vk::PFN_vkCmdPushDescriptorSetKHR>(next)(buffer, point, layout, set, count, writes);
                }
            }
        }
    )* };
}

push_sets! {
    c"vkCmdPushDescriptorSetKHR", push_set;
    c"vkCmdPushDescriptorSet", push_set_of_core;
}

macro_rules! push_with_templates {
    ($($name:literal, $function:ident;)*) => { $(
        unsafe extern "system" fn $function(
            buffer: vk::CommandBuffer,
            template: vk::DescriptorUpdateTemplate,
            layout: vk::PipelineLayout,
            set: u32,
            data: *const c_void,
        ) {
            // SAFETY: as this function is called; the layer below has one of this name and type.
            unsafe {
                let Some(device) = device(buffer) else { return };
                with(&device, buffer, |recording| {
                    recording.push_set(set, |bound| {
                        device.sets().write_by_template(vk::DescriptorSet::null(), template, data, Some(bound));
                    });
                });
                if let Some(next) = device.next($name) {
                    type Next = vk::PFN_vkCmdPushDescriptorSetWithTemplateKHR;
                    mem::transmute::<Function, Next>(next)(buffer, template, layout, set, data);
                }
            }
        }
    )* };
}

push_with_templates! {
    c"vkCmdPushDescriptorSetWithTemplateKHR", push_with_template;
    c"vkCmdPushDescriptorSetWithTemplate", push_with_template_of_core;
}

unsafe extern "system" fn begin_label(buffer: vk::CommandBuffer, info: *const vk::DebugUtilsLabelEXT<'_>) {
    const NAME: &CStr = c"vkCmdBeginDebugUtilsLabelEXT";
    // SAFETY: as this function is called; the layer below has one of this name and type.
    unsafe {
        let Some(device) = device(buffer) else { return };
        let label = clean(&CStr::from_ptr((*info).p_label_name).to_string_lossy());
        with(&device, buffer, |recording| recording.begin_label(label));
        if let Some(next) = device.next(NAME) {
            mem::transmute::<Function, vk::PFN_vkCmdBeginDebugUtilsLabelEXT>(next)(buffer, info);
        }
    }
}

unsafe extern "system" fn end_label(buffer: vk::CommandBuffer) {
    const NAME: &CStr = c"vkCmdEndDebugUtilsLabelEXT";
    // SAFETY: as this function is called; the layer below has one of this name and type.
    unsafe {
        let Some(device) = device(buffer) else { return };
        with(&device, buffer, Recording::end_label);
        if let Some(next) = device.next(NAME) {
            mem::transmute::<Function, vk::PFN_vkCmdEndDebugUtilsLabelEXT>(next)(buffer);
        }
    }
}

// ---- dispatches -----------------------------------------------------------------------------------------------------------

/// Records a dispatch by `record`, which must be called once whatever is known.
///
/// # Safety
/// As vkCmdDispatch.
unsafe fn dispatched(
    device: &Device,
    buffer: vk::CommandBuffer,
    groups: Option<[u32; 3]>,
    indirect: Option<(vk::Buffer, u64)>,
    record: impl Fn(),
) {
    // SAFETY: the caller's promise.
    let noted = with(device, buffer, |recording| unsafe { recording.dispatch(device, buffer, groups, indirect, &record) });
    if noted.is_none() {
        record();
    }
}

unsafe extern "system" fn dispatch(buffer: vk::CommandBuffer, x: u32, y: u32, z: u32) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(buffer) else { return };
        dispatched(&device, buffer, Some([x, y, z]), None, || (device.below.fp_v1_0().cmd_dispatch)(buffer, x, y, z));
    }
}

unsafe extern "system" fn dispatch_base(
    buffer: vk::CommandBuffer,
    base_x: u32,
    base_y: u32,
    base_z: u32,
    x: u32,
    y: u32,
    z: u32,
) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(buffer) else { return };
        let record = || (device.below.fp_v1_1().cmd_dispatch_base)(buffer, base_x, base_y, base_z, x, y, z);
        dispatched(&device, buffer, Some([x, y, z]), None, record);
    }
}

unsafe extern "system" fn dispatch_indirect(buffer: vk::CommandBuffer, from: vk::Buffer, offset: vk::DeviceSize) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(buffer) else { return };
        let record = || (device.below.fp_v1_0().cmd_dispatch_indirect)(buffer, from, offset);
        dispatched(&device, buffer, None, Some((from, offset)), record);
    }
}

unsafe extern "system" fn execute_commands(buffer: vk::CommandBuffer, count: u32, secondaries: *const vk::CommandBuffer) {
    // SAFETY: as this function is called; one by one is the same.
    unsafe {
        let Some(device) = device(buffer) else { return };
        for secondary in list(secondaries, count) {
            (device.below.fp_v1_0().cmd_execute_commands)(buffer, 1, secondary);
            if let Some(recorded) = device.recorded(*secondary) {
                with(&device, buffer, |recording| recording.executed(&device, buffer, &recorded));
            }
        }
    }
}

// ---- queues ---------------------------------------------------------------------------------------------------------------

unsafe extern "system" fn queue_submit(
    queue: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: as this function is called; what is submitted is as the application's, with more command buffers.
    unsafe {
        let Some(device) = device(queue) else { return UNKNOWN };
        let below = device.below.fp_v1_0().queue_submit;
        let known = device.queue(queue).zip(device.next_submission());
        let Some((own, number)) = known else { return below(queue, count, submits, fence) };
        let mut own = locked(&own);
        let (mut submitted, mut all) = (Submitted::new(number), Vec::new());
        let mut infos = list(submits, count).to_vec();
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

unsafe extern "system" fn queue_submit2(
    queue: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo2<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: as for `queue_submit`.
    unsafe {
        let Some(device) = device(queue) else { return UNKNOWN };
        let below = device.below.fp_v1_3().queue_submit2;
        let known = device.queue(queue).zip(device.next_submission());
        let Some((own, number)) = known else { return below(queue, count, submits, fence) };
        let mut own = locked(&own);
        let (mut submitted, mut all) = (Submitted::new(number), Vec::new());
        let mut infos = list(submits, count).to_vec();
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

unsafe extern "system" fn queue_wait_idle(queue: vk::Queue) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(queue) else { return UNKNOWN };
        let result = (device.below.fp_v1_0().queue_wait_idle)(queue);
        device.collect();
        result
    }
}

unsafe extern "system" fn device_wait_idle(of: vk::Device) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_0().device_wait_idle)(of);
        device.collect();
        result
    }
}

unsafe extern "system" fn wait_for_fences(
    of: vk::Device,
    count: u32,
    fences: *const vk::Fence,
    wait_all: vk::Bool32,
    timeout: u64,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_0().wait_for_fences)(of, count, fences, wait_all, timeout);
        device.collect();
        result
    }
}

unsafe extern "system" fn get_fence_status(of: vk::Device, fence: vk::Fence) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_0().get_fence_status)(of, fence);
        if result == vk::Result::SUCCESS {
            device.collect();
        }
        result
    }
}

unsafe extern "system" fn wait_semaphores(of: vk::Device, info: *const vk::SemaphoreWaitInfo<'_>, timeout: u64) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_2().wait_semaphores)(of, info, timeout);
        device.collect();
        result
    }
}

unsafe extern "system" fn get_counter_value(of: vk::Device, semaphore: vk::Semaphore, value: *mut u64) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_2().get_semaphore_counter_value)(of, semaphore, value);
        device.collect();
        result
    }
}
