//! What drivers tell of one shader, side by side: a row for each statistic, a column for each device.

use std::fmt;

use serde_json::Value;

use super::part::{DevicePart, Told};

/// What an empty cell shows.
const NOTHING: &str = "-";

/// All devices: each by itself, then their statistics side by side.
pub(super) struct Devices<'a>(pub(super) &'a [DevicePart]);

impl fmt::Display for Devices<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| part.fmt(f))?;
        show(f, self.0)
    }
}

/// The table, if any driver tells anything.
fn show(f: &mut fmt::Formatter<'_>, parts: &[DevicePart]) -> fmt::Result {
    let parts: Vec<&DevicePart> = parts.iter().filter(|part| part.executables.is_some()).collect();
    if parts.is_empty() {
        return Ok(());
    }
    let heads: Vec<String> = parts.iter().map(|part| format!("device {}", part.index)).collect();
    let rows = rows(&parts);
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let columns: Vec<usize> = (heads.iter().enumerate())
        .map(|(i, head)| rows.iter().map(|(_, cells)| cells[i].len()).chain([head.len()]).max().unwrap_or(0))
        .collect();
    writeln!(f, "\ndrivers' statistics (their compilers' estimates)")?;
    let mut line = |name: &str, cells: &[String]| {
        write!(f, "    {name:width$}")?;
        cells.iter().zip(&columns).try_for_each(|(cell, column)| write!(f, "  {cell:>column$}"))?;
        writeln!(f)
    };
    line("", &heads)?;
    rows.iter().try_for_each(|(name, cells)| line(name, cells))
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
    let of = |told: &Told| {
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
