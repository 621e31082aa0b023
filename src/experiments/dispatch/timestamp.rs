//! `dispatch/timestamp`: what does writing a timestamp cost?

use crate::experiments::common::commands;
use crate::experiments::{Built, CaseBuilder, Config, Experiment, Setting};
use crate::model::{Axis, AxisKind, Preset, Repeatability, Skip, Step, TimestampStage};

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Launch, ..Experiment::new("dispatch/timestamp", axes, build) };

/// Where a timestamp is written after each dispatch.
const STAGES: &[&str] = &["nothing", "top", "bottom"];

fn axes(setting: &Setting) -> Vec<Axis> {
    let values = if setting.preset == Preset::Quick { &STAGES[2..] } else { STAGES };
    let axis = Axis::new("stage", "where a timestamp is written", AxisKind::Choices(STAGES), values.iter().copied());
    [vec![axis.relative_to("nothing")], commands::axes(setting)].concat()
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let count = commands::count(config);
    let stage = match config.choice("stage") {
        "top" => Some(TimestampStage::Top),
        "bottom" => Some(TimestampStage::Bottom),
        _ => None,
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
