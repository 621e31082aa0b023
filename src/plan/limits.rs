//! The limits that every case must keep, whatever its experiment.

use crate::model::{Case, DeviceInfo, Kernel, Resource, Skip, Step};

/// Whether the device can run the case at all.
///
/// # Errors
/// The first limit that the case breaks, with its value.
pub fn check_limits(case: &Case, device: &DeviceInfo) -> Result<(), Skip> {
    case.kernels.iter().try_for_each(|kernel| kernel_limits(kernel, device))?;
    case.resources.iter().try_for_each(|resource| resource_limits(resource, device))?;
    case.reset.iter().chain(&case.pass).try_for_each(|step| step_limits(step, device))?;
    at_most("the largest memory heap (bytes)", total_bytes(case), device.local_heap_bytes())
}

fn kernel_limits(kernel: &Kernel, device: &DeviceInfo) -> Result<(), Skip> {
    let limits = &device.limits;
    each_dimension("maxComputeWorkGroupSize", kernel.local_size, limits.workgroup_size)?;
    let invocations = kernel.local_size.iter().fold(1_u64, |product, &size| product.saturating_mul(size.into()));
    at_most("maxComputeWorkGroupInvocations", invocations, limits.workgroup_invocations.into())
}

fn resource_limits(resource: &Resource, device: &DeviceInfo) -> Result<(), Skip> {
    let Resource::Buffer { bytes, .. } = resource;
    at_most("maxStorageBufferRange", *bytes, device.limits.storage_buffer_range)?;
    at_most("maxMemoryAllocationSize", *bytes, device.limits.allocation_bytes)
}

fn step_limits(step: &Step, device: &DeviceInfo) -> Result<(), Skip> {
    match step {
        Step::Dispatch { groups } => each_dimension("maxComputeWorkGroupCount", *groups, device.limits.workgroup_count),
        Step::Push { bytes } => at_most("maxPushConstantsSize", bytes.len() as u64, device.limits.push_constant_bytes.into()),
        Step::Bind { .. } | Step::Fill { .. } | Step::Barrier => Ok(()),
    }
}

fn total_bytes(case: &Case) -> u64 {
    case.resources.iter().fold(0, |total, resource| total.saturating_add(resource.bytes()))
}

fn each_dimension(limit: &str, asked: [u32; 3], allowed: [u32; 3]) -> Result<(), Skip> {
    (0..3).try_for_each(|i| at_most(&format!("{limit}[{i}]"), asked[i].into(), allowed[i].into()))
}

fn at_most(limit: &str, asked: u64, allowed: u64) -> Result<(), Skip> {
    if asked <= allowed { Ok(()) } else { Err(Skip::new(format!("{limit} is {allowed}, the case needs {asked}"))) }
}
