//! The kernels of a capture as rows.

use sha2::{Digest, Sha256};

use crate::digest::label;
use crate::model::{AxisValue, Cache, Flag, PipelineStatistics, Point, Status};
use crate::plan::case_id;
use crate::record::{MEASURED, Record};
use crate::stats::{Summary, median, median_interval, noise, summary};

use super::profile::{Kernel, OnDevice};

/// Rounds that the calls of a kernel are put into, in the order in which they came.
const MOST_ROUNDS: usize = 12;

/// A shorter time, over that of two timestamps with nothing between them, is flagged.
const NEAR_FLOORS: f64 = 20.0;

/// What rows of an application's kernels are called.
pub const EXPERIMENT: &str = "capture/kernels";

/// Why a time stands in a row.
const NOTE: &str = "dispatches of an application: results aren't checked";

/// The workgroups, as people write them.
pub fn groups_text(groups: Option<[u32; 3]>) -> String {
    groups.map_or_else(|| "unknown".to_owned(), |[x, y, z]| format!("{x}x{y}x{z}"))
}

/// The medians of its calls, in up to 12 rounds; none where none was timed.
fn rounds(kernel: &Kernel) -> Vec<f64> {
    kernel.times.chunks(kernel.times.len().div_ceil(MOST_ROUNDS).max(1)).map(median).collect()
}

/// What a call takes, as rows have it: ns.
pub fn time(kernel: &Kernel) -> Option<f64> {
    (!kernel.times.is_empty()).then(|| median(&rounds(kernel)))
}

/// Whether two timestamps take a good part of its time.
pub fn is_near_floor(kernel: &Kernel, device: &OnDevice) -> bool {
    time(kernel).zip(device.floor()).is_some_and(|(time, floor)| time < NEAR_FLOORS * floor)
}

/// Rows of a device's kernels, in their order; `template` says on which device.
pub fn rows(device: &OnDevice, template: &Record) -> Vec<Record> {
    let all = device.all_time();
    let row = |(place, kernel)| row(kernel, place, device, all, template);
    let rows: Vec<Record> = (0..).zip(&device.kernels).map(row).collect();
    // The kernels that this run had: nothing is missing.
    let cases: Vec<&str> = rows.iter().map(|row| row.case_id.as_str()).collect();
    let (plan_id, count) = (label('p', Sha256::new_with_prefix(cases.join("\n"))), rows.len() as u64);
    rows.into_iter().map(|row| Record { plan_id: plan_id.clone(), plan_cases: Some(count), ..row }).collect()
}

fn row(kernel: &Kernel, place: u64, device: &OnDevice, all: f64, template: &Record) -> Record {
    let point = Point::new([("groups".into(), AxisValue::Choice(groups_text(kernel.groups).into()))]);
    let variant = kernel.label();
    let [groups_x, groups_y, groups_z] = [0, 1, 2].map(|at| kernel.groups.map(|groups| u64::from(groups[at])));
    let [local_size_x, local_size_y, local_size_z] = [0, 1, 2].map(|at| kernel.told.local_size.map(|size| u64::from(size[at])));
    let required = kernel.logged.required_subgroup_size;
    let time = kernel.all_time();
    let row = Record {
        case_id: case_id(EXPERIMENT, &variant, &[], &point, Cache::Warm),
        experiment: EXPERIMENT.to_owned(),
        variant,
        row_kind: MEASURED.to_owned(),
        cache: Cache::Warm.as_str().to_owned(),
        metric: "time".to_owned(),
        unit: "ns".to_owned(),
        better: "lower".to_owned(),
        checked: "false".to_owned(),
        check_note: NOTE.to_owned(),
        plan_index: Some(place),
        local_size_x,
        local_size_y,
        local_size_z,
        groups_x,
        groups_y,
        groups_z,
        subgroup_size: (required > 0).then_some(u64::from(required)),
        shared_bytes: kernel.told.shared_bytes,
        spirv_hash: kernel.told.spirv_hash.clone(),
        calls: Some(kernel.calls),
        calls_time_ns: (time > 0.0).then_some(time),
        share: (all > 0.0).then_some(time / all),
        bound_bytes: Some(kernel.bound_bytes),
        timeline_ns: kernel.timeline.iter().map(|(start, time)| format!("{start}:{time}")).collect::<Vec<_>>().join(";"),
        ..template.clone()
    };
    let flag = if is_near_floor(kernel, device) { Flag::NearFloor.name() } else { "" };
    let row = row.at(&point).of_kernel(&PipelineStatistics { executables: kernel.logged.executables.clone() });
    Record { quality_flags: flag.to_owned(), ..timed(row, kernel) }
}

