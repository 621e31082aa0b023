//! What is recorded into a command buffer: its dispatches, with a timestamp before and behind each, and where those come to.
//!
//! A query pool holds a buffer's timestamps; the command buffer itself resets it. What a secondary buffer's pools hold is copied away
//! within the primary one behind each execution, since the next execution overwrites it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ash::vk;

use super::contents::{Call, Snapshot, State, WANTED};
use super::device::{Device, Pipeline};
use super::log::is_isolated;
use super::sets::{self, Bound};
use super::slots::Slot;

/// Queries of a command buffer's first pool, and of each further one.
const QUERIES: [u32; 2] = [32, 512];

/// Descriptor sets that may be bound.
const MOST_SETS: usize = 32;

/// What a command buffer does, once it is recorded.
#[derive(Default)]
pub(crate) struct Recorded {
    pub(crate) dispatches: Vec<Dispatch>,
    pub(crate) sources: Vec<Source>,
    /// 64-bit words of all sources, which follow each other.
    pub(crate) words: usize,
    /// How many of its executions are pending, on which queue the last one was, and whether two queues ever had one at a time.
    pending: AtomicU64,
    executions: AtomicU64,
    queue: AtomicU64,
    is_shared: AtomicBool,
    /// Whether the next buffer resumes a rendering: nothing may stand between the two.
    pub(crate) suspends: bool,
    /// Copies of what dispatches found and left.
    snapshots: Vec<Arc<Snapshot>>,
    /// The secondary buffers that it executes, whose pools are their own.
    executed: Vec<Arc<Self>>,
}

impl Recorded {
    /// Whether anybody waits for the end of an execution but for its timestamps.
    pub(crate) fn has_snapshots(&self) -> bool {
        self.with_executed().any(|of| !of.snapshots.is_empty())
    }

    /// Writes what was copied, where no execution is pending that copies it once more.
    pub(crate) fn write_snapshots(&self) {
        for of in self.with_executed().filter(|of| !of.is_shared.load(Ordering::Relaxed)) {
            let is_through = || of.pending.load(Ordering::Relaxed) == 0;
            of.snapshots.iter().for_each(|snapshot| snapshot.write(is_through));
        }
    }

    /// Itself, and what it executes.
    fn with_executed(&self) -> impl Iterator<Item = &Self> {
        [self].into_iter().chain(self.executed.iter().map(|executed| &**executed))
    }

    /// An execution is pending on this queue.
    pub(crate) fn began(&self, queue: u64) {
        for of in self.with_executed() {
            let pending = of.pending.fetch_add(1, Ordering::Relaxed);
            of.executions.fetch_add(1, Ordering::Relaxed);
            of.snapshots.iter().for_each(|snapshot| snapshot.settle());
            if of.queue.swap(queue, Ordering::Relaxed) != queue && pending > 0 {
                of.is_shared.store(true, Ordering::Relaxed);
            }
        }
    }

    /// One isn't any longer.
    pub(crate) fn ended(&self) {
        self.with_executed().for_each(|of| {
            of.pending.fetch_sub(1, Ordering::Relaxed);
        });
    }

    fn was_executed(&self) -> bool {
        self.executions.load(Ordering::Relaxed) > 0
    }

    /// Whether two queues wrote the same timestamps at a time.
    pub(crate) fn is_shared(&self) -> bool {
        self.with_executed().any(|of| of.is_shared.load(Ordering::Relaxed))
    }
}

/// Where words come from that the device wrote.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Queries { pool: vk::QueryPool, count: u32 },
    Copied(Slot),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatch {
    /// By its number in the log; nothing between two timestamps has none.
    pub(crate) number: Option<u32>,
    /// At which words its two timestamps are, where it is timed.
    pub(crate) times: Option<usize>,
    /// At which word its groups begin, where the device alone knows them.
    pub(crate) groups: Option<usize>,
}

/// Where words will be, before all sources are known.
#[derive(Clone, Copy, Debug)]
struct At {
    source: usize,
    word: usize,
}

#[derive(Clone, Copy, Debug)]
struct Noted {
    number: Option<u32>,
    times: Option<At>,
    groups: Option<At>,
}

