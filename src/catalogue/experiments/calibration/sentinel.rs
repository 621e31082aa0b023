//! `calibration/sentinel`: a fixed amount of arithmetic, whose time follows the core clock.

use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment = Experiment::new("calibration/sentinel", axes, build);

const LOCAL_SIZE: u32 = 64;
/// Numerical Recipes' quick linear congruential generator; any odd multiplier would do.
const MULTIPLIER: u32 = 1_664_525;
const INCREMENT: u32 = 1_013_904_223;

fn axes(setting: &Setting) -> Vec<Axis> {
    // At least three waves of 2048 invocations on the largest devices of today; a software driver takes about 1 ms.
    let groups = setting.by_class(64_u64, 16_384);
    // 65,535 iterations are the most that some software drivers run (see the quirk llvmpipe-loop-cap).
    let steps = setting.by_class(256_u64, 2048);
    vec![
        Axis::new("groups", "workgroups of 64 invocations", AxisKind::AtLeast(1), [groups]).of_monotone_work(),
        Axis::new("steps", "multiply-adds per invocation", AxisKind::AtLeast(1), [steps]).of_monotone_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let steps = u32::try_from(config.integer("steps"));
    let steps = steps.map_err(|_| Skip::new("the kernel counts its steps in 32 bits"))?;
    let groups = config.u32("groups");
    let invocations = u64::from(groups) * u64::from(LOCAL_SIZE);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let result = case.output("result", Expected::words_from(invocations, move || after_steps(steps)));
    let kernel = Kernel::new("calibration/sentinel.comp", [LOCAL_SIZE, 1, 1]).constant("STEPS", Scalar::U32(steps));
    case.run(kernel, &[result], [groups, 1, 1], &[]);
    let work = Work { ops: Some(product([invocations, steps.into()])), items: Some(invocations), ..Work::default() };
    Ok(case.iterations(steps.into()).build(work, Headline::OPS))
}

/// What each invocation's chain comes to.
#[expect(clippy::cast_possible_truncation, reason = "a buffer holds less than 2^32 words")]
pub(super) fn after_steps(steps: u32) -> impl Fn(u64) -> u32 + Send + Sync + 'static {
    let (multiplier, increment) = jump(steps);
    move |i| (i as u32).wrapping_mul(multiplier).wrapping_add(increment)
}

/// The multiplier and the increment of `steps` steps at once (Brown: Random Number Generation with Arbitrary Strides, 1994).
fn jump(steps: u32) -> (u32, u32) {
    let (mut step_multiplier, mut step_increment) = (MULTIPLIER, INCREMENT);
    let (mut multiplier, mut increment) = (1_u32, 0_u32);
    let mut left = steps;
    while left > 0 {
        if left & 1 == 1 {
            multiplier = multiplier.wrapping_mul(step_multiplier);
            increment = increment.wrapping_mul(step_multiplier).wrapping_add(step_increment);
        }
        step_increment = step_increment.wrapping_mul(step_multiplier.wrapping_add(1));
        step_multiplier = step_multiplier.wrapping_mul(step_multiplier);
        left >>= 1;
    }
    (multiplier, increment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_equals_its_steps() {
        let (multiplier, increment) = jump(1000);
        let stepped = (0..1000).fold(7_u32, |x, _| x.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT));
        assert_eq!(7_u32.wrapping_mul(multiplier).wrapping_add(increment), stepped);
    }
}
