//! What changed between sides of rows: for people the answer first, then the cases; for programs a line for each case.
//!
//! ```text
//! sheet     paragraphs and tables, for a page or as Markdown
//! head      the answer: counts, what differs beside the figures, what cases share, means
//! cases     the cases by their effect
//! foot      what the driver's compiler made, and what the verdicts rest on
//! cells     every case, as CSV and as JSON lines
//! ```

mod cases;
mod cells;
mod foot;
mod head;
mod sheet;
#[cfg(test)]
mod tests;

use super::table::Style;
use crate::analysis::compare::Comparison;
use sheet::Sheet;

pub use cases::Names;
pub use cells::{comparison_csv, comparison_jsonl};

#[derive(Clone, Copy, Debug)]
pub struct Report<'r> {
    pub comparisons: &'r [Comparison],
    /// What fails it, a line for each.
    pub failures: &'r [String],
    /// What gates couldn't judge, a line for each.
    pub unjudged: &'r [String],
    /// Whether cases are shown that are the same, and however many there are.
    pub is_whole: bool,
}

pub fn comparison_text(report: &Report, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    // Who reads a pull request begins at the top; at a terminal, the end is what stays in sight.
    if style == Style::Markdown {
        gates(&mut sheet, report);
    }
    for comparison in report.comparisons {
        sheet.heading(&format!("{} compared with {}", comparison.names[1], comparison.names[0]));
        head::answer(&mut sheet, comparison, &Names::new(comparison));
        below_answer(&mut sheet, comparison, report.is_whole);
    }
    if style != Style::Markdown {
        gates(&mut sheet, report);
    }
    style.legible(&sheet.text())
}

/// What a comparison says in Markdown, where a picture stands in its middle: the answer above it, and the rest.
pub fn answer_and_rest(comparison: &Comparison) -> [String; 2] {
    let [mut answer, mut rest] = [(); 2].map(|()| Sheet::new(Style::Markdown));
    head::answer(&mut answer, comparison, &Names::new(comparison));
    below_answer(&mut rest, comparison, false);
    [answer, rest].map(|sheet| Style::Markdown.legible(&sheet.text()))
}

/// The answer in a sentence.
pub fn in_short(comparison: &Comparison) -> String {
    head::in_short(comparison)
}

fn below_answer(sheet: &mut Sheet, comparison: &Comparison, is_whole: bool) {
    head::differences(sheet, comparison);
    head::families(sheet, comparison);
    cases::tables(sheet, comparison, &Names::new(comparison), is_whole);
    foot::code(sheet, comparison);
    foot::basis(sheet, comparison);
}

fn gates(sheet: &mut Sheet, report: &Report) {
    sheet.points("Failed:", report.failures);
    sheet.points("Not judged:", report.unjudged);
}
