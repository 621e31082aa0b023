//! `shared/bank_conflict`: what does it cost when lanes read workgroup memory from the same bank, and how many banks are there?

mod inference;

use std::collections::{BTreeMap, BTreeSet};

use crate::experiments::{
    Built, CaseBuilder, Config, Experiment, Setting, lanes, local_size_axis, product, scramble, size_to_require, u32_of,
};
use crate::model::{
    Axis, AxisKind, AxisValue, Bound, Case, Derived, DerivedFigures, DeviceKind, Expectation, Figure, Finished, Headline,
    Kernel, MOST_NUMBER, Moved, Plot, Plotted, Point, Preset, Scalar, Sequence, Skip, Traffic, Untold, Work,
};
use crate::validate::Expected;
use inference::{Candidate, Finding, infer};

pub const EXPERIMENT: Experiment =
    Experiment { derived: &[BANKS], derive, plot: Some(PLOT), traffic, ..Experiment::new("shared/bank_conflict", axes, build) };

/// The values of the shader's specialization constant, in this order.
const PATTERNS: &[&str] = &["strided", "broadcast", "reversed", "xor", "random"];

/// What figures on banks are reported under.
const BANKS: &str = "shared/banks";

/// The few strides that a quick run takes: powers of two, where banks conflict, and neighbours of some, where they don't.
const FEW_STRIDES: [u64; 9] = [1, 2, 3, 4, 8, 16, 32, 33, 64];

const LOADS: usize = 16;
const SHIFTS: u32 = 8;
/// Places in the source where windows begin, one for each workgroup in turn.
const BEGINNINGS: u64 = 4;
/// The shift of the first iteration, and from one to the next: odd, so that all are taken in turn.
const FIRST_SHIFT: u32 = 5;
const SHIFT_STEP: u32 = 3;

/// More would keep the twin busy for minutes.
const MOST_ITERATIONS: u64 = 1 << 20;

/// No device has larger subgroups.
const MOST_LANES: u64 = 128;

/// What a configuration stands for. Sizes of the grid that don't fit saturate: no device has that much.
#[derive(Clone, Copy)]
struct Shape<'a> {
    pattern: &'a str,
    /// Words per element.
    width: u64,
    lanes: u32,
    /// Elements from lane to lane, padding included.
    row: u32,
    /// Elements of the window that all subgroups of a workgroup read.
    elements: u32,
    /// Invocations per workgroup.
    local_size: u64,
    /// Times `LOADS` loads of an invocation.
    iterations: u32,
    groups: [u32; 3],
    /// Invocations of the whole grid.
    invocations: u64,
}

impl<'a> Shape<'a> {
    /// What the axes stand for.
    ///
    /// # Errors
    /// A window that the device has no room for, or more than the kernel can count or the twin can follow.
    fn new(config: &Config<'a>) -> Result<Self, Skip> {
        let [width, local_size, iterations] = ["width", "local_size_x", "iterations"].map(|axis| config.integer(axis));
        let lanes = u64::from(lanes(config.device()));
        let row = config.integer("stride") + config.integer("padding");
        let pattern = config.choice("pattern");
        let reach = match pattern {
            "broadcast" => 1,
            "strided" | "reversed" => (lanes - 1) * row + 1,
            _ => lanes * row,
        };
        let elements = reach + u64::from(SHIFTS - 1) + (LOADS - 1) as u64;
        // The plan sees the size as well, but only once the kernel is compiled with numbers of 32 bits.
        let (bytes, limit) = (elements * 4 * width, config.device().limits.shared_bytes);
        if bytes > limit.into() {
            return Err(Skip::new(format!("maxComputeSharedMemorySize is {limit}, the case needs {bytes}")));
        }
        let [lanes, row, elements, iterations] = [lanes, row, elements, iterations].map(u32_of);
        let (groups, invocations) = config.grid(config.integer("groups"));
        Ok(Self {
            pattern,
            width,
            lanes: lanes?,
            row: row?,
            elements: elements?,
            local_size,
            iterations: iterations?,
            groups,
            invocations,
        })
    }

