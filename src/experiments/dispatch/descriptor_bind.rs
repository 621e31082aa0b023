//! `dispatch/descriptor_bind`: what does it cost to bind other descriptors between dispatches?

use crate::experiments::common::commands;
use crate::experiments::{Built, CaseBuilder, Config, Experiment, Setting};
use crate::model::{Axis, AxisKind, Preset, Repeatability, Skip};

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Launch, ..Experiment::new("dispatch/descriptor_bind", axes, build) };

/// What is bound before each dispatch.
const BINDS: &[&str] = &["once", "same", "alternate"];

fn axes(setting: &Setting) -> Vec<Axis> {
    let values = if setting.preset == Preset::Quick { &BINDS[2..] } else { BINDS };
    let axis = Axis::new("binds", "what is bound before each dispatch", AxisKind::Choices(BINDS), values.iter().copied());
    [vec![axis.relative_to("once")], commands::axes(setting)].concat()
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let count = commands::count(config);
    let binds = config.choice("binds");
    // Sets that are bound in turn.
    let sets = if binds == "alternate" { 2 } else { 1 };
    if count < sets {
        return Err(Skip::new(format!("one command can't bind two sets in turn: the case needs {sets} commands, not {count}")));
    }
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let mut kernel_on = |set: u32, name| {
        let word = move |i: u32| commands::own_word(commands::FACTOR, i * sets + set);
        let words = case.output(name, commands::words((count - set).div_ceil(sets), word));
        case.kernel(commands::step_kernel(commands::FACTOR), &[words])
    };
    let first = kernel_on(0, "words");
    let second = if sets == 2 { kernel_on(1, "other words") } else { first };
    case.bind(first);
    for i in 0..count {
        let kernel = if i % 2 == 0 { first } else { second };
        if binds != "once" {
            case.bind_descriptors(kernel);
        }
        case.dispatch(kernel, [1, 1, 1], &commands::push(i / sets, i));
    }
    Ok(commands::build(case, config))
}
