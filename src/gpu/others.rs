//! Other processes that work on a GPU: NVIDIA's library tells them, and Linux' drivers of other GPUs do so in `/proc/PID/fdinfo`.
//!
//! In a container the ids of processes are its own, and those outside can't be seen, or not be told from this one. So NVIDIA's word is
//! believed outside of containers, or where this process, which works on the GPU as well, is among it; and that nobody else works there,
//! where all processes can be seen.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};

use super::nvml::Gpu;
use crate::model::{OtherProcess, PciAddress};
use crate::platform::{Kin, kin_of, now as wall_clock, sees_all_processes};

/// How old a figure of NVIDIA's may be: the driver renews them every two seconds.
const STALE: Duration = Duration::from_secs(5);
/// How often it is worth to look.
const BETWEEN: Duration = Duration::from_millis(500);
/// What is less is as good as nothing.
const LEAST: f64 = 0.001;

const PROC: &str = "/proc";
/// Where programs open GPUs.
const NODES: &str = "/dev/dri/";
/// Engines that do no computing, by parts of their names: a video that is shown takes none of it.
const OTHER_ENGINES: [&str; 5] = ["dec", "enc", "video", "jpeg", "capacity"];

/// What each process had of the GPU so far, by its id: nanoseconds of any of its engines.
type Busy = BTreeMap<u32, u64>;

/// Watches who works on a GPU.
pub(super) struct Others {
    /// Where Linux' drivers tell it; `None` where NVIDIA's library does.
    address: Option<PciAddress>,
    before: Option<(Instant, Busy)>,
    /// What was seen last, and when.
    seen: Option<(Instant, Option<Vec<OtherProcess>>)>,
}

impl Others {
    pub(super) fn new(address: Option<PciAddress>) -> Self {
        Self { address, before: None, seen: None }
    }

