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

    fn summary(&self) -> &'static str {
        "vkCmdPipelineBarrier between dispatches, by what it asks for"
    }

    fn description(&self) -> &'static str {
        concat!(
            "A pass is `commands` dispatches, each with a pipeline barrier before it: `execution` makes compute wait for compute and \
             nothing else; `memory` makes its writes visible as well, by a global memory barrier; `buffer` by one for the one \
             buffer; `full` makes everything wait for everything (ALL_COMMANDS, MEMORY_WRITE to MEMORY_READ and MEMORY_WRITE); \
             `nothing` is dispatches without one. With nothing and execution each dispatch works on a word of its own, else all take \
             turns on one word.\n\
             \n\
             How to read it: the figure is time per command, barrier and dispatch together, and `relative` compares with nothing. On \
             the device, nothing is the rate at which dispatches can be begun, since they need not wait for each other; with a \
             barrier each is begun when the one before has ended, and its caches are written back or dropped as far as the \
             barrier and the driver want it. Where execution costs as much as memory, draining is all of it; where full costs \
             more than memory, other units are drained too. Drivers may treat all of them alike.\n\
             \n",
            commands::sides!(),
            "\n\
             \n\
             On an NVIDIA H100 (driver 580.159.04), a dispatch takes 168.5 ns where it needn't wait, and about 2.5 us behind \
             a barrier from compute to compute, be it for execution alone, for all memory or for one buffer: draining is all \
             of it, and what is made visible costs next to nothing. full takes 5708 ns, more than twice as long: name the \
             stages that are meant. The host needs about 0.5 us to record a dispatch, and as much again for its barrier."
        )
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let quick = setting.preset == Preset::Quick;
        let barriers = if quick { &["memory"][..] } else { BARRIERS };
        let barrier =
            Axis::new("barrier", "what stands before each dispatch", AxisKind::Words(BARRIERS), barriers.iter().copied());
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
    match point.word("barrier") {
        "execution" => Some(Dependency::Execution),
        "memory" => Some(Dependency::Memory),
        "buffer" => Some(Dependency::Buffer { resource: 0 }),
        "full" => Some(Dependency::Full),
        _ => None,
    }
}

/// Whether each dispatch needs what the one before wrote.
fn is_chained(point: &Point) -> bool {
    !matches!(point.word("barrier"), "nothing" | "execution")
}
