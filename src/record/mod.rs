//! The row: one table of columns, records that fill it, and the way back from a file.
//!
//! [`schema`] is the one place that defines the fixed columns. A [`Record`] is all that writers, merging, comparison and
//! derivation know of a measurement; a [`Header`] lays it out as cells, a [`Reader`] reads it back.

mod cell;
mod common;
mod completeness;
mod environment;
mod header;
mod packed;
mod reader;
mod recover;
mod rounds;
mod row;
pub mod schema;
mod sound;
mod statistics;
mod v1;

pub use cell::{Cell, Kind};
pub use completeness::{Choice, Completeness, choose};
pub use environment::environment;
pub use header::Header;
pub use packed::Packed;
pub use reader::{ReadError, Reader};
pub use rounds::{round_clocks, round_medians};
pub use row::quirk_flag;
pub(crate) use row::{MEASURED, joined};
pub use schema::{COLUMNS, Column, Record, SCHEMA_VERSION, Use, needed};
pub use statistics::{Figures, statistics_object};
