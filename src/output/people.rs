//! Where what people read leaves this process: standard output and the error stream, through [`legible`]. Nobody else writes there, but
//! for rows (see [`Reserved`](super::Reserved)), bars (see [`Progress`](super::Progress)) and what a worker says to its supervisor.

use std::io::{self, Write};

use super::page::Page;
use super::tone::legible;
use crate::error::Error;
use crate::platform;

/// Errors: those of [`hand_over`].
pub fn show(text: &str) -> Result<(), Error> {
    hand_over(&legible(text, Page::stdout()))
}

/// Writes to standard output what is for programs, or legible already, as it is.
/// Errors: that it can't be written there, also that there was none from the start.
pub fn hand_over(text: &str) -> Result<(), Error> {
    if platform::is_stdout_closed() {
        return Err(stdout_closed());
    }
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|cause| Error::Output { path: STDOUT.to_owned(), cause })
}

pub const STDOUT: &str = "standard output";

/// What there is to say where standard output was closed from the start.
pub fn stdout_closed() -> Error {
    let cause = io::Error::other("it is closed: open it, or send it to a file");
    Error::Output { path: STDOUT.to_owned(), cause }
}

/// Says a line, or several, on the error stream. Where nobody listens to it, there is nobody to tell so.
pub fn say(words: &str) {
    say_toned(words, Page::FILE);
}

/// The same of words with tones, which the page shows or not.
pub fn say_toned(words: &str, page: Page) {
    let _ = writeln!(io::stderr(), "{}", legible(words, page));
}
