//! What a kernel accesses, recorded in a process of its own: what it does there may take a driver down, or never end.

mod altered;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bounds::looked;
use super::{Host, Question, QuestionState};
use crate::gpu::{CaseHandle, DeviceOptions, compile_threads};
use crate::measure::{CaseKey, CaseSource, Dispatcher, SourcedCase, Vulkan};
use crate::model::{Binding, Case, Failure, FilePath, MemoryKind, Point, Preset, ResourceKind, Status, SubgroupClass};
use crate::shader::{
    AddedBarrier, Change, Dispatch, Marks, Operation, Overrun, Prepared, Recording, Root, SourceLine, Space, Touched,
    TraceOptions, Traced, Unordered, Visited, stray_doubles,
};
use crate::subject::{KernelSpec, MEMORY_PREFIX, UserKernel};
use crate::validate::{Mismatch, Outputs};
use crate::worker::host::{Identity, opened};
use crate::worker::source::Catalogue;
pub use altered::{CompileAhead, Feasible, TryAlteration, TryPoint};

/// Which case is to be recorded, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenTrace {
    pub device: Identity,
    pub queue: Option<u32>,
    pub deadline: Option<Duration>,
    pub preset: Preset,
    pub seed: u64,
    pub key: CaseKey,
    /// The kernel of the user's; `None` for a case of the catalogue.
    pub subject: Option<Box<KernelSpec>>,
    /// Whether records are to say what is stored, and how accesses are ordered.
    pub values: bool,
    /// Whether it is to be told what compilers know of where accesses lead.
    pub foresees: bool,
    /// Whether it is known to hang: it isn't run as it stands, and records lie where the host sees them.
    pub hangs: bool,
}

/// What the case is as it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Untraced {
    pub dispatches: Vec<Dispatched>,
    /// In what two passes differ, where they don't leave the same, bit by bit.
    pub difference: Option<Difference>,
    /// Why its results aren't right, where that is known.
    pub wrong: Option<String>,
    /// How long the second pass took.
    pub took: Duration,
}

/// In what two passes' outputs differ, bit by bit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    pub bytes: String,
    /// What differs by more than `tune` would take for another order of sums. Of a case of the catalogue nothing: its own check judges it.
    pub beyond_tolerance: Option<String>,
}

/// A dispatch of its pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dispatched {
    /// The shader, as the case names it.
    pub source: String,
    pub entry: String,
    /// All zero where a buffer says how many there are.
    pub groups: [u32; 3],
    pub local_size: [u32; 3],
    /// The bytes of shared memory in a workgroup.
    pub shared_bytes: u64,
    pub buffers: Vec<BoundBuffer>,
    /// Its accesses, and what their records mean.
    pub traced: Traced,
}

impl Dispatched {
    /// How large what is bound there is, of an array of descriptors at one of its places; nothing of what isn't a buffer's.
    pub fn bound_bytes(&self, space: Space, element: u32) -> Option<u64> {
        match space {
            Space::Storage { set, binding } | Space::Uniform { set, binding } => {
                let bound = self.buffers.iter().find(|of| (of.set, of.binding, of.element) == (set, binding, element));
                bound.map(|of| of.bytes)
            }
            Space::PushConstants | Space::Shared | Space::Address => None,
        }
    }
}

/// A buffer that is bound for a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundBuffer {
    pub set: u32,
    pub binding: u32,
    pub element: u32,
    pub bytes: u64,
}

/// A pass of which one dispatch records what some of its workgroups access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordPass {
    pub dispatch: usize,
    /// The accesses that are recorded, by their indexes.
    pub sites: Vec<usize>,
    /// Linear numbers in ascending order.
    pub groups: Vec<u32>,
    /// The invocations of each that are recorded, by their linear numbers in ascending order; nothing where all are.
    pub invocations: Option<Vec<u32>>,
    /// Words of records that there is room for.
    pub capacity: u32,
    /// What of the kernel is to be otherwise.
    pub change: Option<Change>,
    /// Where the buffer's words are written.
    pub file: FilePath,
}

