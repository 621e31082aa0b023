//! How the elements of an array are dealt to the invocations of a grid: `glsl/include/elements.glsl` has the other half.

use super::fold_groups;
use crate::model::{Case, Point};

/// Elements of an array, dealt out: a workgroup takes neighbouring ones, `unroll` for each of its invocations, which lie a
/// workgroup apart.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// How many there are.
    pub count: u64,
    local_size: u64,
    unroll: u64,
    /// The grid that takes them all. Its last workgroups may find fewer than they could take, or none.
    pub groups: [u32; 3],
}

impl Elements {
    /// So many elements, dealt by the point's `local_size_x` and `unroll`, where a grid may have so many workgroups along x.
    pub fn new(count: u64, point: &Point, limit_x: u32) -> Self {
        let [local_size, unroll] = ["local_size_x", "unroll"].map(|axis| point.integer(axis));
        let groups = fold_groups(count.div_ceil(local_size.saturating_mul(unroll)), limit_x);
        Self { count, local_size, unroll, groups }
    }

    /// The elements of a case, as it deals them.
    pub fn of_case(count: u64, case: &Case) -> Self {
        Self { groups: case.groups(), ..Self::new(count, &case.point, u32::MAX) }
    }

    /// Invocations of the whole grid.
    pub fn invocations(&self) -> u64 {
        self.groups.iter().fold(self.local_size, |product, &count| product.saturating_mul(count.into()))
    }

    /// What one invocation takes, in the order of its loop.
    pub fn of(&self, invocation: u64) -> impl Iterator<Item = u64> + use<> {
        let Self { count, local_size, unroll, .. } = *self;
        let (group, lane) = (invocation / local_size, invocation % local_size);
        let first = group * local_size * unroll + lane;
        (0..unroll).map(move |k| first + k * local_size).take_while(move |element| *element < count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_dealt_once() {
        for (count, local_size, unroll, limit_x) in [(1, 64, 8, 100), (1000, 7, 4, 3), (1024, 64, 8, 1), (5000, 1, 1, 65)] {
            let axes = [("local_size_x", local_size), ("unroll", unroll)];
            let point = Point::new(axes.map(|(name, value): (&'static str, u64)| (name.into(), value.into())));
            let elements = Elements::new(count, &point, limit_x);
            assert!(elements.groups[0] <= limit_x);
            let mut dealt: Vec<u64> = (0..elements.invocations()).flat_map(|invocation| elements.of(invocation)).collect();
            dealt.sort_unstable();
            assert!(dealt.into_iter().eq(0..count), "{elements:?}");
        }
    }
}
