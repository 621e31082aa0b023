//! Errors that a user can cause or mend. Each says what to do.

use thiserror::Error;

/// An error that ends a command.
#[derive(Debug, Error)]
pub enum Error {
    /// A name that nothing bears.
    #[error("unknown {what} `{given}`{}", suggestion(.nearest))]
    Unknown {
        /// What kind of name: `experiment`, `axis`, `device`, `option`.
        what: &'static str,
        /// What was given.
        given: String,
        /// The nearest valid names.
        nearest: Vec<String>,
    },
    /// A value that can't be used.
    #[error("{0}")]
    Usage(String),
    /// No device can do the work; the message says what to install or set.
    #[error("{0}")]
    NoDevice(String),
    /// Something that another try may mend.
    #[error("{0}")]
    Busy(String),
    /// An output that can't be written.
    #[error("can't write {path}; nothing was measured")]
    Output {
        /// The path as given.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Exit code: every case was measured, or skipped with a reason.
pub const EXIT_OK: u8 = 0;
/// Exit code: some case failed.
pub const EXIT_FAILED: u8 = 1;
/// Exit code: bad usage, or no usable device.
pub const EXIT_USAGE: u8 = 2;

/// Exit code: it failed in a way that another try may mend (`EX_TEMPFAIL` of sysexits.h), which schedulers know.
pub const EXIT_RETRY: u8 = 75;
/// Exit code: interrupted; the rows so far are whole.
pub const EXIT_INTERRUPTED: u8 = 130;

impl Error {
    /// The exit code of a command that ends with it.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Self::Busy(_)) { EXIT_RETRY } else { EXIT_USAGE }
    }
}

/// The end of a message about an unknown name: what it may have meant, or nothing.
pub(crate) fn suggestion(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(", ")),
    }
}

/// The names most like the given one, best first, at most three.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut scored: Vec<(f64, &str)> =
        names.into_iter().map(|name| (strsim::jaro_winkler(&given.to_lowercase(), &name.to_lowercase()), name)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup_by(|a, b| a.1 == b.1);
    let best = scored.first().map_or(0.0, |(score, _)| *score);
    // Names of one family share a beginning and all look a little alike: only those about as near as the best help.
    let near = |score: f64| score > 0.7 && score > best - 0.06;
    scored.into_iter().take_while(|(score, _)| near(*score)).take(3).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first() {
        assert_eq!(nearest("memory/steam", ["workgroup/linear", "memory/stream"])[0], "memory/stream");
        assert!(nearest("zzz", ["memory/stream"]).is_empty());
    }
}
