//! Processor time of this process, for devices that are software on it.

use std::time::Duration;

/// What this process's threads had of the processor since they began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    /// They ran.
    pub ran: Duration,
    /// They could have run, but somebody else did.
    pub waited: Duration,
}

impl ProcessorTime {
    /// Of this process now. `None` where the system doesn't tell: on Linux the kernel's scheduler statistics do
    /// (`/proc/PID/task/TID/schedstat`: nanoseconds run, and nanoseconds waited on a run queue).
    pub fn now() -> Option<Self> {
        let mut all = Self::default();
        for task in std::fs::read_dir("/proc/self/task").ok()? {
            // A thread may end between being listed and being read.
            let Ok(text) = std::fs::read_to_string(task.ok()?.path().join("schedstat")) else { continue };
            let task = Self::of_task(&text)?;
            all.ran += task.ran;
            all.waited += task.waited;
        }
        Some(all)
    }

    fn of_task(text: &str) -> Option<Self> {
        let mut nanoseconds = text.split_whitespace().map(|word| word.parse().ok().map(Duration::from_nanos));
        Some(Self { ran: nanoseconds.next()??, waited: nanoseconds.next()?? })
    }

    /// The share of the time wanted between two moments that others had. `None` where nothing was wanted.
    pub fn lost(before: Self, after: Self) -> Option<f64> {
        let [ran, waited] = [(before.ran, after.ran), (before.waited, after.waited)]
            .map(|(before, after)| after.saturating_sub(before).as_secs_f64());
        let share = waited / (ran + waited);
        share.is_finite().then_some(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_what_was_wanted() {
        let at = |ran, waited| ProcessorTime { ran: Duration::from_millis(ran), waited: Duration::from_millis(waited) };
        assert_eq!(ProcessorTime::lost(at(10, 1), at(40, 11)), Some(0.25));
        assert_eq!(ProcessorTime::lost(at(10, 1), at(10, 1)), None);
        // Threads that ended take their time with them.
        assert_eq!(ProcessorTime::lost(at(10, 5), at(20, 1)), Some(0.0));
    }

    #[test]
    fn the_kernels_words_are_read() {
        let task = ProcessorTime::of_task("2500000000 40000000 17\n");
        assert_eq!(task, Some(ProcessorTime { ran: Duration::from_millis(2500), waited: Duration::from_millis(40) }));
        assert_eq!(ProcessorTime::of_task("x"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_run() {
        assert!(ProcessorTime::now().is_none_or(|time| time.ran > Duration::ZERO));
    }
}
