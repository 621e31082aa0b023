//! `run --preset study` on several devices: those that can't be measured on at the same time take turns, process by process.

// Processes are found in /proc.
#![cfg(target_os = "linux")]

use std::fs;
use std::sync::LazyLock;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::processes::Family;
use crate::support::{Folder, lanescope, rows, succeeded, typed};

/// 70 cases, which are two blocks, on two devices, one of which may be measured on at a time.
static RUN: LazyLock<Vec<&str>> = LazyLock::new(|| {
    typed("run workgroup/linear -a local_size_x=64 -a n=4..280:+4 --preset=study --max-time=20ms --jobs=1 -d=mock:noise=0")
});

/// Who visited cases so far, by device and process, each as often as it had its turn.
fn turns(folder: &Folder) -> Vec<String> {
    let journal = fs::read_to_string(folder.path("rows.csv.progress")).unwrap_or_default();
    let visits = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let who = |line: Value| {
        let visit = line.get("visit")?;
        Some(format!("{}.{}", visit["device"], visit["process"]))
    };
    let mut turns: Vec<String> = visits.filter_map(who).collect();
    turns.dedup();
    turns
}

#[test]
fn devices_take_turns_by_processes() {
    let expected: Vec<String> = (1..=6).flat_map(|process| [0, 1].map(|device| format!("{device}.{process}"))).collect();
    let killed = || {
        let folder = Folder::new();
        let mut command = lanescope(&[&RUN[..], &["-d=mock:noise=0,speed=2"]].concat());
        let mut family = Family::start(command.arg("-o").arg(folder.path("rows.csv")));
        family.wait_until("both devices had two turns", |_| turns(&folder).len() >= 5);
        family.signal(Signal::KILL);
        family.end();
        turns(&folder)
    };
    let turns = (0..20).map(|_| killed()).find(|turns| turns.len() >= 4).expect("no run was killed in its first block");
    assert_eq!(turns, expected[..turns.len()]);
}

/// No device begins a block before the others have ended the one before.
#[test]
fn devices_go_from_block_to_block_together() {
    let of = |more: &[&str]| {
        let ran = succeeded(&[&RUN[..], &["-d=mock:noise=0,speed=2", "--format=csv"], more].concat());
        let measured: Vec<_> = rows(&ran.out).into_iter().filter(|row| row.row_kind == "measured").collect();
        assert!(measured.len() == 140 && measured.iter().all(|row| row.status == "ok"));
        let mut blocks: Vec<(String, usize)> = Vec::new();
        for row in measured {
            match blocks.last_mut() {
                Some((device, count)) if *device == row.device_uuid => *count += 1,
                _ => blocks.push((row.device_uuid, 1)),
            }
        }
        blocks.into_iter().map(|(_, count)| count).collect::<Vec<_>>()
    };
    assert_eq!(of(&[]), [64, 64, 6, 6]);
    // Pairs are alternated by their samples, one device after the other.
    assert_eq!(of(&["--paired"]), [70, 70]);
}
