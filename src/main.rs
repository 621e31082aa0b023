//! The `lanescope` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(lanescope::cli::main())
}
