//! What nearly every experiment needs: its file begins with this, and names what else it takes.
#![allow(unused_imports, reason = "which of it is needed is for the experiments to say")]

pub use crate::experiments::common::axes::{beyond_caches, loop_axis};
pub(in crate::experiments) use crate::experiments::common::choices::choices;
pub use crate::experiments::common::ladder::Ladder;
pub use crate::experiments::{
    Built, CaseBuilder, Config, Elements, Experiment, Handle, POWERS_TO_64, PassOutputs, Setting, fold_groups, lanes,
    local_size_axis, narrow, number, powers_of_two, product, size_to_require, size_up_to, u32_of, usual_size, workgroups,
};
pub use crate::model::{
    Axis, AxisKind, Bound, Case, Derived, Feature, Finished, Headline, Kernel, Moved, Point, Preset, Repeatability, Scalar,
    Sequence, Shuffled, Skip, SubgroupClass, Traffic, Work,
};
pub use crate::validate::Expected;
