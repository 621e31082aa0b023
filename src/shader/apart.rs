//! What anybody wrote is compiled and checked in a process of its own.
//!
//! The GLSL compiler and the validator are libraries that trust what they are given: an expression of many terms overflows their stack,
//! a few macros make millions of statements. So the program starts itself once more to do that work, with a limit of memory and with
//! deadlines; whatever becomes of that process, the answer is words. It stays for the next shader, and ends with the process that
//! started it.
//!
//! A program that uses this crate as a library has no such process, and compiles by itself.

use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::compile::{CompileError, Compiled, Compiler, ModuleKey};
use super::validator::{STACK, validate};
use super::{Invalid, Library, Module, Reflection, validate_within};
use crate::platform;
use crate::process::messages::write;
use crate::process::{Child, Deadline, Listener, Silence, listen};
use crate::regular::SHADER;
use crate::units::Bytes;

pub const COMMAND: &str = "compile";

/// How long it may take to compile a shader. Large ones take a few seconds.
const COMPILING: Duration = Duration::from_secs(60);

/// How long it may take to validate one; large ones take a tenth of a second.
const CHECKING: Duration = Duration::from_secs(20);

/// The memory of the process: the validator takes 30 bytes for each byte of the largest modules.
const MEMORY: u64 = 3 << 30;

/// The least stack on which this program reads what they made, whichever of its threads does.
const OWN_STACK: usize = 2 << 20;

/// The longest message: a module's word has four bytes, and takes up to eleven as digits.
const LONGEST: u64 = 8 * SHADER.largest;

#[derive(Serialize, Deserialize)]
enum Task {
    Compile { library: Library, subject: ModuleKey },
    Check(Vec<u32>),
}

#[derive(Serialize, Deserialize)]
enum Done {
    Compiled(Result<Compiled, CompileError>),
    Checked(Result<(), Invalid>),
}

/// Whether this program can be started once more to do it.
static IS_APART: AtomicBool = AtomicBool::new(false);

/// The process that does it, between two tasks.
static PROCESS: Mutex<Option<Child<Done>>> = Mutex::new(None);

/// From now on the shaders of files are compiled and checked in a process of their own: for the program that has the command of [`serve`].
pub fn work_apart() {
    IS_APART.store(true, Ordering::Relaxed);
}

pub(super) fn compile(library: &Library, subject: ModuleKey) -> Result<Arc<Module>, CompileError> {
    if !IS_APART.load(Ordering::Relaxed) {
        return Compiler::new(library.clone())?.compile_key(subject);
    }
    let task = Task::Compile { library: library.clone(), subject: subject.clone() };
    match ask(&task, COMPILING).map_err(CompileError::Exceeded)? {
        Done::Compiled(compiled) => compiled?.described(&subject).map(Arc::new),
        Done::Checked(_) => Err(CompileError::Compiler("it answered something else".to_owned())),
    }
}

/// Whether words are valid SPIR-V; an error where telling that takes more than the process has.
pub(super) fn check(words: &[u32]) -> Result<Result<(), Invalid>, String> {
    if !IS_APART.load(Ordering::Relaxed) {
        return validate_within(words, CHECKING).ok_or_else(|| late(CHECKING));
    }
    match ask(&Task::Check(words.to_vec()), CHECKING)? {
        Done::Checked(verdict) => Ok(verdict),
        Done::Compiled(_) => Err("gave no verdict".to_owned()),
    }
}

fn late(deadline: Duration) -> String {
    format!("takes longer than {} s", deadline.as_secs())
}

// ---- the one that asks ----------------------------------------------------------------------------------------------------

/// What a library prints is kept for the case that the process dies.
struct Quiet;

impl Listener for Quiet {
    fn said(&self, _line: &str) {}

    fn fault(&self, _what: &str) {}
}

