//! `dispatch/submit`: what does it cost the host to submit?

use crate::experiments::common::submissions;
use crate::experiments::{Built, Config, Experiment};
use crate::model::{HostCost, Repeatability, Skip};

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Launch, ..Experiment::new("dispatch/submit", submissions::axes, build) };

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    submissions::build(EXPERIMENT.name, config, HostCost::Submit)
}
