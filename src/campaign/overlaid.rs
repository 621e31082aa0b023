//! A file that has rows of an earlier run beside those that took their place. None is cut off before the end: whoever is killed leaves
//! both.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::sink::{RowKey, row_key};
use crate::output::{self, Format, Staged, Target};
use crate::record::{Header, Packed, Reader};

pub struct Overlaid {
    pub path: PathBuf,
    /// How many rows come first and stay as they are.
    pub kept: usize,
    /// How many follow that others may have taken the place of.
    pub earlier: usize,
    pub header: Header,
}

impl Overlaid {
    /// Leaves out the rows of the earlier run that others took the place of, and those that are `retired`.
    /// Errors: where the file can't be read or replaced; it stays as it is.
    pub fn lift(&self, retired: &HashSet<RowKey>) -> anyhow::Result<()> {
        Staged::new(&self.path).fill(|to| self.write(to, retired))
    }

    fn write(&self, to: &Path, retired: &HashSet<RowKey>) -> anyhow::Result<()> {
        let mut outputs = output::open(&[(Target::File(to.to_owned()), Format::Csv)], &self.header)?;
        let (mut earlier, mut newer, mut rows) = (Vec::new(), HashSet::new(), Vec::new());
        for (i, row) in Reader::open(&self.path)?.enumerate() {
            let row = row?;
            if i < self.kept {
                let _ = outputs.write(&row)?;
            } else if i < self.kept + self.earlier {
                earlier.push((row_key(&row), Packed::new(&row)));
            } else {
                newer.insert(row_key(&row));
                rows.push((row_key(&row), Packed::new(&row)));
            }
        }
        rows.extend(earlier.into_iter().filter(|(key, _)| !newer.contains(key) && !retired.contains(key)));
        // In the order of their plans; what has no place there as it came.
        let mut devices = Vec::new();
        rows.sort_by_cached_key(|(key, _)| {
            let device = devices.iter().position(|known| *known == key.device).unwrap_or(devices.len());
            if device == devices.len() {
                devices.push(key.device.clone());
            }
            (device, key.index.unwrap_or(u64::MAX))
        });
        for (_, row) in rows {
            let _ = outputs.write(&row.record())?;
        }
        let _ = outputs.finish()?;
        Ok(())
    }
}
