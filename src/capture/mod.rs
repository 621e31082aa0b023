//! What the layer of `lanescope capture` wrote: an application's kernels, how often each ran, and what each took.
//!
//! ```text
//! log      one file of the layer's: a device of a process
//! names    what kernels are called
//! profile  the kernels of all files, and their rows
//! ```

mod log;
mod names;
mod profile;

pub use log::{Log, LoggedDevice};
pub use profile::{Kernel, Profile, groups_text, rows};
