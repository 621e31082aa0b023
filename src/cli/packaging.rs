//! `lanescope completions` and `lanescope man`: for packagers.

use std::path::Path;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use super::args::Arguments;
use super::guide::manual;
use super::stdout::print_as_is;
use crate::error::{EXIT_OK, Error};
use crate::guide::GUIDES;
use crate::model::Shown;
use crate::regular;

pub fn completions(shell: Shell) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "lanescope", &mut script);
    print_as_is(&String::from_utf8(script)?)
}

pub fn man(folder: Option<&Path>) -> anyhow::Result<u8> {
    let Some(folder) = folder else {
        let mut page = Vec::new();
        Man::new(Arguments::command()).render(&mut page)?;
        return print_as_is(&String::from_utf8(page)?);
    };
    if !folder.is_dir() {
        return Err(Error::Usage(format!("`{}` is no folder: make it first", folder.shown())).into());
    }
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    pages(&command, folder)?;
    for (name, text) in GUIDES.iter().map(manual) {
        write(folder, &name, text.as_bytes())?;
    }
    Ok(EXIT_OK)
}

/// Writes the page of a command, and those of its own commands.
fn pages(command: &Command, folder: &Path) -> anyhow::Result<()> {
    let (page, mut text) = (Man::new(command.clone()), Vec::new());
    page.render(&mut text)?;
    write(folder, &page.get_filename(), &text)?;
    command.get_subcommands().filter(|command| !command.is_hide_set()).try_for_each(|command| pages(command, folder))
}

fn write(folder: &Path, name: &str, text: &[u8]) -> anyhow::Result<()> {
    let file = folder.join(name);
    regular::overwrite(&file, text).with_context(|| format!("can't write {}", file.shown()))
}
