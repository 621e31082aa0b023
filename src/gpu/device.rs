//! The device and the cases that are loaded on it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use gpu_allocator::MemoryLocation;

use crate::model::{
    self, Address, Contents, DeviceInfo, Footprint, GpuState, HeldAddress, Measurand, OTHER_POISON, OtherProcess, POISON,
    PipelineDetail, PipelineStatistics, QueueFamily, Repeat, ResourceKind, Status, Step,
};
use crate::shader::{Access, Prepared};
use crate::units::Ticks;

use super::ahead::Ahead;
use super::check;
use super::clock::CoreClock;
use super::command::Sampling;
use super::error::{Context, Error};
use super::host;
use super::instance::Physical;
use super::logical::Logical;
use super::memory::{self, Buffer, NewBuffer, Staging};
use super::object::Owned;
use super::others::Others;
use super::pipeline::{BoundKernel, BoundSource, Compiled, PipelineSource};
use super::resource::Resource;
use super::submit::Queue;
use super::timestamps::QueryPool;

/// A loaded case. Valid until the device unloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CaseHandle {
    index: usize,
    generation: u64,
}

impl CaseHandle {
    pub fn simulated(index: usize) -> Self {
        Self { index, generation: 0 }
    }

    pub fn index(self) -> usize {
        self.index
    }
}

/// Less memory than this moves nothing: drivers hand it out in pages of so many bytes.
const LEAST_DISPLACEMENT: u64 = 64 << 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceOptions {
    /// The queue family; `None` for the one that [`DeviceInfo::default_queue`] names.
    pub queue_family: Option<u32>,
    pub detail: PipelineDetail,
    /// Whether buffers are accessed robustly: the device then looks whether an access lies within its buffer, at a price.
    pub is_robust: bool,
    /// On how many threads pipelines are made ahead ([`Device::compile_ahead`]); 0 for not at all.
    pub compile_threads: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub slot: CaseHandle,
    /// What its shader modules and pipelines took. Some drivers compile only at the first dispatch, which this doesn't hold.
    pub pipeline_time: Duration,
    /// What the driver tells of each kernel's pipeline, in the case's order; `None` unless it was asked ([`DeviceOptions`]) and tells.
    pub statistics: Option<Vec<PipelineStatistics>>,
    /// Which memory types hold the case's buffers, in words.
    pub memory_types: String,
}

/// Samples of a case, taken in one submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Samples {
    /// Whose pass runs before each of them, outside the timestamps.
    pub evictor: Option<CaseHandle>,
    pub slot: CaseHandle,
    /// Passes of each; none of two timestamps back to back.
    pub batch: u32,
    pub samples: u32,
    /// What one pass is made of right after the last one, timed by itself ([`Submission::after`]): the device doesn't rest in between.
    pub then: Option<CaseHandle>,
}

impl Samples {
    /// With nothing between them and nothing behind.
    pub fn of(slot: CaseHandle, batch: u32, samples: u32) -> Self {
        Self { evictor: None, slot, batch, samples, then: None }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// The host's time from submitting to the end.
    pub host: Duration,
    /// Start and end of each sample, as the device wrote them; empty without timestamps, and where the host did the work.
    pub samples: Vec<(Ticks, Ticks)>,
    /// The same of what ran after all of them, where something was to.
    pub after: Option<(Ticks, Ticks)>,
}

/// An opened device with one queue.
pub struct Device {
    info: DeviceInfo,
    core_clock: Option<CoreClock>,
    others: Others,
    generation: u64,
    // What follows is dropped in this order: users before what they use.
    ahead: Option<Ahead>,
    /// By the slots' indexes; nothing where a case was released.
    cases: Vec<Option<LoadedCase>>,
    shared: HashMap<model::Resource, Arc<Resource>>,
    staging: Staging,
    /// Memory that nothing uses ([`Device::displace`]).
    displacement: Option<Buffer>,
    queries: Option<QueryPool>,
    queue: Queue,
    logical: Arc<Logical>,
}

pub(super) struct LoadedCase {
    pub(super) title: String,
    pub(super) reset: Vec<Step>,
    pub(super) prepare: Vec<Step>,
    pub(super) pass: Vec<Step>,
    repeat: Repeat,
    measurand: Measurand,
    kernels: Vec<BoundKernel>,
    events: Vec<Owned<vk::Event>>,
    /// Those that its own steps write.
    pub(super) queries: Option<QueryPool>,
    resources: Vec<Arc<Resource>>,
    /// Of each resource, where addresses stand in it, which are others each time that the case is loaded.
    addresses: HashMap<usize, Vec<u64>>,
}

impl LoadedCase {
    pub(super) fn needs_reset(&self) -> bool {
        self.repeat == Repeat::AfterReset
    }

