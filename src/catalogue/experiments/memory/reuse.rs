//! `memory/reuse`: how often must a workgroup use its data before staging them in workgroup memory pays?

use crate::experiments::common::elements::chained;
use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment = Experiment {
    variants: &["global", "shared"],
    base_variant: Some("global"),
    repeatability: |_| Repeatability::Memory,
    traffic,
    ..Experiment::new("memory/reuse", axes, build)
};

/// Words of a workgroup's tile.
const TILE: u64 = 2048;
/// Loads of one iteration of the inner loop.
const UNROLL: u64 = 8;

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    // On a GPU 512 MiB of tiles: ten times the last cache of a large one of today.
    let groups = setting.by_class(16_u64, if quick { 1 << 15 } else { 1 << 16 });
    let reuses = if quick { &[1, 16] } else { POWERS_TO_64 };
    vec![
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_work(),
        Axis::new("reuse", "uses of each word", AxisKind::Numbers(POWERS_TO_64), reuses.iter().copied()),
        local_size_axis(setting),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [local_size, reuse] = ["local_size_x", "reuse"].map(|axis| config.integer(axis));
    let (groups, results) = config.grid(config.integer("groups"));
    // The grid may be larger than asked for; each of its workgroups has a tile.
    let all_groups = workgroups(groups);
    let words = product([all_groups, TILE]);
    let source = Sequence::Words { seed: config.seed() };
    let result = move |invocation: u64| {
        let (group, lane) = (invocation / local_size, invocation % local_size);
        let word = |i| source.word(group * TILE + i);
        let sum = |iteration| places(lane, local_size, iteration).map(word).fold(0, u32::wrapping_add);
        chained((0..reuse).map(sum))
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [case.output("results", Expected::words(results, result)), case.input("source", words, source)];
    let kernel = config.kernel("memory/reuse.comp", &["reuse"]);
    let kernel = if config.variant == "shared" { kernel.define("SHARED", "") } else { kernel };
    case.run(kernel, &resources, groups, &[]);
    // Those of the outer loop, of the inner one in each of them, and of the copy.
    let of_tile = TILE.div_ceil(UNROLL * local_size);
    let bytes = product([all_groups, TILE * reuse + local_size, 4]);
    let work = Work { bytes: Some(bytes), items: Some(product([words, reuse])), ..Work::default() };
    Ok(case.iterations(reuse + (reuse + 1) * of_tile).build(work, Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    // Each iteration passes over the tile in steps of `UNROLL` for each invocation, and so does the copy, which doesn't count.
    let loops = vec![case.point.integer("reuse"), TILE / (UNROLL * case.point.integer("local_size_x"))];
    let is_shared = case.variant == "shared";
    let counted = if is_shared { Moved { written: 1, ..Moved::SHARED_READ } } else { Moved::READ_AND_WRITTEN };
    Ok(vec![Traffic { counted, loops, ..Traffic::usual(case) }])
}

/// The places in the tile that a lane reads in an iteration.
fn places(lane: u64, local_size: u64, iteration: u64) -> impl Iterator<Item = u64> {
    (lane..TILE).step_by(usize::try_from(local_size).unwrap_or(usize::MAX)).map(move |i| i ^ iteration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_iteration_uses_each_word_once() {
        for (local_size, iteration) in [(256, 0), (256, 63), (1, 5), (48, 17), (1024, 32), (4096, 1)] {
            let mut used: Vec<u64> = (0..local_size).flat_map(|lane| places(lane, local_size, iteration)).collect();
            used.sort_unstable();
            assert!(used.into_iter().eq(0..TILE), "local_size {local_size}, iteration {iteration}");
        }
    }

    /// What the description says: nothing that a lane has read comes to it again, so that it can't be kept, unless it reads
    /// more words than there are.
    #[test]
    fn no_lane_reads_a_word_twice_in_a_workgroup_large_enough() {
        for local_size in [1, 2, 3, 4, 5, 8, 16, 31, 32, 33, 48, 63, 64, 65, 128, 256, 1000, 1024] {
            for (reuse, lane) in
                POWERS_TO_64.iter().flat_map(|reuse| [0, local_size / 3, local_size - 1].map(|at| (*reuse, at)))
            {
                let mut read: Vec<u64> = (0..reuse).flat_map(|iteration| places(lane, local_size, iteration)).collect();
                let all = read.len();
                read.sort_unstable();
                read.dedup();
                let is_enough = reuse <= local_size;
                assert!(read.len() == all || !is_enough, "lane {lane} of {local_size}, {reuse} iterations");
                assert!(read.len() < all || is_enough || !local_size.is_power_of_two(), "{reuse} iterations of {local_size}");
            }
        }
    }
}
