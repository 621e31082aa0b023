//! When an answer of `lanescope tune` counts as confirmed, and that the bench that asks so reads what the command says.

use lanescope::model::Status;
use lanescope::record::Record;

use crate::support::confirmed::{Configuration, Effort, Verdict, best, confirm, count};
use crate::support::{Folder, ran, rows_of};

/// A row of a configuration; its interval where there is one.
fn row(size: u64, status: &str, stop: &str, time: f64, interval: Option<(f64, f64)>) -> Record {
    Record {
        status: status.to_owned(),
        stop: stop.to_owned(),
        time_ns: (status == "ok").then_some(time),
        ci_low_ns: interval.map(|(low, _)| low),
        ci_high_ns: interval.map(|(_, high)| high),
        by_axis: at(size),
        ..Record::new()
    }
}

fn at(size: u64) -> Configuration {
    [("local_size_x".to_owned(), size.into())].into()
}

/// The best is 32, whose interval is [99, 102].
fn thorough() -> Vec<Record> {
    vec![
        row(8, "ok", "precise", 100.5, Some((98.0, 103.0))),
        row(16, "wrong_result", "", 50.0, None),
        row(32, "ok", "precise", 100.0, Some((99.0, 102.0))),
        row(64, "ok", "stable", 102.0, Some((101.5, 103.0))),
        row(128, "ok", "stable", 104.0, Some((102.0, 106.0))),
        row(256, "ok", "budget", 104.0, Some((102.1, 106.0))),
        row(512, "ok", "budget", 102.1, None),
        row(1024, "ok", "beaten", 10.0, Some((9.0, 11.0))),
    ]
}

#[test]
fn an_answer_is_confirmed_up_to_where_the_intervals_part() {
    let verdict = |size: u64| confirm(&at(size), &thorough()).unwrap().verdict;
    assert_eq!([32, 8, 64].map(verdict), [Verdict::Same, Verdict::Within, Verdict::Within]);
    assert_eq!(verdict(128), Verdict::Tied);
    assert_eq!([256, 512].map(verdict), [Verdict::Slower, Verdict::Slower]);
    assert!([32, 8, 64, 128].map(verdict).iter().all(Verdict::is_confirmed));
    assert!(![256, 512, 16, 3].map(verdict).iter().any(Verdict::is_confirmed));
    let over = confirm(&at(256), &thorough()).unwrap().over().unwrap();
    assert!((over - 1.04).abs() < 1e-12);
}

#[test]
fn intervals_that_hold_anything_confirm_nothing() {
    let with = |own: Record, best: (f64, f64)| {
        let rows = [own, row(32, "ok", "stable", 100.0, Some(best))];
        confirm(&at(64), &rows).unwrap().verdict
    };
    let own = |low, time, high| row(64, "ok", "stable", time, Some((low, high)));
    // The best's, which would hold its time or reach it; one that lies above all of it is slower nevertheless.
    assert_eq!(with(own(110.0, 111.0, 112.0), (80.0, 121.0)), Verdict::Vague);
    assert_eq!(with(own(120.0, 125.0, 130.0), (80.0, 121.0)), Verdict::Vague);
    assert_eq!(with(own(122.0, 125.0, 130.0), (80.0, 121.0)), Verdict::Slower);
    // Its own, where that alone reaches down.
    assert_eq!(with(own(99.0, 150.0, 160.0), (98.0, 102.0)), Verdict::Vague);
    assert_eq!(with(own(50.0, 101.0, 160.0), (98.0, 102.0)), Verdict::Within);
    assert_eq!(with(own(102.0, 110.0, 112.0), (98.0, 102.0)), Verdict::Tied);
    assert!(!Verdict::Vague.is_confirmed());
}

#[test]
fn what_fails_or_is_missing_in_the_thorough_run_confirms_nothing() {
    for (size, part) in [(16, "wrong_result"), (3, "never tried")] {
        let Verdict::Failed(reason) = confirm(&at(size), &thorough()).unwrap().verdict else { panic!("{size}") };
        assert!(reason.contains(part), "{reason}");
    }
    assert!(confirm(&at(32), &thorough()[1..2]).is_err());
    assert_eq!(count(&thorough(), Status::WrongResult), 1);
}

#[test]
fn the_best_is_the_fastest_of_those_measured_to_the_end() {
    assert_eq!(best(&thorough()).unwrap().0, at(32));
    // Of rows of one configuration the last counts.
    let mut again = thorough();
    again.push(row(32, "ok", "precise", 200.0, Some((199.0, 201.0))));
    assert_eq!(best(&again).unwrap().0, at(8));
    // Where none was measured to the end, the fastest of all.
    assert_eq!(best(&thorough()[7..]).unwrap().0, at(1024));
    assert!(best(&thorough()[1..2]).is_none());
}

#[test]
fn the_command_says_what_the_bench_reads() {
    let folder = Folder::new();
    let shaders = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tune");
    let tuned = |name: &str, flags: &[&str]| {
        let (manifest, out) = (format!("{shaders}/{name}.toml"), folder.path(&format!("{name}.csv")));
        let common = ["tune", "--manifest", &manifest, "-d", "mock", "--no-lock", "-o", out.to_str().unwrap()];
        let ran = ran(&[&common, flags].concat()).says(0, &[]);
        let rows = rows_of(&out);
        (Effort::read(&(ran.out + &ran.err)).unwrap(), rows)
    };
    for (name, n) in [("transpose", "4096"), ("tiled", "4096"), ("matmul", "32"), ("reduce", "4096"), ("blur", "4096")] {
        let (effort, rows) = tuned(name, &["-n", n, "--budget", "6", "--strategy", "exhaustive", "--preset", "quick"]);
        assert_eq!((effort.tried, rows.len()), (6, 6), "{name}");
        assert!(effort.configurations > effort.tried && effort.samples > effort.tried, "{name}: {effort:?}");
        assert!(effort.gain.is_some_and(|gain| gain > 0.0), "{name}: {effort:?}");
        assert!(best(&rows).is_some());
    }
    assert!(Effort::read("Best: local_size_x=3").is_err());
}
