//! The processes of a run on Windows, watched, interrupted and killed from outside.

#![cfg(windows)]

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::Ran;

pub struct Family {
    supervisor: Child,
    /// All that were ever seen.
    workers: Vec<u32>,
}

impl Family {
    pub fn start(command: &mut Command) -> Self {
        let supervisor = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { supervisor, workers: Vec::new() }
    }

    /// The processes of its workers that run now.
    pub fn workers(&mut self) -> Vec<u32> {
        let system = processes();
        let own = Pid::from_u32(self.supervisor.id());
        let children = system.processes().values().filter(|process| process.parent() == Some(own));
        self.workers.extend(children.map(|process| process.pid().as_u32()));
        self.workers.sort_unstable();
        self.workers.dedup();
        self.workers.iter().copied().filter(|pid| system.process(Pid::from_u32(*pid)).is_some()).collect()
    }

    /// Kills a worker, if there is one by now.
    pub fn kill_a_worker(&mut self) -> bool {
        let workers = self.workers();
        let system = processes();
        workers.first().and_then(|pid| system.process(Pid::from_u32(*pid))).is_some_and(sysinfo::Process::kill)
    }

    pub fn kill(&mut self) {
        self.supervisor.kill().unwrap();
    }

    /// Whether the run itself goes on.
    pub fn is_running(&mut self) -> bool {
        self.supervisor.try_wait().unwrap().is_none()
    }

    /// Waits until something has happened while the run goes on.
    pub fn wait_until(&mut self, what: &str, mut has_happened: impl FnMut(&mut Self) -> bool) {
        let started = Instant::now();
        while !has_happened(self) {
            assert!(self.is_running(), "it ended before this: {what}");
            assert!(started.elapsed() < Duration::from_secs(120), "it never happened: {what}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for the end of the run, demands that the workers that were seen end with it, and gives what it said.
    pub fn end(mut self) -> Ran {
        let [mut out, mut err] = [String::new(), String::new()];
        self.supervisor.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.supervisor.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let status = self.supervisor.wait().unwrap();
        let ended = Instant::now();
        while let Some(worker) = self.workers().first() {
            assert!(ended.elapsed() < Duration::from_secs(5), "worker {worker} outlives its run");
            thread::sleep(Duration::from_millis(5));
        }
        Ran { code: status.code(), out, err, ..Ran::default() }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        let _ = self.supervisor.kill();
        let _ = self.supervisor.wait();
    }
}

fn processes() -> System {
    let mut system = System::new();
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, ProcessRefreshKind::nothing());
    system
}
