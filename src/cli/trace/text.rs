//! What was recorded, as people read it: the accesses that waste most first.

use std::collections::BTreeSet;

use crate::analysis::counted;
use crate::campaign::trace::rows::kind;
use crate::campaign::trace::{DispatchTrace, Moved, Order, Remedy, Traces};
use crate::model::DeviceInfo;
use crate::output::{Column, Need, Page, TextTable, paragraph};
use crate::shader::{Operation, Site, Space, Target, Traced};
use crate::trace::hardware::{Hardware, UNVERIFIED};
use crate::trace::request::Pattern;
use crate::trace::requests::Lanes;
use crate::trace::sites::{Coverage, Sums};
use crate::units::{Bytes, percent, rounded};
use crate::worker::questions::trace::Difference;

/// Accesses of a table at most.
const MOST: usize = 12;

/// What is said of a dispatch: sentences, tables and what more there is of each, and sentences below them.
struct Said {
    above: Vec<String>,
    tables: Vec<(TextTable, String)>,
    below: Vec<String>,
}

pub fn text(traces: &Traces, order: &Order, device: &DeviceInfo, page: Page) -> String {
    let of_dispatch = |dispatch: &DispatchTrace| {
        let Said { above, tables, below } = said(dispatch, traces, order, device);
        let paragraphs = |all: Vec<String>| all.into_iter().map(move |words| paragraph(&words, page));
        let tables = tables.into_iter().map(|(table, more)| format!("{}{more}", table.fitted(page)));
        paragraphs(above).chain(tables).chain(paragraphs(below)).collect::<Vec<_>>().join("\n")
    };
    traces.dispatches.iter().map(of_dispatch).collect::<Vec<_>>().join("\n")
}

pub fn markdown(traces: &Traces, order: &Order, device: &DeviceInfo) -> String {
    let of_dispatch = |dispatch: &DispatchTrace| {
        let Said { above, tables, below } = said(dispatch, traces, order, device);
        let tables = tables.into_iter().map(|(table, more)| format!("{}\n{more}", table.markdown()));
        above.into_iter().chain(tables).chain(below).collect::<Vec<_>>().join("\n\n")
    };
    traces.dispatches.iter().map(of_dispatch).collect::<Vec<_>>().join("\n\n") + "\n"
}

fn said(dispatch: &DispatchTrace, traces: &Traces, order: &Order, device: &DeviceInfo) -> Said {
    let words = [headline(dispatch, device), coverage(dispatch), assumptions(order, device)];
    let words = words
        .into_iter()
        .chain(traffic(dispatch, &order.hardware))
        .chain(arithmetic(dispatch, &order.hardware))
        .chain(doubts(dispatch, traces));
    Said {
        above: words.collect(),
        tables: [memory(dispatch, &order.hardware), shared(dispatch)].into_iter().flatten().collect(),
        below: constants(dispatch).into_iter().chain(remedies(dispatch, device)).collect(),
    }
}

fn times(counts: [u32; 3]) -> String {
    let last = counts.iter().rposition(|count| *count > 1).unwrap_or(0);
    counts[..=last].iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ")
}

pub fn headline(DispatchTrace { what, .. }: &DispatchTrace, device: &DeviceInfo) -> String {
    let (groups, size) = (times(what.groups), times(what.local_size));
    let workgroups = if what.groups == [1; 3] { "workgroup" } else { "workgroups" };
    format!("{} ({}): {groups} {workgroups} of {size}, on {}", what.source, what.entry, device.name)
}

fn coverage(dispatch: &DispatchTrace) -> String {
    let DispatchTrace { what, recorded, too_large, analysis, passes, .. } = dispatch;
    let traced = &what.traced;
    let Coverage { sites, sites_followed, accesses, accesses_followed } = Coverage::of(traced, &analysis.sums);
    let all = dispatch.workgroups();
    let passes = counted_passes(*passes);
    let mut words = format!(
        "Recorded {} of {} in {passes}: {accesses_followed} of {accesses} accesses were followed, by {sites_followed} of {}.",
        recorded.len(),
        counted(all, "workgroup"),
        counted(sites as u64, "instruction")
    );
    words += &not_followed(traced);
    if !too_large.is_empty() {
        let groups = counted(too_large.len() as u64, "more workgroup");
        words += &format!(" Of {groups}, a subgroup has more accesses than there is room for: figures have a part of them.");
    }
    words
}

