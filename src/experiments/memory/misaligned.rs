//! `memory/misaligned`: what does it cost to read from a place that is off the beginning of a line?

use crate::experiments::{Elements, Experiment, Setting};
use crate::model::{
    Axis, AxisKind, Bound, Case, Contents, Feature, Headline, Kernel, Point, Preset, Resource, Scalar, Sequence, Skip, Work,
};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Misaligned;

/// Words from which no cache of today holds a part that matters: 1 GiB.
const BEYOND_CACHES: u64 = 1 << 28;

/// The largest offset of the sweep: one that ends where it began on most devices, 64 bytes of words.
const LARGEST: u64 = 16;

struct Misaligned;

impl Experiment for Misaligned {
    fn name(&self) -> &'static str {
        "memory/misaligned"
    }

    fn summary(&self) -> &'static str {
        "reading in order from some words, or bytes, off a line's beginning"
    }

    fn description(&self) -> &'static str {
        "n words are read in order, not from the beginning of their buffer but from `offset` units on; the buffer is longer by \
         as much. A unit is a 4-byte word, or in the variant `bytes` a byte. Neighbouring lanes read neighbouring elements of \
         `width` units each, unit by unit: four words of a vector that begins anywhere, or with `bytes` the four bytes of an \
         unaligned word. Every offset has the same reads of the same bytes but for the ends. Each invocation handles `unroll` \
         elements, which lie a workgroup apart, and writes one sum.\n\
         \n\
         How to read it: bytes are useful bytes, with the sums; `relative` compares with offset 0, where elements begin where \
         the buffer does, on a line. Two things can cost. Of a line that lanes share at its ends, both neighbours fetch their \
         part: 32 lanes that read a word each touch five sectors of 32 bytes instead of four, or two lines of 128 bytes \
         instead of one, at every offset but multiples of 8, or of 32. The memory itself sees nothing of it where a cache \
         keeps what the neighbour needs next. And where `width` is 4 the driver's compiler may read the four units of an \
         element at once, if it knows that the element is aligned: the offset is a constant, so that it does know. Then \
         offsets that are multiples of 4 are the fast ones, those of 2 come next, and all others pay for four reads instead of \
         one. A flat figure says that the device takes unaligned accesses as they come, or that its memory is the limit either \
         way. On processors, sizes are small enough to stay in cache, and lanes are gathered at any offset.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04), 512 MiB: words at any offset read 2 % slower than at 0 (2962 GB/s), bytes \
         3 % slower (2070 GB/s), the same at all offsets: the cache hides what neighbours share."
    }

    fn variants(&self) -> &[&str] {
        &["words", "bytes"]
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let quick = setting.preset == Preset::Quick;
        // 512 MiB on a GPU: ten times the last cache of a large one of today.
        let n = if quick { setting.by_class(1_u64 << 18, 1 << 26) } else { setting.by_class(1_u64 << 20, 1 << 27) };
        let offsets: Vec<u64> = if quick { vec![0, 1] } else { (0..=LARGEST).collect() };
        let widths: &[u64] = if setting.preset == Preset::Thorough { &[1, 2, 4] } else { &[4] };
        let unroll = setting.by_class(8_u64, 16);
        vec![
            Axis::new("width", "units per element", AxisKind::Numbers(&[1, 2, 4]), widths.iter().copied()),
            Axis::new("offset", "units before the first that is read", AxisKind::AtLeast(0), offsets).relative_to(0_u64),
            Axis::new("n", "words of memory", AxisKind::AtLeast(1), [n]).of_work(),
            Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), [256_u64]),
            Elements::unroll_axis("elements per invocation", unroll),
        ]
    }

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let [n, width, offset] = ["n", "width", "offset"].map(|axis| point.integer(axis));
        let is_bytes = variant == "bytes";
        if is_bytes && !setting.device.has(Feature::Storage8) {
            return Err(Skip::new("storageBuffer8BitAccess is missing: the case needs it"));
        }
        if units(variant, n) % width != 0 {
            return Err(Skip::new(format!("n={n} words end within an element: the case needs a multiple of {width} units")));
        }
        let elements = Elements::new(units(variant, n) / width, point, setting.device.limits.workgroup_count[0])?;
        let sums = elements.invocations();
        let kernel = Kernel::new("memory/misaligned.comp", [point.u32("local_size_x"), 1, 1], 2)
            .constant("OFFSET", Scalar::U32(point.u32("offset")))
            .constant("WIDTH", Scalar::U32(point.u32("width")))
            .constant("UNROLL", Scalar::U32(point.u32("unroll")));
        let kernel = if is_bytes { kernel.define("BYTES", "") } else { kernel };
        // As long for all offsets of the sweep, which so share it; enough for the unit that counts in words.
        let words = n.saturating_add(offset.max(LARGEST));
        let resources = vec![
            Resource::words("sums", sums, Contents::Undefined),
            Resource::words("data", words, Contents::Sequence(Sequence::Words { seed: setting.seed })),
        ];
        let push = [u32::try_from(elements.count).unwrap_or(u32::MAX)];
        let case = Case::single_dispatch(self.name(), point, kernel, elements.groups, &push, resources, vec![0]);
        let bytes = n.checked_add(sums).and_then(|words| words.checked_mul(4));
        let work = Work { bytes, items: Some(elements.count), ..Work::default() };
        let bound = (n >= BEYOND_CACHES).then_some(Bound::Memory);
        Ok(Case { variant: variant.to_owned(), work, headline: Headline::BANDWIDTH, bound, ..case })
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let [n, width, offset] = ["n", "width", "offset"].map(|axis| case.point.integer(axis));
        let elements = Elements::of_case(units(&case.variant, n) / width, case);
        let data = case.resources[1].sequence();
        let is_bytes = case.variant == "bytes";
        let unit = move |i: u64| if is_bytes { (data.word(i / 4) >> (8 * (i % 4))) & 0xFF } else { data.word(i) };
        let sum = move |invocation| {
            let places = elements.of(invocation).flat_map(|i| (0..width).map(move |component| i * width + component + offset));
            places.map(unit).fold(0, u32::wrapping_add)
        };
        vec![Expected::words(elements.invocations(), sum)]
    }
}

/// The units in so many words.
fn units(variant: &str, words: u64) -> u64 {
    if variant == "bytes" { words.saturating_mul(4) } else { words }
}
