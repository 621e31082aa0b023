//! What limits a kernel, as people read it.

use super::explained::Explained;
use crate::cli::trace::text::large;
use crate::explain::bounds::{Bound, Resource};
use crate::explain::findings::{Finding, FindingKind, Proof};
use crate::explain::measured::Taken;
use crate::explain::trials::{BINDS, COPIES, Gain, LETS_GO, Outcome, Trial, Tried, Verdict, is_small};
use crate::output::{Column, Need, Page, TextTable, paragraph};
use crate::shader::{Relief, SourceLine};
use crate::units::{Bytes, figure, figure_and_noise, percent, percent_off, time};

/// How long the bar of all of the time is.
const BAR: f64 = 20.0;

const HALF: f64 = 0.5;

/// A kernel that attains less may be limited by what is an estimate.
const NEAR: f64 = 0.8;

/// A bound above the measured time by more than this contradicts it.
const CONTRADICTS: f64 = 1.02;

pub fn text(explained: &Explained, page: Page) -> String {
    let mut parts = vec![paragraph(&explained.heading, page), paragraph(&taken(explained), page)];
    parts.extend(verdict(explained).map(|words| paragraph(&words, page)));
    let table = table(explained).fitted(page);
    let reliefs = reliefs(explained).map(|table| table.fitted(page));
    let notes = unmoved(explained).into_iter().chain(findings(explained)).chain(notes(explained));
    let notes = notes.map(|words| paragraph(&words, page));
    parts.into_iter().chain([table]).chain(reliefs).chain(notes).collect::<Vec<_>>().join("\n")
}

pub fn markdown(explained: &Explained) -> String {
    let before = [explained.heading.clone(), taken(explained)].into_iter().chain(verdict(explained));
    let reliefs = reliefs(explained).map(|table| table.markdown());
    let all = before.chain([table(explained).markdown()]).chain(reliefs).chain(unmoved(explained));
    let all = all.chain(findings(explained)).chain(notes(explained));
    all.map(|part| part.trim_end().to_owned() + "\n").collect::<Vec<_>>().join("\n")
}

fn taken(explained: &Explained) -> String {
    let Taken { ns, ends, rounds, processes, flags, .. } = &explained.taken;
    let doubts = if flags.is_empty() { String::new() } else { format!(" Doubts: {}.", flags.join(", ")) };
    let processes = if *processes == 1 { "1 process".to_owned() } else { format!("{processes} processes") };
    format!("It takes {}, in {rounds} rounds by {processes}.{doubts}", figure_and_noise(*ns, *ends, "ns"))
}

pub fn verdict(explained: &Explained) -> Option<String> {
    if explained.device.is_cpu() {
        let words = "On a processor, what a kernel accesses and computes is shown, and no bound: its driver makes other code of it, and \
                     other programs share its caches.";
        return Some(words.to_owned());
    }
    let (binding, attained) = explained.bounds.binding.zip(explained.attained())?;
    let bound = explained.bounds.all.iter().find(|bound| bound.resource == binding)?;
    if attained > CONTRADICTS {
        return Some(format!(
            "By {}, it can't take less than {}, and yet it does: {} reaches less than the device can, the driver does with less work, or \
             other workgroups do less than those that were recorded.",
            name(bound),
            time(explained.bounds.least_ns, None),
            bound.limit.as_ref().map_or_else(|| "a row".to_owned(), |limit| format!("the row `{}`", limit.row))
        ));
    }
    let least = time(explained.bounds.least_ns, None);
    let mut words = format!(
        "It attains {} of the bound of {}: what it must do takes {least} at least.",
        told(attained, explained),
        name(bound)
    );
    let estimates = explained.bounds.all.iter().filter(|bound| bound.resource.is_estimate());
    let longest = estimates.filter_map(|bound| Some((bound, bound.least_ns? / explained.taken.ns)));
    let longest = longest.max_by(|one, other| one.1.total_cmp(&other.1));
    if let Some((bound, share)) = longest.filter(|(_, share)| attained < NEAR && *share > attained) {
        words += &format!(" By an estimate, the line `{}` takes {} of the time.", name(bound), told(share, explained));
    }
    Some(words)
}

/// A share of the time, with tenths of a percent only where the time is known as well.
fn told(share: f64, explained: &Explained) -> String {
    let noise = explained.taken.ends.map_or(f64::INFINITY, |(low, high)| (high - low) / 2.0 / explained.taken.ns);
    if noise < 0.005 || share < 0.01 { percent(share) } else { format!("{:.0} %", 100.0 * share) }
}

