//! The Vulkan loader, the validation layer and its messages, and the devices of all drivers.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;

use crate::model::{DeviceInfo, PipelineDetail, PipelineStatistics, Status};
use crate::shader::Specialized;

use super::capabilities;
use super::device::{Device, DeviceOptions};
use super::drivers;
use super::error::{Context, Error};
use super::statistics;

pub const NO_DEVICE_ADVICE: &str = "no Vulkan device found: install a driver (on Windows the GPU's; on Debian and Ubuntu \
     mesa-vulkan-drivers, which brings lavapipe for the processor), or set VK_DRIVER_FILES (VK_ICD_FILENAMES for loaders before 1.3.207) to a driver's .json \
     file";

/// The version that is asked of the loader: what is newer is reached through extensions. Drivers may be older (1.1) or newer.
pub(super) const API_VERSION: u32 = vk::API_VERSION_1_3;

/// Synchronization validation, and that it looks at what shaders access: older layers always did.
const SYNCHRONIZATION_SETTINGS: [&CStr; 2] = [c"validate_sync", c"syncval_shader_accesses_heuristic"];

/// The first loader that knows VK_EXT_layer_settings. An older one refuses the extension; the layer sees its settings all the same.
const KNOWS_LAYER_SETTINGS: u32 = vk::make_api_version(0, 1, 3, 272);

const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstanceOptions {
    /// Whether the Khronos validation layer checks every call, synchronization included.
    pub validation: bool,
}

/// Warnings and errors of the validation layer, none left out. A clone outlives the instance, and holds what is said at its end.
#[derive(Clone, Debug, Default)]
pub struct MessageLog(Arc<Mutex<Vec<String>>>);

impl MessageLog {
    pub fn drain(&self) -> Vec<String> {
        std::mem::take(&mut *self.lock())
    }