    // `check` saw what steps name: it is there.

    pub(super) fn kernel(&self, index: usize) -> &BoundKernel {
        &self.kernels[index]
    }

    pub(super) fn resource(&self, index: usize) -> &Resource {
        &self.resources[index]
    }

    pub(super) fn event(&self, number: u32) -> vk::Event {
        self.events.get(number as usize).map_or(vk::Event::null(), Owned::raw)
    }

    pub(super) fn buffer(&self, index: usize) -> Option<&Buffer> {
        self.resource(index).buffer()
    }

    fn is_hosts(&self) -> bool {
        host::is_hosts(&self.pass)
    }
}

impl Device {
    pub(super) fn open(physical: Physical<'_>, options: DeviceOptions) -> Result<Self, Error> {
        let info = physical.info.clone();
        if let Some(reason) = &info.unusable {
            return Err(Error::new(Status::Error, format!("{} can't be used: {reason}", info.name)));
        }
        let family = choose_family(&info, options.queue_family)?;
        let logical = Logical::open(physical, family.index, options.detail, options.is_robust)?;
        Ok(Self {
            queue: Queue::new(&logical, family, info.kind)?,
            core_clock: CoreClock::find(&info),
            others: Others::new(info.pci_address),
            info,
            generation: 0,
            ahead: (options.compile_threads > 0).then(|| Ahead::new(&logical, options.compile_threads)),
            cases: Vec::new(),
            shared: HashMap::new(),
            staging: Staging::default(),
            displacement: None,
            queries: None,
            logical,
        })
    }

    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    pub fn queue_family(&self) -> QueueFamily {
        self.queue.family()
    }

    /// Other processes that worked on the device lately; `None` where they can't be seen. Takes microseconds of the host as a rule, and
    /// milliseconds twice a second.
    pub fn others(&mut self) -> Option<Vec<OtherProcess>> {
        self.others.look(self.core_clock.as_ref().and_then(CoreClock::nvml))
    }

    /// What the vendor's interface tells of the device now, beside its clock.
    pub fn state(&mut self) -> GpuState {
        let others = self.others();
        let nvml = self.core_clock.as_ref().and_then(CoreClock::nvml);
        GpuState {
            max_mhz: nvml.and_then(super::nvml::Gpu::max_mhz),
            slowdowns: nvml.map(super::nvml::Gpu::slowdowns).unwrap_or_default().into_iter().map(str::to_owned).collect(),
            others,
        }
    }

    /// The core clock now, in MHz; `None` where the vendor's interface doesn't tell it. Takes microseconds of the host as a rule.
    pub fn core_clock_mhz(&self) -> Option<f64> {
        self.core_clock.as_ref().and_then(CoreClock::mhz)
    }

    /// How long one submission may take before the device counts as hung (60 s unless set).
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.queue.timeout = timeout;
    }

    /// Takes so much of the device's memory, which nothing uses and which is held until the device is closed: what is loaded later lies
    /// elsewhere than it would. Where there isn't so much, half of it, and so on. Tells how much it is.
    pub fn displace(&mut self, bytes: u64) -> u64 {
        self.displacement = None;
        let halves =
            std::iter::successors(Some(bytes), |bytes| Some(bytes / 2)).take_while(|bytes| *bytes >= LEAST_DISPLACEMENT);
        let (logical, name, usage) = (&self.logical, "displacement", vk::BufferUsageFlags::STORAGE_BUFFER);
        let buffer = |bytes| Buffer::new(NewBuffer { logical, name, bytes, usage }, MemoryLocation::GpuOnly).ok();
        self.displacement = halves.into_iter().find_map(buffer);
        self.displacement.as_ref().map_or(0, Buffer::bytes)
    }

