//! Looks for the fastest configuration of a user's own shader: which configurations there are, which to measure next, and what
//! follows from those that were. Knows nothing of how a configuration becomes a case, nor of how it is measured.
//!
//! ```text
//! space        the configurations that may be    search   which one next
//! ending       whether one is the fastest, several are as good, or this machine can't tell
//! answer       what else follows from those that were measured (diagnosis: from wrong ones)
//! table, t4    the best ones, over many runs and for other tools (lanescope-table: as an application reads them)
//! ```

#[doc(hidden)]
pub mod answer;
#[doc(hidden)]
mod diagnosis;
#[doc(hidden)]
pub mod ending;
#[doc(hidden)]
pub mod search;
#[doc(hidden)]
pub mod space;
#[doc(hidden)]
mod t4;
mod table;

pub use diagnosis::{Diagnosis, diagnose};
pub use t4::{T4Measurement, T4Result, T4Session, T4Times, T4Validity, t4};
pub use table::{SaveError, read_table, save_table};

#[doc(no_inline)]
pub use lanescope_table::{
    AxisValue, DeviceId, DriverId, KernelId, Match, ParseError, Quality, Query, Table, TableEntry, TableError, Uuid,
};
