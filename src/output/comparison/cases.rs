//! The cases, by their effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::text_table::{Cell, Column, Need, TextTable};
use super::super::tone::{Tone, in_a_line};
use super::sheet::Sheet;
use crate::analysis::compare::{Compared, Comparison, Verdict};
use crate::stats::Ratio;
use crate::units::{rate, ratio_between, rounded, time};

/// The most cases that are shown of a verdict, in the order in which verdicts are shown, and the most of what follows from cases, which says
/// in fewer figures what they do. What is missing or unclear is told by its count; a few show what it is.
const SHOWN: [(Verdict, [usize; 2]); 11] = [
    (Verdict::Broken, [8, 2]),
    (Verdict::Failing, [2, 1]),
    (Verdict::Missing, [2, 2]),
    (Verdict::Skipped, [2, 1]),
    (Verdict::Slower, [8, 4]),
    (Verdict::Faster, [6, 4]),
    (Verdict::Changed, [3, 3]),
    (Verdict::Fixed, [2, 1]),
    (Verdict::New, [2, 1]),
    (Verdict::Unclear, [3, 0]),
    (Verdict::Same, [0, 0]),
];

/// So many cases share a reason that is said once, and the most such reasons.
const SHARED: usize = 3;
const REASONS: usize = 4;

/// Names longer than this don't head a column.
const LONGEST_TITLE: usize = 12;

/// How cases are named: by their experiment, their variant, and those of their axes that tell cases apart.
pub struct Names {
    /// How many cases of an experiment there are, and how many have an axis at a value.
    counts: BTreeMap<Arc<str>, (usize, BTreeMap<String, usize>)>,
    /// Whether some cases are cold and others aren't.
    has_caches: bool,
}

impl Names {
    pub fn new(comparison: &Comparison) -> Self {
        let first = comparison.cases.first().map(|case| &case.kind.cache);
        let mut names =
            Self { counts: BTreeMap::new(), has_caches: comparison.cases.iter().any(|case| Some(&case.kind.cache) != first) };
        for case in comparison.cases.iter().chain(&comparison.derived) {
            let (count, values) = names.counts.entry(case.kind.experiment.clone()).or_default();
            *count += 1;
            for value in case.axes.split(';') {
                match values.get_mut(value) {
                    Some(count) => *count += 1,
                    None => drop(values.insert(value.to_owned(), 1)),
                }
            }
        }
        names
    }

