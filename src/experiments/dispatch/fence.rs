//! `dispatch/fence`: how long is the way to the device and back, by a fence?

use crate::experiments::common::submissions;
use crate::experiments::{Built, Config, Experiment, Setting};
use crate::model::{Axis, HostCost, Point, Repeatability, Skip, Wait};

pub const EXPERIMENT: &dyn Experiment = &Fence;

struct Fence;

impl Experiment for Fence {
    fn name(&self) -> &'static str {
        "dispatch/fence"
    }

    fn repeatability(&self, _: &Point) -> Repeatability {
        Repeatability::Launch
    }

    fn variants(&self) -> &[&str] {
        &["poll", "wait", "queue_idle"]
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
        let cost = HostCost::RoundTrip(match config.variant {
            "wait" => Wait::Fence,
            "queue_idle" => Wait::QueueIdle,
            _ => Wait::FencePolled,
        });
        submissions::build(self.name(), config, cost)
    }
}
