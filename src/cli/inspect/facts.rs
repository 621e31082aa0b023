//! The lines that a description is made of.

use crate::output::{Cell, Column, Need, Page, TextTable, Tone, in_a_line, paragraph};

/// Where programs find what has no room.
const IN_JSON: &str = "a wider terminal or --format json has them";

const INDENT: usize = 3;

/// What is said below a heading: what each line is about, and what it says.
pub(super) struct Facts(TextTable);

impl Facts {
    pub(super) fn new() -> Self {
        Self(TextTable::new(["", ""].map(|title| Column::words(title, Need::Key))))
    }

    pub(super) fn say(&mut self, name: &str, value: &str) {
        self.0.row([name, value]);
    }

    /// Says what isn't as usual, in a line or several.
    pub(super) fn say_toned(&mut self, tone: Tone, name: &str, value: &str) {
        self.0.row([name, value].map(|text| Cell::of_lines(text).toned(tone)));
    }

    pub(super) fn shown(&self, page: Page) -> String {
        self.0.indented(INDENT, page)
    }
}

pub(super) fn table(columns: impl IntoIterator<Item = Column>) -> TextTable {
    TextTable::new(columns).whole_in(IN_JSON)
}

pub(super) fn shown(table: &TextTable, page: Page) -> String {
    table.indented(INDENT, page)
}

/// An item of a list: what stands before it, and words whose further lines stand below the first.
pub(super) fn item(before: &str, words: &str, page: Page) -> String {
    let room = Page { width: page.width.saturating_sub(u16::try_from(before.len()).unwrap_or(0)), ..page };
    let blank = " ".repeat(before.len());
    let lines = paragraph(&in_a_line(words), room);
    lines.lines().enumerate().map(|(i, line)| format!("{}{line}\n", if i == 0 { before } else { &blank })).collect()
}
