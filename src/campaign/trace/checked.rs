//! Records workgroups to see what their invocations do to one another.

use std::collections::BTreeSet;

use super::traced::{Checked, DispatchTrace};
use super::tracing::{MOST_INVOCATIONS, Part, Pass, Tracing, Window, ends, windows};
use crate::model::Failure;
use crate::shader::{AccessKind, Change, Overrun, Recorded, Traced};
use crate::trace::check::{Workgroup, orders};
use crate::worker::questions::trace::{Dispatched, LookAtBounds, RecordedPass};

/// Passes of the same workgroups, one for each window, and the words that they recorded.
type Passes = Vec<(RecordedPass, Vec<u32>)>;

impl Tracing<'_> {
    /// Looks at workgroups one by one: each is recorded whole, or not at all.
    pub(super) fn check(&mut self, at: usize, what: &Dispatched) -> Result<DispatchTrace, Failure> {
        let groups = self.groups(what)?;
        let windows = windows(&what.traced, self.most_sites(), |site| orders(&what.traced, site));
        let (mut trace, mut checked) = (DispatchTrace::new(what), Checked::default());
        let invocations: u32 = what.local_size.iter().product();
        let together = (MOST_INVOCATIONS / (invocations as usize).max(1)).max(1);
        let mut open: Vec<Vec<u32>> = groups.chunks(together).map(<[u32]>::to_vec).collect();
        open.reverse();
        let bar = self.progress.bar("", open.len() as u64).untimed().of("passes");
        while let Some(groups) = open.pop() {
            let part = Part { window: 0, groups, invocations: None };
            bar.start(&part.words(&windows[0]));
            let Some(passes) = self.windows(at, &what.traced, None, &windows, &part)? else {
                self.fewer(part.groups, &mut trace.too_large, &mut open);
                continue;
            };
            let recorded: Vec<Recorded> = passes.iter().map(|(_, words)| what.traced.recorded(words)).collect();
            checked.count(&windows, &recorded);
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
        checked.findings.settle();
        trace.checked = Some(checked);
        Ok(trace)
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

impl Checked {
    fn count(&mut self, windows: &[Window], recorded: &[Recorded]) {
        for (window, recorded) in windows.iter().zip(recorded) {
            let sites = &recorded.traced().sites;
            let is_access = |site: usize| {
                !matches!(sites[site].kind, AccessKind::Barrier | AccessKind::Fence)
                    && window.sites.binary_search(&site).is_ok()
            };
            for record in recorded.records().filter(|record| is_access(record.site)) {
                self.accesses += 1;
                self.followed += u64::from(record.offset.is_some());
            }
        }
    }
}
