//! Records workgroups to see what their invocations do to one another.

use std::collections::BTreeSet;

use super::traced::{Checked, DispatchTrace, Groups};
use super::tracing::{MOST_INVOCATIONS, Part, Pass, Tracing, Window, count, ends, windows};
use crate::model::Failure;
use crate::shader::{AccessKind, Change, Overrun, Recorded, Traced};
use crate::trace::check::{Workgroup, orders};
use crate::worker::questions::trace::{Dispatched, LookAtBounds, RecordedPass};

/// Passes that look for workgroups that come to certain instructions.
const MOST_LOOKS: usize = 8;

/// Passes of the same workgroups, one for each window, and the words that they recorded.
pub(super) type Passes = Vec<(RecordedPass, Vec<u32>)>;

impl Tracing<'_> {
    /// Looks at workgroups one by one: each is recorded whole, or not at all.
    pub(super) fn check(&mut self, at: usize, what: &Dispatched) -> Result<DispatchTrace, Failure> {
        let groups = self.groups(what)?;
        let windows = windows(&what.traced, self.most_sites(), |site| orders(&what.traced, site));
        let mut trace = DispatchTrace { checked: Some(Checked::default()), ..DispatchTrace::new(what) };
        self.check_groups(at, what, &groups, &windows, &mut trace)?;
        if matches!(self.order.groups, Groups::Spread(_)) {
            let groups = self.reaching(at, &trace);
            self.check_groups(at, what, &groups, &windows, &mut trace)?;
        }
        if let Some(checked) = &mut trace.checked {
            checked.findings.settle();
        }
        Ok(trace)
    }

    fn check_groups(
        &mut self,
        at: usize,
        what: &Dispatched,
        groups: &[u32],
        windows: &[Window],
        trace: &mut DispatchTrace,
    ) -> Result<(), Failure> {
        let invocations: u32 = what.local_size.iter().product();
        let mut open: Vec<Vec<u32>> = groups.chunks(together(what)).map(<[u32]>::to_vec).collect();
        open.reverse();
        let bar = self.progress.bar("", open.len() as u64).untimed().of("passes");
        while let Some(groups) = open.pop() {
            let part = Part { window: 0, groups, invocations: None };
            bar.start(&part.words(&windows[0]));
            let Some(passes) = self.windows(at, &what.traced, None, windows, &part)? else {
                self.fewer(part.groups, &mut trace.too_large, &mut open);
                continue;
            };
            let recorded: Vec<Recorded> = passes.iter().map(|(_, words)| what.traced.recorded(words)).collect();
            let checked = trace.checked.get_or_insert_default();
            checked.count(windows, &recorded);
            for (place, number) in (0..).zip(&part.groups) {
                let workgroup = Workgroup { passes: &recorded, place, number: *number, invocations };
                checked.findings.add(&workgroup, &ends(what));
            }
            let records: u64 = recorded.iter().map(|pass| pass.records().count() as u64).sum();
            drop(recorded);
            for (pass, _) in passes {
                trace.add(pass, part.groups.clone(), 0);
            }
            trace.records += records;
            bar.keep_left(open.len() as u64);
        }
        Ok(())
    }

    /// The lowest workgroups that come to instructions which none came to that was checked.
    fn reaching(&mut self, at: usize, trace: &DispatchTrace) -> Vec<u32> {
        let what = &trace.what;
        let mut missing = trace.unreached();
        missing.truncate(self.most_sites());
        let together = together(what);
        let most = u32::try_from(together * MOST_LOOKS).unwrap_or(u32::MAX);
        let mut others = Groups::Spread(most).of(count(what.groups));
        others.retain(|group| !trace.recorded.contains(group) && !trace.too_large.contains(group));
        let mut found = BTreeSet::new();
        let bar = self.progress.bar("", others.len().div_ceil(together) as u64).untimed().of("passes");
        for groups in others.chunks(together) {
            if missing.is_empty() {
                break;
            }
            bar.start("looking for workgroups that come to other code");
            let part = Part { window: 0, groups: groups.to_vec(), invocations: None };
            let pass = Pass { dispatch: at, traced: &what.traced, sites: &missing, part: &part, change: None };
            let words = match self.pass(&pass) {
                Ok((_, words)) => words,
                Err(failure) => {
                    let words = format!("note: which workgroups come to all code couldn't be looked at: {}", failure.reason);
                    self.progress.note(&words);
                    break;
                }
            };
            // Of a pass that is cut, what was recorded says enough.
            let mut reached = BTreeSet::new();
            for record in what.traced.recorded(&words).records() {
                if reached.insert(record.site) {
                    found.insert(groups[record.group as usize]);
                }
            }
            missing.retain(|site| !reached.contains(site));
            bar.advance(1);
        }
        found.into_iter().collect()
    }

    /// Records all windows of some workgroups; nothing where one had too little room.
    pub(super) fn windows(
        &mut self,
        at: usize,
        traced: &Traced,
        change: Option<&Change>,
        windows: &[Window],
        part: &Part,
    ) -> Result<Option<Passes>, Failure> {
        let mut passes = Vec::new();
        for window in windows {
            let (pass, words) = self.pass(&Pass { dispatch: at, traced, sites: &window.with_barriers, part, change })?;
            if traced.recorded(&words).is_cut() {
                return Ok(None);
            }
            passes.push((pass, words));
        }
        Ok(Some(passes))
    }

    /// What is beyond an end in any workgroup; nothing where that can't be looked at.
    pub(super) fn overruns(&mut self) -> Option<Vec<Overrun>> {
        let looked = self.respondent.ask(LookAtBounds { point: self.order.key.point.clone() });
        if let Err(failure) = &looked {
            let words =
                format!("note: whether other workgroups stay within their arrays couldn't be looked at: {}", failure.reason);
            self.progress.note(&words);
        }
        looked.ok()
    }

    fn fewer(&mut self, groups: Vec<u32>, too_large: &mut BTreeSet<u32>, open: &mut Vec<Vec<u32>>) {
        if self.has_more_room(if groups.len() > 1 { 1 } else { 2 }) {
            open.push(groups);
        } else if groups.len() > 1 {
            let (first, second) = groups.split_at(groups.len() / 2);
            open.extend([second.to_vec(), first.to_vec()]);
        } else {
            too_large.extend(groups);
        }
    }
}

/// Workgroups that one pass may record.
pub(super) fn together(what: &Dispatched) -> usize {
    let invocations: u32 = what.local_size.iter().product();
    (MOST_INVOCATIONS / (invocations as usize).max(1)).max(1)
}

impl Checked {
    fn count(&mut self, windows: &[Window], recorded: &[Recorded]) {
        for (window, recorded) in windows.iter().zip(recorded) {
            let sites = &recorded.traced().sites;
            let is_access = |site: usize| {
                !matches!(sites[site].kind, AccessKind::Barrier | AccessKind::Fence)
                    && window.sites.binary_search(&site).is_ok()
            };
            for record in recorded.records() {
                self.reached.insert(record.site);
                self.accesses += u64::from(is_access(record.site));
                self.followed += u64::from(is_access(record.site) && record.offset.is_some());
            }
        }
    }
}
