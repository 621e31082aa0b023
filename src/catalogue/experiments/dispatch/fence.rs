//! `dispatch/fence`: how long is the way to the device and back, by a fence?

use crate::experiments::common::prelude::*;
use crate::experiments::common::submissions;
use crate::model::{HostCost, Wait};

pub const EXPERIMENT: Experiment = submissions::round_trip("dispatch/fence", Way::WORDS, build);

choices! {
    enum Way { Poll = "poll", Wait = "wait", QueueIdle = "queue_idle" }
}

fn build(config: &Config) -> Result<Built, Skip> {
    let cost = HostCost::RoundTrip(match Way::of(config.variant) {
        Way::Poll => Wait::FencePolled,
        Way::Wait => Wait::Fence,
        Way::QueueIdle => Wait::QueueIdle,
    });
    submissions::build(EXPERIMENT.name, config, cost)
}
