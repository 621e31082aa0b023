//! Whether a user's shader indexes beyond its arrays, tried in a process of its own: what it does there may take a driver down.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Question, QuestionState};
use crate::gpu::{CaseHandle, DeviceOptions, MessageLog};
use crate::measure::{Dispatcher, Vulkan};
use crate::model::{Failure, Point};
use crate::shader::{Home, Noting, Overrun, Prepared, SourceLine};
use crate::subject::{KernelSpec, UserKernel};
use crate::worker::host::{Host, Identity, opened};

/// Which kernel is to be tried, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenBounds {
    pub device: Identity,
    pub queue: Option<u32>,
    /// Whether with robust buffer access, as what may index beyond its arrays is; else as what is timed.
    pub is_robust: bool,
    /// How long a pass may take before the device counts as hung, where the supervisor says so.
    pub deadline: Option<Duration>,
    /// On how many threads passes are compiled before they run; 0 to compile each when it runs.
    pub compile_threads: usize,
    pub subject: KernelSpec,
}

/// A pass of that kernel that is to note how far it indexes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckBounds {
    pub pass: Pass,
    /// Those that come next. Some are compiled meanwhile, where the device has threads for that; the process may die of it.
    pub next: Vec<Pass>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    /// That of its reference. Where files are the reference, there is none to try.
    Reference,
    Configuration(Point),
}

/// What a pass did with the ends of arrays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    pub overruns: Vec<Overrun>,
    /// Lines at which a read left its array that the user accepts.
    pub accepted: Vec<SourceLine>,
    /// Whether an invocation came to as many iterations of its loops as the driver is known to run.
    pub loops_too_often: bool,
    /// How many of the shader's loads, stores and atomic operations nobody could watch, since it can't be told how far they reach.
    pub unfollowed: usize,
    pub messages: Vec<String>,
}

impl Question for OpenBounds {
    type Answer = ();

    fn answer(self, host: &Host, kept: &mut QuestionState) -> Result<(), Failure> {
        let device = host.device(&self.device)?;
        let opened = match host {
            Host::Mock(_) => None,
            Host::Vulkan(instance) => {
                let (queue_family, compile_threads) = (self.queue, self.compile_threads);
                let is_robust = self.is_robust;
                let options = DeviceOptions { queue_family, is_robust, compile_threads, ..DeviceOptions::default() };
                Some((opened(instance, &device, options, self.deadline)?, instance.message_log()))
            }
        };
        let kernel = UserKernel::new(self.subject, device);
        kept.checker = Some(Box::new(Checker { kernel, device: opened, foreseen: Vec::new(), last: None, has_learned: false }));
        Ok(())
    }

    #[cfg(test)]
    fn example() -> (Self, ()) {
        let device = Identity::at_place(&crate::model::DeviceInfo::mock(), 1);
        let deadline = Some(Duration::from_millis(1500));
        (Self { device, queue: Some(2), is_robust: true, deadline, compile_threads: 3, subject: KernelSpec::default() }, ())
    }
}

impl Question for CheckBounds {
    type Answer = Bounds;

    fn answer(self, _: &Host, kept: &mut QuestionState) -> Result<Bounds, Failure> {
        kept.checker()?.check(&self.pass, &self.next)
    }

    #[cfg(test)]
    fn example() -> (Self, Bounds) {
        let point = Point::new([("n".into(), 4_u64.into()), ("op".into(), "copy".into())]);
        let array = r#"{"home":{"buffer":{"set":0,"binding":1}},"path":"to","is_runtime":true,"is_signed":false}"#;
        let lines = vec![SourceLine { file: "a.comp".to_owned(), line: 5 }];
        let array = serde_json::from_str(array).unwrap();
        let overrun = Overrun { array, index: i64::MIN, length: u32::MAX, lines: lines.clone(), is_read: true };
        let messages = vec!["two\nlines".to_owned()];
        let bounds = Bounds { overruns: vec![overrun], accepted: lines, loops_too_often: true, unfollowed: 1, messages };
        (Self { pass: Pass::Configuration(point), next: vec![Pass::Reference] }, bounds)
    }
}

/// A kernel whose passes note how far they index, and the device that they run on.
pub(super) struct Checker {
    pub(super) kernel: UserKernel,
    /// A simulated device indexes nothing.
    pub(super) device: Option<(Vulkan, MessageLog)>,
    foreseen: Vec<(Pass, Noted)>,
    /// The last pass that ran: the next one may share its resources.
    pub(super) last: Option<CaseHandle>,
    /// Whether the kernel knows what is right.
    pub(super) has_learned: bool,
}

/// A pass that notes how far it indexes, where it indexes anything.
type Noted = Result<Option<(Prepared, Noting)>, Failure>;

impl Checker {
    fn prepare(&mut self, pass: &Pass) -> Noted {
        match pass {
            Pass::Reference => self.kernel.noting_reference(),
            Pass::Configuration(point) => self.kernel.noting(point),
        }
    }

    fn prepared(&mut self, pass: &Pass) -> Noted {
        match self.foreseen.iter().position(|(known, _)| known == pass) {
            Some(at) => self.foreseen.swap_remove(at).1,
            None => self.prepare(pass),
        }
    }

    fn look_ahead(&mut self, next: &[Pass]) {
        let threads = self.device.as_ref().map_or(0, |(device, _)| device.compile_threads());
        let window = &next[..next.len().min(2 * threads)];
        if self.foreseen.iter().any(|(known, _)| !window.contains(known)) {
            self.foreseen.clear();
            self.device.iter_mut().for_each(|(device, _)| device.forget_compiled());
        }
        for pass in window {
            if self.foreseen.iter().all(|(known, _)| known != pass) {
                let noted = self.prepare(pass);
                if let (Some((device, _)), Ok(Some((prepared, _)))) = (&mut self.device, &noted) {
                    device.compile_ahead(prepared);
                }
                self.foreseen.push((pass.clone(), noted));
            }
        }
    }

    fn check(&mut self, pass: &Pass, next: &[Pass]) -> Result<Bounds, Failure> {
        let noted = self.prepared(pass);
        self.look_ahead(next);
        let Some((dispatcher, messages)) = &mut self.device else { return Ok(Bounds::default()) };
        let Some((prepared, noting)) = noted? else { return Ok(Bounds::default()) };
        // What both take of memory may be more than there is.
        if let Some(last) = self.last.take() {
            dispatcher.release(last);
        }
        let loaded = dispatcher.load(&prepared)?;
        self.last = Some(loaded.slot);
        let bounds = looked(dispatcher, loaded.slot, &prepared, &noting)?;
        Ok(Bounds { messages: messages.drain(), ..bounds })
    }
}

/// Runs a pass that notes how far it indexes.
pub(super) fn looked(
    dispatcher: &mut Vulkan,
    slot: CaseHandle,
    prepared: &Prepared,
    noting: &Noting,
) -> Result<Bounds, Failure> {
    let unfollowed = noting.unfollowed;
    let Some(&notes) = prepared.case.check.outputs().first() else { return Ok(Bounds { unfollowed, ..Bounds::default() }) };
    dispatcher.run_checked(slot)?;
    let noted = dispatcher.read(slot, notes)?;
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
    Ok(Bounds { overruns, accepted: noting.accepted(&noted), loops_too_often, unfollowed, messages: Vec::new() })
}
