//! Where rows are to go, as the user typed it.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::Context;

use super::{Format, Staged, Target};
use crate::error::Error;
use crate::model::Shown;

pub type RowTargets = Vec<(Target, Format)>;

/// Files as named; standard output where it is named, where no file is, and with `beside` on a terminal beside files as well.
pub fn row_targets(files: &[PathBuf], asked: Option<Format>, for_stdout: Format, beside: bool) -> Result<RowTargets, Error> {
    let for_stdout = asked.unwrap_or(for_stdout);
    let mut targets = Vec::new();
    for path in files {
        let target = Target::from_argument(path);
        let format = match (&target, asked) {
            (Target::File(path), None) => Format::from_path(path)?,
            (Target::File(path), Some(format)) => Format::from_path(path).unwrap_or(format),
            _ => for_stdout,
        };
        targets.push((target, format));
    }
    let is_named = targets.iter().any(|(target, _)| *target == Target::Stdout);
    if targets.is_empty() || (beside && is_terminal() && !is_named) {
        targets.push((Target::Stdout, for_stdout));
    }
    Ok(targets)
}

pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Gives every file a temporary name until [`finish_staged`].
pub fn stage(targets: RowTargets) -> (RowTargets, Vec<Staged>) {
    let mut staged = Vec::new();
    let mut stage = |path: PathBuf| {
        let file = Staged::new(&path);
        let temporary = file.path().to_owned();
        staged.push(file);
        temporary
    };
    let targets = targets.into_iter().map(|(target, format)| match target {
        Target::File(path) => (Target::File(stage(path)), format),
        Target::Continued(path) => (Target::Continued(stage(path)), format),
        Target::Stdout => (Target::Stdout, format),
    });
    (targets.collect(), staged)
}

/// Gives files their own names: they are whole.
/// Errors: where one can't be renamed; it stays under its temporary name.
pub fn finish_staged(staged: Vec<Staged>) -> anyhow::Result<()> {
    staged.into_iter().try_for_each(|file| {
        let path = file.path().to_owned();
        file.finish().with_context(|| format!("can't give {} its name", path.shown()))
    })
}