    /// Words of the source, which all windows are filled from.
    fn source_words(&self) -> u64 {
        (u64::from(self.elements) + BEGINNINGS - 1) * self.width
    }

    /// Loads of all invocations, one element each.
    fn loads(&self) -> u64 {
        product([self.invocations, self.iterations.into(), LOADS as u64])
    }

    /// The element of the window that a lane's loads begin at, but for the shift.
    fn place(&self, lane: u32, shift: u32) -> u32 {
        let block = 1 << self.row.ilog2();
        match self.pattern {
            "broadcast" => 0,
            "reversed" => (self.lanes - 1 - lane) * self.row,
            "xor" => lane * self.row + ((lane ^ shift) & (block - 1)),
            "random" => lane * self.row + (((scramble(lane * SHIFTS + shift) >> 16) * self.row) >> 16),
            _ => lane * self.row,
        }
    }
}

fn derive(rows: &[Finished]) -> Vec<Derived> {
    let mut sweeps: BTreeMap<Point, Vec<&Finished>> = BTreeMap::new();
    for row in rows.iter().filter(|row| tells_banks(&row.point)) {
        sweeps.entry(sweep(&row.point)).or_default().push(row);
    }
    if sweeps.is_empty() {
        sweeps.insert(Point::default(), Vec::new());
    }
    sweeps.into_iter().flat_map(|(point, rows)| banks(&point, &finding(&rows))).collect()
}

