//! What the layer of `lanescope capture` wrote: an application's kernels, how often each ran, and what each took.
//!
//! ```text
//! log      one file of the layer's: a device of a process
//! modules  what kernels are called, and what else their modules tell
//! profile  the kernels of all files
//! rows     those as rows
//! ```

mod log;
mod modules;
mod profile;
mod rows;
#[cfg(test)]
mod testing;

pub use log::LoggedDevice;
pub use profile::{Kernel, OnDevice, Profile};
pub use rows::{EXPERIMENT, groups_text, is_near_floor, rows, time};
