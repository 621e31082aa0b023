//! `cache/bandwidth`: how fast does the whole device read what its caches hold?

use crate::experiments::common::elements::mixed;
use crate::experiments::common::levels::{self, Estimate, Names};
use crate::experiments::common::prelude::*;
use crate::experiments::common::sweep::sweeps;
use crate::experiments::gcd;

pub const EXPERIMENT: Experiment = Experiment {
    variants: &["private", SHARED],
    derived: &[LEVELS.experiment],
    derive,
    repeatability: |_| Repeatability::Memory,
    plot: Some(LEVELS.plot()),
    traffic,
    ..Experiment::new("cache/bandwidth", axes, build)
};

const SHARED: &str = "shared";

/// What figures on caches are reported under, here and by `cache/latency`. What costs is a byte, in nanoseconds.
static LEVELS: Names = Names {
    experiment: "cache/levels",
    count: "bandwidth_count",
    capacities: [
        "bandwidth_capacity_1",
        "bandwidth_capacity_2",
        "bandwidth_capacity_3",
        "bandwidth_capacity_4",
        "bandwidth_capacity_5",
    ],
    costs: ["bandwidth_1", "bandwidth_2", "bandwidth_3", "bandwidth_4", "bandwidth_5"],
    beyond: "bandwidth_beyond",
    cost: ["bandwidth", "GB/s", "higher"],
    of_cost: Estimate::inverted,
};

/// Words, and bytes, that an invocation loads at once.
const WORDS: u64 = 4;
const BYTES: u64 = 4 * WORDS;
/// Loads of an iteration of the shader's loop.
const LOADS_PER_ITERATION: u64 = 8;
/// From one load to the next where the workgroup's loads fill the window anyway: a line of most devices.
const LINE: u64 = 8;

/// The golden ratio's part behind the point, times 2^32.
const GOLDEN: u64 = 0x9E37_79B9;
/// The shader's: what tells which multiple of the step a workgroup takes.
const SCATTER: u64 = 0x85EB_CA6B;

/// More would keep the twin busy for minutes.
const MOST_READS: u64 = 1 << 20;

#[derive(Clone, Copy)]
struct Windows {
    /// Elements of a window.
    elements: u64,
    /// Elements from one workgroup's window to the next one's.
    spacing: u64,
    /// Whether each workgroup begins elsewhere in its window.
    is_shared: bool,
    /// Elements from one load of an invocation to its next, or what that is a multiple of.
    step: u64,
    /// How many multiples workgroups take.
    strides: u64,
    local_size: u64,
    reads: u64,
    groups: [u32; 3],
    all_groups: u64,
}

impl Windows {
    fn new(config: &Config) -> Self {
        let [bytes, local_size, reads] = ["working_set_bytes", "local_size_x", "reads"].map(|axis| config.integer(axis));
        let groups = fold_groups(config.integer("groups"), config.most_groups());
        let all_groups = workgroups(groups);
        let elements = (bytes / BYTES).max(1);
        let is_shared = config.variant == SHARED;
        let step = if elements > local_size { local_size } else { LINE.min(elements - 1) };
        let spacing = if is_shared { 0 } else { elements };
        let strides = if is_shared && elements % step.max(1) == 0 { elements / step.max(1) / 6 } else { 0 };
        Self { elements, spacing, is_shared, step, strides, local_size, reads, groups, all_groups }
    }

    /// Elements from one load of an invocation to its next. Workgroups that walk side by side through one window would find in the
    /// first cache what another has just read, however large the window is; so each takes its blocks in an order of its own. Its step
    /// is six times something and one, which has no divisor in common with a window of two's and three's: it takes all of them.
    fn own_step(&self, group: u64) -> u64 {
        let multiple = (((group * SCATTER) & 0xFFFF_FFFF) * self.strides) >> 32;
        self.step * (6 * multiple + 1)
    }

    /// Where in its window a workgroup begins. Those that read the same at the same time would hide how far it is away, and those
    /// of one processor, be they neighbours or whole rounds of processors apart, would find in its cache what another has just read:
    /// multiples of the golden ratio, cut down to what is behind the point, put all of them far apart (Knuth, The Art of Computer
    /// Programming 3, 6.4).
    fn first(&self, group: u64) -> u64 {
        let fraction = if self.is_shared { (group * GOLDEN) & 0xFFFF_FFFF } else { 0 };
        ((fraction * self.elements) >> 32) / LINE * LINE
    }

