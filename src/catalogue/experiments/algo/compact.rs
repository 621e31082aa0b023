//! `algo/compact`: what does it cost to keep some words of an array, and what to keep their order?

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::experiments::common::parts::in_parts;
use crate::experiments::common::prelude::*;
use crate::experiments::common::tiles::{self, Steps, Tiles};
use crate::experiments::common::words;
use crate::validate::invariants;

pub const EXPERIMENT: Experiment = Experiment {
    variants: Rung::WORDS,
    quick_variants: &[Rung::ByLane.word(), Rung::LookBack.word()],
    peak_kind: Some("global"),
    repeatability: |_| Repeatability::Memory,
    axes_of: Some(|variant, setting| axes(tiles::axes_of(Rung::of(variant) == Rung::LookBack, setting), setting)),
    traffic,
    ..Experiment::of_ladder(LADDER, |setting| axes(tiles::axes(setting), setting), build)
};

choices! {
    enum Rung {
        ByLane = "atomics",
        BySubgroup = "subgroup_atomics",
        ByWorkgroup = "workgroup_atomics",
        Scan = "scan",
        LookBack = "look_back",
    }
}

const ATOMICS: &str = "algo/compact_atomics.comp";

const BALLOTS: &[SubgroupClass] = &[SubgroupClass::Ballot];

const LADDER: Ladder =
    Ladder { experiment: "algo/compact", first: Rung::ByLane.word(), choices: &["local_size_x", "items", "order", "spins"] };

