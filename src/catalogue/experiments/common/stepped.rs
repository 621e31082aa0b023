//! Arithmetic that no compiler shortens: `glsl/include/stepped.glsl` has the same.

/// A number after so many steps.
pub fn stepped(x: u32, steps: u64) -> u32 {
    (0..steps).fold(x, |x, _| (x ^ (x >> 15)).wrapping_mul(0x2C1B_3C6D))
}
