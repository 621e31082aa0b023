//! `peak/coopmat`: how fast are products of matrices that subgroups do as one operation?

use crate::experiments::common::prelude::*;
use crate::experiments::common::products::{self, Defaults};
use crate::model::{MatrixProduct, MatrixScope};

pub const EXPERIMENT: Experiment = Experiment {
    variants: products::TYPES,
    quick_variants: &["f16_f32"],
    axes_of: Some(axes_of),
    ..Experiment::new("peak/coopmat", |setting| axes_of(products::TYPES[0], setting), build)
};

/// Shapes that devices were seen to list.
const SHAPES: &[&str] = &[
    "16x16x16", "16x8x16", "16x8x8", "16x16x32", "16x8x32", "8x8x16", "8x16x16", "8x8x32", "8x16x32", "16x16x8", "32x32x16",
    "32x32x8", "32x32x32", "8x8x8", "16x16x64",
];

fn axes_of(variant: &str, setting: &Setting) -> Vec<Axis> {
    let is_wanted = |product: &MatrixProduct| product.scope == MatrixScope::Subgroup && product.workgroup_invocations.is_none();
    let mut listed = products::listed(SHAPES, setting.device, is_wanted);
    if setting.preset == Preset::Quick {
        listed.truncate(1);
    }
    if listed.is_empty() {
        listed.push(SHAPES[0]);
    }
    products::axes(
        variant,
        setting,
        SHAPES,
        &Defaults { shapes: &listed, tiles: [4, 4], local_size: 128, groups: 1056, rounds: 64 },
    )
}

fn build(config: &Config) -> Result<Built, Skip> {
    products::build(EXPERIMENT.name, config, MatrixScope::Subgroup)
}
