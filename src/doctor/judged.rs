//! What follows from what a device did when it was tried.

use std::time::Duration;

use super::checks::{CLOCK, FEATURES, FROM_DEVICE, Feature, Pick, RESIDENCY, STEADY, TO_DEVICE, amount};
use super::loaded::told as told_failure;
use super::measured::{Link, Seen, Times, Tried};
use super::{Fact, Finding, Harm};
use crate::experiments;
use crate::experiments::memory::residency::SIZE;
use crate::measure::{CONTENDED, Look, Timer};
use crate::model::{DeviceInfo, DeviceKind, Failure, Finished, OtherProcess, POWER_LIMIT, Status};
use crate::stats;
use crate::units::{self, Bytes, Nanos};

/// What differs between devices that are GPUs and those that are software on a processor others work on, too.
struct Limits {
    /// Where a clock counts as fallen, over what it was.
    falls: f64,
    /// By how much processes may differ.
    steady: f64,
}

const OF_GPUS: Limits = Limits { falls: 0.97, steady: 1.03 };
/// Virtual processors get more and less of the real ones from second to second.
const OF_PROCESSORS: Limits = Limits { falls: 0.65, steady: 1.4 };

/// Where a clock under load counts as low, over the highest that it can have.
const LOW: f64 = 0.8;
/// Where a clock counts as risen, over what it becomes.
const RISEN: f64 = 0.97;
/// The share of the device's time from which on others are worth a word.
const BUSY: f64 = 0.05;
/// Where fixed work counts as disturbed, its speed over what the clock says; and in what share of the looks.
const DISTURBED: f64 = 0.9;
const OFTEN: f64 = 0.25;
/// By how much a feature must be slower than what does without it.
const SLOWER: f64 = 1.1;
/// Where a copy counts as slow, over what the link carries.
const SLOW_COPY: f64 = 0.4;
/// Rounds that a process must have for its median to be one.
const FEWEST_ROUNDS: usize = 3;

fn limits(device: &DeviceInfo) -> &'static Limits {
    if device.kind == DeviceKind::Cpu { &OF_PROCESSORS } else { &OF_GPUS }
}

/// What was seen, line by line.
pub fn facts(device: &DeviceInfo, seen: &Seen) -> Vec<Fact> {
    let lines = [
        ("timer", timer_fact(seen)),
        ("clock", clock_fact(seen)),
        ("neighbours", neighbours_fact(device, seen)),
        ("memory", memory_fact(device, seen)),
        ("transfer", transfer_fact(seen)),
        ("features", features_fact(seen)),
        ("results", results_fact(seen)),
        ("steadiness", steadiness_fact(seen)),
    ];
    lines.into_iter().filter_map(|(about, line)| Some(Fact::new(about, line?))).collect()
}

/// What is wrong with it.
pub fn findings(device: &DeviceInfo, seen: &Seen) -> Vec<Finding> {
    let one = [
        of_failure(device, seen),
        of_results(seen),
        of_other_failures(seen),
        of_timer(seen),
        of_clock(device, seen),
        of_neighbours(device, seen),
        of_memory(seen),
        of_steadiness(device, seen),
    ];
    let features = FEATURES.iter().filter_map(|feature| of_feature(device, feature, seen));
    one.into_iter().flatten().chain(features).chain(of_link(device, seen)).collect()
}

fn of_failure(device: &DeviceInfo, seen: &Seen) -> Option<Finding> {
    let failure = seen.failure.as_ref()?;
    if failure.status == Status::WrongResult {
        return Some(Finding {
            name: "wrong-results",
            harm: Harm::WrongResults,
            what: "The case that is the load gives wrong results.".to_owned(),
            evidence: format!("{}.", told_failure(failure).trim_end_matches('.')),
            advice: "update the driver, or take another one; believe no figure of it".to_owned(),
            ..Finding::default()
        });
    }
    Some(Finding {
        name: "device-fails",
        harm: Harm::NoDevice,
        what: format!("{} can't be measured on.", device.name),
        evidence: format!("{}.", told_failure(failure).trim_end_matches('.')),
        advice: "update its driver; if it stays so, report it to those who make it".to_owned(),
        ..Finding::default()
    })
}

// ---- results ----

/// Cases that ended in some way or another.
fn failed<'s>(seen: &'s Seen, is_meant: impl Fn(Status) -> bool) -> Vec<(&'s Tried, &'s Failure)> {
    let of = |tried: &'s Tried| {
        let failure = tried.result.as_ref()?.as_ref().err().filter(|failure| is_meant(failure.status))?;
        Some((tried, failure))
    };
    seen.all().filter_map(of).collect()
}

