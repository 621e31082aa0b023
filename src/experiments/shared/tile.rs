//! `shared/tile`: how should a tile lie in workgroup memory whose columns are read?

use crate::experiments::{Built, CaseBuilder, Config, Experiment, Setting, lanes, local_size_axis, product};
use crate::model::{
    Axis, AxisKind, Bound, Case, DeviceKind, Headline, Kernel, Moved, Preset, Repeatability, Scalar, Sequence, Skip, Traffic,
    Work,
};
use crate::validate::Expected;

pub const EXPERIMENT: Experiment = Experiment {
    variants: &["plain", "padded", "swizzled"],
    quick_variants: &["plain", "padded"],
    base_variant: Some("plain"),
    peak_kind: Some("shared"),
    repeatability: |_| Repeatability::Memory,
    traffic,
    ..Experiment::new("shared/tile", axes, build)
};

/// Places in the source where tiles begin, one for each workgroup in turn.
const BEGINNINGS: u64 = 4;
/// The first column of the first iteration, and from one to the next: odd, so that all come up in turn.
const FIRST_COLUMN: u64 = 1;
const COLUMN_STEP: u64 = 3;

/// More would keep the twin busy for minutes.
const MOST_ITERATIONS: u64 = 1 << 18;

fn axes(setting: &Setting) -> Vec<Axis> {
    let tiles: &[u64] = if setting.preset == Preset::Quick { &[32] } else { &[16, 32, 64] };
    // As in shared/bank_conflict.
    let groups = match setting.device.kind {
        DeviceKind::Integrated => 1056,
        _ => setting.by_class(4_u64, 8448),
    };
    vec![
        Axis::new("tile", "rows and columns of the tile", AxisKind::Numbers(&[8, 16, 32, 64]), tiles.iter().copied()),
        local_size_axis(setting),
        Axis::new("iterations", "times N/2 loads per invocation", AxisKind::AtLeast(1), [64_u64])
            .up_to(MOST_ITERATIONS)
            .of_monotone_work(),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_monotone_work(),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let [tile, local_size, iterations] = ["tile", "local_size_x", "iterations"].map(|axis| config.integer(axis));
    let (groups, invocations) = config.grid(config.integer("groups"));
    let source = Sequence::Words { seed: config.seed() };
    let prepare = move || {
        let results: Vec<u32> = (0..BEGINNINGS)
            .flat_map(|begin| (0..tile).map(move |row| begin + row * tile))
            .map(|first| result(source, first, tile, iterations))
            .collect();
        move |i: u64| results[index(i / local_size % BEGINNINGS * tile + i % local_size % tile)]
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [
        case.output("results", Expected::words_from(invocations, prepare)),
        case.input("source", tile * tile + BEGINNINGS - 1, source),
    ];
    let kernel = Kernel::new("shared/tile.comp", config.workgroup())
        .constant("TILE", Scalar::U32(config.u32("tile")))
        .constant("PADDING", Scalar::U32((config.variant == "padded").into()))
        .constant("SWIZZLED", Scalar::Bool(config.variant == "swizzled"))
        .constant("ITERATIONS", Scalar::U32(config.u32("iterations")));
    case.run(kernel, &resources, groups, &[FIRST_COLUMN, COLUMN_STEP].map(|n| u32::try_from(n).unwrap_or(u32::MAX)));
    let loads = product([invocations, iterations, tile / 2]);
    let work = Work { bytes: Some(product([loads, 4])), items: Some(loads), ..Work::default() };
    // Where rows are fewer than lanes, one access serves several of them.
    let bound = (tile >= lanes(config.device()).into()).then_some(Bound::Shared);
    let iterations = iterations + (tile * tile).div_ceil(local_size);
    Ok(case.bound(bound).iterations(iterations).build(work, Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let loops = vec![case.point.integer("iterations")];
    Ok(vec![Traffic { counted: Moved::SHARED_READ, loops, ..Traffic::usual(case) }])
}

/// What an invocation writes whose row begins at this word of the source.
fn result(source: Sequence, first: u64, tile: u64, iterations: u64) -> u32 {
    let columns = tile / 2;
    let sum = |column: u64| (column..column + columns).map(|j| source.word(first + j)).fold(0, u32::wrapping_add);
    let sums: Vec<u32> = (0..columns).map(sum).collect();
    let mut column = FIRST_COLUMN;
    (0..iterations).fold(0, |result, _| {
        let sum = sums[index(column)];
        column = (column + COLUMN_STEP) % columns;
        result.wrapping_mul(3).wrapping_add(sum)
    })
}

#[expect(clippy::cast_possible_truncation, reason = "a tile has few words")]
fn index(i: u64) -> usize {
    i as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// The shader's function of the same name.
    fn place(variant: &str, tile: u64, row: u64, column: u64) -> u64 {
        row * (tile + u64::from(variant == "padded")) + if variant == "swizzled" { column ^ row } else { column }
    }

    /// What the description says: banks that 32 lanes want at a time, of 32.
    #[test]
    fn only_a_plain_tile_has_conflicts() {
        for (variant, tile, expected) in [
            ("plain", 32, 1),
            ("padded", 32, 32),
            ("swizzled", 32, 32),
            ("plain", 16, 2),
            ("plain", 64, 1),
            ("swizzled", 64, 32),
        ] {
            for column in 0..tile {
                let places: BTreeSet<u64> = (0..32).map(|lane| place(variant, tile, lane % tile, column)).collect();
                let banks: BTreeSet<u64> = places.iter().map(|place| place % 32).collect();
                assert_eq!(banks.len(), expected, "{variant} {tile} column {column}");
            }
        }
    }

    #[test]
    fn every_element_has_a_place_of_its_own() {
        for (variant, tile) in ["plain", "padded", "swizzled"].iter().flat_map(|v| [8, 16, 32, 64].map(|tile| (*v, tile))) {
            let all: BTreeSet<u64> = (0..tile * tile).map(|i| place(variant, tile, i / tile, i % tile)).collect();
            assert_eq!(all.len() as u64, tile * tile);
            assert!(all.last() < Some(&(tile * (tile + u64::from(variant == "padded")))));
        }
    }
}
