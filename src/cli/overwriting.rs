//! What a command writes is apart from what it reads, and from what else it writes: nobody means to lose the one by the other.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::campaign::settings::RowFiles;
use crate::error::Error;
use crate::model::Shown;
use crate::output::{Target, is_same_file};
use crate::platform::{self, FileKind};

/// What lies beside files while they are written: until they are whole, to go on from, and to keep others off.
const BESIDE: [&str; 4] = [".part", ".copy.part", ".progress", ".lock"];

#[derive(Default)]
pub struct Files {
    read: Vec<(&'static str, PathBuf)>,
    written: Vec<(&'static str, PathBuf)>,
}

impl Files {
    /// These are read, and hold this: `the rows`.
    #[must_use]
    pub fn reading<P: AsRef<Path>>(mut self, what: &'static str, files: impl IntoIterator<Item = P>) -> Self {
        self.read.extend(named(files).map(|file| (what, file)));
        self
    }

    /// These are written, as this flag wants it: `--output`.
    #[must_use]
    pub fn writing<P: AsRef<Path>>(mut self, flag: &'static str, files: impl IntoIterator<Item = P>) -> Self {
        for file in named(files) {
            let beside = |ending: &str| {
                file.with_file_name([file.file_name().unwrap_or_default(), ending.as_ref()].join(OsStr::new("")))
            };
            // Nothing lies beside a pipe or `/dev/null`.
            let is_file = platform::kind_at(&file).map_or(true, |kind| kind == FileKind::Regular);
            let all_beside = BESIDE.map(|ending| (flag, beside(ending)));
            self.written.push((flag, file));
            self.written.extend(all_beside.into_iter().filter(|_| is_file));
        }
        self
    }

    /// Rows are written, maybe to go on with those of an earlier run, whose file may be named as output as well.
    #[must_use]
    pub fn writing_rows(self, files: &RowFiles) -> Self {
        let is_resumed = |file: &&PathBuf| files.resume.as_ref().is_some_and(|resumed| is_same_file(file, resumed));
        self.writing("--resume", &files.resume).writing("--output", files.output.iter().filter(|file| !is_resumed(file)))
    }

    pub fn check(&self) -> Result<(), Error> {
        for (i, (flag, file)) in self.written.iter().enumerate() {
            if let Some((what, read)) = self.read.iter().find(|(_, read)| is_same_file(read, file)) {
                return Err(Error::Usage(format!("{} holds {what}: name another file for {flag}", read.shown())));
            }
            if let Some((other, _)) = self.written[..i].iter().find(|(_, earlier)| is_same_file(earlier, file)) {
                let by = if other == flag { flag.to_string() } else { format!("{other} and {flag}") };
                return Err(Error::Usage(format!("{} is given twice, by {by}: name another file for one", file.shown())));
            }
        }
        Ok(())
    }
}

/// Those that are files, and no standard input or output.
fn named<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> impl Iterator<Item = PathBuf> {
    let files = files.into_iter().map(|file| file.as_ref().to_owned());
    files.filter(|file| Target::from_argument(file) != Target::Stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_apart() {
        let folder = tempfile::tempdir().unwrap();
        let [rows, link, other] = ["rows.csv", "link.csv", "other.csv"].map(|name| folder.path().join(name));
        std::fs::write(&rows, "rows").unwrap();
        std::fs::hard_link(&rows, &link).unwrap();
        let check = |files: Files| files.check().map_err(|error| error.to_string());
        let reading = || Files::default().reading("the rows", [&rows]);
        assert_eq!(check(reading().writing("--output", [&other])), Ok(()));
        assert!(
            check(reading().writing("--output", [&rows]))
                .unwrap_err()
                .contains("holds the rows: name another file for --output")
        );
        if cfg!(unix) {
            assert!(check(reading().writing("--output", [&link])).is_err(), "another name of the same file");
        }
        let twice = |flag| check(Files::default().writing("--output", [&other]).writing(flag, [&other])).unwrap_err();
        assert!(twice("--samples").contains("other.csv is given twice, by --output and --samples"));
        assert!(twice("--output").contains("is given twice, by --output:"));
        let part = folder.path().join("other.csv.part");
        assert!(
            check(Files::default().reading("the rows", [&part]).writing("--output", [&other])).is_err(),
            "it is written first"
        );
        let null = || Files::default().writing("--output", ["/dev/null"]).writing("--samples", ["/dev/null"]);
        assert!(cfg!(windows) || check(null()).is_ok());
        assert_eq!(check(Files::default().reading("the rows", ["-"]).writing("--output", ["-"])), Ok(()));
    }
}