fn timed(row: Record, kernel: &Kernel) -> Record {
    if kernel.times.is_empty() {
        let reason = format!("{} calls were counted, and none could be timed", kernel.calls);
        return Record { status: Status::Skipped.to_string(), reason, ..row };
    }
    let rounds = rounds(kernel);
    let (time, interval) = (median(&rounds), median_interval(&rounds));
    let Summary { min, mean, p05, p95, max, mad, .. } = summary(&kernel.times);
    let ends = interval.map(|interval| (interval.low, interval.high));
    Record {
        status: Status::Ok.to_string(),
        value: Some(time),
        value_ci_low: ends.map(|(low, _)| low),
        value_ci_high: ends.map(|(_, high)| high),
        noise: interval.map(|interval| noise(interval, time)),
        timer: "device".to_owned(),
        time_ns: Some(time),
        ci_low_ns: ends.map(|(low, _)| low),
        ci_high_ns: ends.map(|(_, high)| high),
        round_medians_ns: rounds.iter().map(|round| format!("1:{round}")).collect::<Vec<_>>().join(";"),
        time_min_ns: Some(min),
        time_mean_ns: Some(mean),
        time_p05_ns: Some(p05),
        time_p95_ns: Some(p95),
        time_max_ns: Some(max),
        time_mad_ns: Some(mad),
        processes: Some(1),
        rounds: Some(rounds.len() as u64),
        samples: Some(kernel.times.len() as u64),
        batch: Some(1),
        ..row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Profile;
    use crate::capture::testing::log;

    fn of(times: &str, driver: &str) -> Vec<Record> {
        let profile = Profile::of([log("a", times).as_bytes()], |_| None).unwrap();
        let template = Record { driver_info: driver.to_owned(), driver_id: "NVIDIA_PROPRIETARY".to_owned(), ..Record::new() };
        rows(&profile.devices[0], &template)
    }

    #[test]
    fn a_row_is_the_same_case_on_another_driver() {
        let (one, other) = (of("times\t0\t0\t0:0:10 1:20:500\n", "a"), of("times\t0\t0\t0:0:20 1:20:300\n", "b"));
        assert_eq!(one[0].case_id, other[0].case_id);
        assert_ne!(one[0].case_id, one[1].case_id);
    }

    #[test]
    fn a_row_says_what_a_kernel_takes_of_all() {
        let rows = of("times\t0\t0\t0:0:10 0 1:20:460\n", "a");
        let [sum, saxpy] = &rows[..] else { panic!("{rows:?}") };
        assert!(sum.variant.starts_with("sum-k") && saxpy.variant.starts_with("saxpy-k"));
        assert_eq!((sum.time_ns, sum.samples), (Some(920.0), Some(1)));
        assert_eq!((saxpy.calls, saxpy.samples, saxpy.calls_time_ns), (Some(2), Some(1), Some(40.0)));
        assert_eq!((sum.share, saxpy.share), (Some(920.0 / 960.0), Some(40.0 / 960.0)));
        // Two timestamps are 6 ns apart.
        assert_eq!((sum.quality_flags.as_str(), saxpy.quality_flags.as_str()), ("", "near_floor"));
        assert_eq!((saxpy.timeline_ns.as_str(), saxpy.registers, saxpy.bound_bytes), ("0:20", Some(24), Some(64)));
    }

    #[test]
    fn what_could_not_be_timed_is_counted() {
        let rows = of("times\t0\t0\t0 0 1\n", "a");
        assert_eq!((rows[0].status.as_str(), rows[0].calls, rows[0].time_ns, rows[0].share), ("skipped", Some(2), None, None));
    }
}
