//! What a physical device is and can do, as plain data.

use std::collections::BTreeSet;
use std::ffi::CStr;

use ash::vk;

use crate::model::{
    Descriptors, DeviceInfo, DeviceKind, DriverIdentity, Format, FormatUse, Heap, Limits, MemoryType, PciAddress, Published,
    QueueFamily, Subgroup, SubgroupClass, Uuid,
};

use super::features::{Features, Support};
use super::instance::{API_VERSION, InstanceInner};
use super::{format, matrices, memory, quirks};

const NVIDIA: u32 = 0x10DE;

/// Everything that is known about a device before it is opened. Never fails: what can't be used says why.
pub(super) fn query(inner: &InstanceInner, physical: vk::PhysicalDevice, index: usize, loader_version: &str) -> DeviceInfo {
    let instance = &inner.raw;
    // SAFETY: the device comes from this instance.
    let properties = unsafe { instance.get_physical_device_properties(physical) };
    let mut info = identity(&properties, index, loader_version);
    info.limits = limits(&properties.limits);
    info.queues = queues(instance, physical);
    (info.heaps, info.memory_types) = memory(instance, physical);
    info.formats = Format::ALL.iter().map(|format| (*format, format_uses(instance, physical, *format))).collect();
    if properties.api_version >= vk::API_VERSION_1_1 {
        match support(inner, physical) {
            Ok(support) => extend(&mut info, inner, physical, &support),
            Err(result) => {
                info.unusable = Some(format!("the driver can't list its extensions (VK_{result:?})"));
                return info;
            }
        }
    }
    info.quirks = quirks::of(&info);
    info.peaks = Published::built_in().of(Some(info.vendor_id), Some(info.device_id), &info.name).cloned().unwrap_or_default();
    info.unusable = unusable(&info, properties.api_version);
    info
}

pub(super) fn support(inner: &InstanceInner, physical: vk::PhysicalDevice) -> Result<Support, vk::Result> {
    // SAFETY: the device comes from this instance.
    let version = unsafe { inner.raw.get_physical_device_properties(physical) }.api_version.min(API_VERSION);
    // SAFETY: as above.
    let extensions = unsafe { inner.raw.enumerate_device_extension_properties(physical) }?;
    Ok(Support { version, extensions, layer: inner.layer })
}

/// `1.3.239`
pub(super) fn version(version: u32) -> String {
    let (major, minor) = (vk::api_version_major(version), vk::api_version_minor(version));
    format!("{major}.{minor}.{}", vk::api_version_patch(version))
}

fn identity(properties: &vk::PhysicalDeviceProperties, index: usize, loader_version: &str) -> DeviceInfo {
    DeviceInfo {
        index,
        name: text(properties.device_name_as_c_str()),
        kind: match properties.device_type {
            vk::PhysicalDeviceType::DISCRETE_GPU => DeviceKind::Discrete,
            vk::PhysicalDeviceType::INTEGRATED_GPU => DeviceKind::Integrated,
            vk::PhysicalDeviceType::VIRTUAL_GPU => DeviceKind::Virtual,
            vk::PhysicalDeviceType::CPU => DeviceKind::Cpu,
            _ => DeviceKind::Other,
        },
        vendor_id: properties.vendor_id,
        device_id: properties.device_id,
        driver: DriverIdentity {
            version: driver_version(None, properties.vendor_id, properties.driver_version),
            api_version: version(properties.api_version),
            loader_version: loader_version.to_owned(),
            ..Default::default()
        },
        timestamp_period: properties.limits.timestamp_period.into(),
        ..Default::default()
    }
}

/// Fixed-size strings of drivers: one without an end is a driver's fault and reads as empty.
pub(super) fn text<E>(string: Result<&CStr, E>) -> String {
    string.map(|string| string.to_string_lossy().into_owned()).unwrap_or_default()
}

/// As the vendor packs it: NVIDIA's driver 10.8.8.6 bits, Intel's on Windows 18.14, all others as Vulkan's own versions.
fn driver_version(id: Option<vk::DriverId>, vendor: u32, packed: u32) -> String {
    match id {
        Some(vk::DriverId::NVIDIA_PROPRIETARY) => nvidia_version(packed),
        None if vendor == NVIDIA => nvidia_version(packed),
        Some(vk::DriverId::INTEL_PROPRIETARY_WINDOWS) => format!("{}.{}", packed >> 14, packed & 0x3FFF),
        _ => format!("{}.{}.{}", packed >> 22, (packed >> 12) & 0x3FF, packed & 0xFFF),
    }
}

