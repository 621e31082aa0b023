//! What is known of a device.

use std::collections::HashMap;
use std::ffi::CStr;
use std::mem;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Instant;

use ash::vk;
use lanescope_chain::{ByHandle, Function, Instance, Known};

use super::contents::{Budget, MemoryPlace, WANTED};
use super::execution::Queue;
use super::kernel::{Kernel, Module};
use super::log::{Log, ORDER, Order, Timing, clean, hex};
use super::pins::{Pinned, Pins};
use super::recording::{Recorded, Recording};
use super::sets::Sets;
use super::slots::{Chunk, Slot, Slots};
use super::statistics::{self, Inquirer};

pub(crate) static INSTANCES: Known<Instance> = Known::new();
pub(crate) static DEVICES: Known<Device> = Known::new();

/// A compute pipeline.
pub(crate) struct Pipeline {
    raw: vk::Pipeline,
    /// Whether it can be asked what the compiler made of it.
    is_asked: bool,
    pub(crate) kernel: Kernel,
    /// Which of the kernels it is whose contents are asked for.
    wanted: OnceLock<Vec<usize>>,
    /// Its kernel's number in the log, once it was dispatched.
    number: OnceLock<u32>,
    pub(crate) name: Mutex<Option<String>>,
}

/// What tells dispatches apart: the kernel, the groups where they are known, and the bytes bound.
type DispatchKey = (u32, Option<[u32; 3]>, u64);

pub(crate) struct Device {
    chain: lanescope_chain::Device,
    /// Functions of the layer below that ash doesn't look up, by the addresses of their names.
    functions: RwLock<ByHandle<usize, Option<Function>>>,
    pub(crate) log: Log,
    /// Where pipelines can be asked what the compiler made of them.
    pub(crate) statistics: Option<Inquirer>,
    families: Vec<vk::QueueFamilyProperties>,
    memory: vk::PhysicalDeviceMemoryProperties,
    modules: Mutex<HashMap<vk::ShaderModule, Arc<Module>>>,
    names: Mutex<HashMap<vk::ShaderModule, String>>,
    pipelines: RwLock<ByHandle<vk::Pipeline, Arc<Pipeline>>>,
    kernels: Mutex<HashMap<String, u32>>,
    /// Of each dispatch, its number in the log, and how often it was recorded.
    dispatches: Mutex<ByHandle<DispatchKey, (u32, u64)>>,
    sets: Mutex<Sets>,
    pins: Mutex<Pins>,
    /// Of executions, which are over soon, and pieces that command buffers keep.
    slots: Mutex<Slots>,
    pieces: Mutex<Slots>,
    pools: Mutex<Vec<(vk::QueryPool, u32)>>,
    command_pools: Mutex<HashMap<vk::CommandPool, CommandPool>>,
    buffers: RwLock<ByHandle<vk::CommandBuffer, Arc<Mutex<Recording>>>>,
    queues: Mutex<HashMap<vk::Queue, Arc<Mutex<Queue>>>>,
    submissions: AtomicU64,
    first: OnceLock<Instant>,
    floors: AtomicU32,
    contents: Budget,
    is_lost: AtomicBool,
    /// Whether it keeps accesses within buffers.
    pub(crate) is_robust: bool,
    /// Of each kernel whose contents are asked for, how many dispatches were recorded.
    calls: Vec<AtomicU64>,
}

/// Command buffers in which two timestamps stand with nothing between them: what such a time holds besides the dispatch.
const FLOORS: u32 = 16;

pub(crate) struct CommandPool {
    /// Whether dispatches in its buffers are timed.
    pub(crate) is_timed: bool,
    /// Whether commands in them may copy to memory that the host sees: protected ones can't.
    pub(crate) may_copy: bool,
    /// Whether its queue family does no graphics.
    pub(crate) is_compute: bool,
    pub(crate) buffers: Vec<vk::CommandBuffer>,
}

/// A lock that is there whatever happened to another thread.
pub(crate) fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Deref for Device {
    type Target = lanescope_chain::Device;

    fn deref(&self) -> &Self::Target {
        &self.chain
    }
}

