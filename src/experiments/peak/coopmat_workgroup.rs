//! `peak/coopmat_workgroup`: how fast are products of matrices that whole workgroups do as one operation?

use crate::experiments::common::products::{self, Defaults};
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, Case, Feature, MatrixScope, Point, Skip};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &CoopmatWorkgroup;

/// Multiples of what devices list.
const SHAPES: &[&str] = &[
    "64x64x16",
    "64x64x32",
    "64x64x64",
    "128x64x32",
    "128x128x16",
    "128x128x32",
    "128x128x64",
    "128x256x16",
    "128x256x32",
    "128x256x64",
    "256x128x32",
    "256x128x64",
    "256x256x16",
    "256x256x32",
    "256x256x64",
    "64x128x64",
    "64x256x64",
    "64x256x16",
];

struct CoopmatWorkgroup;

impl Experiment for CoopmatWorkgroup {
    fn name(&self) -> &'static str {
        "peak/coopmat_workgroup"
    }

    fn summary(&self) -> &'static str {
        "products of cooperative matrices by workgroups"
    }

    fn description(&self) -> &'static str {
        "As `peak/coopmat`, but a product is one operation of a whole workgroup, on larger matrices, whose parts the driver spreads \
         over subgroups and over workgroup memory as it likes (VK_NV_cooperative_matrix2).\n\
         \n\
         How to read it: compare with peak/coopmat of the same types. A driver that only cuts the product into those of subgroups \
         is no faster, and slower where registers end: the largest shapes are spilled, or refused (compile_error). One that \
         has a faster way for a whole workgroup shows it here, if that way takes operands that it may lay into workgroup memory \
         once and use again and again.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04), the driver cuts products into those of subgroups: sums of f32 have 621337 to \
         629819 GFLOP/s in the shapes of 128 x 128, bytes 1232827 to 1233392 Gop/s in 128x128x64, at best 4 and 5 % less than \
         peak/coopmat. The matrix units' faster instructions, which take operands from workgroup memory, are not used: \
         operands that are loaded for each product, be it from workgroup memory or from a buffer by a tensor layout, have \
         less than a third of the rate of those in registers. With sums of f16 the largest shape is no gain but a loss, \
         609903 after 623891 in 128x128x16: there it takes all 255 registers of an invocation. Passes of 64x64x32 are too \
         short to be exact (`launch_bound`), and longer ones than the default's throttle."
    }

    fn variants(&self) -> &[&str] {
        products::TYPES
    }

    fn quick_variants(&self) -> &[&str] {
        &["f16_f32"]
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let shapes: &[&str] =
            if products::is_quick(setting) { &["128x128x64"] } else { &["64x64x32", "128x128x16", "128x128x64"] };
        products::axes(setting, SHAPES, &Defaults { shapes, tiles: [1, 1], local_size: 256, groups: 528, rounds: 16 })
    }

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        if !setting.device.has(Feature::CooperativeMatrixWorkgroupScope) {
            return Err(Skip::new("the case needs cooperativeMatrixWorkgroupScope, which the device lacks"));
        }
        products::case(self.name(), variant, point, setting, MatrixScope::Workgroup)
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        products::expected(case)
    }
}
