//! `dispatch/indirect`: what does it cost that a dispatch reads its workgroups from a buffer?

use crate::experiments::common::commands;
use crate::experiments::common::prelude::*;
use crate::model::{Contents, Resource, Step};

pub const EXPERIMENT: Experiment = commands::experiment("dispatch/indirect", axes, build);

const COUNTS: &[&str] = &["direct", "indirect"];

fn axes(setting: &Setting) -> Vec<Axis> {
    let values = setting.quick_or(&COUNTS[1..], COUNTS).iter().copied();
    let axis = Axis::new("counts", "where the number of workgroups comes from", AxisKind::Choices(COUNTS), values);
    commands::axes(axis.relative_to("direct"), setting)
}

fn build(config: &Config) -> Result<Built, Skip> {
    let count = config.u32("commands");
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
