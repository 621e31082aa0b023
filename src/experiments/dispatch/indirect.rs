//! `dispatch/indirect`: what does it cost that a dispatch reads its workgroups from a buffer?

use crate::experiments::common::commands;
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, AxisKind, Case, Point, Preset, Skip, Step};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Indirect;

/// Where the number of workgroups comes from.
const COUNTS: &[&str] = &["direct", "indirect"];

struct Indirect;

impl Experiment for Indirect {
    fn name(&self) -> &'static str {
        "dispatch/indirect"
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let values = if setting.preset == Preset::Quick { &COUNTS[1..] } else { COUNTS };
        let axis =
            Axis::new("counts", "where the number of workgroups comes from", AxisKind::Choices(COUNTS), values.iter().copied());
        [vec![axis.relative_to("direct")], commands::axes(setting)].concat()
    }

    fn case(&self, _: &str, point: &Point, _: &Setting) -> Result<Case, Skip> {
        let count = commands::count(point)?;
        let is_indirect = point.choice("counts") == "indirect";
        let command = |i| {
            let [push, dispatch] = commands::dispatch_on(i, i);
            [push, if is_indirect { Step::DispatchIndirect { resource: 1 } } else { dispatch }]
        };
        let pass = std::iter::once(Step::Bind { kernel: 0 }).chain((0..count).flat_map(command)).collect();
        let (kernels, words) = (vec![commands::step_kernel(commands::FACTOR)], vec![commands::words("words", count)]);
        let mut case = commands::case(self.name(), point, kernels, words, pass);
        if is_indirect {
            case.resources.push(commands::words("workgroups", 3));
            case.reset.push(Step::Fill { resource: 1, word: 1 });
        }
        Ok(case)
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        vec![commands::a_word_each(commands::count(&case.point).unwrap_or(0))]
    }
}
