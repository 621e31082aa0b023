//! What was measured of a configuration, as a search and its answer need it: now, or by an earlier search, as its row says.

use std::time::Duration;

use crate::measure::{Measured, Race as Standings, Rounds};
use crate::model::{Flag, Point, Stop};
use crate::record::{Record, round_medians};
use crate::stats::{Interval, Timed};
use crate::tuning::answer::Timing;
use crate::tuning::ending::{Figure, Obstacle};

pub struct Measurement {
    pub timing: Timing,
    pub stop: Stop,
    /// Its rounds in this session; none of what an earlier one measured.
    timed: Vec<Timed>,
    /// The medians of its rounds, ns.
    pub medians: Vec<f64>,
    pub samples: usize,
    /// What the passes took that were timed.
    pub spent: Duration,
    pub pipeline_time: Duration,
    /// How far its results are from the reference's, in units of what is allowed.
    pub error: Option<f64>,
    disturbance: Option<Obstacle>,
}

impl From<&Measured> for Measurement {
    fn from(measured: &Measured) -> Self {
        let passes: f64 = measured.rounds.samples.iter().flatten().sum();
        Self {
            timing: timing(&measured.rounds, measured.interval(), measured.stop),
            stop: measured.stop,
            timed: measured.timed_rounds(),
            medians: measured.rounds.medians(),
            samples: measured.samples(),
            spent: Duration::try_from_secs_f64(passes * f64::from(measured.batch) / 1e9).unwrap_or_default(),
            pipeline_time: measured.pipeline_time,
            error: measured.error,
            disturbance: disturbance(|flag| measured.flags.contains(&flag)),
        }
    }
}

impl Measurement {
    /// What a row says; nothing where it has no figure.
    #[expect(clippy::cast_precision_loss, reason = "samples are few")]
    pub fn from_row(row: &Record) -> Option<Self> {
        let (time, stop) = (row.time_ns?, Stop::named(&row.stop)?);
        let rounds = round_medians(&row.round_medians_ns).unwrap_or_else(|| vec![(1, time)]);
        let (processes, medians): (Vec<u32>, Vec<f64>) = rounds.into_iter().unzip();
        let rounds = Rounds { samples: medians.iter().map(|median| vec![*median]).collect(), processes };
        let interval = row.ci_low_ns.zip(row.ci_high_ns).map(|(low, high)| Interval { low, high });
        let samples = row.samples.unwrap_or(0);
        let passes = samples.saturating_mul(row.batch.unwrap_or(1)) as f64;
        Some(Self {
            timing: Timing { time, ..timing(&rounds, interval, stop) },
            stop,
            timed: Vec::new(),
            medians,
            samples: usize::try_from(samples).unwrap_or(usize::MAX),
            spent: Duration::try_from_secs_f64(passes * time / 1e9).unwrap_or_default(),
            pipeline_time: Duration::try_from_secs_f64(row.pipeline_ms.unwrap_or(0.0) / 1e3).unwrap_or_default(),
            error: None,
            disturbance: disturbance(|flag| row.has_flag(flag.name())),
        })
    }

    pub fn time(&self) -> f64 {
        self.timing.time
    }

    /// Its rounds in this session; where it was measured in another one, its figure, with which nothing else took part.
    pub fn rounds_or_figure(&self) -> Vec<Timed> {
        match self.timed.is_empty() {
            true => vec![Timed { round: 0, process: 0, time: self.time() }],
            false => self.timed.clone(),
        }
    }

    pub fn figure(&self, point: &Point) -> Figure {
        Figure { point: point.clone(), timing: self.timing, timed: self.timed.clone(), disturbance: self.disturbance }
    }
}

fn disturbance(has: impl Fn(Flag) -> bool) -> Option<Obstacle> {
    let disturbances = [(Flag::Contended, Obstacle::Contended), (Flag::Throttled, Obstacle::Throttled)];
    disturbances.into_iter().find(|(flag, _)| has(*flag)).map(|(_, obstacle)| obstacle)
}

/// Too few rounds for an interval have the one by which races judge them.
fn timing(rounds: &Rounds, interval: Option<Interval>, stop: Stop) -> Timing {
    let time = rounds.value();
    match interval {
        Some(interval) if !stop.is_early() => Timing::precise(time, interval),
        Some(interval) => Timing::rough(time, interval),
        None => {
            let judged = Standings::new(std::slice::from_ref(rounds)).interval(0);
            Timing::rough(time, judged.unwrap_or(Interval { low: 0.0, high: f64::INFINITY }))
        }
    }
}
