//! Lanes of subgroups, as kernels number them: by the local invocation modulo the subgroup size, which Vulkan doesn't promise, but
//! which drivers do.

use crate::model::DeviceInfo;

/// Lanes of a subgroup, unless another size is required.
pub fn lanes(device: &DeviceInfo) -> u32 {
    device.subgroup.size.max(1)
}

/// The size to require of subgroups where the driver could choose another: it decides which lanes go together.
pub fn size_to_require(device: &DeviceInfo, local_size: u64) -> Option<u32> {
    let subgroup = &device.subgroup;
    let most = u64::from(subgroup.size) * u64::from(subgroup.max_workgroup_subgroups);
    (subgroup.size_control && subgroup.min_size < subgroup.max_size && local_size <= most).then_some(subgroup.size)
}

/// A number that looks random: `glsl/include/scramble.glsl` has the same.
pub fn scramble(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7FEB_352D);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846C_A68B);
    x ^ (x >> 16)
}
