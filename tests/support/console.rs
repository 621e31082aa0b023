//! Windows' console: keys that are pressed for other processes, and what is shown.

#![cfg(windows)]
#![allow(
    unsafe_code,
    reason = "no crate presses a console's keys, or reads what it shows, in safe functions; this file is the one place of the tests that does"
)]

use std::fs::{File, OpenOptions};
use std::io::Error;
use std::os::windows::io::AsRawHandle;
use std::sync::Once;

use windows_sys::Win32::System::Console::{
    CONSOLE_SCREEN_BUFFER_INFO, COORD, CTRL_BREAK_EVENT, CTRL_C_EVENT, GenerateConsoleCtrlEvent, GetConsoleScreenBufferInfo,
    ReadConsoleOutputCharacterW, SetConsoleOutputCP,
};

/// Presses Ctrl-C or Ctrl-Break, for all processes of this one's console. This one goes on.
pub fn press(is_break: bool) {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| ctrlc::set_handler(|| {}).unwrap());
    // SAFETY: numbers alone are passed; zero is the whole console.
    let is_pressed = unsafe { GenerateConsoleCtrlEvent(if is_break { CTRL_BREAK_EVENT } else { CTRL_C_EVENT }, 0) };
    assert_ne!(is_pressed, 0, "{}", Error::last_os_error());
}

/// This process's console, for a program to write to.
pub fn console() -> File {
    OpenOptions::new().read(true).write(true).open("CONOUT$").unwrap()
}

/// The letters that this process's console takes from programs that write bytes: 437 is that of the United States.
pub fn choose_code_page(page: u32) {
    // SAFETY: a number alone is passed.
    let is_chosen = unsafe { SetConsoleOutputCP(page) };
    assert_ne!(is_chosen, 0, "{}", Error::last_os_error());
}

/// The lines that this process's console shows.
pub fn shown() -> Vec<String> {
    let console = console();
    let mut info = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the handle is open, and the answer is written to a variable of its type.
    let is_told = unsafe { GetConsoleScreenBufferInfo(console.as_raw_handle(), &mut info) };
    assert_ne!(is_told, 0, "{}", Error::last_os_error());
    let width = u16::try_from(info.dwSize.X).unwrap();
    let line = |row: i16| {
        let (mut letters, mut count) = (vec![0_u16; width.into()], 0);
        let begin = COORD { X: 0, Y: row };
        // SAFETY: the handle is open, there is room for so many letters, and their count is written to a variable of its type.
        let is_read = unsafe {
            ReadConsoleOutputCharacterW(console.as_raw_handle(), letters.as_mut_ptr(), width.into(), begin, &mut count)
        };
        assert_ne!(is_read, 0, "{}", Error::last_os_error());
        String::from_utf16_lossy(&letters).trim_end().to_owned()
    };
    (0..=info.dwCursorPosition.Y).map(line).collect()
}
