//! `workgroup/tile2d`: which shape should a workgroup have over an image?

use crate::experiments::{Experiment, Setting, powers_of_two};
use crate::model::{Axis, AxisKind, Case, Contents, Headline, Kernel, Point, Preset, Resource, Scalar, Sequence, Skip, Work};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Tile2d;

struct Tile2d;

impl Experiment for Tile2d {
    fn name(&self) -> &'static str {
        "workgroup/tile2d"
    }

    fn summary(&self) -> &'static str {
        "workgroup shape over a row-major image (RGBA8 to gray)"
    }

    fn description(&self) -> &'static str {
        "A square, row-major RGBA8 image in a storage buffer becomes gray, one invocation per pixel, swept over every workgroup \
         shape. `order` says which index of the workgroup runs along a row, where neighbours are adjacent in memory: `row` is \
         x, the usual way; `column` is y.\n\
         \n\
         How to read it: small shapes cost their start, whatever they are. Of large ones with `order=row`, those whose \
         local_size_x covers whole subgroups reach full bandwidth; narrow ones (1x32) touch a new cache line in every lane. \
         With `order=column` the picture is mirrored. Compare 8x8, 16x16, 32x1 and 1x32; a shape that is as fast in both \
         orders profits from caches, not from coalescing.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04), of shapes with up to 64 invocations that are four pixels wide or more, only \
         the number counts, since the start of workgroups is their limit (see workgroup/linear): 425 GB/s for 32x1, 16x2 and \
         8x4 alike, 847 for 64x1, 16x4 and 8x8. Larger ones are as fast as their rows are wide: the best shape reaches 353 \
         GB/s where it is one pixel wide, 699 with 2, 1308 with 4, 1964 with 8, 2050 with 16 and 2176 with 512. Eight pixels \
         are a sector of 32 bytes, and whoever takes less of one pays for it whole. With `order=column` the picture is \
         mirrored, 2136 for 1x256, but falls deeper: where all 32 lanes of a subgroup are in rows of their own, 336 to 472 \
         whatever the height, even if the workgroup as a whole takes full sectors, as 32x8 does: so what one subgroup touches \
         counts first. Shapes of 1024 invocations lose a little: 1024x1 has 1997."
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
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
            Axis::new("order", "the index that runs along a row", AxisKind::Words(&["row", "column"]), ["row", "column"]),
            Axis::new("image_size", "width and height of the image, pixels", AxisKind::AtLeast(1), [size]).of_work(),
        ]
    }

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let [x, y] = [point.u32("local_size_x"), point.u32("local_size_y")];
        let size = point.u32("image_size");
        let pixels = u64::from(size) * u64::from(size);
        let kernel = Kernel::new("workgroup/tile2d.comp", [x, y, 1], 2)
            .constant("BY_COLUMN", Scalar::Bool(point.word("order") == "column"));
        let resources = vec![
            Resource::words("source", pixels, Contents::Sequence(Sequence::Words { seed: setting.seed })),
            Resource::words("target", pixels, Contents::Undefined),
        ];
        // The image is square, so the grid is the same in both orders.
        let groups = [size.div_ceil(x), size.div_ceil(y), 1];
        let case = Case::single_dispatch(self.name(), point, kernel, groups, &[size, size], resources, vec![1]);
        let work = Work { bytes: pixels.checked_mul(2 * 4), items: Some(pixels), ..Work::default() };
        Ok(Case { work, headline: Headline::BANDWIDTH, ..case })
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let source = case.resources[0].sequence();
        let pixels = case.point.integer("image_size").pow(2);
        vec![Expected::words(pixels, move |i| gray(source.word(i)))]
    }
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
        assert_eq!(gray(0x8040_4040), 0x8040_4040);
        assert_eq!(gray(0xFF00_00FF), 0xFF4C_4C4C);
    }
}
