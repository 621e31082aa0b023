//! Isolation: whatever happens to the process that measures, in the middle of a run of 200 cases, costs at most the case that it was
//! at; and a device that can't be used costs the other devices nothing.
//!
//! Faults are played by the layer of `tests/fault_layer`; `tests/isolation.rs` has those of the mock device.

// Signals, by which processes are seen to crash, are Unix's.
#![cfg(unix)]

use std::path::PathBuf;

use lanescope::record::Record;

use crate::support::faults::Faults;
use crate::support::form::sample;
use crate::support::{Found, Ran, devices, lanescope, rows, skip};

// ---- 200 cases ------------------------------------------------------------------------------------------------------------

const CASES: usize = 200;

/// From 1 to 200 groups, but for the 130th case, whose buffers are of 20 MB instead of a few KB.
const BY_GROUPS: [&str; 5] = ["workgroup/linear", "-a", "local_size_x=64", "-a", "n=64..8256:+64,5000000,8384..12800:+64"];
/// Workgroups of 25 to 224, each a pipeline of its own.
const BY_CONSTANT: [&str; 5] = ["workgroup/linear", "-a", "local_size_x=25..224:+1", "-a", "n=12375"];

/// Little work, and deadlines far beyond it that can be waited for.
const QUICK: [&str; 7] =
    ["--preset=quick", "--max-time=5ms", "--max-noise=50%", "--timeout=2s", "--first-timeout=2s", "-q", "--format=csv"];

/// What a fault does: to the case at this place, with this status, these parts in the reason.
type Loss = (usize, &'static str, &'static str, &'static [&'static str]);

/// Runs 200 cases on a driver with faults. Each costs one row, and each other row is measured as ever.
fn costs_a_row_each(device: &Found, sweep: &[&str], losses: &[Loss]) {
    let faults = Faults::new(&losses.iter().map(|(_, fault, ..)| *fault).collect::<Vec<_>>().join(","));
    let (ran, rows) = swept(device, sweep, &faults);
    assert_eq!(ran.code, Some(1), "on {}: {}", device.driver, ran.err);
    for (place, row) in rows.iter().enumerate() {
        let what = format!("on {}, row {place}: {}: {}", device.driver, row.status, row.reason);
        match losses.iter().find(|(hit, ..)| *hit == place) {
            Some((_, fault, status, reason)) => {
                assert_eq!(row.status, *status, "{fault} {what}");
                assert!(reason.iter().all(|part| row.reason.contains(part)), "{fault} {what}");
                assert!(row.time_ns.is_none() && row.value.is_none() && row.rounds.is_none(), "{fault} {what}");
            }
            None => is_measured(row, &what),
        }
    }
}

fn is_measured(row: &Record, what: &str) {
    assert!(row.status == "ok" && row.reason.is_empty() && row.checked == "true", "{what}");
    assert!(row.time_ns.is_some() && row.rounds >= Some(6) && row.processes >= Some(1), "{what}");
}

fn swept(device: &Found, sweep: &[&str], faults: &Faults) -> (Ran, Vec<Record>) {
    let mut command = lanescope(&[&["run", "-d", &device.index], sweep, &QUICK].concat());
    let ran: Ran = faults.meet(&mut command).output().unwrap().into();
    let rows = rows(&ran.out);
    let places: Vec<u64> = rows.iter().map(|row| row.plan_index.unwrap()).collect();
    assert!(places.iter().copied().eq(0..CASES as u64), "{} on {}: {places:?}, {}", faults.text(), device.driver, ran.err);
    (ran, rows)
}

/// SwiftShader, which is the quickest, or else whatever there is.
fn quickest() -> Found {
    let mut devices = devices();
    let quickest = devices.iter().position(|device| device.driver == "GOOGLE_SWIFTSHADER");
    devices.swap_remove(quickest.unwrap_or(0))
}

#[test]
fn a_crash_costs_one_row() {
    let crash = (99, "abort:groups=100", "crashed", &["its process died", "SIGABRT"][..]);
    costs_a_row_each(&quickest(), &BY_GROUPS, &[crash]);
}

