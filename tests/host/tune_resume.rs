//! `lanescope tune --resume`: what a search that was broken off has measured stays measured.

// Processes are found in /proc.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Instant;

use lanescope::record::{Reader, Record};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::Signal;

use crate::support::form::{Form, form};
use crate::support::processes::Family;
use crate::support::tunings::COPY;
use crate::support::{Folder, Ran, ended, lanescope, rows_of};

/// 256 configurations, in blocks of 63.
const SPACE: [&str; 8] = ["-d", "mock", "-n", "4096", "-a", "local_size_x=1..64", "-D", "FACTOR=2,2.0,2.00,2.000"];

struct Search(Folder);

impl Search {
    fn new() -> Self {
        Self(Folder::new())
    }

    fn rows_file(&self) -> PathBuf {
        self.0.path("found.csv")
    }

    fn journal(&self) -> String {
        fs::read_to_string(self.0.path("found.csv.progress")).unwrap_or_default()
    }

    /// How many visits its journal has, or how many rows its file.
    fn count(&self, of: Progress) -> usize {
        match of {
            Progress::Visits => self.journal().lines().filter(|line| line.starts_with("{\"visit\"")).count(),
            Progress::Rows => fs::read_to_string(self.rows_file()).map_or(0, |text| text.lines().count().saturating_sub(1)),
        }
    }

    fn search(&self, more: &[&str]) -> Command {
        let copy = self.0.write("copy.comp", COPY);
        let mut command = lanescope(&[&["tune", &copy, "--no-lock"], &SPACE[..], more].concat());
        command.arg("--resume").arg(self.rows_file());
        command
    }

    fn go_on(&self, more: &[&str]) -> Ran {
        self.search(more).output().unwrap().into()
    }

    /// Starts a search, and signals it once it has so many of these.
    fn broken_off(more: &[&str], signal: Signal, (of, count): (Progress, usize)) -> (Self, Ran) {
        let folder = Self::new();
        let mut family = Family::start(&mut folder.search(more));
        family.wait_until("enough is measured", |_| folder.count(of) >= count);
        family.signal(signal);
        let (_, ran) = family.end();
        (folder, ran)
    }

