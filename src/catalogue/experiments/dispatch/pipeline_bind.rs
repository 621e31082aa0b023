//! `dispatch/pipeline_bind`: what does it cost to bind another pipeline between dispatches?

use crate::experiments::common::commands::{self, Binds};
use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment = commands::experiment("dispatch/pipeline_bind", axes, build);

const FACTORS: [u32; 2] = [commands::FACTOR, 7];

fn axes(setting: &Setting) -> Vec<Axis> {
    commands::axes(Binds::relative_axis(setting.quick_or(&[Binds::Once, Binds::Alternate][..], Binds::ALL)), setting)
}

fn build(config: &Config) -> Result<Built, Skip> {
    let (count, binds) = (config.u32("commands"), Binds::of(config.choice("binds")));
    let is_other = move |command: u32| binds == Binds::Alternate && command % 2 == 1;
    let [factor, other_factor] = FACTORS;
    let word = move |i| commands::own_word(if is_other(i) { other_factor } else { factor }, i);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let words = case.output("words", commands::words(count, word));
    let [kernel, other_kernel] = FACTORS.map(|factor| case.kernel(commands::step_kernel(factor), &[words]));
    case.bind(kernel);
    for i in 0..count {
        let kernel = if is_other(i) { other_kernel } else { kernel };
        if binds != Binds::Once {
            case.bind_pipeline(kernel);
        }
        case.dispatch(kernel, [1, 1, 1], &commands::push(i, i));
    }
    Ok(commands::build(case, config))
}