#[test]
fn whatever_work_does_costs_one_row_each() {
    let losses: [Loss; 8] = [
        (19, "segfault:groups=20", "crashed", &["its process died", "SIGSEGV"]),
        (49, "abort:submit=3:groups=50", "crashed", &["its process died", "SIGABRT"]),
        (79, "device_lost:groups=80", "device_lost", &["VK_ERROR_DEVICE_LOST"]),
        (99, "hang:groups=100", "timeout", &["no end within 4.0 s; its process was killed (--first-timeout allows more)"]),
        (119, "wrong:groups=120", "wrong_result", &["64 of 7680 elements are wrong"]),
        (129, "out_of_memory:bytes=20000000", "out_of_memory", &["buffer"]),
        (149, "unfinished:submit=3:groups=150", "timeout", &["its process was killed"]),
        (179, "device_lost:submit=3:groups=180", "device_lost", &["VK_ERROR_DEVICE_LOST"]),
    ];
    costs_a_row_each(&quickest(), &BY_GROUPS, &losses);
}

#[test]
fn whatever_making_a_pipeline_does_costs_one_row_each() {
    let device = quickest();
    let mut losses: Vec<Loss> = vec![
        (35, "pipeline_error:constant=60", "compile_error", &["vkCreateComputePipelines failed with VK_ERROR_UNKNOWN", "=60"]),
        (75, "abort:pipeline:constant=100", "crashed", &["its process died", "SIGABRT"]),
        (
            135,
            "hang:pipeline:constant=160",
            "timeout",
            &["no end within 4.0 s; its process was killed (--first-timeout allows more)"],
        ),
        (175, "invalid_shader:constant=200", "compile_error", &["VK_ERROR_INVALID_SHADER_NV"]),
    ];
    // A shader that never ends, on whatever threads the driver runs it.
    if device.has_endless_loops {
        losses.push((
            99,
            "spin:constant=124",
            "timeout",
            &["no end within 4.0 s; its process was killed (--first-timeout allows more)"],
        ));
    }
    costs_a_row_each(&device, &BY_CONSTANT, &losses);
}

#[test]
fn it_is_the_same_on_other_drivers() {
    let quickest = quickest().index;
    let others: Vec<Found> = devices().into_iter().filter(|device| device.index != quickest).collect();
    if others.is_empty() {
        skip!("there is one driver here");
    }
    for device in others {
        let losses: [Loss; 4] = [
            (49, "abort:submit=3:groups=50", "crashed", &["its process died", "SIGABRT"]),
            (79, "device_lost:groups=80", "device_lost", &["VK_ERROR_DEVICE_LOST"]),
            (129, "out_of_memory:bytes=20000000", "out_of_memory", &["buffer"]),
            (149, "unfinished:submit=3:groups=150", "timeout", &["its process was killed"]),
        ];
        let losses: Vec<Loss> = sample(losses, 3, 3).collect();
        costs_a_row_each(&device, &BY_GROUPS, &losses);
    }
}

/// What others had taken is there again: the second try finds it.
#[test]
fn memory_that_was_missing_once_costs_nothing() {
    let faults = Faults::new("out_of_memory:bytes=20000000").once();
    let few = ["run", "workgroup/linear", "-a", "local_size_x=64", "-a", "n=64..640:+64,5000000,704", "-d"];
    let mut command = lanescope(&[&few[..], &[&quickest().index], &QUICK].concat());
    let ran: Ran = faults.meet(&mut command).output().unwrap().into();
    let rows = rows(&ran.out);
    assert_eq!((faults.has_come(), ran.code, rows.len()), (true, Some(0), 12), "{}", ran.err);
    rows.iter().for_each(|row| is_measured(row, &row.axis_values));
}

/// What a process takes of the memory so that its buffers lie elsewhere is nothing that a case needs.
#[test]
fn a_displacement_that_there_is_no_memory_for_costs_nothing() {
    let few = ["run", "workgroup/linear", "-a", "local_size_x=64", "-a", "n=64,128", "-q", "--format=csv", "--max-time=5ms"];
    let faults = Faults::new("out_of_memory:bytes=20000000").once();
    let mut command = lanescope(&[&few[..], &["--preset=study", "-d", &quickest().index]].concat());
    let ran: Ran = faults.meet(&mut command).output().unwrap().into();
    // One of six takes more than that, nearly always: of 256 MiB any part is as likely.
    assert_eq!((faults.has_come(), ran.code), (true, Some(0)), "{}", ran.err);
    let measured: Vec<Record> = rows(&ran.out).into_iter().filter(|row| row.row_kind == "measured").collect();
    assert_eq!(measured.len(), 2);
    assert!(measured.iter().all(|row| row.status == "ok" && row.processes == Some(6)), "{}", ran.out);
}

