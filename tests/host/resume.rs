//! Runs that are killed, interrupted, cut short by a full disk or dealt over machines: no row is torn, none is lost that was
//! written, and `--resume` or `merge` makes of them what one run without interruption writes.

// Processes are found in /proc, and signals are Unix's.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use lanescope::record::{COLUMNS, Reader, Record, Use, needed};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::Signal;

use crate::support::form::{Form, form, sample};
use crate::support::processes::Family;
use crate::support::tables::Table;
use crate::support::{Folder, Ran, data, ended, lanescope, rows, rows_of, skip, succeeded, typed};

// ---- the run --------------------------------------------------------------------------------------------------------------

/// 143 cases in three blocks: some have a base, from some a figure is derived.
static RUN: LazyLock<Vec<&str>> = LazyLock::new(|| {
    typed(
        "run workgroup/linear shared/bank_conflict -a n=4..540:+4 -a local_size_x=64 -a groups=1 -a iterations=4 -a stride=1,2,3,4,8,16,32,33 -a width=1 --preset=quick --max-time=5ms --max-noise=50% --processes=2",
    )
});
const CASES: usize = 143;

/// Without noise, no figure is doubted in one run and not in another.
const MOCK: &str = "mock:noise=0";

/// What one run of it writes, and how long that takes.
static WHOLE: LazyLock<(Vec<Record>, Duration)> = LazyLock::new(|| {
    let started = Instant::now();
    let rows = rows(&succeeded(&[&RUN[..], &["-d", MOCK, "--format=csv"]].concat()).out);
    assert_eq!(rows.iter().filter(|row| row.row_kind == "measured").count(), CASES);
    assert!(rows.len() > CASES && rows.iter().any(|row| row.relative.is_some()));
    (rows, started.elapsed())
});

impl Folder {
    fn file(&self) -> PathBuf {
        self.path("rows.csv")
    }

    fn run(&self, device: &str, more: &[&str]) -> Command {
        // What its rows are compared with, before it starts: else it would be at its end by then.
        LazyLock::force(&WHOLE);
        let mut command = lanescope(&[&RUN[..], &["-d", device], more].concat());
        command.arg("--resume").arg(self.file());
        command
    }

    fn resume(&self, device: &str, more: &[&str]) -> Ran {
        ended(&mut self.run(device, more))
    }

    /// The same, which must do, say this, and make the file what a run without interruption writes.
    #[track_caller]
    fn completes(&self, parts: &[&str]) -> Ran {
        let ran = self.resume(MOCK, &[]).says(0, parts);
        self.is_whole();
        ran
    }

    fn change(&self, change: impl FnOnce(Vec<&str>) -> Vec<String>) {
        let text = fs::read_to_string(self.file()).unwrap();
        fs::write(self.file(), change(text.lines().collect()).join("\n") + "\n").unwrap();
    }

    /// Visits to cases that have no row yet.
    fn visits(&self) -> usize {
        fs::read_to_string(self.path("rows.csv.progress")).map_or(0, |text| text.lines().count().saturating_sub(1))
    }

    /// Starts a run, and signals it while a block is measured: the visits so far are in its journal. What is too late is tried again.
    fn broken_off(signal: Signal) -> (Self, Ran) {
        for _ in 0..20 {
            let folder = Self::new();
            let mut family = Family::start(&mut folder.run(MOCK, &[]));
            family.wait_until("a case is visited", |_| folder.visits() > 0);
            if family.is_running() {
                family.signal(signal);
            }
            let (_, ran) = family.end();
            if folder.visits() > 0 {
                return (folder, ran);
            }
        }
        panic!("no run was stopped while it measured");
    }

