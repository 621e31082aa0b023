//! Which workgroup sizes of a shader a device allows, and which limit stops the others.

use serde::Serialize;

use super::reflect::{EntryPoint, Extent, ReflectError, Reflection, SpecValues};
use crate::model::Limits;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkgroupFit {
    pub size: [u32; 3],
    pub shared_bytes: u64,
    pub stopped_by: Vec<Stop>,
    /// How far powers of two go in x, y and z, with the other two directions as they are.
    pub reach: [LargestFit; 3],
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stop {
    pub limit: &'static str,
    pub allowed: u64,
    /// What is needed; `u64::MAX` for more than can be told.
    pub needed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LargestFit {
    /// The largest power of two that fits; nothing where none does, or where the size follows from other constants.
    pub largest: Option<u32>,
    /// The first limit that stops the next power of two; of all of them, where none fits.
    pub next: Option<Stop>,
}

impl WorkgroupFit {
    /// Holds an entry point to a device's limits. A direction whose size is a specialization constant is tried by that constant, which
    /// workgroup memory and other directions may follow. What the compiler has worked out from a literal size can't follow it.
    pub fn check(
        reflection: &Reflection,
        entry: &EntryPoint,
        values: &SpecValues,
        limits: &Limits,
    ) -> Result<Self, ReflectError> {
        let size = reflection.local_size(entry, values)?;
        let shared_bytes = reflection.shared_bytes(values)?;
        let trial = Trial { reflection, entry, values, limits, size };
        let reach = [0, 1, 2].map(|direction| trial.reach(direction));
        Ok(Self { size, shared_bytes, stopped_by: stops(size, shared_bytes, limits), reach })
    }
}

struct Trial<'a> {
    reflection: &'a Reflection,
    entry: &'a EntryPoint,
    values: &'a SpecValues,
    limits: &'a Limits,
    size: [u32; 3],
}

impl Trial<'_> {
    fn reach(&self, direction: usize) -> LargestFit {
        let mut reach = LargestFit { largest: None, next: None };
        if matches!(self.entry.local_size[direction], Extent::Derived { .. }) {
            return reach;
        }
        for length in (0..u32::BITS).map(|power| 1 << power) {
            match self.stop(direction, length) {
                None => reach = LargestFit { largest: Some(length), next: None },
                stop if reach.next.is_none() => reach.next = stop,
                Some(_) => {}
            }
            // Nothing longer fits, whatever becomes of the rest.
            if length > self.limits.workgroup_size[direction] {
                break;
            }
        }
        reach
    }

    fn stop(&self, direction: usize, length: u32) -> Option<Stop> {
        let (mut size, mut values) = (self.size, self.values.clone());
        size[direction] = length;
        if let Extent::Specialized { constant_id, .. } = self.entry.local_size[direction] {
            values.insert(constant_id, length.into());
            // What can't be told any more is beyond every limit.
            size = self.reflection.local_size(self.entry, &values).unwrap_or([u32::MAX; 3]);
        }
        let shared_bytes = self.reflection.shared_bytes(&values).unwrap_or(u64::MAX);
        stops(size, shared_bytes, self.limits).into_iter().next()
    }
}

fn stops(size: [u32; 3], shared_bytes: u64, limits: &Limits) -> Vec<Stop> {
    const DIRECTIONS: [&str; 3] = ["maxComputeWorkGroupSize[0]", "maxComputeWorkGroupSize[1]", "maxComputeWorkGroupSize[2]"];
    let directions = (0..3).map(|i| Stop::new(DIRECTIONS[i], limits.workgroup_size[i].into(), size[i].into()));
    let invocations = size.iter().map(|length| u64::from(*length)).fold(1, u64::saturating_mul);
    let invocations = Stop::new("maxComputeWorkGroupInvocations", limits.workgroup_invocations.into(), invocations);
    let shared = Stop::new("maxComputeSharedMemorySize", limits.shared_bytes.into(), shared_bytes);
    directions.chain([invocations, shared]).filter(|stop| stop.needed > stop.allowed).collect()
}

impl Stop {
    fn new(limit: &'static str, allowed: u64, needed: u64) -> Self {
        Self { limit, allowed, needed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceInfo, SpirvTarget};
    use crate::shader::{Compiler, Library};

    fn fit(glsl: &str, values: &[(u32, u64)]) -> WorkgroupFit {
        let library = Library::embedded().with("fit.comp", format!("#version 460\n{glsl}"));
        let module = Compiler::new(library).unwrap().compile("fit.comp", &[], SpirvTarget::default()).unwrap();
        let reflection = &module.reflection;
        let values = values.iter().copied().collect();
        WorkgroupFit::check(reflection, &reflection.entry_points[0], &values, &DeviceInfo::mock().limits).unwrap()
    }

    fn reach(largest: u32, limit: &'static str, allowed: u64, needed: u64) -> LargestFit {
        LargestFit { largest: Some(largest), next: Some(Stop { limit, allowed, needed }) }
    }

    #[test]
    fn invocations_and_directions_stop_a_size() {
        let fit = fit("layout(local_size_x = 8, local_size_y = 8) in;\nvoid main() {}", &[]);
        assert_eq!((fit.size, fit.stopped_by.len(), fit.shared_bytes), ([8, 8, 1], 0, 0));
        assert_eq!(fit.reach[0], reach(128, "maxComputeWorkGroupInvocations", 1024, 2048));
        assert_eq!(fit.reach[2], reach(16, "maxComputeWorkGroupInvocations", 1024, 2048));
    }

    #[test]
    fn shared_memory_that_grows_with_the_size_stops_it() {
        let tile = "layout(local_size_x_id = 0, local_size_y_id = 1) in;\nlayout(constant_id = 0) const uint WIDTH = 16;\n\
                    layout(constant_id = 2) const uint DEEP = 8;\nshared float tile[WIDTH * DEEP * 16];\n\
                    void main() { tile[gl_LocalInvocationID.x] = 1; }";
        // 48 KiB are 96 times 512 bytes.
        let narrow = fit(tile, &[(0, 16)]);
        assert_eq!((narrow.size, narrow.shared_bytes), ([16, 1, 1], 8192));
        assert_eq!(narrow.reach[0], reach(64, "maxComputeSharedMemorySize", 49_152, 65_536));
        assert_eq!(narrow.reach[1], reach(64, "maxComputeWorkGroupInvocations", 1024, 2048));
        let deep = fit(tile, &[(0, 1), (2, 1024)]);
        let stop = Stop { limit: "maxComputeSharedMemorySize", allowed: 49_152, needed: 65_536 };
        assert_eq!((deep.stopped_by, &deep.reach[0]), (vec![stop.clone()], &LargestFit { largest: None, next: Some(stop) }));
    }

    #[test]
    fn one_constant_may_stand_for_two_directions() {
        let fit = fit("layout(local_size_x_id = 0, local_size_y_id = 0) in;\nvoid main() {}", &[(0, 64)]);
        assert_eq!(fit.stopped_by[0], Stop { limit: "maxComputeWorkGroupInvocations", allowed: 1024, needed: 4096 });
        assert_eq!(fit.reach[0], reach(32, "maxComputeWorkGroupInvocations", 1024, 4096));
        assert_eq!(fit.reach[0], fit.reach[1]);
        assert_eq!(fit.reach[2], LargestFit { largest: None, next: Some(fit.stopped_by[0].clone()) });
    }
}
