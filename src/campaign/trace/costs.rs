//! Records what a kernel accesses, and sums up what that costs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use rayon::prelude::*;

use super::rows;
use super::traced::{DispatchTrace, Remedy, Scoped, Traces, Tries};
use super::tracing::{Part, Pass, Tracing, Window, ends, kept, parts, windows};
use crate::model::Failure;
use crate::shader::{AccessKind, Change, Record, Recorded, Traced};
use crate::trace::remedy::{Candidate, LongerRows};
use crate::trace::requests::Requests;
use crate::trace::sites::{self, Analysis};
use crate::worker::questions::trace::{
    CompileAhead, CountOperations, Dispatched, Feasible, FindTouched, TryAlteration, TryPoint,
};

/// Workgroups in a row that are too large for a pass by themselves, before any was recorded: the rest isn't tried then.
const GIVES_UP: usize = 2;

/// About the most records of a dispatch that is explained, unless one workgroup has more: each takes the host a microsecond.
const MOST_EXPLAINED: u64 = 1 << 22;

/// The most records of a pass that are held against those of another.
const MOST_COMPARED: usize = 1 << 20;

/// What is known of a dispatch while it is recorded.
struct SoFar {
    trace: DispatchTrace,
    longer_rows: LongerRows,
    /// Of each window, the workgroups of its first pass, which is enough to look for remedies.
    first: BTreeMap<usize, Vec<u32>>,
}

