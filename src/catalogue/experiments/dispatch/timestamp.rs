//! `dispatch/timestamp`: what does writing a timestamp cost?

use crate::experiments::common::commands;
use crate::experiments::common::prelude::*;
use crate::model::{Step, TimestampStage};

pub const EXPERIMENT: Experiment = commands::experiment("dispatch/timestamp", axes, build);

choices! {
    enum Stage { Nothing = "nothing", Top = "top", Bottom = "bottom" }
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let stages = setting.quick_or(&Stage::ALL[2..], Stage::ALL);
    let axis = Stage::axis("stage", "where a timestamp is written", stages);
    commands::axes(axis.relative_to("nothing"), setting)
}

fn build(config: &Config) -> Result<Built, Skip> {
    let count = config.u32("commands");
    let stage = match Stage::of(config.choice("stage")) {
        Stage::Nothing => None,
        Stage::Top => Some(TimestampStage::Top),
        Stage::Bottom => Some(TimestampStage::Bottom),
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let words = case.output("words", commands::a_word_each(count));
    let kernel = case.kernel(commands::step_kernel(commands::FACTOR), &[words]);
    if stage.is_some() {
        config.setting.require_timestamps()?;
        case.reset_step(Step::ResetTimestamps);
    }
    for query in 0..count {
        case.dispatch(kernel, [1, 1, 1], &commands::push(query, query));
        stage.into_iter().for_each(|stage| case.step(Step::Timestamp { query, stage }));
    }
    Ok(commands::build(case, config))
}
