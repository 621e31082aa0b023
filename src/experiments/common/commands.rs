//! Passes of many commands of one kind, each with a dispatch whose result tells of it: what `dispatch/` measures.

use std::ops::Range;

use crate::experiments::Setting;
use crate::model::{
    Axis, AxisKind, Case, Check, Contents, Headline, HostCost, Kernel, Measurand, POISON, Point, Preset, Repeat, Resource,
    Scalar, Skip, Step, Work,
};
use crate::validate::Expected;

/// Whose time it is.
const SIDES: &[&str] = &["device", "host"];

/// More commands would only make passes longer.
const MOST_COMMANDS: u64 = 1 << 14;

/// What a dispatch multiplies its word by.
pub const FACTOR: u32 = 5;

/// Axes that they all have.
pub fn axes(setting: &Setting) -> Vec<Axis> {
    let sides = if setting.preset == Preset::Quick { &SIDES[..1] } else { SIDES };
    vec![
        Axis::new("side", "whose time it is", AxisKind::Choices(SIDES), sides.iter().copied()),
        Axis::new("commands", "commands in a pass", AxisKind::AtLeast(1), [setting.by_class(64_u64, 1024)]).of_work(),
    ]
}

/// How many commands a point asks for.
///
/// # Errors
/// Where they are too many.
pub fn count(point: &Point) -> Result<u32, Skip> {
    let count = point.integer("commands");
    let fits = u32::try_from(count).ok().filter(|_| count <= MOST_COMMANDS);
    fits.ok_or_else(|| Skip::new(format!("commands are {MOST_COMMANDS} at most: the case needs {count}")))
}

/// A kernel that takes a word a step on, by `FACTOR` unless told otherwise.
pub fn step_kernel(factor: u32) -> Kernel {
    Kernel::new("dispatch/step.comp", [1, 1, 1], 1).constant("FACTOR", Scalar::U32(factor))
}

/// What the dispatch of a command adds: another for each.
pub fn term(command: u32) -> u32 {
    command.wrapping_mul(0x9E37_79B9) | 1
}

/// The word that commands leave which take turns on it.
pub fn chained(factor: u32, commands: impl Iterator<Item = u32>) -> u32 {
    commands.fold(POISON, |word, command| word.wrapping_mul(factor).wrapping_add(term(command)))
}

/// What the twin expects of commands that take turns on one word.
pub fn one_word<'a>(count: u32) -> Expected<'a> {
    let word = chained(FACTOR, 0..count);
    Expected::words(1, move |_| word)
}

/// What the twin expects of commands with a word each.
#[expect(clippy::cast_possible_truncation, reason = "commands are few")]
pub fn a_word_each<'a>(count: u32) -> Expected<'a> {
    Expected::words(count.into(), |i| chained(FACTOR, std::iter::once(i as u32)))
}

/// A dispatch that takes a word a step on.
pub fn dispatch_on(index: u32, command: u32) -> [Step; 2] {
    [Step::push_words(&[index, term(command)]), Step::Dispatch { groups: [1, 1, 1] }]
}

/// A case of such commands, measured on the side that the point names.
pub fn case(experiment: &str, point: &Point, kernels: Vec<Kernel>, outputs: Vec<Resource>, pass: Vec<Step>) -> Case {
    let measured: Range<usize> = 0..outputs.len();
    let measurand = if point.choice("side") == "host" { Measurand::HostCost(HostCost::Record) } else { Measurand::Pass };
    Case {
        measurand,
        kernels,
        reset: measured.clone().map(|resource| Step::Fill { resource, word: POISON }).collect(),
        resources: outputs,
        pass,
        // A word goes on from where it stood.
        repeat: Repeat::AfterReset,
        work: Work { items: Some(point.integer("commands")), ..Work::default() },
        headline: Headline::COST,
        check: Check::Twin(measured.collect()),
        ..Case::new(experiment, point)
    }
}

/// Words for outputs, one for each command or for all of them.
pub fn words(name: &'static str, count: u32) -> Resource {
    Resource::words(name, u64::from(count), Contents::Undefined)
}
