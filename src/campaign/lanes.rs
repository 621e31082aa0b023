//! Several devices in one run: GPUs side by side, what shares hardware one after the other, or by turns.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use anyhow::Context;

use super::turns::{Turns, Turnstile};
use crate::model::DeviceInfo;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Each until those before it are done.
    Once,
    ByTurns,
}

/// The devices of a run, by their places, in groups: those of a group wait for each other.
struct Groups {
    together: Vec<Vec<usize>>,
    /// Those on the processor, which the others need for themselves.
    alone: Vec<usize>,
}

impl Groups {
    fn new<'d>(devices: impl Iterator<Item = &'d DeviceInfo>, jobs: usize, waiting: Waiting) -> Self {
        let (alone, others): (Vec<_>, Vec<_>) = devices.enumerate().partition(|(_, device)| device.is_cpu());
        let mut together: Vec<Vec<(usize, &DeviceInfo)>> = Vec::new();
        for (place, device) in others {
            let is_one = jobs == 1 && waiting == Waiting::ByTurns;
            let is_its =
                |group: &&mut Vec<(usize, &DeviceInfo)>| is_one || group.iter().any(|(_, other)| device.shares_hardware(other));
            match together.iter_mut().find(is_its) {
                Some(group) => group.push((place, device)),
                None => together.push(vec![(place, device)]),
            }
        }
        let places = |group: Vec<(usize, &DeviceInfo)>| group.into_iter().map(|(place, _)| place).collect();
        Self { together: together.into_iter().map(places).collect(), alone: places(alone) }
    }
}

/// Does the work of each device: of at most `jobs` groups at a time, and those on the processor alone, when the others are done.
/// Errors: the first error of any of them. What is under way goes on to its end, what hasn't begun does not.
pub fn run<'d>(
    devices: impl Iterator<Item = &'d DeviceInfo>,
    jobs: usize,
    waiting: Waiting,
    work: impl Fn(usize, Turns) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let Groups { together, alone } = Groups::new(devices, jobs, waiting);
    let lanes = jobs.min(together.len()).max(1);
    let queue: Mutex<VecDeque<Vec<usize>>> = Mutex::new(together.into());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let one_by_one = |_| -> anyhow::Result<()> {
        while let Some(group) = next() {
            if let Err(error) = run_group(&group, waiting, &work) {
                queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
                return Err(error);
            }
        }
        Ok(())
    };
    side_by_side(lanes, &one_by_one)?;
    run_group(&alone, waiting, &work)
}

fn run_group(
    group: &[usize],
    waiting: Waiting,
    work: &(impl Fn(usize, Turns) -> anyhow::Result<()> + Sync),
) -> anyhow::Result<()> {
    match waiting {
        Waiting::Once => group.iter().try_for_each(|&device| work(device, Turnstile::new(1).turns(0))),
        Waiting::ByTurns => {
            let turnstile = Turnstile::new(group.len());
            side_by_side(group.len(), &|place| work(group[place], turnstile.turns(place)))
        }
    }
}

