//! `calibration/empty`: the cost of launching nothing.

use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, Case, Check, Kernel, Point, Skip};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Empty;

struct Empty;

impl Experiment for Empty {
    fn name(&self) -> &'static str {
        "calibration/empty"
    }

    fn axes(&self, _: &Setting) -> Vec<Axis> {
        Vec::new()
    }

    fn case(&self, _: &str, point: &Point, _: &Setting) -> Result<Case, Skip> {
        let kernel = Kernel::new("calibration/empty.comp", [1, 1, 1], 0);
        let case = Case::single_dispatch(self.name(), point, kernel, [1, 1, 1], &[], Vec::new(), Vec::new());
        Ok(Case { check: Check::Nothing("nothing is computed"), ..case })
    }

    fn expected<'a>(&self, _: &'a Case) -> Vec<Expected<'a>> {
        Vec::new()
    }
}
