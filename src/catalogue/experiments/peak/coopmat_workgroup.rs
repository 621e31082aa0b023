//! `peak/coopmat_workgroup`: how fast are products of matrices that whole workgroups do as one operation?

use crate::experiments::common::prelude::*;
use crate::experiments::common::products::{self, Defaults};
use crate::model::MatrixScope;

pub const EXPERIMENT: Experiment = Experiment {
    variants: products::TYPES,
    quick_variants: &["f16_f32"],
    axes_of: Some(axes_of),
    ..Experiment::new("peak/coopmat_workgroup", |setting| axes_of(products::TYPES[0], setting), build)
};

/// Multiples of what devices list.
#[rustfmt::skip]
const SHAPES: &[&str] = &[
    "64x64x16", "64x64x32", "64x64x64", "128x64x32", "128x128x16", "128x128x32", "128x128x64", "128x256x16", "128x256x32",
    "128x256x64", "256x128x32", "256x128x64", "256x256x16", "256x256x32", "256x256x64", "64x128x64", "64x256x64", "64x256x16",
];

fn axes_of(variant: &str, setting: &Setting) -> Vec<Axis> {
    let shapes = setting.quick_or(&["128x128x64"][..], &["64x64x32", "128x128x16", "128x128x64"]);
    products::axes(variant, setting, SHAPES, &Defaults { shapes, tiles: [1, 1], local_size: 256, groups: 528, rounds: 16 })
}

fn build(config: &Config) -> Result<Built, Skip> {
    if !config.device().has(Feature::CooperativeMatrixWorkgroupScope) {
        return Err(Skip::new("the case needs cooperativeMatrixWorkgroupScope, which the device lacks"));
    }
    products::build(EXPERIMENT.name, config, MatrixScope::Workgroup)
}
