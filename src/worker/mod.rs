//! Worker processes: whatever a driver does to the process that uses it, the run goes on.
//!
//! The supervisor, which is the process that the user started, never loads Vulkan. It starts workers, each of which owns a
//! device, and gives them orders over a pipe, line by line; the answers come back over another one. A worker that crashes, hangs or
//! loses its device costs the case that it was at. It is killed, never asked to clean up: destroying a hung device may block for
//! ever.
//!
//! ```text
//! host      the devices of the installed drivers, or the mock's, in this process     source   the catalogue's cases, compiled
//! placement where buffers lie, in a study of several processes                    pictures outputs that people can look at
//! protocol  what supervisor and worker say to each other        serve   the worker's side           remote   the supervisor's
//! questions what else a process is asked, a file for each        find    all devices, drivers that crash when asked included
//! ```

mod find;
mod host;
mod pictures;
mod placement;
pub mod protocol;
pub mod questions;
mod remote;
mod serve;
mod source;

use std::path::PathBuf;

pub use crate::process::{Deadline, Listener};
pub use find::{FoundDevice, find};
pub use host::{AlteredCase, Host, Identity, Opening};
pub use remote::{Isolated, NoDrivers};
pub use serve::serve;
pub use source::check_evictor;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Simulated devices, each with what follows `mock:` on the command line.
    Mock(Vec<String>),
    Vulkan {
        validation: bool,
        /// The manifest of the only driver to load; `None` for all that the loader finds.
        driver: Option<PathBuf>,
    },
}

/// How long a worker may be silent before it is taken for hung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// For starting, and for a case's first dispatch: some drivers compile there.
    pub first: Deadline,
    /// For anything else, beyond the time that it is to take.
    pub usual: Deadline,
}

impl Deadlines {
    /// For what compiles, which takes longer by far than all that the other deadline is for.
    fn compiling(&self) -> Deadline {
        self.first.later(self.usual.time)
    }
}
