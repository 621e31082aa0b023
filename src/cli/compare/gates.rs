//! Which of --fail-on fail, and why.

use crate::analysis::compare::{Compared, Comparison, Gate, Verdict};
use crate::error::Error;
use crate::units::ratio_between;

/// Cases that each gate names.
const NAMED: usize = 5;

/// A line for each case that fails a gate, the worst first.
///
/// # Errors
/// A gate that could never fail: below the margin, or whose glob names no case.
pub fn failures(gates: &[Gate], comparisons: &[Comparison]) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for gate in gates {
        check(gate, comparisons)?;
        for comparison in comparisons {
            let failing = gate.failing(comparison);
            lines.extend(failing.iter().take(NAMED).map(|case| line(gate, comparison, case)));
            if failing.len() > NAMED {
                lines.push(format!("--fail-on {}: and {} more", gate.text(), failing.len() - NAMED));
            }
        }
    }
    Ok(lines)
}

fn check(gate: &Gate, comparisons: &[Comparison]) -> Result<(), Error> {
    let text = gate.text();
    if !comparisons.iter().any(|comparison| gate.names_any(comparison)) {
        return Err(Error::Usage(format!(
            "--fail-on {text}: no case bears such a name; it is a glob over experiments, as memory/* or sync/atomic:*"
        )));
    }
    let below = |comparison: &&Comparison| gate.least() > 0.0 && gate.least() < comparison.margin;
    if let Some(Comparison { margin, .. }) = comparisons.iter().find(below) {
        return Err(Error::Usage(format!(
            "--fail-on {text}: a change within {} % counts as none; ask for more, or for a smaller --margin",
            margin * 100.0
        )));
    }
    Ok(())
}

fn line(gate: &Gate, comparison: &Comparison, case: &Compared) -> String {
    let side = if comparison.names[1].is_empty() { String::new() } else { format!("{}: ", comparison.names[1]) };
    let what = match (case.verdict, case.ratio) {
        (Verdict::Slower, Some(ratio)) => {
            format!("{} times as fast", ratio_between(ratio.value, ratio.low, ratio.high))
        }
        _ => format!("{}: {}", case.verdict, case.reason),
    };
    format!("--fail-on {}: {side}{}: {what}", gate.text(), case.name())
}
