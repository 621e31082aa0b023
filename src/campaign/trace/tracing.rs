//! The passes that record: which instructions and workgroups of a dispatch are in one, and how it is run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use super::traced::Order;
use crate::analysis::counted;
use crate::campaign::interrupt;
use crate::model::{DeviceInfo, DeviceKind, Failure, Status};
use crate::output::Progress;
use crate::output::trace::Rows;
use crate::regular::{self, Kind};
use crate::shader::{AccessKind, Change, Recorded, SourceLine, Traced};
use crate::subject::KernelSpec;
use crate::trace::requests::Lanes;
use crate::worker::questions::Respondent;
use crate::worker::questions::trace::{Dispatched, RecordPass, RecordedPass};

/// What a pass recorded, which this run's own process wrote.
const RECORDS: Kind = Kind { what: "the records of a pass", largest: 1 << 32, may_stream: false };

/// Words of records that there is room for: at first, where that isn't enough for several workgroups, and where it isn't for one.
const ROOM: [u64; 3] = [1 << 24, 1 << 26, 1 << 28];
const ROOM_OF_ONE_THAT_HANGS: u64 = 1 << 20;

/// The most instructions that record in one pass, for which drivers compile long; those of processors far longer for twice as many.
const MOST_SITES: usize = 64;
const MOST_SITES_ON_A_PROCESSOR: usize = 24;

/// The most invocations of a pass: they share the room for records.
pub(super) const MOST_INVOCATIONS: usize = 1 << 18;

/// Places that are named of invocations of one that doesn't end.
const MOST_PLACES: usize = 4;

/// Where each access is written, one row after the other.
pub type AccessRows = Rows<Box<dyn Write>>;

pub(super) fn count(groups: [u32; 3]) -> u32 {
    groups.into_iter().fold(1, u32::saturating_mul)
}

pub(super) fn kept(error: &std::io::Error) -> Failure {
    Failure::new(Status::Error, format!("can't keep what was recorded: {error}"))
}

pub(super) struct Tracing<'a> {
    pub(super) progress: Progress,
    pub(super) respondent: Respondent<'a>,
    pub(super) order: &'a Order,
    pub(super) device: &'a DeviceInfo,
    pub(super) folder: &'a Path,
    pub(super) files: u32,
    /// Which of the sizes of a pass is taken.
    pub(super) size: usize,
    pub(super) accesses: Option<&'a mut AccessRows>,
    /// Where invocations were when a pass was stopped that didn't end; there is a place for that where it is known not to.
    pub(super) seen: Option<&'a mut String>,
}

impl Tracing<'_> {
    pub(super) fn groups(&self, what: &Dispatched) -> Result<Vec<u32>, Failure> {
        let groups = self.order.groups.of(count(what.groups));
        if groups.is_empty() {
            return Err(Failure::new(Status::Skipped, "the dispatch has no such workgroup: nothing was recorded"));
        }
        Ok(groups)
    }

    pub(super) fn most_sites(&self) -> usize {
        if self.device.kind == DeviceKind::Cpu { MOST_SITES_ON_A_PROCESSOR } else { MOST_SITES }
    }

    /// Half of what a buffer may have is for what is before the records.
    fn room(&self, size: usize) -> u64 {
        // Of what hangs, the last records are wanted, and that they are read before its process is stopped.
        let wanted = if self.seen.is_some() { ROOM_OF_ONE_THAT_HANGS } else { ROOM[size] };
        wanted.min(self.device.limits.storage_buffer_range / 4 / 2)
    }

    /// Makes the next passes larger, up to this size, if they aren't and can be.
    pub(super) fn has_more_room(&mut self, most: usize) -> bool {
        let larger = self.size < most && self.room(self.size + 1) > self.room(self.size);
        self.size += usize::from(larger);
        larger
    }

    /// Runs a pass; with the words of its buffer.
    pub(super) fn pass(
        &mut self,
        Pass { dispatch, traced, sites, part, change }: &Pass,
    ) -> Result<(RecordedPass, Vec<u32>), Failure> {
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
            change: change.cloned(),
            file: file.clone().into(),
        };
        let pass = self.respondent.ask(question).map_err(|failure| while_recording(failure, part, sites))?;
        let bytes = regular::read(&file, RECORDS).map_err(|error| kept(&error))?;
        std::fs::remove_file(&file).map_err(|error| kept(&error))?;
        let words: Vec<u32> =
            bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect();
        if let Some(failure) = pass.stopped {
            if let Some(seen) = &mut self.seen {
                **seen = where_they_were(&traced.recorded(&words), part, self.order.subject.as_ref());
            }
            return Err(failure);
        }
        Ok((pass, words))
    }
}

