//! `workgroup/linear`: how large should a one-dimensional workgroup be?

use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment = Experiment::of_memory("workgroup/linear", axes, build);

/// The factor of saxpy: a whole number, so that every result is exact, with or without a fused multiply-add.
const A: f32 = 3.0;

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let n = if quick { setting.by_class(1_u64 << 14, 1 << 24) } else { setting.by_class(1_u64 << 16, 1 << 24) };
    let is_taken = |size: &u64| !quick || [1, 32, 256, 1024].contains(size);
    let sizes = powers_of_two(1, size_up_to(u64::MAX, setting)).filter(is_taken);
    vec![
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("n", "elements", AxisKind::AtLeast(1), [n]).of_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let n = config.integer("n");
    let [x, y] = [config.seed(), !config.seed()].map(|seed| Sequence::WholeFloats { seed, magnitude: 1 << 16 });
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [
        case.input("x", n, x),
        case.input("y", n, y),
        case.output("z", Expected::floats(n, move |i| A * x.float(i) + y.float(i))),
    ];
    let groups = fold_groups(n.div_ceil(config.integer("local_size_x")), config.most_groups());
    case.run(config.kernel("workgroup/linear.comp", &[]), &resources, groups, &[config.u32("n"), A.to_bits()]);
    let work = Work { bytes: Some(n * 3 * 4), flops: Some(n * 2), items: Some(n), ..Work::default() };
    Ok(case.build(work, Headline::BANDWIDTH))
}
