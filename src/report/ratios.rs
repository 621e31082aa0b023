//! Ratios of a comparison, with their intervals.

use std::collections::BTreeSet;

use super::chart::{Body, Chart, RatioItem, Ratios, Verdict};
use super::charts::Picture;
use super::figures::tip_of;
use crate::analysis::compare::{self, Compared, Comparison};
use crate::output::Names;
use crate::stats::Ratio;
use crate::units::ratio_between;

/// The most ratios of a picture: the largest changes that were decided, and the most where none was.
const MOST_DECIDED: usize = 60;
const MOST: usize = 24;

/// How many ratios of a comparison are shown, of how many that are known.
pub fn shown(comparison: &Comparison) -> (usize, usize) {
    let known: Vec<&Compared> = comparison.cases.iter().filter(|case| case.effect().as_ref().is_some_and(is_usable)).collect();
    let decided = known.iter().filter(|case| is_decided(case)).count();
    (known.len().min(decided.clamp(MOST, MOST_DECIDED)), known.len())
}

fn is_decided(case: &Compared) -> bool {
    matches!(verdict(case), Verdict::Faster | Verdict::Slower)
}

/// The cases of a comparison whose ratios are known: the largest changes, faster ones first. Nothing where there is none.
pub fn ratios(comparison: &Comparison, sources: usize) -> Option<Picture> {
    let mut cases: Vec<(&Compared, Ratio)> =
        comparison.cases.iter().filter_map(|case| Some((case, case.effect()?))).filter(|(_, ratio)| is_usable(ratio)).collect();
    let change = |ratio: &Ratio| ratio.value.ln().abs();
    // What was decided comes before what may be noise.
    cases.sort_by(|(one, a), (other, b)| is_decided(other).cmp(&is_decided(one)).then(change(b).total_cmp(&change(a))));
    cases.truncate(shown(comparison).0);
    cases.sort_by(|(_, a), (_, b)| b.value.total_cmp(&a.value));
    if cases.is_empty() {
        return None;
    }
    let [base, new] = &comparison.names;
    let names = Names::new(comparison);
    let chart = Chart {
        title: format!("{new} compared with {base}"),
        body: Body::Ratios(Ratios {
            label: format!("times as fast as {base}"),
            margin: comparison.margin,
            items: cases.iter().map(|(case, ratio)| item(case, names.of(case), ratio)).collect(),
        }),
    };
    let sources: BTreeSet<usize> = (0..sources).collect();
    Some(Picture { chart, sources, conclusion: None })
}

fn is_usable(ratio: &Ratio) -> bool {
    [ratio.low, ratio.value, ratio.high].iter().all(|end| end.is_finite() && *end > 0.0)
}

fn verdict(case: &Compared) -> Verdict {
    match case.verdict {
        compare::Verdict::Faster => Verdict::Faster,
        compare::Verdict::Slower => Verdict::Slower,
        compare::Verdict::Same => Verdict::Same,
        _ => Verdict::Unclear,
    }
}

fn item(case: &Compared, name: String, ratio: &Ratio) -> RatioItem {
    let told = ratio_between(*ratio);
    let lines = [case.name(), format!("{}: {told}", case.verdict.as_str()), case.flags.replace(';', ", "), case.reason.clone()];
    RatioItem { name, ratio: *ratio, verdict: verdict(case), is_doubted: !case.flags.is_empty(), tip: tip_of(lines) }
}
