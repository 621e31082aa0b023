//! Reads the rows of both sides, one by one: of each, little more than its figure is kept.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;

use super::super::rowset::{Purpose, input_name, read_rows};
use super::case_name;
use super::identity::{About, IDENTITY};
use super::interner::Shared;
use super::observation::Observation;
use crate::digest::hash64;
use crate::error::{Error, nearest};
use crate::model::{AxisValue, Point, Status};
use crate::record::Record;
use crate::record::schema::{COLUMNS, position};

/// Of these groups, only what says how a row came to be tells sides apart.
const GROUPS: [&str; 3] = ["how", "case", "identity"];

/// What decides of the code that a driver makes, beside what is about the driver and the tool; and what has to be known of these.
const DECIDE: [&str; 4] = ["device_name", "environment", "layers", "robustness"];
const MUST_BE_TOLD: [&str; 3] = ["device_name", "driver_version", "tool_version"];

#[derive(Clone, Debug)]
pub enum Question {
    /// Files, each of a side: `None` is a side of its own.
    Files(Vec<(Option<String>, PathBuf)>),
    /// The rows of files by their values in a column, with the value that others are compared with.
    By {
        column: String,
        /// The value of the base; `None` for that of the first row.
        base: Option<String>,
        files: Vec<PathBuf>,
    },
}

#[derive(Debug, Default)]
pub struct Side {
    pub name: String,
    pub cases: Vec<SideCase>,
    pub runs: Vec<Run>,
    pub devices: Vec<DeviceKey>,
    /// Whether devices of one name and driver are one.
    pub pools_devices: bool,
    /// Places of cases by their keys, for each device.
    case_of: Vec<HashMap<Arc<str>, usize>>,
    run_of: HashMap<(String, usize, String), usize>,
    shared: Shared,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceKey {
    /// Its UUID; of devices that are one, their name.
    pub device: String,
    pub driver: String,
    pub build: String,
    pub name: String,
}

#[derive(Debug)]
pub struct SideCase {
    /// What makes it the same case on the other side.
    pub key: Arc<str>,
    pub kind: Arc<CaseKind>,
    pub axes: Arc<str>,
    pub case_id: Arc<str>,
    /// Its device, as a place among those of its side.
    pub device: usize,
    pub rows: Vec<Observation>,
}

/// What a case is but for its axes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CaseKind {
    pub experiment: Arc<str>,
    pub variant: Arc<str>,
    pub unit: Arc<str>,
    pub better: Arc<str>,
    pub cache: Arc<str>,
    pub is_derived: bool,
}

/// One run of a side on one device: what all its rows share, and how its timer is.
#[derive(Clone, Debug)]
pub struct Run {
    /// Tells runs of all files and devices apart.
    pub id: u64,
    /// The same for all of its devices: what moves one of them as a whole may move all.
    pub of_all_devices: u64,
    /// Its device and driver, as rows name the base of a pair: `deviceUUID/driverUUID`.
    pub device: Box<str>,
    /// What identifies it: a cell for each column of [`IDENTITY`].
    pub identity: Vec<Box<str>>,
    /// The timer's step, ns.
    pub step: Option<f64>,
    /// What two timestamps with nothing between them are apart, ns.
    pub floor: Option<f64>,
}

#[derive(Debug, Default)]
pub struct Sides {
    pub files: Vec<String>,
    /// The side that each file is of.
    side_of: Vec<usize>,
    pub sides: Vec<Side>,
    /// The column that tells them apart, where files don't.
    pub by: Option<String>,
    pub notes: Vec<String>,
    pools_devices: bool,
}

/// Where devices are pooled, those of one name and driver are one.
pub fn read(question: &Question, pools_devices: bool) -> Result<Sides, Error> {
    let mut sides = match question {
        Question::Files(files) => Sides::of_files(files),
        Question::By { .. } => Sides::default(),
    };
    sides.pools_devices = pools_devices;
    sides.sides.iter_mut().for_each(|side| side.pools_devices = pools_devices);
    match question {
        Question::Files(files) => sides.read_files(files)?,
        Question::By { column, base, files } => sides.read_by(column, base.as_deref(), files)?,
    }
    if pools_devices {
        sides.notes.extend(sides.sides.iter().filter_map(Side::pooled));
    }
    Ok(sides)
}

