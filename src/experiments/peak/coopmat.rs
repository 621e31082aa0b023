//! `peak/coopmat`: how fast are products of matrices that subgroups do as one operation?

use crate::experiments::common::products::{self, Defaults};
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, Case, MatrixProduct, MatrixScope, Point, Skip};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Coopmat;

/// Shapes that devices were seen to list.
const SHAPES: &[&str] = &[
    "16x16x16", "16x8x16", "16x8x8", "16x16x32", "16x8x32", "8x8x16", "8x16x16", "8x8x32", "8x16x32", "16x16x8", "32x32x16",
    "32x32x8", "32x32x32", "8x8x8", "16x16x64",
];

struct Coopmat;

impl Experiment for Coopmat {
    fn name(&self) -> &'static str {
        "peak/coopmat"
    }

    fn summary(&self) -> &'static str {
        "products of cooperative matrices by subgroups, from registers"
    }

    fn description(&self) -> &'static str {
        "Each subgroup keeps tiles_m x tiles_n sums of matrices and adds products of the same few matrices to them, again and \
         again, all from registers (VK_KHR_cooperative_matrix). Sums don't depend on each other, so that as many products can be \
         under way. The variants are the types of factors and sums, the axis `shape` has the shapes that the device lists: rows \
         and columns of a sum, and what a product runs over (`lanescope devices` shows all; one that has no word here isn't \
         measured). All are whole numbers, chosen so that every sum is exact; with \
         f16_f16 every second product takes the one before back, since its sums are exact only up to 2048.\n\
         \n\
         How to read it: a product of M x N x K counts 2 M N K operations. The best row is what matrix units give to a kernel that has \
         all in registers; a whole matrix product reaches less, since it has to bring its matrices there. Fewer sums than the \
         default show the latency of one product, more show where registers end. Some devices have another, faster way to \
         their matrix units that works on data in workgroup memory: see peak/coopmat_workgroup.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04), f16 and bf16 have 649239 to 655924 GFLOP/s in all shapes whose products run \
         over 16 or 32, and sums of f16 save registers but no time. A product over 8 alone has three quarters of that, 483709 \
         to 485081 GFLOP/s: take the longest. Bytes have twice as much, 1299150 to 1300272 Gop/s, signed or not. All this is \
         some 61 % of what the dense rate of the data sheet comes to at 1980 MHz, and is what the matrix units' instructions \
         for one subgroup reach; the rest is for instructions of four subgroups together that take operands from workgroup \
         memory, which this driver uses neither here nor in peak/coopmat_workgroup. Longer passes draw so much power that \
         clocks fall, which `drift` tells."
    }

    fn variants(&self) -> &[&str] {
        products::TYPES
    }

    fn quick_variants(&self) -> &[&str] {
        &["f16_f32"]
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let is_wanted =
            |product: &MatrixProduct| product.scope == MatrixScope::Subgroup && product.workgroup_invocations.is_none();
        let mut listed = products::listed(SHAPES, setting.device, is_wanted);
        if products::is_quick(setting) {
            listed.truncate(1);
        }
        if listed.is_empty() {
            listed.push(SHAPES[0]);
        }
        products::axes(setting, SHAPES, &Defaults { shapes: &listed, tiles: [4, 4], local_size: 128, groups: 1056, rounds: 64 })
    }

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        products::case(self.name(), variant, point, setting, MatrixScope::Subgroup)
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        products::expected(case)
    }
}