// ---- drivers and devices that can't be used -------------------------------------------------------------------------------

/// The manifests of all drivers.
fn manifests() -> Vec<PathBuf> {
    let files = std::env::var_os("VK_DRIVER_FILES").unwrap_or_default();
    std::env::split_paths(&files).collect()
}

#[test]
fn a_driver_that_crashes_when_it_is_asked_is_named_and_the_others_are_usable() {
    let all = devices();
    for manifest in manifests() {
        let name = manifest.file_stem().unwrap().to_str().unwrap();
        let faults = Faults::new(&format!("abort:devices:driver={name}"));
        let found: Ran = faults.meet(&mut lanescope(&["devices", "--json"])).output().unwrap().into();
        let found: serde_json::Value = serde_json::from_str(&found.out).unwrap();
        let (broken, others): (Vec<_>, Vec<_>) =
            found.as_array().unwrap().iter().partition(|device| !device["unusable"].is_null());
        assert_eq!((broken.len(), broken[0]["name"].as_str()), (1, Some(name)), "{found}");
        let why = broken[0]["unusable"].as_str().unwrap();
        assert!(why.contains("asking its driver for devices failed: crashed") && why.contains("SIGABRT"), "{why}");
        assert_eq!(others.len(), all.len() - 1, "{found}");
        let text: Ran = faults.meet(&mut lanescope(&["devices"])).output().unwrap().into();
        // Long lines are broken there.
        let unbroken = text.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.code == Some(0) && unbroken.contains("UNUSABLE") && unbroken.contains(why), "{text:?}");
        if others.is_empty() {
            continue;
        }
        // The same driver that hangs; `devices` would wait for it longer than a test can.
        for faults in [faults, Faults::new(&format!("hang:devices:driver={name}"))] {
            let run = |device: &str| -> Ran {
                let arguments = ["--max-time=5ms", "--timeout=1s", "--first-timeout=1s", "--format=csv"];
                let mut command = lanescope(&[&["run", "calibration/empty", "-d", device], &arguments[..]].concat());
                faults.meet(&mut command).output().unwrap().into()
            };
            let ran = run("all");
            let rows = rows(&ran.out);
            assert_eq!((ran.code, rows.len()), (Some(0), others.len()), "{}: {}", faults.text(), ran.err);
            for (row, device) in rows.iter().zip(&others) {
                assert_eq!((row.status.as_str(), Some(row.device_name.as_str())), ("ok", device["name"].as_str()));
            }
            run(name).refuses(&["can't be used: asking its driver"]);
        }
    }
}

/// A driver that says no once may be busy with somebody else.
#[test]
fn a_device_that_is_refused_once_is_asked_again() {
    let (device, faults) = (quickest(), Faults::new("out_of_memory:open=1").once());
    let (ran, rows) = swept(&device, &BY_GROUPS, &faults);
    assert!(ran.code == Some(0) && faults.has_come() && rows.iter().all(|row| row.status == "ok"), "{}", ran.err);
    let (ran, rows) = swept(&device, &BY_GROUPS, &Faults::new("out_of_memory:open"));
    assert!(ran.code == Some(75) && rows.iter().all(|row| row.status == "not_run"), "{}", ran.err);
}

#[test]
fn a_device_that_can_not_be_opened_is_given_up() {
    let device = quickest();
    for (fault, status, reason) in [
        ("abort:open", "crashed", "SIGABRT"),
        ("segfault:open", "crashed", "SIGSEGV"),
        ("device_lost:open", "device_lost", "VK_ERROR_DEVICE_LOST"),
    ] {
        let (ran, rows) = swept(&device, &BY_GROUPS, &Faults::new(fault));
        assert_eq!(ran.code, Some(75), "{fault}: {}", ran.err);
        for row in rows {
            let is_told = row.reason.starts_with(&format!("{status}: ")) && row.reason.contains(reason);
            assert!(is_told && row.status == "not_run" && row.time_ns.is_none(), "{fault}: {}: {}", row.status, row.reason);
        }
    }
}
