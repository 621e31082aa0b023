//! `memory/gather`: what does it cost to read words in another order than they lie in?

use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment = Experiment::of_memory("memory/gather", axes, build);

choices! {
    /// The orders, from the easiest on.
    enum Pattern {
        Sequential = "sequential",
        Shuffled16 = "shuffled_16",
        Shuffled64 = "shuffled_64",
        Shuffled1024 = "shuffled_1024",
        Random = "random",
    }
}

fn axes(setting: &Setting) -> Vec<Axis> {
    order_axes(setting, setting.by_class(8, 32))
}

/// With so many words for each invocation by default.
pub(super) fn order_axes(setting: &Setting, unroll: u64) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    // 512 MiB of values: ten times the last cache of a large GPU of today.
    let n = if quick { setting.by_class(1_u64 << 18, 1 << 26) } else { setting.by_class(1_u64 << 20, 1 << 27) };
    let few = &[Pattern::Sequential, Pattern::Shuffled64, Pattern::Random];
    let patterns = Pattern::axis("pattern", "the order of the words", if quick { few } else { Pattern::ALL });
    vec![
        patterns.relative_to(Pattern::Sequential.word()),
        Axis::new("n", "words of values, and indexes", AxisKind::AtLeast(1), [n]).of_work(),
        local_size_axis(setting),
        Elements::unroll_axis("words per invocation", unroll),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let n = config.integer("n");
    let elements = Elements::new(n, config)?;
    let (order, source) = (Sequence::Shuffled(indexes(config)), Sequence::Words { seed: config.seed() });
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [
        case.output("sums", elements.sums(move |i| source.word(order.word(i).into()))),
        case.input("indexes", n, order),
        case.input("source", n, source),
    ];
    case.run(config.kernel("memory/gather.comp", &["unroll"]), &resources, elements.groups, &[elements.pushed()]);
    let work = Work { bytes: Some((n * 2 + elements.invocations()) * 4), items: Some(n), ..Work::default() };
    Ok(case.bound(beyond_caches(n * 2 * 4)).build(work, Headline::BANDWIDTH))
}

pub(super) fn indexes(config: &Config) -> Shuffled {
    let n = config.integer("n");
    let block = match Pattern::of(config.choice("pattern")) {
        Pattern::Sequential => 1,
        Pattern::Shuffled16 => 16,
        Pattern::Shuffled64 => 64,
        Pattern::Shuffled1024 => 1024,
        Pattern::Random => n,
    };
    Shuffled { seed: config.seed(), n, block }
}
