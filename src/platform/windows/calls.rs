//! What Windows offers and no crate wraps in safe functions as it is needed here: job objects, which hold processes to limits, and how a
//! process ends.

#![allow(unsafe_code, reason = "the system is no Rust; this file is the one place that calls it")]

use std::ffi::{OsString, c_void};
use std::io;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::PathBuf;
use std::ptr;
use std::time::Duration;

use windows_sys::Win32::Foundation::{FALSE, FILETIME, HMODULE};
use windows_sys::Win32::System::Diagnostics::Debug::{SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SetErrorMode};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, IsProcessInJob, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOB_OBJECT_LIMIT_PROCESS_MEMORY, JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation,
    QueryInformationJobObject, SetInformationJobObject,
};
use windows_sys::Win32::System::LibraryLoader::GetModuleFileNameW;
use windows_sys::Win32::System::ProcessStatus::{K32EnumProcessModules, K32GetModuleInformation, MODULEINFO};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes, GetSystemTimes, TerminateProcess};
use windows_sys::core::BOOL;

use super::super::MappedLibrary;

/// The limits of a job, and the bytes that the system is told they have.
type Limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION;
#[expect(clippy::cast_possible_truncation, reason = "a structure of 144 bytes")]
const LIMITS: u32 = size_of::<Limits>() as u32;

/// A job. It holds its processes to its limits of memory also once this is dropped.
#[derive(Debug)]
pub(super) struct Job(OwnedHandle);

impl Job {
    /// A job whose processes can have so many bytes of memory each.
    pub(super) fn of_memory(bytes: usize) -> io::Result<Self> {
        let mut limits = Limits { ProcessMemoryLimit: bytes, ..Limits::default() };
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_PROCESS_MEMORY;
        Self::with(&limits)
    }

    /// A job whose processes end once nobody holds it any more: the system lets go for a process that has ended, however it ended.
    pub(super) fn of_this_life() -> io::Result<Self> {
        let mut limits = Limits::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        Self::with(&limits)
    }

    fn with(limits: &Limits) -> io::Result<Self> {
        // SAFETY: both pointers may be null: the job has no name, and the rights that processes have by default.
        let job = unsafe { CreateJobObjectW(ptr::null(), ptr::null()) };
        if job.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is a handle that was just made, and nobody else closes it.
        let job = unsafe { OwnedHandle::from_raw_handle(job) };
        // SAFETY: the pointer is to a structure of the kind and of the size that are named with it, and is read during the call.
        succeeded(unsafe {
            SetInformationJobObject(
                job.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                ptr::from_ref(limits).cast::<c_void>(),
                LIMITS,
            )
        })?;
        Ok(Self(job))
    }

    /// This process belongs to the job from now on, and what it starts.
    pub(super) fn take_this_process(&self) -> io::Result<()> {
        // SAFETY: the job's handle is open; the process's is a constant that needs no closing.
        succeeded(unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), GetCurrentProcess()) })
    }
}

/// The memory that the job gives to which this process belongs, where that limits it.
pub(super) fn memory_of_this_job() -> io::Result<Option<usize>> {
    let mut is_in_job = FALSE;
    // SAFETY: the process's handle is a constant; null asks for any job; the answer is written to a variable of its type.
    succeeded(unsafe { IsProcessInJob(GetCurrentProcess(), ptr::null_mut(), &mut is_in_job) })?;
    if is_in_job == FALSE {
        return Ok(None);
    }
    let mut limits = Limits::default();
    // SAFETY: null is the job of this process; the pointer is to a structure of the kind and of the size that are named with it, all of
    // whose bits may be anything; how much was written needs no place.
    succeeded(unsafe {
        QueryInformationJobObject(
            ptr::null_mut(),
            JobObjectExtendedLimitInformation,
            ptr::from_mut(&mut limits).cast::<c_void>(),
            LIMITS,
            ptr::null_mut(),
        )
    })?;
    let is_limited = limits.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_PROCESS_MEMORY != 0;
    Ok(is_limited.then_some(limits.ProcessMemoryLimit))
}

pub(super) fn time_of_this_process() -> io::Result<Duration> {
    let [mut began, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: the process's handle is a constant; the answers are written to four variables of their type.
    succeeded(unsafe { GetProcessTimes(GetCurrentProcess(), &mut began, &mut ended, &mut kernel, &mut user) })?;
    Ok(duration(kernel) + duration(user))
}

/// What all processors were busy, and what they were idle.
pub(super) fn time_of_all() -> io::Result<(Duration, Duration)> {
    let [mut idle, mut kernel, mut user] = [FILETIME::default(); 3];
    // SAFETY: the answers are written to three variables of their type.
    succeeded(unsafe { GetSystemTimes(&mut idle, &mut kernel, &mut user) })?;
    let idle = duration(idle);
    // What they are idle counts as the kernel's.
    Ok(((duration(kernel) + duration(user)).saturating_sub(idle), idle))
}

/// Tenths of a microsecond.
fn duration(time: FILETIME) -> Duration {
    let ticks = u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    Duration::from_micros(ticks / 10) + Duration::from_nanos(ticks % 10 * 100)
}

/// The most libraries that are looked at, and characters of a path.
const MOST_MODULES: usize = 1024;
const LONGEST_PATH: usize = 1024;

/// The libraries that this process has mapped, as many as there is room for. Those with longer paths are left out.
#[expect(clippy::cast_possible_truncation, reason = "sizes of a few thousand bytes")]
pub fn mapped_libraries() -> Vec<MappedLibrary> {
    let mut handles = [ptr::null_mut(); MOST_MODULES];
    let (size, mut needed) = (size_of_val(&handles) as u32, 0);
    // SAFETY: the process's handle is a constant; the handles are written to an array of the size that is told.
    if succeeded(unsafe { K32EnumProcessModules(GetCurrentProcess(), handles.as_mut_ptr(), size, &mut needed) }).is_err() {
        return Vec::new();
    }
    let count = (needed as usize / size_of_val(&handles[0])).min(MOST_MODULES);
    let library = |handle: &HMODULE| {
        let (mut name, mut place) = ([0; LONGEST_PATH], MODULEINFO::default());
        // SAFETY: the handle is of a module of this process; the name is written to an array of the length that is told.
        let length = unsafe { GetModuleFileNameW(*handle, name.as_mut_ptr(), LONGEST_PATH as u32) } as usize;
        let size = size_of::<MODULEINFO>() as u32;
        // SAFETY: as above; what is written has the size that is told.
        succeeded(unsafe { K32GetModuleInformation(GetCurrentProcess(), *handle, &mut place, size) }).ok()?;
        let begin = place.lpBaseOfDll as usize;
        let addresses = begin..begin + place.SizeOfImage as usize;
        let path = (length > 0 && length < LONGEST_PATH).then(|| PathBuf::from(OsString::from_wide(&name[..length])))?;
        Some(MappedLibrary { path, addresses })
    };
    handles[..count].iter().filter_map(library).collect()
}

/// Ends this process; nothing that was loaded into it is asked.
pub(super) fn end(code: u32) -> ! {
    // SAFETY: the handle is a constant, and this process may end itself.
    unsafe { TerminateProcess(GetCurrentProcess(), code) };
    std::process::abort()
}

/// A crash of this process opens no window that waits for somebody to close it.
pub(super) fn crash_quietly() {
    // SAFETY: it takes any flags, and changes no memory.
    unsafe { SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX) };
}

fn succeeded(answer: BOOL) -> io::Result<()> {
    if answer == FALSE { Err(io::Error::last_os_error()) } else { Ok(()) }
}
