//! The Khronos mock driver: it accepts every call and runs nothing, with timestamps of 16 bits that are all zero. Nothing that it
//! gives may pass for a measurement.
//!
//! LANESCOPE_MOCK_ICD names its file (`eval "$(scripts/drivers.sh)"` sets it); where LANESCOPE_TEST_DRIVERS promises it, its absence
//! is a failure.

use std::process::Command;

use crate::support::form::{Form, form};
use crate::support::{Ran, ended, lanescope, rows, skip};

const NONE: &str = "there is no mock driver: LANESCOPE_MOCK_ICD is not set";

/// A command that finds the mock driver alone.
fn on_mock_driver(arguments: &[&str]) -> Option<Command> {
    let promised = std::env::var("LANESCOPE_TEST_DRIVERS").unwrap_or_default();
    let Some(file) = std::env::var_os("LANESCOPE_MOCK_ICD") else {
        assert!(
            !promised.split(',').any(|name| name == "mock"),
            "LANESCOPE_MOCK_ICD is not set: run eval \"$(scripts/drivers.sh)\""
        );
        return None;
    };
    let mut command = lanescope(arguments);
    command.env("VK_DRIVER_FILES", &file).env("VK_ICD_FILENAMES", &file);
    Some(command)
}

#[test]
fn it_is_shown_as_it_is() {
    let Some(mut command) = on_mock_driver(&["devices", "--json"]) else { skip!("{NONE}") };
    let ran = ended(&mut command).says(0, &[]);
    let devices: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(devices.as_array().unwrap().len(), 1);
    assert_eq!((&devices[0]["name"], &devices[0]["kind"]), (&"Vulkan Mock Device".into(), &"virtual".into()));
    assert_eq!(devices[0]["queues"][0]["timestamp_valid_bits"], 16);
    let text: Ran = on_mock_driver(&["devices"]).unwrap().output().unwrap().into();
    assert!(text.out.contains("Vulkan Mock Device") && text.out.contains("timestamps of 16 bits"), "{}", text.out);
}

/// The whole catalogue: what has a result is found to be wrong, and what has none is flagged.
#[test]
fn a_run_on_it_has_no_clean_figure() {
    let preset = if form() == Form::Full { "--preset=default" } else { "--preset=quick" };
    let Some(mut command) = on_mock_driver(&["run", preset, "--max-time=20ms", "--format=csv"]) else { skip!("{NONE}") };
    for axis in ["n=4096", "image_size=64", "matrix_size=64", "local_size_x=32", "local_size_y=4", "chain=16", "groups=4"] {
        command.args(["--axis", axis]);
    }
    let ran = ended(&mut command).says(1, &["the device's timestamps wrap after 65.5 us: the host's clock is used"]);
    let rows = rows(&ran.out);
    let wrong: Vec<_> = rows.iter().filter(|row| row.status == "wrong_result").collect();
    for family in ["workgroup/linear", "workgroup/tile2d", "memory/stream", "shared/bank_conflict", "algo/transpose"] {
        assert!(wrong.iter().any(|row| row.experiment == family), "{family} was not checked");
    }
    assert!(wrong.iter().all(|row| row.time_ns.is_none() && row.value.is_none()));
    for row in rows.iter().filter(|row| !["wrong_result", "skipped"].contains(&row.status.as_str())) {
        let case = format!("{} {} {}: {} {:?}", row.experiment, row.variant, row.axis_values, row.status, row.value);
        assert!(row.status == "ok" && row.checked == "false", "{case}");
        // What submitting nothing costs the host is a figure of the host's, and right.
        let is_of_the_host = row.experiment.starts_with("dispatch/") && row.axis_values == "dispatches=0";
        assert!(is_of_the_host || !row.quality_flags.is_empty(), "{case} has no flag");
        // All but the figures of the timer itself, which say that it stands still.
        assert!(row.timer == "host" || row.value == Some(0.0), "{case} by {}", row.timer);
    }
}
