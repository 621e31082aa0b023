//! The answer: how many cases became what, what differs beside the figures, what cases share, and geometric means.

use std::collections::BTreeMap;

use super::super::text_table::{Column, Need, TextTable};
use super::super::tone::Tone;
use super::cases::{Names, size};
use super::sheet::Sheet;
use crate::analysis::compare::{About, Application, ClockSource, Compared, Comparison, Difference, SideClocks, Total, Verdict};
use crate::analysis::counted;
use crate::model::Flag;
use crate::units::{Nanos, percent, ratio_between};

/// The differences that have a line each.
const DIFFERENCES: usize = 8;

/// The counts, the mean of all, the worst, what broke, what cases share.
pub fn answer(sheet: &mut Sheet, comparison: &Comparison, names: &Names) {
    let counts = counts(comparison);
    match whole(comparison) {
        Some(whole) => {
            sheet.answer(&whole);
            sheet.words(&counts, Tone::Plain);
        }
        None => sheet.answer(&counts),
    }
    if let Some(words) = disturbed(comparison) {
        sheet.words(&words, Tone::Bad);
    }
    if let Some(words) = families_apart(comparison) {
        sheet.words(&words, Tone::Plain);
    }
    if let Some(words) = of_one_run(comparison) {
        sheet.words(words, Tone::Doubtful);
    }
    // What calibrates the instrument is nobody's work.
    let work = || comparison.cases.iter().filter(|case| case.family() != "calibration");
    let by_size = |one: &&Compared, other: &&Compared| size(one).total_cmp(&size(other));
    let worst = |verdict: Verdict| work().filter(move |case| case.verdict == verdict).max_by(by_size);
    for (verdict, title, tone) in [(Verdict::Slower, "Slower most", Tone::Bad), (Verdict::Faster, "Faster most", Tone::Plain)] {
        if let (Some(case), Some(ratio)) = (worst(verdict), worst(verdict).and_then(Compared::effect)) {
            let measured = case.as_measured().map_or_else(String::new, |measured| format!(" ({measured})"));
            sheet.words(&format!("{title}: {}, {} times as fast{measured}.", names.of(case), ratio_between(ratio)), tone);
        }
    }
    let broken: Vec<&Compared> = comparison.cases.iter().filter(|case| case.verdict == Verdict::Broken).collect();
    if let [first, others @ ..] = broken.as_slice() {
        let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        sheet.words(&format!("Broken: {}{more}: {}.", names.of(first), first.reason.trim_end_matches('.')), Tone::Bad);
    }
    if let Some(application) = &comparison.application {
        sheet.words(&of_application(application, &comparison.names), Tone::Plain);
    }
    if let Some(clock) = &comparison.clock {
        sheet.words(&clocks(clock), Tone::Plain);
    }
}

/// The counts, and the mean of all.
pub fn in_short(comparison: &Comparison) -> String {
    let (whole, counts) = (whole(comparison), counts(comparison));
    whole.map_or_else(|| counts.clone(), |whole| format!("{whole} {counts}."))
}

/// What all calls take together, and how much of that the compared kernels have.
fn of_application(Application { all, matched }: &Application, names: &[String; 2]) -> String {
    let share = |side: usize| if all[side] > 0.0 { percent(matched[side] / all[side]) } else { "0 %".to_owned() };
    let [base, new] = all.map(|time| Nanos(time).to_string());
    let together = format!("All calls together: {base}, then {new}");
    if matched == all {
        return format!("{together}; both sides have the same kernels.");
    }
    let [first, second] = names;
    format!("{together}. Kernels that both sides have take {} of the time of {first}, and {} of {second}.", share(0), share(1))
}