fn nvidia_version(packed: u32) -> String {
    format!("{}.{}.{}.{}", packed >> 22, (packed >> 14) & 0xFF, (packed >> 6) & 0xFF, packed & 0x3F)
}

fn limits(limits: &vk::PhysicalDeviceLimits) -> Limits {
    Limits {
        workgroup_size: limits.max_compute_work_group_size,
        workgroup_invocations: limits.max_compute_work_group_invocations,
        workgroup_count: limits.max_compute_work_group_count,
        shared_bytes: limits.max_compute_shared_memory_size,
        storage_buffer_range: limits.max_storage_buffer_range.into(),
        uniform_buffer_range: limits.max_uniform_buffer_range.into(),
        storage_buffer_alignment: limits.min_storage_buffer_offset_alignment,
        uniform_buffer_alignment: limits.min_uniform_buffer_offset_alignment,
        texel_buffer_elements: limits.max_texel_buffer_elements,
        image_dimension: limits.max_image_dimension2_d,
        image_dimension_1d: limits.max_image_dimension1_d,
        image_dimension_3d: limits.max_image_dimension3_d,
        image_dimension_cube: limits.max_image_dimension_cube,
        image_layers: limits.max_image_array_layers,
        descriptors: Descriptors {
            samplers: limits.max_per_stage_descriptor_samplers,
            uniform_buffers: limits.max_per_stage_descriptor_uniform_buffers,
            storage_buffers: limits.max_per_stage_descriptor_storage_buffers,
            sampled_images: limits.max_per_stage_descriptor_sampled_images,
            storage_images: limits.max_per_stage_descriptor_storage_images,
            all: limits.max_per_stage_resources,
        },
        push_constant_bytes: limits.max_push_constants_size,
        descriptor_sets: limits.max_bound_descriptor_sets,
        // Replaced by what a 1.1 device says.
        allocation_bytes: 0,
    }
}

fn queues(instance: &ash::Instance, physical: vk::PhysicalDevice) -> Vec<QueueFamily> {
    // SAFETY: the device comes from this instance.
    let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
    (0..)
        .zip(families)
        .map(|(index, family)| {
            let does = |flag| family.queue_flags.contains(flag);
            QueueFamily {
                index,
                count: family.queue_count,
                compute: does(vk::QueueFlags::COMPUTE),
                graphics: does(vk::QueueFlags::GRAPHICS),
                transfer: does(vk::QueueFlags::TRANSFER) || does(vk::QueueFlags::COMPUTE) || does(vk::QueueFlags::GRAPHICS),
                timestamp_valid_bits: family.timestamp_valid_bits,
            }
        })
        .collect()
}

fn memory(instance: &ash::Instance, physical: vk::PhysicalDevice) -> (Vec<Heap>, Vec<MemoryType>) {
    // SAFETY: the device comes from this instance.
    let memory = unsafe { instance.get_physical_device_memory_properties(physical) };
    let heap = |heap: &vk::MemoryHeap| {
        let device_local = heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL);
        // Replaced by what a 1.1 device with the extension says.
        Heap { bytes: heap.size, device_local, budget: None }
    };
    let types = (0..).zip(memory.memory_types_as_slice());
    let types = types.filter_map(|(index, ty)| memory_type(index, ty)).collect();
    (memory.memory_heaps_as_slice().iter().map(heap).collect(), types)
}

/// A type that can hold buffers. Those for protected content and for transient attachments can't; those of AMD that bypass the
/// device's caches would need a feature, and no one would want them.
fn memory_type(index: u32, ty: &vk::MemoryType) -> Option<MemoryType> {
    const OTHERS: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::from_raw(
        vk::MemoryPropertyFlags::PROTECTED.as_raw()
            | vk::MemoryPropertyFlags::LAZILY_ALLOCATED.as_raw()
            | vk::MemoryPropertyFlags::DEVICE_COHERENT_AMD.as_raw()
            | vk::MemoryPropertyFlags::DEVICE_UNCACHED_AMD.as_raw(),
    );
    let [device_local, host_visible, host_cached] = memory::properties(ty.property_flags);
    let heap = ty.heap_index;
    (!ty.property_flags.intersects(OTHERS)).then_some(MemoryType { index, heap, device_local, host_visible, host_cached })
}

