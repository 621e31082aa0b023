//! What would order accesses that race: a barrier is added, and workgroups are recorded with it.

use std::collections::BTreeSet;

use super::checked::{Passes, together};
use super::traced::{Checked, DispatchTrace, unordered};
use super::tracing::{Part, Tracing, Window, ends, windows};
use crate::model::{Failure, Status};
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
    /// The workgroups to try it in, those first in which it was found.
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
        let bar = self.progress.bar("", kinds.len() as u64).untimed().of("variables");
        for (root, waits) in kinds.into_iter().take(MOST_VARIABLES) {
            bar.start("barriers that would order them");
            let groups = groups_with((root, waits), &checked.findings, trace);
            let mut task = Task { dispatch: at, what: &trace.what, root, waits, groups };
            // Where a pass fails, nothing is known of barriers; what was found stands.
            let left = left(&checked.findings, root, waits);
            let found = if waits { self.barriers(&mut task, left) } else { self.fence(&mut task) };
            match found {
                Ok(Some(barriers)) => drop(checked.orderings.insert((root, waits), barriers)),
                Ok(None) => {}
                Err(failure) => {
                    self.progress.note(&format!("note: barriers to add weren't tried: {}", failure.reason));
                    if failure.status != Status::Skipped {
                        return false;
                    }
                }
            }
            bar.advance(1);
        }
        true
    }

    /// Barriers at which all wait; nothing where those that were tried leave a race.
    fn barriers(&mut self, task: &mut Task, mut causes: Vec<[usize; 2]>) -> Result<Option<Vec<AddedBarrier>>, Failure> {
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
    fn fence(&mut self, task: &mut Task) -> Result<Option<Vec<AddedBarrier>>, Failure> {
        let sites = &task.what.traced.sites;
        let is_met = |site: &usize| {
            let site = &sites[*site];
            site.kind == AccessKind::Barrier && site.sync.is_some_and(|sync| sync.execution == Some(SyncScope::Workgroup))
        };
        for site in (0..sites.len()).filter(is_met).take(MOST_PLACES) {
            let what = Unordered { sites: [site, site], buffers: task.is_of_buffers() };
            let places = self.respondent.ask(FindBarriers { dispatch: task.dispatch, what })?;
            // Calls that lead to the barrier come first.
            let line = &sites[site].line;
            let Some(place) = places.iter().find(|place| place.line == *line).or(places.first()) else { continue };
            let all = vec![place.without_waiting()];
            if self.left_with(task, &all)?.is_some_and(|left| left.is_empty()) {
                return Ok(Some(all));
            }
        }
        Ok(None)
    }

    /// Of some places those to which all invocations of a workgroup come, and equally often. Nobody waits while that is looked at.
    fn uniform(&mut self, task: &mut Task, places: Vec<AddedBarrier>) -> Result<Vec<AddedBarrier>, Failure> {
        let barriers: Vec<AddedBarrier> = places.iter().map(AddedBarrier::without_waiting).collect();
        let WithBarriers { traced, added } =
            self.respondent.ask(AddBarriers { dispatch: task.dispatch, barriers: barriers.clone() })?;
        let mut sites: Vec<usize> = added.iter().flatten().copied().collect();
        sites.sort_unstable();
        let window = Window { sites: sites.clone(), with_barriers: sites };
        let passes = self.tried(task, &traced, &Change::Barriers(barriers), &[window])?;
        let recorded: Vec<Recorded> = passes.iter().map(|(_, words)| traced.recorded(words)).collect();
        let invocations: u32 = task.what.local_size.iter().product();
        let is_met = |site: usize| {
            let is_uniform = |place: usize| {
                let place = u32::try_from(place).unwrap_or(u32::MAX);
                recorded.iter().all(|recorded| is_uniform(recorded, place, invocations, site))
            };
            (0..task.groups.len()).all(is_uniform)
        };
        let all = places.into_iter().zip(added).filter(|(_, site)| site.is_some_and(is_met));
        Ok(all.map(|(place, _)| place).collect())
    }

    /// Records a trial. Where a pass has too little room it gets more, or fewer workgroups.
    fn tried(&mut self, task: &mut Task, traced: &Traced, change: &Change, windows: &[Window]) -> Result<Passes, Failure> {
        loop {
            if let Some(passes) = self.windows(task.dispatch, traced, Some(change), windows, &task.part())? {
                return Ok(passes);
            }
            let groups = task.groups.len();
            if !self.has_more_room(if groups > 1 { 1 } else { 2 }) {
                if groups <= 1 {
                    return Err(Failure::new(Status::Skipped, "a workgroup makes more accesses than a pass has room for"));
                }
                task.groups.truncate(groups.div_ceil(2));
            }
        }
    }

    /// What is left unordered with some barriers, by the indexes that instructions have without them; nothing where that can't be told, or
    /// these are barriers to which not all come.
    fn left_with(&mut self, task: &mut Task, barriers: &[AddedBarrier]) -> Result<Option<Vec<[usize; 2]>>, Failure> {
        let Task { what, root, waits, .. } = *task;
        let question = AddBarriers { dispatch: task.dispatch, barriers: barriers.to_vec() };
        let WithBarriers { traced, added } = self.respondent.ask(question)?;
        let change = Change::Barriers(barriers.to_vec());
        let windows = task.windows(&traced, self.most_sites());
        let passes = self.tried(task, &traced, &change, &windows)?;
        let recorded: Vec<Recorded> = passes.iter().map(|(_, words)| traced.recorded(words)).collect();
        let mut findings = Findings::default();
        let invocations: u32 = what.local_size.iter().product();
        for (place, number) in (0..).zip(&task.part().groups) {
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
        let mut groups = self.groups.clone();
        groups.sort_unstable();
        Part { window: 0, groups, invocations: None }
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

/// Workgroups of those that were recorded, those first in which something was found.
fn groups_with(kind: (Root, bool), findings: &Findings, trace: &DispatchTrace) -> Vec<u32> {
    let with = findings.all.iter().filter(|(cause, _)| unordered(cause) == Some(kind));
    let with: BTreeSet<u32> = with.map(|(_, found)| found.first.group).collect();
    with.iter().chain(trace.recorded.difference(&with)).copied().take(together(&trace.what)).collect()
}

/// The pairs of instructions whose accesses of a variable aren't ordered, or aren't seen.
fn left(findings: &Findings, root: Root, waits: bool) -> Vec<[usize; 2]> {
    let is_same_value = |cause: &Cause| waits && cause.class == Class::SameValue && cause.root == root;
    let is_it = |cause: &&Cause| unordered(cause) == Some((root, waits)) || is_same_value(cause);
    findings.all.keys().filter(is_it).map(|cause| [cause.first, cause.second.unwrap_or(cause.first)]).collect()
}
