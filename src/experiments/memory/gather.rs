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

    fn summary(&self) -> &'static str {
        "reading words through a list of indexes: in order, shuffled blockwise, at random"
    }

    fn description(&self) -> &'static str {
        "n 4-byte words are read, each once, in the order that a list of n indexes says; the list itself is read in order. In \
         `sequential` it holds 0, 1, 2 and so on; in shuffled_16, shuffled_64 and shuffled_1024 each block of so many words is \
         in a random order of its own; in `random` all words are. So every pattern does the same, with other numbers in the \
         list. Each invocation handles `unroll` indexes, which lie a workgroup apart, so that several reads are in flight, and \
         writes one sum.\n\
         \n\
         How to read it: bytes are useful bytes: 4 for each index, 4 for each word, and the sums. `relative` compares with \
         `sequential`. Memory moves in sectors of 32 bytes on most GPUs, so that a word that comes alone brings seven others \
         along: where n is many times the last cache, `random` reaches a quarter of `sequential` at most, less where lines of \
         several sectors are fetched, or where the pages of so much memory are more than the device can keep track of. The \
         words of a shuffled block share their sectors: all of shuffled_16 is 64 bytes, of shuffled_64 two lines of 128, and \
         of shuffled_1024 4 KiB, which a cache holds while a workgroup reads them. What these patterns lose is not memory's \
         bandwidth but the merging of a subgroup's reads into few: 32 lanes that read one line in any order are one access on \
         most GPUs, and as many as they touch lines otherwise. Where drivers run on a processor, sizes are small enough to \
         stay in cache, and reads are gathered word by word in any pattern: figures differ little.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04), 512 MiB of values: sequential 3007 GB/s, shuffled within 16 and within 64 \
         words the same, within 1024 words 4 % less, random 257 GB/s, 8.6 % of sequential."
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let quick = setting.preset == Preset::Quick;
        // 512 MiB of values: ten times the last cache of a large GPU of today.
        let n = if quick { setting.by_class(1_u64 << 18, 1 << 26) } else { setting.by_class(1_u64 << 20, 1 << 27) };
        let patterns = if quick { FEW_PATTERNS } else { PATTERNS };
        let unroll = setting.by_class(8_u64, 32);
        vec![
            Axis::new("pattern", "the order of the words", AxisKind::Words(PATTERNS), patterns.iter().copied())
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
    let block = match point.word("pattern") {
        "sequential" => 1,
        "shuffled_16" => 16,
        "shuffled_64" => 64,
        "shuffled_1024" => 1024,
        _ => n,
    };
    Contents::Sequence(Sequence::Shuffled(Shuffled { seed, n, block }))
}
