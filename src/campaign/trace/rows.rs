//! What was recorded, as rows of the two tables.

use std::collections::HashMap;
use std::io;

use super::traced::{DispatchTrace, Order, Remedy, Traces};
use crate::model::{DeviceInfo, Shown};
use crate::output::trace::{AccessRow, Rows, SiteRow, TRACE_SCHEMA};
use crate::shader::{AccessKind, Operation, Record, Recorded, Site, Space, Target, written_path};
use crate::trace::request::Pattern;
use crate::trace::requests::Lanes;
use crate::trace::sites::Sums;

pub fn kind(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Load => "load",
        AccessKind::Store => "store",
        AccessKind::Atomic => "atomic",
        AccessKind::Barrier => "barrier",
        AccessKind::Fence => "fence",
    }
}

pub fn space(space: Space) -> (&'static str, Option<u64>, Option<u64>) {
    match space {
        Space::Storage { set, binding } => ("storage", Some(set.into()), Some(binding.into())),
        Space::Uniform { set, binding } => ("uniform", Some(set.into()), Some(binding.into())),
        Space::PushConstants => ("push_constants", None, None),
        Space::Shared => ("shared", None, None),
        Space::Address => ("address", None, None),
    }
}

/// A row for each instruction that accessed memory, dispatch by dispatch.
pub fn site_rows(traces: &Traces, order: &Order, device: &DeviceInfo) -> Vec<SiteRow> {
    let numbered = (0..).zip(&traces.dispatches);
    numbered.flat_map(|(number, dispatch)| rows_of(dispatch, number, order, device)).collect()
}

fn rows_of(dispatch: &DispatchTrace, number: u64, order: &Order, device: &DeviceInfo) -> Vec<SiteRow> {
    let all = dispatch.analysis.sums.iter().filter(|(at, _)| dispatch.what.traced.sites[**at].target != Target::Nothing);
    all.map(|(at, sums)| {
        let row = SiteRow { dispatch: number, site: *at as u64, ..of_dispatch(dispatch, order, device) };
        of_site(row, dispatch, &dispatch.what.traced.sites[*at], sums, order)
    })
    .collect()
}

fn of_dispatch(dispatch: &DispatchTrace, order: &Order, device: &DeviceInfo) -> SiteRow {
    let moved = dispatch.moved(&order.hardware);
    let done = |is_meant: fn(Operation) -> bool| dispatch.operations.as_ref().map(|counted| counted.sum(is_meant));
    SiteRow {
        dispatch_fma_f16: done(|operation| operation == Operation::MultiplyAdd { bits: 16 }),
        dispatch_fma_f32: done(|operation| operation == Operation::MultiplyAdd { bits: 32 }),
        dispatch_fma_f64: done(|operation| operation == Operation::MultiplyAdd { bits: 64 }),
        dispatch_special: done(|operation| matches!(operation, Operation::Special { .. })),
        dispatch_integer: done(|operation| matches!(operation, Operation::Integer { .. })),
        dispatch_fetched_bytes: moved.map(|moved| moved.fetched),
        dispatch_stored_bytes: moved.map(|moved| moved.stored),
        schema: TRACE_SCHEMA.to_owned(),
        device_name: device.name.clone(),
        shader: dispatch.what.source.clone(),
        entry: dispatch.what.entry.clone(),
        workgroups: dispatch.workgroups(),
        recorded: dispatch.recorded.len() as u64,
        passes: dispatch.passes.into(),
        same_outputs: dispatch.difference.is_none(),
        same_accesses: !dispatch.differs,
        model: order.hardware.name.clone(),
        grouping: match order.lanes {
            Lanes::OfDevice => "device".to_owned(),
            Lanes::InRow(count) => format!("{count} in a row"),
        },
        ..SiteRow::default()
    }
}

fn of_site(row: SiteRow, dispatch: &DispatchTrace, site: &Site, sums: &Sums, order: &Order) -> SiteRow {
    let traced = &dispatch.what.traced;
    let root = sums.root(site, traced);
    let (space, set, binding) = match (root, &site.target) {
        (Some((_, root)), _) => space(root.space),
        (None, Target::Chosen { .. }) => ("chosen", None, None),
        (None, Target::Address { .. }) => ("address", None, None),
        _ => ("unfollowed", None, None),
    };
    let bytes = site.target.runs().iter().map(|run| run.bytes).sum::<u64>();
    let row = SiteRow {
        kind: kind(site.kind).to_owned(),
        name: site.name.clone(),
        file: site.line.as_ref().map(|line| file(&line.file, order)).unwrap_or_default(),
        line: site.line.as_ref().map(|line| line.line.into()),
        space: space.to_owned(),
        set,
        binding,
        bytes_per_lane: (bytes > 0).then_some(bytes),
        parts: traced.has_leaders.then_some(sums.parts),
        why_unfollowed: match &site.target {
            Target::Unfollowed(why) => why.words().to_owned(),
            _ => String::new(),
        },
        efficiency: sums.efficiency(&order.hardware).filter(|_| matches!(space, "storage" | "address" | "chosen")),
        ..row
    };
    let row = of_sums(row, sums, bytes);
    match root {
        Some((at, _)) if space == "shared" && sums.lanes > sums.unfollowed => {
            let remedy = dispatch.remedies.iter().find(|remedy| remedy.root == at);
            of_shared(row, sums, remedy, order.hardware.shared.source(site.kind, bytes))
        }
        _ => row,
    }
}

