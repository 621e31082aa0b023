//! What the rows of one device say of each other: figures relative to a base, plausibility along axes of work, derived figures.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::experiments;
use crate::measure::{Measured, Monotone};
use crate::model::{Derived, Finished, Flag};
use crate::plan::Planned;
use crate::record::Record;

/// What is known of the rows so far.
#[derive(Default)]
pub struct Relations {
    /// The figures of the cases that others are compared with.
    bases: HashMap<String, f64>,
    monotone: Monotone,
    /// Finished rows of experiments that derive figures from them, by the experiment's name.
    finished: BTreeMap<&'static str, Vec<Finished>>,
}

impl Relations {
    /// Flags a case that is faster than one with less work, as far as both were measured undisturbed.
    pub fn judge(&mut self, planned: &Planned, measured: &mut Measured) {
        // A disturbed one would put the blame on others.
        if measured.flags.iter().any(|flag| matches!(flag, Flag::Noisy | Flag::Throttled | Flag::Contended)) {
            return;
        }
        for work in &planned.work {
            if let Some(reason) = self.monotone.judge(work, measured) {
                measured.doubt(reason);
            }
        }
    }

    /// Compares the rows of a block with their bases, which are among them or came before, and keeps what derivation needs.
    pub fn relate(&mut self, block: &[Planned], rows: &mut [Record]) {
        for (planned, row) in block.iter().zip(&*rows) {
            let is_base = planned.base.as_ref().is_some_and(|base| base.case_id == planned.case_id);
            self.bases
                .extend(row.value.filter(|_| is_base && !row.is_implausible()).map(|value| (planned.case_id.clone(), value)));
            if !planned.experiment.derived().is_empty() {
                self.finished.entry(planned.experiment.name()).or_default().extend(row.finished());
            }
        }
        for (planned, row) in block.iter().zip(rows) {
            let Some(base) = &planned.base else { continue };
            if let Some(value) = self.bases.get(&base.case_id) {
                row.compare_with(&base.case_id, *value);
            }
        }
    }

    /// The figures that follow from all rows of an experiment, with the flags of those rows.
    pub fn derive(self) -> impl Iterator<Item = (Derived, BTreeSet<String>)> {
        self.finished.into_iter().flat_map(|(name, rows)| {
            let flags: BTreeSet<String> = rows.iter().flat_map(|row| row.flags.iter().cloned()).collect();
            let derived = experiments::find(name).map(|experiment| experiment.derive(&rows)).unwrap_or_default();
            derived.into_iter().map(move |derived| (derived, flags.clone()))
        })
    }
}
