//! `calibration/empty`: the cost of launching nothing.

use crate::experiments::{Built, CaseBuilder, Config, Experiment, Setting};
use crate::model::{Axis, Headline, Kernel, Point, Repeatability, Skip, Work};

pub const EXPERIMENT: &dyn Experiment = &Empty;

struct Empty;

impl Experiment for Empty {
    fn name(&self) -> &'static str {
        "calibration/empty"
    }

    fn repeatability(&self, _: &Point) -> Repeatability {
        Repeatability::Launch
    }

    fn axes(&self, _: &Setting) -> Vec<Axis> {
        Vec::new()
    }

    fn build<'a>(&self, config: &Config<'a>) -> Result<Built<'a>, Skip> {
        let mut case = CaseBuilder::new(self.name(), config);
        case.run(Kernel::new("calibration/empty.comp", [1, 1, 1]), &[], [1, 1, 1], &[]);
        Ok(case.build(Work::default(), Headline::TIME))
    }
}