/// Where barriers may stand that order two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindBarriers {
    pub dispatch: usize,
    pub what: Unordered,
}

/// What a dispatch accesses with more barriers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddBarriers {
    pub dispatch: usize,
    pub barriers: Vec<AddedBarrier>,
}

/// A dispatch with more barriers: its accesses, and the indexes of those barriers among them; nothing of one that control flow never comes
/// to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithBarriers {
    pub traced: Traced,
    pub added: Vec<Option<usize>>,
}

/// What arithmetic a dispatch does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountOperations {
    pub dispatch: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedOperations {
    pub done: Vec<(Operation, u64)>,
    /// Whether some arithmetic of cooperative matrices can't be told.
    pub is_partial: bool,
    /// The lines that compute in f64 where nothing asks for that.
    pub stray_doubles: Vec<SourceLine>,
    /// The blocks with arithmetic, and by how many lanes they were come to; none where the device doesn't tell lanes apart.
    pub visited: Vec<Visited>,
}

impl CountedOperations {
    /// How many there are of some kinds.
    pub fn sum(&self, is_meant: impl Fn(Operation) -> bool) -> u64 {
        self.done.iter().filter(|(operation, _)| is_meant(*operation)).fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

/// Which bytes of its buffers a dispatch touches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindTouched {
    pub dispatch: usize,
    pub sector_bytes: u64,
    /// The most instructions that a driver compiles at a time.
    pub most_sites: usize,
}

/// How far a kernel of the user's indexes, in all its workgroups, and images as well; of a case of the catalogue nothing is looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LookAtBounds {
    pub point: Point,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedPass {
    /// In what its outputs differ from those of a pass that doesn't record.
    pub difference: Option<Difference>,
    /// Why its results aren't right, where that is known.
    pub wrong: Option<String>,
    pub took: Duration,
    /// Why it didn't end, where what it recorded until then is known.
    pub stopped: Option<Failure>,
}

impl Question for OpenTrace {
    type Answer = Untraced;

    fn answer(self, host: &Host, kept: &mut QuestionState) -> Result<Untraced, Failure> {
        let info = host.device(&self.device)?;
        let Host::Vulkan(instance) = host else {
            return Err(Failure::new(Status::Skipped, "a simulated device runs no shader: name another one"));
        };
        let (queue_family, compile_threads) = (self.queue, compile_threads(&info));
        let options = DeviceOptions { queue_family, is_robust: true, compile_threads, ..DeviceOptions::default() };
        let device = opened(instance, &info, options, self.deadline)?;
        let case = match self.subject {
            Some(subject) => {
                let mut kernel = UserKernel::new(*subject, info.clone());
                TracedCase::Users(kernel.prepare(&self.key.point)?, Box::new(RefCell::new(kernel)))
            }
            None => {
                let mut source = Catalogue::new(&info, self.queue, self.preset, self.seed)?.with_lines();
                TracedCase::Catalogues(source.prepare(&self.key)?)
            }
        };
        let has_ballots = info.subgroup.in_compute && info.subgroup.classes.contains(&SubgroupClass::Ballot);
        let mut tracer = Tracer {
            device,
            case,
            has_ballots,
            has_values: self.values,
            foresees: self.foresees,
            hangs: self.hangs,
            first: Vec::new(),
            first_wrong: None,
            loaded: None,
            counted: BTreeMap::new(),
            foreseen: Vec::new(),
        };
        let untraced = tracer.look()?;
        kept.tracer = Some(Box::new(tracer));
        Ok(untraced)
    }

