//! The opened device: what everything made from it shares and keeps alive.

use std::ffi::{CStr, CString, c_char};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use gpu_allocator::{AllocationSizes, AllocatorDebugSettings};

use crate::model::{DeviceInfo, Feature, PipelineDetail, Status};

use super::address::AddressOf;
use super::capabilities;
use super::error::{Context, Error};
use super::features::{FeatureChain, Features, Support};
use super::instance::{InstanceInner, Physical};
use super::statistics::Inquirer;
use super::timestamps::WriteTimestamp;

/// Small buffers share blocks of this size; larger ones have memory of their own. The allocator's defaults (256 and 64 MiB) would
/// count against what a block of cases may use.
const BLOCK_BYTES: u64 = 8 << 20;

pub(super) struct Logical {
    pub(super) raw: ash::Device,
    pub(super) physical: vk::PhysicalDevice,
    pub(super) write_timestamp: WriteTimestamp,
    /// Whether VK_EXT_memory_budget is enabled.
    pub(super) has_budget: bool,
    /// The device's Vulkan version, where timeline semaphores are enabled.
    pub(super) timeline: Option<u32>,
    /// Tells where buffers begin, where the device lets kernels reach them by their addresses.
    pub(super) address_of: Option<AddressOf>,
    /// Where something is asked about pipelines and the driver tells anything.
    pub(super) inquirer: Option<Inquirer>,
    names: Option<ash::ext::debug_utils::Device>,
    /// Empty on a device for compiling only, and while this object is dropped.
    allocator: Mutex<Option<Allocator>>,
    lost: AtomicBool,
    hung: AtomicBool,
    /// Dropped last: `drop` runs before the fields go.
    pub(super) instance: Arc<InstanceInner>,
}

impl Logical {
    /// Creates the device with one queue of the family and with all features that a shader of the catalogue can use.
    pub(super) fn open(
        physical: Physical<'_>,
        family: u32,
        detail: PipelineDetail,
        is_robust: bool,
    ) -> Result<Arc<Self>, Error> {
        let logical = Self::new(physical, family, detail, is_robust)?;
        *logical.lock() = Some(logical.make_allocator(physical.info)?);
        Ok(Arc::new(logical))
    }

    /// The same without an allocator: for a device on which pipelines are only made and asked about, which may have no memory.
    pub(super) fn new(physical: Physical<'_>, family: u32, detail: PipelineDetail, is_robust: bool) -> Result<Self, Error> {
        let Physical { instance, raw: physical, info } = physical;
        let support =
            capabilities::support(instance, physical).on("vkEnumerateDeviceExtensionProperties", || info.name.clone())?;
        if support.version < vk::API_VERSION_1_1 {
            let version = capabilities::version(support.version);
            return Err(Error::new(Status::Error, format!("{} is of Vulkan {version}: 1.1 or newer is needed", info.name)));
        }
        let features = Features::query(&instance.raw, physical, &support);
        let listed = features.list(&support);
        let version_with = |feature| listed.contains(&feature).then_some(support.version);
        let detail = if listed.contains(&Feature::PipelineExecutableProperties) { detail } else { PipelineDetail::None };
        let (core, chain) = features.into_enabled(detail, is_robust);
        let raw = create(instance, physical, &support, core, chain, family).on("vkCreateDevice", || info.name.clone())?;
        let names = instance.names.then(|| ash::ext::debug_utils::Device::new(&instance.raw, &raw));
        let write_timestamp = WriteTimestamp::new(&instance.raw, &raw, version_with(Feature::Synchronization2));
        let address_of = version_with(Feature::BufferDeviceAddress).map(|version| AddressOf::new(&instance.raw, &raw, version));
        let inquirer = Inquirer::new(&instance.raw, &raw, detail);
        Ok(Self {
            raw,
            physical,
            write_timestamp,
            has_budget: support.has(ash::ext::memory_budget::NAME),
            timeline: version_with(Feature::TimelineSemaphore),
            address_of,
            inquirer,
            names,
            allocator: Mutex::new(None),
            lost: AtomicBool::new(false),
            hung: AtomicBool::new(false),
            instance: Arc::clone(instance),
        })
    }

