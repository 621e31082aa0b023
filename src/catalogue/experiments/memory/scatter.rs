//! `memory/scatter`: what does it cost to write words in another order than they lie in?

use super::gather::{indexes, order_axes};
use crate::experiments::common::prelude::*;
use crate::experiments::{issue_axes, issued, issuing};

pub const EXPERIMENT: Experiment =
    Experiment { traffic: |case| Ok(vec![issued(case, 0)]), ..Experiment::of_memory("memory/scatter", axes, build) };

fn axes(setting: &Setting) -> Vec<Axis> {
    let mut axes = order_axes(setting, 8);
    axes.extend(issue_axes(setting));
    axes
}

fn build(config: &Config) -> Result<Built, Skip> {
    let n = config.integer("n");
    let elements = Elements::new(n, config)?;
    let (indexes, source) = (indexes(config), Sequence::Words { seed: config.seed() });
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [
        // The word that went to a place is the one that has its index.
        case.output("target", Expected::words(n, move |place| source.word(indexes.position(place)))),
        case.input("indexes", n, Sequence::Shuffled(indexes)),
        case.input("source", n, source),
    ];
    let kernel = issuing(config.kernel("memory/scatter.comp", &["unroll"]), config);
    case.run(kernel, &resources, elements.groups, &[elements.pushed()]);
    let work = Work { bytes: Some(n * 3 * 4), items: Some(n), ..Work::default() };
    Ok(case.bound(beyond_caches(n * 2 * 4)).build(work, Headline::BANDWIDTH))
}
