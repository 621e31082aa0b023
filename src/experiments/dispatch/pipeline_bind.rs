//! `dispatch/pipeline_bind`: what does it cost to bind another pipeline between dispatches?

use crate::experiments::common::commands;
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, AxisKind, Case, Point, Preset, Skip, Step};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &PipelineBind;

/// What is bound before each dispatch.
const BINDS: &[&str] = &["once", "same", "alternate"];

/// What the two pipelines multiply by.
const FACTORS: [u32; 2] = [commands::FACTOR, 7];

struct PipelineBind;

impl Experiment for PipelineBind {
    fn name(&self) -> &'static str {
        "dispatch/pipeline_bind"
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let values = if setting.preset == Preset::Quick { &BINDS[2..] } else { BINDS };
        let axis = Axis::new("binds", "what is bound before each dispatch", AxisKind::Choices(BINDS), values.iter().copied());
        [vec![axis.relative_to("once")], commands::axes(setting)].concat()
    }

    fn case(&self, _: &str, point: &Point, _: &Setting) -> Result<Case, Skip> {
        let count = commands::count(point)?;
        let command = |i| {
            let [push, dispatch] = commands::dispatch_on(i, i);
            let bind = (point.choice("binds") != "once").then(|| Step::BindPipeline { kernel: which(point, i) });
            [bind, Some(push), Some(dispatch)].into_iter().flatten()
        };
        let pass = std::iter::once(Step::Bind { kernel: 0 }).chain((0..count).flat_map(command)).collect();
        let kernels = FACTORS.map(commands::step_kernel).into();
        Ok(commands::case(self.name(), point, kernels, vec![commands::words("words", count)], pass))
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let count = case.point.integer("commands");
        #[expect(clippy::cast_possible_truncation, reason = "commands are few")]
        let word = |i: u64| commands::chained(FACTORS[which(&case.point, i as u32)], std::iter::once(i as u32));
        vec![Expected::words(count, word)]
    }
}

/// The pipeline that is bound at a command.
fn which(point: &Point, command: u32) -> usize {
    if point.choice("binds") == "alternate" { command as usize % 2 } else { 0 }
}
