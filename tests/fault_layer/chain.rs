//! What the layer knows of each instance and device that was made through it.

use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;
use ash::vk::Handle;
use lanescope_chain::{Instance, Known};

use super::clock::Clock;
use super::faults::{block, give_up};

/// A device, as the layer below sees it.
pub(crate) struct Device {
    chain: lanescope_chain::Device,
    pub(crate) clock: Clock,
    lost: AtomicBool,
    hung: AtomicBool,
    /// Of each command buffer that was begun, the groups in x of its dispatches.
    recorded: Mutex<HashMap<vk::CommandBuffer, Vec<u32>>>,
    timestamps: Mutex<HashSet<vk::QueryPool>>,
    /// Of each command buffer, the timestamps that are still to be recorded.
    late: Mutex<HashMap<vk::CommandBuffer, Vec<Late>>>,
}

/// Records a command.
pub(crate) type Late = Box<dyn FnOnce() + Send>;

static INSTANCES: Known<Instance> = Known::new();
static DEVICES: Known<Device> = Known::new();

/// The instance that an instance or a physical device belongs to.
///
/// # Safety
/// The object is null, or a dispatchable one that lives.
pub(crate) unsafe fn instance(object: impl Handle + Copy) -> Option<Arc<Instance>> {
    // SAFETY: the caller's promise.
    unsafe { INSTANCES.of(object) }
}

/// The instance of a physical device.
///
/// # Safety
/// The physical device's instance lives.
pub(crate) unsafe fn instance_of(physical: vk::PhysicalDevice) -> Arc<Instance> {
    // SAFETY: the caller's promise.
    let instance = unsafe { instance(physical) };
    instance.unwrap_or_else(|| give_up("a physical device of an unknown instance"))
}

/// The device that a device, a queue or a command buffer belongs to.
///
/// # Safety
/// The object lives.
pub(crate) unsafe fn device(object: impl Handle + Copy) -> Arc<Device> {
    // SAFETY: the caller's promise.
    let device = unsafe { DEVICES.of(object) };
    device.unwrap_or_else(|| give_up("an object of an unknown device"))
}

/// Makes an instance, and remembers it.
///
/// # Safety
/// As vkCreateInstance, called by the loader.
pub(crate) unsafe fn create_instance(
    info: *const vk::InstanceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
) -> vk::Result {
    // SAFETY: the caller's promise.
    unsafe { Instance::create_known(&INSTANCES, info, allocator, instance) }
}

/// Makes a device, and remembers it.
///
/// # Safety
/// As vkCreateDevice, called by the loader.
pub(crate) unsafe fn create_device(
    physical: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    device: *mut vk::Device,
) -> vk::Result {
    // SAFETY: the caller's promise; the queue families of `info` are ones of the device.
    unsafe {
        let instance = instance_of(physical);
        let chain = match lanescope_chain::Device::create(&instance, physical, info, allocator, device) {
            Ok(made) => made,
            Err(result) => return result,
        };
        let family = (*(*info).p_queue_create_infos).queue_family_index as usize;
        let known = Device {
            chain,
            clock: Clock::of(&instance.below, physical, family),
            lost: AtomicBool::new(false),
            hung: AtomicBool::new(false),
            recorded: Mutex::default(),
            timestamps: Mutex::default(),
            late: Mutex::default(),
        };
        DEVICES.add(known.raw, known);
    }
    vk::Result::SUCCESS
}

/// Forgets an instance, and ends it.
///
/// # Safety
/// As vkDestroyInstance.
pub(crate) unsafe fn destroy_instance(instance: vk::Instance, allocator: *const vk::AllocationCallbacks<'_>) {
    // SAFETY: the caller's promise.
    unsafe { Instance::destroy_known(&INSTANCES, instance, allocator) }
}

impl Deref for Device {
    type Target = lanescope_chain::Device;

    fn deref(&self) -> &Self::Target {
        &self.chain
    }
}

impl Device {
    /// Forgets the device, and ends it.
    ///
    /// # Safety
    /// As vkDestroyDevice.
    pub(crate) unsafe fn destroy(&self, allocator: *const vk::AllocationCallbacks<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            DEVICES.remove(self.raw);
            (self.below.fp_v1_0().destroy_device)(self.raw, allocator);
        }
    }

    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn hang(&self) {
        self.hung.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_hung(&self) -> bool {
        self.hung.load(Ordering::Relaxed)
    }

    /// Never returns where the device hangs.
    pub(crate) fn block_if_hung(&self) {
        if self.is_hung() {
            block();
        }
    }

    pub(crate) fn recorded(&self) -> MutexGuard<'_, HashMap<vk::CommandBuffer, Vec<u32>>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn late(&self) -> MutexGuard<'_, HashMap<vk::CommandBuffer, Vec<Late>>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the timestamps that a command buffer still lacks.
    pub(crate) fn catch_up(&self, buffer: vk::CommandBuffer) {
        let lacking = self.late().remove(&buffer).unwrap_or_default();
        lacking.into_iter().for_each(|record| record());
    }

    pub(crate) fn timestamps(&self) -> MutexGuard<'_, HashSet<vk::QueryPool>> {
        self.timestamps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
