//! What would order accesses that race: a barrier is added, and workgroups are recorded with it.

use std::collections::BTreeSet;

use super::traced::{Checked, DispatchTrace, unordered};
use super::tracing::{MOST_INVOCATIONS, Part, Pass, Tracing, Window, ends, windows};
use crate::model::Failure;
use crate::shader::{AccessKind, AddedBarrier, Change, Recorded, Space, SyncScope, Target, Traced, Unordered};
use crate::trace::check::{Cause, Class, Findings, Workgroup, is_uniform, orders};
use crate::worker::questions::trace::{AddBarriers, Dispatched, FindBarriers, WithBarriers};

/// Variables for which barriers are tried, barriers that one may take, and places that are tried for each.
const MOST_VARIABLES: usize = 4;
const MOST_BARRIERS: usize = 3;
const MOST_PLACES: usize = 6;

/// A variable whose accesses race, by its index; nothing of addresses.
type Root = Option<usize>;

/// What is to be ordered, and how.
struct Task<'t> {
    dispatch: usize,
    what: &'t Dispatched,
    root: Root,
    /// Whether all are to wait, or what is written is only to be seen.
    waits: bool,
    groups: Vec<u32>,
}

impl Tracing<'_> {
    /// Looks for barriers that order what isn't ordered, and keeps those with which nothing is left of it.
    /// Whether others can be looked at after that.
    pub(super) fn order_accesses(&mut self, at: usize, trace: &mut DispatchTrace) -> bool {
        let Some(mut checked) = trace.checked.take() else { return true };
        let can_go_on = self.order_checked(at, trace, &mut checked);
        trace.checked = Some(checked);
        can_go_on
    }

    fn order_checked(&mut self, at: usize, trace: &DispatchTrace, checked: &mut Checked) -> bool {
        let kinds: BTreeSet<(Root, bool)> = checked.findings.all.keys().filter_map(unordered).collect();
        let invocations: u32 = trace.what.local_size.iter().product();
        let most = (MOST_INVOCATIONS / (invocations as usize).max(1)).max(1);
        let groups: Vec<u32> = trace.recorded.iter().copied().take(most).collect();
        let bar = self.progress.bar("", kinds.len() as u64).untimed().of("variables");
        for (root, waits) in kinds.into_iter().take(MOST_VARIABLES) {
            bar.start("barriers that would order them");
            let task = Task { dispatch: at, what: &trace.what, root, waits, groups: groups.clone() };
            // Where a pass fails, nothing is known of barriers; what was found stands.
            let found = if waits { self.barriers(&task, left(&checked.findings, root, waits)) } else { self.fence(&task) };
            match found {
                Ok(Some(barriers)) => drop(checked.orderings.insert((root, waits), barriers)),
                Ok(None) => {}
                Err(failure) => {
                    self.progress.detail(&format!("barriers weren't tried: {}", failure.reason));
                    return false;
                }
            }
            bar.advance(1);
        }
        true
    }

    /// Barriers at which all wait; nothing where those that were tried leave a race.
    fn barriers(&mut self, task: &Task, mut causes: Vec<[usize; 2]>) -> Result<Option<Vec<AddedBarrier>>, Failure> {
        let mut chosen: Vec<AddedBarrier> = Vec::new();
        while let Some(sites) = causes.first().filter(|_| chosen.len() < MOST_BARRIERS) {
            let what = Unordered { sites: *sites, buffers: task.is_of_buffers() };
            let places = self.respondent.ask(FindBarriers { dispatch: task.dispatch, what })?;
            let mut best: Option<(Vec<[usize; 2]>, AddedBarrier)> = None;
            for barrier in self.uniform(task, places)?.into_iter().take(MOST_PLACES) {
                let all: Vec<AddedBarrier> = chosen.iter().cloned().chain([barrier.clone()]).collect();
                let Some(left) = self.left_with(task, &all)? else { continue };
                if left.is_empty() {
                    return Ok(Some(all));
                }
                if left.len() < best.as_ref().map_or(causes.len(), |(best, _)| best.len()) {
                    best = Some((left, barrier));
                }
            }
            let Some((left, barrier)) = best else { return Ok(None) };
            chosen.push(barrier);
            causes = left;
        }
        Ok(None)
    }

    /// What orders memory in front of a barrier that there is.
    fn fence(&mut self, task: &Task) -> Result<Option<Vec<AddedBarrier>>, Failure> {
        let is_met = |site: &usize| {
            let site = &task.what.traced.sites[*site];
            site.kind == AccessKind::Barrier && site.sync.is_some_and(|sync| sync.execution == Some(SyncScope::Workgroup))
        };
        for site in (0..task.what.traced.sites.len()).filter(is_met).take(MOST_PLACES) {
            let what = Unordered { sites: [site, site], buffers: task.is_of_buffers() };
            let places = self.respondent.ask(FindBarriers { dispatch: task.dispatch, what })?;
            // Calls that lead to the barrier come first.
            let line = &task.what.traced.sites[site].line;
            let Some(place) = places.iter().find(|place| place.line == *line).or(places.first()) else { continue };
            let all = vec![place.without_waiting()];
            if self.left_with(task, &all)?.is_some_and(|left| left.is_empty()) {
                return Ok(Some(all));
            }
        }
        Ok(None)
    }

    /// Of some places those to which all invocations of a workgroup come, and equally often. Nobody waits while that is looked at.
    fn uniform(&mut self, task: &Task, places: Vec<AddedBarrier>) -> Result<Vec<AddedBarrier>, Failure> {
        let barriers: Vec<AddedBarrier> = places.iter().map(AddedBarrier::without_waiting).collect();
        let WithBarriers { traced, added } =
            self.respondent.ask(AddBarriers { dispatch: task.dispatch, barriers: barriers.clone() })?;
        let mut sites: Vec<usize> = added.iter().flatten().copied().collect();
        sites.sort_unstable();
        let (change, part) = (Change::Barriers(barriers), task.part());
        let (_, words) =
            self.pass(&Pass { dispatch: task.dispatch, traced: &traced, sites: &sites, part: &part, change: Some(&change) })?;
        let recorded = traced.recorded(&words);
        let invocations: u32 = task.what.local_size.iter().product();
        let is_met = |site: usize| (0..).zip(&task.groups).all(|(place, _)| is_uniform(&recorded, place, invocations, site));
        let all = places.into_iter().zip(added).filter(|(_, site)| !recorded.is_cut() && site.is_some_and(is_met));
        Ok(all.map(|(place, _)| place).collect())
    }

    /// What is left unordered with some barriers, by the indexes that instructions have without them; nothing where that can't be told, or
    /// these are barriers to which not all come.
    fn left_with(&mut self, task: &Task, barriers: &[AddedBarrier]) -> Result<Option<Vec<[usize; 2]>>, Failure> {
        let Task { dispatch, what, root, waits, .. } = *task;
        let question = AddBarriers { dispatch, barriers: barriers.to_vec() };
        let WithBarriers { traced, added } = self.respondent.ask(question)?;
        let change = Change::Barriers(barriers.to_vec());
        let windows = task.windows(&traced, self.most_sites());
        let Some(passes) = self.windows(dispatch, &traced, Some(&change), &windows, &task.part())? else { return Ok(None) };
        let recorded: Vec<Recorded> = passes.iter().map(|(_, words)| traced.recorded(words)).collect();
        let mut findings = Findings::default();
        let invocations: u32 = what.local_size.iter().product();
        for (place, number) in (0..).zip(&task.groups) {
            findings.add(&Workgroup { passes: &recorded, place, number: *number, invocations }, &ends(what));
        }
        findings.settle();
        let is_added = |site: usize| added.contains(&Some(site));
        let is_bad = |cause: &Cause| {
            let is_of_barriers = matches!(cause.class, Class::Divergence | Class::LeftOut | Class::Exited);
            is_of_barriers && (is_added(cause.first) || cause.second.is_some_and(is_added))
        };
        if findings.unsteady > 0 || findings.unfinished > 0 || findings.all.keys().any(is_bad) {
            return Ok(None);
        }
        let before = |site: usize| site - added.iter().flatten().filter(|other| **other < site).count();
        Ok(Some(left(&findings, root, waits).into_iter().map(|sites| sites.map(before)).collect()))
    }
}