    fn names(&self) -> BTreeSet<String> {
        fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Demands that the file is what a run without interruption writes, but for figures, and that nothing else is left.
    fn is_whole(&self) {
        let rows = rows_of(&self.file());
        let (found, expected) = (shapes(&rows), shapes(&WHOLE.0));
        let differs = found.iter().zip(&expected).find(|(found, expected)| found != expected);
        assert!(found == expected, "{} rows, {} expected; the first that differ: {differs:?}", found.len(), expected.len());
        assert_eq!(self.names(), ["rows.csv".to_owned()].into());
    }

    /// Demands that what is there so far are rows of the run, each whole and once, but for the last, of which a part may be missing.
    fn has_whole_rows(&self) -> usize {
        // Asked before it is opened: a run may begin its file in between, and never takes it away again.
        let is_there = self.file().exists();
        let reader = match Reader::open(&self.file()) {
            Ok(reader) => reader,
            Err(error) => {
                assert!(!is_there || error.holds_no_rows(), "{error}");
                return 0;
            }
        };
        let rows: Vec<Record> = reader.map(|row| row.unwrap()).collect();
        let known: BTreeSet<&str> = WHOLE.0.iter().map(|row| row.case_id.as_str()).collect();
        let cases: BTreeSet<&str> = rows.iter().map(|row| row.case_id.as_str()).collect();
        assert_eq!(cases.len(), rows.len(), "a case comes twice");
        assert!(cases.is_subset(&known));
        rows.len()
    }
}

/// All of rows that isn't a figure.
fn shapes(rows: &[Record]) -> Vec<String> {
    let shape = |row: &Record| {
        let Record { row_kind, experiment, axis_values, case_id, status, plan_id, plan_index, relative_to, .. } = row;
        let has = (row.value.is_some(), row.relative.is_some());
        format!("{row_kind} {experiment} {axis_values} {case_id} {status} {plan_id} {plan_index:?} {relative_to} {has:?}")
    };
    rows.iter().map(shape).collect()
}

/// Rewrites the cells of a column, by the number of the row.
fn rewrite(file: &Path, column: &str, new: impl Fn(usize, &str) -> String) {
    let mut table = Table::of(&fs::read_to_string(file).unwrap());
    for row in 0..table.rows.len() {
        let cell = new(row, table.get(&table.rows[row], column));
        table.set(row, column, &cell);
    }
    fs::write(file, table.text()).unwrap();
}

// ---- kills ----------------------------------------------------------------------------------------------------------------

/// Kills runs at random moments: the supervisor, or one of its workers; each time, `--resume` completes the file. What a seed does
/// depends on the machine, so more kills find more.
fn killed_at_random(seed: u64, kills: usize) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut lost_rows, mut begun, usual) = (0, 0, WHOLE.1);
    for kill in 0..kills {
        let folder = Folder::new();
        let what = format!("seed {seed}, kill {kill}");
        let mut family = Family::start(&mut folder.run(MOCK, &[]));
        let moment = usual.mul_f64(rng.random_range(0.0..1.0));
        let is_worker = rng.random_bool(0.4);
        thread::sleep(moment);
        if is_worker {
            family.kill_a_worker(rng.random_range(0..8));
            // One of its cases is lost, or none; the run goes on.
            let (signal, ran) = family.end();
            assert_eq!(signal, None, "{what}");
            let rows = rows_of(&folder.file());
            let lost = rows.iter().filter(|row| row.status == "crashed").count();
            // One that was killed when all was measured fails the run by itself.
            let has_failed = lost > 0 || ran.err.contains("closing mock: crashed: ");
            assert!(lost <= 1 && ran.code == Some(has_failed.into()), "{what}: {lost} lost, {ran:?}");
            assert_eq!(rows.iter().filter(|row| row.row_kind == "measured").count(), CASES, "{what}");
            lost_rows += lost;
        } else {
            if family.is_running() {
                family.signal(Signal::KILL);
            }
            family.end();
            let there = folder.has_whole_rows();
            begun += usize::from((1..CASES).contains(&there));
            // Once more, on the way.
            if rng.random_bool(0.3) {
                let family = Family::start(&mut folder.run(MOCK, &["-q"]));
                thread::sleep(usual.mul_f64(rng.random_range(0.0..1.0)));
                family.signal(Signal::KILL);
                family.end();
                assert!(folder.has_whole_rows() >= there, "{what}: rows that were written are gone");
            }
        }
        folder.completes(&[]);
    }
    format!("{kills} kills: {begun} files were begun, {lost_rows} rows were lost and measured again")
}

/// LANESCOPE_TEST_SEED picks other moments.
#[test]
fn killed_at_random_moments_a_run_is_resumed() {
    let seed = std::env::var("LANESCOPE_TEST_SEED").map_or(1, |seed| seed.parse().unwrap());
    let kills = match form() {
        Form::Quick => 3,
        Form::Short => 8,
        Form::Full => 100,
    };
    println!("{}", killed_at_random(seed, kills));
}

/// Also where a worker listens to nothing any more.
#[test]
fn no_worker_outlives_its_supervisor() {
    let folder = Folder::new();
    let device = "mock:hang=workgroup/linear local_size_x=64;n=400";
    let mut family = Family::start(&mut folder.run(device, &["-q", "--timeout=60s"]));
    family.wait_until("a block is written", |_| folder.has_whole_rows() > 0);
    family.wait_until_idle();
    assert!(!family.workers().is_empty());
    family.signal(Signal::KILL);
    // Demands that all workers end.
    assert_eq!(family.end().0, Some(Signal::KILL.as_raw()));
}

// ---- signals --------------------------------------------------------------------------------------------------------------

#[test]
fn an_interrupted_run_ends_between_rows_and_can_be_resumed() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let folder = Folder::new();
        let mut family = Family::start(&mut folder.run(MOCK, &[]));
        family.wait_until("a block is written", |_| folder.has_whole_rows() > 0);
        family.signal(signal);
        family.end().1.says(130, &["interrupted: ending after the current sample; once more ends at once"]);
        let rows = rows_of(&folder.file());
        assert!((1..CASES).contains(&rows.len()), "{}", rows.len());
        // The signal may come amid the rounds of a block: then its cases are written as far as they got.
        let begun = rows.iter().filter(|row| row.stop == "broken_off").count();
        let again = if begun > 0 {
            format!("; measured again, since they failed, were stopped early, or their sources have changed: {begun}")
        } else {
            "\n".to_owned()
        };
        folder.completes(&[&format!("{} rows are kept{again}", rows.len() - begun)]);
    }
}

/// Rows that are to be measured again, and derived ones, are there until others take their place.
#[test]
fn a_row_stays_until_another_takes_its_place() {
    for signal in [Signal::INT, Signal::KILL] {
        let folder = Folder::new();
        folder.completes(&[]);
        let cases = || rows_of(&folder.file()).into_iter().map(|row| row.case_id).collect::<BTreeSet<_>>();
        let all = cases();
        rewrite(&folder.file(), "status", |row, status| if row < 80 { "crashed" } else { status }.to_owned());
        for _ in 0..3 {
            let mut family = Family::start(&mut folder.run(MOCK, &[]));
            family.wait_until("a case is visited", |_| folder.visits() > 0);
            family.signal(signal);
            family.end();
            assert_eq!(cases(), all, "{signal:?}");
            let failed = rows_of(&folder.file()).iter().filter(|row| row.status == "crashed").count();
            assert!(failed < 80 || signal == Signal::KILL, "{failed}");
            // A signal that came late finds all of them measured.
            if failed == 0 {
                break;
            }
        }
        folder.completes(&[]);
    }
}

#[test]
fn a_run_that_is_killed_goes_on_from_its_visits() {
    let (folder, _) = Folder::broken_off(Signal::KILL);
    folder.has_whole_rows();
    folder.completes(&[" stopped early"]);
    // Visits of both runs are in one row.
    let rows = rows_of(&folder.file());
    assert!(rows.iter().any(|row| row.processes > Some(2)), "two processes in each run");
}

