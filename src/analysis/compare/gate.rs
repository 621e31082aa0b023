//! Which verdicts fail a comparison: `--fail-on KIND[:SHARE][:WHAT]`.
//!
//! A gate has three outcomes: it fails, it passes, or it can't judge, where a slow-down of the share that it asks about is neither shown
//! nor ruled out. What it can't judge is reported, and fails `unjudged` alone.

use std::str::FromStr;

use globset::GlobMatcher;

use super::{Compared, Comparison, Total, Verdict};
use crate::globs;
use crate::model::Status;
use crate::units::{parse_any_share, parse_share};

/// A gate: what it fails on, and of which cases.
#[derive(Clone, Debug)]
pub struct Gate {
    kind: Kind,
    /// The share below which it lets pass what is slower, or so many cases that can't be judged.
    pub least: f64,
    scope: Scope,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Slower,
    Broken,
    WrongResult,
    Missing,
    Unjudged,
}

const KINDS: [(&str, Kind); 5] = [
    ("slower", Kind::Slower),
    ("broken", Kind::Broken),
    ("wrong_result", Kind::WrongResult),
    ("missing", Kind::Missing),
    ("unjudged", Kind::Unjudged),
];

/// What a gate looks at.
#[derive(Clone, Debug)]
enum Scope {
    /// Each case by itself; those that a glob names, where there is one.
    Cases(Option<GlobMatcher>),
    /// The mean of a family; of all cases where none is named.
    Total(Option<String>),
}

/// How scopes that aren't cases are written.
const TOTAL: &str = "total";
const FAMILY: &str = "family/";

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == word) else {
            return Err("it is slower, broken, wrong_result, missing or unjudged. slower and unjudged may have a share, each a glob, and \
                        slower total or a family: slower:3%:memory/*, slower:10%:total, slower:5%:family/memory"
                .to_owned());
        };
        let (share, scope) = match rest.split_once(':') {
            Some((share, scope)) => (share, scope),
            None if rest.ends_with('%') || rest.parse::<f64>().is_ok() => (rest, ""),
            None => ("", rest),
        };
        if !matches!(kind, Kind::Slower | Kind::Unjudged) && !share.is_empty() {
            return Err(format!("{word} has no share: leave out {share}"));
        }
        let least = match kind {
            _ if share.is_empty() => 0.0,
            Kind::Slower => {
                parse_any_share(share).ok_or_else(|| format!("`{share}` is no share of a time: write 3%, 0.03 or 150%"))?
            }
            _ => parse_share(share)?,
        };
        let scope = Scope::parse(scope)?;
        if matches!(scope, Scope::Total(_)) && *kind != Kind::Slower {
            return Err(format!("{word} is about cases: name them by a glob, as in {word}:memory/*"));
        }
        Ok(Self { kind: *kind, least, scope, text: text.to_owned() })
    }
}

impl Scope {
    fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix(FAMILY) {
            Some("") => Err("name the family, as in family/memory".to_owned()),
            Some(family) => Ok(Self::Total(Some(family.to_owned()))),
            None if text == TOTAL => Ok(Self::Total(None)),
            None if text.is_empty() => Ok(Self::Cases(None)),
            None => {
                let names = globs::matcher(text, |glob| glob);
                let names = names.map_err(|why| format!("`{}` is no valid glob: {why}", globs::beginning(text)))?;
                Ok(Self::Cases(Some(names)))
            }
        }
    }

    fn has(&self, case: &Compared) -> bool {
        match self {
            Self::Cases(names) => names.as_ref().is_none_or(|names| {
                let with_variant = format!("{}:{}", case.kind.experiment, case.kind.variant);
                names.is_match(&*case.kind.experiment) || names.is_match(with_variant) || names.is_match(case.name())
            }),
            Self::Total(family) => family.as_ref().is_none_or(|family| family == case.family()),
        }
    }
}

