//! The calls that the layer stands in for.

use std::ffi::c_void;
use std::{fs, slice};

use ash::vk;
use lanescope_chain::{Named, call};

use super::chain::{self, Device, device, instance_of};
use super::clock;
use super::faults::{self, Call, Kind, Place, give_up};
use super::registers;

/// What needs no instance.
pub(crate) const GLOBAL: &[Named] = &[
    call!(c"vkGetInstanceProcAddr", PFN_vkGetInstanceProcAddr, get_instance_proc_addr),
    call!(c"vkCreateInstance", PFN_vkCreateInstance, create_instance),
];

/// What is called on instances and physical devices.
pub(crate) const INSTANCE: &[Named] = &[
    call!(c"vkDestroyInstance", PFN_vkDestroyInstance, destroy_instance),
    call!(c"vkEnumeratePhysicalDevices", PFN_vkEnumeratePhysicalDevices, enumerate_physical_devices),
    call!(c"vkGetPhysicalDeviceProperties", PFN_vkGetPhysicalDeviceProperties, get_properties),
    call!(c"vkGetPhysicalDeviceProperties2", PFN_vkGetPhysicalDeviceProperties2, get_properties2),
    call!(c"vkGetPhysicalDeviceProperties2KHR", PFN_vkGetPhysicalDeviceProperties2, get_properties2),
    call!(c"vkGetPhysicalDeviceQueueFamilyProperties", PFN_vkGetPhysicalDeviceQueueFamilyProperties, get_families),
    call!(c"vkGetPhysicalDeviceQueueFamilyProperties2", PFN_vkGetPhysicalDeviceQueueFamilyProperties2, get_families2),
    call!(c"vkGetPhysicalDeviceQueueFamilyProperties2KHR", PFN_vkGetPhysicalDeviceQueueFamilyProperties2, get_families2),
    call!(c"vkEnumerateDeviceExtensionProperties", PFN_vkEnumerateDeviceExtensionProperties, registers::enumerate_extensions),
    call!(c"vkGetPhysicalDeviceFeatures2", PFN_vkGetPhysicalDeviceFeatures2, registers::get_features2),
    call!(c"vkGetPhysicalDeviceFeatures2KHR", PFN_vkGetPhysicalDeviceFeatures2, registers::get_features2),
    call!(c"vkCreateDevice", PFN_vkCreateDevice, create_device),
];

/// What is called on devices, queues and command buffers.
pub(crate) const DEVICE: &[Named] = &[
    call!(c"vkGetDeviceProcAddr", PFN_vkGetDeviceProcAddr, get_device_proc_addr),
    call!(c"vkDestroyDevice", PFN_vkDestroyDevice, destroy_device),
    call!(c"vkDeviceWaitIdle", PFN_vkDeviceWaitIdle, device_wait_idle),
    call!(c"vkQueueWaitIdle", PFN_vkQueueWaitIdle, queue_wait_idle),
    call!(c"vkQueueSubmit", PFN_vkQueueSubmit, queue_submit),
    call!(c"vkQueueSubmit2", PFN_vkQueueSubmit2, queue_submit2),
    call!(c"vkQueueSubmit2KHR", PFN_vkQueueSubmit2, queue_submit2),
    call!(c"vkWaitForFences", PFN_vkWaitForFences, wait_for_fences),
    call!(c"vkGetFenceStatus", PFN_vkGetFenceStatus, get_fence_status),
    call!(c"vkWaitSemaphores", PFN_vkWaitSemaphores, wait_semaphores),
    call!(c"vkWaitSemaphoresKHR", PFN_vkWaitSemaphores, wait_semaphores),
    call!(c"vkGetSemaphoreCounterValue", PFN_vkGetSemaphoreCounterValue, get_semaphore_counter_value),
    call!(c"vkGetSemaphoreCounterValueKHR", PFN_vkGetSemaphoreCounterValue, get_semaphore_counter_value),
    call!(c"vkAllocateMemory", PFN_vkAllocateMemory, allocate_memory),
    call!(c"vkCreateBuffer", PFN_vkCreateBuffer, create_buffer),
    call!(c"vkCreateShaderModule", PFN_vkCreateShaderModule, create_shader_module),
    call!(c"vkCreateComputePipelines", PFN_vkCreateComputePipelines, create_compute_pipelines),
    call!(c"vkCreateQueryPool", PFN_vkCreateQueryPool, create_query_pool),
    call!(c"vkDestroyQueryPool", PFN_vkDestroyQueryPool, destroy_query_pool),
    call!(c"vkGetQueryPoolResults", PFN_vkGetQueryPoolResults, get_query_pool_results),
    call!(c"vkBeginCommandBuffer", PFN_vkBeginCommandBuffer, begin_command_buffer),
    call!(c"vkEndCommandBuffer", PFN_vkEndCommandBuffer, end_command_buffer),
    call!(c"vkCmdDispatch", PFN_vkCmdDispatch, cmd_dispatch),
    call!(c"vkCmdPipelineBarrier", PFN_vkCmdPipelineBarrier, cmd_pipeline_barrier),
    call!(c"vkCmdWriteTimestamp", PFN_vkCmdWriteTimestamp, cmd_write_timestamp),
    call!(c"vkCmdWriteTimestamp2", PFN_vkCmdWriteTimestamp2, cmd_write_timestamp2),
    call!(c"vkCmdWriteTimestamp2KHR", PFN_vkCmdWriteTimestamp2, cmd_write_timestamp2),
];

