//! The rows of files as one set: each case once, in the order of one run; and what contradicts.
//!
//! ```text
//! input      one file of rows, or standard input, read once, row by row
//! missing    the cases of a plan that no row of the set has
//! renewed    the rows in order, what they say of each other said anew, and what follows from them
//! ```

mod input;
mod missing;
mod renewed;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::words::{abridged, counted, indented};
use crate::error::Error;
use crate::experiments::is_derived_name;
use crate::record::{Choice, Completeness, Packed, Record, SCHEMA_VERSION, choose};

pub use input::{Purpose, input_name, read_rows, short_name};

/// Conflicts, and rows of one conflict, that are named.
const SHOWN_CONFLICTS: usize = 20;
const SHOWN_PLACES: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Location {
    file: usize,
    line: u64,
}

struct Row {
    packed: Packed,
    completeness: Completeness,
    group: usize,
    index: Option<u64>,
    seen: usize,
    place: Location,
}

/// What one device contributes to a run: rows that belong side by side, and follow from each other. A device that is paired with itself contributes twice. Nothing in a row tells which of the two it is, but for those that are
/// pairs: in a file with such rows the first row of a case is of the first turn.
struct DeviceRows {
    /// For messages: its name and what its driver says of its build.
    name: String,
    /// When rows were derived, by what the caches held.
    derived: BTreeMap<String, String>,
}

/// The rows of one plan on one device; without a plan, those of one run.
struct Group {
    /// The device, as a place among [`RowSet::blocks`].
    block: usize,
    /// The plan's id; empty where rows name none.
    plan: String,
    cases: Option<u64>,
    place: Location,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    /// The plan, as a place among [`RowSet::groups`].
    group: usize,
    index: u64,
    row: usize,
}

/// The rows of one file or of several: read, and joined.
#[derive(Default)]
pub struct RowSet {
    files: Vec<String>,
    blocks: Vec<DeviceRows>,
    groups: Vec<Group>,
    rows: Vec<Row>,
    positions: Vec<Position>,
    axes: BTreeSet<String>,
    /// Blocks by device and turn, groups by block and plan or run, rows by block and case.
    block_of: HashMap<(String, u64), usize>,
    group_of: HashMap<(usize, String), usize>,
    row_of: HashMap<(usize, Box<str>), usize>,
    /// Rows with other results, by the row that they contradict.
    conflicts: BTreeMap<usize, Vec<Location>>,
    /// The first contradiction of each group about its plan.
    disputes: BTreeMap<usize, String>,
    /// What to know of files.
    of_files: Vec<String>,
    /// Under which names figures follow from others that this version doesn't know.
    underivable: BTreeSet<String>,
}

/// A row of a file whose block isn't known yet.
struct Fresh {
    packed: Packed,
    line: u64,
    device: String,
    case: Box<str>,
    is_derived: bool,
}

/// The rows of one file, read and not yet joined with others.
pub struct FileRows {
    name: String,
    fresh: Vec<Fresh>,
    /// Devices that are paired with themselves in it.
    paired_with_itself: BTreeSet<String>,
    notes: Vec<String>,
}

impl FileRows {
    /// Reads a file, and shows each of its rows to whoever else takes them, with the line on which it begins.
    /// Errors: those of [`read_rows`].
    pub fn read(
        path: &Path,
        purposes: &[Purpose],
        also: &mut dyn FnMut(&Record, u64) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let (mut fresh, mut paired_with_itself) = (Vec::new(), BTreeSet::new());
        let notes = read_rows(path, purposes, &mut |record, line| {
            also(record, line)?;
            SCHEMA_VERSION.clone_into(&mut record.schema);
            let device = device_key(record);
            if record.pair_base.ends_with(&format!("@{}/{}", record.device_uuid, record.driver_uuid)) {
                paired_with_itself.insert(device.clone());
            }
            let case = record.case_id.as_str().into();
            let is_derived = record.is_derived();
            fresh.push(Fresh { packed: Packed::new(record), line, device, case, is_derived });
            Ok(())
        })?;
        Ok(Self { name: input_name(path), fresh, paired_with_itself, notes })
    }
}

impl RowSet {
    pub fn read(&mut self, path: &Path, purpose: Purpose) -> Result<(), Error> {
        self.take(FileRows::read(path, &[purpose], &mut |_, _| Ok(()))?);
        Ok(())
    }

