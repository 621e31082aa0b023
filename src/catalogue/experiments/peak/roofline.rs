//! `peak/roofline`: what does a kernel reach that computes so much with every byte it reads?

use crate::experiments::common::prelude::*;
use crate::experiments::common::sweep::grouped;
use crate::model::{Figure, NoFigure};

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[RIDGE],
    derive,
    peak_kind: Some("fp32"),
    repeatability: |_| Repeatability::Memory,
    traffic,
    ..Experiment::new("peak/roofline", axes, build)
};

const RIDGE: &str = "peak/ridge";

const ELEMENT_BYTES: u64 = 16;

/// From an eighth to 256 for each byte.
const FLOPS: &[u64] = &[2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// Flops of a pair of multiply-adds with all four components.
const PAIR_FLOPS: u64 = 16;

/// Pairs that are unrolled: beside their 256 multiply-adds the loop's own instructions are few.
const UNROLLED_PAIRS: u64 = 32;

/// Pairs up to which those with all elements of an invocation are unrolled, all loads before them. With more, what one element takes
/// hides the load of the next ones, and code would grow beyond the caches of instructions.
const UNLOOPED_PAIRS: u32 = 8;

/// Flops for each element from which no device of today waits for memory.
const COMPUTES: u64 = 1024;

/// Each element adds as much at most: sums of 64 stay below 2^24, where every whole number is an exact f32.
const MAGNITUDE: u32 = 1 << 15;

/// At the ends of a sweep, one of the two is the limit if the other gives at most this share of its best.
const LOW: f64 = 0.5;

/// With it, sums stay small: see the shader.
const FACTOR: f32 = -1.0;

fn derive(rows: &[Finished]) -> Vec<Derived> {
    let sweeps = grouped(rows, &["flops_per_16_bytes"]);
    sweeps.into_iter().map(|(point, rows)| ridge_row(point, &rows)).collect()
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let n = if quick { setting.by_class(1_u64 << 16, 1 << 26) } else { setting.by_class(1 << 18, 1 << 28) };
    let flops = if quick { setting.by_class(vec![2, 64, 512], vec![2, 256, 2048]) } else { FLOPS.to_vec() };
    vec![
        Axis::new("flops_per_16_bytes", "flops with each element of 16 bytes", AxisKind::Numbers(FLOPS), flops),
        Axis::new("n", "words of memory", AxisKind::AtLeast(4), [n]).of_work(),
        local_size_axis(setting),
        Elements::unroll_axis("elements per invocation", 8),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [n, flops, unroll] = ["n", "flops_per_16_bytes", "unroll"].map(|axis| config.integer(axis));
    if n % 4 != 0 {
        return Err(Skip::new(format!("n={n} words end within an element of four: the case needs a multiple")));
    }
    let elements = Elements::new(n / 4, config)?;
    let (sums, arithmetic) = (elements.invocations(), Arithmetic::of(flops));
    let data = Sequence::WholeFloats { seed: config.seed(), magnitude: MAGNITUDE };
    let result = move |invocation| {
        let own = elements.of(invocation).map(|i| [0, 1, 2, 3].map(|word| data.float(4 * i + word)));
        // Beyond the end an invocation computes with zeros.
        let all = own.chain(std::iter::repeat([0.0; 4])).zip(0..unroll).map(|(element, _)| element);
        arithmetic.result(all)
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [case.output("results", Expected::words(sums, result)), case.input("data", n, data)];
    let kernel = Kernel::new("peak/roofline.comp", config.workgroup())
        .define("COMPONENTS", arithmetic.components)
        .constant("UNROLL", Scalar::U32(config.u32("unroll")))
        .define("PAIRS", arithmetic.unrolled)
        .constant("PAIR_ITERATIONS", Scalar::U32(arithmetic.iterations));
    let kernel = if arithmetic.is_looped() { kernel.define("LOOPED", "") } else { kernel };
    let push = [elements.pushed(), FACTOR.to_bits()];
    case.run(kernel, &resources, elements.groups, &push);
    let work = Work {
        bytes: Some((n + sums) * 4),
        flops: Some(product([elements.count, flops])),
        items: Some(elements.count),
        ..Work::default()
    };
    let bound = if flops >= COMPUTES { Some(Bound::Float32) } else { beyond_caches(n * 4) };
    Ok(case.bound(bound).iterations(unroll * u64::from(arithmetic.iterations)).build(work, Headline::FLOPS))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    // Where there is much arithmetic, elements are a loop.
    Ok(vec![Traffic { loops: vec![case.point.integer("unroll")], ..Traffic::usual(case) }])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arithmetic {
    /// Of the four, those that are computed with.
    components: usize,
    /// Pairs of multiply-adds in an iteration of the loop; 0 where there is but one multiply-add.
    unrolled: u32,
    iterations: u32,
}

impl Arithmetic {
    #[expect(clippy::cast_possible_truncation, reason = "the axis ends at 4096")]
    fn of(flops: u64) -> Self {
        let pairs = flops / PAIR_FLOPS;
        let unrolled = pairs.min(UNROLLED_PAIRS);
        let iterations = pairs.checked_div(unrolled).unwrap_or(1);
        Self { components: (flops / 2).min(4) as usize, unrolled: unrolled as u32, iterations: iterations as u32 }
    }

    fn pairs(self) -> u32 {
        self.unrolled * self.iterations
    }

    fn is_looped(self) -> bool {
        self.unrolled > UNLOOPED_PAIRS
    }

    /// What an invocation makes of its elements. All is exact, so that it makes no difference whether multiply-adds are fused.
    fn result(self, elements: impl Iterator<Item = [f32; 4]>) -> u32 {
        let (mut y, mut rest) = ([0.0_f32; 4], 0_u32);
        for mut x in elements {
            rest = x.iter().skip(self.components).fold(rest.rotate_left(1), |rest, value| rest ^ value.to_bits());
            x.iter_mut().zip(&mut y).take(self.components).for_each(|(x, y)| self.take(x, y));
            if self.pairs() > 0 {
                rest ^= self.word(x);
            }
        }
        self.word(y) ^ rest
    }

    fn take(self, x: &mut f32, y: &mut f32) {
        if self.pairs() == 0 {
            *y = y.mul_add(FACTOR, *x);
        }
        // Three pairs leave all as it was; nothing becomes a negative zero.
        for _ in 0..self.pairs() % 3 {
            *y = y.mul_add(FACTOR, *x);
            *x = x.mul_add(FACTOR, *y);
        }
        if self.pairs() % 3 == 2 {
            std::mem::swap(x, y);
        }
    }

    fn word(self, vector: [f32; 4]) -> u32 {
        let words = vector.iter().take(self.components).zip([1_u32, 3, 5, 7]);
        words.fold(0, |sum, (value, factor)| sum.wrapping_add(value.to_bits().wrapping_mul(factor)))
    }
}

// ---- the ridge ------------------------------------------------------------------------------------------------------------

#[derive(Clone, Copy)]
struct Rate {
    value: f64,
    low: f64,
    high: f64,
}

#[derive(Clone, Copy)]
struct Reached {
    flops_per_16_bytes: u64,
    flops: Rate,
    bytes: Rate,
}

impl Reached {
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn new(row: &Finished) -> Self {
        let [flops_per_16_bytes, unroll] = ["flops_per_16_bytes", "unroll"].map(|axis| row.point.integer(axis));
        // The one word that an invocation writes counts as well.
        let bytes_per_element = ELEMENT_BYTES as f64 + 4.0 / unroll as f64;
        let rate = |value: f64| {
            let (low, high) = row.rate_ends(value * row.time);
            Rate { value, low, high }
        };
        let bytes = rate(row.value * bytes_per_element / flops_per_16_bytes as f64);
        Self { flops_per_16_bytes, flops: rate(row.value), bytes }
    }
}

fn ridge_row(point: Point, rows: &[&Finished]) -> Derived {
    let (figure, note) = match ridge(&rows.iter().map(|row| Reached::new(row)).collect::<Vec<_>>()) {
        Ok((figure, note)) => (Ok(figure), note),
        Err(reason) => (Err(reason), String::new()),
    };
    Derived { experiment: RIDGE, variant: "", point, metric: "ridge", unit: "FLOP/B", better: "", figure, note }
}

/// The ridge and what it rests on.
fn ridge(rows: &[Reached]) -> Result<(Figure, String), NoFigure> {
    let best = |of: fn(&Reached) -> Rate| rows.iter().max_by(|one, other| of(one).low.total_cmp(&of(other).low));
    let (first, last) =
        (rows.iter().min_by_key(|row| row.flops_per_16_bytes), rows.iter().max_by_key(|row| row.flops_per_16_bytes));
    let (Some(computes), Some(reads), Some(first), Some(last)) = (best(|row| row.flops), best(|row| row.bytes), first, last)
    else {
        return Err(NoFigure::TooFew("at least two rows of peak/roofline are needed, none was measured".to_owned()));
    };
    let (flops, bytes) = (computes.flops, reads.bytes);
    for (limit, at, other, share) in [
        ("memory", first.flops_per_16_bytes, "arithmetic", first.flops.value / flops.value),
        ("arithmetic", last.flops_per_16_bytes, "memory", last.bytes.value / bytes.value),
    ] {
        if share > LOW {
            return Err(format!(
                "no row shows where {limit} is the limit: at flops_per_16_bytes={at}, {other} gives {:.0} % of its best",
                100.0 * share
            )
            .into());
        }
    }
    let note = format!(
        "{:.2} GFLOP/s at flops_per_16_bytes={} over {:.2} GB/s at {}, the best of {} rows",
        flops.value,
        computes.flops_per_16_bytes,
        bytes.value,
        reads.flops_per_16_bytes,
        rows.len()
    );
    Ok((Figure { value: flops.value / bytes.value, interval: Some((flops.low / bytes.high, flops.high / bytes.low)) }, note))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::point;

    /// Rows of a device with a slope to 100 GB/s and one to so many GFLOP/s, within a hundredth.
    fn rows(flops: &[u64], most: f64) -> Vec<Finished> {
        let row = |flops: &u64| {
            let intensity = f64::from(u32::try_from(*flops).unwrap()) / 16.5;
            let (value, time) = (most.min(100.0 * intensity), 1e6);
            let interval = Some((0.99 * time, 1.01 * time));
            let point = point(&format!("flops_per_16_bytes={flops} n=268435456 local_size_x=256 unroll=8"));
            Finished { point, time, interval, value, ..Finished::default() }
        };
        flops.iter().map(row).collect()
    }

    fn figure(rows: &[Finished]) -> Result<Figure, NoFigure> {
        let derived = derive(rows);
        assert_eq!(derived.len(), 1);
        derived[0].figure.clone()
    }

    #[test]
    fn the_ridge_is_where_the_slopes_meet() {
        for flops in [FLOPS, &[2, 256, 2048], &[2, 2048]] {
            let Figure { value, interval } = figure(&rows(flops, 2000.0)).unwrap();
            assert!((value - 20.0).abs() < 1e-9, "{value}");
            let (low, high) = interval.unwrap();
            assert!((low - 20.0 * 0.99 / 1.01).abs() < 1e-9 && (high - 20.0 * 1.01 / 0.99).abs() < 1e-9, "{low} {high}");
        }
        let note = &derive(&rows(&[2, 4096], 2000.0))[0].note;
        assert_eq!(note, "2000.00 GFLOP/s at flops_per_16_bytes=4096 over 100.00 GB/s at 2, the best of 2 rows");
    }

    #[test]
    fn one_slope_has_no_ridge() {
        let reason = |flops: &[u64]| figure(&rows(flops, 2000.0)).unwrap_err().to_string();
        let memory_alone =
            "no row shows where arithmetic is the limit: at flops_per_16_bytes=64, memory gives 100 % of its best";
        assert_eq!(reason(&FLOPS[..6]), memory_alone);
        let both = "no row shows where memory is the limit: at flops_per_16_bytes=512, arithmetic gives 100 % of its best";
        assert_eq!(reason(&FLOPS[8..]), both);
        assert!(reason(&[64]).contains("no row shows"));
        assert!(reason(&[]).contains("none was measured"));
    }
}
