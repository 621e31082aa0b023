//! Several devices in one run: GPUs side by side, what is software on the processor one after the other.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::model::{DeviceInfo, DeviceKind};

/// Does the work of each device: at most `jobs` at a time, and those on the processor alone, when the others are done.
///
/// # Errors
/// The first error of any of them. What is under way goes on to its end, what hasn't begun does not.
pub fn run<'d>(
    devices: impl Iterator<Item = &'d DeviceInfo>,
    jobs: usize,
    work: impl Fn(usize) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let (alone, together): (Vec<_>, Vec<_>) = devices.enumerate().partition(|(_, device)| device.kind == DeviceKind::Cpu);
    let queue: Mutex<VecDeque<usize>> = Mutex::new(together.iter().map(|(index, _)| *index).collect());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let one_by_one = || -> anyhow::Result<()> {
        while let Some(index) = next() {
            if let Err(error) = work(index) {
                queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
                return Err(error);
            }
        }
        Ok(())
    };
    match jobs.min(together.len()) {
        0 | 1 => one_by_one()?,
        jobs => thread::scope(|scope| {
            let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(one_by_one)).collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?,
    }
    alone.into_iter().try_for_each(|(index, _)| work(index))
}

/// How many devices are measured on one after the other, where so many others are at a time.
pub fn turns<'d>(devices: impl Iterator<Item = &'d DeviceInfo>, jobs: usize) -> u64 {
    let (alone, together): (Vec<_>, Vec<_>) = devices.partition(|device| device.kind == DeviceKind::Cpu);
    (alone.len() + together.len().div_ceil(jobs.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn devices(kinds: &[DeviceKind]) -> Vec<DeviceInfo> {
        kinds.iter().map(|&kind| DeviceInfo { kind, ..DeviceInfo::mock() }).collect()
    }

    #[test]
    fn devices_that_wait_for_each_other_take_turns() {
        use DeviceKind::{Cpu, Discrete};
        let turns = |kinds: &[DeviceKind], jobs| turns(devices(kinds).iter(), jobs);
        assert_eq!(turns(&[Discrete, Discrete], usize::MAX), 1);
        assert_eq!(turns(&[Discrete, Discrete, Discrete], 2), 2);
        assert_eq!(turns(&[Cpu, Discrete, Cpu], usize::MAX), 3);
        assert_eq!(turns(&[Cpu], 1), 1);
    }

    #[test]
    fn gpus_run_side_by_side_and_processors_after_them() {
        let devices = devices(&[DeviceKind::Cpu, DeviceKind::Discrete, DeviceKind::Integrated]);
        let (meeting, order) = (Barrier::new(2), Mutex::new(Vec::new()));
        let work = |index: usize| {
            // Each waits for the other: one after the other they would never end.
            if index > 0 {
                meeting.wait();
            }
            order.lock().unwrap().push(index);
            Ok(())
        };
        run(devices.iter(), 8, work).unwrap();
        let order = order.into_inner().unwrap();
        assert_eq!((order.len(), order[2]), (3, 0));
    }

    #[test]
    fn an_error_keeps_the_rest_from_beginning() {
        let devices = devices(&[DeviceKind::Discrete; 3]);
        let begun = Mutex::new(0);
        let work = |_| {
            *begun.lock().unwrap() += 1;
            anyhow::bail!("no")
        };
        assert!(run(devices.iter(), 1, work).is_err());
        assert_eq!(*begun.lock().unwrap(), 1);
    }
}
