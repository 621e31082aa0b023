//! Whether a row can be what a run wrote: figures are there and fit each other.

use super::Record;
use super::schema::{COLUMNS, Use};
use crate::model::{Flag, Status};

/// Two figures of one row differ by no more than what rounding leaves.
const ROUNDING: f64 = 1e-6;

/// No pass takes longer: eleven days.
const LONGEST_NS: f64 = 1e15;

/// Of clocks alone, which are no times.
const CLOCKS: [&str; 2] = ["clock_rate", "core_clock"];

impl Record {
    /// What no run would have written of a measured case: the column, and what is wrong with it.
    pub fn flaw(&self) -> Option<(&'static str, String)> {
        let Some(status) = Status::named(&self.status) else {
            return Some(("status", format!("`{}` is no status", self.status)));
        };
        match status {
            Status::Ok => self.flaw_of_counts().or_else(|| self.flaw_of_times()).or_else(|| self.flaw_of_rates()),
            // It has no figures that anybody would go by.
            _ => None,
        }
    }

    fn flaw_of_counts(&self) -> Option<(&'static str, String)> {
        let counts = [("rounds", self.rounds), ("samples", self.samples), ("processes", self.processes)];
        let missing = counts.into_iter().find(|(_, count)| count.is_none_or(|count| count == 0));
        missing.map(|(column, _)| (column, "there is none".to_owned()))
    }

    fn flaw_of_times(&self) -> Option<(&'static str, String)> {
        let Some(time) = self.time_ns else {
            return (!CLOCKS.contains(&self.metric.as_str())).then(|| ("time_ns", "there is none".to_owned()));
        };
        let is_doubted = self.has_flag(Flag::Implausible.name());
        if !(time > 0.0 || (time == 0.0 && is_doubted)) || time > LONGEST_NS {
            return Some(("time_ns", format!("{time} ns can't be measured")));
        }
        let within = |low: Option<f64>, high: Option<f64>| {
            low.zip(high).is_none_or(|(low, high)| low * (1.0 - ROUNDING) <= time && time <= high * (1.0 + ROUNDING))
        };
        let spans = [("time_min_ns", self.time_min_ns, self.time_max_ns), ("ci_low_ns", self.ci_low_ns, self.ci_high_ns)];
        let beyond = spans.into_iter().find(|(_, low, high)| low.is_some() != high.is_some() || !within(*low, *high));
        beyond.map(|(column, ..)| (column, format!("it and its counterpart don't enclose the time, {time} ns")))
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate has far fewer digits than 2^53")]
    fn flaw_of_rates(&self) -> Option<(&'static str, String)> {
        if self.value.is_none() {
            // A time of nothing has no rate.
            return (self.time_ns != Some(0.0)).then(|| ("value", "there is none".to_owned()));
        }
        let time = self.time_ns?;
        let rates = [
            ("gb_per_s", self.bytes_per_pass, self.gb_per_s),
            ("gflop_per_s", self.flops_per_pass, self.gflop_per_s),
            ("gop_per_s", self.ops_per_pass, self.gop_per_s),
            ("gitems_per_s", self.items_per_pass, self.gitems_per_s),
        ];
        rates.into_iter().find_map(|(column, amount, rate)| {
            let (amount, rate) = (amount? as f64, rate?);
            let is_same = (rate * time - amount).abs() <= ROUNDING * amount.max(1.0);
            (!is_same).then(|| (column, format!("{rate} doesn't follow from the time, {time} ns")))
        })
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
        assert_eq!(changed(&|row| row.ci_high_ns = None), Some("ci_low_ns"));
        assert_eq!(changed(&|row| row.gb_per_s = Some(11.0)), Some("gb_per_s"));
        assert_eq!(changed(&|row| row.value = None), Some("value"));
        assert_eq!(changed(&|row| row.rounds = None), Some("rounds"));
        assert_eq!(changed(&|row| row.status = "okay".to_owned()), Some("status"));
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
