//! Which cases of a plan no file has.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::rows::{Group, Position, Rows};
use super::words::{abridged, counted, indented};
use crate::record::Standing;

/// Lines that name missing cases of one plan.
const SHOWN: usize = 20;

/// What each case of a plan is, as far as any row tells, on whatever device.
type Names = BTreeMap<u64, usize>;

/// Says what is missing, in a paragraph for each device and plan.
pub fn told(rows: &Rows) -> Vec<String> {
    let positions = rows.positions();
    let mut names: HashMap<&str, Names> = HashMap::new();
    for Position { group, index, row } in &positions {
        names.entry(&rows.groups[*group].plan).or_default().insert(*index, *row);
    }
    let of = |group: usize| {
        let start = positions.partition_point(|case| case.group < group);
        let end = positions.partition_point(|case| case.group <= group);
        &positions[start..end]
    };
    let paragraph = |(group, told): (usize, &Group)| {
        let missing = missing(told.cases?, of(group).iter().filter(|case| rows.get(case.row).standing.is_tried()));
        let own: Names = of(group).iter().map(|case| (case.index, case.row)).collect();
        let names = names.get(told.plan.as_str())?;
        (!missing.is_empty()).then(|| paragraph(rows, told, &missing, &own, names))
    };
    rows.groups.iter().enumerate().filter_map(paragraph).collect()
}

/// The indexes that none of the positions takes.
fn missing<'s>(cases: u64, positions: impl Iterator<Item = &'s Position>) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    let mut next = 0;
    // Places beyond the plan's end are a fault of their own.
    for position in positions.take_while(|position| position.index < cases) {
        if position.index > next {
            ranges.push(next..position.index);
        }
        next = position.index + 1;
    }
    if next < cases {
        ranges.push(next..cases);
    }
    ranges
}

fn paragraph(rows: &Rows, group: &Group, missing: &[Range<u64>], own: &Names, names: &Names) -> String {
    let cases = group.cases.unwrap_or_default();
    let count = missing.iter().map(|range| range.end - range.start).sum();
    let is = if count == 1 { "is" } else { "are" };
    let heading = format!(
        "{}, plan {}: {} of {cases} (0 to {}) {is} missing:",
        rows.blocks[group.block].name,
        group.plan,
        counted(count, "case"),
        cases - 1
    );
    let lines = missing.iter().flat_map(|range| lines(rows, range, own, names)).collect();
    std::iter::once(heading).chain(indented(abridged(lines, SHOWN))).collect::<Vec<_>>().join("\n")
}

/// The cases that some row names, each on a line, and runs of those that none does.
fn lines(rows: &Rows, range: &Range<u64>, own: &Names, names: &Names) -> Vec<String> {
    let mut lines = Vec::new();
    let mut next = range.start;
    for (index, row) in names.range(range.clone()) {
        lines.extend(unnamed(rows, next..*index, names));
        let reason = own.get(index).map(|row| rows.get(*row)).filter(|row| row.standing == Standing::NotRun);
        let reason = reason.map(|row| format!(": not run: {}", row.packed.record().reason)).unwrap_or_default();
        lines.push(format!("case {index}, {}{reason}", rows.get(*row).packed.record().case_name()));
        next = index + 1;
    }
    lines.extend(unnamed(rows, next..range.end, names));
    lines
}

/// Cases that no row names, by their neighbours.
fn unnamed(rows: &Rows, range: Range<u64>, names: &Names) -> Option<String> {
    let cases = match range.end.checked_sub(range.start)? {
        0 => return None,
        1 => format!("case {}", range.start),
        _ => format!("cases {} to {}", range.start, range.end - 1),
    };
    let name = |row: &usize| rows.get(*row).packed.record().case_name();
    let before = names.range(..range.start).next_back().map(|(_, row)| name(row));
    let after = names.range(range.end..).next().map(|(_, row)| name(row));
    Some(match (before, after) {
        (Some(before), Some(after)) => format!("{cases}, between {before} and {after}"),
        (Some(before), None) => format!("{cases}, after {before}"),
        (None, Some(after)) => format!("{cases}, before {after}"),
        (None, None) => cases,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_lies_between() {
        let gaps = |indexes: &[u64], cases: u64| {
            let positions: Vec<Position> = indexes.iter().map(|index| Position { group: 0, index: *index, row: 0 }).collect();
            missing(cases, positions.iter()).into_iter().map(|range| (range.start, range.end)).collect::<Vec<_>>()
        };
        assert_eq!(gaps(&[], 3), [(0, 3)]);
        assert_eq!(gaps(&[0, 1, 2], 3), []);
        assert_eq!(gaps(&[1, 2, 5], 8), [(0, 1), (3, 5), (6, 8)]);
        assert_eq!(gaps(&[], 0), []);
        assert_eq!(gaps(&[0, 0, 2], u64::MAX), [(1, 2), (3, u64::MAX)]);
        assert_eq!(gaps(&[u64::MAX], 1), [(0, 1)]);
        assert_eq!(gaps(&[5], 0), []);
    }
}
