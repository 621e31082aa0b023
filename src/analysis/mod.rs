//! What follows from rows: which of them belong together, what is missing and what contradicts, figures relative to others and
//! derived ones. All of it works on rows alone, so that a run, one that is resumed, and a merge of files come to the same.
//!
//! ```text
//! rowset       the rows of files, read once and joined: each case once, in the order of one run
//! relations    what the rows of one device say of each other, as they come
//! compare      what changed between sides of rows, and whether it is real
//! card         what a device is, in a few lines
//! fleet        which machines deviate from the others of their kind
//! limits       what a device does at most, by kind of work
//! doubts       reasons to doubt many rows at once, and what to do
//! words        how rows are counted and listed in messages
//! ```

mod card;
pub mod compare;
mod doubts;
pub mod fleet;
pub mod limits;
mod monotone;
mod relations;
mod rowset;
mod words;

pub use card::Card;
pub use doubts::{DOUBTS, Doubt, Tally};
pub use relations::Relations;
pub use rowset::{FileRows, Purpose, RowSet, input_name, read_rows, short_name};
pub use words::{counted, listed};
