//! NVIDIA's management library: what NVIDIA's driver tells of a GPU beside Vulkan.
//!
//! It comes with the driver and is loaded where it is there, once per process; where it isn't, nobody misses it. Three functions are
//! all that is called, so they are declared here, as NVIDIA's `nvml.h` does.
//!
//! On an H100 (driver 580.159.04) loading takes 15 ms, finding the GPU 7 ms and its first figure 3 ms. Later ones take 10 to 40
//! microseconds; the driver renews them every 100 ms.

use std::ffi::{CString, c_char, c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;

use libloading::Library;

use crate::model::Uuid;

/// `nvmlReturn_t`
type Return = c_uint;
const SUCCESS: Return = 0;

/// `nvmlDevice_t`
type Handle = *mut c_void;

/// `NVML_CLOCK_SM`: the clock of the multiprocessors, which is what compute shaders run on. On an H100 it equals the graphics clock
/// (`NVML_CLOCK_GRAPHICS`), which is the one that `nvidia-smi --lock-gpu-clocks` names.
const CLOCK_SM: c_uint = 1;

/// The functions that are used. Whoever makes them answers for that they can be called until the process ends, on any thread.
#[derive(Clone, Copy)]
struct Functions {
    handle_by_uuid: unsafe extern "C" fn(*const c_char, *mut Handle) -> Return,
    clock_info: unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> Return,
}

/// The library, which stays loaded: a static isn't dropped.
struct Nvml {
    functions: Functions,
    _library: Library,
}

impl Nvml {
    fn load() -> Option<Self> {
        let library = open()?;
        // SAFETY: the names are those of nvml.h, and the types are what it declares there; nvmlInit_v2 takes nothing.
        let (init, functions) = unsafe {
            let init = *library.get::<unsafe extern "C" fn() -> Return>(b"nvmlInit_v2\0").ok()?;
            let handle_by_uuid = *library.get(b"nvmlDeviceGetHandleByUUID\0").ok()?;
            let clock_info = *library.get(b"nvmlDeviceGetClockInfo\0").ok()?;
            (init, Functions { handle_by_uuid, clock_info })
        };
        // SAFETY: the library is loaded, and has no other precondition.
        let result = unsafe { init() };
        (result == SUCCESS).then_some(Self { functions, _library: library })
    }

    /// The process's one, loaded by the first who asks.
    fn get() -> Option<&'static Self> {
        static NVML: OnceLock<Option<Nvml>> = OnceLock::new();
        NVML.get_or_init(Self::load).as_ref()
    }
}

/// The driver puts it among the system's own libraries: nothing else of its name is loaded, whatever folder the program is run in.
#[cfg(windows)]
fn open() -> Option<Library> {
    use libloading::os::windows;
    // SAFETY: loading it runs its constructors, which is what any program does that asks NVIDIA's driver for a clock.
    let library = unsafe { windows::Library::load_with_flags("nvml.dll", windows::LOAD_LIBRARY_SEARCH_SYSTEM32) };
    library.ok().map(Library::from)
}

/// By the name that the driver installs: the one without a number comes with the toolkit.
#[cfg(not(windows))]
fn open() -> Option<Library> {
    // SAFETY: loading it runs its constructors, which is what any program does that asks NVIDIA's driver for a clock.
    unsafe { Library::new("libnvidia-ml.so.1") }.ok()
}

pub(super) struct Gpu {
    functions: Functions,
    handle: Handle,
}

// SAFETY: NVIDIA documents the library's functions as safe to call from several threads; the handle is a name, and nobody frees it.
unsafe impl Send for Gpu {}
// SAFETY: as above.
unsafe impl Sync for Gpu {}

impl Gpu {
    /// The GPU of this Vulkan device, if it tells its clock: under NVIDIA's driver, `deviceUUID` is the UUID by which the library knows
    /// the GPU. Parts of one (MIG) go by names of another kind, and none is found.
    pub(super) fn find(uuid: Uuid) -> Option<Self> {
        Self::among(Nvml::get()?.functions, uuid)
    }

    fn among(functions: Functions, uuid: Uuid) -> Option<Self> {
        let name = CString::new(format!("GPU-{uuid}")).ok()?;
        let mut handle = ptr::null_mut();
        // SAFETY: the library is started; the name ends with a zero, and the handle has room for what is written to it.
        let result = unsafe { (functions.handle_by_uuid)(name.as_ptr(), &raw mut handle) };
        let gpu = (result == SUCCESS).then_some(Self { functions, handle })?;
        // The first figure takes longer than later ones, which are asked for between visits.
        gpu.mhz()?;
        Some(gpu)
    }

    pub(super) fn mhz(&self) -> Option<f64> {
        let mut mhz = 0;
        // SAFETY: the library is started and gave the handle; there is room for what is written.
        let result = unsafe { (self.functions.clock_info)(self.handle, CLOCK_SM, &raw mut mhz) };
        (result == SUCCESS).then(|| mhz.into())
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    /// `NVML_ERROR_NOT_SUPPORTED`
    const NOT_SUPPORTED: Return = 3;
    /// `NVML_ERROR_NOT_FOUND`
    const NOT_FOUND: Return = 6;

    const GPU: Uuid = Uuid([0xc0, 0xff, 0xee, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    const NAME: &CStr = c"GPU-c0ffee03-0405-0607-0809-0a0b0c0d0e0f";

    unsafe extern "C" fn one_gpu(name: *const c_char, handle: *mut Handle) -> Return {
        // SAFETY: `Gpu::among` passes a string with an end.
        if unsafe { CStr::from_ptr(name) } != NAME {
            return NOT_FOUND;
        }
        // SAFETY: `Gpu::among` passes a place for the handle.
        unsafe { handle.write(ptr::dangling_mut::<u8>().cast()) };
        SUCCESS
    }

    unsafe extern "C" fn at_1980(handle: Handle, kind: c_uint, mhz: *mut c_uint) -> Return {
        assert_eq!((handle, kind), (ptr::dangling_mut::<u8>().cast(), 1));
        // SAFETY: `Gpu::mhz` passes a place for the figure.
        unsafe { mhz.write(1980) };
        SUCCESS
    }

    unsafe extern "C" fn unknown(_: Handle, _: c_uint, _: *mut c_uint) -> Return {
        NOT_SUPPORTED
    }

    #[test]
    fn a_gpu_is_found_by_the_uuid_that_vulkan_tells() {
        let library = Functions { handle_by_uuid: one_gpu, clock_info: at_1980 };
        assert_eq!(Gpu::among(library, GPU).and_then(|gpu| gpu.mhz()), Some(1980.0));
        assert!(Gpu::among(library, Uuid::default()).is_none());
    }

    #[test]
    fn a_gpu_that_tells_no_clock_has_none() {
        let library = Functions { handle_by_uuid: one_gpu, clock_info: unknown };
        assert!(Gpu::among(library, GPU).is_none());
        let lost = Gpu { functions: library, handle: ptr::null_mut() };
        assert_eq!(lost.mhz(), None);
    }
}
