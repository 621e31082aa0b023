//! The command line from outside: what each command promises, and how bad input, failing devices and closed pipes end.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};

use lanescope::experiments::{CATALOGUE, DERIVATIONS, Setting, derived_with, text};
use lanescope::model::{DeviceInfo, Preset};
use lanescope::record::{COLUMNS, Record, SCHEMA_VERSION};

use crate::support::texts::guide;
use crate::support::{Folder, Ran, ended, lanescope, measured, ran, rows, rows_of, skip, succeeded, typed};

// ---- bad input ------------------------------------------------------------------------------------------------------------

/// Runs a command that has to be refused: exit code 2, nothing on standard output, an error with these parts.
fn refused(arguments: &[&str], parts: &[&str]) {
    let ran = ran(arguments).refuses(parts);
    assert!(ran.err.starts_with("error: "), "{arguments:?}: {}", ran.err);
}

/// The same for `run`, with outputs: no file may appear, and none may be touched.
fn refused_run(arguments: &[&str], parts: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = ["old.csv", "new.csv"].map(|name| folder.path().join(name));
    fs::write(&old, "old").unwrap();
    let outputs = [new.to_str().unwrap(), old.to_str().unwrap()];
    refused(&[&["run", "-o", outputs[0], "-o", outputs[1]], arguments].concat(), parts);
    assert_eq!(fs::read_to_string(&old).unwrap(), "old", "{arguments:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{arguments:?} left a file");
}

#[test]
fn unknown_names_are_refused_with_the_nearest() {
    refused_run(&["memory/steam", "-d", "mock"], &["unknown experiment `memory/steam`", "did you mean memory/stream?"]);
    refused_run(&["calibration/timer:flor", "-d", "mock"], &["did you mean calibration/timer:floor"]);
    refused_run(&["nothing/like_it", "-d", "mock"], &["unknown experiment"]);
    refused_run(&["memory/stream", "-d", "mock", "-a", "widht=1"], &["unknown axis", "`widht`", "did you mean width?"]);
    refused_run(&["calibration/empty", "-d", "mock", "-a", "width=1"], &["unknown axis `width`", "have none"]);
    refused_run(&["-d", "mock:noize=1"], &["unknown option of the mock device `noize`", "did you mean noise?"]);
    refused_run(&["-d", "mock", "--preset", "qick"], &["'quick'"]);
    refused_run(&["-d", "mock", "--format", "xml"], &["csv, jsonl, table, markdown"]);
    refused_run(&["-d", "mock", "--axes", "n=1"], &["--axis"]);
    refused(&["describe", "memory/steam"], &["did you mean memory/stream?"]);
    refused(&["list", "memori/*"], &["unknown experiment `memori/*`"]);
    refused(&["completions", "fisch"], &["'fish'"]);
    refused(&["measure"], &["unrecognized subcommand"]);
}

#[test]
fn values_that_mean_nothing_are_refused_with_what_is_possible() {
    refused_run(&["memory/stream", "-d", "mock", "-a", "width=3"], &["axis `width` can't be `3`", "1, 2, 4"]);
    refused_run(&["memory/stream", "-d", "mock", "-a", "op=cpoy"], &["did you mean copy?", "read, init, copy"]);
    refused_run(&["memory/stream", "-d", "mock", "-a", "n=many"], &["neither a number", "nor a range"]);
    refused_run(&["memory/stream", "-d", "mock", "-a", "n=0"], &["whole numbers from 4 to 2^40"]);
    refused_run(&["memory/stream", "-d", "mock", "-a", "n"], &["NAME=VALUES"]);
    refused_run(&["memory/[a", "-d", "mock"], &["no valid filter"]);
    refused_run(&["-d", "mock:noise=2"], &["mock:noise=2", "from 0 to 1"]);
    refused_run(&["-d", "mock:bits=3"], &["mock:bits=3", "16 to 64"]);
    refused_run(&["-d", "mock:wrong=["], &["mock:wrong=["]);
    refused_run(&["-d", "mock", "--max-noise", "200%"], &["between 0 and 1"]);
    refused_run(&["-d", "mock", "--evict-bytes", "1Mi"], &["--cold"]);
    refused_run(&["-d", "mock", "--cold", "--evict-bytes", "much"], &["--evict-bytes"]);
    refused_run(&["-d", "mock", "--cold", "--evict-bytes", "1024Gi"], &["can't evict", "maxStorageBufferRange"]);
    refused_run(&["-d", "mock", "--max-time", "0s"], &["longer than 0"]);
    refused_run(&["-d", "mock", "--max-time", "soon"], &["500ms"]);
    refused_run(&["-d", "mock", "--seed", "x"], &["--seed"]);
    refused_run(&["-d", "mock", "-q", "-v"], &["cannot be used with"]);
    refused_run(&["-d", "mock", "--robust", "calibration/empty"], &["leave out --robust"]);
    refused_run(&["-d", "mock", "--preset=study", "--no-isolate"], &["in several processes, and --no-isolate"]);
    refused(&["tune", "a.comp", "-d", "mock", "--preset=study"], &["[possible values: quick, default, thorough]"]);
    for option in ["--timeout=1s", "--first-timeout=1s", "--processes=2"] {
        refused_run(&["-d", "mock", "--no-isolate", option], &["cannot be used with"]);
    }
    refused(&["man", "no/such/folder"], &["no folder", "make it first"]);
}

