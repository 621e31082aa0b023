//! `algo/conv2d`: what brings a convolution over channels to the speed of the multipliers?

mod layer;

use std::collections::BTreeSet;

use layer::{LAYERS, Layer};

use crate::experiments::common::factored::{Factored, Factors};
use crate::experiments::common::prelude::*;
use crate::experiments::common::products::{self, WHOLE};
use crate::experiments::common::subgroup_tiles::{SubgroupTiles, TILES, VECTOR_BYTES};
use crate::model::{AxisValue, Component};

pub const EXPERIMENT: Experiment = Experiment {
    variants: Rung::WORDS,
    quick_variants: &[Rung::Direct.word(), Rung::Implicit.word(), Rung::Coopmat.word()],
    peak_kind: Some("fp32"),
    is_of_peak: |variant, point| variant != Rung::Coopmat.word() && point.choice("type") == "f32",
    repeatability: |_| Repeatability::Core,
    axes_of: Some(axes_of),
    ..Experiment::of_ladder(LADDER, axes, build)
};

choices! {
    enum Rung { Direct = "direct", Vector = "vector", Tiled = "tiled", Implicit = "implicit", Coopmat = "coopmat" }
}

/// Elements of a vector: `vector` and `implicit` load and store vectors.
const VECTOR: u64 = 4;

/// What elements are: `f16_f32` has factors of `f16` and sums of `f32`.
const TYPES: &[&str] = &["f32", "f16_f32"];

const ITEMS: &[u64] = &[1, 2, 4, 8, 16];

const SHAPES: &[&str] = &["16x16x16", "16x8x16", "16x16x32", "8x8x16"];

const INVARIANT: &str = "the result times a random vector is the source, as a matrix, times the weights times the vector (Freivalds' check, \
                         exact)";

const NEAR: &str = "products of whole numbers by the same module are exact; of full mantissas, sixteen pixels are as near as all \
                    roundings together allow";

const LADDER: Ladder = Ladder {
    experiment: "algo/conv2d",
    first: Rung::Direct.word(),
    choices: &["local_size_x", "local_size_y", "items_m", "items_n", "tile_k", "shape", "tiles_m", "tiles_n"],
};

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let layers = if setting.device.is_cpu() { layer::OF_CPUS } else { layer::OF_GPUS };
    let layers = if quick { &layers[..1] } else { layers };
    let types = if setting.preset == Preset::Thorough { TYPES } else { &TYPES[..1] };
    let is_few = quick || setting.device.is_cpu();
    let usual = size_up_to(256, setting);
    let [width, most] = [setting.by_class(8, 16), setting.by_class(64, 128)];
    // Workgroups of half as many invocations are more in number: small layers have few.
    let sizes = if is_few { vec![most] } else { vec![most, 2 * most] };
    let heights: BTreeSet<u64> = sizes.into_iter().map(|size| (usual.min(size) / width).max(1)).collect();
    let items = if is_few { vec![setting.by_class(4_u64, 8)] } else { vec![8, 4] };
    let depths = if is_few { vec![8_u64] } else { vec![8, 16] };
    let mut axes = vec![
        Axis::new("type", "what is multiplied, and what adds up", AxisKind::Choices(TYPES), types.iter().copied()),
        Axis::new(
            "layer",
            "images x their edge x channels x filters x edge of a filter",
            AxisKind::Choices(LAYERS),
            layers.iter().copied(),
        ),
    ];
    axes.extend(layer::axes());
    axes.extend([
        Axis::new("local_size_x", "invocations of a workgroup along filters", AxisKind::AtLeast(1), [width]),
        Axis::new("local_size_y", "invocations of a workgroup along pixels", AxisKind::AtLeast(1), heights),
        Axis::new("items_m", "pixels of an invocation", AxisKind::Numbers(ITEMS), items.clone()),
        Axis::new("items_n", "filters of an invocation", AxisKind::Numbers(ITEMS), items),
        Axis::new("tile_k", "channels that workgroup memory holds at a time", AxisKind::Numbers(&[4, 8, 16, 32, 64]), depths),
        Axis::new(
            "shape",
            "pixels, filters and channels of a cooperative matrix product",
            AxisKind::Choices(SHAPES),
            [SHAPES[0]],
        ),
        Axis::new("tiles_m", "matrices of sums next to each other along pixels", AxisKind::Numbers(TILES), [4_u64]),
        Axis::new("tiles_n", "matrices of sums next to each other along filters", AxisKind::Numbers(TILES), [4_u64]),
        products::data_axis_of(setting),
    ]);
    axes
}