const PLOT: Plot = {
    let expected = Expectation { experiment: BANKS, name: "the busiest bank's words", of: expected_slow_down };
    Plot { of: Plotted::SlowDown, expected: Some(expected), ..Plot::over("stride") }
};

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let thorough = setting.preset == Preset::Thorough;
    let strides: Vec<u64> = if quick { FEW_STRIDES.to_vec() } else { (1..=64).collect() };
    let patterns = if thorough { PATTERNS } else { &PATTERNS[..1] };
    // Where workgroup memory is a processor's cache, wider elements have little to add to 64 strides.
    let one_width = quick || (!thorough && setting.device.is_cpu());
    let widths: &[u64] = if one_width { &[1] } else { &[1, 2, 4] };
    let paddings: &[u64] = if thorough { &[0, 1] } else { &[0] };
    // Eight waves of 2048 invocations on the largest devices of today. On integrated ones a pass would take too long where 32
    // lanes wait for each other; a software driver takes about 1 ms.
    let groups = match setting.device.kind {
        DeviceKind::Integrated => 1056,
        _ => setting.by_class(4_u64, 8448),
    };
    vec![
        Axis::new("pattern", "what the lanes of a subgroup read", AxisKind::Choices(PATTERNS), patterns.iter().copied())
            .relative_to("strided"),
        Axis::new("width", "words per element", AxisKind::Numbers(&[1, 2, 4]), widths.iter().copied()),
        Axis::new("padding", "elements added to the stride", AxisKind::Numbers(&[0, 1]), paddings.iter().copied())
            .relative_to(0_u64),
        Axis::new("stride", "elements from lane to lane", AxisKind::AtLeast(1), strides).relative_to(1_u64),
        local_size_axis(setting),
        Axis::new("iterations", "times 16 loads per invocation", AxisKind::AtLeast(1), [64_u64])
            .up_to(MOST_ITERATIONS)
            .of_monotone_work(),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_monotone_work(),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let shape = Shape::new(config)?;
    let pattern = config.code("pattern", PATTERNS);
    let mut kernel = Kernel::new("shared/bank_conflict.comp", config.workgroup())
        .define("WIDTH", shape.width)
        .constant("PATTERN", Scalar::U32(pattern))
        .constant("LANES", Scalar::U32(shape.lanes))
        .constant("ROW", Scalar::U32(shape.row))
        .constant("ELEMENTS", Scalar::U32(shape.elements))
        .constant("ITERATIONS", Scalar::U32(shape.iterations));
    kernel.required_subgroup_size = size_to_require(config.device(), shape.local_size);
    let source = Sequence::Words { seed: config.seed() };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [
        case.output("results", Expected::words_from(shape.invocations, move || results(shape, source))),
        case.input("source", shape.source_words(), source),
    ];
    case.run(kernel, &resources, shape.groups, &[FIRST_SHIFT, SHIFT_STEP]);
    let loads = shape.loads();
    // One access serves all lanes of a broadcast: what they get may exceed what the memory gives.
    let bound = (shape.pattern != "broadcast").then_some(Bound::Shared);
    let iterations = u64::from(shape.iterations) + u64::from(shape.elements).div_ceil(shape.local_size);
    let work = Work { bytes: Some(product([loads, 4 * shape.width])), items: Some(loads), ..Work::default() };
    Ok(case.bound(bound).iterations(iterations).build(work, Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let loops = vec![case.point.integer("iterations")];
    Ok(vec![Traffic { counted: Moved::SHARED_READ, loops, ..Traffic::usual(case) }])
}

#[expect(clippy::cast_possible_truncation, reason = "workgroup memory has far fewer words than usize can count")]
fn index(i: u64) -> usize {
    i as usize
}

/// What each invocation writes. Workgroups that begin at the same place have the same results, and so have their subgroups.
fn results(shape: Shape, source: Sequence) -> impl Fn(u64) -> u32 + Send + Sync {
    let source: Vec<u32> = (0..shape.source_words()).map(|i| source.word(i)).collect();
    let mixed: Vec<u32> = source.chunks(index(shape.width)).map(mix).collect();
    let (lanes, local_size) = (u64::from(shape.lanes), shape.local_size);
    let results: Vec<u32> = (0..BEGINNINGS)
        .flat_map(|begin| (0..shape.lanes).map(move |lane| (begin, lane)))
        .map(|(begin, lane)| result(shape, &mixed, begin, lane))
        .collect();
    move |i| results[index(i / local_size % BEGINNINGS * lanes + i % local_size % lanes)]
}

/// The shader, for one invocation, with the elements of the source mixed.
fn result(shape: Shape, mixed: &[u32], begin: u64, lane: u32) -> u32 {
    let mut shift = FIRST_SHIFT;
    let mut result: u32 = 0;
    for _ in 0..shape.iterations {
        let first = index(begin) + (shape.place(lane, shift) + shift) as usize;
        // The sum of the mixed is the mixed sum.
        let sum = mixed[first..first + LOADS].iter().copied().fold(0, u32::wrapping_add);
        result = result.wrapping_mul(3).wrapping_add(sum);
        shift = (shift + SHIFT_STEP) % SHIFTS;
    }
    result
}

fn mix(words: &[u32]) -> u32 {
    words.iter().zip([1, 3, 5, 7]).fold(0, |mixed: u32, (word, factor)| mixed.wrapping_add(word.wrapping_mul(factor)))
}

/// Whether a row is one of those that banks are inferred from: lanes a stride of single words apart, and nothing else between them.
fn tells_banks(point: &Point) -> bool {
    point.choice("pattern") == "strided" && point.integer("padding") == 0 && point.integer("width") == 1
}

/// How many times as long a stride takes as neighbours do, where the busiest bank alone decides: what the inference fits, without
/// what a device hides of it. Rows may be anybody's: what no case of this experiment is has no expectation.
fn expected_slow_down(point: &Point, lanes: u64, banks: DerivedFigures) -> Option<f64> {
    let number = |axis: &str| match point.get(axis) {
        Some(AxisValue::Integer(n)) => Some(*n),
        _ => None,
    };
    let is_strided = point.get("pattern") == Some(&PATTERNS[0].into());
    let is_alone = number("padding") == Some(0) && number("width") == Some(1);
    let (stride, lanes) = (number("stride")?, lanes.min(number("local_size_x")?));
    let candidate = Candidate::of(banks("count")?, banks("width")?)?;
    (is_strided && is_alone && lanes <= MOST_LANES && stride <= MOST_NUMBER).then(|| candidate.slow_down(lanes, stride))
}

/// What remains of a point once all of it that the inference has fixed, or runs along, is left out.
fn sweep(point: &Point) -> Point {
    point.without(&["pattern", "width", "padding", "stride"])
}

/// What the rows of one sweep along the stride tell of banks.
fn finding(rows: &[&Finished]) -> Result<Finding, Untold> {
    let times: Vec<(u64, f64)> = rows.iter().map(|row| (row.point.integer("stride"), row.time)).collect();
    let unknown = || "no banks to be inferred: the subgroup size isn't known, the driver chooses it".to_owned();
    let sizes = rows.iter().map(|row| row.subgroup_size).collect::<Option<BTreeSet<u64>>>().ok_or_else(unknown)?;
    if sizes.len() > 1 {
        return Err(format!("no banks to be inferred: the rows have subgroups of several sizes: {sizes:?}").into());
    }
    // A workgroup smaller than a subgroup leaves lanes idle.
    let lanes = rows.iter().zip(sizes.iter().cycle()).map(|(row, size)| row.point.integer("local_size_x").min(*size)).min();
    infer(lanes.unwrap_or_default(), &times)
}

/// The derived rows of a finding.
fn banks(point: &Point, found: &Result<Finding, Untold>) -> [Derived; 2] {
    let derived = |variant, metric, unit, figure: Result<u64, Untold>| Derived {
        experiment: BANKS,
        variant,
        point: point.clone(),
        metric,
        unit,
        better: "",
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        figure: figure.map(|value| Figure { value: value as f64, interval: None }),
        note: found.as_ref().map_or_else(|_| String::new(), |finding| finding.note.clone()),
    };
    let figure = |of: fn(&Finding) -> Result<u64, Untold>| found.as_ref().map_err(Untold::clone).and_then(of);
    [derived("count", "banks", "banks", figure(Finding::banks)), derived("width", "bank_width", "B", figure(Finding::width))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cache, DeviceInfo};

    fn setting(device: &DeviceInfo) -> Setting<'_> {
        Setting { device, queue: None, preset: Preset::Quick, seed: 1 }
    }

    fn point(given: &[(&'static str, u64)], pattern: &'static str) -> Point {
        let axes = axes(&setting(&DeviceInfo::mock())).into_iter();
        let point = Point::new(axes.map(|axis| (axis.name, axis.defaults[0].clone()))).with("pattern", &pattern.into());
        given.iter().fold(point, |point, (name, value)| point.with(name, &(*value).into()))
    }

    fn case(device: &DeviceInfo, given: &[(&'static str, u64)], pattern: &'static str) -> Result<Case, Skip> {
        build(&Config::new("", &point(given, pattern), &setting(device))).map(|built| built.case)
    }

    #[test]
    fn lanes_read_distinct_elements_within_the_window() {
        let device = DeviceInfo::mock();
        let setting = setting(&device);
        for (pattern, stride) in
            PATTERNS.iter().flat_map(|pattern| [1, 2, 3, 31, 32, 33, 48, 64].map(|stride| (*pattern, stride)))
        {
            let point = point(&[("stride", stride)], pattern);
            let shape = Shape::new(&Config::new("", &point, &setting)).unwrap();
            let elements = u64::from(shape.elements);
            for shift in 0..SHIFTS {
                let places: BTreeSet<u32> = (0..shape.lanes).map(|lane| shape.place(lane, shift)).collect();
                let last = u64::from(*places.last().unwrap() + SHIFTS - 1) + LOADS as u64 - 1;
                assert!(last < elements, "{pattern} {stride}");
                assert_eq!(places.len(), if pattern == "broadcast" { 1 } else { 32 }, "{pattern} {stride}");
                assert!(["xor", "random"].contains(&pattern) || last + 1 == elements, "{pattern} {stride}");
            }
        }
    }

    #[test]
    fn an_xor_swizzle_leaves_no_conflict_where_the_stride_is_the_number_of_banks() {
        let device = DeviceInfo::mock();
        let (point, setting) = (point(&[("stride", 32)], "xor"), setting(&device));
        let shape = Shape::new(&Config::new("", &point, &setting)).unwrap();
        for shift in 0..SHIFTS {
            let banks: BTreeSet<u32> = (0..32).map(|lane| shape.place(lane, shift) % 32).collect();
            assert_eq!(banks.len(), 32);
        }
    }

    #[test]
    fn a_window_beyond_the_limit_is_skipped() {
        let device = DeviceInfo::mock();
        let reason = case(&device, &[("stride", 100), ("width", 4)], "strided").unwrap_err().reason;
        assert_eq!(reason, "maxComputeSharedMemorySize is 49152, the case needs 49968");
        for stride in [1 << 32, 1 << 40] {
            assert!(case(&device, &[("stride", stride), ("padding", 1)], "random").is_err());
        }
    }

    #[test]
    fn a_subgroup_size_that_varies_is_required() {
        let mut device = DeviceInfo::mock();
        let required = |device: &DeviceInfo| case(device, &[], "strided").unwrap().kernels[0].required_subgroup_size;
        assert_eq!(required(&device), None);
        device.subgroup.size_control = true;
        (device.subgroup.min_size, device.subgroup.max_workgroup_subgroups) = (8, 32);
        assert_eq!(required(&device), Some(32));
        device.subgroup.max_workgroup_subgroups = 4;
        assert_eq!(required(&device), None);
    }

    /// Rows of a device with 32 banks of 4 bytes.
    fn rows(local_size: u64, pattern: &'static str, subgroup_size: Option<u64>) -> Vec<Finished> {
        let row = |stride: u64| Finished {
            variant: String::new(),
            point: point(&[("stride", stride), ("local_size_x", local_size)], pattern),
            case_id: String::new(),
            cache: Cache::Warm,
            subgroup_size,
            time: 1000.0 * f64::from(1 << stride.trailing_zeros().min(5)),
            value: 1.0,
            ..Finished::default()
        };
        FEW_STRIDES.map(row).to_vec()
    }

    #[test]
    fn banks_are_told_for_each_sweep_along_the_stride() {
        let derived = derive(&[rows(64, "strided", Some(32)), rows(256, "strided", Some(32))].concat());
        let told: Vec<_> = derived.iter().map(|row| (row.point.integer("local_size_x"), row.variant, row.unit)).collect();
        assert_eq!(told, [(64, "count", "banks"), (64, "width", "B"), (256, "count", "banks"), (256, "width", "B")]);
        for pair in derived.chunks(2) {
            assert_eq!(pair[0].figure, Ok(Figure { value: 32.0, interval: None }));
            assert_eq!(pair[1].figure, Ok(Figure { value: 4.0, interval: None }));
            assert!(pair.iter().all(|row| row.experiment == "shared/banks" && row.note.contains("explain 100.0 %")));
            assert!(pair[0].point.get("stride").is_none());
        }
    }

    #[test]
    fn idle_lanes_do_not_conflict() {
        let note = |local_size| derive(&rows(local_size, "strided", Some(32)))[0].note.clone();
        assert!(note(32).contains("(subgroups of 32 lanes)"), "{}", note(32));
        assert!(!note(16).contains("(subgroups of 32 lanes)"), "{}", note(16));
    }

    #[test]
    fn without_what_banks_follow_from_the_rows_say_why() {
        let reason = |rows: &[Finished]| {
            let derived = derive(rows);
            assert_eq!(derived.len(), 2);
            derived[0].figure.clone().unwrap_err().to_string()
        };
        assert!(reason(&rows(256, "strided", None)).contains("the subgroup size isn't known"));
        assert!(reason(&rows(256, "random", Some(32))).contains("at least 8 strides are needed"));
        assert!(reason(&[]).contains("at least 8 strides are needed"));
        let mixed = [&rows(256, "strided", Some(32))[..4], &rows(256, "strided", Some(64))[4..]].concat();
        assert!(reason(&mixed).contains("{32, 64}"));
    }
}