    #[cfg(test)]
    fn example() -> (Self, Untraced) {
        let device = Identity::at_place(&crate::model::DeviceInfo::mock(), 1);
        let key = CaseKey {
            experiment: "memory/stride".into(),
            variant: "read".into(),
            point: Point::default(),
            cache: crate::model::Cache::Warm,
        };
        let question = Self {
            device,
            queue: Some(2),
            deadline: Some(Duration::from_millis(1500)),
            preset: Preset::Quick,
            seed: 3,
            key,
            subject: Some(Box::default()),
            values: true,
            foresees: true,
            hangs: true,
        };
        let buffer = BoundBuffer { set: 0, binding: 1, element: 0, bytes: 4096 };
        let dispatch = Dispatched {
            source: "a.comp".into(),
            entry: "main".into(),
            groups: [3, 2, 1],
            local_size: [32, 2, 1],
            shared_bytes: 64,
            buffers: vec![buffer],
            traced: traced(),
        };
        let difference =
            Some(Difference { bytes: "`out`: 4 of 64 bytes".into(), beyond_tolerance: Some("out[0] is 1".into()) });
        let took = Duration::from_millis(2);
        (question, Untraced { dispatches: vec![dispatch], difference, wrong: Some("out[0] is 1".into()), took })
    }
}

impl Question for RecordPass {
    type Answer = RecordedPass;

    fn answer(self, _: &Host, kept: &mut QuestionState) -> Result<RecordedPass, Failure> {
        kept.tracer()?.record(&self)
    }

    #[cfg(test)]
    fn example() -> (Self, RecordedPass) {
        let change = Some(Change::Padding(crate::shader::Padding { name: "tile".into(), lengths: vec![32, 33] }));
        let question = Self {
            dispatch: 1,
            sites: vec![0, 2],
            groups: vec![0, 7],
            invocations: Some(vec![1, 2]),
            capacity: 1 << 20,
            change,
            file: "/x/y".into(),
        };
        let difference = Some(Difference { bytes: "`out`: 4 of 64 bytes".into(), beyond_tolerance: None });
        let stopped = Some(Failure::new(Status::Timeout, "no end"));
        (question, RecordedPass { difference, wrong: Some("out[0] is 1".to_owned()), took: Duration::from_millis(3), stopped })
    }
}

impl Question for FindBarriers {
    type Answer = Vec<AddedBarrier>;

    fn answer(self, _: &Host, kept: &mut QuestionState) -> Result<Vec<AddedBarrier>, Failure> {
        let tracer = kept.tracer()?;
        let dispatch = tracer.dispatch(self.dispatch)?;
        tracer.prepared().barrier_places(dispatch, &tracer.options(&[]), self.what).map_err(refused)
    }

    #[cfg(test)]
    fn example() -> (Self, Vec<AddedBarrier>) {
        (Self { dispatch: 1, what: Unordered { sites: [3, 5], buffers: true } }, vec![barrier()])
    }
}

impl Question for AddBarriers {
    type Answer = WithBarriers;

    fn answer(self, _: &Host, kept: &mut QuestionState) -> Result<WithBarriers, Failure> {
        let tracer = kept.tracer()?;
        let (dispatch, options) = (tracer.dispatch(self.dispatch)?, tracer.options(&[]));
        let (prepared, added) = tracer.prepared().with_barriers(dispatch, &options, &self.barriers).map_err(refused)?;
        Ok(WithBarriers { traced: tracer.traced(&prepared, dispatch, &options)?, added })
    }

    #[cfg(test)]
    fn example() -> (Self, WithBarriers) {
        (Self { dispatch: 1, barriers: vec![barrier()] }, WithBarriers { traced: traced(), added: vec![Some(0), None] })
    }
}

impl Question for CountOperations {
    type Answer = CountedOperations;

    fn answer(self, _: &Host, kept: &mut QuestionState) -> Result<CountedOperations, Failure> {
        kept.tracer()?.count(self.dispatch)
    }

