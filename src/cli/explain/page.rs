//! The answer as a page: what the terminal shows, as pictures as well, and the source with what its accesses cost.

use std::path::Path;

use super::explained::Explained;
use super::text::{findings, markdown, named, verdict, what};
use crate::analysis::short_name;
use crate::explain::trials::{Gain, Outcome, Trial};
use crate::report::chart::{Bar, BarGroup, Bars, Body, Chart, Scale, Ticks};
use crate::report::{Part, document};
use crate::units::{percent, time};

/// `source` is the shader with what its accesses cost, line by line.
pub fn page(explained: &Explained, source: String) -> String {
    let (title, below) = (format!("What limits {}", short_name(Path::new(explained.kernel))), explained.device.name.clone());
    let limit = verdict(explained).map(|words| ("What limits it", words));
    // What was shown to help is numbered.
    let help = findings(explained).iter().find_map(|words| words.strip_prefix("1. ").map(|words| words.replace('`', "")));
    let help = help.map(|words| ("What helps most", words));
    let mut parts = vec![Part::Findings(limit.into_iter().chain(help).collect())];
    parts.extend(least_times(explained).into_iter().chain(savings(explained)).map(Part::Picture));
    parts.push(Part::Prose(markdown(explained)));
    parts.push(Part::Listing { title: "The source, with what its accesses cost".to_owned(), text: source, is_open: false });
    document(&title, &below, &parts)
}

fn bars(title: &str, label: &str, groups: Vec<(String, Bar)>) -> Option<Chart> {
    let group = |(name, bar)| BarGroup { name, bars: vec![Some(bar)] };
    let scale = Scale { label: label.to_owned(), is_log: false, ticks: Ticks::Plain };
    let bars = Bars { scale, series: vec![String::new()], groups: groups.into_iter().map(group).collect() };
    (!bars.groups.is_empty()).then(|| Chart { title: title.to_owned(), body: Body::Bars(bars) })
}

fn bar(value: f64, interval: Option<(f64, f64)>, text: String) -> Bar {
    Bar { value, interval, tip: text.clone(), text, is_doubted: false }
}

/// The least time by each resource, below what the kernel takes.
fn least_times(explained: &Explained) -> Option<Chart> {
    if explained.device.is_cpu() {
        return None;
    }
    const US: f64 = 1000.0;
    let taken = &explained.taken;
    let ends = taken.ends.map(|(low, high)| (low / US, high / US));
    let own = ("the kernel".to_owned(), bar(taken.ns / US, ends, time(taken.ns, None)));
    let bounds = explained.bounds.all.iter().filter_map(|bound| {
        let least = bound.least_ns?;
        let text = format!("{}, {}", time(least, None), percent(least / taken.ns));
        Some((named(bound), bar(least / US, None, text)))
    });
    bars("The least time by resource", "time, us", std::iter::once(own).chain(bounds).collect())
}

/// What taking away each cost saved.
fn savings(explained: &Explained) -> Option<Chart> {
    let of = |(share, ends): (f64, Option<(f64, f64)>)| {
        bar(100.0 * share, ends.map(|(low, high)| (100.0 * low, 100.0 * high)), percent(share))
    };
    let saved = explained.tried.iter().filter_map(|tried| match tried.outcome {
        // That saves no time.
        _ if matches!(tried.trial, Trial::Crowded(_)) => None,
        Outcome::Gained(Gain { share, ends, .. }) => {
            // What it means stands in the table.
            let name = what(&tried.trial, explained.kernel)?;
            Some((name.split(" (").next().unwrap_or_default().to_owned(), of((share, ends))))
        }
        Outcome::NotTried(_) => None,
    });
    bars("Time saved without a cost", "time saved, %", saved.collect())
}
