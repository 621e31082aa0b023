//! The loader's interface to layers, and what the layer knows of each instance and device that was made through it.
//!
//! The structures are those of vk_layer.h, which ash doesn't have.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, c_char, c_void};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock};

use ash::vk;
use ash::vk::Handle;

use super::clock::Clock;
use super::faults::block;

/// The version of the loader's interface that all of this is.
pub(crate) const INTERFACE_VERSION: u32 = 2;

type GetInstanceProcAddr = unsafe extern "system" fn(vk::Instance, *const c_char) -> vk::PFN_vkVoidFunction;
type GetDeviceProcAddr = unsafe extern "system" fn(vk::Device, *const c_char) -> vk::PFN_vkVoidFunction;
type Function = unsafe extern "system" fn();

/// VkNegotiateLayerInterface
#[repr(C)]
pub(crate) struct NegotiateInterface {
    structure_type: i32,
    next: *mut c_void,
    pub(crate) version: u32,
    pub(crate) get_instance_proc_addr: Option<GetInstanceProcAddr>,
    pub(crate) get_device_proc_addr: Option<GetDeviceProcAddr>,
    pub(crate) get_physical_device_proc_addr: Option<GetInstanceProcAddr>,
}

/// VkLayerInstanceLink
#[repr(C)]
pub(crate) struct InstanceLink {
    next: *mut Self,
    get_instance_proc_addr: GetInstanceProcAddr,
    get_physical_device_proc_addr: Option<GetInstanceProcAddr>,
}

/// VkLayerDeviceLink
#[repr(C)]
pub(crate) struct DeviceLink {
    next: *mut Self,
    get_instance_proc_addr: GetInstanceProcAddr,
    get_device_proc_addr: GetDeviceProcAddr,
}

/// VkLayerInstanceCreateInfo and VkLayerDeviceCreateInfo, where they hold a link.
#[repr(C)]
struct LinkInfo<Link> {
    structure_type: vk::StructureType,
    next: *const Self,
    function: i32,
    link: *mut Link,
}

/// VK_LAYER_LINK_INFO: other functions are in the chain with the same structure type.
const LINK_INFO: i32 = 0;

/// Takes this layer's link out of a chain, so that the layer below finds its own.
///
/// # Safety
/// The chain is one that the loader made for the creation of what `Link` belongs to.
unsafe fn take_link<Link>(
    chain: *const c_void,
    structure_type: vk::StructureType,
    next: fn(&Link) -> *mut Link,
) -> &'static Link {
    let mut current = chain.cast::<LinkInfo<Link>>().cast_mut();
    while !current.is_null() {
        // SAFETY: every structure of a chain begins with its type and its successor; the rest is read where the type says so.
        unsafe {
            if (*current).structure_type == structure_type && (*current).function == LINK_INFO {
                let own = &*(*current).link;
                (*current).link = next(own);
                return own;
            }
            current = (*current).next.cast_mut();
        }
    }
    super::faults::give_up("the loader gave no link");
}

// ---- instances and devices ------------------------------------------------------------------------------------------------

/// An instance, as the layer below sees it.
pub(crate) struct Instance {
    raw: vk::Instance,
    get_proc_addr: GetInstanceProcAddr,
    pub(crate) below: ash::Instance,
}

/// A device, as the layer below sees it.
pub(crate) struct Device {
    raw: vk::Device,
    get_proc_addr: GetDeviceProcAddr,
    pub(crate) below: ash::Device,
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

type Known<T> = LazyLock<RwLock<HashMap<usize, Arc<T>>>>;
static INSTANCES: Known<Instance> = LazyLock::new(RwLock::default);
static DEVICES: Known<Device> = LazyLock::new(RwLock::default);

/// What an object and all that was got from it begin with: the address of the loader's table of functions.
///
/// # Safety
/// The object is a dispatchable one that lives.
unsafe fn key(object: impl Handle) -> usize {
    let address: usize = object.as_raw().try_into().unwrap_or_default();
    // SAFETY: the caller's promise.
    unsafe { *std::ptr::with_exposed_provenance::<usize>(address) }
}

fn find<T>(known: &Known<T>, key: usize) -> Option<Arc<T>> {
    known.read().unwrap_or_else(PoisonError::into_inner).get(&key).map(Arc::clone)
}

fn remove<T>(known: &Known<T>, key: usize) {
    known.write().unwrap_or_else(PoisonError::into_inner).remove(&key);
}

fn add<T>(known: &Known<T>, key: usize, value: T) {
    known.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::new(value));
}