/// A command buffer.
pub(crate) struct Recording {
    is_timed: bool,
    /// Whether its commands may copy to memory that the host sees.
    may_copy: bool,
    is_compute: bool,
    pipeline: Option<Arc<Pipeline>>,
    bound: [u64; MOST_SETS],
    pushed: HashMap<u32, Bound>,
    labels: Vec<String>,
    noted: Vec<Noted>,
    /// Whether a full barrier stands behind the last work.
    is_alone: bool,
    suspends: bool,
    sources: Vec<Source>,
    /// The pool that queries are taken from, by its source, and how many it has.
    open: Option<(usize, u32)>,
    /// Its pools, and how many queries each has; pieces of memory.
    pools: Vec<(vk::QueryPool, u32)>,
    pieces: Vec<Slot>,
    executed: Vec<Arc<Recorded>>,
    /// What is bound, where contents are asked for.
    state: State,
    snapshots: Vec<Arc<Snapshot>>,
    pub(crate) recorded: Arc<Recorded>,
}

impl Recording {
    pub(crate) fn new(is_timed: bool, may_copy: bool, is_compute: bool) -> Self {
        Self {
            is_timed,
            may_copy,
            is_compute,
            pipeline: None,
            bound: [0; MOST_SETS],
            pushed: HashMap::new(),
            labels: Vec::new(),
            noted: Vec::new(),
            is_alone: false,
            suspends: false,
            sources: Vec::new(),
            open: None,
            pools: Vec::new(),
            pieces: Vec::new(),
            executed: Vec::new(),
            state: State::default(),
            snapshots: Vec::new(),
            recorded: Arc::default(),
        }
    }

    /// Forgets what was recorded, as the command buffer does: it isn't pending.
    pub(crate) fn reset(&mut self, device: &Device) {
        device.pools().append(&mut self.pools);
        for snapshot in self.snapshots.drain(..) {
            if self.recorded.was_executed() && !self.recorded.is_shared() {
                snapshot.write(|| !device.is_lost());
            }
            // SAFETY: the command buffer isn't pending, and is recorded anew before it is submitted again.
            unsafe { snapshot.destroy(device) };
        }
        let mut slots = device.pieces();
        self.pieces.drain(..).for_each(|piece| slots.give_back(piece));
        drop(slots);
        *self = Self::new(self.is_timed, self.may_copy, self.is_compute);
    }

    pub(crate) fn bind_pipeline(&mut self, pipeline: Option<Arc<Pipeline>>) {
        self.pipeline = pipeline;
    }

    pub(crate) fn bind_set(&mut self, at: u32, bytes: u64) {
        self.pushed.remove(&at);
        if let Some(bound) = self.bound.get_mut(at as usize) {
            *bound = bytes;
        }
    }

    /// Notes what is bound there in particular, where contents are asked for.
    pub(crate) fn bind_contents(&mut self, at: u32, bound: Bound, is_updated_after_bind: bool) {
        self.state.sets.insert(at, (bound, is_updated_after_bind));
    }

    /// Notes push constants, where contents are asked for.
    pub(crate) fn push_constants(&mut self, offset: u32, bytes: &[u8]) {
        self.state.push(offset, bytes);
    }

    /// Notes what `write` pushes.
    pub(crate) fn push_set(&mut self, at: u32, write: impl FnOnce(&mut Bound)) {
        let pushed = self.pushed.entry(at).or_default();
        write(pushed);
        let bytes = sets::bytes(pushed);
        if WANTED.is_some() {
            self.state.sets.insert(at, (pushed.clone(), false));
        }
        if let Some(bound) = self.bound.get_mut(at as usize) {
            *bound = bytes;
        }
    }

    /// Other work than a dispatch was recorded.
    pub(crate) fn disturbed(&mut self) {
        self.is_alone = false;
    }

    pub(crate) fn begin_rendering(&mut self, suspends: bool) {
        self.is_alone = false;
        self.suspends = suspends;
    }

    pub(crate) fn begin_label(&mut self, label: String) {
        self.labels.push(label);
    }

    pub(crate) fn end_label(&mut self) {
        self.labels.pop();
    }

