//! NVIDIA's management library: what NVIDIA's driver tells of a GPU beside Vulkan.
//!
//! It comes with the driver and is loaded where it is there, once per process; where it isn't, nobody misses it. The few functions that
//! are called are declared here, as NVIDIA's `nvml.h` does.
//!
//! On an H100 (driver 580.159.04) loading takes 15 ms, finding the GPU 7 ms and its first figure 3 ms. Later ones take 10 to 40
//! microseconds; the driver renews them every 100 ms.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;

use libloading::Library;

use crate::model::{POWER_LIMIT, Uuid};

/// `nvmlReturn_t`
type Return = c_uint;
const SUCCESS: Return = 0;
/// `NVML_ERROR_NOT_FOUND`
const NOT_FOUND: Return = 6;

/// `nvmlDevice_t`
type Handle = *mut c_void;

/// `NVML_CLOCK_SM`: the clock of the multiprocessors, which is what compute shaders run on. On an H100 it equals the graphics clock
/// (`NVML_CLOCK_GRAPHICS`), which is the one that `nvidia-smi --lock-gpu-clocks` names.
const CLOCK_SM: c_uint = 1;

/// Reasons for a lower clock, `nvmlClocksEventReason...`, that are none of the user's own: what the hardware does for its own sake.
const SLOWDOWNS: [(u64, &str); 5] = [
    (0x04, POWER_LIMIT),
    (0x08, "hardware slowdown"),
    (0x20, "too hot (software)"),
    (0x40, "too hot (hardware)"),
    (0x80, "power brake"),
];

/// The most processes that are looked at.
const MOST_PROCESSES: usize = 128;

/// `nvmlProcessUtilizationSample_t`: what a process had of the GPU lately. Shares are in percent, the time in microseconds since 1970.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Utilization {
    pid: c_uint,
    time: u64,
    sm: c_uint,
    memory: c_uint,
    encoder: c_uint,
    decoder: c_uint,
}

type ProcessUtilization = unsafe extern "C" fn(Handle, *mut Utilization, *mut c_uint, u64) -> Return;

/// The functions that are used. Whoever makes them answers for that they can be called until the process ends, on any thread. Older
/// drivers lack some of the optional ones.
#[derive(Clone, Copy)]
struct Functions {
    handle_by_uuid: unsafe extern "C" fn(*const c_char, *mut Handle) -> Return,
    clock_info: unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> Return,
    max_clock_info: Option<unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> Return>,
    slowdowns: Option<unsafe extern "C" fn(Handle, *mut u64) -> Return>,
    process_utilization: Option<ProcessUtilization>,
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
            let max_clock_info = library.get(b"nvmlDeviceGetMaxClockInfo\0").ok().map(|found| *found);
            let slowdowns = library.get(b"nvmlDeviceGetCurrentClocksThrottleReasons\0").ok().map(|found| *found);
            let process_utilization = library.get(b"nvmlDeviceGetProcessUtilization\0").ok().map(|found| *found);
            (init, Functions { handle_by_uuid, clock_info, max_clock_info, slowdowns, process_utilization })
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

    /// The highest clock that it can have.
    pub(super) fn max_mhz(&self) -> Option<f64> {
        let mut mhz = 0;
        // SAFETY: as above.
        let result = unsafe { self.functions.max_clock_info?(self.handle, CLOCK_SM, &raw mut mhz) };
        (result == SUCCESS).then(|| mhz.into())
    }

