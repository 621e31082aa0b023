//! Passes of many commands of one kind, each with a dispatch whose result tells of it: what `dispatch/` measures.

use super::choices::choices;
use crate::experiments::{Axes, BuildFn, Built, CaseBuilder, Config, Experiment, Setting};
use crate::model::{Axis, AxisKind, Headline, HostCost, Kernel, Measurand, POISON, Repeat, Repeatability, Scalar, Work};
use crate::validate::Expected;

const SIDES: &[&str] = &["device", "host"];

/// More commands would only make passes longer.
const MOST_COMMANDS: u64 = 1 << 14;

/// What a dispatch multiplies its word by.
pub const FACTOR: u32 = 5;

choices! {
    pub enum Binds { Once = "once", Same = "same", Alternate = "alternate" }
}

impl Binds {
    pub fn relative_axis(defaults: &[Self]) -> Axis {
        Self::axis("binds", "what is bound before each dispatch", defaults).relative_to("once")
    }
}

/// An experiment whose times are those of launching.
pub const fn experiment(name: &'static str, axes: Axes, build: BuildFn) -> Experiment {
    Experiment { repeatability: |_| Repeatability::Launch, ..Experiment::new(name, axes, build) }
}

/// The axis of an experiment, and those that they all have.
pub fn axes(own: Axis, setting: &Setting) -> Vec<Axis> {
    let sides = setting.quick_or(&SIDES[..1], SIDES).iter().copied();
    vec![
        own,
        Axis::new("side", "whose time it is", AxisKind::Choices(SIDES), sides),
        Axis::new("commands", "commands in a pass", AxisKind::AtLeast(1), [setting.by_class(64_u64, 1024)])
            .up_to(MOST_COMMANDS)
            .of_work(),
    ]
}

/// A kernel that takes a word a step on, by `FACTOR` unless told otherwise.
pub fn step_kernel(factor: u32) -> Kernel {
    Kernel::new("dispatch/step.comp", [1, 1, 1]).constant("FACTOR", Scalar::U32(factor))
}

/// What the dispatch of a command adds: another for each.
pub fn term(command: u32) -> u32 {
    command.wrapping_mul(0x9E37_79B9) | 1
}

/// A word after the dispatch of a command.
fn step(word: u32, factor: u32, command: u32) -> u32 {
    word.wrapping_mul(factor).wrapping_add(term(command))
}

/// A word after the dispatch of the one command that it has to itself.
pub fn own_word(factor: u32, command: u32) -> u32 {
    step(POISON, factor, command)
}

/// What the twin expects of commands that take turns on one word.
pub fn one_word(count: u32) -> Expected {
    Expected::words(1, move |_| (0..count).fold(POISON, |word, command| step(word, FACTOR, command)))
}

/// What the twin expects of commands with a word each.
pub fn a_word_each(count: u32) -> Expected {
    words(count, |command| own_word(FACTOR, command))
}

/// Words of results, one for each of so many commands.
#[expect(clippy::cast_possible_truncation, reason = "commands are few")]
pub fn words(count: u32, word: impl Fn(u32) -> u32 + Send + Sync + 'static) -> Expected {
    Expected::words(count.into(), move |command| word(command as u32))
}

/// The push constants of a command whose dispatch takes this word a step on.
pub fn push(word: u32, command: u32) -> [u32; 2] {
    [word, term(command)]
}

/// The case of these commands, measured on the side that the point names.
pub fn build(case: CaseBuilder, config: &Config) -> Built {
    let measurand = if config.choice("side") == "host" { Measurand::HostCost(HostCost::Record) } else { Measurand::Pass };
    let work = Work { items: Some(config.integer("commands")), ..Work::default() };
    // A word goes on from where it stood.
    case.measurand(measurand).repeat(Repeat::AfterReset).build(work, Headline::COST)
}