    /// Creates what a case needs and fills its resources. A resource that equals one of an already loaded case is shared with it.
    /// Where the case breaks a limit, memory runs out, or the driver refuses, nothing of it stays loaded.
    pub fn load(&mut self, prepared: &Prepared) -> Result<Loaded, Error> {
        self.logical.alive()?;
        check::case(prepared, &self.info)?;
        let resources = &prepared.case.resources;
        let sharable = sharable(prepared);
        let mut loaded = self.resources(&prepared.case, &sharable);
        if loaded.as_ref().is_err_and(|error| error.status() == Status::OutOfMemory) && self.drop_unused() {
            loaded = self.resources(&prepared.case, &sharable);
        }
        let loaded = loaded?;
        let mut kernels = Vec::with_capacity(prepared.kernels.len());
        let mut statistics = self.logical.inquirer.is_some().then(Vec::new);
        for bound in BoundSource::all(prepared) {
            let kernel = BoundKernel::new(|| self.compiled(&bound.source), &bound, &loaded)?;
            if let Some(all) = &mut statistics {
                all.extend(kernel.compiled.statistics(&bound.source.name)?);
            }
            kernels.push(kernel);
        }
        let pipeline_time = kernels.iter().map(|kernel| kernel.compiled.time).sum();
        // Only now: a case that failed on the way leaves nothing behind.
        let owned = resources.iter().cloned().zip(loaded.iter().cloned()).zip(sharable);
        self.shared.extend(owned.filter(|(_, sharable)| *sharable).map(|(shared, _)| shared));
        self.drop_unused();
        let title = check::title(&prepared.case);
        let memory_types = memory::placements(resources.iter().zip(&loaded), &self.info);
        let (events, queries) = (self.events(&prepared.case)?, self.own_queries(&prepared.case)?);
        let model::Case { reset, prepare, pass, repeat, measurand, .. } = prepared.case.clone();
        let slot = CaseHandle { index: self.cases.len(), generation: self.generation };
        let resources = loaded;
        let addresses = (0..prepared.case.resources.len()).map(|at| (at, prepared.case.addresses_in(at)));
        let addresses = addresses.filter(|(_, all)| !all.is_empty()).collect();
        let case =
            LoadedCase { title, reset, prepare, pass, repeat, measurand, kernels, events, queries, resources, addresses };
        self.cases.push(Some(case));
        Ok(Loaded { slot, pipeline_time, statistics, memory_types })
    }

    /// A pipeline: one that was made ahead, or a new one.
    fn compiled(&self, source: &PipelineSource<'_>) -> Result<Compiled, Error> {
        let made = self.ahead.as_ref().and_then(|ahead| ahead.take(source));
        made.unwrap_or_else(|| Compiled::new(&self.logical, source))
    }

    /// Has the pipelines of a case made on other threads, for [`Device::load`] to take; nothing where the device was opened without.
    /// A driver that crashes on it takes the process down at any time from now on. What [`Device::load`] would refuse isn't made.
    pub fn compile_ahead(&self, prepared: &Prepared) {
        let Some(ahead) = self.ahead.as_ref().filter(|_| self.logical.alive().is_ok()) else { return };
        if check::case(prepared, &self.info).is_ok() {
            BoundSource::all(prepared).for_each(|bound| ahead.make(&bound.source));
        }
    }

    /// Drops the pipelines that were made ahead and not taken, and makes no more of them.
    pub fn forget_compiled(&self) {
        self.ahead.iter().for_each(Ahead::forget);
    }

    pub fn compile_threads(&self) -> usize {
        self.ahead.as_ref().map_or(0, Ahead::threads)
    }

    fn events(&self, case: &model::Case) -> Result<Vec<Owned<vk::Event>>, Error> {
        let event = |step: &Step| match step {
            Step::SetEvent { event } | Step::WaitEvent { event } | Step::ResetEvent { event } => Some(event + 1),
            _ => None,
        };
        let count = case.steps().filter_map(event).max().unwrap_or(0);
        (0..count)
            .map(|_| {
                // SAFETY: the device lives.
                let event = unsafe { self.logical.raw.create_event(&vk::EventCreateInfo::default(), None) };
                Ok(Owned::new(&self.logical, event.on("vkCreateEvent", || case.experiment.clone())?, "event"))
            })
            .collect()
    }

    fn own_queries(&self, case: &model::Case) -> Result<Option<QueryPool>, Error> {
        let query = |step: &Step| if let Step::Timestamp { query, .. } = step { Some(query + 1) } else { None };
        let Some(count) = case.steps().filter_map(query).max() else { return Ok(None) };
        if self.queue.family().timestamp_valid_bits == 0 {
            return Err(Error::new(Status::Error, "the case writes timestamps, which the queue has none of"));
        }
        QueryPool::new(&self.logical, count).map(Some)
    }

