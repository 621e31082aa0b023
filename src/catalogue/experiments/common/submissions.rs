//! Passes that the host submits and waits for: what `dispatch/submit`, `dispatch/fence` and `dispatch/timeline` measure.

use super::commands;
use crate::experiments::{BuildFn, Built, CaseBuilder, Config, Experiment, Setting};
use crate::model::{Axis, AxisKind, Headline, HostCost, Kernel, Measurand, Scalar, Skip, Work};

/// More dispatches would only make submissions longer.
const MOST_DISPATCHES: u64 = 1 << 14;

/// An experiment on the way to the device and back, whose variants are ways of waiting; the first one polls.
pub const fn round_trip(name: &'static str, ways: &'static [&'static str], build: BuildFn) -> Experiment {
    Experiment {
        variants: ways,
        quick_variants: &["poll"],
        base_variant: Some("poll"),
        ..commands::experiment(name, axes, build)
    }
}

pub fn axes(setting: &Setting) -> Vec<Axis> {
    let counts: &[u64] = setting.quick_or(&[1], &[0, 1, 16, 256]);
    let what = "dispatches in a submission";
    vec![Axis::new("dispatches", what, AxisKind::AtLeast(0), counts.iter().copied()).up_to(MOST_DISPATCHES).of_work()]
}

/// A case whose pass is so many dispatches, each of which writes a word: where it is told, the sum of that and its term.
pub fn build(experiment: &str, config: &Config, cost: HostCost) -> Result<Built, Skip> {
    let count = config.u32("dispatches");
    let mut case = CaseBuilder::new(experiment, config).measurand(Measurand::HostCost(cost));
    if count > 0 {
        let sums = case.output("sums", commands::words(count, |i| i.wrapping_add(commands::term(i))));
        let kernel = Kernel::new("dispatch/push.comp", [1, 1, 1]).constant("COUNT", Scalar::U32(2));
        let kernel = case.kernel(kernel, &[sums]);
        (0..count).for_each(|i| case.dispatch(kernel, [1, 1, 1], &values(i)));
    }
    Ok(case.build(Work::default(), Headline::TIME))
}

/// The shader's push constants: where the sum goes, and a term. The others are set, and not read.
fn values(dispatch: u32) -> [u32; 32] {
    let mut values = [0; 32];
    (values[0], values[1]) = (dispatch, commands::term(dispatch));
    values
}
