//! What the rows of one device say of each other: figures relative to a base, plausibility along axes of work, derived figures.

use std::collections::{BTreeMap, BTreeSet};

use super::monotone::Monotone;
use crate::digest::hash64;
use crate::experiments::{self, DERIVATIONS, Derivation, is_source};
use crate::model::{Derived, Finished, Flag};
use crate::plan::Amount;
use crate::record::Record;
use crate::stats::Interval;

/// A row that was disturbed would put the blame on others.
const DISTURBED: [Flag; 3] = [Flag::Noisy, Flag::Throttled, Flag::Contended];

#[derive(Default)]
pub struct Relations {
    /// The figures of rows that others may be compared with, by a hash of their case_id: a sweep has as many as rows.
    values: BTreeMap<u64, f64>,
    monotone: Monotone,
    /// Finished rows of experiments from which figures are derived, by the experiment's name; with none, where it was tried in vain.
    finished: BTreeMap<&'static str, Vec<Finished>>,
}

impl Relations {
    /// Flags a row that is faster than one with less work, as far as both were measured undisturbed.
    pub fn judge(&mut self, work: &[Amount], row: &mut Record) {
        let (Some(time), Some((low, high))) = (row.time_ns, row.ci_low_ns.zip(row.ci_high_ns)) else { return };
        let is_memory_slower = row.has_flag(Flag::MemorySpeed.name()) && row.memory_speed_ratio < Some(1.0);
        if is_memory_slower || DISTURBED.iter().any(|flag| row.has_flag(flag.name())) {
            return;
        }
        for work in work {
            if let Some(reason) = self.monotone.judge(work, time, Interval { low, high }) {
                row.doubt(&reason);
            }
        }
    }

    /// Keeps what later rows and derived ones need of a row. `is_base`: whether others are compared with it.
    pub fn keep(&mut self, row: &Record, is_base: bool) {
        if let Some(value) = row.value.filter(|_| is_base && !row.is_implausible()) {
            self.values.insert(hash64(&row.case_id), value);
        }
        if let Some(experiment) = experiments::find(&row.experiment).filter(|experiment| is_source(experiment.name())) {
            self.finished.entry(experiment.name()).or_default().extend(row.finished());
        }
    }

    pub fn compare(&self, base: &str, row: &mut Record) {
        if let Some(value) = self.values.get(&hash64(base)) {
            row.compare_with(base, *value);
        }
    }

    /// What follows from the rows of an experiment, and of others with them, with the flags of the rows that it rests on.
    pub fn derive(&self) -> impl Iterator<Item = (Derived, BTreeSet<String>)> {
        self.finished.iter().flat_map(|(name, rows)| {
            let Some(experiment) = experiments::find(name) else { return Vec::new() };
            let flags: BTreeSet<String> = rows.iter().flat_map(|row| row.flags.iter().cloned()).collect();
            let own = experiment.derive(rows).into_iter().map(|derived| (derived, flags.clone()));
            let asked = DERIVATIONS.iter().filter(|derivation| derivation.asked_by == *name);
            own.chain(asked.flat_map(|derivation| (derivation.derive)(&self.of(derivation)))).collect()
        })
    }

    fn of(&self, derivation: &Derivation) -> BTreeMap<&str, &[Finished]> {
        let sources = (derivation.sources)();
        let is_read = |name: &str| name == derivation.asked_by || sources.contains(name);
        let read = self.finished.iter().filter(|(name, _)| is_read(name));
        read.map(|(name, rows)| (*name, rows.as_slice())).collect()
    }
}
