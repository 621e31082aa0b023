//! How this process was started, looked at before the standard library puts `/dev/null` in the place of what is closed.

#![allow(unsafe_code, reason = "nothing of Rust runs before `main`")]

use std::sync::atomic::{AtomicBool, Ordering};

static HAS_NO_STDOUT: AtomicBool = AtomicBool::new(false);

/// The system calls what stands in this section before `main`.
// SAFETY: the section holds pointers to functions of this form, and this one needs nothing that is set up later.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: it is asked what a number stands for, which may be nothing; no memory is involved.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    // There is no other reason for it to fail.
    HAS_NO_STDOUT.store(flags < 0, Ordering::Relaxed);
}

/// Whether standard output was closed from the start: what is written to it is lost.
pub fn is_stdout_closed() -> bool {
    HAS_NO_STDOUT.load(Ordering::Relaxed)
}
