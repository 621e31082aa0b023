//! Looks for the fastest configuration of a user's own shader: which configurations there are, which to measure next, and what
//! follows from those that were. Knows neither Vulkan nor how anything is measured.
//!
//! ```text
//! subject      what is tuned, as data        kernel   a configuration of it as a case (module, variables, names, members)
//! resources    what the case binds (buffers, scalars, images, texels, samplers, fill)
//! compare      its results (written), beside those of a reference     doubts   what makes both doubtful
//! space        the configurations that may be    search   which one next
//! answer       what follows from those that were measured (diagnosis: from wrong ones)    table, t4   the best ones, over many runs and for other tools
//! expression   what users say of counts, sizes and restrictions
//! ```

pub mod answer;
mod buffers;
mod compare;
mod diagnosis;
mod doubts;
mod expression;
mod fill;
mod images;
mod kernel;
mod members;
mod module;
mod names;
mod resources;
mod samplers;
mod scalars;
pub mod search;
mod sized;
pub mod space;
mod subject;
mod t4;
mod table;
mod texels;
mod variables;
mod written;

pub use compare::{Comparison, Tolerance};
pub use diagnosis::{Diagnosis, diagnose};
pub use doubts::Doubt;
pub use expression::{Expression, ExpressionError, Value, listed};
pub use fill::Fill;
pub use images::ImageSpec;
pub use kernel::{CONSTANT_AXIS, Constant, LOCAL_SIZE_AXES, MACRO_AXIS, Refusal, UserKernel};
pub use members::Unsaid;
pub use samplers::SamplerSpec;
pub use subject::{BufferSpec, Reference, Subject};
pub use t4::{T4Measurement, T4Result, T4Session, T4Times, T4Validity, t4};
pub use table::{DeviceId, DriverId, KernelId, Match, Quality, Query, Table, TableEntry, TableError};
