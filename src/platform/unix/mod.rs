//! Unix: Linux, macOS, the BSDs.

mod processor;
mod started;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, IsTerminal};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use rustix::fs::{Access, FileType, OFlags, StatVfs, access, fcntl_getfl, fcntl_setfl, fstat, fstatvfs, stat, statvfs};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::{FileKind, Kin, MappedLibrary};

pub use processor::processor_time;
pub use started::is_stdout_closed;

pub fn kind_at(path: &Path) -> io::Result<FileKind> {
    std::fs::metadata(path).map(|metadata| kind(&metadata))
}

/// What an open file is, which was found by this path.
pub fn kind_of(file: &File, _path: &Path) -> io::Result<FileKind> {
    file.metadata().map(|metadata| kind(&metadata))
}

pub fn kind(metadata: &Metadata) -> FileKind {
    let kind = metadata.file_type();
    let is_null = || stat("/dev/null").is_ok_and(|null| u128::from(null.st_rdev) == u128::from(metadata.rdev()));
    match () {
        () if kind.is_file() => FileKind::Regular,
        () if kind.is_dir() => FileKind::Folder,
        () if kind.is_fifo() => FileKind::Pipe,
        () if kind.is_socket() => FileKind::Socket,
        () if kind.is_char_device() && is_null() => FileKind::Null,
        () if kind.is_char_device() => FileKind::Device,
        () if kind.is_block_device() => FileKind::Disk,
        () => FileKind::Link,
    }
}

/// Opening waits for nobody at a pipe's other end, and takes no terminal over.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(flags(OFlags::NONBLOCK | OFlags::NOCTTY))
}

/// As [`without_waiting`]; and it is an error where the last part of a path is a link.
pub fn without_following(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(flags(OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW))
}

fn flags(flags: OFlags) -> i32 {
    i32::from_ne_bytes(flags.bits().to_ne_bytes())
}

/// Reading and writing wait as usual, once a file is open that was opened without waiting.
pub fn after_opening(file: &File) -> io::Result<()> {
    let flags = fcntl_getfl(file)?;
    Ok(fcntl_setfl(file, flags - OFlags::NONBLOCK)?)
}

/// Whether a path names a stream that this process was given, such as `/dev/stdin` or a shell's `<(command)`.
pub fn is_own_stream(path: &Path) -> bool {
    ["/dev/stdin", "/dev/stdout", "/dev/stderr"].iter().any(|name| path == Path::new(name))
        || ["/dev/fd", "/proc/self/fd"].iter().any(|folder| path.parent() == Some(Path::new(folder)))
}

/// Standard output or standard error, where a path names it: at its own place, and not at the beginning of the file that it may be.
pub fn own_output(path: &Path) -> Option<io::Result<File>> {
    let is_it = |name: &str, number: &str| {
        [name, &format!("/dev/fd/{number}"), &format!("/proc/self/fd/{number}")].iter().any(|name| path == Path::new(name))
    };
    let clone = match () {
        () if is_it("/dev/stdout", "1") => io::stdout().as_fd().try_clone_to_owned(),
        () if is_it("/dev/stderr", "2") => io::stderr().as_fd().try_clone_to_owned(),
        () => return None,
    };
    Some(clone.map(File::from))
}

pub fn is_by_another(file: &Metadata) -> bool {
    file.uid() != geteuid().as_raw()
}

pub fn have_one_owner(one: &Metadata, other: &Metadata) -> bool {
    one.uid() == other.uid()
}

pub fn has_other_names(file: &Metadata) -> bool {
    file.nlink() > 1
}

/// Whether two files that are there are one, whatever names they have.
pub fn are_one(one: &Metadata, other: &Metadata) -> bool {
    is_same_file(one, other)
}

pub fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Who may read and write this file, whatever this process's mask for new files says: the bits of `chmod`.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

