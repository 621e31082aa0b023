//! What a command says on standard output.

use std::io::{self, Write};

use crate::error::EXIT_OK;

/// Prints a command's text whole.
///
/// # Errors
/// Where nobody reads any more.
pub fn print(text: &str) -> anyhow::Result<u8> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(EXIT_OK)
}
