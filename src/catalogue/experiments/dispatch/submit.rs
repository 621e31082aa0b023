//! `dispatch/submit`: what does it cost the host to submit?

use crate::experiments::common::prelude::*;
use crate::experiments::common::{commands, submissions};
use crate::model::HostCost;

pub const EXPERIMENT: Experiment = commands::experiment("dispatch/submit", submissions::axes, build);

fn build(config: &Config) -> Result<Built, Skip> {
    submissions::build(EXPERIMENT.name, config, HostCost::Submit)
}