pub(super) fn counted_passes(passes: u32) -> String {
    if passes == 1 { "1 pass".to_owned() } else { format!("{passes} passes") }
}

/// Why some accesses weren't, each reason once.
pub(super) fn not_followed(traced: &Traced) -> String {
    let reason = |site: &Site| match &site.target {
        Target::Unfollowed(why) => Some(why.words()),
        _ => None,
    };
    let reasons: BTreeSet<&str> = traced.sites.iter().filter_map(reason).collect();
    let reasons: Vec<&str> = reasons.into_iter().collect();
    if reasons.is_empty() { String::new() } else { format!(" Not followed: {}.", reasons.join("; ")) }
}

fn assumptions(Order { lanes, hardware, .. }: &Order, device: &DeviceInfo) -> String {
    let of_lanes = match lanes {
        Lanes::OfDevice => format!("Requests are of the device's subgroups ({} lanes).", device.subgroup.size),
        Lanes::InRow(count) => {
            format!("Requests are of {count} invocations in a row; the device's own subgroups have {}.", device.subgroup.size)
        }
    };
    let Hardware { name, sector_bytes, line_bytes, source, shared, .. } = hardware;
    let is_assumed = if source == UNVERIFIED { " (its sizes are assumed)" } else { "" };
    format!(
        "{of_lanes} Memory is the model `{name}`{is_assumed}: sectors of {sector_bytes} bytes, lines of {line_bytes}; {} banks of \
         {} bytes.",
        shared.banks, shared.bank_bytes
    )
}

/// Stands before figures of the whole dispatch that a part of it was recorded for.
fn about(dispatch: &DispatchTrace) -> &'static str {
    if dispatch.recorded.len() as u64 == dispatch.workgroups() { "" } else { "about " }
}

/// What all of it has memory move, if the workgroups that were recorded are like the others.
fn traffic(dispatch: &DispatchTrace, hardware: &Hardware) -> Option<String> {
    let Moved { fetched, stored } = dispatch.moved(hardware).filter(|moved| moved.fetched + moved.stored > 0)?;
    let (all, size) = (Bytes(fetched + stored), hardware.fetch_bytes);
    let (fetched, stored) = (Bytes(fetched), Bytes(stored));
    let about = about(dispatch);
    let is_whole = dispatch.analysis.sums.values().all(|sums| sums.unfollowed == 0);
    let part = if is_whole { "" } else { ", by what was followed" };
    Some(format!(
        "Memory moves {about}{all} for the dispatch{part}: {fetched} are loaded, in blocks of {size} bytes, each once a workgroup, and \
         {stored} stored."
    ))
}

/// What all of it computes.
#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn arithmetic(dispatch: &DispatchTrace, hardware: &Hardware) -> Option<String> {
    let counted = dispatch.operations.as_ref()?;
    let kinds: Vec<String> = counted.done.iter().map(|(operation, count)| operations(*operation, *count)).collect();
    let partial = if counted.is_partial { " Products of matrices aren't among them, or not all." } else { "" };
    let [rest @ .., last] = &kinds[..] else { return (!partial.is_empty()).then(|| partial.trim().to_owned()) };
    let all = if rest.is_empty() { last.clone() } else { format!("{} and {last}", rest.join(", ")) };
    let sums = counted.sum(|operation| matches!(operation, Operation::MultiplyAdd { .. }));
    let moved = dispatch.moved(hardware).map_or(0, |moved| moved.fetched + moved.stored);
    let per_byte = match (sums, moved) {
        (0, _) | (_, 0) => String::new(),
        _ => format!(
            " That is {}{} multiply-adds for each byte that memory moves.",
            about(dispatch),
            rounded(sums as f64 / moved as f64, Some(0.0))
        ),
    };
    Some(format!("The dispatch computes {all}, as the shader has them: a driver may do with fewer.{per_byte}{partial}"))
}

