//! `dispatch/descriptor_bind`: what does it cost to bind other descriptors between dispatches?

use crate::experiments::common::commands::{self, Binds};
use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment = commands::experiment("dispatch/descriptor_bind", axes, build);

fn axes(setting: &Setting) -> Vec<Axis> {
    commands::axes(Binds::relative_axis(setting.quick_or(&Binds::ALL[2..], Binds::ALL)), setting)
}

fn build(config: &Config) -> Result<Built, Skip> {
    let (count, binds) = (config.u32("commands"), Binds::of(config.choice("binds")));
    // Sets that are bound in turn.
    let sets = if binds == Binds::Alternate { 2 } else { 1 };
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
        if binds != Binds::Once {
            case.bind_descriptors(kernel);
        }
        case.dispatch(kernel, [1, 1, 1], &commands::push(i / sets, i));
    }
    Ok(commands::build(case, config))
}
