//! Ctrl-C and its kind: the first one ends the run after the current sample, the second one at once.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context;

use crate::error::EXIT_INTERRUPTED;
use crate::output::{self, say};

static ASKED: AtomicU32 = AtomicU32::new(0);

/// Whether there is nothing to end yet: the command waits.
static IS_WAITING: AtomicBool = AtomicBool::new(false);

/// Listens from now on: to SIGINT, SIGTERM and SIGHUP, on Windows to the console's events.
pub fn listen() -> anyhow::Result<()> {
    ctrlc::set_handler(asked).context("can't listen to Ctrl-C")
}

pub fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed) > 0
}

/// Waits for something before there is anything to end: who asks to stop is told so.
pub fn while_waiting<T>(wait: impl FnOnce() -> T) -> T {
    IS_WAITING.store(true, Ordering::Relaxed);
    let waited = wait();
    IS_WAITING.store(false, Ordering::Relaxed);
    waited
}

fn asked() {
    let before = ASKED.fetch_add(1, Ordering::Relaxed);
    if before == 0 && IS_WAITING.load(Ordering::Relaxed) {
        say("interrupted: nothing was measured");
    } else if before == 0 {
        say("interrupted: ending after the current sample; once more ends at once");
    } else {
        output::stop_writing();
        // What a driver of this process does at the end may take for ever, where there is one (--no-isolate).
        let patience = std::thread::Builder::new().spawn(|| {
            std::thread::sleep(Duration::from_secs(2));
            std::process::abort();
        });
        if patience.is_err() {
            std::process::abort();
        }
        std::process::exit(i32::from(EXIT_INTERRUPTED));
    }
}
