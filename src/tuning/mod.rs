//! Looks for the fastest configuration of a user's own shader: which configurations there are, which to measure next, and what
//! follows from those that were. Knows neither Vulkan nor how anything is measured.
//!
//! ```text
//! subject      what is tuned, as data        kernel   a configuration of it as a case (module, variables, buffers, members, fill, scalars)
//! compare      its results, beside those of a reference     doubts   what makes both doubtful
//! space        the configurations that may be    search   which one next
//! answer       what follows from those that were measured    table, t4   the best ones, over many runs and for other tools
//! expression   what users say of counts, sizes and restrictions
//! ```

pub mod answer;
mod buffers;
mod compare;
mod doubts;
mod expression;
mod fill;
mod kernel;
mod members;
mod module;
mod scalars;
pub mod search;
pub mod space;
mod subject;
mod t4;
mod table;
mod variables;

pub use compare::Tolerance;
pub use doubts::Doubt;
pub use expression::{Expression, ExpressionError, Value, listed};
pub use fill::Fill;
pub use kernel::{CONSTANT_AXIS, Constant, Kernel, LOCAL_SIZE_AXES, MACRO_AXIS};
pub use subject::{BufferSpec, Reference, Subject};
pub use t4::{T4Measurement, T4Result, T4Session, T4Times, T4Validity, t4};
pub use table::{DeviceId, DriverId, Entry, KernelId, Match, Quality, Query, Table, TableError};
