//! `--page`: what was recorded, as a page. The worst comes first, then figures, and the source with what is to be said of its lines.

use std::collections::BTreeMap;
use std::path::Path;

use super::source::{annotated, annotated_by};
use super::text::{markdown, name};
use crate::analysis::short_name;
use crate::campaign::trace::{DispatchTrace, Order, Traces};
use crate::model::DeviceInfo;
use crate::output::trace::{FindingRow, SiteRow};
use crate::report::chart::{Bar, BarGroup, Bars, Better, Body, Chart, Grid, GridCell, Scale, Ticks};
use crate::report::{Part, document};
use crate::subject::KernelSpec;
use crate::trace::hardware::UNVERIFIED;
use crate::units::{percent, rounded};

/// Accesses of a figure at most.
const MOST: usize = 16;
/// What wastes less isn't worth a sentence.
const GOOD: f64 = 0.9;

/// What accesses cost.
pub fn costs(traces: &Traces, rows: &[SiteRow], order: &Order, device: &DeviceInfo) -> String {
    let mut short = findings(rows);
    if order.hardware.source == UNVERIFIED {
        short.push((
            "What is assumed",
            "This device's sizes of sectors and banks aren't known: usual ones are taken.".to_owned(),
        ));
    }
    let mut parts = vec![Part::Findings(short)];
    parts.extend(efficiencies(rows).into_iter().chain(degrees(rows)).map(Part::Picture));
    parts.extend(traces.dispatches.iter().filter_map(banks).map(Part::Picture));
    parts.push(Part::Prose(markdown(traces, order, device)));
    parts.push(Part::Listing {
        title: "The source, with what its accesses cost".to_owned(),
        text: annotated(rows, order.subject.as_ref()),
        is_open: true,
    });
    document(&format!("What the accesses of {} cost", shader(traces, order)), &device.name, &parts)
}

/// What `--check` found. `texts`: of each case.
pub fn findings_of_check(
    rows: &[FindingRow],
    texts: &[String],
    subject: Option<&KernelSpec>,
    of: &str,
    device: &DeviceInfo,
) -> String {
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    rows.iter().for_each(|row| *classes.entry(&row.class).or_default() += 1);
    let told: Vec<String> = classes.iter().map(|(class, count)| format!("{class} {count}")).collect();
    let short = match rows.len() {
        0 => "Nothing was found in what was checked.".to_owned(),
        count => format!("{count} found: {}.", told.join(", ")),
    };
    let mut parts = vec![Part::Findings(vec![("What is wrong", short)]), Part::Text(texts.join("\n"))];
    let lines = rows.iter().flat_map(|row| {
        let of = |file: &str, line: Option<u64>, other: Option<u64>| {
            let with = other.filter(|other| Some(*other) != line).map_or_else(String::new, |other| format!(", line {other}"));
            Some((file.to_owned(), line?, format!("{}{with}", row.class)))
        };
        let first = of(&row.first_file, row.first_line, row.second_line);
        let second = of(&row.second_file, row.second_line, row.first_line).filter(|second| first.as_ref() != Some(second));
        first.into_iter().chain(second)
    });
    let marked: Vec<_> = lines.collect();
    if !marked.is_empty() {
        let text = annotated_by(marked, subject);
        parts.push(Part::Listing { title: "The source, with what was found".to_owned(), text, is_open: true });
    }
    document(&format!("What --check finds in {of}"), &device.name, &parts)
}

/// The shader's name: a file's without its folders, one of the catalogue's as it is.
fn shader(traces: &Traces, order: &Order) -> String {
    let source = traces.dispatches.first().map(|dispatch| dispatch.what.source.as_str()).unwrap_or_default();
    if order.subject.is_some() { short_name(Path::new(source)) } else { source.to_owned() }
}

/// An access in words: `load input, line 12`.
fn access(row: &SiteRow) -> String {
    let line = row.line.map_or_else(String::new, |line| format!(", line {line}"));
    format!("{} {}{line}", row.kind, row.name)
}

fn wasted(row: &SiteRow) -> u64 {
    row.sectors.saturating_sub(row.fewest_sectors)
}

fn conflicts(row: &SiteRow) -> u64 {
    row.wavefronts.unwrap_or(0).saturating_sub(row.least_wavefronts.unwrap_or(0))
}

