//! `dispatch/event`: what does an event between two dispatches cost, where a barrier would do?

use crate::experiments::common::commands;
use crate::experiments::common::prelude::*;
use crate::model::Step;

pub const EXPERIMENT: Experiment = commands::experiment("dispatch/event", axes, build);

const LINKS: &[&str] = &["barrier", "event"];

/// Each command needs an event of its own, and drivers have room for so many.
const MOST_EVENTS: u32 = 4096;

fn axes(setting: &Setting) -> Vec<Axis> {
    let values = setting.quick_or(&LINKS[1..], LINKS).iter().copied();
    let axis = Axis::new("link", "what links a dispatch to the one before", AxisKind::Choices(LINKS), values);
    commands::axes(axis.relative_to("barrier"), setting)
}

fn build(config: &Config) -> Result<Built, Skip> {
    let count = config.u32("commands");
    let is_event = config.choice("link") == "event";
    if is_event && !config.device().has(Feature::Events) {
        return Err(Skip::new("VK_KHR_portability_subset without its feature `events`: the case needs events"));
    }
    if is_event && count > MOST_EVENTS {
        return Err(Skip::new(format!("events are {MOST_EVENTS} at most: the case needs {count}")));
    }
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let word = case.output("word", commands::one_word(count));
    let kernel = case.kernel(commands::step_kernel(commands::FACTOR), &[word]);
    case.bind(kernel);
    for event in 0..count {
        if is_event {
            case.reset_step(Step::ResetEvent { event });
            case.step(Step::SetEvent { event });
            case.step(Step::WaitEvent { event });
        } else {
            case.depend();
        }
        case.dispatch(kernel, [1, 1, 1], &commands::push(0, event));
    }
    Ok(commands::build(case, config))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{quick, reason};
    use crate::model::DeviceInfo;

    #[test]
    fn without_events_barriers_are_left() {
        let mut device = DeviceInfo::mock();
        device.features.remove(&Feature::Events);
        let reason = |link| reason(&EXPERIMENT, "", quick(&device), link);
        assert!(reason("link=event").contains("`events`") && reason("link=barrier").is_empty());
    }
}
