//! `lanescope fleet`: which machines deviate from the others of their kind.
//!
//! ```text
//! levels   what machines have in common, such as a rack
//! text     the answer for people
//! table    the same, a line for each machine and family
//! ```

mod levels;
mod table;
pub mod text;

use super::args::fleet::{Fleet as Given, FleetFormat};
use super::named::each_stream_once;
use super::overwriting::Files;
use crate::analysis::compare::check_column;
use crate::analysis::fleet::{Fleet, Judged, Verdict, judge};
use crate::analysis::{Purpose, read_rows};
use crate::error::{EXIT_FAILED, EXIT_OK, EXIT_USAGE, Error};
use crate::output::{self, Format, Mode, Page, Progress, Target, hand_over, write_whole};
use levels::Levels;

pub fn fleet(given: &Given) -> anyhow::Result<u8> {
    let targets = output::row_targets(&given.output, given.format.map(|FleetFormat(format)| format), Format::Table, true)?;
    let written = targets.iter().filter_map(|(target, _)| if let Target::File(path) = target { Some(path) } else { None });
    let files = Files::default().reading("the rows", &given.files).reading("the machines", &given.machines);
    files.writing("--output", written).check()?;
    each_stream_once(&given.files)?;
    let judged = judged(given)?;
    for (target, format) in &targets {
        let text = |page| match format {
            Format::Csv => table::csv(&judged),
            Format::Jsonl => table::jsonl(&judged),
            Format::Markdown => Ok(text::markdown(&judged, given.all)),
            Format::Table | Format::Card => Ok(text::text(&judged, given.all, page)),
        };
        match target {
            Target::Stdout => hand_over(&text(Page::stdout())?)?,
            Target::File(path) | Target::Continued(path) => write_whole(path, &text(Page::FILE)?)?,
        }
    }
    let has = |verdict: Verdict| judged.iter().flat_map(|of| &of.machines).any(|machine| machine.verdict == verdict);
    Ok(match has(Verdict::Deviates) {
        true if given.fail_on_deviation => EXIT_FAILED,
        false if !has(Verdict::Like) => EXIT_USAGE,
        _ => EXIT_OK,
    })
}

fn judged(given: &Given) -> anyhow::Result<Vec<Judged>> {
    let progress = Progress::new(if given.quiet { Mode::Quiet } else { Mode::Normal });
    let by = given.by.as_deref().unwrap_or("host");
    check_column("--by", by)?;
    let mut levels = Levels::new(by, &given.factor, given.machines.as_deref())?;
    let mut fleet = Fleet::new(given.factor.clone());
    let mut notes = Vec::new();
    for file in &given.files {
        notes.extend(read_rows(file, &[Purpose::Comparison], &mut |record, _| {
            let mut machine = record.cell(by).map(|cell| cell.to_string()).unwrap_or_default();
            if machine.is_empty() && given.by.is_none() {
                machine.clone_from(&record.device_uuid);
            }
            let own = levels.of(record, &machine);
            fleet.take(record, &machine, own);
            Ok(())
        })?);
    }
    levels.check()?;
    notes.extend(levels.without());
    if fleet.without > 0 {
        notes.push(format!("{} rows have no {by} and are left out", fleet.without));
    }
    progress.notes(&notes);
    if fleet.kinds().next().is_none() {
        let words = format!("--by {by}: no row has a machine there, so there is nothing to judge");
        return Err(Error::Usage(words).into());
    }
    Ok(judge(&mut fleet, given.margin))
}
