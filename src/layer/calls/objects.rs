//! Modules, pipelines, buffers and descriptors.

use std::ffi::{CStr, c_char, c_void};
use std::mem;
use std::sync::Arc;

use ash::vk;
use ash::vk::Handle;
use lanescope_chain::Function;

use super::{Allocator, UNKNOWN, destroyed, device, list, made};
use crate::contents::copied;
use crate::device::{Device, locked};
use crate::kernel::{Kernel, Module, chained};
use crate::log::clean;
use crate::sets::SetLayout;
use crate::statistics;

made! {
    create_shader_module, fp_v1_0.create_shader_module, vk::ShaderModuleCreateInfo<'_> => vk::ShaderModule, |device, info, module| {
        device.names().remove(&module);
        device.modules().insert(module, Arc::new(Module::of(info)))
    };
    create_pipeline_layout, fp_v1_0.create_pipeline_layout, vk::PipelineLayoutCreateInfo<'_> => vk::PipelineLayout,
        |device, info, layout| {
        let mut sets = device.sets();
        let own = list(info.p_set_layouts, info.set_layout_count).iter();
        let own = own.map(|set| sets.set_layouts.get(set).map(Arc::clone).unwrap_or_default()).collect();
        sets.layouts.insert(layout, own)
    };
    allocate_memory, fp_v1_0.allocate_memory, vk::MemoryAllocateInfo<'_> => vk::DeviceMemory, |device, info, memory| {
        let place = device.memory_place(info.memory_type_index);
        device.sets().memories.insert(memory, place)
    };
    create_set_layout, fp_v1_0.create_descriptor_set_layout,
        vk::DescriptorSetLayoutCreateInfo<'_> => vk::DescriptorSetLayout,
        |device, info, layout| device.sets().set_layouts.insert(layout, Arc::new(SetLayout::of(info)));
    create_buffer_view, fp_v1_0.create_buffer_view, vk::BufferViewCreateInfo<'_> => vk::BufferView, |device, info, view| {
        let mut sets = device.sets();
        let bytes = sets.range(info.buffer, info.offset, info.range);
        sets.views.insert(view, bytes)
    };
    create_template, fp_v1_1.create_descriptor_update_template,
        vk::DescriptorUpdateTemplateCreateInfo<'_> => vk::DescriptorUpdateTemplate, |device, info, template| {
        let entries = list(info.p_descriptor_update_entries, info.descriptor_update_entry_count);
        device.sets().templates.insert(template, entries.to_vec())
    };
}

destroyed! {
    destroy_shader_module, fp_v1_0.destroy_shader_module, vk::ShaderModule, |device, module| device.modules().remove(&module);
    destroy_pipeline_layout, fp_v1_0.destroy_pipeline_layout, vk::PipelineLayout,
        |device, layout| device.sets().layouts.remove(&layout);
    destroy_pipeline, fp_v1_0.destroy_pipeline, vk::Pipeline, |device, pipeline| device.remove_pipeline(pipeline);
    destroy_set_layout, fp_v1_0.destroy_descriptor_set_layout, vk::DescriptorSetLayout,
        |device, layout| device.sets().set_layouts.remove(&layout);
    destroy_buffer_view, fp_v1_0.destroy_buffer_view, vk::BufferView, |device, view| device.sets().views.remove(&view);
    destroy_descriptor_pool, fp_v1_0.destroy_descriptor_pool, vk::DescriptorPool, |device, pool| device.sets().emptied(pool);
    destroy_template, fp_v1_1.destroy_descriptor_update_template, vk::DescriptorUpdateTemplate,
        |device, template| device.sets().templates.remove(&template);
}

pub(super) unsafe extern "system" fn destroy_buffer(of: vk::Device, buffer: vk::Buffer, allocator: Allocator<'_>) {
    // SAFETY: as this function is called; who allocates otherwise keeps to that.
    unsafe {
        let Some(device) = device(of) else { return };
        device.sets().buffers.remove(&buffer);
        if !(allocator.is_null() && device.pins().keeps_buffer(buffer)) {
            (device.below.fp_v1_0().destroy_buffer)(of, buffer, allocator);
        }
    }
}

pub(super) unsafe extern "system" fn free_memory(of: vk::Device, memory: vk::DeviceMemory, allocator: Allocator<'_>) {
    // SAFETY: as this function is called; who allocates otherwise keeps to that.
    unsafe {
        let Some(device) = device(of) else { return };
        device.sets().memories.remove(&memory);
        if !(allocator.is_null() && device.pins().keeps_memory(memory)) {
            (device.below.fp_v1_0().free_memory)(of, memory, allocator);
        }
    }
}

pub(super) unsafe extern "system" fn create_buffer(
    of: vk::Device,
    info: *const vk::BufferCreateInfo<'_>,
    allocator: Allocator<'_>,
    buffer: *mut vk::Buffer,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let info = copied(&*info);
        let result = (device.below.fp_v1_0().create_buffer)(of, &info, allocator, buffer);
        if result == vk::Result::SUCCESS {
            device.sets().add_buffer(*buffer, &info);
        }
        result
    }
}

pub(super) unsafe extern "system" fn get_buffer_requirements(
    of: vk::Device,
    info: *const vk::DeviceBufferMemoryRequirements<'_>,
    requirements: *mut vk::MemoryRequirements2<'_>,
) {
    // SAFETY: as this function is called: those of the buffer that is made in the place of the application's.
    unsafe {
        let Some(device) = device(of) else { return };
        let create = copied(&*(*info).p_create_info);
        let info = vk::DeviceBufferMemoryRequirements { p_create_info: &create, ..*info };
        (device.below.fp_v1_3().get_device_buffer_memory_requirements)(of, &info, requirements);
    }
}

