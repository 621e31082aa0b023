//! `shared/bank_conflict`: what does it cost when lanes read workgroup memory from the same bank, and how many banks are there?

mod inference;

use std::collections::BTreeSet;

use crate::experiments::common::elements::{chained, mixed};
use crate::experiments::common::prelude::*;
use crate::experiments::common::sweep::{Telling, grouped};
use crate::experiments::common::windows::{self, BEGINNINGS, index};
use crate::experiments::scramble;
use crate::model::{AxisValue, DerivedFigures, Expectation, Figure, MOST_NUMBER, NoFigure, Plot, Plotted};
use inference::{Candidate, Finding, infer};

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[BANKS],
    derive,
    plot: Some(PLOT),
    traffic: |case| windows::reads(case, case.point.integer("iterations")),
    ..Experiment::new("shared/bank_conflict", axes, build)
};

choices! {
    enum Pattern {
        Strided = "strided",
        Broadcast = "broadcast",
        Reversed = "reversed",
        Xor = "xor",
        Random = "random",
    }
}

const BANKS: &str = "shared/banks";

/// The few strides that a quick run takes: powers of two, where banks conflict, and neighbours of some, where they don't.
const FEW_STRIDES: [u64; 9] = [1, 2, 3, 4, 8, 16, 32, 33, 64];

const LOADS: usize = 16;
const SHIFTS: u32 = 8;
/// The shift of the first iteration, and from one to the next: odd, so that all are taken in turn.
const FIRST_SHIFT: u32 = 5;
const SHIFT_STEP: u32 = 3;

/// More would keep the twin busy for minutes.
const MOST_ITERATIONS: u64 = 1 << 20;

/// No device has larger subgroups.
const MOST_LANES: u64 = 128;

/// What all invocations load. Sizes of the grid that don't fit saturate: no device has that much.
#[derive(Clone, Copy)]
struct Reads {
    pattern: Pattern,
    /// Words per element.
    width: u64,
    lanes: u32,
    /// Elements from lane to lane, padding included.
    row: u32,
    /// Elements of the window that all subgroups of a workgroup read.
    elements: u32,
    local_size: u64,
    /// Times `LOADS` loads of an invocation.
    iterations: u32,
    groups: [u32; 3],
    invocations: u64,
}

impl Reads {
    fn new(config: &Config) -> Result<Self, Skip> {
        let [width, local_size] = ["width", "local_size_x"].map(|axis| config.integer(axis));
        let lanes = lanes(config.device());
        let row = config.integer("stride") + config.integer("padding");
        let pattern = Pattern::of(config.choice("pattern"));
        let reach = match pattern {
            Pattern::Broadcast => 1,
            Pattern::Strided | Pattern::Reversed => u64::from(lanes - 1) * row + 1,
            Pattern::Xor | Pattern::Random => u64::from(lanes) * row,
        };
        let elements = reach + u64::from(SHIFTS - 1) + (LOADS - 1) as u64;
        // The plan sees the size as well, but only once the kernel is compiled with numbers of 32 bits.
        let (bytes, limit) = (elements * 4 * width, config.device().limits.shared_bytes);
        if bytes > limit.into() {
            return Err(Skip::new(format!("maxComputeSharedMemorySize is {limit}, the case needs {bytes}")));
        }
        let [row, elements, iterations] = [row, elements, config.integer("iterations")].map(u32_of);
        let (row, elements, iterations) = (row?, elements?, iterations?);
        let (groups, invocations) = config.grid(config.integer("groups"));
        Ok(Self { pattern, width, lanes, row, elements, local_size, iterations, groups, invocations })
    }

    /// Words of the source, which all windows are filled from.
    fn source_words(&self) -> u64 {
        (u64::from(self.elements) + BEGINNINGS - 1) * self.width
    }

