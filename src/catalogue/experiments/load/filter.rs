//! `load/filter`: what is the texture unit's bilinear filter worth, against fetching four texels and mixing them?

use super::path::table::{Kind, SIDE};
use super::path::twin::Texels;
use super::path::walk::{self, LOADS_PER_ITERATION, Pattern, Term, Walk};
use super::path::{MAGNITUDE, gpu_invocations, sampler, texel_sequence, texels};
use crate::experiments::common::prelude::*;
use crate::model::{Contents, Format, Precision, Resource};
use crate::validate::Near;

pub const EXPERIMENT: Experiment = Experiment {
    variants: &["four_fetches", "hardware"],
    base_variant: Some("four_fetches"),
    repeatability: |_| Repeatability::Memory,
    traffic,
    ..Experiment::new("load/filter", axes, build)
};

const FORMATS: &[&str] = &["rgba8", "rgba16f"];

/// Positions in the image that lanes choose from, a power of two: four in each texel.
const POSITIONS: u32 = 4096;

const CHANNELS: u32 = 4;

fn axes(setting: &Setting) -> Vec<Axis> {
    let n = setting.by_class(if setting.preset == Preset::Quick { 1024 } else { 4096 }, gpu_invocations(setting.device));
    let [n, loads] = walk::axes(n, "samples per invocation");
    let format = Axis::new("format", "what a texel is", AxisKind::Choices(FORMATS), FORMATS.iter().copied());
    vec![format, n, loads, local_size_axis(setting)]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [n, loads] = ["n", "loads"].map(|axis| config.integer(axis));
    let format = if config.choice("format") == "rgba8" { Format::Rgba8Unorm } else { Format::Rgba16Float };
    let is_hardware = config.variant == "hardware";
    let texels = Texels { format, sequence: texel_sequence(format, config.seed(), MAGNITUDE) };
    let walk = Walk::new(config, Pattern::Random, POSITIONS, CHANNELS);
    // The shader sees bytes as fractions of one.
    let unit = if format.precision() == Precision::Unorm8 { 255.0 } else { 1.0 };
    let near = move |term: &Term| {
        let value = sample(&texels, term) / unit;
        if is_hardware {
            Near { value, error: texels.error_of_sampler() / unit }
        } else {
            Near { value, error: 0.0 }.rounded(OPERATIONS, texels.range() / unit)
        }
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let mut resources = vec![
        case.output("results", Expected::near_from(n, move || walk.near(&near))),
        case.add(Resource::new("texels", self::texels(Kind::Fetch, format, [SIDE; 2]), Contents::Sequence(texels.sequence))),
    ];
    if is_hardware {
        resources.push(case.add(sampler(true)));
    }
    let kernel = config.kernel("load/filter.comp", &["loads"]).constant("PATTERN", Scalar::U32(walk.pattern.code()));
    let kernel = if is_hardware { kernel.define("HARDWARE", "") } else { kernel };
    let groups = fold_groups(n.div_ceil(walk.local_size), config.most_groups());
    case.run(kernel, &resources, groups, &[config.u32("n"), POSITIONS - 1]);
    let work = Work { items: Some(product([n, loads])), ..Work::default() };
    // Its iterations, and the samples of each where a compiler doesn't unroll them.
    Ok(case.iterations(2 * loads).build(work, Headline::ITEMS))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let fetches = if case.variant == "four_fetches" { 4 } else { 1 };
    let loops = vec![case.point.integer("loads") / u64::from(LOADS_PER_ITERATION)];
    let counted = Moved { texels: 1, ..Moved::NONE };
    let traffic = Traffic::usual(case);
    Ok(vec![Traffic { counted, loops, total: fetches * traffic.total, ..traffic }])
}

/// Operations of `four_fetches` for each sample, of which none has a larger result than the range: some ten of its mixing, 16 of the sum
/// of an iteration's 16 samples, in which each of its additions counts as often as the sum is larger, and at most 40 of iterations and channels.
const OPERATIONS: u64 = 10 + 16 + 40;

/// Where a position lies along each axis: in 13 bits of a product, of which the last eight are the step within a texel.
fn places(position: u32) -> [u32; 2] {
    let bits = position.wrapping_mul(0x9E37_79B1);
    [bits >> 19, (bits >> 6) & 0x1FFF]
}

/// A channel of the sample at a position.
fn sample(texels: &Texels, term: &Term) -> f64 {
    let places = places(term.element);
    texels.mixed(places.map(|place| place >> 8), places.map(|place| f64::from(place & 0xFF) / 256.0), term.component)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Positions are spread over the whole image and over all steps within a texel.
    #[test]
    fn positions_are_everywhere() {
        for axis in 0..2 {
            let distinct =
                |part: fn(u32) -> u32| (0..POSITIONS).map(|i| part(places(i)[axis])).collect::<BTreeSet<u32>>().len();
            assert_eq!((distinct(|place| place >> 8), distinct(|place| place & 0xFF)), (32, 256), "axis {axis}");
        }
    }

    #[test]
    fn a_mix_goes_from_a_texel_to_its_neighbours() {
        let texels = Texels { format: Format::Rgba16Float, sequence: Sequence::WholeHalves { seed: 1, magnitude: 127 } };
        let texel = |x: u32, y: u32| texels.at((y * SIDE + x).into(), 2);
        for (x, weights, mixed) in [
            (3, [0.0, 0.0], texel(3, 5)),
            (3, [0.25, 0.0], 0.75 * texel(3, 5) + 0.25 * texel(4, 5)),
            (3, [0.0, 0.25], 0.75 * texel(3, 5) + 0.25 * texel(3, 6)),
            // Beyond the edge the texels at the edge repeat.
            (31, [0.5, 0.0], texel(31, 5)),
        ] {
            assert_eq!(texels.mixed([x, 5], weights, 2), mixed, "{x} {weights:?}");
        }
    }
}