#[test]
fn the_mock_device_refuses_what_it_can_not_pretend() {
    for more in [&["--queue", "7"][..], &["--validation"], &["-d", "0"]] {
        refused_run(&[&["-d", "mock"], more].concat(), &["mock devices are used without others"]);
    }
}

#[test]
fn an_output_that_can_not_be_written_is_refused_before_anything_runs() {
    let folder = Folder::new();
    let run = |outputs: &[&str]| {
        let outputs: Vec<String> = outputs.iter().map(|name| format!("--output={}", folder.at(name))).collect();
        let arguments = [&["run", "-d", "mock"], &outputs.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat();
        let Ran { err, .. } = ran(&arguments).refuses(&[]);
        // One line: a run that began would have said more.
        assert_eq!(err.lines().count(), 1, "{err}");
        let left: BTreeSet<_> = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| name == "old.csv"), "{outputs:?} left {left:?}");
        err
    };
    let error = run(&["no/such.csv"]);
    assert!(error.contains("can't write ") && error.contains("no/such.csv: "), "{error}");
    assert_eq!(error.matches("its folder isn't there").count(), 1, "said once: {error}");
    fs::write(folder.at("old.csv"), "old").unwrap();
    run(&["new.csv", "old.csv", "no/such.csv"]);
    assert!(run(&["rows.xlsx"]).contains(".jsonl"));
    assert!(run(&["rows"]).contains("ending"));
    assert!(run(&["new.csv", "new.csv"]).contains("given twice"));
    let name = folder.0.path().file_name().unwrap().to_str().unwrap();
    assert!(run(&["new.csv", &format!("../{name}/new.csv")]).contains("given twice"));
    assert!(run(&["."]).contains("can't"), "a folder");
    assert_eq!(fs::read_to_string(folder.at("old.csv")).unwrap(), "old");
}

// ---- no driver, no loader -------------------------------------------------------------------------------------------------

#[test]
fn without_a_driver_every_command_that_needs_one_says_what_to_do() {
    if cfg!(windows) && std::env::var_os("WINEPREFIX").is_some() {
        skip!("Wine asks the drivers of the system around it, which don't learn of a program's own variables");
    }
    for arguments in [&["devices"][..], &["devices", "--json"], &["run"], &["run", "-d", "0"], &["run", "-d", "llvmpipe"]] {
        let mut command = lanescope(arguments);
        command.env("VK_DRIVER_FILES", "/nonexistent.json").env("VK_ICD_FILENAMES", "/nonexistent.json");
        ended(&mut command).refuses(&["install", "VK_DRIVER_FILES"]);
    }
}

