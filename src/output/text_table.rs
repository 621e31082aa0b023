//! Tables for people: columns told as data, fitted to a page's width or written as Markdown.

mod fit;

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, Table as Grid, presets};

use super::lines::{broken, longest_number, longest_part, parted, width};
use super::page::Page;
use super::tone::{Tone, in_a_line, in_lines};
use fit::{Demand, fitted};

/// No borders, a rule below the titles (in the order of `comfy_table::Table::load_preset`).
const RULE_ONLY: &str = "     ──            ";

/// Where rows are whole, whatever the width.
const IN_ROWS: &str = "a wider terminal or -o FILE.csv has them";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its title; where no column has any, the table has no head.
    pub title: String,
    /// Whether its cells are aligned to the right.
    pub is_number: bool,
    /// Whether a cell may take several lines.
    pub wraps: bool,
    pub need: Need,
}

/// How needed a column is: where there is no room for all, the least needed are left out, of equal ones the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    Spare,
    /// It says more of what others say.
    Useful,
    /// It tells the rows apart: words get narrow before it is left out.
    Central,
    /// It is what the table is about.
    Key,
}

impl Column {
    /// Words, which may take several lines.
    pub fn words(title: impl Into<String>, need: Need) -> Self {
        Self { title: in_lines(&title.into()), is_number: false, wraps: true, need }
    }

    /// Numbers, which are never broken.
    pub fn numbers(title: impl Into<String>, need: Need) -> Self {
        Self { title: in_lines(&title.into()), is_number: true, wraps: false, need }
    }

    /// Numbers where all of these values are, words else.
    pub fn of_values(title: impl Into<String>, need: Need, mut values: impl Iterator<Item = String>) -> Self {
        let are_numbers = values.all(|value| value.is_empty() || value.parse::<u64>().is_ok());
        if are_numbers { Self::numbers(title, need) } else { Self::words(title, need) }
    }
}

/// What stands in a column of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// Words in several lines.
    pub fn of_lines(text: &str) -> Self {
        Self { text: in_lines(text), tone: Tone::Plain }
    }

    #[must_use]
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: in_a_line(&text.into()), tone: Tone::Plain }
    }
}

#[derive(Clone, Debug)]
pub struct TextTable {
    columns: Vec<(Column, Vec<Cell>)>,
    elsewhere: &'static str,
}

impl TextTable {
    /// A table of these columns, without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().map(|column| (column, Vec::new())).collect(), elsewhere: IN_ROWS }
    }

    /// Says where columns are that there is no room for, if not in the rows of a file.
    #[must_use]
    pub fn whole_in(self, elsewhere: &'static str) -> Self {
        Self { elsewhere, ..self }
    }

    /// Adds a row; cells that it lacks are empty.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let mut cells = cells.into_iter();
        for (_, filled) in &mut self.columns {
            filled.push(cells.next().map(Into::into).unwrap_or_default());
        }
    }

    /// Leaves out the columns in which nothing stands.
    #[must_use]
    pub fn without_empty_columns(mut self) -> Self {
        self.columns.retain(|(_, cells)| cells.iter().any(|cell| !cell.text.is_empty()));
        self
    }

    /// Its columns with what stands in each, for what isn't text: titles, whether numbers are aligned there, and cells.
    pub fn columns(&self) -> impl Iterator<Item = (&str, bool, Vec<&str>)> {
        self.columns.iter().map(|(column, cells)| {
            let texts = cells.iter().map(|cell| cell.text.as_str()).collect();
            (column.title.as_str(), column.is_number, texts)
        })
    }

    /// Lines that fit a page, for [`legible`](super::legible); below them stands which columns had no room.
    pub fn fitted(&self, page: Page) -> String {
        let demands: Vec<Demand> = self.columns.iter().map(|(column, cells)| demand(column, cells)).collect();
        let (mut shown, mut left_out) = (Vec::new(), Vec::new());
        for ((column, cells), width) in self.columns.iter().zip(fitted(&demands, usize::from(page.width))) {
            match width {
                Some(width) => shown.push(Shown { column, cells, width }),
                None => left_out.push(column.title.as_str()),
            }
        }
        let text = plain(&shown, page);
        if left_out.is_empty() {
            return text;
        }
        text + &remark(&format!("no room for: {}; {}", left_out.join(", "), self.elsewhere), page)
    }

    pub fn indented(&self, indent: usize, page: Page) -> String {
        let narrower = Page { width: page.width.saturating_sub(u16::try_from(indent).unwrap_or(0)), ..page };
        let text = self.fitted(narrower);
        text.lines().fold(String::new(), |moved, line| moved + &" ".repeat(indent) + line + "\n")
    }

    /// The same as GitHub's Markdown, whose lines have no end.
    pub fn markdown(&self) -> String {
        let cell = |text: &str| text.replace('\n', " ").replace('|', "\\|");
        let mut grid = Grid::new();
        grid.load_preset(presets::ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
        grid.set_header(self.columns.iter().map(|(column, _)| cell(&column.title)));
        for row in 0..self.height() {
            grid.add_row(self.columns.iter().map(|(_, cells)| cell(&cells[row].text)));
        }
        align(&mut grid, self.columns.iter().map(|(column, _)| column));
        let lines = grid.lines().enumerate();
        lines.fold(String::new(), |text, (i, line)| text + &if i == 1 { self.markdown_rule(&line) } else { line } + "\n")
    }

    fn height(&self) -> usize {
        self.columns.first().map_or(0, |(_, cells)| cells.len())
    }

    /// Markdown's rule with the colons that align numbers to the right, which the grid's own leaves out.
    fn markdown_rule(&self, rule: &str) -> String {
        let cells = rule.trim_matches('|').split('|').zip(&self.columns);
        let aligned = cells.map(|(dashes, (column, _))| match column.is_number {
            false => dashes.to_owned(),
            true => format!("{}:", &dashes[..dashes.len() - 1]),
        });
        format!("|{}|", aligned.collect::<Vec<_>>().join("|"))
    }
}

