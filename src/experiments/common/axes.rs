//! Sizes of arrays and of loops.

use crate::model::{Axis, AxisKind, Bound};

/// Bytes of which no cache of today holds a part that matters.
pub const BEYOND_CACHES: u64 = 1 << 30;

/// The device's memory, if so many bytes come from there.
pub fn beyond_caches(bytes: u64) -> Option<Bound> {
    (bytes >= BEYOND_CACHES).then_some(Bound::Memory)
}

/// An axis of how often something is done, up to what the twin follows in a reasonable time.
pub fn loop_axis(name: &'static str, description: &'static str, defaults: impl IntoIterator<Item = u64>, most: u64) -> Axis {
    Axis::new(name, description, AxisKind::AtLeast(1), defaults).up_to(most).of_monotone_work()
}
