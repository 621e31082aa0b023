//! The kernels of all files of a capture, and their rows.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::log::{Log, LoggedDevice, LoggedKernel};
use super::names::name;
use crate::digest::label;
use crate::model::{AxisValue, Cache, Point, Status};
use crate::plan::case_id;
use crate::record::{MEASURED, Record};
use crate::stats::{Summary, median, median_interval, noise, summary};

/// Rounds that the calls of a kernel are put into, in the order in which they came.
const MOST_ROUNDS: usize = 12;

/// Why a time stands in a row.
const NOTE: &str = "dispatches of an application: results aren't checked";

/// What the kernels of a capture took.
#[derive(Debug, Default)]
pub struct Profile {
    /// The kernels of each device, those that took longest first.
    pub devices: Vec<(LoggedDevice, Vec<Kernel>)>,
    /// Submissions with dispatches, and dispatches in all of them.
    pub submissions: u64,
    pub dispatches: u64,
    pub not_followed: BTreeMap<String, u64>,
}

/// A kernel, with one count of workgroups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    pub name: String,
    /// What tells it apart from others of this name.
    pub hash: String,
    pub module: String,
    /// Nothing where the device alone knew.
    pub groups: Option<[u32; 3]>,
    /// The most bytes that buffers had which were bound.
    pub bound_bytes: u64,
    pub calls: u64,
    /// Of each call that was timed, in order: ns.
    pub times: Vec<f64>,
}

impl Kernel {
    /// All its calls, if those took as long as the others that weren't timed: ns.
    #[expect(clippy::cast_precision_loss, reason = "there are never 2^53 calls")]
    pub fn all_time(&self) -> f64 {
        let timed: f64 = self.times.iter().sum();
        if self.times.is_empty() { 0.0 } else { timed * self.calls as f64 / self.times.len() as f64 }
    }
}

/// The workgroups, as people write them.
pub fn groups_text(groups: Option<[u32; 3]>) -> String {
    groups.map_or_else(|| "unknown".to_owned(), |[x, y, z]| format!("{x}x{y}x{z}"))
}

type Key = (String, String, Option<[u32; 3]>);

impl Profile {
    /// `words` gives a module by the name of its file.
    pub fn of(logs: &[Log], words: impl Fn(&str) -> Option<Vec<u32>>) -> Self {
        let mut new = Self::default();
        let mut found: Vec<(LoggedDevice, BTreeMap<Key, Kernel>)> = Vec::new();
        for log in logs {
            let at = found.iter().position(|(device, _)| *device == log.device).unwrap_or_else(|| {
                found.push((log.device.clone(), BTreeMap::new()));
                found.len() - 1
            });
            new.add(log, &mut found[at].1, &words);
        }
        let by_time = |kernels: BTreeMap<Key, Kernel>| {
            let mut kernels: Vec<Kernel> = kernels.into_values().collect();
            kernels.sort_by(|one, other| other.all_time().total_cmp(&one.all_time()));
            kernels
        };
        new.devices = found.into_iter().map(|(device, kernels)| (device, by_time(kernels))).collect();
        new
    }