#[test]
fn every_case_that_an_interrupted_run_visited_has_a_row() {
    let (folder, ran) = Folder::broken_off(Signal::INT);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let rows = rows_of(&folder.file());
    let begun: Vec<&Record> = rows.iter().filter(|row| row.stop == "broken_off").collect();
    assert!(!begun.is_empty(), "{ran:?}");
    for row in &begun {
        let (has_figure, has_interval) = (row.value.is_some(), row.ci_low_ns.is_some() || row.ci_high_ns.is_some());
        assert!(row.status == "ok" && row.rounds < Some(6) && has_figure && !has_interval, "{row:?}");
    }
    // The journal has what is broken off, and nothing else.
    let journal = fs::read_to_string(folder.path("rows.csv.progress")).unwrap();
    let cases: BTreeSet<String> = journal
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["visit"]["case_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(cases, begun.iter().map(|row| row.case_id.clone()).collect());
    folder.completes(&[" stopped early"]);
    assert!(rows_of(&folder.file()).iter().all(|row| row.stop != "broken_off"));
}

/// Whoever comes back to a device that was given up finds what was visited before.
#[test]
fn a_device_that_is_given_up_leaves_the_visits_of_an_earlier_run() {
    let (folder, _) = Folder::broken_off(Signal::INT);
    let visits = folder.visits();
    folder.resume("mock:noise=0,crash=calibration/*", &[]).says(75, &[]);
    assert_eq!(folder.visits(), visits);
    folder.completes(&["going on with "]);
}

/// Visits count for no other device, driver or plan, nor does a file that is something else's.
#[test]
fn a_journal_of_another_run_is_not_used() {
    let (folder, _) = Folder::broken_off(Signal::KILL);
    let journal = folder.path("rows.csv.progress");
    let text = fs::read_to_string(&journal).unwrap();
    let of_another_driver = text.replacen("[\"driver_version\",\"", "[\"driver_version\",\"1", 1);
    fs::write(&journal, &of_another_driver).unwrap();
    let rows = fs::read(folder.file()).unwrap();
    folder.resume(MOCK, &[]).says(2, &["has what another run measured for", "driver_version was `1", "name a new file"]);
    assert_eq!((fs::read_to_string(&journal).unwrap(), fs::read(folder.file()).unwrap()), (of_another_driver, rows));
    fs::write(&journal, text.replacen("[\"tool_version\",\"", "[\"tool_version\",\"1", 1)).unwrap();
    folder.completes(&["is of another version, or damaged, and isn't used"]);
    let folder = Folder::new();
    fs::write(folder.path("rows.csv.progress"), "my notes\n").unwrap();
    folder.resume(MOCK, &[]).says(2, &["move it away"]);
    assert_eq!(fs::read_to_string(folder.path("rows.csv.progress")).unwrap(), "my notes\n");
}

#[test]
fn what_is_overwritten_or_kept_from_a_coarser_run_is_said() {
    let (folder, _) = Folder::broken_off(Signal::KILL);
    let mut anew = lanescope(&[&RUN[..], &["-d", MOCK]].concat());
    ended(anew.arg("-o").arg(folder.file())).says(0, &["the progress of an unfinished run is dropped"]);
    let rows = rows_of(&folder.file()).iter().filter(|row| !row.is_derived() && row.processes == Some(2)).count();
    let finer = RUN.iter().map(|word| if *word == "--processes=2" { "--processes=3" } else { *word }).collect::<Vec<_>>();
    let mut resumed = lanescope(&[&finer[..], &["-d", MOCK]].concat());
    let said = format!("{rows} of them were measured in fewer processes than 3");
    ended(resumed.arg("--resume").arg(folder.file())).says(0, &[&said]);
}

#[test]
fn two_runs_never_write_to_one_file() {
    for format in ["rows.csv", "rows.jsonl"] {
        let folder = Folder::new();
        let file = folder.path(format);
        let run = |device: &str| {
            let mut command = lanescope(&[&RUN[..], &["-q", "--timeout=60s", "-d", device]].concat());
            command.arg("-o").arg(&file);
            command
        };
        let mut family = Family::start(&mut run("mock:hang=workgroup/linear local_size_x=64;n=400"));
        family.wait_until("it has begun", |_| fs::metadata(&file).is_ok_and(|metadata| metadata.len() > 0));
        ended(&mut run(MOCK)).says(75, &["another run writes to"]);
        family.signal(Signal::KILL);
        family.end();
        ended(&mut run(MOCK)).says(0, &[]);
        assert_eq!(folder.names(), [format.to_owned()].into());
    }
}

/// What happens to a file under a run is told at its end, with where the rows are.
#[test]
fn a_file_that_is_taken_away_under_a_run_is_told() {
    type Harm = fn(&Path);
    let harms: [(Harm, &str, bool); 4] = [
        (|file| fs::remove_file(file).unwrap(), "it was deleted or replaced meanwhile; its rows are in ", true),
        (
            |file| {
                fs::write(file.with_extension("new"), "other\n")
                    .and_then(|()| fs::rename(file.with_extension("new"), file))
                    .unwrap()
            },
            "replaced meanwhile; its rows are in ",
            true,
        ),
        (|file| fs::File::options().write(true).open(file).unwrap().set_len(0).unwrap(), "its rows are not whole", false),
        (|file| fs::write(file, "").unwrap(), "its rows are not whole", false),
    ];
    for (harm, said, is_saved) in sample(harms, 1, 4) {
        let folder = Folder::new();
        let files = ["rows.csv", "rows.jsonl", "rows.md"].map(|name| folder.path(name));
        let device = "mock:noise=0,hang=workgroup/linear local_size_x=64;n=400";
        let mut command = lanescope(&[&RUN[..], &["-q", "--timeout=1s", "-d", device]].concat());
        for file in &files {
            command.arg("-o").arg(file);
        }
        let mut family = Family::start(&mut command);
        family.wait_until("a block is written", |_| fs::metadata(&files[0]).is_ok_and(|metadata| metadata.len() > 2000));
        files.iter().for_each(|file| harm(file));
        let (_, ran) = family.end();
        assert!(ran.code == Some(1) && ran.err.contains(said), "{ran:?}");
        for file in &files {
            let saved = PathBuf::from(format!("{}.saved", file.display()));
            assert_eq!(saved.exists(), is_saved, "{}", saved.display());
        }
        if is_saved {
            let rows = rows_of(&folder.path("rows.csv.saved"));
            assert_eq!(rows.iter().filter(|row| row.row_kind == "measured").count(), CASES);
        }
    }
}

/// The standard library puts another file in its place, where all would vanish.
#[cfg(unix)]
#[test]
fn a_closed_standard_output_is_told_before_anything_is_measured() {
    let run = |arguments: &[&str], redirection: &str| -> Ran {
        let script = format!("exec \"$0\" \"$@\" {redirection}");
        let mut command = Command::new("bash");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_lanescope")]).args(arguments);
        command.output().unwrap().into()
    };
    let measuring: Vec<&str> = RUN.iter().copied().chain(["-q", "-d", MOCK]).collect();
    for arguments in [&measuring[..], &["list"], &["schema"], &["guide", "trust"]] {
        run(arguments, ">&-").says(2, &["can't write standard output: it is closed"]);
        // Who sends it there means it, and has it open to read as well, as many a script does.
        ["> /dev/null", "<> /dev/null 1>&0"].into_iter().for_each(|there| drop(run(arguments, there).says(0, &[])));
    }
}

#[test]
fn a_second_interrupt_ends_a_run_that_hangs_at_once() {
    let folder = Folder::new();
    let device = "mock:noise=0,hang=workgroup/linear local_size_x=64;n=400";
    let mut family = Family::start(&mut folder.run(device, &["--timeout=120s"]));
    family.wait_until("a block is written", |_| folder.has_whole_rows() > 0);
    family.wait_until_idle();
    family.signal(Signal::INT);
    thread::sleep(Duration::from_millis(300));
    assert!(family.is_running(), "the first one can't end what hangs");
    family.signal(Signal::INT);
    let asked = Instant::now();
    let (_, ran) = family.end();
    // Far less than the deadline.
    assert!(ran.code == Some(130) && asked.elapsed() < Duration::from_secs(30), "{:?}: {ran:?}", asked.elapsed());
    let there = rows_of(&folder.file()).len();
    assert!((1..CASES).contains(&there));
    // The same device, which doesn't hang any more.
    folder.completes(&[]);
}

/// A supervisor that was stopped for longer than any deadline doesn't blame its workers, which went on meanwhile.
#[test]
fn a_run_that_is_stopped_and_continued_loses_nothing() {
    let (folder, usual) = (Folder::new(), WHOLE.1);
    let mut family = Family::start(&mut folder.run(MOCK, &["-q", "--timeout=500ms", "--first-timeout=500ms"]));
    for _ in 0..3 {
        thread::sleep(usual / 8);
        if family.is_running() {
            family.signal(Signal::STOP);
            thread::sleep(Duration::from_millis(1500));
            family.signal(Signal::CONT);
        }
    }
    let (_, ran) = family.end();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    folder.is_whole();
}

// ---- what is kept ---------------------------------------------------------------------------------------------------------

/// A file of the whole run, without running it.
fn whole() -> Folder {
    static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let folder = Folder::new();
        folder.completes(&[]);
        fs::read(folder.file()).unwrap()
    });
    let folder = Folder::new();
    fs::write(folder.file(), &*BYTES).unwrap();
    folder
}