/// A file that reaches the size that the system allows (`ulimit -f`) is an error of the write, and no signal that ends the process.
pub fn outlive_full_files() {
    // Where it can't be had, nothing changes.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

pub fn columns(stream: impl AsFd) -> Option<u16> {
    rustix::termios::tcgetwinsize(stream).ok().map(|size| size.ws_col).filter(|columns| *columns > 0)
}

/// Where every user of the machine may make files, and finds those of others; where there is no such folder, this user's.
pub fn shared_folder() -> PathBuf {
    let shared = PathBuf::from("/tmp");
    if shared.is_dir() { shared } else { std::env::temp_dir() }
}

/// Whether this process may write to what is there.
pub fn can_write(path: &Path) -> bool {
    access(path, Access::WRITE_OK).is_ok()
}

/// Errors: what keeps this process from making files in a folder. Nothing is made.
pub fn check_folder(folder: &Path) -> io::Result<()> {
    access(folder, Access::WRITE_OK | Access::EXEC_OK)?;
    has_room(&statvfs(folder)?)
}

/// Errors: that nothing can be written to what is open, as on a full disk. A file that takes some of a disk has that to give back.
pub fn check_room(file: impl AsFd) -> io::Result<()> {
    let found = fstat(&file)?;
    match FileType::from_raw_mode(found.st_mode) {
        // No byte is written, and a device that takes none says so.
        FileType::CharacterDevice => rustix::io::write(&file, &[]).map(drop).map_err(io::Error::from),
        FileType::RegularFile if found.st_blocks == 0 => has_room(&fstatvfs(&file)?),
        _ => Ok(()),
    }
}

fn has_room(disk: &StatVfs) -> io::Result<()> {
    let free = if geteuid().is_root() { disk.f_bfree } else { disk.f_bavail };
    // Some don't count: they have nothing at all.
    if disk.f_blocks > 0 && free == 0 { Err(Errno::NOSPC.into()) } else { Ok(()) }
}

/// As a shell takes it for one word.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    let is_word = !text.is_empty() && text.chars().all(is_plain);
    if is_word { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// This program, also where its file was replaced since it started.
pub fn this_program() -> io::Result<PathBuf> {
    let running = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && running.exists() { Ok(running) } else { std::env::current_exe() }
}

/// What the process of an id is to this one, as Linux tells it.
pub fn kin_of(pid: u32) -> Kin {
    if pid == std::process::id() {
        return Kin::ThisRun;
    }
    let Some((name, parent)) = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|stat| living(&stat)) else {
        return Kin::Gone;
    };
    // Those of other users don't tell their programs.
    let program = |pid: &str| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let own_parent = rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get());
    let is_kin = own_parent == Some(parent) && program("self").is_some() && program("self") == program(&pid.to_string());
    if is_kin { Kin::ThisRun } else { Kin::Other(name) }
}

/// The name and the parent of a process that lives: `id (name) state parent ...`.
fn living(stat: &str) -> Option<(String, i32)> {
    let (before, behind) = stat.rsplit_once(')')?;
    let mut words = behind.split_whitespace();
    let state = words.next()?;
    let name = before.split_once('(')?.1.to_owned();
    (!matches!(state, "Z" | "X")).then_some((name, words.next()?.parse().ok()?))
}

/// Whether this process is in the first namespace of processes, where each has the id that drivers know.
pub fn sees_all_processes() -> bool {
    // The number is Linux' own (`PROC_PID_INIT_INO`).
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|name| name == Path::new("pid:[4026531836]"))
}

/// The libraries that this process has mapped; none where the system doesn't tell.
pub fn mapped_libraries() -> Vec<MappedLibrary> {
    libraries_of(&std::fs::read("/proc/self/maps").unwrap_or_default())
}

/// Of Linux' `/proc/PID/maps`: a line for each part of a file, `begin-end rights offset device inode path`.
fn libraries_of(maps: &[u8]) -> Vec<MappedLibrary> {
    let (mut libraries, mut executable): (Vec<MappedLibrary>, HashSet<&Path>) = Default::default();
    for line in maps.split(|byte| *byte == b'\n') {
        let Some(path) = line.iter().position(|byte| *byte == b'/') else { continue };
        let (words, path) = (String::from_utf8_lossy(&line[..path]), Path::new(OsStr::from_bytes(&line[path..])));
        let ends = words.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).ok();
        let Some((begin, end)) = ends.and_then(|(begin, end)| number(begin).zip(number(end))) else { continue };
        if words.split(' ').nth(1).is_some_and(|rights| rights.contains('x')) {
            executable.insert(path);
        }
        match libraries.iter_mut().find(|library| library.path == path) {
            Some(library) => {
                let Range { start, end: last } = library.addresses;
                library.addresses = start.min(begin)..last.max(end);
            }
            None => libraries.push(MappedLibrary { path: path.into(), addresses: begin..end }),
        }
    }
    libraries.retain(|library| executable.contains(library.path.as_path()));
    libraries
}

