//! `lanescope card`: what the devices of files of rows are.

use std::path::Path;

use anyhow::Context;

use super::args::Card;
use super::limits;
use super::stdout::print_as_is;
use crate::analysis::{Purpose, Rows, gaps, related};
use crate::error::{EXIT_OK, Error};
use crate::model::Shown;
use crate::output::{self, CardWriter, Mode, Page, Progress, Staged, Writer};

/// Reads the files, and writes the card of their rows, a column for each device.
pub fn card(arguments: &Card) -> anyhow::Result<u8> {
    let file = arguments.output.as_deref().filter(|path| *path != Path::new("-"));
    if let Some(taken) = file.and_then(|file| arguments.files.iter().find(|read| output::is_same_file(read, file))) {
        return Err(Error::Usage(format!("{} holds the rows: name another file for the card", taken.shown())).into());
    }
    let limits = limits::read(&arguments.limits)?;
    if let (Some(own), Some(file)) = (&arguments.limits.limits, file) {
        if output::is_same_file(own, file) {
            return Err(Error::Usage(format!("{} holds the limits: name another file for the card", own.shown())).into());
        }
    }
    let mut rows = Rows::default();
    for file in &arguments.files {
        rows.read(file, Purpose::Card)?;
    }
    tell(&rows, &Progress::new(Mode::Normal));
    let mut text = Vec::new();
    let files = arguments.files.iter().map(|file| file.shown()).collect();
    let page = if file.is_some() { Page::FILE } else { Page::stdout() };
    let mut writer = CardWriter::new(&mut text, files, page, limits);
    related::each(&rows, &mut |row| writer.write(&row).map(|()| true))?;
    writer.finish()?;
    drop(writer);
    let text = String::from_utf8(text).context("the card is no text")?;
    // It is legible already.
    let Some(file) = file else { return print_as_is(&text) };
    let staged = Staged::new(file);
    let unwritable = |error: std::io::Error| Error::Usage(format!("can't write {}: {error}", file.shown()));
    staged.write(text.as_bytes()).map_err(unwritable)?;
    Ok(EXIT_OK)
}

/// Says what the rows don't.
fn tell(rows: &Rows, progress: &Progress) {
    for note in rows.notes().iter().chain(&gaps::told(rows)) {
        progress.note(&format!("note: {note}"));
    }
    if let Some(fault) = rows.faults().first() {
        progress.note(&format!("note: {}. The rows of the first file are shown.", fault.trim_end_matches(':')));
    }
}
