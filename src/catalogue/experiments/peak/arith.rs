//! `peak/arith`: how fast does the device compute, by operation and type?

pub(super) mod table;
mod twin;

use std::collections::BTreeSet;

use crate::experiments::common::chains::Chains;
use crate::experiments::common::prelude::*;
use crate::model::DeviceKind;
use table::{Operation, Type};

pub const EXPERIMENT: Experiment = Experiment {
    variants: Type::WORDS,
    quick_variants: QUICK,
    axes_of: Some(axes_of),
    ..Experiment::new("peak/arith", |setting| axes_of("f32", setting), build)
};

/// The types that devices have units for, mostly.
const QUICK: &[&str] = &["f16", "f32", "f64", "i32"];

/// Blocks of operations in an iteration of the loop.
pub(super) const UNROLLS: AxisKind = AxisKind::Numbers(POWERS_TO_64);

fn axes_of(variant: &str, setting: &Setting) -> Vec<Axis> {
    let ty = Type::of(variant);
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
        Operation::axis("op", "the operation", setting.quick_or(&Operation::ALL[..1], Operation::ALL)),
        Axis::new("width", "components per vector", AxisKind::Numbers(&[1, 2, 4]), widths.iter().copied()),
        Axis::new("chains", "independent chains per invocation", AxisKind::Numbers(&[1, 2, 4, 8]), chains),
        local_size_axis(setting),
        unroll_axis(setting),
        iterations_axis(setting, if ty.bits() == 64 { 32 } else { 256 }),
        groups_axis(setting, 64),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let (operation, ty) = (Operation::of(config.choice("op")), Type::of(config.variant));
    let (case, chains) = chained(EXPERIMENT.name, config, operation, ty)?;
    let count = Some(product([chains.operations(), operation.weight()]));
    let (work, headline) = if ty.is_real() {
        (Work { flops: count, ..Work::default() }, Headline::FLOPS)
    } else {
        (Work { ops: count, ..Work::default() }, Headline::OPS)
    };
    Ok(case.bound(bound(operation, ty)).build(work, headline))
}

/// The case of an operation and a type, and its chains; what it counts and leads with is for its experiment to say.
/// Skipped: where they don't go together, the device lacks the type, or a chain is too long or ends where it began.
pub(super) fn chained(
    experiment: &str,
    config: &Config,
    operation: Operation,
    ty: Type,
) -> Result<(CaseBuilder, Chains), Skip> {
    operation.require(ty, config.device())?;
    let chains = Chains::new(config, operation.pairs());
    operation.require_motion(ty, chains.depth())?;
    let kernel = Kernel::new("peak/arith.comp", config.workgroup())
        .define(&config.variant.to_uppercase(), "")
        .define(&operation.word().to_uppercase(), "")
        .define("WIDTH", chains.width);
    let kernel = if operation.is_inexact(ty) { kernel.define("INEXACT", "") } else { kernel };
    let expected = twin::expected(chains, operation, ty);
    Ok((chains.case(experiment, config, kernel, operation.coefficients(ty), expected)?, chains))
}

/// Limits are those of multiply-adds. Whole numbers may be added elsewhere than where they are multiplied.
fn bound(operation: Operation, ty: Type) -> Option<Bound> {
    match ty {
        Type::F16 => Some(Bound::Float16),
        Type::F32 | Type::Bf16F32 => Some(Bound::Float32),
        Type::F64 => Some(Bound::Float64),
        Type::I32 if operation == Operation::Fma => Some(Bound::Int32),
        Type::Bf16 | Type::I8 | Type::I16 | Type::I32 | Type::I64 => None,
    }
}

/// On a GPU four chains make 1024 instructions of it, or 2048 where vectors of two are two instructions each: beside them the loop's
/// own three, and what the first of an iteration wait for, are nothing, and caches of instructions hold them. An H100's fma of f32 reaches
/// 96 to 97 % of its limit with 512, 99 % with 1024 or 2048, and 77 % with 4096.
pub(super) fn unroll_axis(setting: &Setting) -> Axis {
    Axis::new("unroll", "blocks of operations per iteration of the loop", UNROLLS, [setting.by_class(1_u64, 16)])
}

/// On GPUs, enough for the loads and the results around the loop to be less than one in 500, and few enough for a pass to end within
/// a second where types of 64 bits have a 64th of the rate.
pub(super) fn iterations_axis(setting: &Setting, on_gpu: u64) -> Axis {
    Axis::new("iterations", "iterations of the loop", AxisKind::AtLeast(1), [setting.by_class(16_u64, on_gpu)])
        .of_monotone_work()
}

/// As many workgroups as make the last ones to end few, whatever the number of processors: 32 for each of the processors of the
/// largest devices of today, and a whole multiple of theirs. On processors, drivers differ too much in how they do an operation for one number to
/// suit all.
pub(super) fn groups_axis(setting: &Setting, on_cpu: u64) -> Axis {
    let groups = match setting.device.kind {
        // Up to a hundred times slower.
        DeviceKind::Integrated => 264,
        DeviceKind::Discrete | DeviceKind::Virtual | DeviceKind::Cpu | DeviceKind::Other => {
            setting.quick_or(setting.by_class(on_cpu / 4, 2112), setting.by_class(on_cpu, 4224))
        }
    };
    Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_monotone_work()
}