fn format_uses(instance: &ash::Instance, physical: vk::PhysicalDevice, format: Format) -> BTreeSet<FormatUse> {
    // SAFETY: the device comes from this instance.
    let properties = unsafe { instance.get_physical_device_format_properties(physical, format::raw(format)) };
    let (buffer, image) = (properties.buffer_features, properties.optimal_tiling_features);
    let sampled = image.contains(vk::FormatFeatureFlags::SAMPLED_IMAGE);
    let all = [
        (FormatUse::UniformTexels, buffer.contains(vk::FormatFeatureFlags::UNIFORM_TEXEL_BUFFER)),
        (FormatUse::StorageTexels, buffer.contains(vk::FormatFeatureFlags::STORAGE_TEXEL_BUFFER)),
        (FormatUse::Sampled, sampled),
        (FormatUse::SampledLinear, sampled && image.contains(vk::FormatFeatureFlags::SAMPLED_IMAGE_FILTER_LINEAR)),
        (FormatUse::Storage, image.contains(vk::FormatFeatureFlags::STORAGE_IMAGE)),
    ];
    all.into_iter().filter_map(|(usage, can)| can.then_some(usage)).collect()
}

fn extend(info: &mut DeviceInfo, inner: &InstanceInner, physical: vk::PhysicalDevice, support: &Support) {
    let mut id = vk::PhysicalDeviceIDProperties::default();
    let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
    let mut memory = vk::PhysicalDeviceMaintenance3Properties::default();
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
    let mut pci = vk::PhysicalDevicePCIBusInfoPropertiesEXT::default();
    let has_driver = support.offers(vk::API_VERSION_1_2, ash::khr::driver_properties::NAME);
    let has_sizes = support.offers(vk::API_VERSION_1_3, ash::ext::subgroup_size_control::NAME);
    let has_pci = support.has(ash::ext::pci_bus_info::NAME);
    let mut properties =
        vk::PhysicalDeviceProperties2::default().push_next(&mut id).push_next(&mut subgroup).push_next(&mut memory);
    if has_driver {
        properties = properties.push_next(&mut driver);
    }
    if has_sizes {
        properties = properties.push_next(&mut sizes);
    }
    if has_pci {
        properties = properties.push_next(&mut pci);
    }
    // SAFETY: the device comes from this instance and is of Vulkan 1.1; all structures live and are ones that it understands.
    unsafe { inner.raw.get_physical_device_properties2(physical, &mut properties) };
    let packed = properties.properties.driver_version;

    info.device_uuid = Uuid(id.device_uuid);
    info.pci_address = has_pci.then_some(PciAddress {
        domain: pci.pci_domain,
        bus: pci.pci_bus,
        device: pci.pci_device,
        function: pci.pci_function,
    });
    info.driver.uuid = Uuid(id.driver_uuid);
    info.limits.allocation_bytes = memory.max_memory_allocation_size;
    if support.has(ash::ext::memory_budget::NAME) {
        let budgets = memory::budgets(&inner.raw, physical);
        info.heaps.iter_mut().zip(budgets).for_each(|(heap, budget)| heap.budget = budget);
    }
    if has_driver {
        info.driver.id = format!("{:?}", driver.driver_id);
        info.driver.name = text(driver.driver_name_as_c_str());
        info.driver.info = text(driver.driver_info_as_c_str());
        info.driver.version = driver_version(Some(driver.driver_id), info.vendor_id, packed);
    }
    let features = Features::query(&inner.raw, physical, support);
    info.features = features.list(support);
    info.matrices = matrices::products(inner, physical, &info.features);
    info.subgroup = subgroups(&subgroup, has_sizes.then_some(&sizes), &features);
}

fn subgroups(
    properties: &vk::PhysicalDeviceSubgroupProperties<'_>,
    sizes: Option<&vk::PhysicalDeviceSubgroupSizeControlProperties<'_>>,
    features: &Features,
) -> Subgroup {
    let size = properties.subgroup_size;
    let (control, full) = features.subgroup_size_control();
    let in_compute = |sizes: &vk::PhysicalDeviceSubgroupSizeControlProperties<'_>| {
        sizes.required_subgroup_size_stages.contains(vk::ShaderStageFlags::COMPUTE)
    };
    Subgroup {
        size,
        min_size: sizes.map_or(size, |sizes| sizes.min_subgroup_size),
        max_size: sizes.map_or(size, |sizes| sizes.max_subgroup_size),
        max_workgroup_subgroups: sizes.map_or(0, |sizes| sizes.max_compute_workgroup_subgroups),
        size_control: control && sizes.is_some_and(in_compute),
        full_subgroups: full,
        in_compute: properties.supported_stages.contains(vk::ShaderStageFlags::COMPUTE),
        classes: subgroup_classes(properties.supported_operations, features.subgroup_rotate()),
    }
}

