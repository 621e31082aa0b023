//! The worker's side: owns a device, and does what the supervisor orders.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use super::Platform;
use super::host::Host;
use super::protocol::{self, Reply, Request};
use super::questions::QuestionState;
use crate::measure::{Bench, LocalBench, Loss, Order};
use crate::platform::{crash_quietly, end_at_once};
use crate::process;

/// Serves until the supervisor closes, or is gone. Gives the exit code.
pub fn serve(platform: &Platform) -> anyhow::Result<u8> {
    crash_quietly();
    let say = |reply: &Reply| protocol::write(&mut io::stdout().lock(), reply);
    let listening = listen().map_err(|error| format!("can't start a thread: {error}"));
    let begun = listening.and_then(|both| Ok((both, Host::load(platform).map_err(|error| error.to_string())?)));
    let ((requests, halted), host) = match begun {
        Ok(begun) => begun,
        Err(words) => {
            say(&Reply::NoDrivers(words))?;
            return Ok(crate::error::EXIT_USAGE);
        }
    };
    say(&Reply::Hello(Box::new(host.hello())))?;
    let mut bench: Option<LocalBench> = None;
    let (mut orders, mut kept) = (0, QuestionState::default());
    for request in requests {
        match request {
            // Where nobody hears it, nobody hears the next reply either.
            Request::Open(opening) => match host.open(&opening, || drop(say(&Reply::Calibrated))) {
                Ok(opened) => {
                    say(&Reply::Opened(Box::new(opened.instrument().clone()), opened.learned().clone()))?;
                    bench = Some(opened);
                }
                Err(failure) => say(&Reply::Refused(failure))?,
            },
            Request::Order(order) => {
                orders += 1;
                if let Some(Err(Loss(failure))) = bench.as_mut().map(|bench| carry_out(bench, order, orders, &halted)) {
                    say(&Reply::Lost(failure))?;
                    // Without a clean-up: destroying a hung device may block for ever.
                    end_at_once();
                }
                say(&Reply::Done)?;
            }
            Request::Halt => {}
            Request::Ask(question) => say(&Reply::Answered(question.answer(&host, &mut kept)))?,
            Request::Close => {
                drop((bench.take(), std::mem::take(&mut kept)));
                say(&Reply::Closed(host.messages()))?;
                break;
            }
        }
    }
    Ok(crate::error::EXIT_OK)
}

/// Carries out an order, which has this number, unless it is halted meanwhile.
fn carry_out(bench: &mut LocalBench, order: Order, number: u64, halted: &AtomicU64) -> Result<(), Loss> {
    bench.carry_out(order, &mut |answer| {
        let said = protocol::write(&mut io::stdout().lock(), &Reply::Answer(Box::new(answer)));
        let goes_on = said.is_ok() && halted.load(Ordering::Relaxed) < number;
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
}

/// The requests, and the number of the last order that was halted.
fn listen() -> io::Result<(Receiver<Request>, Arc<AtomicU64>)> {
    let halted = Arc::new(AtomicU64::new(0));
    let (shared, mut orders) = (Arc::clone(&halted), 0);
    let note = move |request: &Request| match request {
        Request::Order(_) => orders += 1,
        Request::Halt => shared.store(orders, Ordering::Relaxed),
        Request::Open(_) | Request::Ask(_) | Request::Close => {}
    };
    Ok((process::listen(protocol::LONGEST_REQUEST, note)?, halted))
}
