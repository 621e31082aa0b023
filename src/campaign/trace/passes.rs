//! Records what a kernel accesses, and sums up what that costs.

use std::io::Write;
use std::path::Path;

use tempfile::TempDir;

use super::rows;
use super::traced::{DispatchTrace, Order, Remedy, Traces};
use crate::campaign::begin::Campaign;
use crate::model::{DeviceInfo, Failure, Status};
use crate::output::trace::Rows;
use crate::regular::{self, Kind};
use crate::shader::{Padding, Record, Recorded, Space, Traced};
use crate::trace::remedy::{Candidate, candidates};
use crate::trace::requests::Requests;
use crate::trace::sites::Analysis;
use crate::worker::Identity;
use crate::worker::questions::Respondent;
use crate::worker::questions::trace::{Dispatched, OpenTrace, RecordPass, RecordedPass};

/// What a pass recorded, which this run's own process wrote.
const RECORDS: Kind = Kind { what: "the records of a pass", largest: 1 << 32, may_stream: false };

/// Words of records that there is room for: at first, where that isn't enough for several workgroups, and where it isn't for one.
const ROOM: [u64; 3] = [1 << 24, 1 << 26, 1 << 28];

/// Workgroups in a row that are too large for a pass by themselves, before any was recorded: the rest isn't tried then.
const GIVES_UP: usize = 2;

/// The most records of a pass that are held against those of another.
const MOST_COMPARED: usize = 1 << 20;

/// Where each access is written, one row after the other.
pub type AccessRows = Rows<Box<dyn Write>>;

/// Records a case's dispatches. Each access is written as well where there is a place for it.
///
/// # Errors
/// Why the case can't run, or not be rewritten.
pub fn trace(campaign: &Campaign, order: &Order, accesses: Option<&mut AccessRows>) -> Result<Traces, Failure> {
    let place = campaign.targets.device(0);
    let mut respondent = campaign.targets.respondent(place)?;
    let settings = &campaign.settings;
    let untraced = respondent.ask(OpenTrace {
        device: Identity::at_place(&place.info, place.index),
        queue: settings.queue,
        deadline: settings.submission_deadline(),
        preset: settings.preset,
        seed: settings.seed,
        key: order.key.clone(),
        subject: order.subject.clone().map(Box::new),
    })?;
    order.groups.check(untraced.dispatches.iter().map(|what| count(what.groups)).max().unwrap_or(0))?;
    let folder = TempDir::new().map_err(|error| kept(&error))?;
    let mut tracing = Tracing { respondent, order, device: &place.info, folder: folder.path(), files: 0, size: 0, accesses };
    let dispatches: Result<_, _> =
        untraced.dispatches.iter().enumerate().map(|(at, what)| tracing.dispatch(at, what)).collect();
    Ok(Traces { dispatches: dispatches?, untraced: untraced.clone() })
}

fn count(groups: [u32; 3]) -> u32 {
    groups.into_iter().fold(1, u32::saturating_mul)
}

fn kept(error: &std::io::Error) -> Failure {
    Failure::new(Status::Error, format!("can't keep what was recorded: {error}"))
}

struct Tracing<'a> {
    respondent: Respondent<'a>,
    order: &'a Order,
    device: &'a DeviceInfo,
    folder: &'a Path,
    files: u32,
    /// Which of the sizes of a pass is taken.
    size: usize,
    accesses: Option<&'a mut AccessRows>,
}