/// What a gate makes of a comparison.
#[derive(Debug, Default)]
pub struct Judged<'c> {
    /// The cases that fail it, the worst first.
    pub failing: Vec<&'c Compared>,
    /// The mean that it is about, where it is, with whether that fails it, or passes; neither can be told where it is neither.
    pub total: Option<(&'c Total, Option<bool>)>,
    /// The cases that it is about and couldn't judge, each with why; of a mean, those that aren't in it.
    pub unjudged: Vec<(&'c Compared, String)>,
    /// How many cases it is about.
    pub covered: usize,
    /// Whether it fails for the cases that can't be judged.
    pub has_too_many_unjudged: bool,
}

impl Judged<'_> {
    pub fn fails(&self) -> bool {
        !self.failing.is_empty() || self.has_too_many_unjudged || self.total.is_some_and(|(_, fails)| fails == Some(true))
    }
}

impl Gate {
    /// Whether it asks how much slower something is, so that the margin of `same` is below which none can be told.
    pub fn is_of_speed(&self) -> bool {
        self.kind == Kind::Slower
    }

    /// Whether it says itself how many cases may be left that can't be judged.
    pub fn allows_unjudged(&self) -> bool {
        self.kind == Kind::Unjudged
    }

    /// Whether any case could fail it: a glob that names none is a slip.
    pub fn names_any(&self, comparison: &Comparison) -> bool {
        comparison.cases.iter().any(|case| self.scope.has(case))
    }

    /// What it makes of a comparison. `gates` are all that are asked for: `unjudged` is about what these can't judge.
    pub fn judge<'c>(&self, comparison: &'c Comparison, gates: &[Self]) -> Judged<'c> {
        let cases: Vec<&Compared> = comparison.cases.iter().filter(|case| self.scope.has(case)).collect();
        if let Scope::Total(family) = &self.scope {
            let total = comparison.totals.iter().find(|total| total.family == *family);
            let outside = cases.iter().filter(|case| !is_in_totals(case));
            return Judged {
                total: total.map(|total| (total, self.of_total(total, comparison.margin))),
                unjudged: outside.map(|case| (*case, why_unjudged(case, case.verdict.as_str()))).collect(),
                covered: cases.len(),
                ..Judged::default()
            };
        }
        let mut failing: Vec<&Compared> = cases.iter().copied().filter(|case| self.fails(case)).collect();
        let ratio = |case: &Compared| case.effect().map_or(0.0, |ratio| ratio.value);
        failing.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
        let open = cases.iter().filter(|_| matches!(self.kind, Kind::Slower | Kind::Unjudged));
        let least = |case: &Compared| self.least_of(case, gates).max(comparison.margin);
        let unjudged: Vec<(&Compared, String)> = open.filter_map(|case| Some((*case, unjudged(case, least(case))?))).collect();
        let is_of_all_unjudged = self.kind == Kind::Unjudged && matches!(self.scope, Scope::Cases(None));
        let mean = gates.iter().find_map(|gate| gate.open_mean(comparison)).filter(|_| is_of_all_unjudged);
        #[expect(clippy::cast_precision_loss, reason = "there are never 2^53 cases")]
        let share = unjudged.len() as f64 / cases.len() as f64;
        let has_too_many_unjudged = self.kind == Kind::Unjudged && (share > self.least || mean.is_some());
        let total = mean.map(|mean| (mean, None));
        Judged { failing, total, covered: cases.len(), unjudged, has_too_many_unjudged }
    }

    /// The share of its time that a case may take longer, as this gate says; for `unjudged`, as the strictest of those about it.
    fn least_of(&self, case: &Compared, gates: &[Self]) -> f64 {
        if self.kind == Kind::Slower {
            return self.least;
        }
        let is_of_case =
            |gate: &&Self| gate.kind == Kind::Slower && matches!(gate.scope, Scope::Cases(_)) && gate.scope.has(case);
        gates.iter().filter(is_of_case).map(|gate| gate.least).reduce(f64::min).unwrap_or(0.0)
    }

    /// The mean that it is about and can't judge.
    fn open_mean<'c>(&self, comparison: &'c Comparison) -> Option<&'c Total> {
        let Scope::Total(family) = &self.scope else { return None };
        let total = comparison.totals.iter().find(|total| total.family == *family)?;
        self.of_total(total, comparison.margin).is_none().then_some(total)
    }

    fn fails(&self, case: &Compared) -> bool {
        match self.kind {
            Kind::Slower => {
                case.verdict == Verdict::Slower && case.effect().is_some_and(|ratio| slowdown(ratio.value) >= self.least)
            }
            Kind::Broken => case.verdict == Verdict::Broken,
            Kind::WrongResult => case.failures.contains(&Status::WrongResult),
            Kind::Missing => matches!(case.verdict, Verdict::Missing | Verdict::Skipped),
            Kind::Unjudged => false,
        }
    }

    /// Whether a mean fails it, or passes; nothing where neither is sure.
    fn of_total(&self, total: &Total, margin: f64) -> Option<bool> {
        match total.verdict {
            Verdict::Slower if slowdown(total.ratio.value) >= self.least => Some(true),
            Verdict::Same | Verdict::Faster => Some(false),
            _ => (slowdown(total.ratio.low) < self.least.max(margin)).then_some(false),
        }
    }
}

