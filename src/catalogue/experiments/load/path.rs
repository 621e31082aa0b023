//! `load/path`: what does each way cost by which a shader can read, as long as the first-level cache holds what it reads?
//!
//! The measurement is Sebastian Aaltonen's "perftest" for Direct3D (github.com/sebbbi/perftest), on Vulkan: the description says which
//! variants its 46 loads are, each in three patterns. Like perftest's, all paths have as many elements as the widest (16 KiB), so narrow
//! ones have fewer bytes. perftest steps through its elements one by one, which shifts the lanes of `linear` against the cache's lines
//! with each load. Here they stay within whole lines: what shifting costs is the question of `memory/misaligned`.

pub(super) mod table;
pub(super) mod twin;
pub(super) mod walk;

use crate::experiments::common::prelude::*;
use crate::model::{
    Contents, DeviceInfo, DeviceKind, Dimension, Format, ImageRole, Precision, Resource, ResourceKind, Sampling,
};

use table::{Kind, PATHS, Path, Source, Value};
use walk::{LOADS_PER_ITERATION, Pattern, Walk};

pub const EXPERIMENT: Experiment = Experiment {
    variants: &NAMES,
    quick_variants: QUICK,
    base_variant: Some("texel_buffer_rgba8"),
    repeatability: |_| Repeatability::Memory,
    traffic,
    ..Experiment::new("load/path", axes, build)
};

const NAMES: [&str; PATHS.len()] = table::names(PATHS);

/// One path of each sort of hardware.
const QUICK: &[&str] = &["texel_buffer_rgba8", "ssbo_vec4", "ubo", "ubo_1kib", "sampled_linear_rgba8"];

/// Texels of floats are whole numbers up to this one. An invocation's result is at most 256 loads x 16, the weight of the last
/// iteration, x 10, the weights of four components, x 255, for bytes: below 2^24, where every whole number is an exact f32.
pub(super) const MAGNITUDE: u32 = 127;

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let patterns = if quick { &[Pattern::Uniform, Pattern::Random] } else { Pattern::ALL };
    let n = setting.by_class(if quick { 2048 } else { 8192 }, gpu_invocations(setting.device));
    let [n, loads] = walk::axes(n, "loads per invocation");
    let pattern = Pattern::axis("pattern", "which elements lanes load at a time", patterns);
    vec![pattern.relative_to(Pattern::Random.word()), n, loads, local_size_axis(setting)]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let path = Path::of(PATHS, config.variant);
    let [n, loads] = ["n", "loads"].map(|axis| config.integer(axis));
    let walk = Walk::new(config, Pattern::of(config.choice("pattern")), path.elements(), path.value.components());
    let source = match path.value {
        Value::Words(_) => Sequence::Words { seed: config.seed() },
        Value::Texel(format) => texel_sequence(format, config.seed(), MAGNITUDE),
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let mut resources = vec![case.output("results", twin::expected(n, path, walk, source))];
    resources.extend(inputs(path, source).into_iter().map(|resource| case.add(resource)));
    let kernel = kernel(config.kernel(path.shader(), &["loads"]), path, source);
    let kernel = kernel.constant("PATTERN", Scalar::U32(walk.pattern.code()));
    let groups = fold_groups(n.div_ceil(walk.local_size), config.most_groups());
    let mut push = vec![config.u32("n"), path.elements() - 1];
    if path.kind == Kind::PushConstants {
        push.extend(few_words(source));
    }
    case.run(kernel, &resources, groups, &push);
    let items = product([n, loads]);
    let work = Work { bytes: Some(product([items, path.value.bytes().into()])), items: Some(items), ..Work::default() };
    // Its iterations, and the loads of each where a compiler doesn't unroll them.
    Ok(case.iterations(2 * loads).build(work, Headline::ITEMS))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    // Elements alone: what else a kernel reads and writes is little beside them.
    let element = case.work.bytes.zip(case.work.items).map_or(0, |(bytes, items)| bytes / items);
    let counted = Moved { indexed: 1, texels: element, ..Moved::READ };
    let loops = vec![case.point.integer("loads") / u64::from(LOADS_PER_ITERATION)];
    Ok(vec![Traffic { counted, loops, ..Traffic::usual(case) }])
}

