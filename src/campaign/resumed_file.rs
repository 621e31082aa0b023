//! A file that a run goes on from: it has rows of the earlier run beside those that supersede them. None is cut off before the end, so
//! whoever is killed leaves both.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::sink::{RowKey, row_key};
use crate::output::{self, Format, Outputs, Staged, Target};
use crate::record::{Header, Packed, Reader};

#[derive(Default)]
pub struct ResumedFile {
    pub path: PathBuf,
    /// How many rows come first and stay as they are.
    pub kept: usize,
    /// How many rows of the earlier run follow that may be superseded.
    pub earlier: usize,
}

impl ResumedFile {
    /// Gives other outputs the rows that stay as they are.
    pub fn pass_on(&self, outputs: &mut Outputs) -> anyhow::Result<()> {
        if outputs.lacks_rows() {
            for row in Reader::open(&self.path)?.take(self.kept) {
                // Who stops reading now will show when the first new row is written.
                let _ = outputs.pass_on(&row?)?;
            }
        }
        Ok(())
    }

    /// Leaves out the superseded rows, and those that go without another in their place.
    /// Errors: where the file can't be read or replaced; it stays as it is.
    pub fn drop_superseded(&self, header: &Header, retired: &HashSet<RowKey>) -> anyhow::Result<()> {
        if self.earlier == 0 {
            return Ok(());
        }
        Staged::copy_of(&self.path).fill(|to| self.write(to, header, retired))
    }

    fn write(&self, to: &Path, header: &Header, retired: &HashSet<RowKey>) -> anyhow::Result<()> {
        let mut outputs = output::open(&[(Target::File(to.to_owned()), Format::Csv)], header)?;
        let (mut earlier, mut rows) = (Vec::new(), Vec::new());
        for (i, row) in Reader::open(&self.path)?.enumerate() {
            let row = row?;
            if i < self.kept {
                let _ = outputs.write(&row)?;
                continue;
            }
            let part = if i < self.kept + self.earlier { &mut earlier } else { &mut rows };
            part.push((row_key(&row), Packed::new(&row)));
        }
        let newer: HashSet<RowKey> = rows.iter().map(|(key, _)| key.clone()).collect();
        rows.extend(earlier.into_iter().filter(|(key, _)| !newer.contains(key) && !retired.contains(key)));
        // Measured rows in the order of their plans; derived ones have none there, and stay as they came.
        rows.sort_by_cached_key(|(key, _)| (key.device.clone(), key.index.unwrap_or(u64::MAX)));
        for (_, row) in rows {
            let _ = outputs.write(&row.record())?;
        }
        let _ = outputs.finish()?;
        Ok(())
    }
}