impl Tracing<'_> {
    /// Records one dispatch in as many passes as its records need. Requests never join passes.
    pub(super) fn dispatch(&mut self, at: usize, what: &Dispatched) -> Result<DispatchTrace, Failure> {
        let windows = windows(&what.traced, self.most_sites(), |site| what.traced.sites[site].kind == AccessKind::Barrier);
        let groups = self.groups(what)?;
        // What is explained is recorded workgroup by workgroup as far as there is time: the first one tells what another takes.
        let (of_first, others) = groups.split_at(if self.order.tries.is_some() { 1 } else { groups.len() });
        let mut so_far = SoFar { trace: DispatchTrace::new(what), longer_rows: LongerRows::default(), first: BTreeMap::new() };
        self.record_groups(at, of_first, &windows, &mut so_far)?;
        let more = usize::try_from(MOST_EXPLAINED / so_far.trace.records.max(1)).unwrap_or(usize::MAX);
        self.record_groups(at, &others[..others.len().min(more)], &windows, &mut so_far)?;
        let SoFar { mut trace, longer_rows, mut first } = so_far;
        trace.analysis.finish(&self.order.hardware);
        trace.recorded.retain(|group| !trace.too_large.contains(group));
        let (all, groups) = (longer_rows.candidates(&what.traced), first.remove(&0).unwrap_or_default());
        trace.remedies = all.into_iter().filter_map(|one| self.remedy(at, what, &groups, one)).collect();
        Ok(trace)
    }

    /// Records these workgroups of a dispatch.
    fn record_groups(&mut self, at: usize, groups: &[u32], windows: &[Window], so_far: &mut SoFar) -> Result<(), Failure> {
        let SoFar { trace, longer_rows, first } = so_far;
        let what = trace.what.clone();
        // Those that come first are on top.
        let mut open = parts(groups, &what, windows.len());
        let bar = self.progress.bar("", open.len() as u64).untimed().of("passes");
        while let Some(part) = open.pop() {
            let window = &windows[part.window];
            bar.start(&part.words(window));
            let of_pass = Pass { dispatch: at, traced: &what.traced, sites: &window.with_barriers, part: &part, change: None };
            let (pass, words) = self.pass(&of_pass)?;
            let recorded = what.traced.recorded(&words);
            if recorded.is_cut() {
                self.divide(part, &recorded, trace, &mut open);
                continue;
            }
            if trace.passes == 0 {
                trace.differs = self.differs(&of_pass, &what.traced, &recorded)?;
            }
            let requests = self.add(at, &part, window, recorded, trace)?;
            // The instructions of one window are all that a workgroup has.
            if windows.len() == 1 && part.invocations.is_none() {
                trace.analysis.traffic.close();
            }
            if let Entry::Vacant(first) = first.entry(part.window) {
                longer_rows.add(&requests, &self.order.hardware);
                first.insert(part.groups.clone());
            }
            trace.add(pass, part.groups, requests.records() as u64);
            bar.keep_left(open.len() as u64);
        }
        Ok(())
    }

    /// Counts what arithmetic all workgroups do. Whether others can be looked at after that.
    pub(super) fn count_operations(&mut self, at: usize, trace: &mut DispatchTrace) -> bool {
        match self.respondent.ask(CountOperations { dispatch: at }) {
            Ok(counted) => trace.operations = Some(counted),
            Err(failure) => {
                self.progress.note(&format!("note: what it computes couldn't be counted: {}", failure.reason));
                return false;
            }
        }
        true
    }

    /// Marks which bytes of its buffers all workgroups touch. Whether others can be looked at after that.
    pub(super) fn find_touched(&mut self, at: usize, trace: &mut DispatchTrace) -> bool {
        let (sector_bytes, most_sites) = (self.order.hardware.sector_bytes, self.most_sites());
        match self.respondent.ask(FindTouched { dispatch: at, sector_bytes, most_sites }) {
            Ok(touched) => trace.touched = Some(touched),
            Err(failure) => {
                self.progress.note(&format!("note: which bytes it touches couldn't be marked: {}", failure.reason));
                return false;
            }
        }
        true
    }

    /// How the case can be otherwise. What takes the process with it has the rest refused as well.
    pub(super) fn try_all(&mut self, tries: &Tries, traces: &mut Traces) {
        let Scoped { whole, lines } = (tries.alterations)(&traces.dispatches, &tries.limits);
        let alterations = whole.iter().chain(&lines).cloned().collect();
        // Where that takes the process with it, each answer is why.
        let _ = self.respondent.ask(CompileAhead { alterations, points: tries.points.clone() });
        for (all, answers) in [(whole, &mut traces.alterations.whole), (lines, &mut traces.alterations.lines)] {
            for alteration in all {
                let answer = self.respondent.ask(TryAlteration { alteration: alteration.clone() });
                answers.push((alteration, answer.unwrap_or_else(|failure| Feasible::No(failure.reason))));
            }
        }
        for point in &tries.points {
            let answer = self.respondent.ask(TryPoint { point: point.clone() });
            traces.points.push((point.clone(), answer.unwrap_or_else(|failure| Feasible::No(failure.reason))));
        }
    }

    /// Writes and sums up what a pass recorded.
    fn add<'w>(
        &mut self,
        dispatch: usize,
        part: &Part,
        Window { sites, .. }: &Window,
        recorded: Recorded<'w>,
        trace: &mut DispatchTrace,
    ) -> Result<Requests<'w>, Failure> {
        if let Some(accesses) = &mut self.accesses {
            let number = (dispatch as u64, trace.passes.into());
            rows::write_accesses(accesses, &recorded, number, &part.groups, sites).map_err(|error| kept(&error))?;
        }
        let requests = Requests::of(recorded, self.order.lanes);
        let pass = sites::Pass { requests: &requests, sites, groups: &part.groups, ends: &ends(&trace.what) };
        trace.analysis.add(pass, &self.order.hardware);
        Ok(requests)
    }

    /// Whether the same workgroups access other things in another pass, as far as that is few enough to tell.
    fn differs(&mut self, of_pass: &Pass, traced: &Traced, recorded: &Recorded) -> Result<bool, Failure> {
        if recorded.records().take(MOST_COMPARED + 1).count() > MOST_COMPARED {
            return Ok(false);
        }
        let (_, words) = self.pass(of_pass)?;
        Ok(!do_agree(recorded, &traced.recorded(&words)))
    }

    /// What to do about a pass that had too little room.
    fn divide(&mut self, part: Part, recorded: &Recorded, trace: &mut DispatchTrace, open: &mut Vec<Part>) {
        if self.has_more_room(if part.groups.len() > 1 { 1 } else { 2 }) {
            open.push(part);
            return;
        }
        let halves = part.halves(recorded, &trace.what, self.order.lanes);
        if let Some([first, second]) = halves {
            open.extend([second, first]);
            return;
        }
        trace.too_large.extend(part.groups);
        // The others are hardly smaller.
        if trace.passes == 0 && trace.too_large.len() >= GIVES_UP {
            trace.too_large.extend(open.drain(..).flat_map(|part| part.groups));
        }
    }

    /// Records a pass in which an array is longer, and sees what that leaves of the conflicts. Nothing where the shader can't have that.
    fn remedy(&mut self, at: usize, what: &Dispatched, groups: &[u32], candidate: Candidate) -> Option<Remedy> {
        let Candidate { root, padding, more_bytes } = candidate;
        let accesses_it = |site: &usize| what.traced.sites[*site].target.root() == Some(root);
        let sites: Vec<usize> = (0..what.traced.sites.len()).filter(accesses_it).collect();
        let mut analysis = Analysis::default();
        let change = Change::Padding(padding.clone());
        for sites in sites.chunks(self.most_sites()) {
            let part = Part { window: 0, groups: groups.to_vec(), invocations: None };
            let (_, words) =
                self.pass(&Pass { dispatch: at, traced: &what.traced, sites, part: &part, change: Some(&change) }).ok()?;
            let recorded = what.traced.recorded(&words);
            if recorded.is_cut() {
                return None;
            }
            let requests = Requests::of(recorded, self.order.lanes);
            let of_pass = sites::Pass { requests: &requests, sites, groups, ends: &ends(what) };
            analysis.add(of_pass, &self.order.hardware);
        }
        let degrees = analysis.sums.iter().filter_map(|(at, sums)| Some((*at, sums.degree()?))).collect();
        Some(Remedy { root, padding, more_bytes, degrees })
    }
}

/// Whether each invocation accesses the same in both, in whatever order.
fn do_agree(one: &Recorded, other: &Recorded) -> bool {
    let invocations: Vec<(u32, u32, u32)> = one.invocations().collect();
    let agree = |(_, _, number): &(u32, u32, u32)| {
        let (mut one, mut other) = (accesses(one, *number), accesses(other, *number));
        one == other || {
            one.sort_unstable();
            other.sort_unstable();
            one == other
        }
    };
    other.invocations().eq(invocations.iter().copied()) && invocations.par_iter().all(agree)
}

/// The accesses of an invocation, without what a device may do in one way or another.
fn accesses<'w>(recorded: &Recorded<'w>, number: u32) -> Vec<Record<'w>> {
    recorded.placed(number).map(|(_, of)| Record { leader: 0, value: None, count: 1, ..of }).collect()
}