    #[cfg(test)]
    fn example() -> (Self, CountedOperations) {
        let done = vec![(Operation::MultiplyAdd { bits: 32 }, 64), (Operation::DotProduct, 3)];
        let stray_doubles = vec![SourceLine { file: "a.comp".to_owned(), line: 5 }];
        let visited = Visited { line: None, operations: 3, lanes: 7, visits: 2 };
        (Self { dispatch: 1 }, CountedOperations { done, is_partial: true, stray_doubles, visited: vec![visited] })
    }
}

impl Question for FindTouched {
    type Answer = Touched;

    fn answer(self, _: &Host, kept: &mut QuestionState) -> Result<Touched, Failure> {
        kept.tracer()?.touched(&self)
    }

    #[cfg(test)]
    fn example() -> (Self, Touched) {
        let touched = Touched { loaded_bytes: 64, stored_bytes: 32, is_partial: true };
        (Self { dispatch: 1, sector_bytes: 32, most_sites: 24 }, touched)
    }
}

impl Question for LookAtBounds {
    type Answer = Vec<Overrun>;

    fn answer(self, _: &Host, kept: &mut QuestionState) -> Result<Vec<Overrun>, Failure> {
        kept.tracer()?.overruns(&self.point)
    }

    #[cfg(test)]
    fn example() -> (Self, Vec<Overrun>) {
        let array = r#"{"home":"shared","path":"to","is_runtime":false,"is_signed":false}"#;
        let overrun = Overrun {
            array: serde_json::from_str(array).unwrap(),
            index: -1,
            length: 4,
            lines: vec![SourceLine { file: "a.comp".to_owned(), line: 5 }],
            is_read: true,
        };
        (Self { point: Point::new([("n".into(), 4_u64.into())]) }, vec![overrun])
    }
}

#[cfg(test)]
fn barrier() -> AddedBarrier {
    serde_json::from_str(
        r#"{"block":5,"at":3,"waits":true,"buffers":false,"side":"after_block","line":{"file":"a.comp","line":7}}"#,
    )
    .unwrap()
}

#[cfg(test)]
fn traced() -> Traced {
    serde_json::from_str(
        r#"{"place":[0,3],"sites":[{"kind":"load","name":"a[]","line":{"file":"a.comp","line":7},
        "target":{"root":{"root":0,"is_array":false,"runs":[{"offset":0,"bytes":4}]}},"loops":1,"polls":false,
        "sync":null,"atomic":null,"merging":"separate","foreseen":{"alignment":16,"loops":0},"matters":15,"is_coherent":true,"values":0}],
        "roots":[{"space":{"storage":{"set":0,"binding":1}},"name":"a","is_natural":false,"bytes":null,"has_initial":false,"array":null}],
        "calls":{"entry":4,"calls":{},"has_paths":false,"deepest":0},"has_leaders":true}"#,
    )
    .unwrap()
}

fn dispatched(prepared: &Prepared, dispatch: Dispatch, traced: Traced) -> Dispatched {
    let (case, kernel) = (&prepared.case, &prepared.kernels[dispatch.kernel]);
    let buffer = |of: &Binding| match case.resources[of.resource].kind {
        ResourceKind::Buffer { bytes, .. } | ResourceKind::Range { bytes, .. } => {
            Some(BoundBuffer { set: of.set, binding: of.binding, element: of.element, bytes })
        }
        _ => None,
    };
    Dispatched {
        source: case.kernels[dispatch.kernel].source.clone().into_owned(),
        entry: kernel.entry.clone(),
        groups: dispatch.groups,
        local_size: kernel.local_size,
        shared_bytes: kernel.shared_bytes,
        buffers: case.kernels[dispatch.sets()].bindings.iter().filter_map(buffer).collect(),
        traced,
    }
}

