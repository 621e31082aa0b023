//! Records what a kernel accesses, and sums up what that costs.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::rows;
use super::traced::{DispatchTrace, Order, Remedy, Traces};
use crate::analysis::counted;
use crate::campaign::begin::Campaign;
use crate::campaign::interrupt;
use crate::model::{DeviceInfo, DeviceKind, Failure, Status};
use crate::output::Progress;
use crate::output::trace::Rows;
use crate::regular::{self, Kind};
use crate::shader::{AccessKind, Padding, Record, Recorded, Space, Traced};
use crate::trace::remedy::{Candidate, LongerRows};
use crate::trace::requests::{Lanes, Requests};
use crate::trace::sites::{self, Analysis};
use crate::units::{Nanos, rounded};
use crate::worker::Identity;
use crate::worker::questions::Respondent;
use crate::worker::questions::trace::{Dispatched, OpenTrace, RecordPass, RecordedPass};

/// What a pass recorded, which this run's own process wrote.
const RECORDS: Kind = Kind { what: "the records of a pass", largest: 1 << 32, may_stream: false };

/// Words of records that there is room for: at first, where that isn't enough for several workgroups, and where it isn't for one.
const ROOM: [u64; 3] = [1 << 24, 1 << 26, 1 << 28];

/// Workgroups in a row that are too large for a pass by themselves, before any was recorded: the rest isn't tried then.
const GIVES_UP: usize = 2;

/// The most instructions that record in one pass, for which drivers compile long; those of processors far longer for twice as many.
const MOST_SITES: usize = 64;
const MOST_SITES_ON_A_PROCESSOR: usize = 24;

/// The most invocations of a pass: they share the room for records.
const MOST_INVOCATIONS: usize = 1 << 18;

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
        values: false,
    });
    let untraced = untraced.map_err(before_recording)?;
    order.groups.check(untraced.dispatches.iter().map(|what| count(what.groups)).max().unwrap_or(0))?;
    let folder = TempDir::new().map_err(|error| kept(&error))?;
    let progress = campaign.voice.progress.clone();
    let mut tracing =
        Tracing { progress, respondent, order, device: &place.info, folder: folder.path(), files: 0, size: 0, accesses };
    let mut dispatches = Vec::new();
    for (at, what) in untraced.dispatches.iter().enumerate() {
        let trace = tracing.dispatch(at, what)?;
        campaign.voice.progress.detail(&cost(&trace, untraced.took));
        dispatches.push(trace);
    }
    Ok(Traces { dispatches, untraced: untraced.clone() })
}

