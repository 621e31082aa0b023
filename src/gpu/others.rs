//! Other processes that work on a GPU: NVIDIA's library tells them, and Linux' drivers of other GPUs do so in `/proc/PID/fdinfo`.
//!
//! In a container the ids of processes are its own, and those outside can't be seen, or not be told from this one. So what is seen is
//! believed where this process, which works on the GPU as well, is among it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};

use super::nvml::Gpu;
use crate::model::{OtherProcess, PciAddress};
use crate::platform::{self, is_of_this_run, now as wall_clock};

/// How old a figure of NVIDIA's may be: the driver renews them every two seconds.
const STALE: Duration = Duration::from_secs(5);
/// How often it is worth to look.
const BETWEEN: Duration = Duration::from_millis(500);

const PROC: &str = "/proc";

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
        let now = Instant::now();
        if let Some((_, seen)) = self.seen.as_ref().filter(|(when, _)| now.duration_since(*when) < BETWEEN) {
            return seen.clone();
        }
        let shares = match nvml {
            Some(gpu) => {
                gpu.processes_since(micros(wall_clock().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(STALE)))
            }
            None => self.by_files(now),
        };
        let others = shares.and_then(|shares| among(&shares));
        self.seen = Some((now, others.clone()));
        others
    }

    /// What each process had since the last look.
    fn by_files(&mut self, now: Instant) -> Option<Vec<(u32, f64)>> {
        let busy = busy_below(Path::new(PROC), &self.address?.to_string());
        let (when, before) = self.before.replace((now, busy.clone()))?;
        let span = now.duration_since(when).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let share = |(pid, ns): (&u32, &u64)| {
            let spent = ns.saturating_sub(before.get(pid).copied().unwrap_or(*ns));
            (*pid, spent as f64 / 1e9 / span)
        };
        Some(busy.iter().map(share).collect())
    }
}

/// The others among processes, where this one or one of its run is seen too.
fn among(shares: &[(u32, f64)]) -> Option<Vec<OtherProcess>> {
    let (own, others): (Vec<_>, Vec<_>) = shares.iter().copied().partition(|(pid, _)| is_of_this_run(*pid));
    let mut others: Vec<OtherProcess> =
        others.into_iter().map(|(pid, share)| OtherProcess { name: platform::name_of_process(pid), share }).collect();
    others.sort_by(|one, other| other.share.total_cmp(&one.share));
    (!own.is_empty()).then_some(others)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// What all processes that can be seen had of a GPU so far. A process may have it open several times, and each client counts once,
/// however many descriptors it has.
fn busy_below(proc: &Path, address: &str) -> Busy {
    let mut clients: BTreeMap<(u32, String), u64> = BTreeMap::new();
    let folders = fs::read_dir(proc).into_iter().flatten().flatten();
    for folder in folders {
        let Some(pid) = folder.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // Of another user's process they can't be read.
        for file in fs::read_dir(folder.path().join("fdinfo")).into_iter().flatten().flatten() {
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            if let Some((client, ns)) = client_of(&text, address) {
                clients.insert((pid, client), ns);
            }
        }
    }
    let mut busy = Busy::new();
    for ((pid, _), ns) in clients {
        *busy.entry(pid).or_default() += ns;
    }
    busy
}

/// A client of a GPU, and the nanoseconds that its busiest engine worked for it (`drm-usage-stats.rst` of Linux).
fn client_of(text: &str, address: &str) -> Option<(String, u64)> {
    let of = |key: &str| text.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim()));
    (of("drm-pdev")? == address).then_some(())?;
    let client = of("drm-client-id")?.to_owned();
    let engines = text.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("drm-engine-")?.split_once(':')?;
        // How many of a kind there are stands beside how long they worked.
        (!name.starts_with("capacity")).then(|| value.trim().strip_suffix("ns")?.trim().parse::<u64>().ok())?
    });
    engines.max().map(|ns| (client, ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "0000:65:00.0";

    fn client(address: &str, id: u32, compute: u64) -> String {
        format!(
            "pos: 0\ndrm-driver: amdgpu\ndrm-pdev:\t{address}\ndrm-client-id:\t{id}\ndrm-engine-gfx:\t7 ns\n\
             drm-engine-capacity-video:\t9999\ndrm-engine-compute:\t{compute} ns\n"
        )
    }

    #[test]
    fn each_client_of_a_gpu_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: String| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("12/fdinfo/3", client(ADDRESS, 1, 1000));
        write("12/fdinfo/4", client(ADDRESS, 1, 1000));
        write("12/fdinfo/5", client(ADDRESS, 2, 500));
        write("12/fdinfo/6", client("0000:66:00.0", 3, 400));
        write("12/fdinfo/7", "pos: 0\n".to_owned());
        write("13/fdinfo/0", client(ADDRESS, 9, 2));
        write("self/fdinfo/0", client(ADDRESS, 10, 5));
        assert_eq!(busy_below(folder.path(), ADDRESS), [(12, 1500), (13, 7)].into());
        assert_eq!(busy_below(&folder.path().join("none"), ADDRESS), Busy::new());
    }

    #[test]
    fn others_are_believed_where_this_process_is_seen() {
        let own = std::process::id();
        assert_eq!(among(&[(1, 0.5)]), None, "it may be this one, by its name outside of a container");
        assert_eq!(among(&[]), None);
        assert_eq!(among(&[(own, 0.9)]), Some(Vec::new()));
        let others = among(&[(own, 0.5), (u32::MAX, 0.1), (u32::MAX - 1, 0.3)]).unwrap();
        assert_eq!(others.iter().map(|other| other.share).collect::<Vec<_>>(), [0.3, 0.1]);
    }
}
