//! `calibration/timer`: what the device's timestamps can resolve.

use crate::experiments::{Built, CaseBuilder, Config, Experiment, Setting};
use crate::model::{Axis, Headline, Measurand, Point, Repeatability, Skip, Work};

pub const EXPERIMENT: &dyn Experiment = &Timer;

struct Timer;

impl Experiment for Timer {
    fn name(&self) -> &'static str {
        "calibration/timer"
    }

    fn repeatability(&self, _: &Point) -> Repeatability {
        Repeatability::Launch
    }

    fn variants(&self) -> &[&str] {
        &["step", "floor"]
    }

    fn axes(&self, _: &Setting) -> Vec<Axis> {
        Vec::new()
    }

    fn build<'a>(&self, config: &Config<'a>) -> Result<Built<'a>, Skip> {
        let measurand = if config.variant == "step" { Measurand::TimerStep } else { Measurand::TimerFloor };
        instrument_case(self.name(), config, measurand, Headline::TIME)
    }
}

/// A case that measures the device's timestamps themselves.
pub(super) fn instrument_case<'a>(
    experiment: &str,
    config: &Config<'a>,
    measurand: Measurand,
    headline: Headline,
) -> Result<Built<'a>, Skip> {
    config.setting.require_timestamps()?;
    Ok(CaseBuilder::new(experiment, config).measurand(measurand).build(Work::default(), headline))
}
