//! What follows from cases on both sides: levels, banks, peaks, fits.

use super::Compared;
use super::core_clock::SideClocks;
use super::effect::Matched;
use super::sides::SideCase;
use super::spread::{Spread, sum};
use super::verdict::{Change, Verdict, decide};
use crate::model::Repeatability;

/// The unit of figures that are shares of others.
const SHARE: &str = "ratio";

/// Degrees of freedom of what they borrow.
const DEGREES: f64 = 5.0;

/// The change of a derived figure that has an interval on both sides.
fn change_of_derived(cases: [&SideCase; 2], processes: u64) -> Option<Change> {
    let [base, new] = cases.map(|case| case.rows.iter().rev().find(|row| row.is_ok()));
    let (base, new) = (base?, new?);
    if cases[0].kind.unit != cases[1].kind.unit {
        return None;
    }
    let sign = if &*cases[0].kind.better == "lower" { -1.0 } else { 1.0 };
    let (one, other) = (base.value().filter(|value| *value > 0.0)?, new.value().filter(|value| *value > 0.0)?);
    let class = Matched::as_measured(cases).class().between_runs(processes);
    let borrowed = Spread { variance: 2.0 * class.powi(2), degrees: DEGREES };
    Some(Change { log: sign * (other / one).ln(), spread: sum([base.own()?, new.own()?, borrowed]), moved: 0.0 })
}

/// Decides of derived figures. Where they have intervals, these decide; a count is the same or it isn't. None is slower or
/// faster that is less sure than the cases which are: it is made of them. `least_sure` is their largest p-value, if any case was judged.
pub fn judge_derived(
    derived: &mut [Compared],
    pairs: &[(usize, [&SideCase; 2])],
    (clock, processes): (Option<&SideClocks>, u64),
    least_sure: Option<f64>,
    margin: f64,
) {
    let changes: Vec<Option<Change>> = pairs.iter().map(|(_, cases)| change_of_derived(*cases, processes)).collect();
    // A peak follows the clocks as the cases do that it is the best of.
    let left = |change: &Change, cases: &[&SideCase; 2]| {
        let of_clock =
            clock.filter(|_| Matched::as_measured(*cases).class() == Repeatability::Core).map_or(0.0, SideClocks::change);
        // How it goes with the clock isn't known: what brings it nearer to none.
        let left = Some(change.log - of_clock).filter(|left| left.abs() < change.log.abs());
        let unsure = Spread { variance: (of_clock / 4.0).powi(2), degrees: DEGREES };
        Change { log: left.unwrap_or(change.log), spread: sum([change.spread, unsure]), ..*change }
    };
    let known: Vec<Change> =
        changes.iter().zip(pairs).filter_map(|(change, (_, cases))| Some(left(change.as_ref()?, cases))).collect();
    let mut decided = decide(&known, margin).into_iter().zip(&known);
    for ((place, cases), change) in pairs.iter().zip(changes) {
        let compared = &mut derived[*place];
        compared.ratio = change.map(|change| change.ratio());
        let (verdict, rest) =
            change.and_then(|_| decided.next()).map_or((Verdict::Unclear, None), |(verdict, rest)| (verdict, Some(rest)));
        let is_moved = matches!(verdict, Verdict::Faster | Verdict::Slower);
        let is_surer = is_moved && least_sure.zip(rest).is_some_and(|(least_sure, rest)| rest.p_value() > least_sure);
        let verdict = if is_surer { Verdict::Unclear } else { verdict };
        compared.left = rest.filter(|rest| change.is_some_and(|change| change.log != rest.log)).map(|rest| rest.ratio().into());
        let [base, new] = cases.map(|case| case.rows.iter().rev().find(|row| row.is_ok()).map(|row| (row.value(), row.ends())));
        let is_count = [base, new].iter().flatten().all(|(_, ends)| ends.is_none()) && is_count(&cases[0].kind.unit);
        // A share changes with what it is a share of: neither way is faster.
        let has_no_better = cases[0].kind.better.is_empty() || &*cases[0].kind.unit == SHARE;
        let is_neither_better = has_no_better && matches!(verdict, Verdict::Faster | Verdict::Slower);
        compared.verdict = match verdict {
            _ if base == new => Verdict::Same,
            _ if is_neither_better || (change.is_none() && is_count) => Verdict::Changed,
            verdict => verdict,
        };
        if change.is_none() && compared.verdict == Verdict::Unclear {
            let why = if cases[0].kind.unit == cases[1].kind.unit {
                "it has no interval"
            } else {
                "it has another unit on the other side"
            };
            compared.because(why);
        }
    }
}

/// Whether a derived figure is a count, which no noise moves by a little.
fn is_count(unit: &str) -> bool {
    !unit.contains('/') && !["ns", SHARE].contains(&unit)
}