/// What became of all cases together.
fn whole(comparison: &Comparison) -> Option<String> {
    let whole = comparison.totals.iter().find(|total| total.family.is_none())?;
    let word = match whole.verdict {
        Verdict::Slower => "Slower",
        Verdict::Faster => "Faster",
        Verdict::Same => "The same",
        _ => "Unclear",
    };
    let share = if whole.cases < whole.of { format!(", of {} of {} cases", whole.cases, whole.of) } else { String::new() };
    let is_moved = matches!(whole.verdict, Verdict::Slower | Verdict::Faster);
    let is_alone = is_moved && comparison.cases.iter().all(|case| case.verdict != whole.verdict);
    let beside = match word {
        _ if is_alone => "; no single case is sure",
        "Unclear" if whole.ratio.high < 1.0 => "; slower at 95 %, but a verdict needs 99 %",
        "Unclear" if whole.ratio.low > 1.0 => "; faster at 95 %, but a verdict needs 99 %",
        _ => "",
    };
    Some(format!("{word} in all: {} times as fast{share}{beside}.", ratio_between(whole.ratio)))
}

/// What to do first, where most rows were disturbed.
fn disturbed(comparison: &Comparison) -> Option<String> {
    let has = |flag: Flag| comparison.cases.iter().filter(|case| case.flags.split(';').any(|own| own == flag.name())).count();
    // Of as many of both, other programs are why rows are noisy: the last one stands.
    let (flag, count) =
        [Flag::Noisy, Flag::Contended].map(|flag| (flag, has(flag))).into_iter().max_by_key(|(_, count)| *count)?;
    let all = comparison.cases.len();
    let advice = match flag {
        Flag::Contended => "measure again on an idle machine",
        _ => "measure again, for longer or on an idle machine",
    };
    (2 * count > all).then(|| format!("{count} of {all} cases are {flag}: {advice}."))
}

/// The families that became slower or faster where the whole didn't.
fn families_apart(comparison: &Comparison) -> Option<String> {
    let whole = comparison.totals.iter().find(|total| total.family.is_none())?.verdict;
    let is_apart = |total: &&Total| {
        total.family.is_some() && matches!(total.verdict, Verdict::Slower | Verdict::Faster) && total.verdict != whole
    };
    let told = comparison.totals.iter().filter(is_apart).map(|total| {
        let family = total.family.as_deref().unwrap_or_default();
        format!("{family} {} ({} times as fast)", total.verdict, ratio_between(total.ratio))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("By family: {}.", told.join(", ")))
}

/// What a verdict on many cases of one run a side can't claim.
fn of_one_run(comparison: &Comparison) -> Option<&'static str> {
    let is_moved = |total: &Total| total.is_borrowed && matches!(total.verdict, Verdict::Slower | Verdict::Faster);
    comparison.totals.iter().any(is_moved).then_some(
        "The difference is larger than runs usually differ as a whole. To know that it comes from what you changed, measure several \
         runs of each side.",
    )
}

/// `224 cases: 3 slower, 215 the same; derived: 2 changed, 26 the same`
fn counts(comparison: &Comparison) -> String {
    let mut words = format!("{}: {}", counted(comparison.cases.len() as u64, "case"), tally(&comparison.cases));
    if !comparison.derived.is_empty() {
        words += &format!("; derived: {}", tally(&comparison.derived));
    }
    if comparison.neither > 0 {
        words += &format!("; {} without a figure on either side", comparison.neither);
    }
    words
}

fn tally(cases: &[Compared]) -> String {
    let count = |verdict: Verdict| cases.iter().filter(|case| case.verdict == verdict).count();
    let told = |verdict: &Verdict| {
        let word = if *verdict == Verdict::Same { "the same" } else { verdict.as_str() };
        Some(count(*verdict)).filter(|count| *count > 0).map(|count| format!("{count} {word}"))
    };
    Verdict::ALL.iter().filter_map(told).collect::<Vec<_>>().join(", ")
}

/// The core's clock on both sides, in words.
fn clocks(clocks: &SideClocks) -> String {
    let told = match clocks.source {
        ClockSource::Counters => {
            let [base, new] = clocks.medians.map(|mhz| format!("{mhz:.0} MHz"));
            let told = if base == new { format!("{base} on both sides") } else { format!("{base}, then at {new}") };
            format!("the core ran at {told} (medians)")
        }
        ClockSource::Sentinel => {
            let percent = format!("{:.1} %", 100.0 * clocks.change().abs());
            let told = match clocks.change() > 0.0 {
                _ if percent == "0.0 %" => "alike on both sides".to_owned(),
                true => format!("{percent} faster on the new side"),
                false => format!("{percent} slower on the new side"),
            };
            format!("the core ran {told} (medians of the sentinel's speed: its clock wasn't measured)")
        }
    };
    let what = match clocks.is_taken_out {
        true => "Its steps are taken out: ratios and verdicts are about what is left",
        false => "Steps are smaller than that: nothing is taken out",
    };
    format!("Clocks: {told}. {what}.")
}

