//! `memory/scatter`: what does it cost to write words in another order than they lie in?

use super::gather::{BEYOND_CACHES, FEW_PATTERNS, PATTERNS, indexes};
use crate::experiments::{Elements, Experiment, Setting, local_size_axis};
use crate::model::{
    Axis, AxisKind, Bound, Case, Contents, Headline, Kernel, Point, Preset, Resource, Scalar, Sequence, Skip, Work,
};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Scatter;

struct Scatter;

impl Experiment for Scatter {
    fn name(&self) -> &'static str {
        "memory/scatter"
    }

    fn peak_kind(&self) -> Option<&'static str> {
        Some("global")
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let quick = setting.preset == Preset::Quick;
        // 512 MiB of values: ten times the last cache of a large GPU of today.
        let n = if quick { setting.by_class(1_u64 << 18, 1 << 26) } else { setting.by_class(1_u64 << 20, 1 << 27) };
        let patterns = if quick { FEW_PATTERNS } else { PATTERNS };
        vec![
            Axis::new("pattern", "the order of the words", AxisKind::Choices(PATTERNS), patterns.iter().copied())
                .relative_to("sequential"),
            Axis::new("n", "words of values, and indexes", AxisKind::AtLeast(1), [n]).of_work(),
            local_size_axis(setting),
            Elements::unroll_axis("words per invocation", 8),
        ]
    }

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let n = point.integer("n");
        let elements = Elements::new(n, point, setting.device.limits.workgroup_count[0])?;
        let kernel = Kernel::new("memory/scatter.comp", [point.u32("local_size_x"), 1, 1], 3)
            .constant("UNROLL", Scalar::U32(point.u32("unroll")));
        let resources = vec![
            Resource::words("target", n, Contents::Undefined),
            Resource::words("indexes", n, indexes(point, setting.seed)),
            Resource::words("source", n, Contents::Sequence(Sequence::Words { seed: setting.seed })),
        ];
        let case = Case::single_dispatch(self.name(), point, kernel, elements.groups, &[point.u32("n")], resources, vec![0]);
        let work = Work { bytes: n.checked_mul(3 * 4), items: Some(n), ..Work::default() };
        let bound = (n >= BEYOND_CACHES).then_some(Bound::Memory);
        Ok(Case { work, headline: Headline::BANDWIDTH, bound, ..case })
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let Sequence::Shuffled(indexes) = case.resources[1].sequence() else { panic!("the indexes are shuffled") };
        let source = case.resources[2].sequence();
        // The word that went to a place is the one that has its index.
        vec![Expected::words(case.point.integer("n"), move |place| source.word(indexes.position(place)))]
    }
}
