//! What the driver's compiler tells of pipelines, such as registers and spilled bytes: VK_KHR_pipeline_executable_properties, which the
//! layer enables where the device has it.

use std::ffi::{CStr, FromBytesUntilNulError, c_void};
use std::fmt::Write;
use std::{mem, ptr, slice};

use ash::prelude::VkResult;
use ash::vk;
use lanescope_chain::{Function, Instance};

use super::device::Device;
use super::kernel::chained;
use super::log::clean;

const EXTENSION: &CStr = ash::khr::pipeline_executable_properties::NAME;

type Features<'f> = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR<'f>;

const FEATURES: vk::StructureType = vk::StructureType::PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;

/// Makes a device by `make`, with the extension where there is one, and says whether pipelines can be asked.
///
/// # Safety
/// As vkCreateDevice, for a physical device of this instance.
pub(crate) unsafe fn enabled<T>(
    instance: &Instance,
    physical: vk::PhysicalDevice,
    info: &vk::DeviceCreateInfo<'_>,
    make: impl Fn(&vk::DeviceCreateInfo<'_>) -> Result<T, vk::Result>,
) -> Result<(T, bool), vk::Result> {
    // SAFETY: the caller's promise; names are C strings, and as many as are counted.
    let (of_application, mut names): (Option<&Features<'_>>, Vec<_>) = unsafe {
        let count = info.enabled_extension_count as usize;
        let names = if count == 0 { &[] } else { slice::from_raw_parts(info.pp_enabled_extension_names, count) };
        (chained(info.p_next, FEATURES), names.to_vec())
    };
    // SAFETY: the same.
    let is_named = names.iter().any(|name| unsafe { CStr::from_ptr(*name) } == EXTENSION);
    if let Some(own) = of_application {
        let is_enabled = is_named && own.pipeline_executable_info == vk::TRUE;
        return make(info).map(|made| (made, is_enabled));
    }
    // SAFETY: the caller's promise.
    if !unsafe { has_feature(instance, physical) } {
        return make(info).map(|made| (made, false));
    }
    let mut features = Features::default().pipeline_executable_info(true);
    features.p_next = info.p_next.cast_mut();
    if !is_named {
        names.push(EXTENSION.as_ptr());
    }
    let extended = vk::DeviceCreateInfo {
        p_next: ptr::from_ref(&features).cast(),
        enabled_extension_count: u32::try_from(names.len()).unwrap_or(u32::MAX),
        pp_enabled_extension_names: names.as_ptr(),
        ..*info
    };
    // The application gets its device in any case.
    make(&extended).map(|made| (made, true)).or_else(|_| make(info).map(|made| (made, false)))
}

/// # Safety
/// The physical device is one of this instance, which lives.
unsafe fn has_feature(instance: &Instance, physical: vk::PhysicalDevice) -> bool {
    let names = [c"vkGetPhysicalDeviceFeatures2", c"vkGetPhysicalDeviceFeatures2KHR"];
    let get = names.into_iter().filter(|_| instance.has_properties2).find_map(|name| instance.next(name));
    let Some(get) = get else { return false };
    // SAFETY: the caller's promise; the layer below has a function of this name and type.
    unsafe {
        let known = instance.below.enumerate_device_extension_properties(physical).unwrap_or_default();
        if !known.iter().any(|of| of.extension_name_as_c_str() == Ok(EXTENSION)) {
            return false;
        }
        let mut own = Features::default();
        let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut own);
        mem::transmute::<Function, vk::PFN_vkGetPhysicalDeviceFeatures2>(get)(physical, &mut features);
        own.pipeline_executable_info == vk::TRUE
    }
}

/// The same pipelines, made so that they can be asked. One that must come out of a cache stays as it is, since one that can be asked
/// isn't in there; so do one that comes out of a binary, and one whose flags are elsewhere.
///
/// # Safety
/// The structures are ones that vkCreateComputePipelines takes.
pub(crate) unsafe fn asked<'p>(infos: &[vk::ComputePipelineCreateInfo<'p>]) -> Vec<vk::ComputePipelineCreateInfo<'p>> {
    let of = |info: &vk::ComputePipelineCreateInfo<'p>| {
        // SAFETY: the caller's promise.
        let has = |ty| unsafe { chained::<vk::BaseInStructure<'_>>(info.p_next, ty) }.is_some();
        let is_plain = !has(PIPELINE_CREATE_FLAGS_2)
            && !has(PIPELINE_BINARY_INFO)
            && !info.flags.contains(vk::PipelineCreateFlags::FAIL_ON_PIPELINE_COMPILE_REQUIRED);
        let more = if is_plain { vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR } else { vk::PipelineCreateFlags::empty() };
        vk::ComputePipelineCreateInfo { flags: info.flags | more, ..*info }
    };
    infos.iter().map(of).collect()
}

/// VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO
const PIPELINE_CREATE_FLAGS_2: vk::StructureType = vk::StructureType::from_raw(1_000_470_005);

/// The extension's functions of the layer below. The loader's own vkGetDeviceProcAddr doesn't know the device until it is made.
pub(crate) struct Inquirer(ash::khr::pipeline_executable_properties::DeviceFn);

impl Inquirer {
    pub(crate) fn new(device: &lanescope_chain::Device) -> Self {
        let address = |name: &CStr| device.next(name).map_or(ptr::null(), |function| function as *const c_void);
        Self(ash::khr::pipeline_executable_properties::DeviceFn::load(address))
    }
}

/// What a function gives of a list: it is called for how many there are, and then for those.
fn listed<T: Copy>(empty: T, list: impl Fn(*mut u32, *mut T) -> vk::Result) -> VkResult<Vec<T>> {
    let mut count = 0;
    list(&mut count, ptr::null_mut()).result()?;
    let mut all = vec![empty; count as usize];
    // A list that has grown meanwhile is cut.
    match list(&mut count, all.as_mut_ptr()) {
        vk::Result::SUCCESS | vk::Result::INCOMPLETE => {
            all.truncate(count as usize);
            Ok(all)
        }
        failed => Err(failed),
    }
}

/// VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR
const PIPELINE_BINARY_INFO: vk::StructureType = vk::StructureType::from_raw(1_000_483_002);

/// Writes what is told of a kernel's pipeline.
///
/// # Safety
/// The pipeline lives, and was made by [`asked`].
pub(crate) unsafe fn write(device: &Device, pipeline: vk::Pipeline, kernel: u32) {
    // SAFETY: the caller's promise. What a driver refuses to tell stays unknown.
    let told = unsafe { told(device, pipeline, kernel) };
    told.unwrap_or_default().iter().for_each(|line| device.log.line(line));
}

/// # Safety
/// As [`write`].
unsafe fn told(device: &Device, pipeline: vk::Pipeline, kernel: u32) -> VkResult<Vec<String>> {
    let Some(Inquirer(own)) = &device.statistics else { return Ok(Vec::new()) };
    let mut lines = Vec::new();
    let info = vk::PipelineInfoKHR::default().pipeline(pipeline);
    // SAFETY: the caller's promise; the list has room for as many as are counted.
    let all = listed(Default::default(), |count, first| unsafe {
        (own.get_pipeline_executable_properties_khr)(device.raw, &info, count, first)
    })?;
    for (index, executable) in (0..).zip(&all) {
        let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(index);
        // SAFETY: the same, and the pipeline has this executable.
        let statistics = listed(Default::default(), |count, first| unsafe {
            (own.get_pipeline_executable_statistics_khr)(device.raw, &info, count, first)
        })?;
        let mut line = format!("executable\t{kernel}\t{}\t{}", executable.subgroup_size, text(executable.name_as_c_str()));
        for statistic in statistics.iter().filter(|statistic| !value(statistic).is_empty()) {
            // Writing to a string can't fail.
            let _ = write!(line, "\t{}={}", text(statistic.name_as_c_str()), value(statistic));
        }
        lines.push(line);
    }
    Ok(lines)
}

fn text(name: Result<&CStr, FromBytesUntilNulError>) -> String {
    clean(&name.unwrap_or_default().to_string_lossy())
}

/// With a letter for its type.
fn value(statistic: &vk::PipelineExecutableStatisticKHR<'_>) -> String {
    use vk::PipelineExecutableStatisticFormatKHR as Format;
    // SAFETY: every bit pattern is a value of each of these types, and the format says which of them the driver wrote.
    unsafe {
        match statistic.format {
            Format::BOOL32 => format!("b{}", u32::from(statistic.value.b32 != vk::FALSE)),
            Format::INT64 => format!("i{}", statistic.value.i64),
            Format::UINT64 => format!("u{}", statistic.value.u64),
            Format::FLOAT64 => format!("f{}", statistic.value.f64),
            _ => String::new(),
        }
    }
}
