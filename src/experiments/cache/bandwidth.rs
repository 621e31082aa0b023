//! `cache/bandwidth`: how fast does the whole device read what its caches hold?

use crate::experiments::common::levels::{self, Estimate, Names};
use crate::experiments::common::sweep::sweeps;
use crate::experiments::{
    Built, CaseBuilder, Config, Experiment, Setting, fold_groups, gcd, local_size_axis, powers_of_two, product, u32_of,
    workgroups,
};
use crate::model::{
    Axis, AxisKind, Case, Derived, Finished, Headline, Kernel, Marks, Moved, Plot, Preset, Repeatability, Scalar, Sequence,
    Skip, Traffic, Work,
};
use crate::validate::Expected;

pub const EXPERIMENT: Experiment = Experiment {
    variants: VARIANTS,
    derived: &[LEVELS.experiment],
    derive,
    repeatability: |_| Repeatability::Memory,
    plot: Some(PLOT),
    traffic,
    ..Experiment::new("cache/bandwidth", axes, build)
};

const VARIANTS: &[&str] = &["private", SHARED];
const SHARED: &str = "shared";

/// What figures on caches are reported under, here and by `cache/latency`. What costs is a byte, in nanoseconds.
const LEVELS: Names = Names {
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
    metric: "bandwidth",
    unit: "GB/s",
    better: "higher",
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

/// The sizes that a configuration stands for.
#[derive(Clone, Copy)]
struct Shape {
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
    /// Workgroups of the whole grid.
    all_groups: u64,
}

impl Shape {
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

    /// Elements of all windows.
    fn all_elements(&self) -> u64 {
        if self.spacing == 0 { self.elements } else { product([self.elements, self.all_groups]) }
    }

    fn invocations(&self) -> u64 {
        product([self.all_groups, self.local_size])
    }

    fn loads(&self) -> u64 {
        product([self.invocations(), self.reads])
    }

    /// Loads after which an invocation is back at its first element.
    fn period(&self, group: u64) -> u64 {
        self.elements / gcd(self.own_step(group), self.elements)
    }
}

fn derive(rows: &[Finished]) -> Vec<Derived> {
    let sweeps = sweeps(rows.iter().filter(|row| row.variant == SHARED), "working_set_bytes");
    let cost = |(bytes, rate): &(u64, f64)| (*bytes, 1.0 / rate);
    let costs = |curve: &Vec<(u64, f64)>| curve.iter().map(cost).collect::<Vec<_>>();
    sweeps.iter().flat_map(|(point, curve)| levels::derived(&LEVELS, point, &levels::infer(&costs(curve)))).collect()
}

const PLOT: Plot = {
    let marks = Marks { experiment: LEVELS.experiment, variants: &LEVELS.capacities };
    Plot { marks: Some(marks), ..Plot::over("working_set_bytes") }
};

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let sizes = if quick { vec![16 << 10, 1 << 20] } else { sizes(setting) };
    // Eight workgroups for each processor of the largest devices of today.
    let groups = setting.by_class(8_u64, 1056);
    // On a GPU, enough to fill a first cache a hundred times.
    let reads = if quick { setting.by_class(64_u64, 1024) } else { setting.by_class(512, 1024) };
    vec![
        Axis::new(
            "working_set_bytes",
            "size of a window: each workgroup's own, or that of all",
            AxisKind::AtLeast(2 * BYTES),
            sizes,
        ),
        local_size_axis(setting),
        // Of other numbers of workgroups, other ones share a processor and its first cache: that isn't the same work.
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]),
        Axis::new("reads", "loads per invocation", AxisKind::AtLeast(LOADS_PER_ITERATION), [reads])
            .multiple_of(LOADS_PER_ITERATION)
            .up_to(MOST_READS)
            .of_monotone_work(),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let shape = Shape::new(config);
    let reads = shape.reads;
    let golden = if shape.is_shared { GOLDEN } else { 0 };
    let iterations = reads / LOADS_PER_ITERATION;
    let numbers = [shape.elements, shape.spacing, golden, shape.step, shape.strides, iterations];
    let [elements, spacing, golden, step, strides, count] = numbers.map(u32_of);
    let kernel = Kernel::new("cache/bandwidth.comp", config.workgroup()).constant("ITERATIONS", Scalar::U32(count?));
    let a = Sequence::Words { seed: config.seed() };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [
        case.output("sums", Expected::words(shape.invocations(), move |invocation| sum(&shape, a, invocation))),
        case.input("a", product([shape.all_elements(), WORDS]), a),
    ];
    case.run(kernel, &resources, shape.groups, &[elements?, spacing?, golden?, step?, strides?]);
    let work = Work { bytes: Some(product([shape.loads(), BYTES])), items: Some(shape.loads()), ..Work::default() };
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
fn sum(shape: &Shape, a: Sequence, invocation: u64) -> u32 {
    let (group, lane) = (invocation / shape.local_size, invocation % shape.local_size);
    let first = (shape.first(group) + lane) % shape.elements;
    let (step, period) = (shape.own_step(group), shape.period(group));
    let mixed = |k: u64| {
        let element = group * shape.spacing + (first + k * step) % shape.elements;
        let words = (0..WORDS).map(|word| a.word(element * WORDS + word));
        words.zip([1, 3, 5, 7]).fold(0, |mixed: u32, (word, factor)| mixed.wrapping_add(word.wrapping_mul(factor)))
    };
    let all = |reads: u64| (0..reads).map(mixed).fold(0, u32::wrapping_add);
    let (rounds, rest) = (shape.reads / period, shape.reads % period);
    let round = if rounds > 0 { all(period) } else { 0 };
    round.wrapping_mul(rounds as u32).wrapping_add(all(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use crate::model::{AxisValue, Cache, DeviceInfo, DeviceKind, Point};

    fn shape(variant: &str, bytes: u64, local_size: u64, groups: u64) -> Shape {
        let values = [("working_set_bytes", bytes), ("local_size_x", local_size), ("groups", groups), ("reads", 64)];
        let point = Point::new(values.map(|(name, value)| (name.into(), AxisValue::from(value))));
        let device = DeviceInfo::mock();
        Shape::new(&Config::new(variant, &point, &Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 }))
    }

    /// What a workgroup reads is its window, the whole of it if it reads enough.
    #[test]
    fn a_workgroup_reads_its_window() {
        for (bytes, local_size) in [(1 << 10, 256), (1 << 10, 64), (1 << 12, 48), (16 << 10, 256), (1000, 7), (32, 1)] {
            let shape = shape("private", bytes, local_size, 3);
            let element = |lane: u64, k: u64| (lane + k * shape.step) % shape.elements;
            let read: std::collections::BTreeSet<u64> =
                (0..local_size).flat_map(|lane| (0..shape.elements).map(move |k| element(lane, k))).collect();
            assert_eq!(read.len() as u64, shape.elements, "{bytes} B, {local_size} invocations");
            assert!(shape.step > 0 && shape.step < shape.elements);
        }
    }

    /// In a shared one as well, each in an order of its own.
    #[test]
    fn workgroups_take_all_of_a_shared_window_in_different_orders() {
        for (bytes, local_size) in [(1 << 20, 256), (192 << 10, 256), (48 << 10, 256), (1 << 12, 256), (1 << 16, 64), (1000, 7)]
        {
            let shape = shape("shared", bytes, local_size, 8);
            let steps: BTreeMap<u64, u64> = (0..8).map(|group| (shape.own_step(group), group)).collect();
            let blocks = shape.elements / shape.step;
            assert!(shape.elements % shape.step > 0 || blocks < 48 || steps.len() >= 4, "{bytes}: {steps:?}");
            for group in 0..8 {
                let step = shape.own_step(group);
                assert!(step > 0 && step < shape.elements, "{bytes}: {step} of {}", shape.elements);
                assert_eq!(shape.period(group), shape.elements / gcd(shape.step, shape.elements), "{bytes}: {step}");
            }
        }
    }

    #[test]
    fn private_windows_lie_side_by_side_and_a_shared_one_is_the_same_for_all() {
        let private = shape("private", 1 << 16, 64, 8);
        assert_eq!((private.spacing, private.first(5), private.all_elements()), (4096, 0, 8 * 4096));
        let shared = shape("shared", 1 << 16, 64, 8);
        assert_eq!((shared.spacing, shared.first(0), shared.all_elements()), (0, 0, 4096));
    }

    /// Of as many workgroups as an H100 holds, no two begin at the same line where there are lines enough, and no line is begun at by
    /// much more than its share where there aren't.
    #[test]
    fn workgroups_begin_everywhere_in_a_shared_window() {
        let groups = 1056;
        for bytes in (10..=30).map(|bits| 1_u64 << bits) {
            let shape = shape("shared", bytes, 256, groups);
            let mut begun: BTreeMap<u64, u64> = BTreeMap::new();
            for group in 0..groups {
                *begun.entry(shape.first(group)).or_default() += 1;
            }
            let lines = shape.elements / LINE;
            assert!(begun.keys().all(|first| first % LINE == 0 && *first < shape.elements), "{bytes}");
            assert!(begun.len() as u64 >= lines.min(groups) * 3 / 4, "{bytes}: {}", begun.len());
            assert!(begun.values().max() <= Some(&(groups.div_ceil(lines) + 1)), "{bytes}: {begun:?}");
        }
    }

    /// Eight workgroups that may run on one processor of an H100, of 132: neighbours, or one of each round. Where one begins, another
    /// has been only after it has read a twenty-fourth of the window.
    #[test]
    fn workgroups_of_a_processor_do_not_follow_each_other() {
        let shape = shape("shared", 8 << 20, 256, 1056);
        for (first, step) in [(0, 1), (300, 1), (1048, 1), (0, 132), (7, 132), (131, 132), (5, 2), (11, 66)] {
            let mut begins: Vec<u64> = (0..8).map(|i| shape.first(first + i * step)).collect();
            begins.sort_unstable();
            let around = begins[0] + shape.elements - begins[7];
            let least = begins.windows(2).map(|pair| pair[1] - pair[0]).chain([around]).min();
            assert!(least >= Some(shape.elements / 24), "{first} + {step} i: {begins:?}");
        }
    }

    #[test]
    fn levels_are_told_of_shared_windows() {
        let device = DeviceInfo { kind: DeviceKind::Discrete, ..DeviceInfo::mock() };
        let setting = Setting { device: &device, queue: None, preset: Preset::Default, seed: 1 };
        let row = |variant: &str, bytes: u64| Finished {
            variant: variant.to_owned(),
            point: Point::new([("working_set_bytes".into(), bytes.into()), ("groups".into(), 1056_u64.into())]),
            case_id: String::new(),
            cache: Cache::Warm,
            time: 1.0,
            value: if bytes <= 128 << 10 {
                30_000.0
            } else if bytes <= 32 << 20 {
                8000.0
            } else {
                3000.0
            },
            ..Finished::default()
        };
        let sizes: Vec<u64> = axes(&setting)[0].defaults.iter().map(|value| value.to_string().parse().unwrap()).collect();
        let rows: Vec<Finished> = VARIANTS.iter().flat_map(|variant| sizes.iter().map(|bytes| row(variant, *bytes))).collect();
        let derived = derive(&rows);
        let told: Vec<_> = derived.iter().map(|row| (row.variant, row.figure.clone().unwrap())).collect();
        let variants = [
            "bandwidth_count",
            "bandwidth_capacity_1",
            "bandwidth_1",
            "bandwidth_capacity_2",
            "bandwidth_2",
            "bandwidth_beyond",
        ];
        assert_eq!(told.iter().map(|(variant, _)| *variant).collect::<Vec<_>>(), variants);
        let truth = [2.0, 160_000.0, 30_000.0, 4e7, 8000.0, 3000.0];
        for ((variant, figure), truth) in told.iter().zip(truth) {
            let (low, high) = figure.interval.unwrap_or((figure.value, figure.value));
            assert!(low <= truth && truth <= high, "{variant}: {figure:?}");
        }
        assert!(derived.iter().all(|row| row.experiment == "cache/levels" && row.point.get("working_set_bytes").is_none()));
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
            let shape = shape("shared", bytes, local_size, 3);
            let one_by_one = |invocation: u64| {
                let mut i = (shape.first(invocation / local_size) + invocation % local_size) % shape.elements;
                let mut sum = 0_u32;
                for _ in 0..shape.reads {
                    let words = [0, 1, 2, 3].map(|word| a.word(4 * i + word));
                    sum = (0..4).fold(sum, |sum, j| sum.wrapping_add(words[j].wrapping_mul([1, 3, 5, 7][j])));
                    i = (i + shape.own_step(invocation / local_size)) % shape.elements;
                }
                sum
            };
            assert!((0..3 * local_size).all(|invocation| sum(&shape, a, invocation) == one_by_one(invocation)));
        }
    }
}
