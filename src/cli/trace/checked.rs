//! What `--check` found, as people read it and as rows.

use std::collections::BTreeSet;

use super::text::{changed, counted_passes, headline, not_followed};
use crate::analysis::counted;
use crate::campaign::search::bounds::told;
use crate::campaign::trace::findings::element;
use crate::campaign::trace::rows::{file, kind, space};
use crate::campaign::trace::{Checked, DispatchTrace, Order, Traces, unordered};
use crate::model::DeviceInfo;
use crate::output::trace::{FindingRow, TRACE_SCHEMA};
use crate::output::{Page, paragraph};
use crate::shader::{Home, Overrun, SourceLine, Space};
use crate::trace::check::{Actor, Cause, Class, Finding};

/// Findings that are shown in full.
const MOST: usize = 8;

pub fn text(traces: &Traces, order: &Order, device: &DeviceInfo, page: Page) -> String {
    let beyond: String = beyond(traces, order).iter().map(|words| paragraph(words, page)).collect();
    let of = |dispatch: &DispatchTrace| {
        let found = dispatch.checked.as_ref().map(|checked| findings(dispatch, checked, &beyond, page)).unwrap_or_default();
        let untraced = &traces.untraced;
        let changed = changed(dispatch.wrong.as_ref(), dispatch.difference.as_ref(), untraced.difference.as_ref());
        let head = [headline(dispatch, device), coverage(dispatch)].into_iter().chain(changed);
        let words: Vec<String> = head.map(|words| paragraph(&words, page)).chain(found).collect();
        words.join("\n")
    };
    traces.dispatches.iter().map(of).collect::<Vec<_>>().join("\n")
}

fn coverage(dispatch: &DispatchTrace) -> String {
    let DispatchTrace { what, recorded, too_large, passes, checked, .. } = dispatch;
    let Checked { findings, accesses, followed, .. } = checked.clone().unwrap_or_default();
    let all = counted(dispatch.workgroups(), "workgroup");
    let mut words = format!(
        "Checked {} of {all} in {}: {followed} of {accesses} accesses were followed.",
        recorded.len(),
        counted_passes(*passes)
    );
    words += &not_followed(&what.traced);
    words += &unreached(dispatch);
    if !too_large.is_empty() {
        let groups = counted(too_large.len() as u64, "workgroup");
        words += &format!(" {groups} couldn't be checked: there is no room for so many accesses.");
    }
    if findings.unsteady > 0 {
        let groups = counted(findings.unsteady, "workgroup");
        words += &format!(" {groups} couldn't be checked: the passes that recorded it took different ways.");
    }
    if findings.unfinished > 0 {
        let groups = counted(findings.unfinished, "workgroup");
        let line = |site: &usize| what.traced.sites[*site].line.as_ref().map(|line| line.place(&what.source));
        let lines: BTreeSet<String> = findings.stopped_at.iter().filter_map(line).collect();
        let lines: Vec<String> = lines.into_iter().collect();
        let place = match lines.len() {
            0 => String::new(),
            1 => format!(" at line {}", lines.join(", ")),
            _ => format!(" at lines {}", lines.join(", ")),
        };
        words += &format!(" {groups} couldn't be checked to the end: the device left invocations waiting{place}.");
    }
    words
}

fn unreached(dispatch: &DispatchTrace) -> String {
    let unreached = dispatch.unreached();
    let traced = &dispatch.what.traced;
    let all = counted(traced.sites.len() as u64, "instruction");
    let lines: BTreeSet<&SourceLine> = unreached.iter().filter_map(|site| traced.sites[*site].line.as_ref()).collect();
    let mut places: Vec<String> = lines.iter().take(MOST).map(|line| line.place(&dispatch.what.source)).collect();
    places.extend((lines.len() > MOST).then(|| "more".to_owned()));
    let places = match &places[..] {
        [] => String::new(),
        [one] => format!(" (line {one})"),
        _ => format!(" (lines {})", places.join(", ")),
    };
    match unreached.len() {
        0 => String::new(),
        count => format!(" None of them came to {count} of {all}{places}."),
    }
}

/// What was found, and what wasn't.
fn findings(dispatch: &DispatchTrace, Checked { findings, .. }: &Checked, beyond: &str, page: Page) -> Vec<String> {
    let mut all: Vec<String> =
        findings.all.iter().take(MOST).map(|(cause, found)| finding(dispatch, cause, found, page)).collect();
    if findings.all.len() > MOST {
        all.push(format!("and {} more (-o FILE has all)\n", findings.all.len() - MOST));
    }
    all.extend((!beyond.is_empty()).then(|| beyond.to_owned()));
    let checked = dispatch.known();
    let missing = |classes: &[Class]| !findings.all.keys().any(|cause| classes.contains(&cause.class));
    let kinds: [(&[Class], &str); 4] = [
        (&[Class::Race, Class::SameValue, Class::Undecided], "race"),
        (&[Class::Uninitialised], "read of shared memory that nobody wrote"),
        (&[Class::Divergence, Class::LeftOut, Class::Exited], "barrier that only some come to"),
        (&[Class::Bounds], "access out of bounds"),
    ];
    let is_none = |classes: &[Class]| missing(classes) && (beyond.is_empty() || classes != [Class::Bounds]);
    let none: Vec<&str> = kinds.iter().filter(|(classes, _)| is_none(classes)).map(|(_, words)| *words).collect();
    if !none.is_empty() && checked > 0 {
        let words = format!("In {checked} of {}, no {} was found.", counted(dispatch.workgroups(), "workgroup"), or(&none));
        all.push(paragraph(&words, page));
    }
    all
}

