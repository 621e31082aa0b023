//! `shared/bandwidth`: how fast does the whole device read and write workgroup memory?

use crate::experiments::common::elements::{chained, mixed};
use crate::experiments::common::prelude::*;
use crate::experiments::common::windows::{self, BEGINNINGS, index};

pub const EXPERIMENT: Experiment = Experiment { traffic, ..Experiment::new("shared/bandwidth", axes, build) };

choices! { enum Op { Read = "read", Write = "write", ReadModifyWrite = "read_modify_write" } }

/// Words that an invocation accesses in a burst.
const BURST_WORDS: u64 = 8;
const BURSTS: u32 = 4;
/// What is pushed: bits with no pattern, by how many they are rotated, whose column is read, and what values grow by.
const FIRST_BITS: u32 = 0xB529_7A4D;
const TURN: u32 = 7;
const SKEW: u32 = 1;
const GROWTH: u32 = 0x9E37_79B9;

/// More would keep the twin busy for minutes.
const MOST_ITERATIONS: u64 = 1 << 20;

/// What all invocations do. Sizes that don't fit saturate: no device has that much.
#[derive(Clone, Copy)]
struct Bursts {
    op: Op,
    /// Words per element.
    width: u64,
    /// Rows of the window, of an element for each invocation.
    rows: u64,
    local_size: u64,
    iterations: u64,
    groups: [u32; 3],
    invocations: u64,
}

