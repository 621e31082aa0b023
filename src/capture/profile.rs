//! The kernels of all files of a capture.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufRead};

use super::log::{Execution, Log, LoggedDevice, LoggedKernel};
use super::modules::{Told, name};
use crate::stats::median;

/// What the kernels of a capture took.
#[derive(Debug, Default)]
pub struct Profile {
    pub devices: Vec<OnDevice>,
    /// Whether each dispatch ran alone.
    pub is_isolated: bool,
    /// Submissions with dispatches, and dispatches in all of them.
    pub submissions: u64,
    pub dispatches: u64,
    pub not_followed: BTreeMap<String, u64>,
}

/// What ran on one device, by one driver.
#[derive(Debug, Default)]
pub struct OnDevice {
    pub device: LoggedDevice,
    /// Those that took longest first, once all is read.
    pub kernels: Vec<Kernel>,
    /// What two timestamps are apart with nothing between them: ns.
    pub floors: Vec<f64>,
    /// The kernels' places, by what tells them apart.
    places: HashMap<Key, usize>,
    /// Dispatches of the submission that is shown, and of the latest ones: there may be as many as queues at a time.
    shown: Vec<Ran>,
    latest: BTreeMap<(u64, u64), Vec<Ran>>,
}

/// A kernel, with one count of workgroups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    pub name: String,
    /// What tells it apart from others of this name.
    pub hash: String,
    pub logged: LoggedKernel,
    pub told: Told,
    /// Nothing where the device alone knew.
    pub groups: Option<[u32; 3]>,
    /// Whether the device always read the groups.
    pub is_indirect: bool,
    /// How often it was recorded at least.
    pub recorded: u64,
    /// The most bytes that buffers had which were bound.
    pub bound_bytes: u64,
    pub calls: u64,
    /// Of each call that was timed, in order: ns.
    pub times: Vec<f64>,
    /// When its dispatches of the submission that is shown began, and how long they took: ns.
    pub timeline: Vec<(f64, f64)>,
}

type Key = (String, String, Option<[u32; 3]>);

/// A dispatch that was timed: its kernel by its place, when it began, and how long it took, in ticks.
#[derive(Clone, Copy, Debug)]
struct Ran {
    kernel: usize,
    start: u64,
    ticks: u64,
}

/// Submissions that are kept until it is known how many dispatches they have.
const LATEST: usize = 16;

/// The most dispatches of a submission that is shown.
const MOST_SHOWN: usize = 2000;

impl Kernel {
    /// A name that no other kernel has.
    pub fn label(&self) -> String {
        format!("{}-{}", self.name, self.hash)
    }

    /// All its calls, if those took as long as the others that weren't timed: ns.
    #[expect(clippy::cast_precision_loss, reason = "there are never 2^53 calls")]
    pub fn all_time(&self) -> f64 {
        let timed: f64 = self.times.iter().sum();
        if self.times.is_empty() { 0.0 } else { timed * self.calls as f64 / self.times.len() as f64 }
    }
}

impl OnDevice {
    pub fn all_time(&self) -> f64 {
        self.kernels.iter().map(Kernel::all_time).sum()
    }

    /// Nothing where it was never looked at.
    pub fn floor(&self) -> Option<f64> {
        (!self.floors.is_empty()).then(|| median(&self.floors))
    }

    /// Notes a dispatch of a submission, by its process and number.
    fn show(&mut self, submission: (u64, u64), ran: Ran) {
        let own = self.latest.entry(submission).or_default();
        if own.len() < MOST_SHOWN {
            own.push(ran);
        }
        while self.latest.len() > LATEST {
            self.choose();
        }
    }

    /// Shows the submission with the most dispatches, and of several the last one: what comes first compiles, and fills caches.
    fn choose(&mut self) {
        let first = self.latest.pop_first().map(|(_, ran)| ran).unwrap_or_default();
        if first.len() >= self.shown.len() {
            self.shown = first;
        }
    }

    fn finish(&mut self) {
        while !self.latest.is_empty() {
            self.choose();
        }
        let begin = self.shown.iter().map(|ran| ran.start).min().unwrap_or(0);
        for Ran { kernel, start, ticks } in std::mem::take(&mut self.shown) {
            let time = (ns(start - begin, self.device.period), ns(ticks, self.device.period));
            self.kernels[kernel].timeline.push(time);
        }
        self.kernels.sort_by(|one, other| other.all_time().total_cmp(&one.all_time()));
        self.places.clear();
    }
}

impl Profile {
    /// The share of its device's time that a kernel of this profile has.
    pub fn share(&self, kernel: &Kernel) -> Option<f64> {
        let has_it = |device: &&OnDevice| device.kernels.iter().any(|own| std::ptr::eq(own, kernel));
        let all = self.devices.iter().find(has_it)?.all_time();
        (all > 0.0).then(|| kernel.all_time() / all)
    }

    /// Of the files of a capture, one by one; `words` gives a module by the name of its file.
    ///
    /// # Errors
    /// What is wrong with a file, by its place.
    pub fn of<R: BufRead>(
        logs: impl IntoIterator<Item = R>,
        words: impl Fn(&str) -> Option<Vec<u32>>,
    ) -> Result<Self, (usize, io::Error)> {
        let mut new = Self::default();
        for (process, from) in logs.into_iter().enumerate() {
            new.add(process, from, &words).map_err(|error| (process, error))?;
        }
        new.devices.iter_mut().for_each(OnDevice::finish);
        Ok(new)
    }

