//! `memory/residency`: up to how much memory in use is all of it read at full speed?

use std::borrow::Cow;

use crate::experiments::common::axes::BEYOND_CACHES;
use crate::experiments::common::elements::Run;
use crate::experiments::common::prelude::*;
use crate::experiments::common::sweep::{Telling, grouped};
use crate::model::{Binding, Contents, DeviceInfo, DeviceKind, Figure, NoFigure, POISON, Plot, Resource, Step};

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[SPILL],
    derive,
    repeatability: |_| Repeatability::Memory,
    plot: Some(Plot::over(SIZE)),
    traffic,
    ..Experiment::new("memory/residency", axes, build)
};

/// The axis of how much is read.
pub const SIZE: &str = "working_set_bytes";

/// Bytes of the elements that are read.
const ELEMENT: u64 = 16;
/// Elements an invocation, which writes one sum: a 256th of what it reads.
const UNROLL: u64 = 64;
/// Loads that the kernel has in flight at one time.
const IN_FLIGHT: u64 = 8;

/// Some devices allow no larger buffers; and each one's pipelines take a moment to make, so that none is smaller without need.
const MOST_BUFFER_BYTES: u64 = 2 << 30;
/// A driver that moves whole buffers could move only all of one alone.
const LEAST_BUFFERS: u64 = 4;
/// What buffers are made of, so that workgroups of the usual size have all of their elements.
const PIECE: u64 = 256 * UNROLL * ELEMENT;
/// What sizes are multiples of: a piece for each of the fewest buffers.
const SIZE_STEP: u64 = LEAST_BUFFERS * PIECE;

const SPILL: &str = "memory/spill";
const FULL_SPEED: &str = "full_speed";
const CLIFF: &str = "cliff";
const SLOWDOWN: &str = "slowdown";

/// A size is read at full speed where its bandwidth is at least this share of the best of smaller ones. A bus to the host has less than a
/// tenth of a discrete device's bandwidth: where a twentieth of the memory lies behind it, this is gone.
const FULL_PERCENT: u32 = 70;

const AT_FULL_SPEED: &str = "the largest size that was measured is read at full speed";
const NOT_SURE: &str = "it isn't sure whether the largest size that was measured is slower";

fn axes(setting: &Setting) -> Vec<Axis> {
    let sixteenths: &[u64] = match setting.preset {
        Preset::Quick => &[2, 13],
        Preset::Default => &[2, 4, 6, 8, 10, 12, 13, 14],
        Preset::Thorough => &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
    };
    // Of the heap and not of what is free of it: a device has the same cases in every run.
    let heap = setting.device.local_heap_bytes();
    let size = |sixteenths: &u64| (heap / 16 * sixteenths / SIZE_STEP).max(1) * SIZE_STEP;
    let mut sizes: Vec<u64> = sixteenths.iter().map(size).collect();
    sizes.dedup();
    let description = "memory that a pass reads, all buffers together";
    vec![Axis::new(SIZE, description, AxisKind::AtLeast(SIZE_STEP), sizes).multiple_of(SIZE_STEP), local_size_axis(setting)]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let (device, bytes) = (config.device(), config.integer(SIZE));
    check_device(device, bytes)?;
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let (mut writes, mut reads, mut written) = (Vec::new(), Vec::new(), 0);
    for (place, count) in (0..).zip(buffers(bytes, device)) {
        let elements = Elements::dealt(count, config.integer("local_size_x"), UNROLL, config.most_groups())?;
        let words = Words::of_buffer(config.seed(), place);
        let expected = Expected::words(elements.invocations(), move |invocation| words.sum(&elements, invocation));
        written += expected.elements() * 4;
        let memory = case.add(resource("memory", place, count * ELEMENT / 4));
        // Beside what the outputs are filled with: what is not written over shows.
        case.reset_step(Step::Fill { resource: memory.index(), word: POISON });
        let sums = case.output_in(resource("sums", place, expected.elements()), POISON, expected);
        let kernel = || config.kernel("memory/residency.comp", &[]).constant("UNROLL", number(UNROLL));
        writes.push((case.kernel(kernel().define("WRITE", ""), &[memory]), elements, words));
        reads.push((case.kernel(kernel(), &[sums, memory]), elements));
    }
    // Pages that nobody has written may be nowhere, and are then read faster than any memory.
    case.reset(|case| {
        for (kernel, elements, Words { factor, first }) in writes {
            case.dispatch(kernel, elements.groups, &[elements.pushed(), factor, first]);
        }
    });
    for (kernel, elements) in reads {
        case.dispatch(kernel, elements.groups, &[elements.pushed()]);
    }
    let work = Work { bytes: Some(bytes + written), ..Work::default() };
    Ok(case.alone().bound(beyond_caches(bytes)).build(work, Headline::BANDWIDTH))
}

