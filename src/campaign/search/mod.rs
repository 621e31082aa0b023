//! `tune`: configurations of a kernel are measured until the fastest is known.
//!
//! ```text
//! spec        what is searched
//! introduced  what is said before
//! dry         what is looked at instead of measuring
//! bounds      whether a configuration stays within its arrays
//! rows        the rows of configurations, those of an earlier search among them
//! figures     what was measured of one
//! run         the search itself
//! checks      whether a winner is right for other inputs and at other sizes
//! races       whether invocations race in it
//! examined    what is made sure of in the end
//! ```

pub mod bounds;
pub mod checks;
pub mod dry;
mod examined;
mod figures;
mod introduced;
pub mod races;
pub mod rows;
pub mod run;
mod spec;

pub use spec::{Search, usage};
