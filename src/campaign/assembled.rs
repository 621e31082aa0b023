//! From a case and its outcome to a row.

use crate::measure::{Measured, Outcome, Rounds, ShaderFacts};
use crate::model::{Cache, Case, Check, CoreClocks, DeviceInfo, Failure, Measurand, Metric, Point, Skip, Stage, Status};
use crate::plan::{Plan, Planned};
use crate::record::{Cell, MEASURED, Record, joined, quirk_flag};
use crate::stats::Interval;
use crate::units::Nanos;

/// Of what a search dropped after a first look.
const AFTER_ONE_PASS: &str = "compared after one pass, not after a timed batch: that is done of what is measured to the end";

/// What is known of a case before anything is compiled.
#[derive(Clone, Debug)]
pub struct Described<'a> {
    /// What it is one of, `family/name`.
    pub experiment: &'a str,
    pub variant: &'a str,
    pub point: &'a Point,
    pub cache: Cache,
    pub case_id: &'a str,
    pub index: Option<u64>,
    pub case: Result<&'a Case, Failure>,
    /// Reasons to doubt whatever is measured, beside the device's known faults.
    pub flags: Vec<String>,
    /// What rows call the case that it is measured alternately with.
    pub pair_base: Option<String>,
    /// Why it isn't paired in a run of pairs.
    pub unpaired: Option<&'static str>,
}

