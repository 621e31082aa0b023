//! `dispatch/timestamp`: what does writing a timestamp cost?

use crate::experiments::common::commands;
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, AxisKind, Case, Point, Preset, Skip, Step, TimestampStage};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Timestamp;

/// Where a timestamp is written after each dispatch.
const STAGES: &[&str] = &["nothing", "top", "bottom"];

struct Timestamp;

impl Experiment for Timestamp {
    fn name(&self) -> &'static str {
        "dispatch/timestamp"
    }

    fn summary(&self) -> &'static str {
        "vkCmdWriteTimestamp after dispatches"
    }

    fn description(&self) -> &'static str {
        concat!(
            "A pass is `commands` dispatches that don't depend on each other, each with a timestamp after it: `top` is written at TOP_OF_PIPE and waits for nothing, `bottom` at BOTTOM_OF_PIPE once all work before it is done, `nothing` is none at all. Each has a query of its own; resetting them happens before the pass, outside of its time.\n\
             \n\
             How to read it: the figure is time per command, the dispatch with it, and `relative` compares with nothing. What `bottom` adds is what a program pays that times each of its dispatches by itself: beside the write, dispatches no longer overlap if the device waits for each. Lanescope's own samples lie between two timestamps and hold one such write each (calibration/timer:floor).\n\
             \n",
            commands::sides!(),
            "\n\
             \n\
             On an NVIDIA H100 (driver 580.159.04), a dispatch takes 168.6 ns without a timestamp, 1203 with one at the top \
             and 3615 with one at the bottom. So even one that waits for nothing holds the next dispatch up for a \
             microsecond, and one that waits costs more than a barrier (dispatch/pipeline_barrier): what is shorter than some \
             tens of microseconds can't be timed dispatch by dispatch without being changed by it."
        )
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let values = if setting.preset == Preset::Quick { &STAGES[2..] } else { STAGES };
        let axis = Axis::new("stage", "where a timestamp is written", AxisKind::Words(STAGES), values.iter().copied());
        [vec![axis.relative_to("nothing")], commands::axes(setting)].concat()
    }

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let count = commands::count(point)?;
        let stage = match point.word("stage") {
            "top" => Some(TimestampStage::Top),
            "bottom" => Some(TimestampStage::Bottom),
            _ => None,
        };
        if stage.is_some() {
            setting.require_timestamps()?;
        }
        let command = |query| {
            let [push, dispatch] = commands::dispatch_on(query, query);
            let timestamp = stage.map(|stage| Step::Timestamp { query, stage });
            [Some(push), Some(dispatch), timestamp].into_iter().flatten()
        };
        let pass = std::iter::once(Step::Bind { kernel: 0 }).chain((0..count).flat_map(command)).collect();
        let (kernels, words) = (vec![commands::step_kernel(commands::FACTOR)], vec![commands::words("words", count)]);
        let mut case = commands::case(self.name(), point, kernels, words, pass);
        if stage.is_some() {
            case.reset.push(Step::ResetTimestamps);
        }
        Ok(case)
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        vec![commands::a_word_each(commands::count(&case.point).unwrap_or(0))]
    }
}
