//! Command buffers, and what is recorded into them.

use std::ffi::{CStr, c_void};
use std::mem;

use ash::vk;
use lanescope_chain::Function;

use super::{Allocator, UNKNOWN, destroyed, device, list, made};
use crate::contents::WANTED;
use crate::device::{CommandPool, Device, locked};
use crate::log::clean;
use crate::recording::Recording;
use crate::sets::Pushed;

made! {
    create_command_pool, fp_v1_0.create_command_pool, vk::CommandPoolCreateInfo<'_> => vk::CommandPool, |device, info, pool| {
        let may_copy = !info.flags.contains(vk::CommandPoolCreateFlags::PROTECTED);
        let is_timed = may_copy && device.is_timed(info.queue_family_index);
        let is_compute = device.is_compute(info.queue_family_index);
        device.command_pools().insert(pool, CommandPool { is_timed, may_copy, is_compute, buffers: Vec::new() })
    };
}

destroyed! {
    destroy_command_pool, fp_v1_0.destroy_command_pool, vk::CommandPool, |device, pool| {
        let own = device.command_pools().remove(&pool);
        device.remove_buffers(&own.map(|own| own.buffers).unwrap_or_default())
    };
}

pub(super) unsafe extern "system" fn reset_command_pool(
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

pub(super) unsafe extern "system" fn allocate_command_buffers(
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
            device.add_buffers(info.command_pool, list(buffers, info.command_buffer_count));
        }
        result
    }
}

pub(super) unsafe extern "system" fn free_command_buffers(
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

/// Notes that other work than a dispatch is recorded.
pub(super) fn disturbed(device: &Device, buffer: vk::CommandBuffer) {
    with(device, buffer, Recording::disturbed);
}

/// Does something with what is known of a command buffer.
fn with<T>(device: &Device, buffer: vk::CommandBuffer, act: impl FnOnce(&mut Recording) -> T) -> Option<T> {
    let recording = device.recording(buffer)?;
    let mut recording = locked(&recording);
    Some(act(&mut recording))
}

pub(super) unsafe extern "system" fn begin_command_buffer(
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

pub(super) unsafe extern "system" fn reset_command_buffer(
    buffer: vk::CommandBuffer,
    flags: vk::CommandBufferResetFlags,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(buffer) else { return UNKNOWN };
        with(&device, buffer, |recording| recording.reset(&device));
        (device.below.fp_v1_0().reset_command_buffer)(buffer, flags)
    }
}

pub(super) unsafe extern "system" fn end_command_buffer(buffer: vk::CommandBuffer) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(buffer) else { return UNKNOWN };
        with(&device, buffer, Recording::end);
        (device.below.fp_v1_0().end_command_buffer)(buffer)
    }
}

pub(super) unsafe extern "system" fn bind_pipeline(
    buffer: vk::CommandBuffer,
    point: vk::PipelineBindPoint,
    pipeline: vk::Pipeline,
) {
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
pub(super) unsafe extern "system" fn bind_shaders(
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
        if let Some(next) = device.function(NAME) {
            mem::transmute::<Function, vk::PFN_vkCmdBindShadersEXT>(next)(buffer, count, stages, shaders);
        }
    }
}

pub(super) unsafe extern "system" fn bind_sets(
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
            note_bound(&device, buffer, first, list(sets, count), list(dynamic, dynamic_count));
        }
        let bind = device.below.fp_v1_0().cmd_bind_descriptor_sets;
        bind(buffer, point, layout, first, count, sets, dynamic_count, dynamic);
    }
}

fn note_bound(device: &Device, buffer: vk::CommandBuffer, first: u32, sets: &[vk::DescriptorSet], dynamic: &[u32]) {
    let bytes: Vec<u64> = {
        let known = device.sets();
        sets.iter().map(|set| known.bytes(*set)).collect()
    };
    with(device, buffer, |recording| (first..).zip(bytes).for_each(|(at, bytes)| recording.bind_set(at, bytes)));
    if WANTED.is_none() {
        return;
    }
    let mut offsets = dynamic.iter().copied();
    let known = device.sets();
    let bound: Vec<_> = (first..)
        .zip(sets)
        .filter_map(|(at, set)| {
            let set = known.set(*set)?;
            Some((at, set.with_offsets(&mut offsets), set.layout.is_updated_after_bind))
        })
        .collect();
    drop(known);
    with(device, buffer, |recording| bound.into_iter().for_each(|(at, bound, is)| recording.bind_contents(at, bound, is)));
}

pub(super) unsafe extern "system" fn push_constants(
    buffer: vk::CommandBuffer,
    layout: vk::PipelineLayout,
    stages: vk::ShaderStageFlags,
    offset: u32,
    size: u32,
    values: *const c_void,
) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(buffer) else { return };
        note_constants(&device, buffer, stages, offset, list(values.cast(), size));
        (device.below.fp_v1_0().cmd_push_constants)(buffer, layout, stages, offset, size, values);
    }
}

