//! `shared/tile`: how should a tile lie in workgroup memory whose columns are read?

use crate::experiments::common::elements::chained;
use crate::experiments::common::prelude::*;
use crate::experiments::common::windows::{self, BEGINNINGS, index};

pub const EXPERIMENT: Experiment = Experiment {
    variants: Layout::WORDS,
    quick_variants: &[Layout::Plain.word(), Layout::Padded.word()],
    base_variant: Some(Layout::Plain.word()),
    peak_kind: Some("shared"),
    repeatability: |_| Repeatability::Memory,
    traffic: |case| windows::reads(case, case.point.integer("iterations")),
    ..Experiment::new("shared/tile", axes, build)
};

choices! { enum Layout { Plain = "plain", Padded = "padded", Swizzled = "swizzled" } }

impl Layout {
    /// The shader's constants PADDING, in words of a row, and SWIZZLED.
    fn constants(self) -> (u32, bool) {
        match self {
            Self::Plain => (0, false),
            Self::Padded => (1, false),
            Self::Swizzled => (0, true),
        }
    }
}

/// The first column of the first iteration, and from one to the next: odd, so that all come up in turn.
const FIRST_COLUMN: u64 = 1;
const COLUMN_STEP: u64 = 3;

/// More would keep the twin busy for minutes.
const MOST_ITERATIONS: u64 = 1 << 18;

fn axes(setting: &Setting) -> Vec<Axis> {
    let tiles: &[u64] = if setting.preset == Preset::Quick { &[32] } else { &[16, 32, 64] };
    vec![
        Axis::new("tile", "rows and columns of the tile", AxisKind::Numbers(&[8, 16, 32, 64]), tiles.iter().copied()),
        local_size_axis(setting),
        loop_axis("iterations", "times N/2 loads per invocation", [64], MOST_ITERATIONS),
        windows::groups_axis(setting),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [tile, local_size, iterations] = ["tile", "local_size_x", "iterations"].map(|axis| config.integer(axis));
    let (groups, invocations) = config.grid(config.integer("groups"));
    let source = Sequence::Words { seed: config.seed() };
    let result = move |begin, row| result(source, begin + row * tile, tile, iterations);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [
        case.output("results", Expected::words_from(invocations, move || windows::results(local_size, tile, &result))),
        case.input("source", tile * tile + BEGINNINGS - 1, source),
    ];
    let (padding, is_swizzled) = Layout::of(config.variant).constants();
    let kernel = config.kernel("shared/tile.comp", &["tile", "iterations"]);
    let kernel = kernel.constant("PADDING", Scalar::U32(padding)).constant("SWIZZLED", Scalar::Bool(is_swizzled));
    case.run(kernel, &resources, groups, &[FIRST_COLUMN, COLUMN_STEP].map(|n| u32::try_from(n).unwrap_or(u32::MAX)));
    let loads = product([invocations, iterations, tile / 2]);
    let work = Work { bytes: Some(product([loads, 4])), items: Some(loads), ..Work::default() };
    // Where rows are fewer than lanes, one access serves several of them.
    let bound = (tile >= lanes(config.device()).into()).then_some(Bound::Shared);
    let iterations = iterations + (tile * tile).div_ceil(local_size);
    Ok(case.bound(bound).iterations(iterations).build(work, Headline::BANDWIDTH))
}

/// What an invocation writes whose row begins at this word of the source.
fn result(source: Sequence, first: u64, tile: u64, iterations: u64) -> u32 {
    let columns = tile / 2;
    let sum = |column: u64| (column..column + columns).map(|j| source.word(first + j)).fold(0, u32::wrapping_add);
    let sums: Vec<u32> = (0..columns).map(sum).collect();
    let column = |iteration| (FIRST_COLUMN + iteration * COLUMN_STEP) % columns;
    chained((0..iterations).map(|iteration| sums[index(column(iteration))]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The shader's function of the same name.
    fn place(layout: Layout, tile: u64, row: u64, column: u64) -> u64 {
        let (padding, is_swizzled) = layout.constants();
        row * (tile + u64::from(padding)) + if is_swizzled { column ^ row } else { column }
    }

    /// What the description says: banks that 32 lanes want at a time, of 32.
    #[test]
    fn only_a_plain_tile_has_conflicts() {
        for (layout, tile, expected) in [
            (Layout::Plain, 32, 1),
            (Layout::Padded, 32, 32),
            (Layout::Swizzled, 32, 32),
            (Layout::Plain, 16, 2),
            (Layout::Plain, 64, 1),
            (Layout::Swizzled, 64, 32),
        ] {
            for column in 0..tile {
                let banks: BTreeSet<u64> = (0..32).map(|lane| place(layout, tile, lane % tile, column) % 32).collect();
                assert_eq!(banks.len(), expected, "{layout:?} {tile} column {column}");
            }
        }
    }

    #[test]
    fn every_element_has_a_place_of_its_own() {
        for (layout, tile) in Layout::ALL.iter().flat_map(|layout| [8, 16, 32, 64].map(|tile| (*layout, tile))) {
            let all: BTreeSet<u64> = (0..tile * tile).map(|i| place(layout, tile, i / tile, i % tile)).collect();
            assert_eq!(all.len() as u64, tile * tile);
            assert!(all.last() < Some(&(tile * (tile + u64::from(layout.constants().0)))));
        }
    }
}