    /// Whether most of a file's cases have another row already: then it is another run of them, and not a part of the same.
    pub fn is_another_run(&self, file: &FileRows) -> bool {
        let measured = || file.fresh.iter().filter(|row| !row.is_derived);
        let has_another = |row: &&Fresh| {
            let block = self.block_of.get(&(row.device.clone(), 1));
            let known = block.and_then(|block| self.find(*block, &row.case));
            known.is_some_and(|known| known.packed != row.packed)
        };
        2 * measured().filter(has_another).count() > measured().count()
    }

    /// How many times as long as in another set its cases take, by geometric mean; 1 where none has a figure in both.
    pub fn time_relative_to(&self, other: &Self) -> f64 {
        let time = |row: &Row| row.packed.record().time_ns.filter(|time| *time > 0.0);
        let ratios = self.row_of.iter().filter_map(|((block, case), row)| {
            let block = other.block_of.iter().find_map(|(of, place)| (self.block_of.get(of) == Some(block)).then_some(*place));
            Some((time(&self.rows[*row])? / time(other.find(block?, case)?)?).ln())
        });
        let (sum, count) = ratios.fold((0.0, 0), |(sum, count), ratio| (sum + ratio, count + 1));
        (sum / f64::from(count.max(1))).exp()
    }

    pub fn take(&mut self, file: FileRows) {
        self.of_files.extend(file.notes);
        self.files.push(file.name);
        let mut turns: HashMap<(String, Box<str>), u64> = HashMap::new();
        let mut record = Record::default();
        for row in file.fresh {
            let turn = if file.paired_with_itself.contains(&row.device) {
                let turn = turns.entry((row.device.clone(), row.case.clone())).or_default();
                *turn += 1;
                *turn
            } else {
                1
            };
            row.packed.read_into(&mut record);
            self.add(row, &record, turn);
        }
    }

    fn add(&mut self, fresh: Fresh, record: &Record, turn: u64) {
        let place = Location { file: self.files.len() - 1, line: fresh.line };
        let block = self.block(fresh.device, turn, record);
        if record.is_derived() {
            let derived = self.blocks[block].derived.entry(record.cache.clone()).or_default();
            // As text: RFC 3339 in UTC sorts by time.
            *derived = record.written_at.clone().max(std::mem::take(derived));
            if !is_derived_name(&record.experiment) {
                self.underivable.insert(record.experiment.clone());
            }
            return;
        }
        let group = self.group(block, record, place);
        self.axes.extend(record.by_axis.keys().filter(|name| !self.axes.contains(*name)).cloned().collect::<Vec<_>>());
        let index = record.plan_index.filter(|_| self.groups[group].cases.is_some());
        let new = Row {
            completeness: Completeness::from_row(record),
            packed: fresh.packed,
            group,
            index,
            seen: self.rows.len(),
            place,
        };
        let row = match self.row_of.get(&(block, fresh.case.clone())) {
            Some(&row) => {
                self.settle(row, new, record);
                row
            }
            None => {
                self.rows.push(new);
                self.row_of.insert((block, fresh.case), self.rows.len() - 1);
                self.rows.len() - 1
            }
        };
        self.positions.extend(index.map(|index| Position { group, index, row }));
    }

    fn settle(&mut self, row: usize, new: Row, record: &Record) {
        let old = &mut self.rows[row];
        if old.packed == new.packed {
            return;
        }
        match choose(&old.packed.record(), record) {
            Choice::First => {}
            Choice::Second => *old = Row { seen: old.seen, ..new },
            Choice::Conflict => self.conflicts.entry(row).or_default().push(new.place),
        }
    }

    fn block(&mut self, device: String, turn: u64, record: &Record) -> usize {
        *self.block_of.entry((device, turn)).or_insert_with(|| {
            let names = [record.device_name.as_str(), &record.driver_info].into_iter().chain(record.processor());
            let name = names.filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
            self.blocks.push(DeviceRows { name, derived: BTreeMap::new() });
            self.blocks.len() - 1
        })
    }

