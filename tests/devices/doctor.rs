//! `lanescope doctor` on real drivers: what it says of what is loaded, and the faults that it finds there.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::support::faults::Faults;
use crate::support::form::{Form, form};
use crate::support::{Folder, Ran, devices, devices_in_turn, lanescope, skip, software};

/// The names of findings, and the facts.
fn examined(command: &mut Command) -> (Vec<String>, Value) {
    let ran: Ran = command.output().unwrap().into();
    let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let findings = report["findings"].as_array().unwrap();
    let names: Vec<String> = findings.iter().map(|finding| finding["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ran.code, Some(i32::from(!names.is_empty())), "{ran:?}");
    (names, report)
}

fn quick() -> Command {
    lanescope(&["doctor", "--quick", "--json"])
}

fn facts(report: &Value, about: &str) -> Vec<String> {
    let facts = report["facts"].as_array().unwrap().iter().filter(|fact| fact["about"] == about);
    facts.map(|fact| fact["is"].as_str().unwrap().to_owned()).collect()
}

/// The manifests of all drivers.
fn manifests() -> Vec<PathBuf> {
    let files = std::env::var_os("VK_DRIVER_FILES").unwrap_or_default();
    std::env::split_paths(&files).collect()
}

fn with_drivers<'c>(command: &'c mut Command, manifests: &[PathBuf]) -> &'c mut Command {
    let files = std::env::join_paths(manifests).unwrap();
    command.env("VK_DRIVER_FILES", &files).env("VK_ICD_FILENAMES", files)
}

#[test]
fn what_is_loaded_is_told_and_nothing_is_found() {
    let all = devices();
    let (names, report) = examined(&mut quick());
    assert_eq!(names, [""; 0], "{report:#}");
    let drivers = facts(&report, "driver");
    assert_eq!(drivers.len(), manifests().len(), "{report:#}");
    for manifest in manifests() {
        let name = manifest.file_name().unwrap().to_str().unwrap();
        assert!(drivers.iter().any(|driver| driver.starts_with(&format!("{name}: lib"))), "{name}: {drivers:?}");
    }
    assert!(facts(&report, "loader")[0].contains("libvulkan.so"), "{report:#}");
    assert_eq!(facts(&report, "device").len(), 1);
    let (_, report) = examined(quick().args(["-d", "all"]));
    assert_eq!(facts(&report, "device").len(), all.len());
    let text: Ran = lanescope(&["doctor", "--quick", "-d", "all"]).output().unwrap().into();
    assert!(text.code == Some(0) && text.out.starts_with("Nothing found."), "{text:?}");
    assert!(text.out.lines().all(|line| line.chars().count() <= 80), "{}", text.out);
}

#[test]
fn drivers_that_can_not_be_loaded_are_named_and_so_is_why() {
    devices();
    let folder = Folder::new();
    let manifest = |name: &str, library: &str| {
        let text =
            serde_json::json!({ "file_format_version": "1.0.0", "ICD": { "library_path": library, "api_version": "1.3.0" } });
        PathBuf::from(folder.write(name, text.to_string()))
    };
    folder.write("cut.so", &fs::read(std::env::current_exe().unwrap()).unwrap()[..64]);
    for (file, part) in [
        (manifest("gone.json", "./libgone.so"), "libgone.so, which can't be read"),
        (manifest("nowhere.json", "libnowhere.so"), "libnowhere.so, which can't be loaded"),
        (manifest("cut.json", "./cut.so"), "cut.so, which can't be loaded"),
    ] {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let (names, report) = examined(with_drivers(&mut quick(), &[manifests(), vec![file.clone()]].concat()));
        let finding = &report["findings"][0];
        assert_eq!(names, ["driver-failed"], "{report:#}");
        assert!(
            finding["what"].as_str().unwrap().contains(&name) && finding["evidence"].as_str().unwrap().contains(part),
            "{report:#}"
        );
        assert!(!report.to_string().contains(folder.0.path().to_str().unwrap()), "a user's folder: {report:#}");
        // Where there is no other, nothing can be measured.
        let (names, report) = examined(with_drivers(&mut quick(), &[file]));
        assert_eq!(names, ["no-device"], "{report:#}");
        assert!(report["findings"][0]["evidence"].as_str().unwrap().contains(part), "{report:#}");
    }
    // One that is no JSON keeps loaders from all others.
    let words = PathBuf::from(folder.write("words.json", "words"));
    let (names, report) = examined(with_drivers(&mut quick(), &[manifests(), vec![words]].concat()));
    assert!(names == ["no-device", "driver-failed"] || names == ["driver-failed"], "{report:#}");
    assert!(report["findings"][0].to_string().contains("words.json"), "{report:#}");
}

