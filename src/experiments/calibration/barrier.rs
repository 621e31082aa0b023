//! `calibration/barrier`: the cost of a barrier with nothing in flight.

use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, Case, Point, Skip, Step, Work};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Barrier;

/// Barriers per pass: enough that the barrier between passes hardly counts.
const BARRIERS: u32 = 16;

struct Barrier;

impl Experiment for Barrier {
    fn name(&self) -> &'static str {
        "calibration/barrier"
    }

    fn axes(&self, _: &Setting) -> Vec<Axis> {
        Vec::new()
    }

    fn case(&self, _: &str, point: &Point, _: &Setting) -> Result<Case, Skip> {
        Ok(Case {
            pass: vec![Step::Barrier; BARRIERS as usize],
            work: Work { items: Some(u64::from(BARRIERS) + 1), ..Work::default() },
            ..Case::new(self.name(), point)
        })
    }

    fn expected<'a>(&self, _: &'a Case) -> Vec<Expected<'a>> {
        Vec::new()
    }
}
