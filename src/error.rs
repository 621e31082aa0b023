//! Errors that a user can cause or mend. Each says what to do.

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::model::Shown;

#[derive(Debug, Error)]
pub enum Error {
    #[error("unknown {what} `{given}`{}", suggestion(.nearest))]
    Unknown {
        /// What kind of name: `experiment`, `axis`, `device`, `option`.
        what: &'static str,
        given: String,
        nearest: Vec<String>,
    },
    #[error("{0}")]
    Usage(String),
    /// No device can do the work; the message says what to install or set.
    #[error("{0}")]
    NoDevice(String),
    /// Something that another try may mend.
    #[error("{0}")]
    Busy(String),
    #[error("can't write {path}: {cause}")]
    Output { path: String, cause: io::Error },
}

/// Exit code: every case was measured, or skipped with a reason.
pub const EXIT_OK: u8 = 0;
/// Exit code: some case failed.
pub const EXIT_FAILED: u8 = 1;
/// Exit code: bad usage, or no usable device.
pub const EXIT_USAGE: u8 = 2;
/// Exit code: all was measured, and this machine can't tell the answer.
pub const EXIT_CANT_TELL: u8 = 3;

/// Exit code: it failed in a way that another try may mend (`EX_TEMPFAIL` of sysexits.h), which schedulers know.
pub const EXIT_RETRY: u8 = 75;
/// Exit code: interrupted; the rows so far are whole.
pub const EXIT_INTERRUPTED: u8 = 130;

impl Error {
    pub fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.shown();
        move |cause| Self::Output { path, cause }
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Busy(_) => EXIT_RETRY,
            // What was named is right, and has no room.
            Self::Output { cause, .. } if is_full(cause.kind()) => EXIT_FAILED,
            _ => EXIT_USAGE,
        }
    }
}

fn is_full(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

/// The end of a message about an unknown name: what it may have meant, or nothing.
pub(crate) fn suggestion(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(", ")),
    }
}

/// How many characters of a word there must be for each slip in it: two words are near where at most a third of the longer one differs.
const CHARACTERS_PER_SLIP: usize = 3;

/// The names nearest to the given one, at most three, and none that isn't near: the one rule for all that is suggested. Names that have
/// several parts, `family/name:variant`, are near where each part is; who leaves out the first ones means the last.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut near: Vec<(usize, &str)> = names.into_iter().filter_map(|name| Some((slips_between(given, name)?, name))).collect();
    near.sort_unstable();
    near.dedup();
    let least = near.first().map(|(slips, _)| *slips);
    near.into_iter().take_while(|(slips, _)| Some(*slips) == least).take(3).map(|(_, name)| name.to_owned()).collect()
}

/// The slips that lead from one name to the other: characters that are wrong, missing, too many, or swapped with the next. Nothing where
/// the names aren't near.
fn slips_between(given: &str, name: &str) -> Option<usize> {
    let parts = |text: &str| text.split(['/', ':']).map(str::to_lowercase).collect::<Vec<_>>();
    let (given, name) = (parts(given), parts(name));
    let name = &name[name.len().checked_sub(given.len())?..];
    let of_part = |(given, name): (&String, &String)| {
        let slips = strsim::osa_distance(given, name);
        let longer = given.chars().count().max(name.chars().count());
        (slips * CHARACTERS_PER_SLIP <= longer).then_some(slips)
    };
    given.iter().zip(name).map(of_part).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first() {
        assert_eq!(nearest("memory/steam", ["workgroup/linear", "memory/stream"])[0], "memory/stream");
        assert_eq!(nearest("counts", ["COUNT", "COUNTER"]), ["COUNT"], "not what is further off");
        assert_eq!(nearest("latency", ["peak/latency", "cache/latency", "peak/arith"]), ["cache/latency", "peak/latency"]);
        assert_eq!(nearest("wdth", ["width", "height"]), ["width"]);
    }

    #[test]
    fn what_is_not_near_is_not_suggested() {
        for (given, name) in [
            ("zzz", "memory/stream"),
            ("", "n"),
            ("a", "n"),
            ("ab", "op"),
            ("calibration/foo", "calibration/timer"),
            ("memory/write", "memory/stream"),
            ("size", "stride"),
            ("stream", "memory/stride"),
            ("memory/stream:read", "memory/stream"),
        ] {
            assert_eq!(nearest(given, [name]), Vec::<String>::new(), "{given} for {name}");
        }
    }
}