    /// The element of the window that a lane's loads begin at, but for the shift.
    fn place(&self, lane: u32, shift: u32) -> u32 {
        let block = 1 << self.row.ilog2();
        match self.pattern {
            Pattern::Strided => lane * self.row,
            Pattern::Broadcast => 0,
            Pattern::Reversed => (self.lanes - 1 - lane) * self.row,
            Pattern::Xor => lane * self.row + ((lane ^ shift) & (block - 1)),
            Pattern::Random => lane * self.row + (((scramble(lane * SHIFTS + shift) >> 16) * self.row) >> 16),
        }
    }
}

fn derive(rows: &[Finished]) -> Vec<Derived> {
    // What the inference has fixed, or runs along.
    let along = ["pattern", "width", "padding", "stride"];
    let sweeps = grouped(rows.iter().filter(|row| tells_banks(&row.point)), &along);
    sweeps.iter().flat_map(|(point, rows)| banks(point, &finding(rows))).collect()
}

const PLOT: Plot = {
    let expected = Expectation { experiment: BANKS, name: "the busiest bank's words", of: expected_slow_down };
    Plot { of: Plotted::SlowDown, expected: Some(expected), ..Plot::over("stride") }
};

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let thorough = setting.preset == Preset::Thorough;
    let strides: Vec<u64> = if quick { FEW_STRIDES.to_vec() } else { (1..=64).collect() };
    let patterns = if thorough { Pattern::ALL } else { &Pattern::ALL[..1] };
    // Where workgroup memory is a processor's cache, wider elements have little to add to 64 strides.
    let one_width = quick || (!thorough && setting.device.is_cpu());
    let widths: &[u64] = if one_width { &[1] } else { &[1, 2, 4] };
    let paddings: &[u64] = if thorough { &[0, 1] } else { &[0] };
    vec![
        Pattern::axis("pattern", "what the lanes of a subgroup read", patterns).relative_to("strided"),
        Axis::new("width", "words per element", AxisKind::Numbers(&[1, 2, 4]), widths.iter().copied()),
        Axis::new("padding", "elements added to the stride", AxisKind::Numbers(&[0, 1]), paddings.iter().copied())
            .relative_to(0_u64),
        Axis::new("stride", "elements from lane to lane", AxisKind::AtLeast(1), strides).relative_to(1_u64),
        local_size_axis(setting),
        loop_axis("iterations", "times 16 loads per invocation", [64], MOST_ITERATIONS),
        windows::groups_axis(setting),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let reads = Reads::new(config)?;
    let Reads { pattern, width, lanes, elements, local_size, iterations, groups, invocations, .. } = reads;
    let mut kernel = config
        .kernel("shared/bank_conflict.comp", &["iterations"])
        .define("WIDTH", width)
        .constant("PATTERN", Scalar::U32(pattern.code()))
        .constant("LANES", Scalar::U32(lanes))
        .constant("ROW", Scalar::U32(reads.row))
        .constant("ELEMENTS", Scalar::U32(elements));
    kernel.required_subgroup_size = size_to_require(config.device(), local_size);
    let source = Sequence::Words { seed: config.seed() };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [
        case.output("results", Expected::words_from(invocations, move || results(reads, source))),
        case.input("source", reads.source_words(), source),
    ];
    case.run(kernel, &resources, groups, &[FIRST_SHIFT, SHIFT_STEP]);
    let loads = product([invocations, iterations.into(), LOADS as u64]);
    // One access serves all lanes of a broadcast: what they get may exceed what the memory gives.
    let bound = (pattern != Pattern::Broadcast).then_some(Bound::Shared);
    let iterations = u64::from(iterations) + u64::from(elements).div_ceil(local_size);
    let work = Work { bytes: Some(product([loads, 4 * width])), items: Some(loads), ..Work::default() };
    Ok(case.bound(bound).iterations(iterations).build(work, Headline::BANDWIDTH))
}

