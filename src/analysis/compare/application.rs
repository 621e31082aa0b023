//! What the kernels of an application take on both sides: engines choose other kernels on other devices.

use super::sides::SideCase;

/// What all calls of an application's kernels take: ns, by side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Application {
    pub all: [f64; 2],
    /// Of the kernels that both sides have.
    pub matched: [f64; 2],
}

impl Application {
    /// Nothing where no row is of an application.
    pub(super) fn of(pairs: &[[Option<&SideCase>; 2]]) -> Option<Self> {
        let mut new = Self::default();
        for pair in pairs {
            let times = pair.map(|case| case.and_then(time));
            for (side, time) in times.iter().enumerate() {
                let time = time.unwrap_or(0.0);
                new.all[side] += time;
                new.matched[side] += if times.iter().all(Option::is_some) { time } else { 0.0 };
            }
        }
        new.all.iter().any(|time| *time > 0.0).then_some(new)
    }
}

/// What all calls take in a run; of several runs, on average.
fn time(case: &SideCase) -> Option<f64> {
    let times: Vec<f64> = case.rows.iter().filter_map(|row| row.calls_time()).collect();
    (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::{Sides, Terms, compare};
    use crate::record::{MEASURED, Record};

    fn row(case: &str, run: &str, calls_time: f64) -> Record {
        Record {
            experiment: "capture/kernels".to_owned(),
            variant: case.to_owned(),
            case_id: case.to_owned(),
            status: "ok".to_owned(),
            row_kind: MEASURED.to_owned(),
            cache: "warm".to_owned(),
            run_id: run.to_owned(),
            unit: "ns".to_owned(),
            metric: "time".to_owned(),
            better: "lower".to_owned(),
            value: Some(100.0),
            time_ns: Some(100.0),
            round_medians_ns: "1:99;1:100;1:101".to_owned(),
            calls: Some(3),
            calls_time_ns: Some(calls_time),
            ..Record::new()
        }
    }

    #[test]
    fn what_both_sides_have_is_told_of_their_time() {
        let base = [row("a", "one", 300.0), row("b", "one", 100.0)];
        let new = [row("a", "two", 300.0), row("c", "two", 200.0)];
        let sides = Sides::of_records([("base", &base[..]), ("new", &new[..])]).unwrap();
        let comparison = compare(&sides, &Terms::default()).unwrap().remove(0);
        assert_eq!(comparison.application, Some(Application { all: [400.0, 500.0], matched: [300.0, 300.0] }));
    }

    /// Few calls may take the same to the tick in two runs: only rows of one run are one row.
    #[test]
    fn rows_of_two_runs_are_never_one() {
        let warnings = |run: &str| {
            let (base, new) = ([row("a", "one", 300.0)], [row("a", run, 300.0)]);
            let sides = Sides::of_records([("base", &base[..]), ("new", &new[..])]).unwrap();
            compare(&sides, &Terms::default()).unwrap().remove(0).warnings
        };
        assert!(warnings("two").is_empty(), "{:?}", warnings("two"));
        assert!(warnings("one").concat().contains("some rows are the same on both sides"), "{:?}", warnings("one"));
    }
}
