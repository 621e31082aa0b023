//! What follows from rows: which of them belong together, what is missing and what contradicts, figures relative to others and
//! derived ones. All but `earlier` works on rows alone, so that a run, one that is resumed, and a merge of files come to the same.
//!
//! ```text
//! compare      what changed between sides of rows, and whether it is real
//! card         what a device is, in a few lines
//! doubts       reasons to doubt many rows at once, and what to do
//! relations    what the rows of one device say of each other, as they come
//! rows         the rows of several files: each case once, in the order of one run; what contradicts
//! input        one file of rows, or standard input, read row by row
//! gaps         the cases of a plan that no row has
//! related      the rows of files, their relations renewed, and what follows from them
//! earlier      which rows of an earlier run are a run's own
//! ```

mod card;
pub mod compare;
mod doubts;
pub mod earlier;
pub mod gaps;
mod input;
pub mod related;
mod relations;
mod rows;
mod words;

pub use card::Card;
pub use doubts::{DOUBTS, Doubt, Tally};
pub use input::{Purpose, input_name};
pub use relations::Relations;
pub use rows::{DeviceRows, FileRows, Group, Position, Row, Rows};
pub use words::counted;