type Allocator<'a> = *const vk::AllocationCallbacks<'a>;

// ---- instances and physical devices ---------------------------------------------------------------------------------------

unsafe extern "system" fn get_instance_proc_addr(
    instance: vk::Instance,
    name: *const std::ffi::c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: as this function is called.
    unsafe { super::get_instance_proc_addr(instance, name) }
}

unsafe extern "system" fn create_instance(
    info: *const vk::InstanceCreateInfo<'_>,
    allocator: Allocator<'_>,
    instance: *mut vk::Instance,
) -> vk::Result {
    faults::at(Place::Instance, Call::default());
    // SAFETY: as this function is called.
    unsafe { chain::create_instance(info, allocator, instance) }
}

unsafe extern "system" fn destroy_instance(instance: vk::Instance, allocator: Allocator<'_>) {
    // SAFETY: as this function is called.
    unsafe { chain::destroy_instance(instance, allocator) }
}

unsafe extern "system" fn enumerate_physical_devices(
    instance: vk::Instance,
    count: *mut u32,
    devices: *mut vk::PhysicalDevice,
) -> vk::Result {
    faults::at(Place::Devices, Call::default());
    // SAFETY: as this function is called.
    unsafe {
        match chain::instance(instance) {
            Some(known) => (known.below.fp_v1_0().enumerate_physical_devices)(instance, count, devices),
            None => give_up("an unknown instance"),
        }
    }
}

unsafe extern "system" fn get_properties(physical: vk::PhysicalDevice, properties: *mut vk::PhysicalDeviceProperties) {
    // SAFETY: as this function is called.
    unsafe {
        (instance_of(physical).below.fp_v1_0().get_physical_device_properties)(physical, properties);
        clock::show_period(&mut (*properties).limits);
        show_kind(&mut *properties);
    }
}

unsafe extern "system" fn get_properties2(physical: vk::PhysicalDevice, properties: *mut vk::PhysicalDeviceProperties2<'_>) {
    // SAFETY: as this function is called.
    unsafe {
        (instance_of(physical).below.fp_v1_1().get_physical_device_properties2)(physical, properties);
        clock::show_period(&mut (*properties).properties.limits);
        show_kind(&mut (*properties).properties);
    }
}

fn show_kind(properties: &mut vk::PhysicalDeviceProperties) {
    if faults::at(Place::Properties, Call::default()).contains(&Kind::Discrete) {
        properties.device_type = vk::PhysicalDeviceType::DISCRETE_GPU;
    }
}

unsafe extern "system" fn get_families(
    physical: vk::PhysicalDevice,
    count: *mut u32,
    families: *mut vk::QueueFamilyProperties,
) {
    // SAFETY: as this function is called.
    unsafe {
        (instance_of(physical).below.fp_v1_0().get_physical_device_queue_family_properties)(physical, count, families);
        if !families.is_null() {
            slice::from_raw_parts_mut(families, *count as usize).iter_mut().for_each(clock::show_bits);
        }
    }
}

