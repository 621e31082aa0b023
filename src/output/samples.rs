//! Every sample of a run as long CSV: one line per sample.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use super::{WholeLines, between_rows};
use crate::error::Error;
use crate::record::Record;

/// The columns. `ns` is the time per pass (for a clock rate, the ratio); `batch` the passes of the sample, 0 where the timer
/// itself was measured; `process`, `round` and `index` count from 1.
const COLUMNS: [&str; 9] = ["run_id", "device_uuid", "driver_uuid", "case_id", "process", "round", "index", "ns", "batch"];

/// Writes samples to a file, those of a case at a time.
pub struct Samples {
    out: WholeLines,
}

impl Samples {
    /// Creates the file, or empties it; with `continues`, goes on in one that is there, behind its last whole line.
    ///
    /// # Errors
    /// [`Error::Output`] where it can't be written.
    pub fn create(path: &Path, continues: bool) -> Result<Self, Error> {
        let create = || {
            let mut file = File::options().create(true).read(true).write(true).truncate(!continues).open(path)?;
            if file.metadata()?.is_file() {
                let whole = whole_bytes(&mut file)?;
                file.set_len(whole)?;
            }
            let mut out = WholeLines::at_end(file)?;
            if out.is_empty() {
                out.write_all(format!("{}\n", COLUMNS.join(",")).as_bytes())?;
            }
            Ok(Self { out })
        };
        create().map_err(|source| Error::Output { path: path.display().to_string(), source })
    }

    /// Writes the samples of a row: of each round, the samples and the process that took them.
    ///
    /// # Errors
    /// Where they can't be written.
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
        .map_err(|error| io::Error::new(error.kind(), format!("can't write samples: {error}")))
    }
}

/// The bytes of a file up to the end of its last whole line: whoever wrote it may have been killed in the middle of the next one.
fn whole_bytes(file: &mut File) -> io::Result<u64> {
    let (mut input, mut line, mut whole) = (BufReader::new(file), Vec::new(), 0);
    while input.read_until(b'\n', &mut line)? > 0 {
        whole += if line.ends_with(b"\n") { line.len() as u64 } else { 0 };
        line.clear();
    }
    Ok(whole)
}