impl Sides {
    pub fn of_records<'r>(sides: impl IntoIterator<Item = (&'r str, &'r [Record])>) -> Result<Self, Error> {
        let mut all = Self::default();
        for (place, (name, records)) in sides.into_iter().enumerate() {
            all.files.push(name.to_owned());
            let mut side = Side { name: name.to_owned(), ..Side::default() };
            for (record, line) in records.iter().zip(2..) {
                side.add(record, &record.case_id, (place, line), &all.files)?;
            }
            all.sides.push(side);
        }
        Ok(all)
    }

    /// Those of files whose rows are still to come: a side for each name, and for each file without one.
    pub fn of_files(files: &[(Option<String>, PathBuf)]) -> Self {
        let mut all = Self { files: files.iter().map(|(_, path)| input_name(path)).collect(), ..Self::default() };
        for (place, (name, _)) in files.iter().enumerate() {
            let of_name = |earlier: &usize| name.is_some() && files[*earlier].0 == *name;
            let side = (0..place).find(of_name).map(|earlier| all.side_of[earlier]).unwrap_or_else(|| {
                let name = name.as_ref().unwrap_or(&all.files[place]).clone();
                all.sides.push(Side { name, ..Side::default() });
                all.sides.len() - 1
            });
            all.side_of.push(side);
        }
        all
    }

    /// Takes a row of one of the files, that on this line.
    /// Errors: a status that no case has, and a second result of one run.
    pub fn take(&mut self, file: usize, record: &Record, line: u64) -> Result<(), Error> {
        self.sides[self.side_of[file]].add(record, &record.case_id, (file, line), &self.files)
    }

    /// Reads all files of a side one after the other, and sides beside each other.
    fn read_files(&mut self, files: &[(Option<String>, PathBuf)]) -> Result<(), Error> {
        let Self { files: names, side_of, sides, .. } = self;
        if sides.len() < 2 {
            let words = "two sides are needed: name another file, or compare the rows of one by --by COLUMN";
            return Err(Error::Usage(words.to_owned()));
        }
        let read = |(place, side): (usize, &mut Side)| {
            let own = (0..files.len()).filter(|file| side_of[*file] == place);
            let notes = own.map(|file| {
                read_rows(&files[file].1, &[Purpose::Comparison], &mut |record, line| {
                    side.add(record, &record.case_id, (file, line), names)
                })
            });
            let notes = notes.collect::<Result<Vec<Vec<String>>, Error>>();
            side.end();
            notes
        };
        let notes: Vec<Result<Vec<Vec<String>>, Error>> = sides.par_iter_mut().enumerate().map(read).collect();
        for notes in notes {
            self.notes.extend(notes?.into_iter().flatten());
        }
        Ok(())
    }

    fn read_by(&mut self, column: &str, base: Option<&str>, files: &[PathBuf]) -> Result<(), Error> {
        check_column("--by", column)?;
        let (mut axes, mut without) = (BTreeSet::new(), 0_u64);
        let names: Vec<String> = files.iter().map(|path| input_name(path)).collect();
        for (place, path) in files.iter().enumerate() {
            let notes = read_rows(path, &[Purpose::Comparison], &mut |record, line| {
                let name = record.cell(column).map(|cell| cell.to_string()).unwrap_or_default();
                if name.is_empty() {
                    axes.extend(record.by_axis.keys().cloned());
                    without += u64::from(!record.is_derived());
                    return Ok(());
                }
                let key = key_without(record, column);
                let side = self.sides.iter().position(|side| side.name == name).unwrap_or_else(|| {
                    self.sides.push(Side { name, pools_devices: self.pools_devices, ..Side::default() });
                    self.sides.len() - 1
                });
                self.sides[side].add(record, &key, (place, line), &names)
            })?;
            self.notes.extend(notes);
        }
        self.files = names;
        self.sides.iter_mut().for_each(Side::end);
        let names: Vec<&str> = self.sides.iter().map(|side| side.name.as_str()).collect();
        match names[..] {
            [] if position(column).is_some() => {
                return Err(Error::Usage(format!("--by {column}: that column is empty in all rows")));
            }
            [] => {
                let columns = COLUMNS.iter().map(|column| column.name).chain(axes.iter().map(String::as_str));
                return Err(Error::Unknown {
                    what: "column or axis",
                    given: column.to_owned(),
                    nearest: nearest(column, columns),
                });
            }
            [only] => return Err(Error::Usage(format!("--by {column}: all rows have {only}, so there is nothing to compare"))),
            _ => {}
        }
        if base.is_none() {
            let place = self.first_in_common();
            self.sides[..=place].rotate_right(1);
        } else if let Some(base) = base {
            let Some(place) = names.iter().position(|name| *name == base) else {
                return Err(Error::Usage(format!("--base {base}: {column} is one of {}", names.join(", "))));
            };
            self.sides[..=place].rotate_right(1);
        }
        if without > 0 {
            self.notes.push(format!("{without} rows have no {column} and are left out"));
        }
        self.by = Some(column.to_owned());
        Ok(())
    }

    /// The first side that has a measured case in common with another one: values of an axis may be those of several experiments.
    fn first_in_common(&self) -> usize {
        let all: Vec<HashSet<&str>> = self.sides.iter().map(Side::measured_keys).collect();
        let has_common =
            |place: &usize| all.iter().enumerate().any(|(other, keys)| other != *place && !keys.is_disjoint(&all[*place]));
        (0..all.len()).find(has_common).unwrap_or(0)
    }
}