    fn resources(&mut self, case: &model::Case, sharable: &[bool]) -> Result<Vec<Arc<Resource>>, Error> {
        let addressed: HashSet<usize> = case.addressed().collect();
        let mut all = Vec::with_capacity(case.resources.len());
        for (at, (resource, sharable)) in case.resources.iter().zip(sharable).enumerate() {
            all.push(self.resource(resource, *sharable, addressed.contains(&at), &all)?);
        }
        self.write_addresses(case, &all)?;
        Ok(all)
    }

    fn write_addresses(&mut self, case: &model::Case, all: &[Arc<Resource>]) -> Result<(), Error> {
        if case.addresses.is_empty() {
            return Ok(());
        }
        self.queue.run("writing addresses", |recorder| {
            for HeldAddress { holder, at, address: Address { resource, byte } } in &case.addresses {
                let start = all[*resource].buffer().and_then(Buffer::address);
                if let (Some(holder), Some(start)) = (all[*holder].buffer(), start) {
                    recorder.write(holder, *at, &(start + byte).to_le_bytes());
                }
            }
        })?;
        Ok(())
    }

    /// Frees shared resources of which all cases were released, and tells whether there were any.
    fn drop_unused(&mut self) -> bool {
        let before = self.shared.len();
        self.shared.retain(|_, resource| Arc::strong_count(resource) > 1);
        self.shared.len() < before
    }

    /// A resource: one that is loaded already, or a new one with its contents.
    fn resource(
        &mut self,
        resource: &model::Resource,
        sharable: bool,
        addressed: bool,
        before: &[Arc<Resource>],
    ) -> Result<Arc<Resource>, Error> {
        if let Some(loaded) = self.shared.get(resource).filter(|_| sharable) {
            return Ok(Arc::clone(loaded));
        }
        Resource::new(&mut self.queue, &mut self.staging, &self.info, resource, addressed, before).map(Arc::new)
    }

    /// What resources loading the case would add now; shared ones count nothing.
    pub fn footprint(&self, prepared: &Prepared) -> Footprint {
        let resources = prepared.case.resources.iter().zip(sharable(prepared));
        let (shared, own): (Vec<_>, Vec<_>) = resources.partition(|(_, sharable)| *sharable);
        let new: HashSet<&model::Resource> =
            shared.into_iter().map(|(resource, _)| resource).filter(|resource| !self.shared.contains_key(*resource)).collect();
        let own = own.into_iter().map(|(resource, _)| resource);
        new.into_iter().chain(own).map(|resource| resource.footprint(&self.info)).sum()
    }

    /// What the resources of a block of cases may take in all, those that are loaded now included.
    pub fn memory_budget(&self) -> Footprint {
        let loaded: Footprint = self.shared.keys().map(|resource| resource.footprint(&self.info)).sum();
        memory::budget(&self.logical, &self.info, loaded.device)
    }

    /// Bytes of its own memory that are free now, by the driver's word; `None` where it says nothing.
    pub fn free_memory(&self) -> Option<u64> {
        memory::free_bytes(&self.logical, &self.info)
    }

    // What runs something fails where the driver fails, loses the device, or doesn't end in time.

    /// Runs the reset program alone, and waits.
    pub fn run_reset(&mut self, slot: CaseHandle) -> Result<(), Error> {
        let case = case(&self.cases, self.generation, slot)?;
        if case.is_hosts() {
            return host::run(case, &case.reset, 1).map(drop);
        }
        self.queue.run(&case.title, |recorder| recorder.reset(case)).map(drop)
    }

    /// Runs the reset program and one pass, and waits. Returns the host's time for that.
    pub fn run_checked(&mut self, slot: CaseHandle) -> Result<Duration, Error> {
        let case = case(&self.cases, self.generation, slot)?;
        run_after(&mut self.queue, case, &case.reset)
    }

    /// The same, but that the reset leaves [`OTHER_POISON`] in the place of [`POISON`].
    pub fn run_poisoned(&mut self, slot: CaseHandle) -> Result<Duration, Error> {
        let case = case(&self.cases, self.generation, slot)?;
        let mut reset = case.reset.clone();
        for step in &mut reset {
            if let Step::Fill { word: word @ POISON, .. } = step {
                *word = OTHER_POISON;
            }
        }
        run_after(&mut self.queue, case, &reset)
    }

    /// Makes a buffer, which nothing else that is loaded may share, begin with these bytes, and be zero behind them.
    pub fn restart(&mut self, slot: CaseHandle, resource: usize, bytes: &[u8]) -> Result<(), Error> {
        let case = case(&self.cases, self.generation, slot)?;
        match case.resources.get(resource).map(Arc::as_ref) {
            Some(Resource::Buffer(buffer)) => self.staging.restart(&mut self.queue, buffer, bytes),
            _ => Err(Error::new(Status::Error, format!("{}: resource {resource} is no buffer", case.title))),
        }
    }