fn named(failed: &[(&Tried, &Failure)]) -> String {
    const MOST: usize = 3;
    let name = |(tried, failure): &(&Tried, &Failure)| format!("{}: {}", tried.name(), told_failure(failure));
    let names: Vec<String> = failed.iter().take(MOST).map(name).collect();
    let more = failed.len().saturating_sub(MOST);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}.", names.join("; ").trim_end_matches('.'))
}

fn of_results(seen: &Seen) -> Option<Finding> {
    let wrong = failed(seen, |status| status == Status::WrongResult);
    (!wrong.is_empty()).then(|| Finding {
        name: "wrong-results",
        harm: Harm::WrongResults,
        what: format!("{} of {} small cases give wrong results.", wrong.len(), seen.all().count()),
        evidence: named(&wrong),
        advice: "update the driver, or take another one; believe no figure of such cases".to_owned(),
        ..Finding::default()
    })
}

fn of_other_failures(seen: &Seen) -> Option<Finding> {
    let mut others = failed(seen, |status| status.is_failure() && status != Status::WrongResult);
    // Some drivers refuse what others let spill.
    others.retain(|(tried, failure)| !(tried.experiment == RESIDENCY && failure.status == Status::OutOfMemory));
    (!others.is_empty()).then(|| Finding {
        name: "cases-fail",
        harm: Harm::WrongFigures,
        what: format!("{} of {} small cases can't be run.", others.len(), seen.all().count()),
        evidence: named(&others),
        advice: "update the driver; if it stays so, report it to those who make it".to_owned(),
        ..Finding::default()
    })
}

fn results_fact(seen: &Seen) -> Option<String> {
    let right = seen.all().filter(|tried| matches!(tried.result, Some(Ok(_)))).count();
    (!seen.tried.is_empty()).then(|| format!("{right} of {} small cases right", seen.all().count()))
}

// ---- timer and clock ----

fn timer_fact(seen: &Seen) -> Option<String> {
    let instrument = seen.instrument.as_ref()?;
    let from = match instrument.timer {
        Timer::Device(scale) => format!("the device's, {} a tick", Nanos(scale.period)),
        Timer::Host => "the host's".to_owned(),
    };
    let rate = seen.measured(&CLOCK).map(|(_, times)| format!(", runs at {:.4} of the host's clock", times.value));
    Some(format!("{from}{}; the shortest time that it shows is {}", rate.unwrap_or_default(), instrument.floor))
}

fn of_timer(seen: &Seen) -> Option<Finding> {
    let note = seen.instrument.as_ref()?.note.clone()?;
    Some(Finding {
        name: "timer-wrong",
        harm: Harm::WrongFigures,
        what: "The device's timestamps can't be used.".to_owned(),
        evidence: format!("{note}."),
        advice: "measure larger problems: the host's clock sees what a submission costs besides".to_owned(),
        ..Finding::default()
    })
}

/// A device's speed under a load that lasts.
struct Course {
    /// Over what it is once it has risen: in the first look, and in the last third of all.
    first: f64,
    last: f64,
    /// When it had risen.
    rise: f64,
    /// Megahertz in the first look, at most and at the end, where they are told.
    mhz: Option<[f64; 3]>,
}

fn course(seen: &Seen) -> Option<Course> {
    let watch = seen.watch.as_ref()?;
    let looks = &watch.looks;
    let last = &looks[looks.len() - looks.len().div_ceil(3)..];
    let clocks = |looks: &[Look]| looks.iter().map(|look| look.conditions.clock).collect::<Vec<_>>();
    let full = best_second(looks)?;
    let rise = looks.iter().find(|look| look.conditions.clock >= RISEN * full)?;
    let told: Vec<f64> = watch.megahertz();
    let mhz = (told.len() == looks.len() && !told.is_empty()).then(|| {
        let most = told.iter().copied().fold(0.0, f64::max);
        [told[0], most, stats::median(&told[told.len() - last.len()..])]
    });
    Some(Course {
        first: looks.first()?.conditions.clock / full,
        last: stats::median(&clocks(last)) / full,
        rise: rise.at.as_secs_f64(),
        mhz,
    })
}

/// The best median of the looks within a second: a boost may last that long.
fn best_second(looks: &[Look]) -> Option<f64> {
    const FEWEST: usize = 3;
    let median = |first: usize| {
        let end = looks[first].at + Duration::from_secs(1);
        let within: Vec<f64> =
            looks[first..].iter().take_while(|look| look.at < end).map(|look| look.conditions.clock).collect();
        (within.len() >= FEWEST.min(looks.len())).then(|| stats::median(&within))
    };
    (0..looks.len()).filter_map(median).max_by(f64::total_cmp)
}

