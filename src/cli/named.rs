//! Files of rows as arguments name them: `FILE`, or `NAME=FILE,FILE` for the files of one side.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::platform;

/// The files that arguments name, each with the name of its side if it has one.
pub fn named_files(arguments: &[OsString]) -> Result<Vec<(Option<String>, PathBuf)>, Error> {
    let files: Vec<Vec<_>> = arguments.iter().map(|argument| side(argument)).collect::<Result<_, _>>()?;
    let files = files.concat();
    each_stream_once(files.iter().map(|(_, file)| file))?;
    Ok(files)
}

/// Errors: a stream under two names, `-` and `/dev/stdin` say.
pub fn each_stream_once<'f>(files: impl IntoIterator<Item = &'f PathBuf>) -> Result<(), Error> {
    let files = files.into_iter().map(PathBuf::as_path);
    let streams: Vec<&Path> = files.filter(|file| *file == Path::new("-") || platform::is_own_stream(file)).collect();
    let is_twice =
        |(i, file): (usize, &&Path)| streams[..i].iter().any(|earlier| earlier == file || is_same_stream(earlier, file));
    if streams.iter().enumerate().any(is_twice) {
        return Err(Error::Usage(
            "a stream such as standard input (`-`) can be read once: name files for the others".to_owned(),
        ));
    }
    Ok(())
}

fn is_same_stream(one: &Path, other: &Path) -> bool {
    let named = |path: &Path| if path == Path::new("-") { PathBuf::from("/dev/stdin") } else { path.to_owned() };
    let there = |path| std::fs::metadata(named(path)).ok().filter(|metadata| !metadata.is_file());
    there(one).zip(there(other)).is_some_and(|(one, other)| platform::are_one(&one, &other))
}

/// `NAME=FILE,FILE` or `FILE`. A file that bears all of it as its name is meant before anything else.
fn side(argument: &OsStr) -> Result<Vec<(Option<String>, PathBuf)>, Error> {
    let alone = || Ok(vec![(None, PathBuf::from(argument))]);
    if Path::new(argument).exists() {
        return alone();
    }
    let Some((name, rest)) = argument.to_str().and_then(|text| text.split_once('=')) else { return alone() };
    if name.is_empty() || name.contains(['/', '\\']) {
        return alone();
    }
    let files: Vec<&str> = if Path::new(rest).exists() { vec![rest] } else { rest.split(',').collect() };
    if files.contains(&"") {
        return Err(Error::Usage(format!(
            "`{name}={rest}`: a file is missing: {name}=FILE, or {name}=FILE,FILE for several runs"
        )));
    }
    Ok(files.into_iter().map(|file| (Some(name.to_owned()), PathBuf::from(file))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_may_have_a_name_and_several_files() {
        let of = |text: &str| {
            side(OsStr::new(text)).map(|files| {
                files.into_iter().map(|(name, file)| (name.unwrap_or_default(), file.display().to_string())).collect::<Vec<_>>()
            })
        };
        let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>();
        assert_eq!(of("a.csv").unwrap(), pairs(&[("", "a.csv")]));
        assert_eq!(of("old=a.csv").unwrap(), pairs(&[("old", "a.csv")]));
        assert_eq!(of("old=a.csv,b.csv").unwrap(), pairs(&[("old", "a.csv"), ("old", "b.csv")]));
        assert_eq!(of("old=a=1.csv").unwrap(), pairs(&[("old", "a=1.csv")]));
        assert_eq!(of("n=4/a.csv").unwrap(), pairs(&[("n", "4/a.csv")]));
        assert_eq!(of("runs/n=4.csv").unwrap(), pairs(&[("", "runs/n=4.csv")]));
        assert_eq!(of("=a.csv").unwrap(), pairs(&[("", "=a.csv")]));
        assert!(of("old=").is_err() && of("old=a.csv,").is_err());
    }

    #[test]
    fn a_file_of_that_name_is_meant_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("old=a,b.csv");
        std::fs::write(&file, "").unwrap();
        assert_eq!(side(file.as_os_str()).unwrap(), [(None, file.clone())]);
        let named = format!("new={}", file.display());
        assert_eq!(side(OsStr::new(&named)).unwrap(), [(Some("new".to_owned()), file)]);
    }
}
