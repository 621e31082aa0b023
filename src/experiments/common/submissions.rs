//! Passes that the host submits and waits for: what `dispatch/submit`, `dispatch/fence` and `dispatch/timeline` measure.

use super::commands;
use crate::experiments::Setting;
use crate::model::{Axis, AxisKind, Case, Check, HostCost, Kernel, Measurand, POISON, Point, Preset, Scalar, Skip, Step};
use crate::validate::Expected;

/// More dispatches would only make submissions longer.
const MOST_DISPATCHES: u64 = 1 << 14;

/// How much is submitted at a time.
pub fn axes(setting: &Setting) -> Vec<Axis> {
    let counts: &[u64] = if setting.preset == Preset::Quick { &[1] } else { &[0, 1, 16, 256] };
    let what = "dispatches in a submission";
    vec![Axis::new("dispatches", what, AxisKind::AtLeast(0), counts.iter().copied()).of_work()]
}

/// A case whose pass is so many dispatches, each of which writes a word.
///
/// # Errors
/// Where they are too many.
pub fn case([experiment, variant]: [&str; 2], point: &Point, cost: HostCost) -> Result<Case, Skip> {
    let count = point.integer("dispatches");
    let Some(count) = u32::try_from(count).ok().filter(|_| count <= MOST_DISPATCHES) else {
        return Err(Skip::new(format!("dispatches are {MOST_DISPATCHES} at most: the case needs {count}")));
    };
    let measurand = Measurand::HostCost(cost);
    let case = Case { measurand, variant: variant.to_owned(), ..Case::new(experiment, point) };
    if count == 0 {
        return Ok(case);
    }
    let kernel = Kernel::new("dispatch/push.comp", [1, 1, 1], 1).constant("COUNT", Scalar::U32(2));
    let command = |i| [Step::push_words(&values(i)), Step::Dispatch { groups: [1, 1, 1] }];
    Ok(Case {
        kernels: vec![kernel],
        resources: vec![commands::words("sums", count)],
        reset: vec![Step::Fill { resource: 0, word: POISON }],
        pass: std::iter::once(Step::Bind { kernel: 0 }).chain((0..count).flat_map(command)).collect(),
        check: Check::Twin(vec![0]),
        ..case
    })
}

/// Each dispatch writes where it is told, and the sum of that and its term.
#[expect(clippy::cast_possible_truncation, reason = "dispatches are few")]
pub fn expected(case: &Case) -> Vec<Expected<'_>> {
    let sum = |i: u64| (i as u32).wrapping_add(commands::term(i as u32));
    case.resources.iter().map(|words| Expected::words(words.bytes() / 4, sum)).collect()
}

/// The shader's push constants: where the sum goes, and a term. The others are set, and not read.
fn values(dispatch: u32) -> [u32; 32] {
    let mut values = [0; 32];
    (values[0], values[1]) = (dispatch, commands::term(dispatch));
    values
}
