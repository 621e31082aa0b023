//! Looks for the fastest configuration of a user's own shader: which configurations there are, which to measure next, and what
//! follows from those that were. Knows neither Vulkan nor how anything is measured.

pub mod answer;
mod expression;
pub mod search;
pub mod space;
mod table;

pub use expression::{Expression, ExpressionError, Value};
pub use table::{DeviceId, DriverId, Entry, KernelId, Match, Quality, Query, Table, TableError};
