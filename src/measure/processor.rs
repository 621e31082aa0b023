//! Processor time of this process, for devices that are software on it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::platform::{OwnTime, ProcessorTime, ThreadTime};

/// A thread that ran less than this share of what the busiest one did is a helper: it waits for its turn behind the driver's own
/// workers, which is no loss to others.
const WORKER: f64 = 0.5;

impl ProcessorTime {
    /// Of one thread, where nobody else takes more than what it waits.
    pub fn from_thread(thread: ThreadTime) -> Self {
        let own = OwnTime::Threads(BTreeMap::from([(0, thread)]));
        Self { own, busy: thread.ran + thread.waited, idle: Duration::ZERO }
    }

    fn ran(&self) -> Duration {
        match &self.own {
            OwnTime::Threads(threads) => threads.values().map(|thread| thread.ran).sum(),
            OwnTime::Process(ran) => *ran,
        }
    }

    /// The share of all processor time used between two moments that others had, for as much of it as no processor was free: what others
    /// have of processors that this process leaves idle is no loss to it.
    fn others(before: &Self, after: &Self, free: f64) -> Option<f64> {
        let own = after.ran().saturating_sub(before.ran()).as_secs_f64();
        let all = after.busy.saturating_sub(before.busy).as_secs_f64();
        let share = (all - own - free).max(0.0) / (all - free).max(own);
        share.is_finite().then_some(share)
    }
}

/// The share of the time wanted by the working threads between two moments in which they had to wait.
fn waited(before: &BTreeMap<u64, ThreadTime>, after: &BTreeMap<u64, ThreadTime>) -> Option<f64> {
    let since = |(id, after): (&u64, &ThreadTime)| {
        let before = before.get(id).copied().unwrap_or_default();
        let [ran, waited] = [(before.ran, after.ran), (before.waited, after.waited)];
        [ran, waited].map(|(before, after)| after.saturating_sub(before).as_secs_f64())
    };
    let threads: Vec<[f64; 2]> = after.iter().map(since).collect();
    let busiest = threads.iter().fold(0.0, |most: f64, [ran, _]| most.max(*ran));
    let workers = threads.iter().filter(|[ran, _]| *ran >= WORKER * busiest);
    let [ran, waited] = workers.fold([0.0; 2], |sum, thread| [sum[0] + thread[0], sum[1] + thread[1]]);
    let share = waited / (ran + waited);
    share.is_finite().then_some(share)
}

/// Tells what others took. Two observations have to agree: that the working threads waited, which they also do for each other
/// where a driver has more threads than there are processors; and that others were busy, which takes nothing from us where
/// processors are free. Where the system doesn't tell who waited, threads are taken to have waited where no processor was free. What all
/// processors did is known in large steps only, so it is taken over a longer time.
#[derive(Clone, Debug, Default)]
pub(super) struct Contention {
    /// Earlier moments, oldest first: one from before the last half second, and those since.
    earlier: VecDeque<ProcessorTime>,
}

/// What others had is judged over at least so much of the processors' busy time.
const LONG: Duration = Duration::from_millis(500);

