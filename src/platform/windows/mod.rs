//! Windows.

mod calls;

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, AsRawHandle};
use std::os::windows::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, PoisonError};

use self::calls::Job;
use super::{FileKind, Kin, OwnTime, ProcessorTime};

pub use calls::mapped_libraries;

pub fn kind_at(path: &Path) -> io::Result<FileKind> {
    device(path).map_or_else(|| std::fs::metadata(path).map(|metadata| kind(&metadata)), Ok)
}

/// What an open file is, which was found by this path.
pub fn kind_of(file: &File, path: &Path) -> io::Result<FileKind> {
    device(path).map_or_else(|| file.metadata().map(|metadata| kind(&metadata)), Ok)
}

pub fn kind(metadata: &Metadata) -> FileKind {
    match () {
        () if metadata.is_file() => FileKind::Regular,
        () if metadata.is_dir() => FileKind::Folder,
        () if metadata.is_symlink() => FileKind::Link,
        () => FileKind::Device,
    }
}

/// Devices and pipes, which have no metadata. Names of devices are reserved in every folder; a pipe's begins like no file's.
fn device(path: &Path) -> Option<FileKind> {
    const DEVICES: [&str; 5] = ["AUX", "CON", "CONIN$", "CONOUT$", "PRN"];
    let text = path.to_string_lossy().to_ascii_uppercase().replace('/', "\\");
    if text.starts_with(r"\\.\PIPE\") {
        return Some(FileKind::Pipe);
    }
    let name = text.rsplit('\\').next()?.trim_end_matches(':');
    let is_port = || name.strip_suffix(|c: char| matches!(c, '1'..='9')).is_some_and(|port| ["COM", "LPT"].contains(&port));
    match name {
        "NUL" => Some(FileKind::Null),
        _ => (DEVICES.contains(&name) || is_port()).then_some(FileKind::Device),
    }
}

/// Opening waits for nobody there.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// A link is opened itself, and not what it leads to.
pub fn without_following(options: &mut OpenOptions) -> &mut OpenOptions {
    const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
}

/// There is nothing to take back.
pub fn after_opening(_file: &File) -> io::Result<()> {
    Ok(())
}

/// No path names a stream there.
pub fn is_own_stream(_path: &Path) -> bool {
    false
}

pub fn own_output(_path: &Path) -> Option<io::Result<File>> {
    None
}

/// Owners aren't asked: there, lists say who may write.
pub fn is_by_another(_file: &Metadata) -> bool {
    false
}

/// See [`is_by_another`].
pub fn have_one_owner(_one: &Metadata, _other: &Metadata) -> bool {
    true
}

/// The standard library doesn't tell.
pub fn has_other_names(_file: &Metadata) -> bool {
    false
}

/// The standard library doesn't tell whether two names are of one file.
pub fn are_one(_one: &Metadata, _other: &Metadata) -> bool {
    false
}

/// Whether two open files, of which the first was found by a name, are one. What is open keeps its name there, unless it was opened to be
/// deleted; so the name alone tells, and a file of another length that bears it now is another one.
pub fn is_same_file(named: &Metadata, own: &Metadata) -> bool {
    named.len() == own.len()
}

/// Lists say who may; and the folder for temporary files is the user's own there.
pub fn set_mode(_file: &File, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// There is no limit to a file's size.
pub fn outlive_full_files() {}

/// Whether this process was given no standard output: the standard library then takes what is written to it as written.
pub fn is_stdout_closed() -> bool {
    io::stdout().as_raw_handle().is_null()
}

/// Where every user of the machine may make files, and finds those of others.
pub fn shared_folder() -> PathBuf {
    std::env::var_os("ProgramData").map_or_else(std::env::temp_dir, PathBuf::from)
}

/// Lists say who may write: nobody is kept out before it is tried.
pub fn can_write(_path: &Path) -> bool {
    true
}

/// Lists say who may make files, and the standard library doesn't tell what a disk has left: it shows when something is written.
pub fn check_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// See [`check_folder`].
pub fn check_room(_file: impl AsHandle) -> io::Result<()> {
    Ok(())
}

pub fn columns(stream: impl AsHandle) -> Option<u16> {
    terminal_size::terminal_size_of(stream).map(|(width, _)| width.0)
}

/// As a shell takes it for one word: both shells, as far as they agree, else PowerShell.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./\\:=+".contains(c);
    // PowerShell takes typographic quotes for quotes.
    let is_quote = |c: char| c == '\'' || ('\u{2018}'..='\u{201b}').contains(&c);
    let is_special = |c: char| "\"$`%".contains(c) || ('\u{2018}'..='\u{201e}').contains(&c);
    // A program takes a quote behind a backslash for a letter.
    let end = if text.ends_with('\\') { "\\" } else { "" };
    match text {
        text if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        text if !text.contains(is_special) => format!("\"{text}{end}\""),
        text => {
            let doubled: String = text.chars().flat_map(|c| std::iter::repeat_n(c, if is_quote(c) { 2 } else { 1 })).collect();
            format!("'{doubled}'")
        }
    }
}

