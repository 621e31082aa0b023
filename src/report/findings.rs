//! What a page says first: at most three sentences, and a banner where most rows are flagged.

use super::Contents;
use super::conclusion::Conclusion;
use super::figures::is_doubted;
use super::machine::Examined;
use super::roofline::PEAKS;
use super::survey::Survey;
use crate::analysis::compare::Comparison;
use crate::analysis::counted;
use crate::output::comparison_in_short;
use crate::record::Record;
use crate::units::{percent, rate, ratio};

const MOST: usize = 3;

/// The peaks between which a kernel lies.
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
    let (flagged, measured) = (survey.flagged, survey.tally.measured);
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
    let mut kernels: Vec<(f64, Record)> = rows.filter_map(|row| Some((row.share?, row))).collect();
    kernels.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let (share, largest) = kernels.first()?;
    let calls = largest.calls.map_or_else(String::new, |calls| format!(", in {}", counted(calls, "call")));
    let first: f64 = kernels.iter().take(3).map(|(share, _)| share).sum();
    let more = if kernels.len() > 3 {
        format!(" The first three of {} take {}.", kernels.len(), percent(first))
    } else {
        String::new()
    };
    let text = format!("{} takes {} of the time of all dispatches{calls}.{more}", largest.variant, percent(*share));
    Some(Finding { lead: "Where the time goes", text, experiment: Some(largest.experiment.clone()) })
}

/// From how many operations for each byte on arithmetic limits a kernel, where one device's peaks are known.
fn limit(survey: &Survey) -> Option<Finding> {
    let peak = |variant: &str| {
        let is_it = |row: &Record| row.variant == variant && !is_doubted(row) && row.value.is_some_and(|value| value > 0.0);
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
        "Memory gives {}, and fp32 arithmetic {}: below {} floating-point operations for each byte (a multiply-add is two), memory limits \
         a kernel.",
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
    if survey.flagged > 0 && banner(survey).is_none() {
        let mut flags: Vec<(&String, &usize)> = survey.flags.iter().collect();
        flags.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
        let flags: Vec<String> = flags.into_iter().map(|(name, count)| format!("{name} {count}")).collect();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        parts.push(format!(
            "{} of {} flagged ({})",
            survey.flagged,
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

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;
    use crate::record::Packed;

    fn row(experiment: &str, variant: &str, value: f64, unit: &str) -> Record {
        Record {
            experiment: experiment.to_owned(),
            variant: variant.to_owned(),
            status: "ok".to_owned(),
            value: Some(value),
            unit: unit.to_owned(),
            ..Record::new()
        }
    }

    /// What is said of rows, and the banner above it.
    fn said(rows: &[Record], said: &[Said]) -> (Vec<(&'static str, String)>, Option<String>) {
        let sources = [Source { label: "a GPU".to_owned(), rows: rows.iter().map(Packed::new).collect() }];
        let survey = Survey::of(&sources);
        let contents = Contents {
            sources: &sources,
            files: &[],
            notes: &[],
            limits: None,
            comparisons: &[],
            machines: "",
            examined: None,
        };
        let all = findings(&survey, &contents, said);
        (all.into_iter().map(|finding| (finding.lead, finding.text)).collect(), banner(&survey))
    }

    fn concluded(experiment: &str, text: &str, factor: f64, is_step: bool) -> Said {
        let conclusion = Conclusion { text: text.to_owned(), factor, is_step };
        Said { experiment: experiment.to_owned(), conclusions: vec![(experiment.to_owned(), conclusion)], ..Said::default() }
    }

    #[test]
    fn a_device_is_said_in_three_sentences() {
        let mut flagged = row("memory/stream", "", 1.0, "GB/s");
        flagged.quality_flags = "noisy;drift".to_owned();
        let peaks = [row(PEAKS, MEMORY, 2000.0, "GB/s"), row(PEAKS, ARITHMETIC, 30_000.0, "GFLOP/s"), flagged];
        let small = concluded("cache/latency", "4.6 × slower from 256 KiB on", 4.6, true);
        let large = concluded("memory/gather", "in order is 30 × as fast as at random", 30.0, false);
        let (all, banner) = said(&peaks, &[large, small]);
        let [(_, limit), stands_out, doubt] = &all[..] else { panic!("{all:?}") };
        assert!(limit.contains("below 15.0 floating-point operations for each byte"), "{limit}");
        assert_eq!(
            stands_out,
            &("What stands out", "cache/latency: 4.6 × slower from 256 KiB on.".to_owned()),
            "a place is told first"
        );
        assert_eq!(doubt, &("What to doubt", "1 of 3 measured rows flagged (drift 1, noisy 1).".to_owned()));
        assert_eq!(banner, None);
    }

    #[test]
    fn where_most_rows_are_flagged_a_banner_says_it_and_no_sentence_repeats_it() {
        let flagged = Record { quality_flags: "launch_bound".to_owned(), ..row("memory/stream", "", 1.0, "GB/s") };
        let (all, banner) = said(&vec![flagged; 9], &[]);
        let banner = banner.unwrap();
        assert!(
            all.is_empty() && banner.starts_with("Doubt these figures: 9 of 9 measured rows are flagged."),
            "{all:?} {banner}"
        );
        assert!(banner.contains("launch_bound in 9 rows: launching is a visible part"), "{banner}");
    }

    #[test]
    fn an_application_is_said_by_its_kernels_and_a_search_with_its_doubts() {
        let kernel = |name: &str, share: f64| Record {
            share: Some(share),
            calls: Some(2),
            ..row(crate::capture::EXPERIMENT, name, 1.0, "ns")
        };
        let kernels = [kernel("a", 0.1), kernel("b", 0.6), kernel("c", 0.2), kernel("d", 0.1)];
        let (all, _) = said(&kernels, &[]);
        assert_eq!(all[0].1, "b takes 60.0 % of the time of all dispatches, in 2 calls. The first three of 4 take 90.0 %.");
        let search = Said {
            experiment: "tune/reduce".to_owned(),
            answers: vec![(String::new(), "Best: n=4. It takes 1 us.".to_owned())],
            doubts: vec!["Doubt: inputs are all zero.".to_owned()],
            ..Said::default()
        };
        let (all, _) = said(&[], &[search]);
        let told = [
            ("What is fastest", "tune/reduce: Best: n=4. It takes 1 us.".to_owned()),
            ("What to doubt", "Doubt: inputs are all zero.".to_owned()),
        ];
        assert_eq!(all, told);
    }
}
