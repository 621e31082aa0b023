//! What limits a kernel: `explain`.
//!
//! ```text
//! demand    what a dispatch moves and computes, out of its trace
//! bounds    the least time for that, by what rows say that the device does at most
//! measured  what it takes
//! trials    costs that are taken away, and remedies, and what that does to its time
//! tried     all of them, measured
//! findings  what costs time for nothing, where that is, and what mending it would gain
//! ```
//!
//! Only what must happen bounds a time. What a driver may do with less of, or what caches may spare, is an estimate, and is never what
//! binds.

pub mod bounds;
pub mod demand;
pub mod findings;
pub mod measured;
pub mod trials;
pub mod tried;
