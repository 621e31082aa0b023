//! `lanescope tune`, as fast as can be: for tests of what is right, not of how fast it is.

use lanescope::record::Record;

use super::{Ran, ran, rows};

/// What makes a tuning short, and prints its rows.
pub const SHORT: [&str; 7] = ["--preset", "quick", "--max-time", "10ms", "--no-lock", "--format", "csv"];

/// How a short tuning ends, under the validation layer.
pub fn tuned(arguments: &[&str]) -> Ran {
    // The mock has nothing to validate.
    let validation: &[&str] =
        if arguments.iter().any(|argument| argument.starts_with("mock")) { &[] } else { &["--validation"] };
    ran(&[&["tune"], &SHORT[..], validation, arguments].concat())
}

/// Its rows; it ends with this exit code.
pub fn found(code: i32, arguments: &[&str]) -> Vec<Record> {
    let ran = tuned(arguments);
    assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.err);
    rows(&ran.out)
}
