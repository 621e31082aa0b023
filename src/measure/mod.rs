//! Measuring: calibrate, visit cases in shuffled rounds, judge, validate.
//!
//! The spread within one visit to a case understates the error from visit to visit by 2 to 5 times. So cases are taken in
//! blocks; a block is visited in at least six rounds, each in a new seeded order; and the interval comes from the medians of
//! the rounds.
//!
//! Where only the fastest of a block matters, its cases race in a few rounds of short visits: one that is slower for certain leaves
//! after the round that shows it. Those that may be the fastest are measured beside each other then, and compared in the rounds that
//! they have in common.

mod across;
mod ahead;
mod batch;
mod bench;
mod block;
mod block_case;
mod carried;
mod core_clock;
mod dispatcher;
mod earlier;
mod flags;
mod instrument;
mod local;
mod memory_watch;
mod mock;
mod pair;
mod pool;
mod processor;
mod race;
mod racing;
mod rig;
mod session;
mod shortfall;
mod stop;
mod visit;
mod vulkan;

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::{CoreClocks, Failure, Flag, PipelineStatistics, Stop, real};
use crate::stats::{self, Interval, Summary, Timed};
use crate::units::Nanos;

pub use crate::platform::{ProcessorTime, ThreadTime};
pub use bench::{
    Answer, Answering, Bench, Call, CaseKey, CaseSource, Checked, Compared, Job, Loaded, Loading, Look, Loss, Order,
    OutputCheck, ShaderFacts, SourcedCase, Visited, Watch, answers_of,
};
pub use carried::{RatioBounds, SampleOverhead};
pub use dispatcher::Dispatcher;
pub use earlier::Earlier;
pub use flags::CONTENDED;
pub use instrument::{Instrument, Timer, ToolCases, Tools};
pub use local::{LocalBench, LocalOptions};
pub use mock::{Mock, MockOptions};
pub use pool::{Opener, Pool};
pub use race::{Race, open_comparisons};
pub use rig::Conditions;
pub use session::{Event, Options, Outcome, PairBase, Rule, Session, Task, VisitMade};
pub use stop::{JUDGED_ROUNDS, LAST_HELD, LAST_ROUND, Progress, judge};
pub use visit::{Sizes, Visit};
pub use vulkan::Vulkan;

/// What was measured in rounds, each by one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    #[serde(with = "real")]
    pub samples: Vec<Vec<f64>>,
    /// Of each round, the process that took them.
    pub processes: Vec<u32>,
}

impl Rounds {
    pub fn medians(&self) -> Vec<f64> {
        self.samples.iter().map(|samples| stats::median(samples)).collect()
    }

    /// The figure: the median of the round medians.
    pub fn value(&self) -> f64 {
        stats::median(&self.medians())
    }

    /// The 95 % interval of the figure; `None` below six rounds. Processes are its top level, where there are enough to tell.
    pub fn interval(&self) -> Option<Interval> {
        stats::clustered_interval(&self.medians(), &self.processes)
    }

    /// Half the interval over the figure; infinite below six rounds.
    pub fn noise(&self) -> f64 {
        self.interval().map_or(f64::INFINITY, |interval| stats::noise(interval, self.value()))
    }

    pub fn process_count(&self) -> usize {
        self.processes.iter().collect::<BTreeSet<_>>().len()
    }
}

