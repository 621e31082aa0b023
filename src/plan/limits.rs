//! The limits that every case must keep, whatever its experiment.

use std::fmt::Display;

use crate::model::{
    Case, DeviceInfo, Feature, Format, FormatUse, ImageRole, Kernel, MemoryKind, Resource, ResourceKind, Skip, Step,
};

/// Whether the device can run the case at all.
/// Errors: the first limit that the case breaks, with its value.
pub fn check_limits(case: &Case, device: &DeviceInfo) -> Result<(), Skip> {
    case.kernels.iter().try_for_each(|kernel| kernel_limits(kernel, &case.resources, device))?;
    case.resources.iter().try_for_each(|resource| resource_limits(resource, device))?;
    filter_limits(case, device)?;
    case.reset.iter().chain(&case.prepare).chain(&case.pass).try_for_each(|step| step_limits(step, device))?;
    let needed = case.footprint(device);
    at_most("the largest memory heap (bytes)", needed.device, device.local_heap_bytes())?;
    // Where the device sees nothing of the host's memory, nothing is known of it.
    let hosts = device.host_heap().map_or(u64::MAX, |heap| device.heap_bytes(heap));
    at_most("the heap of the host's memory (bytes)", needed.host, hosts)
}

/// Whether what is free now has room for a case that is loaded alone; of others only loading tells. Where no budget is stated, nothing
/// is known.
/// Errors: what is free, and what the case takes.
pub fn check_room(case: &Case, device: &DeviceInfo) -> Result<(), Skip> {
    match device.local_heap().and_then(|heap| heap.budget) {
        Some(budget) if case.is_alone => case.footprint(device).fits_alone(budget.free),
        _ => Ok(()),
    }
}

fn kernel_limits(kernel: &Kernel, resources: &[Resource], device: &DeviceInfo) -> Result<(), Skip> {
    let limits = &device.limits;
    each_dimension("maxComputeWorkGroupSize", kernel.local_size, limits.workgroup_size)?;
    let invocations = kernel.local_size.iter().fold(1_u64, |product, &size| product.saturating_mul(size.into()));
    at_most("maxComputeWorkGroupInvocations", invocations, limits.workgroup_invocations.into())?;
    // Buffers are often too large only because workgroups are. A uniform one has a lower limit, which only its shader tells apart.
    let mut bound = kernel.bindings.iter().filter_map(|binding| resources.get(binding.resource));
    bound.try_for_each(|resource| match resource.kind {
        ResourceKind::Buffer { .. } => at_most("maxStorageBufferRange", resource.bytes(), limits.storage_buffer_range),
        ResourceKind::Range { offset, .. } => {
            at_most("maxStorageBufferRange", resource.bytes(), limits.storage_buffer_range)?;
            aligned("minStorageBufferOffsetAlignment", &resource.name, offset, limits.storage_buffer_alignment)
        }
        _ => Ok(()),
    })
}

/// What a device allows a resource that is bound as a uniform buffer, which only its shader tells.
pub fn uniform_limits(resource: &Resource, device: &DeviceInfo) -> Result<(), Skip> {
    at_most("maxUniformBufferRange", resource.bytes(), device.limits.uniform_buffer_range)?;
    match resource.kind {
        ResourceKind::Range { offset, .. } => {
            let alignment = device.limits.uniform_buffer_alignment;
            aligned("minUniformBufferOffsetAlignment", &resource.name, offset, alignment)
        }
        _ => Ok(()),
    }
}

/// Where a range may begin, device by device.
fn aligned(limit: &str, name: &str, offset: u64, alignment: u64) -> Result<(), Skip> {
    let fits = offset % alignment.max(1) == 0;
    if fits {
        return Ok(());
    }
    Err(Skip::new(format!("{limit} is {alignment}, and `{name}` begins at byte {offset} of its memory")))
}

