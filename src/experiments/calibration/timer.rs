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

    fn summary(&self) -> &'static str {
        "smallest step and floor of the device's timestamps"
    }

    fn description(&self) -> &'static str {
        "What the instrument can resolve.\n\
         \n\
         `step` is the step in which timestamps were seen to count (the greatest common divisor of their differences): many \
         devices count in coarser steps than their stated period says. `floor` is the time between two timestamps with nothing but a full barrier in between: no shorter \
         time can be measured at all.\n\
         \n\
         How to read it: samples are made at least 100 floors long by repeating the pass; a row whose samples are shorter than \
         20 floors is flagged `near_floor`. On a device without timestamps both variants are skipped and the host's clock is \
         used (`timer=host`)."
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
