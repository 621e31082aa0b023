//! Tuning a user's own shader, as far as it needs no device: expressions over axes, what is known of best configurations, and results
//! for other tools.

mod expression;
mod t4;
mod table;

pub use expression::{Expression, ExpressionError, Value};
pub use t4::{T4Measurement, T4Result, T4Session, T4Times, T4Validity, t4};
pub use table::{DeviceId, DriverId, Entry, KernelId, Match, Quality, Query, Table, TableError};