    fn group(&mut self, block: usize, record: &Record, place: Location) -> usize {
        let Record { plan_id: plan, plan_cases: cases, run_id, plan_index, .. } = record;
        let key = if plan.is_empty() { format!("run {run_id}") } else { plan.clone() };
        let group = *self.group_of.entry((block, key)).or_insert_with(|| {
            let cases = cases.filter(|_| !plan.is_empty());
            self.groups.push(Group { block, plan: plan.clone(), cases, place });
            self.groups.len() - 1
        });
        let Group { cases: known, place: first, .. } = self.groups[group];
        let is_beyond = known.is_some_and(|cases| plan_index.is_some_and(|index| index >= cases));
        if !plan.is_empty() && (*cases != known || is_beyond) {
            let number = |cases: &Option<u64>| cases.map_or("no number of cases".to_owned(), |cases| counted(cases, "case"));
            let [first, place] = [first, place].map(|place| self.shown_place(place));
            let index = plan_index.map_or("no place".to_owned(), |index| format!("case {index}"));
            let (known, cases) = (number(&known), number(cases));
            let dispute = format!("plan {plan} has {known} by {first}, but {place} holds {index} of {cases}");
            self.disputes.entry(group).or_insert(dispute);
        }
        group
    }

    pub fn axes(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(String::as_str)
    }

    fn positions(&self) -> Vec<Position> {
        let mut positions = self.positions.clone();
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    fn get(&self, row: usize) -> &Row {
        &self.rows[row]
    }

    fn find(&self, block: usize, case: &str) -> Option<&Row> {
        self.row_of.get(&(block, case.into())).map(|row| &self.rows[*row])
    }

    /// All rows in the order of one run: devices and plans as they first come, cases as their plan has them.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        self.in_order().into_iter().map(|row| self.rows[row].packed.record())
    }

    fn in_order(&self) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.rows.len()).collect();
        let key = |row: &Row| (self.groups[row.group].block, row.group, row.index.unwrap_or(u64::MAX), row.seen);
        rows.sort_unstable_by_key(|row| key(&self.rows[*row]));
        rows
    }

    /// What to know of the files that keeps nobody from merging them.
    pub fn notes(&self) -> Vec<String> {
        let unplaced = self.rows.iter().filter(|row| row.index.is_none()).count() as u64;
        let unplaced = (unplaced > 0).then(|| {
            let rows = counted(unplaced, "row");
            format!("{rows} without a place in a plan (written before schema v1.1): whether others are missing can't be told")
        });
        let underivable = (!self.underivable.is_empty()).then(|| {
            let names: Vec<&str> = self.underivable.iter().map(String::as_str).collect();
            format!("derived rows that this version can't derive are left out: {}", names.join(", "))
        });
        self.of_files.iter().cloned().chain(unplaced).chain(underivable).collect()
    }

    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.conflicts.is_empty() {
            faults.push(format!("{} with more than one result:", counted(self.conflicts.len() as u64, "case")));
            let said = self.conflicts.iter().map(|(row, places)| self.conflict(&self.rows[*row], places)).collect();
            faults.extend(indented(abridged(said, SHOWN_CONFLICTS)));
        }
        let mut others: Vec<String> = self.disputes.values().cloned().collect();
        let positions = self.positions();
        for pair in positions.windows(2) {
            let [one, two] = [&self.rows[pair[0].row], &self.rows[pair[1].row]];
            if (pair[0].group, pair[0].index) == (pair[1].group, pair[1].index) {
                let (plan, index) = (&self.groups[pair[0].group].plan, pair[0].index);
                let [one, two] =
                    [one, two].map(|row| format!("{} ({})", row.packed.record().case_name(), self.shown_place(row.place)));
                others.push(format!("case {index} of plan {plan} is {one} as well as {two}"));
            }
        }
        faults.extend(abridged(others, SHOWN_CONFLICTS));
        faults
    }

    fn conflict(&self, row: &Row, others: &[Location]) -> String {
        let places = std::iter::once(row.place).chain(others.iter().copied()).map(|place| self.shown_place(place));
        let places = abridged(places.collect(), SHOWN_PLACES).join("; ");
        format!("{} on {}: {places}", row.packed.record().case_name(), self.blocks[self.groups[row.group].block].name)
    }

    fn shown_place(&self, place: Location) -> String {
        format!("{}, line {}", self.files[place.file], place.line)
    }
}

/// A software driver has the same UUIDs on every machine: its device is the processor of a host.
fn device_key(record: &Record) -> String {
    let driver = [record.device_uuid.as_str(), &record.driver_uuid, &record.driver_info];
    driver.into_iter().chain(record.processor()).collect::<Vec<_>>().join("\n")
}