fn note_constants(device: &Device, buffer: vk::CommandBuffer, stages: vk::ShaderStageFlags, offset: u32, values: &[u8]) {
    if WANTED.is_some() && stages.contains(vk::ShaderStageFlags::COMPUTE) {
        with(device, buffer, |recording| recording.push_constants(offset, values));
    }
}

/// Calls whose arguments are in a structure, each under two names.
macro_rules! of_structures {
    ($($name:literal, $function:ident, $info:ty, |$device:ident, $buffer:ident, $given:ident| $note:expr;)*) => { $(
        pub(super) unsafe extern "system" fn $function($buffer: vk::CommandBuffer, info: *const $info) {
            type Next = unsafe extern "system" fn(vk::CommandBuffer, *const $info);
            // SAFETY: as this function is called; the layer below has one of this name and type.
            unsafe {
                let Some($device) = device($buffer) else { return };
                let $given = &*info;
                $note;
                if let Some(next) = $device.function($name) {
                    mem::transmute::<Function, Next>(next)($buffer, info);
                }
            }
        }
    )* };
}

of_structures! {
    c"vkCmdBindDescriptorSets2KHR", bind_sets2, vk::BindDescriptorSetsInfoKHR<'_>,
        |device, buffer, info| note_bound2(&device, buffer, info);
    c"vkCmdBindDescriptorSets2", bind_sets2_of_core, vk::BindDescriptorSetsInfoKHR<'_>,
        |device, buffer, info| note_bound2(&device, buffer, info);
    c"vkCmdPushDescriptorSet2KHR", push_set2, vk::PushDescriptorSetInfoKHR<'_>,
        |device, buffer, info| note_pushed2(&device, buffer, info);
    c"vkCmdPushDescriptorSet2", push_set2_of_core, vk::PushDescriptorSetInfoKHR<'_>,
        |device, buffer, info| note_pushed2(&device, buffer, info);
    c"vkCmdPushDescriptorSetWithTemplate2KHR", push_with_template2, vk::PushDescriptorSetWithTemplateInfoKHR<'_>,
        |device, buffer, info| note_template(&device, buffer, info.descriptor_update_template, (info.layout, info.set), info.p_data);
    c"vkCmdPushDescriptorSetWithTemplate2", push_with_template2_of_core, vk::PushDescriptorSetWithTemplateInfoKHR<'_>,
        |device, buffer, info| note_template(&device, buffer, info.descriptor_update_template, (info.layout, info.set), info.p_data);
    c"vkCmdPushConstants2KHR", push_constants2, vk::PushConstantsInfoKHR<'_>,
        |device, buffer, info| note_constants2(&device, buffer, info);
    c"vkCmdPushConstants2", push_constants2_of_core, vk::PushConstantsInfoKHR<'_>,
        |device, buffer, info| note_constants2(&device, buffer, info);
    c"vkCmdBeginRendering", begin_rendering, vk::RenderingInfo<'_>, |device, buffer, info| note_rendering(&device, buffer, info);
    c"vkCmdBeginRenderingKHR", begin_rendering_khr, vk::RenderingInfo<'_>, |device, buffer, info| note_rendering(&device, buffer, info);
}

fn note_rendering(device: &Device, buffer: vk::CommandBuffer, info: &vk::RenderingInfo<'_>) {
    device.log.not_followed("render passes");
    let suspends = info.flags.contains(vk::RenderingFlags::SUSPENDING);
    with(device, buffer, |recording| recording.begin_rendering(suspends));
}

/// # Safety
/// The structure is one that vkCmdPushConstants2 takes.
unsafe fn note_constants2(device: &Device, buffer: vk::CommandBuffer, info: &vk::PushConstantsInfoKHR<'_>) {
    // SAFETY: the caller's promise.
    let values = unsafe { list(info.p_values.cast(), info.size) };
    note_constants(device, buffer, info.stage_flags, info.offset, values);
}

/// # Safety
/// The structure is one that vkCmdBindDescriptorSets2 takes.
unsafe fn note_bound2(device: &Device, buffer: vk::CommandBuffer, info: &vk::BindDescriptorSetsInfoKHR<'_>) {
    if info.stage_flags.contains(vk::ShaderStageFlags::COMPUTE) {
        // SAFETY: the caller's promise.
        let (sets, dynamic) = unsafe {
            (list(info.p_descriptor_sets, info.descriptor_set_count), list(info.p_dynamic_offsets, info.dynamic_offset_count))
        };
        note_bound(device, buffer, info.first_set, sets, dynamic);
    }
}

/// # Safety
/// The structure is one that vkCmdPushDescriptorSet2 takes.
unsafe fn note_pushed2(device: &Device, buffer: vk::CommandBuffer, info: &vk::PushDescriptorSetInfoKHR<'_>) {
    if info.stage_flags.contains(vk::ShaderStageFlags::COMPUTE) {
        // SAFETY: the caller's promise.
        unsafe {
            let writes = list(info.p_descriptor_writes, info.descriptor_write_count);
            note_pushed(device, buffer, vk::PipelineBindPoint::COMPUTE, (info.layout, info.set), writes);
        }
    }
}

