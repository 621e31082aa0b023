//! A race among the cases of a block: short first visits, and who leaves after a round.

use std::collections::VecDeque;
use std::time::Duration;

use super::block::Block;
use super::block_case::BlockCase;
use super::flags;
use super::race::Race;
use super::session::Rule;
use super::visit::FAR_SLOWER;
use crate::model::Stop;
use crate::stats;

/// The most samples of a visit that is about who is faster. Most cases of a race are beaten by their first one, and the spread of five is
/// enough to tell; of those beside each other more rounds tell more than more samples.
const FEW_SAMPLES: u32 = 5;

/// After so many rounds a race is over: it tells who may be the fastest, not who is.
const ROUNDS: usize = 3;

/// How many samples the next visit of a round has at most.
pub(super) struct MostSamples {
    rule: Rule,
    /// The pass of the fastest, as far as choosing sizes has told.
    fastest: Option<Duration>,
}

impl MostSamples {
    pub(super) fn new(rule: Rule, entries: &[BlockCase]) -> Self {
        Self { rule, fastest: entries.iter().filter_map(pass_time).min() }
    }

    /// One for what is far slower than the fastest of a race. A pair is about its ratio, which takes as many as ever.
    pub(super) fn of(&self, entry: &BlockCase) -> Option<u32> {
        let is_far_slower =
            || pass_time(entry).zip(self.fastest).is_some_and(|(time, fastest)| time > fastest.mul_f64(FAR_SLOWER));
        match self.rule {
            Rule::Each => None,
            _ if entry.is_paired() => None,
            Rule::Race | Rule::Glance if is_far_slower() => Some(1),
            Rule::Race | Rule::Glance | Rule::Beside => Some(FEW_SAMPLES),
        }
    }
}

fn pass_time(entry: &BlockCase) -> Option<Duration> {
    entry.sizes.and_then(|(sizes, _)| sizes.pass_time(entry.case()))
}

/// Whether it was slower in the rounds that both took part in.
fn is_slower(entry: &BlockCase, leader: &BlockCase) -> bool {
    let ratios: Vec<f64> =
        stats::common(&entry.timed_rounds(), &leader.timed_rounds()).iter().map(|(ratio, _)| *ratio).collect();
    ratios.is_empty() || stats::median(&ratios) > 1.0
}

/// Whether its visits tell how slow it is: a single one that was disturbed doesn't.
fn is_told(entry: &BlockCase) -> bool {
    entry.visits.len() > 1 || entry.visits.iter().all(|(_, visited)| flags::is_steady(&visited.conditions))
}

impl Block<'_, '_, '_> {
    /// Ends what is beaten, and what has had its rounds.
    pub(super) fn race(&mut self, slot: usize, entries: &mut [BlockCase]) {
        self.drop_beaten(slot, entries);
        if self.observing.goes_on {
            self.end_glanced(entries, ROUNDS);
        }
    }

    /// Ends what is beaten. Only what computes right beats others: the leader is compared after a timed batch, at a slot where it was
    /// just timed, and another one leads if that fails.
    fn drop_beaten(&mut self, slot: usize, entries: &mut [BlockCase]) {
        let rounds: Vec<_> = entries.iter().map(|entry| entry.rounds(|visit| &visit.samples)).collect();
        let floor = self.session.pool.instrument().floor;
        let left: Vec<f64> = entries.iter().map(|entry| entry.carried(floor).left.0).collect();
        let race = Race::new(&rounds).carrying(&left);
        loop {
            let leads = |i: &usize| self.may_lead(&entries[*i]);
            let Some(leader) = race.leader((0..entries.len()).filter(leads)) else { return };
            let is_beaten = |&i: &usize| {
                let is_slower = race.is_beaten(i, leader) && is_slower(&entries[i], &entries[leader]);
                entries[i].is_active() && is_slower && (is_told(&entries[i]) || race.is_far_beaten(i, leader))
            };
            let mut beaten = (0..entries.len()).filter(is_beaten).peekable();
            if beaten.peek().is_none() {
                return;
            }
            if entries[leader].is_right || entries[leader].ended.is_some() {
                let beaten: Vec<usize> = beaten.collect();
                return beaten.into_iter().for_each(|i| self.beat(&mut entries[i], leader));
            }
            match entries[leader].place(&self.session.pool, slot) {
                Some(place) => self.check_at(slot, entries, VecDeque::from([(leader, place)])),
                // Its bench was lost: there is another round.
                None => return,
            }
            if !entries[leader].checked[slot] {
                return;
            }
            entries[leader].is_right = !matches!(entries[leader].ended, Some(Err(_)));
        }
    }

    /// Ends what was visited so often. Its first pass was compared; what a timed batch leaves behind is compared of what is measured
    /// again.
    pub(super) fn end_glanced(&mut self, entries: &mut [BlockCase], rounds: usize) {
        for entry in entries.iter_mut().filter(|entry| entry.is_active() && entry.visits.len() >= rounds) {
            entry.ended = Some(Ok(Stop::Glanced));
            self.observing.see_end(entry);
        }
    }

    /// What was measured to the end may, or may still be. A time that can't be right beats nothing.
    fn may_lead(&self, entry: &BlockCase) -> bool {
        let runs = match entry.ended {
            None => !entry.is_deferred,
            Some(Ok(stop)) => stop != Stop::Beaten,
            Some(Err(_)) => false,
        };
        let time = entry.rounds(|visit| &visit.samples).value();
        runs && entry.implausible().is_none() && self.session.beyond_limit(entry, time).is_none()
    }

    fn beat(&mut self, entry: &mut BlockCase, leader: usize) {
        entry.ended = Some(Ok(Stop::Beaten));
        entry.beaten_by = Some(leader);
        self.observing.see_end(entry);
    }

    /// What was beaten by something that failed later goes on. Tells whether there is any.
    pub(super) fn revive(entries: &mut [BlockCase]) -> bool {
        let mut any = false;
        for i in 0..entries.len() {
            let rival = entries[i].beaten_by.filter(|&rival| matches!(entries[rival].ended, Some(Err(_))));
            if rival.is_some() {
                (entries[i].ended, entries[i].beaten_by) = (None, None);
                any = true;
            }
        }
        any
    }
}
