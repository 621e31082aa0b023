//! `calibration/timer`: what the device's timestamps can resolve.

use crate::experiments::common::prelude::*;
use crate::model::Measurand;

pub const EXPERIMENT: Experiment = Experiment {
    variants: &["step", "floor"],
    repeatability: |_| Repeatability::Launch,
    ..Experiment::new("calibration/timer", |_| Vec::new(), build)
};

fn build(config: &Config) -> Result<Built, Skip> {
    let measurand = if config.variant == "step" { Measurand::TimerStep } else { Measurand::TimerFloor };
    instrument_case(EXPERIMENT.name, config, measurand, Headline::TIME)
}

/// A case that measures the device's timestamps themselves.
pub(super) fn instrument_case(
    experiment: &str,
    config: &Config,
    measurand: Measurand,
    headline: Headline,
) -> Result<Built, Skip> {
    config.setting.require_timestamps()?;
    Ok(CaseBuilder::new(experiment, config).measurand(measurand).build(Work::default(), headline))
}
