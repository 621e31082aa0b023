//! Where text for people is shown: how wide it may be, and whether it is in colours.

use std::io::{stderr, stdout};

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};

use crate::platform::columns;

/// What a mail, a file and a side-by-side diff can show.
const WIDTH: u16 = 100;
/// Below this, tables are a heap of letters.
const LEAST: u16 = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// How many characters a line may have.
    pub width: u16,
    pub is_coloured: bool,
}

impl Page {
    pub const FILE: Self = Self { width: WIDTH, is_coloured: false };

    pub fn stdout() -> Self {
        Self { width: fitting(columns(stdout())), is_coloured: is_coloured(stdout()) }
    }

    pub fn stderr() -> Self {
        Self { width: fitting(columns(stderr())), is_coloured: is_coloured(stderr()) }
    }
}

/// Shows colours wherever something is shown, or nowhere, instead of where they fit.
pub fn choose_colours(are_shown: bool) {
    let choice = if are_shown { ColorChoice::AlwaysAnsi } else { ColorChoice::Never };
    choice.write_global();
}

/// The terminal's width, or else one that fits everywhere.
fn fitting(terminal: Option<u16>) -> u16 {
    terminal.map_or(WIDTH, |columns| columns.max(LEAST))
}

/// Whether a stream shows colours: as `--color` says, else on a terminal that can, unless `NO_COLOR` is set. On Windows, this makes its
/// console take them.
fn is_coloured(stream: impl RawStream) -> bool {
    AutoStream::auto(stream).current_choice() == ColorChoice::AlwaysAnsi
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_terminal_has_a_width_all_the_same() {
        assert_eq!([None, Some(80), Some(7)].map(fitting), [WIDTH, 80, LEAST]);
    }
}