/// A resource as the table has it: with a mark where it is an estimate.
pub fn named(bound: &Bound) -> String {
    name(bound) + if bound.resource.is_estimate() { " ~" } else { "" }
}

fn name(bound: &Bound) -> String {
    bound.resource.name()
}

fn table(explained: &Explained) -> TextTable {
    let columns = [
        Column::words("what it does", Need::Key),
        Column::numbers("how much", Need::Central),
        Column::numbers("at most", Need::Central),
        Column::numbers("least time", Need::Key),
        Column::numbers("share", Need::Key),
        Column::words("", Need::Spare),
    ];
    let mut table = TextTable::new(columns).whole_in("--format json has them");
    let shows_bounds = !explained.device.is_cpu();
    for bound in &explained.bounds.all {
        let least = bound.least_ns.filter(|_| shows_bounds);
        let share = least.map(|least| least / explained.taken.ns);
        let at_most = bound.limit.as_ref().filter(|_| shows_bounds && bound.resource != Resource::Launch);
        table.row([
            named(bound),
            amount(bound),
            at_most.map(|limit| figure(limit.value, None, &limit.unit)).unwrap_or_default(),
            least.map(|least| time(least, None)).unwrap_or_default(),
            share.map(|share| told(share, explained)).unwrap_or_default(),
            share.map(bar).unwrap_or_default(),
        ]);
    }
    table.without_empty_columns()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an amount")]
fn amount(bound: &Bound) -> String {
    let amount = bound.amount as u64;
    if bound.resource.unit() == "B" { Bytes(amount).to_string() } else { large(amount) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few characters")]
fn bar(share: f64) -> String {
    "█".repeat((share.min(1.0) * BAR).round() as usize)
}

/// What taking away did; nothing where there was nothing to take.
fn reliefs(explained: &Explained) -> Option<TextTable> {
    let whole = || explained.tried.iter().filter_map(|tried| Some((tried, what(&tried.trial, explained.kernel)?)));
    if whole().next().is_none() || explained.device.is_cpu() {
        return None;
    }
    let columns = [
        Column::words("what was taken away", Need::Key),
        Column::numbers("time saved", Need::Key),
        Column::words("verdict", Need::Key),
    ];
    let mut table = TextTable::new(columns).whole_in("--format json has them");
    for (tried, what) in whole() {
        let (gain, so) = match (&tried.outcome, tried.verdict()) {
            (Outcome::NotTried(why), _) => (String::new(), format!("not tried: {why}")),
            (Outcome::Gained(Gain { share, ends: None, .. }), _) => {
                (percent_off(1.0 + share, 1.0), "can't tell: too few rounds".to_owned())
            }
            (Outcome::Gained(Gain { share, ends: Some((low, high)), is_least }), verdict) => {
                let so = match verdict {
                    _ if matches!(tried.trial, Trial::Crowded(_)) => crowded(*low, *high),
                    Some(Verdict::Binds) if *is_least => "it binds, and that much at least".to_owned(),
                    Some(Verdict::Binds) => "it binds".to_owned(),
                    Some(Verdict::LetsGo) => "it doesn't bind".to_owned(),
                    _ if *is_least && *high < BINDS => "can't tell: what stays may bind".to_owned(),
                    _ if is_small(*low, *high) => "a little".to_owned(),
                    _ => format!("can't tell: from {:.1} to {:.1} %", 100.0 * low, 100.0 * high),
                };
                (percent_off(1.0 + share, (high - low) / 2.0), so)
            }
        };
        table.row([what, gain, so]);
    }
    Some(table)
}

/// What fewer workgroups at once do, in words.
fn crowded(low: f64, high: f64) -> String {
    match (low, high) {
        _ if high <= -BINDS => "it takes many at once".to_owned(),
        _ if low >= LETS_GO => "it is faster with fewer at once".to_owned(),
        _ if low > -LETS_GO && high < LETS_GO => "no difference".to_owned(),
        _ if is_small(-high, -low) => "a little slower".to_owned(),
        _ => format!("can't tell: from {:.1} to {:.1} %", 100.0 * low, 100.0 * high),
    }
}

/// What was taken away of the whole kernel.
pub fn what(trial: &Trial, kernel: &str) -> Option<String> {
    let of_all = match trial {
        Trial::Relief(of) => match of.relief {
            Relief::Loads => "loads from memory (they stay in 4 KiB of each buffer)",
            Relief::Stores => "stores to buffers",
            Relief::LoadsAndStores => "both of these",
            Relief::Conflicts => "bank conflicts (lanes access elements side by side)",
            Relief::Atomics => "atomic operations",
            Relief::Barriers => "waiting at barriers",
            Relief::Loops => "half of the loops that only compute",
        },
        Trial::Copies => "the dispatch's beginning and end (as one of 4 side by side)",
        Trial::Crowded(bytes) => {
            let more = Bytes((*bytes).into());
            return Some(format!("room for workgroups at once ({more} more of shared memory each)"));
        }
        Trial::Line(_) | Trial::Padding(_) | Trial::Narrow | Trial::LocalSize(_) => return None,
    };
    let kept = trial.kept();
    Some(match (places(&kept.lines, kernel), kept.numbers.is_empty()) {
        (_, true) => of_all.to_owned(),
        (None, _) => format!("{of_all}, but for some that it goes by"),
        (Some(lines), _) => format!("{of_all}, but for {lines}, which it goes by"),
    })
}

/// What costs time for nothing: by what it costs, where that was measured.
pub fn findings(explained: &Explained) -> Vec<String> {
    let sentence = |finding: &Finding| seen(finding, explained.kernel);
    let (mut all, mut unsure, mut free) = (Vec::new(), Vec::new(), Vec::new());
    for finding in &explained.findings {
        let (seen, remedy) = (sentence(finding), &finding.remedy);
        match finding.gain() {
            _ if finding.verdict() == Some(Verdict::LetsGo) => free.push(seen),
            Some(Gain { share, ends: Some((low, high)), is_least }) if low > 0.0 => {
                let least = if is_least { "at least " } else { "" };
                let gained = percent_off(1.0 + share, (high - low) / 2.0).trim_start_matches('+').to_owned();
                let number = all.len() + 1;
                let so = match (&finding.proof, finding.kind) {
                    (Proof::Remedy(_), _) => format!("With this remedy it takes {gained} less time, and computes the same"),
                    (_, FindingKind::FewWorkgroups) => format!("As one of {COPIES} it takes {gained} less time"),
                    (_, kind) if kind.is_of_accesses() => {
                        format!("Without these accesses it takes {least}{gained} less time, of which mending them gains a part")
                    }
                    _ => format!("Without that it takes {least}{gained} less time"),
                };
                all.push(format!("{number}. {seen}. {so}: {remedy}."));
            }
            Some(_) => unsure.push(seen),
            None => {}
        }
    }
    let untried = explained.findings.iter().filter(|finding| finding.gain().is_none());
    all.extend(untried.map(|finding| format!("Not tried: {}. If that costs time: {}.", sentence(finding), finding.remedy)));
    if !unsure.is_empty() {
        all.push(format!("Seen, and the rounds can't tell whether it costs time: {}.", unsure.join("; ")));
    }
    if !free.is_empty() {
        all.push(format!("Seen, and it costs next to nothing: {}.", free.join("; ")));
    }
    if all.is_empty() && !explained.device.is_cpu() {
        all.push("Nothing was found in it that costs time for nothing.".to_owned());
    }
    all
}

fn seen(finding: &Finding, kernel: &str) -> String {
    places(&finding.lines, kernel).map(|lines| lines + ": ").unwrap_or_default() + &finding.evidence
}

/// Lines of a kernel's, in words.
fn places(lines: &[SourceLine], kernel: &str) -> Option<String> {
    let lines: Vec<String> = lines.iter().map(|line| line.place(kernel)).collect();
    match &lines[..] {
        [] => None,
        [line] => Some(format!("line {line}")),
        lines => Some(format!("lines {}", lines.join(", "))),
    }
}

/// What follows where nothing that was taken away makes it faster.
fn unmoved(explained: &Explained) -> Option<String> {
    let is_crowded = |tried: &&Tried| matches!(tried.trial, Trial::Crowded(_));
    let whole = explained.tried.iter().filter(|tried| tried.taken_away().is_some() && !is_crowded(tried));
    let verdicts: Vec<Verdict> = whole.filter_map(Tried::verdict).collect();
    let is_found = explained.findings.iter().any(|finding| finding.gain().is_some_and(|gain| gain.share >= BINDS));
    let is_unmoved = !is_found && !verdicts.is_empty() && verdicts.iter().all(|verdict| *verdict == Verdict::LetsGo);
    let highest = explained.bounds.all.iter().filter_map(|bound| bound.least_ns).fold(0.0, f64::max) / explained.taken.ns;
    let needs_many = match explained.tried.iter().find(is_crowded).map(|tried| &tried.outcome) {
        Some(Outcome::Gained(Gain { ends: Some((_, high)), .. })) => *high <= -BINDS,
        _ => false,
    };
    (is_unmoved && highest < HALF && !explained.device.is_cpu()).then(|| {
        if needs_many {
            return "It seems to wait for latencies: nothing that was taken away makes it faster, and with fewer workgroups at once, which \
                    hide them, it is slower. Fewer registers or less shared memory may let more be there at once. On some devices, \
                    though, the first cache was smaller in that trial."
                .to_owned();
        }
        "Unexplained: nothing that was taken away makes it faster, and no bound or estimate is half of its time. Latencies, lanes that \
         idle while others branch, or instructions that have no line here may keep it."
            .to_owned()
    })
}

fn notes(explained: &Explained) -> Vec<String> {
    let mut notes = Vec::new();
    if explained.bounds.all.iter().any(|bound| bound.resource.is_estimate()) {
        notes.push("~ is an estimate: a cache or a driver may spare some of it.".to_owned());
    }
    if !explained.device.is_cpu() {
        let is_open = |bound: &&Bound| bound.least_ns.is_none();
        let open: Vec<&Bound> = explained.bounds.all.iter().filter(is_open).collect();
        if !open.is_empty() {
            let names: Vec<String> = open.iter().map(|bound| name(bound)).collect();
            let mut by: Vec<&str> = open.iter().map(|bound| bound.resource.measured_by()).collect();
            by.sort_unstable();
            by.dedup();
            notes.push(format!(
                "No row tells what the device does at most of: {}. `lanescope run --preset model -o machine.csv` measures that ({}): give \
                 the file with --rows.",
                names.join(", "),
                by.join(", ")
            ));
        }
        let doubted = explained.bounds.all.iter().filter_map(|bound| bound.limit.as_ref());
        let mut doubted: Vec<String> = doubted
            .filter(|limit| !limit.quality_flags.is_empty())
            .map(|limit| format!("`{}` ({})", limit.row, limit.quality_flags.replace(';', ", ")))
            .collect();
        doubted.sort();
        doubted.dedup();
        if !doubted.is_empty() {
            notes.push(format!("Rows with doubts tell some of the limits: {}.", doubted.join("; ")));
        }
    }
    notes.extend(explained.sample.clone());
    if !explained.gaps.is_empty() {
        notes.push(format!("Not among these: {}.", explained.gaps.join("; ")));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::limits::Limit;
    use crate::explain::bounds::PassBounds;
    use crate::model::{DeviceInfo, DeviceKind};

    fn bound(resource: Resource, amount: f64, least_ns: f64, row: &str) -> Bound {
        let (rate, value) = (amount / least_ns, amount / least_ns);
        let (row, quality_flags) = (row.to_owned(), String::new());
        let limit = Limit { rate, row, case_id: "c1".to_owned(), value, unit: "GB/s".to_owned(), quality_flags };
        Bound { resource, amount, least_ns: Some(least_ns), limit: Some(limit) }
    }

    fn explained(device: &DeviceInfo, ns: f64) -> Explained<'_> {
        let open = Bound { resource: Resource::Special { bits: 32 }, amount: 7e6, least_ns: None, limit: None };
        let all = vec![
            bound(Resource::Memory, 1_073_741_824.0, 250_000.0, "memory/stream op=read"),
            bound(Resource::Caches, 4e9, 900_000.0, "cache/bandwidth shared"),
            open,
        ];
        Explained {
            device,
            kernel: "a.comp",
            entry: "main",
            heading: "a.comp (main): 4 workgroups of 64, on a device".to_owned(),
            bounds: PassBounds::of(&[all]),
            taken: Taken { ns, ends: Some((ns * 0.999, ns * 1.001)), rounds: 18, processes: 3, ..Taken::default() },
            tried: Vec::new(),
            findings: Vec::new(),
            sample: None,
            gaps: vec!["images aren't followed"],
        }
    }

    #[test]
    fn the_share_is_of_what_must_happen() {
        let device = DeviceInfo { kind: DeviceKind::Discrete, ..DeviceInfo::mock() };
        let text = text(&explained(&device, 400_000.0), Page { width: 80, ..Page::FILE });
        assert!(text.contains("It takes 400.0 us ± 0.1 %, in 18 rounds by 3 processes."), "{text}");
        assert!(text.contains("It attains 62.5 % of the bound of memory: what it must do takes 250 us at least."), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("memory 1 GiB 4295 GB/s 250 us 62.5 %"), "{text}");
        assert!(words.contains("at most of: special functions of f32.") && words.contains("(peak/arith)"), "{text}");
        assert!(words.contains("Not among these: images aren't followed."), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_bound_above_the_time_is_a_contradiction() {
        let device = DeviceInfo { kind: DeviceKind::Discrete, ..DeviceInfo::mock() };
        let text = text(&explained(&device, 200_000.0), Page { width: 80, ..Page::FILE }).replace('\n', " ");
        assert!(text.contains("By memory, it can't take less than 250 us, and yet it does"), "{text}");
        assert!(text.contains("the row `memory/stream op=read` reaches less"), "{text}");
    }

    #[test]
    fn what_surely_costs_time_is_numbered_and_the_rest_stands_apart() {
        let device = DeviceInfo { kind: DeviceKind::Discrete, ..DeviceInfo::mock() };
        let finding = |evidence: &str, proof| Finding {
            kind: FindingKind::Barriers,
            lines: Vec::new(),
            evidence: evidence.to_owned(),
            remedy: "mend it".to_owned(),
            proof,
        };
        let gained = |share, ends| Outcome::Gained(Gain { share, ends, is_least: false });
        let at_least = Outcome::Gained(Gain { share: 0.25, ends: Some((0.2, 0.3)), is_least: true });
        let findings = vec![
            finding("one", Proof::Remedy(gained(0.5, Some((0.49, 0.51))))),
            finding("two", Proof::Relief(gained(0.3, Some((0.2, 0.4))))),
            finding("another", Proof::Relief(at_least)),
            finding("three", Proof::Relief(gained(0.05, Some((-0.1, 0.2))))),
            finding("four", Proof::Relief(gained(0.9, None))),
            finding("five", Proof::Relief(gained(0.01, Some((0.0, 0.02))))),
            finding("six", Proof::Nothing),
        ];
        let text = super::findings(&Explained { findings, ..explained(&device, 400_000.0) }).join("\n");
        assert!(text.starts_with("1. one. With this remedy it takes 50 % less time"), "{text}");
        assert!(text.contains("2. two. Without that it takes 30 % less time: mend it."), "{text}");
        assert!(text.contains("3. another. Without that it takes at least 25 % less time: mend it."), "{text}");
        assert!(text.contains("Not tried: six.") && text.contains("can't tell whether it costs time: three; four."), "{text}");
        assert!(text.contains("costs next to nothing: five."), "{text}");
    }

    #[test]
    fn what_takes_many_workgroups_at_once_seems_to_wait() {
        let device = DeviceInfo { kind: DeviceKind::Discrete, ..DeviceInfo::mock() };
        let tried = |trial, low: f64, high: f64| {
            let outcome = Outcome::Gained(Gain { share: low.midpoint(high), ends: Some((low, high)), is_least: false });
            Tried { trial, outcome }
        };
        let said = |low, high| {
            let tried = vec![tried(Trial::Relief(Relief::Loads.into()), 0.0, 0.01), tried(Trial::Crowded(49152), low, high)];
            text(&Explained { tried, ..explained(&device, 400_000.0 * 100.0) }, Page { width: 120, ..Page::FILE })
        };
        let [slower, same, faster] = [(-0.5, -0.4), (-0.01, 0.01), (0.2, 0.3)].map(|(low, high)| said(low, high));
        assert!(slower.contains("it takes many at once") && slower.contains("It seems to wait for latencies"), "{slower}");
        assert!(same.contains("no difference") && same.contains("Unexplained"), "{same}");
        assert!(faster.contains("faster with fewer at once") && !faster.contains("it binds"), "{faster}");
    }

    #[test]
    fn a_processor_has_no_bounds() {
        let device = DeviceInfo { kind: DeviceKind::Cpu, ..DeviceInfo::mock() };
        let explained = explained(&device, 400_000.0);
        let text = text(&explained, Page { width: 80, ..Page::FILE });
        assert!(text.contains("On a processor") && !text.contains("least time") && !text.contains("GB/s"), "{text}");
        assert_eq!(explained.attained(), None);
        assert!(explained.judged(Some(0.5)).is_err());
    }
}
