//! The rows of machines, kind by kind: of each, little more than its figure is kept.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::digest::hash64;
use crate::model::Status;
use crate::record::Record;
use crate::stats::mean;

/// What machines have to have in common to be compared: the device, and its driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    pub device: String,
    pub driver: String,
    /// Variables, layers and checks that move figures; mostly none.
    pub circumstances: String,
}

#[derive(Debug, Default)]
pub struct Fleet {
    /// What machines may have in common beside their kind, such as a rack.
    pub factors: Vec<String>,
    kinds: BTreeMap<Kind, Rows>,
    /// Rows that have no machine.
    pub without: u64,
}

/// The rows of one kind.
#[derive(Debug, Default)]
pub struct Rows {
    pub machines: Vec<String>,
    pub runs: Vec<Run>,
    pub cases: Vec<Case>,
    machine_of: HashMap<String, usize>,
    run_of: HashMap<(usize, u64), usize>,
    case_of: HashMap<(u64, u64), usize>,
    /// What failed, by case: its name, and where. What fails early has no sources.
    failures: HashMap<u64, (String, Vec<(usize, Status)>)>,
    /// The devices of each machine, by a hash.
    devices: Vec<BTreeSet<u64>>,
    /// Figures that came twice in one run, and weren't the same.
    pub contradicting: usize,
}

/// A run of a machine, with its level of each factor; empty where it has none.
#[derive(Debug)]
pub struct Run {
    pub machine: usize,
    pub levels: Vec<String>,
}

#[derive(Debug)]
pub struct Case {
    pub name: String,
    pub family: String,
    pub figures: Vec<Figure>,
    /// A hash of its id, whatever its sources.
    id: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Figure {
    pub run: usize,
    /// The logarithm of its speed.
    pub log: f64,
    /// That of the core's clock beside it.
    pub clock: Option<f64>,
}

impl Fleet {
    pub fn new(factors: Vec<String>) -> Self {
        Self { factors, ..Self::default() }
    }

    pub fn kinds(&self) -> impl Iterator<Item = (&Kind, &Rows)> {
        self.kinds.iter()
    }

    /// Takes a row of a machine; `levels` has one for each factor. What follows from other rows, and what measures the instrument, tells
    /// nothing.
    pub fn take(&mut self, record: &Record, machine: &str, levels: Vec<String>) {
        if record.is_derived() || record.experiment.starts_with("calibration/") {
            return;
        }
        if machine.is_empty() {
            self.without += 1;
            return;
        }
        let driver = format!("{} {}", record.driver_name, record.driver_info);
        let (device, circumstances) = (record.device_name.clone(), circumstances(record));
        let kind = Kind { device, driver: driver.trim().to_owned(), circumstances };
        self.kinds.entry(kind).or_default().take(record, machine, levels);
    }

    /// Once all rows are taken.
    pub(super) fn settle(&mut self) {
        self.kinds.values_mut().for_each(Rows::settle);
    }
}

fn circumstances(record: &Record) -> String {
    let is = |of: Option<bool>, words: &str| if of == Some(true) { words.to_owned() } else { String::new() };
    let all = [
        record.environment.clone(),
        record.layers.clone(),
        is(record.validation, "with validation"),
        is(record.robustness, "with robust access"),
    ];
    all.into_iter().filter(|of| !of.is_empty()).collect::<Vec<_>>().join(", ")
}

impl Rows {
    fn take(&mut self, record: &Record, machine: &str, levels: Vec<String>) {
        let Some(status) = Status::named(&record.status) else { return };
        let machine = *self.machine_of.entry(machine.to_owned()).or_insert_with(|| {
            self.machines.push(machine.to_owned());
            self.devices.push(BTreeSet::new());
            self.machines.len() - 1
        });
        self.devices[machine].insert(hash64(&record.device_uuid));
        let id = hash64(&record.case_id);
        if status.is_failure() && status != Status::NotRun {
            let (_, failed) = self.failures.entry(id).or_insert_with(|| (record.case_name(), Vec::new()));
            failed.push((machine, status));
            return;
        }
        let Some(value) = record.value.filter(|value| status == Status::Ok && *value > 0.0) else { return };
        // Other sources are another case.
        let key = (id, hash64(&record.source_hash));
        let case = *self.case_of.entry(key).or_insert_with(|| {
            let family = record.experiment.split('/').next().unwrap_or_default().to_owned();
            self.cases.push(Case { name: record.case_name(), family, figures: Vec::new(), id });
            self.cases.len() - 1
        });
        let run_id = hash64(&format!("{}/{}", record.run_id, record.device_uuid));
        let run = *self.run_of.entry((machine, run_id)).or_insert_with(|| {
            self.runs.push(Run { machine, levels });
            self.runs.len() - 1
        });
        let log = if record.better == "lower" { -value.ln() } else { value.ln() };
        let figure = Figure { run, log, clock: record.core_clock_mhz.filter(|mhz| *mhz > 0.0).map(f64::ln) };
        self.cases[case].figures.push(figure);
    }

    /// Of a case that came twice in one run, the first figure stays.
    fn settle(&mut self) {
        for case in &mut self.cases {
            case.figures.sort_by_key(|figure| figure.run);
            let contradicting = &mut self.contradicting;
            case.figures.dedup_by(|later, first| {
                let is_twice = later.run == first.run;
                *contradicting += usize::from(is_twice && later.log.total_cmp(&first.log).is_ne());
                is_twice
            });
        }
    }

    /// How many machines have several devices of this kind.
    pub fn with_several_devices(&self) -> usize {
        self.devices.iter().filter(|devices| devices.len() > 1).count()
    }

    /// Of each machine, the cases that failed there and have a figure on most of the others that measured them.
    pub fn failed(&self) -> BTreeMap<usize, Vec<(String, String)>> {
        let mut measured: HashMap<u64, BTreeSet<usize>> = HashMap::new();
        for case in self.cases.iter().filter(|case| self.failures.contains_key(&case.id)) {
            measured.entry(case.id).or_default().extend(case.figures.iter().map(|figure| self.runs[figure.run].machine));
        }
        let mut all: BTreeMap<usize, Vec<(String, String)>> = BTreeMap::new();
        for (id, (name, failed)) in &self.failures {
            // Of a machine whose runs failed in several ways, the first one.
            let failed: BTreeMap<usize, Status> = failed.iter().rev().copied().collect();
            if measured.get(id).map_or(0, BTreeSet::len) > failed.len() {
                let of = |(machine, status): (usize, Status)| (machine, (name.clone(), status.to_string()));
                failed.into_iter().map(of).for_each(|(machine, of)| all.entry(machine).or_default().push(of));
            }
        }
        all.values_mut().for_each(|of| of.sort_unstable());
        all
    }
}

impl Case {
    /// The mean over the runs of each machine.
    pub fn by_machine(&self, rows: &Rows, of: impl Fn(&Figure) -> Option<f64>) -> BTreeMap<usize, f64> {
        let mut all: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for figure in &self.figures {
            all.entry(rows.runs[figure.run].machine).or_default().extend(of(figure));
        }
        all.into_iter().filter(|(_, values)| !values.is_empty()).map(|(machine, values)| (machine, mean(&values))).collect()
    }
}
