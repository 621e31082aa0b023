//! One device at work: its session, which visits cases, and its part of the journal, which keeps what was visited.

use std::collections::HashMap;
use std::ops::{ControlFlow, Deref, DerefMut};
use std::sync::Arc;

use super::claim::Ledger;
use super::interrupt;
use super::journal::Journal;
use super::voice::Voice;
use crate::measure::{CaseKey, Event, JUDGED_ROUNDS, Outcome, Session, Task};
use crate::output::Bar;

/// A task, and the id of the row that it becomes.
pub struct Numbered<'c> {
    pub case_id: String,
    pub task: Task<'c>,
    /// Whether it goes on from the visits of an earlier run.
    pub goes_on: bool,
}

pub struct DeviceSession<'l, 's> {
    session: Session<'s>,
    /// The place of the device among those of the campaign.
    device: usize,
    journal: Option<&'l Journal>,
    voice: &'l Voice,
    pub bar: Arc<Bar>,
}

impl<'l, 's> DeviceSession<'l, 's> {
    pub fn new(mut session: Session<'s>, ledger: &'l Ledger, device: usize, bar: Arc<Bar>) -> Self {
        let journal = ledger.journal();
        if let Some(journal) = journal {
            session.number_processes_behind(journal.last_process());
        }
        Self { session, device, journal, voice: &ledger.claim.campaign.voice, bar }
    }

    /// Measures tasks beside each other; nothing for those that were broken off before their first visit. Whoever `hears` of what happens
    /// may end it after the current visit, as the user may.
    pub fn measure(&mut self, numbered: &[Numbered], hear: &mut dyn FnMut(&Event) -> ControlFlow<()>) -> Vec<Option<Outcome>> {
        let Self { session, device, journal, voice, bar } = self;
        let mut ids: HashMap<&CaseKey, &str> = HashMap::new();
        for Numbered { case_id, task, goes_on } in numbered {
            ids.insert(&task.key, case_id);
            if let Some(earlier) = journal.filter(|_| *goes_on).and_then(|journal| journal.take(*device, case_id)) {
                session.recall(task.key.clone(), earlier);
            }
        }
        let tasks: Vec<Task> = numbered.iter().map(|numbered| numbered.task.clone()).collect();
        session.measure(&tasks, &mut |event| {
            if let (Event::Visited(made), Some(journal)) = (&event, *journal) {
                ids.get(made.key).into_iter().for_each(|case_id| journal.note(*device, case_id, made));
            }
            let heard = hear(&event);
            show(bar, voice, event);
            if interrupt::is_asked() { ControlFlow::Break(()) } else { heard }
        })
    }

    /// Forgets the visits of cases that have rows.
    pub fn settle(&self, case_ids: &[String]) {
        self.journal.iter().for_each(|journal| journal.settle(self.device, case_ids));
    }
}

impl<'s> Deref for DeviceSession<'_, 's> {
    type Target = Session<'s>;

    fn deref(&self) -> &Session<'s> {
        &self.session
    }
}

impl DerefMut for DeviceSession<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.session
    }
}

fn show(bar: &Bar, voice: &Voice, event: Event) {
    match event {
        Event::Loading(case) => {
            bar.start(&format!("checking {} {}", case.experiment, case.point));
            bar.step();
        }
        Event::Timing(case, round) => {
            bar.start(&format!("round {round}: {} {}", case.experiment, case.point));
            // Rounds beyond those that every case has would move the bar past the cases to come.
            if round <= JUDGED_ROUNDS[0] {
                bar.step();
            }
        }
        Event::Working(case) => bar.start(&format!("{} {}", case.experiment, case.point)),
        Event::Suspected(case, failure) => voice.progress.note(&format!(
            "warning: a worker process crashed at {} {}: {}; the case is measured once more, alone, to see whether it is to blame",
            case.experiment, case.point, failure.reason
        )),
        Event::Visited(_) | Event::Round(_) => {}
        Event::Ended => bar.advance(1),
    }
}