    /// Records a dispatch by `record`, with its timestamps.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a render pass.
    pub(crate) unsafe fn dispatch(
        &mut self,
        device: &Device,
        buffer: vk::CommandBuffer,
        groups: Option<[u32; 3]>,
        base: [u32; 3],
        indirect: Option<(vk::Buffer, u64)>,
        record: &impl Fn(),
    ) {
        let Some(pipeline) = self.pipeline.clone() else {
            device.log.not_followed("dispatches without a pipeline");
            self.is_alone = false;
            return record();
        };
        let bytes = self.bound.iter().take(pipeline.kernel.sets).sum();
        // SAFETY: the caller's promise; a pipeline that is bound lives.
        unsafe {
            let number = Some(device.dispatch_number(&pipeline, groups, bytes, self.labels.last().map(String::as_str)));
            if self.is_timed && self.noted.is_empty() && device.wants_floor() {
                self.timed(device, buffer, None, None, || {});
            }
            if let Some(wanted) = device.wanted(&pipeline, groups).filter(|_| self.may_copy) {
                let call = Call { wanted, groups, base, indirect, is_compute: self.is_compute, state: &self.state };
                if let Some(snapshot) = Snapshot::record(device, buffer, &call, record) {
                    self.snapshots.push(Arc::new(snapshot));
                    self.noted.push(Noted { number, times: None, groups: None });
                    return;
                }
            }
            // The copy has barriers of its own.
            let indirect = indirect.filter(|_| self.is_timed && is_isolated());
            let groups = indirect.and_then(|(from, offset)| self.copy_groups(device, buffer, from, offset));
            self.timed(device, buffer, number, groups, record);
        }
    }

    /// Records something between two timestamps.
    ///
    /// # Safety
    /// As [`Self::dispatch`].
    unsafe fn timed(
        &mut self,
        device: &Device,
        buffer: vk::CommandBuffer,
        number: Option<u32>,
        groups: Option<At>,
        record: impl FnOnce(),
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let query = if self.is_timed { self.queries(device, buffer) } else { None };
            let Some((pool, first, times)) = query else {
                record();
                self.is_alone = false;
                self.noted.push(Noted { number, times: None, groups });
                return;
            };
            let is_isolated = is_isolated();
            let all = vk::PipelineStageFlags::ALL_COMMANDS;
            // The one behind the last dispatch is before this one as well.
            if is_isolated && !self.is_alone {
                barrier(device, buffer, all, all);
            }
            device.below.cmd_write_timestamp(buffer, all, pool, first);
            record();
            device.below.cmd_write_timestamp(buffer, all, pool, first + 1);
            if is_isolated {
                barrier(device, buffer, all, all);
            }
            self.is_alone = is_isolated;
            self.noted.push(Noted { number, times: Some(times), groups });
        }
    }

    /// Two queries that were reset: their pool, the first one's number, and where they come to.
    ///
    /// # Safety
    /// As [`Self::dispatch`].
    unsafe fn queries(&mut self, device: &Device, buffer: vk::CommandBuffer) -> Option<(vk::QueryPool, u32, At)> {
        let has_room = |of: &Source, most: u32| matches!(of, Source::Queries { count, .. } if count + 2 <= most);
        let open = self.open.filter(|(source, most)| self.sources.get(*source).is_some_and(|of| has_room(of, *most)));
        let source = match open {
            Some((source, _)) => source,
            None => {
                let most = QUERIES[usize::from(!self.pools.is_empty())];
                // SAFETY: the caller's promise.
                let pool = unsafe { device.query_pool(most) }?;
                self.pools.push((pool, most));
                self.sources.push(Source::Queries { pool, count: 0 });
                // SAFETY: the same; the pool is this command buffer's alone.
                unsafe { device.below.cmd_reset_query_pool(buffer, pool, 0, most) };
                self.open = Some((self.sources.len() - 1, most));
                self.sources.len() - 1
            }
        };
        let Some(Source::Queries { pool, count }) = self.sources.get_mut(source) else { return None };
        let first = *count;
        *count += 2;
        Some((*pool, first, At { source, word: first as usize }))
    }

    /// Has the device keep the groups of an indirect dispatch, where the buffer allows that.
    ///
    /// # Safety
    /// As [`Self::dispatch`].
    unsafe fn copy_groups(&mut self, device: &Device, buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64) -> Option<At> {
        let usage = device.sets().buffers.get(&from)?.usage;
        if !usage.contains(vk::BufferUsageFlags::TRANSFER_SRC) {
            return None;
        }
        // SAFETY: the caller's promise; three words of 32 bits lie there, which the dispatch reads as well.
        unsafe {
            let piece = device.piece(2)?;
            let all = vk::PipelineStageFlags::ALL_COMMANDS;
            barrier(device, buffer, all, vk::PipelineStageFlags::TRANSFER);
            let region = vk::BufferCopy { src_offset: offset, dst_offset: piece.offset, size: 12 };
            device.below.cmd_copy_buffer(buffer, from, piece.buffer, &[region]);
            barrier(device, buffer, vk::PipelineStageFlags::TRANSFER, all);
            Some(self.add_piece(piece))
        }
    }

    fn add_piece(&mut self, piece: Slot) -> At {
        self.pieces.push(piece);
        self.sources.push(Source::Copied(piece));
        At { source: self.sources.len() - 1, word: 0 }
    }

    /// Notes that a secondary buffer was executed here, and has what its pools hold copied.
    ///
    /// # Safety
    /// As [`Self::dispatch`].
    pub(crate) unsafe fn executed(&mut self, device: &Device, buffer: vk::CommandBuffer, secondary: &Arc<Recorded>) {
        self.is_alone = false;
        self.suspends = secondary.suspends;
        if secondary.dispatches.is_empty() {
            return;
        }
        self.executed.push(Arc::clone(secondary));
        // SAFETY: the caller's promise.
        let piece = if secondary.words > 0 && !secondary.suspends { unsafe { device.piece(secondary.words) } } else { None };
        let base = piece.map(|piece| {
            // SAFETY: the same; the sources are the secondary buffer's, which was recorded.
            unsafe { copy_sources(device, buffer, secondary, &piece) };
            self.add_piece(piece)
        });
        let at = |word: Option<usize>| base.zip(word).map(|(base, word)| At { word, ..base });
        let all = secondary.dispatches.iter();
        self.noted.extend(all.map(|of| Noted { number: of.number, times: at(of.times), groups: at(of.groups) }));
    }

    /// Recording has ended.
    pub(crate) fn end(&mut self) {
        let mut first = Vec::with_capacity(self.sources.len());
        let mut words = 0;
        for source in &self.sources {
            first.push(words);
            words += source.words();
        }
        let place = |at: At| first.get(at.source).map(|first| first + at.word);
        let all = self.noted.iter();
        let dispatches =
            all.map(|of| Dispatch { number: of.number, times: of.times.and_then(place), groups: of.groups.and_then(place) });
        let dispatches = dispatches.collect();
        self.recorded = Arc::new(Recorded {
            dispatches,
            sources: self.sources.clone(),
            words,
            suspends: self.suspends,
            snapshots: self.snapshots.clone(),
            executed: self.executed.clone(),
            ..Recorded::default()
        });
    }
}

