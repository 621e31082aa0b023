//! Every sample of a run as long CSV: one line per sample.

use std::io::{self, Write};
use std::path::Path;

use super::files::{WholeLines, between_rows};
use crate::error::Error;
use crate::model::Shown;
use crate::record::Record;
use crate::regular;

/// The columns. `ns` is the time per pass (for a clock rate, the ratio); `batch` the passes of the sample, 0 where the timer
/// itself was measured; `process`, `round` and `index` count from 1.
const COLUMNS: [&str; 9] = ["run_id", "device_uuid", "driver_uuid", "case_id", "process", "round", "index", "ns", "batch"];

pub struct Samples {
    path: String,
    out: WholeLines,
}

impl Samples {
    /// Opens the file, or creates it, and leaves what is in it until [`Samples::begin`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        let (file, _) = regular::output(path).map_err(Error::unwritable(path))?;
        Ok(Self { path: path.shown(), out: WholeLines::new(file) })
    }

    /// Begins a new file; with `continues`, goes on after the last whole line.
    pub fn begin(&mut self, continues: bool) -> Result<(), Error> {
        let head = format!("{}\n", COLUMNS.join(","));
        let begun = self.out.keep(continues).and_then(|()| match self.out.is_empty() {
            true => self.out.write_all(head.as_bytes()),
            false => Ok(()),
        });
        begun.map_err(|cause| Error::Output { path: self.path.clone(), cause })
    }

    /// Writes the samples of a row: of each round, the samples and the process that took them.
    pub fn write(&mut self, row: &Record, rounds: &[Vec<f64>], processes: &[u32]) -> io::Result<()> {
        between_rows(|| {
            let Record { run_id, device_uuid, driver_uuid, case_id, .. } = row;
            let batch = row.batch.unwrap_or(0);
            let mut lines = csv::Writer::from_writer(Vec::new());
            for ((round, samples), process) in (1_u64..).zip(rounds).zip(processes) {
                for (index, ns) in (1_u64..).zip(samples) {
                    let numbers = [u64::from(*process).to_string(), round.to_string(), index.to_string(), ns.to_string()];
                    let [process, round, index, ns] = &numbers;
                    let cells = [run_id, device_uuid, driver_uuid, case_id, process, round, index, ns, &batch.to_string()];
                    lines.write_record(cells)?;
                }
            }
            let lines = lines.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
            self.out.write_all(&lines)
        })
        .map_err(|error| io::Error::new(error.kind(), format!("can't write {}: {error}", self.path)))
    }
}
