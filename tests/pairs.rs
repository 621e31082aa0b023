//! Pairs: what is measured alternately, and how far its ratio can be trusted.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

mod support;

use lanescope::record::Record;
use support::{devices, measured, ran};

const CASE: [&str; 7] = ["-q", "calibration/sentinel", "--preset=default", "-a", "groups=64", "-a", "steps=20000,40000"];

/// The ratio's interval.
fn interval(row: &Record) -> std::ops::RangeInclusive<f64> {
    row.ratio_ci_low.unwrap()..=row.ratio_ci_high.unwrap()
}

#[test]
fn two_devices_are_compared_case_by_case() {
    // Both get slower together: their ratio doesn't.
    let devices = ["--paired", "-d", "mock:noise=0.01,spread=0.01", "-d", "mock:noise=0.01,spread=0.01,speed=0.8"];
    let rows = measured(&[&CASE[..], &devices].concat());
    assert_eq!(rows.len(), 4);
    for (base, row) in rows[..2].iter().zip(&rows[2..]) {
        assert!(base.pair_base.is_empty() && base.ratio.is_none(), "the first device is the base");
        assert_eq!(base.case_id, row.case_id);
        assert_eq!(row.pair_base, format!("{}@{}/{}", base.case_id, base.device_uuid, base.driver_uuid));
        // That the interval holds the truth nearly always is for tests/coverage.rs.
        let ratio = row.ratio.unwrap();
        assert!(interval(row).contains(&ratio) && (ratio / 1.25 - 1.0).abs() < 0.02, "{ratio}: {:?}", interval(row));
        let apart = row.time_ns.unwrap() / base.time_ns.unwrap();
        assert!((apart / row.ratio.unwrap() - 1.0).abs() < 0.05, "{apart} apart, {:?} in pairs", row.ratio);
    }
}

#[test]
fn a_device_is_as_fast_as_itself() {
    for device in devices() {
        let twice = ["--paired", "--max-time=300ms", "-d", &device.index, "-d", &device.index];
        let case = ["-q", "workgroup/linear", "-a", "n=2^16", "-a", "local_size_x=64"];
        let rows = measured(&[&case[..], &twice].concat());
        assert_eq!(rows.len(), 2, "on {}", device.driver);
        // How near to 1 is for a benchmark to say; a machine that is busy may be far off.
        assert!(rows[1].ratio.is_some_and(|ratio| ratio > 0.0) && rows[1].rounds >= Some(6), "on {}", device.driver);
        assert_eq!(rows[1].checked, "true");
    }
}

#[test]
fn what_can_not_be_paired_is_refused() {
    let alone = ran(&["run", "calibration/empty", "--paired", "-d", "mock"]);
    assert_eq!(alone.code, Some(2));
    assert!(alone.err.contains("nothing to pair") && alone.err.contains("one device twice"), "{}", alone.err);
    let together = ran(&["run", "calibration/empty", "-d", "mock", "-d", "mock:speed=2"]);
    assert!(together.code == Some(2) && together.err.contains("in pairs"), "{}", together.err);
    let mixed = ran(&["run", "calibration/empty", "--paired", "-d", "mock", "-d", "0"]);
    assert_eq!(mixed.code, Some(2), "{}", mixed.err);
}