#[test]
fn a_driver_that_crashes_is_named_beside_those_that_do_not() {
    let all = devices();
    for manifest in manifests() {
        let name = manifest.file_name().unwrap().to_str().unwrap();
        let faults = Faults::new(&format!("abort:devices:driver={}", manifest.file_stem().unwrap().to_str().unwrap()));
        let (names, report) = examined(faults.meet(&mut quick()));
        // The layer that plays the fault is seen as well.
        let expected = if all.len() > 1 { &["driver-failed", "layer-active"][..] } else { &["no-device", "driver-failed"] };
        assert!(expected.iter().all(|name| names.iter().any(|found| found == name)), "{report:#}");
        let failed = report["findings"].as_array().unwrap().iter().find(|finding| finding["name"] == "driver-failed").unwrap();
        assert!(
            failed["what"].as_str().unwrap().contains(name) && failed["evidence"].as_str().unwrap().contains("SIGABRT"),
            "{failed:#}"
        );
    }
}

#[test]
fn layers_and_variables_that_change_figures_are_found() {
    devices();
    let (names, report) = examined(Faults::none().meet(&mut quick()));
    assert_eq!(names, ["layer-active"], "{report:#}");
    assert!(report["findings"][0]["what"].as_str().unwrap().contains("VK_LAYER_"), "{report:#}");
    let (names, _) = examined(quick().env("LP_DEBUG", "nothing").env("RADV_PERFTEST", "nggc"));
    assert_eq!(names, ["driver-variables"]);
}

#[test]
fn a_software_driver_that_may_not_use_all_processors_is_found() {
    for device in devices() {
        let (names, report) = examined(quick().args(["-d", &device.index]).env("LP_NUM_THREADS", "1"));
        let is_held = device.driver == "MESA_LLVMPIPE" && std::thread::available_parallelism().unwrap().get() > 1;
        assert_eq!(names, vec!["few-processors"; usize::from(is_held)], "{report:#}");
    }
}

/// Takes as long as the doctor does.
#[test]
fn a_neighbour_that_takes_the_processors_is_found() {
    if form() != Form::Full {
        skip!("only in the full form");
    }
    let Some(devices) = software() else { skip!("no software driver is there") };
    let processors = std::thread::available_parallelism().unwrap().get();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let found: Vec<_> =
            devices.iter().map(|device| examined(&mut lanescope(&["doctor", "--json", "-q", "-d", &device.index])).0).collect();
        is_over.store(true, Ordering::Relaxed);
        assert!(found.iter().all(|names| names.contains(&"busy-neighbour".to_owned())), "{found:?}");
    });
}

#[test]
fn two_drivers_for_one_gpu_are_found_and_software_beside_software_is_not() {
    devices();
    let Some(lavapipe) = manifests().into_iter().find(|manifest| manifest.to_str().unwrap().contains("lvp")) else {
        skip!("lavapipe isn't there");
    };
    let folder = Folder::new();
    let mut manifest: Value = serde_json::from_slice(&fs::read(&lavapipe).unwrap()).unwrap();
    let library = lavapipe.parent().unwrap().join(manifest["ICD"]["library_path"].as_str().unwrap());
    folder.write("other.so", fs::read(library).unwrap());
    manifest["ICD"]["library_path"] = "./other.so".into();
    let twice = [lavapipe, PathBuf::from(folder.write("other.json", manifest.to_string()))];
    let (names, report) = examined(with_drivers(&mut quick(), &twice));
    assert_eq!(names, [""; 0], "{report:#}");
    let (names, report) = examined(Faults::new("discrete").meet(with_drivers(&mut quick(), &twice)));
    assert_eq!(names, ["several-drivers", "layer-active"], "{report:#}");
}

/// Each takes as long as the doctor does: half a minute.
#[test]
fn a_driver_that_gets_subgroup_operations_wrong_is_found() {
    for device in devices_in_turn() {
        // Bits are excluded where they are to be added.
        let faults = Faults::new("opcode=349/361");
        let (names, report) = examined(faults.meet(&mut lanescope(&["doctor", "--json", "-q", "-d", &device.index])));
        assert!(names.contains(&"wrong-results".to_owned()), "{report:#}");
        let finding = report["findings"].as_array().unwrap().iter().find(|finding| finding["name"] == "wrong-results").unwrap();
        assert!(finding["evidence"].as_str().unwrap().contains("subgroup/"), "{finding:#}");
    }
}