/// Skipped: its memory has nowhere to spill to, its driver doesn't say how much is free, or it has less than is asked for.
fn check_device(device: &DeviceInfo, bytes: u64) -> Result<(), Skip> {
    if device.kind != DeviceKind::Discrete {
        let needed = "a discrete one, whose memory can run out while the host has more";
        return Err(Skip::new(format!("the device is of the kind {}, the case needs {needed}", device.kind)));
    }
    let heap = device.local_heap().ok_or_else(|| Skip::new("the device has no memory"))?;
    if heap.budget.is_none() {
        return Err(Skip::new(
            "VK_EXT_memory_budget is missing, or states no budget: the case needs to know how much memory is free",
        ));
    }
    // Before so many buffers are thought of.
    if bytes > heap.bytes {
        return Err(Skip::new(format!("the largest memory heap (bytes) is {}, the case needs {bytes}", heap.bytes)));
    }
    Ok(())
}

/// How many elements each of the buffers has: as many, or a piece more.
fn buffers(bytes: u64, device: &DeviceInfo) -> impl Iterator<Item = u64> + use<> {
    let limits = &device.limits;
    // A limit that is less than any device may have is left for the plan to refuse.
    let most = MOST_BUFFER_BYTES.min(limits.storage_buffer_range).min(limits.allocation_bytes).max(PIECE) / PIECE;
    let pieces = bytes / PIECE;
    let count = pieces.div_ceil(most).max(LEAST_BUFFERS);
    (0..count).map(move |place| (pieces / count + u64::from(place < pieces % count)) * (PIECE / ELEMENT))
}

fn resource(name: &str, place: u64, words: u64) -> Resource {
    let resource = Resource::words("", words, Contents::Undefined);
    Resource { name: Cow::Owned(format!("{name} {}", place + 1)), ..resource }
}

/// What a buffer holds: word `i` is `first + i * factor`.
#[derive(Clone, Copy, Debug)]
struct Words {
    factor: u32,
    first: u32,
}

impl Words {
    /// Those of each buffer begin elsewhere.
    fn of_buffer(seed: u64, place: u64) -> Self {
        let random = Sequence::Words { seed };
        // One that is odd and large changes half of the bits from word to word.
        Self { factor: random.word(0) | 0x8000_0001, first: random.word(1 + place) }
    }

    /// What an invocation's elements sum up to: of a hundred gigabytes, no processor adds each.
    fn sum(self, elements: &Elements, invocation: u64) -> u32 {
        let Run { first, count, step } = elements.run(invocation);
        // Indexes of elements, summed up; each has its four words from four times its index on.
        let indexes = count * first + step * (count * count.saturating_sub(1) / 2);
        let places = 16 * indexes + 6 * count;
        narrowed(4 * count).wrapping_mul(self.first).wrapping_add(narrowed(places).wrapping_mul(self.factor))
    }
}

/// As words of 32 bits count: what is beyond is lost.
#[expect(clippy::cast_possible_truncation, reason = "sums wrap around")]
fn narrowed(n: u64) -> u32 {
    n as u32
}

