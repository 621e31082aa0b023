//! `peak/arith`: how fast does the device compute, by operation and type?

mod share;
mod summary;
pub(super) mod table;
pub(super) mod twin;

use std::collections::{BTreeMap, BTreeSet};

use crate::experiments::common::chains::Chains;
use crate::experiments::{Experiment, POWERS_TO_64, Setting, local_size_axis};
use crate::model::{Axis, AxisKind, Bound, Case, Derived, DeviceKind, Finished, Headline, Kernel, Point, Preset, Skip, Work};
use crate::validate::Expected;
use table::{Operation, TYPES, Type, WORDS};

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Arith;

/// The types that devices have units for, mostly.
const QUICK: &[&str] = &["f16", "f32", "f64", "i32"];

/// Blocks of operations in a turn of the loop.
pub(super) const UNROLLS: AxisKind = AxisKind::Numbers(POWERS_TO_64);

struct Arith;

impl Experiment for Arith {
    fn name(&self) -> &'static str {
        "peak/arith"
    }

    fn summary(&self) -> &'static str {
        "arithmetic by operation and type, as fast as it goes"
    }

    fn description(&self) -> &'static str {
        "Each invocation goes through `chains` independent chains of operations on vectors of `width` components; within a chain \
         each operation needs the result of the one before. Nothing is loaded or stored in the loop, and its turns are long: \
         `unroll` blocks, which have 16 operations of each chain, or 4 of functions, or 2 of div and rem, whose code is long. \
         The variant is the type. fma is fma() of floats, x * x + a, and x * a + y of whole numbers, and counts two; all else counts one: add \
         (of floats, sums and differences in turn), mul, div, rem (mod() of floats), rcp (1 / x), sqrt, rsqrt (inversesqrt), exp2, \
         log2, sin, shift (to the right, by a number that differs), bit_count. From div to sin an addition comes before \
         each operation, before bit_count an xor, which isn't counted: without it a chain would end at one value. No coefficient is \
         known when the kernel is compiled, and each result is needed twice or can't be foreseen, so that no compiler can fold \
         operations; but the two divisors of rem stay the same, and a driver may take their reciprocals once. Results of fma, add, \
         mul and rem, and of whole numbers, are exact; of the others as near as Vulkan asks.\n\
         \n\
         How to read it: the best row of a type is what the device can do, and the defaults are meant to reach it: a few chains \
         (instruction-level parallelism), workgroups of 256 enough to fill any device many times over, and vectors (`width`), \
         which let f16 use packed instructions where there are any: f16 that is no faster than f32 at any width has none, or the \
         driver doesn't use them; some drivers pack the values of neighbouring chains, and are faster at width=1 already. Sweep chains=1..8 and local_size_x to see how much parallelism it takes: a rate that stops \
         growing at 2 chains says that the latency is hidden by then. Whole numbers are signed. A rate of fma that is twice that of add \
         and mul says that all three take one instruction; a type at a small part of the rate of f32 is emulated or has few \
         units (f64 on most consumer devices, 64-bit and often 8-bit whole numbers). div, rem and functions are several \
         instructions each, or one for units that are fewer; how many or how few, their share of fma's rate tells. What no later \
         operation of a chain needs, a compiler may leave out: of shift of i64, the upper half of each result. bf16 has no arithmetic in SPIR-V: each operation goes \
         through f32 and back, and a rate below half of that of f32 says what the conversions cost. Clocks follow the load: \
         `clock_ratio` tells whether they held. `peak/latency` has the time of one operation.\n\
         \n\
         On processors, a software driver computes with the vector registers that it was built for, one core for each \
         workgroup. It has few of them: more chains than they hold are slower, and width=1 or 4 chains may be the peak. f32 and \
         i32 are near what the processor can do, narrow types are widened or taken one by one, and \
         functions are polynomials.\n\
         \n\
         peak/summary tells the best of each kind from all rows of the run, this experiment's and those of others: fp32, fp16, \
         fp64 and int (fma of f32, f16, f64 and i32), dot (peak/dot), matrix_fp16, matrix_bf16 and matrix_int8 (peak/coopmat \
         and peak/coopmat_workgroup), global (the largest arrays of memory/stream, which on processors are in cache), \
         shared (shared/bandwidth and shared/bank_conflict, without broadcasts) and cache (cache/bandwidth). It takes the row with the highest lower end of \
         its interval, not the highest figure, which the noisiest row would have; value, interval and flags are that row's. peak/share tells of each other experiment \
         that leads with such a figure how much of it its best row has, by the same rule: of global those of memory/*, workgroup/* \
         and algo/* that move bytes, of shared shared/tile and shared/capacity, of fp32 peak/roofline. Its note names both rows, and \
         what the least has. A share above 1 is of data that a cache holds.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04), fma comes to more than 99 % of what its 132 processors can begin at 1980 MHz: \
         f32 66446 to 66580 GFLOP/s, 128 a clock and processor, f64 and i32 half as many, 33324 to 33346 GFLOP/s and 33409 to \
         33419 Gop/s. f16 comes to 87002 GFLOP/s at width=1, 125869 at width=2 and 132620 at width=4, which is twice f32: one \
         instruction takes two values, and the driver finds them in neighbouring chains where vectors have none. It goes at \
         half its rate where a compiler knows both halves of an operand to be one value, and at three fifths with three \
         different operands: what other programs measure of f16 depends on that. Functions of f32, and div, have units of \
         their own, 16 a clock and processor: 4160 to 4175 GFLOP/s, an eighth of add, and those of f16 are no faster. bf16 is \
         at 28245 to 31272 GFLOP/s, below half of f32, for each result has to be converted back, and narrow whole numbers \
         gain nothing: fma of i8 and i16 has 18248 to 22247 Gop/s, less than i32. Of whole numbers of 32 bits, add has twice \
         the rate of mul and shift, 32745 to 32782 Gop/s, though each is one instruction. Code that is too long \
         (`code_bytes`) is slower for that alone: mul of i8 and i16 has 16227 to 16244 Gop/s at width=1, in 35 KB, and 14178 \
         to 14190 at width=2, in 70. shift of i64, 16566 to 16598 Gop/s, is half a shift: no later one needs the upper half \
         of a result, and the driver leaves it out."
    }

    fn variants(&self) -> &[&str] {
        TYPES
    }

    fn quick_variants(&self) -> &[&str] {
        QUICK
    }

    fn derived(&self) -> &[&str] {
        &[summary::NAME, share::NAME]
    }

    fn sources(&self) -> &[&str] {
        &summary::SOURCES
    }

    fn derive_across(&self, rows: &BTreeMap<&str, &[Finished]>) -> Vec<(Derived, BTreeSet<String>)> {
        summary::derive(rows).into_iter().chain(share::derive(rows, summary::KINDS)).collect()
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        self.axes_of("f32", setting)
    }

    fn axes_of(&self, variant: &str, setting: &Setting) -> Vec<Axis> {
        let ty = Type::of(variant);
        let ops = if setting.preset == Preset::Quick { &["fma"] } else { WORDS };
        let few = setting.by_class(8_u64, 4);
        // Two packed instructions for each chain: with one, an H100 has 94 % of its rate.
        let widths: &[u64] = if ty == Type::F16 { &[1, 2, 4] } else { &[1, 2] };
        let (widths, chains) = match setting.preset {
            Preset::Quick => (&widths[widths.len() - 1..], vec![few]),
            Preset::Default => (widths, vec![few]),
            Preset::Thorough => (&[1, 2, 4][..], vec![1, few, 8]),
        };
        let chains: BTreeSet<u64> = chains.into_iter().collect();
        vec![
            Axis::new("op", "the operation", AxisKind::Words(WORDS), ops.iter().copied()),
            Axis::new("width", "components per vector", AxisKind::Numbers(&[1, 2, 4]), widths.iter().copied()),
            Axis::new("chains", "independent chains per invocation", AxisKind::Numbers(&[1, 2, 4, 8]), chains),
            local_size_axis(setting),
            unroll_axis(setting),
            iterations_axis(setting, if ty.bits() == 64 { 32 } else { 256 }),
            groups_axis(setting, 64),
        ]
    }

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let (ty, operation) = (Type::of(variant), Operation::of(point.word("op")));
        operation.require(point.word("op"), ty, setting.device)?;
        let chains = Chains::new(point, operation.pairs(), setting.device.limits.workgroup_count[0]);
        operation.require_motion(point.word("op"), ty, chains.depth())?;
        let case =
            chains.case(self.name(), point, setting.seed, kernel(variant, point, &chains), operation.coefficients(ty))?;
        let count = chains.operations().and_then(|operations| operations.checked_mul(operation.weight()));
        let (work, headline) = if ty.is_real() {
            (Work { flops: count, ..Work::default() }, Headline::FLOPS)
        } else {
            (Work { ops: count, ..Work::default() }, Headline::OPS)
        };
        Ok(Case { variant: variant.to_owned(), work, headline, bound: bound(operation, ty), ..case })
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        vec![twin::expected(case, Operation::of(case.point.word("op")), Type::of(&case.variant))]
    }
}

