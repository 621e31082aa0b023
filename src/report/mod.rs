//! Rows as pictures and as a page.
//!
//! ```text
//! chart     what a picture shows
//! draw      pictures as SVG
//! ```

pub mod chart;
pub mod draw;