/// Each buffer has two kernels: one that writes it, and one that reads it.
fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let bytes = |binding: &Binding| case.resources[binding.resource].bytes();
    let of_kernel = |(kernel, Kernel { bindings, .. }): (usize, &Kernel)| {
        let is_read = bindings.len() > 1;
        // The kernel that reads a buffer comes after the one that writes it, and binds its sums first.
        let sums = if is_read { bytes(&bindings[0]) } else { bytes(&case.kernels[kernel + 1].bindings[0]) };
        Traffic {
            kernel,
            counted: if is_read { Moved::READ_AND_WRITTEN } else { Moved { written: 1, ..Moved::NONE } },
            uncounted: 0,
            loops: vec![if is_read { UNROLL / IN_FLIGHT } else { UNROLL }],
            invocations: sums / 4,
            total: bindings.iter().map(bytes).sum(),
        }
    };
    Ok(case.kernels.iter().enumerate().map(of_kernel).collect())
}

/// The bandwidth of one size, with the ends of its interval.
#[derive(Clone, Copy, Debug)]
struct Read {
    bytes: u64,
    rate: f64,
    low: f64,
    high: f64,
}

impl Read {
    fn of(row: &Finished) -> Self {
        let (low, high) = row.rate_ends(row.value * row.time);
        Self { bytes: row.point.integer(SIZE), rate: row.value, low, high }
    }

    fn is_full(&self, best: &Self) -> bool {
        self.rate >= best.rate * f64::from(FULL_PERCENT) / 100.0
    }

    fn told(&self) -> String {
        format!("{:.3} GB/s at {SIZE}={}", self.rate, self.bytes)
    }
}

fn derive(rows: &[Finished]) -> Vec<Derived> {
    grouped(rows, &[SIZE]).iter().flat_map(|(point, rows)| spill(point, rows)).collect()
}

/// The fastest.
fn best(reads: &[Read]) -> Option<Read> {
    reads.iter().copied().max_by(|a, b| a.rate.total_cmp(&b.rate))
}

/// The first size that is slower for sure than the best of all smaller ones, as all larger ones are; and that best.
fn cliff(reads: &[Read]) -> Option<(usize, Read)> {
    let falls_from = |read: &Read, best: &Read| !read.is_full(best) && read.high < best.low;
    let place = |place: usize| {
        let best = best(&reads[..place])?;
        reads[place..].iter().all(|read| falls_from(read, &best)).then_some((place, best))
    };
    (1..reads.len()).find_map(place)
}

