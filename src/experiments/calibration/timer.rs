//! `calibration/timer`: what the device's timestamps can resolve.

use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, Case, Headline, Measurand, Point, Skip};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Timer;

struct Timer;

impl Experiment for Timer {
    fn name(&self) -> &'static str {
        "calibration/timer"
    }

    fn variants(&self) -> &[&str] {
        &["step", "floor"]
    }

    fn axes(&self, _: &Setting) -> Vec<Axis> {
        Vec::new()
    }

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let measurand = if variant == "step" { Measurand::TimerStep } else { Measurand::TimerFloor };
        instrument_case(self.name(), variant, point, setting, measurand, Headline::TIME)
    }

    fn expected<'a>(&self, _: &'a Case) -> Vec<Expected<'a>> {
        Vec::new()
    }
}

/// A case that measures the device's timestamps themselves.
pub(super) fn instrument_case(
    experiment: &str,
    variant: &str,
    point: &Point,
    setting: &Setting,
    measurand: Measurand,
    headline: Headline,
) -> Result<Case, Skip> {
    setting.require_timestamps()?;
    Ok(Case { variant: variant.to_owned(), measurand, headline, ..Case::new(experiment, point) })
}