impl Tracing<'_> {
    /// Records one dispatch in as many passes as its records need. A pass has whole workgroups: requests never join passes.
    fn dispatch(&mut self, at: usize, what: &Dispatched) -> Result<DispatchTrace, Failure> {
        let count = count(what.groups);
        let mut found: Option<DispatchTrace> = None;
        let mut padded: Vec<(Vec<u32>, Candidate)> = Vec::new();
        // Those that come first are on top.
        let mut open = vec![self.order.groups.of(count)];
        while let Some(groups) = open.pop().filter(|groups| !groups.is_empty()) {
            let (pass, words) = self.pass(at, &groups, None)?;
            let trace = found.get_or_insert_with(|| DispatchTrace::new(what, pass.traced.clone()));
            let recorded = trace.traced.recorded(&words);
            if recorded.is_cut() {
                self.divide(groups, trace, &mut open);
                continue;
            }
            if let Some(accesses) = &mut self.accesses {
                let number = (at as u64, trace.passes.into());
                rows::write_accesses(accesses, &recorded, number, &groups).map_err(|error| kept(&error))?;
            }
            if trace.passes == 0 {
                trace.differs = self.differs(at, &groups, &recorded)?;
            }
            let requests = Requests::of(recorded, self.order.lanes);
            if trace.passes == 0 {
                let all = candidates(&requests, &trace.traced, &self.order.hardware);
                padded.extend(all.into_iter().map(|one| (groups.clone(), one)));
            }
            trace.analysis.add(&requests, &trace.traced, &self.order.hardware, &ends(&trace.traced, what));
            let records = requests.records() as u64;
            trace.add(pass, groups, records);
        }
        let none = || Failure::new(Status::Skipped, "the dispatch has no such workgroup: nothing was recorded");
        let mut found = found.ok_or_else(none)?;
        found.remedies = padded.into_iter().filter_map(|(groups, one)| self.remedy(at, what, &groups, one)).collect();
        Ok(found)
    }

    /// Whether the same workgroups access other things in another pass, as far as that is few enough to tell.
    fn differs(&mut self, at: usize, groups: &[u32], recorded: &Recorded) -> Result<bool, Failure> {
        if recorded.records().take(MOST_COMPARED + 1).count() > MOST_COMPARED {
            return Ok(false);
        }
        let (RecordedPass { traced, .. }, words) = self.pass(at, groups, None)?;
        Ok(accesses(&traced.recorded(&words)) != accesses(recorded))
    }

    /// What to do about a pass that had too little room.
    fn divide(&mut self, groups: Vec<u32>, trace: &mut DispatchTrace, open: &mut Vec<Vec<u32>>) {
        if self.has_more_room(if groups.len() > 1 { 1 } else { 2 }) {
            open.push(groups);
        } else if groups.len() > 1 {
            let (first, second) = groups.split_at(groups.len() / 2);
            open.extend([second.to_vec(), first.to_vec()]);
        } else {
            trace.too_large.extend(groups);
            // The others are hardly smaller.
            if trace.passes == 0 && trace.too_large.len() >= GIVES_UP {
                trace.too_large.extend(open.drain(..).flatten());
            }
        }
    }

    /// Records a pass in which an array is longer, and sees what that leaves of the conflicts. Nothing where the shader can't have that.
    fn remedy(&mut self, at: usize, what: &Dispatched, groups: &[u32], candidate: Candidate) -> Option<Remedy> {
        let Candidate { root, padding, more_bytes } = candidate;
        let (RecordedPass { traced, .. }, words) = self.pass(at, groups, Some(padding.clone())).ok()?;
        let recorded = traced.recorded(&words);
        if recorded.is_cut() {
            return None;
        }
        let mut analysis = Analysis::default();
        analysis.add(&Requests::of(recorded, self.order.lanes), &traced, &self.order.hardware, &ends(&traced, what));
        let own = analysis.sums.iter().filter(|(at, _)| traced.sites[**at].target.root() == Some(root));
        let degrees = own.filter_map(|(at, sums)| Some((*at, sums.degree()?))).collect();
        Some(Remedy { root, padding, more_bytes, degrees })
    }

    /// Half of what a buffer may have is for what is before the records.
    fn room(&self, size: usize) -> u64 {
        ROOM[size].min(self.device.limits.storage_buffer_range / 4 / 2)
    }

    /// Makes the next passes larger, up to this size, if they aren't and can be.
    fn has_more_room(&mut self, most: usize) -> bool {
        let larger = self.size < most && self.room(self.size + 1) > self.room(self.size);
        self.size += usize::from(larger);
        larger
    }

    /// Runs a pass that records these workgroups; with the words of its buffer.
    fn pass(&mut self, dispatch: usize, groups: &[u32], padding: Option<Padding>) -> Result<(RecordedPass, Vec<u32>), Failure> {
        self.files += 1;
        let file = self.folder.join(self.files.to_string());
        let capacity = u32::try_from(self.room(self.size)).unwrap_or(u32::MAX);
        let question = RecordPass { dispatch, groups: groups.to_vec(), capacity, padding, file: file.clone().into() };
        let pass = self.respondent.ask(question)?;
        let bytes = regular::read(&file, RECORDS).map_err(|error| kept(&error))?;
        std::fs::remove_file(&file).map_err(|error| kept(&error))?;
        let words = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect();
        Ok((pass, words))
    }
}

/// All accesses in an order that doesn't depend on which came first, without what a device may do in one way or another.
fn accesses<'w>(recorded: &Recorded<'w>) -> Vec<Record<'w>> {
    let mut all: Vec<_> = recorded.records().map(|of| Record { leader: 0, value: None, count: 1, ..of }).collect();
    all.sort_unstable();
    all
}

/// How large the buffer of a variable is, by what is bound.
fn ends<'d>(traced: &'d Traced, what: &'d Dispatched) -> impl Fn(usize, u32) -> Option<u64> + 'd {
    |root, element| match traced.roots.get(root)?.space {
        Space::Storage { set, binding } | Space::Uniform { set, binding } => {
            let bound = what.buffers.iter().find(|of| (of.set, of.binding, of.element) == (set, binding, element));
            bound.map(|of| of.bytes)
        }
        Space::PushConstants | Space::Shared => None,
    }
}