    /// Does something, and gives what is said meanwhile on this thread instead of adding it to any log.
    pub(super) fn aside<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
        ASIDE.set(Some(Vec::new()));
        let done = work();
        (done, ASIDE.take().unwrap_or_default())
    }

    pub(super) fn add(&self, messages: Vec<String>) {
        self.lock().extend(messages);
    }

    /// Whether nothing can be added any more: the instance and all its devices are destroyed, so nothing of them was leaked.
    pub fn is_closed(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// A panic elsewhere leaves a list of whole messages, so poison means nothing here.
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    /// What is said on this thread, where that isn't to be added to the log.
    static ASIDE: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Vulkan, loaded: the drivers' devices can be listed and opened.
pub struct Instance {
    inner: Arc<InstanceInner>,
    layers: Vec<String>,
    loader_version: String,
    physicals: Vec<vk::PhysicalDevice>,
    devices: Vec<DeviceInfo>,
}

pub(super) struct InstanceInner {
    pub(super) raw: ash::Instance,
    /// Whether VK_EXT_debug_utils is enabled, so that objects can bear names.
    pub(super) names: bool,
    /// The Vulkan version that the validation layer was made for, where it is active.
    pub(super) layer: Option<u32>,
    pub(super) log: MessageLog,
    messenger: Option<(ash::ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    /// The library that the functions above live in. Fields drop after `drop` has run, so it outlives the instance.
    pub(super) entry: ash::Entry,
}

/// A device that isn't opened.
#[derive(Clone, Copy)]
pub(super) struct Physical<'a> {
    pub(super) instance: &'a Arc<InstanceInner>,
    pub(super) raw: vk::PhysicalDevice,
    pub(super) info: &'a DeviceInfo,
}

impl Instance {
    /// Loads the Vulkan loader of the system and asks all drivers for their devices. Where there is no loader, no driver, or no
    /// validation layer though one was asked for, the error says what to install.
    pub fn load(options: InstanceOptions) -> Result<Self, Error> {
        drivers::check()?;
        let entry = load_entry()?;
        let version = loader_version(&entry)?;
        let inner = Arc::new(create(entry, options)?);
        // SAFETY: the instance is alive.
        let physicals = unsafe { inner.raw.enumerate_physical_devices() };
        let physicals = physicals.on("vkEnumeratePhysicalDevices", || "the instance".into())?;
        let loader_version = capabilities::version(version);
        let devices = (physicals.iter().enumerate())
            .map(|(index, physical)| capabilities::query(&inner, *physical, index, &loader_version))
            .collect();
        let layers = options.validation.then(|| VALIDATION_LAYER.to_string_lossy().into_owned());
        Ok(Self { layers: layers.into_iter().collect(), inner, loader_version, physicals, devices })
    }

    /// Every physical device; one that can't be used carries the reason.
    pub fn devices(&self) -> Vec<DeviceInfo> {
        self.devices.clone()
    }

    /// The loader's own Vulkan version, such as `1.3.239`.
    pub fn loader_version(&self) -> String {
        self.loader_version.clone()
    }

    /// The layers that are known to be active: those enabled here. Vulkan doesn't tell which implicit layers are.
    pub fn layers(&self) -> Vec<String> {
        self.layers.clone()
    }

    /// What the validation layer says, of all devices of this instance.
    pub fn message_log(&self) -> MessageLog {
        self.inner.log.clone()
    }

    /// Opens a device, on the named queue family or else on the one that [`DeviceInfo::default_queue`] names.
    pub fn open(&self, index: usize, queue_family: Option<u32>) -> Result<Device, Error> {
        self.open_with(index, DeviceOptions { queue_family, ..Default::default() })
    }

    pub fn open_with(&self, index: usize, options: DeviceOptions) -> Result<Device, Error> {
        Device::open(self.device(index)?, options)
    }

    /// Compiles a kernel, whose pipeline is made as its module declares it, and says what the driver tells of it; `None` where it tells
    /// nothing or isn't asked. Nothing is run and no memory is allocated, so this also works on a device that can only compile (and is
    /// marked as unusable for that). Such devices are easily crashed: ask in a process of its own.
    pub fn kernel_statistics(
        &self,
        index: usize,
        specialized: &Specialized,
        detail: PipelineDetail,
    ) -> Result<Option<PipelineStatistics>, Error> {
        statistics::of_kernel(self.device(index)?, specialized, detail)
    }

    fn device(&self, index: usize) -> Result<Physical<'_>, Error> {
        let (Some(info), Some(&raw)) = (self.devices.get(index), self.physicals.get(index)) else {
            let count = self.devices.len();
            let message = format!("there is no device {index}: there are {count} (see `lanescope devices`)");
            return Err(Error::new(Status::Error, message));
        };
        Ok(Physical { instance: &self.inner, raw, info })
    }
}

impl Drop for InstanceInner {
    fn drop(&mut self) {
        if let Some((functions, messenger)) = self.messenger.take() {
            // SAFETY: made from this instance, used nowhere else; messages about the instance's own end come by the messenger
            // in its creation chain.
            unsafe { functions.destroy_debug_utils_messenger(messenger, None) };
        }
        // SAFETY: every device holds this object by Arc and is gone (or was leaked on purpose together with an Arc).
        unsafe { self.raw.destroy_instance(None) };
    }
}

fn load_entry() -> Result<ash::Entry, Error> {
    // SAFETY: loading the system's Vulkan loader runs its constructors, which is what any Vulkan program does; the entry is kept
    // until the last function obtained from it is gone.
    unsafe { ash::Entry::load() }.map_err(|error| {
        Error::new(
            Status::Error,
            format!("can't load the Vulkan loader ({error}): install it (libvulkan1 on Debian and Ubuntu, the GPU's driver on Windows)"),
        )
    })
}

fn loader_version(entry: &ash::Entry) -> Result<u32, Error> {
    // SAFETY: the loader is loaded; the call has no other precondition.
    let version = unsafe { entry.try_enumerate_instance_version() }
        .on("vkEnumerateInstanceVersion", || "the loader".into())?
        .unwrap_or(vk::API_VERSION_1_0);
    if version < vk::API_VERSION_1_1 {
        let version = capabilities::version(version);
        return Err(Error::new(
            Status::Error,
            format!("the Vulkan loader is of version {version}: install 1.1 or newer (libvulkan1)"),
        ));
    }
    Ok(version)
}

