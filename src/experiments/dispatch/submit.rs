//! `dispatch/submit`: what does it cost the host to submit?

use crate::experiments::common::submissions;
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, Case, HostCost, Point, Skip};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Submit;

struct Submit;

impl Experiment for Submit {
    fn name(&self) -> &'static str {
        "dispatch/submit"
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        submissions::axes(setting)
    }

    fn case(&self, _: &str, point: &Point, _: &Setting) -> Result<Case, Skip> {
        let cost = HostCost::Submit;
        submissions::case([self.name(), ""], point, cost)
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        submissions::expected(case)
    }
}
