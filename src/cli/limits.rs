//! The user's own file of limits.

use super::args::limits::LimitsFile;
use crate::error::Error;
use crate::model::{Published, Shown};
use crate::regular::{self, LIMITS};

pub fn read(LimitsFile { limits }: &LimitsFile) -> Result<Option<Published>, Error> {
    let Some(path) = limits else { return Ok(None) };
    let usage = |words: String| Error::Usage(format!("--limits {}: {words}", path.shown()));
    let text = regular::read_text(path, LIMITS).map_err(|error| usage(error.to_string()))?;
    Published::parse(&text).map(Some).map_err(usage)
}
