//! The device and the cases that are loaded on it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ash::vk;

use crate::model::{Contents, DeviceInfo, PipelineStatistics, QueueFamily, Resource, Status, Step};
use crate::shader::{Access, Prepared};
use crate::units::Ticks;

use super::check;
use super::command::Sampling;
use super::error::Error;
use super::instance::InstanceInner;
use super::logical::Logical;
use super::memory::{self, Buffer, Staging};
use super::pipeline::{Kernel, Source};
use super::submit::Queue;
use super::timestamps::QueryPool;

/// A loaded case. Valid until the device unloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    index: usize,
    generation: u64,
}

impl Slot {
    /// The slot of a device that is only simulated.
    pub fn simulated(index: usize) -> Self {
        Self { index, generation: 0 }
    }

    /// Its place among the loaded cases.
    pub fn index(self) -> usize {
        self.index
    }
}

/// How to open a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceOptions {
    /// The queue family; `None` for the one that [`DeviceInfo::default_queue`] names.
    pub queue_family: Option<u32>,
    /// Whether to ask the driver for statistics of each pipeline. The machine code stays the same; making it takes longer, since
    /// drivers may bypass their caches then.
    pub statistics: bool,
}

/// What loading a case gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The case, for the other calls.
    pub slot: Slot,
    /// What its shader modules and pipelines took. Some drivers compile only at the first dispatch, which this doesn't hold.
    pub pipeline_time: Duration,
    /// What the driver tells of each kernel's pipeline, in the case's order; `None` unless asked for ([`DeviceOptions`]) and
    /// where the driver tells nothing.
    pub statistics: Option<Vec<PipelineStatistics>>,
}

/// What one submission of samples gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Submission {
    /// The host's time from submitting to the end.
    pub host: Duration,
    /// Start and end of each sample, as the device wrote them; empty where the queue has no timestamps.
    pub samples: Vec<(Ticks, Ticks)>,
}

/// An opened device with one queue.
pub struct Device {
    info: DeviceInfo,
    generation: u64,
    // What follows is dropped in this order: users before what they use.
    cases: Vec<LoadedCase>,
    shared: HashMap<Resource, Arc<Buffer>>,
    staging: Staging,
    queries: Option<QueryPool>,
    queue: Queue,
    logical: Arc<Logical>,
}

/// A case with its objects.
pub(super) struct LoadedCase {
    title: String,
    reset: Vec<Step>,
    pass: Vec<Step>,
    repeatable: bool,
    kernels: Vec<Kernel>,
    buffers: Vec<Arc<Buffer>>,
}

impl LoadedCase {
    pub(super) fn reset(&self) -> &[Step] {
        &self.reset
    }

    pub(super) fn pass(&self) -> &[Step] {
        &self.pass
    }

    pub(super) fn repeatable(&self) -> bool {
        self.repeatable
    }

    /// A kernel that a checked step names.
    pub(super) fn kernel(&self, index: usize) -> &Kernel {
        &self.kernels[index]
    }

    /// A resource that a checked step names.
    pub(super) fn buffer(&self, index: usize) -> &Buffer {
        &self.buffers[index]
    }
}

impl Device {
    /// Opens a device of the instance.
    pub(super) fn open(
        instance: &Arc<InstanceInner>,
        physical: vk::PhysicalDevice,
        info: DeviceInfo,
        options: DeviceOptions,
    ) -> Result<Self, Error> {
        if let Some(reason) = &info.unusable {
            return Err(Error::new(Status::Error, format!("{} can't be used: {reason}", info.name)));
        }
        let family = choose_family(&info, options.queue_family)?;
        let logical = Logical::open(instance, physical, &info, family.index, options.statistics)?;
        Ok(Self {
            queue: Queue::new(&logical, family, info.kind)?,
            info,
            generation: 0,
            cases: Vec::new(),
            shared: HashMap::new(),
            staging: Staging::default(),
            queries: None,
            logical,
        })
    }

    /// What is known about the device.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The family of the queue that everything runs on.
    pub fn queue_family(&self) -> QueueFamily {
        self.queue.family()
    }

