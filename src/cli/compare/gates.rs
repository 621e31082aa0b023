//! Which of --fail-on fail, which can't judge, and why.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::compare::{Compared, Comparison, Gate, Judged, Total, Verdict};
use crate::error::Error;
use crate::stats::Ratio;
use crate::units::{percent, ratio_between};

/// The reasons of cases that can't be judged that are given, the commonest first.
const REASONS: usize = 3;

/// What became of the gates, a line for each that fails and for each that couldn't judge something.
#[derive(Debug, Default)]
pub struct Outcome {
    pub failures: Vec<String>,
    pub unjudged: Vec<String>,
}

/// Judges each gate of each comparison.
/// Errors: a gate that could never fail: below the margin, or whose name none bears.
pub fn judged(gates: &[Gate], comparisons: &[Comparison]) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    for gate in gates {
        check(gate, comparisons)?;
        for comparison in comparisons {
            let judged = gate.judge(comparison, gates);
            let side = if comparisons.len() > 1 { format!(" of {}", comparison.names[1]) } else { String::new() };
            let text = &gate.text;
            if judged.fails() {
                outcome.failures.push(format!("--fail-on {text}: {}", failure(&judged, &side)));
            }
            // Of `unjudged` they are what fails it, or may be as many.
            let unjudged = not_judged(&judged, &side).filter(|_| !gate.allows_unjudged());
            outcome.unjudged.extend(unjudged.map(|words| format!("--fail-on {text}: {words}")));
        }
    }
    Ok(outcome)
}

fn check(gate: &Gate, comparisons: &[Comparison]) -> Result<(), Error> {
    let text = &gate.text;
    if !comparisons.iter().any(|comparison| gate.names_any(comparison)) {
        let families: BTreeSet<&str> = comparisons.iter().flat_map(|one| &one.cases).map(Compared::family).collect();
        let families = families.into_iter().collect::<Vec<_>>().join(", ");
        return Err(Error::Usage(format!(
            "--fail-on {text}: no measured case bears such a name (derived rows have no gates). Write a glob, as memory/*, sync/atomic:* or \
             'memory/stream *op=copy*'; or total; or family/NAME, of {families}"
        )));
    }
    let below = |comparison: &&Comparison| gate.is_of_speed() && gate.least > 0.0 && gate.least < comparison.margin;
    if let Some(Comparison { margin, .. }) = comparisons.iter().find(below) {
        return Err(Error::Usage(format!(
            "--fail-on {text}: a change within {} % counts as none; ask for more, or for a smaller --margin",
            margin * 100.0
        )));
    }
    Ok(())
}

fn failure(judged: &Judged, side: &str) -> String {
    if judged.has_too_many_unjudged {
        return not_judged(judged, side).unwrap_or_default();
    }
    if let Some((total, _)) = judged.total {
        return format!("{}{side} {} times as fast: {}", mean_of(total), ratio_between(total.ratio), longer(total.ratio));
    }
    let Some(worst) = judged.failing.first() else { return String::new() };
    let count = match judged.failing.len() {
        1 => format!("1 case{side}"),
        count => format!("{count} cases{side}, the worst"),
    };
    let measured = worst.as_measured().map_or_else(String::new, |measured| format!(" ({measured})"));
    let what = match (worst.verdict, worst.effect()) {
        (Verdict::Slower, Some(ratio)) => format!("{} times as fast{measured}: {}", ratio_between(ratio), longer(ratio)),
        _ => format!("{}: {}", worst.verdict, worst.reason),
    };
    format!("{count} {}: {what}", worst.name())
}

/// What a gate couldn't judge; nothing where it judged all.
fn not_judged(judged: &Judged, side: &str) -> Option<String> {
    let cases = (!judged.unjudged.is_empty()).then(|| uncertain(judged, side));
    let Some((total, None)) = judged.total else { return cases };
    let ratio = ratio_between(total.ratio);
    let words =
        format!("can't judge: {}{side} {ratio} times as fast: such a loss is neither shown nor ruled out", mean_of(total));
    Some([words].into_iter().chain(cases).collect::<Vec<_>>().join("; "))
}

/// What a gate's share is about.
fn longer(ratio: Ratio) -> String {
    format!("it takes {} longer", percent(1.0 / ratio.value - 1.0))
}

fn mean_of(total: &Total) -> String {
    total.family.as_ref().map_or_else(|| "all".to_owned(), |family| format!("family {family}"))
}

/// `can't judge 12 of 63 cases (9: too uncertain; 3: the shader is another one)`
fn uncertain(judged: &Judged, side: &str) -> String {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    judged.unjudged.iter().for_each(|(_, reason)| *reasons.entry(first_reason(reason)).or_default() += 1);
    let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let told: Vec<String> = reasons.iter().take(REASONS).map(|(reason, count)| format!("{count}: {reason}")).collect();
    let others: usize = reasons.iter().skip(REASONS).map(|(_, count)| count).sum();
    let more = if others > 0 { format!("; {others} for other reasons") } else { String::new() };
    format!("can't judge {} of {} cases{side} ({}{more})", judged.unjudged.len(), judged.covered, told.join("; "))
}

/// What comes first of several reasons.
fn first_reason(reason: &str) -> &str {
    reason.split([';', ':']).next().unwrap_or(reason)
}
