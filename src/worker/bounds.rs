//! Whether a user's shader indexes beyond its buffers, tried in a process of its own: what it does there may take a driver down.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::host::Identity;
use crate::measure::Dispatcher;
use crate::model::{DeviceInfo, Failure, Point};
use crate::shader::Overrun;
use crate::tuning::{Kernel, Subject};

/// Which kernel is to be tried, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundsCheck {
    /// The device.
    pub device: Identity,
    /// The queue family; `None` for the device's default.
    pub queue: Option<u32>,
    /// How long the pass may take before the device counts as hung, where the supervisor says so.
    pub deadline: Option<Duration>,
    /// The kernel.
    pub subject: Box<Subject>,
    /// Its configuration.
    pub point: Point,
}

/// What a pass did with the ends of arrays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// The arrays that were indexed beyond their ends.
    pub overruns: Vec<Overrun>,
    /// How many of the shader's loads, stores and atomic operations nobody could watch, since their pointers can't be followed.
    pub unfollowed: usize,
    /// What the validation layer had to say about the pass.
    pub messages: Vec<String>,
}

/// Runs a pass of the kernel that notes how far it indexes.
pub(super) fn run(check: &BoundsCheck, device: DeviceInfo, dispatcher: &mut dyn Dispatcher) -> Result<Bounds, Failure> {
    let subject = (*check.subject).clone();
    let Some((prepared, noting)) = Kernel::new(subject, device).noting(&check.point)? else { return Ok(Bounds::default()) };
    let unfollowed = noting.unfollowed;
    let Some(&notes) = prepared.case.check.outputs().first() else { return Ok(Bounds { unfollowed, ..Bounds::default() }) };
    let loaded = dispatcher.load(&prepared)?;
    dispatcher.run_checked(loaded.slot)?;
    let noted = dispatcher.read(loaded.slot, notes)?;
    dispatcher.unload();
    Ok(Bounds { overruns: noting.overruns(&noted), unfollowed, messages: Vec::new() })
}
