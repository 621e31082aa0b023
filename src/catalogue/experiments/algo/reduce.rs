//! `algo/reduce`: what brings a sum of many words to the speed of memory?

use std::ops::Range;

use crate::experiments::common::parts::in_parts;
use crate::experiments::common::prelude::*;
use crate::experiments::common::reduction::{self, Rounds, VECTOR, by_subgroups, dealt, loads, padded, taking};
use crate::model::{Contents, Dimension, Format, ImageRole, Resource, ResourceKind, Sampling};

pub const EXPERIMENT: Experiment = Experiment {
    variants: Rung::WORDS,
    quick_variants: &[Rung::Atomics.word(), Rung::Vector.word()],
    peak_kind: Some("global"),
    repeatability: |_| Repeatability::Memory,
    axes_of: Some(|variant, setting| reduction::axes(setting, items(setting), Rung::of(variant).is_wide())),
    traffic: reduction::traffic,
    ..Experiment::of_ladder(LADDER, |setting| reduction::axes(setting, items(setting), false), build)
};

choices! {
    enum Rung {
        Atomics = "atomics",
        Interleaved = "interleaved",
        Sequential = "sequential",
        SharedAtomic = "shared_atomic",
        Subgroup = "subgroup",
        Vector = "vector",
        Image = "image",
    }
}

impl Rung {
    /// Whether its loads are of four words.
    fn is_wide(self) -> bool {
        matches!(self, Self::Vector | Self::Image)
    }
}

/// Texels of a tile of the image along a line, and its lines, as the shader has them.
const TILE: [u64; 2] = [8, 4];

const LADDER: Ladder = Ladder { experiment: "algo/reduce", first: "atomics", choices: &["local_size_x", "items"] };

fn build(config: &Config) -> Result<Built, Skip> {
    let n = config.integer("n");
    let (words, count) = (padded(n)?, u32_of(n)?);
    let source = Sequence::Words { seed: config.seed() };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let sum = move || {
        let sum_of = |range: Range<u64>| range.map(|i| source.word(i)).fold(0, u32::wrapping_add);
        let sum = in_parts(n, sum_of).into_iter().fold(0, u32::wrapping_add);
        move |_| sum
    };
    let result = case.output("result", Expected::words_from(1, sum));
    let rung = Rung::of(config.variant);
    let width = if rung.is_wide() { VECTOR } else { 1 };
    let of = |shader| taking(shader, config.integer("items") / width, config);
    let mut at_once = |kernel: &dyn Fn() -> Result<Kernel, Skip>| {
        let elements = dealt(n.div_ceil(width), width, config)?;
        let kernel = kernel()?;
        let source = case.input("source", words, source);
        case.fill(result, 0);
        case.barrier();
        case.run(kernel, &[result, source], elements.groups, &[count]);
        Ok(())
    };
    match rung {
        Rung::Atomics => at_once(&|| Ok(of("algo/reduce_atomics.comp")))?,
        Rung::SharedAtomic => at_once(&|| Ok(of("algo/reduce_tree.comp").define("ONE_ATOMIC", "")))?,
        Rung::Subgroup => at_once(&|| by_subgroups(of("algo/reduce_subgroup.comp"), config))?,
        Rung::Vector => at_once(&|| by_subgroups(of("algo/reduce_subgroup.comp").define("VECTORS", ""), config))?,
        Rung::Interleaved | Rung::Sequential => {
            let kernel = of("algo/reduce_tree.comp").constant("INTERLEAVED", Scalar::Bool(rung == Rung::Interleaved));
            let elements = dealt(n, 1, config)?;
            let source = case.input("source", words, source);
            Rounds { source, elements, count, words: 1, result }.dispatch(&mut case, config, |_| kernel.clone())?;
        }
        Rung::Image => from_image(&mut case, config, result, count, source)?,
    }
    let work = Work { bytes: Some(n * 4), items: Some(n), ..Work::default() };
    Ok(case.bound(beyond_caches(n * 4)).build(work, Headline::BANDWIDTH))
}

fn items(setting: &Setting) -> &'static [u64] {
    match setting.preset {
        Preset::Quick => setting.by_class(&[16], &[32]),
        Preset::Default => setting.by_class(&[1, 16], &[1, 32]),
        Preset::Thorough => &[1, 4, 8, 16, 32, 64],
    }
}

