//! Which cases of a plan no row of a set has.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::super::words::{abridged_from, counted, indented};
use super::{Group, Position, RowSet};
use crate::record::Completeness;

const SHOWN: usize = 20;

/// Devices and plans that have such lines. There may be as many as rows, and each may lack as many cases as all others have.
const SHOWN_PLANS: usize = 20;

/// What each case of a plan is, as far as any row tells, on whatever device.
type Names = BTreeMap<u64, usize>;

impl RowSet {
    /// Says what is missing, in a paragraph for each device and plan, and in one for what is too much to be shown.
    pub fn missing(&self) -> Vec<String> {
        let positions = self.positions();
        let mut names: HashMap<&str, Names> = HashMap::new();
        for Position { group, index, row } in &positions {
            names.entry(&self.groups[*group].plan).or_default().insert(*index, *row);
        }
        let of = |group: usize| {
            let start = positions.partition_point(|case| case.group < group);
            let end = positions.partition_point(|case| case.group <= group);
            &positions[start..end]
        };
        let lacking = |(place, group): (usize, &'_ Group)| {
            let missing = ranges(group.cases?, of(place).iter().filter(|case| self.get(case.row).completeness.is_tried()));
            (!missing.is_empty()).then_some((place, missing))
        };
        let paragraph = |(place, missing): (usize, Vec<Range<u64>>)| {
            let group = &self.groups[place];
            let own: Names = of(place).iter().map(|case| (case.index, case.row)).collect();
            Some(paragraph(self, group, &missing, &own, names.get(group.plan.as_str())?))
        };
        let mut lacking = self.groups.iter().enumerate().filter_map(lacking);
        let mut told: Vec<String> = lacking.by_ref().take(SHOWN_PLANS).filter_map(paragraph).collect();
        let (groups, cases) =
            lacking.fold((0_u64, 0), |(groups, cases), (_, missing)| (groups + 1, u64::saturating_add(cases, count(&missing))));
        if groups > 0 {
            let (plans, lack) = (counted(groups, "more plan"), if groups == 1 { "lacks" } else { "lack" });
            told.push(format!("{plans}, counted on each device, {lack} {}", counted(cases, "case")));
        }
        told
    }
}

fn count(missing: &[Range<u64>]) -> u64 {
    missing.iter().fold(0, |count, range| count.saturating_add(range.end - range.start))
}

fn ranges<'s>(cases: u64, positions: impl Iterator<Item = &'s Position>) -> Vec<Range<u64>> {
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

fn paragraph(rows: &RowSet, group: &Group, missing: &[Range<u64>], own: &Names, names: &Names) -> String {
    let cases = group.cases.unwrap_or_default();
    let count = count(missing);
    let is = if count == 1 { "is" } else { "are" };
    let heading = format!(
        "{}, plan {}: {} of {cases} (0 to {}) {is} missing:",
        rows.blocks[group.block].name,
        group.plan,
        counted(count, "case"),
        cases - 1
    );
    let line = |(range, row): (Range<u64>, Option<usize>)| match row {
        Some(row) => named(rows, range.start, row, own),
        None => unnamed(rows, &range, names),
    };
    let lines = abridged_from(missing.iter().flat_map(|range| lacks(range, names)), SHOWN, line);
    std::iter::once(heading).chain(indented(lines)).collect::<Vec<_>>().join("\n")
}

/// What a run of missing cases is made of: single ones that a row names, and runs of those that none does.
fn lacks(range: &Range<u64>, names: &Names) -> impl Iterator<Item = (Range<u64>, Option<usize>)> {
    let (mut next, end) = (range.start, range.end);
    let named = names.range(range.clone()).map(|(index, row)| (*index, Some(*row))).chain([(end, None)]);
    named.flat_map(move |(index, row)| {
        let before = next..index;
        next = index.saturating_add(1);
        let before = (!before.is_empty()).then_some((before, None));
        before.into_iter().chain(row.map(|row| (index..index + 1, Some(row))))
    })
}

fn named(rows: &RowSet, index: u64, row: usize, own: &Names) -> String {
    let reason = own.get(&index).map(|row| rows.get(*row)).filter(|row| row.completeness == Completeness::NotRun);
    let reason = reason.map(|row| format!(": not run: {}", row.packed.record().reason)).unwrap_or_default();
    format!("case {index}, {}{reason}", rows.get(row).packed.record().case_name())
}

fn unnamed(rows: &RowSet, range: &Range<u64>, names: &Names) -> String {
    let cases = match range.end - range.start {
        1 => format!("case {}", range.start),
        _ => format!("cases {} to {}", range.start, range.end - 1),
    };
    let name = |row: &usize| rows.get(*row).packed.record().case_name();
    let before = names.range(..range.start).next_back().map(|(_, row)| name(row));
    let after = names.range(range.end..).next().map(|(_, row)| name(row));
    match (before, after) {
        (Some(before), Some(after)) => format!("{cases}, between {before} and {after}"),
        (Some(before), None) => format!("{cases}, after {before}"),
        (None, Some(after)) => format!("{cases}, before {after}"),
        (None, None) => cases,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_lies_between() {
        let gaps = |indexes: &[u64], cases: u64| {
            let positions: Vec<Position> = indexes.iter().map(|index| Position { group: 0, index: *index, row: 0 }).collect();
            ranges(cases, positions.iter()).into_iter().map(|range| (range.start, range.end)).collect::<Vec<_>>()
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
