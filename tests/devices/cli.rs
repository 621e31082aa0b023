//! The command line on real drivers: which devices it finds, and how it shares them.

use std::collections::BTreeSet;

use lanescope::record::Record;

use crate::support::texts::guide;
use crate::support::{Ran, devices, lanescope, measured, ran, rows, skip, succeeded};

#[test]
fn devices_and_queues_that_are_not_there_are_refused() {
    devices();
    for (arguments, parts) in [
        (&["-d", "no such thing"][..], &["unknown device `no such thing`", "; the devices are 0 ("][..]),
        (&["-d", "99"], &["unknown device `99`"]),
        (&["-d", "\u{1b}[31m\u{202e}"], &["unknown device `\\u{1b}[31m\\u{202e}`"]),
        (&["-d", "0", "--queue", "77"], &["has no compute queue family 77; it has 0"]),
    ] {
        let refused = ran(&[&["run"], arguments].concat()).refuses(&[]);
        assert!(parts.iter().all(|part| refused.err.contains(part)), "{arguments:?}: {}", refused.err);
    }
    assert_eq!(measured(&["calibration/empty", "-d", "0", "--queue", "0", "--dry-run"])[0].queue_family, Some(0));
}

#[test]
fn several_devices_are_measured_in_one_run_each_once() {
    let all = devices();
    let run = |names: &[&str]| {
        let names: Vec<&str> = names.iter().flat_map(|name| ["-d", *name]).collect();
        measured(&[&["calibration/empty", "--max-time=20ms"], &names[..]].concat())
    };
    let identity = |row: &Record| (row.device_uuid.clone(), row.driver_uuid.clone(), row.driver_info.clone());
    let indices: Vec<&str> = all.iter().map(|device| device.index.as_str()).collect();
    for rows in [run(&["all"]), run(&indices), run(&[&["all"], &indices[..]].concat())] {
        assert!(rows.iter().all(|row| row.status == "ok" && row.value.is_some()));
        assert_eq!(rows.iter().map(identity).collect::<BTreeSet<_>>().len(), all.len());
        assert_eq!(
            rows.iter().map(|row| row.driver_id.as_str()).collect::<Vec<_>>(),
            all.iter().map(|d| &d.driver).collect::<Vec<_>>()
        );
        assert_eq!(rows.iter().map(|row| &row.case_id).collect::<BTreeSet<_>>().len(), 1, "the case is the same everywhere");
        assert_eq!(rows.iter().map(|row| &row.run_id).collect::<BTreeSet<_>>().len(), 1, "it is one run");
    }
}

#[test]
fn a_device_goes_by_its_uuid_and_by_part_of_its_name() {
    let json: serde_json::Value = serde_json::from_str(&succeeded(&["devices", "--json"]).out).unwrap();
    let device = &json[0];
    for name in ["device_uuid", "index"] {
        let asked = device[name].to_string();
        let rows = measured(&["calibration/empty", "--dry-run", "-d", asked.trim_matches('"')]);
        assert_eq!(Some(rows[0].device_uuid.as_str()), device["device_uuid"].as_str());
    }
    let id = device["driver"]["name"].as_str().unwrap();
    let ran = ran(&["run", "calibration/empty", "--dry-run", "-d", &id.to_uppercase()]);
    assert!(ran.code == Some(0) || ran.err.contains("could be any of"), "{}", ran.err);
}

#[test]
fn variables_that_drivers_read_are_recorded() {
    devices();
    let command = lanescope(&["run", "calibration/empty", "--dry-run"]).env("LP_NUM_THREADS", "2").output().unwrap();
    let rows = rows(&Ran::from(command).out);
    assert!(rows[0].environment.split(';').any(|pair| pair == "LP_NUM_THREADS=2"), "{}", rows[0].environment);
    assert!(!rows[0].environment.contains("HOME=") && rows[0].cpu_threads > Some(0) && !rows[0].os.is_empty());
    assert!(rows[0].written_at.starts_with("20") && rows[0].written_at.ends_with('Z'), "{}", rows[0].written_at);
}