fn clock_fact(seen: &Seen) -> Option<String> {
    let Course { first, last, rise, mhz } = course(seen)?;
    let state = &seen.watch.as_ref()?.state;
    let held = format!("{} of full speed after ten seconds of load", units::percent(last));
    let from_idle = match first {
        first if first >= RISEN => "full again at once after a second's rest".to_owned(),
        first => format!("{} right after a second's rest, full after {}", units::percent(first), Nanos(rise * 1e9)),
    };
    let most = state.max_mhz.map(|most| format!(" of {most:.0}")).unwrap_or_default();
    let mhz = mhz
        .map(|[first, highest, last]| format!("; {last:.0} MHz{most} then, {first:.0} after the rest, {highest:.0} at most"));
    let slowed =
        if state.slowdowns.is_empty() { String::new() } else { format!("; held back by: {}", state.slowdowns.join(", ")) };
    Some(format!("{held}; {from_idle}{}{slowed}", mhz.unwrap_or_default()))
}

fn of_clock(device: &DeviceInfo, seen: &Seen) -> Option<Finding> {
    let Course { last, mhz, .. } = course(seen)?;
    let state = &seen.watch.as_ref()?.state;
    let slowed =
        if state.slowdowns.is_empty() { String::new() } else { format!(" Its driver says: {}.", state.slowdowns.join(", ")) };
    let told = mhz.map(|[_, most, last]| format!(" It ran at {most:.0} MHz at most, and at {last:.0} MHz at the end."));
    let told = told.unwrap_or_default();
    // What others take of a processor is no clock's fault.
    if last < limits(device).falls && of_neighbours(device, seen).is_none_or(|_| device.kind != DeviceKind::Cpu) {
        return Some(Finding {
            name: "clock-falls",
            harm: Harm::WrongFigures,
            what: format!("The device falls to {} of its speed under a load of ten seconds.", units::percent(last)),
            evidence: format!("Fixed work was timed all the while.{told}{slowed}"),
            advice: "see to its cooling and its power limit, or lock a clock that it can hold; end other programs".to_owned(),
            ..Finding::default()
        });
    }
    // Many cards can't have their highest clock at the power that they may draw, and hold a lower one.
    let is_at_limit = state.slowdowns.iter().any(|words| words == POWER_LIMIT);
    let low = state.max_mhz.zip(mhz).filter(|(most, [_, _, last])| *last < LOW * most && !is_at_limit);
    let is_hot = state.slowdowns.iter().any(|words| words != POWER_LIMIT);
    (low.is_some() || is_hot).then(|| Finding {
        name: "clock-low",
        harm: Harm::WrongFigures,
        what: match low {
            Some((most, [_, _, last])) => {
                format!("The clock stays at {last:.0} MHz under load, of {most:.0} MHz that it can have.")
            }
            None => "The device is held back.".to_owned(),
        },
        evidence: format!("Its clock was watched under ten seconds of load.{told}{slowed}"),
        advice: "look for a locked clock, a power limit and heat (nvidia-smi -q -d CLOCK,PERFORMANCE)".to_owned(),
        ..Finding::default()
    })
}

// ---- neighbours ----

/// The share of processor time that others had, in the median look.
fn lost(seen: &Seen) -> Option<f64> {
    let shares: Vec<f64> = seen.watch.as_ref()?.looks.iter().filter_map(|look| look.conditions.lost).collect();
    (!shares.is_empty()).then(|| stats::median(&shares))
}