/// Has a task done; where that can't be, tells what it does instead: `takes longer than 60 s`.
fn ask(task: &Task, deadline: Duration) -> Result<Done, String> {
    let mut process = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut child = match process.take().map(|mut child| (child.is_alive(), child)) {
        Some((true, child)) => child,
        _ => start().map_err(|error| format!("needs a process of its own, which can't be started: {error}"))?,
    };
    child.turn_the_page();
    child.say(task);
    match child.hear(Deadline::fixed(deadline)) {
        Ok(done) => {
            *process = Some(child);
            Ok(done)
        }
        Err(Silence::Late) => Err(late(deadline)),
        Err(silence) => {
            let reason = child.failure(&silence, Deadline::fixed(deadline)).reason;
            Err(if matches!(silence, Silence::Dead) { what_killed(&reason) } else { format!("failed: {reason}") })
        }
    }
}

fn start() -> io::Result<Child<Done>> {
    let listener: Arc<dyn Listener> = Arc::new(Quiet);
    Child::start(Command::new(platform::this_program()?).arg(COMMAND), LONGEST, &listener)
}

/// What ended the process, of which this is told. The words are the runtime's own, of Rust and of C++; the numbers are those by which
/// Windows ends a process without a word: no more stack, no more memory, none of what the limit leaves.
fn what_killed(told: &str) -> String {
    let says = |words: &[&str]| words.iter().any(|words| told.contains(words));
    if says(&["overflowed its stack", "0xc00000fd"]) {
        format!("takes more than {} of stack: something nests too deeply", Bytes(STACK as u64))
    } else if says(&["bad_alloc", "memory allocation of", "0xc0000017", "0xc000012d"]) {
        format!("takes more than {} of memory", Bytes(MEMORY))
    } else {
        format!("failed: {told}")
    }
}

// ---- the one that does it -------------------------------------------------------------------------------------------------

/// Does tasks until the process that asks is gone.
pub fn serve() -> io::Result<()> {
    platform::crash_quietly();
    let memory = platform::limit_memory(MEMORY)?;
    for task in listen::<Task>(LONGEST, |_| {})? {
        let done = match task {
            Task::Compile { library, subject } => Done::Compiled(compiled(library, subject, memory)?),
            Task::Check(words) => Done::Checked(validate(&words)),
        };
        write(&mut io::stdout().lock(), &done)?;
    }
    Ok(())
}

/// The module, of which it is known that it can be described: whether it can't, the one that asks finds out.
fn compiled(library: Library, subject: ModuleKey, memory: u64) -> io::Result<Result<Compiled, CompileError>> {
    let made: Result<Compiled, CompileError> =
        on_stack(STACK, move || Compiler::new(library).and_then(|compiler| compiler.translate(&subject)))?;
    if let Ok(compiled) = &made {
        let words = compiled.words.clone();
        on_stack(OWN_STACK, move || drop(Reflection::parse(&words)))?;
    }
    Ok(made.map_err(|error| match error {
        // The compiler's own words for what it throws are `internal error`.
        CompileError::Compiler(words) => {
            let memory = Bytes(memory);
            CompileError::Exceeded(format!(
                "ends in an error of the GLSL compiler's own ({words}): most likely it needs more than {memory} of memory"
            ))
        }
        other => other,
    }))
}

/// Does something on a thread with so much stack. What ends it ends the process.
fn on_stack<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let done = thread::Builder::new().stack_size(bytes).spawn(work)?;
    done.join().map_err(|_| io::Error::other("it panicked"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_the_process_is_known_by_its_words_and_by_windows_numbers() {
        let (stack, memory) = ("takes more than 256 MiB of stack", "takes more than 3 GiB of memory");
        for (told, expected) in [
            ("its process died: signal: 6 (SIGABRT); its last words: thread '<unnamed>' (7) has overflowed its stack", stack),
            ("its process died: exit code: 0xc00000fd", stack),
            ("its process died: exit code: 3; its last words: terminate called after throwing 'std::bad_alloc'", memory),
            ("its process died: exit code: 0xc0000409; its last words: memory allocation of 8 bytes failed", memory),
            ("its process died: exit code: 0xc0000017", memory),
            ("its process died: exit code: 0xc000012d", memory),
            ("its process died: exit code: 0xc0000005", "failed: its process died: exit code: 0xc0000005"),
        ] {
            let words = what_killed(told);
            assert!(words.starts_with(expected), "{told}: {words}");
        }
    }
}
