//! `shared/latency`: how long does one load from workgroup memory take?

use crate::experiments::common::axes::hops_axis;
use crate::experiments::common::prelude::*;
use crate::experiments::common::ring::{LEAST_NODES, Ring};

pub const EXPERIMENT: Experiment = Experiment::new("shared/latency", axes, build);

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let thorough = setting.preset == Preset::Thorough;
    let lanes = u64::from(lanes(setting.device));
    let sizes = if quick || lanes == 1 { vec![1] } else { vec![1, lanes] };
    let windows = if thorough { vec![1 << 10, 4 << 10, 16 << 10] } else { vec![4_u64 << 10] };
    // Enough that beside them the launch is nothing, and little what it takes a lone lane to fill the window. A software driver
    // takes up to 2 ms.
    let hops = setting.by_class(1_u64 << 16, 1 << 18);
    vec![
        Axis::new("local_size_x", "invocations of the workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("window_bytes", "workgroup memory that the cycle lies in", AxisKind::AtLeast(4 * LEAST_NODES), windows),
        hops_axis("loads of an invocation", hops),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let ring = Ring::new(1, config);
    let work = Work { items: Some(ring.hops), ..Work::default() };
    Ok(ring.case(EXPERIMENT.name, config)?.build(work, Headline::LATENCY))
}