/// The classes that shaders can use. Rotations are listed by drivers as soon as they know the extension, but need their features
/// enabled, whose structure an older validation layer doesn't let pass.
fn subgroup_classes(operations: vk::SubgroupFeatureFlags, (rotate, rotate_clustered): (bool, bool)) -> BTreeSet<SubgroupClass> {
    let all = [
        (vk::SubgroupFeatureFlags::BASIC, SubgroupClass::Basic),
        (vk::SubgroupFeatureFlags::VOTE, SubgroupClass::Vote),
        (vk::SubgroupFeatureFlags::ARITHMETIC, SubgroupClass::Arithmetic),
        (vk::SubgroupFeatureFlags::BALLOT, SubgroupClass::Ballot),
        (vk::SubgroupFeatureFlags::SHUFFLE, SubgroupClass::Shuffle),
        (vk::SubgroupFeatureFlags::SHUFFLE_RELATIVE, SubgroupClass::ShuffleRelative),
        (vk::SubgroupFeatureFlags::CLUSTERED, SubgroupClass::Clustered),
        (vk::SubgroupFeatureFlags::QUAD, SubgroupClass::Quad),
        (vk::SubgroupFeatureFlags::ROTATE_KHR, SubgroupClass::Rotate),
        (vk::SubgroupFeatureFlags::ROTATE_CLUSTERED_KHR, SubgroupClass::RotateClustered),
    ];
    let enabled = |class: &SubgroupClass| match class {
        SubgroupClass::Rotate => rotate,
        SubgroupClass::RotateClustered => rotate_clustered,
        _ => true,
    };
    let listed = all.into_iter().filter_map(|(flag, class)| operations.contains(flag).then_some(class));
    listed.filter(enabled).collect()
}

/// Why nothing can run on the device. A timestamp period of zero is no reason: the host's timer is used then.
fn unusable(info: &DeviceInfo, api_version: u32) -> Option<String> {
    if api_version < vk::API_VERSION_1_1 {
        return Some(format!("it is of Vulkan {}: 1.1 or newer is needed", version(api_version)));
    }
    if info.memory_types.is_empty() || info.heaps.is_empty() {
        return Some("it has no memory: a device for compiling only (RADV_FORCE_FAMILY makes such)".into());
    }
    if info.default_queue().is_none() {
        return Some("it has no queue family that does compute".into());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn driver_versions_are_decoded_as_their_vendors_pack_them() {
        let nvidia = (580 << 22) | (159 << 14) | (4 << 6);
        assert_eq!(driver_version(Some(vk::DriverId::NVIDIA_PROPRIETARY), NVIDIA, nvidia), "580.159.4.0");
        assert_eq!(driver_version(None, NVIDIA, nvidia), "580.159.4.0");
        let mesa = vk::make_api_version(0, 25, 0, 7);
        assert_eq!(driver_version(Some(vk::DriverId::MESA_NVK), NVIDIA, mesa), "25.0.7");
        let intel = (101 << 14) | 2111;
        assert_eq!(driver_version(Some(vk::DriverId::INTEL_PROPRIETARY_WINDOWS), 0x8086, intel), "101.2111");
    }

    #[test]
    fn rotations_are_listed_where_they_can_be_enabled() {
        let operations = vk::SubgroupFeatureFlags::BASIC
            | vk::SubgroupFeatureFlags::ROTATE_KHR
            | vk::SubgroupFeatureFlags::ROTATE_CLUSTERED_KHR;
        let classes = |enabled| subgroup_classes(operations, enabled).into_iter().collect::<Vec<_>>();
        assert_eq!(classes((false, false)), [SubgroupClass::Basic]);
        assert_eq!(classes((true, false)), [SubgroupClass::Basic, SubgroupClass::Rotate]);
        assert_eq!(classes((true, true)).len(), 3);
    }

    #[test]
    fn an_unusable_device_says_why() {
        let reason = |info: &DeviceInfo, version| unusable(info, version).unwrap_or_default();
        assert_eq!(reason(&DeviceInfo::mock(), vk::API_VERSION_1_1), "");
        assert!(reason(&DeviceInfo::mock(), vk::API_VERSION_1_0).contains("1.1 or newer"));
        assert!(reason(&DeviceInfo { memory_types: vec![], ..DeviceInfo::mock() }, vk::API_VERSION_1_3).contains("no memory"));
        let mut without_compute = DeviceInfo::mock();
        without_compute.queues[0].compute = false;
        assert!(reason(&without_compute, vk::API_VERSION_1_3).contains("compute"));
    }
}