/// The kernel of a type and an operation.
pub(super) fn kernel(variant: &str, point: &Point, chains: &Chains) -> Kernel {
    let (ty, op) = (Type::of(variant), point.word("op"));
    let kernel = Kernel::new("peak/arith.comp", [point.u32("local_size_x"), 1, 1], 2)
        .define(&variant.to_uppercase(), "")
        .define(&op.to_uppercase(), "")
        .define("WIDTH", chains.width);
    if Operation::of(op).is_inexact(ty) { kernel.define("INEXACT", "") } else { kernel }
}

/// Limits are those of multiply-adds. Whole numbers may be added elsewhere than where they are multiplied.
fn bound(operation: Operation, ty: Type) -> Option<Bound> {
    match ty {
        Type::F16 => Some(Bound::Float16),
        Type::F32 => Some(Bound::Float32),
        Type::F64 => Some(Bound::Float64),
        Type::I32 if operation == Operation::Fma => Some(Bound::Int32),
        _ => None,
    }
}

/// On a GPU four chains make 1024 instructions of it, or 2048 where vectors of two are two instructions each: beside them the loop's
/// own three, and what the first of a turn wait for, are nothing, and caches of instructions hold them. An H100's fma of f32 reaches
/// 96 to 97 % of its limit with 512, 99 % with 1024 or 2048, and 77 % with 4096.
pub(super) fn unroll_axis(setting: &Setting) -> Axis {
    Axis::new("unroll", "blocks of operations per turn of the loop", UNROLLS, [setting.by_class(1_u64, 16)])
}

/// On GPUs, enough for the loads and the results around the loop to be less than one in 500, and few enough for a pass to end within
/// a second where types of 64 bits have a 64th of the rate.
pub(super) fn iterations_axis(setting: &Setting, on_gpu: u64) -> Axis {
    Axis::new("iterations", "turns of the loop", AxisKind::AtLeast(1), [setting.by_class(16_u64, on_gpu)]).of_monotone_work()
}

/// As many workgroups as make the last ones to end few, whatever the number of processors: 32 for each of the processors of the
/// largest devices of today, and a whole multiple of theirs. On processors, drivers differ too much in how they do an operation for one number to
/// suit all.
pub(super) fn groups_axis(setting: &Setting, on_cpu: u64) -> Axis {
    let quick = setting.preset == Preset::Quick;
    let groups = match setting.device.kind {
        // Up to a hundred times slower.
        DeviceKind::Integrated => 264,
        _ if quick => setting.by_class(on_cpu / 4, 2112),
        _ => setting.by_class(on_cpu, 4224),
    };
    Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_monotone_work()
}