pub(super) unsafe extern "system" fn bind_buffer_memory(
    of: vk::Device,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    offset: vk::DeviceSize,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        device.sets().bind_memory(buffer, memory, offset);
        (device.below.fp_v1_0().bind_buffer_memory)(of, buffer, memory, offset)
    }
}

pub(super) unsafe extern "system" fn bind_buffer_memory2(
    of: vk::Device,
    count: u32,
    infos: *const vk::BindBufferMemoryInfo<'_>,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        list(infos, count).iter().for_each(|info| device.sets().bind_memory(info.buffer, info.memory, info.memory_offset));
        (device.below.fp_v1_1().bind_buffer_memory2)(of, count, infos)
    }
}

/// A call that says where a buffer begins for the device, under one of its names.
macro_rules! addresses {
    ($($name:literal, $function:ident;)*) => { $(
        pub(super) unsafe extern "system" fn $function(
            of: vk::Device,
            info: *const vk::BufferDeviceAddressInfo<'_>,
        ) -> vk::DeviceAddress {
            // SAFETY: as this function is called; the layer below has one of this name and type.
            unsafe {
                let Some(device) = device(of) else { return 0 };
                let Some(next) = device.function($name) else { return 0 };
                let address = mem::transmute::<Function, vk::PFN_vkGetBufferDeviceAddress>(next)(of, info);
                if let Some(buffer) = device.sets().buffers.get_mut(&(*info).buffer) {
                    buffer.address = Some(address).filter(|address| *address != 0);
                }
                address
            }
        }
    )* };
}

addresses! {
    c"vkGetBufferDeviceAddress", get_address;
    c"vkGetBufferDeviceAddressKHR", get_address_khr;
    c"vkGetBufferDeviceAddressEXT", get_address_ext;
}

pub(super) unsafe extern "system" fn create_compute_pipelines(
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
        let infos = list(infos, count);
        let asked = device.statistics.as_ref().map(|_| statistics::asked(infos));
        let below = asked.as_deref().unwrap_or(infos).as_ptr();
        let result = (device.below.fp_v1_0().create_compute_pipelines)(of, cache, count, below, allocator, pipelines);
        // Of several some may have been made.
        let is_asked = |at: usize| {
            let flags = asked.as_ref().and_then(|asked| asked.get(at)).map(|info| info.flags);
            flags.is_some_and(|flags| flags.contains(vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR))
        };
        for (at, (info, pipeline)) in
            infos.iter().zip(list(pipelines, count)).enumerate().filter(|(_, (_, raw))| !raw.is_null())
        {
            let stage = &info.stage;
            let module = device.modules().get(&stage.module).map(Arc::clone);
            let sets = device.sets().layouts.get(&info.layout).map_or(usize::MAX, Vec::len);
            let identifier: Option<&vk::PipelineShaderStageModuleIdentifierCreateInfoEXT<'_>> =
                chained(stage.p_next, vk::StructureType::PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT);
            if identifier.is_some_and(|identifier| identifier.identifier_size > 0) {
                device.log.not_followed("module identifiers");
            }
            device.add_pipeline(*pipeline, is_asked(at), Kernel::of(stage, module, sets), stage.module);
        }
        result
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

pub(super) unsafe extern "system" fn set_name(of: vk::Device, info: *const vk::DebugUtilsObjectNameInfoEXT<'_>) -> vk::Result {
    const NAME: &CStr = c"vkSetDebugUtilsObjectNameEXT";
    // SAFETY: as this function is called; the layer below has one of this name and type.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let info = &*info;
        if [vk::ObjectType::PIPELINE, vk::ObjectType::SHADER_MODULE].contains(&info.object_type) {
            note_name(&device, info.object_type == vk::ObjectType::PIPELINE, info.object_handle, info.p_object_name);
        }
        let Some(next) = device.function(NAME) else { return vk::Result::SUCCESS };
        mem::transmute::<Function, vk::PFN_vkSetDebugUtilsObjectNameEXT>(next)(of, info)
    }
}

pub(super) unsafe extern "system" fn set_marker_name(
    of: vk::Device,
    info: *const vk::DebugMarkerObjectNameInfoEXT<'_>,
) -> vk::Result {
    const NAME: &CStr = c"vkDebugMarkerSetObjectNameEXT";
    // SAFETY: as for `set_name`.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let info = &*info;
        let ty = info.object_type;
        if [vk::DebugReportObjectTypeEXT::PIPELINE, vk::DebugReportObjectTypeEXT::SHADER_MODULE].contains(&ty) {
            note_name(&device, ty == vk::DebugReportObjectTypeEXT::PIPELINE, info.object, info.p_object_name);
        }
        let Some(next) = device.function(NAME) else { return vk::Result::SUCCESS };
        mem::transmute::<Function, vk::PFN_vkDebugMarkerSetObjectNameEXT>(next)(of, info)
    }
}

pub(super) unsafe extern "system" fn allocate_sets(
    of: vk::Device,
    info: *const vk::DescriptorSetAllocateInfo<'_>,
    sets: *mut vk::DescriptorSet,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(of) else { return UNKNOWN };
        let result = (device.below.fp_v1_0().allocate_descriptor_sets)(of, info, sets);
        if result == vk::Result::SUCCESS {
            let (info, count) = (&*info, (*info).descriptor_set_count);
            device.sets().allocated(info.descriptor_pool, list(sets, count), list(info.p_set_layouts, count));
        }
        result
    }
}

pub(super) unsafe extern "system" fn free_sets(
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

pub(super) unsafe extern "system" fn reset_descriptor_pool(
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

pub(super) unsafe extern "system" fn update_sets(
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

pub(super) unsafe extern "system" fn update_with_template(
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
