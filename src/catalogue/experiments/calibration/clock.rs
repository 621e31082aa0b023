//! `calibration/clock`: does the device's clock agree with the host's?

use super::timer::instrument_case;
use crate::experiments::common::prelude::*;
use crate::model::Measurand;

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Launch, ..Experiment::new("calibration/clock", |_| Vec::new(), build) };

fn build(config: &Config) -> Result<Built, Skip> {
    instrument_case(EXPERIMENT.name, config, Measurand::ClockRate, Headline::CLOCK_RATE)
}
