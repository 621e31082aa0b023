//! `calibration/clock`: does the device's clock agree with the host's?

use super::timer::instrument_case;
use crate::experiments::{Built, Config, Experiment, Setting};
use crate::model::{Axis, Headline, Measurand, Point, Repeatability, Skip};

pub const EXPERIMENT: &dyn Experiment = &Clock;

struct Clock;

impl Experiment for Clock {
    fn name(&self) -> &'static str {
        "calibration/clock"
    }

    fn repeatability(&self, _: &Point) -> Repeatability {
        Repeatability::Launch
    }

    fn axes(&self, _: &Setting) -> Vec<Axis> {
        Vec::new()
    }

    fn build<'a>(&self, config: &Config<'a>) -> Result<Built<'a>, Skip> {
        instrument_case(self.name(), config, Measurand::ClockRate, Headline::CLOCK_RATE)
    }
}
