//! How far a measured time moves from run to run, which one run can't show.

/// Processes from which on a run shows how far they differ.
const FEWEST_PROCESSES: u64 = 3;

words! {
    /// What a time depends on that a run doesn't control: clocks, where buffers lie, the host's scheduler.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Repeatability, as_str {
        /// Arithmetic, workgroup memory, subgroups: the core clock alone.
        Core = "core",
        /// Loads and stores: caches, memory, and what moves bytes.
        Memory = "memory",
        /// Launching work: microseconds that the device's front end takes.
        Launch = "launch",
        /// What the host's clock times: the host's scheduler and the driver's threads.
        Host = "host-timed",
        /// Where in memory the buffers happen to lie: global atomics, and what shares a cache line.
        Placement = "placement",
        /// Any work of a device that is a processor: other programs, and the clock that they leave.
        Processor = "processor",
    }
}

impl Repeatability {
    /// The standard deviation of a case's time from one run to the next, as a share of it, beyond what the run shows itself: of a run of one
    /// process, and of one whose rounds are dealt over several, which show a part of it. It counts where runs aren't repeated.
    ///
    /// From three H100s, each measured twice by the overview (521 cases in all), one of them twice by a study as well (125), and two
    /// H200s, each measured twice by the overview: the median case moves by 0.03 % (memory), 0.05 % (core) and 0.2 % (launch), and the
    /// root mean square is two to five times that, since some cases move far. Host-timed ones moved by up to 80 %, global atomics by up
    /// to 14 %. What several processes leave of core, memory, launch and host is a guess. Of processors from lavapipe on two cores,
    /// measured six times by the overview and four times by a study.
    pub fn between_runs(self, processes: u64) -> f64 {
        let [one, several] = match self {
            Self::Core => [0.001, 0.0009],
            Self::Memory => [0.0015, 0.0013],
            Self::Launch => [0.01, 0.009],
            Self::Host => [0.15, 0.13],
            Self::Placement => [0.04, 0.025],
            Self::Processor => [0.1, 0.02],
        };
        if processes < FEWEST_PROCESSES { one } else { several }
    }

    /// The same of times with the core's clock taken out. From studies of 63 cases of two H100s, six of one and four of the other: what
    /// rounds don't show themselves is at most 0.02 % (core) and 0.05 % (memory); processes of one study differ by 0.06 and 0.12 %.
    pub fn between_runs_at_clock(self, processes: u64) -> f64 {
        let [one, several] = match self {
            Self::Core => [0.0006, 0.0003],
            Self::Memory => [0.0012, 0.0006],
            _ => return self.between_runs(processes),
        };
        if processes < FEWEST_PROCESSES { one } else { several }
    }

    /// Whether only several processes, each with other allocations, show how far it moves: one run's own spread is far too small.
    pub fn needs_processes(self) -> bool {
        matches!(self, Self::Host | Self::Placement)
    }
}
