//! `dispatch/event`: what does an event between two dispatches cost, where a barrier would do?

use crate::experiments::common::commands;
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, AxisKind, Case, Dependency, Feature, Point, Preset, Skip, Step};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Event;

/// What links a dispatch to the one before.
const LINKS: &[&str] = &["barrier", "event"];

/// Each command needs an event of its own, and drivers have room for so many.
const MOST_EVENTS: u32 = 4096;

struct Event;

impl Experiment for Event {
    fn name(&self) -> &'static str {
        "dispatch/event"
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let values = if setting.preset == Preset::Quick { &LINKS[1..] } else { LINKS };
        let axis =
            Axis::new("link", "what links a dispatch to the one before", AxisKind::Choices(LINKS), values.iter().copied());
        [vec![axis.relative_to("barrier")], commands::axes(setting)].concat()
    }

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let count = commands::count(point)?;
        let is_event = point.choice("link") == "event";
        if is_event && !setting.device.has(Feature::Events) {
            return Err(Skip::new("VK_KHR_portability_subset without its feature `events`: the case needs events"));
        }
        if is_event && count > MOST_EVENTS {
            return Err(Skip::new(format!("events are {MOST_EVENTS} at most: the case needs {count}")));
        }
        let command = |i| {
            let [push, dispatch] = commands::dispatch_on(0, i);
            let link = if is_event {
                vec![Step::SetEvent { event: i }, Step::WaitEvent { event: i }]
            } else {
                vec![Step::Dependency(Dependency::Memory)]
            };
            [link, vec![push, dispatch]].concat()
        };
        let pass = std::iter::once(Step::Bind { kernel: 0 }).chain((0..count).flat_map(command)).collect();
        let (kernels, words) = (vec![commands::step_kernel(commands::FACTOR)], vec![commands::words("word", 1)]);
        let mut case = commands::case(self.name(), point, kernels, words, pass);
        if is_event {
            case.reset.extend((0..count).map(|event| Step::ResetEvent { event }));
        }
        Ok(case)
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        vec![commands::one_word(commands::count(&case.point).unwrap_or(0))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DeviceInfo;

    #[test]
    fn without_events_barriers_are_left() {
        let mut device = DeviceInfo::mock();
        device.features.remove(&Feature::Events);
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        let case = |link: &'static str| {
            let axes = Event.axes(&setting).into_iter().map(|axis| (axis.name, axis.defaults[0].clone()));
            Event.case("", &Point::new(axes).with("link", &link.into()), &setting)
        };
        assert!(case("event").unwrap_err().reason.contains("`events`") && case("barrier").is_ok());
    }
}
