//! A bench whose device another process owns.

use std::fmt::Debug;
use std::io;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use super::host::{Hello, Opening};
use super::protocol::{LONGEST_REPLY, Reply, Request};
use super::questions::Question;
use super::{Deadlines, Platform};
use crate::measure::{Answer, Answering, Bench, Instrument, Loading, Loss, Order};
use crate::model::{DeviceInfo, Failure, Stage, Status};
use crate::platform::this_program;
use crate::process::{Child, Deadline, Listener};
use crate::validate::Learned;

type Worker = Child<Reply>;

pub struct Isolated {
    worker: Worker,
    hello: Hello,
    listener: Arc<dyn Listener>,
    deadlines: Deadlines,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoDrivers {
    /// The loader, or the mock, refused in these words.
    Refused(String),
    Lost(Failure),
}

impl From<NoDrivers> for Failure {
    fn from(error: NoDrivers) -> Self {
        match error {
            NoDrivers::Refused(words) => Self::new(Status::Error, words),
            NoDrivers::Lost(failure) => failure,
        }
    }
}

impl Isolated {
    pub fn start(platform: &Platform, deadlines: Deadlines, listener: &Arc<dyn Listener>) -> Result<Self, NoDrivers> {
        let started = command(platform).and_then(|mut command| Worker::start(&mut command, LONGEST_REPLY, listener));
        let mut worker = started.map_err(|error| NoDrivers::Refused(format!("can't start a worker process: {error}")))?;
        let waited = deadlines.compiling();
        match worker.hear(waited) {
            Ok(Reply::Hello(hello)) => Ok(Self { worker, hello: *hello, listener: Arc::clone(listener), deadlines }),
            Ok(Reply::NoDrivers(words)) => Err(NoDrivers::Refused(words)),
            Ok(other) => Err(NoDrivers::Lost(out_of_turn(&other))),
            Err(silence) => Err(NoDrivers::Lost(worker.failure(&silence, waited))),
        }
    }

    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    pub fn open(mut self, device: &DeviceInfo, opening: Opening) -> Result<RemoteBench, Loss> {
        let waited = self.deadlines.compiling().later(opening.warm_up * 2);
        let (compiles_ahead, has_reference) = (opening.compile_threads > 0, opening.subject.is_some());
        self.worker.say(&Request::Open(Box::new(opening)));
        let mut heard = self.worker.hear(waited);
        let is_calibrated = heard == Ok(Reply::Calibrated);
        // A reference takes as long as any case may that is loaded.
        let waited = if is_calibrated { self.deadlines.compiling() } else { waited };
        if is_calibrated {
            heard = self.worker.hear(waited);
        }
        match heard {
            Ok(Reply::Opened(instrument, learned)) => {
                let (info, instrument) = (device.clone(), *instrument);
                Ok(RemoteBench { isolated: self, info, instrument, learned, compiles_ahead, is_lost: false })
            }
            Ok(Reply::Refused(failure)) => Err(Loss(failure)),
            Ok(other) => Err(Loss(out_of_turn(&other))),
            Err(silence) => {
                let failure = self.worker.failure(&silence, waited);
                Err(Loss(if is_calibrated && has_reference { failure.at(Stage::Reference) } else { failure }))
            }
        }
    }

    /// Asks something, which may take as long as a case's first dispatch: whatever is asked compiles.
    /// Errors: why it can't be answered, or that the worker died of it or didn't answer within its deadlines.
    pub fn ask<Q: Question>(&mut self, question: Q) -> Result<Q::Answer, Failure> {
        self.worker.turn_the_page();
        self.worker.say(&Request::Ask(question.into()));
        let waited = self.deadlines.compiling();
        match self.worker.hear(waited) {
            Ok(Reply::Answered(answer)) => serde_json::from_value(answer?).map_err(|error| out_of_turn(&error)),
            Ok(other) => Err(out_of_turn(&other)),
            Err(silence) => Err(self.worker.failure(&silence, waited)),
        }
    }
}

pub struct RemoteBench {
    isolated: Isolated,
    info: DeviceInfo,
    instrument: Instrument,
    learned: Learned,
    compiles_ahead: bool,
    is_lost: bool,
}

impl RemoteBench {
    /// How long the next answer may take, of which there were so many before.
    fn limit(&self, order: &Order, answered: usize) -> Deadline {
        let usual = self.isolated.deadlines.usual;
        match order {
            // Compiling, the first dispatch, and comparing results, which the processor does.
            Order::Load { .. } | Order::Anticipate { .. } | Order::Check { .. } => self.isolated.deadlines.compiling(),
            Order::Size { calls, .. } | Order::Visit { calls } => {
                usual.later(calls.get(answered).map_or(Duration::ZERO, |call| call.expected))
            }
            Order::Sample { expected, .. } => usual.later(*expected),
            Order::Work { time } => usual.later(*time),
            Order::Watch { rest, time, .. } => usual.later(*rest + *time),
            Order::BeginRound { .. } | Order::EndRound { .. } | Order::Unload | Order::Begin { .. } | Order::End => usual,
        }
    }

