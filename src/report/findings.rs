//! What a page says first: at most three sentences, and a banner where most rows are flagged.

use super::Contents;
use super::conclusion::Conclusion;
use super::machine::Examined;
use super::survey::Survey;
use crate::analysis::compare::Comparison;
use crate::analysis::counted;
use crate::output::comparison_in_short;
use crate::record::Record;
use crate::units::{percent, rate, ratio};

const MOST: usize = 3;

/// Where peaks are derived, and the ones between which a kernel lies.
const PEAKS: &str = "peak/summary";
const MEMORY: &str = "global";
const ARITHMETIC: &str = "fp32";

#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is about: `What stands out`.
    pub lead: &'static str,
    pub text: String,
    /// The experiment that shows it.
    pub experiment: Option<String>,
}

/// What an experiment's pictures and answers say.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub experiment: String,
    /// What each picture is of, and what it says.
    pub conclusions: Vec<(String, Conclusion)>,
    /// The answers of searches, and of which.
    pub answers: Vec<(String, String)>,
    /// What searches said that speaks against their answers.
    pub doubts: Vec<String>,
}

/// The findings, what was asked for first.
pub fn findings(survey: &Survey, contents: &Contents, said: &[Said]) -> Vec<Finding> {
    let mut all: Vec<Finding> = contents.comparisons.iter().map(compared).collect();
    let machines = contents.machines.lines().next().filter(|line| !line.is_empty());
    all.extend(machines.map(|line| Finding { lead: "Which deviate", text: line.to_owned(), experiment: None }));
    all.extend(said.iter().flat_map(searched));
    all.extend(application(survey));
    if all.is_empty() {
        all.extend(limit(survey));
        all.extend(
            said.iter()
                .filter_map(standing_out)
                .max_by(|(one, _), (other, _)| rank(one).total_cmp(&rank(other)))
                .map(|(_, finding)| finding),
        );
    }
    let doubt = doubt(survey, contents.examined, said);
    all.truncate(MOST - usize::from(doubt.is_some()));
    all.extend(doubt);
    all
}

/// What is to be said before all else, where most rows are flagged.
pub fn banner(survey: &Survey) -> Option<String> {
    let (flagged, measured) = (survey.doubted as u64, survey.tally.measured);
    let shared = survey.tally.shared();
    let why = shared
        .iter()
        .map(|doubt| format!("{} in {}: {}", doubt.flag.name(), counted(survey.tally.bearing(doubt), "row"), doubt.advice));
    let why: Vec<String> = why.collect();
    let is_most = 2 * flagged > measured && measured > 0;
    (is_most || !why.is_empty()).then(|| {
        let most = format!("Doubt these figures: {flagged} of {measured} measured rows are flagged.");
        std::iter::once(most).chain(why.into_iter().map(|why| format!("{why}."))).collect::<Vec<_>>().join("\n")
    })
}

fn compared(comparison: &Comparison) -> Finding {
    let [base, new] = &comparison.names;
    let text = format!("{new} beside {base}: {}", comparison_in_short(comparison));
    Finding { lead: "What changed", text, experiment: None }
}

fn searched(said: &Said) -> Vec<Finding> {
    let of = |(of, answer): &(String, String)| {
        let of = if of.is_empty() { String::new() } else { format!(" ({of})") };
        let text = format!("{}{of}: {answer}", said.experiment);
        Finding { lead: "What is fastest", text, experiment: Some(said.experiment.clone()) }
    };
    said.answers.iter().map(of).collect()
}

/// The kernel of an application that takes the most time.
fn application(survey: &Survey) -> Option<Finding> {
    let rows = survey.rows(crate::capture::EXPERIMENT).iter().map(|(_, row)| row.record());
    let largest = rows
        .filter(|row| row.share.is_some())
        .max_by(|one, other| one.share.partial_cmp(&other.share).unwrap_or(std::cmp::Ordering::Equal))?;
    let calls = largest.calls.map_or_else(String::new, |calls| format!(", in {}", counted(calls, "call")));
    let text = format!("{} takes {} of the time of all dispatches{calls}.", largest.variant, percent(largest.share?));
    Some(Finding { lead: "Where the time goes", text, experiment: Some(largest.experiment) })
}

/// From how many operations for each byte on arithmetic limits a kernel, where one device's peaks are known.
fn limit(survey: &Survey) -> Option<Finding> {
    let peak = |variant: &str| {
        let is_it = |row: &Record| row.variant == variant && row.value.is_some_and(|value| value > 0.0);
        survey.rows(PEAKS).iter().map(|(_, row)| row.record()).find(is_it)
    };
    let (memory, arithmetic) = (peak(MEMORY)?, peak(ARITHMETIC)?);
    // A processor's driver makes other code of a kernel, and its caches are others'.
    if survey.sources.len() > 1 || memory.device_type == "cpu" {
        return None;
    }
    let rates = [&memory, &arithmetic].map(|row| rate(row.value.unwrap_or_default(), None, &row.unit));
    let ridge = arithmetic.value? / memory.value?;
    let text = format!(
        "Memory gives {}, and fp32 arithmetic {}: a kernel that reads and writes memory is limited by it up to {} operations for each byte.",
        rates[0],
        rates[1],
        ratio(ridge, Some(ridge / 20.0))
    );
    Some(Finding { lead: "What limits", text, experiment: Some("peak/roofline".to_owned()) })
}

/// Places from which on all is worse come before other differences.
fn rank(conclusion: &Conclusion) -> f64 {
    conclusion.factor.ln() + if conclusion.is_step { 1000.0 } else { 0.0 }
}

fn standing_out(said: &Said) -> Option<(Conclusion, Finding)> {
    let shown = said.conclusions.iter().filter(|(_, conclusion)| conclusion.factor > 1.0);
    let (title, conclusion) = shown.max_by(|(_, one), (_, other)| rank(one).total_cmp(&rank(other)))?;
    let text = format!("{title}: {}.", conclusion.text);
    let finding = Finding { lead: "What stands out", text, experiment: Some(said.experiment.clone()) };
    Some((conclusion.clone(), finding))
}

fn doubt(survey: &Survey, examined: Option<&Examined>, said: &[Said]) -> Option<Finding> {
    let mut parts: Vec<String> =
        said.iter().flat_map(|said| &said.doubts).map(|doubt| doubt.trim_end_matches('.').to_owned()).collect();
    if let Some(worst) = examined.and_then(|examined| examined.findings.first()) {
        parts.push(format!("the machine: {}", worst.what.trim_end_matches('.')));
    }
    if !survey.failed.is_empty() {
        let count: usize = survey.failed.values().sum();
        let names: Vec<&str> = survey.failed.keys().map(String::as_str).collect();
        parts.push(format!("{} failed, of {}", counted(count as u64, "row"), some(&names)));
    }
    // A banner says it where most are.
    if survey.doubted > 0 && banner(survey).is_none() {
        let mut flags: Vec<(&String, &usize)> = survey.flags.iter().collect();
        flags.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
        let flags: Vec<String> = flags.into_iter().map(|(name, count)| format!("{name} {count}")).collect();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        parts.push(format!(
            "{} of {} flagged ({})",
            survey.doubted,
            counted(survey.tally.measured, "measured row"),
            some(&flags)
        ));
    }
    (!parts.is_empty()).then(|| Finding { lead: "What to doubt", text: format!("{}.", parts.join("; ")), experiment: None })
}

/// The first of some names, and how many more there are.
fn some(names: &[&str]) -> String {
    const SHOWN: usize = 4;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}