/// The words as an image of texels of four words, whose lines are a power of two long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Image {
    /// A line has 2^this texels.
    line_bits: u32,
    lines: u64,
}

impl Image {
    /// One that holds so many words in whole tiles, as near to a square as can be.
    fn of(words: u64) -> Self {
        let [width, height] = TILE;
        let tiles = words.div_ceil(VECTOR * width * height);
        let line_bits = ((tiles * width * height).next_power_of_two().ilog2().div_ceil(2)).max(width.ilog2());
        let lines = tiles.div_ceil((1 << line_bits) / width) * height;
        Self { line_bits, lines }
    }

    fn texels(self) -> u64 {
        self.lines << self.line_bits
    }

    fn extent(self) -> [u32; 3] {
        [1 << self.line_bits, narrow(self.lines), 1]
    }
}

/// A pass that samples the words from an image, leaves the sums of its workgroups in another one, and then adds these up.
fn from_image(case: &mut CaseBuilder, config: &Config, result: Handle, count: u32, words: Sequence) -> Result<(), Skip> {
    let [local_size, items] = ["local_size_x", "items"].map(|axis| config.integer(axis));
    let of_invocation = loads(VECTOR, config)?;
    let image = Image::of(count.into());
    u32_of(image.texels() * VECTOR)?;
    // The image of the sums has the extent of the grid.
    let longest = config.most_groups().min(config.device().limits.image_dimension);
    let texels = Elements::dealt(image.texels(), local_size, of_invocation, longest)?;
    let sums = dealt(workgroups(texels.groups), 1, config)?;
    let d2 = |name, format, extent, role, contents| {
        Resource::new(name, ResourceKind::Image { format, dimension: Dimension::D2, extent, role }, contents)
    };
    let source = Contents::Sequence(words);
    let source = case.add(d2("source", Format::Rgba32Uint, image.extent(), ImageRole::Sampled, source));
    let nearest = case.add(Resource::new("nearest", ResourceKind::Sampler(Sampling::default()), Contents::Undefined));
    let partials = case.add(d2("partials", Format::R32Uint, texels.groups, ImageRole::Storage, Contents::Undefined));
    let kernel = |macro_name, elements| {
        by_subgroups(taking("algo/reduce_subgroup.comp", elements, config).define(macro_name, ""), config)
    };
    case.fill(result, 0);
    case.barrier();
    let [width, lines, _] = image.extent();
    case.run(kernel("SAMPLED", of_invocation)?, &[partials, source, nearest], texels.groups, &[count, width.ilog2(), lines]);
    case.depend();
    let in_partials = u32_of(workgroups(texels.groups))?;
    case.run(kernel("PARTIALS", items)?, &[result, partials], sums.groups, &[in_partials, texels.groups[0]]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{built, quick};
    use crate::model::DeviceInfo;

    #[test]
    fn images_are_whole_tiles_that_hold_all_words() {
        for n in [1, 5, 128, 129, 1000, 65_536, 100_003, 100_000_007, 1 << 28, (1 << 32) - 1] {
            let image = Image::of(n);
            let width = 1_u64 << image.line_bits;
            assert!(width % TILE[0] == 0 && image.lines % TILE[1] == 0, "{n}: {image:?}");
            let held = image.texels() * VECTOR;
            assert!(held >= n && held - n < (width * TILE[1] + 1) * VECTOR, "{n}: {image:?}");
        }
        assert_eq!(Image::of(1 << 28), Image { line_bits: 13, lines: 8192 });
        assert_eq!(Image::of(1).extent(), [8, 4, 1]);
    }

    #[test]
    fn the_result_is_the_sum_of_the_words_alone() {
        let words = Sequence::Words { seed: 1 };
        let sum = (0..5).fold(0_u32, |sum, i| sum.wrapping_add(words.word(i)));
        let check = |sum: u32| {
            let told = "local_size_x=8 items=1 n=5";
            let check = |built: Built| built.check(&[sum.to_ne_bytes().to_vec()]);
            built(&EXPERIMENT, "sequential", quick(&DeviceInfo::mock()), told, check).unwrap()
        };
        assert_eq!(check(sum), Ok(()));
        assert!(check(sum.wrapping_add(words.word(5))).is_err());
    }
}