fn told(others: &[OtherProcess]) -> String {
    let name = |other: &OtherProcess| {
        let name = if other.name.is_empty() { "a process" } else { &other.name };
        format!("{name} ({})", units::percent(other.share))
    };
    others.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn neighbours_fact(device: &DeviceInfo, seen: &Seen) -> Option<String> {
    let watch = seen.watch.as_ref()?;
    if device.kind == DeviceKind::Cpu {
        let share = lost(seen).map(|share| format!("others took {} of the processor time", units::percent(share)));
        return Some(share.unwrap_or_else(|| "can't see what others take of the processors".to_owned()));
    }
    Some(match &watch.state.others {
        None => "can't see other processes".to_owned(),
        Some(others) if others.is_empty() => "none at work".to_owned(),
        Some(others) => told(others),
    })
}

fn of_neighbours(device: &DeviceInfo, seen: &Seen) -> Option<Finding> {
    let watch = seen.watch.as_ref()?;
    let found = |what: String, evidence: String| Finding {
        name: "busy-neighbour",
        harm: Harm::WrongFigures,
        what,
        evidence,
        advice: "end other programs while you measure, or take a device of your own".to_owned(),
        ..Finding::default()
    };
    if device.kind == DeviceKind::Cpu || watch.state.others.is_none() {
        if let Some(share) = lost(seen).filter(|share| *share > CONTENDED) {
            let what = format!("Other processes take {} of the processor time.", units::percent(share));
            return Some(found(what, "The driver's threads had to wait while others ran.".to_owned()));
        }
    }
    let busy: Vec<OtherProcess> = watch.state.others.iter().flatten().filter(|other| other.share > BUSY).cloned().collect();
    if !busy.is_empty() {
        return Some(found("Other processes work on the device.".to_owned(), format!("Seen: {}.", told(&busy))));
    }
    disturbed(device, seen).map(|slowest| {
        let what = "Something else works on the device, though no other process can be seen.".to_owned();
        found(what, format!("Fixed work took up to {} times as long while the clock stayed.", units::rounded(slowest, None)))
    })
}

/// How many times as long fixed work took at most as the clock explains, where that was so often.
fn disturbed(device: &DeviceInfo, seen: &Seen) -> Option<f64> {
    let watch = seen.watch.as_ref().filter(|_| device.kind != DeviceKind::Cpu)?;
    let clocks = watch.core_clocks();
    let speeds: Vec<f64> = watch
        .looks
        .iter()
        .zip(&clocks)
        .filter_map(|(look, core)| Some(look.conditions.clock / core.as_ref()?.mean()))
        .collect();
    let usual = stats::quantile(&speeds, 0.9);
    let slow: Vec<f64> = speeds.iter().map(|speed| speed / usual).filter(|speed| *speed < DISTURBED).collect();
    #[expect(clippy::cast_precision_loss, reason = "a few dozen")]
    let is_often = slow.len() as f64 > OFTEN * speeds.len() as f64;
    is_often.then(|| 1.0 / slow.iter().copied().fold(1.0, f64::min))
}

// ---- memory and transfers ----

fn memory_fact(device: &DeviceInfo, seen: &Seen) -> Option<String> {
    if device.kind != DeviceKind::Discrete {
        return None;
    }
    let own = device.heaps.iter().filter(|heap| heap.device_local).map(|heap| heap.bytes).max()?;
    let window = device.memory_types.iter().filter(|ty| ty.device_local && ty.host_visible);
    let visible = window.map(|ty| device.heap_bytes(ty.heap)).max().unwrap_or(0);
    let window = match visible {
        0 => "the host sees none of it".to_owned(),
        visible if visible >= own => "the host sees all of it (resizable BAR)".to_owned(),
        visible => format!("the host sees {} of it", Bytes(visible)),
    };
    let sizes = sizes_read(seen);
    let read = sizes
        .last()
        .map(|size| format!("; {} read at {}", Bytes(size.point.integer(SIZE)), units::rate(size.value, None, "GB/s")));
    let free = device.local_heap().and_then(|heap| heap.budget).map(|budget| format!(", {} free", Bytes(budget.free)));
    Some(format!("{}{}; {window}{}", Bytes(own), free.unwrap_or_default(), read.unwrap_or_default()))
}

/// The sizes of memory that were read, as the experiment takes its rows.
#[expect(clippy::cast_precision_loss, reason = "a bandwidth")]
fn sizes_read(seen: &Seen) -> Vec<Finished> {
    let row = |tried: &Tried| {
        let Times { value, low, high, .. } = tried.result.as_ref()?.as_ref().ok()?;
        let (point, bytes) = (tried.point.clone(), tried.case.work.bytes? as f64);
        Some(Finished { point, time: *value, interval: Some((*low, *high)), value: bytes / value, ..Finished::default() })
    };
    seen.residency.iter().filter_map(row).collect()
}

fn of_memory(seen: &Seen) -> Option<Finding> {
    let derived = experiments::find(RESIDENCY)?.derive(&sizes_read(seen));
    let figure = |metric: &str| {
        let row = derived.iter().find(|row| row.metric == metric)?;
        Some((row.figure.as_ref().ok()?.value, &row.note))
    };
    let ((size, note), (slowdown, _)) = (figure("size")?, figure("slowdown")?);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes of memory")]
    let size = Bytes(size as u64);
    Some(Finding {
        name: "memory-spills",
        harm: Harm::WrongFigures,
        what: format!("With {size} in use, reading memory takes {slowdown:.1} times as long."),
        evidence: format!("Read: {note}."),
        advice: "end other programs that hold the device's memory, and keep problems smaller; on Windows, see the driver's \
                 setting for system memory fallback"
            .to_owned(),
        ..Finding::default()
    })
}

/// Bytes a second of a copy.
#[expect(clippy::cast_precision_loss, reason = "a figure with an interval")]
fn rate(seen: &Seen, pick: &Pick) -> Option<f64> {
    let (tried, times) = seen.measured(pick)?;
    Some(tried.case.work.bytes? as f64 / times.value * 1e9)
}

fn carried(link: &Link) -> f64 {
    Link::rate(link.speed, link.width)
}

fn transfer_fact(seen: &Seen) -> Option<String> {
    let [to, from] = [TO_DEVICE, FROM_DEVICE].map(|pick| rate(seen, &pick).map(|rate| units::rate(rate / 1e9, None, "GB/s")));
    let link = seen.link.map(|link| {
        format!("; link {} GT/s x{}, which carries {}", link.speed, link.width, units::rate(carried(&link) / 1e9, None, "GB/s"))
    });
    Some(format!("{} to the device, {} back{}", to?, from?, link.unwrap_or_default()))
}

fn of_link(device: &DeviceInfo, seen: &Seen) -> Vec<Finding> {
    // An idle link is slow to save power.
    let link = seen.link.filter(|_| device.kind == DeviceKind::Discrete && seen.watch.is_some());
    let Some(link) = link else { return Vec::new() };
    let mut findings = Vec::new();
    if link.speed < link.most_speed || link.width < link.most_width {
        let Link { speed, width, most_speed, most_width } = link;
        findings.push(Finding {
            name: "link-narrow",
            harm: Harm::WrongFigures,
            what: "The link to the host is slower than both of its ends allow.".to_owned(),
            evidence: format!("Under load it has {speed} GT/s and {width} lanes, of {most_speed} GT/s and {most_width} lanes."),
            advice: "seat the card anew and clean its contacts, and allow the link its full speed in the firmware".to_owned(),
            ..Finding::default()
        });
    }
    let slow = [TO_DEVICE, FROM_DEVICE].iter().filter_map(|pick| rate(seen, pick)).fold(f64::INFINITY, f64::min);
    // Others take their share of the link, too.
    if slow < SLOW_COPY * carried(&link) && of_neighbours(device, seen).is_none() {
        findings.push(Finding {
            name: "transfer-slow",
            harm: Harm::WrongFigures,
            what: "Copies between host and device are far slower than the link.".to_owned(),
            evidence: transfer_fact(seen).map(|words| format!("{words}.")).unwrap_or_default(),
            advice: "run on the processors nearest to the device (numactl), and look for a link that others share".to_owned(),
            ..Finding::default()
        });
    }
    findings
}

// ---- features ----

/// What doing without a feature takes over what it takes, for the same amount of work: the value, and its ends.
fn gain(feature: &Feature, seen: &Seen) -> Option<(f64, [f64; 2])> {
    let per_unit = |(tried, times): (&Tried, &Times)| {
        let amount = amount(&tried.case)?;
        Some([times.value, times.low, times.high].map(|time| time / amount))
    };
    let [claimed, plain] = [per_unit(seen.measured(&feature.claimed)?)?, per_unit(seen.measured(&feature.plain)?)?];
    Some((plain[0] / claimed[0], [plain[1] / claimed[2], plain[2] / claimed[1]]))
}

fn features_fact(seen: &Seen) -> Option<String> {
    let told = |feature: &Feature| {
        let (gain, [low, high]) = gain(feature, seen)?;
        let times = units::rounded(gain, Some((high - low) / 2.0));
        Some(format!("{}: {times} times as fast as {}", feature.name, feature.plain_name))
    };
    let all: Vec<String> = FEATURES.iter().filter_map(told).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Software imitates all features, and that is no fault of the machine's.
fn of_feature(device: &DeviceInfo, feature: &Feature, seen: &Seen) -> Option<Finding> {
    let (gain, [_, high]) = gain(feature, seen)?;
    (device.kind != DeviceKind::Cpu && high * SLOWER < 1.0).then(|| Finding {
        name: "feature-slow",
        harm: Harm::WrongFigures,
        what: format!("The device offers {}, and is slower with them than without.", feature.name),
        evidence: format!("They have {} of the speed of {}.", units::percent(gain), feature.plain_name),
        advice: "leave them out of kernels for this device and driver; an update may bring them".to_owned(),
        ..Finding::default()
    })
}

// ---- steadiness ----

/// How many times as long a case takes in one process as in another; nothing where all rounds of one are not on the same side of all of
/// the other: then they may be alike.
fn apart(Times { rounds, .. }: &Times) -> Option<(f64, bool)> {
    let medians = rounds.medians();
    let mut by_process: std::collections::BTreeMap<u32, Vec<f64>> = std::collections::BTreeMap::new();
    for (process, median) in rounds.processes.iter().zip(medians) {
        by_process.entry(*process).or_default().push(median);
    }
    let mut all: Vec<Vec<f64>> = by_process.into_values().filter(|medians| medians.len() >= FEWEST_ROUNDS).collect();
    all.sort_by(|one, other| stats::median(one).total_cmp(&stats::median(other)));
    let (fastest, slowest) = (all.first().filter(|_| all.len() > 1)?, all.last()?);
    let most = fastest.iter().copied().fold(0.0, f64::max);
    let least = slowest.iter().copied().fold(f64::INFINITY, f64::min);
    Some((stats::median(slowest) / stats::median(fastest), least > most))
}

/// The case that differs most between processes, and by how much; with `for_sure`, of those of which all rounds are apart.
fn steadiness(seen: &Seen, for_sure: bool) -> Option<(Pick, f64)> {
    let all = STEADY.into_iter().filter_map(|pick| {
        let (ratio, is_apart) = apart(seen.measured(&pick)?.1)?;
        (is_apart || !for_sure).then_some((pick, ratio))
    });
    all.max_by(|(_, one), (_, other)| one.total_cmp(other))
}

fn steadiness_fact(seen: &Seen) -> Option<String> {
    let (pick, ratio) = steadiness(seen, false)?;
    Some(match ratio - 1.0 {
        least if least < 0.0005 => "two processes differ by less than 0.1 %".to_owned(),
        most => format!("two processes differ by up to {} ({})", units::percent(most), pick.filter),
    })
}

fn of_steadiness(device: &DeviceInfo, seen: &Seen) -> Option<Finding> {
    let (pick, ratio) = steadiness(seen, true)?;
    (ratio > limits(device).steady).then(|| Finding {
        name: "unsteady",
        harm: Harm::WrongFigures,
        what: format!("Two processes that measure the same differ by {}.", units::percent(ratio - 1.0)),
        evidence: format!("All rounds of {} in one process are slower than all in the other.", pick.name()),
        advice: "measure in several processes (--preset study), and end other programs".to_owned(),
        ..Finding::default()
    })
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Conditions, Rounds, Watch};
    use crate::model::{Case, GpuState, Heap, Point, Work};

    fn gpu() -> DeviceInfo {
        DeviceInfo { kind: DeviceKind::Discrete, ..DeviceInfo::mock() }
    }

    fn software() -> DeviceInfo {
        DeviceInfo { kind: DeviceKind::Cpu, ..DeviceInfo::mock() }
    }

    /// Seen at these speeds over the usual one, one after the other.
    fn watched(speeds: &[f64]) -> Seen {
        let look = |(i, clock): (u32, &f64)| Look {
            at: Duration::from_millis(250) * i,
            conditions: Conditions { clock: *clock, mhz: Some(1000.0 * clock), ..Conditions::UNTOLD },
        };
        let watch = Watch { looks: (0..).zip(speeds).map(look).collect(), state: GpuState::default() };
        Seen { watch: Some(watch), ..Seen::default() }
    }

    fn names(device: &DeviceInfo, seen: &Seen) -> Vec<&'static str> {
        findings(device, seen).iter().map(|finding| finding.name).collect()
    }

    /// A pick, the rounds of two processes by turns, and an amount of work.
    type Had = (Pick, Result<[f64; 6], Status>, u64);

    fn having(all: &[Had]) -> Seen {
        let tried = |(pick, result, ops): &Had| {
            let work = Work { ops: Some(*ops), bytes: Some(*ops), ..Work::default() };
            let case = Case { work, ..Case::new("a/b", &Point::default()) };
            let times = |times: [f64; 6]| {
                let processes = vec![1, 2, 1, 2, 1, 2];
                let rounds = Rounds { samples: times.map(|time| vec![time]).into(), processes };
                let (low, high) =
                    (times.iter().copied().fold(f64::INFINITY, f64::min), times.iter().copied().fold(0.0, f64::max));
                Times { value: stats::median(&times), low, high, rounds }
            };
            let result = Some(result.map(times).map_err(|status| Failure::new(status, "a reason")));
            (
                pick.name(),
                Tried { experiment: "a/b".to_owned(), variant: "c".to_owned(), point: Point::default(), case, result },
            )
        };
        Seen { tried: all.iter().map(tried).collect(), ..Seen::default() }
    }

    #[test]
    fn a_clock_that_does_not_hold_is_found() {
        let held = [&[0.4, 0.9][..], &[1.0; 30]].concat();
        assert_eq!(names(&gpu(), &watched(&held)), [""; 0]);
        let fact = &facts(&gpu(), &watched(&held))[0].is;
        assert!(
            fact.starts_with(
                "100 % of full speed after ten seconds of load; 40.0 % right after a second's rest, full after 500 ms"
            ),
            "{fact}"
        );
        let fallen = [&[1.0; 15][..], &[0.9; 15]].concat();
        assert_eq!(names(&gpu(), &watched(&fallen)), ["clock-falls"]);
        assert_eq!(names(&software(), &watched(&fallen)), [""; 0], "processors come and go");
        assert_eq!(names(&software(), &watched(&[&[1.0; 15][..], &[0.5; 15]].concat())), ["clock-falls"]);
        assert_eq!(names(&gpu(), &watched(&[&[1.0; 6][..], &[0.9; 34]].concat())), ["clock-falls"], "a short boost");
        let mut low = watched(&held);
        low.watch.as_mut().unwrap().state.max_mhz = Some(1900.0);
        assert_eq!(names(&gpu(), &low), ["clock-low"]);
        low.watch.as_mut().unwrap().state.slowdowns = vec!["power limit".to_owned()];
        assert_eq!(names(&gpu(), &low), [""; 0], "a card that may not draw more");
        let mut hot = watched(&held);
        hot.watch.as_mut().unwrap().state.slowdowns = vec!["power limit".to_owned()];
        assert_eq!(names(&gpu(), &hot), [""; 0], "a clock that holds at its power limit");
        hot.watch.as_mut().unwrap().state.slowdowns.push("too hot (hardware)".to_owned());
        assert_eq!(names(&gpu(), &hot), ["clock-low"]);
        assert_eq!(names(&gpu(), &watched(&[])), [""; 0]);
    }

    #[test]
    fn busy_neighbours_are_found_by_whatever_shows_them() {
        let mut seen = watched(&[1.0; 20]);
        let of = |share| OtherProcess { name: "train".to_owned(), share };
        for (others, expected) in
            [(None, "can't see other processes"), (Some(Vec::new()), "none at work"), (Some(vec![of(0.02)]), "train (2.0 %)")]
        {
            seen.watch.as_mut().unwrap().state.others = others;
            assert_eq!(names(&gpu(), &seen), [""; 0]);
            assert!(facts(&gpu(), &seen).iter().any(|fact| fact.about == "neighbours" && fact.is == expected), "{expected}");
        }
        seen.watch.as_mut().unwrap().state.others = Some(vec![of(0.5)]);
        assert_eq!(names(&gpu(), &seen), ["busy-neighbour"]);
        let mut crowded = watched(&[&[1.0; 15][..], &[0.5; 15]].concat());
        crowded.watch.as_mut().unwrap().looks.iter_mut().for_each(|look| look.conditions.lost = Some(0.45));
        assert_eq!(names(&software(), &crowded), ["busy-neighbour"], "and not its clock");
    }

    #[test]
    fn wrong_results_come_before_all_else() {
        let [wrong, lost] = [Status::WrongResult, Status::Crashed].map(Err);
        let seen = having(&[(STEADY[0], wrong, 1), (STEADY[1], lost, 1), (STEADY[2], Err(Status::Skipped), 1)]);
        assert_eq!(names(&gpu(), &seen), ["wrong-results", "cases-fail"]);
        assert!(findings(&gpu(), &seen)[0].evidence.contains("a/b:c"), "{:?}", findings(&gpu(), &seen));
    }

    #[test]
    fn features_that_are_slower_than_what_does_without_are_found() {
        let feature = FEATURES[2];
        let seen = |claimed: f64| having(&[(feature.claimed, Ok([claimed; 6]), 8), (feature.plain, Ok([100.0; 6]), 8)]);
        for (claimed, expected) in [(50.0, 0), (100.0, 0), (108.0, 0), (130.0, 1)] {
            assert_eq!(names(&gpu(), &seen(claimed)).len(), expected, "{claimed}");
        }
        assert_eq!(names(&software(), &seen(130.0)), [""; 0], "software imitates all");
        assert!(
            facts(&software(), &seen(200.0))[0].is.contains("integer dot products: 0.5000 times as fast as"),
            "{:?}",
            facts(&software(), &seen(200.0))
        );
        let vague =
            having(&[(feature.claimed, Ok([90.0, 95.0, 130.0, 130.0, 130.0, 130.0]), 8), (feature.plain, Ok([100.0; 6]), 8)]);
        assert_eq!(names(&gpu(), &vague), [""; 0]);
        let more = having(&[(feature.claimed, Ok([130.0; 6]), 16), (feature.plain, Ok([100.0; 6]), 8)]);
        assert_eq!(names(&gpu(), &more), [""; 0], "for twice the work");
    }

    #[test]
    fn processes_that_differ_are_found() {
        let seen = |times| having(&[(STEADY[1], Ok(times), 1)]);
        assert_eq!(names(&gpu(), &seen([100.0, 110.0, 101.0, 111.0, 100.0, 112.0])), ["unsteady"]);
        assert_eq!(names(&gpu(), &seen([100.0, 110.0, 101.0, 100.0, 100.0, 112.0])), [""; 0], "they overlap");
        assert_eq!(names(&gpu(), &seen([100.0, 101.0, 100.1, 101.1, 100.0, 101.0])), [""; 0], "by little");
        assert_eq!(names(&software(), &seen([100.0, 110.0, 101.0, 111.0, 100.0, 112.0])), [""; 0]);
        assert_eq!(names(&software(), &seen([100.0, 150.0, 101.0, 151.0, 100.0, 152.0])), ["unsteady"]);
    }

    #[test]
    fn links_below_what_the_device_allows_are_found() {
        // 64 GB in a second.
        let copies = |ns: f64| having(&[TO_DEVICE, FROM_DEVICE].map(|pick| (pick, Ok([ns; 6]), 64_000_000_000)));
        let full = Link { speed: 32.0, width: 16.0, most_speed: 32.0, most_width: 16.0 };
        let with = |seen: Seen, link| Seen { link: Some(link), watch: watched(&[1.0; 9]).watch, ..seen };
        assert_eq!(names(&gpu(), &with(copies(1.2e9), full)), [""; 0]);
        assert_eq!(names(&gpu(), &with(copies(9e9), full)), ["transfer-slow"]);
        let narrow = Link { width: 4.0, ..full };
        assert_eq!(names(&gpu(), &with(copies(5e9), narrow)), ["link-narrow"]);
        assert_eq!(names(&gpu(), &Seen { watch: None, ..with(copies(5e9), narrow) }), [""; 0], "nobody saw it under load");
        assert_eq!(names(&software(), &with(copies(9e9), narrow)), [""; 0]);
        let all = facts(&gpu(), &with(copies(1e9), full));
        let fact = &all.iter().find(|fact| fact.about == "transfer").unwrap().is;
        assert!(fact.starts_with("64 GB/s to the device, 64 GB/s back;") && fact.contains("link 32 GT/s x16"), "{fact}");
    }

    #[test]
    fn memory_that_spills_is_found_with_its_size() {
        let seen = |rates: [u64; 3]| {
            let size = |(gib, rate): (u64, u64)| {
                let bytes = gib << 30;
                let point = Point::new([(SIZE.into(), bytes.into())]);
                let case = Case { work: Work { bytes: Some(bytes), ..Work::default() }, ..Case::new(RESIDENCY, &point) };
                #[expect(clippy::cast_precision_loss, reason = "a time")]
                let value = bytes as f64 / rate as f64;
                let times = Times { value, low: 0.99 * value, high: 1.01 * value, rounds: Rounds::default() };
                Tried { experiment: RESIDENCY.to_owned(), variant: String::new(), point, case, result: Some(Ok(times)) }
            };
            Seen { residency: [4, 8, 12].into_iter().zip(rates).map(size).collect(), ..Seen::default() }
        };
        assert_eq!(names(&gpu(), &seen([900, 900, 890])), [""; 0]);
        assert!(memory_fact(&gpu(), &seen([900, 900, 890])).unwrap().ends_with("; 12 GiB read at 890 GB/s"));
        let spilling = seen([900, 890, 90]);
        assert_eq!(names(&gpu(), &spilling), ["memory-spills"]);
        let what = &findings(&gpu(), &spilling)[0].what;
        assert_eq!(what, "With 12 GiB in use, reading memory takes 10.0 times as long.");
    }

    #[test]
    fn how_much_of_its_memory_the_host_sees_is_told() {
        let mut device = gpu();
        let heap = |gib: u64, device_local| Heap { bytes: gib << 30, device_local, budget: None };
        device.heaps = vec![heap(16, true), heap(32, false)];
        let ty = device.memory_types[0];
        device.memory_types = vec![crate::model::MemoryType { heap: 0, device_local: true, host_visible: false, ..ty }];
        assert_eq!(memory_fact(&device, &Seen::default()).unwrap(), "16 GiB; the host sees none of it");
        device.memory_types[0].host_visible = true;
        assert!(memory_fact(&device, &Seen::default()).unwrap().contains("sees all of it"));
        device.heaps[0].bytes = 1 << 28;
        device.heaps.push(heap(16, true));
        assert_eq!(memory_fact(&device, &Seen::default()).unwrap(), "16 GiB; the host sees 256 MiB of it");
        assert_eq!(memory_fact(&software(), &Seen::default()), None);
    }
}
