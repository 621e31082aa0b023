//! Every case for programs: CSV with a header line, or a JSON object for each: measured ones, derived ones, then families and the whole.

use std::borrow::Cow;

use crate::analysis::compare::{Compared, Comparison, Total};
use crate::output::json::json_row;
use crate::record::Cell;

/// The columns. Those from `row_kind` to `device` tell apart what is compared: measured, derived or a total, of which side, on which of
/// several devices. A total's `experiment` is its family, or `total`. `ratio` is as measured; `ratio_at_clock`, with the core's clock taken
/// out, is what the verdict is about.
const COLUMNS: &str = "experiment,variant,case_id,axes,verdict,ratio,ratio_ci_low,ratio_ci_high,base,new,unit,flags,reason,\
                       row_kind,side,device,ratio_at_clock,ratio_at_clock_ci_low,ratio_at_clock_ci_high";

/// As CSV, numbers as rows have them.
pub fn comparison_csv(comparisons: &[Comparison]) -> Result<String, csv::Error> {
    let mut bytes = Vec::new();
    let mut csv = csv::Writer::from_writer(&mut bytes);
    csv.write_record(COLUMNS.split(','))?;
    for cells in all(comparisons) {
        csv.write_record(cells.map(|cell| cell.to_string()))?;
    }
    csv.flush()?;
    drop(csv);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// As JSON lines: keys in the order of the columns, typed values; an empty cell has no key.
pub fn comparison_jsonl(comparisons: &[Comparison]) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for cells in all(comparisons) {
        text += &json_row(COLUMNS.split(',').zip(cells))?;
    }
    Ok(text)
}

type Cells<'c> = [Cell<'c>; 19];

fn all(comparisons: &[Comparison]) -> impl Iterator<Item = Cells<'_>> {
    comparisons.iter().flat_map(|comparison| {
        let measured = comparison.cases.iter().map(|case| (case, "measured"));
        let derived = comparison.derived.iter().map(|case| (case, "derived"));
        let cases = measured.chain(derived).map(move |(case, kind)| cells(comparison, case, kind));
        cases.chain(comparison.totals.iter().map(move |total| of_total(comparison, total)))
    })
}

fn number(value: Option<f64>) -> Cell<'static> {
    value.map_or(Cell::Empty, Cell::real)
}

fn word(word: &'static str) -> Cell<'static> {
    Cell::Text(Cow::Borrowed(word))
}

fn of_total<'c>(comparison: &'c Comparison, total: &'c Total) -> Cells<'c> {
    let mut cells: Cells = std::array::from_fn(|_| Cell::Empty);
    let share = if total.cases < total.of { format!("{} of {} cases are in it", total.cases, total.of) } else { String::new() };
    let named = [
        ("experiment", total.family.as_ref().map_or(word("total"), |family| Cell::text(family))),
        ("verdict", word(total.verdict.as_str())),
        ("ratio", Cell::real(total.ratio.value)),
        ("ratio_ci_low", Cell::real(total.ratio.low)),
        ("ratio_ci_high", Cell::real(total.ratio.high)),
        ("reason", if share.is_empty() { Cell::Empty } else { Cell::Text(Cow::Owned(share)) }),
        ("row_kind", word("total")),
        ("side", Cell::text(&comparison.names[1])),
    ];
    for (name, cell) in named {
        COLUMNS.split(',').position(|column| column == name).into_iter().for_each(|place| cells[place] = cell.clone());
    }
    cells
}

fn cells<'c>(comparison: &'c Comparison, case: &'c Compared, kind: &'static str) -> Cells<'c> {
    let left = case.left.as_deref();
    [
        Cell::text(&case.kind.experiment),
        Cell::text(&case.kind.variant),
        Cell::text(&case.case_id),
        Cell::text(&case.axes),
        word(case.verdict.as_str()),
        number(case.ratio.map(|ratio| ratio.value)),
        number(case.ratio.map(|ratio| ratio.low)),
        number(case.ratio.map(|ratio| ratio.high)),
        number(case.figures[0]),
        number(case.figures[1]),
        Cell::text(&case.unit),
        Cell::text(&case.flags),
        Cell::text(&case.reason),
        word(kind),
        Cell::text(&comparison.names[1]),
        Cell::text(&case.device),
        number(left.map(|ratio| ratio.value)),
        number(left.map(|ratio| ratio.low)),
        number(left.map(|ratio| ratio.high)),
    ]
}