fn timed_rounds(rounds: &Rounds, numbers: &[u32]) -> Vec<Timed> {
    let taken = numbers.iter().zip(&rounds.processes).zip(rounds.medians());
    let timed = taken.map(|((round, process), time)| Timed { round: *round, process: *process, time });
    timed.filter(|timed| timed.round > 0).collect()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The samples: nanoseconds per pass (or, for a clock rate, the ratio).
    pub rounds: Rounds,
    /// Of each round, its number in the session, which other cases may have taken part in. Those of another session tell nothing.
    #[serde(skip)]
    pub numbers: Vec<u32>,
    /// Passes per sample; 0 where the timer itself was measured.
    pub batch: u32,
    pub timer: Timer,
    pub stop: Stop,
    /// What its visits took, with what was repeated.
    pub duration: Duration,
    /// Whether what a timed batch left behind was compared, and not the first pass alone.
    pub is_compared: bool,
    /// What there was to say of what it left behind: how a pass went, where its outputs tell it.
    #[serde(default)]
    pub remark: Option<String>,
    /// How far that was from the reference's at most, in units of what is allowed.
    #[serde(default)]
    pub error: Option<f64>,
    /// An empty pass in the same batch form; `None` where nothing is dispatched.
    pub overhead: Option<Nanos>,
    #[serde(default)]
    pub carried: SampleOverhead,
    /// Host time per pass, submission and wait included.
    pub host_time: Nanos,
    pub pipeline_time: Duration,
    pub statistics: Option<Vec<PipelineStatistics>>,
    pub memory_types: String,
    /// The sentinel's time at the start, and the clock rate beside the visits over that then.
    pub sentinel: Nanos,
    pub clock_ratio: Option<f64>,
    /// The core clock beside the visits, in MHz, where the vendor's interface tells it.
    pub clock_mhz: Option<f64>,
    /// Of each round, the core's clock before and after it, where the device's counters show that.
    #[serde(default)]
    pub core_clocks: Vec<Option<CoreClocks>>,
    /// Memory's speed beside the visits over that at the start, where it is watched.
    #[serde(default)]
    pub memory_speed_ratio: Option<f64>,
    /// Of a case that was measured alternately with its base: its time over the base's, of each pair of samples.
    pub pair: Option<Rounds>,
    /// How far the ratio may be off by what the samples of either side carry.
    #[serde(default)]
    pub pair_reach: RatioBounds,
    /// Why it wasn't, though it should have been.
    pub unpaired: Option<Failure>,
    /// Reasons to doubt the figures, in the order of the flags.
    pub flags: Vec<Flag>,
    pub implausible: Option<String>,
}

impl Measured {
    /// Flags it as implausible, for this reason; the first one stays.
    pub fn doubt(&mut self, reason: String) {
        if self.implausible.is_none() {
            self.implausible = Some(reason);
            self.flags.push(Flag::Implausible);
        }
    }

    pub fn value(&self) -> f64 {
        self.rounds.value()
    }

    /// The median of the core's clock beside its rounds, where it is shown.
    pub fn core_clock_mhz(&self) -> Option<f64> {
        core_clock::median(&self.core_clocks)
    }

    /// Its rounds in this session.
    pub fn timed_rounds(&self) -> Vec<Timed> {
        timed_rounds(&self.rounds, &self.numbers)
    }

    /// The same; where it was measured in another session, one that nothing else took part in, with its figure.
    pub fn rounds_or_figure(&self) -> Vec<Timed> {
        let timed = self.timed_rounds();
        if timed.is_empty() { vec![Timed { round: 0, process: 0, time: self.value() }] } else { timed }
    }

    /// The 95 % interval of the figure, which holds what its samples may carry beside their passes as well.
    pub fn interval(&self) -> Option<Interval> {
        Some(self.carried.lower(self.rounds.interval()?))
    }

    /// Half the interval of the rounds over the figure: what would be less with more of them. Infinite below six.
    pub fn noise(&self) -> f64 {
        self.rounds.noise()
    }

    /// The 95 % interval of the ratio to its base, likewise; `None` where it isn't measured in a pair.
    pub fn pair_interval(&self) -> Option<Interval> {
        let Interval { low, high } = self.pair.as_ref()?.interval()?;
        Some(Interval { low: low * self.pair_reach.low, high: high * self.pair_reach.high })
    }

    pub fn summary(&self) -> Summary {
        let samples: Vec<f64> = self.rounds.samples.iter().flatten().copied().collect();
        stats::summary(&samples)
    }

    pub fn samples(&self) -> usize {
        self.rounds.samples.iter().map(Vec::len).sum()
    }
}
