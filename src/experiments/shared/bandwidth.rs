//! `shared/bandwidth`: how fast does the whole device read and write workgroup memory?

use crate::experiments::{Built, CaseBuilder, Config, Experiment, Setting, local_size_axis, product};
use crate::model::{
    Axis, AxisKind, Bound, Case, DeviceKind, Headline, Kernel, Moved, Preset, Scalar, Sequence, Skip, Traffic, Work,
};
use crate::validate::Expected;

pub const EXPERIMENT: Experiment = Experiment { traffic, ..Experiment::new("shared/bandwidth", axes, build) };

/// The values of the shader's specialization constant, in this order.
const OPS: &[&str] = &["read", "write", "read_modify_write"];

/// Words that an invocation accesses in a burst.
const BURST_WORDS: u64 = 8;
const BURSTS: u32 = 4;
/// Places in the source where windows begin, one for each workgroup in turn.
const BEGINNINGS: u64 = 4;
/// What is pushed: bits with no pattern, by how many they are rotated, whose column is read, and what values grow by.
const FIRST_BITS: u32 = 0xB529_7A4D;
const TURN: u32 = 7;
const SKEW: u32 = 1;
const GROWTH: u32 = 0x9E37_79B9;

/// More would keep the twin busy for minutes.
const MOST_ITERATIONS: u64 = 1 << 20;

/// What a configuration stands for. Sizes that don't fit saturate: no device has that much.
#[derive(Clone, Copy)]
struct Shape<'a> {
    op: &'a str,
    /// Words per element.
    width: u64,
    /// Rows of the window, of an element for each invocation.
    rows: u64,
    local_size: u64,
    iterations: u64,
    groups: [u32; 3],
    /// Invocations of the whole grid.
    invocations: u64,
}

impl<'a> Shape<'a> {
    fn new(config: &Config<'a>) -> Self {
        let [width, local_size, iterations] = ["width", "local_size_x", "iterations"].map(|axis| config.integer(axis));
        let (groups, invocations) = config.grid(config.integer("groups"));
        let (op, rows) = (config.choice("op"), BURST_WORDS / width + 1);
        Self { op, width, rows, local_size, iterations, groups, invocations }
    }

    fn window_words(&self) -> u64 {
        self.rows * self.width * self.local_size
    }

    /// Words of the source, which all windows are filled from.
    fn source_words(&self) -> u64 {
        self.window_words() + (BEGINNINGS - 1) * self.width
    }

