//! VK_KHR_pipeline_executable_properties, as if the driver had it: no software driver does.

use std::ffi::{CStr, c_char};
use std::{ptr, slice};

use ash::vk;
use ash::vk::TaggedStructure;
use lanescope_chain::{Named, call};

use super::chain::instance_of;
use super::faults::{self, Call, Kind, Place};

const EXTENSION: &CStr = ash::khr::pipeline_executable_properties::NAME;

type Features<'f> = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR<'f>;

/// What devices have that the extension's feature is on of.
pub(crate) const CALLS: &[Named] = &[
    call!(c"vkGetPipelineExecutablePropertiesKHR", PFN_vkGetPipelineExecutablePropertiesKHR, get_executables),
    call!(c"vkGetPipelineExecutableStatisticsKHR", PFN_vkGetPipelineExecutableStatisticsKHR, get_statistics),
];

/// Registers that every pipeline has; nothing where the extension isn't offered.
pub(crate) fn told() -> Option<u32> {
    let faults = faults::at(Place::Properties, Call::default());
    faults.into_iter().find_map(|kind| if let Kind::Registers(count) = kind { Some(count) } else { None })
}

fn named<const N: usize>(text: &CStr) -> [c_char; N] {
    let mut name = [0; N];
    // SAFETY: a byte is a char of C; the name is shorter than its array.
    let letters = unsafe { slice::from_raw_parts(text.as_ptr(), text.count_bytes()) };
    name[..letters.len()].copy_from_slice(letters);
    name
}

/// Gives a list as Vulkan's functions do.
///
/// # Safety
/// The count is valid, and the list null or of that length.
unsafe fn give<T: Copy>(all: &[T], count: *mut u32, list: *mut T) -> vk::Result {
    // SAFETY: the caller's promise.
    unsafe {
        let room = if list.is_null() { all.len() } else { all.len().min(*count as usize) };
        if !list.is_null() {
            list.copy_from(all.as_ptr(), room);
        }
        *count = u32::try_from(room).unwrap_or_default();
        if room < all.len() { vk::Result::INCOMPLETE } else { vk::Result::SUCCESS }
    }
}

pub(crate) unsafe extern "system" fn enumerate_extensions(
    physical: vk::PhysicalDevice,
    layer: *const c_char,
    count: *mut u32,
    list: *mut vk::ExtensionProperties,
) -> vk::Result {
    // SAFETY: as this function is called.
    unsafe {
        let below = &instance_of(physical).below;
        if told().is_none() || !layer.is_null() {
            return (below.fp_v1_0().enumerate_device_extension_properties)(physical, layer, count, list);
        }
        let mut all = below.enumerate_device_extension_properties(physical).unwrap_or_default();
        all.push(vk::ExtensionProperties { extension_name: named(EXTENSION), spec_version: 1 });
        give(&all, count, list)
    }
}

pub(crate) unsafe extern "system" fn get_features2(
    physical: vk::PhysicalDevice,
    features: *mut vk::PhysicalDeviceFeatures2<'_>,
) {
    // SAFETY: as this function is called.
    unsafe {
        (instance_of(physical).below.fp_v1_1().get_physical_device_features2)(physical, features);
        let mut next = (*features).p_next.cast::<vk::BaseOutStructure<'_>>();
        while !next.is_null() && told().is_some() {
            if (*next).s_type == Features::STRUCTURE_TYPE {
                (*next.cast::<Features<'_>>()).pipeline_executable_info = vk::TRUE;
            }
            next = (*next).p_next;
        }
    }
}

/// Takes the extension's features out of the chain, and gives the names of the other extensions.
///
/// # Safety
/// The structure is one that vkCreateDevice takes.
pub(crate) unsafe fn without(info: &mut vk::DeviceCreateInfo<'_>) -> Vec<*const c_char> {
    // SAFETY: the caller's promise. Whoever made the chain doesn't look at it meanwhile.
    unsafe {
        let mut before = ptr::from_mut(info).cast::<vk::BaseOutStructure<'_>>();
        while !(*before).p_next.is_null() {
            let next = (*before).p_next;
            if (*next).s_type == Features::STRUCTURE_TYPE {
                (*before).p_next = (*next).p_next;
            } else {
                before = next;
            }
        }
        let names = (0..info.enabled_extension_count as usize).map(|at| *info.pp_enabled_extension_names.add(at));
        names.filter(|name| CStr::from_ptr(*name) != EXTENSION).collect()
    }
}

unsafe extern "system" fn get_executables(
    _: vk::Device,
    _: *const vk::PipelineInfoKHR<'_>,
    count: *mut u32,
    list: *mut vk::PipelineExecutablePropertiesKHR<'_>,
) -> vk::Result {
    let own = vk::PipelineExecutablePropertiesKHR { name: named(c"main"), subgroup_size: 32, ..Default::default() };
    // SAFETY: as this function is called.
    unsafe { give(&[own], count, list) }
}

unsafe extern "system" fn get_statistics(
    _: vk::Device,
    _: *const vk::PipelineExecutableInfoKHR<'_>,
    count: *mut u32,
    list: *mut vk::PipelineExecutableStatisticKHR<'_>,
) -> vk::Result {
    let own = vk::PipelineExecutableStatisticKHR {
        name: named(c"Register Count"),
        format: vk::PipelineExecutableStatisticFormatKHR::UINT64,
        value: vk::PipelineExecutableStatisticValueKHR { u64: told().unwrap_or_default().into() },
        ..Default::default()
    };
    // SAFETY: as this function is called.
    unsafe { give(&[own], count, list) }
}
