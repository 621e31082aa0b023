//! Processes of this program that work for another one of it, which can crash, hang and use up what they are given without taking it
//! along. The two speak in lines of JSON ([`messages`]).

pub mod messages;

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{self, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use self::messages::Line;
use crate::model::{Failure, Status};
use crate::platform::{self, end_at_once};

/// A process's last words, in lines, and the longest line that is kept.
const LAST_WORDS: usize = 20;
const LONGEST_WORDS: usize = 4096;

/// A deadline is waited for in so many steps. Where this process itself was stopped meanwhile, as by Ctrl-Z, it takes note of one
/// step only, and then hears what was said.
const STEPS: u32 = 8;

/// How long a process that was killed may take to be gone. One that waits in the kernel for a device may never be.
const REAPING: Duration = Duration::from_secs(5);

/// Where a process's words go, besides being kept for the case that it dies.
pub trait Listener: Send + Sync {
    fn said(&self, line: &str);

    /// Something that makes the run a failed one, though no row tells it.
    fn fault(&self, what: &str);
}

type Words = Arc<Mutex<VecDeque<String>>>;

/// A process that answers in `Reply`s.
pub struct Child<Reply> {
    process: process::Child,
    to: ChildStdin,
    replies: Receiver<Reply>,
    words: Words,
    /// Reads what it prints, to the end.
    listening: JoinHandle<()>,
    /// Why the last thing that there was to say could not be said.
    untold: Option<String>,
    is_killed: bool,
}

/// How long a process may be silent before it is taken for hung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    pub time: Duration,
    /// The flag by which the user allows more, where there is one.
    pub flag: Option<&'static str>,
}

impl Deadline {
    /// Of this long, whatever the user says.
    pub const fn fixed(time: Duration) -> Self {
        Self { time, flag: None }
    }

    /// The same flag's, so much later.
    #[must_use]
    pub fn later(self, by: Duration) -> Self {
        Self { time: self.time + by, ..self }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    Late,
    Dead,
    /// It was never told what to do, for this reason: that is no fault of its own.
    Illegible(String),
}

impl<Reply: DeserializeOwned + Send + 'static> Child<Reply> {
    /// Starts one, whose messages aren't longer than this.
    pub fn start(command: &mut Command, longest: u64, listener: &Arc<dyn Listener>) -> io::Result<Self> {
        platform::keep_interrupts_from(command);
        platform::end_children_with_this()?;
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let gone = || io::Error::other("a pipe is missing");
        let to = process.stdin.take().ok_or_else(gone)?;
        let from = process.stdout.take().ok_or_else(gone)?;
        let errors = process.stderr.take().ok_or_else(gone)?;
        let words = Words::default();
        let (sender, replies) = mpsc::channel();
        let keep = keeper(&words, listener);
        let answering = move || {
            let mut input = BufReader::new(from);
            while let Ok(Some(line)) = messages::read(&mut input, longest) {
                match line {
                    Line::Message(reply) => {
                        if sender.send(reply).is_err() {
                            break;
                        }
                    }
                    Line::Words(line) => keep(line),
                }
            }
        };
        let keep = keeper(&words, listener);
        let listening = move || {
            let mut input = BufReader::new(errors);
            let mut line = Vec::new();
            while input.by_ref().take(LONGEST_WORDS as u64).read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                keep(String::from_utf8_lossy(&line).trim_end().to_owned());
                line.clear();
            }
        };
        let thread = || thread::Builder::new();
        let listening = thread().spawn(answering).and_then(|_| thread().spawn(listening));
        match listening {
            Ok(listening) => Ok(Self { process, to, replies, words, listening, untold: None, is_killed: false }),
            Err(error) => {
                // Nobody would hear it.
                let _ = process.kill().and_then(|()| process.wait());
                Err(error)
            }
        }
    }

    /// Says something. A worker that is gone doesn't hear it, which shows at the next reply, as does what can't be said.
    pub fn say(&mut self, request: &impl Serialize) {
        match messages::write(&mut self.to, request) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => self.untold = Some(error.to_string()),
            // The pipe may be closed.
            Err(_) | Ok(()) => {}
        }
    }

    pub fn hear(&mut self, within: Deadline) -> Result<Reply, Silence> {
        if let Some(why) = self.untold.take() {
            return Err(Silence::Illegible(why));
        }
        for _ in 0..STEPS {
            match self.replies.recv_timeout(within.time / STEPS) {
                Ok(reply) => return Ok(reply),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Silence::Dead),
            }
        }
        Err(Silence::Late)
    }

    /// Why it says nothing more, as a case's failure, with the flag by which it could have gone on. Kills it.
    pub fn failure(&mut self, silence: &Silence, waited: Deadline) -> Failure {
        let (status, what) = match silence {
            Silence::Illegible(why) => {
                self.kill();
                return Failure::new(Status::Error, format!("its process can't be told what to do: {why}"));
            }
            Silence::Late => {
                self.kill();
                let seconds = waited.time.as_secs_f64();
                let more = waited.flag.map(|flag| format!(" ({flag} allows more)")).unwrap_or_default();
                (Status::Timeout, format!("no end within {seconds:.1} s; its process was killed{more}"))
            }
            Silence::Dead => {
                let ended = self.reap(REAPING);
                self.kill();
                let how = ended.map_or_else(|| "it closed its pipes".to_owned(), |ended| ended.to_string());
                (Status::Crashed, format!("its process died: {how}"))
            }
        };
        // What it printed last may still be on its way; what a grandchild holds open never ends.
        let until = Instant::now() + Duration::from_millis(200);
        while !self.listening.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        Failure::new(status, [what, self.last_words()].concat())
    }

    /// What it prints from now on belongs to something else.
    pub fn turn_the_page(&self) {
        self.words.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// What it printed last, as the end of a sentence.
    pub fn last_words(&self) -> String {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = words.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() { String::new() } else { format!("; its last words: {}", lines.join(" | ")) }
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }
}

