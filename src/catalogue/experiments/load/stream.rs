//! `load/stream`: how fast does each kind of resource bring in far more than any cache holds?

use super::path::table::{Kind, Path, STREAMED, Source, Value, names};
use super::path::twin::Texels;
use super::path::{declaring, texel_sequence, texels, typed};
use crate::experiments::common::axes::BEYOND_CACHES;
use crate::experiments::common::prelude::*;
use crate::model::{Contents, Limits, Resource};

pub const EXPERIMENT: Experiment = Experiment {
    variants: &NAMES,
    quick_variants: QUICK,
    base_variant: Some("ssbo_vec4"),
    axes_of: Some(axes_of),
    traffic,
    ..Experiment::of_memory("load/stream", axes, build)
};

const NAMES: [&str; STREAMED.len()] = names(STREAMED);

/// The widest of each sort of hardware, and the most usual texel of images.
const QUICK: &[&str] = &["ssbo_vec4", "texel_buffer_rgba32f", "sampled_fetch_rgba32f", "sampled_fetch_rgba8"];

const ORDERS: &[&str] = &["line", "tile"];

/// Texels of a tile along a line, and its lines, as the shader has them.
const TILE: [u64; 2] = [8, 4];

/// Bytes that are a whole number of elements of any width.
const ALL_WIDTHS: u64 = 16;

/// What an invocation may load: one result of four bytes is little beside the usual.
const INVOCATION_BYTES: &[u64] = &[16, 32, 64, 128, 256, 512, 1024];

/// Texels of floats are whole numbers up to this one. An invocation's result is at most the 64 loads of rgba32f in 1024 bytes x 10, the
/// weights of four components, x this: below 2^24, where every whole number is an exact f32. Halves and bytes, of which there are
/// more, are smaller by more.
const MAGNITUDE: u32 = 1 << 14;

/// Elements that shaders can name: the index of a texel is an `int`.
const MOST_ELEMENTS: u64 = 1 << 31;

fn axes_of(variant: &str, setting: &Setting) -> Vec<Axis> {
    let path = Path::of(STREAMED, variant);
    let mut axes = axes(setting);
    for axis in &mut axes {
        match axis.name.as_ref() {
            "order" if !is_image(path.kind) => axis.defaults.truncate(1),
            // What is near in both directions commonly lies together in an image.
            "order" if setting.preset == Preset::Quick => axis.defaults = vec![ORDERS[1].into()],
            "array_bytes" => axis.defaults = vec![array_bytes(path, setting).into()],
            _ => {}
        }
    }
    axes
}