fn axes_of(variant: &str, setting: &Setting) -> Vec<Axis> {
    let mut axes = axes(setting);
    let numbers = |numbers: &[u64]| numbers.iter().map(|n| AxisValue::from(*n)).collect::<Vec<_>>();
    let (own, without): (Vec<(&str, Vec<AxisValue>)>, &[&str]) = match Rung::of(variant) {
        // The first variant has the types of all.
        Rung::Direct => (vec![("type", TYPES.iter().map(|kind| (*kind).into()).collect())], &["items_m", "items_n", "tile_k"]),
        Rung::Vector => (vec![], &["items_n", "tile_k"]),
        // More of them don't fit into workgroup memory with all taps.
        Rung::Tiled => (vec![], &["tile_k"]),
        Rung::Implicit => (vec![], &[]),
        Rung::Coopmat => (
            vec![
                ("type", vec!["f16_f32".into()]),
                ("local_size_x", numbers(&[size_up_to(128, setting)])),
                ("local_size_y", numbers(&[1])),
                ("tile_k", numbers(&[32])),
                ("tiles_m", numbers(setting.quick_or(&[2][..], &[2, 4]))),
                ("tiles_n", numbers(setting.quick_or(&[4][..], &[4, 2]))),
            ],
            &["items_m", "items_n"],
        ),
    };
    for (name, defaults) in own {
        axes.iter_mut().filter(|axis| axis.name == name).for_each(|axis| axis.defaults.clone_from(&defaults));
    }
    // What a variant has none of makes no difference to it.
    axes.iter_mut().filter(|axis| without.contains(&axis.name.as_ref())).for_each(|axis| axis.defaults.truncate(1));
    axes
}

fn build(config: &Config) -> Result<Built, Skip> {
    let layer = Layer::new(config)?;
    let tiling = Tiling::new(config, &layer)?;
    let groups = fold_groups(tiling.groups, config.most_groups());
    // Tiles are counted in 32 bits.
    u32_of(workgroups(groups))?;
    let pushed = [layer.pixels(), layer.image_size, layer.channels, layer.filters];
    let [pixels, image_size, channels, filters] = pushed.map(u32_of);
    let pushed = [pixels?, image_size?, channels?, filters?];
    let is_cooperative = Rung::of(config.variant) == Rung::Coopmat;
    let push: &[u32] = if is_cooperative { &[] } else { &pushed };
    let run = |case: &mut CaseBuilder, names: [&'static str; 2], factors: Factors, target: Handle| {
        let [source, weights] = layer.inputs(case, names, factors);
        case.run(tiling.kernel.clone(), &[source, weights, target], groups, push);
    };
    let whole = layer.whole(config.seed());
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let case = if config.choice("data") == WHOLE {
        let target = case.output("target", layer.expected(whole));
        run(&mut case, ["source", "weights"], whole, target);
        layer.show(&mut case, target)?;
        if layer.is_large() { case.holds(INVARIANT, move |left| layer.check(whole, left.of(target))) } else { case }
    } else {
        let full = layer.full(config.seed());
        let target = case.output("target", layer.expected_full(full));
        run(&mut case, ["source", "weights"], full, target);
        layer.show(&mut case, target)?;
        let exact = case.output("whole target", layer.expected(whole));
        case.reset(|case| run(case, ["whole source", "whole weights"], whole, exact));
        case.holds(NEAR, move |left| {
            layer.check(whole, left.of(exact))?;
            layer.check_full(full, left.of(target))
        })
    };
    let is_float32 = layer.kind.factor == Component::F32;
    let bound = if is_cooperative { Some(Bound::MatrixF16) } else { is_float32.then_some(Bound::Float32) };
    let work = Work { flops: Some(product([2, layer.products()])), ..Work::default() };
    Ok(case.iterations(tiling.iterations).bound(bound).build(work, Headline::FLOPS))
}