/// Does so many works at a time; a single one on this thread.
fn side_by_side(count: usize, work: &(impl Fn(usize) -> anyhow::Result<()> + Sync)) -> anyhow::Result<()> {
    match count {
        0 => Ok(()),
        1 => work(0),
        _ => thread::scope(|scope| {
            // They may wait for each other: none begins unless all are there.
            let started = |place| {
                let (begin, begins) = mpsc::channel::<()>();
                let begun = move || if begins.recv().is_ok() { work(place) } else { Ok(()) };
                thread::Builder::new().spawn_scoped(scope, begun).map(|thread| (begin, thread))
            };
            let threads: Result<Vec<_>, _> = (0..count).map(started).collect();
            let threads = threads.context("can't start a thread for each device: try --jobs 1")?;
            // None of them has ended.
            let _ = threads.iter().try_for_each(|(begin, _)| begin.send(()));
            // The scope waits for all of them, whichever fails.
            threads.into_iter().try_for_each(|(_, thread)| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        }),
    }
}

/// How many devices are measured on one after the other, where so many others are at a time.
pub fn turns<'d>(devices: impl Iterator<Item = &'d DeviceInfo>, jobs: usize) -> u64 {
    let Groups { together, alone } = Groups::new(devices, jobs, Waiting::Once);
    let others: usize = together.iter().map(Vec::len).sum();
    let longest = together.iter().map(Vec::len).max().unwrap_or(0);
    (alone.len() + others.div_ceil(jobs.max(1)).max(longest)) as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::model::{DeviceKind, PciAddress, Uuid};

    fn devices(kinds: &[DeviceKind]) -> Vec<DeviceInfo> {
        let device = |(number, &kind)| DeviceInfo { kind, device_uuid: Uuid([number; 16]), ..DeviceInfo::mock() };
        (0..).zip(kinds).map(device).collect()
    }

    #[test]
    fn devices_that_wait_for_each_other_take_turns() {
        use DeviceKind::{Cpu, Discrete};
        let turns = |kinds: &[DeviceKind], jobs| turns(devices(kinds).iter(), jobs);
        assert_eq!(turns(&[Discrete, Discrete], usize::MAX), 1);
        assert_eq!(turns(&[Discrete, Discrete, Discrete], 2), 2);
        assert_eq!(turns(&[Cpu, Discrete, Cpu], usize::MAX), 3);
        assert_eq!(turns(&[Cpu], 1), 1);
        let twins: Vec<DeviceInfo> = devices(&[Discrete]).into_iter().cycle().take(2).collect();
        assert_eq!(super::turns(twins.iter(), 8), 2);
    }

    #[test]
    fn what_shares_hardware_is_one_group() {
        use DeviceKind::{Cpu, Discrete};
        let mut all = devices(&[Discrete, Cpu, Discrete, Discrete, Cpu]);
        let at = |bus| Some(PciAddress { bus, ..PciAddress::default() });
        (all[0].pci_address, all[2].pci_address, all[3].pci_address) = (at(1), at(2), at(1));
        let groups = |all: &[DeviceInfo], jobs, waiting| {
            let Groups { together, alone } = Groups::new(all.iter(), jobs, waiting);
            (together, alone)
        };
        for waiting in [Waiting::Once, Waiting::ByTurns] {
            assert_eq!(groups(&all, 8, waiting), (vec![vec![0, 3], vec![2]], vec![1, 4]));
        }
        // One at a time: by turns, that is one group.
        assert_eq!(groups(&all, 1, Waiting::Once).0, [vec![0, 3], vec![2]]);
        assert_eq!(groups(&all, 1, Waiting::ByTurns).0, [vec![0, 2, 3]]);
        // Another driver that doesn't tell where the device sits.
        (all[3].pci_address, all[3].driver.uuid) = (None, Uuid([9; 16]));
        (all[2].device_id, all[3].vendor_id, all[0].vendor_id) = (7, 1, 1);
        assert_eq!(groups(&all, 8, Waiting::Once).0, [vec![0, 3], vec![2]]);
    }

    #[test]
    fn devices_that_share_hardware_take_turns_where_that_is_asked_for() {
        let devices = devices(&[DeviceKind::Cpu; 2]);
        let order = |waiting| {
            let order = Mutex::new(Vec::new());
            let work = |index: usize, mut turns: Turns| {
                turns.begin();
                for round in 1..=3 {
                    turns.begin_round(round);
                    order.lock().unwrap().push((index, round));
                }
                Ok(())
            };
            run(devices.iter(), 8, waiting, work).unwrap();
            order.into_inner().unwrap()
        };
        assert_eq!(order(Waiting::Once), [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]);
        assert_eq!(order(Waiting::ByTurns), [(0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 3)]);
    }

    #[test]
    fn gpus_run_side_by_side_and_processors_after_them() {
        let devices = devices(&[DeviceKind::Cpu, DeviceKind::Discrete, DeviceKind::Integrated]);
        let (meeting, order) = (Barrier::new(2), Mutex::new(Vec::new()));
        let work = |index: usize, _: Turns| {
            // Each waits for the other: one after the other they would never end.
            if index > 0 {
                meeting.wait();
            }
            order.lock().unwrap().push(index);
            Ok(())
        };
        run(devices.iter(), 8, Waiting::Once, work).unwrap();
        let order = order.into_inner().unwrap();
        assert_eq!((order.len(), order[2]), (3, 0));
    }

    #[test]
    fn an_error_keeps_the_rest_from_beginning() {
        let devices = devices(&[DeviceKind::Discrete; 3]);
        let begun = Mutex::new(0);
        let work = |_, _: Turns| {
            *begun.lock().unwrap() += 1;
            anyhow::bail!("no")
        };
        assert!(run(devices.iter(), 1, Waiting::Once, work).is_err());
        assert_eq!(*begun.lock().unwrap(), 1);
    }
}
