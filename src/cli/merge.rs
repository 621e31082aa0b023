//! `lanescope merge`: the files of a run's shards become the one file that the run would have written.

use super::args::Merge;
use super::chosen;
use super::named::each_stream_once;
use super::overwriting::Files;
use crate::analysis::{Purpose, RowSet, counted};
use crate::campaign::merged;
use crate::error::{EXIT_OK, Error};
use crate::model::Shown;
use crate::output::{self, Format, Mode, Progress};

pub fn merge(arguments: &Merge) -> anyhow::Result<u8> {
    let progress = Progress::new(if arguments.quiet { Mode::Quiet } else { Mode::Normal });
    if arguments.format == Some(Format::Card) {
        return Err(Error::Usage("`lanescope card FILE...` makes the card of files".to_owned()).into());
    }
    Files::default().reading("the rows", &arguments.files).writing("--save-table", &arguments.save_table).check()?;
    Files::default().writing("--output", &arguments.output).writing("--save-table", &arguments.save_table).check()?;
    each_stream_once(&arguments.files)?;
    let targets = output::row_targets(&arguments.output, arguments.format, Format::for_stdout(output::is_terminal()), false)?;
    let mut rows = RowSet::default();
    for file in &arguments.files {
        rows.read(file, if arguments.partial { Purpose::MergingPart } else { Purpose::Merging })?;
    }
    progress.notes(rows.notes());
    let (mut faults, gaps) = (rows.faults(), rows.missing());
    if arguments.partial {
        progress.notes(gaps);
    } else {
        faults.extend(gaps);
    }
    if !faults.is_empty() {
        anyhow::bail!("{}\nnothing was written", faults.join("\n"));
    }
    let chosen = arguments.save_table.as_ref().map(|path| (chosen::entries(&rows, path), path));
    let summary = merged::write(rows, targets, &arguments.columns, arguments.anonymous)?;
    if let Some((entries, path)) = chosen {
        let count = chosen::save(entries?, path)?;
        progress.note(&format!("{} in {}", counted(count as u64, "best workgroup"), path.shown()));
    }
    progress.note(&format!("{summary} from {}", counted(arguments.files.len() as u64, "file")));
    Ok(EXIT_OK)
}
