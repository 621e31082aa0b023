//! `dispatch/pipeline_barrier`: what does a pipeline barrier between two dispatches cost?

use crate::experiments::common::commands;
use crate::experiments::{Built, CaseBuilder, Config, Experiment, Setting};
use crate::model::{Axis, AxisKind, Dependency, Preset, Repeatability, Skip, Step};

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Launch, ..Experiment::new("dispatch/pipeline_barrier", axes, build) };

/// What stands before each dispatch.
const BARRIERS: &[&str] = &["nothing", "execution", "memory", "buffer", "full"];

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let barriers = if quick { &["memory"][..] } else { BARRIERS };
    let barrier =
        Axis::new("barrier", "what stands before each dispatch", AxisKind::Choices(BARRIERS), barriers.iter().copied());
    [vec![barrier.relative_to("nothing")], commands::axes(setting)].concat()
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let count = commands::count(config);
    let barrier = config.choice("barrier");
    // Whether each dispatch needs what the one before wrote.
    let is_chained = !matches!(barrier, "nothing" | "execution");
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let expected = if is_chained { commands::one_word(count) } else { commands::a_word_each(count) };
    let words = case.output("words", expected);
    let kernel = case.kernel(commands::step_kernel(commands::FACTOR), &[words]);
    let dependency = match barrier {
        "execution" => Some(Dependency::Execution),
        "memory" => Some(Dependency::Memory),
        "buffer" => Some(Dependency::Buffer { resource: words.index() }),
        "full" => Some(Dependency::Full),
        _ => None,
    };
    case.bind(kernel);
    for i in 0..count {
        case.push(&commands::push(if is_chained { 0 } else { i }, i));
        dependency.into_iter().for_each(|dependency| case.step(Step::Dependency(dependency)));
        case.dispatch(kernel, [1, 1, 1], &[]);
    }
    Ok(commands::build(case, config))
}