    /// The cases that have rows: of a killed search, the last one may be torn.
    fn cases(&self) -> BTreeSet<String> {
        let rows = Reader::open(&self.rows_file()).into_iter().flatten().filter_map(Result::ok);
        rows.map(|row| row.case_id).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Progress {
    Visits,
    Rows,
}

fn cases(rows: &[Record]) -> BTreeSet<&str> {
    rows.iter().map(|row| row.case_id.as_str()).collect()
}

#[test]
fn what_was_measured_before_a_kill_or_an_interrupt_is_not_measured_again() {
    // A search that races, one that looks once, and one that does neither; killed behind a block, and amid the first.
    for (strategy, signal, enough) in [
        (&["--strategy", "exhaustive"][..], Signal::KILL, (Progress::Rows, 100)),
        (&["--strategy", "exhaustive"], Signal::INT, (Progress::Visits, 70)),
        (&["--strategy", "hill-climbing", "--budget", "100"], Signal::KILL, (Progress::Rows, 40)),
        (&["--no-race", "--budget", "100"], Signal::INT, (Progress::Rows, 1)),
    ] {
        let what = format!("{strategy:?} {signal:?} {enough:?}");
        let (folder, ran) = Search::broken_off(strategy, signal, enough);
        let hint = format!("the same command with --resume {}", folder.rows_file().display());
        assert!(signal == Signal::KILL || (ran.code == Some(130) && ran.err.contains(&hint)), "{what}: {}", ran.err);
        let there: Vec<Record> = Reader::open(&folder.rows_file()).unwrap().filter_map(Result::ok).collect();
        let resumed = folder.go_on(strategy);
        // On a busy machine it may be that nothing can be told.
        assert!(matches!(resumed.code, Some(0 | 3)), "{what}: {}", resumed.err);
        let finished = there.iter().filter(|row| row.stop != "broken_off").count();
        let said = format!("{finished} row");
        assert!(resumed.err.contains(&said), "{what}: {}", resumed.err);
        let rows = rows_of(&folder.rows_file());
        let count = if strategy.contains(&"100") { 100 } else { 256 };
        assert_eq!((rows.len(), cases(&rows).len()), (count, count), "{what}");
        assert!(cases(&there).is_subset(&cases(&rows)), "{what}: rows are gone");
        assert!(rows.iter().all(|row| row.status == "ok" && row.stop != "broken_off"), "{what}");
        // Beaten ones are as they were, and nothing that was visited was begun anew.
        let mut beaten = there.iter().filter(|row| row.stop == "beaten");
        let is_as_it_was = |row: &Record| rows.iter().any(|new| new.case_id == row.case_id && new.time_ns == row.time_ns);
        assert!(beaten.all(is_as_it_was), "{what}");
        assert!(!folder.0.path("found.csv.progress").exists(), "{what}: it is whole");
    }
}

/// Kills and interrupts searches at random moments, again and again: no row is ever lost, and the answer is the one of a search that
/// nobody disturbed. LANESCOPE_TEST_SEED picks other moments.
#[test]
fn a_search_that_is_stopped_at_random_loses_no_row() {
    // On the mock device, more bytes take longer, and a workgroup of fewer than 32 leaves lanes idle.
    let arguments = ["--strategy", "exhaustive", "--bytes", "4000 * local_size_x * local_size_x"];
    let undisturbed = Search::new();
    let began = Instant::now();
    let best = |ran: &Ran| {
        ran.err.lines().find(|line| line.starts_with("Best: ")).and_then(|line| line.split(',').next()).map(str::to_owned)
    };
    let expected = best(&undisturbed.go_on(&arguments).says(0, &[])).unwrap();
    let usual = began.elapsed();
    assert_eq!(expected, "Best: local_size_x=1");
    let stops = match form() {
        Form::Quick => 4,
        Form::Short => 10,
        Form::Full => 40,
    };
    let mut random = ChaCha8Rng::seed_from_u64(std::env::var("LANESCOPE_TEST_SEED").map_or(1, |seed| seed.parse().unwrap()));
    let (mut folder, mut there, mut lost) = (Search::new(), BTreeSet::new(), 0);
    for stop in 0..stops {
        let mut family = Family::start(&mut folder.search(&arguments));
        thread::sleep(usual.mul_f64(random.random_range(0.0..0.8)));
        if family.is_running() {
            family.signal(if random.random_bool(0.5) { Signal::KILL } else { Signal::INT });
        }
        family.end();
        let now = folder.cases();
        lost += there.difference(&now).count();
        assert!(now.is_superset(&there), "stop {stop}: {} rows are gone", there.difference(&now).count());
        there = now;
        // With a journal or without.
        if random.random_bool(0.3) {
            let _ = fs::remove_file(folder.0.path("found.csv.progress"));
        }
        if random.random_bool(0.3) {
            let ran = folder.go_on(&arguments).says(0, &[]);
            assert_eq!((best(&ran).unwrap(), folder.cases().len()), (expected.clone(), 256), "stop {stop}");
            (folder, there) = (Search::new(), BTreeSet::new());
        }
    }
    let ran = folder.go_on(&arguments).says(0, &[]);
    assert_eq!((best(&ran).unwrap(), folder.cases().len(), lost), (expected, 256, 0));
}

#[test]
fn a_larger_budget_goes_on_and_so_does_one_that_was_spent() {
    let folder = Search::new();
    folder.go_on(&["--budget", "16"]).says(0, &["16 of 256 configurations tried"]);
    let few = folder.cases();
    folder.go_on(&["--budget", "40"]).says(0, &["16 rows are kept", "40 of 256 configurations tried"]);
    let more = folder.cases();
    assert!(more.len() == 40 && more.is_superset(&few));
    // Nobody's host stays in rows that are to name none.
    folder.go_on(&["--budget", "40", "--anonymous"]).says(0, &["40 rows are kept"]);
    assert!(rows_of(&folder.rows_file()).iter().all(|row| row.host.is_empty()));
    // The same once more, and one that wants fewer: the answer is from all rows.
    for budget in ["40", "3"] {
        folder.go_on(&["--budget", budget]).says(0, &["40 rows are kept", "40 of 256 configurations tried"]);
        assert_eq!(folder.cases(), more);
    }
}

/// A search that goes on and is killed leaves the rows of the earlier one beside its own: the later one of a case counts, and no copy
/// of the file is kept for the other.
#[test]
fn rows_that_a_killed_search_left_twice_are_nothing_to_speak_of() {
    let folder = Search::new();
    folder.go_on(&["--budget", "16"]).says(0, &[]);
    let text = fs::read_to_string(folder.rows_file()).unwrap();
    let (_, rows) = text.split_once('\n').unwrap();
    fs::write(folder.rows_file(), format!("{text}{rows}")).unwrap();
    let ran = folder.go_on(&["--budget", "16"]).says(0, &["16 rows are kept", "16 of 256 configurations tried"]);
    assert!(!ran.err.contains("another row"), "{}", ran.err);
    assert_eq!((rows_of(&folder.rows_file()).len(), folder.0.path("found.csv.bak").exists()), (16, false));
}

#[test]
fn a_search_that_was_broken_off_goes_on_from_its_visits() {
    let arguments = ["--no-race", "--preset", "thorough", "--strategy", "exhaustive"];
    let (folder, _) = Search::broken_off(&arguments, Signal::KILL, (Progress::Visits, 100));
    assert_eq!(folder.count(Progress::Rows), 0, "no block has ended");
    let visited: BTreeSet<String> = folder
        .journal()
        .lines()
        .skip(1)
        .map_while(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .map(|line| line["visit"]["case_id"].as_str().unwrap().to_owned())
        .collect();
    folder.go_on(&[&arguments[..], &["--budget", "63"]].concat()).says(0, &[]);
    let of_both: BTreeSet<String> =
        rows_of(&folder.rows_file()).into_iter().filter(|row| row.processes > Some(1)).map(|row| row.case_id).collect();
    // Those within reach of the best, 15 at most, and the default are measured anew beside each other.
    assert!(of_both.is_subset(&visited), "the visits of both runs are in no other rows");
    assert!(of_both.len() + 16 >= visited.len(), "{} of {}", of_both.len(), visited.len());
}

#[test]
fn only_what_a_search_left_goes_on_and_no_row_is_overwritten() {
    let few = ["--budget", "3"];
    let (folder, _) = Search::broken_off(&[], Signal::KILL, (Progress::Rows, 70));
    assert!(!rows_of(&folder.rows_file()).is_empty());
    let (rows, journal) = (fs::read(folder.rows_file()).unwrap(), folder.journal());
    let copy = folder.0.write("copy.comp", COPY);
    for (other, said) in [
        (&["-n", "2048", "-D", "FACTOR=2,2.0,2.00,2.000"][..], "it is of a search with another shader"),
        (&["-n", "4096", "-D", "FACTOR=2,2.0,2.00,2.000", "--seed", "2"], "it is of a search with another shader"),
        (&["-n", "4096", "-D", "FACTOR=2,2.0,2.00,3"], "it is of a search with another shader"),
        (&["-n", "4096", "-D", "FACTOR=3"], "this run doesn't write the column `def_FACTOR`"),
    ] {
        let mut command = lanescope(&[&["tune", &copy, "--no-lock", "-d", "mock", "-a", "local_size_x=1..64"], other].concat());
        command.arg("--resume").arg(folder.rows_file());
        assert_eq!(ended(&mut command).code, Some(2), "{other:?}");
        assert!(fs::read(folder.rows_file()).unwrap() == rows && folder.journal() == journal, "{other:?}");
        // By its rows alone.
        let progress = folder.0.path("found.csv.progress");
        fs::rename(&progress, folder.0.path("away")).unwrap();
        ended(&mut command).says(2, &["found.csv", said]);
        assert!(fs::read(folder.rows_file()).unwrap() == rows, "{other:?}");
        fs::rename(folder.0.path("away"), &progress).unwrap();
    }
    // A shader that was changed meanwhile is another one.
    let changed = folder.0.write("copy.comp", COPY.replace("float(FACTOR) * x[i]", "x[i] * float(FACTOR)"));
    let mut command = lanescope(&[&["tune", &changed, "--no-lock"], &SPACE[..]].concat());
    let ran: Ran = command.arg("--resume").arg(folder.rows_file()).output().unwrap().into();
    assert!(ran.code == Some(2) && fs::read(folder.rows_file()).unwrap() == rows, "{}", ran.err);
    // A column of the user's own would be empty in new rows.
    let text = String::from_utf8(rows).unwrap();
    let [header, first] = [0, 1].map(|line| text.lines().nth(line).unwrap());
    let noted = format!("{header},my_notes\n{first},good\n");
    fs::write(folder.rows_file(), &noted).unwrap();
    folder.go_on(&few).says(2, &["`my_notes`: take it out"]);
    assert_eq!(fs::read_to_string(folder.rows_file()).unwrap(), noted);
    // Nor is a row taken that no search wrote.
    let changed = first.replace(",ok,", ",fine,");
    fs::write(folder.rows_file(), format!("{header}\n{changed}\n")).unwrap();
    folder.go_on(&few).says(2, &["`fine` is none that a case can have; no run wrote this row"]);
    // What isn't there, or has no row, is begun.
    for text in [None, Some(""), Some(header)] {
        let new = Search::new();
        text.into_iter().for_each(|text| fs::write(new.rows_file(), text).unwrap());
        let ran = new.go_on(&few);
        assert_eq!((ran.code, rows_of(&new.rows_file()).len()), (Some(0), 3), "{}", ran.err);
    }
    let copy = folder.0.write("copy.comp", COPY);
    ended(&mut lanescope(&["tune", &copy, "-d", "mock", "--resume", "found.jsonl"])).says(2, &["only CSV can be resumed"]);
}

#[test]
fn a_row_gives_way_to_none_that_says_less_and_another_devices_is_refused() {
    let folder = Search::new();
    let search = |device: &str, shader: &str| -> Ran {
        let copy = folder.0.write("copy.comp", shader);
        let arguments =
            ["tune", &copy, "--no-lock", "-d", device, "-n", "4096", "-a", "local_size_x=32,64", "-D", "FACTOR=2,3"];
        let mut command = lanescope(&arguments);
        command.arg("--resume").arg(folder.rows_file()).output().unwrap().into()
    };
    search("mock", COPY);
    let rows = rows_of(&folder.rows_file());
    assert!(rows.len() == 4 && rows.iter().all(|row| row.time_ns.is_some()));
    // A device that is lost when they are measured once more.
    let lost = search("mock:lost=tune/copy*local_size_x=32*", COPY);
    assert!(lost.err.contains("its row stays as it was measured before"), "{}", lost.err);
    let after = rows_of(&folder.rows_file());
    assert!(after.len() == 4 && after.iter().all(|row| row.status == rows[0].status && row.time_ns.is_some()), "{after:?}");
    // Code that one value of a macro has alone.
    let text = fs::read(folder.rows_file()).unwrap();
    let changed =
        COPY.replace("void main", "#if FACTOR == 3\n#define x(i) x[i] * 2\n#else\n#define x(i) x[i]\n#endif\nvoid main");
    let changed = changed.replace("* x[i]", "* x(i)");
    search("mock", &changed).says(2, &["it is of a search with another shader"]);
    let uuid = "00000000-0000-0000-0000-000000000000";
    let other = String::from_utf8(text.clone()).unwrap().replacen(uuid, &uuid.replacen('0', "9", 1), 1);
    fs::write(folder.rows_file(), &other).unwrap();
    search("mock", COPY).says(2, &["which this search doesn't measure on"]);
    assert_eq!(fs::read_to_string(folder.rows_file()).unwrap(), other);
}
