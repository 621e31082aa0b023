//! The cases that are to be measured again: what changed or is unclear, and a few that didn't change.
//!
//! The latter tell whether the second look sees the devices as the first one did: where they moved as well, it is the clocks, or another
//! program.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::Context;

use crate::analysis::compare::{Compared, Comparison, SideCase, Sides, TIMERS, Verdict};
use crate::experiments::find;
use crate::model::{Cache, Flag};

/// The columns, as `run --cases` reads them.
const COLUMNS: [&str; 7] = ["experiment", "variant", "case_id", "axis_values", "cache", "verdict", "why"];

const CONTROLS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    Changed,
    /// Neither a change nor the lack of one is shown.
    Unclear,
    /// It is the same, and is to be so again.
    Control,
}

impl Why {
    fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Unclear => "unclear",
            Self::Control => "control",
        }
    }
}

/// The cases to measure again. Compared by an axis, both sides have cases of their own.
pub struct Suspects<'c> {
    cases: Vec<(&'c SideCase, Verdict, Why)>,
}

impl<'c> Suspects<'c> {
    pub fn new(sides: &'c Sides, comparisons: &'c [Comparison]) -> Self {
        let mut by_key: HashMap<&str, Vec<&SideCase>> = HashMap::new();
        for case in sides.sides.iter().flat_map(|side| &side.cases) {
            by_key.entry(&case.key).or_default().push(case);
        }
        let chosen: Vec<(&Compared, Why)> = comparisons.iter().flat_map(chosen).collect();
        let is_to_decide = chosen.iter().any(|(_, why)| *why != Why::Control);
        let mut seen = HashSet::new();
        let mut cases = Vec::new();
        // What is to be decided counts before what is a control in another comparison.
        for why in [Why::Changed, Why::Unclear, Why::Control] {
            for (compared, _) in chosen.iter().filter(|(_, own)| *own == why && is_to_decide) {
                let own = by_key.get(&*compared.key).into_iter().flatten();
                let fresh = own.filter(|case| seen.insert(&case.case_id));
                cases.extend(fresh.map(|case| (*case, compared.verdict, why)));
            }
        }
        Self { cases }
    }

    pub fn len(&self) -> usize {
        self.cases.len()
    }

    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    pub fn are_cold(&self) -> bool {
        self.cases.iter().any(|(case, ..)| &*case.kind.cache == Cache::Cold.as_str())
    }

    /// In words: `2 changed, 20 unclear, 8 controls`.
    pub fn told(&self) -> String {
        let one = |(why, count): (Why, usize)| {
            let plural = if why == Why::Control && count != 1 { "s" } else { "" };
            format!("{count} {}{plural}", why.as_str())
        };
        let mut counts: BTreeMap<Why, usize> = BTreeMap::new();
        self.cases.iter().for_each(|(.., why)| *counts.entry(*why).or_default() += 1);
        counts.into_iter().map(one).collect::<Vec<_>>().join(", ")
    }

    pub fn csv(&self) -> anyhow::Result<String> {
        let mut bytes = Vec::new();
        let mut csv = csv::Writer::from_writer(&mut bytes);
        csv.write_record(COLUMNS)?;
        for (case, verdict, why) in &self.cases {
            csv.write_record([
                &*case.kind.experiment,
                &case.kind.variant,
                &case.case_id,
                &case.axes,
                &case.kind.cache,
                verdict.as_str(),
                why.as_str(),
            ])?;
        }
        csv.flush()?;
        drop(csv);
        String::from_utf8(bytes).context("the suspects are no text")
    }
}

fn chosen(comparison: &Comparison) -> Vec<(&Compared, Why)> {
    let mut chosen: Vec<(&Compared, Why)> = comparison
        .cases
        .iter()
        .filter(|case| can_be_decided(case))
        .filter_map(|case| match case.verdict {
            Verdict::Slower | Verdict::Faster => Some((case, Why::Changed)),
            Verdict::Unclear => Some((case, Why::Unclear)),
            _ => None,
        })
        .collect();
    chosen.extend(controls(comparison).into_iter().map(|case| (case, Why::Control)));
    chosen
}

/// Whether more processes can tell more: nothing decides what is too short to be timed, physically impossible, or the timer's; and `run`
/// can't measure a user's own shader.
fn can_be_decided(case: &Compared) -> bool {
    let is_hopeless = |flag: &str| [Flag::NearFloor, Flag::Implausible].iter().any(|hopeless| hopeless.name() == flag);
    let can_be_run = find(&case.kind.experiment).is_some() && !TIMERS.contains(&&*case.kind.experiment);
    case.ratio.is_some() && can_be_run && !case.flags.split(';').any(is_hopeless)
}

/// Cases that are the same, of as many families as there are.
fn controls(comparison: &Comparison) -> Vec<&Compared> {
    let mut families: BTreeMap<&str, Vec<&Compared>> = BTreeMap::new();
    for case in comparison
        .cases
        .iter()
        .filter(|case| case.verdict == Verdict::Same && can_be_decided(case) && case.family() != "calibration")
    {
        families.entry(case.family()).or_default().push(case);
    }
    let most = families.values().map(Vec::len).max().unwrap_or(0);
    let in_turn = (0..most).flat_map(|turn| families.values().filter_map(move |cases| cases.get(turn).copied()));
    in_turn.take(CONTROLS).collect()
}