impl<Reply> Child<Reply> {
    /// Kills it, and never asks: what a driver does at its end may take for ever.
    pub fn kill(&mut self) {
        if self.is_killed {
            return;
        }
        self.is_killed = true;
        // It may be dead already.
        let _ = self.process.kill();
        self.reap(REAPING);
    }

    pub fn reap(&mut self, within: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + within;
        loop {
            match self.process.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(1)),
                _ => return None,
            }
        }
    }
}

impl<Reply> Drop for Child<Reply> {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What the process says that started this one, read on a thread of its own, which notes it first: its end is this process's as well,
/// whatever that is at.
pub fn listen<T: DeserializeOwned + Send + 'static>(
    longest: u64,
    mut note: impl FnMut(&T) + Send + 'static,
) -> io::Result<Receiver<T>> {
    let (sender, receiver) = mpsc::channel();
    let listening = move || {
        let mut input = BufReader::new(io::stdin());
        while let Ok(Some(Line::Message(message))) = messages::read(&mut input, longest) {
            note(&message);
            if sender.send(message).is_err() {
                break;
            }
        }
        end_at_once();
    };
    thread::Builder::new().spawn(listening)?;
    Ok(receiver)
}

fn keeper(words: &Words, listener: &Arc<dyn Listener>) -> impl Fn(String) + Send + 'static {
    let (words, listener) = (Arc::clone(words), Arc::clone(listener));
    move |mut line: String| {
        // On standard output a line may be longer.
        let end = (0..=LONGEST_WORDS.min(line.len())).rev().find(|&end| line.is_char_boundary(end));
        line.truncate(end.unwrap_or(0));
        listener.said(&line);
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        if words.len() == LAST_WORDS {
            words.pop_front();
        }
        words.push_back(line);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use serde::Serializer;

    use super::*;

    /// What no message can hold.
    struct Untellable;

    impl Serialize for Untellable {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("it is no text"))
        }
    }

    struct Deaf;

    impl Listener for Deaf {
        fn said(&self, _: &str) {}

        fn fault(&self, _: &str) {}
    }

    /// It is our own fault, and no deadline of a device's.
    #[test]
    fn what_cant_be_told_is_said_at_once() {
        let listener: Arc<dyn Listener> = Arc::new(Deaf);
        let mut child = Child::<bool>::start(&mut Command::new("cat"), 100, &listener).unwrap();
        child.say(&Untellable);
        let (begin, long) = (Instant::now(), Deadline::fixed(Duration::from_secs(100)));
        let silence = child.hear(long).unwrap_err();
        assert_eq!(silence, Silence::Illegible("it is no text".to_owned()));
        let failure = child.failure(&silence, long);
        assert!(
            failure.status == Status::Error && failure.reason.ends_with("can't be told what to do: it is no text"),
            "{failure:?}"
        );
        assert!(begin.elapsed() < long.time / 2 && !child.is_alive());
    }

    #[test]
    fn whoever_was_too_late_is_told_which_flag_allows_more() {
        let listener: Arc<dyn Listener> = Arc::new(Deaf);
        for (flag, end) in [(Some("--patience"), "killed (--patience allows more)"), (None, "its process was killed")] {
            let mut child = Child::<bool>::start(&mut Command::new("cat"), 100, &listener).unwrap();
            let short = Deadline { time: Duration::from_millis(8), flag };
            let silence = child.hear(short).unwrap_err();
            assert_eq!(silence, Silence::Late);
            let reason = child.failure(&silence, short).reason;
            assert!(reason.starts_with("no end within 0.0 s; its process was killed") && reason.ends_with(end), "{reason}");
        }
    }
}
