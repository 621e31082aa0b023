//! `calibration/barrier`: the cost of a barrier with nothing in flight.

use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Launch, ..Experiment::new("calibration/barrier", |_| Vec::new(), build) };

/// Barriers per pass: enough that the barrier between passes hardly counts.
const BARRIERS: u64 = 16;

fn build(config: &Config) -> Result<Built, Skip> {
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    (0..BARRIERS).for_each(|_| case.barrier());
    let work = Work { items: Some(BARRIERS + 1), ..Work::default() };
    Ok(case.build(work, Headline::TIME))
}
