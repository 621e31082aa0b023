//! Tuning a user's own shader, as far as it needs no device: expressions over axes, and what is known of best configurations.

mod expression;
mod table;

pub use expression::{Expression, ExpressionError, Value};
pub use table::{DeviceId, DriverId, Entry, KernelId, Match, Quality, Query, Table, TableError};