    /// Why its clock is lower now than it might be, in words; none where it isn't, or where that isn't told.
    pub(super) fn slowdowns(&self) -> Vec<&'static str> {
        let mut reasons = 0;
        let Some(slowdowns) = self.functions.slowdowns else { return Vec::new() };
        // SAFETY: as above.
        let result = unsafe { slowdowns(self.handle, &raw mut reasons) };
        let is_told = |bit: u64| result == SUCCESS && reasons & bit != 0;
        SLOWDOWNS.into_iter().filter(|(bit, _)| is_told(*bit)).map(|(_, words)| words).collect()
    }

    /// The processes that worked on it since a moment, in microseconds since 1970, by their ids, with the share of its time that each
    /// had last. The driver renews these every few seconds. `None` where it doesn't tell; nothing where none worked.
    #[expect(clippy::cast_possible_truncation, reason = "a hundred")]
    pub(super) fn processes_since(&self, moment: u64) -> Option<Vec<(u32, f64)>> {
        let mut samples = [Utilization::default(); MOST_PROCESSES];
        let mut count = MOST_PROCESSES as c_uint;
        // SAFETY: as above; the array has as many entries as are told.
        let result = unsafe { self.functions.process_utilization?(self.handle, samples.as_mut_ptr(), &raw mut count, moment) };
        match result {
            SUCCESS => {
                let told = samples.iter().take(count as usize).filter(|sample| sample.time >= moment);
                let mut last: BTreeMap<u32, Utilization> = BTreeMap::new();
                for sample in told {
                    let known = last.entry(sample.pid).or_insert(*sample);
                    *known = if sample.time > known.time { *sample } else { *known };
                }
                Some(last.into_values().map(|sample| (sample.pid, f64::from(sample.sm) / 100.0)).collect())
            }
            NOT_FOUND => Some(Vec::new()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    /// `NVML_ERROR_NOT_SUPPORTED`
    const NOT_SUPPORTED: Return = 3;

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

    const TELLING_NOTHING: Functions = Functions {
        handle_by_uuid: one_gpu,
        clock_info: unknown,
        max_clock_info: None,
        slowdowns: None,
        process_utilization: None,
    };

    #[test]
    fn a_gpu_is_found_by_the_uuid_that_vulkan_tells() {
        let library = Functions { handle_by_uuid: one_gpu, clock_info: at_1980, ..TELLING_NOTHING };
        assert_eq!(Gpu::among(library, GPU).and_then(|gpu| gpu.mhz()), Some(1980.0));
        assert!(Gpu::among(library, Uuid::default()).is_none());
    }

    #[test]
    fn a_gpu_that_tells_no_clock_has_none() {
        let library = Functions { handle_by_uuid: one_gpu, ..TELLING_NOTHING };
        assert!(Gpu::among(library, GPU).is_none());
        let lost = Gpu { functions: library, handle: ptr::null_mut() };
        assert_eq!(lost.mhz(), None);
        assert_eq!((lost.max_mhz(), lost.slowdowns(), lost.processes_since(0)), (None, Vec::new(), None), "an old driver");
    }

    unsafe extern "C" fn hot_and_idle(_: Handle, reasons: *mut u64) -> Return {
        // SAFETY: `Gpu::slowdowns` passes a place for the figure.
        unsafe { reasons.write(0x41) };
        SUCCESS
    }

    unsafe extern "C" fn two_processes(_: Handle, samples: *mut Utilization, count: *mut c_uint, since: u64) -> Return {
        if since > 20 {
            return NOT_FOUND;
        }
        let all = [(7, 10, 90), (7, 20, 50), (8, 15, 25), (9, 5, 100)];
        for (place, (pid, time, sm)) in all.into_iter().enumerate() {
            // SAFETY: `Gpu::processes_since` passes an array of many more.
            unsafe { samples.add(place).write(Utilization { pid, time, sm, ..Utilization::default() }) };
        }
        // SAFETY: as above.
        unsafe { count.write(4) };
        SUCCESS
    }

    #[test]
    fn slowdowns_and_other_processes_are_told() {
        let functions = Functions {
            max_clock_info: Some(at_1980),
            slowdowns: Some(hot_and_idle),
            process_utilization: Some(two_processes),
            ..TELLING_NOTHING
        };
        let gpu = Gpu { functions, handle: ptr::dangling_mut::<u8>().cast() };
        assert_eq!((gpu.max_mhz(), gpu.slowdowns()), (Some(1980.0), vec!["too hot (hardware)"]));
        assert_eq!(gpu.processes_since(10), Some(vec![(7, 0.5), (8, 0.25)]), "the last of each, and none of before");
        assert_eq!(gpu.processes_since(21), Some(Vec::new()));
    }
}
