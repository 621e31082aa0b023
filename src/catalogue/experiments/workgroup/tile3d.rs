//! `workgroup/tile3d`: which shape should a workgroup have over a volume?

use super::tile2d::gray;
use crate::experiments::MOST_SIZE;
use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment = Experiment::of_memory("workgroup/tile3d", axes, build);

choices! { enum Order { Row = "row", Column = "column", Layer = "layer" } }

fn axes(setting: &Setting) -> Vec<Axis> {
    let limits = &setting.device.limits;
    let largest = |axis: usize| u64::from(limits.workgroup_size[axis].min(limits.workgroup_invocations).max(1));
    let sizes = |axis: usize| -> Vec<u64> {
        match (setting.preset, axis) {
            (Preset::Quick, 0) => vec![8],
            (Preset::Quick, _) => vec![4],
            (Preset::Default, 0) => vec![1, 4, 8, 32, 128],
            (Preset::Default, _) => vec![1, 4, 8],
            (Preset::Thorough, _) => powers_of_two(1, largest(axis)).collect(),
        }
    };
    let orders = if setting.preset == Preset::Thorough { Order::ALL } else { &Order::ALL[..1] };
    // No power of two on a GPU, whose layers would share memory channels; twice 216 MiB is ten times the last cache of a
    // large one of today.
    let size = setting.by_class(32_u64, 384);
    vec![
        Axis::new("local_size_x", "width of a workgroup", AxisKind::AtLeast(1), sizes(0)),
        Axis::new("local_size_y", "height of a workgroup", AxisKind::AtLeast(1), sizes(1)),
        Axis::new("local_size_z", "depth of a workgroup", AxisKind::AtLeast(1), sizes(2)),
        Order::axis("order", "the index that runs along a row", orders),
        Axis::new("volume_size", "width, height and depth of the volume, voxels", AxisKind::AtLeast(1), [size])
            .up_to(MOST_SIZE)
            .of_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let shape = ["local_size_x", "local_size_y", "local_size_z"].map(|axis| config.u32(axis));
    let size = config.u32("volume_size");
    let (voxels, source) = (u64::from(size).pow(3), Sequence::Words { seed: config.seed() });
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources =
        [case.input("source", voxels, source), case.output("target", Expected::words(voxels, move |i| gray(source.word(i))))];
    let order = Order::of(config.choice("order")).code();
    let kernel = Kernel::new("workgroup/tile3d.comp", shape).constant("ORDER", Scalar::U32(order));
    // The volume is a cube, so the grid is the same in all orders.
    case.run(kernel, &resources, shape.map(|extent| size.div_ceil(extent)), &[size; 3]);
    let work = Work { bytes: Some(voxels * 2 * 4), items: Some(voxels), ..Work::default() };
    Ok(case.build(work, Headline::BANDWIDTH))
}