    /// Elements that all invocations access.
    fn accesses(&self) -> u64 {
        product([self.invocations, self.iterations, u64::from(BURSTS) * BURST_WORDS / self.width])
    }
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let ops = if quick { &OPS[..1] } else { OPS };
    let widths: &[u64] = if quick { &[4] } else { &[1, 2, 4] };
    // Eight waves of 2048 invocations on the largest devices of today; fewer where a pass would take too long.
    let groups = match setting.device.kind {
        DeviceKind::Integrated => 1056,
        _ => setting.by_class(4_u64, 8448),
    };
    let iterations = setting.by_class(16_u64, 256);
    vec![
        Axis::new("op", "what is done", AxisKind::Choices(OPS), ops.iter().copied()),
        Axis::new("width", "words per element", AxisKind::Numbers(&[1, 2, 4]), widths.iter().copied()),
        local_size_axis(setting),
        Axis::new("iterations", "times 32 words per invocation", AxisKind::AtLeast(1), [iterations])
            .up_to(MOST_ITERATIONS)
            .of_monotone_work(),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_monotone_work(),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let shape = Shape::new(config);
    let iterations = shape.iterations;
    let op = config.code("op", OPS);
    let kernel = Kernel::new("shared/bandwidth.comp", config.workgroup())
        .define("WIDTH", shape.width)
        .constant("OP", Scalar::U32(op))
        .constant("ITERATIONS", Scalar::U32(config.u32("iterations")));
    let source = Sequence::Words { seed: config.seed() };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [
        case.output("results", Expected::words_from(shape.invocations, move || results(shape, source))),
        case.input("source", shape.source_words(), source),
    ];
    case.run(kernel, &resources, shape.groups, &[FIRST_BITS, TURN, SKEW, GROWTH]);
    let ways = if shape.op == "read_modify_write" { 2 } else { 1 };
    let bytes = product([shape.accesses(), 4 * ways * shape.width]);
    let work = Work { bytes: Some(bytes), items: Some(shape.accesses()), ..Work::default() };
    Ok(case.bound(Some(Bound::Shared)).iterations(iterations).build(work, Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    // A window is filled before the loop, and what was written there is read back behind it.
    let width = case.point.integer("width");
    let window = 4 * width * (BURST_WORDS / width + 1);
    let written = Moved { shared_written: 1, ..Moved::NONE };
    let (counted, uncounted) = match case.point.choice("op") {
        "read" => (Moved::SHARED_READ, 0),
        "write" => (written, window),
        _ => (Moved { shared_read: 1, ..written }, 2 * window),
    };
    Ok(vec![Traffic { counted, uncounted, loops: vec![case.point.integer("iterations")], ..Traffic::usual(case) }])
}

#[expect(clippy::cast_possible_truncation, reason = "workgroup memory has far fewer words than usize can count")]
fn index(i: u64) -> usize {
    i as usize
}

/// What each invocation writes. Workgroups that begin at the same place have the same results.
fn results(shape: Shape, source: Sequence) -> impl Fn(u64) -> u32 + Send + Sync {
    let (twin, local_size) = (Twin::new(shape, source), shape.local_size);
    let results: Vec<u32> = (0..BEGINNINGS)
        .flat_map(|begin| (0..local_size).map(move |column| (begin, column)))
        .map(|(begin, column)| twin.result(begin, column))
        .collect();
    move |i| results[index(i / local_size % BEGINNINGS * local_size + i % local_size)]
}

/// The shader, for one column of the window at a time.
struct Twin<'a> {
    shape: Shape<'a>,
    /// The words of the source.
    source: Vec<u32>,
    /// Of each iteration, how many bursts begin at the second row.
    late: Vec<u32>,
    /// Of each row, what all bursts together leave there.
    touched: Vec<Touched>,
}

/// What bursts did to a row: which was the last, how many there were, and the sum of their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Touched {
    last: Option<u32>,
    count: u32,
    sum: u32,
}

impl<'a> Twin<'a> {
    fn new(shape: Shape<'a>, source: Sequence) -> Self {
        let mut late = Vec::new();
        let mut touched = vec![Touched::default(); index(shape.rows)];
        let (mut bits, mut number) = (FIRST_BITS, 0_u32);
        for _ in 0..shape.iterations {
            late.push((bits & ((1 << BURSTS) - 1)).count_ones());
            for burst in 0..BURSTS {
                let first = index(u64::from((bits >> burst) & 1));
                for row in &mut touched[first..first + index(shape.rows - 1)] {
                    *row = Touched { last: Some(number), count: row.count + 1, sum: row.sum.wrapping_add(number) };
                }
                number += 1;
            }
            bits = bits.rotate_left(TURN);
        }
        let source = (0..shape.source_words()).map(|i| source.word(i)).collect();
        Self { shape, source, late, touched }
    }

    fn result(&self, begin: u64, own: u64) -> u32 {
        let element = |row: u64, column: u64| {
            let first = index((begin + row * self.shape.local_size + column) * self.shape.width);
            &self.source[first..first + index(self.shape.width)]
        };
        if self.shape.op == "read" {
            let column = (own + u64::from(SKEW)) % self.shape.local_size;
            let all = |from: u64| (from..from + self.shape.rows - 1).map(|row| mix(element(row, column).iter().copied()));
            let [early, late] = [0, 1].map(|from| all(from).fold(0, u32::wrapping_add));
            let sum = |count: u32| early.wrapping_mul(BURSTS - count).wrapping_add(late.wrapping_mul(count));
            return self.late.iter().fold(0, |result: u32, count| result.wrapping_mul(3).wrapping_add(sum(*count)));
        }
        let value = element(0, own);
        let left = |row: u64| {
            let touched = self.touched[index(row)];
            let words = element(row, own).iter().zip(value).map(|(before, value)| self.left(*before, *value, touched));
            mix(words)
        };
        (0..self.shape.rows).map(left).fold(0, |result: u32, left| result.wrapping_mul(3).wrapping_add(left))
    }