struct Available {
    layer: Vec<vk::ExtensionProperties>,
    global: Vec<vk::ExtensionProperties>,
}

impl Available {
    fn query(entry: &ash::Entry, options: InstanceOptions) -> Result<Self, Error> {
        let layer = if options.validation { validation_extensions(entry)? } else { Vec::new() };
        // SAFETY: the loader is loaded; the call has no other precondition.
        let global = unsafe { entry.enumerate_instance_extension_properties(None) }
            .on("vkEnumerateInstanceExtensionProperties", || "the loader".into())
            .map_err(drivers::explained)?;
        Ok(Self { layer, global })
    }

    fn in_layer(&self, name: &CStr) -> bool {
        self.layer.iter().any(|extension| extension.extension_name_as_c_str() == Ok(name))
    }

    fn anywhere(&self, name: &CStr) -> bool {
        self.in_layer(name) || self.global.iter().any(|extension| extension.extension_name_as_c_str() == Ok(name))
    }
}

fn validation_extensions(entry: &ash::Entry) -> Result<Vec<vk::ExtensionProperties>, Error> {
    // SAFETY: the loader is loaded, and the name is a C string.
    unsafe { entry.enumerate_instance_extension_properties(Some(VALIDATION_LAYER)) }.map_err(|result| match result {
        vk::Result::ERROR_LAYER_NOT_PRESENT => Error::new(
            Status::Error,
            "the validation layer is not installed: install vulkan-validationlayers (or the Vulkan SDK), or set VK_LAYER_PATH to \
             the folder of VkLayer_khronos_validation.json",
        ),
        other => Error::call("vkEnumerateInstanceExtensionProperties", "the validation layer", other),
    })
}

fn validation_version(entry: &ash::Entry) -> Option<u32> {
    // SAFETY: the loader is loaded; the call has no other precondition.
    let layers = unsafe { entry.enumerate_instance_layer_properties() }.ok()?;
    let layer = layers.iter().find(|layer| layer.layer_name_as_c_str() == Ok(VALIDATION_LAYER))?;
    Some(layer.spec_version)
}

fn create(entry: ash::Entry, options: InstanceOptions) -> Result<InstanceInner, Error> {
    let available = Available::query(&entry, options)?;
    let log = MessageLog::default();
    let raw = create_raw(&entry, options, &available, &log)?;
    let names = available.anywhere(ash::ext::debug_utils::NAME);
    let layer = if options.validation { validation_version(&entry) } else { None };
    let mut inner = InstanceInner { raw, names, layer, log, messenger: None, entry };
    if options.validation && names {
        let functions = ash::ext::debug_utils::Instance::new(&inner.entry, &inner.raw);
        // SAFETY: the extension is enabled; the log that the callback writes to lives as long as `inner`, which destroys the
        // messenger first.
        let messenger = unsafe { functions.create_debug_utils_messenger(&messenger_info(&inner.log), None) }
            .on("vkCreateDebugUtilsMessengerEXT", || "the instance".into())?;
        inner.messenger = Some((functions, messenger));
    }
    Ok(inner)
}

