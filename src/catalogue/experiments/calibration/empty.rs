//! `calibration/empty`: the cost of launching nothing.

use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Launch, ..Experiment::new("calibration/empty", |_| Vec::new(), build) };

fn build(config: &Config) -> Result<Built, Skip> {
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    case.run(Kernel::new("calibration/empty.comp", [1, 1, 1]), &[], [1, 1, 1], &[]);
    Ok(case.build(Work::default(), Headline::TIME))
}
