//! What is Windows' own: how processes end there, the console's keys, names of devices, files that others hold open.

#![cfg(windows)]

use std::fs::{self, OpenOptions};
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use lanescope::record::Record;

use crate::support::windows::Family;
use crate::support::{Folder, Ran, console, ended, lanescope, ran, rows, rows_of, skip, succeeded, typed};

/// 72 cases in two blocks.
static RUN: LazyLock<Vec<&str>> = LazyLock::new(|| {
    typed("run workgroup/linear -a n=4..288:+4 -a local_size_x=64 --preset=quick --max-time=5ms --max-noise=50% --processes=2")
});
const CASES: usize = 72;

const SOME: [&str; 7] = ["run", "memory/stream", "-a", "n=4096", "--max-time=5ms", "--format=csv", "--device=mock"];

impl Folder {
    fn rows_file(&self) -> PathBuf {
        self.path("rows.csv")
    }

    fn resuming(&self, device: &str, more: &[&str]) -> Command {
        let mut command = lanescope(&[&RUN[..], &["-d", device], more].concat());
        command.arg("--resume").arg(self.rows_file());
        command
    }

    /// Visits to cases that have no row yet.
    fn journalled(&self) -> usize {
        fs::read_to_string(self.path("rows.csv.progress")).map_or(0, |text| text.lines().count().saturating_sub(1))
    }

    /// Completes the file, and demands that it holds all cases and that nothing else is left.
    fn completed(&self) -> Vec<Record> {
        ended(&mut self.resuming("mock:noise=0", &[])).says(0, &[]);
        let rows = rows_of(&self.rows_file());
        let measured = rows.iter().filter(|row| row.row_kind == "measured");
        assert!(measured.clone().count() == CASES && measured.into_iter().all(|row| row.status == "ok"));
        let names: Vec<_> = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["rows.csv"]);
        rows
    }
}

// ---- processes ------------------------------------------------------------------------------------------------------------

#[test]
fn a_killed_worker_costs_a_case_at_most_and_the_run_goes_on() {
    let folder = Folder::new();
    let mut family = Family::start(&mut folder.resuming("mock:noise=0", &[]));
    family.wait_until("a case is visited", |_| folder.journalled() > 0);
    family.wait_until("a worker is killed", Family::kill_a_worker);
    let ran = family.end();
    let lost = rows_of(&folder.rows_file()).iter().filter(|row| row.status == "crashed").count();
    let has_failed = lost > 0 || ran.err.contains("closing mock: crashed: ");
    assert!(lost <= 1 && ran.code == Some(has_failed.into()), "{lost} lost, {ran:?}");
    folder.completed();
}

#[test]
fn a_killed_run_takes_its_workers_along_and_is_resumed() {
    let folder = Folder::new();
    let mut family = Family::start(&mut folder.resuming("mock:noise=0", &[]));
    family.wait_until("a case is visited", |_| folder.journalled() > 0);
    assert!(!family.workers().is_empty());
    family.kill();
    family.end();
    folder.completed();
}

/// Also where a worker listens to nothing any more.
#[test]
fn a_worker_that_hangs_ends_with_its_run() {
    let folder = Folder::new();
    let mut family = Family::start(&mut folder.resuming("mock:hang=workgroup/linear *n=4", &["--timeout=60s"]));
    family.wait_until("there is a worker", |family| !family.workers().is_empty());
    // It hangs from its first case on.
    thread::sleep(Duration::from_secs(2));
    assert!(family.is_running() && !family.workers().is_empty());
    family.kill();
    family.end();
}

#[test]
fn a_worker_that_hangs_is_killed_in_time() {
    let (hung, said) = {
        let ran = ran(&[&RUN[..], &["--format=csv", "-d", "mock:hang=workgroup/linear *n=40*", "--timeout=500ms"]].concat())
            .says(1, &[]);
        (rows(&ran.out).into_iter().filter(|row| row.status != "ok").collect::<Vec<_>>(), ran.err)
    };
    assert!(!hung.is_empty(), "{said}");
    assert!(hung.iter().all(|row| row.status == "timeout" && row.reason.contains("its process was killed")), "{hung:?}");
}

// ---- the console ----------------------------------------------------------------------------------------------------------

/// Workers hear neither key: the run ends after the current sample, and has a row for all that it visited.
fn ends_a_run_between_rows(key: &str) {
    let folder = Folder::new();
    let ran = interrupted(&folder, key);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.err.contains("interrupted: ending after the current sample; once more ends at once"), "{}", ran.err);
    let rows = rows_of(&folder.rows_file());
    assert!(!rows.is_empty() && rows.iter().all(|row| row.status == "ok"), "{ran:?}");
    folder.completed();
}

#[test]
fn ctrl_c_ends_a_run_between_rows() {
    ends_a_run_between_rows("c");
}

#[test]
fn ctrl_break_ends_a_run_between_rows() {
    if std::env::var_os("WINEPREFIX").is_some() {
        skip!("Wine 8 knows Ctrl-C alone");
    }
    ends_a_run_between_rows("break");
}

/// Whoever presses Ctrl-C a second time waits no longer, not even for a case that hangs.
#[test]
fn a_second_ctrl_c_ends_a_run_at_once() {
    let folder = Folder::new();
    let ran = interrupted(&folder, "c c");
    assert!(ran.code == Some(130), "{ran:?}");
}