impl Task<'_> {
    fn part(&self) -> Part {
        Part { window: 0, groups: self.groups.clone(), invocations: None }
    }

    fn is_of_buffers(&self) -> bool {
        let root = self.root.and_then(|root| self.what.traced.roots.get(root));
        root.is_none_or(|root| root.space != Space::Shared)
    }

    /// The instructions that may access the variable, and all that order accesses.
    fn windows(&self, traced: &Traced, most: usize) -> Vec<Window> {
        let may_access = |site: usize| match &traced.sites[site].target {
            Target::Root { root, .. } => Some(*root) == self.root,
            Target::Chosen { .. } | Target::Address { .. } => true,
            Target::Nothing | Target::Unfollowed(_) => false,
        };
        let mut all = windows(traced, most, |site| orders(traced, site) || !may_access(site));
        for window in &mut all {
            window.with_barriers.retain(|site| may_access(*site) || orders(traced, *site));
        }
        all
    }
}

/// The pairs of instructions whose accesses of a variable aren't ordered, or aren't seen.
fn left(findings: &Findings, root: Root, waits: bool) -> Vec<[usize; 2]> {
    let is_same_value = |cause: &Cause| waits && cause.class == Class::SameValue && cause.root == root;
    let is_it = |cause: &&Cause| unordered(cause) == Some((root, waits)) || is_same_value(cause);
    findings.all.keys().filter(is_it).map(|cause| [cause.first, cause.second.unwrap_or(cause.first)]).collect()
}
