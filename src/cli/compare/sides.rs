//! What the arguments stand for: files of named sides, or the rows of files by a column.

use std::path::{Path, PathBuf};

use super::super::args::compare::Compare;
use super::super::named::{named_files, once_from_standard_input};
use crate::analysis::compare::Question;
use crate::error::Error;

pub fn question(arguments: &Compare) -> Result<Question, Error> {
    let Some(column) = &arguments.by else { return Ok(Question::Files(named_files(&arguments.sides)?)) };
    let files: Vec<PathBuf> = arguments.sides.iter().map(PathBuf::from).collect();
    once_from_standard_input(files.iter().map(PathBuf::as_path))?;
    Ok(Question::By { column: column.clone(), base: arguments.base.clone(), files })
}

pub fn files(question: &Question) -> Vec<&Path> {
    match question {
        Question::Files(files) => files.iter().map(|(_, file)| file.as_path()).collect(),
        Question::By { files, .. } => files.iter().map(PathBuf::as_path).collect(),
    }
}