fn operations(operation: Operation, count: u64) -> String {
    let (one, many, of) = match operation {
        Operation::MultiplyAdd { bits } => ("multiply-add", "multiply-adds", format!(" of f{bits}")),
        Operation::Special { bits } => ("special function", "special functions", format!(" of f{bits}")),
        Operation::OtherFloat { bits } => ("other operation", "other operations", format!(" on f{bits}")),
        Operation::Integer { bits: 32 } => ("integer operation", "integer operations", String::new()),
        Operation::Integer { bits } => ("operation", "operations", format!(" on integers of {bits} bits")),
        Operation::DotProduct => ("dot product", "dot products", " of integers".to_owned()),
        Operation::MatrixMultiplyAdd { bits } => ("multiply-add", "multiply-adds", format!(" of matrices of {bits} bits")),
    };
    format!("{} {}{of}", large(count), if count == 1 { one } else { many })
}

/// A count: large ones in words.
#[expect(clippy::cast_precision_loss, reason = "four digits are shown")]
pub fn large(count: u64) -> String {
    const NAMES: [(u64, &str); 3] = [(1_000_000_000_000, "trillion"), (1_000_000_000, "billion"), (1_000_000, "million")];
    match NAMES.into_iter().find(|(of, _)| count >= *of) {
        Some((of, name)) => format!("{} {name}", rounded(count as f64 / of as f64, Some(0.0))),
        None => count.to_string(),
    }
}

/// Whether recording changed what the shader computes, where it isn't the same bit by bit.
pub(super) fn changed(wrong: Option<&String>, now: Option<&Difference>, before: Option<&Difference>) -> Option<String> {
    if let Some(wrong) = wrong {
        return Some(format!("warning: the results aren't right while accesses are recorded: {wrong}"));
    }
    let now = now?;
    let Some(before) = before else {
        return Some(format!(
            "warning: outputs differ from those without recording: {}. Where invocations race, another one may win when they take \
             longer; and an index beyond an inner array goes to index 0 here",
            now.bytes
        ));
    };
    Some(match (&now.beyond_tolerance, &before.beyond_tolerance) {
        (_, Some(beyond)) => {
            format!("note: outputs differ from run to run, so nothing tells whether recording changed them: {beyond}")
        }
        (Some(beyond), None) => format!(
            "warning: outputs differ from those without recording by more than another order of sums explains, as they don't from run to \
             run: {beyond}"
        ),
        (None, None) => format!(
            "note: outputs differ from run to run, by no more than another order of sums explains, and so they do while accesses are \
             recorded: {}",
            before.bytes
        ),
    })
}

fn doubts(dispatch: &DispatchTrace, traces: &Traces) -> Vec<String> {
    let mut doubts = Vec::new();
    if let Some(wrong) = &traces.untraced.wrong {
        doubts.push(format!("warning: the results aren't right even without recording: {wrong}"));
    }
    doubts.extend(changed(dispatch.wrong.as_ref(), dispatch.difference.as_ref(), traces.untraced.difference.as_ref()));
    if dispatch.differs {
        doubts.push("note: the accesses differ from pass to pass, so another trace may show other figures".to_owned());
    }
    let beyond = dispatch.analysis.sums.iter().filter(|(_, sums)| sums.beyond > 0);
    let beyond: Vec<String> = beyond
        .map(|(at, sums)| {
            let site = &dispatch.what.traced.sites[*at];
            format!("{}{}, {}", name(site), line_of(site, dispatch), counted(sums.beyond, "time"))
        })
        .collect();
    if !beyond.is_empty() {
        doubts.push(format!("warning: accesses end beyond their buffer or variable: {}", beyond.join("; ")));
    }
    if dispatch.what.traced.roots.iter().any(|root| root.is_natural) {
        doubts.push(
            "note: the driver lays out shared memory; the natural layout is assumed, each variable from a bank's beginning"
                .to_owned(),
        );
    }
    doubts
}

pub fn name(site: &Site) -> String {
    let verb = kind(site.kind);
    format!("{verb} {}", site.name)
}

/// Its line; of another file than the shader's with the file's name.
fn line(site: &Site, dispatch: &DispatchTrace) -> String {
    site.line.as_ref().map(|line| line.place(&dispatch.what.source)).unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "a mean")]
fn per_request(count: u64, sums: &Sums) -> String {
    rounded(count as f64 / sums.requests.max(1) as f64, None)
}

