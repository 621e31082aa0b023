//! The lines that a description is made of.

use std::fmt;

/// A line: what it is about, and what is said.
pub(super) fn line(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    writeln!(f, "    {name:12} {value}")
}
