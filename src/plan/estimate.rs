//! How long a run takes: an estimate from the number of its cases, and from what a case may take.

use std::fmt;
use std::time::Duration;

use super::Plan;
use crate::model::DeviceInfo;

/// The time that a case may be timed with the preset `default`.
pub const DEFAULT_TIME: Duration = Duration::from_secs(2);
/// Over how many processes the rounds are dealt with the presets `default` and `thorough`.
pub const DEFAULT_PROCESSES: u8 = 3;
/// The same with the preset `study`: one for each of the rounds that an interval needs, so that it is one over processes.
pub const STUDY_PROCESSES: u8 = 6;

/// What a process takes to start, to open the device and to calibrate it.
const START: Duration = Duration::from_millis(700);

/// What a case takes at least on a GPU that nobody disturbs: six short rounds are precise enough, and its data is soon made. An H100 took
/// 0.1 to 1.8 s for each of 4000 cases, 0.4 s in the middle.
const LEAST_ON_GPU: Duration = Duration::from_millis(300);

/// The same on the processor: lavapipe on two cores took 1.5 to 2.3 s a case beside other programs, whose rows had most of their time.
const LEAST_ON_PROCESSOR: Duration = Duration::from_millis(700);

/// What compiling, making data and checking add to the time of a case that takes all that it may be timed.
const PREPARING: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    pub cases: u64,
    /// Where nothing disturbs the device.
    pub least: Duration,
    /// Where each case takes the time that it may be timed.
    pub most: Duration,
}

impl Estimate {
    pub fn new(plan: &Plan, device: &DeviceInfo) -> Self {
        let cases = plan.iter().filter(|planned| planned.case.is_ok()).count() as u64;
        Self::of_cases(cases, device, DEFAULT_PROCESSES.into(), DEFAULT_TIME)
    }

    /// Of so many cases on a device, dealt over so many processes, each of which may be timed so long.
    pub fn of_cases(cases: u64, device: &DeviceInfo, processes: usize, max_time: Duration) -> Self {
        let start = START.saturating_mul(u32::try_from(processes).unwrap_or(u32::MAX));
        let least = if device.is_cpu() { LEAST_ON_PROCESSOR } else { LEAST_ON_GPU };
        let most = max_time.saturating_add(PREPARING);
        let all = |each: Duration| start.saturating_add(each.saturating_mul(u32::try_from(cases).unwrap_or(u32::MAX)));
        Self { cases, least: all(least.min(most)), most: all(most) }
    }
}

/// `8 to 54 s`, `40 s to 5 min`
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [(least, small), (most, unit)] = [self.least, self.most].map(about);
        match (least == most, small == unit) {
            (true, true) => write!(f, "{most} {unit}"),
            (_, true) => write!(f, "{least} to {most} {unit}"),
            (_, false) => write!(f, "{least} {small} to {most} {unit}"),
        }
    }
}

fn about(time: Duration) -> (u64, &'static str) {
    let seconds = time.as_secs();
    match seconds {
        0..100 => (seconds, "s"),
        100..6000 => ((seconds + 30) / 60, "min"),
        _ => ((seconds + 1800) / 3600, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Setting;
    use crate::model::{DeviceKind, Preset};
    use crate::plan::Request;

    #[test]
    fn a_sweep_takes_what_its_cases_take() {
        let device = |kind| DeviceInfo { kind, ..DeviceInfo::mock() };
        let estimate = |name: &str, device: &DeviceInfo| {
            let request = Request { filters: vec![name.to_owned()], ..Request::default() };
            let setting = Setting { device, queue: None, preset: Preset::Default, seed: 1 };
            Estimate::new(&Plan::new(&request, setting).unwrap(), device)
        };
        let (gpu, processor) = (device(DeviceKind::Discrete), device(DeviceKind::Cpu));
        let (one, many) = (estimate("calibration/empty", &gpu), estimate("workgroup/linear", &gpu));
        assert_eq!((one.cases, one.least, one.most), (1, Duration::from_millis(2400), Duration::from_millis(4600)));
        assert!(many.cases > 10 && many.least > one.least && many.most > many.least);
        let slower = estimate("workgroup/linear", &processor);
        assert!(slower.cases == many.cases && slower.least > many.least && slower.most == many.most);
    }

    #[test]
    fn short_cases_take_no_longer_than_they_may() {
        let hasty = Estimate::of_cases(10, &DeviceInfo::mock(), 1, Duration::from_millis(20));
        assert_eq!((hasty.least, hasty.most), (Duration::from_millis(5900), Duration::from_millis(5900)));
        assert_eq!(hasty.to_string(), "5 s");
        assert_eq!(Estimate::of_cases(u64::MAX, &DeviceInfo::mock(), 3, Duration::MAX / 2).cases, u64::MAX);
    }

    #[test]
    fn times_are_told_in_round_figures() {
        let told = |least: u64, most: u64| {
            let [least, most] = [least, most].map(Duration::from_secs);
            Estimate { cases: 1, least, most }.to_string()
        };
        assert_eq!(
            [told(7, 99), told(99, 100), told(100, 170), told(5999, 7300), told(4, 4)],
            ["7 to 99 s", "99 s to 2 min", "2 to 3 min", "100 min to 2 h", "4 s"]
        );
    }
}
