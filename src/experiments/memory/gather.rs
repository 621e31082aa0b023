//! `memory/gather`: what does it cost to read words in another order than they lie in?

use crate::experiments::{Built, CaseBuilder, Config, Elements, Experiment, Setting, local_size_axis};
use crate::model::{Axis, AxisKind, Bound, Headline, Kernel, Preset, Repeatability, Scalar, Sequence, Shuffled, Skip, Work};
use crate::validate::Expected;

pub const EXPERIMENT: Experiment = Experiment {
    peak_kind: Some("global"),
    repeatability: |_| Repeatability::Memory,
    ..Experiment::new("memory/gather", axes, build)
};

/// The orders, from the easiest on.
pub(super) const PATTERNS: &[&str] = &["sequential", "shuffled_16", "shuffled_64", "shuffled_1024", "random"];

/// The few that a quick run takes.
pub(super) const FEW_PATTERNS: &[&str] = &["sequential", "shuffled_64", "random"];

/// Words of values from which no cache of today holds a part that matters: with the indexes beside them 1 GiB.
pub(super) const BEYOND_CACHES: u64 = 1 << 27;

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    // 512 MiB of values: ten times the last cache of a large GPU of today.
    let n = if quick { setting.by_class(1_u64 << 18, 1 << 26) } else { setting.by_class(1_u64 << 20, 1 << 27) };
    let patterns = if quick { FEW_PATTERNS } else { PATTERNS };
    let unroll = setting.by_class(8_u64, 32);
    vec![
        Axis::new("pattern", "the order of the words", AxisKind::Choices(PATTERNS), patterns.iter().copied())
            .relative_to("sequential"),
        Axis::new("n", "words of values, and indexes", AxisKind::AtLeast(1), [n]).of_work(),
        local_size_axis(setting),
        Elements::unroll_axis("words per invocation", unroll),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let n = config.integer("n");
    let elements = Elements::new(n, config)?;
    let (order, source) = (Sequence::Shuffled(indexes(config)), Sequence::Words { seed: config.seed() });
    let sum = move |invocation| {
        let words = elements.of(invocation).map(|i| source.word(order.word(i).into()));
        words.fold(0, u32::wrapping_add)
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [
        case.output("sums", Expected::words(elements.invocations(), sum)),
        case.input("indexes", n, order),
        case.input("source", n, source),
    ];
    let kernel = Kernel::new("memory/gather.comp", config.workgroup()).constant("UNROLL", Scalar::U32(config.u32("unroll")));
    case.run(kernel, &resources, elements.groups, &[config.u32("n")]);
    let work = Work { bytes: Some((n * 2 + elements.invocations()) * 4), items: Some(n), ..Work::default() };
    Ok(case.bound((n >= BEYOND_CACHES).then_some(Bound::Memory)).build(work, Headline::BANDWIDTH))
}

/// What the list of indexes holds.
pub(super) fn indexes(config: &Config) -> Shuffled {
    let n = config.integer("n");
    let block = match config.choice("pattern") {
        "sequential" => 1,
        "shuffled_16" => 16,
        "shuffled_64" => 64,
        "shuffled_1024" => 1024,
        _ => n,
    };
    Shuffled { seed: config.seed(), n, block }
}
