//! What the profiler Lanescope measures: the experiments, what a CPU computes beside each, and the vocabulary of rows.
//!
//! It is plain Rust: no Vulkan, no compiler of shaders, no C++. The crate `lanescope` has these modules under the same names.

#[doc(hidden)]
pub mod digest;
#[doc(hidden)]
pub mod experiments;
#[doc(hidden)]
pub mod globs;
#[doc(hidden)]
pub mod model;
#[cfg(test)]
mod properties;
#[doc(hidden)]
pub mod stats;
#[doc(hidden)]
pub mod units;
#[doc(hidden)]
pub mod validate;
