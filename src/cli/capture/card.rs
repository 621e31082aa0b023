//! What was captured, on one screen: the kernels by their time.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::kernels::Taken;
use crate::analysis::counted;
use crate::capture::{self, Kernel, OnDevice, Profile, groups_text, is_near_floor};
use crate::model::Shown;
use crate::output::{Column, Need, Page, TextTable, Tone, paragraph};
use crate::platform::shell_word;
use crate::units::{Nanos, percent};

/// The rows, within a capture's folder.
pub const ROWS: &str = "kernels.csv";

/// Kernels that are shown, of all devices.
const MOST: usize = 12;

/// `took` is the program's time, and that without capturing where it was measured; nothing where nobody waited for the program.
pub fn card(
    profile: &Profile,
    folder: &Path,
    taken: Option<&Taken>,
    took: Option<(Duration, Option<Duration>)>,
    page: Page,
) -> String {
    let mut out = String::new();
    if let Some(taken) = taken {
        out += &of_taken(taken, folder, page);
        out.push('\n');
    }
    let most = (MOST / profile.devices.len().max(1)).max(2);
    for device in &profile.devices {
        out += &paragraph(&head(device, profile.is_isolated), page);
        out.push('\n');
        out += &table(device, most, page);
        if device.kernels.len() > most {
            out += &format!("and {} more\n", device.kernels.len() - most);
        }
        out.push('\n');
        out += &remarks(device).iter().map(|remark| paragraph(remark, page)).collect::<String>();
    }
    if let Some((took, alone)) = took {
        let cost = alone.map_or_else(String::new, |alone| format!(", and {} without capturing", Nanos::from_duration(alone)));
        out += &paragraph(&format!("The program took {}{cost}.", Nanos::from_duration(took)), page);
    }
    for (kind, count) in &profile.not_followed {
        out += &paragraph(&format!("Not followed: {kind} ({count})."), page);
    }
    let (words, command) = next(profile, folder, taken);
    out += &paragraph(&words, page);
    match command {
        Some(command) => format!("{out}    {command}\n"),
        None => out,
    }
}

fn of_taken(taken: &Taken, folder: &Path, page: Page) -> String {
    let mut out = paragraph(&taken.in_words(folder), page);
    for (name, why) in &taken.refused {
        out += &paragraph(&format!("Not taken: {name}, since {why}."), page);
    }
    if !taken.disturbed.is_empty() {
        let (names, they) = (taken.disturbed.join(", "), if taken.disturbed.len() == 1 { "it doesn't" } else { "they don't" });
        let words = format!(
            "Doubt: while {names} ran, something changed a buffer that {they} write. What was taken may not be what was read."
        );
        out += &Tone::Bad.paragraph(&words, page);
    }
    if taken.unchanged > 0 {
        let what = counted(taken.unchanged, "kernel");
        out += &paragraph(
            &format!("{what} left all buffers as they were: results can't be compared. --call names another dispatch."),
            page,
        );
    }
    out
}

fn head(device: &OnDevice, is_isolated: bool) -> String {
    let kernels = &device.kernels;
    let all = Nanos(device.all_time());
    let is_timed = kernels.iter().any(|kernel| !kernel.times.is_empty());
    let how = match (is_timed, is_isolated) {
        (false, _) => "none of them timed".to_owned(),
        (true, true) => format!("{all} in all, each alone between full barriers"),
        (true, false) => format!("{all} in all, and some may have run beside others"),
    };
    let dispatches: u64 = kernels.iter().map(|kernel| kernel.calls).sum();
    let word = if dispatches == 1 { "dispatch" } else { "dispatches" };
    let different: BTreeSet<String> = kernels.iter().map(Kernel::label).collect();
    format!("{dispatches} {word} of {} on {}: {how}.", counted(different.len() as u64, "kernel"), device.device.name)
}

fn table(device: &OnDevice, most: usize, page: Page) -> String {
    let mut table = TextTable::new([
        Column::words("kernel", Need::Key),
        Column::words("workgroups", Need::Central),
        Column::numbers("calls", Need::Central),
        Column::numbers("median", Need::Central),
        Column::numbers("all calls", Need::Useful),
        Column::numbers("share", Need::Key),
    ]);
    let all = device.all_time();
    // Where one name is of several kernels, the hash tells them apart.
    let is_of_several = |kernel: &Kernel| device.kernels.iter().any(|own| own.name == kernel.name && own.hash != kernel.hash);
    for kernel in device.kernels.iter().take(most) {
        let own = kernel.all_time();
        let [median, own, share] = match capture::time(kernel) {
            None => ["not timed".to_owned(), String::new(), String::new()],
            Some(time) => {
                let share = if all > 0.0 { percent(own / all) } else { String::new() };
                [Nanos(time).to_string(), Nanos(own).to_string(), share]
            }
        };
        let (groups, calls) = (groups_text(kernel.groups), kernel.calls.to_string());
        let name = if is_of_several(kernel) { kernel.label() } else { kernel.name.clone() };
        table.row([name, groups, calls, median, own, share]);
    }
    table.fitted(page)
}

/// What is to be said against the times.
fn remarks(device: &OnDevice) -> Option<String> {
    let near = device.kernels.iter().filter(|kernel| is_near_floor(kernel, device)).count();
    let floor = Nanos(device.floor()?);
    (near > 0).then(|| {
        format!(
            "{near} of {} rows take less than 20 times what two timestamps are apart ({floor}), and are flagged near_floor: a good \
             part of their times may be the timestamps'.",
            device.kernels.len()
        )
    })
}

/// Where all is, and the command that goes on from there: on a line of its own, to be copied.
fn next(profile: &Profile, folder: &Path, taken: Option<&Taken>) -> (String, Option<String>) {
    let rows = folder.join(ROWS);
    let rows = format!("The rows are in {}.", rows.shown());
    if taken.is_some_and(|taken| taken.kernels > 0) {
        // The shell fills in the star only outside of quotes.
        let kernels = format!("{}/*.toml", shell_word(&folder.to_string_lossy()));
        return (format!("{rows} Measure the kernels by themselves:"), Some(format!("lanescope run {kernels}")));
    }
    let longest = profile.devices.iter().flat_map(|device| &device.kernels).find(|kernel| !kernel.times.is_empty());
    match longest.filter(|kernel| !kernel.logged.module.is_empty()) {
        Some(kernel) => {
            let module = folder.join(format!("{}.spv", kernel.label()));
            let command = format!("lanescope inspect {}", shell_word(&module.to_string_lossy()));
            (format!("{rows} Look first at:"), Some(command))
        }
        None => (rows, None),
    }
}