    fn add(&mut self, log: &Log, kernels: &mut BTreeMap<Key, Kernel>, words: &impl Fn(&str) -> Option<Vec<u32>>) {
        for (kind, count) in &log.not_followed {
            *self.not_followed.entry(kind.clone()).or_default() += count;
        }
        let named: Vec<(String, String)> =
            (0..).zip(&log.kernels).map(|(at, of)| (named(log, at, of, words), hash(of))).collect();
        let mut last = None;
        for execution in &log.executions {
            self.submissions += u64::from(last != Some(execution.submission));
            last = Some(execution.submission);
            self.dispatches += 1;
            let Some(dispatch) = log.dispatches.get(execution.dispatch) else { continue };
            let Some(((name, hash), kernel)) = named.get(dispatch.kernel).zip(log.kernels.get(dispatch.kernel)) else {
                continue;
            };
            let groups = dispatch.groups.or(execution.groups);
            let of = kernels.entry((name.clone(), hash.clone(), groups)).or_insert_with(|| Kernel {
                name: name.clone(),
                hash: hash.clone(),
                module: kernel.module.clone(),
                groups,
                ..Kernel::default()
            });
            of.calls += 1;
            of.bound_bytes = of.bound_bytes.max(dispatch.bound_bytes);
            of.times.extend(execution.time.map(|(_, ticks)| ns(ticks, log.device.period)));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no dispatch takes 2^53 ticks")]
fn ns(ticks: u64, period: f64) -> f64 {
    ticks as f64 * period
}

fn named(log: &Log, at: usize, kernel: &LoggedKernel, words: &impl Fn(&str) -> Option<Vec<u32>>) -> String {
    let first = log.dispatches.iter().find(|dispatch| dispatch.kernel == at);
    let label = first.map(|dispatch| dispatch.label.as_str()).unwrap_or_default();
    name(&kernel.name, label, &kernel.entry, words(&kernel.module).as_deref(), &kernel.module)
}

/// What is the same on another driver: the module, entry point, constants and required subgroup size.
fn hash(LoggedKernel { module, entry, constants, required_subgroup_size, .. }: &LoggedKernel) -> String {
    let text = format!("{module}\n{entry}\n{constants}\n{required_subgroup_size}");
    label('k', Sha256::new_with_prefix(text)).chars().take(9).collect()
}

/// Rows of a device's kernels, in the order given.
pub fn rows(kernels: &[Kernel], template: &Record) -> Vec<Record> {
    (0..).zip(kernels).map(|(place, kernel)| row(kernel, place, template)).collect()
}

fn row(kernel: &Kernel, place: u64, template: &Record) -> Record {
    let point = Point::new([("groups".into(), AxisValue::Choice(groups_text(kernel.groups).into()))]);
    let experiment = format!("capture/{}", kernel.name);
    let [x, y, z] = [0, 1, 2].map(|at| kernel.groups.map(|groups| u64::from(groups[at])));
    let row = Record {
        case_id: case_id(&experiment, &kernel.hash, &[], &point, Cache::Warm),
        experiment,
        variant: kernel.hash.clone(),
        row_kind: MEASURED.to_owned(),
        cache: Cache::Warm.as_str().to_owned(),
        metric: "time".to_owned(),
        unit: "ns".to_owned(),
        better: "lower".to_owned(),
        checked: "false".to_owned(),
        check_note: NOTE.to_owned(),
        plan_index: Some(place),
        groups_x: x,
        groups_y: y,
        groups_z: z,
        spirv_hash: kernel.module.clone(),
        ..template.clone()
    };
    timed(row.at(&point), kernel)
}

fn timed(row: Record, kernel: &Kernel) -> Record {
    if kernel.times.is_empty() {
        let reason = format!("{} calls were counted, and none could be timed", kernel.calls);
        return Record { status: Status::Skipped.to_string(), reason, ..row };
    }
    let rounds: Vec<f64> = kernel.times.chunks(kernel.times.len().div_ceil(MOST_ROUNDS)).map(median).collect();
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

    fn log(program: &str, times: &str) -> Log {
        let text = format!(
            "capture\t1\t7\t{program}\ndevice\taa\tbb\t2\tA GPU\nkernel\t0\tabc\tmain\t\t0\tsaxpy\nkernel\t1\tdef\tmain\t\t0\t\n\
             dispatch\t0\t0\t4\t1\t1\t64\t\ndispatch\t1\t1\t1\t1\t1\t32\tsum\ndispatch\t2\t0\t4\t1\t1\t96\t\n{times}"
        );
        Log::parse(&text).unwrap()
    }

    #[test]
    fn kernels_of_all_processes_are_put_together_and_the_longest_comes_first() {
        let logs =
            [log("a", "times\t0\t0\t0:0:10 1:20:500 2:600:30\n"), log("b", "times\t0\t0\t0:0:20 0\ntimes\t1\t0\t1:1:1\n")];
        let profile = Profile::of(&logs, |_| None);
        assert_eq!((profile.submissions, profile.dispatches, profile.devices.len()), (3, 6, 1));
        let kernels = &profile.devices[0].1;
        let of: Vec<_> = kernels.iter().map(|kernel| (kernel.name.as_str(), kernel.calls, kernel.bound_bytes)).collect();
        assert_eq!(of, [("sum", 2, 32), ("saxpy", 4, 96)]);
        assert_eq!((kernels[1].times.as_slice(), kernels[1].all_time()), (&[20.0, 60.0, 40.0][..], 160.0));
    }

    #[test]
    fn a_row_is_the_same_case_on_another_driver() {
        let profile = Profile::of(&[log("a", "times\t0\t0\t0:0:10 1:20:500\n")], |_| None);
        let of = |driver: &str| {
            let template = Record { driver_info: driver.to_owned(), ..Record::new() };
            rows(&profile.devices[0].1, &template)
        };
        let (one, other) = (of("a"), of("b"));
        assert_eq!(one[0].case_id, other[0].case_id);
        assert_ne!(one[0].case_id, one[1].case_id);
        assert_eq!((one[0].experiment.as_str(), one[0].time_ns, one[0].samples), ("capture/sum", Some(1000.0), Some(1)));
    }
}
