//! `--source`: the shader with what its accesses cost, line by line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::output::trace::SiteRow;
use crate::regular::{self, Kind};
use crate::shader::Library;
use crate::subject::KernelSpec;
use crate::units::{percent, rounded};

const TEXT: Kind = Kind { what: "a shader's source", largest: 64 << 20, may_stream: false };

/// How wide the column of figures is.
const WIDTH: usize = 32;

/// All files that accesses lie in, each whole, with the figures of a line in front of it.
pub fn annotated(rows: &[SiteRow], subject: Option<&KernelSpec>) -> String {
    let is_constant = |row: &&SiteRow| matches!(row.space.as_str(), "push_constants" | "uniform") && row.pattern == "uniform";
    let marks = rows.iter().filter(|row| !is_constant(row)).filter_map(|row| Some((row.file.clone(), row.line?, figures(row))));
    annotated_by(marks, subject)
}

/// All files that are named, each whole, with what is to be said of a line in front of it.
pub fn annotated_by(marks: impl IntoIterator<Item = (String, u64, String)>, subject: Option<&KernelSpec>) -> String {
    let mut by_file: BTreeMap<String, BTreeMap<u64, Vec<String>>> = BTreeMap::new();
    for (file, line, words) in marks {
        by_file.entry(file).or_default().entry(line).or_default().push(words);
    }
    if by_file.is_empty() {
        return "\nThe module doesn't say which lines its instructions are from: compile it with debug information (-g).\n"
            .to_owned();
    }
    by_file.into_iter().map(|(file, lines)| of_file(&file, &lines, subject)).collect()
}

fn of_file(file: &str, lines: &BTreeMap<u64, Vec<String>>, subject: Option<&KernelSpec>) -> String {
    let mut out = format!("\n{file}\n");
    let Some(text) = text(file, subject) else {
        out += "(its text isn't to be found: what was recorded of each line)\n";
        for (line, figures) in lines {
            out += &figures.iter().map(|figures| format!("{figures:WIDTH$} {line:5}\n")).collect::<String>();
        }
        return out;
    };
    for (number, line) in (1_u64..).zip(text.lines()) {
        let mut figures = lines.get(&number).map(Vec::as_slice).unwrap_or_default().iter();
        let first = figures.next().map(String::as_str).unwrap_or_default();
        out += format!("{first:WIDTH$} {number:5} | {line}").trim_end();
        out.push('\n');
        for more in figures {
            out += &format!("{more:WIDTH$}       |\n");
        }
    }
    out
}

fn text(file: &str, subject: Option<&KernelSpec>) -> Option<String> {
    let Some(subject) = subject else { return Library::embedded().get(file).map(str::to_owned) };
    let beside = subject.shader.to_path_buf().parent().unwrap_or(Path::new("")).join(file);
    let read = |path: PathBuf| String::from_utf8(regular::read(&path, TEXT).ok()?).ok();
    [PathBuf::from(file), beside].into_iter().find_map(read)
}

fn figures(row: &SiteRow) -> String {
    let cost = match (row.efficiency, row.degree) {
        (Some(share), _) => format!("{} of sectors", percent(share)),
        (None, Some(degree)) => format!("degree {}", rounded(degree, None)),
        (None, None) if row.unfollowed == row.accesses => "not followed".to_owned(),
        (None, None) => String::new(),
    };
    format!("{:6} {cost:18} {}", row.kind, row.pattern)
}