/// Those of a device and its driver, in hex; empty where the instance doesn't tell.
///
/// # Safety
/// The physical device is one of this instance, which lives.
unsafe fn uuids(instance: &Instance, physical: vk::PhysicalDevice) -> [String; 2] {
    let names = [c"vkGetPhysicalDeviceProperties2", c"vkGetPhysicalDeviceProperties2KHR"];
    let get = names.into_iter().filter(|_| instance.has_properties2).find_map(|name| instance.next(name));
    let Some(get) = get else { return Default::default() };
    let mut ids = vk::PhysicalDeviceIDProperties::default();
    let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut ids);
    // SAFETY: the caller's promise; the layer below has one of this name and type.
    unsafe {
        mem::transmute::<Function, vk::PFN_vkGetPhysicalDeviceProperties2>(get)(physical, &mut properties);
    }
    [hex(&ids.device_uuid), hex(&ids.driver_uuid)]
}

impl Device {
    /// # Safety
    /// The device was just made, of this physical device of this instance.
    pub(crate) unsafe fn new(
        instance: &Instance,
        physical: vk::PhysicalDevice,
        chain: lanescope_chain::Device,
        has_statistics: bool,
        is_robust: bool,
    ) -> Option<Self> {
        let order = ORDER.as_ref()?;
        // SAFETY: the caller's promise.
        let (properties, families, memory) = unsafe {
            (
                instance.below.get_physical_device_properties(physical),
                instance.below.get_physical_device_queue_family_properties(physical),
                instance.below.get_physical_device_memory_properties(physical),
            )
        };
        let log = Log::new(&order.folder);
        let name = properties.device_name_as_c_str().unwrap_or_default().to_string_lossy();
        // SAFETY: the caller's promise.
        let [device_uuid, driver_uuid] = unsafe { uuids(instance, physical) };
        let period = properties.limits.timestamp_period;
        log.line(&format!("device\t{device_uuid}\t{driver_uuid}\t{period}\t{}", clean(&name)));
        let statistics = has_statistics.then(|| Inquirer::new(&chain));
        Some(Self {
            chain,
            functions: RwLock::default(),
            log,
            statistics,
            families,
            memory,
            modules: Mutex::default(),
            names: Mutex::default(),
            pipelines: RwLock::default(),
            kernels: Mutex::default(),
            dispatches: Mutex::default(),
            sets: Mutex::default(),
            pins: Mutex::default(),
            slots: Mutex::default(),
            pieces: Mutex::default(),
            pools: Mutex::default(),
            command_pools: Mutex::default(),
            buffers: RwLock::default(),
            queues: Mutex::default(),
            submissions: AtomicU64::new(0),
            first: OnceLock::new(),
            floors: AtomicU32::new(0),
            contents: Budget::default(),
            is_lost: AtomicBool::new(false),
            is_robust,
            calls: WANTED.iter().flat_map(|wanted| &wanted.kernels).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    /// A function of the layer below, which is looked up once.
    pub(crate) fn function(&self, name: &'static CStr) -> Option<Function> {
        let key = name.as_ptr().addr();
        if let Some(known) = self.functions.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return *known;
        }
        let found = self.next(name);
        self.functions.write().unwrap_or_else(PoisonError::into_inner).insert(key, found);
        found
    }

    pub(crate) fn modules(&self) -> MutexGuard<'_, HashMap<vk::ShaderModule, Arc<Module>>> {
        locked(&self.modules)
    }

    pub(crate) fn names(&self) -> MutexGuard<'_, HashMap<vk::ShaderModule, String>> {
        locked(&self.names)
    }

