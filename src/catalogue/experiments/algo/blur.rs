//! `algo/blur`: how fast can a picture be blurred, and from which radius on do tiles in workgroup memory pay?

mod filter;
mod overtaking;
mod twin;

use crate::experiments::common::prelude::*;
use crate::model::{Contents, Dimension, Format, ImageRole, Metric, Resource, ResourceKind, Sampling, Texels};
use filter::Filter;
use overtaking::TILING;
use twin::Blurred;

pub const EXPERIMENT: Experiment = Experiment {
    variants: Rung::WORDS,
    quick_variants: &[Rung::Naive.word(), Rung::SeparableTiled.word()],
    derived: &[Ladder::NAME, TILING],
    derive: |rows| overtaking::derive(rows, LADDER.choices),
    repeatability: |_| Repeatability::Memory,
    axes_of: Some(axes_of),
    traffic,
    ..Experiment::of_ladder(LADDER, axes, build)
};

choices! {
    enum Rung {
        Naive = "naive",
        Tiled = "tiled",
        Separable = "separable",
        Filtered = "filtered",
        SeparableTiled = "separable_tiled",
        Running = "running",
    }
}

impl Rung {
    /// Whether an invocation makes as many pixels as the axis says; else it makes one, or a segment.
    fn has_items(self) -> bool {
        matches!(self, Self::Tiled | Self::Separable | Self::SeparableTiled)
    }

    /// Whether something is left between two passes.
    fn is_in_passes(self) -> bool {
        matches!(self, Self::Separable | Self::Filtered | Self::Running)
    }
}

const LADDER: Ladder = Ladder {
    experiment: "algo/blur",
    first: Rung::Naive.word(),
    choices: &["local_size_x", "local_size_y", "items", "segment"],
};

const FILTERS: &[&str] = &["gaussian", "box"];

/// Variants that box filters are measured with by default: what others are compared with, and what such filters are about.
const OF_BOXES: &[Rung] = &[Rung::Naive, Rung::Tiled, Rung::Separable, Rung::Running];

/// The largest radius that the kernels have weights for.
const MOST_RADIUS: u64 = 64;

/// A larger picture would keep the twin busy for minutes, and fill its memory.
const MOST_SIZE: u64 = 1 << 13;

/// Steps of a running sum whose pixels are loaded together, as the shader has them.
const STEPS: u64 = 4;

/// Bytes of a pixel of the picture, and of one between two passes.
const PIXEL: u64 = 4;
const BETWEEN: u64 = 8;

/// Pixels over time, in 10^9 per second; they are the items. Bytes are others in variants that leave something between two passes.
const RATE: Headline = Headline { metric: Metric::Items, name: "pixels", unit: "Gpixels/s", better: "higher" };

fn axes(setting: &Setting) -> Vec<Axis> {
    let [widths, heights]: [Vec<u64>; 2] = match setting.preset {
        Preset::Quick => setting.by_class([vec![8], vec![4]], [vec![8], vec![(usual_size(setting).min(128) / 8).max(1)]]),
        Preset::Default => setting.by_class([vec![8, 16], vec![4, 8]], [vec![8, 16, 32], vec![8, 16]]),
        Preset::Thorough => [vec![1, 2, 4, 8, 16, 32, 64], vec![1, 2, 4, 8, 16, 32]],
    };
    let items: Vec<u64> = match setting.preset {
        Preset::Quick => vec![4],
        Preset::Default => setting.by_class(vec![4], vec![4, 8]),
        Preset::Thorough => vec![1, 2, 4, 8, 16],
    };
    let segments: Vec<u64> = match setting.preset {
        Preset::Thorough => vec![16, 32, 64, 128, 256],
        Preset::Quick | Preset::Default => setting.by_class(vec![32], vec![64]),
    };
    // With 0 a variant only copies, in its own way.
    let radii: Vec<u64> = match setting.preset {
        Preset::Quick => vec![setting.by_class(2, 8)],
        Preset::Default => setting.by_class(vec![1, 4], vec![1, 2, 4, 8, 16]),
        Preset::Thorough => vec![0, 1, 2, 4, 8, 16, 32],
    };
    let filters = setting.quick_or(&FILTERS[..1], FILTERS).iter().copied();
    let sizes = setting.quick_or(vec![setting.by_class(32_u64, 4096)], setting.by_class(vec![64, 45], vec![4096, 1001]));
    vec![
        Axis::new("local_size_x", "width of a workgroup", AxisKind::AtLeast(1), widths),
        Axis::new("local_size_y", "height of a workgroup", AxisKind::AtLeast(1), heights),
        Axis::new("items", "pixels of an invocation", AxisKind::Numbers(&[1, 2, 4, 8, 16]), items),
        Axis::new("segment", "pixels that a running sum goes over", AxisKind::AtLeast(STEPS), segments)
            .multiple_of(STEPS)
            .up_to(MOST_SIZE),
        Axis::new("radius", "pixels to either side that count", AxisKind::AtLeast(0), radii).up_to(MOST_RADIUS),
        Axis::new("filter", "how pixels around one are weighted", AxisKind::Choices(FILTERS), filters),
        Axis::new("image_size", "width and height of the picture, pixels", AxisKind::AtLeast(1), sizes)
            .up_to(MOST_SIZE)
            .of_work(),
    ]
}

