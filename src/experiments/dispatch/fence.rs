//! `dispatch/fence`: how long is the way to the device and back, by a fence?

use crate::experiments::common::submissions;
use crate::experiments::{Built, Config, Experiment};
use crate::model::{HostCost, Repeatability, Skip, Wait};

pub const EXPERIMENT: Experiment = Experiment {
    variants: &["poll", "wait", "queue_idle"],
    quick_variants: &["poll"],
    base_variant: Some("poll"),
    repeatability: |_| Repeatability::Launch,
    ..Experiment::new("dispatch/fence", submissions::axes, build)
};

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let cost = HostCost::RoundTrip(match config.variant {
        "wait" => Wait::Fence,
        "queue_idle" => Wait::QueueIdle,
        _ => Wait::FencePolled,
    });
    submissions::build(EXPERIMENT.name, config, cost)
}
