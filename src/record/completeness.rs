//! Of several rows of one case: which one stands.

use std::cmp::Ordering;

use super::Record;
use crate::model::{Flag, Status, Stop};

/// How far a case got. More supersedes less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Completeness {
    /// By a dry run: it would be measured.
    Planned,
    /// The device could not be opened or calibrated; nothing was tried.
    NotRun,
    /// It failed in a way that another try may mend.
    Failed,
    /// Its measuring was broken off before it had as many rounds as an interval needs.
    Begun,
    /// It has figures, or can have none.
    Finished,
}

impl Completeness {
    pub fn from_row(row: &Record) -> Self {
        match Status::named(&row.status) {
            Some(Status::Planned) => Self::Planned,
            Some(Status::NotRun) => Self::NotRun,
            Some(Status::Timeout | Status::Crashed | Status::DeviceLost | Status::OutOfMemory | Status::Error) => Self::Failed,
            Some(Status::Ok) if row.stop == Stop::BrokenOff.as_str() => Self::Begun,
            // A status that only a newer version knows stands as it is.
            Some(Status::Ok | Status::Skipped | Status::WrongResult | Status::CompileError) | None => Self::Finished,
        }
    }

    /// Whether the case was tried at all: else its row fills no gap.
    pub fn is_tried(self) -> bool {
        self > Self::NotRun
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    First,
    Second,
    /// Both are results, and not the same.
    Conflict,
}

/// Chooses between two rows of one case. Of two without figures that say the same, the later stands: the one of a run is later
/// than that of a dry run.
pub fn choose(first: &Record, second: &Record) -> Choice {
    let [one, two] = [first, second].map(Completeness::from_row);
    match one.cmp(&two) {
        Ordering::Greater => return Choice::First,
        Ordering::Less => return Choice::Second,
        Ordering::Equal => {}
    }
    let has_figures = [first, second].iter().any(|row| row.status == Status::Ok.as_str());
    if one < Completeness::Finished || (first.status == second.status && !has_figures) {
        // As text: RFC 3339 in UTC sorts by time.
        return if second.written_at > first.written_at { Choice::Second } else { Choice::First };
    }
    if is_same_measurement(first, second) { Choice::First } else { Choice::Conflict }
}

/// Whether two rows differ at most in what an earlier merge may have said of one of them, or left out.
fn is_same_measurement(first: &Record, second: &Record) -> bool {
    let differ_in_doubt = first.is_implausible() != second.is_implausible();
    // What only one of them has, the other was written without.
    let keep = |row: &Record, other: &Record| {
        let mut own = row.clone();
        own.keep_known(other);
        own
    };
    let own = |row: &Record, other: &Record| {
        let mut own = Record { relative: None, relative_to: String::new(), ..keep(row, other) };
        if differ_in_doubt {
            own.reason.clear();
            let others = row.quality_flags.split(';').filter(|flag| *flag != Flag::Implausible.name());
            own.quality_flags = others.collect::<Vec<_>>().join(";");
        }
        own
    };
    own(first, second) == own(second, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(status: &str, reason: &str, written_at: &str) -> Record {
        let (status, reason, written_at) = (status.to_owned(), reason.to_owned(), written_at.to_owned());
        Record { status, reason, written_at, ..Record::new() }
    }

    #[test]
    fn a_finished_row_stands_against_all_others() {
        let ladder = [
            row("planned", "", "4"),
            row("not_run", "error: no device", "3"),
            row("timeout", "after 5 s", "2"),
            Record { stop: "broken_off".to_owned(), ..row("ok", "", "5") },
            row("ok", "", "1"),
        ];
        for (i, less) in ladder.iter().enumerate() {
            for more in &ladder[i + 1..] {
                assert_eq!((choose(less, more), choose(more, less)), (Choice::Second, Choice::First), "{}", more.status);
            }
        }
        assert!(ladder.iter().map(|row| Completeness::from_row(row).is_tried()).eq([false, false, true, true, true]));
    }

    #[test]
    fn every_status_has_its_standing() {
        let completeness = |status: Status| Completeness::from_row(&row(status.as_str(), "", ""));
        for status in Status::ALL {
            let mendable = ["timeout", "crashed", "device_lost", "out_of_memory", "error"].contains(&status.as_str());
            assert_eq!(completeness(status) == Completeness::Failed, mendable, "{status}");
        }
    }

    #[test]
    fn of_two_tries_without_figures_the_later_stands() {
        for (status, other) in
            [("timeout", "crashed"), ("planned", "planned"), ("skipped", "skipped"), ("wrong_result", "wrong_result")]
        {
            let [early, late] = [row(status, "a", "2026-01-01T00:00:00Z"), row(other, "b", "2026-01-01T00:00:01Z")];
            assert_eq!((choose(&early, &late), choose(&late, &early)), (Choice::Second, Choice::First), "{status}");
            assert_eq!(choose(&early, &early), Choice::First);
        }
    }

    #[test]
    fn results_that_differ_are_a_conflict() {
        let ok = |value: f64| Record { value: Some(value), ..row("ok", "", "1") };
        assert_eq!(choose(&ok(1.0), &ok(1.0)), Choice::First);
        assert_eq!(choose(&ok(1.0), &ok(2.0)), Choice::Conflict);
        assert_eq!(choose(&ok(1.0), &Record { run_id: "r2".to_owned(), ..ok(1.0) }), Choice::Conflict, "measured twice");
        for other in ["skipped", "wrong_result", "compile_error"] {
            assert_eq!(choose(&ok(1.0), &row(other, "", "2")), Choice::Conflict, "{other}");
            assert_eq!(choose(&row(other, "", "2"), &ok(1.0)), Choice::Conflict, "{other}");
        }
        assert_eq!(choose(&row("skipped", "", "1"), &row("wrong_result", "", "2")), Choice::Conflict);
    }

    #[test]
    fn what_a_merge_added_is_no_difference() {
        let shard = Record {
            value: Some(1.0),
            quality_flags: "noisy;quirk:a".to_owned(),
            relative_to: "c1".to_owned(),
            ..row("ok", "", "1")
        };
        let mut merged = Record { relative: Some(0.5), ..shard.clone() };
        assert_eq!(choose(&shard, &merged), Choice::First);
        merged.doubt("more work can't be faster");
        assert_eq!((choose(&shard, &merged), choose(&merged, &shard)), (Choice::First, Choice::First));
        assert_eq!(choose(&shard, &Record { quality_flags: "quirk:a".to_owned(), ..merged }), Choice::Conflict);
    }
}