fn build(config: &Config) -> Result<Built, Skip> {
    let tiles = Tiles::new(config)?;
    let keeping = Keeping::new(&tiles, config);
    let (count, push) = (keeping.count, [u32_of(tiles.words)?, u32_of(keeping.count)?]);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let source = case.input("source", tiles.padded(), Sequence::Shuffled(keeping.source));
    let in_order = move || {
        let kept = Kept::of(keeping);
        move |place| kept.at(place)
    };
    let output = case.output("kept", Expected::words_from(count, in_order));
    let counter = case.output("count", Expected::words(1, move |_| push[1]));
    let resources = [source, output, counter];
    let atomics =
        |case, who: &str| by_atomics(case, resources, &tiles, push, config.kernel(ATOMICS, &["items"]).define(who, ""));
    let case = match Rung::of(config.variant) {
        Rung::ByLane => atomics(case, "BY_LANE"),
        Rung::BySubgroup => {
            config.require_classes(BALLOTS)?;
            atomics(case, "BY_SUBGROUP")
        }
        Rung::ByWorkgroup => atomics(case, "BY_WORKGROUP"),
        Rung::Scan => by_scan(case, resources, &tiles, push, config)?,
        Rung::LookBack => by_look_back(case, resources, keeping, tiles, push, config)?,
    };
    let bytes = 4 * (tiles.words + count);
    let work = Work { bytes: Some(bytes), items: Some(tiles.words), ..Work::default() };
    Ok(case.bound(beyond_caches(tiles.words * 4)).build(work, Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let [local_size, items, words] = ["local_size_x", "items", "n"].map(|axis| case.point.integer(axis));
    if words % (local_size * items) != 0 {
        return Err("the last tile is no whole one");
    }
    match Rung::of(&case.variant) {
        // What is read: what is written depends on the data. A whole tile has a way of its own beside the one that checks.
        Rung::ByLane | Rung::BySubgroup | Rung::ByWorkgroup => {
            let read = 4 * words;
            let uncounted = 4 * items;
            Ok(vec![Traffic { counted: Moved::READ, uncounted, total: read, ..Traffic::usual(case) }])
        }
        Rung::Scan | Rung::LookBack => {
            Err("whole tiles have a way of their own beside the one that checks, and what is stored depends on the data")
        }
    }
}

fn axes(tiled: Vec<Axis>, setting: &Setting) -> Vec<Axis> {
    let shares = setting.quick_or(vec![50_u64], vec![1, 50, 99]);
    let kept = Axis::new("kept", "words that are kept, percent; one at least", AxisKind::AtLeast(0), shares).up_to(100);
    tiled.into_iter().chain([kept]).collect()
}

/// Whoever keeps a word asks for its place. In which order they come, nobody knows.
fn by_atomics(
    mut case: CaseBuilder,
    [source, kept, count]: [Handle; 3],
    tiles: &Tiles,
    push: [u32; 2],
    kernel: Kernel,
) -> CaseBuilder {
    case.fill(count, 0);
    case.barrier();
    case.run(kernel, &[source, kept, count], tiles.groups, &push);
    let in_any_order = move |left: &PassOutputs| {
        left.of(count).compare(&Expected::words(1, move |_| push[1]))?;
        invariants::permutation("kept", (0..push[1]).into_par_iter(), &left.of(kept).words())
    };
    case.checked_by(in_any_order)
}

/// Counts what each tile keeps, scans the counts, and then reads each tile again.
fn by_scan(
    mut case: CaseBuilder,
    [source, kept, count]: [Handle; 3],
    tiles: &Tiles,
    push: [u32; 2],
    config: &Config,
) -> Result<CaseBuilder, Skip> {
    let [counting, keeping] =
        ["algo/compact_count.comp", "algo/compact_tiles.comp"].map(|source| tiles::by_vectors(source, BALLOTS, config));
    let sums = tiles.sums(&mut case);
    case.run(counting?, &[source, sums], tiles.groups, &push);
    case.depend();
    // Counts are few beside words: how they are scanned is no matter of this ladder.
    tiles.scan_sums(&mut case, sums, Steps::Doubling, config)?;
    case.depend();
    case.run(keeping?, &[source, kept, count, sums], tiles.groups, &push);
    let within = Steps::Subgroups.iterations(config.integer("local_size_x"), config) + config.integer("items");
    Ok(case.iterations(within.max(tiles.iterations_of_sums(Steps::Doubling, config))))
}

/// Does so in one dispatch.
fn by_look_back(
    mut case: CaseBuilder,
    [source, kept, count]: [Handle; 3],
    keeping: Keeping,
    tiles: Tiles,
    push: [u32; 2],
    config: &Config,
) -> Result<CaseBuilder, Skip> {
    let kernel = tiles::by_look_back("algo/compact_tiles.comp", 3, config)?;
    let before = move || {
        let kept = Kept::of(keeping);
        move |end| kept.before(end)
    };
    let states = case.output("states", tiles.states(before));
    case.fill(states, 0);
    case.barrier();
    case.run(kernel, &[source, kept, count, states], tiles.groups, &push);
    let check = move |left: &PassOutputs| {
        left.of(count).compare(&Expected::words(1, move |_| push[1]))?;
        let list = Arc::new(Kept::of(keeping));
        let of_kept = Arc::clone(&list);
        left.of(kept).compare(&Expected::words(keeping.count, move |i| of_kept.at(i)))?;
        tiles.check_states(left.of(states), move |end| list.before(end))?;
        Ok(tiles.fallbacks(left.of(states)))
    };
    let iterations = tiles.iterations_of_looking(config).saturating_add(config.integer("items"));
    Ok(case.iterations(iterations).remarked_by(check))
}

/// What is kept of an array: it holds each number up to its size once, so that how many are below a threshold is known beforehand.
#[derive(Clone, Copy)]
struct Keeping {
    source: Shuffled,
    words: u64,
    count: u64,
}

impl Keeping {
    fn new(tiles: &Tiles, config: &Config) -> Self {
        // Beyond the last word, the numbers are others, which nobody keeps.
        let source = Shuffled { seed: config.seed(), n: tiles.padded(), block: tiles.words };
        let count = (tiles.words * config.integer("kept") / 100).max(1);
        Self { source, words: tiles.words, count }
    }
}

/// The twin: the words that are kept, in order.
struct Kept {
    keeping: Keeping,
    all: Vec<u32>,
}

impl Kept {
    fn of(keeping: Keeping) -> Self {
        let Keeping { source, words, count } = keeping;
        let kept = |i| Some(source.at(i)).filter(|number| *number < count);
        let part = |part: Range<u64>| part.filter_map(kept).filter_map(|number| u32::try_from(number).ok()).collect();
        Self { keeping, all: in_parts::<Vec<u32>>(words, part).concat() }
    }

    fn at(&self, place: u64) -> u32 {
        words::at(&self.all, place)
    }

    /// How many are kept of so many words at the beginning: their places rise with those in the array.
    fn before(&self, end: u64) -> u32 {
        let (mut low, mut high) = (0, self.keeping.count);
        while low < high {
            let middle = low.midpoint(high);
            if self.keeping.source.position(self.at(middle).into()) < end {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        narrow(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_words_are_in_order_and_counted_from_the_beginning() {
        let source = Shuffled { seed: 5, n: 1004, block: 1001 };
        let kept = Kept::of(Keeping { source, words: 1001, count: 300 });
        let mut found = Vec::new();
        for i in 0..1001 {
            assert_eq!(kept.before(i), u32::try_from(found.len()).unwrap());
            found.extend(Some(source.at(i)).filter(|number| *number < 300));
        }
        assert_eq!(found.len(), 300);
        assert!((0..300).zip(&found).all(|(place, number)| u64::from(kept.at(place)) == *number));
        assert_eq!(kept.before(1001), 300);
    }
}
