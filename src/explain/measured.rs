//! What a case takes, by itself.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::campaign::{Campaign, interrupt};
use crate::measure::{CaseKey, Event, Measured, Options, Pool, Rule, Session, Task};
use crate::model::{Case, Check, Failure, Status};
use crate::output::Bar;
use crate::units::Ends;
use crate::worker::{Opening, RelievedCase};

/// The time for timing a case.
const TIME: Duration = Duration::from_secs(1);
const MAX_NOISE: f64 = 0.005;

/// What a pass took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    pub ns: f64,
    /// The ends of its 95 % interval; nothing below six rounds.
    pub ends: Option<Ends>,
    pub rounds: usize,
    pub processes: usize,
    /// Reasons to doubt it, as rows have them.
    pub flags: Vec<&'static str>,
}

impl From<Measured> for Taken {
    fn from(measured: Measured) -> Self {
        Self {
            ns: measured.value(),
            ends: measured.interval().map(|interval| (interval.low, interval.high)),
            rounds: measured.rounds.samples.len(),
            processes: measured.rounds.process_count(),
            flags: measured.flags.iter().map(|flag| flag.name()).collect(),
        }
    }
}

/// Measures a case with warm caches on the campaign's device, and beside it the same case relieved of costs, in their order.
///
/// # Errors
/// Where the device can't be measured on, or was given up. Of each case, why it has no time.
pub fn measure(
    campaign: &Campaign,
    key: &CaseKey,
    case: &Case,
    reliefs: Vec<RelievedCase>,
    bar: &Bar,
) -> Result<Vec<Result<Taken, Failure>>, Failure> {
    let (settings, place) = (&campaign.settings, campaign.targets.device(0));
    let named = |relieved: &RelievedCase| {
        let case =
            Case { experiment: relieved.name.clone(), check: Check::Nothing("a relief spoils the results"), ..case.clone() };
        (CaseKey { experiment: relieved.name.clone(), ..key.clone() }, case)
    };
    let others: Vec<(CaseKey, Case)> = reliefs.iter().map(named).collect();
    let opening = Opening { evict_bytes: None, reliefs, ..settings.opening(place, TIME) };
    let pool = Pool::new(settings.processes, campaign.opener(place, opening))?;
    let options = Options { rule: Rule::Each, max_noise: MAX_NOISE, max_time: TIME, seed: settings.seed };
    let mut session = Session::new(pool, options).keeping_few_rounds();
    let own = Task { key: key.clone(), case, base: None };
    let others = others.iter().map(|(key, case)| Task { key: key.clone(), case, base: None });
    let tasks: Vec<Task> = std::iter::once(own).chain(others).collect();
    let outcomes = session.measure(&tasks, &mut |event| {
        match event {
            Event::Loading(case) => bar.start(&format!("checking {}", case.experiment)),
            Event::Timing(case, round) => bar.start(&format!("round {round}: {}", case.experiment)),
            _ => {}
        }
        if interrupt::is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let given_up = session.given_up().cloned();
    let nothing = || given_up.clone().unwrap_or_else(|| Failure::new(Status::Error, "it wasn't measured"));
    Ok(outcomes.into_iter().map(|outcome| outcome.ok_or_else(nothing)?.result.map(Taken::from)).collect())
}