fn create_raw(
    entry: &ash::Entry,
    options: InstanceOptions,
    available: &Available,
    log: &MessageLog,
) -> Result<ash::Instance, Error> {
    let application = vk::ApplicationInfo::default().application_name(c"lanescope").api_version(API_VERSION);
    let mut info = vk::InstanceCreateInfo::default().application_info(&application);
    let layers = [VALIDATION_LAYER.as_ptr()];
    let mut extensions: Vec<*const c_char> = Vec::new();
    if available.anywhere(ash::ext::debug_utils::NAME) {
        extensions.push(ash::ext::debug_utils::NAME.as_ptr());
    }
    if available.anywhere(ash::khr::portability_enumeration::NAME) {
        // Without it, drivers layered over another interface stay hidden.
        extensions.push(ash::khr::portability_enumeration::NAME.as_ptr());
        info = info.flags(vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR);
    }

    let mut messenger = messenger_info(log);
    // Newer layers are set up by VK_EXT_layer_settings, older ones by VK_EXT_validation_features.
    let by_settings = available.in_layer(ash::ext::layer_settings::NAME);
    let on: vk::Bool32 = vk::TRUE;
    let settings = SYNCHRONIZATION_SETTINGS.map(|name| setting(name, &on));
    let mut settings = vk::LayerSettingsCreateInfoEXT::default().settings(&settings);
    let enabled = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
    let mut features = vk::ValidationFeaturesEXT::default().enabled_validation_features(&enabled);
    if options.validation {
        info = info.enabled_layer_names(&layers);
        if available.anywhere(ash::ext::debug_utils::NAME) {
            info = info.push_next(&mut messenger);
        }
        if by_settings {
            if loader_version(entry)? >= KNOWS_LAYER_SETTINGS {
                extensions.push(ash::ext::layer_settings::NAME.as_ptr());
            }
            info = info.push_next(&mut settings);
        } else if available.in_layer(ash::ext::validation_features::NAME) {
            extensions.push(ash::ext::validation_features::NAME.as_ptr());
            info = info.push_next(&mut features);
        } else {
            return Err(Error::new(Status::Error, "this validation layer can't check synchronization: install a newer one"));
        }
    }
    let info = info.enabled_extension_names(&extensions);
    // SAFETY: all structures and strings that `info` refers to live until the end of this function; the log outlives the instance.
    let created = unsafe { entry.create_instance(&info, None) };
    created.map_err(|result| {
        let error = Error::call("vkCreateInstance", "the loader", result);
        // Another one is about what is asked for, and not about who is asked.
        let is_of_drivers = matches!(result, vk::Result::ERROR_INCOMPATIBLE_DRIVER | vk::Result::ERROR_OUT_OF_HOST_MEMORY);
        if is_of_drivers { drivers::explained(error) } else { error }
    })
}

fn setting<'a>(name: &'a CStr, on: &'a vk::Bool32) -> vk::LayerSettingEXT<'a> {
    let setting = vk::LayerSettingEXT::default().layer_name(VALIDATION_LAYER).setting_name(name);
    let mut setting = setting.ty(vk::LayerSettingTypeEXT::BOOL32);
    // ash's own setter takes bytes and counts them, but the count is of values.
    setting.value_count = 1;
    setting.p_values = std::ptr::from_ref(on).cast();
    setting
}

/// Warnings and errors about how Vulkan is used. GENERAL messages are not asked for: by these the loader tells of drivers that it
/// could not load, which is no fault of this program.
fn messenger_info(log: &MessageLog) -> vk::DebugUtilsMessengerCreateInfoEXT<'static> {
    vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(vk::DebugUtilsMessageSeverityFlagsEXT::WARNING | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR)
        .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION | vk::DebugUtilsMessageTypeFlagsEXT::PERFORMANCE)
        .pfn_user_callback(Some(on_message))
        .user_data(Arc::as_ptr(&log.0).cast_mut().cast())
}

/// Called by the validation layer, on any thread that calls Vulkan.
unsafe extern "system" fn on_message(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _kind: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    log: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: Vulkan passes a valid structure, or null, for the time of the call.
    let message = unsafe { data.as_ref() }.filter(|data| !data.p_message.is_null());
    // SAFETY: `messenger_info` gave the pointer of the log's Mutex, which outlives every messenger and is only ever shared.
    let log = unsafe { log.cast::<Mutex<Vec<String>>>().as_ref() };
    if let (Some(data), Some(log)) = (message, log) {
        // SAFETY: not null, and the structure's strings end with a zero.
        let text = unsafe { CStr::from_ptr(data.p_message) }.to_string_lossy().into_owned();
        ASIDE.with_borrow_mut(|aside| match aside {
            Some(messages) => messages.push(text),
            None => log.lock().unwrap_or_else(PoisonError::into_inner).push(text),
        });
    }
    vk::FALSE
}
