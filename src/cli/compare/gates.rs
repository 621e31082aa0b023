//! Which of --fail-on fail, and why.

use crate::analysis::compare::{Compared, Comparison, Gate, Verdict};
use crate::error::Error;
use crate::units::ratio_between;

/// A line for each gate that fails, of each comparison: with how many cases, and the worst of them.
/// Errors: a gate that could never fail: below the margin, or whose glob names no case.
pub fn failures(gates: &[Gate], comparisons: &[Comparison]) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for gate in gates {
        check(gate, comparisons)?;
        for comparison in comparisons {
            let failing = gate.failing(comparison);
            let side = if comparisons.len() > 1 { format!(" of {}", comparison.names[1]) } else { String::new() };
            lines.extend(line(gate, &failing, &side));
        }
    }
    Ok(lines)
}

fn check(gate: &Gate, comparisons: &[Comparison]) -> Result<(), Error> {
    let text = &gate.text;
    if !comparisons.iter().any(|comparison| gate.names_any(comparison)) {
        return Err(Error::Usage(format!(
            "--fail-on {text}: no measured case bears such a name; it is a glob over experiments, as memory/* or sync/atomic:*"
        )));
    }
    let below = |comparison: &&Comparison| gate.least > 0.0 && gate.least < comparison.margin;
    if let Some(Comparison { margin, .. }) = comparisons.iter().find(below) {
        return Err(Error::Usage(format!(
            "--fail-on {text}: a change within {} % counts as none; ask for more, or for a smaller --margin",
            margin * 100.0
        )));
    }
    Ok(())
}

fn line(gate: &Gate, failing: &[&Compared], side: &str) -> Option<String> {
    let worst = failing.first()?;
    let count = match failing.len() {
        1 => format!("1 case{side}"),
        count => format!("{count} cases{side}, the worst"),
    };
    let measured = worst.as_measured().map_or_else(String::new, |measured| format!(" ({measured})"));
    let what = match (worst.verdict, worst.effect()) {
        (Verdict::Slower, Some(ratio)) => format!("{} times as fast{measured}", ratio_between(ratio)),
        _ => format!("{}: {}", worst.verdict, worst.reason),
    };
    Some(format!("--fail-on {}: {count} {}: {what}", gate.text, worst.name()))
}
