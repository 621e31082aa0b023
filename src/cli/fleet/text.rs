//! The answer as people read it.

use crate::analysis::counted;
use crate::analysis::fleet::{Deviation, FEWEST_MACHINES, Judged, Level, Machine, Verdict};
use crate::output::{Column, Need, Page, TextTable, paragraph};
use crate::units::{percent, percent_off};

/// Most lie within so many standard deviations: 19 of 20.
const MOST: f64 = 2.0;

pub fn text(judged: &[Judged], is_whole: bool, page: Page) -> String {
    let of = |of: &Judged| {
        let table = table(of, is_whole).map(|table| table.fitted(page));
        let notes = notes(of).into_iter().map(|words| paragraph(&words, page));
        [paragraph(&head(of, judged), page)].into_iter().chain(table).chain(notes).collect::<Vec<String>>()
    };
    judged.iter().flat_map(of).collect::<Vec<String>>().join("\n")
}

pub fn markdown(judged: &[Judged], is_whole: bool) -> String {
    let of = |of: &Judged| {
        let table = table(of, is_whole).map(|table| table.markdown().trim_end().to_owned());
        [head(of, judged)].into_iter().chain(table).chain(notes(of)).collect::<Vec<_>>()
    };
    judged.iter().flat_map(of).collect::<Vec<_>>().join("\n\n") + "\n"
}

fn head(of: &Judged, all: &[Judged]) -> String {
    let Judged { kind, machines, cases, .. } = of;
    // They are told where they tell kinds apart.
    let is_alike = |other: &&Judged| (&other.kind.device, &other.kind.driver) == (&kind.device, &kind.driver);
    let circumstances = if all.iter().filter(is_alike).count() > 1 { kind.circumstances.as_str() } else { "" };
    let of_kind = [&*kind.device, &kind.driver, circumstances].into_iter().filter(|of| !of.is_empty());
    let kind = of_kind.collect::<Vec<&str>>().join(", ");
    let what = format!("{kind}: {}", counted(machines.len() as u64, "machine"));
    if *cases == 0 && machines.iter().all(|machine| machine.failed.is_empty()) {
        return format!(
            "{what}. No case was measured on {FEWEST_MACHINES} of them or more, so nothing tells which deviates: measure the same cases on \
             each."
        );
    }
    let named = machines.iter().filter(|machine| machine.verdict == Verdict::Deviates).count();
    let most = of.spread.map(|spread| format!(" As a whole, most lie within ±{}.", percent(MOST * spread)));
    let found = match named {
        0 => "None deviates from the others.".to_owned(),
        1 => "1 deviates from the others.".to_owned(),
        _ => format!("{named} deviate from the others."),
    };
    format!("{what}, {}. {found}{}", counted(*cases as u64, "case"), most.unwrap_or_default())
}

fn table(of: &Judged, is_whole: bool) -> Option<TextTable> {
    let is_shown = |machine: &&Machine| is_whole || machine.verdict == Verdict::Deviates;
    let mut shown: Vec<&Machine> = of.machines.iter().filter(is_shown).collect();
    shown.sort_by(|one, other| p_value(one).total_cmp(&p_value(other)));
    if shown.is_empty() {
        return None;
    }
    let columns = [
        Column::words("machine", Need::Key),
        Column::words("in", Need::Key),
        Column::numbers("speed", Need::Key),
        Column::numbers("most within", Need::Central),
        Column::numbers("core clock", Need::Central),
        Column::words("for example", Need::Useful),
    ];
    let mut table = TextTable::new(columns).whole_in("-o FILE.csv has them");
    shown.into_iter().for_each(|machine| table.row(row(machine)));
    Some(table.without_empty_columns())
}

/// The least probable first; what is wrong comes before all.
fn p_value(machine: &Machine) -> f64 {
    match &machine.worst {
        _ if !machine.failed.is_empty() => -1.0,
        Some(worst) => worst.p_value,
        None => 2.0,
    }
}

fn row(machine: &Machine) -> [String; 6] {
    let of = machine.worst.as_ref();
    // What failed says more than a speed that may be usual.
    let shown = of.filter(|_| machine.failed.is_empty());
    let deviation = |of: &Deviation| percent_off(of.log.exp(), of.spread);
    let place = |of: &Deviation| match &of.family {
        None => "everything".to_owned(),
        Some(family) if of.is_beside => format!("{family}, beside its others"),
        Some(family) => family.clone(),
    };
    let cases = machine.cases.iter().take(1).map(|(case, log)| format!("{case} {}", percent_off(log.exp(), 0.0)));
    let failed = machine.failed.iter().take(3).map(|(case, status)| format!("{case}: {status}"));
    let cases: Vec<String> = if machine.failed.is_empty() { cases.collect() } else { failed.collect() };
    [
        machine.name.clone(),
        match (machine.verdict, of) {
            _ if !machine.failed.is_empty() => format!("{} failed", counted(machine.failed.len() as u64, "case")),
            (Verdict::CantTell, _) => "can't tell".to_owned(),
            (_, Some(of)) => place(of),
            (_, None) => String::new(),
        },
        shown.map(deviation).unwrap_or_default(),
        shown.map(|of| format!("±{}", percent(MOST * of.spread))).unwrap_or_default(),
        machine.clock.map(|clock| percent_off(clock.exp(), 0.0)).unwrap_or_default(),
        cases.join("; "),
    ]
}

fn notes(of: &Judged) -> Vec<String> {
    let level = |Level { factor, level, machines, family, log }: &Level| {
        let place = family.as_ref().map(|family| format!(" in {family}")).unwrap_or_default();
        let by = percent_off(log.exp(), 0.0);
        format!("{factor} {level}: its {machines} machines have {by}{place} in common, which isn't held against each.")
    };
    let mut notes: Vec<String> = of.levels.iter().map(level).collect();
    let open: Vec<&str> =
        of.machines.iter().filter(|of| of.verdict == Verdict::CantTell).map(|machine| machine.name.as_str()).collect();
    if !open.is_empty() && of.cases > 0 {
        notes.push(format!("Not judged, since they measured too few of the cases: {}.", open.join(", ")));
    }
    notes.extend(
        of.short
            .iter()
            .map(|(family, count)| format!("{family}: only {count} of {} machines measured most of it.", of.machines.len())),
    );
    if of.with_several_devices > 0 {
        let several = counted(of.with_several_devices as u64, "machine");
        notes.push(format!("{several} with several of these devices, which count as one here: --by device_uuid judges each."));
    }
    if of.contradicting > 0 {
        let twice = counted(of.contradicting as u64, "figure");
        notes.push(format!("{twice} came twice in one run, and not the same: the first one counts."));
    }
    if of.machines.iter().any(|machine| machine.verdict == Verdict::Deviates && machine.failed.is_empty()) {
        notes.push("About one in twenty of the machines that are named is like the others; where there are fewer than 20, up to one in ten.".to_owned());
    }
    notes
}