#[expect(clippy::cast_precision_loss, reason = "no device has 2^53 bytes")]
fn spill(point: &Point, rows: &[&Finished]) -> Vec<Derived> {
    const FULL: [&str; 3] = ["reach", "B", "higher"];
    let all = rows.iter().map(|row| Read::of(row));
    // Below lies the cliff at the end of the last cache.
    let mut reads: Vec<Read> = all.filter(|read| read.bytes >= BEYOND_CACHES).collect();
    reads.sort_by_key(|read| read.bytes);
    reads.dedup_by_key(|read| read.bytes);
    let telling = |note| Telling { experiment: SPILL, point, note };
    let figure = |value, interval| Ok(Figure { value, interval });
    let (Some(last), Some(fastest)) = (reads.last().filter(|_| reads.len() > 1), best(&reads)) else {
        let reason = format!("no cliff to be told: {} sizes beyond caches were measured, 2 are needed", reads.len());
        return vec![telling("").row(FULL_SPEED, FULL, Err(NoFigure::TooFew(reason)))];
    };
    let Some((place, best)) = cliff(&reads) else {
        let is_full = last.is_full(&fastest);
        let reason = if is_full { AT_FULL_SPEED } else { NOT_SURE };
        let unseen = Err(NoFigure::Unseen(format!("no cliff seen: {reason}: {}, at best {}", last.told(), fastest.told())));
        let full = if is_full { figure(last.bytes as f64, None) } else { unseen.clone() };
        let note = format!("the largest size that was measured: {}, at best {}", last.told(), fastest.told());
        return vec![telling(&note).row(FULL_SPEED, FULL, full), telling("").row(CLIFF, ["size", "B", "higher"], unseen)];
    };
    let (before, at) = (reads[place - 1], reads[place]);
    let note = format!("{}, {}; {}, the largest size", best.told(), at.told(), last.told());
    let telling = telling(&note);
    let between = Some((before.bytes as f64, at.bytes as f64));
    let slowdown = figure(best.rate / at.rate, Some((best.low / at.high, best.high / at.low)));
    vec![
        telling.row(FULL_SPEED, FULL, figure(before.bytes as f64, None)),
        telling.row(CLIFF, ["size", "B", "higher"], figure(at.bytes as f64, between)),
        telling.row(SLOWDOWN, ["slowdown", "x", "lower"], slowdown),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::rows::{device, untold};
    use crate::experiments::common::testing::{asked, built, case, point, quick, reason};
    use crate::model::{AxisValue, Budget, Heap};

    const GIB: u64 = 1 << 30;

    #[test]
    fn a_sum_is_that_of_all_words() {
        let words = Words::of_buffer(7, 3);
        let word = |i: u64| words.first.wrapping_add(words.factor.wrapping_mul(narrowed(i)));
        for (count, local_size, unroll) in [(16_384, 256, 64), (10_000, 48, 64), (5, 32, 8), (64, 1, 64)] {
            let elements = Elements::dealt(count, local_size, unroll, 65_535).unwrap();
            for invocation in 0..elements.invocations() {
                let all = elements.of(invocation).flat_map(|element| (0..4).map(move |i| word(4 * element + i)));
                let sum = all.fold(0, u32::wrapping_add);
                assert_eq!(words.sum(&elements, invocation), sum, "{invocation} of {count} by {local_size}");
            }
        }
    }

    /// Of nine tenths of a heap, all is read, by buffers that the device can bind and allocate.
    #[test]
    fn buffers_hold_all_and_none_is_too_large() {
        let mut gpu = device(DeviceKind::Discrete);
        gpu.heaps[0] = Heap { bytes: 80 * GIB, budget: Some(Budget::whole(80 * GIB)), ..gpu.heaps[0] };
        for most in [2 * GIB, GIB, (1 << 27) - 1] {
            gpu.limits.storage_buffer_range = most;
            for bytes in [SIZE_STEP, GIB, 70 * GIB, 72 * GIB] {
                let sizes: Vec<u64> = buffers(bytes, &gpu).map(|elements| elements * ELEMENT).collect();
                assert!(sizes.len() >= 4 && sizes.iter().sum::<u64>() == bytes, "{bytes}");
                assert!(sizes.iter().all(|size| *size <= most && sizes[0] - size <= PIECE), "{bytes}");
            }
        }
    }

    #[test]
    fn each_preset_stays_below_nine_tenths_of_an_idle_heap() {
        let gpu = device(DeviceKind::Discrete);
        for preset in [Preset::Quick, Preset::Default, Preset::Thorough] {
            for size in &axes(&asked(&gpu, preset))[0].defaults {
                let case = case(&EXPERIMENT, "", asked(&gpu, preset), &format!("{SIZE}={size}")).unwrap();
                let all = case.footprint(&gpu);
                assert!(case.is_alone && all.fits_alone(16 * GIB).is_ok(), "{size}");
                assert!(AxisValue::from(all.device) > *size, "{size}");
            }
        }
    }

    /// Other data for each buffer, and what is written comes before what reads it.
    #[test]
    fn no_two_buffers_are_alike() {
        let gpu = device(DeviceKind::Discrete);
        let told = format!("{SIZE}={SIZE_STEP}");
        let results = |seed| {
            let setting = Setting { seed, ..quick(&gpu) };
            let bytes = |built: Built| built.expected().iter().map(Expected::bytes).collect::<Vec<_>>();
            built(&EXPERIMENT, "", setting, &told, bytes).unwrap()
        };
        let of_one = results(1);
        assert!(of_one.len() == 4 && of_one.iter().enumerate().all(|(i, sums)| !of_one[..i].contains(sums)));
        assert_ne!(of_one, results(2));
    }

    #[test]
    fn what_has_nothing_to_spill_from_is_skipped() {
        let reason = |device: &DeviceInfo, bytes: u64| reason(&EXPERIMENT, "", quick(device), &format!("{SIZE}={bytes}"));
        for kind in [DeviceKind::Cpu, DeviceKind::Integrated, DeviceKind::Virtual, DeviceKind::Other] {
            assert!(
                reason(&device(kind), GIB)
                    .starts_with(&format!("the device is of the kind {kind}, the case needs a discrete one"))
            );
        }
        let mut gpu = device(DeviceKind::Discrete);
        assert_eq!(reason(&gpu, GIB), "");
        assert!(reason(&gpu, 17 * GIB).starts_with("the largest memory heap (bytes) is 17179869184, the case needs"));
        gpu.heaps[0].budget = None;
        assert!(reason(&gpu, GIB).starts_with("VK_EXT_memory_budget is missing"));
    }

    /// Of sizes in GiB at these bandwidths, each known to 1 %.
    fn told(reads: &[(u64, f64)]) -> Vec<Derived> {
        let row = |&(gib, rate): &(u64, f64)| {
            let time = 1.0 / rate;
            let point = point(&format!("{SIZE}={} local_size_x=256", gib * GIB));
            Finished { point, value: rate, time, interval: Some((0.99 * time, 1.01 * time)), ..Finished::default() }
        };
        derive(&reads.iter().map(row).collect::<Vec<_>>())
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "few bytes")]
    fn a_cliff_is_told_with_its_size_and_its_height() {
        let derived = told(&[(12, 320.0), (1, 950.0), (8, 1000.0), (13, 200.0), (14, 210.0)]);
        let variants: Vec<_> = derived.iter().map(|row| (row.variant, row.figure.clone().unwrap())).collect();
        let [full, cliff] = [8, 12].map(|gib| (gib * GIB) as f64);
        assert_eq!(variants[0], (FULL_SPEED, Figure { value: full, interval: None }));
        assert_eq!(variants[1], (CLIFF, Figure { value: cliff, interval: Some((full, cliff)) }));
        let (low, high) = variants[2].1.interval.unwrap();
        assert!(variants[2].0 == SLOWDOWN && low < 1000.0 / 320.0 && 1000.0 / 320.0 < high, "{variants:?}");
        assert!(derived.iter().all(|row| row.point == point("local_size_x=256") && row.note.contains("1000.000 GB/s at")));
    }

    #[test]
    fn what_recovers_or_falls_little_is_no_cliff() {
        for reads in [&[(1, 1000.0), (8, 990.0), (14, 940.0)][..], &[(1, 1000.0), (8, 300.0), (14, 980.0)]] {
            let derived = told(reads);
            assert_eq!(derived.len(), 2);
            #[expect(clippy::cast_precision_loss, reason = "few bytes")]
            let all = (14 * GIB) as f64;
            assert_eq!(derived[0].figure, Ok(Figure { value: all, interval: None }));
            assert!(derived[1].variant == CLIFF && untold(&derived[1]).contains(AT_FULL_SPEED), "{derived:?}");
        }
        // Half as fast, as far as that can be told.
        let mut rows = told(&[(1, 1000.0), (14, 500.0)]);
        assert_eq!(rows.len(), 3);
        let wide = |gib: u64, value: f64| Finished {
            point: point(&format!("{SIZE}={} local_size_x=256", gib * GIB)),
            value,
            time: 1.0 / value,
            interval: Some((0.4 / value, 3.0 / value)),
            ..Finished::default()
        };
        rows = derive(&[wide(1, 1000.0), wide(14, 500.0)]);
        assert!(rows.iter().all(|row| untold(row).contains(NOT_SURE)), "{rows:?}");
    }

    #[test]
    fn one_size_or_the_end_of_a_cache_tells_nothing() {
        let in_cache = Finished { point: point(&format!("{SIZE}={SIZE_STEP}")), value: 9000.0, ..Finished::default() };
        for derived in [told(&[]), told(&[(4, 1000.0)]), derive(&[in_cache])] {
            assert!(derived.len() == 1 && derived[0].lacking().is_some(), "{derived:?}");
        }
    }
}
