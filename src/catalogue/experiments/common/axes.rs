//! Sizes of arrays and of loops.

use crate::experiments::powers_of_two;
use crate::model::{Axis, AxisKind, Bound};

/// Bytes of which no cache of today holds a part that matters.
pub const BEYOND_CACHES: u64 = 1 << 30;

/// The device's memory, if so many bytes come from there.
pub fn beyond_caches(bytes: u64) -> Option<Bound> {
    (bytes >= BEYOND_CACHES).then_some(Bound::Memory)
}

/// Hops of an iteration of the loops that walk from load to load.
pub const HOPS_PER_ITERATION: u64 = 16;

/// The axis of how many loads follow each other. More than 2^24 would take seconds, and outlast the watchdogs of graphics drivers.
pub fn hops_axis(description: &'static str, hops: u64) -> Axis {
    Axis::new("hops", description, AxisKind::AtLeast(HOPS_PER_ITERATION), [hops])
        .multiple_of(HOPS_PER_ITERATION)
        .up_to(1 << 24)
        .of_monotone_work()
}

/// Bytes up to a limit: two for each doubling from 1 KiB on, and the limit itself.
pub fn sizes_up_to(limit: u64) -> Vec<u64> {
    let sizes = powers_of_two(1 << 10, limit).flat_map(|power| [power, power / 2 * 3]);
    sizes.filter(|bytes| *bytes < limit).chain([limit]).collect()
}

/// An axis of how often something is done, up to what the twin follows in a reasonable time.
pub fn loop_axis(name: &'static str, description: &'static str, defaults: impl IntoIterator<Item = u64>, most: u64) -> Axis {
    Axis::new(name, description, AxisKind::AtLeast(1), defaults).up_to(most).of_monotone_work()
}
