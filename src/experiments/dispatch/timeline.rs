//! `dispatch/timeline`: how long is the way to the device and back, by a timeline semaphore?

use crate::experiments::common::submissions;
use crate::experiments::{Built, Config, Experiment, Setting};
use crate::model::{Axis, Feature, HostCost, Point, Repeatability, Skip, Wait};

pub const EXPERIMENT: &dyn Experiment = &Timeline;

struct Timeline;

impl Experiment for Timeline {
    fn name(&self) -> &'static str {
        "dispatch/timeline"
    }

    fn repeatability(&self, _: &Point) -> Repeatability {
        Repeatability::Launch
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

    fn build<'a>(&self, config: &Config<'a>) -> Result<Built<'a>, Skip> {
        config.require(&[Feature::TimelineSemaphore])?;
        let cost = HostCost::RoundTrip(if config.variant == "wait" { Wait::Timeline } else { Wait::TimelinePolled });
        submissions::build(self.name(), config, cost)
    }
}
