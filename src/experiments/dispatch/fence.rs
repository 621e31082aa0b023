//! `dispatch/fence`: how long is the way to the device and back, by a fence?

use crate::experiments::common::submissions;
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, Case, HostCost, Point, Skip, Wait};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Fence;

struct Fence;

impl Experiment for Fence {
    fn name(&self) -> &'static str {
        "dispatch/fence"
    }

    fn summary(&self) -> &'static str {
        "vkQueueSubmit until the host sees that the work is done"
    }

    fn description(&self) -> &'static str {
        "The host calls vkQueueSubmit with one command buffer that holds `dispatches` dispatches, and waits until they are done; the time from the call to then is taken, by the host's clock (timer=host). The variants are ways to wait: `poll` asks vkGetFenceStatus again and again, `wait` sleeps in vkWaitForFences, `queue_idle` in vkQueueWaitIdle, without a fence.\n\
         \n\
         How to read it: the time of one round trip, the dispatches in it. The difference between dispatches=0 and more is what they add on the device; the rest is the way there and back. `wait` adds what the system needs to wake a thread, tens of microseconds where it has to leave a sleep of the processor; `poll` keeps a processor busy.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04), a round trip takes about 17 us with nothing in it, 21 with one dispatch, and \
         each further one adds about half a microsecond. Sleeping costs more than the way itself: vkWaitForFences about 24 us \
         more, and vkQueueWaitIdle about 30. So a program that waits for each of its short submissions mostly measures the \
         way; the host here is a virtual machine, which may be part of it."
    }

    fn variants(&self) -> &[&str] {
        &["poll", "wait", "queue_idle"]
    }

    fn quick_variants(&self) -> &[&str] {
        &["poll"]
    }

    fn base_variant(&self) -> Option<&str> {
        Some("poll")
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        submissions::axes(setting)
    }

    fn case(&self, variant: &str, point: &Point, _: &Setting) -> Result<Case, Skip> {
        let cost = HostCost::RoundTrip(match variant {
            "wait" => Wait::Fence,
            "queue_idle" => Wait::QueueIdle,
            _ => Wait::FencePolled,
        });
        submissions::case([self.name(), variant], point, cost)
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        submissions::expected(case)
    }
}
