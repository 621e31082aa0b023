//! Every flag of a row, provoked on the mock device; tests/devices/rows.rs provokes those that a driver can show.

use lanescope::record::Record;

use crate::support::{measured, typed};

/// A case that nothing is to be said against on a sound device: far longer than a launch, with few results to check.
const SOUND: [&str; 5] = ["calibration/sentinel", "-a", "groups=64", "-a", "steps=2000000"];

/// The row of one case on this mock.
fn on_mock(options: &str, arguments: &[&str]) -> Record {
    let device = format!("mock:{options}");
    let mut rows = measured(&[&["-q", "--preset=default", "--processes=1", "-d", &device], arguments].concat());
    rows.retain(|row| row.row_kind == "measured");
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

fn flags(row: &Record) -> Vec<&str> {
    row.quality_flags.split(';').filter(|flag| !flag.is_empty()).collect()
}

#[test]
fn a_sound_device_has_no_flags() {
    let row = on_mock("noise=0.005", &SOUND);
    assert_eq!((row.quality_flags.as_str(), row.reason.as_str(), row.timer.as_str()), ("", "", "device"));
    assert!(row.clock_ratio.unwrap() > 0.99 && row.clock_ratio.unwrap() < 1.01);
    assert_eq!(row.clock_mhz, Some(1500.0));
}

#[test]
fn a_short_pass_is_launch_bound_and_one_that_can_not_be_repeated_near_the_floor() {
    let small = ["workgroup/linear", "-a", "n=64", "-a", "local_size_x=64"];
    assert_eq!(flags(&on_mock("noise=0.005", &small)), ["launch_bound"]);
    let once = ["calibration/evict", "-a", "evict_bytes=4096"];
    assert_eq!(flags(&on_mock("noise=0.005", &once)), ["near_floor", "launch_bound"]);
}

#[test]
fn noise_that_never_falls_is_noisy() {
    let row = on_mock("noise=0.001,spread=0.02", &[&SOUND[..], &["--max-noise=0.1%"]].concat());
    assert!(flags(&row).contains(&"noisy") && row.noise > Some(0.001), "{}", row.quality_flags);
    assert!(["stable", "budget"].contains(&row.stop.as_str()), "{}", row.stop);
}

/// The sentinel's time changes while other cases are measured: a little faster, and much slower.
#[test]
fn clocks_that_change_are_drift_and_clocks_that_fall_are_throttled() {
    let long = [&SOUND[..], &["--max-time=10s", "--max-noise=0.001%"]].concat();
    let faster = on_mock("noise=0.002,drift=-0.2", &long);
    assert!(flags(&faster).contains(&"drift") && !flags(&faster).contains(&"throttled"), "{}", faster.quality_flags);
    assert!(faster.clock_ratio > Some(1.02), "{:?}", faster.clock_ratio);
    let slower = on_mock("noise=0.002,drift=0.2", &long);
    assert!(flags(&slower).contains(&"drift") && flags(&slower).contains(&"throttled"), "{}", slower.quality_flags);
    assert!(slower.clock_ratio < Some(0.97), "{:?}", slower.clock_ratio);
    // Times are never corrected by it: passes got slower as well.
    assert!(slower.time_ns > faster.time_ns);
    assert!(faster.clock_mhz > Some(1500.0) && slower.clock_mhz < Some(1500.0), "{:?}", [faster.clock_mhz, slower.clock_mhz]);
}

/// A clock that falls within a long sample, and is up again when the host has seen it end. Short ones aren't followed by the sentinel.
#[test]
fn a_clock_that_falls_in_long_samples_alone_is_seen() {
    let of = |steps| on_mock("noise=0.002,power=1.1", &["calibration/sentinel", "-a", "groups=64", "-a", steps]);
    let long = of("steps=20000000");
    assert_eq!(flags(&long), ["drift", "throttled"]);
    assert!((0.9..0.95).contains(&long.clock_ratio.unwrap()), "{:?}", long.clock_ratio);
    let short = of("steps=2000000");
    assert_eq!((flags(&short).len(), short.clock_ratio > Some(0.99)), (0, true), "{}", short.quality_flags);
}

/// Memory that changes while the core doesn't, which the sentinel can't see.
#[test]
fn memory_that_becomes_slower_or_faster_is_seen_though_the_core_stays() {
    let of = |options: &str| on_mock(options, &[&SOUND[..], &["--max-time=10s", "--max-noise=0.01%"]].concat());
    let changed = |row: &Record| {
        assert!(row.clock_ratio > Some(0.99) && row.clock_ratio < Some(1.01), "{:?}", row.clock_ratio);
        assert!(!["drift", "throttled"].iter().any(|flag| flags(row).contains(flag)), "{}", row.quality_flags);
        (flags(row).contains(&"memory_speed"), row.memory_speed_ratio.unwrap())
    };
    let [(is_flagged, steady), slower, faster] = ["0", "0.3", "-0.3"].map(|drift| {
        let row = of(&format!("noise=0.002,memory_drift={drift}"));
        changed(&row)
    });
    assert!(!is_flagged && (0.99..1.01).contains(&steady), "{steady}");
    assert!(slower.0 && slower.1 < 0.95, "{slower:?}");
    assert!(faster.0 && faster.1 > 1.05, "{faster:?}");
    // Where nothing tells it, the cell is empty: no room for what is read, and no timestamps.
    for untold in ["noise=0.002,memory=calibration/evict", "noise=0.002,bits=0"] {
        let row = on_mock(untold, &SOUND);
        assert_eq!((row.status.as_str(), row.memory_speed_ratio), ("ok", None), "{untold}");
    }
}

#[test]
fn the_core_clock_is_told_where_it_is_known_and_the_device_is_what_is_timed() {
    let sound = |options: &str| on_mock(options, &SOUND).clock_mhz;
    assert_eq!(sound("mhz=1965.5"), Some(1965.5));
    assert_eq!(sound("mhz=0"), None);
    let mapped = ["transfer/copy", "-a", "by=mapped", "-a", "direction=host_to_device", "-a", "transfer_bytes=1048576"];
    let host = on_mock("", &mapped);
    assert_eq!((host.timer.as_str(), host.clock_mhz), ("host", None));
}

#[test]
fn a_lost_share_of_the_processor_is_contended() {
    assert_eq!(flags(&on_mock("noise=0.005,contention=0.3", &SOUND)), ["contended"]);
    assert_eq!(flags(&on_mock("noise=0.005,contention=0.05", &SOUND)), [""; 0]);
    assert_eq!(flags(&on_mock("noise=0.005,others=0.3", &SOUND)), ["contended"], "as drivers of GPUs tell it");
    assert_eq!(flags(&on_mock("noise=0.005,others=0.05", &SOUND)), [""; 0]);
}

#[test]
fn more_than_the_device_can_move_is_implausible() {
    let conflict = ["shared/bank_conflict", "-a", "stride=1", "-a", "width=4", "-a", "groups=64", "-a", "iterations=4096"];
    let row = on_mock("noise=0.005,peak=900", &conflict);
    assert_eq!(flags(&row), ["implausible"], "{}", row.reason);
    assert!(row.status == "ok" && row.value.is_some() && row.reason.contains("physically"), "{}", row.reason);
    assert_eq!(flags(&on_mock("noise=0.005,peak=1100", &conflict)), [""; 0]);
}

#[test]
fn more_than_the_device_can_compute_is_implausible() {
    let multiply_adds = ["peak/arith:i32", "-a", "op=fma", "-a", "width=1", "-a", "groups=8192", "-a", "iterations=64"];
    let row = on_mock("noise=0.005,peak=9000", &multiply_adds);
    assert_eq!(flags(&row), ["implausible"], "{}", row.reason);
    assert!(row.reason.contains("Gop/s is more than the device can physically compute (9000 Gop/s)"), "{}", row.reason);
    assert_eq!(flags(&on_mock("noise=0.005,peak=11000", &multiply_adds)), [""; 0]);
}

/// A device that gets faster by the second: of two blocks the second, with more work, is done in less time.
#[test]
fn faster_with_more_work_is_implausible() {
    // Time passes in each process by itself.
    let cases = typed(
        "-q calibration/sentinel -a groups=16 -a steps=2000..2099 --preset=default --processes=1 --max-time=20ms --max-noise=50%",
    );
    let sound = measured(&[&cases[..], &["-d", "mock:noise=0.002"]].concat());
    assert!(sound.len() == 100 && sound.iter().all(|row| row.reason.is_empty()));
    let faster = measured(&[&cases[..], &["-d", "mock:noise=0.002,drift=-0.3"]].concat());
    let implausible: Vec<bool> = faster.iter().map(|row| row.quality_flags.contains("implausible")).collect();
    assert_eq!(implausible, [[false; 64].to_vec(), [true; 36].to_vec()].concat());
    assert!(faster[99].reason.starts_with("steps=2099 takes ") && faster[99].status == "ok", "{}", faster[99].reason);
}

#[test]
fn a_known_fault_is_flagged_where_it_can_show() {
    let steps = |steps| ["calibration/sentinel", "-a", "groups=64", "-a", steps];
    assert_eq!(flags(&on_mock("noise=0.005,iterations=65535", &steps("steps=2000000"))), ["quirk:mock-loop-cap"]);
    assert_eq!(flags(&on_mock("noise=0.005,iterations=2000000", &steps("steps=2000000"))), [""; 0]);
    let dry = measured(&[&["--dry-run", "-d", "mock:iterations=50"], &steps("steps=60")[..]].concat());
    assert_eq!(flags(&dry[0]), ["quirk:mock-loop-cap"]);
}