    /// The other processes that worked on the GPU lately, the busiest first; `None` where they can't be seen.
    pub(super) fn look(&mut self, nvml: Option<&Gpu>) -> Option<Vec<OtherProcess>> {
        // Elsewhere nothing tells which processes are of the same run.
        if !cfg!(target_os = "linux") {
            return None;
        }
        let now = Instant::now();
        if let Some((_, seen)) = self.seen.as_ref().filter(|(when, _)| now.duration_since(*when) < BETWEEN) {
            return seen.clone();
        }
        let others = match nvml {
            Some(gpu) => {
                let since = since_1970().saturating_sub(STALE);
                gpu.processes_since(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
                    .and_then(|shares| among(&shares, true))
            }
            None => self.by_files(now),
        };
        self.seen = Some((now, others.clone()));
        others
    }

    /// What each process had since the last look.
    fn by_files(&mut self, now: Instant) -> Option<Vec<OtherProcess>> {
        let (busy, is_all) = busy_below(Path::new(PROC), &self.address?.to_string());
        let (when, before) = self.before.replace((now, busy.clone()))?;
        let span = now.duration_since(when).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let share = |(pid, ns): (&u32, &u64)| {
            let spent = ns.saturating_sub(before.get(pid).copied().unwrap_or(*ns));
            (*pid, spent as f64 / 1e9 / span)
        };
        // Some drivers count in other ways, or not at all: then this process isn't among them, either.
        if !busy.keys().any(|pid| kin_of(*pid) == Kin::ThisRun) {
            return None;
        }
        among(&busy.iter().map(share).collect::<Vec<_>>(), is_all && sees_all_processes())
    }
}

/// The others among processes, where this one or one of its run is seen too, and where those that aren't there could be seen.
fn among(shares: &[(u32, f64)], is_all: bool) -> Option<Vec<OtherProcess>> {
    // Outside of containers, ids are what they seem to be: a process that has just begun isn't among them yet.
    let (mut sees_own, mut others) = (sees_all_processes(), Vec::new());
    for (pid, share) in shares {
        match kin_of(*pid) {
            Kin::ThisRun => sees_own = true,
            Kin::Other(name) if *share >= LEAST => others.push(OtherProcess { name, share: *share }),
            Kin::Other(_) | Kin::Gone => {}
        }
    }
    others.sort_by(|one, other| other.share.total_cmp(&one.share));
    (sees_own && (is_all || !others.is_empty())).then_some(others)
}

fn since_1970() -> Duration {
    wall_clock().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// What all processes that can be seen had of a GPU so far, and whether these are all. A process may have it open several times, and
/// each client counts once, however many descriptors it has.
fn busy_below(proc: &Path, address: &str) -> (Busy, bool) {
    let (mut clients, mut is_all): (BTreeMap<(u32, String), u64>, bool) = (BTreeMap::new(), true);
    for folder in fs::read_dir(proc).into_iter().flatten().flatten() {
        let Some(pid) = folder.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let descriptors = match fs::read_dir(folder.path().join("fd")) {
            Ok(descriptors) => descriptors,
            // It has ended.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(_) => {
                is_all = false;
                continue;
            }
        };
        for descriptor in descriptors.flatten() {
            if !fs::read_link(descriptor.path()).is_ok_and(|target| target.starts_with(NODES)) {
                continue;
            }
            let file = folder.path().join("fdinfo").join(descriptor.file_name());
            if let Some((client, ns)) = client_of(&fs::read_to_string(file).unwrap_or_default(), address) {
                clients.insert((pid, client), ns);
            }
        }
    }
    let mut busy = Busy::new();
    for ((pid, _), ns) in clients {
        *busy.entry(pid).or_default() += ns;
    }
    (busy, is_all)
}

/// A client of a GPU, and the nanoseconds that its busiest engine worked for it (`drm-usage-stats.rst` of Linux).
fn client_of(text: &str, address: &str) -> Option<(String, u64)> {
    let of = |key: &str| text.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim()));
    (of("drm-pdev")? == address).then_some(())?;
    let client = of("drm-client-id")?.to_owned();
    let engines = text.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("drm-engine-")?.split_once(':')?;
        let is_other = OTHER_ENGINES.iter().any(|part| name.contains(part));
        (!is_other).then(|| value.trim().strip_suffix("ns")?.trim().parse::<u64>().ok())?
    });
    engines.max().map(|ns| (client, ns))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    const ADDRESS: &str = "0000:65:00.0";

    fn client(address: &str, id: u32, compute: u64) -> String {
        format!(
            "pos: 0\ndrm-driver: amdgpu\ndrm-pdev:\t{address}\ndrm-client-id:\t{id}\ndrm-engine-gfx:\t7 ns\n\
             drm-engine-dec:\t9999 ns\ndrm-engine-capacity-compute:\t9999\ndrm-engine-compute:\t{compute} ns\n"
        )
    }

    #[test]
    fn each_client_of_a_gpu_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let open = |process: &str, descriptor: u32, target: &str, text: String| {
            let of = |kind: &str| {
                let folder = folder.path().join(process).join(kind);
                fs::create_dir_all(&folder).unwrap();
                folder.join(descriptor.to_string())
            };
            std::os::unix::fs::symlink(target, of("fd")).unwrap();
            fs::write(of("fdinfo"), text).unwrap();
        };
        const NODE: &str = "/dev/dri/renderD128";
        open("12", 3, NODE, client(ADDRESS, 1, 1000));
        open("12", 4, NODE, client(ADDRESS, 1, 1000));
        open("12", 5, NODE, client(ADDRESS, 2, 500));
        open("12", 6, NODE, client("0000:66:00.0", 3, 400));
        open("12", 7, NODE, "pos: 0\n".to_owned());
        open("12", 8, "/tmp/x", client(ADDRESS, 4, 9000));
        open("13", 0, NODE, client(ADDRESS, 9, 2));
        open("self", 0, NODE, client(ADDRESS, 10, 5));
        fs::create_dir(folder.path().join("14")).unwrap();
        assert_eq!(busy_below(folder.path(), ADDRESS), ([(12, 1500), (13, 7)].into(), true));
        assert_eq!(busy_below(&folder.path().join("none"), ADDRESS), (Busy::new(), true));
        fs::write(folder.path().join("14/fd"), "").unwrap();
        assert!(!busy_below(folder.path(), ADDRESS).1, "what can't be read");
    }

    #[test]
    fn others_are_believed_where_this_process_is_seen() {
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (own, running) = (std::process::id(), other.id());
        // In a container it may be this one, by its id outside.
        assert_eq!(among(&[(running, 0.5)], true).is_some(), sees_all_processes());
        assert_eq!(among(&[], true).is_some(), sees_all_processes());
        assert_eq!(among(&[(own, 0.9)], true), Some(Vec::new()));
        assert_eq!(among(&[(own, 0.9)], false), None, "others may be hidden");
        let seen = [OtherProcess { name: "sleep".to_owned(), share: 0.3 }];
        assert_eq!(among(&[(own, 0.5), (running, 0.3), (1, 0.0)], false), Some(seen.to_vec()));
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(among(&[(own, 0.5), (running, 0.3)], true), Some(Vec::new()), "it has ended");
    }
}