impl Source {
    fn words(&self) -> usize {
        match self {
            Self::Queries { count, .. } => *count as usize,
            Self::Copied(piece) => piece.words,
        }
    }
}

/// Orders all that comes before against all that comes after.
///
/// # Safety
/// The command buffer is being recorded, outside of a render pass.
pub(crate) unsafe fn barrier(
    device: &Device,
    buffer: vk::CommandBuffer,
    before: vk::PipelineStageFlags,
    after: vk::PipelineStageFlags,
) {
    let to = if after.contains(vk::PipelineStageFlags::HOST) { ACCESSES | vk::AccessFlags::HOST_READ } else { ACCESSES };
    let memory = vk::MemoryBarrier::default().src_access_mask(ACCESSES).dst_access_mask(to);
    // SAFETY: the caller's promise.
    unsafe {
        device.below.cmd_pipeline_barrier(buffer, before, after, vk::DependencyFlags::empty(), &[memory], &[], &[]);
    }
}

const ACCESSES: vk::AccessFlags =
    vk::AccessFlags::from_raw(vk::AccessFlags::MEMORY_READ.as_raw() | vk::AccessFlags::MEMORY_WRITE.as_raw());

/// Has the words of all sources copied into a slot, one after the other.
///
/// # Safety
/// The command buffer is being recorded, outside of a render pass; the slot has room for them.
pub(crate) unsafe fn copy_sources(device: &Device, buffer: vk::CommandBuffer, recorded: &Recorded, to: &Slot) {
    let (all, transfer) = (vk::PipelineStageFlags::ALL_COMMANDS, vk::PipelineStageFlags::TRANSFER);
    let mut offset = to.offset;
    // SAFETY: the caller's promise; each timestamp was written before.
    unsafe {
        barrier(device, buffer, all, transfer);
        for source in &recorded.sources {
            match source {
                Source::Queries { pool, count } => {
                    let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
                    device.below.cmd_copy_query_pool_results(buffer, *pool, 0, *count, to.buffer, offset, 8, flags);
                }
                Source::Copied(piece) => {
                    let size = 8 * piece.words as u64;
                    let region = vk::BufferCopy { src_offset: piece.offset, dst_offset: offset, size };
                    device.below.cmd_copy_buffer(buffer, piece.buffer, to.buffer, &[region]);
                }
            }
            offset += 8 * source.words() as u64;
        }
        // The host may look as soon as a word tells it to, which comes later.
        barrier(device, buffer, transfer, all | vk::PipelineStageFlags::HOST);
    }
}