fn or(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} and no {last}", rest.join(", no ")),
    }
}

fn finding(dispatch: &DispatchTrace, cause: &Cause, found: &Finding, page: Page) -> String {
    let what = element(dispatch, cause, found);
    let head = match cause.class {
        Class::Race => format!("Race on {what}: nothing orders"),
        Class::SameValue => format!("Race on {what}, where all that is written is the same: nothing orders"),
        Class::Undecided => {
            format!("Perhaps a race on {what}, if an atomic operation read what another one wrote. It is between")
        }
        Class::NotCoherent => format!("What is written to {what} needn't be seen, since it isn't declared coherent: between"),
        Class::Memory => {
            format!("What is written to {what} needn't be seen: barriers order only the execution of")
        }
        Class::Uninitialised => format!("Nobody wrote {what} before it is read:"),
        Class::LeftOut => "A barrier that not all invocations of the workgroup come to:".to_owned(),
        Class::Divergence => "Invocations of one workgroup wait at different barriers:".to_owned(),
        Class::Exited => "Invocations end, and others of their workgroup wait at a barrier:".to_owned(),
        Class::Bounds => format!("An access beyond the end, at {what}:"),
    };
    let mut out = paragraph(&head, page);
    out += &side(dispatch, cause.first, &found.first);
    match (&found.second, cause.second) {
        (Some(actor), Some(site)) => out += &side(dispatch, site, actor),
        (Some(actor), None) if cause.class == Class::LeftOut => {
            out += &format!("  {} left it out\n", capitalized(&who(actor)));
        }
        (Some(actor), None) => out += &format!("  {} ended\n", capitalized(&who(actor))),
        _ => {}
    }
    if found.count > 1 {
        out += &format!("  {} times\n", found.count);
    }
    // What is said of a variable is said once.
    let is_of = |other: &&Cause| unordered(other).is_some() && unordered(other) == unordered(cause);
    let first = dispatch.checked.as_ref().and_then(|checked| checked.findings.all.keys().find(is_of));
    let advice = if first == Some(cause) { advice(dispatch, cause) } else { String::new() };
    out + &if advice.is_empty() { advice } else { paragraph(&advice, page) }
}

/// What would order them: seen, or known of such barriers.
fn advice(dispatch: &DispatchTrace, cause: &Cause) -> String {
    let ordering = dispatch.checked.as_ref().and_then(|checked| checked.ordering(cause, &dispatch.what.source));
    let root = cause.root.and_then(|root| dispatch.what.traced.roots.get(root));
    let what = root.filter(|root| !root.name.is_empty()).map_or("it".to_owned(), |root| format!("`{}`", root.name));
    let space = root.map(|root| root.space);
    let words = match (ordering, cause.class, space) {
        (Some(barriers), Class::Memory, _) => {
            format!("Add {barriers}: run with that, all that is written to {what} is in order.")
        }
        (Some(barriers), ..) => format!("Add {barriers}: run with that, no race on {what} was left."),
        (_, Class::Memory, Some(Space::Shared)) => "memoryBarrierShared() before the barrier orders shared memory.".to_owned(),
        (_, Class::Memory, _) => {
            "memoryBarrierBuffer() before the barrier orders buffers, barrier() alone only shared memory.".to_owned()
        }
        _ => return String::new(),
    };
    let is_coherent = |site: usize| dispatch.what.traced.sites[site].is_coherent;
    if space == Some(Space::Shared) || [Some(cause.first), cause.second].into_iter().flatten().all(is_coherent) {
        return words;
    }
    format!("{words} Declare {what} coherent, too.")
}

fn capitalized(words: &str) -> String {
    let mut rest = words.chars();
    rest.next().map(|first| first.to_uppercase().collect::<String>() + rest.as_str()).unwrap_or_default()
}

fn side(dispatch: &DispatchTrace, site: usize, actor: &Actor) -> String {
    let of = &dispatch.what.traced.sites[site];
    let line = of.line.as_ref().map(|line| format!("line {}: ", line.place(&dispatch.what.source)));
    let name = if of.name.is_empty() { String::new() } else { format!(" {}", of.name) };
    format!("  {}{}{name}, by {}\n", line.unwrap_or_default(), kind(of.kind), who(actor))
}

fn who(Actor { group, invocation, subgroup, lane, iterations }: &Actor) -> String {
    let at = iterations.iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
    let at = if at.is_empty() { at } else { format!(", iteration {at}") };
    format!("invocation {invocation} of workgroup {group} (subgroup {subgroup}, lane {lane}{at})")
}

