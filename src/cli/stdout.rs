//! What a command says on standard output.

use crate::error::EXIT_OK;
use crate::output::{Page, hand_over, show};

/// The longest line that is written for people, in characters; a terminal may be narrower.
const WIDTH: usize = 100;

pub fn print(text: &str) -> anyhow::Result<u8> {
    show(text)?;
    Ok(EXIT_OK)
}

/// Prints what is for programs, or legible already, as it is.
pub fn print_as_is(text: &str) -> anyhow::Result<u8> {
    hand_over(text)?;
    Ok(EXIT_OK)
}

pub fn width() -> usize {
    WIDTH.min(Page::stdout().width.into())
}
