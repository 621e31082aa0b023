//! `memory/scatter`: what does it cost to write words in another order than they lie in?

use super::gather::{BEYOND_CACHES, FEW_PATTERNS, PATTERNS, indexes};
use crate::experiments::{
    Built, CaseBuilder, Config, Elements, Experiment, Setting, issue_axes, issued, issuing, local_size_axis,
};
use crate::model::{Axis, AxisKind, Bound, Headline, Kernel, Preset, Repeatability, Scalar, Sequence, Skip, Work};
use crate::validate::Expected;

pub const EXPERIMENT: Experiment = Experiment {
    peak_kind: Some("global"),
    repeatability: |_| Repeatability::Memory,
    traffic: |case| Ok(vec![issued(case, 0)]),
    ..Experiment::new("memory/scatter", axes, build)
};

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    // 512 MiB of values: ten times the last cache of a large GPU of today.
    let n = if quick { setting.by_class(1_u64 << 18, 1 << 26) } else { setting.by_class(1_u64 << 20, 1 << 27) };
    let patterns = if quick { FEW_PATTERNS } else { PATTERNS };
    let mut axes = vec![
        Axis::new("pattern", "the order of the words", AxisKind::Choices(PATTERNS), patterns.iter().copied())
            .relative_to("sequential"),
        Axis::new("n", "words of values, and indexes", AxisKind::AtLeast(1), [n]).of_work(),
        local_size_axis(setting),
        Elements::unroll_axis("words per invocation", 8),
    ];
    axes.extend(issue_axes(setting));
    axes
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
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
    let kernel = Kernel::new("memory/scatter.comp", config.workgroup()).constant("UNROLL", Scalar::U32(config.u32("unroll")));
    let kernel = issuing(kernel, config);
    case.run(kernel, &resources, elements.groups, &[config.u32("n")]);
    let work = Work { bytes: Some(n * 3 * 4), items: Some(n), ..Work::default() };
    Ok(case.bound((n >= BEYOND_CACHES).then_some(Bound::Memory)).build(work, Headline::BANDWIDTH))
}
