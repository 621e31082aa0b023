//! The processes of a run, watched and killed from outside.

// Processes are found in /proc.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Ran, lanescope};

/// A variable that a run and its workers inherit, so that they are found whoever their parent is by now.
const MARK: &str = "LANESCOPE_TEST_FAMILY";

pub struct Family {
    mark: String,
    supervisor: Child,
}

impl Family {
    pub fn start(command: &mut Command) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{MARK}={}-{}-", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        command.env(MARK, mark.split_once('=').unwrap().1);
        Self { supervisor: command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(), mark }
    }

    /// The processes of its workers that run now.
    pub fn workers(&self) -> Vec<u32> {
        let own = self.supervisor.id();
        let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
        let has_mark = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|pair| pair == self.mark.as_bytes())
        };
        pids.filter(|pid| *pid != own && has_mark(pid) && is_running(*pid)).collect()
    }

    /// Sends a signal to the run itself.
    pub fn signal(&self, signal: Signal) {
        send(signal, self.supervisor.id());
    }

    /// Kills a worker, if there is one by now.
    pub fn kill_a_worker(&self, which: usize) -> bool {
        let workers = self.workers();
        let worker = workers.get(which % workers.len().max(1));
        worker.inspect(|worker| send(Signal::KILL, **worker)).is_some()
    }

    /// Whether the run itself goes on.
    pub fn is_running(&mut self) -> bool {
        self.supervisor.try_wait().unwrap().is_none()
    }

    /// Waits until something has happened while the run goes on.
    pub fn wait_until(&mut self, what: &str, mut has_happened: impl FnMut(&Self) -> bool) {
        let started = Instant::now();
        while !has_happened(self) {
            assert!(self.is_running(), "it ended before this: {what}");
            assert!(started.elapsed() < Duration::from_secs(120), "it never happened: {what}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until neither the run nor its workers do anything: until it hangs.
    pub fn wait_until_idle(&mut self) {
        let (mut before, mut since) = (u64::MAX, Instant::now());
        self.wait_until("it is idle", |family| {
            let now = family.workers().into_iter().chain([family.supervisor.id()]).map(processor_time).sum();
            if now != before {
                (before, since) = (now, Instant::now());
            }
            since.elapsed() > Duration::from_secs(1)
        });
    }

    /// Waits for the end of the run, demands that its workers end with it, and gives what it said.
    pub fn end(mut self) -> (Option<i32>, Ran) {
        let [mut out, mut err] = [String::new(), String::new()];
        self.supervisor.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.supervisor.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let status = self.supervisor.wait().unwrap();
        let ended = Instant::now();
        while let Some(worker) = self.workers().first() {
            assert!(ended.elapsed() < Duration::from_secs(5), "worker {worker} outlives its run");
            thread::sleep(Duration::from_millis(5));
        }
        (status.signal(), Ran { code: status.code(), out, err, ..Ran::default() })
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        let _ = self.supervisor.kill();
        let _ = self.supervisor.wait();
    }
}

/// What a process has had of the processor, in the system's own units.
fn processor_time(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum()
}

/// A process that has ended, and that nobody has asked about yet, counts as ended.
fn is_running(pid: u32) -> bool {
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    // After the program's name, which may hold anything.
    let state = stat.iter().rposition(|byte| *byte == b')').and_then(|at| stat.get(at + 2));
    state.is_some_and(|state| !matches!(state, b'Z' | b'X'))
}

fn send(signal: Signal, pid: u32) {
    // It may have ended meanwhile.
    let _ = kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal);
}

/// The most memory, in bytes, that a command has had when it has printed nearly all of so many rows, and is alive yet.
pub fn peak_before_the_end(arguments: &[&str], rows: u64) -> u64 {
    // What the pipe holds is less than this many rows: while they are unread, the process has to be alive.
    const UNREAD: u64 = 200;
    let mut child = lanescope(arguments).stderr(Stdio::inherit()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..=rows - UNREAD {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "{arguments:?} wrote too little");
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().strip_suffix(" kB").unwrap().parse().unwrap();
    assert_eq!((reader.lines().count() as u64, child.wait().unwrap().code()), (UNREAD, Some(0)));
    kilobytes << 10
}
