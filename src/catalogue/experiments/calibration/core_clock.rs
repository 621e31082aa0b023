//! `calibration/core_clock`: how fast does the core's clock really run?

use super::sentinel::after_steps;
use crate::experiments::common::prelude::*;
use crate::model::{DeviceKind, Measurand};

pub const EXPERIMENT: Experiment = Experiment::new("calibration/core_clock", |_| Vec::new(), build);

/// One workgroup: the clock is the whole device's, and little power is drawn.
const LOCAL_SIZE: u32 = 32;
/// A GPU takes 0.1 to 1 ms: a longer chain would mix clocks.
pub const LONG: u32 = 65_536;
pub const SHORT: u32 = 256;

/// Steps that the long chain has more than the short one.
pub const MORE_STEPS: u32 = LONG - SHORT;
/// What the counters showed: of the short chain, then of the long one, time and cycles before it, then behind it, of two words each.
pub const COUNTERS: usize = 0;
pub const COUNTER_WORDS: u64 = 16;

/// Skipped: a device without the counters, and a processor, whose counter doesn't count what its cores do.
fn build(config: &Config) -> Result<Built, Skip> {
    config.require(&[Feature::SubgroupClock, Feature::DeviceClock])?;
    config.setting.require_timestamps()?;
    if config.device().kind == DeviceKind::Cpu {
        return Err(Skip::new("the device is a processor, whose counter isn't that of its cores: the case needs a GPU"));
    }
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let counters = case.output("counters", Expected::words(COUNTER_WORDS, |_| 0));
    let expected = move || Expected::words_from(LOCAL_SIZE.into(), move || after_steps(2 * SHORT + LONG));
    let result = case.output("result", expected());
    let kernel = Kernel::new("calibration/core_clock.comp", [LOCAL_SIZE, 1, 1])
        .constant("SHORT", Scalar::U32(SHORT))
        .constant("LONG", Scalar::U32(LONG));
    case.run(kernel, &[counters, result], [1, 1, 1], &[]);
    // What the counters show is nobody's to know.
    let check = move |left: &PassOutputs| left.of(result).compare(&expected());
    let case = case.iterations((2 * SHORT + LONG).into()).measurand(Measurand::CoreClock).checked_by(check);
    Ok(case.build(Work::default(), Headline::CORE_CLOCK))
}