/// Nothing is measured, and nothing is changed.
fn refuses(folder: &Folder, more: &[&str], parts: &[&str]) {
    let before = fs::read(folder.file()).unwrap();
    folder.resume(MOCK, more).refuses(parts);
    assert!(fs::read(folder.file()).unwrap() == before, "it was touched");
}

#[test]
fn a_file_that_is_not_there_is_begun() {
    let folder = Folder::new();
    let name = folder.file().display().to_string();
    folder.completes(&[&format!("{name} is not there: measuring everything"), &format!("{CASES} measured")]);
}

#[test]
fn a_whole_file_stays_as_it_is() {
    let folder = whole();
    let before = fs::read(folder.file()).unwrap();
    folder.resume(MOCK, &[]).says(0, &["143 rows are kept\n", "0 measured, 0 skipped, 0 failed"]);
    assert!(fs::read(folder.file()).unwrap() == before);
}

#[test]
fn rows_of_another_driver_are_refused_with_what_differs() {
    for (column, said) in [
        ("driver_info", "driver_info was `another` and is `proves plumbing only`"),
        ("driver_version", "driver_version was `another` and is `v1`"),
        ("device_uuid", "it holds rows of mock (another), which this run doesn't measure on"),
    ] {
        let folder = whole();
        rewrite(&folder.file(), column, |row, cell| if row == 70 { "another".to_owned() } else { cell.to_owned() });
        refuses(&folder, &[], &[said, "rows.csv, line 72: "]);
    }
}

#[test]
fn rows_of_another_plan_are_refused() {
    for more in [&["--seed=2"][..], &["--cold", "--evict-bytes=1Mi"], &["calibration/empty"]] {
        refuses(&whole(), more, &["rows.csv, line 2: it was measured by another plan"]);
    }
}