/// Instructions that are recorded in the same passes: drivers compile for long where there are many.
pub(super) struct Window {
    /// By their indexes, in ascending order.
    pub(super) sites: Vec<usize>,
    /// The same with all that order accesses.
    pub(super) with_barriers: Vec<usize>,
}

/// All instructions, as many to a window as may record in one pass; and in each those that order the others.
pub(super) fn windows(traced: &Traced, most: usize, orders: impl Fn(usize) -> bool) -> Vec<Window> {
    let (barriers, others): (Vec<usize>, Vec<usize>) = (0..traced.sites.len()).partition(|site| orders(*site));
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
pub(super) struct Part {
    /// Which instructions.
    pub(super) window: usize,
    pub(super) groups: Vec<u32>,
    /// Those of the only workgroup, by whole subgroups; nothing where all are recorded.
    pub(super) invocations: Option<Vec<u32>>,
}

impl Part {
    pub(super) fn words(&self, window: &Window) -> String {
        let (sites, groups) = (window.sites.len() as u64, self.groups.len() as u64);
        format!("{} of {}", counted(sites, "instruction"), counted(groups, "workgroup"))
    }

    /// Half of the workgroups each, or half of the subgroups of the only one; nothing where it is one subgroup.
    pub(super) fn halves(&self, recorded: &Recorded, what: &Dispatched, lanes: Lanes) -> Option<[Self; 2]> {
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
pub(super) fn parts(groups: &[u32], what: &Dispatched, windows: usize) -> Vec<Part> {
    let invocations = what.local_size.iter().map(|size| *size as usize).product::<usize>();
    let of_chunk = |groups: &[u32]| {
        let groups = groups.to_vec();
        (0..windows).map(move |window| Part { window, groups: groups.clone(), invocations: None })
    };
    let mut all: Vec<Part> = groups.chunks((MOST_INVOCATIONS / invocations.max(1)).max(1)).flat_map(of_chunk).collect();
    all.reverse();
    all
}

/// A pass: which part of which dispatch, and what of its kernel is to be otherwise.
pub(super) struct Pass<'p> {
    pub(super) dispatch: usize,
    /// What its records mean.
    pub(super) traced: &'p Traced,
    pub(super) sites: &'p [usize],
    pub(super) part: &'p Part,
    pub(super) change: Option<&'p Change>,
}

/// Where the invocations of a workgroup were that hadn't come to their end, those of the first one with such.
fn where_they_were(recorded: &Recorded, part: &Part, subject: Option<&KernelSpec>) -> String {
    let traced = recorded.traced();
    for (place, number) in (0..).zip(&part.groups) {
        let invocations = 0..recorded.invocations_per_group();
        let has_begun = |invocation: &u32| recorded.lane(place, *invocation).is_some();
        let running: Vec<u32> =
            invocations.filter(has_begun).filter(|invocation| !recorded.has_ended(place, *invocation)).collect();
        if running.is_empty() {
            continue;
        }
        let mut last: BTreeMap<Option<usize>, u64> = BTreeMap::new();
        for invocation in &running {
            let of = recorded.of_invocation(place, *invocation).last().map(|record| record.site);
            *last.entry(of).or_default() += 1;
        }
        let mut last: Vec<(Option<usize>, u64)> = last.into_iter().collect();
        last.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let words = last.iter().take(MOST_PLACES).map(|(site, count)| {
            let were = counted(*count, "invocation") + if *count == 1 { " was" } else { " were" };
            let Some(site) = site.and_then(|site| traced.sites.get(site)) else {
                return format!("{were} before the first access");
            };
            let barrier = if site.kind == AccessKind::Barrier { " at the barrier" } else { "" };
            let place = |line: &SourceLine| subject.map_or_else(|| line.place(&line.file), |subject| subject.place_of(line));
            let line = site.line.as_ref().map(|line| format!(" in line {}", place(line))).unwrap_or_default();
            format!("{were} last{barrier}{line}")
        });
        let later = if recorded.is_cut() { " (or later: there was no room for more records)" } else { "" };
        return format!("of workgroup {number}, {}{later}", words.collect::<Vec<_>>().join(", "));
    }
    String::new()
}

/// A failure of a pass, with what it was to record.
fn while_recording(failure: Failure, part: &Part, sites: &[usize]) -> Failure {
    let (sites, groups) = (counted(sites.len() as u64, "instruction"), counted(part.groups.len() as u64, "workgroup"));
    let words = format!("{} (while recording {sites} of {groups}; compiling counts as well)", failure.reason);
    Failure { reason: words, ..failure }
}

/// How large the buffer of a variable is, by what is bound.
pub(super) fn ends(what: &Dispatched) -> impl Fn(usize, u32) -> Option<u64> {
    |root, element| what.bound_bytes(what.traced.roots.get(root)?.space, element)
}
