//! Where rows are to go, as the user typed it.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::Context;

use crate::error::Error;
use crate::model::Shown;
use crate::output::{Format, Staged, Target};

/// Files as named; standard output where it is named and where no file is. With `beside`, a person at a terminal sees that beside
/// files as well.
pub fn targets(files: &[PathBuf], asked: Option<Format>, beside: Option<Format>) -> Result<Vec<(Target, Format)>, Error> {
    let is_terminal = std::io::stdout().is_terminal();
    let for_stdout = asked.or(beside.filter(|_| is_terminal)).unwrap_or(Format::for_stdout(is_terminal));
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
    if targets.is_empty() || (beside.is_some() && is_terminal && !is_named) {
        targets.push((Target::Stdout, for_stdout));
    }
    Ok(targets)
}

/// Gives every file a temporary name until [`finish`].
pub fn stage(targets: Vec<(Target, Format)>) -> (Vec<(Target, Format)>, Vec<Staged>) {
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
pub fn finish(staged: Vec<Staged>) -> anyhow::Result<()> {
    staged.into_iter().try_for_each(|file| {
        let path = file.path().to_owned();
        file.finish().with_context(|| format!("can't give {} its name", path.shown()))
    })
}
