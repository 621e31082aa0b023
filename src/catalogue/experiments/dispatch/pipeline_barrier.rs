//! `dispatch/pipeline_barrier`: what does a pipeline barrier between two dispatches cost?

use crate::experiments::common::commands;
use crate::experiments::common::prelude::*;
use crate::model::{Dependency, Step};

pub const EXPERIMENT: Experiment = commands::experiment("dispatch/pipeline_barrier", axes, build);

choices! {
    enum Barrier { Nothing = "nothing", Execution = "execution", Memory = "memory", Buffer = "buffer", Full = "full" }
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let barriers = setting.quick_or(&Barrier::ALL[2..3], Barrier::ALL);
    let axis = Barrier::axis("barrier", "what stands before each dispatch", barriers);
    commands::axes(axis.relative_to("nothing"), setting)
}

fn build(config: &Config) -> Result<Built, Skip> {
    let (count, barrier) = (config.u32("commands"), Barrier::of(config.choice("barrier")));
    // Whether each dispatch needs what the one before wrote.
    let is_chained = !matches!(barrier, Barrier::Nothing | Barrier::Execution);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let expected = if is_chained { commands::one_word(count) } else { commands::a_word_each(count) };
    let words = case.output("words", expected);
    let kernel = case.kernel(commands::step_kernel(commands::FACTOR), &[words]);
    let dependency = match barrier {
        Barrier::Nothing => None,
        Barrier::Execution => Some(Dependency::Execution),
        Barrier::Memory => Some(Dependency::Memory),
        Barrier::Buffer => Some(Dependency::Buffer { resource: words.index() }),
        Barrier::Full => Some(Dependency::Full),
    };
    case.bind(kernel);
    for i in 0..count {
        case.push(&commands::push(if is_chained { 0 } else { i }, i));
        dependency.into_iter().for_each(|dependency| case.step(Step::Dependency(dependency)));
        case.dispatch(kernel, [1, 1, 1], &[]);
    }
    Ok(commands::build(case, config))
}