#[test]
fn what_needs_no_driver_works_without_one() {
    for arguments in [&["list"][..], &["describe", "memory/stream"], &["schema"], &["run", "-d", "mock", "--dry-run"]] {
        let mut command = lanescope(arguments);
        command.env("VK_DRIVER_FILES", "/nonexistent.json").env("VK_ICD_FILENAMES", "/nonexistent.json");
        assert_eq!(command.output().unwrap().status.code(), Some(0), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn without_the_loader_the_error_says_what_to_install() {
    // A file that is no library stands in the loader's place.
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("libvulkan.so.1"), "no library").unwrap();
    for arguments in [&["devices"][..], &["run"]] {
        ended(lanescope(arguments).env("LD_LIBRARY_PATH", folder.path()))
            .refuses(&["can't load the Vulkan loader", "install it"]);
    }
}

// ---- listed cases ---------------------------------------------------------------------------------------------------------

#[test]
fn only_the_cases_of_a_file_are_measured() {
    let folder = Folder::new();
    let run = ["run", "workgroup/linear", "memory/stream", "-d", "mock", "--preset", "quick", "--max-time", "20ms"];
    let all = rows(&succeeded(&[&run[..], &["--format", "csv"]].concat()).out);
    let measured: Vec<&Record> = all.iter().filter(|row| row.row_kind == "measured").collect();
    let wanted = [measured[1], measured[measured.len() - 1]];
    fs::write(folder.at("ids"), format!("# two\n{}\n{}\n", wanted[1].case_id, wanted[0].case_id)).unwrap();
    let header = "note,case_id,experiment\n";
    let line = |row: &Record| format!("\"mine, too\",{},{}\n", row.case_id, row.experiment);
    fs::write(folder.at("rows.csv"), format!("{header}{}{}", line(wanted[1]), line(wanted[0]))).unwrap();
    for file in ["ids", "rows.csv"] {
        let ran = succeeded(&[&run[..], &["--format", "csv", "--cases", &folder.at(file)]].concat());
        let found = rows(&ran.out);
        assert_eq!(found.iter().map(|row| &row.case_id).collect::<Vec<_>>(), wanted.map(|row| &row.case_id).to_vec(), "{file}");
        assert!(found.iter().all(|row| row.status == "ok" && row.plan_id == wanted[0].plan_id), "{file}");
        assert!(ran.err.contains("of which 2 are listed"), "{}", ran.err);
    }
    let elsewhere = ran(&["run", "calibration/empty", "-d", "mock", "--cases", &folder.at("rows.csv")])
        .says(2, &["2 of 2 cases (of memory/stream, workgroup/linear) are none of this run's"]);
    assert_eq!(elsewhere.out, "");
}

// ---- studies --------------------------------------------------------------------------------------------------------------

#[test]
fn a_study_measures_each_case_in_six_processes() {
    let run = ["memory/stream", "workgroup/linear", "-a", "n=4096", "-a", "width=1", "--preset", "study", "--max-time=50ms"];
    let processes = |row: &Record| -> Vec<String> {
        row.round_medians_ns.split(';').filter_map(|round| Some(round.split_once(':')?.0.to_owned())).collect()
    };
    let rows = |more: &[&str]| measured(&[&run[..], more].concat());
    let found = rows(&["-d", "mock"]);
    assert!(found.len() > 11 && found.iter().all(|row| row.status == "ok"));
    for row in &found {
        assert_eq!(processes(row), ["1", "2", "3", "4", "5", "6"], "{}", row.round_medians_ns);
        assert_eq!((row.processes, row.rounds), (Some(6), Some(6)));
    }
    // Further rounds go round them.
    let noisy = rows(&["-d", "mock:process=0.1,noise=0.1"]);
    assert!(noisy.iter().any(|row| row.rounds >= Some(9)));
    for row in noisy {
        let expected: Vec<String> = (0..row.rounds.unwrap()).map(|round| (round % 6 + 1).to_string()).collect();
        assert_eq!(processes(&row), expected);
    }
    let few: Vec<Record> = rows(&["-d", "mock", "--processes=2"]);
    assert!(few.iter().all(|row| processes(row) == ["1", "2", "1", "2", "1", "2"]), "what is asked for goes first");
}

// ---- closed pipes ---------------------------------------------------------------------------------------------------------

/// Runs a command whose reader goes away after some lines; it has to end quietly.
fn left_by_its_reader(arguments: &[&str], lines: usize) {
    let mut child = lanescope(arguments).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..lines {
        assert!(reader.read_line(&mut String::new()).unwrap() > 0, "{arguments:?} wrote too little");
    }
    drop(reader);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
    let noise = |line: &&str| ["rror", "panick", "ipe", "os error"].iter().any(|word| line.contains(word));
    assert_eq!(ran.err.lines().find(noise), None, "{arguments:?}");
    assert!(!arguments.contains(&"-q") || ran.err.is_empty(), "{arguments:?}: {}", ran.err);
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    for lines in [0, 1] {
        left_by_its_reader(&["run", "memory/stream", "-d", "mock", "--dry-run", "-a", "n=4..40000:+4"], lines);
        left_by_its_reader(&["run", "memory/stream", "-d", "mock", "-q", "-o", "-", "--preset", "quick"], lines);
    }
    for format in ["jsonl", "table", "markdown"] {
        left_by_its_reader(&["run", "workgroup/*", "-d", "mock", "-q", "--format", format, "--dry-run"], 0);
    }
    for arguments in [&["list"][..], &["describe", "memory/stream"], &["schema"], &["schema", "--json"], &["man"]] {
        left_by_its_reader(arguments, 0);
    }
    left_by_its_reader(&["completions", "bash"], 0);
    left_by_its_reader(&["--help"], 0);
}

#[test]
fn a_reader_that_leaves_does_not_end_what_else_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.csv");
    let mut child = lanescope(&["run", "workgroup/linear", "-d", "mock", "--dry-run", "-o", "-", "-o", file.to_str().unwrap()])
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(rows_of(&file).len(), 11);
}

// ---- devices that fail ----------------------------------------------------------------------------------------------------

const SMALL: [&str; 8] = ["-a", "n=4096", "-a", "local_size_x=64", "--max-time", "20ms", "--format", "csv"];

/// Runs two experiments on a mock that is told to fail at one of them: the other's rows are right, and nothing of a failed row
/// can be taken for a speed.
fn failing(how: &str, status: &str) -> (Vec<Record>, String) {
    let device = format!("mock:{how}=workgroup/*");
    let arguments = ["run", "workgroup/linear", "memory/stream:", "-d", &device, "-a", "width=1"];
    let Ran { out, err, .. } = ran(&[&arguments[..], &SMALL].concat()).says(1, &[]);
    let (failed, others): (Vec<_>, Vec<_>) = rows(&out).into_iter().partition(|row| row.experiment == "workgroup/linear");
    assert!(!others.is_empty() && others.iter().all(|row| row.status == "ok" && row.time_ns.is_some()));
    assert_eq!(failed.len(), 1);
    for row in &failed {
        assert_eq!(row.status, status);
        assert!(!row.reason.is_empty());
        let speeds =
            ["gb_per_s", "gflop_per_s", "gop_per_s", "gitems_per_s", "value", "value_ci_low", "value_ci_high", "ratio"];
        for (column, cell) in COLUMNS.iter().zip(row.fixed_cells()) {
            let is_figure = column.group == "time" || column.group == "how" || speeds.contains(&column.name);
            // What compiling told stays.
            let is_known = ["shared_bytes", "compile_ms"].contains(&column.name);
            assert!(!is_figure || is_known || cell.is_empty(), "{status}: {} is {cell}", column.name);
        }
    }
    assert!(err.contains(status) && err.contains("1 failed"), "{err}");
    (failed, err)
}

#[test]
fn a_wrong_result_is_a_row_without_a_speed() {
    let (failed, _) = failing("wrong", "wrong_result");
    assert_eq!(failed[0].checked, "true");
    assert!(failed[0].reason.contains("z[4095] is") && failed[0].reason.contains("1 of 4096"), "{}", failed[0].reason);
}

#[test]
fn a_lost_device_and_missing_memory_cost_their_rows_only() {
    assert_eq!(failing("lost", "device_lost").0[0].checked, "");
    assert_eq!(failing("memory", "out_of_memory").0[0].checked, "");
}

#[test]
fn a_device_that_can_not_be_calibrated_costs_its_rows() {
    let ran = ran(&["run", "workgroup/linear", "-d", "mock:lost=calibration/*"])
        .says(75, &["mock can't be measured on: device_lost"]);
    let rows = rows(&ran.out);
    assert_eq!(rows.len(), 11);
    assert!(rows.iter().all(|row| row.status == "not_run" && row.reason.starts_with("device_lost: ")));
}

#[test]
fn what_the_device_can_not_do_is_skipped_with_the_limit() {
    let rows = measured(&["workgroup/linear", "-d", "mock", "-a", "local_size_x=2048", "-a", "n=64,2^40"]);
    let reasons: Vec<&str> = rows.iter().map(|row| row.reason.as_str()).collect();
    assert!(rows.iter().all(|row| row.status == "skipped" && row.time_ns.is_none()));
    assert_eq!(reasons[0], "maxComputeWorkGroupSize[0] is 1024, the case needs 2048");
}

// ---- timers ---------------------------------------------------------------------------------------------------------------

/// A noiseless run on a mock with these options: its rows, and what was said.
fn timed(options: &str) -> (Vec<Record>, String, String) {
    let device = format!("mock:noise=0{options}");
    let run = "run calibration/* memory/stream -a op=copy -a width=1 -a n=2^12,2^16 -a evict_bytes=1Mi --max-time 200ms";
    let ran = succeeded(&[&typed(run)[..], &["--format", "csv", "-d", &device]].concat());
    let mut rows = rows(&ran.out);
    // It has no counters.
    rows.retain(|row| row.experiment != "calibration/core_clock");
    (rows, ran.err, ran.out)
}

/// The host's clock was used, that was said, and every time is right within what waiting adds to it.
fn by_host(options: &str, why: &str) {
    let (rows, err, _) = timed(options);
    let (right, ..) = timed("");
    assert!(err.contains(why) && err.contains("timer=host"), "{options}: {err}");
    for (row, right) in rows.iter().zip(&right) {
        if row.status == "skipped" {
            assert!(row.reason.contains("timestamp"), "{}", row.reason);
            continue;
        }
        let name = format!("{options}: {} {}", row.experiment, row.variant);
        assert!(row.status == "ok" && row.value.is_some(), "{name}: a measured row without a figure");
        if is_of_a_kernel(row) {
            assert_eq!(row.timer, "host", "{name}");
        }
        // One pass alone shows the whole wait, and of barriers alone nothing is taken off.
        if row.batch > Some(1) && row.experiment != "calibration/barrier" {
            let ratio = row.time_ns.unwrap() / right.time_ns.unwrap();
            assert!((0.99..1.015).contains(&ratio), "{name}: {ratio}");
        }
    }
}

/// Whether the row tells the time of a pass with a kernel, not of the instrument itself.
fn is_of_a_kernel(row: &Record) -> bool {
    !row.spirv_hash.is_empty()
}

#[test]
fn without_timestamps_the_host_clock_is_used_and_said() {
    by_host(",bits=0", "no usable timestamps");
    let (rows, ..) = timed(",bits=0");
    let skipped: Vec<&str> = rows.iter().filter(|row| row.status == "skipped").map(|row| row.experiment.as_str()).collect();
    // The last one has a reset before each sample, which the host's clock can't leave out.
    assert_eq!(skipped, ["calibration/timer", "calibration/timer", "calibration/clock", "calibration/evict"]);
}

/// Each device of several has it to say, and each process of one.
#[test]
fn what_all_have_to_say_is_said_once() {
    let run = "run memory/stream -a op=copy -a width=1 -a n=4096 --max-time 20ms --processes 3 --format csv -d mock:bits=0";
    let said = |more: &[&str]| succeeded(&[&typed(run)[..], more].concat()).err.matches("no usable timestamps").count();
    assert_eq!((said(&[]), said(&["-d", "mock:bits=0"])), (1, 1));
}

#[test]
fn timestamps_that_wrap_are_right() {
    let (right, _, bytes) = timed("");
    assert!(right.iter().all(|row| row.timer == "device"));
    // 28 bits of nanoseconds wrap every 0.27 s: several times in a run.
    for bits in [28, 29, 32, 40, 63] {
        let (_, err, wrapped) = timed(&format!(",bits={bits}"));
        assert_eq!(wrapped, bytes, "{bits} bits");
        assert!(!err.contains("note"), "{err}");
    }
}

#[test]
fn timestamps_that_wrap_too_soon_are_not_believed() {
    by_host(",bits=16", "the device's timestamps wrap after 65.5 us");
    by_host(",bits=24", "the device's timestamps wrap after 16.8 ms");
}

#[test]
fn a_clock_that_is_wrong_is_not_believed() {
    by_host(",clock=1.04", "the device's clock runs at 1.0400 times the host's");
    by_host(",clock=0.96", "the device's clock runs at 0.9600 times the host's");
    let (rows, err, _) = timed(",clock=1.005");
    assert!(rows.iter().all(|row| row.timer == "device") && !err.contains("note"), "{err}");
}

#[test]
fn cold_mode_needs_timestamps() {
    let Ran { code, out, err, .. } = ran(&["run", "workgroup/linear", "-d", "mock:bits=0", "--cold", "--evict-bytes=1Mi"]);
    let rows = rows(&out);
    assert_eq!((code, rows.len()), (Some(1), 11), "no other try will mend it: {err}");
    assert!(rows.iter().all(|row| row.status == "not_run" && row.time_ns.is_none()));
    assert!(err.contains("cold mode needs the device's timestamps"), "{err}");
}

// ---- options of run -------------------------------------------------------------------------------------------------------

const LINEAR: [&str; 6] = ["workgroup/linear", "-a", "n=4096", "-a", "local_size_x=64,128", "--max-time=100ms"];

#[test]
fn quiet_says_nothing_and_verbose_says_more() {
    let run = |more: &[&str]| succeeded(&[&["run", "-d", "mock"], &LINEAR[..], more].concat());
    assert_eq!(run(&["-q"]).err, "");
    let normal = run(&[]).err;
    assert!(normal.starts_with("mock (proves plumbing only): 2 cases\n"), "{normal}");
    assert!(normal.contains("2 measured, 0 skipped, 0 failed"), "{normal}");
    let verbose = run(&["-v"]).err;
    assert!(verbose.contains("timer: device, floor ") && verbose.lines().count() > normal.lines().count(), "{verbose}");
    assert_eq!(run(&["-q"]).out, run(&["-v"]).out);
}

#[test]
fn noise_and_time_bound_the_measuring() {
    let run = |more: &[&str]| measured(&[&["-d", "mock:spread=0.05"], &LINEAR[..5], more].concat());
    for row in run(&["--max-noise=50%", "--max-time=1s"]) {
        assert_eq!((row.stop.as_str(), row.rounds, row.quality_flags.contains("noisy")), ("precise", Some(6), false));
    }
    for row in run(&["--max-noise=0.0001", "--max-time=1s"]) {
        assert!(row.stop != "precise" && row.rounds > Some(6) && row.quality_flags.contains("noisy"), "{}", row.stop);
    }
    let samples = |time: &str| run(&["--max-noise=0.0001", time]).iter().map(|row| row.samples.unwrap()).sum::<u64>();
    assert!(samples("--max-time=5ms") < samples("--max-time=1s"));
}

#[test]
fn cold_rows_are_cases_of_their_own_one_pass_a_sample() {
    let run = |more: &[&str]| measured(&[&["-d", "mock:noise=0"], &LINEAR[..], more].concat());
    let (warm, cold) = (run(&[]), run(&["--cold", "--evict-bytes=1Mi"]));
    for (warm, cold) in warm.iter().zip(&cold) {
        assert_eq!((warm.cache.as_str(), cold.cache.as_str(), cold.batch), ("warm", "cold", Some(1)));
        assert!(warm.batch > Some(1) && warm.axis_values == cold.axis_values && warm.case_id != cold.case_id);
        // So does the mock device simulate it, and a sample has one floor.
        let ratio = (cold.time_ns.unwrap() - 500.0) / warm.time_ns.unwrap();
        assert!((1.9..2.1).contains(&ratio), "{ratio}");
    }
}

#[test]
fn presets_widen_the_sweep() {
    let planned = |more: &[&str]| measured(&[&["-d", "mock", "--dry-run"], more].concat()).len();
    let cases = |preset: &str| planned(&["memory/*", "--preset", preset]);
    let (quick, default, thorough) = (cases("quick"), cases("default"), cases("thorough"));
    assert!(quick < default && default <= thorough, "{quick} {default} {thorough}");
    assert_eq!(cases("study"), default, "study measures them otherwise");
    assert_eq!(planned(&["memory/*"]), default, "a filter: default");
    assert_eq!(planned(&[]), planned(&["--preset", "quick"]), "no filter: quick");
}

/// An indirect dispatch takes its workgroups from a buffer: the row states none rather than zero.
#[test]
fn workgroups_are_stated_where_the_case_states_them() {
    let rows = measured(&["dispatch/indirect", "-d", "mock", "--dry-run", "-a", "side=host"]);
    let groups: Vec<_> = rows.iter().map(|row| (row.groups_x, row.groups_z)).collect();
    assert_eq!(groups, [(Some(1), Some(1)), (None, None)]);
}

#[test]
fn axes_are_swept_in_the_order_given() {
    let rows = measured(&["workgroup/linear", "-d", "mock", "--dry-run", "-a", "local_size_x=64,1..2", "-a", "n=2^10,1Ki,5"]);
    let axes: Vec<String> = rows.into_iter().map(|row| row.axis_values).collect();
    let sizes = [64, 1, 2].into_iter().flat_map(|size| [1024, 5].map(|n| format!("local_size_x={size};n={n}")));
    assert_eq!(axes, sizes.collect::<Vec<_>>());
}

#[test]
fn every_format_is_written_at_once() {
    let folder = Folder::new();
    let names = ["rows.csv", "rows.jsonl", "rows.ndjson", "rows.md", "rows.txt"].map(|name| folder.at(name));
    let outputs: Vec<&str> = names.iter().flat_map(|name| ["-o", name.as_str()]).collect();
    let ran = succeeded(&[&["run", "-d", "mock"], &LINEAR[..], &outputs].concat());
    assert_eq!(ran.out, "", "files are named, and nobody is at a terminal");
    let text = |name: &str| fs::read_to_string(folder.at(name)).unwrap();
    let csv = rows(&text("rows.csv"));
    assert_eq!(csv.len(), 2);
    let json: Vec<serde_json::Value> = text("rows.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (row, json) in csv.iter().zip(&json) {
        assert_eq!(json["case_id"].as_str(), Some(row.case_id.as_str()));
        assert_eq!(json["time_ns"].as_f64(), row.time_ns);
        assert_eq!(json["local_size_x"].as_u64(), row.local_size_x);
    }
    assert_eq!((json.len(), text("rows.jsonl")), (2, text("rows.ndjson")));
    assert!(text("rows.md").contains("### workgroup/linear") && text("rows.txt").contains("workgroup/linear"));
}

#[test]
fn the_format_of_standard_output_and_of_other_files_can_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows");
    let file = file.to_str().unwrap();
    let run = |more: &[&str]| succeeded(&[&["run", "-d", "mock"], &LINEAR[..], more].concat()).out;
    assert_eq!(rows(&run(&[])).len(), 2, "a pipe gets CSV");
    assert!(
        run(&["--format=jsonl"])
            .lines()
            .all(|line| line.starts_with("{\"experiment\":\"workgroup/linear\"") && line.contains("\"schema\":\"v2.4\""))
    );
    assert!(run(&["--format=markdown", "-o", "-"]).contains("### workgroup/linear"));
    assert_eq!(run(&["--format=csv", "-o", file]), "");
    assert_eq!(rows(&fs::read_to_string(file).unwrap()).len(), 2);
}

