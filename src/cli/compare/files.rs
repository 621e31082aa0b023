//! Where the answer goes.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::super::args::compare::{Compare, ComparisonFormat};
use super::super::overwriting::Files;
use crate::analysis::compare::Question;
use crate::error::Error;
use crate::output::{
    self, Format, Page, Report, RowTargets, Style, Target, comparison_csv, comparison_jsonl, comparison_text, hand_over,
    write_whole,
};

/// Errors: a file whose format its ending doesn't tell, one that is named twice, and one that is read.
pub fn targets(arguments: &Compare, question: &Question) -> Result<RowTargets, Error> {
    let targets =
        output::row_targets(&arguments.output, arguments.format.map(|ComparisonFormat(format)| format), Format::Table, true)?;
    check(&targets, arguments.suspects.as_deref(), question)?;
    Ok(targets)
}

fn check(targets: &[(Target, Format)], suspects: Option<&Path>, question: &Question) -> Result<(), Error> {
    let named = targets.iter().filter_map(|(target, _)| match target {
        Target::File(path) => Some(path),
        _ => None,
    });
    let read = Files::default().reading("the rows", read_files(question));
    read.writing("--output", named).writing("--suspects", suspects).check()
}

pub fn write(targets: &[(Target, Format)], report: &Report) -> anyhow::Result<()> {
    for (target, format) in targets {
        match target {
            // What is for people is legible already.
            Target::Stdout => hand_over(&written(report, *format, Page::stdout())?)?,
            Target::File(path) | Target::Continued(path) => write_whole(path, &written(report, *format, Page::FILE)?)?,
        }
    }
    Ok(())
}

fn written(report: &Report, format: Format, page: Page) -> anyhow::Result<String> {
    Ok(match format {
        Format::Csv => comparison_csv(report.comparisons).context("the cases are no CSV")?,
        Format::Jsonl => comparison_jsonl(report.comparisons).context("the cases are no JSON")?,
        Format::Markdown => comparison_text(report, Style::Markdown),
        Format::Table | Format::Card => comparison_text(report, Style::Text(page)),
    })
}

fn read_files(question: &Question) -> Vec<&Path> {
    match question {
        Question::Files(files) => files.iter().map(|(_, file)| file.as_path()).collect(),
        Question::By { files, .. } => files.iter().map(PathBuf::as_path).collect(),
    }
}