#[expect(clippy::cast_precision_loss, reason = "a stride of elements")]
fn pattern(sums: &Sums, bytes: u64) -> String {
    match sums.pattern() {
        None => String::new(),
        Some(Pattern::Uniform) => "uniform".to_owned(),
        Some(Pattern::Linear) => "linear".to_owned(),
        Some(Pattern::Strided(by)) => format!("strided by {}", rounded(by as f64 / bytes.max(1) as f64, None)),
        Some(Pattern::Permuted) => "permuted".to_owned(),
        Some(Pattern::Scattered) => "scattered".to_owned(),
    }
}

fn space(dispatch: &DispatchTrace, site: &Site, sums: &Sums) -> Option<Space> {
    sums.root(site, &dispatch.what.traced).map(|(_, root)| root.space)
}

fn is_shared(dispatch: &DispatchTrace, site: &Site, sums: &Sums) -> bool {
    space(dispatch, site, sums) == Some(Space::Shared)
}

fn is_constant(dispatch: &DispatchTrace, site: &Site, sums: &Sums) -> bool {
    matches!(space(dispatch, site, sums), Some(Space::Uniform { .. } | Space::PushConstants))
}

/// Whether sectors are what counts there.
fn is_memory(dispatch: &DispatchTrace, site: &Site, sums: &Sums) -> bool {
    !matches!(site.target, Target::Nothing | Target::Unfollowed(_))
        && !is_shared(dispatch, site, sums)
        && !is_constant(dispatch, site, sums)
}

/// Uniform blocks and push constants come by way of caches of their own, a word for all lanes at once.
fn constants(dispatch: &DispatchTrace) -> Option<String> {
    let all = sorted(dispatch, |site, sums| is_constant(dispatch, site, sums), |sums| sums.requests);
    let several: Vec<String> = (all.iter())
        .filter(|(_, sums)| sums.patterns.keys().any(|pattern| *pattern != Pattern::Uniform))
        .map(|(site, _)| format!("{}{}", name(site), line_of(site, dispatch)))
        .collect();
    match (all.len(), several.as_slice()) {
        (0, _) => None,
        (1, []) => Some("1 instruction reads constants, each time one for all lanes.".to_owned()),
        (count, []) => Some(format!("{count} instructions read constants, each time one for all lanes.")),
        (count, several) => Some(format!(
            "{count} instructions read constants, of which lanes want several at once in: {}.",
            several.join(", ")
        )),
    }
}

fn line_of(site: &Site, dispatch: &DispatchTrace) -> String {
    match line(site, dispatch) {
        none if none.is_empty() => none,
        place => format!(" (line {place})"),
    }
}

/// What was recorded of arrays with longer rows.
fn remedies(dispatch: &DispatchTrace, device: &DeviceInfo) -> Vec<String> {
    let worst = |degrees: &mut dyn Iterator<Item = f64>| rounded(degrees.fold(0.0, f64::max), None);
    let of = |remedy: &Remedy| {
        let before = remedy.degrees.keys().filter_map(|at| dispatch.analysis.sums.get(at)?.degree());
        let (before, after) = (worst(&mut before.into_iter()), worst(&mut remedy.degrees.values().copied()));
        let what = match before == after {
            false => format!("the degree falls from {before} to {after}"),
            true => format!("some accesses have fewer conflicts, and the worst keeps its degree of {after}"),
        };
        let (had, has) = (dispatch.what.shared_bytes, dispatch.what.shared_bytes + remedy.more_bytes);
        let most = u64::from(device.limits.shared_bytes);
        let fits = |bytes: u64| most.checked_div(bytes).unwrap_or(0);
        let fewer = match (fits(had), fits(has)) {
            (before, 0) if before > 0 => ", more than the device has for a workgroup".to_owned(),
            (before, after) if after < before => {
                format!(", so that {after} workgroups instead of {before} fit in the {} that one may have", Bytes(most))
            }
            _ => String::new(),
        };
        format!(
            "Remedy: as `{}` {what} (recorded once more); a workgroup takes {} more{fewer}.",
            remedy.declaration(),
            Bytes(remedy.more_bytes)
        )
    };
    dispatch.remedies.iter().map(of).collect()
}

