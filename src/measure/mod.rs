//! Measuring: calibrate, visit cases in shuffled rounds, judge, validate.
//!
//! The spread within one visit to a case understates the error from visit to visit by 2 to 5 times. So cases are taken in
//! blocks; a block is visited in at least six rounds, each in a new seeded order; and the interval comes from the medians of
//! the rounds.

mod dispatcher;
mod entry;
mod flags;
mod instrument;
mod mock;
mod monotone;
mod pair;
mod processor;
mod rig;
mod session;
mod stop;
mod visit;
mod vulkan;

use std::time::Duration;

use crate::model::{Failure, Flag, PipelineStatistics};
use crate::stats::{self, Interval, Summary};
use crate::units::Nanos;

pub use dispatcher::Dispatcher;
pub use instrument::{FLOORS_PER_SAMPLE, Instrument, Timer, Tools};
pub use mock::{Mock, MockOptions};
pub use monotone::Monotone;
pub use processor::{ProcessorTime, ThreadTime};
pub use session::{BLOCK_CASES, Check, Event, Job, Options, Outcome, Session, ToolCases};
pub use stop::{JUDGED_ROUNDS, LAST_ROUND, Progress, Stop, is_judged, judge};
pub use vulkan::Vulkan;

/// What was measured of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Of each round, the samples: nanoseconds per pass (or, for a clock rate, the ratio).
    pub rounds: Vec<Vec<f64>>,
    /// Passes per sample; 0 where the timer itself was measured.
    pub batch: u32,
    /// Where the times come from.
    pub timer: Timer,
    /// Why measuring ended.
    pub stop: Stop,
    /// An empty pass in the same batch form; `None` where nothing is dispatched.
    pub overhead: Option<Nanos>,
    /// Host time per pass, submission and wait included.
    pub host_time: Nanos,
    /// Making pipelines, and the first dispatch, in which some drivers compile.
    pub pipeline_time: Duration,
    /// What the driver tells of each kernel's pipeline, in the case's order, where it was asked.
    pub statistics: Option<Vec<PipelineStatistics>>,
    /// Clock rate beside the visits over that at the start.
    pub clock_ratio: Option<f64>,
    /// Of a case that was measured alternately with its base.
    pub pair: Option<PairMeasured>,
    /// Why it wasn't, though it should have been.
    pub unpaired: Option<Failure>,
    /// Reasons to doubt the figures, in the order of the flags.
    pub flags: Vec<Flag>,
    /// What can't be right, for the flag `implausible`.
    pub implausible: Option<String>,
}

/// What was measured of a case and its base, visited alternately.
#[derive(Clone, Debug, PartialEq)]
pub struct PairMeasured {
    /// Of each round, the time over the base's of each pair of samples.
    pub ratios: Vec<Vec<f64>>,
}

impl PairMeasured {
    /// The time over that of the base: the median of the rounds' medians.
    pub fn ratio(&self) -> f64 {
        stats::median(&round_medians(&self.ratios))
    }

    /// The 95 % interval of the ratio.
    pub fn interval(&self) -> Option<Interval> {
        stats::median_interval(&round_medians(&self.ratios))
    }
}

impl Measured {
    /// Flags it as implausible, for this reason; the first one stays.
    pub fn doubt(&mut self, reason: String) {
        if self.implausible.is_none() {
            self.implausible = Some(reason);
            self.flags.push(Flag::Implausible);
        }
    }

    /// The median of each round.
    pub fn round_medians(&self) -> Vec<f64> {
        round_medians(&self.rounds)
    }

    /// The figure: the median of the round medians.
    pub fn value(&self) -> f64 {
        stats::median(&self.round_medians())
    }

    /// The 95 % interval of the figure.
    pub fn interval(&self) -> Option<Interval> {
        stats::median_interval(&self.round_medians())
    }

    /// Over all samples alike.
    pub fn summary(&self) -> Summary {
        let samples: Vec<f64> = self.rounds.iter().flatten().copied().collect();
        stats::summary(&samples)
    }

    /// Samples in all.
    pub fn samples(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }
}

fn round_medians(rounds: &[Vec<f64>]) -> Vec<f64> {
    rounds.iter().map(|samples| stats::median(samples)).collect()
}

/// Half the interval of the round medians over their median; infinite below six rounds.
fn noise(rounds: &[Vec<f64>]) -> f64 {
    let medians = round_medians(rounds);
    stats::median_interval(&medians).map_or(f64::INFINITY, |interval| stats::noise(interval, stats::median(&medians)))
}
