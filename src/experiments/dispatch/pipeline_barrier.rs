//! `dispatch/pipeline_barrier`: what does a pipeline barrier between two dispatches cost?

use crate::experiments::common::commands;
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, AxisKind, Case, Dependency, Point, Preset, Skip, Step};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &PipelineBarrier;

/// What stands before each dispatch.
const BARRIERS: &[&str] = &["nothing", "execution", "memory", "buffer", "full"];

struct PipelineBarrier;

impl Experiment for PipelineBarrier {
    fn name(&self) -> &'static str {
        "dispatch/pipeline_barrier"
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let quick = setting.preset == Preset::Quick;
        let barriers = if quick { &["memory"][..] } else { BARRIERS };
        let barrier =
            Axis::new("barrier", "what stands before each dispatch", AxisKind::Choices(BARRIERS), barriers.iter().copied());
        [vec![barrier.relative_to("nothing")], commands::axes(setting)].concat()
    }

    fn case(&self, _: &str, point: &Point, _: &Setting) -> Result<Case, Skip> {
        let count = commands::count(point)?;
        let barrier = dependency(point).map(Step::Dependency);
        let command = |i| {
            let [push, dispatch] = commands::dispatch_on(if is_chained(point) { 0 } else { i }, i);
            [Some(push), barrier.clone(), Some(dispatch)].into_iter().flatten()
        };
        let pass = std::iter::once(Step::Bind { kernel: 0 }).chain((0..count).flat_map(command)).collect();
        let words = commands::words("words", if is_chained(point) { 1 } else { count });
        Ok(commands::case(self.name(), point, vec![commands::step_kernel(commands::FACTOR)], vec![words], pass))
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let count = u32::try_from(case.point.integer("commands")).unwrap_or(u32::MAX);
        vec![if is_chained(&case.point) { commands::one_word(count) } else { commands::a_word_each(count) }]
    }
}

fn dependency(point: &Point) -> Option<Dependency> {
    match point.choice("barrier") {
        "execution" => Some(Dependency::Execution),
        "memory" => Some(Dependency::Memory),
        "buffer" => Some(Dependency::Buffer { resource: 0 }),
        "full" => Some(Dependency::Full),
        _ => None,
    }
}

/// Whether each dispatch needs what the one before wrote.
fn is_chained(point: &Point) -> bool {
    !matches!(point.choice("barrier"), "nothing" | "execution")
}
