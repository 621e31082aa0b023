//! `dispatch/push_constant`: what do push constants cost?

use crate::experiments::common::commands;
use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment = commands::experiment("dispatch/push_constant", axes, build);

/// The words of the shader's block: what every device has.
const WORDS: u32 = 32;

const SIZES: &[u64] = &[0, 8, 16, 32, 64, 128];

fn axes(setting: &Setting) -> Vec<Axis> {
    let values = setting.quick_or(&SIZES[5..], SIZES).iter().copied();
    let axis = Axis::new("push_bytes", "bytes set before each dispatch", AxisKind::Numbers(SIZES), values);
    commands::axes(axis.relative_to(0_u64), setting)
}

fn build(config: &Config) -> Result<Built, Skip> {
    let count = config.u32("commands");
    // Words that are set before each dispatch, and that it sums up.
    let words = config.u32("push_bytes") / 4;
    let summed = words.max(2);
    let sum = move |i| values(i, summed).into_iter().fold(0, u32::wrapping_add);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let sums = case.output("sums", commands::words(if words > 0 { count } else { 1 }, sum));
    let kernel = Kernel::new("dispatch/push.comp", [1, 1, 1]).constant("COUNT", Scalar::U32(summed));
    let kernel = case.kernel(kernel, &[sums]);
    case.bind(kernel);
    // All of them first: what isn't set is undefined.
    case.push(&values(0, WORDS));
    (0..count).for_each(|i| case.dispatch(kernel, [1, 1, 1], &values(i, words)));
    Ok(commands::build(case, config))
}

/// What is set, so many words of it: where the sum goes, and terms that differ from command to command and from word to word.
fn values(command: u32, words: u32) -> Vec<u32> {
    let terms = std::iter::successors(Some(commands::term(command)), |term| Some(term.rotate_left(5) ^ 0x5bd1_e995));
    std::iter::once(command).chain(terms).take(words as usize).collect()
}
