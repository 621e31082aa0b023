//! Whether a user's shader indexes beyond its arrays, tried in a process of its own: what it does there may take a driver down.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::host::Identity;
use crate::gpu::MessageLog;
use crate::measure::Dispatcher;
use crate::model::{Failure, Point};
use crate::shader::{Home, Overrun};
use crate::tuning::{Kernel, Subject};

/// Which kernel is to be tried, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundsCheck {
    /// The device.
    pub device: Identity,
    /// The queue family; `None` for the device's default.
    pub queue: Option<u32>,
    /// How long a pass may take before the device counts as hung, where the supervisor says so.
    pub deadline: Option<Duration>,
    /// The kernel.
    pub subject: Box<Subject>,
}

/// Which pass of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    /// That of its reference. Where files are the reference, there is none to try.
    Reference,
    /// That of a configuration.
    Configuration(Point),
}

/// What a pass did with the ends of arrays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// The arrays that were indexed beyond their ends.
    pub overruns: Vec<Overrun>,
    /// Whether an invocation came to as many iterations of its loops as the driver is known to run.
    pub loops_too_often: bool,
    /// How many of the shader's loads, stores and atomic operations nobody could watch, since it can't be told how far they reach.
    pub unfollowed: usize,
    /// What the validation layer had to say about the pass.
    pub messages: Vec<String>,
}

/// Tries one pass after another.
pub trait BoundsChecker {
    /// Runs a pass that notes how far it indexes.
    ///
    /// # Errors
    /// Why it couldn't run, or that its process died of it.
    fn check(&mut self, pass: &Pass) -> Result<Bounds, Failure>;
}

/// A device of this process, with robust buffer access.
pub(super) struct LocalChecker {
    pub(super) kernel: Kernel,
    /// A simulated device indexes nothing.
    pub(super) device: Option<(Box<dyn Dispatcher>, MessageLog)>,
}

impl BoundsChecker for LocalChecker {
    fn check(&mut self, pass: &Pass) -> Result<Bounds, Failure> {
        let Some((dispatcher, messages)) = &mut self.device else { return Ok(Bounds::default()) };
        let noting = match pass {
            Pass::Reference => self.kernel.noting_reference()?,
            Pass::Configuration(point) => self.kernel.noting(point)?,
        };
        let Some((prepared, noting)) = noting else { return Ok(Bounds::default()) };
        let unfollowed = noting.unfollowed;
        let Some(&notes) = prepared.case.check.outputs().first() else { return Ok(Bounds { unfollowed, ..Bounds::default() }) };
        let loaded = dispatcher.load(&prepared)?;
        let noted = dispatcher.run_checked(loaded.slot).and_then(|_| dispatcher.read(loaded.slot, notes));
        dispatcher.unload();
        let noted = noted?;
        let (mut overruns, loops_too_often) = (noting.overruns(&noted), noting.loops_too_often(&noted));
        // Of an array of buffers, the length is that of the first.
        let differ = |overrun: &Overrun| match overrun.array.home {
            Home::Buffer { set, binding } if overrun.array.is_runtime => {
                let here = prepared.case.kernels[0].bindings.iter().filter(|at| (at.set, at.binding) == (set, binding));
                let sizes: BTreeSet<u64> = here.map(|at| prepared.case.resources[at.resource].bytes()).collect();
                sizes.len() > 1
            }
            _ => false,
        };
        overruns.retain(|overrun| !differ(overrun));
        Ok(Bounds { overruns, loops_too_often, unfollowed, messages: messages.drain() })
    }
}