/// Demands that a column tells rows apart, and is no figure.
pub fn check_column(option: &str, name: &str) -> Result<(), Error> {
    let Some(column) = COLUMNS.iter().find(|column| column.name == name) else { return Ok(()) };
    if GROUPS.contains(&column.group) || name == "variant" {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{option} {name}: rows of one case don't differ in it, or only in what was found; try device_name, driver_info, variant, cache or an axis"
    )))
}

/// What a case is but for its value in one column.
fn key_without(record: &Record, column: &str) -> String {
    let group = COLUMNS.iter().find(|known| known.name == column).map(|known| known.group);
    let is_axis = record.by_axis.contains_key(column);
    if !is_axis && column != "variant" && column != "cache" && group != Some("case") {
        return record.case_id.clone();
    }
    let variant = if column == "variant" { "" } else { &record.variant };
    let cache = if column == "cache" { "" } else { &record.cache };
    [&record.experiment, variant, &axes_without(record, column), cache].join("\n")
}

fn axes_without(record: &Record, column: &str) -> String {
    let others = record.by_axis.iter().filter(|(name, _)| *name != column);
    Point::new(others.map(|(name, value): (&String, &AxisValue)| (name.clone().into(), value.clone()))).to_string()
}

impl Side {
    /// How many devices are taken for one, where they are several.
    fn pooled(&self) -> Option<String> {
        let devices: HashSet<&str> = self.runs.iter().map(Run::device_uuid).collect();
        (devices.len() > self.devices.len()).then(|| {
            format!("{} is of {} devices, taken for one of each kind: of each, one run counts", self.name, devices.len())
        })
    }

    /// What its measured cases are told apart by, without those of calibration, which every file may have.
    pub fn measured_keys(&self) -> HashSet<&str> {
        self.cases.iter().filter(|case| case.is_work()).map(|case| &*case.key).collect()
    }

    pub fn rows(&self) -> impl Iterator<Item = &Observation> {
        self.cases.iter().flat_map(|case| &case.rows)
    }

    fn add(&mut self, record: &Record, key: &str, (file, line): (usize, u64), files: &[String]) -> Result<(), Error> {
        let Some(status) = Status::named(&record.status) else {
            let (file, status) = (&files[file], &record.status);
            return Err(Error::Usage(format!("{file}, line {line}, column `status`: `{status}` is none that a case can have")));
        };
        let device = self.device(record);
        let run = self.run(record, file);
        self.runs[run].learn(record);
        let own = Observation::new(record, status, run, (file, line), &mut self.shared);
        let known = self.case_of[device].get(key).copied();
        let place = known.unwrap_or_else(|| {
            let case = SideCase::new(record, key.into(), device, &mut self.shared);
            self.case_of[device].insert(case.key.clone(), self.cases.len());
            self.cases.push(case);
            self.cases.len() - 1
        });
        let rows = &mut self.cases[place].rows;
        // The same run in two files, or twice in one, is no second measurement.
        if rows.iter().any(|row| row.is_copy_of(&own)) {
            return Ok(());
        }
        match rows.iter_mut().find(|row| row.run == run) {
            // Derived figures of several caches or merges: the last one stands.
            Some(row) if record.is_derived() || !row.is_ok() => *row = own,
            // One that wasn't tried says nothing.
            Some(row) if !matches!(own.status, Status::Planned | Status::NotRun) => {
                let (file, first, name) = (&files[row.file], row.line, record.case_name());
                let words = "which row counts? Name the files of several runs apart, or leave one row out";
                let words = format!("{file}, lines {first} and {line}: {name} has two results of one run and device: {words}");
                return Err(Error::Usage(words));
            }
            Some(_) => {}
            None => rows.push(own),
        }
        Ok(())
    }

