//! `dispatch/indirect`: what does it cost that a dispatch reads its workgroups from a buffer?

use crate::experiments::common::commands;
use crate::experiments::{Built, CaseBuilder, Config, Experiment, Setting};
use crate::model::{Axis, AxisKind, Contents, Preset, Repeatability, Resource, Skip, Step};

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Launch, ..Experiment::new("dispatch/indirect", axes, build) };

/// Where the number of workgroups comes from.
const COUNTS: &[&str] = &["direct", "indirect"];

fn axes(setting: &Setting) -> Vec<Axis> {
    let values = if setting.preset == Preset::Quick { &COUNTS[1..] } else { COUNTS };
    let axis =
        Axis::new("counts", "where the number of workgroups comes from", AxisKind::Choices(COUNTS), values.iter().copied());
    [vec![axis.relative_to("direct")], commands::axes(setting)].concat()
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let count = commands::count(config);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let words = case.output("words", commands::a_word_each(count));
    let kernel = case.kernel(commands::step_kernel(commands::FACTOR), &[words]);
    if config.choice("counts") == "indirect" {
        let groups = case.add(Resource::words("workgroups", 3, Contents::Undefined));
        case.reset_step(Step::Fill { resource: groups.index(), word: 1 });
        (0..count).for_each(|i| case.dispatch_indirect(kernel, groups, &commands::push(i, i)));
    } else {
        (0..count).for_each(|i| case.dispatch(kernel, [1, 1, 1], &commands::push(i, i)));
    }
    Ok(commands::build(case, config))
}
