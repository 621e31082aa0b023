//! `dispatch/push_constant`: what do push constants cost?

use crate::experiments::common::commands;
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, AxisKind, Case, Kernel, Point, Preset, Scalar, Skip, Step};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &PushConstant;

/// The words of the shader's block: what every device has.
const WORDS: usize = 32;

/// Bytes that are set before each dispatch.
const SIZES: &[u64] = &[0, 8, 16, 32, 64, 128];

struct PushConstant;

impl Experiment for PushConstant {
    fn name(&self) -> &'static str {
        "dispatch/push_constant"
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let values = if setting.preset == Preset::Quick { &SIZES[5..] } else { SIZES };
        let axis = Axis::new("push_bytes", "bytes set before each dispatch", AxisKind::Numbers(SIZES), values.iter().copied());
        [vec![axis.relative_to(0_u64)], commands::axes(setting)].concat()
    }

    fn case(&self, _: &str, point: &Point, _: &Setting) -> Result<Case, Skip> {
        let count = commands::count(point)?;
        let words = words(point);
        let command = |i| {
            let push = (words > 0).then(|| Step::push_words(&values(i)[..words]));
            [push, Some(Step::Dispatch { groups: [1, 1, 1] })].into_iter().flatten()
        };
        // All of them first: what isn't set is undefined.
        let before = [Step::Bind { kernel: 0 }, Step::push_words(&values(0))];
        let pass = before.into_iter().chain((0..count).flat_map(command)).collect();
        let summed = u32::try_from(words.max(2)).unwrap_or(u32::MAX);
        let kernel = Kernel::new("dispatch/push.comp", [1, 1, 1], 1).constant("COUNT", Scalar::U32(summed));
        let sums = commands::words("sums", if words > 0 { count } else { 1 });
        Ok(commands::case(self.name(), point, vec![kernel], vec![sums], pass))
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let words = words(&case.point);
        let sums = if words > 0 { case.point.integer("commands") } else { 1 };
        #[expect(clippy::cast_possible_truncation, reason = "commands are few")]
        let sum = move |i: u64| values(i as u32)[..words.max(2)].iter().fold(0, |sum: u32, value| sum.wrapping_add(*value));
        vec![Expected::words(sums, sum)]
    }
}

/// Words that are set before each dispatch.
fn words(point: &Point) -> usize {
    usize::try_from(point.integer("push_bytes") / 4).unwrap_or(WORDS)
}

/// What is set: where the sum goes, and terms that differ from command to command and from word to word.
fn values(command: u32) -> [u32; WORDS] {
    let mut term = commands::term(command);
    let mut values = [command; WORDS];
    for value in &mut values[1..] {
        *value = term;
        term = term.rotate_left(5) ^ 0x5bd1_e995;
    }
    values
}
