//! Records a case's dispatches, one after the other.

use std::time::Duration;

use tempfile::TempDir;

use super::traced::{DispatchTrace, Order, Traces};
use super::tracing::{AccessRows, Tracing, count, kept};
use crate::analysis::counted;
use crate::campaign::begin::Campaign;
use crate::model::{Failure, Status};
use crate::output::Progress;
use crate::units::{Nanos, rounded};
use crate::worker::Identity;
use crate::worker::questions::trace::OpenTrace;

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
    let traces = recorded(campaign, order, progress, accesses, None);
    let hung = traces.as_ref().err().filter(|failure| matches!(failure.status, Status::Timeout | Status::DeviceLost));
    let Some(failure) = hung.filter(|_| order.explains) else { return traces };
    let mut seen = String::new();
    if let Err(again) = recorded(campaign, order, progress, None, Some(&mut seen)) {
        progress.detail(&format!("recorded once more: {}", again.reason));
    }
    let words = if seen.is_empty() { seen } else { format!(". Stopped while it was recorded: {seen}") };
    Err(Failure { reason: failure.reason.clone() + &words, ..failure.clone() })
}

/// The same. Of one that is known to hang, where its invocations were is put into `seen`.
fn recorded<'a>(
    campaign: &'a Campaign,
    order: &'a Order,
    progress: &Progress,
    accesses: Option<&'a mut AccessRows>,
    seen: Option<&'a mut String>,
) -> Result<Traces, Failure> {
    let place = campaign.targets.device(0);
    let mut respondent = campaign.targets.respondent(place)?;
    let untraced = respondent.ask(opening(campaign, order, seen.is_some()));
    let untraced = untraced.map_err(before_recording)?;
    order.groups.check(untraced.dispatches.iter().map(|what| count(what.groups)).max().unwrap_or(0))?;
    let folder = TempDir::new().map_err(|error| kept(&error))?;
    let mut tracing = Tracing {
        progress: progress.clone(),
        respondent,
        order,
        device: &place.info,
        folder: folder.path(),
        files: 0,
        size: 0,
        accesses,
        seen,
    };
    let mut dispatches = Vec::new();
    for (at, what) in untraced.dispatches.iter().enumerate() {
        let trace = if order.check { tracing.check(at, what) } else { tracing.dispatch(at, what) }?;
        progress.detail(&cost(&trace, untraced.took));
        dispatches.push(trace);
    }
    let explains = order.check && order.explains;
    let overruns = if explains { tracing.overruns() } else { None };
    // They come last: one that hangs takes its process with it.
    let mut can_go_on = explains;
    for (at, trace) in dispatches.iter_mut().enumerate() {
        can_go_on = can_go_on && tracing.order_accesses(at, trace);
    }
    Ok(Traces { dispatches, untraced: untraced.clone(), overruns })
}

fn opening(campaign: &Campaign, order: &Order, hangs: bool) -> OpenTrace {
    let (settings, place) = (&campaign.settings, campaign.targets.device(0));
    // What is known to hang is stopped in a quarter of the time after which its process would be.
    let deadline = settings.submission_deadline().map(|longest| if hangs { longest / 8 } else { longest });
    OpenTrace {
        device: Identity::at_place(&place.info, place.index),
        queue: settings.queue,
        deadline,
        preset: settings.preset,
        seed: settings.seed,
        key: order.key.clone(),
        subject: order.subject.clone().map(Box::new),
        values: order.check || hangs,
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