/// A large GPU needs many for a pass to take longer than its launch; on a small one that many take too long.
pub(super) fn gpu_invocations(device: &DeviceInfo) -> u64 {
    if device.kind == DeviceKind::Discrete { 1 << 21 } else { 1 << 19 }
}

fn kernel(kernel: Kernel, path: &Path, source: Sequence) -> Kernel {
    let kernel = typed(kernel, path.value);
    let kernel = if path.elements() <= walk::FEW { kernel.define("FEW", "") } else { kernel };
    match path.kind {
        Kind::Unaligned => kernel.define("UNALIGNED", ""),
        Kind::Structured => kernel.define("STRUCTURED", ""),
        Kind::UniformBuffer | Kind::SmallUniformBuffer => kernel.define("UNIFORM_BUFFER", path.elements()),
        Kind::PushConstants => kernel.define("PUSHED", table::FEW),
        Kind::SpecConstants => specialized(kernel.define("SPECIALIZED", ""), source),
        Kind::Linear => kernel.define("LINEAR_SAMPLER", ""),
        Kind::Raw | Kind::Nearest => kernel,
        Kind::TexelBuffer | Kind::StorageTexelBuffer | Kind::Fetch | Kind::StorageImage => declaring(kernel, path),
    }
}

/// The kernel with what `glsl/load/values.glsl` has to know of what a load gives.
pub(super) fn typed(kernel: Kernel, value: Value) -> Kernel {
    let kernel = kernel.define("VALUE", value.glsl()).define("COMPONENTS", value.components());
    match value {
        Value::Texel(format) if format.precision() == Precision::Unorm8 => kernel.define("UNORM8", ""),
        Value::Words(_) | Value::Texel(_) => kernel,
    }
}

/// The kernel with what `glsl/load/texels.glsl` has to know of the path, where the path is one of its own.
pub(super) fn declaring(kernel: Kernel, path: &Path) -> Kernel {
    let stored = |kernel: Kernel, role: ImageRole| {
        if role == ImageRole::Sampled { kernel } else { kernel.define("STORED_AS", path.format()) }
    };
    match path.kind.place() {
        Source::TexelBuffer(role) => stored(kernel.define("TEXEL_BUFFER", ""), role),
        Source::Image(_) if path.kind == Kind::Fetch => kernel.define("FETCHED", ""),
        Source::Image(role) => stored(kernel, role),
        Source::Buffer | Source::Constants => kernel,
    }
}

fn specialized(kernel: Kernel, source: Sequence) -> Kernel {
    let words = (0..).zip(few_words(source));
    words.fold(kernel, |kernel, (i, word): (u32, _)| kernel.constant(&format!("WORD_{i}"), Scalar::U32(word)))
}

/// What push constants and specialization constants hold.
fn few_words(source: Sequence) -> impl Iterator<Item = u32> {
    (0..table::FEW).map(move |i| source.word(i.into()))
}

/// What the path reads, where that isn't in the commands or in the pipeline.
fn inputs(path: &Path, source: Sequence) -> Vec<Resource> {
    let contents = Contents::Sequence(source);
    match path.value {
        Value::Words(_) if path.kind.place() == Source::Constants => Vec::new(),
        Value::Words(_) => {
            let [begin, stride] = path.layout();
            vec![Resource::words("values", (begin + path.elements() * stride).into(), contents)]
        }
        Value::Texel(format) => {
            let kind = texels(path.kind, format, [table::SIDE; 2]);
            let is_linear = path.kind == Kind::Linear;
            let sampler = (is_linear || path.kind == Kind::Nearest).then(|| sampler(is_linear));
            std::iter::once(Resource::new("texels", kind, contents)).chain(sampler).collect()
        }
    }
}

