//! `run --cases`: what rows name is measured again, whichever run they are from.

use std::collections::BTreeSet;

use lanescope::record::Record;

use crate::support::{Folder, measured, ran, rows, rows_of, succeeded};

/// A file with as much of these rows as makes them again, and a column of somebody else's.
fn listing<'r>(rows: impl IntoIterator<Item = &'r Record>) -> String {
    let line = |row: &Record| {
        let Record { case_id, axis_values, cache, variant, experiment, .. } = row;
        format!("\"why, indeed\",{case_id},{axis_values},{cache},{variant},{experiment}\n")
    };
    let lines: String = rows.into_iter().map(line).collect();
    format!("mine,case_id,axis_values,cache,variant,experiment\n{lines}")
}

#[test]
fn rows_are_measured_again_whichever_run_they_are_from() {
    let folder = Folder::new();
    let short = ["-d", "mock:core_mhz=1500", "--max-time", "20ms"];
    let run = |arguments: &[&str]| measured(&[arguments, &short].concat());
    let mut some = run(&["calibration/*", "workgroup/linear", "--preset", "quick"]);
    some.extend(run(&["memory/stream", "-a", "n=12288,4096", "-a", "width=1", "-a", "op=read,copy"]));
    // Figures that follow from others are no cases.
    let some: Vec<Record> = some.into_iter().filter(|row| row.row_kind == "measured").rev().collect();
    let file = folder.write("some.csv", listing(&some));
    let ids = |rows: &[Record]| -> BTreeSet<String> {
        rows.iter().filter(|row| row.row_kind != "derived").map(|row| row.case_id.clone()).collect()
    };
    let again = run(&["--preset", "study", "--cases", &file]);
    assert_eq!(ids(&again), ids(&some));
    let cases: Vec<&Record> = again.iter().filter(|row| row.row_kind == "measured").collect();
    for (place, row) in (0..).zip(&cases) {
        assert_eq!((row.plan_index, row.plan_cases), (Some(place), Some(some.len() as u64)), "{}", row.axis_values);
        assert!(row.status == "ok" && row.processes == Some(6) && row.plan_id == cases[0].plan_id);
    }
    // In the catalogue's order, bases first, whatever the file's is.
    let first = cases.iter().find(|row| row.experiment == "memory/stream").unwrap();
    assert!(first.axis_values.contains("n=4096"), "{}", first.axis_values);
    let turned = folder.write("turned.csv", listing(some.iter().rev()));
    let planned = run(&["--dry-run", "--cases", &turned]);
    assert_eq!(
        planned.iter().map(|row| (&row.case_id, &row.plan_id)).collect::<Vec<_>>(),
        cases.iter().map(|row| (&row.case_id, &row.plan_id)).collect::<Vec<_>>()
    );
    // In parts as well, and after an interruption.
    let part = |part: &str| {
        let path = folder.path(&format!("{}.csv", part.replace('/', "-"))).display().to_string();
        succeeded(&[&["run", "--cases", &file, "--shard", part, "-o", &path], &short[..]].concat());
        path
    };
    let parts = [part("1/2"), part("2/2")];
    let merged = succeeded(&["merge", &parts[0], &parts[1], "--format", "csv"]);
    assert_eq!(ids(&rows(&merged.out)), ids(&some));
    let resumed = succeeded(&[&["run", "--cases", &file, "--resume", &parts[0]], &short[..]].concat());
    assert!(resumed.err.contains("rows are kept"), "{}", resumed.err);
    assert_eq!(ids(&rows_of(&folder.path("1-2.csv"))), ids(&some));
}

#[test]
fn rows_that_are_no_cases_of_this_run_are_refused() {
    let folder = Folder::new();
    let rows = measured(&["workgroup/linear", "-d", "mock", "--dry-run"]);
    let refused = |name: &str, rows: &[Record], more: &[&str], words: &str| {
        let file = folder.write(name, listing(rows));
        ran(&[&["run", "-d", "mock", "--cases", &file], more].concat()).refuses(&[&format!("{name}, line 3: "), words]);
    };
    let with = |change: &dyn Fn(&mut Record)| {
        let mut rows = rows.clone();
        rows[1..3].iter_mut().for_each(change);
        rows
    };
    let tuned = with(&|row| row.experiment = "tune/blur".to_owned());
    refused("tuned.csv", &tuned, &[], "tune/blur local_size_x=");
    refused("tuned.csv", &tuned, &[], "measure it with `lanescope tune` (2 of 11 rows can't be measured)");
    let other = with(&|row| row.case_id = row.case_id.replace(['0', '1'], "2"));
    refused("other.csv", &other, &[], "the experiment changed since it was written");
    let mut cold = rows.clone();
    cold[1] = measured(&["workgroup/linear", "-d", "mock", "--dry-run", "--cold"])[1].clone();
    refused("cold.csv", &cold, &[], "give --cold");
    // What says what to measure isn't overwritten.
    let file = folder.write("rows.csv", listing(&rows));
    for flag in ["-o", "--resume"] {
        ran(&["run", "-d", "mock", "--cases", &file, flag, &file]).says(2, &["holds the cases: name another file for --"]);
    }
    // With a filter, its cases are a part of that one's, as those of a list of ids are.
    ran(&["run", "workgroup/linear", "-a", "n=4096", "-d", "mock", "--cases", &file]).says(2, &["or no filter and no axis"]);
}

/// Rows that were recorded on a larger device: what this one can't run is skipped, and nothing else is measured.
#[test]
fn rows_of_another_device_are_measured_as_far_as_this_one_can() {
    let large = "tests/data/nvidia-h100-default.csv";
    let found = measured(&["--dry-run", "--cases", large, "-d", "mock"]);
    let skipped: Vec<&Record> = found.iter().filter(|row| row.status == "skipped").collect();
    assert!(!skipped.is_empty() && skipped.len() < found.len() && skipped.iter().all(|row| !row.reason.is_empty()));
    let expected: BTreeSet<String> =
        rows_of(large.as_ref()).into_iter().filter(|row| row.row_kind == "measured").map(|row| row.case_id).collect();
    assert_eq!(found.iter().map(|row| row.case_id.clone()).collect::<BTreeSet<_>>(), expected);
}