    /// How long one submission may take before the device counts as hung (60 s unless set).
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.queue.timeout = timeout;
    }

    /// Creates what a case needs and fills its resources. A resource that equals one of an already loaded case is shared with it.
    ///
    /// # Errors
    /// Where the case breaks a limit, memory runs out, or the driver refuses. Nothing of the case stays loaded then.
    pub fn load(&mut self, prepared: &Prepared) -> Result<Loaded, Error> {
        self.logical.alive()?;
        check::case(prepared, &self.info)?;
        let resources = &prepared.case.resources;
        let sharable = sharable(prepared);
        let buffers = (resources.iter().zip(&sharable))
            .map(|(resource, sharable)| self.buffer(resource, *sharable))
            .collect::<Result<Vec<_>, _>>()?;
        let mut kernels = Vec::with_capacity(prepared.kernels.len());
        let mut statistics = self.logical.statistics.is_some().then(Vec::new);
        for source in Source::all(prepared) {
            let kernel = Kernel::new(&self.logical, &source, &buffers)?;
            if let Some(all) = &mut statistics {
                all.extend(kernel.statistics(&source.name)?);
            }
            kernels.push(kernel);
        }
        let pipeline_time = kernels.iter().map(Kernel::time).sum();
        // Only now: a case that failed on the way leaves nothing behind.
        let owned = resources.iter().cloned().zip(buffers.iter().cloned()).zip(sharable);
        self.shared.extend(owned.filter(|(_, sharable)| *sharable).map(|(shared, _)| shared));
        let title = check::title(&prepared.case);
        let (reset, pass) = (prepared.case.reset.clone(), prepared.case.pass.clone());
        let slot = Slot { index: self.cases.len(), generation: self.generation };
        self.cases.push(LoadedCase { title, reset, pass, repeatable: prepared.case.repeatable, kernels, buffers });
        Ok(Loaded { slot, pipeline_time, statistics })
    }

    /// The buffer of a resource: one that is loaded already, or a new one with its contents.
    fn buffer(&mut self, resource: &Resource, sharable: bool) -> Result<Arc<Buffer>, Error> {
        if let Some(buffer) = self.shared.get(resource).filter(|_| sharable) {
            return Ok(Arc::clone(buffer));
        }
        match resource {
            Resource::Buffer { name, bytes, memory: crate::model::MemoryKind::DeviceLocal, contents } => {
                let buffer = Buffer::storage(&self.logical, name, *bytes)?;
                self.staging.upload(&self.logical, &mut self.queue, &buffer, contents)?;
                Ok(Arc::new(buffer))
            }
        }
    }

    /// Bytes of resources that loading the case would add now; shared ones count nothing.
    pub fn bytes_to_load(&self, prepared: &Prepared) -> u64 {
        let resources = prepared.case.resources.iter().zip(sharable(prepared));
        let (shared, own): (Vec<_>, Vec<_>) = resources.partition(|(_, sharable)| *sharable);
        let new: HashSet<&Resource> =
            shared.into_iter().map(|(resource, _)| resource).filter(|resource| !self.shared.contains_key(*resource)).collect();
        new.into_iter().chain(own.into_iter().map(|(resource, _)| resource)).map(Resource::bytes).sum()
    }

    /// Bytes that the resources of a block of cases may take in all, those that are loaded now included.
    pub fn memory_budget(&self) -> u64 {
        let loaded = self.shared.keys().map(Resource::bytes).sum();
        memory::budget(&self.logical, &self.info, loaded)
    }

    /// Runs the reset program alone, and waits.
    ///
    /// # Errors
    /// As [`Device::run_checked`].
    pub fn run_reset(&mut self, slot: Slot) -> Result<(), Error> {
        let case = case(&self.cases, self.generation, slot)?;
        self.queue.run(&case.title, |recorder| recorder.reset(case)).map(drop)
    }

    /// Runs the reset program and one pass, and waits. Returns the host's time for that.
    ///
    /// # Errors
    /// Where the driver fails, loses the device, or doesn't end in time.
    pub fn run_checked(&mut self, slot: Slot) -> Result<Duration, Error> {
        let case = case(&self.cases, self.generation, slot)?;
        self.queue.run(&case.title, |recorder| recorder.checked_pass(case))
    }

    /// Reads a resource of a case back whole.
    ///
    /// # Errors
    /// As [`Device::run_checked`], and where the case has no such resource.
    pub fn read(&mut self, slot: Slot, resource: usize) -> Result<Vec<u8>, Error> {
        let case = case(&self.cases, self.generation, slot)?;
        let buffer = (case.buffers.get(resource))
            .ok_or_else(|| Error::new(Status::Error, format!("{}: there is no resource {resource}", case.title)))?;
        self.staging.download(&self.logical, &mut self.queue, buffer)
    }

    /// Takes `samples` samples of `batch` passes each in one submission. A batch of zero is two timestamps back to back.
    ///
    /// A pass that isn't repeatable has its reset run before each sample, outside the timestamps.
    ///
    /// # Errors
    /// As [`Device::run_checked`], and for a batch above one of a pass that isn't repeatable.
    pub fn sample(&mut self, slot: Slot, batch: u32, samples: u32) -> Result<Submission, Error> {
        self.sample_after(None, slot, batch, samples)
    }

    /// Takes `samples` samples of one pass each, the evictor's pass before each of them, outside the timestamps.
    ///
    /// # Errors
    /// As [`Device::run_checked`].
    pub fn sample_cold(&mut self, slot: Slot, samples: u32, evictor: Slot) -> Result<Submission, Error> {
        self.sample_after(Some(evictor), slot, 1, samples)
    }

    fn sample_after(&mut self, evictor: Option<Slot>, slot: Slot, batch: u32, samples: u32) -> Result<Submission, Error> {
        let evictor = evictor.map(|slot| case(&self.cases, self.generation, slot)).transpose()?;
        let case = case(&self.cases, self.generation, slot)?;
        if !case.repeatable && batch > 1 {
            let title = &case.title;
            return Err(Error::new(Status::Error, format!("{title}: a batch of {batch}, but the pass can't follow itself")));
        }
        let queries = match samples.checked_mul(2) {
            Some(queries) => queries,
            None => return Err(Error::new(Status::Error, format!("{samples} samples are too many for one submission"))),
        };
        let has_timestamps = self.queue.family().timestamp_valid_bits > 0;
        if has_timestamps && !self.queries.as_ref().is_some_and(|pool| pool.holds(queries)) {
            // The old pool goes first: it is idle.
            self.queries = None;
            self.queries = Some(QueryPool::new(&self.logical, queries)?);
        }
        let sampling = Sampling { batch, samples, evictor, queries: self.queries.as_ref() };
        let host = self.queue.run(&case.title, |recorder| recorder.samples(case, sampling))?;
        let samples = match &self.queries {
            Some(pool) if samples > 0 => pool.pairs(samples)?,
            _ => Vec::new(),
        };
        Ok(Submission { host, samples })
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

/// Of each resource, whether other cases may use the same buffer: not an input that a kernel of this case can write to. Outputs
/// are reset before they are checked, so they may be shared.
fn sharable(prepared: &Prepared) -> Vec<bool> {
    let kernels = || prepared.case.kernels.iter().zip(&prepared.kernels);
    let is_written = |resource: usize| {
        kernels().any(|(kernel, specialized)| {
            let bound = kernel.bindings.iter().filter(|binding| binding.resource == resource);
            let infos = &specialized.module.reflection.bindings;
            let mut at = bound.flat_map(|b| infos.iter().filter(move |info| (info.set, info.binding) == (b.set, b.binding)));
            at.any(|info| info.access != Access::ReadOnly)
        })
    };
    let resources = prepared.case.resources.iter().enumerate();
    resources.map(|(index, Resource::Buffer { contents, .. })| *contents == Contents::Undefined || !is_written(index)).collect()
}

/// The case of a slot. A function of the fields, so that the queue can be borrowed beside it.
fn case(cases: &[LoadedCase], generation: u64, slot: Slot) -> Result<&LoadedCase, Error> {
    let current = slot.generation == generation;
    cases.get(slot.index).filter(|_| current).ok_or_else(|| Error::new(Status::Error, "the case was unloaded"))
}

/// The queue family asked for, or the device's default.
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
