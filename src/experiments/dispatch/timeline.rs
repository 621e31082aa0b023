//! `dispatch/timeline`: how long is the way to the device and back, by a timeline semaphore?

use crate::experiments::common::submissions;
use crate::experiments::{Built, Config, Experiment};
use crate::model::{Feature, HostCost, Repeatability, Skip, Wait};

pub const EXPERIMENT: Experiment = Experiment {
    variants: &["poll", "wait"],
    quick_variants: &["poll"],
    base_variant: Some("poll"),
    repeatability: |_| Repeatability::Launch,
    ..Experiment::new("dispatch/timeline", submissions::axes, build)
};

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    config.require(&[Feature::TimelineSemaphore])?;
    let cost = HostCost::RoundTrip(if config.variant == "wait" { Wait::Timeline } else { Wait::TimelinePolled });
    submissions::build(EXPERIMENT.name, config, cost)
}
