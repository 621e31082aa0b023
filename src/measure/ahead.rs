//! Cases that are prepared and compiled before they are loaded.

use std::collections::HashSet;
use std::rc::Rc;

use super::bench::{CaseKey, Job};
use super::local::LocalBench;
use super::session::BLOCK_CASES;
use crate::model::Failure;
use crate::shader::Prepared;

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
        let prepared = self.source.prepare(key).map(Rc::new);
        if let Ok(prepared) = &prepared {
            self.rig.device.compile_ahead(prepared);
        }
        self.foreseen.insert(key.clone(), prepared);
    }

    /// A case as it was prepared ahead, or now.
    pub(super) fn prepared(&mut self, key: &CaseKey) -> Result<Rc<Prepared>, Failure> {
        self.foreseen.remove(key).unwrap_or_else(|| self.source.prepare(key).map(Rc::new))
    }
}
