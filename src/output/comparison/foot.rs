//! What the driver's compiler made of the cases, and what the verdicts rest on.

use super::super::text_table::{Column, Need, TextTable};
use super::super::tone::Tone;
use super::sheet::Sheet;
use crate::analysis::compare::{BetweenRuns, CodeChange, Compared, Comparison, FALSE_DISCOVERIES, Softening, Verdict};
use crate::model::{Flag, Repeatability};

/// From this share of unclear cases on, it is said what would help.
const MANY: f64 = 0.1;

/// The processes that each row of a study comes from.
const OF_STUDIES: u64 = 6;

/// Registers, spills and code sizes, in the manner of Mesa's shader-db reports.
pub fn code(sheet: &mut Sheet, comparison: &Comparison) {
    let changed: Vec<&CodeChange> = comparison.code.iter().filter(|change| change.helped + change.hurt > 0).collect();
    if changed.is_empty() {
        if let Some(unchanged) = comparison.code.iter().map(|change| change.unchanged).max() {
            let words = format!("The driver's compiler made the same of {unchanged} cases, as far as it reports.");
            sheet.space();
            sheet.words(&words, Tone::Plain);
        }
        return;
    }
    let mut table = TextTable::new([
        Column::words("", Need::Key),
        Column::numbers("helped", Need::Key),
        Column::numbers("hurt", Need::Key),
        Column::numbers("unchanged", Need::Useful),
        Column::words("total", Need::Key),
    ]);
    for change in changed {
        let CodeChange { column, helped, hurt, unchanged, totals: [base, new] } = change;
        let total = format!("{base} → {new}{}", by_percent(*base, *new));
        table.row([(*column).to_owned(), helped.to_string(), hurt.to_string(), unchanged.to_string(), total]);
    }
    sheet.table("What the driver's compiler made (helped has less of it):", (&table, 0), &[]);
}

#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn by_percent(base: u64, new: u64) -> String {
    if base == 0 || base == new {
        return String::new();
    }
    format!(" ({:+.1} %)", 100.0 * (new as f64 / base as f64 - 1.0))
}

/// What the verdicts rest on, and what would help where much is unclear.
pub fn basis(sheet: &mut Sheet, comparison: &Comparison) {
    sheet.space();
    let mut words = format!(
        "Same: a change is within {}. On average, {} of the cases called slower or faster may be neither.",
        share(comparison.margin),
        share(FALSE_DISCOVERIES)
    );
    let (measured, borrowed): (Vec<_>, Vec<_>) =
        comparison.between_runs.iter().partition(|(_, between)| between.measured.is_some());
    if !measured.is_empty() {
        words += &format!(" From run to run, figures moved by {}.", listed(&measured));
    }
    if !borrowed.is_empty() {
        words += &format!(
            " From run to run, figures are taken to move by {}; several runs of each side would show it.",
            listed(&borrowed)
        );
    }
    if let Some(Softening { shown, .. }) = comparison.softening.filter(|softening| softening.shown > 1.0) {
        words += &format!(
            " These runs differ by {shown:.1} times that, and the verdicts allow for it; two runs of each side show it."
        );
    }
    words += &match comparison.without_clock {
        0 => String::new(),
        count => format!(
            " In {count} of {} cases, the core's clock wasn't measured beside all rows: there, a step of it (0.75 % on an H100) counts as \
             a change.",
            comparison.cases.len()
        ),
    };
    sheet.words(&words, Tone::Quiet);
    if let Some(advice) = advice(comparison) {
        sheet.words(&advice, Tone::Doubtful);
    }
}

fn listed(between: &[(&Repeatability, &BetweenRuns)]) -> String {
    let one = |(class, between): &(&Repeatability, &BetweenRuns)| {
        let told = between.measured.map_or_else(String::new, |degrees| format!(", {degrees:.0} degrees of freedom"));
        let move_by = if between.is_least() { "no more than their rounds show".to_owned() } else { share(between.deviation) };
        format!("{move_by} ({}{told})", class.as_str())
    };
    between.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// `10 %`, `0.15 %`: two digits, since what is borrowed has no more.
fn share(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = [0, 1, 2, 3].into_iter().find(|decimals| percent * 10_f64.powi(*decimals) >= 9.5).unwrap_or(3);
    let text = format!("{percent:.*}", usize::try_from(decimals).unwrap_or(0));
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 cases")]
fn advice(comparison: &Comparison) -> Option<String> {
    let unclear: Vec<&Compared> = comparison.cases.iter().filter(|case| case.verdict == Verdict::Unclear).collect();
    let (count, all) = (unclear.len(), comparison.cases.len());
    let contended = unclear.iter().filter(|case| case.flags.split(';').any(|flag| flag == Flag::Contended.name())).count();
    let quiet = if 2 * contended > count { format!("a quiet machine ({contended} are contended); ") } else { String::new() };
    // Whoever has measured in many processes has done that already.
    let study = if comparison.processes < OF_STUDIES { "`lanescope run --preset study`; " } else { "" };
    let has_several = comparison.between_runs.values().any(|between| between.measured.is_some());
    let runs = if has_several { "more runs" } else { "several runs" };
    (count as f64 > MANY * all as f64).then(|| {
        let are = if count == 1 { "is" } else { "are" };
        format!(
            "{count} of {all} cases {are} unclear. What helps: {quiet}{runs} of each side, since they show how far figures move \
             (`lanescope guide compare`); {study}and --suspects FILE, which writes the cases to measure again."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_two_digits() {
        let told = [0.1, 0.05, 0.01, 0.0015, 0.001, 0.000_712, 0.0216].map(share);
        assert_eq!(told, ["10 %", "5 %", "1 %", "0.15 %", "0.1 %", "0.071 %", "2.2 %"]);
    }

    #[test]
    fn totals_are_told_in_percent() {
        assert_eq!([by_percent(200, 190), by_percent(0, 5), by_percent(5, 5)], [" (-5.0 %)", "", ""]);
    }
}