impl<'a> Described<'a> {
    pub fn planned(planned: &'a Planned) -> Self {
        let Planned { index, experiment, variant, point, cache, case_id, case, .. } = planned;
        let case = case.as_ref().map_err(|Skip { reason }| Failure::new(Status::Skipped, reason.clone()).at(Stage::Planning));
        Self {
            experiment: experiment.name(),
            variant,
            point,
            cache: *cache,
            case_id,
            index: *index,
            case,
            flags: Vec::new(),
            pair_base: None,
            unpaired: None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum CaseResult<'o> {
    Planned,
    /// It was never tried, since the device couldn't be opened or calibrated.
    NotRun(&'o Failure),
    Tried(&'o Outcome),
}

impl Record {
    /// The row of a case: what all rows of its device have in common, what is known of the case, and what came of it.
    #[must_use]
    pub fn assembled(template: &Self, of: &Described, device: &DeviceInfo, fate: CaseResult) -> Self {
        let known = template.describing(of, device);
        match (fate, &of.case) {
            (CaseResult::Planned, _) | (CaseResult::NotRun(_), Err(_)) => known,
            (CaseResult::NotRun(failure), Ok(_)) => known.failed(&failure.clone().before_any_case()),
            (CaseResult::Tried(Outcome { shader, result }), case) => match (result, case) {
                (Ok(measured), Ok(case)) => known.compiled(shader.as_ref()).measured(of, case, measured),
                (Err(failure), Ok(case)) => known.compiled(shader.as_ref()).failed_check(case, failure),
                (Err(failure), Err(_)) => known.compiled(shader.as_ref()).failed(failure),
                (Ok(_), Err(_)) => known.compiled(shader.as_ref()),
            },
        }
    }

    /// The row of a case of which nothing is compiled yet.
    fn describing(&self, of: &Described, device: &DeviceInfo) -> Self {
        let named = Self {
            row_kind: MEASURED.to_owned(),
            experiment: of.experiment.to_owned(),
            variant: of.variant.to_owned(),
            case_id: of.case_id.to_owned(),
            plan_index: of.index,
            cache: of.cache.as_str().to_owned(),
            ..self.clone()
        };
        match &of.case {
            Err(failure) => named.at(of.point).failed(failure),
            Ok(case) => {
                let faults = device.quirks.iter().filter(|quirk| quirk.affects(case)).map(quirk_flag);
                let flags = of.flags.iter().cloned().chain(faults).collect::<Vec<_>>().join(";");
                Self { status: Status::Planned.to_string(), quality_flags: flags, ..named.at(of.point).working(case, device) }
            }
        }
    }

    fn working(self, case: &Case, device: &DeviceInfo) -> Self {
        let dispatch = case.largest_dispatch();
        let of_kernel = |own, known| if dispatch.is_some() { own } else { known };
        let kernel = dispatch.as_ref().map(|(kernel, _)| *kernel);
        let [x, y, z] = kernel.map(|kernel| kernel.local_size.map(u64::from)).map_or([None; 3], |size| size.map(Some));
        let groups = dispatch.as_ref().map_or([None; 3], |(_, groups)| groups.map(|count| Some(u64::from(count))));
        let [groups_x, groups_y, groups_z] = groups.map(|count| count.filter(|count| *count > 0));
        let required = kernel.and_then(|kernel| kernel.required_subgroup_size.or_else(|| fixed_subgroup_size(device)));
        Self {
            local_size_x: of_kernel(x, self.local_size_x),
            local_size_y: of_kernel(y, self.local_size_y),
            local_size_z: of_kernel(z, self.local_size_z),
            groups_x,
            groups_y,
            groups_z,
            subgroup_size: of_kernel(required.map(u64::from), self.subgroup_size),
            bytes_per_pass: case.work.bytes,
            flops_per_pass: case.work.flops,
            ops_per_pass: case.work.ops,
            items_per_pass: case.work.items,
            metric: case.headline.name.to_owned(),
            unit: case.headline.unit.to_owned(),
            better: case.headline.better.to_owned(),
            ..self
        }
    }

    fn compiled(self, shader: Option<&ShaderFacts>) -> Self {
        let Some(shader) = shader else { return self };
        Self {
            source_hash: shader.source_hash.clone(),
            spirv_hash: shader.spirv_hash.clone(),
            shared_bytes: Some(shader.shared_bytes),
            compile_ms: shader.compile_time.map(|time| time.as_secs_f64() * 1e3),
            ..self
        }
    }

    /// Names the case that it would be compared with, though that has no figure yet.
    pub fn name_base(&mut self, planned: &Planned, plan: &Plan) {
        let base = planned.base.as_ref().filter(|base| plan.holds(base, planned.experiment.name()));
        if let (Some(base), true, true) = (base, self.relative_to.is_empty(), self.pair_base.is_empty()) {
            if self.value.is_some() {
                self.relative_to.clone_from(&base.case_id);
            }
        }
    }

    fn failed_check(self, case: &Case, failure: &Failure) -> Self {
        let failed = self.failed(failure);
        if failure.status != Status::WrongResult {
            return failed;
        }
        let (checked, what) = check_words(&case.check);
        Self { checked: checked.to_owned(), check_note: what.to_owned(), ..failed }
    }

    fn failed(self, failure: &Failure) -> Self {
        let (status, reason) = failure.told();
        Self {
            status: status.to_string(),
            reason,
            failed_stage: failure.stage.map_or_else(String::new, |stage| stage.as_str().to_owned()),
            checked: if status == Status::WrongResult { "true".to_owned() } else { self.checked },
            ..self
        }
    }

    pub fn leave_unchecked(&mut self, why: &str) {
        self.checked = "false".to_owned();
        self.check_note = why.to_owned();
    }

    fn measured(self, of: &Described, case: &Case, measured: &Measured) -> Self {
        let (checked, what) = check_words(&case.check);
        let is_left = !measured.is_compared && !case.check.outputs().is_empty();
        let notes = [Some(what), measured.remark.as_deref(), is_left.then_some(AFTER_ONE_PASS)];
        let flags = measured.flags.iter().map(ToString::to_string).chain([self.quality_flags.clone()]);
        let (figure, interval) = (measured.value(), measured.interval());
        let known = Self {
            status: Status::Ok.to_string(),
            quality_flags: joined(flags, ";"),
            reason: measured.implausible.clone().unwrap_or_default(),
            checked: checked.to_owned(),
            check_note: joined(notes.into_iter().flatten().map(str::to_owned), "; "),
            noise: interval.map(|_| measured.noise()),
            ..self.taken(measured).inspected(case, measured.statistics.as_deref())
        };
        let known = known.paired(of, measured);
        match case.measurand {
            Measurand::ClockRate | Measurand::CoreClock => known.headline(figure, interval.map(ends)),
            _ => known.timed(measured, interval).rated(case, figure, interval),
        }
    }

    fn paired(self, of: &Described, measured: &Measured) -> Self {
        let of_base = measured.unpaired.as_ref().map(Failure::told);
        let of_base = of_base.map(|(status, reason)| format!("not paired, its base: {status}: {reason}"));
        let reasons = [Some(self.reason), of.unpaired.map(str::to_owned), of_base];
        let (pair, base) = measured.pair.as_ref().zip(of.pair_base.clone()).unzip();
        let (ratio_ci_low, ratio_ci_high) = pair.and_then(|_| measured.pair_interval()).map(ends).unzip();
        Self {
            reason: joined(reasons.into_iter().flatten(), "; "),
            pair_base: base.unwrap_or_default(),
            ratio: pair.map(Rounds::value),
            ratio_ci_low,
            ratio_ci_high,
            ..self
        }
    }

    fn taken(self, measured: &Measured) -> Self {
        Self {
            timer: measured.timer.as_str().to_owned(),
            processes: Some(measured.rounds.process_count() as u64),
            rounds: Some(measured.rounds.samples.len() as u64),
            samples: Some(measured.samples() as u64),
            duration_ms: Some(measured.duration.as_secs_f64() * 1e3),
            batch: (measured.batch > 0).then(|| measured.batch.into()),
            stop: measured.stop.as_str().to_owned(),
            sentinel_ns: measured.clock_ratio.map(|_| measured.sentinel.0),
            clock_ratio: measured.clock_ratio,
            clock_mhz: measured.clock_mhz,
            core_clock_mhz: measured.core_clock_mhz(),
            round_clocks_mhz: round_clocks(measured),
            memory_speed_ratio: measured.memory_speed_ratio,
            memory_types: measured.memory_types.clone(),
            pipeline_ms: Some(measured.pipeline_time.as_secs_f64() * 1e3),
            ..self
        }
    }

    fn timed(self, measured: &Measured, interval: Option<Interval>) -> Self {
        let summary = measured.summary();
        Self {
            time_ns: Some(measured.value()),
            round_medians_ns: round_medians(&measured.rounds),
            time_min_ns: Some(summary.min),
            time_mean_ns: Some(summary.mean),
            time_p05_ns: Some(summary.p05),
            time_p95_ns: Some(summary.p95),
            time_max_ns: Some(summary.max),
            time_mad_ns: Some(summary.mad),
            ci_low_ns: interval.map(|interval| interval.low),
            ci_high_ns: interval.map(|interval| interval.high),
            overhead_ns: measured.overhead.map(|Nanos(time)| time),
            taken_off_ns: measured.carried.taken_off.map(|Nanos(time)| time),
            host_time_ns: Some(measured.host_time.0),
            ..self
        }
    }

    fn rated(self, case: &Case, time: f64, interval: Option<Interval>) -> Self {
        let rated = Self {
            gb_per_s: rate(case.work.bytes, time),
            gflop_per_s: rate(case.work.flops, time),
            gop_per_s: rate(case.work.ops, time),
            gitems_per_s: rate(case.work.items, time),
            ..self
        };
        let amount = match case.headline.metric {
            Metric::Time | Metric::ClockRate => return rated.headline(time, interval.map(ends)),
            Metric::TimePerItem => {
                let per_item = |time: f64| rate(case.work.items, time).map_or(f64::NAN, f64::recip);
                let ends = interval.map(|Interval { low, high }| (per_item(low), per_item(high)));
                return rated.headline(per_item(time), ends);
            }
            Metric::Bandwidth => case.work.bytes,
            Metric::Flops => case.work.flops,
            Metric::Ops => case.work.ops,
            Metric::Items => case.work.items,
        };
        let Some(value) = rate(amount, time) else { return rated };
        // The longest time is the lowest rate. An interval that reaches below nothing tells no highest one.
        let highest = |low: f64| rate(amount, low).filter(|_| low > 0.0).unwrap_or(f64::INFINITY);
        let ends = interval.and_then(|Interval { low, high }| Some((rate(amount, high)?, highest(low))));
        rated.headline(value, ends)
    }

    fn headline(self, value: f64, interval: Option<(f64, f64)>) -> Self {
        let (value_ci_low, value_ci_high) = interval.unzip();
        Self { value: Some(value), value_ci_low, value_ci_high, ..self }
    }
}

fn ends(Interval { low, high }: Interval) -> (f64, f64) {
    (low, high)
}

/// How a check went that found nothing wrong, and what it was.
fn check_words(check: &Check) -> (&'static str, &'static str) {
    match *check {
        Check::Twin(_) => ("true", ""),
        Check::Invariant(_, what) => ("invariant", what),
        Check::Nothing(why) => ("false", why),
    }
}

/// Of each round the process and the clocks; nothing where none was read.
fn round_clocks(Measured { rounds, core_clocks, .. }: &Measured) -> String {
    if core_clocks.iter().all(Option::is_none) {
        return String::new();
    }
    let shown = |clocks: &CoreClocks| match clocks.has_stepped() {
        true => format!("{:.1}/{:.1}", clocks.before, clocks.after),
        false => format!("{:.1}", clocks.mean()),
    };
    let rounds = rounds.processes.iter().zip(core_clocks);
    let shown = rounds.map(|(process, clocks)| format!("{process}:{}", clocks.as_ref().map(shown).unwrap_or_default()));
    shown.collect::<Vec<_>>().join(";")
}

fn round_medians(rounds: &Rounds) -> String {
    let medians = rounds.medians().into_iter().zip(&rounds.processes);
    medians.map(|(median, process)| format!("{process}:{}", Cell::real(median))).collect::<Vec<_>>().join(";")
}

/// An amount per nanosecond, which is 10^9 per second.
#[expect(clippy::cast_precision_loss, reason = "a rate has far fewer digits than 2^53")]
fn rate(amount: Option<u64>, time: f64) -> Option<f64> {
    amount.map(|amount| amount as f64 / time).filter(|rate| rate.is_finite())
}

/// The size that every subgroup has, on devices that have but one; others choose per pipeline and don't tell.
fn fixed_subgroup_size(device: &DeviceInfo) -> Option<u32> {
    let subgroup = &device.subgroup;
    (subgroup.size > 0 && (!subgroup.size_control || subgroup.min_size == subgroup.max_size)).then_some(subgroup.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_how_its_results_were_checked() {
        let of = |check: Check| {
            let case = Case { check, ..Case::new("test/checks", &Point::default()) };
            let row = Record::new().failed_check(&case, &Failure::new(Status::WrongResult, "it is another one"));
            (row.checked, row.check_note)
        };
        let what = "Freivalds' check";
        assert_eq!(of(Check::Twin(vec![0])), ("true".to_owned(), String::new()));
        assert_eq!(of(Check::Invariant(vec![0], what)), ("invariant".to_owned(), what.to_owned()));
        let lost = Failure::new(Status::DeviceLost, "gone");
        let lost = Record::new().failed_check(&Case::new("test/checks", &Point::default()), &lost);
        assert_eq!((lost.checked.as_str(), lost.status.as_str()), ("", "device_lost"));
    }
}
