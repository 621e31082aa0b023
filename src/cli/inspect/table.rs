//! What drivers tell of one shader, side by side: a row for each statistic, a column for each device.

use serde_json::Value;

use super::facts::{shown, table};
use super::part::{DevicePart, ExecutableFacts};
use crate::output::{Column, Need, Page, paragraph};

const NOTHING: &str = "-";

pub(super) fn devices_text(parts: &[DevicePart], page: Page) -> String {
    let each: String = parts.iter().map(|part| part.text(page)).collect();
    each + &statistics_text(parts, page)
}

fn statistics_text(parts: &[DevicePart], page: Page) -> String {
    let parts: Vec<&DevicePart> = parts.iter().filter(|part| part.executables.is_some()).collect();
    if parts.is_empty() {
        return String::new();
    }
    let devices = parts.iter().map(|part| Column::numbers(format!("device {}", part.index), Need::Central));
    let mut table = table([Column::words("statistic", Need::Key)].into_iter().chain(devices));
    for (name, cells) in rows(&parts) {
        table.row([name].into_iter().chain(cells));
    }
    let heading = paragraph("drivers' statistics (their compilers' estimates)", page);
    format!("\n{heading}{}", shown(&table, page))
}

type Row = (String, Vec<String>);
type Figure = fn(&DevicePart) -> Option<u64>;

/// The figures that all drivers' are made to, then each driver's own in its order; one that several have is one row.
fn rows(parts: &[&DevicePart]) -> Vec<Row> {
    let figures: [(&str, Figure); 4] = [
        ("registers", |part| part.registers),
        ("spill bytes", |part| part.spill_bytes),
        ("shared bytes", |part| Some(part.shared_bytes)),
        ("code bytes", |part| part.code_bytes),
    ];
    let cells = |cell: &dyn Fn(&DevicePart) -> Option<String>| {
        parts.iter().map(|part| cell(part).unwrap_or_else(|| NOTHING.to_owned())).collect::<Vec<_>>()
    };
    let common = figures.map(|(name, figure)| (name.to_owned(), cells(&|part| figure(part).map(|figure| figure.to_string()))));
    let mut rows: Vec<Row> = common.into();
    let own: Vec<Vec<(String, String)>> = parts.iter().map(|part| statistics(part)).collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in own.iter().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    rows.extend(names.into_iter().map(|name| {
        let of = |all: &Vec<(String, String)>| all.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        (name.to_owned(), own.iter().map(|all| of(all).unwrap_or_else(|| NOTHING.to_owned())).collect())
    }));
    rows
}

/// What a driver tells by its own names, after the executable's where there are several.
fn statistics(part: &DevicePart) -> Vec<(String, String)> {
    let executables = part.executables.as_deref().unwrap_or_default();
    let of = |told: &ExecutableFacts| {
        let prefix = if executables.len() > 1 { format!("{}: ", told.name) } else { String::new() };
        let size = (told.subgroup_size > 0).then(|| (format!("{prefix}subgroup size"), told.subgroup_size.to_string()));
        let own = told.statistics.iter().map(|(name, value)| (format!("{prefix}{name}"), value_text(value)));
        size.into_iter().chain(own.collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    executables.iter().flat_map(of).collect()
}

fn value_text(value: &Value) -> String {
    if value.is_null() { NOTHING.to_owned() } else { value.to_string() }
}