/// What each invocation writes. The subgroups of a workgroup have the same results.
#[expect(clippy::cast_possible_truncation, reason = "subgroups have few lanes")]
fn results(reads: Reads, source: Sequence) -> impl Fn(u64) -> u32 + Send + Sync {
    let source: Vec<u32> = (0..reads.source_words()).map(|i| source.word(i)).collect();
    let mixed: Vec<u32> = source.chunks(index(reads.width)).map(|words| mixed(words.iter().copied())).collect();
    // The sum of the mixed is the mixed sum.
    let sum = |first: usize| mixed[first..first + LOADS].iter().copied().fold(0, u32::wrapping_add);
    let result = |begin, lane: u64| {
        let shift = |iteration| (FIRST_SHIFT + iteration % SHIFTS * SHIFT_STEP) % SHIFTS;
        let first = |shift| index(begin) + (reads.place(lane as u32, shift) + shift) as usize;
        chained((0..reads.iterations).map(|iteration| sum(first(shift(iteration)))))
    };
    windows::results(reads.local_size, reads.lanes.into(), &result)
}

/// Whether a row is one of those that banks are inferred from: lanes a stride of single words apart, and nothing else between them.
fn tells_banks(point: &Point) -> bool {
    point.choice("pattern") == Pattern::Strided.word() && point.integer("padding") == 0 && point.integer("width") == 1
}

/// How many times as long a stride takes as neighbours do, where the busiest bank alone decides: what the inference fits, without
/// what a device hides of it. Rows may be anybody's: what no case of this experiment is has no expectation.
fn expected_slow_down(point: &Point, lanes: u64, banks: DerivedFigures) -> Option<f64> {
    let number = |axis: &str| match point.get(axis) {
        Some(AxisValue::Integer(n)) => Some(*n),
        _ => None,
    };
    let is_strided = point.get("pattern") == Some(&Pattern::Strided.word().into());
    let is_alone = number("padding") == Some(0) && number("width") == Some(1);
    let (stride, lanes) = (number("stride")?, lanes.min(number("local_size_x")?));
    let candidate = Candidate::of(banks("count")?, banks("width")?)?;
    (is_strided && is_alone && lanes <= MOST_LANES && stride <= MOST_NUMBER).then(|| candidate.slow_down(lanes, stride))
}

