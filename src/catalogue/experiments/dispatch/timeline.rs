//! `dispatch/timeline`: how long is the way to the device and back, by a timeline semaphore?

use crate::experiments::common::prelude::*;
use crate::experiments::common::submissions;
use crate::model::{HostCost, Wait};

pub const EXPERIMENT: Experiment = submissions::round_trip("dispatch/timeline", &["poll", "wait"], build);

fn build(config: &Config) -> Result<Built, Skip> {
    config.require(&[Feature::TimelineSemaphore])?;
    let cost = HostCost::RoundTrip(if config.variant == "wait" { Wait::Timeline } else { Wait::TimelinePolled });
    submissions::build(EXPERIMENT.name, config, cost)
}