    fn all_elements(&self) -> u64 {
        if self.is_shared { self.elements } else { product([self.elements, self.all_groups]) }
    }

    fn invocations(&self) -> u64 {
        product([self.all_groups, self.local_size])
    }

    /// Loads after which an invocation is back at its first element.
    fn period(&self, group: u64) -> u64 {
        self.elements / gcd(self.own_step(group), self.elements)
    }
}

fn derive(rows: &[Finished]) -> Vec<Derived> {
    let sweeps = sweeps(rows.iter().filter(|row| row.variant == SHARED), "working_set_bytes");
    let told = |(point, curve): (&Point, &Vec<(u64, f64)>)| {
        let costs: Vec<(u64, f64)> = curve.iter().map(|(bytes, rate)| (*bytes, 1.0 / rate)).collect();
        levels::derived(&LEVELS, point, &levels::infer(&costs))
    };
    sweeps.iter().flat_map(told).collect()
}

fn axes(setting: &Setting) -> Vec<Axis> {
    const WORKING_SET: &str = "size of a window: each workgroup's own, or that of all";
    let quick = setting.preset == Preset::Quick;
    let sizes = if quick { vec![16 << 10, 1 << 20] } else { sizes(setting) };
    // Eight workgroups for each processor of the largest devices of today.
    let groups = setting.by_class(8_u64, 1056);
    // On a GPU, enough to fill a first cache a hundred times.
    let reads = if quick { setting.by_class(64_u64, 1024) } else { setting.by_class(512, 1024) };
    vec![
        Axis::new("working_set_bytes", WORKING_SET, AxisKind::AtLeast(2 * BYTES), sizes),
        local_size_axis(setting),
        // Of other numbers of workgroups, other ones share a processor and its first cache: that isn't the same work.
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]),
        Axis::new("reads", "loads per invocation", AxisKind::AtLeast(LOADS_PER_ITERATION), [reads])
            .multiple_of(LOADS_PER_ITERATION)
            .up_to(MOST_READS)
            .of_monotone_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let windows = Windows::new(config);
    let loads = product([windows.invocations(), windows.reads]);
    let golden = if windows.is_shared { GOLDEN } else { 0 };
    let iterations = windows.reads / LOADS_PER_ITERATION;
    let numbers = [windows.elements, windows.spacing, golden, windows.step, windows.strides, iterations];
    let [elements, spacing, golden, step, strides, count] = numbers.map(u32_of);
    let kernel = config.kernel("cache/bandwidth.comp", &[]).constant("ITERATIONS", Scalar::U32(count?));
    let a = Sequence::Words { seed: config.seed() };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [
        case.output("sums", Expected::words(windows.invocations(), move |invocation| sum(&windows, a, invocation))),
        case.input("a", product([windows.all_elements(), WORDS]), a),
    ];
    case.run(kernel, &resources, windows.groups, &[elements?, spacing?, golden?, step?, strides?]);
    let work = Work { bytes: Some(product([loads, BYTES])), items: Some(loads), ..Work::default() };
    Ok(case.iterations(iterations).build(work, Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    // One sum per invocation is written, which doesn't count.
    let loops = vec![case.point.integer("reads") / LOADS_PER_ITERATION];
    Ok(vec![Traffic { counted: Moved::READ, loops, ..Traffic::usual(case) }])
}

/// The sizes of windows: powers of two and, on a GPU, some in the middle, around where first and last caches end and where memory
/// is: a level shows only in four sizes or more.
fn sizes(setting: &Setting) -> Vec<u64> {
    let powers = setting.by_class(powers_of_two(1 << 10, 16 << 20), powers_of_two(4 << 10, 1 << 30));
    let between = if setting.preset == Preset::Thorough {
        powers_of_two(4 << 10, 512 << 20).collect()
    } else {
        vec![32 << 10, 128 << 10, 16 << 20, 32 << 20, 64 << 20, 128 << 20, 256 << 20, 512 << 20]
    };
    let between = between.into_iter().map(|size| size / 2 * 3);
    let mut sizes: Vec<u64> = powers.chain(setting.by_class(Vec::new(), between.collect())).collect();
    sizes.sort_unstable();
    sizes
}

/// What one invocation sums up: whole rounds first, then what is left of its reads.
#[expect(clippy::cast_possible_truncation, reason = "a sum of words wraps as the device's does")]
fn sum(windows: &Windows, a: Sequence, invocation: u64) -> u32 {
    let (group, lane) = (invocation / windows.local_size, invocation % windows.local_size);
    let first = (windows.first(group) + lane) % windows.elements;
    let (step, period) = (windows.own_step(group), windows.period(group));
    let element = |k: u64| group * windows.spacing + (first + k * step) % windows.elements;
    let mixed = |k: u64| mixed((0..WORDS).map(|word| a.word(element(k) * WORDS + word)));
    let all = |reads: u64| (0..reads).map(mixed).fold(0, u32::wrapping_add);
    let (rounds, rest) = (windows.reads / period, windows.reads % period);
    let round = if rounds > 0 { all(period) } else { 0 };
    round.wrapping_mul(rounds as u32).wrapping_add(all(rest))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::experiments::common::rows::device;
    use crate::experiments::common::testing::{asked, point, quick, with};
    use crate::model::{DeviceInfo, DeviceKind};

    fn windows(variant: &str, bytes: u64, local_size: u64, groups: u64) -> Windows {
        let told = format!("working_set_bytes={bytes} local_size_x={local_size} groups={groups} reads=64");
        with(&EXPERIMENT, variant, quick(&DeviceInfo::mock()), &told, Windows::new)
    }

    /// What a workgroup reads is its window, the whole of it if it reads enough.
    #[test]
    fn a_workgroup_reads_its_window() {
        for (bytes, local_size) in [(1 << 10, 256), (1 << 10, 64), (1 << 12, 48), (16 << 10, 256), (1000, 7), (32, 1)] {
            let windows = windows("private", bytes, local_size, 3);
            let element = |lane: u64, k: u64| (lane + k * windows.step) % windows.elements;
            let read: BTreeSet<u64> =
                (0..local_size).flat_map(|lane| (0..windows.elements).map(move |k| element(lane, k))).collect();
            assert_eq!(read.len() as u64, windows.elements, "{bytes} B, {local_size} invocations");
            assert!(windows.step > 0 && windows.step < windows.elements);
        }
    }

    /// In a shared one as well, each in an order of its own.
    #[test]
    fn workgroups_take_all_of_a_shared_window_in_different_orders() {
        for (bytes, local_size) in [(1 << 20, 256), (192 << 10, 256), (48 << 10, 256), (1 << 12, 256), (1 << 16, 64), (1000, 7)]
        {
            let windows = windows("shared", bytes, local_size, 8);
            let steps: BTreeMap<u64, u64> = (0..8).map(|group| (windows.own_step(group), group)).collect();
            let blocks = windows.elements / windows.step;
            assert!(windows.elements % windows.step > 0 || blocks < 48 || steps.len() >= 4, "{bytes}: {steps:?}");
            for group in 0..8 {
                let step = windows.own_step(group);
                assert!(step > 0 && step < windows.elements, "{bytes}: {step} of {}", windows.elements);
                assert_eq!(windows.period(group), windows.elements / gcd(windows.step, windows.elements), "{bytes}: {step}");
            }
        }
    }

    #[test]
    fn private_windows_lie_side_by_side_and_a_shared_one_is_the_same_for_all() {
        let private = windows("private", 1 << 16, 64, 8);
        assert_eq!((private.spacing, private.first(5), private.all_elements()), (4096, 0, 8 * 4096));
        let shared = windows("shared", 1 << 16, 64, 8);
        assert_eq!((shared.spacing, shared.first(0), shared.all_elements()), (0, 0, 4096));
    }

    /// Of as many workgroups as an H100 holds, no two begin at the same line where there are lines enough, and no line is begun at by
    /// much more than its share where there aren't.
    #[test]
    fn workgroups_begin_everywhere_in_a_shared_window() {
        let groups = 1056;
        for bytes in (10..=30).map(|bits| 1_u64 << bits) {
            let windows = windows("shared", bytes, 256, groups);
            let mut begun: BTreeMap<u64, u64> = BTreeMap::new();
            for group in 0..groups {
                *begun.entry(windows.first(group)).or_default() += 1;
            }
            let lines = windows.elements / LINE;
            assert!(begun.keys().all(|first| first % LINE == 0 && *first < windows.elements), "{bytes}");
            assert!(begun.len() as u64 >= lines.min(groups) * 3 / 4, "{bytes}: {}", begun.len());
            assert!(begun.values().max() <= Some(&(groups.div_ceil(lines) + 1)), "{bytes}: {begun:?}");
        }
    }

    /// Eight workgroups that may run on one processor of an H100, of 132: neighbours, or one of each round. Where one begins, another
    /// has been only after it has read a twenty-fourth of the window.
    #[test]
    fn workgroups_of_a_processor_do_not_follow_each_other() {
        let windows = windows("shared", 8 << 20, 256, 1056);
        for (first, step) in [(0, 1), (300, 1), (1048, 1), (0, 132), (7, 132), (131, 132), (5, 2), (11, 66)] {
            let mut begins: Vec<u64> = (0..8).map(|i| windows.first(first + i * step)).collect();
            begins.sort_unstable();
            let around = begins[0] + windows.elements - begins[7];
            let least = begins.windows(2).map(|pair| pair[1] - pair[0]).chain([around]).min();
            assert!(least >= Some(windows.elements / 24), "{first} + {step} i: {begins:?}");
        }
    }

    #[test]
    fn levels_are_told_of_shared_windows() {
        let axes = axes(&asked(&device(DeviceKind::Discrete), Preset::Default));
        let row = |variant: &str, bytes: u64| Finished {
            variant: variant.to_owned(),
            point: point(&format!("working_set_bytes={bytes} local_size_x=256 groups=1056")),
            value: if bytes <= 128 << 10 { 30_000.0 } else { if bytes <= 32 << 20 { 8000.0 } else { 3000.0 } },
            ..Finished::default()
        };
        let sizes: Vec<u64> = axes[0].defaults.iter().map(|value| value.to_string().parse().unwrap()).collect();
        let rows: Vec<Finished> =
            EXPERIMENT.variants.iter().flat_map(|variant| sizes.iter().map(|bytes| row(variant, *bytes))).collect();
        let derived = derive(&rows);
        let truths = [
            ("bandwidth_count", 2.0),
            ("bandwidth_capacity_1", 160_000.0),
            ("bandwidth_1", 30_000.0),
            ("bandwidth_capacity_2", 4e7),
            ("bandwidth_2", 8000.0),
            ("bandwidth_beyond", 3000.0),
        ];
        assert_eq!(derived.len(), truths.len());
        for (row, (variant, truth)) in derived.iter().zip(truths) {
            let figure = row.figure.clone().unwrap();
            let (low, high) = figure.interval.unwrap_or((figure.value, figure.value));
            assert!(row.variant == variant && low <= truth && truth <= high, "{row:?}");
            assert!(row.experiment == "cache/levels" && row.point.get("working_set_bytes").is_none());
        }
        // Rates that rise with the size tell no cache, and nor does what was not measured.
        let rising: Vec<Finished> = rows.iter().map(|row| Finished { value: 1e9 / row.value, ..row.clone() }).collect();
        for rows in [rising, Vec::new(), rows[..21].to_vec()] {
            let derived = derive(&rows);
            assert!(derived.len() == 1 && derived[0].figure.is_err(), "{derived:?}");
        }
    }

    #[test]
    fn a_sum_by_rounds_is_the_sum() {
        let a = Sequence::Words { seed: 1 };
        for (bytes, local_size) in [(1 << 10, 256), (1000, 7), (1 << 16, 64)] {
            let windows = windows("shared", bytes, local_size, 3);
            for (group, lane) in (0..3).flat_map(|group| (0..local_size).map(move |lane| (group, lane))) {
                let (mut i, mut one_by_one) = ((windows.first(group) + lane) % windows.elements, 0_u32);
                for _ in 0..windows.reads {
                    for (word, factor) in (0..4).zip([1, 3, 5, 7]) {
                        one_by_one = one_by_one.wrapping_add(a.word(4 * i + word).wrapping_mul(factor));
                    }
                    i = (i + windows.own_step(group)) % windows.elements;
                }
                assert_eq!(sum(&windows, a, group * local_size + lane), one_by_one, "{bytes} B, {lane} of {group}");
            }
        }
    }
}