    fn add(&mut self, process: usize, from: impl BufRead, words: &impl Fn(&str) -> Option<Vec<u32>>) -> io::Result<()> {
        let mut reading = Reading { process: process as u64, ..Reading::default() };
        let log = Log::read(from, |log, execution| self.take(&mut reading, log, execution, words))?;
        self.is_isolated = log.is_isolated;
        for (kind, count) in &log.not_followed {
            *self.not_followed.entry(kind.clone()).or_default() += count;
        }
        let of = self.on(&log.device);
        for ((kernel, groups), place) in &reading.kernels {
            let own = &mut self.devices[of].kernels[*place];
            let groups = groups.filter(|_| !own.is_indirect);
            let same = log.dispatches.iter().filter(|dispatch| (dispatch.kernel, dispatch.groups) == (*kernel, groups));
            // Each process counts its own.
            own.recorded = own.recorded.max(same.map(|dispatch| dispatch.recorded).sum());
        }
        self.devices[of].floors.extend(log.floors.iter().map(|ticks| ns(*ticks, log.device.period)));
        Ok(())
    }

    /// The place of a device.
    fn on(&mut self, device: &LoggedDevice) -> usize {
        self.devices.iter().position(|own| own.device == *device).unwrap_or_else(|| {
            self.devices.push(OnDevice { device: device.clone(), ..OnDevice::default() });
            self.devices.len() - 1
        })
    }

    fn take(&mut self, reading: &mut Reading, log: &Log, execution: Execution, words: &impl Fn(&str) -> Option<Vec<u32>>) {
        if reading.latest.insert(execution.submission) {
            self.submissions += 1;
            // Those of several queues come mixed.
            if reading.latest.len() > LATEST {
                reading.latest.pop_first();
            }
        }
        self.dispatches += 1;
        let Some(dispatch) = log.dispatches.get(execution.dispatch) else { return };
        let device = *reading.device.get_or_insert_with(|| self.on(&log.device));
        let own = &mut self.devices[device];
        let groups = dispatch.groups.or(execution.groups);
        let known = reading.kernels.entry((dispatch.kernel, groups));
        let kernel = *known.or_insert_with(|| own.place(log, dispatch.kernel, &dispatch.label, groups, words));
        let of = &mut own.kernels[kernel];
        of.calls += 1;
        of.bound_bytes = of.bound_bytes.max(dispatch.bound_bytes);
        of.is_indirect &= dispatch.groups.is_none();
        if let Some((start, ticks)) = execution.time {
            of.times.push(ns(ticks, log.device.period));
            own.show((reading.process, execution.submission), Ran { kernel, start, ticks });
        }
    }
}

/// What is known while a file is read.
#[derive(Default)]
struct Reading {
    process: u64,
    device: Option<usize>,
    latest: BTreeSet<u64>,
    /// The places of kernels, by those in the file, and by workgroups.
    kernels: HashMap<(usize, Option<[u32; 3]>), usize>,
}

impl OnDevice {
    /// The place of a kernel, by that in a file.
    fn place(
        &mut self,
        log: &Log,
        kernel: usize,
        label: &str,
        groups: Option<[u32; 3]>,
        words: &impl Fn(&str) -> Option<Vec<u32>>,
    ) -> usize {
        let logged = &log.kernels[kernel];
        let told = Told::of(words(&logged.module), logged);
        // Whatever its count of workgroups, it has the label of its first dispatch.
        let label = log.dispatches.iter().find(|of| of.kernel == kernel).map_or(label, |of| &of.label);
        let (name, hash) = (name(logged, label, &told), logged.hash());
        *self.places.entry((name.clone(), hash.clone(), groups)).or_insert_with(|| {
            self.kernels.push(Kernel {
                name,
                hash,
                logged: logged.clone(),
                told,
                groups,
                is_indirect: true,
                ..Kernel::default()
            });
            self.kernels.len() - 1
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "no dispatch takes 2^53 ticks")]
fn ns(ticks: u64, period: f64) -> f64 {
    ticks as f64 * period
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::testing::log;

    #[test]
    fn kernels_of_all_processes_are_put_together_and_the_longest_comes_first() {
        let logs =
            [log("a", "times\t0\t0\t0:0:10 1:20:500 2:600:30\n"), log("b", "times\t0\t0\t0:0:20 0\ntimes\t1\t0\t1:1:1\n")];
        let profile = Profile::of(logs.iter().map(String::as_bytes), |_| None).unwrap();
        assert_eq!((profile.submissions, profile.dispatches, profile.devices.len()), (3, 6, 1));
        let kernels = &profile.devices[0].kernels;
        let of: Vec<_> = kernels.iter().map(|kernel| (kernel.name.as_str(), kernel.calls, kernel.bound_bytes)).collect();
        assert_eq!(of, [("sum", 2, 32), ("saxpy", 4, 96)]);
        assert_eq!((kernels[1].times.as_slice(), kernels[1].all_time()), (&[20.0, 60.0, 40.0][..], 160.0));
        assert_eq!(profile.devices[0].floor(), Some(6.0));
    }

    #[test]
    fn the_last_submission_with_the_most_dispatches_is_shown() {
        let text: String = (0..40).map(|at| format!("times\t{at}\t0\t0:{at}00:3 1:{at}10:5\n")).collect();
        let profile = Profile::of([log("a", &format!("{text}times\t40\t0\t0:9000:1\n")).as_bytes()], |_| None).unwrap();
        let timelines: Vec<_> = profile.devices[0].kernels.iter().map(|kernel| kernel.timeline.clone()).collect();
        assert_eq!(timelines, [vec![(20.0, 10.0)], vec![(0.0, 6.0)]]);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        let (at, why) = Profile::of([log("a", "").as_bytes(), b"what\n"], |_| None).unwrap_err();
        assert!(at == 1 && why.to_string().contains("line 1"), "{why}");
    }
}