/// What a path of this kind reads: an image of this extent, or a buffer of as many texels.
pub(super) fn texels(kind: Kind, format: Format, [width, height]: [u32; 2]) -> ResourceKind {
    match kind.place() {
        Source::TexelBuffer(role) => ResourceKind::Texels { format, count: width * height, role },
        Source::Image(role) => ResourceKind::Image { format, dimension: Dimension::D2, extent: [width, height, 1], role },
        Source::Buffer | Source::Constants => panic!("{kind:?} reads no texels"),
    }
}

/// A sampler that takes the nearest texel, or mixes four.
pub(super) fn sampler(is_linear: bool) -> Resource {
    Resource::new("sampler", ResourceKind::Sampler(Sampling { is_linear, ..Sampling::default() }), Contents::Undefined)
}

/// What texels of a format hold: whole numbers up to this magnitude, of halves up to what those count without gaps, or any bytes.
pub(super) fn texel_sequence(format: Format, seed: u64, magnitude: u32) -> Sequence {
    match format.precision() {
        Precision::Unorm8 => Sequence::Words { seed },
        Precision::Float16 => Sequence::WholeHalves { seed, magnitude: magnitude.min(1 << 10) },
        // There are no others among the paths.
        _ => Sequence::WholeFloats { seed, magnitude },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{built, case, quick, with, words};

    fn results(variant: &str, seed: u64, told: &str) -> Vec<u32> {
        let device = DeviceInfo::mock();
        let words = |built: Built| built.expected().iter().flat_map(words).collect();
        built(&EXPERIMENT, variant, Setting { seed, ..quick(&device) }, told, words).unwrap()
    }

    fn told(pattern: &str, loads: u64) -> String {
        format!("n=1000 loads={loads} local_size_x=64 pattern={pattern}")
    }

    #[test]
    fn perftests_loads_come_in_three_patterns() {
        let beyond = [Kind::SmallUniformBuffer, Kind::PushConstants, Kind::SpecConstants, Kind::StorageImage];
        let [all, added] = [PATHS.len(), PATHS.iter().filter(|path| beyond.contains(&path.kind)).count()];
        assert_eq!((all - added, (all - added) * Pattern::WORDS.len(), added), (46, 138, 12));
    }

    #[test]
    fn items_are_loads_and_bytes_are_theirs() {
        for (variant, bytes) in [("ssbo_vec3", 12), ("ubo", 16), ("sampled_linear_rg8", 2), ("push_constant", 4)] {
            let work = case(&EXPERIMENT, variant, quick(&DeviceInfo::mock()), &told("random", 256)).unwrap().work;
            assert_eq!((work.items, work.bytes), (Some(256_000), Some(256_000 * bytes)), "{variant}");
        }
    }

    /// Sums are exact as long as they stay below 2^24, whichever part of them comes first.
    #[test]
    fn results_of_texels_are_exact() {
        for path in PATHS {
            let Value::Texel(format) = path.value else { continue };
            let largest = if format.precision() == Precision::Unorm8 { 255 } else { MAGNITUDE };
            let (device, told) = (DeviceInfo::mock(), told("random", 256));
            let walk = |config: &Config| Walk::new(config, Pattern::Random, path.elements(), path.value.components());
            let walk = with(&EXPERIMENT, path.name, quick(&device), &told, walk);
            let most = walk.floats(&|_| largest.into())(0);
            assert!(most < 16_777_216.0, "{}", path.name);
            let mut floats = results(path.name, 1, &told).into_iter().map(f32::from_bits);
            assert!(path.kind == Kind::Linear || floats.all(|result| result.fract() == 0.0), "{}", path.name);
        }
    }

    /// Data decide results, also those that are no resource's contents.
    #[test]
    fn other_data_have_other_results() {
        for name in NAMES {
            let [one, two] = [1, 2].map(|seed| results(name, seed, &told("linear", 64)));
            assert_ne!(one, two, "{name}");
        }
    }
}