fn count(groups: [u32; 3]) -> u32 {
    groups.into_iter().fold(1, u32::saturating_mul)
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

fn kept(error: &std::io::Error) -> Failure {
    Failure::new(Status::Error, format!("can't keep what was recorded: {error}"))
}

struct Tracing<'a> {
    progress: Progress,
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
    /// Records one dispatch in as many passes as its records need. Requests never join passes.
    fn dispatch(&mut self, at: usize, what: &Dispatched) -> Result<DispatchTrace, Failure> {
        let (groups, windows) = (self.groups(what)?, windows(&what.traced, self.most_sites()));
        let mut trace = DispatchTrace::new(what);
        let mut longer_rows = LongerRows::default();
        // Those that come first are on top.
        let mut open = parts(&groups, what, windows.len());
        let bar = self.progress.bar("", open.len() as u64).untimed().of("passes");
        // In each window, the first pass is enough to look for remedies.
        let mut first: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        while let Some(part) = open.pop() {
            let window = &windows[part.window];
            bar.start(&part.words(window));
            let of_pass = Pass { dispatch: at, sites: &window.with_barriers, part: &part, padding: None };
            let (pass, words) = self.pass(&of_pass)?;
            let recorded = what.traced.recorded(&words);
            if recorded.is_cut() {
                self.divide(part, &recorded, &mut trace, &mut open);
                continue;
            }
            if trace.passes == 0 {
                trace.differs = self.differs(&of_pass, &what.traced, &recorded)?;
            }
            let requests = self.add(at, &part, window, recorded, &mut trace)?;
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
        trace.analysis.finish();
        trace.recorded.retain(|group| !trace.too_large.contains(group));
        let (all, groups) = (longer_rows.candidates(&what.traced), first.remove(&0).unwrap_or_default());
        trace.remedies = all.into_iter().filter_map(|one| self.remedy(at, what, &groups, one)).collect();
        Ok(trace)
    }

    fn groups(&self, what: &Dispatched) -> Result<Vec<u32>, Failure> {
        let groups = self.order.groups.of(count(what.groups));
        if groups.is_empty() {
            return Err(Failure::new(Status::Skipped, "the dispatch has no such workgroup: nothing was recorded"));
        }
        Ok(groups)
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
        Ok(accesses(&traced.recorded(&words)) != accesses(recorded))
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
        for sites in sites.chunks(self.most_sites()) {
            let part = Part { window: 0, groups: groups.to_vec(), invocations: None };
            let (_, words) = self.pass(&Pass { dispatch: at, sites, part: &part, padding: Some(&padding) }).ok()?;
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

    fn most_sites(&self) -> usize {
        if self.device.kind == DeviceKind::Cpu { MOST_SITES_ON_A_PROCESSOR } else { MOST_SITES }
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

    /// Runs a pass; with the words of its buffer.
    fn pass(&mut self, Pass { dispatch, sites, part, padding }: &Pass) -> Result<(RecordedPass, Vec<u32>), Failure> {
        if interrupt::is_asked() {
            return Err(Failure::new(Status::Error, "interrupted"));
        }
        self.files += 1;
        let file = self.folder.join(self.files.to_string());
        let question = RecordPass {
            dispatch: *dispatch,
            sites: sites.to_vec(),
            groups: part.groups.clone(),
            invocations: part.invocations.clone(),
            capacity: u32::try_from(self.room(self.size)).unwrap_or(u32::MAX),
            padding: padding.cloned(),
            file: file.clone().into(),
        };
        let pass = self.respondent.ask(question).map_err(|failure| while_recording(failure, part, sites))?;
        let bytes = regular::read(&file, RECORDS).map_err(|error| kept(&error))?;
        std::fs::remove_file(&file).map_err(|error| kept(&error))?;
        let words = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect();
        Ok((pass, words))
    }
}

/// Instructions that are recorded in the same passes: drivers compile for long where there are many.
struct Window {
    /// By their indexes, in ascending order.
    sites: Vec<usize>,
    /// The same with all barriers, which tell epochs apart.
    with_barriers: Vec<usize>,
}

/// All instructions, as many to a window as may record in one pass.
fn windows(traced: &Traced, most: usize) -> Vec<Window> {
    let is_barrier = |site: &usize| traced.sites[*site].kind == AccessKind::Barrier;
    let (barriers, others): (Vec<usize>, Vec<usize>) = (0..traced.sites.len()).partition(is_barrier);
    let chunks = others.chunks(most);
    let mut windows: Vec<Window> = chunks.map(|sites| Window { sites: sites.to_vec(), with_barriers: Vec::new() }).collect();
    if windows.is_empty() {
        windows.push(Window { sites: Vec::new(), with_barriers: Vec::new() });
    }
    windows[0].sites.extend(&barriers);
    for window in &mut windows {
        window.sites.sort_unstable();
        let all: BTreeSet<usize> = window.sites.iter().chain(&barriers).copied().collect();
        window.with_barriers = all.into_iter().collect();
    }
    windows
}

/// What of a dispatch is recorded in one pass.
struct Part {
    /// Which instructions.
    window: usize,
    groups: Vec<u32>,
    /// Those of the only workgroup, by whole subgroups; nothing where all are recorded.
    invocations: Option<Vec<u32>>,
}

impl Part {
    fn words(&self, window: &Window) -> String {
        let (sites, groups) = (window.sites.len() as u64, self.groups.len() as u64);
        format!("{} of {}", counted(sites, "instruction"), counted(groups, "workgroup"))
    }

    /// Half of the workgroups each, or half of the subgroups of the only one; nothing where it is one subgroup.
    fn halves(&self, recorded: &Recorded, what: &Dispatched, lanes: Lanes) -> Option<[Self; 2]> {
        let window = self.window;
        if self.groups.len() > 1 {
            let (first, second) = self.groups.split_at(self.groups.len() / 2);
            return Some([first, second].map(|groups| Self { window, groups: groups.to_vec(), invocations: None }));
        }
        let all = || (0..what.local_size.iter().product()).collect();
        let own = self.invocations.clone().unwrap_or_else(all);
        let mut by_subgroup: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for invocation in own {
            let (subgroup, _) = lanes.of(recorded, 0, invocation);
            by_subgroup.entry(subgroup).or_default().push(invocation);
        }
        let subgroups: Vec<Vec<u32>> = by_subgroup.into_values().collect();
        let (first, second) = subgroups.split_at(subgroups.len() / 2);
        let half = |subgroups: &[Vec<u32>]| {
            let mut invocations = subgroups.concat();
            invocations.sort_unstable();
            Self { window, groups: self.groups.clone(), invocations: Some(invocations) }
        };
        (!first.is_empty()).then(|| [half(first), half(second)])
    }
}

/// All of these workgroups, by instructions, the first ones last.
fn parts(groups: &[u32], what: &Dispatched, windows: usize) -> Vec<Part> {
    let invocations = what.local_size.iter().map(|size| *size as usize).product::<usize>();
    let of_chunk = |groups: &[u32]| {
        let groups = groups.to_vec();
        (0..windows).map(move |window| Part { window, groups: groups.clone(), invocations: None })
    };
    let mut all: Vec<Part> = groups.chunks((MOST_INVOCATIONS / invocations.max(1)).max(1)).flat_map(of_chunk).collect();
    all.reverse();
    all
}

/// A pass: which part of which dispatch, and an array in shared memory that is to have other lengths.
struct Pass<'p> {
    dispatch: usize,
    sites: &'p [usize],
    part: &'p Part,
    padding: Option<&'p Padding>,
}

fn before_recording(failure: Failure) -> Failure {
    if failure.status != Status::Timeout {
        return failure;
    }
    let words = format!("{} (while it ran as it is, before anything was recorded; compiling counts as well)", failure.reason);
    Failure { reason: words, ..failure }
}

/// A failure of a pass, with what it was to record.
fn while_recording(failure: Failure, part: &Part, sites: &[usize]) -> Failure {
    let (sites, groups) = (counted(sites.len() as u64, "instruction"), counted(part.groups.len() as u64, "workgroup"));
    let words = format!("{} (while recording {sites} of {groups}; compiling counts as well)", failure.reason);
    Failure { reason: words, ..failure }
}

/// All accesses in an order that doesn't depend on which came first, without what a device may do in one way or another.
fn accesses<'w>(recorded: &Recorded<'w>) -> Vec<Record<'w>> {
    let mut all: Vec<_> = recorded.records().map(|of| Record { leader: 0, value: None, count: 1, ..of }).collect();
    all.sort_unstable();
    all
}

/// How large the buffer of a variable is, by what is bound.
fn ends(what: &Dispatched) -> impl Fn(usize, u32) -> Option<u64> {
    |root, element| match what.traced.roots.get(root)?.space {
        Space::Storage { set, binding } | Space::Uniform { set, binding } => {
            let bound = what.buffers.iter().find(|of| (of.set, of.binding, of.element) == (set, binding, element));
            bound.map(|of| of.bytes)
        }
        Space::PushConstants | Space::Shared => None,
    }
}