/// A line of words below a table, or several that fit the page, for [`legible`](super::legible).
pub fn remark(words: &str, page: Page) -> String {
    let lines = broken(&in_lines(words), usize::from(page.width).saturating_sub(1));
    lines.iter().fold(String::new(), |text, line| text + &Tone::Quiet.marked(&format!(" {line}"), page) + "\n")
}

/// A column that has room, and how much.
struct Shown<'t> {
    column: &'t Column,
    cells: &'t [Cell],
    width: usize,
}

impl Shown<'_> {
    fn title(&self) -> String {
        let Column { title, wraps, .. } = self.column;
        let lines = if *wraps { broken(title, self.width) } else { parted(title, self.width) };
        lines.join("\n")
    }

    fn cell(&self, row: usize, page: Page) -> String {
        let Cell { text, tone } = &self.cells[row];
        broken(text, self.width).iter().map(|line| tone.marked(line.trim_end(), page)).collect::<Vec<_>>().join("\n")
    }
}

fn plain(shown: &[Shown], page: Page) -> String {
    let mut grid = Grid::new();
    grid.load_preset(RULE_ONLY).set_content_arrangement(ContentArrangement::Disabled);
    if shown.iter().any(|of| !of.column.title.is_empty()) {
        grid.set_header(shown.iter().map(Shown::title));
    }
    for row in 0..shown.first().map_or(0, |of| of.cells.len()) {
        grid.add_row(shown.iter().map(|of| of.cell(row, page)));
    }
    align(&mut grid, shown.iter().map(|of| of.column));
    let mut text = String::new();
    for line in grid.lines() {
        // Writing to a string can't fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn align<'c>(grid: &mut Grid, columns: impl Iterator<Item = &'c Column>) {
    for (shown, column) in grid.column_iter_mut().zip(columns) {
        shown.set_cell_alignment(if column.is_number { CellAlignment::Right } else { CellAlignment::Left });
    }
}

/// What words ask for at least where room is scarce: enough for most of them.
const SCARCE: usize = 22;
/// The same where what the table is about would have no room otherwise.
const LEAST: usize = 12;

/// How much room a column asks for. Where room is scarce, words take several lines, and so do the titles of numbers.
fn demand(column: &Column, cells: &[Cell]) -> Demand {
    let Column { title, wraps, need, .. } = column;
    let texts = || cells.iter().map(|cell| cell.text.as_str());
    let widest = texts().map(width).max().unwrap_or(0);
    let most = widest.max(width(title));
    // No number is broken.
    let number = if *wraps { texts().map(longest_number).max().unwrap_or(0) } else { widest.max(longest_part(title)) };
    let at_least = |words: usize| if *wraps { words.max(number).min(most) } else { number };
    Demand { most, scarce: at_least(SCARCE), least: at_least(LEAST), wraps: *wraps, need: *need }
}

#[cfg(test)]
mod tests;
