//! `memory/gather`: what does it cost to read words in another order than they lie in?

use crate::experiments::{Elements, Experiment, Setting, local_size_axis};
use crate::model::{
    Axis, AxisKind, Bound, Case, Contents, Headline, Kernel, Point, Preset, Resource, Scalar, Sequence, Shuffled, Skip, Work,
};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Gather;

/// The orders, from the easiest on.
pub(super) const PATTERNS: &[&str] = &["sequential", "shuffled_16", "shuffled_64", "shuffled_1024", "random"];

/// The few that a quick run takes.
pub(super) const FEW_PATTERNS: &[&str] = &["sequential", "shuffled_64", "random"];

/// Words of values from which no cache of today holds a part that matters: with the indexes beside them 1 GiB.
pub(super) const BEYOND_CACHES: u64 = 1 << 27;

struct Gather;

impl Experiment for Gather {
    fn name(&self) -> &'static str {
        "memory/gather"
    }

    fn peak_kind(&self) -> Option<&'static str> {
        Some("global")
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
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

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let n = point.integer("n");
        let elements = Elements::new(n, point, setting.device.limits.workgroup_count[0])?;
        let sums = elements.invocations();
        let kernel = Kernel::new("memory/gather.comp", [point.u32("local_size_x"), 1, 1], 3)
            .constant("UNROLL", Scalar::U32(point.u32("unroll")));
        let resources = vec![
            Resource::words("sums", sums, Contents::Undefined),
            Resource::words("indexes", n, indexes(point, setting.seed)),
            Resource::words("source", n, Contents::Sequence(Sequence::Words { seed: setting.seed })),
        ];
        let case = Case::single_dispatch(self.name(), point, kernel, elements.groups, &[point.u32("n")], resources, vec![0]);
        let bytes = n.checked_mul(2).and_then(|read| read.checked_add(sums)?.checked_mul(4));
        let work = Work { bytes, items: Some(n), ..Work::default() };
        let bound = (n >= BEYOND_CACHES).then_some(Bound::Memory);
        Ok(Case { work, headline: Headline::BANDWIDTH, bound, ..case })
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let elements = Elements::of_case(case.point.integer("n"), case);
        let [indexes, source] = [1, 2].map(|resource: usize| case.resources[resource].sequence());
        let sum = move |invocation| {
            let words = elements.of(invocation).map(|i| source.word(indexes.word(i).into()));
            words.fold(0, u32::wrapping_add)
        };
        vec![Expected::words(elements.invocations(), sum)]
    }
}

/// What the list of indexes holds.
pub(super) fn indexes(point: &Point, seed: u64) -> Contents {
    let n = point.integer("n");
    let block = match point.choice("pattern") {
        "sequential" => 1,
        "shuffled_16" => 16,
        "shuffled_64" => 64,
        "shuffled_1024" => 1024,
        _ => n,
    };
    Contents::Sequence(Sequence::Shuffled(Shuffled { seed, n, block }))
}
