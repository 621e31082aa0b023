//! How wide a text may be.

use super::page::Page;

/// The columns of the terminal that standard output is, or else a width that fits everywhere.
pub fn width() -> u16 {
    Page::stdout().width
}
