//! Which subgroups a configuration can be required to have.

use super::SUBGROUP_AXIS;
use crate::model::{AxisValue, Point, Subgroup};

/// The size that an axis requires.
pub(super) fn required(point: &Point) -> Option<u32> {
    match point.get(SUBGROUP_AXIS)? {
        AxisValue::Integer(size) => Some(u32::try_from(*size).unwrap_or(u32::MAX)),
        AxisValue::Choice(_) => None,
    }
}

/// Why a device can't have these subgroups in workgroups of this size; nothing where it can.
pub(super) fn refusal(required: Option<u32>, are_full: bool, local_size: [u32; 3], device: &Subgroup) -> Option<String> {
    let Subgroup { size, min_size, max_size, max_workgroup_subgroups, size_control, full_subgroups, .. } = device;
    if let Some(required) = required {
        if !size_control {
            return Some(format!("{SUBGROUP_AXIS} is {required}, and the device lets nobody choose: it has {size}"));
        }
        if !(required.is_power_of_two() && (*min_size..=*max_size).contains(&required)) {
            let has = if min_size == max_size {
                format!("{size} alone")
            } else {
                format!("powers of two from {min_size} to {max_size}")
            };
            return Some(format!("{SUBGROUP_AXIS} is {required}, and the device has {has}"));
        }
        let invocations = local_size.into_iter().map(u64::from).fold(1, u64::saturating_mul);
        let most = u64::from(required) * u64::from(*max_workgroup_subgroups);
        if invocations > most {
            return Some(format!(
                "maxComputeWorkgroupSubgroups is {max_workgroup_subgroups}, and subgroups of {required} would be {}",
                invocations.div_ceil(required.into())
            ));
        }
    }
    let full = required.unwrap_or(*size);
    match are_full {
        false => None,
        true if !full_subgroups => Some("--full-subgroups: the device can't promise full subgroups".to_owned()),
        true if full == 0 || local_size[0] % full == 0 => None,
        true => Some(format!("--full-subgroups: local_size_x is {}, no multiple of subgroups of {full}", local_size[0])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_device_has_can_be_required_and_nothing_else() {
        let device = Subgroup {
            size: 32,
            min_size: 8,
            max_size: 32,
            max_workgroup_subgroups: 16,
            size_control: true,
            full_subgroups: true,
            ..Subgroup::default()
        };
        let told = |required, are_full, x| refusal(required, are_full, [x, 1, 1], &device).unwrap_or_default();
        assert_eq!(told(Some(8), true, 128) + &told(None, false, 7) + &told(None, true, 64), "");
        for (required, are_full, x, part) in [
            (Some(64), false, 64, "powers of two from 8 to 32"),
            (Some(12), false, 64, "subgroup_size is 12"),
            (Some(8), false, 256, "subgroups of 8 would be 32"),
            (Some(16), true, 24, "local_size_x is 24, no multiple of subgroups of 16"),
            (None, true, 16, "no multiple of subgroups of 32"),
        ] {
            assert!(told(required, are_full, x).contains(part), "{}", told(required, are_full, x));
        }
        let fixed = Subgroup { size_control: false, full_subgroups: false, ..device.clone() };
        assert!(refusal(Some(32), false, [32, 1, 1], &fixed).unwrap().contains("lets nobody choose: it has 32"));
        assert!(refusal(None, true, [32, 1, 1], &fixed).unwrap().contains("can't promise"));
    }
}
