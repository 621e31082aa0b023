//! How wide a text may be.

/// What a mail, a file and a side-by-side diff can show.
const WIDTH: u16 = 100;
/// Below this, tables are a heap of letters.
const LEAST: u16 = 40;

/// The columns of the terminal that standard output is, or else a width that fits everywhere.
pub fn width() -> u16 {
    terminal_size::terminal_size_of(std::io::stdout()).map_or(WIDTH, |(terminal_size::Width(columns), _)| columns.max(LEAST))
}
