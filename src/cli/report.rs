//! `lanescope report`: rows as a page, and as figures.
//!
//! ```text
//! sources    whose rows are shown side by side
//! ```

mod sources;

use std::path::{Path, PathBuf};

use super::args::report::Report;
use super::limits;
use super::named::named_files;
use super::overwriting::Files;
use crate::analysis::compare::{Sides, Terms, compare};
use crate::analysis::short_name;
use crate::error::{EXIT_OK, Error};
use crate::model::Shown;
use crate::output::{Mode, Progress, hand_over, write_whole};
use crate::regular;
use crate::report::{Contents, drawn, page};

pub fn report(arguments: &Report) -> anyhow::Result<u8> {
    let files = named_files(&arguments.files)?;
    check(arguments, &files)?;
    let limits = limits::read(&arguments.limits)?;
    let mut sides = arguments.compare.then(|| Sides::of_files(&files));
    let (sources, notes) = sources::sources(&files, sides.as_mut())?;
    let terms = Terms { margin: arguments.margin, is_forced: false };
    let comparisons = sides.map(|sides| compare(&sides, &terms)).transpose()?.unwrap_or_default();
    let progress = Progress::new(if arguments.quiet { Mode::Quiet } else { Mode::Normal });
    progress.notes(&notes);
    let names: Vec<String> = files.iter().map(|(_, file)| short_name(file)).collect();
    let contents =
        Contents { sources: &sources, files: &names, notes: &notes, limits: limits.as_ref(), comparisons: &comparisons };
    if let Some(folder) = &arguments.figures {
        let count = figures(folder, &contents)?;
        progress.note(&format!("{count} figures in {}", folder.shown()));
    }
    if let Some(file) = &arguments.output {
        let text = page(&contents)?;
        if file == Path::new("-") {
            hand_over(&text)?;
        } else {
            write_whole(file, &text)?;
        }
    }
    Ok(EXIT_OK)
}

/// Refuses to write over what is read, and to compare one side with nothing.
fn check(arguments: &Report, files: &[(Option<String>, PathBuf)]) -> Result<(), Error> {
    let read = Files::default()
        .reading("the rows", files.iter().map(|(_, file)| file))
        .reading("the limits", &arguments.limits.limits);
    read.writing("--output", &arguments.output).check()?;
    if arguments.compare && Sides::of_files(files).sides.len() < 2 {
        let advice = "name two files, or two sides: --compare before=a.csv after=b.csv";
        return Err(Error::Usage(format!("there is one side, which has nothing to be compared with: {advice}")));
    }
    Ok(())
}

/// Writes every figure into a folder, and says how many there are. Other files of it are left.
fn figures(folder: &Path, contents: &Contents) -> Result<usize, Error> {
    regular::folder(folder).map_err(Error::unwritable(folder))?;
    let figures = drawn(contents);
    for (name, svg) in &figures {
        let path = folder.join(format!("{name}.svg"));
        regular::overwrite(&path, svg.as_bytes()).map_err(Error::unwritable(&path))?;
    }
    Ok(figures.len())
}
