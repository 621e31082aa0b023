//! What a command says on standard output.

use std::io::{self, Write};

use crate::error::EXIT_OK;
use crate::output::Page;

/// The longest line that is written for people, in characters; a terminal may be narrower.
const WIDTH: usize = 100;

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

/// How many characters a line may have.
pub fn width() -> usize {
    WIDTH.min(Page::stdout().width.into())
}
