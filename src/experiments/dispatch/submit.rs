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

    fn summary(&self) -> &'static str {
        "vkQueueSubmit of one command buffer, the device idle"
    }

    fn description(&self) -> &'static str {
        "The host calls vkQueueSubmit with a fence and one command buffer, which holds `dispatches` dispatches; the call's own time is taken, by the host's clock (timer=host). Before the next call the device is waited for, outside of that time: it has nothing else to do.\n\
         \n\
         How to read it: this is what a program pays per submission on the thread that submits. Drivers hand the work over in the call, or to a thread of their own; some look through all resources of a command buffer here, so that it grows with its commands.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04), a call takes about 3 us, and about 4 with 256 dispatches in it: it costs the \
         host next to nothing for each command, since these are recorded already. The way there and back takes several times \
         as long, as dispatch/fence shows."
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
