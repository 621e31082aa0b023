//! The Vulkan loader's interface to layers: how a layer is asked for its calls, finds those of the next one, and knows again which
//! instance or device an object belongs to.
//!
//! The structures are those of `vk_layer.h`, which ash doesn't have. Nothing here panics or waits: it runs in applications.

#![allow(unsafe_code, reason = "a layer is called by the Vulkan loader, through C's types")]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::hash::{BuildHasherDefault, Hasher};
use std::mem;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use ash::vk;
use ash::vk::Handle;

/// The version of the loader's interface that all of this is.
const INTERFACE_VERSION: u32 = 2;

/// vkGetInstanceProcAddr.
pub type GetInstanceProcAddr = unsafe extern "system" fn(vk::Instance, *const c_char) -> vk::PFN_vkVoidFunction;
/// vkGetDeviceProcAddr.
pub type GetDeviceProcAddr = unsafe extern "system" fn(vk::Device, *const c_char) -> vk::PFN_vkVoidFunction;
type SetDeviceLoaderData = unsafe extern "system" fn(vk::Device, *mut c_void) -> vk::Result;

/// A function whose type its name tells.
pub type Function = unsafe extern "system" fn();

/// A function of a layer, by the name of the call that it stands in for.
pub type Named = (&'static CStr, Function);

/// A function under the name of a Vulkan call, whose type it must have.
#[macro_export]
macro_rules! call {
    ($name:literal, $kind:ident, $function:path) => {
        // SAFETY: a function's type doesn't matter until it is called, and callers know it by the name.
        ($name, unsafe { ::std::mem::transmute::<::ash::vk::$kind, $crate::Function>($function) })
    };
}

/// A layer's function of this name.
pub fn find(calls: &[Named], name: &CStr) -> Option<Function> {
    calls.iter().find(|(own, _)| *own == name).map(|(_, function)| *function)
}

// ---- how the loader asks --------------------------------------------------------------------------------------------------------

/// VkNegotiateLayerInterface
#[repr(C)]
struct NegotiateInterface {
    structure_type: i32,
    next: *mut c_void,
    version: u32,
    get_instance_proc_addr: Option<GetInstanceProcAddr>,
    get_device_proc_addr: Option<GetDeviceProcAddr>,
    get_physical_device_proc_addr: Option<GetInstanceProcAddr>,
}

/// Answers vkNegotiateLoaderLayerInterfaceVersion.
///
/// # Safety
/// The structure is the loader's, which may be written to.
pub unsafe fn negotiate(
    interface: *mut c_void,
    get_instance_proc_addr: GetInstanceProcAddr,
    get_device_proc_addr: GetDeviceProcAddr,
) -> vk::Result {
    // SAFETY: the caller's promise.
    let interface = unsafe { &mut *interface.cast::<NegotiateInterface>() };
    if interface.version < INTERFACE_VERSION {
        return vk::Result::ERROR_INITIALIZATION_FAILED;
    }
    interface.version = INTERFACE_VERSION;
    interface.get_instance_proc_addr = Some(get_instance_proc_addr);
    interface.get_device_proc_addr = Some(get_device_proc_addr);
    interface.get_physical_device_proc_addr = None;
    vk::Result::SUCCESS
}

/// VkLayerInstanceLink
#[repr(C)]
struct InstanceLink {
    next: *mut Self,
    get_instance_proc_addr: GetInstanceProcAddr,
    get_physical_device_proc_addr: Option<GetInstanceProcAddr>,
}

/// VkLayerDeviceLink
#[repr(C)]
struct DeviceLink {
    next: *mut Self,
    get_instance_proc_addr: GetInstanceProcAddr,
    get_device_proc_addr: GetDeviceProcAddr,
}

/// VkLayerInstanceCreateInfo and VkLayerDeviceCreateInfo: the last member is a union, a link or the address of a function.
#[repr(C)]
struct LoaderInfo {
    structure_type: vk::StructureType,
    next: *mut Self,
    function: i32,
    content: *mut c_void,
}

/// VK_LAYER_LINK_INFO and VK_LOADER_DATA_CALLBACK
const LINK_INFO: i32 = 0;
const LOADER_DATA_CALLBACK: i32 = 1;

/// The loader's structure in a chain that has this content.
///
/// # Safety
/// The chain is one that the loader made for the creation of an instance or a device.
unsafe fn loader_info(chain: *const c_void, structure_type: vk::StructureType, function: i32) -> Option<*mut LoaderInfo> {
    let mut current = chain.cast::<LoaderInfo>().cast_mut();
    while !current.is_null() {
        // SAFETY: every structure of a chain begins with its type and its successor; the rest is read where the type says so.
        unsafe {
            if (*current).structure_type == structure_type && (*current).function == function {
                return Some(current);
            }
            current = (*current).next;
        }
    }
    None
}

// ---- instances and devices ------------------------------------------------------------------------------------------------

/// An instance, as the layer below sees it.
pub struct Instance {
    /// Its handle.
    pub raw: vk::Instance,
    /// The calls of the layer below.
    pub below: ash::Instance,
    /// Whether the application has Vulkan 1.1 or VK_KHR_get_physical_device_properties2, which much else needs.
    pub has_properties2: bool,
    get_proc_addr: GetInstanceProcAddr,
}

/// A device, as the layer below sees it.
pub struct Device {
    /// Its handle.
    pub raw: vk::Device,
    /// The calls of the layer below.
    pub below: ash::Device,
    get_proc_addr: GetDeviceProcAddr,
    set_loader_data: Option<SetDeviceLoaderData>,
}

/// The address of a function, or of the extension's that it was before it came into Vulkan's core.
fn address(get: impl Fn(*const c_char) -> vk::PFN_vkVoidFunction, name: &CStr) -> *const c_void {
    let of_extension = || {
        let name: Vec<u8> = [name.to_bytes(), b"KHR\0"].concat();
        CStr::from_bytes_with_nul(&name).ok().and_then(|name| get(name.as_ptr()))
    };
    get(name.as_ptr()).or_else(of_extension).map_or(std::ptr::null(), |function| function as *const c_void)
}

/// # Safety
/// The structure is one that vkCreateInstance takes.
unsafe fn has_properties2(info: &vk::InstanceCreateInfo<'_>) -> bool {
    // SAFETY: the caller's promise: names are C strings, and as many as are counted.
    unsafe {
        let version = info.p_application_info.as_ref().map_or(0, |application| application.api_version);
        let mut names = (0..info.enabled_extension_count as usize).map(|at| *info.pp_enabled_extension_names.add(at));
        version >= vk::API_VERSION_1_1
            || names.any(|name| CStr::from_ptr(name) == ash::khr::get_physical_device_properties2::NAME)
    }
}

impl Instance {
    /// Makes an instance in the layer below.
    ///
    /// # Safety
    /// As vkCreateInstance, called by the loader.
    ///
    /// # Errors
    /// That of the layer below, or that the loader gave no link to it.
    pub unsafe fn create(
        info: *const vk::InstanceCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        instance: *mut vk::Instance,
    ) -> Result<Self, vk::Result> {
        const FAILED: vk::Result = vk::Result::ERROR_INITIALIZATION_FAILED;
        // SAFETY: the loader's chain holds a link for each layer, which is taken out of it, so that the layer below finds its own; the
        // layer below has a vkCreateInstance, of that type.
        unsafe {
            let structure_type = vk::StructureType::LOADER_INSTANCE_CREATE_INFO;
            let link = loader_info((*info).p_next, structure_type, LINK_INFO).ok_or(FAILED)?;
            let own = (*link).content.cast::<InstanceLink>();
            (*link).content = (*own).next.cast();
            let get_proc_addr = (*own).get_instance_proc_addr;
            let create = get_proc_addr(vk::Instance::null(), c"vkCreateInstance".as_ptr()).ok_or(FAILED)?;
            mem::transmute::<Function, vk::PFN_vkCreateInstance>(create)(info, allocator, instance).result()?;
            let raw = *instance;
            // Later the loader's vkGetInstanceProcAddr would lead back to the first layer.
            let below = ash::Instance::load_with(|name| address(|name| get_proc_addr(raw, name), name), raw);
            Ok(Self { raw, below, has_properties2: has_properties2(&*info), get_proc_addr })
        }
    }

    /// vkCreateInstance: the same, which is known from then on.
    ///
    /// # Safety
    /// As [`Self::create`].
    pub unsafe fn create_known(
        known: &Known<Self>,
        info: *const vk::InstanceCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        instance: *mut vk::Instance,
    ) -> vk::Result {
        // SAFETY: the caller's promise.
        unsafe {
            match Self::create(info, allocator, instance) {
                Ok(made) => {
                    known.add(made.raw, made);
                    vk::Result::SUCCESS
                }
                Err(result) => result,
            }
        }
    }

    /// vkDestroyInstance: it is known no longer.
    ///
    /// # Safety
    /// As vkDestroyInstance.
    pub unsafe fn destroy_known(known: &Known<Self>, instance: vk::Instance, allocator: *const vk::AllocationCallbacks<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(own) = known.remove(instance) {
                (own.below.fp_v1_0().destroy_instance)(instance, allocator);
            }
        }
    }

    /// The function of the layer below.
    pub fn next(&self, name: &CStr) -> Option<Function> {
        // SAFETY: the instance lives, and the name is a C string.
        unsafe { (self.get_proc_addr)(self.raw, name.as_ptr()) }
    }
}