    /// What is left of a word, where the first burst's value is this one.
    fn left(&self, before: u32, value: u32, touched: Touched) -> u32 {
        match (self.shape.op, touched.last) {
            (_, None) => before,
            ("write", Some(last)) => value.wrapping_add(last.wrapping_mul(GROWTH)),
            _ => before.wrapping_add(value.wrapping_mul(touched.count)).wrapping_add(touched.sum.wrapping_mul(GROWTH)),
        }
    }
}

fn mix(words: impl Iterator<Item = u32>) -> u32 {
    words.zip([1, 3, 5, 7]).fold(0, |mixed: u32, (word, factor)| mixed.wrapping_add(word.wrapping_mul(factor)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceInfo, Point};

    fn setting(device: &DeviceInfo) -> Setting<'_> {
        Setting { queue: None, device, preset: Preset::Quick, seed: 1 }
    }

    fn point(op: &'static str, width: u64, iterations: u64) -> Point {
        let numbers = [("width", width), ("local_size_x", 5), ("iterations", iterations), ("groups", 6)];
        let numbers = numbers.map(|(name, value)| (name.into(), value.into()));
        Point::new([("op".into(), op.into())].into_iter().chain(numbers))
    }

    /// The shader, burst by burst, for all columns at once.
    fn one_by_one(shape: Shape, source: Sequence, begin: u64) -> Vec<u32> {
        let (op, local_size, width) = (shape.op, index(shape.local_size), index(shape.width));
        let words = index(shape.window_words());
        let mut window: Vec<u32> = (0..words).map(|i| source.word(begin * shape.width + i as u64)).collect();
        let values = window[..local_size * width].to_vec();
        let mut results = vec![0_u32; local_size];
        let (mut bits, mut number) = (FIRST_BITS, 0_u32);
        for _ in 0..shape.iterations {
            let mut sums = vec![0_u32; local_size];
            for burst in 0..BURSTS {
                for (column, row) in (0..local_size).flat_map(|column| (0..8 / width).map(move |row| (column, row))) {
                    let read = if op == "read" { (column + 1) % local_size } else { column };
                    let first = ((row + ((bits >> burst) & 1) as usize) * local_size + read) * width;
                    for word in 0..width {
                        let value = values[column * width + word].wrapping_add(number.wrapping_mul(GROWTH));
                        match op {
                            "read" => {
                                let factor = [1, 3, 5, 7][word];
                                sums[column] = sums[column].wrapping_add(window[first + word].wrapping_mul(factor));
                            }
                            "write" => window[first + word] = value,
                            _ => window[first + word] = window[first + word].wrapping_add(value),
                        }
                    }
                }
                number += 1;
            }
            results.iter_mut().zip(sums).for_each(|(result, sum)| *result = result.wrapping_mul(3).wrapping_add(sum));
            bits = bits.rotate_left(TURN);
        }
        if op == "read" {
            return results;
        }
        let mixed = |column: usize, row: usize| {
            let first = (row * local_size + column) * width;
            mix(window[first..first + width].iter().copied())
        };
        let rows = |column| (0..index(shape.rows)).fold(0_u32, |sum, row| sum.wrapping_mul(3).wrapping_add(mixed(column, row)));
        (0..local_size).map(rows).collect()
    }

    #[test]
    fn the_twin_leaves_what_all_bursts_do() {
        let device = DeviceInfo::mock();
        let setting = setting(&device);
        for (op, width, iterations) in
            OPS.iter().flat_map(|op| [1, 2, 4].into_iter().flat_map(move |width| [1, 2, 33].map(|count| (*op, width, count))))
        {
            let point = point(op, width, iterations);
            let config = Config::new("", &point, &setting);
            let built = build(&config).unwrap();
            let (shape, source) = (Shape::new(&config), built.case.resources[1].sequence());
            let bytes = built.expected()[0].bytes();
            let words: Vec<u32> = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
            let expected: Vec<u32> = (0..6).flat_map(|group| one_by_one(shape, source, group % BEGINNINGS)).collect();
            assert_eq!(words, expected, "{op} {width} {iterations}");
        }
    }

    #[test]
    fn bursts_begin_at_both_rows() {
        // Else a compiler that guesses would be right, and a row would never be touched.
        let device = DeviceInfo::mock();
        let (point, setting) = (point("write", 1, 8), setting(&device));
        let shape = Shape::new(&Config::new("", &point, &setting));
        let touched = Twin::new(shape, Sequence::Words { seed: 1 }).touched;
        assert!(touched[0].count > 8 && touched[8].count > 8 && touched[1].count == 32, "{touched:?}");
        assert!(touched.iter().all(|row| row.last >= Some(24)));
    }
}
