//! What accesses that a shader recorded mean for the memory system.
//!
//! ```text
//! check     what invocations of a workgroup do to one another
//! requests  which lanes make an access together
//! hardware  models of the memory system, as data
//! request   what one request costs
//! merged    what requests of shared memory cost if they are put together
//! sites     what all requests of an instruction cost
//! ```

pub mod check;
pub mod hardware;
mod merged;
pub mod remedy;
pub mod request;
pub mod requests;
pub mod sites;
pub mod traffic;
