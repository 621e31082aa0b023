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
        let names = Names::new(comparison);
        sheet.heading(&format!("{} compared with {}", comparison.names[1], comparison.names[0]));
        head::answer(&mut sheet, comparison, &names);
        head::differences(&mut sheet, comparison);
        head::families(&mut sheet, comparison);
        cases::tables(&mut sheet, comparison, &names, report.is_whole);
        foot::code(&mut sheet, comparison);
        foot::basis(&mut sheet, comparison);
    }
    if style != Style::Markdown {
        gates(&mut sheet, report);
    }
    style.legible(&sheet.text())
}

fn gates(sheet: &mut Sheet, report: &Report) {
    sheet.points("Failed:", report.failures);
    sheet.points("Not judged:", report.unjudged);
}
