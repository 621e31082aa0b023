//! Where what people read leaves this process: standard output and the error stream, through [`legible`]. Nobody else writes there, but
//! for rows (see [`Reserved`](super::Reserved)), bars (see [`Progress`](super::Progress)) and what a worker says to its supervisor.

use std::io::{self, Write};

use super::page::Page;
use super::tone::legible;

pub fn show(text: &str) -> io::Result<()> {
    hand_over(&legible(text, Page::stdout()))
}

/// Writes to standard output what is for programs, or legible already, as it is.
pub fn hand_over(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Says a line, or several, on the error stream. Where nobody listens to it, there is nobody to tell so.
pub fn say(words: &str) {
    say_toned(words, Page::FILE);
}

/// The same of words with tones, which the page shows or not.
pub fn say_toned(words: &str, page: Page) {
    let _ = writeln!(io::stderr(), "{}", legible(words, page));
}