impl Device {
    /// Makes a device in the layer below.
    ///
    /// # Safety
    /// As vkCreateDevice, called by the loader, for a physical device of this instance.
    ///
    /// # Errors
    /// That of the layer below, or that the loader gave no link to it.
    pub unsafe fn create(
        instance: &Instance,
        physical: vk::PhysicalDevice,
        info: *const vk::DeviceCreateInfo<'_>,
        allocator: *const vk::AllocationCallbacks<'_>,
        device: *mut vk::Device,
    ) -> Result<Self, vk::Result> {
        const FAILED: vk::Result = vk::Result::ERROR_INITIALIZATION_FAILED;
        // SAFETY: as in `Instance::create`.
        unsafe {
            let structure_type = vk::StructureType::LOADER_DEVICE_CREATE_INFO;
            let link = loader_info((*info).p_next, structure_type, LINK_INFO).ok_or(FAILED)?;
            let callback = loader_info((*info).p_next, structure_type, LOADER_DATA_CALLBACK);
            let set_loader_data = callback.map(|callback| (*callback).content).filter(|function| !function.is_null());
            let set_loader_data = set_loader_data.map(|function| mem::transmute::<*mut c_void, SetDeviceLoaderData>(function));
            let own = (*link).content.cast::<DeviceLink>();
            (*link).content = (*own).next.cast();
            let get_proc_addr = (*own).get_device_proc_addr;
            let create = ((*own).get_instance_proc_addr)(instance.raw, c"vkCreateDevice".as_ptr()).ok_or(FAILED)?;
            let result = mem::transmute::<Function, vk::PFN_vkCreateDevice>(create)(physical, info, allocator, device);
            if result != vk::Result::SUCCESS {
                // It may be tried once more.
                (*link).content = own.cast();
                return Err(result);
            }
            let raw = *device;
            let below = ash::Device::load_with(|name| address(|name| get_proc_addr(raw, name), name), raw);
            Ok(Self { raw, below, get_proc_addr, set_loader_data })
        }
    }