fn axes(setting: &Setting) -> Vec<Axis> {
    vec![
        Axis::new("order", "what neighbouring lanes load of an image", AxisKind::Choices(ORDERS), ORDERS.iter().copied())
            .relative_to("line"),
        Axis::new("array_bytes", "bytes of all elements", AxisKind::AtLeast(ALL_WIDTHS), [usual_bytes(setting)])
            .multiple_of(ALL_WIDTHS)
            .of_work(),
        local_size_axis(setting),
        Axis::new("invocation_bytes", "bytes per invocation", AxisKind::Numbers(INVOCATION_BYTES), [256_u64]),
        Elements::unroll_axis("loads in flight per invocation", 16),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let path = Path::of(STREAMED, config.variant);
    let bytes = config.integer("array_bytes");
    let (elements, loads) = dealt(path, config)?;
    let image = Image::of(elements.count);
    let is_tiled = config.choice("order") == "tile";
    let tiled = is_tiled.then(|| image.with_tiles(path)).transpose()?;
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let (source, expected) = match path.value {
        Value::Words(width) => {
            let source = Sequence::Words { seed: config.seed() };
            (Resource::words("values", bytes / 4, Contents::Sequence(source)), words(elements, width, source))
        }
        Value::Texel(format) => {
            let sequence = texel_sequence(format, config.seed(), MAGNITUDE);
            let kind = texels(path.kind, format, image.extent());
            let texels = Texels { format, sequence };
            (Resource::new("texels", kind, Contents::Sequence(sequence)), sums(elements, tiled, texels))
        }
    };
    let resources = [case.output("results", expected), case.add(source)];
    let kernel = declaring(typed(config.kernel("load/stream.comp", &[]), path.value), path)
        .constant("UNROLL", Scalar::U32(loads))
        .constant("IN_FLIGHT", Scalar::U32(config.u32("unroll")))
        .constant("BY_TILES", Scalar::Bool(is_tiled));
    case.run(kernel, &resources, elements.groups, &[elements.pushed(), image.line_bits]);
    let work = Work { bytes: Some(bytes), items: Some(elements.count), ..Work::default() };
    // Its iterations, and the loads of each where a compiler doesn't unroll them.
    Ok(case.iterations(2 * u64::from(loads)).bound(beyond_caches(bytes)).build(work, Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    // Elements alone: a result is little beside those of an invocation.
    let element = case.work.bytes.zip(case.work.items).map_or(0, |(bytes, items)| bytes / items);
    let loads = case.point.integer("invocation_bytes") / element;
    let iterations = loads / case.point.integer("unroll");
    let counted = Moved { texels: element, ..Moved::READ };
    // The way of workgroups that lack elements has a load in its loop as well.
    Ok(vec![Traffic { counted, loops: vec![iterations], uncounted: element * iterations, ..Traffic::usual(case) }])
}

fn is_image(kind: Kind) -> bool {
    matches!(kind.place(), Source::Image(_))
}

fn usual_bytes(setting: &Setting) -> u64 {
    let of_processor = if setting.preset == Preset::Quick { 1 << 20 } else { 1 << 22 };
    setting.by_class(of_processor, BEYOND_CACHES)
}

/// The usual, or the largest power of two that fits into one such resource.
fn array_bytes(path: &Path, setting: &Setting) -> u64 {
    let most = most_bytes(path, &setting.device.limits).max(1);
    usual_bytes(setting).min(1 << most.ilog2())
}

/// What fits into one such resource. Of images, in extents that are powers of two.
fn most_bytes(path: &Path, limits: &Limits) -> u64 {
    let element = u64::from(path.value.bytes());
    let side = 1_u64 << limits.image_dimension.max(1).ilog2();
    let most = match path.kind.place() {
        Source::TexelBuffer(_) => product([element, limits.texel_buffer_elements.into()]),
        Source::Image(_) => product([element, side, side]),
        Source::Buffer | Source::Constants => limits.storage_buffer_range,
    };
    most.min(limits.allocation_bytes)
}

/// The elements, and how many of them an invocation loads.
fn dealt(path: &Path, config: &Config) -> Result<(Elements, u32), Skip> {
    let element = u64::from(path.value.bytes());
    let [bytes, of_invocation, local_size] =
        ["array_bytes", "invocation_bytes", "local_size_x"].map(|axis| config.integer(axis));
    let unroll = config.u32("unroll");
    let loads = u32::try_from(of_invocation / element).unwrap_or(u32::MAX);
    if loads == 0 || loads % unroll != 0 {
        let reason =
            format!("invocation_bytes={of_invocation} is {loads} loads of {element} bytes, and no multiple of unroll={unroll}");
        return Err(Skip::new(reason));
    }
    let count = bytes / element;
    if count > MOST_ELEMENTS {
        return Err(Skip::new(format!("indexes of texels end at {MOST_ELEMENTS}, the case needs {count}")));
    }
    Ok((Elements::dealt(count, local_size, loads.into(), config.most_groups())?, loads))
}

/// An image whose lines are a power of two long, as near to a square as can be.
#[derive(Clone, Copy)]
struct Image {
    /// A line has 2^this texels.
    line_bits: u32,
    lines: u64,
}

impl Image {
    fn of(count: u64) -> Self {
        let line_bits = count.trailing_zeros().min(count.max(1).next_power_of_two().ilog2().div_ceil(2));
        Self { line_bits, lines: count >> line_bits }
    }

    fn extent(self) -> [u32; 2] {
        [1 << self.line_bits, u32::try_from(self.lines).unwrap_or(u32::MAX)]
    }

    /// The same, if the elements of a path can be loaded by tiles.
    fn with_tiles(self, path: &Path) -> Result<Self, Skip> {
        let [width, height] = [1 << self.line_bits, self.lines];
        if !is_image(path.kind) {
            Err(Skip::new("order=tile: a buffer has no tiles"))
        } else if width % TILE[0] != 0 || height % TILE[1] != 0 {
            Err(Skip::new(format!("order=tile: {width} x {height} texels are no whole tiles of {} x {}", TILE[0], TILE[1])))
        } else {
            Ok(self)
        }
    }

    /// The shader's `place` by tiles: the texel that is the element at an index, counted line by line.
    fn by_tiles(self, index: u64) -> u64 {
        let [width, height] = TILE;
        let tiles = (1 << self.line_bits) / width;
        let (tile, within) = (index / (width * height), index % (width * height));
        let x = tile % tiles * width + within % width;
        let y = tile / tiles * height + within / width;
        (y << self.line_bits) + x
    }
}

/// What each invocation writes where elements are words, whose sums wrap.
fn words(elements: Elements, width: u32, source: Sequence) -> Expected {
    let weighed = move |element: u64, component: u32| {
        source.word(element * u64::from(width) + u64::from(component)).wrapping_mul(component + 1)
    };
    elements.sums(move |element| (0..width).fold(0, |sum, component| sum.wrapping_add(weighed(element, component))))
}

/// The same where they are texels, by the tiles of an image or one after the other: whole numbers, whose sums are exact.
#[expect(clippy::cast_possible_truncation, reason = "results are f32")]
fn sums(elements: Elements, tiled: Option<Image>, texels: Texels) -> Expected {
    let of_texel = move |texel: u64| {
        (0..texels.format.channels()).map(|component| f64::from(component + 1) * texels.at(texel, component)).sum::<f64>()
    };
    let texel = move |element| tiled.map_or(element, |image| image.by_tiles(element));
    let sum = move |i| elements.of(i).fold(0.0, |sum, element| sum + of_texel(texel(element))) as f32;
    Expected::floats(elements.invocations(), sum)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::experiments::common::rows::device;
    use crate::experiments::common::testing::{asked, case, quick, reason};
    use crate::model::{DeviceInfo, DeviceKind};

    fn gpu(image_dimension: u32, texel_buffer_elements: u32) -> DeviceInfo {
        let mut device = device(DeviceKind::Discrete);
        (device.limits.image_dimension, device.limits.texel_buffer_elements) = (image_dimension, texel_buffer_elements);
        device
    }

    #[test]
    fn arrays_are_as_large_as_their_resource_may_be() {
        let device = gpu(20_000, (1 << 27) + 5);
        for (variant, mebibytes) in [
            ("ssbo_scalar", 1024_u64),
            ("texel_buffer_r8", 128),
            ("texel_buffer_rgba16f", 1024),
            ("storage_texel_buffer_rg8", 256),
            ("sampled_fetch_r8", 256),
            ("storage_image_r16f", 512),
            ("sampled_fetch_rgba32f", 1024),
        ] {
            let axes = EXPERIMENT.axes_of(variant, &asked(&device, Preset::Default));
            let axis = axes.into_iter().find(|axis| axis.name == "array_bytes").unwrap();
            assert_eq!(axis.defaults, [(mebibytes << 20).into()], "{variant}");
        }
    }

    /// By default, cases run on whatever device: sizes are powers of two.
    #[test]
    fn the_defaults_fit() {
        for device in [gpu(16_384, 1 << 27), gpu(4096, 1 << 16), device(DeviceKind::Cpu)] {
            let setting = asked(&device, Preset::Default);
            for variant in NAMES {
                let mut points = vec![String::new()];
                for axis in &EXPERIMENT.axes_of(variant, &setting) {
                    let with = |told| axis.defaults.iter().map(move |value| format!("{told} {}={value}", axis.name));
                    points = points.iter().flat_map(with).collect();
                }
                for told in points {
                    assert_eq!(reason(&EXPERIMENT, variant, setting, &told), "", "{variant}{told}");
                }
            }
        }
    }

    #[test]
    fn images_have_lines_of_a_power_of_two() {
        let extents = [1, 2, 1 << 20, 1 << 21, 1000, 12 << 10, 1 << 30].map(|count| Image::of(count).extent());
        assert_eq!(extents, [[1, 1], [2, 1], [1024, 1024], [2048, 1024], [8, 125], [128, 96], [32_768, 32_768]]);
    }

    #[test]
    fn tiles_are_every_texel_once() {
        let image = Image::of(64 * 24);
        let [width, lines] = image.extent().map(u64::from);
        let texels: Vec<u64> = (0..width * lines).map(|element| image.by_tiles(element)).collect();
        assert_eq!(texels.iter().collect::<HashSet<_>>().len(), texels.len());
        assert!(texels.iter().all(|texel| *texel < width * lines));
        assert_eq!(texels[..9], [0, 1, 2, 3, 4, 5, 6, 7, width]);
        assert_eq!(texels[31..33], [3 * width + 7, 8]);
    }

    #[test]
    fn bytes_are_those_of_the_elements() {
        for (variant, items) in [("ssbo_vec4", 1 << 16), ("texel_buffer_rg8", 1 << 19), ("sampled_fetch_r8", 1 << 20)] {
            let work = case(&EXPERIMENT, variant, quick(&DeviceInfo::mock()), "array_bytes=1048576 order=line").unwrap().work;
            assert_eq!((work.bytes, work.items), (Some(1 << 20), Some(items)), "{variant}");
        }
    }

    #[test]
    fn what_does_not_fit_is_told() {
        for (variant, told, why) in [
            ("ssbo_vec4", "order=tile", "order=tile: a buffer has no tiles"),
            (
                "ssbo_vec4",
                "order=line invocation_bytes=256 unroll=32",
                "invocation_bytes=256 is 16 loads of 16 bytes, and no multiple of unroll=32",
            ),
            (
                "sampled_fetch_rgba8",
                "order=tile array_bytes=16 local_size_x=1 invocation_bytes=16 unroll=1",
                "order=tile: 2 x 2 texels are no whole tiles of 8 x 4",
            ),
            (
                "sampled_fetch_r8",
                "order=line array_bytes=4294967296",
                "indexes of texels end at 2147483648, the case needs 4294967296",
            ),
        ] {
            assert_eq!(reason(&EXPERIMENT, variant, quick(&DeviceInfo::mock()), told), why);
        }
    }

    /// Sums are exact as long as they stay below 2^24, whichever part of them comes first.
    #[test]
    fn sums_of_texels_are_exact() {
        for path in STREAMED {
            let Value::Texel(format) = path.value else { continue };
            let Some(most) = INVOCATION_BYTES.iter().max() else { continue };
            let largest = match texel_sequence(format, 1, MAGNITUDE) {
                Sequence::WholeFloats { magnitude, .. } | Sequence::WholeHalves { magnitude, .. } => u64::from(magnitude),
                _ => 255,
            };
            let weights: u64 = (1..=u64::from(format.channels())).sum();
            assert!(most / u64::from(format.bytes()) * weights * largest < 1 << 24, "{}", path.name);
        }
    }
}
