//! `workgroup/tile2d`: which shape should a workgroup have over an image?

use crate::experiments::MOST_SIZE;
use crate::experiments::common::prelude::*;
use crate::model::Texels;

pub const EXPERIMENT: Experiment = Experiment::of_memory("workgroup/tile2d", axes, build);

fn axes(setting: &Setting) -> Vec<Axis> {
    let limits = &setting.device.limits;
    let largest = |axis: usize| u64::from(limits.workgroup_size[axis].min(limits.workgroup_invocations).max(1));
    let quick = setting.preset == Preset::Quick;
    let sizes = |axis: usize| -> Vec<u64> {
        match (quick, axis) {
            (true, 0) => vec![8, 32],
            (true, _) => vec![1, 8],
            (false, _) => powers_of_two(1, largest(axis)).collect(),
        }
    };
    let size = if quick { setting.by_class(128_u64, 8192) } else { setting.by_class(256_u64, 8192) };
    vec![
        Axis::new("local_size_x", "width of a workgroup", AxisKind::AtLeast(1), sizes(0)),
        Axis::new("local_size_y", "height of a workgroup", AxisKind::AtLeast(1), sizes(1)),
        Axis::new("order", "the index that runs along a row", AxisKind::Choices(&["row", "column"]), ["row", "column"]),
        Axis::new("image_size", "width and height of the image, pixels", AxisKind::AtLeast(1), [size])
            .up_to(MOST_SIZE)
            .of_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [x, y, size] = ["local_size_x", "local_size_y", "image_size"].map(|axis| config.u32(axis));
    let (pixels, words) = (u64::from(size).pow(2), Sequence::Words { seed: config.seed() });
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let source = case.input("source", pixels, words);
    let target = case.output("target", Expected::words(pixels, move |i| gray(words.word(i))));
    case.shows(target, [size, size], Texels::Rgba8);
    let by_column = config.choice("order") == "column";
    let kernel = Kernel::new("workgroup/tile2d.comp", [x, y, 1]).constant("BY_COLUMN", Scalar::Bool(by_column));
    // The image is square, so the grid is the same in both orders.
    case.run(kernel, &[source, target], [size.div_ceil(x), size.div_ceil(y), 1], &[size, size]);
    let work = Work { bytes: Some(pixels * 2 * 4), items: Some(pixels), ..Work::default() };
    Ok(case.build(work, Headline::BANDWIDTH))
}

/// The shader's function of the same name.
pub(super) fn gray(pixel: u32) -> u32 {
    let [r, g, b] = [pixel, pixel >> 8, pixel >> 16].map(|colour| colour & 0xFF);
    let luma = (77 * r + 150 * g + 29 * b) >> 8;
    (luma * 0x01_0101) | (pixel & 0xFF00_0000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gray_keeps_gray_and_alpha() {
        assert_eq!([0x8040_4040, 0xFF00_00FF].map(gray), [0x8040_4040, 0xFF4C_4C4C]);
    }
}
