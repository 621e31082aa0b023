//! What is known of all rows from one look at each. They stay packed: as records they take several times as much memory.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;
use super::charts::Picture;
use super::clocks::{self, Clocks};
use super::figures::is_doubted;
use super::roofline::Kernels;
use super::sweep::Row;
use crate::analysis::Tally;
use crate::model::Status;
use crate::record::{Packed, Record};

pub struct Survey<'s> {
    pub sources: &'s [Source],
    /// Experiments in the order in which they first come.
    pub names: Vec<String>,
    /// The rows of each, with the places of their sources among all.
    rows: BTreeMap<String, Vec<(usize, &'s Packed)>>,
    pub axes: BTreeSet<String>,
    /// Those of each source that has any.
    pub rooflines: Vec<Picture>,
    pub clocks: Option<Picture>,
    /// Measured rows, and those that bear a flag of the circumstances.
    pub tally: Tally,
    /// Rows that bear a flag.
    pub doubted: usize,
    /// Measured rows that bear a flag, and how many bear each.
    pub flagged: u64,
    pub flags: BTreeMap<String, usize>,
    /// How many rows failed, by experiment.
    pub failed: BTreeMap<String, usize>,
}

impl<'s> Survey<'s> {
    pub fn of(sources: &'s [Source]) -> Self {
        let (names, rows, axes, rooflines) = (Vec::new(), BTreeMap::new(), BTreeSet::new(), Vec::new());
        let mut survey = Self {
            sources,
            names,
            rows,
            axes,
            rooflines,
            clocks: None,
            tally: Tally::default(),
            doubted: 0,
            flagged: 0,
            flags: BTreeMap::new(),
            failed: BTreeMap::new(),
        };
        let (mut record, mut clocks) = (Record::default(), Vec::new());
        for (place, source) in sources.iter().enumerate() {
            let (mut kernels, mut of_source) = (Kernels::default(), Clocks::default());
            for packed in &source.rows {
                packed.read_into(&mut record);
                kernels.take(&Row { source: place, label: &source.label, record: &record });
                of_source.take(&record);
                survey.take((place, packed), &record);
            }
            clocks.push(of_source);
            survey.rooflines.extend(kernels.roofline(place, &source.label));
        }
        let labels: Vec<&str> = sources.iter().map(|source| source.label.as_str()).collect();
        survey.clocks = clocks::picture(clocks, &labels);
        survey
    }

    /// The rows of an experiment, each with the place of its source.
    pub fn rows(&self, name: &str) -> &[(usize, &'s Packed)] {
        self.rows.get(name).map_or(&[], Vec::as_slice)
    }

    fn take(&mut self, packed: (usize, &'s Packed), record: &Record) {
        self.doubted += usize::from(is_doubted(record));
        let before = self.tally.measured;
        self.tally.count(record);
        // What follows from rows has the flags of those.
        if self.tally.measured > before {
            self.flagged += u64::from(is_doubted(record));
            for flag in record.quality_flags.split(';').filter(|flag| !flag.is_empty()) {
                *self.flags.entry(flag.to_owned()).or_default() += 1;
            }
        }
        if Status::named(&record.status).is_some_and(Status::is_failure) {
            *self.failed.entry(record.experiment.clone()).or_default() += 1;
        }
        let fresh = record.by_axis.keys().filter(|name| !self.axes.contains(*name)).cloned().collect::<Vec<_>>();
        self.axes.extend(fresh);
        match self.rows.get_mut(&record.experiment) {
            Some(rows) => rows.push(packed),
            None => {
                self.names.push(record.experiment.clone());
                self.rows.insert(record.experiment.clone(), vec![packed]);
            }
        }
    }
}
