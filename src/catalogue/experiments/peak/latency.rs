//! `peak/latency`: how long does one operation take, by operation and type?

use super::arith::table::{Operation, Type};
use super::arith::{UNROLLS, chained};
use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment =
    Experiment { variants: TYPES, quick_variants: &["f32"], ..Experiment::new("peak/latency", axes, build) };

/// The types of whose operations each has its own result.
const TYPES: &[&str] = &["f16", "f32", "f64", "bf16", "i8", "i16", "i32", "i64"];

fn axes(setting: &Setting) -> Vec<Axis> {
    let subgroup = u64::from(setting.device.subgroup.size.max(1));
    // A branch waits for nothing else here: iterations are longer than where other subgroups fill the gap. On a GPU a launch takes
    // as long as a thousand operations: there are 262,144 of the shortest ones.
    let (unroll, iterations) = setting.by_class((4_u64, 16_384_u64), (32, 512));
    let about = "iterations of the loop";
    vec![
        Operation::axis("op", "the operation", setting.quick_or(&Operation::ALL[..1], Operation::ALL)),
        Axis::new("local_size_x", "invocations of the workgroup", AxisKind::AtLeast(1), [subgroup]),
        Axis::new("unroll", "blocks of operations per iteration of the loop", UNROLLS, [unroll]),
        Axis::new("iterations", about, AxisKind::AtLeast(1), [iterations]).of_monotone_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let (operation, ty) = (Operation::of(config.choice("op")), Type::of(config.variant));
    let (case, chains) = chained(EXPERIMENT.name, config, operation, ty)?;
    Ok(case.build(Work { items: Some(chains.depth()), ..Work::default() }, Headline::LATENCY))
}