/// Starts a program, which gets the signals from now on that this process is sent. Those of the terminal's keys it has already.
pub fn pass_signals_to(start: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2])?;
    let child = start()?;
    let pid = rustix::process::Pid::from_child(&child);
    let has_keys = io::stdin().is_terminal() || io::stderr().is_terminal();
    std::thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            let is_of_keys = has_keys && [SIGINT, SIGQUIT].contains(&signal);
            let signal = rustix::process::Signal::from_named_raw(signal).filter(|_| !is_of_keys);
            // One that has ended needs none.
            let _ = signal.map(|signal| rustix::process::kill_process(pid, signal));
        }
    })?;
    Ok(child)
}

/// Asks a program to end.
pub fn ask_to_end(child: &mut Child) -> io::Result<()> {
    Ok(rustix::process::kill_process(rustix::process::Pid::from_child(child), rustix::process::Signal::TERM)?)
}

/// A program's end as a shell tells it.
pub fn exit_code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Whether a process, or one that it started, has mapped a file with this in its name; never where the system doesn't tell.
pub fn has_mapped(pid: u32, name: &str) -> bool {
    let (mut open, mut seen) = (vec![pid], HashSet::new());
    while let Some(pid) = open.pop().filter(|_| seen.len() < MOST_PROCESSES) {
        if !seen.insert(pid) {
            continue;
        }
        let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        let is_it =
            |library: &MappedLibrary| library.path.file_name().is_some_and(|file| file.to_string_lossy().contains(name));
        if libraries_of(&maps).iter().any(is_it) {
            return true;
        }
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        open.extend(children.split(' ').filter_map(|pid| pid.parse::<u32>().ok()));
    }
    false
}

/// Processes that are looked at of one program.
const MOST_PROCESSES: usize = 64;

/// Ctrl-C is for the process that the user started: it ends the others when it is done.
pub fn keep_interrupts_from(command: &mut Command) {
    command.process_group(0);
}

/// A process of this program ends with the one that started it by itself: its input ends.
pub fn end_children_with_this() -> io::Result<()> {
    Ok(())
}

/// A crash is a signal that nobody is asked about.
pub fn crash_quietly() {}

/// Ends this process without giving a driver or another library a chance to interfere.
pub fn end_at_once() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}

/// From now on this process can have so many bytes of memory and no more, where the system holds processes to that; fewer, where it could
/// not have so many before. Gives the limit.
pub fn limit_memory(bytes: u64) -> io::Result<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::As).maximum;
    let current = maximum.map_or(bytes, |maximum| maximum.min(bytes));
    setrlimit(Resource::As, Rlimit { current: Some(current), maximum })?;
    Ok(current)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_library_are_one() {
        let maps = b"7f00-7f10 r--p 00000000 fe:00 12 /usr/lib/lib a.so.1\n7f20-7f30 r-xp 0 fe:00 12 /usr/lib/lib a.so.1\n\
                     7f40-7f50 rw-p 0 00:00 0 [heap]\n7f60-7f70 r--p 0 fe:00 9 /usr/lib/locale.bin\nwords /x.so\n";
        let library = MappedLibrary { path: "/usr/lib/lib a.so.1".into(), addresses: 0x7f00..0x7f30 };
        assert_eq!(libraries_of(maps), [library]);
        assert!(!cfg!(target_os = "linux") || !mapped_libraries().is_empty());
    }

    #[test]
    fn a_process_is_told_by_its_id() {
        assert_eq!(living("7 (a (b) c) S 3 7 7"), Some(("a (b) c".to_owned(), 3)));
        assert_eq!(living("7 (a) Z 3 7 7"), None);
        assert_eq!(kin_of(std::process::id()), Kin::ThisRun);
        if cfg!(target_os = "linux") {
            assert!(matches!(kin_of(1), Kin::Other(_)));
            assert_eq!(kin_of(u32::MAX), Kin::Gone);
        }
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        assert_eq!(["a.csv", "NVIDIA H200", "it's", ""].map(shell_word), ["a.csv", "'NVIDIA H200'", r"'it'\''s'", "''"]);
    }
}