/// Keys are for all processes of a console: the run has one of its own, where another process presses the key.
fn interrupted(folder: &Folder, key: &str) -> Ran {
    in_another_console(folder, key, "windows::a_console_whose_keys_are_pressed");
    let said = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    let ran = Ran { code: said("code").parse().ok(), err: said("err"), ..Ran::default() };
    ["code", "err"].iter().for_each(|name| fs::remove_file(folder.path(name)).unwrap());
    ran
}

/// Runs a part of a test in a process that has a console of its own.
fn in_another_console(folder: &Folder, key: &str, part: &str) {
    const CREATE_NEW_CONSOLE: u32 = 0x0000_0010;
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", part]);
    command.env(FOLDER, folder.0.path()).env(KEY, key).creation_flags(CREATE_NEW_CONSOLE).stdin(Stdio::null());
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
}

const FOLDER: &str = "LANESCOPE_TEST_FOLDER";
const KEY: &str = "LANESCOPE_TEST_KEY";

#[test]
#[ignore = "a part of ctrl_c_ends_a_run_between_rows"]
fn a_console_whose_keys_are_pressed() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let keys = std::env::var(KEY).unwrap();
    let is_twice = keys == "c c";
    let path = |name: &str| folder.join(name);
    let device = if is_twice { "mock:hang=workgroup/linear *" } else { "mock:noise=0" };
    let mut command = lanescope(&[&RUN[..], &["--timeout=300s", "-d", device]].concat());
    command.arg("--resume").arg(path("rows.csv")).stdout(Stdio::null()).stderr(fs::File::create(path("err")).unwrap());
    let mut run = command.spawn().unwrap();
    // The first case hangs where one does.
    let least = if is_twice { 1 } else { 2 };
    let is_visited = || fs::read_to_string(path("rows.csv.progress")).is_ok_and(|text| text.lines().count() >= least);
    while !is_visited() && run.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(2));
    }
    if is_twice {
        // Until it is at that case.
        thread::sleep(Duration::from_secs(5));
    }
    console::press(keys == "break");
    if is_twice {
        // It waits for the case that hangs, as it says.
        let said = || fs::read_to_string(path("err")).unwrap();
        while !said().contains("once more ends at once") && run.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(2));
        }
        thread::sleep(Duration::from_millis(500));
        let ended = run.try_wait().unwrap();
        assert!(ended.is_none(), "the first one can't end what hangs: {ended:?} {}", said());
        console::press(false);
    }
    let code = run.wait().unwrap().code();
    fs::write(path("code"), code.map_or_else(String::new, |code| code.to_string())).unwrap();
}

/// Windows' consoles show letters of one alphabet to those who write bytes to them. A table needs more.
#[test]
fn a_console_without_utf_8_shows_every_letter() {
    let folder = Folder::new();
    in_another_console(&folder, "", "windows::a_console_that_is_read");
    let shown = fs::read_to_string(folder.path("shown")).unwrap();
    assert!(shown.contains(" \u{b1} ") && shown.contains("\u{2500}\u{2500}\u{2500}"), "{shown}");
    assert!(shown.contains("memory/stream") && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
#[ignore = "a part of a_console_without_utf_8_shows_every_letter"]
fn a_console_that_is_read() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    console::choose_code_page(437);
    let mut command = lanescope(&["run", "memory/stream", "-a", "n=4096", "--max-time=5ms", "--device=mock"]);
    // Wine 8 says that its console takes colours, and then shows their codes.
    command.args(std::env::var_os("WINEPREFIX").map(|_| "--color=never"));
    let ended = command.stdout(console::console()).stderr(console::console()).status().unwrap();
    assert!(ended.success());
    fs::write(folder.join("shown"), console::shown().join("\n")).unwrap();
}

// ---- files ----------------------------------------------------------------------------------------------------------------

#[test]
fn names_with_blanks_and_umlauts_are_files() {
    let folder = Folder::new();
    fs::create_dir(folder.path("größe und maß")).unwrap();
    let file = folder.path("größe und maß/zeilen ß 测.csv");
    let run = lanescope(&SOME).arg("-o").arg(&file).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    // As without a file, byte for byte; and lines end as on other systems.
    let bytes = fs::read(&file).unwrap();
    assert!(bytes == succeeded(&SOME).out.as_bytes() && !bytes.contains(&b'\r'));
}

#[test]
fn nul_takes_everything() {
    for name in ["NUL", "nul", r"\\.\NUL"] {
        ran(&[&SOME[..], &["-o", name]].concat()).says(0, &[" measured, 0 skipped, 0 failed"]);
    }
    ran(&["merge", "NUL"]).says(2, &[]);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut run = lanescope(&SOME).spawn().unwrap();
    drop(run.stdout.take());
    let ended = run.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// A spreadsheet lets nobody write to what it shows.
#[test]
fn a_file_that_another_program_holds_stays_as_it_is() {
    let folder = Folder::new();
    let file = folder.rows_file();
    succeeded(&[&SOME[..], &["-o", file.to_str().unwrap()]].concat());
    let before = fs::read(&file).unwrap();
    let held = OpenOptions::new().read(true).share_mode(0).open(&file).unwrap();
    let ran = ran(&[&SOME[..], &["-o", file.to_str().unwrap()]].concat());
    assert!(ran.code != Some(0) && ran.err.contains("rows.csv"), "{ran:?}");
    drop(held);
    assert_eq!(fs::read(&file).unwrap(), before);
}
