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
