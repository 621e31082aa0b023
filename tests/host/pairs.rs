//! Pairs: what is measured alternately, and how far its ratio can be trusted.

use std::fs;

use lanescope::record::Record;

use crate::support::{Folder, Ran, measured, ran, rows};

const CASE: [&str; 7] = ["-q", "calibration/sentinel", "--preset=default", "-a", "groups=64", "-a", "steps=20000,40000"];

fn interval(row: &Record) -> std::ops::RangeInclusive<f64> {
    row.ratio_ci_low.unwrap()..=row.ratio_ci_high.unwrap()
}

#[test]
fn two_devices_are_compared_case_by_case() {
    let devices = ["--paired", "-d", "mock:noise=0.01,spread=0.01", "-d", "mock:noise=0.01,spread=0.01,speed=0.8"];
    let rows = measured(&[&CASE[..], &devices].concat());
    assert_eq!(rows.len(), 4);
    for (base, row) in rows[..2].iter().zip(&rows[2..]) {
        assert!(base.pair_base.is_empty() && base.ratio.is_none(), "the first device is the base");
        assert_eq!(base.case_id, row.case_id);
        assert_eq!(row.pair_base, format!("{}@{}/{}", base.case_id, base.device_uuid, base.driver_uuid));
        // That the interval holds the truth nearly always is for tests/host/coverage.rs.
        let ratio = row.ratio.unwrap();
        assert!(interval(row).contains(&ratio) && (ratio / 1.25 - 1.0).abs() < 0.02, "{ratio}: {:?}", interval(row));
        let apart = row.time_ns.unwrap() / base.time_ns.unwrap();
        assert!((apart / row.ratio.unwrap() - 1.0).abs() < 0.05, "{apart} apart, {:?} in pairs", row.ratio);
    }
}

/// `compare` takes the ratio that a row has itself: it comes from alternating samples, and the two times don't.
#[test]
fn rows_measured_in_pairs_are_compared_by_their_ratios() {
    let folder = Folder::new();
    let file = folder.at("rows.csv");
    let transpose =
        ["algo/transpose:naive", "algo/transpose:padded", "-a", "matrix_size=64", "--max-time=20ms", "-d", "mock:spread=0.02"];
    assert_eq!(ran(&[&["run", "-q", "--paired", "-o", &file], &transpose[..]].concat()).code, Some(0));
    let compared = ran(&["compare", &file, "--by", "variant", "--base", "naive", "--format=csv"]).out;
    let own = rows(&fs::read_to_string(&file).unwrap());
    let paired: Vec<f64> = own.iter().filter(|row| row.variant == "padded").filter_map(|row| row.ratio).collect();
    let mut answer = csv::Reader::from_reader(compared.as_bytes());
    let measured = answer.records().map(Result::unwrap).filter(|row| &row[13] == "measured");
    let told: Vec<f64> = measured.map(|row| row[5].parse().unwrap()).collect();
    assert!(!paired.is_empty() && paired.len() == told.len(), "{compared}");
    assert!(paired.iter().zip(&told).all(|(paired, told)| (paired * told - 1.0).abs() < 1e-9), "{paired:?} {told:?}");
}

/// On two mocks: the rows of the second.
fn across(base: &str, own: &str, arguments: &[&str]) -> (Ran, Vec<Record>) {
    let [base, own] = [base, own].map(|options| format!("mock:{options}"));
    let ran = ran(&[&["run", "--format=csv", "--paired", "-d", &base, "-d", &own], arguments].concat());
    let rows = rows(&ran.out);
    let second = rows[rows.len() / 2..].to_vec();
    (ran, second)
}

/// What measures the timer itself has no passes to alternate, and stays as it is.
#[test]
fn a_timer_is_not_paired() {
    let calibration = ["calibration/*", "--preset=quick", "--max-time=20ms", "-a", "groups=16", "-a", "evict_bytes=4096"];
    let (ran, rows) = across("noise=0.01", "noise=0.01", &calibration);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // The mock has no counters.
    for row in rows.iter().filter(|row| row.experiment != "calibration/core_clock") {
        assert!(row.status == "ok" && row.value.is_some(), "{} {}", row.experiment, row.variant);
        let is_timer = ["calibration/timer", "calibration/clock"].contains(&row.experiment.as_str());
        assert_eq!(row.ratio.is_none(), is_timer, "{} {}", row.experiment, row.variant);
    }
}

/// A ratio is as good as the worse of its sides.
#[test]
fn what_is_wrong_with_the_base_is_said_of_the_ratio() {
    let (_, rows) = across(
        "noise=0.002,drift=0.2",
        "noise=0.002",
        &[&CASE[1..], &["--max-time=10s", "--max-noise=0.001%", "--processes=1"]].concat(),
    );
    assert!(
        rows.iter().all(|row| row.quality_flags.contains("drift") && row.clock_ratio > Some(0.98)),
        "{}",
        rows[0].quality_flags
    );
    let (_, rows) = across("noise=0.002,contention=0.4", "noise=0.002", &CASE[1..]);
    assert!(rows.iter().all(|row| row.quality_flags.contains("contended")), "{}", rows[0].quality_flags);
    let (_, rows) = across("noise=0.002,spread=0.1", "noise=0.002", &CASE[1..]);
    assert!(rows.iter().all(|row| row.quality_flags.contains("noisy")), "{}", rows[0].quality_flags);
}

/// A base that can't be had costs the ratio and nothing else; the row says so, and the run has failed.
#[test]
fn without_its_base_a_case_is_measured_alone() {
    // The first device's own rows: not run, wrong, and right.
    for (base, code, said) in [
        ("memory=calibration/sentinel", 75, "out_of_memory: the mock device was told to have no memory"),
        ("wrong=calibration/sentinel", 1, "wrong_result: after one pass"),
        ("clock=1.04", 1, "error: times by the device's and by the host's clock can't be compared"),
    ] {
        let (ran, rows) = across(&format!("noise=0.01,{base}"), "noise=0.01", &CASE[1..]);
        assert_eq!((ran.code, rows.len()), (Some(code), 2), "{base}: {}", ran.err);
        for row in rows {
            assert!(row.status == "ok" && row.value.is_some() && row.ratio.is_none() && row.pair_base.is_empty(), "{base}");
            assert!(row.reason.starts_with("not paired, its base: ") && row.reason.contains(said), "{base}: {}", row.reason);
        }
    }
}

#[test]
fn what_can_not_be_paired_is_refused() {
    ran(&["run", "calibration/empty", "--paired", "-d", "mock"]).says(2, &["nothing to pair", "one device twice"]);
    ran(&["run", "algo/transpose:naive", "--paired", "-d", "mock"]).says(2, &["nothing to pair"]);
    ran(&["run", "calibration/empty", "--paired", "-d", "mock", "-d", "0"]).says(2, &[]);
}