unsafe extern "system" fn get_families2(
    physical: vk::PhysicalDevice,
    count: *mut u32,
    families: *mut vk::QueueFamilyProperties2<'_>,
) {
    // SAFETY: as this function is called.
    unsafe {
        (instance_of(physical).below.fp_v1_1().get_physical_device_queue_family_properties2)(physical, count, families);
        if !families.is_null() {
            let families = slice::from_raw_parts_mut(families, *count as usize);
            families.iter_mut().for_each(|family| clock::show_bits(&mut family.queue_family_properties));
        }
    }
}

// ---- devices and waiting --------------------------------------------------------------------------------------------------

unsafe extern "system" fn get_device_proc_addr(of: vk::Device, name: *const std::ffi::c_char) -> vk::PFN_vkVoidFunction {
    // SAFETY: as this function is called.
    unsafe { super::get_device_proc_addr(of, name) }
}

unsafe extern "system" fn create_device(
    physical: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    allocator: Allocator<'_>,
    device: *mut vk::Device,
) -> vk::Result {
    let faults = faults::at(Place::Open, Call::default());
    if faults.contains(&Kind::DeviceLost) {
        return vk::Result::ERROR_DEVICE_LOST;
    }
    if faults.contains(&Kind::OutOfMemory) {
        return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    }
    // SAFETY: as this function is called.
    unsafe {
        if registers::told().is_none() {
            return chain::create_device(physical, info, allocator, device);
        }
        let mut info = *info;
        let names = registers::without(&mut info);
        info.enabled_extension_count = u32::try_from(names.len()).unwrap_or_default();
        info.pp_enabled_extension_names = names.as_ptr();
        chain::create_device(physical, &info, allocator, device)
    }
}

unsafe extern "system" fn destroy_device(raw: vk::Device, allocator: Allocator<'_>) {
    if raw == vk::Device::null() {
        return;
    }
    // SAFETY: as this function is called.
    unsafe {
        let device = device(raw);
        device.block_if_hung();
        faults::at(Place::Close, Call::default());
        device.destroy(allocator);
    }
}

unsafe extern "system" fn device_wait_idle(raw: vk::Device) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let device = device(raw);
        device.block_if_hung();
        unless_lost(&device, || (device.below.fp_v1_0().device_wait_idle)(raw))
    }
}

unsafe extern "system" fn queue_wait_idle(queue: vk::Queue) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let device = device(queue);
        device.block_if_hung();
        unless_lost(&device, || (device.below.fp_v1_0().queue_wait_idle)(queue))
    }
}

/// Calls that a lost device refuses, by the version of Vulkan that has them.
macro_rules! unless_lost {
    ($($version:ident $function:ident($($argument:ident: $type:ty),*);)*) => {$(
        unsafe extern "system" fn $function(raw: vk::Device, $($argument: $type),*) -> vk::Result {
            // SAFETY: as this function is called.
            unsafe {
                let device = device(raw);
                unless_lost(&device, || (device.below.$version().$function)(raw, $($argument),*))
            }
        }
    )*};
}

unless_lost! {
    fp_v1_0 wait_for_fences(count: u32, fences: *const vk::Fence, all: vk::Bool32, timeout: u64);
    fp_v1_0 get_fence_status(fence: vk::Fence);
    fp_v1_2 wait_semaphores(info: *const vk::SemaphoreWaitInfo<'_>, timeout: u64);
    fp_v1_2 get_semaphore_counter_value(semaphore: vk::Semaphore, value: *mut u64);
}

fn unless_lost(device: &Device, call: impl FnOnce() -> vk::Result) -> vk::Result {
    if device.is_lost() { vk::Result::ERROR_DEVICE_LOST } else { call() }
}

// ---- memory and pipelines -------------------------------------------------------------------------------------------------

unsafe extern "system" fn allocate_memory(
    raw: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    allocator: Allocator<'_>,
    memory: *mut vk::DeviceMemory,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        if is_refused(Place::Memory, (*info).allocation_size) {
            return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        }
        (device(raw).below.fp_v1_0().allocate_memory)(raw, info, allocator, memory)
    }
}