/// The instance that an instance or a physical device belongs to.
///
/// # Safety
/// The object is null, or a dispatchable one that lives.
pub(crate) unsafe fn instance(object: impl Handle + Copy) -> Option<Arc<Instance>> {
    if object.as_raw() == 0 {
        return None;
    }
    // SAFETY: the caller's promise.
    find(&INSTANCES, unsafe { key(object) })
}

/// The instance of a physical device.
///
/// # Safety
/// The physical device's instance lives.
pub(crate) unsafe fn instance_of(physical: vk::PhysicalDevice) -> Arc<Instance> {
    // SAFETY: the caller's promise.
    let instance = unsafe { instance(physical) };
    instance.unwrap_or_else(|| super::faults::give_up("a physical device of an unknown instance"))
}

/// The device that a device, a queue or a command buffer belongs to.
///
/// # Safety
/// The object lives.
pub(crate) unsafe fn device(object: impl Handle) -> Arc<Device> {
    // SAFETY: the caller's promise.
    let key = unsafe { key(object) };
    find(&DEVICES, key).unwrap_or_else(|| super::faults::give_up("an object of an unknown device"))
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
    // SAFETY: the loader's chain holds a link for each layer; the layer below has a vkCreateInstance, of that type.
    unsafe {
        let link = take_link((*info).p_next, vk::StructureType::LOADER_INSTANCE_CREATE_INFO, |link: &InstanceLink| link.next);
        let get_proc_addr = link.get_instance_proc_addr;
        let create = get_proc_addr(vk::Instance::null(), c"vkCreateInstance".as_ptr());
        let create: vk::PFN_vkCreateInstance = mem::transmute(create);
        let result = create(info, allocator, instance);
        if result == vk::Result::SUCCESS {
            let raw = *instance;
            let below = ash::Instance::load_with(|name| address(|name| get_proc_addr(raw, name), name), raw);
            add(&INSTANCES, key(raw), Instance { raw, get_proc_addr, below });
        }
        result
    }
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
    // SAFETY: as in `create_instance`; the queue families of `info` are ones of the device.
    unsafe {
        let instance = instance_of(physical);
        let link = take_link((*info).p_next, vk::StructureType::LOADER_DEVICE_CREATE_INFO, |link: &DeviceLink| link.next);
        let get_proc_addr = link.get_device_proc_addr;
        let create = (link.get_instance_proc_addr)(instance.raw, c"vkCreateDevice".as_ptr());
        let create: vk::PFN_vkCreateDevice = mem::transmute(create);
        let result = create(physical, info, allocator, device);
        if result == vk::Result::SUCCESS {
            let raw = *device;
            let family = (*(*info).p_queue_create_infos).queue_family_index as usize;
            add(
                &DEVICES,
                key(raw),
                Device {
                    raw,
                    get_proc_addr,
                    below: ash::Device::load_with(|name| address(|name| get_proc_addr(raw, name), name), raw),
                    clock: Clock::of(&instance.below, physical, family),
                    lost: AtomicBool::new(false),
                    hung: AtomicBool::new(false),
                    recorded: Mutex::default(),
                    timestamps: Mutex::default(),
                    late: Mutex::default(),
                },
            );
        }
        result
    }
}

/// The address of a function, or of the extension's that it was before it came into Vulkan's core.
fn address(get: impl Fn(*const c_char) -> vk::PFN_vkVoidFunction, name: &CStr) -> *const c_void {
    let of_extension = || {
        let name: Vec<u8> = [name.to_bytes(), b"KHR\0"].concat();
        CStr::from_bytes_with_nul(&name).ok().and_then(|name| get(name.as_ptr()))
    };
    get(name.as_ptr()).or_else(of_extension).map_or(std::ptr::null(), |function| function as *const c_void)
}

impl Instance {
    pub(crate) fn next(&self, name: &CStr) -> Option<Function> {
        // SAFETY: the instance lives, and the name is a C string.
        unsafe { (self.get_proc_addr)(self.raw, name.as_ptr()) }
    }

    /// Forgets the instance, and ends it.
    ///
    /// # Safety
    /// As vkDestroyInstance.
    pub(crate) unsafe fn destroy(&self, allocator: *const vk::AllocationCallbacks<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            remove(&INSTANCES, key(self.raw));
            (self.below.fp_v1_0().destroy_instance)(self.raw, allocator);
        }
    }
}

impl Device {
    pub(crate) fn next(&self, name: &CStr) -> Option<Function> {
        // SAFETY: the device lives, and the name is a C string.
        unsafe { (self.get_proc_addr)(self.raw, name.as_ptr()) }
    }

    /// Forgets the device, and ends it.
    ///
    /// # Safety
    /// As vkDestroyDevice.
    pub(crate) unsafe fn destroy(&self, allocator: *const vk::AllocationCallbacks<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            remove(&DEVICES, key(self.raw));
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
