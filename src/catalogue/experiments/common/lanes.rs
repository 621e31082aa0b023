//! Lanes of subgroups, as kernels number them: by the local invocation modulo the subgroup size, which Vulkan doesn't promise, but
//! which drivers do.

use crate::model::DeviceInfo;

/// Lanes of a subgroup, at least one, unless another size is required.
pub fn lanes(device: &DeviceInfo) -> u32 {
    device.subgroup.size.max(1)
}

/// The size to require of subgroups where the driver could choose another one; nothing where there is but one, or where a workgroup
/// would have more subgroups than can be required to have a size.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_required_where_there_is_a_choice() {
        let mut device = DeviceInfo::mock();
        assert_eq!(size_to_require(&device, 64), None);
        device.subgroup.size_control = true;
        (device.subgroup.min_size, device.subgroup.max_workgroup_subgroups) = (8, 2);
        assert_eq!([64, 65].map(|local_size| size_to_require(&device, local_size)), [Some(32), None]);
    }
}
