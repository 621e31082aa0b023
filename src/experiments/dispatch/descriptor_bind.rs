//! `dispatch/descriptor_bind`: what does it cost to bind other descriptors between dispatches?

use crate::experiments::common::commands;
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, AxisKind, Binding, Case, Kernel, Point, Preset, Skip, Step};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &DescriptorBind;

/// What is bound before each dispatch.
const BINDS: &[&str] = &["once", "same", "alternate"];

struct DescriptorBind;

impl Experiment for DescriptorBind {
    fn name(&self) -> &'static str {
        "dispatch/descriptor_bind"
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let values = if setting.preset == Preset::Quick { &BINDS[2..] } else { BINDS };
        let axis = Axis::new("binds", "what is bound before each dispatch", AxisKind::Choices(BINDS), values.iter().copied());
        [vec![axis.relative_to("once")], commands::axes(setting)].concat()
    }

    fn case(&self, _: &str, point: &Point, _: &Setting) -> Result<Case, Skip> {
        let count = commands::count(point)?;
        let sets = sets(point);
        if count < sets {
            return Err(Skip::new(format!(
                "one command can't bind two sets in turn: the case needs {sets} commands, not {count}"
            )));
        }
        let command = |i| {
            let [push, dispatch] = commands::dispatch_on(i / sets, i);
            let bind = (point.choice("binds") != "once").then(|| Step::BindDescriptors { kernel: (i % sets) as usize });
            [bind, Some(push), Some(dispatch)].into_iter().flatten()
        };
        let pass = std::iter::once(Step::Bind { kernel: 0 }).chain((0..count).flat_map(command)).collect();
        let outputs =
            (0..sets).zip(["words", "other words"]).map(|(set, name)| commands::words(name, (count - set).div_ceil(sets)));
        let kernel =
            |resource| Kernel { bindings: vec![Binding::new(0, 0, resource)], ..commands::step_kernel(commands::FACTOR) };
        let kernels = (0..sets as usize).map(kernel).collect();
        Ok(commands::case(self.name(), point, kernels, outputs.collect(), pass))
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let sets = sets(&case.point);
        let of = |(set, words): (u32, u64)| {
            #[expect(clippy::cast_possible_truncation, reason = "commands are few")]
            let word = move |i: u64| commands::chained(commands::FACTOR, std::iter::once(i as u32 * sets + set));
            Expected::words(words, word)
        };
        (0..sets).zip(case.resources.iter().map(|words| words.bytes() / 4)).map(of).collect()
    }
}

/// Sets that are bound in turn.
fn sets(point: &Point) -> u32 {
    if point.choice("binds") == "alternate" { 2 } else { 1 }
}
