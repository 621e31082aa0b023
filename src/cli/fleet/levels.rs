//! What machines have in common beside their kind: columns of rows or of a file of machines, and days.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::analysis::compare::check_column;
use crate::error::{Error, nearest};
use crate::model::Shown;
use crate::record::Record;
use crate::record::schema::{COLUMNS, position};

/// The day on which a row was written.
const DAY: &str = "day";

pub struct Levels<'g> {
    factors: &'g [String],
    /// By machine and column.
    machines: BTreeMap<String, BTreeMap<String, String>>,
    columns: BTreeSet<String>,
    file: Option<&'g Path>,
    /// Machines of rows, and those that have no line in the file.
    seen: BTreeSet<String>,
    missing: BTreeSet<String>,
    /// Axes that rows have.
    axes: BTreeSet<String>,
}

impl<'g> Levels<'g> {
    /// # Errors
    /// A file of machines that can't be read, or has no column of that name.
    pub fn new(by: &str, factors: &'g [String], file: Option<&'g Path>) -> Result<Self, Error> {
        let mut new = Self {
            factors,
            machines: BTreeMap::new(),
            columns: BTreeSet::new(),
            file,
            seen: BTreeSet::new(),
            missing: BTreeSet::new(),
            axes: BTreeSet::new(),
        };
        let same = factors.iter().find(|factor| *factor == by);
        if let Some(same) = same {
            return Err(Error::Usage(format!("--factor {same}: that is what tells machines apart, so none has it in common")));
        }
        let Some(file) = file else { return Ok(new) };
        if file == Path::new("-") {
            return Err(Error::Usage("--machines -: name a file, standard input is for rows".to_owned()));
        }
        let wrong = |error: csv::Error| Error::Usage(format!("{}: {error}", file.shown()));
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(file).map_err(wrong)?;
        let names = reader.headers().map_err(wrong)?.clone();
        let Some(own) = names.iter().position(|name| name == by) else {
            let words = format!("{}: it has no column `{by}` that names the machines, as --by has it", file.shown());
            return Err(Error::Usage(words));
        };
        for line in reader.records() {
            let line = line.map_err(wrong)?;
            let cells = names.iter().zip(&line).map(|(name, cell)| (name.to_owned(), cell.to_owned())).collect();
            if let Some(twice) = new.machines.insert(line[own].to_owned(), cells).and_then(|_| line.get(own)) {
                return Err(Error::Usage(format!("{}: {twice} has two lines", file.shown())));
            }
        }
        new.columns = names.iter().map(str::to_owned).collect();
        Ok(new)
    }

    /// The level of each factor that a row of a machine has; empty where it has none.
    pub fn of(&mut self, record: &Record, machine: &str) -> Vec<String> {
        for axis in record.by_axis.keys().filter(|axis| self.factors.contains(axis)) {
            self.axes.insert(axis.clone());
        }
        let of_file = self.machines.get(machine);
        if self.file.is_some() && !self.seen.contains(machine) {
            self.seen.insert(machine.to_owned());
            self.missing.extend(of_file.is_none().then(|| machine.to_owned()));
        }
        let level = |factor: &String| match factor.as_str() {
            name if self.columns.contains(name) => of_file.and_then(|cells| cells.get(name)).cloned().unwrap_or_default(),
            DAY => record.written_at.split('T').next().unwrap_or_default().to_owned(),
            name => record.cell(name).map(|cell| cell.to_string()).unwrap_or_default(),
        };
        self.factors.iter().map(level).collect()
    }

    /// What to know where machines have no line in their file.
    pub fn without(&self) -> Option<String> {
        let (file, first) = (self.file?, self.missing.first()?);
        let (missing, all) = (self.missing.len(), self.seen.len());
        Some(format!("{missing} of {all} machines have no line in {}, such as {first}", file.shown()))
    }

    /// # Errors
    /// A factor that is a figure, or that neither rows nor the file of machines have.
    pub fn check(&self) -> Result<(), Error> {
        let is_known =
            |name: &str| name == DAY || self.columns.contains(name) || self.axes.contains(name) || position(name).is_some();
        let mut of_rows = self.factors.iter().filter(|factor| !self.columns.contains(*factor) && *factor != DAY);
        of_rows.try_for_each(|factor| check_column("--factor", factor))?;
        let Some(given) = self.factors.iter().find(|factor| !is_known(factor)) else { return Ok(()) };
        let known = COLUMNS.iter().map(|column| column.name).chain(self.columns.iter().map(String::as_str)).chain([DAY]);
        Err(Error::Unknown { what: "column for --factor", given: given.clone(), nearest: nearest(given, known) })
    }
}
