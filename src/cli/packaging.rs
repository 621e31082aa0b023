//! `lanescope completions` and `lanescope man`: for packagers.

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use super::args::Arguments;
use super::stdout::print_as_is;
use crate::error::{EXIT_OK, Error};
use crate::model::Shown;

/// Prints a completion script.
pub fn completions(shell: Shell) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "lanescope", &mut script);
    print_as_is(&String::from_utf8(script)?)
}

/// Prints the manual page, or writes those of all commands into a folder.
pub fn man(folder: Option<&Path>) -> anyhow::Result<u8> {
    let Some(folder) = folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Arguments::command()).render(&mut page)?;
        return print_as_is(&String::from_utf8(page)?);
    };
    if !folder.is_dir() {
        return Err(Error::Usage(format!("`{}` is no folder: make it first", folder.shown())).into());
    }
    clap_mangen::generate_to(Arguments::command(), folder)
        .with_context(|| format!("can't write manual pages into {}", folder.shown()))?;
    Ok(EXIT_OK)
}