fn findings(rows: &[SiteRow]) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    let worst = rows.iter().filter(|row| row.efficiency.is_some_and(|share| share < GOOD)).max_by_key(|row| wasted(row));
    if let Some((row, share)) = worst.and_then(|row| Some((row, row.efficiency?))) {
        let words =
            format!("{}: of the bytes that memory moves for it, {} are of use ({}).", access(row), percent(share), row.pattern);
        all.push(("Memory", words));
    }
    let worst = rows.iter().filter(|row| row.degree.is_some_and(|degree| degree > 1.0)).max_by_key(|row| conflicts(row));
    if let Some((row, degree)) = worst.and_then(|row| Some((row, row.degree?))) {
        let remedy = match row.remedy_degree {
            Some(left) if left < degree => format!(" As `{}`: {}.", row.remedy, rounded(left, None)),
            _ => String::new(),
        };
        let words = format!(
            "{}: bank conflicts make its requests take {} times as many wavefronts.{remedy}",
            access(row),
            rounded(degree, None)
        );
        all.push(("Shared memory", words));
    }
    if all.is_empty() {
        all.push((
            "Accesses",
            "None that was followed wastes much of what memory moves, and none has bank conflicts.".to_owned(),
        ));
    }
    if rows.iter().any(|row| !row.same_outputs) {
        all.push(("What to doubt", "Outputs differ from those without recording: see below.".to_owned()));
    }
    all
}

fn bars(title: &str, label: &str, rows: Vec<(&SiteRow, f64, String)>) -> Option<Chart> {
    let group = |(row, value, text): (&SiteRow, f64, String)| {
        let bar =
            Bar { value, interval: None, tip: format!("{}\n{text}, {}", access(row), row.pattern), text, is_doubted: false };
        BarGroup { name: access(row), bars: vec![Some(bar)] }
    };
    let groups: Vec<BarGroup> = rows.into_iter().take(MOST).map(group).collect();
    let scale = Scale { label: label.to_owned(), is_log: false, ticks: Ticks::Plain };
    let body = Bars { scale, series: vec![String::new()], groups };
    (!body.groups.is_empty()).then(|| Chart { title: title.to_owned(), body: Body::Bars(body) })
}

fn efficiencies(rows: &[SiteRow]) -> Option<Chart> {
    let mut of: Vec<(&SiteRow, f64, String)> =
        rows.iter().filter_map(|row| row.efficiency.map(|share| (row, 100.0 * share, percent(share)))).collect();
    of.sort_by_key(|(row, ..)| std::cmp::Reverse(wasted(row)));
    bars("Of the bytes that memory moves, those of use", "%", of)
}

fn degrees(rows: &[SiteRow]) -> Option<Chart> {
    let mut of: Vec<(&SiteRow, f64, String)> =
        rows.iter().filter_map(|row| row.degree.map(|degree| (row, degree, rounded(degree, None)))).collect();
    of.sort_by_key(|(row, ..)| std::cmp::Reverse(conflicts(row)));
    bars("Shared memory: wavefronts over those without bank conflicts", "degree", of)
}

/// The words that the worst request of each access with conflicts wants of each bank.
fn banks(dispatch: &DispatchTrace) -> Option<Chart> {
    let of_sites = dispatch.analysis.sums.iter().filter(|(_, sums)| sums.worst_degree > 1.0 && !sums.worst_banks.is_empty());
    let mut all: Vec<_> = of_sites.map(|(at, sums)| (&dispatch.what.traced.sites[*at], sums)).collect();
    all.sort_by(|(_, one), (_, other)| other.worst_degree.total_cmp(&one.worst_degree));
    all.truncate(MOST);
    let count = all.first()?.1.worst_banks.len();
    let cell = |words: &u32, bank: usize| match words {
        0 => GridCell::Empty,
        words => GridCell::Value {
            value: f64::from(*words),
            interval: None,
            text: words.to_string(),
            is_doubted: false,
            tip: format!("bank {bank}: {words} words"),
        },
    };
    let grid = Grid {
        column_label: "bank".to_owned(),
        columns: (0..count).map(|bank| bank.to_string()).collect(),
        row_label: String::new(),
        rows: all
            .iter()
            .map(|(site, _)| {
                site.line.as_ref().map_or_else(|| name(site), |line| format!("{}, line {}", name(site), line.line))
            })
            .collect(),
        scale: Scale { label: "words of a bank".to_owned(), is_log: false, ticks: Ticks::Plain },
        better: Better::Lower,
        cells: all
            .iter()
            .map(|(_, sums)| sums.worst_banks.iter().enumerate().map(|(bank, words)| cell(words, bank)).collect())
            .collect(),
    };
    Some(Chart {
        title: "Banks of shared memory: the words that the worst request wants of each".to_owned(),
        body: Body::Grid(grid),
    })
}
