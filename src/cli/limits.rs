//! The user's own file of limits.

use std::path::Path;

use super::args::limits::LimitsFile;
use crate::error::Error;
use crate::model::{Published, Shown};
use crate::regular::{self, LIMITS};

pub fn read(typed: &LimitsFile) -> Result<Option<Published>, Error> {
    typed.limits.as_deref().map(of_file).transpose()
}

fn of_file(path: &Path) -> Result<Published, Error> {
    let usage = |words: String| Error::Usage(format!("--limits {}: {words}", path.shown()));
    let text = regular::read_text(path, LIMITS).map_err(|error| usage(error.to_string()))?;
    Published::parse(&text).map_err(usage)
}
