//! What nearly every experiment needs: its file begins with this, and names what else it takes.
#![allow(unused_imports, reason = "which of it is needed is for the experiments to say")]

pub use crate::experiments::common::axes::{beyond_caches, loop_axis};
pub use crate::experiments::{
    Built, CaseBuilder, Config, Elements, Experiment, Setting, fold_groups, local_size_axis, powers_of_two, product,
};
pub use crate::model::{
    Axis, AxisKind, Bound, Case, Derived, Finished, Headline, Kernel, Moved, Point, Preset, Repeatability, Scalar, Sequence,
    Skip, Traffic, Work,
};
pub use crate::validate::Expected;
