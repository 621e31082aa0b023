//! Every case for programs: CSV with a header line, or a JSON object for each, measured ones first.

use std::borrow::Cow;

use crate::analysis::compare::{Compared, Comparison};
use crate::output::json::json_row;
use crate::record::Cell;

/// The columns. Those from `row_kind` to `device` tell apart what is compared: measured or derived, of which side, on which of several
/// devices. `ratio` is as measured; `ratio_at_clock`, with the core's clock taken out, is what the verdict is about.
const COLUMNS: &str = "experiment,variant,case_id,axes,verdict,ratio,ratio_ci_low,ratio_ci_high,base,new,unit,flags,reason,\
                       row_kind,side,device,ratio_at_clock,ratio_at_clock_ci_low,ratio_at_clock_ci_high";

/// As CSV, numbers as rows have them.
pub fn comparison_csv(comparisons: &[Comparison]) -> Result<String, csv::Error> {
    let mut bytes = Vec::new();
    let mut csv = csv::Writer::from_writer(&mut bytes);
    csv.write_record(COLUMNS.split(','))?;
    for (comparison, case, kind) in all(comparisons) {
        csv.write_record(cells(comparison, case, kind).map(|cell| cell.to_string()))?;
    }
    csv.flush()?;
    drop(csv);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// As JSON lines: keys in the order of the columns, typed values; an empty cell has no key.
pub fn comparison_jsonl(comparisons: &[Comparison]) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for (comparison, case, kind) in all(comparisons) {
        text += &json_row(COLUMNS.split(',').zip(cells(comparison, case, kind)))?;
    }
    Ok(text)
}

fn all(comparisons: &[Comparison]) -> impl Iterator<Item = (&Comparison, &Compared, &'static str)> {
    comparisons.iter().flat_map(|comparison| {
        let measured = comparison.cases.iter().map(|case| (case, "measured"));
        let derived = comparison.derived.iter().map(|case| (case, "derived"));
        measured.chain(derived).map(move |(case, kind)| (comparison, case, kind))
    })
}

fn cells<'c>(comparison: &'c Comparison, case: &'c Compared, kind: &'static str) -> [Cell<'c>; 19] {
    let number = |value: Option<f64>| value.map_or(Cell::Empty, Cell::real);
    let left = case.left.as_deref();
    let word = |word: &'static str| Cell::Text(Cow::Borrowed(word));
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