#[test]
fn what_is_no_file_of_rows_is_refused() {
    for text in ["my notes\nof things\n", "{\"schema\":\"v1.1\"}\n"] {
        let folder = Folder::new();
        fs::write(folder.file(), text).unwrap();
        refuses(&folder, &[], &["rows.csv"]);
    }
    let folder = whole();
    rewrite(&folder.file(), "time_ns", |row, cell| if row == 5 { "fast".to_owned() } else { cell.to_owned() });
    refuses(&folder, &[], &["line 7, column `time_ns`: `fast` is not of type real"]);
}

/// Whoever edited a file may have done it by mistake: what no run writes is neither kept nor overwritten.
#[test]
fn rows_that_no_run_wrote_are_refused() {
    for (column, new, said) in [
        ("time_ns", "", "column `time_ns`: there is none"),
        ("time_ns", "-5.5", "column `time_ns`: -5.5 ns can't be measured"),
        ("time_ns", "1e300", "ns can't be measured"),
        ("value", "", "column `value`: there is none"),
        ("unit", "seconds", "column `unit`: it is `seconds`, and the plan says"),
        ("local_size_x", "63", "column `local_size_x`: it is `63`, and the plan says `64`"),
        ("experiment", "memory/stream", "column `experiment`"),
    ] {
        let folder = whole();
        rewrite(&folder.file(), column, |row, cell| if row == 5 { new.to_owned() } else { cell.to_owned() });
        refuses(&folder, &[], &["rows.csv, line 7: ", said]);
    }
    // A quote that makes one cell of two moves those behind it.
    let folder = whole();
    let moved = |(i, line): (usize, &str)| {
        if i == 9 { line.replacen("workgroup/linear,,", "\"workgroup/linear,\",,", 1) } else { line.to_owned() }
    };
    folder.change(|lines| lines.into_iter().enumerate().map(moved).collect());
    refuses(&folder, &[], &["rows.csv, line 10"]);
}

/// Other line ends are read as they are, and lines are counted by them; those of old Macs are told.
#[test]
fn line_ends_are_told_apart() {
    let text = fs::read_to_string(whole().file()).unwrap();
    let with = |ends: &str| {
        let folder = Folder::new();
        fs::write(folder.file(), text.replace('\n', ends)).unwrap();
        folder
    };
    refuses(&with("\r"), &[], &["rows.csv: its lines end in carriage returns alone"]);
    let folder = with("\r\n");
    let wrong = fs::read_to_string(folder.file()).unwrap().replacen(",GB/s,", ",MB/s,", 3);
    let line = 1 + wrong.lines().position(|line| line.contains(",MB/s,")).unwrap();
    fs::write(folder.file(), wrong).unwrap();
    refuses(&folder, &[], &[&format!("rows.csv, line {line}: column `unit`")]);
    let folder = with("\r\n");
    folder.completes(&[]);
}

#[test]
fn columns_of_the_users_own_are_never_dropped() {
    let folder = whole();
    let text = fs::read_to_string(folder.file()).unwrap();
    folder
        .change(|lines| (0..).zip(lines).map(|(i, line)| format!("{line},{}", if i == 0 { "note" } else { "mine" })).collect());
    refuses(&folder, &[], &["this run doesn't write the column `note`: take it out"]);
    fs::write(folder.file(), text).unwrap();
    folder.change(|lines| lines.into_iter().map(|line| line.rsplit_once(',').unwrap().0.to_owned()).collect());
    refuses(&folder, &[], &["it lacks the column `"]);
}

#[test]
fn a_file_of_chosen_columns_can_be_resumed_where_it_has_what_that_needs() {
    let all_needed = needed(&[Use::Rows, Use::Plan, Use::Resuming]);
    // A column beside them, since rows are compared with those of a whole run.
    let chosen = format!("{},relative", all_needed.join(","));
    let folder = Folder::new();
    assert_eq!(folder.resume(MOCK, &["--columns", &chosen]).code, Some(0));
    let text = fs::read_to_string(folder.file()).unwrap();
    assert!(text.lines().next().unwrap().split(',').count() < COLUMNS.len());
    let lines: Vec<&str> = text.lines().collect();
    fs::write(folder.file(), format!("{}\n", lines[..90].join("\n"))).unwrap();
    folder.resume(MOCK, &["--columns", &chosen]).says(0, &["89 rows are kept"]);
    folder.is_whole();
    // Without any one of them, its name is told.
    for lacking in all_needed.iter().filter(|name| !needed(&[Use::Any]).contains(name)) {
        let others = all_needed.iter().filter(|name| *name != lacking).copied().collect::<Vec<_>>().join(",");
        let folder = Folder::new();
        let header = text.lines().next().unwrap().split(',').filter(|name| name != lacking).collect::<Vec<_>>().join(",");
        fs::write(folder.file(), format!("{header}\n")).unwrap();
        refuses(&folder, &["--columns", &others], &[&format!("it lacks the column `{lacking}`, without which")]);
    }
}

#[test]
fn rows_of_schema_1_are_to_be_merged_first() {
    let folder = Folder::new();
    fs::copy(data("v1/lavapipe.csv"), folder.file()).unwrap();
    refuses(&folder, &[], &["it is of schema 1", "`lanescope merge "]);
}

#[test]
fn rows_of_other_sources_and_rows_that_failed_are_measured_again() {
    let folder = whole();
    rewrite(&folder.file(), "source_hash", |row, cell| if row == 5 { "sother".to_owned() } else { cell.to_owned() });
    let statuses = ["timeout", "crashed", "device_lost", "out_of_memory", "error", "wrong_result"];
    rewrite(&folder.file(), "status", |row, cell| {
        row.checked_sub(20).and_then(|row| statuses.get(row)).map_or(cell, |status| *status).to_owned()
    });
    // A wrong result is a result.
    let again = "measured again, since they failed, were stopped early, or their sources have changed: 6";
    // What was finished by other sources is gone from the file, and is kept beside it.
    folder.resume(MOCK, &[]).says(
        0,
        &[&format!("137 rows are kept; {again}"), "6 measured, 0 skipped, 0 failed", "rows.csv: as it was, it is kept in "],
    );
    let rows = rows_of(&folder.file());
    let statuses: Vec<&str> = rows.iter().map(|row| row.status.as_str()).collect();
    assert_eq!(statuses.iter().position(|status| *status == "wrong_result"), Some(25));
    assert!(rows[5].source_hash == WHOLE.0[5].source_hash && statuses[20..25] == ["ok"; 5]);
    let beside = rows_of(&folder.path("rows.csv.bak"));
    assert!(beside.len() == WHOLE.0.len() && beside[5].source_hash == "sother");
}

