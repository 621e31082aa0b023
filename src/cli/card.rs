//! `lanescope card`: what the devices of files of rows are.

use std::fs::File;
use std::io::{self, Write};

use super::args::Card;
use crate::analysis::{Rows, related};
use crate::error::{EXIT_OK, Error};
use crate::output::{CardWriter, Mode, Page, Progress, Writer};

/// Reads the files, and writes the card of their rows, a column for each device.
pub fn card(arguments: &Card) -> anyhow::Result<u8> {
    let progress = Progress::new(Mode::Normal);
    let mut rows = Rows::default();
    let mut files = Vec::new();
    for file in &arguments.files {
        rows.read(file)?;
        files.push(file.display().to_string());
    }
    let faults = rows.faults();
    if let Some(first) = faults.first() {
        progress.note(&format!("note: {first} of rows that differ, those of the first file are shown"));
    }
    let (out, page): (Box<dyn Write>, Page) = match &arguments.output {
        Some(path) => {
            let created = File::create(path);
            let file = created.map_err(|error| Error::Usage(format!("can't write {}: {error}", path.display())))?;
            (Box::new(file), Page::FILE)
        }
        None => (Box::new(io::stdout().lock()), Page::stdout()),
    };
    let mut writer = CardWriter::new(out, files, page);
    related::each(&rows, &mut |row| writer.write(&row).map(|()| true))?;
    writer.finish()?;
    Ok(EXIT_OK)
}
