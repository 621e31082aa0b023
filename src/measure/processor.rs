//! Processor time of this process, for devices that are software on it.

use std::collections::BTreeMap;
use std::time::Duration;

/// A thread that ran less than this share of what the busiest one did is a helper: it waits for its turn behind the driver's own
/// workers, which is no loss to others.
const WORKER: f64 = 0.5;

/// What this process's threads had of the processor since they began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// Each thread's, by its id.
    threads: BTreeMap<u64, ThreadTime>,
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
    /// (`/proc/PID/task/TID/schedstat`: nanoseconds run, and nanoseconds waited on a run queue).
    pub fn now() -> Option<Self> {
        let mut threads = BTreeMap::new();
        for task in std::fs::read_dir("/proc/self/task").ok()? {
            let task = task.ok()?;
            // A thread may end between being listed and being read.
            let Ok(text) = std::fs::read_to_string(task.path().join("schedstat")) else { continue };
            threads.insert(task.file_name().to_str()?.parse().ok()?, ThreadTime::parse(&text)?);
        }
        Some(Self { threads })
    }

    /// Of one thread.
    pub fn of(thread: ThreadTime) -> Self {
        Self { threads: BTreeMap::from([(0, thread)]) }
    }

    /// The share of the time wanted by the working threads between two moments that others had. `None` where nothing was wanted.
    pub fn lost(before: &Self, after: &Self) -> Option<f64> {
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
        ProcessorTime { threads: (0..).zip(times.iter().map(thread)).collect() }
    }

    #[test]
    fn a_share_is_of_what_was_wanted() {
        let lost = |before, after| ProcessorTime::lost(&threads(before), &threads(after));
        assert_eq!(lost(&[(10, 1)], &[(40, 11)]), Some(0.25));
        assert_eq!(lost(&[(10, 1), (20, 0)], &[(40, 11), (50, 10)]), Some(0.25));
        assert_eq!(lost(&[(10, 1)], &[(10, 1)]), None);
        // A thread that began meanwhile counts from its beginning; one that ended takes its time with it.
        assert_eq!(lost(&[], &[(30, 10)]), Some(0.25));
        assert_eq!(lost(&[(10, 5), (90, 90)], &[(20, 5)]), Some(0.0));
    }

    #[test]
    fn helpers_that_wait_behind_the_workers_do_not_count() {
        let lost = ProcessorTime::lost(&threads(&[(0, 0); 3]), &threads(&[(1000, 20), (980, 20), (30, 300)]));
        assert!(lost.is_some_and(|lost| lost < 0.03), "{lost:?}");
    }

    #[test]
    fn the_kernels_words_are_read() {
        let thread = ThreadTime::parse("2500000000 40000000 17\n");
        assert_eq!(thread, Some(ThreadTime { ran: Duration::from_millis(2500), waited: Duration::from_millis(40) }));
        assert_eq!(ThreadTime::parse("x"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_run() {
        let now = ProcessorTime::now();
        assert!(now.is_none_or(|time| time.threads.values().any(|thread| thread.ran > Duration::ZERO)));
    }
}
