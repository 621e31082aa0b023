//! `dispatch/submit`: what does it cost the host to submit?

use crate::experiments::common::submissions;
use crate::experiments::{Built, Config, Experiment, Setting};
use crate::model::{Axis, HostCost, Point, Repeatability, Skip};

pub const EXPERIMENT: &dyn Experiment = &Submit;

struct Submit;

impl Experiment for Submit {
    fn name(&self) -> &'static str {
        "dispatch/submit"
    }

    fn repeatability(&self, _: &Point) -> Repeatability {
        Repeatability::Launch
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        submissions::axes(setting)
    }

    fn build<'a>(&self, config: &Config<'a>) -> Result<Built<'a>, Skip> {
        submissions::build(self.name(), config, HostCost::Submit)
    }
}
