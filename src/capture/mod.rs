//! What the layer of `lanescope capture` wrote: an application's kernels, how often each ran, and what each took.
//!
//! ```text
//! log       one file of the layer's: a device of a process
//! modules   what kernels are called, and what else their modules tell
//! profile   the kernels of all files
//! rows      those as rows
//! addresses where addresses of buffers stand in that, and where they lead
//! contents  whose buffers are copied, and what was copied
//! manifest  a kernel with that, as other commands take it
//! ```

mod addresses;
mod contents;
mod log;
mod manifest;
mod modules;
mod profile;
mod rows;
#[cfg(test)]
mod testing;

pub use addresses::Addresses;
pub use contents::{Region, Snapshot, Wanted, order};
pub use log::LoggedDevice;
pub use manifest::RegionFiles;
pub use profile::{Kernel, OnDevice, Profile};
pub use rows::{EXPERIMENT, groups_text, is_near_floor, rows, time};