/// By what share a time is longer at such a speed: 0.8 times as fast takes 25 % longer.
fn slowdown(ratio: f64) -> f64 {
    1.0 / ratio - 1.0
}

/// Whether the means have it: it has figures on both sides that can be judged.
fn is_in_totals(case: &Compared) -> bool {
    let has_both = matches!(case.verdict, Verdict::Slower | Verdict::Faster | Verdict::Same | Verdict::Unclear);
    has_both && case.effect().is_some() && !case.is_undecided
}

fn why_unjudged(case: &Compared, words: &str) -> String {
    if case.reason.is_empty() { words.to_owned() } else { case.reason.clone() }
}

/// Why it isn't sure that a case is slower by less than such a share; nothing where it is.
fn unjudged(case: &Compared, least: f64) -> Option<String> {
    match case.verdict {
        Verdict::Same | Verdict::Faster => None,
        Verdict::Broken | Verdict::Failing => Some(case.verdict.as_str().to_owned()),
        // It has nothing to be slower than.
        Verdict::New | Verdict::Fixed => Some("the base has no figure".to_owned()),
        Verdict::Missing | Verdict::Skipped | Verdict::Changed => Some(why_unjudged(case, case.verdict.as_str())),
        // Its interval isn't to be believed.
        Verdict::Unclear if case.is_undecided => Some(why_unjudged(case, "unclear")),
        Verdict::Slower if case.effect().is_some_and(|ratio| slowdown(ratio.value) >= least) => None,
        Verdict::Slower | Verdict::Unclear => {
            let is_below = case.effect().is_some_and(|ratio| slowdown(ratio.low) < least);
            (!is_below)
                .then(|| if case.effect().is_some() { "too uncertain".to_owned() } else { why_unjudged(case, "unclear") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_has_a_kind_a_share_and_a_glob() {
        let parsed =
            |text: &str| text.parse::<Gate>().map(|gate| (gate.kind, gate.least, matches!(gate.scope, Scope::Cases(Some(_)))));
        assert_eq!(parsed("slower"), Ok((Kind::Slower, 0.0, false)));
        assert_eq!(parsed("slower:3%"), Ok((Kind::Slower, 0.03, false)));
        assert_eq!(parsed("slower:0.03:memory/*"), Ok((Kind::Slower, 0.03, true)));
        assert_eq!(parsed("slower:memory/*"), Ok((Kind::Slower, 0.0, true)));
        assert_eq!(parsed("broken::sync/*"), Ok((Kind::Broken, 0.0, true)));
        assert_eq!(parsed("wrong_result:sync/*"), Ok((Kind::WrongResult, 0.0, true)));
        let scope = |text: &str| match text.parse::<Gate>().map(|gate| gate.scope) {
            Ok(Scope::Total(family)) => Some(family),
            _ => None,
        };
        assert_eq!(scope("slower:10%:total"), Some(None));
        assert_eq!(scope("slower:family/memory"), Some(Some("memory".to_owned())));
        assert_eq!(parsed("unjudged:20%:memory/*"), Ok((Kind::Unjudged, 0.2, true)));
        for wrong in [
            "broken:total",
            "unjudged:10%:total",
            "slower:family/",
            "",
            "worse",
            "broken:3%",
            "slower:0%",
            "unjudged:300%",
            "slower:x:y",
            "slower:-1%",
            "missing:[",
            "slower:3%:{",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