/// In which outputs bytes differ, and in how many; nothing where none does.
fn differing(prepared: &Prepared, before: &[Vec<u8>], after: &[Vec<u8>]) -> Option<String> {
    let outputs = prepared.case.check.outputs().iter().zip(before.iter().zip(after));
    let of = |(resource, (before, after)): (&usize, (&Vec<u8>, &Vec<u8>))| {
        let name = &prepared.case.resources[*resource].name;
        let mut differing = (0..before.len()).filter(|at| before.get(*at) != after.get(*at));
        let first = differing.next()?;
        let count = 1 + differing.count();
        Some(format!("`{name}` in {count} of {} bytes, from byte {first} on", before.len()))
    };
    let all: Vec<String> = outputs.filter_map(of).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// A case to record, and what judges what it leaves.
enum TracedCase {
    Catalogues(SourcedCase),
    /// What is right, a reference would tell: here the kernel is held against itself.
    Users(Prepared, Box<RefCell<UserKernel>>),
}

/// A case whose dispatches are recorded, and the device that it runs on.
pub(super) struct Tracer {
    device: Vulkan,
    case: TracedCase,
    has_ballots: bool,
    has_values: bool,
    foresees: bool,
    hangs: bool,
    /// What the first pass left, and why that isn't right.
    first: Vec<Vec<u8>>,
    first_wrong: Option<String>,
    loaded: Option<LoadedPass>,
    /// What its dispatches compute as they stand, as far as that was counted.
    counted: BTreeMap<usize, CountedOperations>,
    foreseen: Vec<altered::Foreseen>,
}

/// A case that was made to record, and can record other workgroups.
struct LoadedPass {
    slot: CaseHandle,
    /// The buffer of records, and how large it is.
    resource: usize,
    bytes: u64,
    dispatch: usize,
    sites: Vec<usize>,
    change: Option<Change>,
}

impl RecordPass {
    fn recording(&self, dispatch: &Dispatch, prepared: &Prepared, memory: MemoryKind) -> Recording<'_> {
        Recording {
            memory,
            groups: &self.groups,
            grid: dispatch.groups,
            invocations_per_group: prepared.kernels[dispatch.kernel].local_size.iter().product(),
            capacity: self.capacity,
            invocations: self.invocations.as_deref(),
        }
    }

    /// Writes what was recorded, where it was asked for.
    fn keep(&self, words: &[u32]) -> Result<(), Failure> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let written = File::create_new(&self.file).and_then(|mut file| file.write_all(&bytes));
        written.map_err(|error| refused(format!("can't keep what was recorded: {error}")))
    }
}

impl Tracer {
    fn prepared(&self) -> &Prepared {
        match &self.case {
            TracedCase::Catalogues(case) => case.prepared(),
            TracedCase::Users(prepared, _) => prepared,
        }
    }

    /// How what a pass left differs from what the first one did.
    fn difference(&self, outputs: &[Vec<u8>]) -> Option<Difference> {
        let bytes = differing(self.prepared(), &self.first, outputs)?;
        let beyond_tolerance = match &self.case {
            TracedCase::Catalogues(_) => None,
            TracedCase::Users(prepared, kernel) => {
                let apart = kernel.borrow_mut().apart(&prepared.case, &self.first, outputs.to_vec());
                apart.err().map(|Mismatch { output, at, got, expected, wrong, total, .. }| {
                    format!("{output}{at} is {got} and was {expected}; {wrong} of {total} elements differ")
                })
            }
        };
        Some(Difference { bytes, beyond_tolerance })
    }

    /// Runs it twice as it stands.
    fn look(&mut self) -> Result<Untraced, Failure> {
        let prepared = self.prepared().clone();
        let dispatches = prepared.dispatches().into_iter().map(|dispatch| {
            let options = TraceOptions { foresees: self.foresees, ..self.options(&[]) };
            let traced = self.traced(&prepared, dispatch, &options)?;
            Ok(dispatched(&prepared, dispatch, traced))
        });
        let dispatches: Result<Vec<Dispatched>, Failure> = dispatches.collect();
        let dispatches = dispatches?;
        if self.hangs {
            return Ok(Untraced { dispatches, ..Untraced::default() });
        }
        let slot = self.device.load(&prepared)?.slot;
        let (first, _) = self.outputs(slot, &prepared)?;
        let (second, took) = self.outputs(slot, &prepared)?;
        self.device.release(slot);
        self.first.clone_from(&first);
        let difference = self.difference(&second);
        self.first_wrong = self.wrong(first)?;
        let wrong = if difference.is_none() { self.first_wrong.clone() } else { self.wrong(second)? };
        Ok(Untraced { dispatches, difference, wrong, took })
    }

