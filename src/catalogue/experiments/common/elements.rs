//! How the elements of an array are dealt to the invocations of a grid: `glsl/include/elements.glsl` has the other half.

use std::ops::Add;

use super::config::Config;
use super::grid::{POWERS_TO_64, fold_groups, product, workgroups};
use crate::model::{Axis, AxisKind, Skip};
use crate::validate::Expected;

/// What the shaders' indexes of 32 bits must stay below, those past the end included.
const INDEXES: u64 = 1 << 32;

/// Elements of an array, dealt out: a workgroup takes neighbouring ones, `unroll` for each of its invocations, which lie a
/// workgroup apart.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    pub count: u64,
    local_size: u64,
    unroll: u64,
    /// The grid that takes them all. Its last workgroups may find fewer than they could take, or none.
    pub groups: [u32; 3],
}

impl Elements {
    /// The axis `unroll`: how many an invocation takes of what is named here.
    pub fn unroll_axis(description: &'static str, default: u64) -> Axis {
        Axis::new("unroll", description, AxisKind::Numbers(POWERS_TO_64), [default])
    }

    /// So many elements, dealt by the axes `local_size_x` and `unroll`.
    pub fn new(count: u64, config: &Config) -> Result<Self, Skip> {
        let [local_size, unroll] = ["local_size_x", "unroll"].map(|axis| config.integer(axis));
        Self::dealt(count, local_size, unroll, config.most_groups())
    }

    /// So many elements, `unroll` of them to each invocation, where a grid may have so many workgroups along x.
    /// Skipped where the grid reaches so far that indexes wrap around: its last workgroups would take what others have taken.
    pub fn dealt(count: u64, local_size: u64, unroll: u64, limit_x: u32) -> Result<Self, Skip> {
        let groups = fold_groups(count.div_ceil(local_size * unroll), limit_x);
        let elements = Self { count, local_size, unroll, groups };
        let reached = product([elements.invocations(), unroll]);
        if reached >= INDEXES {
            let reason = format!("indexes of 32 bits end at {INDEXES}, the grid of {count} elements reaches {reached}");
            return Err(Skip::new(reason));
        }
        Ok(elements)
    }

    /// How many they are, as kernels are told: a grid that is not skipped has fewer than 2^32.
    pub fn pushed(&self) -> u32 {
        u32::try_from(self.count).unwrap_or(u32::MAX)
    }

    /// What invocations write that sum up a word of each of their elements.
    pub fn sums(self, word: impl Fn(u64) -> u32 + Send + Sync + 'static) -> Expected {
        Expected::words(self.invocations(), move |i| self.of(i).map(&word).fold(0, u32::wrapping_add))
    }

    /// The same of floats.
    pub fn float_sums(self, float: impl Fn(u64) -> f32 + Send + Sync + 'static) -> Expected {
        // Not sum(), whose neutral element is -0.0.
        Expected::floats(self.invocations(), move |i| self.of(i).map(&float).fold(0.0, f32::add))
    }

    pub fn invocations(&self) -> u64 {
        product([self.local_size, workgroups(self.groups)])
    }

    /// What one invocation takes, in the order of its loop.
    pub fn of(&self, invocation: u64) -> impl Iterator<Item = u64> + use<> {
        let Run { first, count, step } = self.run(invocation);
        (0..count).map(move |k| first + k * step)
    }

    /// The same, told by its first.
    pub fn run(&self, invocation: u64) -> Run {
        let (group, lane) = (invocation / self.local_size, invocation % self.local_size);
        let first = group * self.local_size * self.unroll + lane;
        let left = self.count.saturating_sub(first).div_ceil(self.local_size);
        Run { first, count: left.min(self.unroll), step: self.local_size }
    }
}

/// So many elements, the first and those a step from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub first: u64,
    pub count: u64,
    pub step: u64,
}

/// What kernels make of the words of an element, each of which counts another odd number of times.
pub fn mixed(words: impl Iterator<Item = u32>) -> u32 {
    words.zip([1, 3, 5, 7]).fold(0, |mixed: u32, (word, factor)| mixed.wrapping_add(word.wrapping_mul(factor)))
}

/// What kernels make of one result after the other.
pub fn chained(results: impl Iterator<Item = u32>) -> u32 {
    results.fold(0, |chained: u32, result| chained.wrapping_mul(3).wrapping_add(result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_dealt_once() {
        for (count, local_size, unroll, limit_x) in [(1, 64, 8, 100), (1000, 7, 4, 3), (1024, 64, 8, 1), (5000, 1, 1, 65)] {
            let elements = Elements::dealt(count, local_size, unroll, limit_x).unwrap();
            assert!(elements.groups[0] <= limit_x);
            let mut dealt: Vec<u64> = (0..elements.invocations()).flat_map(|invocation| elements.of(invocation)).collect();
            dealt.sort_unstable();
            assert!(dealt.into_iter().eq(0..count), "{elements:?}");
        }
    }

    /// All elements may have indexes of 32 bits, and the grid none the less reach beyond.
    #[test]
    fn a_grid_that_wraps_around_is_skipped() {
        let bytes = 4 * 1_073_741_823;
        let reason = Elements::dealt(bytes, 256, 64, 65_535).unwrap_err().reason;
        assert_eq!(reason, "indexes of 32 bits end at 4294967296, the grid of 4294967292 elements reaches 5368627200");
        let unfolded = Elements::dealt(bytes - (1 << 14), 256, 64, u32::MAX).unwrap();
        assert_eq!(unfolded.invocations() * 64, (1 << 32) - (1 << 14));
        assert!(Elements::dealt(bytes, 256, 64, u32::MAX).is_err(), "its last index is all ones, and its count no u32");
        assert!(Elements::dealt(u64::MAX, 1, 1, u32::MAX).is_err());
    }
}
