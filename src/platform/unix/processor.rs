//! Processor time, as Linux' kernel tells it: its scheduler statistics (`/proc/PID/task/TID/schedstat`: nanoseconds run, and nanoseconds
//! waited on a run queue) and `/proc/stat`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::{OwnTime, ProcessorTime, ThreadTime};

/// Of this process now. `None` where the system doesn't tell.
pub fn processor_time() -> Option<ProcessorTime> {
    let mut threads = BTreeMap::new();
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        let task = task.ok()?;
        // A thread may end between being listed and being read.
        let Ok(text) = std::fs::read_to_string(task.path().join("schedstat")) else { continue };
        threads.insert(task.file_name().to_str()?.parse().ok()?, thread(&text)?);
    }
    let (busy, idle) = all(&std::fs::read_to_string("/proc/stat").ok()?)?;
    (!threads.is_empty()).then_some(ProcessorTime { own: OwnTime::Threads(threads), busy, idle })
}

fn thread(schedstat: &str) -> Option<ThreadTime> {
    let mut nanoseconds = schedstat.split_whitespace().map(|word| word.parse().ok().map(Duration::from_nanos));
    Some(ThreadTime { ran: nanoseconds.next()??, waited: nanoseconds.next()?? })
}

/// The first line of `/proc/stat`: hundredths of a second in user, nice, system, idle, iowait, irq, softirq and steal.
fn all(stat: &str) -> Option<(Duration, Duration)> {
    let ticks = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8);
    let ticks = ticks.map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>()?;
    let idle = ticks.get(3)? + ticks.get(4)?;
    let busy = ticks.iter().sum::<u64>().saturating_sub(idle);
    Some((Duration::from_millis(10 * busy), Duration::from_millis(10 * idle)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_read() {
        let read = thread("2500000000 40000000 17\n");
        assert_eq!(read, Some(ThreadTime { ran: Duration::from_millis(2500), waited: Duration::from_millis(40) }));
        assert_eq!(thread("x"), None);
        let stat = "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 2 3\n";
        assert_eq!(all(stat), Some((Duration::from_millis(1710), Duration::from_millis(40500))));
        assert_eq!(all("cpu x"), None);
    }
}
