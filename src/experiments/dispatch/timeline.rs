//! `dispatch/timeline`: how long is the way to the device and back, by a timeline semaphore?

use crate::experiments::common::submissions;
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, Case, Feature, HostCost, Point, Skip, Wait};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Timeline;

struct Timeline;

impl Experiment for Timeline {
    fn name(&self) -> &'static str {
        "dispatch/timeline"
    }

    fn summary(&self) -> &'static str {
        "vkQueueSubmit until the host sees a timeline semaphore count"
    }

    fn description(&self) -> &'static str {
        "As `dispatch/fence`, but the submission signals a timeline semaphore: `poll` asks vkGetSemaphoreCounterValue again and again, `wait` sleeps in vkWaitSemaphores.\n\
         \n\
         How to read it: the time of one round trip, as in `dispatch/fence`; the difference to it is what the driver does more for a semaphore that counts.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04), round trips are those of dispatch/fence to within a few per cent, polled or \
         slept through: a semaphore that counts costs no more than a fence."
    }

    fn variants(&self) -> &[&str] {
        &["poll", "wait"]
    }

    fn quick_variants(&self) -> &[&str] {
        &["poll"]
    }

    fn base_variant(&self) -> Option<&str> {
        Some("poll")
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        submissions::axes(setting)
    }

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        if !setting.device.has(Feature::TimelineSemaphore) {
            return Err(Skip::new("timelineSemaphore is missing: the case needs it"));
        }
        let cost = HostCost::RoundTrip(if variant == "wait" { Wait::Timeline } else { Wait::TimelinePolled });
        submissions::case([self.name(), variant], point, cost)
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        submissions::expected(case)
    }
}
