//! Sizes of grids and of sweeps.

use crate::experiments::Setting;
use crate::model::{Axis, AxisKind, Scalar, Skip};

/// What an axis may be that says how often something is done: few numbers, of which each makes another kernel.
pub const POWERS_TO_64: &[u64] = &[1, 2, 4, 8, 16, 32, 64];

/// Spreads `total` workgroups of a one-dimensional grid over x and y, since many devices allow no more than 65,535 along one
/// dimension. The grid may be larger than `total`; `glsl/include/grid.glsl` has the other half.
///
/// Counts beyond 32 bits saturate: the plan then skips the case by the device's limit.
pub fn fold_groups(total: u64, limit_x: u32) -> [u32; 3] {
    let x = total.clamp(1, limit_x.max(1).into());
    let y = total.div_ceil(x).max(1);
    [x, y, 1].map(narrow)
}

pub fn workgroups(groups: [u32; 3]) -> u64 {
    product(groups.map(u64::from))
}

/// What is multiplied, or the largest number where that is more: no device has so much, and the plan skips such a case by a limit.
/// Where factors are constants and a single number of an axis, which is at most [`MOST_NUMBER`](crate::model::MOST_NUMBER), a
/// plain product will do.
pub fn product<const N: usize>(factors: [u64; N]) -> u64 {
    factors.into_iter().fold(1, u64::saturating_mul)
}

/// The powers of two from `first` to `last`, both included where they are powers of two.
pub fn powers_of_two(first: u64, last: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(first.next_power_of_two()), |n| n.checked_mul(2)).take_while(move |n| *n <= last)
}

/// A number as a kernel counts it: in 32 bits.
pub fn u32_of(n: u64) -> Result<u32, Skip> {
    u32::try_from(n).map_err(|_| Skip::new(format!("the kernel counts in 32 bits, the case needs {n}")))
}

/// The same of what is beyond a limit where it is so large: the plan skips such a case.
pub fn narrow(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The same as a constant of a kernel.
pub fn number(n: u64) -> Scalar {
    Scalar::U32(narrow(n))
}

/// Words, pixels or voxels along a side: more in two dimensions fit into no memory, and more in three can't be counted.
pub const MOST_SIZE: u64 = 1 << 20;

pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Invocations that are enough for any device and too many for none but the smallest, on which they are as many as it allows.
pub fn usual_size(setting: &Setting) -> u64 {
    size_up_to(256, setting)
}

/// So many invocations, or as many as the device allows.
pub fn size_up_to(most: u64, setting: &Setting) -> u64 {
    let limits = &setting.device.limits;
    u64::from(limits.workgroup_invocations.min(limits.workgroup_size[0])).clamp(1, most)
}

/// The axis of workgroups whose size isn't what an experiment is about.
pub fn local_size_axis(setting: &Setting) -> Axis {
    Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), [usual_size(setting)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folded_grid_holds_all_groups() {
        assert_eq!(fold_groups(10, 65_535), [10, 1, 1]);
        assert_eq!(fold_groups(65_536, 65_535), [65_535, 2, 1]);
        assert_eq!(fold_groups(0, 65_535), [1, 1, 1]);
        assert_eq!(fold_groups(u64::MAX, u32::MAX), [u32::MAX, u32::MAX, 1]);
    }

    #[test]
    fn powers_include_both_ends() {
        assert_eq!(powers_of_two(1, 8).collect::<Vec<_>>(), [1, 2, 4, 8]);
        assert_eq!(powers_of_two(3, 7).collect::<Vec<_>>(), [4]);
        assert_eq!(powers_of_two(1, u64::MAX).count(), 64);
        assert!(powers_of_two(1, 64).eq(POWERS_TO_64.iter().copied()));
    }
}
