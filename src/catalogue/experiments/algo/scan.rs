//! `algo/scan`: what does a prefix sum gain by each way of scanning, up to a single pass?

use std::ops::Range;
use std::sync::Arc;

use crate::experiments::common::parts::in_parts;
use crate::experiments::common::prelude::*;
use crate::experiments::common::tiles::{self, SHUFFLES, Steps, Tiles};
use crate::experiments::common::words;

pub const EXPERIMENT: Experiment = Experiment {
    variants: Rung::WORDS,
    quick_variants: &[Rung::Doubling.word(), Rung::LookBack.word()],
    peak_kind: Some("global"),
    repeatability: |_| Repeatability::Memory,
    axes_of: Some(|variant, setting| tiles::axes_of(Rung::of(variant) == Rung::LookBack, setting)),
    traffic,
    ..Experiment::of_ladder(LADDER, tiles::axes, build)
};

choices! {
    enum Rung {
        Doubling = "hillis_steele",
        Tree = "blelloch",
        Subgroup = "subgroup",
        LookBack = "look_back",
    }
}

const LADDER: Ladder =
    Ladder { experiment: "algo/scan", first: Rung::WORDS[0], choices: &["local_size_x", "items", "order", "spins"] };

fn build(config: &Config) -> Result<Built, Skip> {
    let tiles = Tiles::new(config)?;
    let words = tiles.words;
    let source = Sequence::Words { seed: config.seed() };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let input = case.input("source", tiles.padded(), source);
    let up_to = move || {
        let sums = Sums::of(source, words);
        move |i| sums.up_to(i)
    };
    let output = case.output("target", Expected::words_from(words, up_to));
    let case = match Rung::of(config.variant) {
        Rung::Doubling => in_steps(case, [input, output], Steps::Doubling, &tiles, config)?,
        Rung::Tree => in_steps(case, [input, output], Steps::Tree, &tiles, config)?,
        Rung::Subgroup => by_subgroup(case, [input, output], &tiles, config)?,
        Rung::LookBack => by_look_back(case, [input, output], source, tiles, config)?,
    };
    let work = Work { bytes: Some(2 * 4 * words), items: Some(words), ..Work::default() };
    Ok(case.bound(beyond_caches(words * 4)).build(work, Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let [local_size, items, words] = ["local_size_x", "items", "n"].map(|axis| case.point.integer(axis));
    if words % (local_size * items) != 0 {
        return Err("the last tile is no whole one");
    }
    match Rung::of(&case.variant) {
        // The tile's sum is beside what counts. The loops of the steps touch no buffer.
        Rung::Doubling | Rung::Tree => Ok(vec![Traffic {
            counted: Moved::READ_AND_WRITTEN,
            uncounted: 4,
            loops: vec![items, 1],
            // Not those that scan the sums, which may be more.
            invocations: words / items,
            ..Traffic::usual(case)
        }]),
        Rung::Subgroup | Rung::LookBack => Err("whole tiles have a way of their own beside the one that checks"),
    }
}

/// Scans each tile in workgroup memory, then the sums of tiles, and adds those.
fn in_steps(
    mut case: CaseBuilder,
    [source, target]: [Handle; 2],
    steps: Steps,
    tiles: &Tiles,
    config: &Config,
) -> Result<CaseBuilder, Skip> {
    let within = steps.of(config.kernel("algo/scan_within.comp", &["items"]), config);
    let size = u32_of(tiles.words)?;
    let sums = tiles.sums(&mut case);
    case.run(within, &[source, target, sums], tiles.groups, &[size]);
    case.depend();
    tiles.scan_sums(&mut case, sums, steps, config)?;
    case.depend();
    case.run(config.kernel("algo/scan_add.comp", &["items"]), &[target, sums], tiles.groups, &[size]);
    let within = config.integer("items") * (1 + steps.iterations(config.integer("local_size_x"), config));
    Ok(case.iterations(within.max(tiles.iterations_of_sums(steps, config))))
}

/// Adds up each tile by subgroups, scans the sums, and then scans each tile from there.
fn by_subgroup(
    mut case: CaseBuilder,
    [source, target]: [Handle; 2],
    tiles: &Tiles,
    config: &Config,
) -> Result<CaseBuilder, Skip> {
    let [reduce, scan] =
        ["algo/scan_reduce.comp", "algo/scan_tiles.comp"].map(|source| tiles::by_vectors(source, SHUFFLES, config));
    let size = u32_of(tiles.words)?;
    let sums = tiles.sums(&mut case);
    case.run(reduce?, &[source, sums], tiles.groups, &[size]);
    case.depend();
    tiles.scan_sums(&mut case, sums, Steps::Subgroups, config)?;
    case.depend();
    case.run(scan?, &[source, target, target, sums], tiles.groups, &[size]);
    let within = Steps::Subgroups.iterations(config.integer("local_size_x"), config);
    Ok(case.iterations(within.max(tiles.iterations_of_sums(Steps::Subgroups, config))))
}

/// Does so in one dispatch.
fn by_look_back(
    mut case: CaseBuilder,
    [source, target]: [Handle; 2],
    data: Sequence,
    tiles: Tiles,
    config: &Config,
) -> Result<CaseBuilder, Skip> {
    let kernel = tiles::by_look_back("algo/scan_tiles.comp", 3, config)?;
    let before = move || {
        let sums = Sums::of(data, tiles.words);
        move |end| sums.before(end)
    };
    let states = case.output("states", tiles.states(before));
    case.fill(states, 0);
    case.barrier();
    case.run(kernel, &[source, target, target, states], tiles.groups, &[u32_of(tiles.words)?]);
    let check = move |left: &PassOutputs| {
        let sums = Arc::new(Sums::of(data, tiles.words));
        let of_target = Arc::clone(&sums);
        left.of(target).compare(&Expected::words(tiles.words, move |i| of_target.up_to(i)))?;
        tiles.check_states(left.of(states), move |end| sums.before(end))?;
        Ok(tiles.fallbacks(left.of(states)))
    };
    Ok(case.iterations(tiles.iterations_of_looking(config)).remarked_by(check))
}

/// The twin: all sums.
struct Sums(Vec<u32>);

impl Sums {
    fn of(source: Sequence, words: u64) -> Self {
        let scan = |part: Range<u64>| {
            let add = |sum: &mut u32, i| {
                *sum = sum.wrapping_add(source.word(i));
                Some(*sum)
            };
            part.scan(0, add).collect::<Vec<u32>>()
        };
        let mut before = 0_u32;
        let mut parts = in_parts(words, scan);
        for part in &mut parts {
            let sum = part.last().copied().unwrap_or_default();
            part.iter_mut().for_each(|up_to| *up_to = up_to.wrapping_add(before));
            before = before.wrapping_add(sum);
        }
        Self(parts.concat())
    }

    fn up_to(&self, i: u64) -> u32 {
        words::at(&self.0, i)
    }

    /// The sum of so many words.
    fn before(&self, end: u64) -> u32 {
        end.checked_sub(1).map_or(0, |last| self.up_to(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_go_on_from_part_to_part_and_wrap_around() {
        let source = Sequence::Words { seed: 3 };
        let sums = Sums::of(source, 100_003);
        let mut sum = 0_u32;
        for i in 0..100_003 {
            sum = sum.wrapping_add(source.word(i));
            assert_eq!((sums.up_to(i), sums.before(i + 1)), (sum, sum));
        }
        assert_eq!((sums.before(0), sums.up_to(100_003)), (0, 0));
    }
}
