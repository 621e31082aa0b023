//! Whether a row can be what a run wrote: figures are there and fit each other.

use std::collections::BTreeSet;

use super::Record;
use super::rounds::listed_rounds;
use super::schema::{COLUMNS, Use};
use crate::model::{Flag, Status};
use crate::stats;

/// Two figures of one row differ by no more than what rounding leaves.
const ROUNDING: f64 = 1e-6;

/// The median of rounds, as they are written, differs from the time by no more.
const OF_MEDIANS: f64 = 1e-5;

/// No pass takes longer: eleven days.
const LONGEST_NS: f64 = 1e15;

/// Of clocks alone, which are no times.
const CLOCKS: [&str; 2] = ["clock_rate", "core_clock"];

/// What figures may be better, and which kinds of rows there are.
const DIRECTIONS: [&str; 3] = ["higher", "lower", ""];
const KINDS: [&str; 2] = ["measured", "derived"];

/// What a column says, and that no run wrote it.
type Flaw = (&'static str, String);

impl Record {
    /// What no run would have written of a measured case: the column, and what is wrong with it.
    pub fn flaw(&self) -> Option<Flaw> {
        self.contradiction().or_else(|| if self.status == Status::Ok.as_str() { self.lack() } else { None })
    }

    /// In what a row contradicts itself, whatever columns it lacks: the column, and what is wrong with it.
    pub fn contradiction(&self) -> Option<Flaw> {
        let Some(status) = Status::named(&self.status) else {
            return Some(("status", format!("`{}` is none that a case can have", self.status)));
        };
        if !self.row_kind.is_empty() && !KINDS.contains(&self.row_kind.as_str()) {
            return Some(("row_kind", format!("`{}` is neither measured nor derived", self.row_kind)));
        }
        if !DIRECTIONS.contains(&self.better.as_str()) {
            return Some(("better", format!("`{}` is neither higher nor lower", self.better)));
        }
        match status {
            Status::Ok => {
                self.odd_time().or_else(|| self.odd_interval()).or_else(|| self.odd_rate()).or_else(|| self.odd_rounds())
            }
            // It has no figures that anybody would go by.
            _ => None,
        }
    }

    /// What a measured case can't be without.
    fn lack(&self) -> Option<Flaw> {
        let counts = [("rounds", self.rounds), ("samples", self.samples), ("processes", self.processes)];
        let missing = counts.into_iter().find(|(_, count)| count.is_none_or(|count| count == 0)).map(|(column, _)| column);
        let no_time = || (self.time_ns.is_none() && !CLOCKS.contains(&self.metric.as_str())).then_some("time_ns");
        // A time of nothing has no rate.
        let no_value = || (self.value.is_none() && self.time_ns != Some(0.0)).then_some("value");
        let spans = [("time_min_ns", self.time_min_ns, self.time_max_ns), ("ci_low_ns", self.ci_low_ns, self.ci_high_ns)];
        let no_end = || spans.into_iter().find(|(_, low, high)| low.is_some() != high.is_some()).map(|(column, ..)| column);
        missing.or_else(no_time).or_else(no_value).or_else(no_end).map(|column| (column, "there is none".to_owned()))
    }

    fn odd_time(&self) -> Option<Flaw> {
        let time = self.time_ns?;
        if self.noise.is_some_and(|noise| noise < 0.0) {
            return Some(("noise", "it is below zero".to_owned()));
        }
        if self.ci_high_ns.is_some_and(|high| high > LONGEST_NS) {
            return Some(("ci_high_ns", "so long can't be measured".to_owned()));
        }
        if !(time > 0.0 || (time == 0.0 && self.is_doubted())) || time > LONGEST_NS {
            return Some(("time_ns", format!("{time} ns can't be measured")));
        }
        let spans = [("time_min_ns", self.time_min_ns, self.time_max_ns), ("ci_low_ns", self.ci_low_ns, self.ci_high_ns)];
        let beyond = spans.into_iter().find(|(_, low, high)| !is_within(time, low.zip(*high)));
        beyond.map(|(column, ..)| (column, format!("the time, {time} ns, is outside {column} and its other end")))
    }

    fn odd_interval(&self) -> Option<Flaw> {
        let (value, ends) = (self.value?, self.value_ci_low.zip(self.value_ci_high));
        if !is_within(value, ends) && !self.is_doubted() {
            return Some(("value", format!("{value} is outside its interval, value_ci_low to value_ci_high")));
        }
        // The figure's interval follows from the time's.
        let ((low, high), time, (least, most)) = (ends?, self.time_ns?, self.ci_low_ns.zip(self.ci_high_ns)?);
        let expected = match self.better.as_str() {
            "lower" => (value * least / time, value * most / time),
            "higher" => (value * time / most, value * time / least),
            _ => return None,
        };
        let is_near = |one: f64, other: f64| (one - other).abs() <= OF_MEDIANS * other.abs();
        let is_odd = least > 0.0 && time > 0.0 && !(is_near(low, expected.0) && is_near(high, expected.1));
        is_odd.then(|| ("value_ci_low", "it and value_ci_high don't follow from the time's interval".to_owned()))
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate has far fewer digits than 2^53")]
    fn odd_rate(&self) -> Option<Flaw> {
        let time = self.time_ns?;
        let rates = [
            ("gb_per_s", "bandwidth", self.bytes_per_pass, self.gb_per_s),
            ("gflop_per_s", "flops", self.flops_per_pass, self.gflop_per_s),
            ("gop_per_s", "ops", self.ops_per_pass, self.gop_per_s),
            ("gitems_per_s", "items", self.items_per_pass, self.gitems_per_s),
        ];
        let is_same = |one: f64, other: f64| (one - other).abs() <= ROUNDING * other.abs().max(1.0);
        let odd = rates.into_iter().find_map(|(column, _, amount, rate)| {
            let (amount, rate) = (amount? as f64, rate?);
            (!is_same(rate * time, amount)).then(|| (column, format!("{rate} doesn't follow from the time, {time} ns")))
        });
        // What the value is, as the metric says, where the row has that.
        let is_pass = self.metric == "time";
        let per_item = ["latency", "cost"].contains(&self.metric.as_str());
        let of_rate = || rates.into_iter().find(|(_, metric, ..)| *metric == self.metric).and_then(|(.., rate)| rate);
        let expected = match self.items_per_pass {
            _ if is_pass => Some(time),
            Some(items) if per_item && items > 0 => Some(time / items as f64),
            _ => of_rate(),
        };
        odd.or_else(|| {
            let (value, expected) = (self.value?, expected?);
            let is_odd = (value - expected).abs() > ROUNDING * expected.abs();
            is_odd.then(|| ("value", format!("{value} doesn't follow from the time, {time} ns")))
        })
    }

    /// The rounds make the time.
    fn odd_rounds(&self) -> Option<Flaw> {
        if self.round_medians_ns.is_empty() {
            return None;
        }
        let Some(rounds) = listed_rounds(&self.round_medians_ns) else {
            return Some(("round_medians_ns", "it is no list of `PROCESS:NS`".to_owned()));
        };
        let processes: BTreeSet<u32> = rounds.iter().map(|(process, _)| *process).collect();
        let counts = [("rounds", self.rounds, rounds.len()), ("processes", self.processes, processes.len())];
        let odd = counts.into_iter().find(|(_, count, shown)| count.is_some_and(|count| count != *shown as u64));
        if let Some((column, count, shown)) = odd {
            return Some((column, format!("it is {}, and round_medians_ns has {shown}", count.unwrap_or_default())));
        }
        let (time, median) = (self.time_ns?, stats::median(&rounds.iter().map(|(_, time)| *time).collect::<Vec<_>>()));
        let is_odd = (median - time).abs() > OF_MEDIANS * time.abs();
        is_odd.then(|| ("time_ns", format!("{time} ns isn't the median of round_medians_ns, {median} ns")))
    }

    fn is_doubted(&self) -> bool {
        self.has_flag(Flag::Implausible.name())
    }

    /// The first column in which it differs from what the plan says of its case, as `planned` has it.
    pub fn departure(&self, planned: &Self) -> Option<(&'static str, String)> {
        let cells = |record: &Self| record.fixed_cells().map(|cell| cell.to_string()).collect::<Vec<_>>();
        let (own, expected) = (cells(self), cells(planned));
        let differs = |place: &usize| COLUMNS[*place].is_for(&[Use::Plan]) && own[*place] != expected[*place];
        let place = (0..COLUMNS.len()).find(differs)?;
        Some((COLUMNS[place].name, format!("it is `{}`, and the plan says `{}`", own[place], expected[place])))
    }
}

/// Whether a figure is between these ends, but for rounding.
fn is_within(figure: f64, ends: Option<(f64, f64)>) -> bool {
    ends.is_none_or(|(low, high)| low <= figure + ROUNDING * figure.abs() && figure - ROUNDING * figure.abs() <= high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> Record {
        Record {
            status: "ok".to_owned(),
            metric: "bandwidth".to_owned(),
            rounds: Some(6),
            samples: Some(30),
            processes: Some(1),
            time_ns: Some(10.0),
            time_min_ns: Some(9.0),
            time_max_ns: Some(12.0),
            ci_low_ns: Some(9.5),
            ci_high_ns: Some(10.5),
            bytes_per_pass: Some(100),
            gb_per_s: Some(10.0),
            value: Some(10.0),
            better: "higher".to_owned(),
            ..Record::new()
        }
    }

    #[test]
    fn a_flaw_is_told_by_its_column() {
        assert_eq!(sound().flaw(), None);
        let changed = |change: &dyn Fn(&mut Record)| {
            let mut row = sound();
            change(&mut row);
            row.flaw().map(|(column, _)| column)
        };
        assert_eq!(changed(&|row| row.time_ns = None), Some("time_ns"));
        assert_eq!(changed(&|row| row.time_ns = Some(-10.0)), Some("time_ns"));
        assert_eq!(changed(&|row| row.time_ns = Some(0.0)), Some("time_ns"));
        assert_eq!(changed(&|row| row.time_ns = Some(1e300)), Some("time_ns"));
        assert_eq!(changed(&|row| row.time_ns = Some(13.0)), Some("time_min_ns"));
        assert_eq!(changed(&|row| row.ci_high_ns = Some(9.9)), Some("ci_low_ns"));
        assert_eq!(changed(&|row| row.noise = Some(-0.1)), Some("noise"));
        assert_eq!(changed(&|row| row.ci_high_ns = None), Some("ci_low_ns"));
        assert_eq!(changed(&|row| row.gb_per_s = Some(11.0)), Some("gb_per_s"));
        assert_eq!(changed(&|row| row.value = None), Some("value"));
        assert_eq!(changed(&|row| row.rounds = None), Some("rounds"));
        assert_eq!(changed(&|row| row.status = "okay".to_owned()), Some("status"));
        assert_eq!(changed(&|row| row.better = "more".to_owned()), Some("better"));
        assert_eq!(changed(&|row| row.row_kind = "guessed".to_owned()), Some("row_kind"));
        assert_eq!(changed(&|row| row.value = Some(20.0)), Some("value"), "it follows from the time");
        assert_eq!(changed(&|row| (row.value_ci_low, row.value_ci_high) = (Some(10.5), Some(11.0))), Some("value"));
        assert_eq!(changed(&|row| (row.value_ci_low, row.value_ci_high) = (Some(9.5), Some(11.0))), Some("value_ci_low"));
        let ends = |row: &mut Record| {
            (row.value_ci_low, row.value_ci_high) = (Some(100.0 / 10.5), Some(100.0 / 9.5));
        };
        assert_eq!(changed(&ends), None);
        for (rounds, column) in [
            ("1:9;1:10;1:10;1:11", Some("rounds")),
            ("1:9;1:10;1:10;2:11;1:10;1:9", Some("processes")),
            ("1:9;1:10;1:10;1:11;1:12;1:12", Some("time_ns")),
            ("1:9;1:10;1:10;1:11;1:10;x", Some("round_medians_ns")),
            ("1:9;1:10;1:10;1:11;1:10;1:9", None),
        ] {
            assert_eq!(changed(&|row| row.round_medians_ns = rounds.to_owned()), column, "{rounds}");
        }
    }

    #[test]
    fn what_may_be_empty_is_no_flaw() {
        let broken_off = Record { ci_low_ns: None, ci_high_ns: None, ..sound() };
        let clock = Record { metric: "clock_rate".to_owned(), time_ns: None, ..sound() };
        let nothing = Record {
            time_ns: Some(0.0),
            time_min_ns: Some(0.0),
            ci_low_ns: Some(0.0),
            gb_per_s: None,
            value: None,
            quality_flags: "implausible".to_owned(),
            ..sound()
        };
        for row in [broken_off, clock, nothing] {
            assert_eq!(row.flaw(), None, "{row:?}");
        }
    }

    #[test]
    fn a_row_departs_from_its_plan_where_a_cell_moved() {
        let planned = Record { axis_values: "n=8".to_owned(), unit: "GB/s".to_owned(), ..Record::new() };
        assert_eq!(Record { reason: "x".to_owned(), ..planned.clone() }.departure(&planned), None);
        let moved = Record { unit: "higher".to_owned(), ..planned.clone() };
        assert_eq!(moved.departure(&planned), Some(("unit", "it is `higher`, and the plan says `GB/s`".to_owned())));
    }
}