    pub(crate) fn sets(&self) -> MutexGuard<'_, Sets> {
        locked(&self.sets)
    }

    pub(crate) fn slots(&self) -> MutexGuard<'_, Slots> {
        locked(&self.slots)
    }

    pub(crate) fn pieces(&self) -> MutexGuard<'_, Slots> {
        locked(&self.pieces)
    }

    pub(crate) fn pools(&self) -> MutexGuard<'_, Vec<(vk::QueryPool, u32)>> {
        locked(&self.pools)
    }

    pub(crate) fn command_pools(&self) -> MutexGuard<'_, HashMap<vk::CommandPool, CommandPool>> {
        locked(&self.command_pools)
    }

    // ---- pipelines --------------------------------------------------------------------------------------------------------

    pub(crate) fn add_pipeline(&self, raw: vk::Pipeline, is_asked: bool, kernel: Kernel, module: vk::ShaderModule) {
        let name = self.names().get(&module).cloned();
        let pipeline =
            Pipeline { raw, is_asked, kernel, wanted: OnceLock::new(), number: OnceLock::new(), name: Mutex::new(name) };
        self.pipelines.write().unwrap_or_else(PoisonError::into_inner).insert(raw, Arc::new(pipeline));
    }

    pub(crate) fn pipeline(&self, raw: vk::Pipeline) -> Option<Arc<Pipeline>> {
        self.pipelines.read().unwrap_or_else(PoisonError::into_inner).get(&raw).map(Arc::clone)
    }

    pub(crate) fn remove_pipeline(&self, raw: vk::Pipeline) {
        self.pipelines.write().unwrap_or_else(PoisonError::into_inner).remove(&raw);
    }

    /// The number of a pipeline's kernel, which is written once.
    ///
    /// # Safety
    /// The pipeline lives.
    unsafe fn kernel_number(&self, pipeline: &Pipeline) -> u32 {
        *pipeline.number.get_or_init(|| {
            let fields = pipeline.kernel.fields();
            let mut kernels = locked(&self.kernels);
            if let Some(number) = kernels.get(&fields) {
                return *number;
            }
            let number = u32::try_from(kernels.len()).unwrap_or(u32::MAX);
            match &pipeline.kernel.module {
                Some(module) => self.log.module(&module.name, &module.words),
                None => self.log.not_followed("a pipeline whose module isn't known"),
            }
            let name = locked(&pipeline.name).clone().unwrap_or_default();
            self.log.line(&format!("kernel\t{number}\t{fields}\t{name}"));
            if pipeline.is_asked {
                // SAFETY: the caller's promise; it was made for that.
                unsafe { statistics::write(self, pipeline.raw, number) };
            }
            kernels.insert(fields, number);
            number
        })
    }

    /// The number of such a dispatch, which is written once.
    ///
    /// # Safety
    /// The pipeline lives.
    pub(crate) unsafe fn dispatch_number(
        &self,
        pipeline: &Pipeline,
        groups: Option<[u32; 3]>,
        bytes: u64,
        label: Option<&str>,
    ) -> u32 {
        // SAFETY: the caller's promise.
        let kernel = unsafe { self.kernel_number(pipeline) };
        let mut dispatches = locked(&self.dispatches);
        let next = u32::try_from(dispatches.len()).unwrap_or(u32::MAX);
        let (number, count) = dispatches.entry((kernel, groups, bytes)).or_insert_with(|| {
            let groups = groups.map_or_else(|| "?\t?\t?".to_owned(), |[x, y, z]| format!("{x}\t{y}\t{z}"));
            self.log.line(&format!("dispatch\t{next}\t{kernel}\t{groups}\t{bytes}\t{}", label.unwrap_or_default()));
            (next, 0)
        });
        *count += 1;
        if count.is_power_of_two() {
            self.log.line(&format!("recorded\t{number}\t{count}"));
        }
        *number
    }

    // ---- contents ---------------------------------------------------------------------------------------------------------

    /// The kernel, by its number, whose contents are to be copied around this dispatch: it is counted.
    pub(crate) fn wanted(&self, pipeline: &Pipeline, groups: Option<[u32; 3]>) -> Option<usize> {
        let all = &WANTED.as_ref()?.kernels;
        let own = pipeline.wanted.get_or_init(|| {
            let fields = pipeline.kernel.fields();
            (0..all.len()).filter(|at| all[*at].fields == fields).collect()
        });
        let of_groups = own.iter().filter(|at| all[**at].groups == groups);
        // All are counted, whichever comes first.
        let is_its_turn = |at: &&usize| self.calls[**at].fetch_add(1, Ordering::Relaxed) == all[**at].call;
        of_groups.filter(is_its_turn).last().copied()
    }

    pub(crate) fn pins(&self) -> MutexGuard<'_, Pins> {
        locked(&self.pins)
    }

    /// Destroys what the application destroyed, and nothing keeps any longer.
    ///
    /// # Safety
    /// No command buffer that reads these buffers runs, or is submitted again.
    pub(crate) unsafe fn unpin(&self, pinned: &[Pinned]) {
        let (buffers, memories) = self.pins().release(pinned);
        // SAFETY: the caller's promise; the application is through with them, and allocated them as everything is.
        unsafe {
            buffers.into_iter().for_each(|buffer| self.below.destroy_buffer(buffer, None));
            memories.into_iter().for_each(|memory| self.below.free_memory(memory, None));
        }
    }

    /// Bytes that further copies may have.
    pub(crate) fn contents_left(&self, most: u64) -> u64 {
        self.contents.left(most)
    }

    pub(crate) fn take_contents(&self, bytes: u64) {
        self.contents.take(bytes);
    }

    pub(crate) fn return_contents(&self, bytes: u64) {
        self.contents.give_back(bytes);
    }

    pub(crate) fn memory_place(&self, memory_type: u32) -> MemoryPlace {
        let found = self.memory.memory_types_as_slice().get(memory_type as usize);
        MemoryPlace::of(found.map(|found| found.property_flags).unwrap_or_default())
    }

    /// Whether a queue family computes, and does no graphics.
    pub(crate) fn is_compute(&self, family: u32) -> bool {
        self.families.get(family as usize).is_some_and(|family| !family.queue_flags.contains(vk::QueueFlags::GRAPHICS))
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// It can't be waited for any more: what memory holds is anybody's guess.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// # Safety
    /// The device lives.
    pub(crate) unsafe fn chunk(&self, bytes: u64) -> Option<Chunk> {
        // SAFETY: the caller's promise.
        unsafe { Chunk::new(&self.below, &self.memory, bytes) }
    }

    // ---- timestamps -------------------------------------------------------------------------------------------------------

    fn valid_bits(&self, family: u32) -> u32 {
        self.families.get(family as usize).map_or(0, |family| family.timestamp_valid_bits)
    }

    pub(crate) fn is_timed(&self, family: u32) -> bool {
        self.valid_bits(family) > 0 && ORDER.as_ref().is_some_and(|order| order.timing != Timing::None)
    }

    /// Whether one more command buffer is to show how far two timestamps are apart.
    pub(crate) fn wants_floor(&self) -> bool {
        self.floors.load(Ordering::Relaxed) < FLOORS && self.floors.fetch_add(1, Ordering::Relaxed) < FLOORS
    }

    pub(crate) fn timestamp_mask(&self, family: u32) -> u64 {
        match self.valid_bits(family) {
            0 | 64.. => u64::MAX,
            bits => (1 << bits) - 1,
        }
    }

    /// A pool of so many timestamps, whatever they hold.
    ///
    /// # Safety
    /// The device lives.
    pub(crate) unsafe fn query_pool(&self, count: u32) -> Option<vk::QueryPool> {
        let mut free = self.pools();
        if let Some(at) = free.iter().position(|(_, own)| *own == count) {
            return Some(free.swap_remove(at).0);
        }
        let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(count);
        // SAFETY: the caller's promise.
        unsafe { self.below.create_query_pool(&info, None) }.ok()
    }

    /// # Safety
    /// The device lives.
    pub(crate) unsafe fn slot(&self, words: usize) -> Option<Slot> {
        // SAFETY: the caller's promise.
        unsafe { self.slots().take(&self.below, &self.memory, words) }
    }

    /// # Safety
    /// The device lives.
    pub(crate) unsafe fn piece(&self, words: usize) -> Option<Slot> {
        // SAFETY: the caller's promise.
        unsafe { self.pieces().take(&self.below, &self.memory, words) }
    }

    // ---- command buffers ----------------------------------------------------------------------------------------------------

    pub(crate) fn add_buffers(&self, pool: vk::CommandPool, buffers: &[vk::CommandBuffer]) {
        let mut pools = self.command_pools();
        let Some(own) = pools.get_mut(&pool) else { return };
        own.buffers.extend(buffers);
        let mut all = self.buffers.write().unwrap_or_else(PoisonError::into_inner);
        for buffer in buffers {
            all.insert(*buffer, Arc::new(Mutex::new(Recording::new(own.is_timed, own.may_copy, own.is_compute))));
        }
    }

    pub(crate) fn remove_buffers(&self, buffers: &[vk::CommandBuffer]) {
        let mut all = self.buffers.write().unwrap_or_else(PoisonError::into_inner);
        for recording in buffers.iter().filter_map(|buffer| all.remove(buffer)) {
            locked(&recording).reset(self);
        }
    }

    pub(crate) fn recording(&self, buffer: vk::CommandBuffer) -> Option<Arc<Mutex<Recording>>> {
        self.buffers.read().unwrap_or_else(PoisonError::into_inner).get(&buffer).map(Arc::clone)
    }

    pub(crate) fn recorded(&self, buffer: vk::CommandBuffer) -> Option<Arc<Recorded>> {
        self.recording(buffer).map(|recording| Arc::clone(&locked(&recording).recorded))
    }

    pub(crate) fn has_dispatches(&self, buffer: vk::CommandBuffer) -> bool {
        self.recorded(buffer).is_some_and(|recorded| !recorded.dispatches.is_empty())
    }

    // ---- queues -----------------------------------------------------------------------------------------------------------

    pub(crate) fn add_queue(&self, raw: vk::Queue, family: u32) {
        locked(&self.queues).entry(raw).or_insert_with(|| Arc::new(Mutex::new(Queue::new(raw, family))));
    }

    pub(crate) fn queue(&self, raw: vk::Queue) -> Option<Arc<Mutex<Queue>>> {
        locked(&self.queues).get(&raw).map(Arc::clone)
    }

    /// The number of the next submission with dispatches, where it is of the part that is captured.
    pub(crate) fn next_submission(&self) -> Option<u64> {
        let number = self.submissions.fetch_add(1, Ordering::Relaxed);
        // Which dispatch is wanted is told by its place in the whole program.
        let is_of_part = |order: &Order| WANTED.is_some() || order.has(number, self.first.get().copied());
        let is_counted = ORDER.as_ref().is_some_and(is_of_part);
        is_counted.then(|| {
            self.first.get_or_init(Instant::now);
            number
        })
    }

    /// Reads what has come of all queues that no other thread is at.
    pub(crate) fn collect(&self) {
        let queues: Vec<_> = locked(&self.queues).values().map(Arc::clone).collect();
        for queue in queues {
            let lines = queue.try_lock().map(|mut queue| queue.collect(self));
            self.log.lines(&lines.unwrap_or_default());
        }
    }

    /// Destroys all that the layer made.
    ///
    /// # Safety
    /// The device is idle, or lost, and is destroyed next.
    pub(crate) unsafe fn finish(&self) {
        // SAFETY: the caller's promise.
        unsafe {
            for (_, queue) in locked(&self.queues).drain() {
                self.log.lines(&locked(&queue).destroy(self));
            }
            let buffers: Vec<vk::CommandBuffer> =
                self.buffers.read().unwrap_or_else(PoisonError::into_inner).keys().copied().collect();
            self.remove_buffers(&buffers);
            for (pool, _) in self.pools().drain(..) {
                self.below.destroy_query_pool(pool, None);
            }
            self.slots().destroy(&self.below);
            self.pieces().destroy(&self.below);
        }
        self.log.finish();
    }
}