/// What differs beside the figures, the most important first, and what follows from that.
pub fn differences(sheet: &mut Sheet, comparison: &Comparison) {
    let told = worth_telling(&comparison.differences);
    if !told.is_empty() {
        let [base, new] = &comparison.names;
        let mut table = TextTable::new([
            Column::words("column", Need::Key),
            Column::words(base.as_str(), Need::Key),
            Column::words(new.as_str(), Need::Key),
        ])
        .whole_in("a wider terminal has them");
        for difference in told.iter().take(DIFFERENCES) {
            let [base, new] = difference.values.each_ref().map(|value| if value.is_empty() { "(none)" } else { value });
            table.row([difference.column, base, new]);
        }
        let others: Vec<&str> = told.iter().skip(DIFFERENCES).map(|difference| difference.column).collect();
        let remarks = (!others.is_empty()).then(|| format!("and {}", others.join(", ")));
        sheet.table("Beside the figures, these differ:", (&table, 0), remarks.as_slice());
    }
    for warning in &comparison.warnings {
        sheet.words(&format!("Warning: {warning}."), Tone::Doubtful);
    }
}

/// Without what others say better: another device has another UUID, a driver's build tells more than its number, and a plan's hash
/// tells nobody anything.
fn worth_telling(differences: &[Difference]) -> Vec<&Difference> {
    let has = |column: &str| differences.iter().any(|difference| difference.column == column);
    let is_said = |difference: &&Difference| match difference.column {
        "device_uuid" => has("device_name"),
        "driver_version" => has("driver_info"),
        _ => difference.about == About::Plan,
    };
    differences.iter().filter(|difference| !is_said(difference)).collect()
}

/// The verdicts that have a column of their own among families; others share one.
const COUNTED: [Verdict; 4] = [Verdict::Broken, Verdict::Slower, Verdict::Faster, Verdict::Unclear];

/// What became of each family, with its geometric mean.
pub fn families(sheet: &mut Sheet, comparison: &Comparison) {
    let mut families: BTreeMap<&str, Vec<Verdict>> = BTreeMap::new();
    for case in &comparison.cases {
        families.entry(case.family()).or_default().push(case.verdict);
    }
    if families.len() < 2 {
        return;
    }
    let columns = [
        Column::words("family", Need::Key),
        Column::words("as a whole", Need::Central),
        Column::numbers("times as fast", Need::Key),
    ]
    .into_iter();
    let counts = COUNTED.iter().map(|verdict| Column::numbers(verdict.as_str(), Need::Central));
    let rest = [Column::numbers("other", Need::Useful), Column::numbers("same", Need::Useful)];
    let mut table = TextTable::new(columns.chain(counts).chain(rest));
    for (family, verdicts) in &families {
        let mean = comparison.totals.iter().find(|total| total.family.as_deref() == Some(*family));
        let verdict = mean.map_or_else(String::new, |total| total.verdict.to_string());
        let mean = mean.map_or_else(String::new, |total| ratio_between(total.ratio));
        let count = |verdict: Verdict| verdicts.iter().filter(|own| **own == verdict).count();
        let same = count(Verdict::Same);
        let counts: Vec<usize> = COUNTED.iter().map(|verdict| count(*verdict)).collect();
        let others = verdicts.len() - same - counts.iter().sum::<usize>();
        let cells = counts.into_iter().chain([others, same]);
        let cells = cells.map(|count| if count == 0 { String::new() } else { count.to_string() });
        table.row([(*family).to_owned(), verdict, mean].into_iter().chain(cells));
    }
    sheet.table("Families, by geometric mean:", (&table.without_empty_columns(), families.len()), &[]);
}