unsafe extern "system" fn create_buffer(
    raw: vk::Device,
    info: *const vk::BufferCreateInfo<'_>,
    allocator: Allocator<'_>,
    buffer: *mut vk::Buffer,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        if is_refused(Place::Buffer, (*info).size) {
            return vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
        }
        (device(raw).below.fp_v1_0().create_buffer)(raw, info, allocator, buffer)
    }
}

unsafe extern "system" fn create_shader_module(
    raw: vk::Device,
    info: *const vk::ShaderModuleCreateInfo<'_>,
    allocator: Allocator<'_>,
    module: *mut vk::ShaderModule,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let mut words = slice::from_raw_parts((*info).p_code, (*info).code_size / 4).to_vec();
        for kind in faults::at(Place::Module, Call::default()) {
            if let Kind::Opcode(from, to) = kind {
                swap_opcodes(&mut words, from, to);
            }
        }
        let info = vk::ShaderModuleCreateInfo { p_code: words.as_ptr(), ..*info };
        (device(raw).below.fp_v1_0().create_shader_module)(raw, &info, allocator, module)
    }
}

/// Behind the five words of the header, each instruction begins with its length and its opcode.
fn swap_opcodes(words: &mut [u32], from: u32, to: u32) {
    let mut place = 5;
    while let Some(word) = words.get_mut(place) {
        let (length, opcode) = (*word >> 16, *word & 0xFFFF);
        if opcode == from {
            *word = (length << 16) | to;
        }
        place += length.max(1) as usize;
    }
}

fn is_refused(place: Place, bytes: u64) -> bool {
    faults::at(place, Call { bytes, ..Call::default() }).contains(&Kind::OutOfMemory)
}

unsafe extern "system" fn create_compute_pipelines(
    raw: vk::Device,
    cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    allocator: Allocator<'_>,
    pipelines: *mut vk::Pipeline,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let device = device(raw);
        let mut infos = slice::from_raw_parts(infos, count as usize).to_vec();
        let mut endless = None;
        for info in &mut infos {
            if registers::told().is_some() {
                info.flags &= !vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR;
            }
            let coming = faults::at(Place::Pipeline, Call { constants: constants(&info.stage), ..Call::default() });
            let refusal = coming.iter().find_map(|kind| match kind {
                Kind::PipelineError => Some(vk::Result::ERROR_UNKNOWN),
                Kind::InvalidShader => Some(vk::Result::ERROR_INVALID_SHADER_NV),
                _ => None,
            });
            if let Some(refusal) = refusal {
                slice::from_raw_parts_mut(pipelines, count as usize).fill(vk::Pipeline::null());
                return refusal;
            }
            if coming.contains(&Kind::Spin) {
                let module = *endless.get_or_insert_with(|| endless_module(&device.below));
                info.stage.module = module;
                info.stage.p_name = c"main".as_ptr();
                info.stage.p_specialization_info = std::ptr::null();
            }
        }
        let create = device.below.fp_v1_0().create_compute_pipelines;
        let result = create(raw, cache, count, infos.as_ptr(), allocator, pipelines);
        if let Some(module) = endless {
            device.below.destroy_shader_module(module, None);
        }
        result
    }
}

/// The data of a stage's specialization constants.
///
/// # Safety
/// As vkCreateComputePipelines is given it.
unsafe fn constants<'a>(stage: &vk::PipelineShaderStageCreateInfo<'a>) -> &'a [u8] {
    // SAFETY: the caller's promise: there is no info, or one whose data has that size.
    unsafe {
        match stage.p_specialization_info.as_ref() {
            Some(info) if info.data_size > 0 => slice::from_raw_parts(info.p_data.cast(), info.data_size),
            _ => &[],
        }
    }
}

/// The shader that takes another's place.
fn endless_module(device: &ash::Device) -> vk::ShaderModule {
    let path = faults::variable("LANESCOPE_FAULT_SPIRV").unwrap_or_else(|| give_up("LANESCOPE_FAULT_SPIRV is not set"));
    let bytes = fs::read(&path).unwrap_or_else(|error| give_up(&format!("LANESCOPE_FAULT_SPIRV: {path}: {error}")));
    let words: Vec<u32> = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect();
    let info = vk::ShaderModuleCreateInfo::default().code(&words);
    // SAFETY: the device lives; that the words are SPIR-V is the test's promise.
    let module = unsafe { device.create_shader_module(&info, None) };
    module.unwrap_or_else(|result| give_up(&format!("LANESCOPE_FAULT_SPIRV: {path}: {result:?}")))
}

