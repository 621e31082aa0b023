//! From a case and its outcome to a row.

use std::collections::BTreeSet;
use std::mem;

use crate::measure::{Measured, Outcome, Rounds, ShaderFacts};
use crate::model::{
    Cache, Case, Check, Derived, DeviceInfo, DeviceKind, Failure, Finished, Flag, Measurand, Metric, Point, Quirk, Skip, Stage,
    Status,
};
use crate::plan::{Plan, Planned, case_id};
use crate::record::{Cell, Record};
use crate::stats::Interval;
use crate::units::Nanos;

/// Of what a search dropped after a first look.
const AFTER_ONE_PASS: &str = "compared after one pass, not after a timed batch: that is done of what is measured to the end";

const MEASURED: &str = "measured";
const DERIVED: &str = "derived";

/// How the flag of a known driver fault begins.
const QUIRK: &str = "quirk:";

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

pub fn quirk_flag(quirk: &Quirk) -> String {
    format!("{QUIRK}{}", quirk.name)
}

#[derive(Clone, Copy, Debug)]
pub enum CaseResult<'o> {
    Planned,
    /// It was never tried, since the device couldn't be opened or calibrated.
    NotRun(&'o Failure),
    Tried(&'o Outcome),
}

/// Half of an interval; where its ends aren't told, as much as the noise makes of the figure.
fn half(figure: Option<f64>, ends: Option<(f64, f64)>, noise: Option<f64>) -> Option<f64> {
    ends.map(|(low, high)| (high - low) / 2.0).or_else(|| Some((figure? * noise?).abs()))
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

    /// It as a row of a device.
    #[must_use]
    pub fn on_device(self, device: &DeviceInfo) -> Self {
        Self {
            device_name: device.name.clone(),
            device_type: device.kind.as_str().to_owned(),
            vendor_id: Some(device.vendor_id.into()),
            device_id: Some(device.device_id.into()),
            device_uuid: device.device_uuid.to_string(),
            driver_uuid: device.driver.uuid.to_string(),
            driver_id: device.driver.id.clone(),
            driver_name: device.driver.name.clone(),
            driver_info: device.driver.info.clone(),
            driver_version: tagged(&device.driver.version),
            api_version: tagged(&device.driver.api_version),
            loader_version: tagged(&device.driver.loader_version),
            ..self
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

    /// Takes the figure of the case that it is compared with. Call it once the row is measured. Not in a pair: there the case was
    /// measured in alternation and its base alone, with other contents of the caches; the ratio compares what is alike.
    pub fn compare_with(&mut self, case_id: &str, value: f64) {
        if !self.pair_base.is_empty() {
            return;
        }
        let relative = self.value.map(|own| own / value).filter(|relative| relative.is_finite());
        self.relative = relative;
        self.relative_to = relative.map_or_else(String::new, |_| case_id.to_owned());
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

    /// Experiment, variant and axes: what the case is called in messages.
    pub fn case_name(&self) -> String {
        let parts = [&self.experiment, &self.variant, &self.axis_values].map(String::as_str).into_iter();
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    pub fn has_flag(&self, name: &str) -> bool {
        self.quality_flags.split(';').any(|flag| flag == name)
    }

    /// Half the interval of its time, ns.
    pub fn time_half(&self) -> Option<f64> {
        half(self.time_ns, self.ci_low_ns.zip(self.ci_high_ns), self.noise)
    }

    /// Half the interval of its headline figure, in its unit.
    pub fn value_half(&self) -> Option<f64> {
        half(self.value, self.value_ci_low.zip(self.value_ci_high), self.noise)
    }

    pub fn is_implausible(&self) -> bool {
        self.has_flag(Flag::Implausible.name())
    }

    /// Flags it as implausible, for this reason; the first one stays.
    pub fn doubt(&mut self, reason: &str) {
        if self.is_implausible() {
            return;
        }
        // Before the faults that the plan gave it.
        let (own, faults): (Vec<&str>, Vec<&str>) =
            self.quality_flags.split(';').filter(|flag| !flag.is_empty()).partition(|flag| !flag.starts_with(QUIRK));
        self.quality_flags = [&own[..], &[Flag::Implausible.name()], &faults[..]].concat().join(";");
        self.reason = joined([reason.to_owned(), mem::take(&mut self.reason)], "; ");
    }

    /// Whether a software driver measured on the host's processor.
    pub fn is_on_processor(&self) -> bool {
        self.device_type == DeviceKind::Cpu.as_str()
    }

    /// The processor that a software driver measured on, and its host; empty for a GPU, which has UUIDs of its own.
    pub fn processor(&self) -> [&str; 2] {
        if self.is_on_processor() { [&self.cpu_name, &self.host] } else { [""; 2] }
    }

    pub fn is_derived(&self) -> bool {
        self.row_kind == DERIVED
    }

    /// What derivation sees of it; nothing where it has no time, or one that can't be right.
    pub fn finished(&self) -> Option<Finished> {
        let (time, value) = (self.time_ns?, self.value?);
        let is_usable = self.row_kind == MEASURED && self.status == Status::Ok.as_str() && !self.is_implausible();
        is_usable.then(|| Finished {
            variant: self.variant.clone(),
            point: Point::new(self.by_axis.iter().map(|(name, value)| (name.clone().into(), value.clone()))),
            case_id: self.case_id.clone(),
            cache: if self.cache == Cache::Cold.as_str() { Cache::Cold } else { Cache::Warm },
            subgroup_size: self.subgroup_size,
            registers: self.registers,
            spill_bytes: self.spill_bytes,
            time,
            interval: self.ci_low_ns.zip(self.ci_high_ns),
            flags: self.quality_flags.split(';').filter(|flag| !flag.is_empty()).map(str::to_owned).collect(),
            value,
        })
    }

    /// The row of a derived figure, with what is to be said against the rows that it was drawn from.
    #[must_use]
    pub fn derived(template: &Self, derived: &Derived, flags: &BTreeSet<String>, cache: Cache) -> Self {
        let figure = derived.figure.as_ref();
        let (value_ci_low, value_ci_high) = figure.ok().and_then(|figure| figure.interval).unzip();
        let row = Self {
            row_kind: DERIVED.to_owned(),
            experiment: derived.experiment.to_owned(),
            variant: derived.variant.to_owned(),
            case_id: case_id(derived.experiment, derived.variant, &[], &derived.point, cache),
            cache: cache.as_str().to_owned(),
            metric: derived.metric.to_owned(),
            unit: derived.unit.to_owned(),
            better: derived.better.to_owned(),
            checked: "false".to_owned(),
            check_note: derived.note.clone(),
            quality_flags: in_order(flags),
            status: if figure.is_ok() { Status::Ok } else { Status::Skipped }.to_string(),
            reason: figure.err().map(ToString::to_string).unwrap_or_default(),
            value: figure.ok().map(|figure| figure.value),
            value_ci_low,
            value_ci_high,
            ..template.clone()
        };
        row.at(&derived.point)
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
            Measurand::ClockRate => known.headline(figure, interval.map(ends)),
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
            clock_ratio: measured.clock_ratio,
            clock_mhz: measured.clock_mhz,
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

/// What there is of some texts.
fn joined(parts: impl IntoIterator<Item = String>, between: &str) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(between)
}

/// How a check went that found nothing wrong, and what it was.
fn check_words(check: &Check) -> (&'static str, &'static str) {
    match *check {
        Check::Twin(_) => ("true", ""),
        Check::Invariant(_, what) => ("invariant", what),
        Check::Nothing(why) => ("false", why),
    }
}

fn round_medians(rounds: &Rounds) -> String {
    let medians = rounds.medians().into_iter().zip(&rounds.processes);
    medians.map(|(median, process)| format!("{process}:{}", Cell::real(median))).collect::<Vec<_>>().join(";")
}

/// A version as rows have it: with a letter, so that no reader takes 1.3.230 for a date.
fn tagged(version: &str) -> String {
    if version.is_empty() { String::new() } else { format!("v{version}") }
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

/// As measured rows have them: known faults last.
fn in_order(flags: &BTreeSet<String>) -> String {
    let place = |flag: &&str| Flag::ALL.iter().position(|known| known.name() == *flag).unwrap_or(usize::MAX);
    let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    flags.sort_by_key(place);
    flags.join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_rows_have_flags_in_the_order_of_measured_ones() {
        let flags = ["contended", "drift", "noisy", "quirk:a", "quirk:b"].map(str::to_owned);
        assert_eq!(in_order(&flags.into()), "noisy;drift;contended;quirk:a;quirk:b");
    }

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