/// The instructions of a kind with their sums, those that waste most first.
fn sorted(
    dispatch: &DispatchTrace,
    is_meant: impl Fn(&Site, &Sums) -> bool,
    waste: impl Fn(&Sums) -> u64,
) -> Vec<(&Site, &Sums)> {
    let all = dispatch.analysis.sums.iter().map(|(at, sums)| (&dispatch.what.traced.sites[*at], sums));
    let mut all: Vec<(&Site, &Sums)> =
        all.filter(|(site, sums)| is_meant(site, sums) && sums.lanes > sums.unfollowed).collect();
    all.sort_by_key(|(_, sums)| std::cmp::Reverse(waste(sums)));
    all
}

fn more(count: usize) -> String {
    match count.saturating_sub(MOST) {
        0 => String::new(),
        more => format!("and {more} more (-o FILE has all)\n"),
    }
}

fn memory(dispatch: &DispatchTrace, hardware: &Hardware) -> Option<(TextTable, String)> {
    let is_meant = |site: &Site, sums: &Sums| is_memory(dispatch, site, sums);
    let all = sorted(dispatch, is_meant, |sums| sums.sectors - sums.fewest_sectors.min(sums.sectors));
    let columns = [
        Column::numbers("sectors", Need::Key),
        Column::numbers("fewest", Need::Central),
        Column::numbers("efficiency", Need::Key),
    ];
    let figures = |sums: &Sums| {
        let efficiency = sums.efficiency(hardware).map(percent).unwrap_or_default();
        [per_request(sums.sectors, sums), per_request(sums.fewest_sectors, sums), efficiency]
    };
    table(dispatch, &all, "access", columns, figures)
}

fn shared(dispatch: &DispatchTrace) -> Option<(TextTable, String)> {
    let is_meant = |site: &Site, sums: &Sums| is_shared(dispatch, site, sums);
    let all = sorted(dispatch, is_meant, |sums| sums.wavefronts - sums.least_wavefronts.min(sums.wavefronts));
    let columns = [
        Column::numbers("wavefronts", Need::Key),
        Column::numbers("degree", Need::Key),
        Column::numbers("worst", Need::Central),
    ];
    let figures = |sums: &Sums| {
        let degree = sums.degree().map(|degree| rounded(degree, None)).unwrap_or_default();
        [per_request(sums.wavefronts, sums), degree, rounded(sums.worst_degree, None)]
    };
    table(dispatch, &all, "shared memory", columns, figures)
}

fn table(
    dispatch: &DispatchTrace,
    all: &[(&Site, &Sums)],
    what: &'static str,
    columns: [Column; 3],
    figures: impl Fn(&Sums) -> [String; 3],
) -> Option<(TextTable, String)> {
    let [one, two, three] = columns;
    let mut table = TextTable::new([
        Column::numbers("line", Need::Central),
        Column::words(what, Need::Key),
        Column::numbers("bytes", Need::Useful),
        Column::numbers("requests", Need::Useful),
        one,
        two,
        three,
        Column::words("pattern", Need::Useful),
    ]);
    for (site, sums) in all.iter().take(MOST) {
        let [one, two, three] = figures(sums);
        let bytes = site.target.runs().iter().map(|run| run.bytes).sum::<u64>();
        let (requests, pattern) = (sums.requests.to_string(), pattern(sums, bytes));
        table.row([line(site, dispatch), name(site), bytes.to_string(), requests, one, two, three, pattern]);
    }
    (!all.is_empty()).then(|| (table.without_empty_columns(), more(all.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_a_warning_only_where_recording_adds_to_it() {
        let difference =
            |beyond: Option<&str>| Difference { bytes: "`sum` in 2 bytes".into(), beyond_tolerance: beyond.map(str::to_owned) };
        let said = |now: Option<&Difference>, before| changed(None, now, before).unwrap_or_default();
        let (near, far) = (difference(None), difference(Some("sum[0] is 1")));
        assert_eq!(said(None, Some(&far)), "");
        assert!(said(Some(&near), None).starts_with("warning: outputs differ from those without recording: `sum` in 2 bytes."));
        assert!(said(Some(&near), Some(&near)).starts_with("note: outputs differ from run to run, by no more than"));
        let worse = said(Some(&far), Some(&near));
        assert!(worse.starts_with("warning: ") && worse.ends_with("run to run: sum[0] is 1"), "{worse}");
        for now in [&near, &far] {
            assert!(said(Some(now), Some(&far)).contains("nothing tells whether recording changed them: sum[0] is 1"));
        }
    }
}
