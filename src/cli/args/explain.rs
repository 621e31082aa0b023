//! `lanescope explain`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::recorded::RecordedCase;
use crate::units::parse_share;

#[derive(Clone, Debug, Args)]
pub struct Explain {
    #[command(flatten)]
    pub case: RecordedCase,

    /// Take the device's limits from rows that `run` measured on it: `lanescope run --preset model -o machine.csv` measures them all
    #[arg(long, value_name = "FILE")]
    pub rows: Vec<PathBuf>,

    /// Write the answer as a page as well, with the source and what its accesses cost: explain.html
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Show the answer in this format
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    pub format: AnswerFormat,

    /// End with exit code 1 where the kernel attains less than this share of its highest bound, as in attained:50%
    #[arg(long, value_name = "attained:SHARE", value_parser = attained)]
    pub fail_on: Option<f64>,

    /// Make the device check every buffer access (robustBufferAccess), which costs time on some
    #[arg(long)]
    pub robust: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnswerFormat {
    /// For people
    Text,
    /// The same, with all digits
    Json,
    /// For issues and wikis
    Markdown,
}

fn attained(text: &str) -> Result<f64, String> {
    let share = text.strip_prefix("attained:").ok_or_else(|| "attained:SHARE is needed, such as attained:50%".to_owned())?;
    parse_share(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_what_is_attained() {
        assert_eq!(attained("attained:50%"), Ok(0.5));
        for wrong in ["50%", "attained:", "attained:0", "attained:200%", "memory:50%"] {
            assert!(attained(wrong).is_err(), "{wrong}");
        }
    }
}
