//! `memory/stride`: what does it cost to leave gaps between the words that neighbouring lanes touch?

use std::ops::Add;

use crate::experiments::common::prelude::*;
use crate::experiments::gcd;

pub const EXPERIMENT: Experiment = Experiment::of_memory("memory/stride", axes, build);

const OPS: &[&str] = &["read", "write"];

/// Sums of 64 words stay below 2^24, where every whole number is an exact f32.
const MAGNITUDE: u32 = 1 << 17;

/// Every device has so many workgroups along z, and z times the step stays within 32 bits.
const MOST: u64 = 65_535;

/// The sweeps, one for each first word.
#[derive(Clone, Copy)]
struct Sweeps {
    n: u64,
    stride: u64,
    step: u64,
    /// The words of the longest sweep. The others have one less, and the same grid.
    longest: Elements,
}

impl Sweeps {
    fn new(config: &Config) -> Result<Self, Skip> {
        let [n, stride] = ["n", "stride"].map(|axis| config.integer(axis));
        Ok(Self { n, stride, step: step(stride), longest: Elements::new(n.div_ceil(stride), config)? })
    }

    fn invocations(&self) -> u64 {
        self.longest.invocations() * self.stride
    }

    fn words(&self, invocation: u64) -> impl Iterator<Item = u64> + use<> {
        let of_sweep = self.longest.invocations();
        let (first, stride) = (self.first_word(invocation / of_sweep), self.stride);
        let count = self.count(first);
        self.longest.of(invocation % of_sweep).take_while(move |i| *i < count).map(move |i| i * stride + first)
    }

    /// The shader's functions of the same names, for the sweep of a z of the grid.
    fn first_word(&self, z: u64) -> u64 {
        z * self.step % self.stride
    }

    fn count(&self, first: u64) -> u64 {
        self.n / self.stride + u64::from(first < self.n % self.stride)
    }
}

/// From one sweep's first word to the next one's: without a common factor, so that all first words come up, and of those numbers
/// the nearest to the golden section of the stride, so that sweeps close in time are far apart in memory.
fn step(stride: u64) -> u64 {
    let golden = (stride * 618 + 500) / 1000;
    let mut near = (0..golden).flat_map(|distance| [golden - distance, golden + distance]);
    near.find(|step| gcd(*step, stride) == 1).unwrap_or(1)
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    // 512 MiB: ten times the last cache of a large GPU of today. Every strided write is read back whole and checked, so more
    // would cost more time than it is worth.
    let n = if quick { setting.by_class(1_u64 << 18, 1 << 27) } else { setting.by_class(1_u64 << 20, 1 << 27) };
    let strides = if quick { vec![1, 2, 8, 32] } else { (1..=32_u64).chain([40, 48, 56, 64, 80, 96, 112, 127, 128]).collect() };
    vec![
        Axis::new("op", "what is done", AxisKind::Choices(OPS), OPS.iter().copied()),
        Axis::new("stride", "words from one lane to the next", AxisKind::AtLeast(1), strides).relative_to(1_u64),
        Axis::new("n", "words of memory", AxisKind::AtLeast(1), [n]).of_work(),
        local_size_axis(setting),
        // On a GPU as many as it takes to make the sums of `read` few.
        Elements::unroll_axis("words per invocation", setting.by_class(8, 32)),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [n, stride] = ["n", "stride"].map(|axis| config.integer(axis));
    if stride > MOST {
        return Err(Skip::new(format!("maxComputeWorkGroupCount[2] is {MOST} on many devices, the case needs {stride}")));
    }
    let sweeps = Sweeps::new(config)?;
    let kernel = config.kernel("memory/stride.comp", &["stride", "unroll"]);
    let kernel = kernel.constant("STEP", Scalar::U32(u32_of(sweeps.step)?));
    let [x, y, _] = sweeps.longest.groups;
    let (groups, push) = ([x, y, config.u32("stride")], [config.u32("n")]);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let sums = if config.choice("op") == "read" {
        let (sums, a) = (sweeps.invocations(), Sequence::WholeFloats { seed: config.seed(), magnitude: MAGNITUDE });
        // Not sum(), whose neutral element is -0.0.
        let sum = move |i| sweeps.words(i).map(|word| a.float(word)).fold(0.0, f32::add);
        let resources = [case.output("sums", Expected::floats(sums, sum)), case.input("a", n, a)];
        case.run(kernel.define("READ", ""), &resources, groups, &push);
        sums
    } else {
        // Every word is written once, by whichever sweep.
        let resources = [case.output("c", Expected::words(n, written))];
        case.run(kernel, &resources, groups, &push);
        0
    };
    let work = Work { bytes: Some((n + sums) * 4), items: Some(n), ..Work::default() };
    Ok(case.bound(beyond_caches(n * 4)).build(work, Headline::BANDWIDTH))
}

#[expect(clippy::cast_possible_truncation, reason = "a buffer holds less than 2^32 words")]
fn written(word: u64) -> u32 {
    (word as u32).wrapping_mul(2_654_435_761) >> 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_take_every_word_once() {
        for (stride, n) in [(1_u64, 5_u64), (2, 8), (3, 1000), (37, 1000), (96, 1000), (128, 1000), (1000, 7)] {
            let longest = Elements::dealt(n.div_ceil(stride), 4, 2, 3).unwrap();
            let sweeps = Sweeps { n, stride, step: step(stride), longest };
            let mut taken: Vec<u64> = (0..sweeps.invocations()).flat_map(|i| sweeps.words(i)).collect();
            taken.sort_unstable();
            assert!(taken.into_iter().eq(0..n), "stride {stride} over {n}");
        }
    }

    /// What the description says of caches: before a sweep comes to a line that an earlier one was at, those in between have
    /// touched a third of the memory, whatever a line is.
    #[test]
    fn sweeps_come_back_to_a_line_late() {
        for (stride, line) in (1..=128_u64).flat_map(|stride| [8, 16, 32].map(|line| (stride, line))) {
            let apart = |sweeps: u64| (sweeps * step(stride) % stride).min(stride - sweeps * step(stride) % stride);
            let back = (1..=stride).find(|sweeps| apart(*sweeps) < line).unwrap();
            // A sweep touches a line with each word, or, where strides are shorter than a line, all lines.
            assert!(3 * back * line.min(stride) >= stride, "stride {stride}, line of {line} words: back after {back} sweeps");
        }
    }
}