    fn make_allocator(&self, info: &DeviceInfo) -> Result<Allocator, Error> {
        Allocator::new(&AllocatorCreateDesc {
            instance: self.instance.raw.clone(),
            device: self.raw.clone(),
            physical_device: self.physical,
            debug_settings: AllocatorDebugSettings::default(),
            buffer_device_address: self.address_of.is_some(),
            allocation_sizes: AllocationSizes::new(BLOCK_BYTES, BLOCK_BYTES),
        })
        .map_err(|error| Error::allocation(&info.name, 0, &error))
    }

    /// A panic between two calls of the allocator leaves it whole, so poison means nothing here.
    fn lock(&self) -> MutexGuard<'_, Option<Allocator>> {
        self.allocator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn allocator<T>(&self, work: impl FnOnce(&mut Allocator) -> T) -> Option<T> {
        self.lock().as_mut().map(work)
    }

    /// Gives an object a name for captures and validation messages.
    pub(super) fn name(&self, handle: impl vk::Handle, name: &str) {
        let (Some(functions), Ok(name)) = (&self.names, CString::new(name)) else { return };
        let info = vk::DebugUtilsObjectNameInfoEXT::default().object_handle(handle).object_name(&name);
        // SAFETY: the extension is enabled, and the object belongs to this device. A name that can't be set harms nobody.
        let _ = unsafe { functions.set_debug_utils_object_name(&info) };
    }

    /// The error that a device gives which is past use, or nothing.
    pub(super) fn alive(&self) -> Result<(), Error> {
        if self.hung.load(Ordering::Relaxed) {
            return Err(Error::new(
                Status::Timeout,
                "the device still hangs on earlier work: end this process and start a new one",
            ));
        }
        if self.lost.load(Ordering::Relaxed) {
            return Err(Error::new(Status::DeviceLost, "the device was lost by earlier work: open it anew"));
        }
        Ok(())
    }

    /// Notes that the driver gave the device up. Its objects are then idle and are destroyed as ever.
    pub(super) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Notes that work was submitted that may never end. From here on nothing of this device is destroyed: the work still uses it, and
    /// vkDestroyDevice blocks for ever on such a device (lavapipe 25, SwiftShader).
    pub(super) fn hang(&self) {
        self.hung.store(true, Ordering::Relaxed);
    }

    pub(super) fn may_destroy(&self) -> bool {
        !self.hung.load(Ordering::Relaxed)
    }
}

impl Drop for Logical {
    fn drop(&mut self) {
        let allocator = self.lock().take();
        if !self.may_destroy() {
            mem::forget(allocator);
            // The instance must outlive its device.
            mem::forget(Arc::clone(&self.instance));
            return;
        }
        // Frees the blocks that are kept for reuse.
        drop(allocator);
        // SAFETY: all objects made from the device hold it by Arc, so they are gone; all work was waited for.
        unsafe { self.raw.destroy_device(None) };
    }
}

fn create(
    instance: &InstanceInner,
    physical: vk::PhysicalDevice,
    support: &Support,
    core: vk::PhysicalDeviceFeatures,
    mut chain: FeatureChain,
    family: u32,
) -> Result<ash::Device, vk::Result> {
    let mut extensions: Vec<&CStr> = chain.extensions(support);
    // It tells how much memory is free.
    extensions.extend(Some(ash::ext::memory_budget::NAME).filter(|extension| support.has(extension)));
    let extensions: Vec<*const c_char> = extensions.into_iter().map(CStr::as_ptr).collect();
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
    let mut root = chain.link(vk::PhysicalDeviceFeatures2::default().features(core));
    let info =
        vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&extensions).push_next(&mut root);
    // SAFETY: the device comes from this instance; features and extensions are ones that it has; the caller checked the family;
    // everything that `info` refers to lives until the call returns.
    unsafe { instance.raw.create_device(physical, &info, None) }
}
