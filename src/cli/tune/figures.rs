//! What was measured of a configuration, as an answer needs it.

use crate::measure::{Measured, Race as Standings};
use crate::model::{Flag, Point};
use crate::stats::Interval;
use crate::tuning::answer::Timing;
use crate::tuning::ending::{Figure, Obstacle};

/// What a configuration takes, and what else an ending follows from.
pub fn figure(point: &Point, measured: &Measured) -> Figure {
    let disturbances = [(Flag::Contended, Obstacle::Contended), (Flag::Throttled, Obstacle::Throttled)];
    let seen = disturbances.into_iter().find(|(flag, _)| measured.flags.contains(flag));
    let disturbance = seen.map(|(_, obstacle)| obstacle);
    Figure { point: point.clone(), timing: timing(measured), timed: measured.timed_rounds(), disturbance }
}

/// What a configuration takes. Too few rounds for an interval have the one by which races judge them.
pub fn timing(measured: &Measured) -> Timing {
    let time = measured.value();
    match measured.interval() {
        Some(interval) if !measured.stop.is_early() => Timing::precise(time, interval),
        Some(interval) => Timing::rough(time, interval),
        None => {
            let judged = Standings::new(std::slice::from_ref(&measured.rounds)).interval(0);
            Timing::rough(time, judged.unwrap_or(Interval { low: 0.0, high: f64::INFINITY }))
        }
    }
}
