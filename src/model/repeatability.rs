//! How far a measured time moves from run to run, which one run can't show.

/// What a time depends on that a run doesn't control: clocks, where buffers lie, the host's scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Repeatability {
    /// Arithmetic, workgroup memory, subgroups: the core clock alone.
    Core,
    /// Loads and stores: caches, memory, and what moves bytes.
    Memory,
    /// Launching work: microseconds that the device's front end takes.
    Launch,
    /// What the host's clock times: the host's scheduler and the driver's threads.
    Host,
    /// Where in memory the buffers happen to lie: global atomics, and what shares a cache line.
    Placement,
    /// Any work of a device that is a processor: other programs, and the clock that they leave.
    Processor,
}

impl Repeatability {
    /// Every class.
    pub const ALL: [Self; 6] = [Self::Core, Self::Memory, Self::Launch, Self::Host, Self::Placement, Self::Processor];

    /// The standard deviation of a case's time from one run to the next, as a share of it: the default where runs aren't repeated.
    ///
    /// From three H100s, each measured twice by the overview (519 cases in all), one of them twice by a study as well (125), and two
    /// H200s, each measured twice by the overview: the median case moves by 0.03 % (memory), 0.05 % (core) and 0.2 % (launch), and the
    /// root mean square is two to five times that, since some cases move far. Host-timed ones moved by up to 80 %, global atomics by up
    /// to 14 %. That of processors is a guess.
    pub fn between_runs(self) -> f64 {
        match self {
            Self::Core => 0.001,
            Self::Memory => 0.0015,
            Self::Launch => 0.01,
            Self::Host => 0.15,
            Self::Placement => 0.04,
            Self::Processor => 0.1,
        }
    }

    /// Whether only several processes, each with other allocations, show how far it moves: one run's own spread is far too small.
    pub fn needs_processes(self) -> bool {
        matches!(self, Self::Host | Self::Placement)
    }

    /// As people are told.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Memory => "memory",
            Self::Launch => "launch",
            Self::Host => "host-timed",
            Self::Placement => "placement",
            Self::Processor => "processor",
        }
    }
}