// ---- timestamps -----------------------------------------------------------------------------------------------------------

unsafe extern "system" fn create_query_pool(
    raw: vk::Device,
    info: *const vk::QueryPoolCreateInfo<'_>,
    allocator: Allocator<'_>,
    pool: *mut vk::QueryPool,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let device = device(raw);
        let result = (device.below.fp_v1_0().create_query_pool)(raw, info, allocator, pool);
        if result == vk::Result::SUCCESS && (*info).query_type == vk::QueryType::TIMESTAMP {
            device.timestamps().insert(*pool);
        }
        result
    }
}

unsafe extern "system" fn destroy_query_pool(raw: vk::Device, pool: vk::QueryPool, allocator: Allocator<'_>) {
    // SAFETY: as this function is called.
    unsafe {
        let device = device(raw);
        device.timestamps().remove(&pool);
        (device.below.fp_v1_0().destroy_query_pool)(raw, pool, allocator);
    }
}

unsafe extern "system" fn get_query_pool_results(
    raw: vk::Device,
    pool: vk::QueryPool,
    first: u32,
    count: u32,
    bytes: usize,
    data: *mut c_void,
    stride: vk::DeviceSize,
    flags: vk::QueryResultFlags,
) -> vk::Result {
    // SAFETY: as this function is called; a result stands at each multiple of the stride, aligned for its size.
    unsafe {
        let device = device(raw);
        let read = device.below.fp_v1_0().get_query_pool_results;
        let result = unless_lost(&device, || read(raw, pool, first, count, bytes, data, stride, flags));
        let stride = usize::try_from(stride).unwrap_or_default();
        if result == vk::Result::SUCCESS && device.timestamps().contains(&pool) {
            let places = (0..count as usize).map(|query| data.byte_add(query * stride));
            let is_wide = flags.contains(vk::QueryResultFlags::TYPE_64);
            let read = |place: *mut c_void| if is_wide { *place.cast::<u64>() } else { (*place.cast::<u32>()).into() };
            let mut shown: Vec<u64> = places.clone().map(read).collect();
            device.clock.show_all(&mut shown);
            for (place, shown) in places.zip(shown) {
                if is_wide {
                    *place.cast::<u64>() = shown;
                } else {
                    *place.cast::<u32>() = u32::try_from(shown & 0xFFFF_FFFF).unwrap_or_default();
                }
            }
        }
        result
    }
}

// ---- recording and submitting ---------------------------------------------------------------------------------------------

unsafe extern "system" fn begin_command_buffer(
    buffer: vk::CommandBuffer,
    info: *const vk::CommandBufferBeginInfo<'_>,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let device = device(buffer);
        device.recorded().remove(&buffer);
        device.late().remove(&buffer);
        (device.below.fp_v1_0().begin_command_buffer)(buffer, info)
    }
}

unsafe extern "system" fn end_command_buffer(buffer: vk::CommandBuffer) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let device = device(buffer);
        device.catch_up(buffer);
        (device.below.fp_v1_0().end_command_buffer)(buffer)
    }
}

unsafe extern "system" fn cmd_pipeline_barrier(
    buffer: vk::CommandBuffer,
    before: vk::PipelineStageFlags,
    after: vk::PipelineStageFlags,
    flags: vk::DependencyFlags,
    memory_count: u32,
    memory: *const vk::MemoryBarrier<'_>,
    buffer_count: u32,
    buffers: *const vk::BufferMemoryBarrier<'_>,
    image_count: u32,
    images: *const vk::ImageMemoryBarrier<'_>,
) {
    // SAFETY: as this function is called.
    unsafe {
        let device = device(buffer);
        device.catch_up(buffer);
        let barrier = device.below.fp_v1_0().cmd_pipeline_barrier;
        barrier(buffer, before, after, flags, memory_count, memory, buffer_count, buffers, image_count, images);
    }
}

