//! Watching memory's speed between visits: its clock may change while the core's stays, which the sentinel doesn't see.

use std::time::Duration;

use super::flags;
use super::instrument::{self, settled};
use super::{Dispatcher, Timer, Tools};
use crate::gpu::CaseHandle;
use crate::model::Failure;
use crate::units::Nanos;

/// Memory is looked at once in so long at most.
const PERIOD: Duration = Duration::from_millis(50);

/// And so seldom that it takes at most one part in this many of the time: where memory is slow, so is reading it.
const PERIOD_LOOKS: u32 = 100;

/// Sweeps of a look of which the least counts. One before them is discarded: how much it finds in a cache depends on what ran before.
const SWEEPS: u32 = 2;

/// Looks whose median is what later ones are compared with. Repeated sweeps of an H100 differed by 0.2 %.
const START_LOOKS: u32 = 3;

pub(super) struct MemoryWatch {
    timer: Timer,
    /// The sweep's time at the start.
    start: Nanos,
    /// What the last look took, when it ended, and memory's speed then over that at the start; `None` before the first one.
    took: Duration,
    at: Duration,
    ratio: Option<f64>,
}

impl MemoryWatch {
    /// Begins where memory can be read, by the device's own timestamps: the host's clock has much else in so short a time.
    pub(super) fn begin(device: &mut dyn Dispatcher, tools: Tools, timer: Timer) -> Result<Option<Self>, Failure> {
        let (Some(sweep), Timer::Device(_)) = (tools.sweep, timer) else { return Ok(None) };
        let started = device.now();
        let mut looks = 0;
        let start = settled(START_LOOKS, || {
            looks += 1;
            swept(device, sweep, timer)
        })?;
        let at = device.now();
        Ok(Some(Self { timer, start, took: at.saturating_sub(started) / looks.max(1), at, ratio: None }))
    }

    /// Memory's speed over that at the start, as a look tells it that isn't long ago, or else a new one. `None` right after the start.
    pub(super) fn look(&mut self, device: &mut dyn Dispatcher, sweep: CaseHandle) -> Result<Option<f64>, Failure> {
        let started = device.now();
        // Another speed is looked at again soon: whether it has come back decides about the visits that follow.
        let has_changed = self.ratio.is_some_and(flags::is_memory_changed);
        let seldom = if has_changed { Duration::ZERO } else { self.took * PERIOD_LOOKS };
        if started.saturating_sub(self.at) >= PERIOD.max(seldom) {
            self.ratio = Some(self.start.0 / swept(device, sweep, self.timer)?.0);
            self.at = device.now();
            self.took = self.at.saturating_sub(started);
        }
        Ok(self.ratio)
    }
}

/// What reading far more than caches hold takes now.
fn swept(device: &mut dyn Dispatcher, sweep: CaseHandle, timer: Timer) -> Result<Nanos, Failure> {
    let times = instrument::repeat(device, sweep, timer, 1, SWEEPS)?;
    Ok(Nanos(times.into_iter().fold(f64::INFINITY, f64::min)))
}