struct Tiling {
    kernel: Kernel,
    groups: u64,
    iterations: u64,
}

impl Tiling {
    /// Skipped: where its invocations take no whole vectors, and what the device lacks.
    fn new(config: &Config, layer: &Layer) -> Result<Self, Skip> {
        let rung = Rung::of(config.variant);
        let [local_x, local_y, items_m, items_n, tile_k] =
            ["local_size_x", "local_size_y", "items_m", "items_n", "tile_k"].map(|axis| config.integer(axis));
        let whole = |axis: &str, items: u64| match items % VECTOR {
            0 => Ok(()),
            _ => Err(Skip::new(format!("{axis} is {items}: the case needs whole vectors of {VECTOR}"))),
        };
        let items = match rung {
            Rung::Direct => [1, 1],
            Rung::Vector => [items_m, VECTOR],
            Rung::Tiled => [items_m, items_n],
            Rung::Implicit => {
                whole("items_m", items_m)?;
                whole("items_n", items_n)?;
                [items_m, items_n]
            }
            Rung::Coopmat => return Self::by_subgroups(config, layer),
        };
        let [tile_m, tile_n] = [product([local_y, items[0]]), product([local_x, items[1]])];
        let (size, invocations) = (layer.image_size, product([local_x, local_y]));
        let across = layer.filters.div_ceil(tile_n);
        let groups = product([across, layer.pixels().div_ceil(tile_m)]);
        let vectors = layer.channels.div_ceil(VECTOR);
        let (source, constants, groups, iterations) = match rung {
            Rung::Direct => ("algo/conv2d_direct.comp", vec![], groups, product([layer.taps(), vectors + VECTOR])),
            Rung::Vector => ("algo/conv2d_vector.comp", vec![], groups, product([layer.taps(), vectors])),
            Rung::Tiled => {
                let width = width_of(tile_m);
                let tiles = product([layer.images, size.div_ceil(width), size.div_ceil(tile_m / width)]);
                let halo = product([width + layer.filter_size - 1, tile_m / width + layer.filter_size - 1]);
                let loads = product([tile_k, halo.saturating_add(product([layer.taps(), tile_n]))]).div_ceil(invocations);
                let round = loads.saturating_add(product([layer.taps(), tile_k]));
                let constants = vec![("TILE_K", tile_k), ("TILE_WIDTH", width)];
                let iterations = product([layer.channels.div_ceil(tile_k), round]);
                ("algo/conv2d_tiled.comp", constants, product([across, tiles]), iterations)
            }
            Rung::Implicit | Rung::Coopmat => {
                // A step moves an invocation's columns on, tap by tap.
                let moves = product([tile_k.div_ceil(layer.channels) + 1, VECTOR]);
                let iterations = product([layer.columns().div_ceil(tile_k) + 1, 1 + moves]);
                ("algo/conv2d_implicit.comp", vec![("TILE_K", tile_k)], groups, iterations)
            }
        };
        let local_size = [config.u32("local_size_x"), config.u32("local_size_y"), 1];
        let kernel = layer_of(Kernel::new(source, local_size), layer, VECTOR)
            .constant("ITEMS_M", number(items[0]))
            .constant("ITEMS_N", number(items[1]));
        let kernel = constants.into_iter().fold(kernel, |kernel, (name, value)| kernel.constant(name, number(value)));
        let kernel = if layer.kind.factor == Component::F16 { kernel.define("HALVES", "") } else { kernel };
        Ok(Self { kernel, groups, iterations })
    }