impl Bursts {
    fn new(config: &Config) -> Self {
        let [width, local_size, iterations] = ["width", "local_size_x", "iterations"].map(|axis| config.integer(axis));
        let (groups, invocations) = config.grid(config.integer("groups"));
        let (op, rows) = (Op::of(config.choice("op")), BURST_WORDS / width + 1);
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
    let ops = if quick { &Op::ALL[..1] } else { Op::ALL };
    let widths: &[u64] = if quick { &[4] } else { &[1, 2, 4] };
    let iterations = setting.by_class(16_u64, 256);
    vec![
        Op::axis("op", "what is done", ops),
        Axis::new("width", "words per element", AxisKind::Numbers(&[1, 2, 4]), widths.iter().copied()),
        local_size_axis(setting),
        loop_axis("iterations", "times 32 words per invocation", [iterations], MOST_ITERATIONS),
        windows::groups_axis(setting),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let bursts = Bursts::new(config);
    let kernel = config.kernel("shared/bandwidth.comp", &["iterations"]);
    let kernel = kernel.define("WIDTH", bursts.width).constant("OP", Scalar::U32(bursts.op.code()));
    let source = Sequence::Words { seed: config.seed() };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [
        case.output("results", Expected::words_from(bursts.invocations, move || results(bursts, source))),
        case.input("source", bursts.source_words(), source),
    ];
    case.run(kernel, &resources, bursts.groups, &[FIRST_BITS, TURN, SKEW, GROWTH]);
    let ways = match bursts.op {
        Op::Read | Op::Write => 1,
        Op::ReadModifyWrite => 2,
    };
    let bytes = product([bursts.accesses(), 4 * ways * bursts.width]);
    let work = Work { bytes: Some(bytes), items: Some(bursts.accesses()), ..Work::default() };
    Ok(case.bound(Some(Bound::Shared)).iterations(bursts.iterations).build(work, Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    // A window is filled before the loop, and what was written there is read back behind it.
    let width = case.point.integer("width");
    let window = 4 * width * (BURST_WORDS / width + 1);
    let written = Moved { shared_written: 1, ..Moved::NONE };
    let (counted, uncounted) = match Op::of(case.point.choice("op")) {
        Op::Read => (Moved::SHARED_READ, 0),
        Op::Write => (written, window),
        Op::ReadModifyWrite => (Moved { shared_read: 1, ..written }, 2 * window),
    };
    Ok(vec![Traffic { counted, uncounted, loops: vec![case.point.integer("iterations")], ..Traffic::usual(case) }])
}

/// What each invocation writes.
fn results(bursts: Bursts, source: Sequence) -> impl Fn(u64) -> u32 + Send + Sync {
    let twin = Twin::new(bursts, source);
    windows::results(bursts.local_size, bursts.local_size, &|begin, column| twin.result(begin, column))
}

/// The shader, for one column of the window at a time.
struct Twin {
    bursts: Bursts,
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

impl Twin {
    fn new(bursts: Bursts, source: Sequence) -> Self {
        let mut late = Vec::new();
        let mut touched = vec![Touched::default(); index(bursts.rows)];
        let (mut bits, mut number) = (FIRST_BITS, 0_u32);
        for _ in 0..bursts.iterations {
            late.push((bits & ((1 << BURSTS) - 1)).count_ones());
            for burst in 0..BURSTS {
                let first = index(u64::from((bits >> burst) & 1));
                for row in &mut touched[first..first + index(bursts.rows - 1)] {
                    *row = Touched { last: Some(number), count: row.count + 1, sum: row.sum.wrapping_add(number) };
                }
                number += 1;
            }
            bits = bits.rotate_left(TURN);
        }
        let source = (0..bursts.source_words()).map(|i| source.word(i)).collect();
        Self { bursts, source, late, touched }
    }

    fn result(&self, begin: u64, own: u64) -> u32 {
        let element = |row: u64, column: u64| {
            let first = index((begin + row * self.bursts.local_size + column) * self.bursts.width);
            &self.source[first..first + index(self.bursts.width)]
        };
        if self.bursts.op == Op::Read {
            let column = (own + u64::from(SKEW)) % self.bursts.local_size;
            let all = |from: u64| (from..from + self.bursts.rows - 1).map(|row| mixed(element(row, column).iter().copied()));
            let [early, late] = [0, 1].map(|from| all(from).fold(0, u32::wrapping_add));
            let sum = |count: u32| early.wrapping_mul(BURSTS - count).wrapping_add(late.wrapping_mul(count));
            return chained(self.late.iter().map(|count| sum(*count)));
        }
        let value = element(0, own);
        let left = |row: u64| {
            let touched = self.touched[index(row)];
            mixed(element(row, own).iter().zip(value).map(|(before, value)| self.left(*before, *value, touched)))
        };
        chained((0..self.bursts.rows).map(left))
    }

    /// What is left of a word, where the first burst's value is this one.
    fn left(&self, before: u32, value: u32, touched: Touched) -> u32 {
        match (self.bursts.op, touched.last) {
            (Op::Read, _) | (_, None) => before,
            (Op::Write, Some(last)) => value.wrapping_add(last.wrapping_mul(GROWTH)),
            (Op::ReadModifyWrite, Some(_)) => {
                before.wrapping_add(value.wrapping_mul(touched.count)).wrapping_add(touched.sum.wrapping_mul(GROWTH))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{built, bytes, input, quick, with};
    use crate::model::DeviceInfo;

    /// The shader, burst by burst, for all columns at once.
    fn one_by_one(bursts: Bursts, source: Sequence, begin: u64) -> Vec<u32> {
        let [local_size, width] = [bursts.local_size, bursts.width].map(index);
        let mut window: Vec<u32> = (0..bursts.window_words()).map(|i| source.word(begin * bursts.width + i)).collect();
        let values = window[..local_size * width].to_vec();
        let mut results = vec![0_u32; local_size];
        let (mut bits, mut number) = (FIRST_BITS, 0_u32);
        for _ in 0..bursts.iterations {
            let mut sums = vec![0_u32; local_size];
            for burst in 0..BURSTS {
                for (column, row) in (0..local_size).flat_map(|column| (0..8 / width).map(move |row| (column, row))) {
                    let accessed = if bursts.op == Op::Read { (column + 1) % local_size } else { column };
                    let first = ((row + index(u64::from((bits >> burst) & 1))) * local_size + accessed) * width;
                    for word in 0..width {
                        let value = values[column * width + word].wrapping_add(number.wrapping_mul(GROWTH));
                        let at = &mut window[first + word];
                        match bursts.op {
                            Op::Read => sums[column] = sums[column].wrapping_add(at.wrapping_mul([1, 3, 5, 7][word])),
                            Op::Write => *at = value,
                            Op::ReadModifyWrite => *at = at.wrapping_add(value),
                        }
                    }
                }
                number += 1;
            }
            results.iter_mut().zip(sums).for_each(|(result, sum)| *result = result.wrapping_mul(3).wrapping_add(sum));
            bits = bits.rotate_left(TURN);
        }
        if bursts.op == Op::Read {
            return results;
        }
        let rows = |column| window.chunks_exact(width).skip(column).step_by(local_size);
        (0..local_size).map(|column| chained(rows(column).map(|words| mixed(words.iter().copied())))).collect()
    }

    #[test]
    fn the_twin_leaves_what_all_bursts_do() {
        let cases = Op::WORDS.iter().flat_map(|op| [1, 2, 4].map(|width| (op, width)));
        for (op, width, iterations) in cases.flat_map(|(op, width)| [1, 2, 33].map(|iterations| (op, width, iterations))) {
            let told = format!("op={op} width={width} local_size_x=5 iterations={iterations} groups=6");
            let (device, of) = (DeviceInfo::mock(), |built: Built| (built.expected()[0].bytes(), input(&built.case, "source")));
            let bursts = with(&EXPERIMENT, "", quick(&device), &told, Bursts::new);
            let (left, source) = built(&EXPERIMENT, "", quick(&device), &told, of).unwrap();
            let words: Vec<u32> = (0..6).flat_map(|group| one_by_one(bursts, source, group % BEGINNINGS)).collect();
            assert_eq!(left, bytes(&words), "{told}");
        }
    }

    /// Else a compiler that guesses would be right, and a row would never be touched.
    #[test]
    fn bursts_begin_at_both_rows() {
        let told = "op=write width=1 local_size_x=5 iterations=8 groups=6";
        let bursts = with(&EXPERIMENT, "", quick(&DeviceInfo::mock()), told, Bursts::new);
        let touched = Twin::new(bursts, Sequence::Words { seed: 1 }).touched;
        assert!(touched[0].count > 8 && touched[8].count > 8 && touched[1].count == 32, "{touched:?}");
        assert!(touched.iter().all(|row| row.last >= Some(24)));
    }
}