fn axes_of(variant: &str, setting: &Setting) -> Vec<Axis> {
    let (mut axes, rung) = (axes(setting), Rung::of(variant));
    let is_wide_by_default = rung == Rung::Separable && setting.preset == Preset::Default && !setting.device.is_cpu();
    for axis in &mut axes {
        match axis.name.as_ref() {
            "items" if !rung.has_items() => axis.defaults = vec![1_u64.into()],
            // Where a workgroup has many lines, it makes long pieces of few of them.
            "items" if is_wide_by_default => axis.defaults = vec![8_u64.into(), 16_u64.into()],
            "local_size_y" if is_wide_by_default => axis.defaults = vec![2_u64.into(), 8_u64.into()],
            "segment" if rung != Rung::Running => axis.defaults.truncate(1),
            "filter" if rung == Rung::Running => axis.defaults = vec![FILTERS[1].into()],
            "filter" if setting.preset != Preset::Thorough && !OF_BOXES.contains(&rung) => axis.defaults.truncate(1),
            _ => {}
        }
    }
    axes
}

fn build(config: &Config) -> Result<Built, Skip> {
    let size = config.u32("image_size");
    let pixels = u64::from(size).pow(2);
    let filter = Filter::new(config.choice("filter") == "box", config.u32("radius"));
    let rung = Rung::of(config.variant);
    if rung == Rung::Running && config.choice("filter") != "box" {
        return Err(Skip::new("filter=gaussian: the case needs weights that are all the same, as filter=box has them"));
    }
    let source = Sequence::Picture { seed: config.seed(), width: size };
    let error = filter.error(rung, config.integer("segment"));
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let weights = case.add(filter.resource());
    let picture = Resource::new("source", image(Format::Rgba8Unorm, size, ImageRole::Sampled), Contents::Sequence(source));
    let picture = case.add(picture);
    let nearest = {
        let filter = filter.clone();
        Expected::words_from(pixels, move || {
            let blurred = Blurred::of(source, size, &filter);
            move |at| blurred.nearest(at)
        })
    };
    let target = Resource::new("target", image(Format::Rgba8Unorm, size, ImageRole::Storage), Contents::Undefined);
    let target = case.output_image(target, nearest);
    case.shows(target, [size, size], Texels::Rgba8);
    let bytes = if rung.is_in_passes() {
        in_passes(&mut case, config, [weights, picture, target]);
        2 * (PIXEL + BETWEEN)
    } else {
        let [across, down] = tile(config);
        case.run(kernel(config), &[weights, picture, target], [size.div_ceil(across), size.div_ceil(down), 1], &[size]);
        2 * PIXEL
    };
    let taps = filter.taps();
    let iterations = taps * (taps + 1) + config.integer("segment");
    let check = move |left: &PassOutputs| Blurred::of(source, size, &filter).compare(left.of(target), error);
    let case = case.iterations(iterations).checked_by(check);
    let work = Work { bytes: Some(product([pixels, bytes])), items: Some(pixels), ..Work::default() };
    Ok(case.build(work, RATE))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    if Rung::of(&case.variant) != Rung::Naive {
        return Err("texels are fetched for a window, a halo or a sum that several pixels share");
    }
    // An iteration fetches a row.
    let side = 2 * case.point.integer("radius") + 1;
    let usual = Traffic::usual(case);
    let counted = Moved { texels: 1, ..Moved::NONE };
    Ok(vec![Traffic { counted, loops: vec![side], total: usual.invocations * side * side, ..usual }])
}

/// Pixels that an invocation makes, along a column or a line.
fn items(config: &Config) -> u32 {
    match Rung::of(config.variant) {
        Rung::Running => config.u32("segment"),
        Rung::Tiled | Rung::Separable | Rung::SeparableTiled => config.u32("items"),
        Rung::Naive | Rung::Filtered => 1,
    }
}

/// Pixels of a workgroup, across its columns or lines and along them.
fn tile(config: &Config) -> [u32; 2] {
    [config.u32("local_size_x"), config.u32("local_size_y").saturating_mul(items(config))]
}

fn kernel(config: &Config) -> Kernel {
    let source = match Rung::of(config.variant) {
        Rung::Naive => "algo/blur_naive.comp",
        Rung::Tiled => "algo/blur_tiled.comp",
        Rung::Separable => "algo/blur_separable.comp",
        Rung::Filtered => "algo/blur_filtered.comp",
        Rung::SeparableTiled => "algo/blur_separable_tiled.comp",
        Rung::Running => "algo/blur_running.comp",
    };
    let signed = |count: u32| Scalar::I32(i32::try_from(count).unwrap_or(i32::MAX));
    Kernel::new(source, [config.u32("local_size_x"), config.u32("local_size_y"), 1])
        .constant("RADIUS", signed(config.u32("radius")))
        .constant("ITEMS", signed(items(config)))
}

/// A pass that blurs along rows, and one that blurs along columns what the first one left. In both, a workgroup has as many lines as it is
/// wide.
fn in_passes(case: &mut CaseBuilder, config: &Config, [weights, picture, target]: [Handle; 3]) {
    let size = config.u32("image_size");
    let between = image(Format::Rgba16Float, size, ImageRole::StorageAndSampled);
    let between = case.add(Resource::new("between", between, Contents::Undefined));
    let linear = (Rung::of(config.variant) == Rung::Filtered).then(|| {
        let sampling = Sampling { is_linear: true, ..Sampling::default() };
        case.add(Resource::new("linear", ResourceKind::Sampler(sampling), Contents::Undefined))
    });
    let with = |resources: [Handle; 3]| resources.into_iter().chain(linear).collect::<Vec<_>>();
    let [across, along] = tile(config);
    let groups = [size.div_ceil(across), size.div_ceil(along), 1];
    case.run(kernel(config).define("ROWS", ""), &with([weights, picture, between]), groups, &[size]);
    case.depend();
    case.run(kernel(config), &with([weights, between, target]), groups, &[size]);
}

fn image(format: Format, size: u32, role: ImageRole) -> ResourceKind {
    ResourceKind::Image { format, dimension: Dimension::D2, extent: [size, size, 1], role }
}