    /// What a resource holds, with zeros where it was given addresses.
    pub fn read(&mut self, slot: CaseHandle, resource: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = self.read_all(slot, resource)?;
        let case = case(&self.cases, self.generation, slot)?;
        for at in case.addresses.get(&resource).into_iter().flatten() {
            let at = usize::try_from(*at).unwrap_or(usize::MAX);
            bytes.iter_mut().skip(at).take(Address::BYTES).for_each(|byte| *byte = 0);
        }
        Ok(bytes)
    }

    fn read_all(&mut self, slot: CaseHandle, resource: usize) -> Result<Vec<u8>, Error> {
        let case = case(&self.cases, self.generation, slot)?;
        let title = &case.title;
        match case.resources.get(resource).map(Arc::as_ref) {
            Some(Resource::Buffer(buffer)) => self.staging.download(&mut self.queue, buffer, 0..buffer.bytes()),
            Some(Resource::Range { whole, offset, bytes }) => match whole.buffer() {
                Some(buffer) => self.staging.download(&mut self.queue, buffer, *offset..offset + bytes),
                None => Ok(Vec::new()),
            },
            Some(Resource::Texels { buffer, bytes, .. }) => {
                let mut read = self.staging.download(&mut self.queue, buffer, 0..buffer.bytes())?;
                read.truncate(usize::try_from(*bytes).unwrap_or(usize::MAX));
                Ok(read)
            }
            Some(Resource::Image(image)) if image.is_storage() => self.staging.download_image(&mut self.queue, image),
            Some(memory @ Resource::HostMemory(_)) => Ok(memory.with_bytes(|bytes| bytes.to_vec()).unwrap_or_default()),
            Some(_) => Err(Error::new(Status::Error, format!("{title}: resource {resource} can't be read back"))),
            None => Err(Error::new(Status::Error, format!("{title}: there is no resource {resource}"))),
        }
    }

    /// What a buffer that the host sees holds at this moment, though the device hangs; nothing of others.
    pub fn peek(&self, slot: CaseHandle, resource: usize) -> Option<Vec<u8>> {
        let case = case(&self.cases, self.generation, slot).ok()?;
        case.resources.get(resource)?.buffer()?.peek()
    }

    /// Where a buffer begins that kernels reach by its address; nothing of others.
    pub fn address(&self, slot: CaseHandle, resource: usize) -> Option<u64> {
        let case = case(&self.cases, self.generation, slot).ok()?;
        case.resources.get(resource)?.buffer()?.address()
    }

    /// Takes `samples` samples of `batch` passes each in one submission.
    pub fn sample(&mut self, slot: CaseHandle, batch: u32, samples: u32) -> Result<Submission, Error> {
        self.sample_between(Samples::of(slot, batch, samples))
    }

    /// A pass that can't follow itself has its reset run before each sample, outside the timestamps; it has batches of one.
    pub fn sample_between(&mut self, wanted: Samples) -> Result<Submission, Error> {
        let Samples { evictor, slot, batch, samples, then } = wanted;
        let [evictor, then] = [evictor, then].map(|slot| slot.map(|slot| case(&self.cases, self.generation, slot)).transpose());
        let (evictor, then) = (evictor?, then?);
        let case = case(&self.cases, self.generation, slot)?;
        if case.needs_reset() && batch > 1 {
            let title = &case.title;
            return Err(Error::new(Status::Error, format!("{title}: a batch of {batch}, but the pass can't follow itself")));
        }
        if case.is_hosts() {
            let host = (0..samples).map(|_| host::run(case, &case.pass, batch)).sum::<Result<Duration, Error>>()?;
            return Ok(Submission { host, samples: Vec::new(), after: None });
        }
        if let Measurand::HostCost(cost) = case.measurand {
            let host = (0..samples).map(|_| self.queue.cost(case, cost, batch)).sum::<Result<Duration, Error>>()?;
            return Ok(Submission { host, samples: Vec::new(), after: None });
        }
        let pairs = samples.checked_add(u32::from(then.is_some()));
        let queries = match pairs.and_then(|pairs| pairs.checked_mul(2)) {
            Some(queries) => queries,
            None => return Err(Error::new(Status::Error, format!("{samples} samples are too many for one submission"))),
        };
        let has_timestamps = self.queue.family().timestamp_valid_bits > 0;
        if has_timestamps && self.queries.as_ref().is_none_or(|pool| queries > pool.capacity) {
            // The old pool goes first: it is idle.
            self.queries = None;
            self.queries = Some(QueryPool::new(&self.logical, queries)?);
        }
        let sampling = Sampling { batch, samples, evictor, then, queries: self.queries.as_ref() };
        let host = self.queue.run(&case.title, |recorder| recorder.samples(case, sampling))?;
        let mut samples = match &self.queries {
            Some(pool) if queries > 0 => pool.pairs(queries / 2)?,
            _ => Vec::new(),
        };
        let after = then.and_then(|_| samples.pop());
        Ok(Submission { host, samples, after })
    }