#[test]
fn every_row_of_the_catalogue_can_be_read_back() {
    // Less work than by default, of which twins would take most of the time.
    let rows = measured(&["-d", "mock", "--max-time=5ms", "-a", "loads=16", "-a", "n=4096"]);
    let derived: BTreeSet<&str> = CATALOGUE.iter().flat_map(|experiment| derived_with(experiment)).collect();
    for row in &rows {
        let kind = if derived.contains(row.experiment.as_str()) { "derived" } else { "measured" };
        assert_eq!((row.schema.as_str(), row.row_kind.as_str()), (SCHEMA_VERSION, kind), "{}", row.experiment);
    }
    let ids: BTreeSet<&str> = rows.iter().map(|row| row.case_id.as_str()).collect();
    assert_eq!(ids.len(), rows.len(), "a case is measured once");
    let experiments: BTreeSet<&str> = rows.iter().map(|row| row.experiment.as_str()).collect();
    assert!(CATALOGUE.iter().all(|experiment| experiments.contains(experiment.name())));
    assert!(rows.iter().all(|row| row.status == "ok" || (row.status == "skipped" && !row.reason.is_empty())));
}

// ---- the other commands ---------------------------------------------------------------------------------------------------

#[test]
fn list_and_describe_cover_the_catalogue() {
    // However lines are broken.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (list, of_memory) = (succeeded(&["list"]).out, succeeded(&["list", "memory/*"]).out);
    let listed = words(&list);
    let device = DeviceInfo::mock();
    let setting = Setting { queue: None, device: &device, preset: Preset::Default, seed: 1 };
    for experiment in CATALOGUE {
        let (name, text) = (experiment.name(), text(experiment.name()).unwrap());
        assert!(listed.contains(&format!("{name} {}", text.summary)), "{name}");
        assert_eq!(of_memory.contains(name), name.starts_with("memory/"), "{name}");
        let described = succeeded(&["describe", name]).out;
        assert!(described.contains("\nHow to read it\n────"), "{described}");
        for axis in experiment.axes(&setting) {
            let has_axis = described.contains(&format!("\n  {} = ", axis.name));
            assert!(has_axis && words(&described).contains(axis.description.as_ref()), "{described}");
        }
        assert!(experiment.variants().iter().all(|variant| described.contains(variant)), "{described}");
    }
    assert!(list.lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn describe_opens_with_question_answer_and_time() {
    let described = succeeded(&["describe", "memory/stream"]).out;
    let lines: Vec<&str> = described.lines().collect();
    assert!(
        lines[0].starts_with("memory/stream: What is the highest bandwidth") && lines[1].ends_with("in order?"),
        "{described}"
    );
    assert_eq!(lines[2], "Answer: bandwidth in GB/s; higher is better");
    assert_eq!(lines[3], "Time: 14 s to 2 min on a GPU, 31 s to 2 min on a processor (estimates for 42 cases)");
    assert!(lines[4].is_empty() && !described.contains("Question"), "told once: {described}");
    let names = CATALOGUE.iter().map(|experiment| experiment.name()).chain(DERIVATIONS.iter().map(|of| of.name));
    for name in names {
        let described = succeeded(&["describe", name]).out;
        let opening: String = described.split("\n\n").next().unwrap().replace("\n  ", " ");
        let lines: Vec<&str> = opening.lines().collect();
        assert!(lines.len() == 3 && lines[0].starts_with(&format!("{name}: ")) && lines[0].ends_with('?'), "{described}");
        assert!(lines[1].starts_with("Answer: ") && lines[1].len() > 12 && !lines[1].contains(" in ;"), "{described}");
        let is_derived = lines[2].starts_with("Time: none of its own");
        assert!(is_derived || lines[2].contains(" on a GPU, ") && lines[2].contains("(estimate"), "{described}");
    }
    for family in ["memory", "memory/*"] {
        refused(&["describe", family], &["`memory` is a family", "lanescope list memory"]);
    }
}

/// The names that begin a line of a list.
fn listed(words: &[&str]) -> Vec<String> {
    let text = succeeded(&[&["list"], words].concat()).out;
    let names = text.lines().filter_map(|line| line.split_whitespace().next().filter(|name| line.starts_with(name)));
    names.filter(|name| CATALOGUE.iter().any(|experiment| experiment.name() == *name)).map(str::to_owned).collect()
}

#[test]
fn list_finds_experiments_by_names_and_by_what_they_are_about() {
    let of = |family: &str| CATALOGUE.iter().filter(|of| of.name().starts_with(family)).map(|of| of.name()).collect::<Vec<_>>();
    let memory = of("memory/");
    assert_eq!(listed(&["memory"])[..memory.len()], memory, "those of the family come first");
    assert_eq!(listed(&["memory/*"]), memory);
    assert_eq!(listed(&["memory/stream", "cache/tlb"]), ["memory/stream", "cache/tlb"], "filters add up");
    assert_eq!(listed(&["MEMORY", "stream"])[0], "memory/stream", "words narrow");
    assert_eq!(listed(&["memory/*", "stride"]), ["memory/stride"]);
    assert_eq!(listed(&["atomic"])[..1], listed(&["*/*atomic*"]));
    assert!(listed(&["bandwidth"]).contains(&"memory/stream".to_owned()), "by its summary");
    assert_eq!(listed(&["copy"])[..2], ["transfer/copy", "memory/stream"], "by its name, then by the values of an axis");
    assert_eq!(listed(&["ssbo_vec3"]), ["load/path"], "by its variants");
    assert_eq!(listed(&["atomics"]), listed(&["atomic"]), "one or many");
    refused(&["list", "lds"], &["no experiment is about `lds`"]);
    refused(&["list", "memroy"], &["no experiment is about `memroy`; did you mean memory?"]);
    refused(&["list", "memory/steam"], &["did you mean memory/stream?"]);
    let nothing = ran(&["list", "zzz"]);
    assert!(nothing.code == Some(2) && !nothing.err.contains("mean"), "{}", nothing.err);
    refused(&["list", "filter", "barrier", "transpose"], &["no experiment has all of `filter`, `barrier`, `transpose`"]);
}

#[test]
fn list_shows_each_variant_once_and_whose_defaults_it_shows() {
    let text = succeeded(&["list", "-v"]).out;
    for experiment in CATALOGUE {
        assert_eq!(text.lines().filter(|line| line.split_whitespace().next() == Some(experiment.name())).count(), 1);
    }
    let ops = succeeded(&["list", "subgroup/ops"]).out;
    assert!(ops.contains("variants: u32, i32, f32, f16, f64, u64, i64, u8, i8, u16, i16\n"), "{ops}");
    let ops = ops.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        ops.contains("op = shuffle, add, inclusive_add; elect, all, any, all_equal, ..., partitioned (56 values) for u32,"),
        "{ops}"
    );
    assert!(ops.contains("Values are the defaults of a discrete GPU with 16 GiB"), "{ops}");
    let of_mock = succeeded(&["list", "memory/stream", "-d", "mock"]).out;
    assert!(of_mock.contains("n = 1048576\n") && of_mock.contains("the defaults of device 0, mock (other)"), "{of_mock}");
    let (short, long) = (succeeded(&["list", "memory"]).out, succeeded(&["list", "memory", "-v"]).out);
    assert!(!short.contains("local_size_x = ") && short.contains("-v shows") && long.contains("local_size_x = "), "{short}");
}

#[test]
fn list_tells_programs_everything() {
    let json: serde_json::Value = serde_json::from_str(&succeeded(&["list", "--json"]).out).unwrap();
    let experiments = json["experiments"].as_array().unwrap();
    let names = experiments.iter().map(|experiment| experiment["experiment"].as_str().unwrap());
    assert!(names.eq(CATALOGUE.iter().map(|experiment| experiment.name())));
    assert_eq!((json["device_kind"].as_str(), json["device_name"].as_str()), (Some("discrete"), Some("")));
    for experiment in experiments {
        assert!(experiment["question"].as_str().unwrap().ends_with('?'), "{experiment}");
        assert!(
            !experiment["metrics"].as_array().unwrap().is_empty() && experiment["cases"].as_u64() > Some(0),
            "{experiment}"
        );
        assert!(experiment["least_seconds"].as_f64() < experiment["most_seconds"].as_f64(), "{experiment}");
        for axis in experiment["axes"].as_array().unwrap() {
            assert!(
                !axis["meaning"].as_str().unwrap().is_empty() && !axis["defaults"].as_array().unwrap().is_empty(),
                "{axis}"
            );
        }
    }
    let found: serde_json::Value = serde_json::from_str(&succeeded(&["list", "--json", "load/path:ssbo_*"]).out).unwrap();
    let [one] = &found["experiments"].as_array().unwrap()[..] else { panic!("{found}") };
    let variants = one["variants"].as_array().unwrap();
    assert!(variants.len() > 1 && variants.iter().all(|variant| variant.as_str().unwrap().starts_with("ssbo_")), "{found}");
    // The guide lists all of them.
    let axes = experiments.iter().flat_map(|experiment| experiment["axes"].as_array().unwrap());
    let parts = experiments.iter().chain(axes).chain(json["derivations"].as_array().unwrap()).chain([&json]);
    for key in parts.flat_map(|part| part.as_object().unwrap().keys()).collect::<BTreeSet<_>>() {
        assert!(guide("run").contains(&format!("`{key}`")), "the guide has no `{key}`");
    }
}

#[test]
fn schema_tells_every_column_in_order() {
    let text = succeeded(&["schema"]).out;
    assert!(text.starts_with(&format!("schema {SCHEMA_VERSION};")));
    let columns = text.lines().filter(|line| line.starts_with("  ")).map(|line| line.split_whitespace().next().unwrap());
    assert!(columns.eq(COLUMNS.iter().map(|column| column.name)));
    let json: serde_json::Value = serde_json::from_str(&succeeded(&["schema", "--json"]).out).unwrap();
    assert_eq!(json["schema"], SCHEMA_VERSION);
    let columns = json["columns"].as_array().unwrap();
    assert!(columns.iter().map(|column| column["name"].as_str().unwrap()).eq(COLUMNS.iter().map(|column| column.name)));
    assert!(columns.iter().all(|column| ["text", "integer", "real", "boolean"].contains(&column["type"].as_str().unwrap())));
    let header = succeeded(&["run", "calibration/empty", "-d", "mock", "--dry-run"]).out;
    assert!(header.lines().next().unwrap().split(',').eq(COLUMNS.iter().map(|column| column.name)));
}

/// A column that is empty throughout has no type that a reader could guess.
#[test]
fn schema_prints_calls_that_tell_every_type() {
    let (sql, python) = (succeeded(&["schema", "--duckdb"]).out, succeeded(&["schema", "--pandas"]).out);
    for column in COLUMNS {
        let [in_sql, in_python] = match column.kind.as_str() {
            "text" => ["VARCHAR", "string"],
            "integer" => ["UBIGINT", "UInt64"],
            "real" => ["DOUBLE", "Float64"],
            _ => ["BOOLEAN", "boolean"],
        };
        assert!(sql.contains(&format!("    {}: '{in_sql}'", column.name)), "{sql}");
        assert!(python.contains(&format!("    \"{}\": \"{in_python}\",", column.name)), "{python}");
    }
    assert_eq!(ran(&["schema", "--duckdb", "--pandas"]).code, Some(2));
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let commands = ["devices", "list", "describe", "run", "merge", "schema", "completions", "man"];
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = succeeded(&["completions", shell]).out;
        assert!(commands.iter().all(|command| script.contains(command)) && script.contains("max-noise"), "{shell}");
    }
    let page = succeeded(&["man"]).out;
    assert!(page.contains(".TH lanescope 1") && commands.iter().all(|command| page.contains(command)), "{page}");
    let folder = tempfile::tempdir().unwrap();
    succeeded(&["man", folder.path().to_str().unwrap()]);
    for command in commands {
        let page = fs::read_to_string(folder.path().join(format!("lanescope-{command}.1"))).unwrap();
        assert!(page.contains(".SH NAME") && page.contains(command), "{command}");
    }
    assert!(folder.path().join("lanescope.1").is_file());
}

// ---- long plans -----------------------------------------------------------------------------------------------------------

/// The peak of the resident memory, in bytes, of a dry run of so many cases, taken shortly before its end.
#[cfg(target_os = "linux")]
fn peak_of_dry_run(cases: u64) -> u64 {
    let axis = format!("n=4..{}:+4", cases * 4);
    let run = typed("run memory/stream -d mock --dry-run --format csv -q -a op=copy -a width=1 -a issue=interleaved -a");
    crate::support::processes::peak_before_the_end(&[&run[..], &[&axis]].concat(), cases)
}

#[cfg(target_os = "linux")]
#[test]
fn a_long_plan_streams() {
    let (short, long) = (peak_of_dry_run(1000), peak_of_dry_run(100_000));
    // The values of the axis itself are held: 100,000 of them are a few MB. Rows would be 70 MB.
    assert!(long < short + (16 << 20), "{short} bytes for 1,000 cases, {long} for 100,000");
}
