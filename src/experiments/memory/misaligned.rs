//! `memory/misaligned`: what does it cost to read from a place that is off the beginning of a line?

use crate::experiments::{Built, CaseBuilder, Config, Elements, Experiment, Setting, local_size_axis};
use crate::model::{Axis, AxisKind, Bound, Feature, Headline, Kernel, Preset, Repeatability, Scalar, Sequence, Skip, Work};
use crate::validate::Expected;

pub const EXPERIMENT: Experiment = Experiment {
    variants: &["words", "bytes"],
    peak_kind: Some("global"),
    repeatability: |_| Repeatability::Memory,
    ..Experiment::new("memory/misaligned", axes, build)
};

/// Words from which no cache of today holds a part that matters: 1 GiB.
const BEYOND_CACHES: u64 = 1 << 28;

/// Every offset up to this one is in the sweep, 64 bytes of words.
const EACH_TO: u64 = 16;
/// Offsets that lie as 0 does, as far as lines of 128 bytes matter: of words both, of bytes the second one.
const ALIGNED: [u64; 2] = [32, 128];

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    // 512 MiB on a GPU: ten times the last cache of a large one of today.
    let n = if quick { setting.by_class(1_u64 << 18, 1 << 26) } else { setting.by_class(1_u64 << 20, 1 << 27) };
    let offsets: Vec<u64> = if quick { vec![0, 1] } else { (0..=EACH_TO).chain(ALIGNED).collect() };
    let widths: &[u64] = if setting.preset == Preset::Thorough { &[1, 2, 4] } else { &[4] };
    let unroll = setting.by_class(8_u64, 16);
    vec![
        Axis::new("width", "units per element", AxisKind::Numbers(&[1, 2, 4]), widths.iter().copied()),
        Axis::new("offset", "units before the first that is read", AxisKind::AtLeast(0), offsets).relative_to(0_u64),
        Axis::new("n", "words of memory", AxisKind::AtLeast(1), [n]).of_work(),
        local_size_axis(setting),
        Elements::unroll_axis("elements per invocation", unroll),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let [n, width, offset] = ["n", "width", "offset"].map(|axis| config.integer(axis));
    let is_bytes = config.variant == "bytes";
    config.require(if is_bytes { &[Feature::Storage8] } else { &[] })?;
    let units = if is_bytes { n * 4 } else { n };
    if units % width != 0 {
        return Err(Skip::new(format!("n={n} words end within an element: the case needs a multiple of {width} units")));
    }
    let elements = Elements::new(units / width, config)?;
    let (sums, data) = (elements.invocations(), Sequence::Words { seed: config.seed() });
    let unit = move |i: u64| if is_bytes { (data.word(i / 4) >> (8 * (i % 4))) & 0xFF } else { data.word(i) };
    let sum = move |invocation| {
        let places = elements.of(invocation).flat_map(|i| (0..width).map(move |component| i * width + component + offset));
        places.map(unit).fold(0, u32::wrapping_add)
    };
    // As long for all offsets of the sweep, which so share it; enough for the unit that counts in words.
    let words = n + offset.max(ALIGNED[1]);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [case.output("sums", Expected::words(sums, sum)), case.input("data", words, data)];
    let kernel = Kernel::new("memory/misaligned.comp", config.workgroup())
        .constant("OFFSET", Scalar::U32(config.u32("offset")))
        .constant("WIDTH", Scalar::U32(config.u32("width")))
        .constant("UNROLL", Scalar::U32(config.u32("unroll")));
    let kernel = if is_bytes { kernel.define("BYTES", "") } else { kernel };
    case.run(kernel, &resources, elements.groups, &[u32::try_from(elements.count).unwrap_or(u32::MAX)]);
    let work = Work { bytes: Some((n + sums) * 4), items: Some(elements.count), ..Work::default() };
    Ok(case.bound((n >= BEYOND_CACHES).then_some(Bound::Memory)).build(work, Headline::BANDWIDTH))
}
