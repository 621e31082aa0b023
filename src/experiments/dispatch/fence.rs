//! `dispatch/fence`: how long is the way to the device and back, by a fence?

use crate::experiments::common::submissions;
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, Case, HostCost, Point, Skip, Wait};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Fence;

struct Fence;

impl Experiment for Fence {
    fn name(&self) -> &'static str {
        "dispatch/fence"
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

    fn case(&self, variant: &str, point: &Point, _: &Setting) -> Result<Case, Skip> {
        let cost = HostCost::RoundTrip(match variant {
            "wait" => Wait::Fence,
            "queue_idle" => Wait::QueueIdle,
            _ => Wait::FencePolled,
        });
        submissions::case([self.name(), variant], point, cost)
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        submissions::expected(case)
    }
}
