//! `algo/nbody`: how near does an all-pairs sum come to what the device can compute?

mod twin;

use crate::experiments::common::prelude::*;
use twin::Twin;

pub const EXPERIMENT: Experiment = Experiment {
    variants: Rung::WORDS,
    quick_variants: &[Rung::Naive.word(), Rung::Blocked.word()],
    peak_kind: Some("fp32"),
    axes_of: Some(axes_of),
    ..Experiment::of_ladder(LADDER, |setting| axes_of(LADDER.first, setting), build)
};

choices! {
    enum Rung { Naive = "naive", Tiled = "tiled", Blocked = "blocked" }
}

const LADDER: Ladder =
    Ladder { experiment: "algo/nbody", first: Rung::Naive.word(), choices: &["local_size_x", "items", "unroll"] };

/// Operations that an interaction counts as (Nyland, Harris, Prins: Fast N-Body Simulation with CUDA, GPU Gems 3, chapter 31):
/// the same everywhere, whatever a device makes of them.
const OPERATIONS: u64 = 20;

/// Words of a body, and of an acceleration.
const VECTOR: u64 = 4;

/// Bodies of a tile, at least: a loop over fewer would cost more than what it does.
const LEAST_TILE: u64 = 128;

/// The largest coordinate, and the largest mass. Differences are exact, and all of their bits vary.
const MAGNITUDE: u32 = 1 << 20;

/// Bodies up to which the twin computes all that a pass leaves.
const MOST_OF_TWIN: u64 = 1 << 12;

/// More would keep any device busy for minutes.
const MOST_BODIES: u64 = 1 << 22;

/// What is said of results of which the twin computes a part.
const INVARIANT: &str = "256 accelerations as a twin has them, and a momentum that doesn't change";

fn axes_of(variant: &str, setting: &Setting) -> Vec<Axis> {
    let (sizes, items, unrolls) = match setting.preset {
        Preset::Quick => (vec![setting.by_class(size_up_to(64, setting), size_up_to(256, setting))], vec![2_u64], vec![8_u64]),
        Preset::Default => (setting.by_class(vec![16, 64], vec![64, 128, 256, 512]), vec![2, 8], vec![8]),
        Preset::Thorough => (vec![1, 32, 48, 64, 128, 256, 512, 1024], vec![2, 4, 8], vec![1, 4, 8, 16]),
    };
    let items: Vec<u64> = if Rung::of(variant) == Rung::Blocked { items } else { vec![1] };
    // The second one is a prime number: nothing divides it.
    let counts = setting
        .quick_or(vec![setting.by_class(1_u64 << 9, 1 << 18)], setting.by_class(vec![1 << 11, 1009], vec![1 << 18, 100_003]));
    vec![
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("items", "bodies of an invocation", AxisKind::Numbers(&[1, 2, 4, 8, 16]), items),
        Axis::new("unroll", "bodies that an iteration of the loop adds up", AxisKind::Numbers(POWERS_TO_64), unrolls),
        Axis::new("bodies", "bodies", AxisKind::AtLeast(1), counts).up_to(MOST_BODIES).of_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [count, local_size, items, unroll] = ["bodies", "local_size_x", "items", "unroll"].map(|axis| config.integer(axis));
    let rung = Rung::of(config.variant);
    if items > 1 && rung != Rung::Blocked {
        return Err(Skip::new(format!("items is {items}: an invocation has one body, the case needs items=1")));
    }
    let tile = local_size.max(LEAST_TILE).next_multiple_of(unroll);
    let source = Sequence::WholeFloats { seed: config.seed(), magnitude: MAGNITUDE };
    let twin = Twin { source, count, terms_in_a_row: tile + count.div_ceil(tile) + unroll };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let bodies = case.input("bodies", count * VECTOR, source);
    let accelerations = case.output("accelerations", twin.expected());
    let shader = match rung {
        Rung::Naive => "algo/nbody_naive.comp",
        Rung::Tiled | Rung::Blocked => "algo/nbody_tiled.comp",
    };
    let kernel = config.kernel(shader, &["unroll", "items"]).constant("TILE", Scalar::U32(u32_of(tile)?));
    let groups = fold_groups(count.div_ceil(local_size * items), config.most_groups());
    case.run(kernel, &[bodies, accelerations], groups, &[u32_of(count)?]);
    let interactions = product([count, count]);
    let work = Work { flops: Some(product([interactions, OPERATIONS])), items: Some(interactions), ..Work::default() };
    let case = case.bound(Some(Bound::Float32)).iterations(2 * count);
    let case = if count <= MOST_OF_TWIN {
        case.checked_by(move |left| left.compare(&[twin.expected()]).and_then(|()| twin.momentum(left.of(accelerations))))
    } else {
        case.holds(INVARIANT, move |left| {
            let accelerations = left.of(accelerations);
            twin.samples(accelerations).and_then(|()| twin.momentum(accelerations))
        })
    };
    Ok(case.build(work, Headline::FLOPS))
}
