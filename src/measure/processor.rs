//! Processor time of this process, for devices that are software on it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A thread that ran less than this share of what the busiest one did is a helper: it waits for its turn behind the driver's own
/// workers, which is no loss to others.
const WORKER: f64 = 0.5;

/// What this process's threads had of the processor since they began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Each thread's, by its id.
    threads: BTreeMap<u64, ThreadTime>,
    /// What all processors of the system were busy, whoever with; stolen time of a virtual machine counts. In steps of 10 ms.
    busy: Duration,
}

/// What a thread had of the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// It ran.
    pub ran: Duration,
    /// It could have run, but another one did.
    pub waited: Duration,
}

impl ProcessorTime {
    /// Of this process now. `None` where the system doesn't tell: on Linux the kernel's scheduler statistics do
    /// (`/proc/PID/task/TID/schedstat`: nanoseconds run, and nanoseconds waited on a run queue; `/proc/stat`).
    pub fn now() -> Option<Self> {
        let mut threads = BTreeMap::new();
        for task in std::fs::read_dir("/proc/self/task").ok()? {
            let task = task.ok()?;
            // A thread may end between being listed and being read.
            let Ok(text) = std::fs::read_to_string(task.path().join("schedstat")) else { continue };
            threads.insert(task.file_name().to_str()?.parse().ok()?, ThreadTime::parse(&text)?);
        }
        let busy = parse_busy(&std::fs::read_to_string("/proc/stat").ok()?)?;
        (!threads.is_empty()).then_some(Self { threads, busy })
    }

    /// Of one thread, where nobody else takes more than what it waits.
    pub fn from_thread(thread: ThreadTime) -> Self {
        Self { threads: BTreeMap::from([(0, thread)]), busy: thread.ran + thread.waited }
    }

    fn ran(&self) -> Duration {
        self.threads.values().map(|thread| thread.ran).sum()
    }

    /// The share of the time wanted by the working threads between two moments in which they had to wait.
    fn waited(before: &Self, after: &Self) -> Option<f64> {
        let since = |(id, after): (&u64, &ThreadTime)| {
            let before = before.threads.get(id).copied().unwrap_or_default();
            let [ran, waited] = [(before.ran, after.ran), (before.waited, after.waited)];
            [ran, waited].map(|(before, after)| after.saturating_sub(before).as_secs_f64())
        };
        let threads: Vec<[f64; 2]> = after.threads.iter().map(since).collect();
        let busiest = threads.iter().fold(0.0, |most: f64, [ran, _]| most.max(*ran));
        let workers = threads.iter().filter(|[ran, _]| *ran >= WORKER * busiest);
        let [ran, waited] = workers.fold([0.0; 2], |sum, thread| [sum[0] + thread[0], sum[1] + thread[1]]);
        let share = waited / (ran + waited);
        share.is_finite().then_some(share)
    }

    /// The share of all processor time used between two moments that others had.
    fn others(before: &Self, after: &Self) -> Option<f64> {
        let own = after.ran().saturating_sub(before.ran()).as_secs_f64();
        let all = after.busy.saturating_sub(before.busy).as_secs_f64();
        let share = (all - own).max(0.0) / all.max(own);
        share.is_finite().then_some(share)
    }
}

/// Tells what others took. Two observations have to agree: that the working threads waited, which they also do for each other
/// where a driver has more threads than there are processors; and that others were busy, which takes nothing from us where
/// processors are free. The second is known in steps of 10 ms only, so it is taken over a longer time.
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
        let waited = ProcessorTime::waited(before, &after);
        if self.earlier.is_empty() {
            self.earlier.push_back(before.clone());
        }
        while self.earlier.get(1).is_some_and(|second| after.busy.saturating_sub(second.busy) >= LONG) {
            self.earlier.pop_front();
        }
        let others = self.earlier.front().and_then(|earlier| ProcessorTime::others(earlier, &after));
        self.earlier.push_back(after);
        waited.zip(others).map(|(waited, others)| waited.min(others))
    }
}

/// The first line of `/proc/stat`: hundredths of a second in user, nice, system, idle, iowait, irq, softirq and steal.
fn parse_busy(stat: &str) -> Option<Duration> {
    let ticks = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8);
    let ticks = ticks.map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>()?;
    let idle = ticks.get(3)? + ticks.get(4)?;
    Some(Duration::from_millis(10 * ticks.iter().sum::<u64>().saturating_sub(idle)))
}

impl ThreadTime {
    fn parse(text: &str) -> Option<Self> {
        let mut nanoseconds = text.split_whitespace().map(|word| word.parse().ok().map(Duration::from_nanos));
        Some(Self { ran: nanoseconds.next()??, waited: nanoseconds.next()?? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(times: &[(u64, u64)]) -> ProcessorTime {
        let millis = Duration::from_millis;
        let thread = |&(ran, waited): &(u64, u64)| ThreadTime { ran: millis(ran), waited: millis(waited) };
        let busy = times.iter().map(|(ran, waited)| millis(ran + waited)).sum();
        ProcessorTime { threads: (0..).zip(times.iter().map(thread)).collect(), busy }
    }

    #[test]
    fn a_share_is_of_what_was_wanted() {
        let waited = |before, after| ProcessorTime::waited(&threads(before), &threads(after));
        assert_eq!(waited(&[(10, 1)], &[(40, 11)]), Some(0.25));
        assert_eq!(waited(&[(10, 1), (20, 0)], &[(40, 11), (50, 10)]), Some(0.25));
        assert_eq!(waited(&[(10, 1)], &[(10, 1)]), None);
        // A thread that began meanwhile counts from its beginning; one that ended takes its time with it.
        assert_eq!(waited(&[], &[(30, 10)]), Some(0.25));
        assert_eq!(waited(&[(10, 5), (90, 90)], &[(20, 5)]), Some(0.0));
    }

    #[test]
    fn helpers_that_wait_behind_the_workers_do_not_count() {
        let waited = ProcessorTime::waited(&threads(&[(0, 0); 3]), &threads(&[(1000, 20), (980, 20), (30, 300)]));
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

    #[test]
    fn the_kernels_words_are_read() {
        let thread = ThreadTime::parse("2500000000 40000000 17\n");
        assert_eq!(thread, Some(ThreadTime { ran: Duration::from_millis(2500), waited: Duration::from_millis(40) }));
        assert_eq!(ThreadTime::parse("x"), None);
        let stat = "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 2 3\n";
        assert_eq!(parse_busy(stat), Some(Duration::from_millis(1710)));
        assert_eq!(parse_busy("cpu x"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_run() {
        let now = ProcessorTime::now();
        assert!(now.is_none_or(|time| time.threads.values().any(|thread| thread.ran > Duration::ZERO)));
    }
}
