//! `lanescope tune --resume`: what a search that was broken off has measured stays measured.

// Processes are found in /proc.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use lanescope::record::Record;
use rustix::process::Signal;

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

    fn lines(&self, kind: &str) -> usize {
        self.journal().lines().filter(|line| line.starts_with(&format!("{{\"{kind}\""))).count()
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

    /// Starts a search, and signals it once its journal has so many lines of this kind.
    fn broken_off(more: &[&str], signal: Signal, (kind, count): (&str, usize)) -> (Self, Ran) {
        let folder = Self::new();
        let mut family = Family::start(&mut folder.search(more));
        family.wait_until("enough is measured", |_| folder.lines(kind) >= count);
        family.signal(signal);
        let (_, ran) = family.end();
        (folder, ran)
    }
}

fn cases(rows: &[Record]) -> BTreeSet<&str> {
    rows.iter().map(|row| row.case_id.as_str()).collect()
}

#[test]
fn what_was_measured_before_a_kill_or_an_interrupt_is_not_measured_again() {
    // A search that races, one that looks once, and one that does neither; killed behind a block, and amid the first.
    for (strategy, signal, enough) in [
        (&["--strategy", "exhaustive"][..], Signal::KILL, ("outcome", 100)),
        (&["--strategy", "exhaustive"], Signal::INT, ("visit", 70)),
        (&["--strategy", "hill-climbing", "--budget", "100"], Signal::KILL, ("outcome", 40)),
        (&["--no-race", "--budget", "100"], Signal::INT, ("outcome", 1)),
    ] {
        let what = format!("{strategy:?} {signal:?} {enough:?}");
        let (folder, ran) = Search::broken_off(strategy, signal, enough);
        let hint = format!("the same command with --resume {}", folder.rows_file().display());
        assert!(signal == Signal::KILL || (ran.code == Some(130) && ran.err.contains(&hint)), "{what}: {}", ran.err);
        let (outcomes, visits) = (folder.lines("outcome"), folder.lines("visit"));
        let journal = folder.journal();
        let there = rows_of(&folder.rows_file());
        // As many as it says are tried without being measured.
        let resumed = folder.go_on(strategy).says(0, &[]);
        let said = if outcomes > 0 { " measured" } else { " stopped early" };
        assert!(visits > 0 && resumed.err.contains("going on with") && resumed.err.contains(said), "{what}: {}", resumed.err);
        let rows = rows_of(&folder.rows_file());
        let count = if strategy.contains(&"100") { 100 } else { 256 };
        assert_eq!((rows.len(), cases(&rows).len()), (count, count), "{what}");
        assert!(cases(&there).is_subset(&cases(&rows)), "{what}: rows are gone");
        assert!(rows.iter().all(|row| row.status == "ok" && row.stop != "broken_off"), "{what}");
        // Beaten ones are as they were, and nothing that was visited was begun anew.
        let beaten: Vec<&Record> = there.iter().filter(|row| row.stop == "beaten" && journal.contains(&row.case_id)).collect();
        let is_as_it_was = |row: &&&Record| rows.iter().any(|new| new.case_id == row.case_id && new.time_ns == row.time_ns);
        assert_eq!(beaten.iter().filter(is_as_it_was).count(), beaten.len(), "{what}");
        assert!(!folder.0.path("found.csv.progress").exists(), "{what}: it is whole");
    }
}

#[test]
fn a_search_that_was_broken_off_goes_on_from_its_visits() {
    let arguments = ["--no-race", "--preset", "thorough", "--strategy", "exhaustive"];
    let (folder, _) = Search::broken_off(&arguments, Signal::KILL, ("visit", 100));
    assert_eq!(folder.lines("outcome"), 0, "no block has ended");
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
    let (folder, _) = Search::broken_off(&[], Signal::KILL, ("outcome", 70));
    assert!(!rows_of(&folder.rows_file()).is_empty());
    let (rows, journal) = (fs::read(folder.rows_file()).unwrap(), folder.journal());
    for other in [&["-n", "2048"][..], &["--no-race"], &["-D", "FACTOR=3"], &["--max-noise", "20%"], &["--seed", "2"]] {
        // The last of two counts.
        let arguments: Vec<String> = other.iter().map(ToString::to_string).collect();
        let copy = folder.0.write("copy.comp", COPY);
        let mut command = lanescope(&["tune", &copy, "--no-lock", "-d", "mock", "-a", "local_size_x=1..64"]);
        if !other.contains(&"-n") {
            command.args(["-n", "4096"]);
        }
        command.args(&arguments).arg("--resume").arg(folder.rows_file());
        ended(&mut command).says(2, &["is of a search with another shader"]);
        assert!(fs::read(folder.rows_file()).unwrap() == rows && folder.journal() == journal, "{other:?}");
    }
    // A shader that was changed meanwhile is another one.
    let changed = folder.0.write("copy.comp", COPY.replace("float(FACTOR) * x[i]", "x[i] * float(FACTOR)"));
    let mut command = lanescope(&[&["tune", &changed, "--no-lock"], &SPACE[..]].concat());
    let ran: Ran = command.arg("--resume").arg(folder.rows_file()).output().unwrap().into();
    assert!(ran.code == Some(2) && fs::read(folder.rows_file()).unwrap() == rows, "{}", ran.err);
    // Rows of the user's own are kept beside.
    let text = String::from_utf8(rows).unwrap();
    let [header, first] = [0, 1].map(|line| text.lines().nth(line).unwrap());
    let noted = format!("{header},my_notes\n{first},good\n");
    fs::write(folder.rows_file(), &noted).unwrap();
    folder.go_on(&few).says(0, &["as it was, it is kept in"]);
    assert_eq!(fs::read_to_string(folder.0.path("found.csv.bak")).unwrap(), noted);
    // What came to its end has nothing to go on from.
    let rows = fs::read(folder.rows_file()).unwrap();
    folder.go_on(&[]).says(2, &["of a search that came to its end"]);
    assert_eq!(fs::read(folder.rows_file()).unwrap(), rows);
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
