//! The user's own file of limits.

use std::path::Path;

use super::args::limits::LimitsFile;
use crate::error::Error;
use crate::model::{DeviceInfo, Published, Shown};
use crate::regular::{self, LIMITS};

pub fn read(typed: &LimitsFile) -> Result<Option<Published>, Error> {
    typed.limits.as_deref().map(of_file).transpose()
}

fn of_file(path: &Path) -> Result<Published, Error> {
    let usage = |words: String| Error::Usage(format!("--limits {}: {words}", path.shown()));
    let text = regular::read_text(path, LIMITS).map_err(|error| usage(error.to_string()))?;
    Published::parse(&text).map_err(usage)
}

/// Gives a device the limits that the user's own entries have of it, if they do.
pub fn limit(device: &mut DeviceInfo, own: &Published) {
    if let Some(peaks) = own.of(Some(device.vendor_id), Some(device.device_id), &device.name) {
        device.peaks = peaks.clone();
    }
}