/// What is beyond an end in workgroups that weren't recorded, or isn't followed: in words.
pub fn beyond(traces: &Traces, order: &Order) -> Vec<String> {
    let Some(subject) = &order.subject else { return Vec::new() };
    let words = |overrun: &Overrun| format!("In the whole dispatch, {}.", told(overrun, subject));
    traces.other_overruns().into_iter().map(words).collect()
}

/// A row for what is beyond an end in any workgroup.
fn beyond_row(traces: &Traces, overrun: &Overrun, order: &Order, device: &DeviceInfo) -> Option<FindingRow> {
    let dispatch = traces.dispatches.first()?;
    let (space, set, binding) = match overrun.array.home {
        Home::Buffer { set, binding } => ("storage", Some(set), Some(binding)),
        Home::Image { set, binding } => ("image", Some(set), Some(binding)),
        Home::PushConstants => ("push_constants", None, None),
        Home::Shared => ("shared", None, None),
        Home::Invocation => ("", None, None),
    };
    let line = overrun.lines.first();
    Some(FindingRow {
        schema: TRACE_SCHEMA.to_owned(),
        device_name: device.name.clone(),
        shader: dispatch.what.source.clone(),
        entry: dispatch.what.entry.clone(),
        workgroups: dispatch.workgroups(),
        checked: dispatch.workgroups(),
        class: Class::Bounds.name().to_owned(),
        count: 1,
        what: format!("{}, index {}", overrun.array.path, overrun.index),
        space: space.to_owned(),
        set: set.map(Into::into),
        binding: binding.map(Into::into),
        first_kind: if overrun.is_read { "load" } else { "store" }.to_owned(),
        first_name: overrun.array.path.clone(),
        first_file: line.map(|line| file(&line.file, order)).unwrap_or_default(),
        first_line: line.map(|line| line.line.into()),
        ..FindingRow::default()
    })
}

/// A row for each finding.
pub fn rows(traces: &Traces, order: &Order, device: &DeviceInfo) -> Vec<FindingRow> {
    let of = |(number, dispatch): (u64, &DispatchTrace)| -> Vec<FindingRow> {
        let all = dispatch.checked.iter().flat_map(|checked| &checked.findings.all);
        all.map(|(cause, found)| row(dispatch, number, (cause, found), order, device)).collect()
    };
    let beyond = traces.other_overruns().into_iter().filter_map(|overrun| beyond_row(traces, overrun, order, device));
    (0..).zip(&traces.dispatches).flat_map(of).chain(beyond).collect()
}

fn row(
    dispatch: &DispatchTrace,
    number: u64,
    (cause, found): (&Cause, &Finding),
    order: &Order,
    device: &DeviceInfo,
) -> FindingRow {
    let traced = &dispatch.what.traced;
    let root = cause.root.and_then(|root| traced.roots.get(root));
    let (space, set, binding) = root.map(|root| space(root.space)).unwrap_or_default();
    let row = FindingRow {
        schema: TRACE_SCHEMA.to_owned(),
        device_name: device.name.clone(),
        shader: dispatch.what.source.clone(),
        entry: dispatch.what.entry.clone(),
        dispatch: number,
        workgroups: dispatch.workgroups(),
        checked: dispatch.known(),
        class: cause.class.name().to_owned(),
        count: found.count,
        what: found.offset.map(|_| element(dispatch, cause, found).replace('`', "")).unwrap_or_default(),
        space: space.to_owned(),
        set,
        binding,
        offset: found.offset,
        workgroup: Some(found.first.group.into()),
        ..FindingRow::default()
    };
    sides(row, dispatch, cause, found, order)
}

fn sides(row: FindingRow, dispatch: &DispatchTrace, cause: &Cause, found: &Finding, order: &Order) -> FindingRow {
    let site = |at: usize| &dispatch.what.traced.sites[at];
    let of_file = |at: usize| site(at).line.as_ref().map(|line| file(&line.file, order)).unwrap_or_default();
    let line = |at: usize| site(at).line.as_ref().map(|line| line.line.into());
    let second = found.second.as_ref();
    FindingRow {
        first_kind: kind(site(cause.first).kind).to_owned(),
        first_name: site(cause.first).name.clone(),
        first_file: of_file(cause.first),
        first_line: line(cause.first),
        first_invocation: Some(found.first.invocation.into()),
        first_subgroup: Some(found.first.subgroup.into()),
        first_lane: Some(found.first.lane.into()),
        second_kind: cause.second.map(|at| kind(site(at).kind).to_owned()).unwrap_or_default(),
        second_name: cause.second.map(|at| site(at).name.clone()).unwrap_or_default(),
        second_file: cause.second.map(of_file).unwrap_or_default(),
        second_line: cause.second.and_then(line),
        second_invocation: second.map(|actor| actor.invocation.into()),
        second_subgroup: second.map(|actor| actor.subgroup.into()),
        second_lane: second.map(|actor| actor.lane.into()),
        remedy: dispatch
            .checked
            .as_ref()
            .and_then(|checked| checked.ordering(cause, &dispatch.what.source))
            .unwrap_or_default(),
        ..row
    }
}