    fn options<'s>(&self, sites: &'s [usize]) -> TraceOptions<'s> {
        TraceOptions { leaders: self.has_ballots, values: self.has_values, sites: Some(sites), foresees: false }
    }

    /// What a dispatch accesses. The memory that it reaches by address is among the variables, as the last of them.
    fn traced(&self, prepared: &Prepared, dispatch: Dispatch, options: &TraceOptions) -> Result<Traced, Failure> {
        let mut traced = prepared.traced(dispatch, options).map_err(refused)?;
        let resources = addressed(&prepared.case).into_iter().map(|at| &prepared.case.resources[at]);
        traced.roots.extend(resources.map(|resource| Root {
            space: Space::Address,
            name: resource.name.strip_prefix(MEMORY_PREFIX).unwrap_or(&resource.name).to_owned(),
            is_natural: false,
            bytes: Some(resource.bytes()),
            has_initial: false,
            array: None,
        }));
        Ok(traced)
    }

    /// Where what it reaches by address begins now.
    fn starts(&self, slot: CaseHandle) -> Vec<u64> {
        let starts = addressed(&self.prepared().case).into_iter().map(|resource| self.device.address(slot, resource));
        starts.map(|start| start.unwrap_or(u64::MAX)).collect()
    }

    fn wrong(&self, bytes: Vec<Vec<u8>>) -> Result<Option<String>, Failure> {
        match &self.case {
            TracedCase::Catalogues(case) if !bytes.is_empty() => {
                let judged = case.judge(Outputs { bytes, poisoned: None })?;
                Ok(judged.err().map(|mismatch| mismatch.to_string()))
            }
            _ => Ok(None),
        }
    }

    /// Runs a case once, and reads what it leaves.
    fn outputs(&mut self, slot: CaseHandle, prepared: &Prepared) -> Result<(Vec<Vec<u8>>, Duration), Failure> {
        let took = self.device.run_checked(slot)?;
        let read: Result<_, _> =
            prepared.case.check.outputs().iter().map(|resource| self.device.read(slot, *resource)).collect();
        Ok((read?, took))
    }

    fn dispatch(&self, at: usize) -> Result<Dispatch, Failure> {
        self.prepared().dispatches().get(at).copied().ok_or_else(|| refused("the case has no such dispatch"))
    }

    fn changed(&self, dispatch: Dispatch, change: Option<&Change>) -> Result<Prepared, Failure> {
        match change {
            None => Ok(self.prepared().clone()),
            Some(Change::Padding(padding)) => self.prepared().padded(dispatch, padding).map_err(refused),
            Some(Change::Barriers(barriers)) => {
                let changed = self.prepared().with_barriers(dispatch, &self.options(&[]), barriers);
                changed.map(|(prepared, _)| prepared).map_err(refused)
            }
        }
    }

    /// Loads what records a pass, unless it is loaded: drivers may compile it for long.
    fn load(&mut self, pass: &RecordPass, dispatch: Dispatch, recording: &Recording) -> Result<(CaseHandle, usize), Failure> {
        let is_it = |loaded: &&LoadedPass| {
            (loaded.dispatch, &loaded.sites, &loaded.change) == (pass.dispatch, &pass.sites, &pass.change)
                && loaded.bytes >= recording.bytes()
        };
        if let Some(LoadedPass { slot, resource, .. }) = self.loaded.as_ref().filter(is_it) {
            return Ok((*slot, *resource));
        }
        self.release();
        let prepared = self.changed(dispatch, pass.change.as_ref())?;
        let traced = self.traced(&prepared, dispatch, &self.options(&pass.sites))?;
        let (prepared, resource) = prepared.recording(dispatch, &traced, recording).map_err(refused)?;
        let slot = self.device.load(&prepared)?.slot;
        let (bytes, sites, change) = (recording.bytes(), pass.sites.clone(), pass.change.clone());
        self.loaded = Some(LoadedPass { slot, resource, bytes, dispatch: pass.dispatch, sites, change });
        Ok((slot, resource))
    }

    /// Makes room: what two cases take of memory may be more than there is.
    fn release(&mut self) {
        if let Some(loaded) = self.loaded.take() {
            self.device.release(loaded.slot);
        }
    }

    fn count(&mut self, at: usize) -> Result<CountedOperations, Failure> {
        if let Some(counted) = self.counted.get(&at) {
            return Ok(counted.clone());
        }
        let prepared = self.prepared().clone();
        let dispatch = self.dispatch(at)?;
        let kernel = &prepared.kernels[dispatch.kernel];
        let stray_doubles = stray_doubles(&kernel.module.words, &kernel.entry);
        let counted = CountedOperations { stray_doubles, ..self.operations(&prepared, dispatch)? };
        self.counted.insert(at, counted.clone());
        Ok(counted)
    }

    /// What a dispatch of a case computes.
    fn operations(&mut self, prepared: &Prepared, dispatch: Dispatch) -> Result<CountedOperations, Failure> {
        let local_size = prepared.kernels[dispatch.kernel].local_size.iter().product();
        let subgroup = &self.device.info().subgroup;
        let (can_elect, subgroup_size) = (subgroup.in_compute, subgroup.size);
        let (prepared, resource, counting) = prepared.counting(dispatch, can_elect).map_err(refused)?;
        self.release();
        let slot = self.device.load(&prepared)?.slot;
        let counted = self.counted(slot, resource);
        self.device.release(slot);
        let counted = counted?;
        Ok(CountedOperations {
            done: counting.done(&counted, subgroup_size, local_size).into_iter().collect(),
            is_partial: counting.is_partial,
            stray_doubles: Vec::new(),
            visited: counting.visited(&counted),
        })
    }

    fn overruns(&mut self, point: &Point) -> Result<Vec<Overrun>, Failure> {
        let TracedCase::Users(_, kernel) = &self.case else { return Ok(Vec::new()) };
        let Some((prepared, noting)) = kernel.borrow_mut().noting(point)? else { return Ok(Vec::new()) };
        self.release();
        let slot = self.device.load(&prepared)?.slot;
        let bounds = looked(&mut self.device, slot, &prepared, &noting);
        self.device.release(slot);
        bounds.map(|bounds| bounds.overruns)
    }

    /// Marks what the dispatch touches, in as many passes as its instructions take.
    fn touched(&mut self, FindTouched { dispatch, sector_bytes, most_sites }: &FindTouched) -> Result<Touched, Failure> {
        let dispatch = self.dispatch(*dispatch)?;
        let traced = self.traced(self.prepared(), dispatch, &self.options(&[]))?;
        let what = dispatched(self.prepared(), dispatch, traced);
        if overlap(&self.prepared().case, dispatch.sets()) {
            return Err(refused("its buffers have bytes in common"));
        }
        let marks = Marks::of(&what.traced, *sector_bytes, |root| what.bound_bytes(root.space, 0));
        let fits = |marks: &Marks| marks.bytes() <= self.device.info().limits.storage_buffer_range;
        let marks = marks.filter(fits).ok_or_else(|| refused("no buffer has room for a bit of each of its sectors"))?;
        let all = what.traced.sites.iter().enumerate();
        let sites: Vec<usize> = all.clone().filter(|(_, site)| marks.mark(site)).map(|(at, _)| at).collect();
        let is_partial = all.clone().any(|(_, site)| !marks.mark(site) && what.traced.may_reach_buffers(site));
        self.release();
        let passes = sites.chunks((*most_sites).max(1)).map(|sites| self.prepared().marking(dispatch, &marks, sites));
        let passes: Vec<(Prepared, usize)> = passes.collect::<Result<_, _>>().map_err(refused)?;
        // Pipelines of many passes at one time would fill the memory.
        let ahead = passes.iter().take(2 * self.device.compile_threads());
        ahead.for_each(|(prepared, _)| self.device.compile_ahead(prepared));
        let mut all: Vec<u8> = Vec::new();
        for (prepared, resource) in passes {
            let slot = self.device.load(&prepared)?.slot;
            let bits = self.counted(slot, resource);
            self.device.release(slot);
            let bits = bits?;
            if all.is_empty() {
                all = bits;
            } else {
                all.iter_mut().zip(bits).for_each(|(all, more)| *all |= more);
            }
        }
        Ok(Touched { is_partial, ..marks.touched(&all) })
    }

    fn counted(&mut self, slot: CaseHandle, resource: usize) -> Result<Vec<u8>, Failure> {
        self.device.restart(slot, resource, &[])?;
        self.device.run_checked(slot)?;
        self.device.read(slot, resource)
    }

    fn record(&mut self, pass: &RecordPass) -> Result<RecordedPass, Failure> {
        let dispatch = self.dispatch(pass.dispatch)?;
        let prepared = self.changed(dispatch, pass.change.as_ref())?;
        let memory = if self.hangs { MemoryKind::HostVisible } else { MemoryKind::DeviceLocal };
        let recording = pass.recording(&dispatch, &prepared, memory);
        let traced = self.traced(&prepared, dispatch, &self.options(&pass.sites))?;
        let (slot, resource) = self.load(pass, dispatch, &recording)?;
        self.device.restart(slot, resource, &recording.beginning())?;
        let starts = self.starts(slot);
        let ran = self.outputs(slot, &prepared);
        let hung = ran.as_ref().err().filter(|failure| matches!(failure.status, Status::Timeout | Status::DeviceLost));
        let seen = hung.and_then(|_| self.device.peek(slot, resource));
        if let (Some(records), Err(failure)) = (seen, &ran) {
            pass.keep(&recording.compacted(&records, &traced, &starts))?;
            return Ok(RecordedPass { difference: None, wrong: None, took: Duration::ZERO, stopped: Some(failure.clone()) });
        }
        let (outputs, took) = ran?;
        let records = self.device.read(slot, resource)?;
        pass.keep(&recording.compacted(&records, &traced, &starts))?;
        drop(records);
        let difference = self.difference(&outputs);
        // Judging may take longer than the pass.
        let wrong = if difference.is_none() { self.first_wrong.clone() } else { self.wrong(outputs)? };
        Ok(RecordedPass { difference, wrong, took, stopped: None })
    }
}

/// Whether two of the buffers that are bound for a kernel have bytes in common.
fn overlap(case: &Case, kernel: usize) -> bool {
    let place = |binding: &Binding| {
        let resource = &case.resources[binding.resource];
        let (of, start) = resource.kind.whole(binding.resource);
        let is_buffer = matches!(resource.kind, ResourceKind::Buffer { .. } | ResourceKind::Range { .. });
        is_buffer.then(|| (of, start, start + resource.bytes()))
    };
    let mut places: Vec<(usize, u64, u64)> = case.kernels[kernel].bindings.iter().filter_map(place).collect();
    places.sort_unstable();
    places.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[1].1 < pair[0].2)
}

/// The resources that kernels reach by address, each once.
fn addressed(case: &Case) -> BTreeSet<usize> {
    case.addressed().collect()
}

fn refused(why: impl ToString) -> Failure {
    Failure::new(Status::Error, why.to_string())
}