impl Contention {
    /// The share of the processor time wanted between two moments that others had. `None` where nothing was wanted.
    pub(super) fn lost(&mut self, before: &ProcessorTime, after: ProcessorTime) -> Option<f64> {
        if self.earlier.is_empty() {
            self.earlier.push_back(before.clone());
        }
        while self.earlier.get(1).is_some_and(|second| after.busy.saturating_sub(second.busy) >= LONG) {
            self.earlier.pop_front();
        }
        let earlier = self.earlier.front()?;
        let lost = match (&before.own, &after.own) {
            (OwnTime::Threads(before), OwnTime::Threads(own)) => {
                let others = ProcessorTime::others(earlier, &after, 0.0);
                waited(before, own).zip(others).map(|(waited, others)| waited.min(others))
            }
            _ => ProcessorTime::others(earlier, &after, after.idle.saturating_sub(earlier.idle).as_secs_f64()),
        };
        self.earlier.push_back(after);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(times: &[(u64, u64)]) -> ProcessorTime {
        let millis = Duration::from_millis;
        let thread = |&(ran, waited): &(u64, u64)| ThreadTime { ran: millis(ran), waited: millis(waited) };
        let busy = times.iter().map(|(ran, waited)| millis(ran + waited)).sum();
        ProcessorTime { own: OwnTime::Threads((0..).zip(times.iter().map(thread)).collect()), busy, idle: Duration::ZERO }
    }

    /// Where others are as busy as can be, waiting alone decides.
    fn crowded(time: ProcessorTime) -> ProcessorTime {
        ProcessorTime { busy: Duration::from_secs(3600), ..time }
    }

    #[test]
    fn a_share_is_of_what_was_wanted() {
        let waited = |before, after| Contention::default().lost(&threads(before), crowded(threads(after)));
        assert_eq!(waited(&[(10, 1)], &[(40, 11)]), Some(0.25));
        assert_eq!(waited(&[(10, 1), (20, 0)], &[(40, 11), (50, 10)]), Some(0.25));
        assert_eq!(waited(&[(10, 1)], &[(10, 1)]), None);
        // A thread that began meanwhile counts from its beginning; one that ended takes its time with it.
        assert_eq!(waited(&[], &[(30, 10)]), Some(0.25));
        assert_eq!(waited(&[(10, 5), (90, 90)], &[(20, 5)]), Some(0.0));
    }

    #[test]
    fn helpers_that_wait_behind_the_workers_do_not_count() {
        let after = crowded(threads(&[(1000, 20), (980, 20), (30, 300)]));
        let waited = Contention::default().lost(&threads(&[(0, 0); 3]), after);
        assert!(waited.is_some_and(|waited| waited < 0.03), "{waited:?}");
    }

    #[test]
    fn waiting_is_a_loss_only_if_others_were_busy() {
        let lost = |before: ProcessorTime, after| Contention::default().lost(&before, after);
        assert_eq!(lost(threads(&[(0, 0)]), threads(&[(750, 250)])), Some(0.25));
        // Nobody else ran: the threads waited for each other.
        let alone = ProcessorTime { busy: Duration::from_millis(1500), ..threads(&[(750, 250), (750, 250)]) };
        assert_eq!(lost(threads(&[(0, 0); 2]), alone), Some(0.0));
        // Others were busy on processors that were free.
        let beside = ProcessorTime { busy: Duration::from_millis(2000), ..threads(&[(1000, 10)]) };
        assert!(lost(threads(&[(0, 0)]), beside).is_some_and(|lost| lost < 0.01));
    }

    #[test]
    fn others_are_judged_over_a_long_time() {
        let mut contention = Contention::default();
        let at = |ran: u64, busy: u64| ProcessorTime { busy: Duration::from_millis(busy), ..threads(&[(ran, ran)]) };
        // A step of the coarse clock falls into a short visit: half of it seems to be others', but next to nothing was.
        let mut before = at(0, 0);
        for visit in 1..=60 {
            let after = at(10 * visit, 10 * visit);
            contention.lost(&before, after.clone());
            before = after;
        }
        assert!(contention.lost(&before, at(610, 620)).is_some_and(|lost| lost < 0.05));
    }

    /// As where nobody tells who waited: two processors.
    #[test]
    fn others_on_free_processors_are_no_loss() {
        let at = |own: u64, others: u64, wall: u64| ProcessorTime {
            own: OwnTime::Process(Duration::from_millis(own)),
            busy: Duration::from_millis(own + others),
            idle: Duration::from_millis(2 * wall - own - others),
        };
        let lost = |own, others| Contention::default().lost(&at(0, 0, 0), at(own, others, 1000));
        assert_eq!(lost(2000, 0), Some(0.0));
        assert_eq!(lost(1000, 1000), Some(0.5));
        // One thread, and others on the other processor, which has time left.
        assert_eq!(lost(1000, 400), Some(0.0));
        assert!(lost(900, 900).is_some_and(|lost| (lost - 0.4375).abs() < 1e-9));
        assert_eq!(lost(0, 0), None);
    }

    #[cfg(any(target_os = "linux", windows))]
    #[test]
    fn this_process_has_run() {
        let started = std::time::Instant::now();
        while started.elapsed() < Duration::from_millis(50) {}
        let now = crate::platform::processor_time();
        assert!(now.is_none_or(|time| time.ran() > Duration::ZERO && time.busy >= time.ran() / 2));
    }
}
