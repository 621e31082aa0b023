//! Where buffers lie: elsewhere in each process of each run, where one was asked for that tells how much that matters.
//!
//! Global atomics and false sharing moved by up to 9 % from run to run on an H200, with where their buffers lay: a process keeps its
//! buffers where it got them, so that its intervals hold nothing of that.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Opening;
use crate::model::DeviceInfo;

/// What is taken is a multiple of this: drivers hand memory out in pages of at most so many bytes, or in multiples of them.
const STEP: u64 = 64 << 10;
const MOST: u64 = 256 << 20;
/// It is at most one part in so many of the device's memory: cases need the rest.
const SHARE: u64 = 32;

/// How many bytes of the device's memory a process takes before anything is loaded: a random number, which differs from process to
/// process and from run to run. `None` where buffers lie as they come.
pub(super) fn displacement(opening: &Opening, device: &DeviceInfo) -> Option<u64> {
    let run = opening.placement?;
    let most = MOST.min(device.local_heap_bytes() / SHARE).min(device.limits.allocation_bytes);
    let of_process = opening.seed.wrapping_add(u64::from(opening.process).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut rng = ChaCha8Rng::seed_from_u64(run ^ of_process);
    Some(rng.random_range(0..=most / STEP) * STEP)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;
    use crate::model::{PipelineDetail, Preset};
    use crate::worker::Identity;

    fn opening(device: &DeviceInfo, placement: Option<u64>, process: u32) -> Opening {
        Opening {
            device: Identity::at_place(device, 0),
            queue: None,
            detail: PipelineDetail::None,
            seed: 1,
            compile_threads: 0,
            is_robust: false,
            preset: Preset::Default,
            evict_bytes: None,
            dump: None,
            warm_up: Duration::ZERO,
            max_time: Duration::ZERO,
            deadline: None,
            timer: None,
            sentinel: None,
            process,
            placement,
            subject: None,
            kernels: Vec::new(),
            altered: Vec::new(),
        }
    }

    #[test]
    fn each_process_of_each_run_takes_another_part_of_the_memory() {
        let device = DeviceInfo::mock();
        let taken = |run, process| displacement(&opening(&device, Some(run), process), &device).unwrap();
        let all: BTreeSet<u64> =
            (0..100).flat_map(|run| (1..=6).map(move |process| (run, process))).map(|(r, p)| taken(r, p)).collect();
        assert!(all.len() > 500, "{} of 600 differ", all.len());
        assert!(all.iter().all(|bytes| bytes % STEP == 0 && *bytes <= MOST.min(device.local_heap_bytes() / SHARE)));
        assert!(all.last() > Some(&(100 << 20)) && all.first() < Some(&(10 << 20)));
        assert_eq!(taken(7, 3), taken(7, 3));
        assert_eq!(displacement(&opening(&device, None, 1), &device), None);
    }

    #[test]
    fn a_small_device_keeps_nearly_all_of_its_memory() {
        let mut device = DeviceInfo::mock();
        device.heaps.iter_mut().for_each(|heap| heap.bytes = 64 << 20);
        let taken: BTreeSet<u64> =
            (1..=64).filter_map(|process| displacement(&opening(&device, Some(1), process), &device)).collect();
        assert!(taken.len() > 10 && taken.last() <= Some(&(2 << 20)));
        device.limits.allocation_bytes = 1 << 20;
        assert!((1..=64).all(|process| displacement(&opening(&device, Some(1), process), &device) <= Some(1 << 20)));
    }
}