    pub fn of(&self, case: &Compared) -> String {
        let counts = self.counts.get(&*case.kind.experiment);
        let tells = |value: &&str| counts.is_none_or(|(count, values)| values.get(*value) != Some(count));
        let cache = if self.has_caches { &*case.kind.cache } else { "" };
        let parts = [&*case.kind.experiment, &case.kind.variant].into_iter();
        let parts = parts.chain(case.axes.split(';').filter(tells)).chain([cache, &case.device]);
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// How large an effect is, either way.
pub fn size(case: &Compared) -> f64 {
    case.effect().map_or(0.0, |ratio| ratio.value.ln().abs())
}

/// How sure it is that a case changed at all: how often half its interval fits into its effect.
fn sureness(case: &Compared) -> f64 {
    let half = |ratio: Ratio| (ratio.high / ratio.low).ln() / 2.0;
    case.effect().map_or(0.0, |ratio| size(case) / half(ratio).max(f64::MIN_POSITIVE))
}

/// The measured cases, and what follows from them: where that is unclear, so are the cases that it follows from.
pub fn tables(sheet: &mut Sheet, comparison: &Comparison, names: &Names, is_whole: bool) {
    let kinds = [("Cases, by effect:", &comparison.cases), ("What follows from them:", &comparison.derived)];
    for (kind, (title, cases)) in kinds.into_iter().enumerate() {
        let chosen = Chosen::of(cases, kind, is_whole);
        if !chosen.shown.is_empty() {
            table(sheet, title, comparison, &chosen, names);
        }
    }
}

fn table(sheet: &mut Sheet, title: &str, comparison: &Comparison, chosen: &Chosen, names: &Names) {
    let mut table = TextTable::new([
        Column::words("case", Need::Key),
        Column::words("verdict", Need::Key),
        Column::numbers("times as fast", Need::Key),
        Column { wraps: false, ..Column::words(figures_title(comparison), Need::Central) },
        Column::words("flags", Need::Spare),
        Column::words("why", Need::Useful),
    ])
    .whole_in("a wider terminal or -o FILE.csv has them");
    for case in &chosen.shown {
        let is_shared = chosen.reasons.iter().any(|(verdict, reason, _)| *verdict == case.verdict && *reason == case.reason);
        table.row([
            Cell::from(names.of(case)),
            Cell::from(case.verdict.as_str()).toned(tone(case.verdict)),
            case.effect().map_or_else(String::new, ratio_between).into(),
            figures(case).into(),
            Cell::from(case.flags.replace(';', " ")).toned(Tone::Doubtful),
            if is_shared { "" } else { case.reason.as_str() }.into(),
        ]);
    }
    let reasons = chosen.reasons.iter().map(|(verdict, reason, count)| format!("{verdict}, {count}: {reason}"));
    let remarks: Vec<String> = reasons.chain(frequent_flags(&chosen.shown)).chain(chosen.left_out.clone()).collect();
    sheet.table(title, (&table.without_empty_columns(), chosen.shown.len()), &remarks);
}

/// The flags that most cases have, which a narrow table has no room for.
fn frequent_flags(cases: &[&Compared]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for flag in cases.iter().flat_map(|case| case.flags.split(';')).filter(|flag| !flag.is_empty()) {
        *counts.entry(flag).or_default() += 1;
    }
    let frequent = counts.into_iter().filter(|(_, count)| *count > 1 && 2 * count > cases.len());
    let frequent: Vec<String> = frequent.map(|(flag, count)| format!("{} in {count}", in_a_line(flag))).collect();
    (!frequent.is_empty()).then(|| format!("flags of these {} cases: {}", cases.len(), frequent.join(", ")))
}

/// The cases that are shown, and what is said of all.
struct Chosen<'c> {
    shown: Vec<&'c Compared>,
    /// Reasons that several cases share, with their number, the most frequent first.
    reasons: Vec<(Verdict, &'c str, usize)>,
    left_out: Option<String>,
}

impl<'c> Chosen<'c> {
    /// `kind`: measured or derived, as in [`SHOWN`].
    fn of(cases: &'c [Compared], kind: usize, is_whole: bool) -> Self {
        let (mut shown, mut left_out) = (Vec::new(), Vec::new());
        for verdicts in SHOWN.chunk_by(|(one, _), (other, _)| is_change(*one) && is_change(*other)) {
            let mut group = Vec::new();
            for (verdict, most) in verdicts {
                let mut own: Vec<&Compared> = cases.iter().filter(|case| case.verdict == *verdict).collect();
                sort(&mut own, *verdict);
                let count = if is_whole { own.len() } else { own.len().min(most[kind]) };
                left_out.extend((count < own.len() && most[kind] > 0).then(|| format!("{} {verdict}", own.len() - count)));
                group.extend(own.into_iter().take(count));
            }
            sort(&mut group, verdicts[0].0);
            shown.extend(group);
        }
        let left_out =
            (!left_out.is_empty()).then(|| format!("and more ({}): --all or -o FILE.csv has them", left_out.join(", ")));
        Self { shown, reasons: shared_reasons(cases), left_out }
    }
}

/// By effect; what is unclear by how sure it is all the same.
fn sort(cases: &mut [&Compared], verdict: Verdict) {
    let key = if verdict == Verdict::Unclear { sureness } else { size };
    cases.sort_by(|one, other| key(other).total_cmp(&key(one)));
}

/// That intervals are too wide goes without saying.
fn shared_reasons(cases: &[Compared]) -> Vec<(Verdict, &str, usize)> {
    let mut counts: BTreeMap<(Verdict, &str), usize> = BTreeMap::new();
    for case in cases.iter().filter(|case| !case.reason.is_empty()) {
        *counts.entry((case.verdict, &case.reason)).or_default() += 1;
    }
    let shared = counts.into_iter().filter(|(_, count)| *count >= SHARED);
    let mut reasons: Vec<_> = shared.map(|((verdict, reason), count)| (verdict, reason, count)).collect();
    reasons.sort_by_key(|(.., count)| std::cmp::Reverse(*count));
    reasons.truncate(REASONS);
    reasons
}

/// Whether a case got slower or faster: these stand together, by how much they did.
fn is_change(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Slower | Verdict::Faster)
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Broken | Verdict::Failing | Verdict::Missing | Verdict::Slower => Tone::Bad,
        Verdict::Unclear | Verdict::Changed | Verdict::Skipped => Tone::Doubtful,
        Verdict::Same => Tone::Quiet,
        Verdict::Faster | Verdict::Fixed | Verdict::New => Tone::Plain,
    }
}

fn figures_title(comparison: &Comparison) -> String {
    let [base, new] = &comparison.names;
    let are_short = [base, new].iter().all(|name| name.chars().count() <= LONGEST_TITLE);
    if are_short { format!("{base} → {new}") } else { "base → new".to_owned() }
}

/// Both figures, with the digits that the ratio's interval allows; the unit stands once where both have it.
fn figures(case: &Compared) -> String {
    let share = case.ratio.map(|Ratio { value, low, high }| (high - low) / 2.0 / value);
    let [base, new] = case.figures.map(|figure| figure.map(|value| shown_figure(value, share, &case.unit)));
    match (base, new) {
        (Some(base), Some(new)) => {
            let unit = new.rsplit_once(' ').map_or("", |(_, unit)| unit);
            let base = base.strip_suffix(unit).map_or(base.as_str(), str::trim_end);
            format!("{base} → {new}")
        }
        (Some(base), None) => format!("{base} →"),
        (None, Some(new)) => format!("→ {new}"),
        (None, None) => String::new(),
    }
}

fn shown_figure(value: f64, share: Option<f64>, unit: &str) -> String {
    let half = share.map(|share| value.abs() * share).filter(|half| *half > 0.0);
    match unit {
        "ns" => time(value, half),
        "ratio" => rounded(value, half),
        _ => rate(value, half, unit).trim_end().to_owned(),
    }
}