/// Rows without figures are nothing to keep a copy for.
#[test]
fn a_case_that_is_skipped_for_another_reason_leaves_no_copy() {
    let folder = Folder::new();
    let resume = || {
        let mut command = lanescope(&typed("run subgroup/ops -d mock --preset=quick"));
        ended(command.arg("--resume").arg(folder.file()))
    };
    resume().says(0, &["10 skipped"]);
    let before = rows_of(&folder.file());
    rewrite(&folder.file(), "reason", |_, reason| reason.replace("the case needs it", "it is needed"));
    resume().says(0, &["their sources have changed: 10\n"]);
    assert_eq!(folder.names(), ["rows.csv".to_owned()].into());
    assert!(rows_of(&folder.file()).iter().zip(&before).all(|(row, before)| row.reason == before.reason));
}

#[test]
fn a_device_that_was_given_up_is_tried_again() {
    let folder = Folder::new();
    folder.resume("mock:noise=0,crash=calibration/*", &[]).says(75, &[]);
    assert!(
        rows_of(&folder.file()).iter().filter(|row| row.status == "not_run" && row.reason.starts_with("crashed: ")).count()
            >= CASES
    );
    folder.completes(&[]);
}

/// A row that says that its case was never tried takes the place of none that says more, nor goes what follows from that.
#[test]
fn a_device_that_is_given_up_leaves_the_rows_of_an_earlier_run() {
    let folder = whole();
    rewrite(&folder.file(), "source_hash", |_, cell| if cell.is_empty() { "" } else { "sother" }.to_owned());
    rewrite(&folder.file(), "status", |row, cell| if (10..20).contains(&row) { "crashed" } else { cell }.to_owned());
    let there = || {
        let rows = rows_of(&folder.file()).into_iter();
        rows.map(|row| format!("{} {} {:?} {}", row.case_id, row.status, row.value, row.source_hash)).collect::<BTreeSet<_>>()
    };
    let before = there();
    let ran = folder.resume("mock:noise=0,crash=calibration/*", &["-o", &folder.at("other.csv")]);
    ran.says(75, &["143 failed (143 of them not run)"]);
    assert_eq!(there(), before);
    assert!(rows_of(&folder.path("other.csv")).iter().all(|row| row.status != "not_run"));
}

#[test]
fn a_file_that_was_cut_is_repaired() {
    let bytes = fs::read(whole().file()).unwrap();
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(i, _)| i).collect();
    // In the header, behind it, in a row, before the end of its line.
    for (cut, said) in [
        (100, "holds no rows: it ends within its header line: measuring everything"),
        (ends[0] + 1, "no case was finished"),
        (ends[50] + 200, "the last row was cut at line 52 and is dropped"),
        (ends[80], "the last row was cut at line 81 and is dropped"),
        (ends[CASES] + 10, "the last row was cut at line 145 and is dropped"),
    ] {
        let folder = Folder::new();
        fs::write(folder.file(), &bytes[..cut]).unwrap();
        folder.completes(&[said]);
    }
}

/// Whoever is killed leaves rows of an earlier run beside those that took their place: the later one of a case counts.
#[test]
fn of_two_rows_that_a_killed_run_left_the_later_one_stays() {
    let folder = whole();
    folder.change(|lines| {
        let crashed = lines[1..21].iter().map(|line| line.replacen(",ok,", ",crashed,", 1));
        let [header, rows, newer] =
            [&lines[..1], &lines[21..], &lines[1..11]].map(|lines| lines.iter().map(ToString::to_string));
        header.chain(rows).chain(crashed).chain(newer).collect()
    });
    let again = "measured again, since they failed, were stopped early, or their sources have changed: 10";
    folder.completes(&[again, "10 measured, 0 skipped, 0 failed"]);
}

#[test]
fn other_outputs_have_the_rows_that_were_kept_as_well() {
    let folder = whole();
    let bytes = fs::read(folder.file()).unwrap();
    fs::write(folder.file(), &bytes[..bytes.len() / 2]).unwrap();
    let json = folder.path("other.jsonl");
    folder.resume(MOCK, &["-o", json.to_str().unwrap(), "-o", folder.file().to_str().unwrap()]).says(0, &[]);
    let text = fs::read_to_string(&json).unwrap();
    let cases: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let cases: Vec<&str> = cases.iter().map(|row| row["case_id"].as_str().unwrap()).collect();
    assert_eq!(cases, WHOLE.0.iter().map(|row| row.case_id.as_str()).collect::<Vec<_>>());
    fs::remove_file(json).unwrap();
    folder.is_whole();
}

/// Two writers to one file would overwrite each other's rows.
#[test]
fn a_file_under_two_names_is_one_file() {
    let folder = whole();
    let (bytes, place) = (fs::read(folder.file()).unwrap(), folder.0.path());
    fs::write(folder.file(), &bytes[..bytes.len() / 2]).unwrap();
    let other_name = place.join("..").join(place.file_name().unwrap()).join("rows.csv");
    let other_name = other_name.to_str().unwrap();
    refuses(&folder, &["--samples", other_name], &["is given twice, by --resume and --samples"]);
    folder.resume(MOCK, &["-q", "-o", other_name]).says(0, &[]);
    folder.is_whole();
}

