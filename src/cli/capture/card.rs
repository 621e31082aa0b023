//! What was captured, on one screen: the kernels by their time.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::analysis::counted;
use crate::capture::{Kernel, Profile, groups_text};
use crate::model::Shown;
use crate::output::{Column, Need, Page, TextTable, paragraph};
use crate::stats::median;
use crate::units::{Nanos, percent};

/// Kernels that are shown of each device.
const MOST: usize = 12;

pub fn card(profile: &Profile, folder: &Path, is_isolated: bool, took: Duration, page: Page) -> String {
    let mut out = String::new();
    for (device, kernels) in &profile.devices {
        let all: f64 = kernels.iter().map(Kernel::all_time).sum();
        let is_timed = kernels.iter().any(|kernel| !kernel.times.is_empty());
        let how = match (is_timed, is_isolated) {
            (false, _) => "none of them timed".to_owned(),
            (true, true) => format!("{} in all, each alone, between full barriers", Nanos(all)),
            (true, false) => format!("{} in all", Nanos(all)),
        };
        let dispatches: u64 = kernels.iter().map(|kernel| kernel.calls).sum();
        let different: BTreeSet<(&str, &str)> = kernels.iter().map(|kernel| (&kernel.name[..], &kernel.hash[..])).collect();
        let head = format!(
            "{dispatches} {} of {} on {}: {how}. The program took {}.",
            if dispatches == 1 { "dispatch" } else { "dispatches" },
            counted(different.len() as u64, "kernel"),
            device.name,
            Nanos::from_duration(took),
        );
        out += &paragraph(&head, page);
        out.push('\n');
        out += &table(kernels, all, page);
        if kernels.len() > MOST {
            out += &format!("and {} more\n", kernels.len() - MOST);
        }
        out.push('\n');
    }
    for (kind, count) in &profile.not_followed {
        out += &paragraph(&format!("Not followed: {kind} ({count})."), page);
    }
    let rows = folder.join("kernels.csv");
    out + &paragraph(&format!("The rows are in {}.", rows.shown()), page)
}

fn table(kernels: &[Kernel], all: f64, page: Page) -> String {
    let mut table = TextTable::new([
        Column::words("kernel", Need::Key),
        Column::words("workgroups", Need::Central),
        Column::numbers("calls", Need::Central),
        Column::numbers("median", Need::Central),
        Column::numbers("all", Need::Useful),
        Column::numbers("share", Need::Key),
    ]);
    for kernel in kernels.iter().take(MOST) {
        let (own, time) = (kernel.all_time(), |time: f64| Nanos(time).to_string());
        let [median, own, share] = match kernel.times.is_empty() {
            true => ["not timed".to_owned(), String::new(), String::new()],
            false => [time(median(&kernel.times)), time(own), if all > 0.0 { percent(own / all) } else { String::new() }],
        };
        let (groups, calls) = (groups_text(kernel.groups), kernel.calls.to_string());
        table.row([kernel.name.clone(), groups, calls, median, own, share]);
    }
    table.fitted(page)
}
