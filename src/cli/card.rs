//! `lanescope card`: what the devices of files of rows are.

use std::path::Path;

use anyhow::Context;

use super::args::Card;
use super::limits;
use super::named::each_stream_once;
use super::overwriting::Files;
use super::stdout::print_as_is;
use crate::analysis::{Purpose, RowSet, input_name};
use crate::error::EXIT_OK;
use crate::output::{CardWriter, Mode, Page, Progress, Writer, write_whole};

/// Reads the files, and writes the card of their rows, a column for each device.
pub fn card(arguments: &Card) -> anyhow::Result<u8> {
    let file = arguments.output.as_deref().filter(|path| *path != Path::new("-"));
    let read = Files::default().reading("the rows", &arguments.files).reading("the limits", &arguments.limits.limits);
    read.writing("--output", file).check()?;
    each_stream_once(&arguments.files)?;
    let limits = limits::read(&arguments.limits)?;
    let mut rows = RowSet::default();
    for file in &arguments.files {
        rows.read(file, Purpose::Card)?;
    }
    Progress::new(Mode::Normal).notes(notes(&rows));
    let mut text = Vec::new();
    let files = arguments.files.iter().map(|file| input_name(file)).collect();
    let page = if file.is_some() { Page::FILE } else { Page::stdout() };
    let mut writer = CardWriter::new(&mut text, files, page, limits);
    rows.each_renewed(&mut |row| writer.write(&row).map(|()| true))?;
    writer.finish()?;
    drop(writer);
    let text = String::from_utf8(text).context("the card is no text")?;
    // It is legible already.
    let Some(file) = file else { return print_as_is(&text) };
    write_whole(file, &text)?;
    Ok(EXIT_OK)
}

pub fn notes(rows: &RowSet) -> Vec<String> {
    let shown = |fault: &String| format!("{}; those that come first are shown", fault.trim_end_matches(':'));
    let fault = rows.faults().first().map(shown);
    rows.notes().into_iter().chain(rows.missing()).chain(fault).collect()
}