/// A link may lead to a file that isn't there yet: what lies beside that one is found again once it is.
#[test]
fn a_link_that_leads_nowhere_yet_is_followed() {
    let folder = Folder::new();
    symlink("real.csv", folder.file()).unwrap();
    let mut family = Family::start(&mut folder.run(MOCK, &[]));
    family.wait_until("a block is written", |_| folder.has_whole_rows() > 0);
    assert!(folder.path("real.csv.progress").exists());
    folder.resume(MOCK, &[]).says(75, &["another run writes to "]);
    family.signal(Signal::KILL);
    family.end();
    folder.resume(MOCK, &[]).says(0, &[]);
    assert_eq!(folder.names(), ["real.csv", "rows.csv"].map(str::to_owned).into());
    assert!(fs::symlink_metadata(folder.file()).unwrap().is_symlink());
    assert_eq!(shapes(&rows_of(&folder.file())), shapes(&WHOLE.0));
}

// ---- shards ---------------------------------------------------------------------------------------------------------------

#[test]
fn shards_make_up_the_whole() {
    let folder = Folder::new();
    let files: Vec<String> = (1..=8).map(|shard| folder.at(&format!("{shard}.csv"))).collect();
    for (index, file) in files.iter().enumerate() {
        let shard = format!("--shard={}/8", index + 1);
        succeeded(&[&RUN[..], &["-q", "-d", MOCK, &shard, "-o", file]].concat());
        assert!(rows_of(Path::new(file)).iter().all(|row| row.row_kind == "measured"));
    }
    let files: Vec<&str> = files.iter().rev().map(String::as_str).collect();
    succeeded(&[&["merge", "-q", "-o", folder.file().to_str().unwrap()], &files[..]].concat());
    files.iter().for_each(|file| fs::remove_file(file).unwrap());
    folder.is_whole();
}

#[test]
fn a_shard_has_its_name_once_it_is_whole() {
    let folder = Folder::new();
    // One that has a case of the last experiment: its second block is where it hangs.
    let cases_of =
        |shard: &&str| rows(&succeeded(&[&RUN[..], &[*shard, "--dry-run", "-d", MOCK, "--format=csv"]].concat()).out);
    let has_last = |shard: &&str| cases_of(shard).iter().any(|row| row.experiment == "shared/bank_conflict");
    let shard = ["--shard=1/2", "--shard=2/2"].into_iter().find(has_last).unwrap();
    assert!(cases_of(&shard).len() > 64);
    let shard = [shard];
    let device = "mock:noise=0,hang=shared/*";
    let mut family = Family::start(&mut folder.run(device, &[&shard[..], &["--timeout=120s"]].concat()));
    let part = folder.path("rows.csv.part");
    family.wait_until("a block is written", |_| {
        // More than one row after the header: a note about a single one reads differently.
        fs::read(&part).is_ok_and(|bytes| bytes.iter().filter(|byte| **byte == b'\n').count() > 2)
    });
    family.signal(Signal::KILL);
    family.end();
    assert_eq!(folder.names(), ["rows.csv.part", "rows.csv.progress"].map(str::to_owned).into());
    // The block may have been in writing: its last row may be torn.
    let kept = Reader::open(&part).unwrap().filter(|row| row.is_ok()).count();
    folder.resume(MOCK, &shard).says(0, &[&format!("rows.csv.part: {kept} rows are kept")]);
    assert_eq!(folder.names(), ["rows.csv".to_owned()].into());
    let alone = rows(&succeeded(&[&RUN[..], &shard, &["-q", "-d", MOCK, "--format=csv"]].concat()).out);
    assert!(kept < alone.len() && shapes(&rows_of(&folder.file())) == shapes(&alone));
    // Once more: it is whole.
    folder.resume(MOCK, &shard).says(0, &[&format!("{} rows are kept", alone.len())]);
    assert_eq!(folder.names(), ["rows.csv".to_owned()].into());
}

/// Whoever forgets --shard goes on from the file that has its name already: the part beside it isn't whole yet, and stays.
#[test]
fn a_part_that_is_not_whole_yet_is_left_alone() {
    let folder = whole();
    let (part, bytes) = (folder.path("rows.csv.part"), fs::read(folder.file()).unwrap());
    fs::write(&part, &bytes[..bytes.len() / 2]).unwrap();
    refuses(&folder, &["--seed=2"], &["it was measured by another plan"]);
    assert!(fs::read(&part).unwrap() == bytes[..bytes.len() / 2]);
    rewrite(&folder.file(), "status", |row, status| if row % 2 == 0 { "crashed" } else { status }.to_owned());
    folder.resume(MOCK, &[]).says(0, &["72 measured"]);
    assert!(fs::read(&part).unwrap() == bytes[..bytes.len() / 2]);
    fs::remove_file(part).unwrap();
    folder.is_whole();
}

// ---- disks ----------------------------------------------------------------------------------------------------------------

/// Runs out of room for its outputs: says which file, fails, and leaves whole rows, with which it can be resumed.
fn runs_out_of_room(folder: &Path, mut command: Command) {
    let (file, samples) = (folder.join("rows.csv"), folder.join("samples.csv"));
    command.args(&*RUN).args(["-q", "--no-lock", "-d", MOCK, "--resume"]).arg(&file);
    ended(&mut command).says(1, &[&format!("error: can't write {}: ", file.display())]);
    let text = fs::read_to_string(&file).unwrap();
    let there = rows(&text).len();
    assert!(text.ends_with('\n') && (1..CASES).contains(&there), "{there} rows");
    fs::remove_file(&file).unwrap();
    // The same for samples.
    command.arg("--samples").arg(&samples).args(["-o", "/dev/null", "--format=jsonl"]);
    ended(&mut command).says(1, &["can't write "]);
    let text = fs::read_to_string(&samples).unwrap();
    assert!(text.ends_with('\n') && csv::Reader::from_reader(text.as_bytes()).records().all(|row| row.is_ok()));
    assert!(fs::read_to_string(&file).unwrap().ends_with('\n'));
    fs::remove_file(&samples).unwrap();
    // Elsewhere there is room.
    let roomy = Folder::new();
    fs::copy(&file, roomy.file()).unwrap();
    roomy.completes(&[]);
}

