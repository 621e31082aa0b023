//! The flag that names a file of limits, of all commands that show some.

use std::path::PathBuf;

use clap::Args;

#[derive(Clone, Debug, Args)]
pub struct LimitsFile {
    /// What your devices can do at most, as TOML (see `lanescope guide drivers`): it comes before what is known of them
    #[arg(long, value_name = "FILE")]
    pub limits: Option<PathBuf>,
}
