//! `trace`: what a kernel accesses, recorded pass by pass in a process of its own.
//!
//! ```text
//! traced  what is to be recorded, and what was
//! rows    that as the rows of two tables
//! findings what was found, in words
//! tracing the passes that record, and what is in one
//! costs   what accesses cost, pass by pass
//! checked what invocations do to one another, workgroup by workgroup
//! ordered what would order accesses that race
//! passes  a case's dispatches, one after the other
//! ```

mod checked;
mod costs;
pub mod findings;
mod ordered;
pub mod passes;
pub mod rows;
mod traced;
mod tracing;

pub use traced::{Checked, DispatchTrace, Groups, Moved, Order, Remedy, Scoped, Traces, Tries, unordered};
pub use tracing::AccessRows;
