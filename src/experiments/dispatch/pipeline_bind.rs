//! `dispatch/pipeline_bind`: what does it cost to bind another pipeline between dispatches?

use crate::experiments::common::commands;
use crate::experiments::{Built, CaseBuilder, Config, Experiment, Setting};
use crate::model::{Axis, AxisKind, Preset, Repeatability, Skip};

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Launch, ..Experiment::new("dispatch/pipeline_bind", axes, build) };

/// What is bound before each dispatch.
const BINDS: &[&str] = &["once", "same", "alternate"];

/// What the two pipelines multiply by.
const FACTORS: [u32; 2] = [commands::FACTOR, 7];

fn axes(setting: &Setting) -> Vec<Axis> {
    let values = if setting.preset == Preset::Quick { &[BINDS[0], BINDS[2]][..] } else { BINDS };
    let axis = Axis::new("binds", "what is bound before each dispatch", AxisKind::Choices(BINDS), values.iter().copied());
    [vec![axis.relative_to("once")], commands::axes(setting)].concat()
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let count = commands::count(config);
    let binds = config.choice("binds");
    let is_other = move |command: u32| binds == "alternate" && command % 2 == 1;
    let [factor, other_factor] = FACTORS;
    let word = move |i| commands::own_word(if is_other(i) { other_factor } else { factor }, i);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let words = case.output("words", commands::words(count, word));
    let [kernel, other_kernel] = FACTORS.map(|factor| case.kernel(commands::step_kernel(factor), &[words]));
    case.bind(kernel);
    for i in 0..count {
        let kernel = if is_other(i) { other_kernel } else { kernel };
        if binds != "once" {
            case.bind_pipeline(kernel);
        }
        case.dispatch(kernel, [1, 1, 1], &commands::push(i, i));
    }
    Ok(commands::build(case, config))
}