    fn by_subgroups(config: &Config, layer: &Layer) -> Result<Self, Skip> {
        let kind = layer.kind;
        let tiles = SubgroupTiles::new(config, kind, [false; 2])?;
        let vector = VECTOR_BYTES / kind.factor_bytes();
        let local_size = product([config.integer("local_size_x"), config.integer("local_size_y")]);
        if local_size % (tiles.tile_k / vector) != 0 {
            return Err(Skip::new(format!(
                "tile_k is {}, vectors of {vector}: the case needs a workgroup of whole rows of them, not of {local_size}",
                tiles.tile_k
            )));
        }
        let [tile_m, tile_n] = tiles.tile();
        let are_tiles_whole = layer.pixels() % tile_m == 0 && layer.filters % tile_n == 0;
        let sizes = [
            ("pixels", layer.pixels()),
            ("image_size", layer.image_size),
            ("channels", layer.channels),
            ("filters", layer.filters),
        ];
        let kernel = layer_of(tiles.kernel("algo/conv2d_coopmat.comp", config), layer, vector)
            .constant("ALL_WHOLE", Scalar::Bool(are_tiles_whole));
        let kernel = sizes.into_iter().fold(kernel, |kernel, (name, size)| kernel.constant(name, number(size)));
        let groups = product([layer.filters.div_ceil(tile_n), layer.pixels().div_ceil(tile_m)]);
        let moves = product([tiles.tile_k.div_ceil(layer.channels) + 1, vector]);
        let iterations = product([tiles.iterations(layer.columns()), 1 + moves]);
        Ok(Self { kernel, groups, iterations })
    }
}

/// The kernel, told the layer's filters, and whether its channels and filters are whole vectors of so many elements.
fn layer_of(kernel: Kernel, layer: &Layer, vector: u64) -> Kernel {
    kernel
        .constant("FILTER_SIZE", number(layer.filter_size))
        .constant("WHOLE_CHANNELS", Scalar::Bool(layer.channels % vector == 0))
        .constant("WHOLE_FILTERS", Scalar::Bool(layer.filters % vector == 0))
}

/// The width of a workgroup's tile of an image, of so many pixels: as near to a square as divisors come, so that its halo is small.
fn width_of(tile: u64) -> u64 {
    // No workgroup has a larger one, whatever it is asked for.
    const MOST: u64 = 1 << 10;
    (1..=tile.isqrt().min(MOST)).rev().find(|width| tile % width == 0).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{matrix, mock_with, quick, with};

    #[test]
    fn tiles_are_as_near_to_squares_as_they_can_be() {
        for (tile, width) in [(1, 1), (7, 1), (12, 3), (32, 4), (64, 8), (128, 8), (1 << 40, 1 << 10)] {
            assert_eq!(width_of(tile), width, "{tile}");
        }
    }

    /// What becomes of 2 x 7 x 7 pixels and 10 channels, on a device that multiplies matrices.
    fn tiling(variant: &str, told: &str) -> Result<Tiling, Skip> {
        let features = [Feature::Float16, Feature::Storage16, Feature::CooperativeMatrix, Feature::MemoryModel];
        let mut device = mock_with(&features, &[]);
        device.matrices = vec![matrix([16, 16, 16], [Component::F16, Component::F32])];
        let told = format!("images=2 image_size=7 channels=10 {told}");
        with(&EXPERIMENT, variant, quick(&device), &told, |config| Tiling::new(config, &Layer::new(config)?))
    }

    #[test]
    fn workgroups_have_all_pixels_and_filters() {
        // 98 pixels and 13 filters in tiles of 3 x 2, 12 x 8, and 12 x 8 again; and of 3 x 4 pixels in each image.
        for (variant, groups) in [("direct", 33 * 7), ("vector", 9 * 2), ("implicit", 9 * 2), ("tiled", 2 * 3 * 2 * 2)] {
            let tiling = tiling(variant, "filters=13 local_size_x=2 local_size_y=3 items_m=4 items_n=4");
            assert_eq!(tiling.unwrap().groups, groups, "{variant}");
        }
        // 98 pixels in tiles of 64: four subgroups of 2 x 4 matrices of 16 x 16 lie two by two, so that a tile has 128 filters.
        assert_eq!([13, 129].map(|n| tiling("coopmat", &format!("filters={n}")).unwrap().groups), [2, 4]);
        assert!(tiling("coopmat", "type=f32").is_err(), "no product of f32 is listed");
    }

    #[test]
    fn the_implicit_product_takes_vectors() {
        let reason = |told| tiling("implicit", told).err().map(|skip| skip.reason);
        assert_eq!(reason("items_m=8 items_n=4"), None);
        assert!(reason("items_m=2 items_n=4").unwrap().contains("items_m is 2"));
        assert!(reason("items_m=4 items_n=1").unwrap().contains("items_n is 1"));
        assert!(tiling("tiled", "items_m=2 items_n=1").is_ok());
    }
}