/// What the rows of one sweep along the stride tell of banks.
fn finding(rows: &[&Finished]) -> Result<Finding, NoFigure> {
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
fn banks(point: &Point, found: &Result<Finding, NoFigure>) -> [Derived; 2] {
    let note = found.as_ref().map_or("", |finding| &finding.note);
    let telling = Telling { experiment: BANKS, point, note };
    let figure = |of: fn(&Finding) -> Result<u64, NoFigure>| {
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let figure = |value: u64| Figure { value: value as f64, interval: None };
        found.as_ref().map_err(NoFigure::clone).and_then(of).map(figure)
    };
    [
        telling.row("count", ["banks", "banks", ""], figure(Finding::banks)),
        telling.row("width", ["bank_width", "B", ""], figure(Finding::width)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::rows::untold;
    use crate::experiments::common::testing::{case, point, quick, reason, with};
    use crate::model::DeviceInfo;

    fn reads(told: &str) -> Reads {
        with(&EXPERIMENT, "", quick(&DeviceInfo::mock()), told, Reads::new).unwrap()
    }

    #[test]
    fn lanes_read_distinct_elements_within_the_window() {
        for (pattern, stride) in
            Pattern::ALL.iter().flat_map(|pattern| [1, 2, 3, 31, 32, 33, 48, 64].map(|stride| (*pattern, stride)))
        {
            let reads = reads(&format!("pattern={} stride={stride}", pattern.word()));
            for shift in 0..SHIFTS {
                let places: BTreeSet<u32> = (0..reads.lanes).map(|lane| reads.place(lane, shift)).collect();
                let end = places.last().unwrap() + SHIFTS + u32::try_from(LOADS).unwrap() - 1;
                let (lanes, is_exact) = match pattern {
                    Pattern::Broadcast => (1, true),
                    Pattern::Strided | Pattern::Reversed => (32, true),
                    Pattern::Xor | Pattern::Random => (32, false),
                };
                assert_eq!(places.len(), lanes, "{pattern:?} {stride}");
                assert!(end == reads.elements || end < reads.elements && !is_exact, "{pattern:?} {stride}");
            }
        }
    }

    #[test]
    fn an_xor_swizzle_leaves_no_conflict_where_the_stride_is_the_number_of_banks() {
        let reads = reads("pattern=xor stride=32");
        for shift in 0..SHIFTS {
            let banks: BTreeSet<u32> = (0..32).map(|lane| reads.place(lane, shift) % 32).collect();
            assert_eq!(banks.len(), 32);
        }
    }

    #[test]
    fn a_window_beyond_the_limit_is_skipped() {
        for (told, bytes) in [
            ("stride=100 width=4", 49_968),
            ("stride=4294967296 padding=1 pattern=random", 549_755_814_104_u64),
            ("stride=1099511627776 padding=1 pattern=random", 140_737_488_355_544),
        ] {
            let why = format!("maxComputeSharedMemorySize is 49152, the case needs {bytes}");
            assert_eq!(reason(&EXPERIMENT, "", quick(&DeviceInfo::mock()), told), why);
        }
    }

    #[test]
    fn a_subgroup_size_that_varies_is_required() {
        let mut device = DeviceInfo::mock();
        let required = |device: &DeviceInfo| {
            let case = case(&EXPERIMENT, "", quick(device), "local_size_x=256").unwrap();
            case.kernels.iter().map(|kernel| kernel.required_subgroup_size).collect::<Vec<_>>()
        };
        assert_eq!(required(&device), [None]);
        device.subgroup.size_control = true;
        (device.subgroup.min_size, device.subgroup.max_workgroup_subgroups) = (8, 32);
        assert_eq!(required(&device), [Some(32)]);
    }

    /// Rows of a device with 32 banks of 4 bytes.
    fn rows(local_size: u64, pattern: Pattern, subgroup_size: Option<u64>) -> Vec<Finished> {
        let row = |stride: u64| Finished {
            point: point(&format!("pattern={} width=1 padding=0 stride={stride} local_size_x={local_size}", pattern.word())),
            subgroup_size,
            time: 1000.0 * f64::from(1 << stride.trailing_zeros().min(5)),
            ..Finished::default()
        };
        FEW_STRIDES.map(row).to_vec()
    }

    #[test]
    fn banks_are_told_for_each_sweep_along_the_stride() {
        let derived = derive(&[64, 256].map(|local_size| rows(local_size, Pattern::Strided, Some(32))).concat());
        let told: Vec<_> = derived.iter().map(|row| (row.point.to_string(), row.variant, row.unit)).collect();
        let points = ["local_size_x=64".to_owned(), "local_size_x=256".to_owned()];
        assert_eq!(told, points.map(|point| [(point.clone(), "count", "banks"), (point, "width", "B")]).concat());
        for pair in derived.chunks(2) {
            assert_eq!(pair[0].figure, Ok(Figure { value: 32.0, interval: None }));
            assert_eq!(pair[1].figure, Ok(Figure { value: 4.0, interval: None }));
            assert!(pair.iter().all(|row| row.experiment == "shared/banks" && row.note.contains("explain 100.0 %")));
        }
    }

    #[test]
    fn idle_lanes_do_not_conflict() {
        let note = |local_size| derive(&rows(local_size, Pattern::Strided, Some(32)))[0].note.clone();
        assert!(note(32).contains("(subgroups of 32 lanes)"), "{}", note(32));
        assert!(!note(16).contains("(subgroups of 32 lanes)"), "{}", note(16));
    }

    #[test]
    fn without_what_banks_follow_from_the_rows_say_why() {
        let strided = |lanes| rows(256, Pattern::Strided, lanes);
        for (rows, why) in [
            (strided(None), "the subgroup size isn't known"),
            (rows(256, Pattern::Random, Some(32)), "at least 8 strides are needed"),
            (Vec::new(), "at least 8 strides are needed"),
            ([&strided(Some(32))[..4], &strided(Some(64))[4..]].concat(), "{32, 64}"),
        ] {
            let derived = derive(&rows);
            assert!(derived.len() == 2 && untold(&derived[0]).contains(why), "{derived:?}");
        }
    }
}