/// Notes what a template pushes.
///
/// # Safety
/// The data are ones that the template takes.
unsafe fn note_template(
    device: &Device,
    buffer: vk::CommandBuffer,
    template: vk::DescriptorUpdateTemplate,
    (layout, set): (vk::PipelineLayout, u32),
    data: *const c_void,
) {
    with(device, buffer, |recording| {
        recording.push_set(set, |bound| {
            let pushed = Pushed { layout, set, bound };
            // SAFETY: the caller's promise.
            unsafe { device.sets().write_by_template(vk::DescriptorSet::null(), template, data, Some(pushed)) };
        });
    });
}

/// Notes what is pushed.
///
/// # Safety
/// The writes are ones that vkCmdPushDescriptorSetKHR takes.
unsafe fn note_pushed(
    device: &Device,
    buffer: vk::CommandBuffer,
    point: vk::PipelineBindPoint,
    (layout, set): (vk::PipelineLayout, u32),
    writes: &[vk::WriteDescriptorSet<'_>],
) {
    if point == vk::PipelineBindPoint::COMPUTE {
        with(device, buffer, |recording| {
            // SAFETY: the caller's promise.
            recording.push_set(set, |bound| unsafe { device.sets().write(writes, Some(Pushed { layout, set, bound })) });
        });
    }
}

macro_rules! push_sets {
    ($($name:literal, $function:ident;)*) => { $(
        pub(super) unsafe extern "system" fn $function(
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
                note_pushed(&device, buffer, point, (layout, set), list(writes, count));
                if let Some(next) = device.function($name) {
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
        pub(super) unsafe extern "system" fn $function(
            buffer: vk::CommandBuffer,
            template: vk::DescriptorUpdateTemplate,
            layout: vk::PipelineLayout,
            set: u32,
            data: *const c_void,
        ) {
            // SAFETY: as this function is called; the layer below has one of this name and type.
            unsafe {
                let Some(device) = device(buffer) else { return };
                note_template(&device, buffer, template, (layout, set), data);
                if let Some(next) = device.function($name) {
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

pub(super) unsafe extern "system" fn begin_label(buffer: vk::CommandBuffer, info: *const vk::DebugUtilsLabelEXT<'_>) {
    const NAME: &CStr = c"vkCmdBeginDebugUtilsLabelEXT";
    // SAFETY: as this function is called; the layer below has one of this name and type.
    unsafe {
        let Some(device) = device(buffer) else { return };
        let label = clean(&CStr::from_ptr((*info).p_label_name).to_string_lossy());
        with(&device, buffer, |recording| recording.begin_label(label));
        if let Some(next) = device.function(NAME) {
            mem::transmute::<Function, vk::PFN_vkCmdBeginDebugUtilsLabelEXT>(next)(buffer, info);
        }
    }
}

pub(super) unsafe extern "system" fn end_label(buffer: vk::CommandBuffer) {
    const NAME: &CStr = c"vkCmdEndDebugUtilsLabelEXT";
    // SAFETY: as this function is called; the layer below has one of this name and type.
    unsafe {
        let Some(device) = device(buffer) else { return };
        with(&device, buffer, Recording::end_label);
        if let Some(next) = device.function(NAME) {
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
    base: [u32; 3],
    indirect: Option<(vk::Buffer, u64)>,
    record: impl Fn(),
) {
    // SAFETY: the caller's promise.
    let noted =
        with(device, buffer, |recording| unsafe { recording.dispatch(device, buffer, groups, base, indirect, &record) });
    if noted.is_none() {
        record();
    }
}

pub(super) unsafe extern "system" fn dispatch(buffer: vk::CommandBuffer, x: u32, y: u32, z: u32) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(buffer) else { return };
        dispatched(&device, buffer, Some([x, y, z]), [0; 3], None, || (device.below.fp_v1_0().cmd_dispatch)(buffer, x, y, z));
    }
}

pub(super) unsafe extern "system" fn dispatch_base(
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
        dispatched(&device, buffer, Some([x, y, z]), [base_x, base_y, base_z], None, record);
    }
}

pub(super) unsafe extern "system" fn dispatch_indirect(buffer: vk::CommandBuffer, from: vk::Buffer, offset: vk::DeviceSize) {
    // SAFETY: as this function is called.
    unsafe {
        let Some(device) = device(buffer) else { return };
        let record = || (device.below.fp_v1_0().cmd_dispatch_indirect)(buffer, from, offset);
        dispatched(&device, buffer, None, [0; 3], Some((from, offset)), record);
    }
}

pub(super) unsafe extern "system" fn execute_commands(
    buffer: vk::CommandBuffer,
    count: u32,
    secondaries: *const vk::CommandBuffer,
) {
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