/// This program. Its file can't be replaced while it runs.
pub fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// What the process of an id is to this one: more isn't asked here.
pub fn kin_of(pid: u32) -> Kin {
    if pid == std::process::id() { Kin::ThisRun } else { Kin::Other(String::new()) }
}

/// See [`kin_of`].
pub fn sees_all_processes() -> bool {
    false
}

/// Ctrl-C, Ctrl-Break and the end of a console are for the process that the user started: it ends the others when it is done. So these have
/// a console of their own, which nobody sees. A group of their own would keep only Ctrl-C from them.
pub fn keep_interrupts_from(command: &mut Command) {
    const CREATE_NO_WINDOW: u32 = 0x0800_0000;
    command.creation_flags(CREATE_NO_WINDOW);
}

/// Starts a program. The console tells it of its keys as it tells this one.
pub fn pass_signals_to(start: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    start()
}

/// Ends a program: here nobody can ask one.
pub fn ask_to_end(child: &mut Child) -> io::Result<()> {
    child.kill()
}

/// A program's end as a shell tells it.
pub fn exit_code(status: ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Whether a process has mapped a file: here nobody tells that of another one.
pub fn has_mapped(_pid: u32, _name: &str) -> bool {
    false
}

/// What this process starts from now on ends with it, and so does what that starts. They are of one job from their first moment on: this
/// process is of it as well, and may end at any time.
pub fn end_children_with_this() -> io::Result<()> {
    static JOB: Mutex<Option<Job>> = Mutex::new(None);
    let mut job = JOB.lock().unwrap_or_else(PoisonError::into_inner);
    if job.is_none() {
        let new = Job::of_this_life()?;
        new.take_this_process()?;
        *job = Some(new);
    }
    Ok(())
}

/// A crash of this process is told to the one that started it, and to nobody else: no window waits for somebody to close it.
pub fn crash_quietly() {
    calls::crash_quietly();
}

/// Ends this process without giving a driver or another library a chance to interfere.
pub fn end_at_once() -> ! {
    calls::end(1)
}

/// From now on this process can have so many bytes of memory and no more; fewer, where it could not have so many before. Gives the limit.
pub fn limit_memory(bytes: u64) -> io::Result<u64> {
    let asked = usize::try_from(bytes).unwrap_or(usize::MAX);
    // That job holds it as well.
    let limit = calls::memory_of_this_job()?.map_or(asked, |around| around.min(asked));
    Job::of_memory(limit)?.take_this_process()?;
    Ok(limit as u64)
}

/// Of this process now. How long threads waited isn't told.
pub fn processor_time() -> Option<ProcessorTime> {
    let own = OwnTime::Process(calls::time_of_this_process().ok()?);
    let (busy, idle) = calls::time_of_all().ok()?;
    Some(ProcessorTime { own, busy, idle })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        let words = [
            r"C:\rows\a.csv",
            "NVIDIA H200",
            "it's",
            "",
            "a,b",
            "100 % of $x",
            "$it's",
            r"C:\a b\",
            "x\u{201d} ; b ; \u{201c}",
        ];
        let quoted = [
            r"C:\rows\a.csv",
            "\"NVIDIA H200\"",
            "\"it's\"",
            "\"\"",
            "\"a,b\"",
            "'100 % of $x'",
            "'$it''s'",
            r#""C:\a b\\""#,
            "'x\u{201d} ; b ; \u{201c}'",
        ];
        assert_eq!(words.map(shell_word), quoted);
    }

    #[test]
    fn devices_are_known_by_their_names() {
        let of = |name: &str| device(Path::new(name));
        assert_eq!(["NUL", "nul", "nul:", r"C:\rows\NUL", "rows/nul", r"\\.\NUL"].map(of), [Some(FileKind::Null); 6]);
        assert_eq!(["con", "CONOUT$", "com1", r"C:\lpt9:"].map(of), [Some(FileKind::Device); 4]);
        assert_eq!([r"\\.\pipe\rows", "//./pipe/rows"].map(of), [Some(FileKind::Pipe); 2]);
        assert_eq!(["com", "com0", "lpt", "null", "nul.csv", "console", "rows.csv", "."].map(of), [None; 8]);
    }
}
