//! What is said to the user, from whichever thread, and what makes a run a failed one beside its rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::output::{Mode, Progress};
use crate::worker::Listener;

/// Speaks to the user. A clone is the same voice.
#[derive(Clone, Debug)]
pub struct Voice {
    pub progress: Progress,
    faults: Arc<AtomicU64>,
}

impl Voice {
    pub fn new(mode: Mode) -> Self {
        Self { progress: Progress::new(mode), faults: Arc::default() }
    }

    pub fn listener(&self) -> Arc<dyn Listener> {
        Arc::new(self.clone())
    }

    /// Says, quiet or not, what failed beside the rows: the run has failed with it. Once, as each process may fail in the same way.
    pub fn fault(&self, what: &str) {
        self.faults.fetch_add(1, Ordering::Relaxed);
        self.progress.say_once(what);
    }

    pub fn has_faults(&self) -> bool {
        self.faults.load(Ordering::Relaxed) > 0
    }
}

impl Listener for Voice {
    fn said(&self, line: &str) {
        self.progress.detail(&format!("worker: {line}"));
    }

    fn fault(&self, what: &str) {
        Self::fault(self, what);
    }
}