fn resource_limits(resource: &Resource, device: &DeviceInfo) -> Result<(), Skip> {
    let limits = &device.limits;
    match resource.kind {
        ResourceKind::Buffer { memory, .. } => has_memory(memory, device)?,
        ResourceKind::Texels { format, count, role } => {
            at_most("maxTexelBufferElements", count.into(), limits.texel_buffer_elements.into())?;
            storage_format(format, role, device)?;
            role.of_texels().iter().try_for_each(|usage| supports(device, format, *usage))?;
        }
        ResourceKind::Image { format, dimension, extent, role } => {
            if let Some((limit, most, asked)) = dimension.beyond(extent, limits) {
                at_most(limit, asked.into(), most.into())?;
            }
            if dimension.feature().is_some_and(|feature| !device.has(feature)) {
                return Err(Skip::new("imageCubeArray is missing, which arrays of cubes need"));
            }
            storage_format(format, role, device)?;
            role.of_image().iter().try_for_each(|usage| supports(device, format, *usage))?;
        }
        ResourceKind::Sampler(_) | ResourceKind::Range { .. } | ResourceKind::HostMemory { .. } => {}
    }
    at_most("maxMemoryAllocationSize", resource.bytes(), limits.allocation_bytes)
}

fn has_memory(kind: MemoryKind, device: &DeviceInfo) -> Result<(), Skip> {
    // What isn't mapped is the allocator's choice: it takes whatever there is.
    let is_there = !kind.is_mapped() || !device.memory_types_for(kind, u32::MAX).is_empty();
    if is_there { Ok(()) } else { Err(Skip::new(format!("the device has no memory type that is {}", kind.as_str()))) }
}

fn supports(device: &DeviceInfo, format: Format, usage: FormatUse) -> Result<(), Skip> {
    if device.supports(format, usage) {
        return Ok(());
    }
    Err(Skip::new(format!("the format {} can't be used for {}", format.as_str(), usage.as_str())))
}

fn storage_format(format: Format, role: ImageRole, device: &DeviceInfo) -> Result<(), Skip> {
    if !role.is_storage() || !format.is_extended() || device.has(Feature::StorageImageExtendedFormats) {
        return Ok(());
    }
    let format = format.as_str();
    Err(Skip::new(format!("shaderStorageImageExtendedFormats is missing, which images of {format} need")))
}

/// What a linear sampler filters must be filterable.
fn filter_limits(case: &Case, device: &DeviceInfo) -> Result<(), Skip> {
    case.sampled(|sampling| sampling.is_linear).filter_map(|image| case.resources.get(image)).try_for_each(|resource| {
        match resource.kind {
            ResourceKind::Image { format, .. } => supports(device, format, FormatUse::SampledLinear),
            _ => Ok(()),
        }
    })
}

fn step_limits(step: &Step, device: &DeviceInfo) -> Result<(), Skip> {
    match step {
        Step::Dispatch { groups } => each_dimension("maxComputeWorkGroupCount", *groups, device.limits.workgroup_count),
        Step::Base { groups } => each_dimension("maxComputeWorkGroupCount", *groups, device.limits.workgroup_count),
        Step::Push { bytes } => at_most("maxPushConstantsSize", bytes.len() as u64, device.limits.push_constant_bytes.into()),
        _ => Ok(()),
    }
}

fn each_dimension(limit: &str, asked: [u32; 3], allowed: [u32; 3]) -> Result<(), Skip> {
    (0..3).try_for_each(|i| at_most(format_args!("{limit}[{i}]"), asked[i].into(), allowed[i].into()))
}

fn at_most(limit: impl Display, asked: u64, allowed: u64) -> Result<(), Skip> {
    if asked <= allowed { Ok(()) } else { Err(Skip::new(format!("{limit} is {allowed}, the case needs {asked}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Contents;

    #[test]
    fn a_uniform_range_has_limits_of_its_own() {
        let mut device = DeviceInfo::mock();
        (device.limits.uniform_buffer_alignment, device.limits.uniform_buffer_range) = (256, 1024);
        let told = |offset: u64, bytes: u64| {
            let resource = Resource::new("range", ResourceKind::Range { of: 0, offset, bytes }, Contents::Undefined);
            uniform_limits(&resource, &device).map_err(|skip| skip.reason)
        };
        assert_eq!(told(256, 1024), Ok(()));
        let reason = told(64, 16).unwrap_err();
        assert_eq!(reason, "minUniformBufferOffsetAlignment is 256, and `range` begins at byte 64 of its memory");
        assert!(told(0, 2048).unwrap_err().starts_with("maxUniformBufferRange is 1024"));
    }
}
