//! Records a case's dispatches, one after the other.

use std::time::Duration;

use tempfile::TempDir;

use super::traced::{DispatchTrace, Order, Scoped, Traces};
use super::tracing::{AccessRows, Tracing, count, kept};
use crate::analysis::counted;
use crate::campaign::begin::Campaign;
use crate::model::{Failure, Status};
use crate::output::Progress;
use crate::units::{Nanos, rounded};
use crate::worker::Identity;
use crate::worker::questions::trace::{OpenTrace, Untraced};

/// Dispatches that are looked at of a case that doesn't end.
const MOST_DISPATCHES: usize = 4;

/// Records a case's dispatches. Each access is written as well where there is a place for it.
///
/// # Errors
/// Why the case can't run, or not be rewritten. Of one that doesn't end, where its invocations were.
pub fn trace(
    campaign: &Campaign,
    order: &Order,
    progress: &Progress,
    accesses: Option<&mut AccessRows>,
) -> Result<Traces, Failure> {
    let folder = TempDir::new().map_err(|error| kept(&error))?;
    let traces = recorded(campaign, order, progress, &folder, accesses);
    let hung = traces.as_ref().err().filter(|failure| matches!(failure.status, Status::Timeout | Status::DeviceLost));
    let Some(failure) = hung.filter(|_| order.explains) else { return traces };
    let seen = where_it_hangs(campaign, order, progress, &folder);
    let words = seen.map_or_else(String::new, |seen| format!(". Stopped while it was recorded: {seen}"));
    Err(Failure { reason: failure.reason.clone() + &words, ..failure.clone() })
}

/// Where invocations were of the first dispatch of which some don't come to their end. Each is looked at in a process of its own: what
/// hangs takes that with it.
fn where_it_hangs(campaign: &Campaign, order: &Order, progress: &Progress, folder: &TempDir) -> Option<String> {
    let seen = |at| {
        let mut seen = String::new();
        let recorded = opened(campaign, order, progress, folder, true).and_then(|(mut tracing, untraced)| {
            tracing.seen = Some(&mut seen);
            untraced.dispatches.get(at).map(|what| tracing.check(at, what)).transpose()
        });
        match recorded {
            // There is no such dispatch.
            Ok(None) => return Some(None),
            Ok(Some(_)) => {}
            Err(again) => progress.detail(&format!("recorded once more: {}", again.reason)),
        }
        (!seen.is_empty()).then_some(Some(seen))
    };
    (0..MOST_DISPATCHES).find_map(seen).flatten()
}

/// What records a case, and what it is.
fn opened<'a>(
    campaign: &'a Campaign,
    order: &'a Order,
    progress: &Progress,
    folder: &'a TempDir,
    hangs: bool,
) -> Result<(Tracing<'a>, Untraced), Failure> {
    let place = campaign.targets.device(0);
    let mut respondent = campaign.targets.respondent(place)?;
    let untraced = respondent.ask(opening(campaign, order, hangs)).map_err(before_recording)?;
    order.groups.check(untraced.dispatches.iter().map(|what| count(what.groups)).max().unwrap_or(0))?;
    let (progress, device, folder) = (progress.clone(), &place.info, folder.path());
    Ok((Tracing { progress, respondent, order, device, folder, files: 0, size: 0, accesses: None, seen: None }, untraced))
}

fn recorded<'a>(
    campaign: &'a Campaign,
    order: &'a Order,
    progress: &Progress,
    folder: &'a TempDir,
    accesses: Option<&'a mut AccessRows>,
) -> Result<Traces, Failure> {
    let (mut tracing, untraced) = opened(campaign, order, progress, folder, false)?;
    tracing.accesses = accesses;
    let mut dispatches = Vec::new();
    for (at, what) in untraced.dispatches.iter().enumerate() {
        let trace = if order.check { tracing.check(at, what) } else { tracing.dispatch(at, what) }?;
        progress.detail(&cost(&trace, untraced.took));
        dispatches.push(trace);
    }
    let explains = order.check && order.explains;
    let overruns = if explains { tracing.overruns() } else { None };
    // They come last: one that hangs takes its process with it.
    let mut can_go_on = explains || !order.check;
    for (at, trace) in dispatches.iter_mut().enumerate() {
        if !can_go_on {
            break;
        }
        can_go_on = if explains { tracing.order_accesses(at, trace) } else { tracing.count_operations(at, trace) };
        if can_go_on && order.tries.is_some() {
            can_go_on = tracing.find_touched(at, trace);
        }
    }
    let mut traces = Traces { dispatches, untraced, overruns, alterations: Scoped::default(), points: Vec::new() };
    if let Some(tries) = order.tries.as_ref().filter(|_| can_go_on) {
        tracing.try_all(tries, &mut traces);
    }
    Ok(traces)
}

fn opening(campaign: &Campaign, order: &Order, hangs: bool) -> OpenTrace {
    let (settings, place) = (&campaign.settings, campaign.targets.device(0));
    // What is known to hang is stopped in a quarter of the time after which its process would be.
    let deadline = settings.submission_deadline().map(|longest| if hangs { longest / 8 } else { longest });
    OpenTrace {
        device: Identity::at_place(&place.info, place.index),
        queue: settings.queue.of(&place.info),
        deadline,
        preset: settings.preset,
        seed: settings.seed,
        key: order.key.clone(),
        subject: order.subject.clone().map(Box::new),
        values: order.check || hangs,
        foresees: order.tries.is_some(),
        hangs,
    }
}

/// What recording took.
fn cost(trace: &DispatchTrace, untraced: Duration) -> String {
    let DispatchTrace { records, took, passes, .. } = trace;
    let (count, pass) = (counted(*records, "record"), untraced.as_secs_f64());
    let took_all = Nanos::from_duration(*took);
    let each = Nanos(took_all.0 / (*records).max(1) as f64);
    let factor = took.as_secs_f64() / f64::from((*passes).max(1)) / pass.max(1e-9);
    format!("{count} in {took_all}, {each} each; a pass took {} times as long as one without", rounded(factor, None))
}

fn before_recording(failure: Failure) -> Failure {
    if failure.status != Status::Timeout {
        return failure;
    }
    let words = format!("{} (while it ran as it is, before anything was recorded; compiling counts as well)", failure.reason);
    Failure { reason: words, ..failure }
}
