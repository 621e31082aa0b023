//! `dispatch/event`: what does an event between two dispatches cost, where a barrier would do?

use crate::experiments::common::commands;
use crate::experiments::{Built, CaseBuilder, Config, Experiment, Setting};
use crate::model::{Axis, AxisKind, Feature, Preset, Repeatability, Skip, Step};

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Launch, ..Experiment::new("dispatch/event", axes, build) };

/// What links a dispatch to the one before.
const LINKS: &[&str] = &["barrier", "event"];

/// Each command needs an event of its own, and drivers have room for so many.
const MOST_EVENTS: u32 = 4096;

fn axes(setting: &Setting) -> Vec<Axis> {
    let values = if setting.preset == Preset::Quick { &LINKS[1..] } else { LINKS };
    let axis = Axis::new("link", "what links a dispatch to the one before", AxisKind::Choices(LINKS), values.iter().copied());
    [vec![axis.relative_to("barrier")], commands::axes(setting)].concat()
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let count = commands::count(config);
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
    for i in 0..count {
        if is_event {
            case.reset_step(Step::ResetEvent { event: i });
            case.step(Step::SetEvent { event: i });
            case.step(Step::WaitEvent { event: i });
        } else {
            case.depend();
        }
        case.dispatch(kernel, [1, 1, 1], &commands::push(0, i));
    }
    Ok(commands::build(case, config))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceInfo, Point};

    #[test]
    fn without_events_barriers_are_left() {
        let mut device = DeviceInfo::mock();
        device.features.remove(&Feature::Events);
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        let case = |link: &'static str| {
            let axes = axes(&setting).into_iter().map(|axis| (axis.name, axis.defaults[0].clone()));
            let point = Point::new(axes).with("link", &link.into());
            build(&Config::new("", &point, &setting)).map(|built| built.case)
        };
        assert!(case("event").unwrap_err().reason.contains("`events`") && case("barrier").is_ok());
    }
}
