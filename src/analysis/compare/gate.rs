//! Which verdicts fail a comparison: `--fail-on KIND[:SHARE][:GLOB]`.

use std::str::FromStr;

use globset::GlobMatcher;

use super::{Compared, Comparison, Verdict};
use crate::globs;
use crate::model::Status;
use crate::units::parse_share;

#[derive(Clone, Debug)]
pub struct Gate {
    kind: Kind,
    /// The share below which it lets pass what is slower.
    pub least: f64,
    names: Option<GlobMatcher>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Slower,
    Broken,
    WrongResult,
    Missing,
}

const KINDS: [(&str, Kind); 4] =
    [("slower", Kind::Slower), ("broken", Kind::Broken), ("wrong_result", Kind::WrongResult), ("missing", Kind::Missing)];

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == word) else {
            return Err(
                "it is slower, broken, wrong_result or missing; slower may have a share, and each a glob: slower:3%:memory/*"
                    .to_owned(),
            );
        };
        let (share, glob) = match rest.split_once(':') {
            Some((share, glob)) => (share, glob),
            None if rest.ends_with('%') || rest.parse::<f64>().is_ok() => (rest, ""),
            None => ("", rest),
        };
        if *kind != Kind::Slower && !share.is_empty() {
            return Err(format!("{word} has no share: leave out {share}"));
        }
        let least = if share.is_empty() { 0.0 } else { parse_share(share)? };
        let glob = (!glob.is_empty()).then(|| globs::matcher(glob, |glob| glob)).transpose();
        let names = glob.map_err(|why| format!("`{}` is no valid glob: {why}", globs::beginning(rest)))?;
        Ok(Self { kind: *kind, least, names, text: text.to_owned() })
    }
}

impl Gate {
    /// Whether any case could fail it: a glob that names none is a slip.
    pub fn names_any(&self, comparison: &Comparison) -> bool {
        comparison.cases.iter().any(|case| self.is_named(case))
    }

    /// The cases that fail it, the worst first.
    pub fn failing<'c>(&self, comparison: &'c Comparison) -> Vec<&'c Compared> {
        let mut failing: Vec<&Compared> =
            comparison.cases.iter().filter(|case| self.is_named(case) && self.fails(case)).collect();
        let ratio = |case: &Compared| case.effect().map_or(0.0, |ratio| ratio.value);
        failing.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
        failing
    }

    fn is_named(&self, case: &Compared) -> bool {
        let with_variant = format!("{}:{}", case.kind.experiment, case.kind.variant);
        self.names.as_ref().is_none_or(|names| names.is_match(&*case.kind.experiment) || names.is_match(with_variant))
    }

    fn fails(&self, case: &Compared) -> bool {
        match self.kind {
            // As much slower as a time that is so much longer.
            Kind::Slower => {
                case.verdict == Verdict::Slower && case.effect().is_some_and(|ratio| 1.0 / ratio.value - 1.0 >= self.least)
            }
            Kind::Broken => case.verdict == Verdict::Broken,
            Kind::WrongResult => case.failures.contains(&Status::WrongResult),
            Kind::Missing => case.verdict == Verdict::Missing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_has_a_kind_a_share_and_a_glob() {
        let parsed = |text: &str| text.parse::<Gate>().map(|gate| (gate.kind, gate.least, gate.names.is_some()));
        assert_eq!(parsed("slower"), Ok((Kind::Slower, 0.0, false)));
        assert_eq!(parsed("slower:3%"), Ok((Kind::Slower, 0.03, false)));
        assert_eq!(parsed("slower:0.03:memory/*"), Ok((Kind::Slower, 0.03, true)));
        assert_eq!(parsed("slower:memory/*"), Ok((Kind::Slower, 0.0, true)));
        assert_eq!(parsed("broken::sync/*"), Ok((Kind::Broken, 0.0, true)));
        assert_eq!(parsed("wrong_result:sync/*"), Ok((Kind::WrongResult, 0.0, true)));
        for wrong in ["", "worse", "broken:3%", "slower:300%", "slower:x:y", "slower:-1%", "missing:[", "slower:3%:{"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