    /// Frees a case. Resources of it that others may share stay until the next case is loaded, which may be one that does.
    pub fn release(&mut self, slot: CaseHandle) {
        let is_current = slot.generation == self.generation;
        if let Some(case) = self.cases.get_mut(slot.index).filter(|_| is_current) {
            *case = None;
        }
    }

    /// Frees all cases and their resources. Slots given out so far are void.
    pub fn unload(&mut self) {
        self.generation += 1;
        self.cases.clear();
        self.shared.clear();
        self.staging = Staging::default();
    }

    /// Takes out what the validation layer said so far, of all devices of the instance.
    pub fn messages(&mut self) -> Vec<String> {
        self.logical.instance.log.drain()
    }
}

/// Of each resource, whether other cases may use the same: not one in which a pass finds what the last one left, which is its own; nor
/// an input that a kernel can write to, nor what kernels reach by its address, unseen, or what holds addresses. What a pass writes before it reads is nobody's.
fn sharable(prepared: &Prepared) -> Vec<bool> {
    let kernels = || prepared.case.kernels.iter().zip(&prepared.kernels);
    let accesses = |resource: usize| {
        kernels().flat_map(move |(kernel, specialized)| {
            let bound = kernel.bindings.iter().filter(move |binding| prepared.case.whole(binding.resource) == resource);
            let infos = &specialized.module.reflection.bindings;
            bound.flat_map(|b| infos.iter().filter(move |info| (info.set, info.binding) == (b.set, b.binding)))
        })
    };
    let carried_over = prepared.carried_over();
    let holders = prepared.case.addresses.iter().map(|held| held.holder);
    let addressed: HashSet<usize> = prepared.case.addressed().chain(holders).collect();
    let resources = prepared.case.resources.iter().enumerate();
    resources
        .map(|(index, resource)| match resource.contents {
            _ if addressed.contains(&index) || matches!(resource.kind, ResourceKind::Range { .. }) => false,
            // What is reset before every pass is nobody's own.
            Contents::Undefined if prepared.case.repeat == Repeat::AfterReset => true,
            Contents::Undefined => !carried_over.contains(&index),
            Contents::Sequence(_) | Contents::Data(_) => accesses(index).all(|info| info.access == Access::ReadOnly),
        })
        .collect()
}

fn run_after(queue: &mut Queue, case: &LoadedCase, reset: &[Step]) -> Result<Duration, Error> {
    if case.is_hosts() {
        return Ok(host::run(case, reset, 1)? + host::run(case, &case.pass, 1)?);
    }
    queue.run(&case.title, |recorder| recorder.checked_pass(case, reset))
}

/// The case of a slot. A function of the fields, so that the queue can be borrowed beside it.
fn case(cases: &[Option<LoadedCase>], generation: u64, slot: CaseHandle) -> Result<&LoadedCase, Error> {
    let current = slot.generation == generation;
    let case = cases.get(slot.index).and_then(Option::as_ref);
    case.filter(|_| current).ok_or_else(|| Error::new(Status::Error, "the case was unloaded"))
}

pub(super) fn choose_family(info: &DeviceInfo, asked: Option<u32>) -> Result<QueueFamily, Error> {
    let family = match asked {
        Some(index) => info.queues.iter().find(|family| family.index == index && family.compute),
        None => info.default_queue(),
    };
    family.copied().ok_or_else(|| {
        let fit: Vec<String> =
            info.queues.iter().filter(|family| family.compute).map(|family| family.index.to_string()).collect();
        let asked = asked.map_or("the default".to_owned(), |index| index.to_string());
        let message =
            format!("{}: queue family {asked} doesn't do compute or isn't there; these do: {}", info.name, fit.join(", "));
        Error::new(Status::Error, message)
    })
}
