//! `trace`: what a kernel accesses, recorded pass by pass in a process of its own.
//!
//! ```text
//! traced  what is to be recorded, and what was
//! rows    that as the rows of two tables
//! passes  the recording itself
//! ```

pub mod passes;
pub mod rows;
mod traced;

pub use traced::{DispatchTrace, Groups, Moved, Order, Remedy, Traces};