/// A part of something, unless that is nothing.
#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn ratio(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

#[expect(clippy::cast_precision_loss, reason = "a stride of elements")]
fn of_sums(row: SiteRow, sums: &Sums, bytes: u64) -> SiteRow {
    SiteRow {
        requests: sums.requests,
        accesses: sums.lanes,
        active_lanes: ratio(sums.lanes, sums.requests),
        repeats: sums.polls,
        unfollowed: sums.unfollowed,
        out_of_bounds: sums.beyond,
        pattern: sums.pattern().map(pattern).unwrap_or_default().to_owned(),
        stride: match sums.pattern() {
            Some(Pattern::Strided(by)) => Some(by as f64 / bytes.max(1) as f64),
            _ => None,
        },
        asked_bytes: sums.asked,
        distinct_bytes: sums.distinct,
        sectors: sums.sectors,
        fewest_sectors: sums.fewest_sectors,
        lines: sums.lines,
        unaligned: ratio(sums.unaligned, sums.requests),
        reuse_in_request: ratio(sums.asked, sums.distinct),
        reuse_in_workgroup: ratio(sums.asked, sums.of_groups),
        reuse_in_trace: ratio(sums.asked, sums.footprint),
        footprint_bytes: sums.footprint,
        most_sharing: sums.most_sharing,
        broadcasts: sums.broadcasts,
        ..row
    }
}

fn of_shared(row: SiteRow, sums: &Sums, remedy: Option<&Remedy>, source: &str) -> SiteRow {
    let site = usize::try_from(row.site).unwrap_or(usize::MAX);
    SiteRow {
        wavefronts: Some(sums.wavefronts),
        least_wavefronts: Some(sums.least_wavefronts),
        degree: sums.degree(),
        worst_degree: Some(sums.worst_degree).filter(|degree| *degree > 0.0),
        model_source: source.to_owned(),
        remedy: remedy.map(Remedy::declaration).unwrap_or_default(),
        remedy_degree: remedy.and_then(|remedy| remedy.degrees.get(&site).copied()),
        remedy_bytes: remedy.map(|remedy| remedy.more_bytes),
        ..row
    }
}

pub fn file(name: &str, order: &Order) -> String {
    match &order.subject {
        Some(subject) => written_path(name, &subject.shader).shown(),
        None => name.to_owned(),
    }
}

fn pattern(of: Pattern) -> &'static str {
    match of {
        Pattern::Uniform => "uniform",
        Pattern::Linear => "linear",
        Pattern::Strided(_) => "strided",
        Pattern::Permuted => "permuted",
        Pattern::Scattered => "scattered",
    }
}

/// Writes a row for each access of a pass by these instructions. `groups` are the workgroups that it recorded.
pub fn write_accesses<W: io::Write>(
    rows: &mut Rows<W>,
    recorded: &Recorded,
    (dispatch, pass): (u64, u64),
    groups: &[u32],
    sites: &[usize],
) -> io::Result<()> {
    let traced = recorded.traced();
    let mut epochs: HashMap<(u32, u32), u64> = HashMap::new();
    for record in recorded.records() {
        let site = &traced.sites[record.site];
        let epoch = epochs.entry((record.group, record.invocation)).or_default();
        let row = AccessRow {
            schema: TRACE_SCHEMA,
            dispatch,
            pass,
            workgroup: groups.get(record.group as usize).copied().unwrap_or(u32::MAX).into(),
            epoch: *epoch,
            ..access_row(&record, site, recorded)
        };
        if sites.binary_search(&record.site).is_ok() {
            rows.write(&row)?;
        }
        *epoch += u64::from(site.kind == AccessKind::Barrier);
    }
    Ok(())
}

fn access_row<'r>(record: &Record, site: &'r Site, recorded: &Recorded<'r>) -> AccessRow<'r> {
    let traced = recorded.traced();
    let (space, set, binding) = match (record.root.and_then(|root| traced.roots.get(root)), record.offset) {
        (Some(root), _) => space(root.space),
        (None, Some(_)) => ("address", None, None),
        (None, None) => ("", None, None),
    };
    let iterations: Vec<String> = record.iterations.iter().map(ToString::to_string).collect();
    let (subgroup, lane) = recorded.lane(record.group, record.invocation).unzip();
    AccessRow {
        site: record.site as u64,
        kind: kind(site.kind),
        name: &site.name,
        line: site.line.as_ref().map(|line| line.line.into()),
        invocation: record.invocation.into(),
        subgroup: subgroup.map(Into::into),
        lane: lane.map(Into::into),
        leader: traced.has_leaders.then_some(record.leader.into()),
        calls: record.chain.into(),
        iterations: iterations.join("."),
        space,
        set,
        binding,
        element: set.map(|_| record.element.into()),
        offset: record.offset.map(|offset| offset + record.root.and_then(|root| recorded.start(root)).unwrap_or(0)),
        bytes: record.offset.map(|_| site.target.runs().iter().map(|run| run.bytes).sum()),
        value: record.value.map(Into::into),
        count: record.count.into(),
        ..AccessRow::default()
    }
}