    /// The function of the layer below.
    pub fn next(&self, name: &CStr) -> Option<Function> {
        // SAFETY: the device lives, and the name is a C string.
        unsafe { (self.get_proc_addr)(self.raw, name.as_ptr()) }
    }

    /// Gives a queue or a command buffer that a layer got from the layer below what the loader gives those of applications.
    ///
    /// # Safety
    /// The object is one of this device, which lives, and nobody else knows it.
    pub unsafe fn adopt(&self, object: impl Handle) -> vk::Result {
        let Some(set) = self.set_loader_data else { return vk::Result::SUCCESS };
        let address: usize = object.as_raw().try_into().unwrap_or_default();
        // SAFETY: the caller's promise.
        unsafe { set(self.raw, std::ptr::with_exposed_provenance_mut(address)) }
    }
}

// ---- which one an object belongs to -----------------------------------------------------------------------------------------

/// A map by handles or addresses.
pub type ByHandle<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

/// Hashes what is unlike already, as handles and addresses are. The usual hasher withstands attacks, which takes a good part of what a
/// layer may take of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quick(u64);

impl Quick {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Quick {
    /// A product's upper bits depend on all of a factor, and maps look at the lower ones first.
    fn finish(&self) -> u64 {
        self.0.rotate_left(32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.add(u64::from_le_bytes(word));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.add(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }
}

/// What a layer knows of instances, or of devices. Whatever is got from one of these is found by the address of the loader's table of
/// functions, with which all of them begin.
pub struct Known<T>(LazyLock<RwLock<ByHandle<usize, Arc<T>>>>);

/// The address of an object's table.
///
/// # Safety
/// The object is a dispatchable one that lives.
unsafe fn key(object: impl Handle) -> usize {
    let address: usize = object.as_raw().try_into().unwrap_or_default();
    // SAFETY: the caller's promise.
    unsafe { *std::ptr::with_exposed_provenance::<usize>(address) }
}

impl<T> Known<T> {
    /// Nothing is known.
    #[expect(clippy::new_without_default, reason = "for statics")]
    pub const fn new() -> Self {
        Self(LazyLock::new(RwLock::default))
    }

    /// Remembers what is known of an object.
    ///
    /// # Safety
    /// The object is a dispatchable one that lives.
    pub unsafe fn add(&self, object: impl Handle, known: T) {
        // SAFETY: the caller's promise.
        let key = unsafe { key(object) };
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::new(known));
    }

    /// What is known of what an object belongs to; nothing of null.
    ///
    /// # Safety
    /// The object is null, or a dispatchable one that lives.
    pub unsafe fn of(&self, object: impl Handle + Copy) -> Option<Arc<T>> {
        if object.is_null() {
            return None;
        }
        // SAFETY: the caller's promise.
        let key = unsafe { key(object) };
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key).map(Arc::clone)
    }

    /// Forgets it.
    ///
    /// # Safety
    /// As [`Self::of`].
    pub unsafe fn remove(&self, object: impl Handle + Copy) -> Option<Arc<T>> {
        if object.is_null() {
            return None;
        }
        // SAFETY: the caller's promise.
        let key = unsafe { key(object) };
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&key)
    }
}