#[test]
fn a_file_that_may_not_grow_leaves_whole_rows() {
    let folder = Folder::new();
    let mut command = Command::new("bash");
    // Blocks of 1 KiB.
    let script = "trap '' XFSZ; ulimit -f 48; exec \"$0\" \"$@\"";
    command.args(["-c", script, env!("CARGO_BIN_EXE_lanescope")]).stdin(Stdio::null());
    runs_out_of_room(folder.0.path(), command);
}

/// Nor does it lose those of an earlier run, which others were to take the place of.
#[test]
fn a_file_that_may_not_grow_keeps_the_rows_of_an_earlier_run() {
    let folder = Folder::new();
    folder.completes(&[]);
    let cases = || rows_of(&folder.file()).into_iter().map(|row| row.case_id).collect::<BTreeSet<_>>();
    let all = cases();
    rewrite(&folder.file(), "status", |row, status| if row < 80 { "crashed" } else { status }.to_owned());
    let blocks = fs::metadata(folder.file()).unwrap().len() / 1024 + 1;
    let mut command = Command::new("bash");
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_lanescope")]).stdin(Stdio::null());
    command.args(&*RUN).args(["-q", "--no-lock", "-d", MOCK, "-o", "/dev/null", "--format=csv", "--resume"]).arg(folder.file());
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(cases(), all, "{:?} {}", ran.code, ran.err);
    folder.completes(&[]);
}

/// A file system of 64 KiB, which only root may mount.
#[test]
fn a_full_disk_leaves_whole_rows() {
    struct Mounted(tempfile::TempDir);
    impl Drop for Mounted {
        fn drop(&mut self) {
            assert!(Command::new("umount").arg(self.0.path()).status().unwrap().success());
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(folder.path()).output();
    if !mount.as_ref().is_ok_and(|output| output.status.success()) {
        skip!("no file system can be mounted here: {mount:?}");
    }
    let mounted = Mounted(folder);
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanescope"));
    runs_out_of_room(mounted.0.path(), {
        command.stdin(Stdio::null());
        command
    });
}

// ---- samples --------------------------------------------------------------------------------------------------------------

const SAMPLES: &str = "run_id,device_uuid,driver_uuid,case_id,process,round,index,ns,batch\n";

/// A row's samples, by process and round.
type Samples = BTreeMap<(u64, u64), Vec<f64>>;

fn samples(file: &Path) -> BTreeMap<String, Samples> {
    let mut reader = csv::Reader::from_path(file).unwrap();
    let columns = reader.headers().unwrap().iter().collect::<Vec<_>>().join(",");
    assert_eq!(format!("{columns}\n"), SAMPLES);
    let mut all: BTreeMap<String, Samples> = BTreeMap::new();
    for row in reader.records() {
        let row = row.unwrap();
        let [process, round, index] = [4, 5, 6].map(|column: usize| row[column].parse::<u64>().unwrap());
        let of_round = all.entry(row[3].to_owned()).or_default().entry((round, process)).or_default();
        of_round.push(row[7].parse().unwrap());
        assert_eq!(of_round.len() as u64, index, "in order, from 1");
    }
    all
}

#[test]
fn every_sample_can_be_had() {
    let folder = Folder::new();
    let file = folder.path("samples.csv");
    let arguments = ["-d", "mock:noise=0.05", "--format=csv", "--samples", file.to_str().unwrap(), "calibration/timer"];
    let rows = rows(&succeeded(&[&RUN[..], &arguments].concat()).out);
    let samples = samples(&file);
    let measured: Vec<&Record> = rows.iter().filter(|row| row.row_kind == "measured" && row.status == "ok").collect();
    assert_eq!((measured.len(), samples.len()), (CASES + 2, CASES + 2));
    for row in measured {
        let rounds = &samples[&row.case_id];
        assert_eq!(row.samples, Some(rounds.values().map(|samples| samples.len() as u64).sum()));
        assert_eq!(row.rounds, Some(rounds.len() as u64));
        assert_eq!(row.processes, Some(rounds.keys().map(|(_, process)| process).collect::<BTreeSet<_>>().len() as u64));
        let medians: Vec<f64> = rounds.values().map(|samples| lanescope::stats::median(samples)).collect();
        let median = lanescope::stats::median(&medians);
        assert_eq!(row.time_ns.or(row.value), Some(median), "{} {}", row.experiment, row.axis_values);
        let least = rounds.values().flatten().copied().fold(f64::INFINITY, f64::min);
        assert!(row.time_min_ns.is_none_or(|time| time == least));
    }
}

/// A run that was killed while it wrote samples may leave a part of a line: the next one doesn't go on in the middle of it.
#[test]
fn samples_go_on_after_a_kill() {
    let folder = whole();
    folder.change(|lines| lines.into_iter().take(70).map(str::to_owned).collect());
    let file = folder.path("samples.csv");
    fs::write(&file, format!("{SAMPLES}mock,0,0,cold,1,1,1,2.5,16\nmock,0,0,cold,1,1,2,2.")).unwrap();
    folder.resume(MOCK, &["-q", "--samples", file.to_str().unwrap()]).says(0, &[]);
    let samples = samples(&file);
    assert_eq!(samples["cold"], [((1, 1), vec![2.5])].into(), "what is there stays, but for the line that was torn");
    assert_eq!(samples.len(), 1 + CASES - 69);
}