    /// Where the driver's compiler refused a case, what it printed meanwhile says more than the call's result.
    fn add_log(&self, loading: &mut Loading) {
        if let Err(failure) = &mut loading.result {
            if failure.status == Status::CompileError {
                // The words come by another pipe, and may still be on their way.
                std::thread::sleep(Duration::from_millis(10));
                failure.reason.push_str(&self.isolated.worker.last_words());
            }
        }
        self.isolated.worker.turn_the_page();
    }

    fn lost(&mut self, failure: Failure) -> Result<(), Loss> {
        self.is_lost = true;
        self.isolated.worker.kill();
        Err(Loss(failure))
    }
}

impl Bench for RemoteBench {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn instrument(&self) -> &Instrument {
        &self.instrument
    }

    fn learned(&self) -> &Learned {
        &self.learned
    }

    fn is_alive(&mut self) -> bool {
        !self.is_lost && self.isolated.worker.is_alive()
    }

    fn compiles_ahead(&self) -> bool {
        self.compiles_ahead
    }

    fn carry_out(&mut self, order: Order, answer: &mut Answering) -> Result<(), Loss> {
        self.isolated.worker.say(&Request::Order(order.clone()));
        let (mut answered, mut is_halted) = (0, false);
        loop {
            let limit = self.limit(&order, answered);
            match self.isolated.worker.hear(limit) {
                Ok(Reply::Answer(item)) => {
                    let mut item = *item;
                    if let Answer::Loaded(loading) = &mut item {
                        self.add_log(loading);
                    }
                    answered += usize::from(!matches!(item, Answer::Ready(_)));
                    if answer(item).is_break() && !is_halted {
                        self.isolated.worker.say(&Request::Halt);
                        is_halted = true;
                    }
                }
                Ok(Reply::Done) => return Ok(()),
                Ok(Reply::Lost(failure)) => return self.lost(failure),
                Ok(other) => return self.lost(out_of_turn(&other)),
                Err(silence) => {
                    let failure = self.isolated.worker.failure(&silence, limit);
                    return self.lost(failure);
                }
            }
        }
    }
}

/// Closes the device, unless it is lost: what leaks then shows in the validation layer's messages.
impl Drop for RemoteBench {
    fn drop(&mut self) {
        if self.is_lost {
            return;
        }
        self.isolated.worker.say(&Request::Close);
        let limit = self.isolated.deadlines.usual;
        let failure = match self.isolated.worker.hear(limit) {
            Ok(Reply::Closed(messages)) => {
                messages.iter().for_each(|message| self.isolated.listener.fault(&format!("validation: {message}")));
                self.isolated.worker.reap(limit.time);
                return;
            }
            Ok(other) => out_of_turn(&other),
            Err(silence) => self.isolated.worker.failure(&silence, limit),
        };
        let Failure { status, reason, .. } = failure;
        self.isolated.listener.fault(&format!("closing {}: {status}: {reason}", self.info.name));
    }
}

fn out_of_turn(reply: &impl Debug) -> Failure {
    Failure::new(Status::Error, format!("a worker process said something out of turn: {reply:?}"))
}

fn command(platform: &Platform) -> io::Result<Command> {
    let mut command = Command::new(this_program()?);
    command.arg("worker");
    match platform {
        Platform::Mock(devices) => devices.iter().for_each(|options| {
            command.arg(format!("--mock={options}"));
        }),
        Platform::Vulkan { validation, driver } => {
            command.args(validation.then_some("--validation"));
            if let Some(driver) = driver {
                command.env("VK_DRIVER_FILES", driver).env("VK_ICD_FILENAMES", driver);
            }
        }
    }
    Ok(command)
}
