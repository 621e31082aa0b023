//! Cases that are prepared and compiled before they are loaded.

use std::collections::HashSet;

use super::bench::{CaseKey, Job, SourcedCase};
use super::local::LocalBench;
use crate::model::{BLOCK_CASES, Failure};

impl LocalBench<'_> {
    /// Has the next of these jobs compiled: enough for all threads to be busy, and no more, since each is prepared here first.
    pub(super) fn look_ahead(&mut self, jobs: &[Job]) {
        let window = 2 * self.rig.device.compile_threads();
        jobs.iter().take(window).for_each(|job| self.foresee(&job.key));
    }

    /// Has a block of cases compiled that will be loaded later.
    pub(super) fn anticipate(&mut self, keys: &[CaseKey]) {
        if self.rig.device.compile_threads() == 0 {
            return;
        }
        let wanted: HashSet<&CaseKey> = keys.iter().collect();
        if self.foreseen.keys().any(|key| !wanted.contains(key)) {
            self.foreseen.clear();
            self.rig.device.forget_compiled();
        }
        keys.iter().take(BLOCK_CASES).for_each(|key| self.foresee(key));
    }

    fn foresee(&mut self, key: &CaseKey) {
        if self.foreseen.contains_key(key) {
            return;
        }
        let sourced = self.source.prepare(key);
        if let Ok(SourcedCase { prepared, .. }) = &sourced {
            self.rig.device.compile_ahead(prepared);
        }
        self.foreseen.insert(key.clone(), sourced);
    }

    /// A case as it was prepared ahead, or now.
    pub(super) fn prepared(&mut self, key: &CaseKey) -> Result<SourcedCase, Failure> {
        self.foreseen.remove(key).unwrap_or_else(|| self.source.prepare(key))
    }
}
