//! `calibration/clock`: does the device's clock agree with the host's?

use super::timer::instrument_case;
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, Case, Headline, Measurand, Point, Skip};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Clock;

struct Clock;

impl Experiment for Clock {
    fn name(&self) -> &'static str {
        "calibration/clock"
    }

    fn axes(&self, _: &Setting) -> Vec<Axis> {
        Vec::new()
    }

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        instrument_case(self.name(), variant, point, setting, Measurand::ClockRate, Headline::CLOCK_RATE)
    }

    fn expected<'a>(&self, _: &'a Case) -> Vec<Expected<'a>> {
        Vec::new()
    }
}
