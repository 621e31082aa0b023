//! `calibration/barrier`: the cost of a barrier with nothing in flight.

use crate::experiments::{Built, CaseBuilder, Config, Experiment, Setting};
use crate::model::{Axis, Headline, Point, Repeatability, Skip, Work};

pub const EXPERIMENT: &dyn Experiment = &Barrier;

/// Barriers per pass: enough that the barrier between passes hardly counts.
const BARRIERS: u64 = 16;

struct Barrier;

impl Experiment for Barrier {
    fn name(&self) -> &'static str {
        "calibration/barrier"
    }

    fn repeatability(&self, _: &Point) -> Repeatability {
        Repeatability::Launch
    }

    fn axes(&self, _: &Setting) -> Vec<Axis> {
        Vec::new()
    }

    fn build<'a>(&self, config: &Config<'a>) -> Result<Built<'a>, Skip> {
        let mut case = CaseBuilder::new(self.name(), config);
        (0..BARRIERS).for_each(|_| case.barrier());
        let work = Work { items: Some(BARRIERS + 1), ..Work::default() };
        Ok(case.build(work, Headline::TIME))
    }
}