#[test]
fn devices_tells_the_same_in_words_and_as_json() {
    let all = devices();
    let json: serde_json::Value = serde_json::from_str(&succeeded(&["devices", "--json"]).out).unwrap();
    let text = succeeded(&["devices"]).out;
    assert!(text.starts_with("Vulkan loader 1."), "{text}");
    assert!(json.as_array().unwrap().len() >= all.len());
    for device in json.as_array().unwrap() {
        let line = format!("\n{}: {} (", device["index"], device["name"].as_str().unwrap());
        assert!(text.contains(&line), "{line} in {text}");
        for part in ["device_uuid", "features", "subgroup", "queues", "heaps", "timestamp_period"] {
            assert!(!device[part].is_null(), "{part}");
        }
        assert!(text.contains(device["device_uuid"].as_str().unwrap()));
        assert!(text.contains(device["driver"]["id"].as_str().unwrap()));
    }
    // Everything is in both, if it is asked for.
    let whole = succeeded(&["devices", "-v"]).out;
    let features = json.as_array().unwrap().iter().flat_map(|device| device["features"].as_array().unwrap());
    assert!(features.map(|name| name.as_str().unwrap()).all(|name| whole.contains(name)), "{whole}");
}

/// The guide shows what the command prints, but for figures that differ from machine to machine.
#[test]
fn the_guide_shows_what_devices_prints() {
    let shown = guide("drivers");
    let text = succeeded(&["devices"]).out;
    let names = |text: &str| -> Vec<String> {
        let of_device = text.lines().skip_while(|line| !line.contains(": llvmpipe (")).skip(1);
        let entries = of_device.take_while(|line| line.starts_with("    "));
        let names = entries.filter(|line| !line.starts_with("     ")).map(|line| line[4..17].trim().to_owned());
        // An older Mesa has other features and faults.
        names.filter(|name| name != "quirk").collect()
    };
    assert!(names(shown).len() > 10, "{shown}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.split("\n\n").all(|device| device.lines().count() <= 40), "{text}");
    if devices().iter().all(|device| device.driver != "MESA_LLVMPIPE") {
        skip!("the guide shows lavapipe, which isn't here");
    }
    assert_eq!(names(&text), names(shown));
}

/// Processes are found in /proc.
#[cfg(target_os = "linux")]
mod locks {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, ChildStderr, Command, Stdio};
    use std::time::Instant;

    use rustix::process::{Pid, Signal, kill_process};

    use crate::support::processes::Family;
    use crate::support::{Folder, devices};

    /// A command on the first device, with locks of this test's own, and taking them unlike those of other tests.
    fn on_first_device(folder: &Folder, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lanescope"));
        command.args(arguments).args(["--max-time=20ms", "--preset=quick", "-d", &devices()[0].index]);
        command.current_dir(folder.0.path()).env("LANESCOPE_LOCK_DIR", folder.0.path()).stdin(Stdio::null());
        command
    }

    /// A run that writes a file.
    fn start(folder: &Folder, more: &[&str], file: &str) -> Command {
        on_first_device(folder, &[&["run", "calibration/empty", "-o", file], more].concat())
    }

    /// A run that has the device far longer than others take.
    fn holding(folder: &Folder) -> Family {
        let long = ["workgroup/linear", "-a", "local_size_x=1..64:+1", "-a", "n=64..6400:+64", "-q"];
        let mut run = Family::start(&mut start(folder, &long, "first.csv"));
        // It has the lock before it makes its file.
        run.wait_until("it measures", |_| folder.path("first.csv").exists());
        run
    }

    /// A run that waits for the device, once it has said so.
    fn waiting(folder: &Folder, wait: &str) -> (Child, BufReader<ChildStderr>) {
        let mut run = start(folder, &[wait], "second.csv").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(run.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.starts_with("waiting for ") && line.contains(folder.0.path().to_str().unwrap()), "{line}");
        assert!(!folder.path("second.csv").exists());
        (run, said)
    }

    /// How it ended, and what else it said.
    fn ended((mut run, said): (Child, BufReader<ChildStderr>)) -> (Option<i32>, Vec<String>) {
        let lines = said.lines().map(Result::unwrap).collect();
        (run.wait().unwrap().code(), lines)
    }

    #[test]
    fn a_device_is_measured_on_by_one_run_at_a_time() {
        let folder = Folder::new();
        let first = holding(&folder);
        crate::support::ended(&mut start(&folder, &[], "second.csv"))
            .says(75, &["another run measures on ", "--no-lock", "--wait"]);
        assert!(!folder.path("second.csv").exists());
        assert_eq!(start(&folder, &["--no-lock"], "third.csv").output().unwrap().status.code(), Some(0));
        // However it ends, the lock goes with it, workers or not.
        first.signal(Signal::KILL);
        first.end();
        assert_eq!(start(&folder, &[], "fourth.csv").output().unwrap().status.code(), Some(0));
    }

    /// A run that waited first would hear of it hours later.
    #[test]
    fn what_cant_be_written_is_said_before_a_device_is_waited_for() {
        let folder = Folder::new();
        let first = holding(&folder);
        let shader = folder.write("copy.comp", crate::support::tunings::COPY);
        folder.write("mine.csv.progress", "mine");
        folder.write("file", "no folder");
        std::fs::create_dir(folder.path("folder.csv")).unwrap();
        let names = || {
            let names = std::fs::read_dir(folder.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
            names.filter(|name| !name.to_string_lossy().starts_with("first.csv")).collect::<std::collections::BTreeSet<_>>()
        };
        let before = names();
        let rows = [
            ("-o=none/rows.csv", "its folder isn't there"),
            ("-o=folder.csv", "irectory"),
            ("-o=file/rows.csv", "Not a directory"),
            ("-o=rows.xlsx", "can't tell the format"),
            ("-o=mine.csv", "is no file of lanescope's"),
            ("--resume=rows.jsonl", "only CSV can be resumed"),
            ("--resume=none/rows.csv", "its folder isn't there"),
            ("-o=/dev/full --format=csv", "No space left"),
        ];
        let of_run = [("--samples=none/all.csv", "its folder"), ("--isa=file", "no folder"), ("--dump=file/in", "irectory")];
        let of_tune = [
            ("--t4=none/t4.json", "its folder"),
            ("--save-table=file/t.json", "its folder is a file"),
            ("--t4=folder.csv", "folder"),
        ];
        let [run, tune] = [vec!["run", "calibration/empty"], vec!["tune", &shader, "-n=64", "-a=local_size_x=32"]];
        let all =
            rows.iter().chain(&of_run).map(|case| (&run, case)).chain(rows.iter().chain(&of_tune).map(|case| (&tune, case)));
        for (command, (flags, why)) in all {
            let flags: Vec<&str> = flags.split(' ').collect();
            let refused = crate::support::ended(&mut on_first_device(&folder, &[&command[..], &flags].concat()));
            let refused = refused.says(2, &[why]);
            assert!(!refused.err.contains("another run"), "{flags:?}: {}", refused.err);
            assert_eq!(names(), before, "{flags:?}");
        }
        // What can be written is as it was until the device is there.
        for command in [run, tune] {
            let busy = on_first_device(&folder, &[&command[..], &["-o=rows.csv", "-o=file", "--format=csv"]].concat());
            crate::support::ended(&mut { busy }).says(75, &["another run measures on "]);
            assert_eq!(
                (names(), std::fs::read_to_string(folder.path("file")).unwrap()),
                (before.clone(), "no folder".to_owned())
            );
        }
        drop(first);
    }

    #[test]
    fn who_waits_measures_when_the_other_run_is_over() {
        let folder = Folder::new();
        let first = holding(&folder);
        let second = waiting(&folder, "--wait");
        first.signal(Signal::KILL);
        first.end();
        let (code, said) = ended(second);
        assert!(code == Some(0) && folder.path("second.csv").exists(), "{said:#?}");
        assert!(!said.iter().any(|line| line.contains("waiting")), "said once: {said:#?}");
    }

    #[test]
    fn the_wait_ends_with_its_time_and_with_the_user() {
        let folder = Folder::new();
        let _first = holding(&folder);
        let started = Instant::now();
        let (code, said) = ended(waiting(&folder, "--wait=500ms"));
        assert!(code == Some(75) && started.elapsed().as_millis() >= 500, "{said:#?}");
        assert!(said.last().unwrap().contains("another run still measures on "), "{said:#?}");
        let second = waiting(&folder, "--wait");
        kill_process(Pid::from_raw(second.0.id().try_into().unwrap()).unwrap(), Signal::INT).unwrap();
        let (code, said) = ended(second);
        assert_eq!((code, said), (Some(130), vec!["interrupted: nothing was measured".to_owned()]));
        assert!(!folder.path("second.csv").exists());
    }
}
