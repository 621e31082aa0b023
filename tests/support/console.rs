//! Keys of Windows' console, pressed for other processes.

#![cfg(windows)]
#![allow(
    unsafe_code,
    reason = "no crate presses a console's keys in a safe function; this file is the one place of the tests that does"
)]

use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, GenerateConsoleCtrlEvent};

/// Presses Ctrl-C or Ctrl-Break, for all processes of this one's console. This one goes on.
pub fn press(is_break: bool) {
    ctrlc::set_handler(|| {}).unwrap();
    // SAFETY: numbers alone are passed; zero is the whole console.
    let is_pressed = unsafe { GenerateConsoleCtrlEvent(if is_break { CTRL_BREAK_EVENT } else { CTRL_C_EVENT }, 0) };
    assert_ne!(is_pressed, 0, "{}", std::io::Error::last_os_error());
}
