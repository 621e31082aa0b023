//! `memory/misaligned`: what does it cost to read from a place that is off the beginning of a line?

use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment =
    Experiment { variants: &["words", "bytes"], ..Experiment::of_memory("memory/misaligned", axes, build) };

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
    vec![
        Axis::new("width", "units per element", AxisKind::Numbers(&[1, 2, 4]), widths.iter().copied()),
        Axis::new("offset", "units before the first that is read", AxisKind::AtLeast(0), offsets).relative_to(0_u64),
        Axis::new("n", "words of memory", AxisKind::AtLeast(1), [n]).of_work(),
        local_size_axis(setting),
        Elements::unroll_axis("elements per invocation", setting.by_class(8, 16)),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [n, width, offset] = ["n", "width", "offset"].map(|axis| config.integer(axis));
    let is_bytes = config.variant == "bytes";
    config.require(if is_bytes { &[Feature::Storage8] } else { &[] })?;
    let units = if is_bytes { n * 4 } else { n };
    if units % width != 0 {
        return Err(Skip::new(format!("n={n} words end within an element: the case needs a multiple of {width} units")));
    }
    let elements = Elements::new(units / width, config)?;
    let data = Sequence::Words { seed: config.seed() };
    let unit = move |i: u64| if is_bytes { (data.word(i / 4) >> (8 * (i % 4))) & 0xFF } else { data.word(i) };
    let element = move |i| (0..width).map(|component| unit(i * width + component + offset)).fold(0, u32::wrapping_add);
    // As long for all offsets of the sweep, which so share it; enough for the unit that counts in words.
    let words = n + offset.max(ALIGNED[1]);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [case.output("sums", elements.sums(element)), case.input("data", words, data)];
    let kernel = config.kernel("memory/misaligned.comp", &["offset", "width", "unroll"]);
    let kernel = if is_bytes { kernel.define("BYTES", "") } else { kernel };
    case.run(kernel, &resources, elements.groups, &[elements.pushed()]);
    let work = Work { bytes: Some((n + elements.invocations()) * 4), items: Some(elements.count), ..Work::default() };
    Ok(case.bound(beyond_caches(n * 4)).build(work, Headline::BANDWIDTH))
}