unsafe extern "system" fn cmd_write_timestamp(
    buffer: vk::CommandBuffer,
    stage: vk::PipelineStageFlags,
    pool: vk::QueryPool,
    query: u32,
) {
    // SAFETY: as this function is called.
    let device = unsafe { device(buffer) };
    let write = device.below.fp_v1_0().cmd_write_timestamp;
    // SAFETY: as this function is called, at the latest when the buffer ends.
    record_timestamp(&device, buffer, Box::new(move || unsafe { write(buffer, stage, pool, query) }));
}

unsafe extern "system" fn cmd_write_timestamp2(
    buffer: vk::CommandBuffer,
    stage: vk::PipelineStageFlags2,
    pool: vk::QueryPool,
    query: u32,
) {
    // SAFETY: as this function is called.
    let device = unsafe { device(buffer) };
    let write = device.below.fp_v1_3().cmd_write_timestamp2;
    // SAFETY: as this function is called, at the latest when the buffer ends.
    record_timestamp(&device, buffer, Box::new(move || unsafe { write(buffer, stage, pool, query) }));
}

fn record_timestamp(device: &Device, buffer: vk::CommandBuffer, record: chain::Late) {
    if clock::are_late() {
        device.late().entry(buffer).or_default().push(record);
    } else {
        record();
    }
}

unsafe extern "system" fn cmd_dispatch(buffer: vk::CommandBuffer, x: u32, y: u32, z: u32) {
    let is_wrong = faults::at(Place::Dispatch, Call { groups: &[x], ..Call::default() }).contains(&Kind::Wrong);
    let dispatched = if is_wrong { x.saturating_sub(1) } else { x };
    // SAFETY: as this function is called.
    unsafe {
        let device = device(buffer);
        device.recorded().entry(buffer).or_default().push(x);
        (device.below.fp_v1_0().cmd_dispatch)(buffer, dispatched, y, z);
    }
}

unsafe extern "system" fn queue_submit(
    queue: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let device = device(queue);
        let buffers =
            slice_of(submits, count).iter().flat_map(|submit| slice_of(submit.p_command_buffers, submit.command_buffer_count));
        submit(&device, buffers.copied(), || (device.below.fp_v1_0().queue_submit)(queue, count, submits, fence))
    }
}

unsafe extern "system" fn queue_submit2(
    queue: vk::Queue,
    count: u32,
    submits: *const vk::SubmitInfo2<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let device = device(queue);
        let buffers = slice_of(submits, count)
            .iter()
            .flat_map(|submit| slice_of(submit.p_command_buffer_infos, submit.command_buffer_info_count));
        let buffers = buffers.map(|info| info.command_buffer);
        submit(&device, buffers, || (device.below.fp_v1_3().queue_submit2)(queue, count, submits, fence))
    }
}

/// A submission of these buffers, which `pass_on` gives to the driver.
fn submit(
    device: &Device,
    buffers: impl Iterator<Item = vk::CommandBuffer>,
    pass_on: impl FnOnce() -> vk::Result,
) -> vk::Result {
    if device.is_lost() {
        return vk::Result::ERROR_DEVICE_LOST;
    }
    let groups: Vec<u32> = {
        let recorded = device.recorded();
        buffers.filter_map(|buffer| recorded.get(&buffer)).flatten().copied().collect()
    };
    let coming = faults::at(Place::Submit, Call { groups: &groups, ..Call::default() });
    if coming.contains(&Kind::DeviceLost) {
        device.lose();
        return vk::Result::ERROR_DEVICE_LOST;
    }
    if coming.contains(&Kind::Unfinished) {
        device.hang();
    }
    // What waits behind work that never ends is never done either: no fence of it is signalled.
    if device.is_hung() { vk::Result::SUCCESS } else { pass_on() }
}

/// Vulkan's arrays: of nothing, their address may be null.
///
/// # Safety
/// There are `count` elements there.
unsafe fn slice_of<'a, T>(elements: *const T, count: u32) -> &'a [T] {
    // SAFETY: the caller's promise.
    if count == 0 { &[] } else { unsafe { slice::from_raw_parts(elements, count as usize) } }
}
