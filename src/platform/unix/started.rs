//! How this process was started, looked at before the standard library puts `/dev/null` in the place of what is closed.

#![allow(unsafe_code, reason = "nothing of Rust runs before `main`")]

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::{Errno, fcntl_getfd};
use rustix::stdio::raw_stdout;

static HAS_NO_STDOUT: AtomicBool = AtomicBool::new(false);

/// The system calls what stands in this section before `main`.
// SAFETY: the section holds pointers to functions of this form, and this one needs nothing that is set up later.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: the number is asked about, and neither kept nor closed: whether it stands for anything is the question.
    let output = unsafe { BorrowedFd::borrow_raw(raw_stdout()) };
    HAS_NO_STDOUT.store(fcntl_getfd(output) == Err(Errno::BADF), Ordering::Relaxed);
}

/// Whether standard output was closed from the start: what is written to it is lost.
pub fn is_stdout_closed() -> bool {
    HAS_NO_STDOUT.load(Ordering::Relaxed)
}
