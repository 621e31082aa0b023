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

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let values = if setting.preset == Preset::Quick { &STAGES[2..] } else { STAGES };
        let axis = Axis::new("stage", "where a timestamp is written", AxisKind::Choices(STAGES), values.iter().copied());
        [vec![axis.relative_to("nothing")], commands::axes(setting)].concat()
    }

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let count = commands::count(point)?;
        let stage = match point.choice("stage") {
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
