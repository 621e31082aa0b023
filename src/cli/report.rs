//! `lanescope report`: rows as a page, and as figures.
//!
//! ```text
//! sources    whose rows are shown side by side
//! ```

mod sources;

use std::path::{Path, PathBuf};

use super::args::report::Report;
use super::fleet::text as fleet_text;
use super::limits;
use super::named::named_files;
use super::overwriting::Files;
use crate::analysis::compare::{Sides, Terms, compare};
use crate::analysis::fleet::{FEWEST_MACHINES, Fleet, MARGIN, judge};
use crate::analysis::short_name;
use crate::error::{EXIT_OK, Error};
use crate::model::Shown;
use crate::output::{Mode, Progress, hand_over, write_whole};
use crate::regular;
use crate::report::machine::Examined;
use crate::report::{Contents, drawn, page};

const DOCTOR: regular::Kind = regular::Kind { what: "a report of doctor", largest: 16 << 20, may_stream: false };

pub fn report(arguments: &Report) -> anyhow::Result<u8> {
    let files = named_files(&arguments.files)?;
    check(arguments, &files)?;
    let limits = limits::read(&arguments.limits)?;
    let mut sides = arguments.compare.then(|| Sides::of_files(&files));
    let mut fleet = Fleet::default();
    let (sources, notes) = sources::sources(&files, sides.as_mut(), &mut fleet)?;
    let machines = machines(&mut fleet);
    let terms = Terms { margin: arguments.margin, is_forced: false };
    let comparisons = sides.map(|sides| compare(&sides, &terms)).transpose()?.unwrap_or_default();
    let examined = arguments.doctor.as_deref().map(examined).transpose()?;
    let progress = Progress::new(if arguments.quiet { Mode::Quiet } else { Mode::Normal });
    progress.notes(&notes);
    let names: Vec<String> = files.iter().map(|(_, file)| short_name(file)).collect();
    let contents = Contents {
        sources: &sources,
        files: &names,
        notes: &notes,
        limits: limits.as_ref(),
        comparisons: &comparisons,
        machines: &machines,
        examined: examined.as_ref(),
    };
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

/// What `doctor --json` wrote.
fn examined(file: &Path) -> Result<Examined, Error> {
    let bytes = regular::read(file, DOCTOR).map_err(|error| Error::Usage(format!("{}: {error}", file.shown())))?;
    let wrong = |error| Error::Usage(format!("{}: it isn't what lanescope doctor --json writes: {error}", file.shown()));
    serde_json::from_slice(&bytes).map_err(wrong)
}

/// What `fleet` says, of kinds of which there are enough machines.
fn machines(fleet: &mut Fleet) -> String {
    let mut judged = judge(fleet, MARGIN);
    judged.retain(|of| of.machines.len() >= FEWEST_MACHINES && of.cases > 0);
    if judged.is_empty() { String::new() } else { fleet_text::markdown(&judged, false) }
}

/// Refuses to write over what is read, and to compare one side with nothing.
fn check(arguments: &Report, files: &[(Option<String>, PathBuf)]) -> Result<(), Error> {
    let read = Files::default()
        .reading("the rows", files.iter().map(|(_, file)| file))
        .reading("the limits", &arguments.limits.limits)
        .reading("what doctor found", &arguments.doctor);
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