    /// Further runs of one device tell nothing of how far devices of the kind are apart.
    fn keep_one_of_each_device(&mut self) {
        let Self { runs, cases, .. } = self;
        for case in cases {
            let mut seen = HashSet::new();
            // What failed stays, and what has a figure stands for its device.
            case.rows.retain(|row| !row.is_ok() || seen.insert(runs[row.run].device_uuid()));
        }
    }

    /// Gives up what only serves to take rows: every row has been taken.
    fn end(&mut self) {
        if self.pools_devices {
            self.keep_one_of_each_device();
        }
        (self.case_of, self.run_of, self.shared) = (Vec::new(), HashMap::new(), Shared::default());
    }

    fn device(&mut self, record: &Record) -> usize {
        let device = if self.pools_devices { &record.device_name } else { &record.device_uuid };
        let is_own = |known: &DeviceKey| {
            (known.device.as_str(), known.driver.as_str(), known.build.as_str())
                == (device.as_str(), record.driver_uuid.as_str(), record.driver_info.as_str())
        };
        self.devices.iter().position(is_own).unwrap_or_else(|| {
            self.devices.push(DeviceKey {
                device: device.clone(),
                driver: record.driver_uuid.clone(),
                build: record.driver_info.clone(),
                name: record.device_name.clone(),
            });
            self.case_of.push(HashMap::new());
            self.devices.len() - 1
        })
    }

    fn run(&mut self, record: &Record, file: usize) -> usize {
        let device_id = [&*record.device_uuid, &record.driver_uuid, &record.driver_info].join("/");
        let key = (record.run_id.clone(), file, device_id);
        if let Some(run) = self.run_of.get(&key) {
            return *run;
        }
        let cell = |(name, _): &(&str, _)| record.cell(name).map(|cell| cell.to_string().into()).unwrap_or_default();
        let identity = IDENTITY.iter().map(cell).collect();
        let device_id: Box<str> = format!("{}/{}", record.device_uuid, record.driver_uuid).into();
        let id = hash64(&format!("{file}/{device_id}/{}", record.run_id));
        let of_all_devices = if record.run_id.is_empty() { hash64(&file.to_string()) } else { hash64(&record.run_id) };
        self.runs.push(Run { id, of_all_devices, device: device_id, identity, step: None, floor: None });
        self.run_of.insert(key, self.runs.len() - 1);
        self.runs.len() - 1
    }
}

impl SideCase {
    pub fn name(&self) -> String {
        case_name([&self.kind.experiment, &self.kind.variant, &self.axes])
    }

    /// Whether it is measured, and of more than the instrument.
    pub fn is_work(&self) -> bool {
        !self.kind.is_derived && !self.kind.experiment.starts_with("calibration/")
    }

    fn new(record: &Record, key: Arc<str>, device: usize, shared: &mut Shared) -> Self {
        Self {
            kind: shared.kind(record),
            axes: shared.words.of(record.axis_values.as_str()),
            case_id: if *key == *record.case_id { key.clone() } else { record.case_id.as_str().into() },
            key,
            device,
            // Most cases have one, and room for four would be most of what is kept.
            rows: Vec::with_capacity(1),
        }
    }
}

impl Run {
    /// Whether one driver made the code of both, for one kind of device and of one version of Lanescope.
    pub fn has_code_of(&self, other: &Self) -> bool {
        let decides = |(name, about): &(&str, About)| matches!(about, About::Driver | About::Tool) || DECIDE.contains(name);
        let mut cells = IDENTITY.iter().zip(self.identity.iter().zip(&other.identity));
        let is_told =
            IDENTITY.iter().zip(&self.identity).all(|((name, _), cell)| !MUST_BE_TOLD.contains(name) || !cell.is_empty());
        is_told && cells.all(|(column, (own, others))| own == others || !decides(column))
    }

    pub fn device_uuid(&self) -> &str {
        self.device.split('/').next().unwrap_or_default()
    }

    /// Takes what calibration tells of the timer.
    fn learn(&mut self, record: &Record) {
        match (record.experiment.as_str(), record.variant.as_str()) {
            ("calibration/timer", "step") => self.step = record.value.or(self.step),
            ("calibration/timer", "floor") => self.floor = record.value.or(self.floor),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_name_are_one_side() {
        let named = |name: Option<&str>, file: &str| (name.map(str::to_owned), PathBuf::from(file));
        let sides = Sides::of_files(&[named(Some("a"), "1"), named(None, "2"), named(Some("a"), "3"), named(None, "-")]);
        assert!(sides.sides.iter().map(|side| side.name.as_str()).eq(["a", "2", "standard input"]));
        assert_eq!(sides.side_of, [0, 1, 0, 2]);
    }
}
