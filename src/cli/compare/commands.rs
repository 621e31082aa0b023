//! What to type so that suspects are decided.

use std::collections::BTreeSet;
use std::path::Path;

use super::suspects::Suspects;
use crate::analysis::compare::{Comparison, Side, Sides};
use crate::analysis::counted;
use crate::model::{DeviceInfo, DeviceKind, Repeatability, Shown};
use crate::plan::Estimate;
use crate::plan::{DEFAULT_TIME, STUDY_PROCESSES};
use crate::platform::shell_word;

/// Columns that tell devices and drivers apart.
const OF_DEVICES: [&str; 5] = ["device_name", "device_uuid", "driver_name", "driver_info", "driver_version"];

/// The lines: how many suspects there are, how long they take, and the commands.
pub fn lines(suspects: &Suspects, file: &Path, sides: &Sides, comparisons: &[Comparison]) -> Vec<String> {
    let cases = shell_word(&file.to_string_lossy());
    let cold = if suspects.are_cold() { " --cold" } else { "" };
    let run = format!("lanescope run --cases {cases} --preset study{cold}");
    let (runs, times, of_each) = if let Some((measured, column, base)) = together(sides, comparisons) {
        let devices = measured.iter().map(|side| device(side, sides)).collect::<Vec<_>>().join(" ");
        let compare = format!("lanescope compare study.csv --by {column} --base {}", shell_word(base));
        (vec![format!("{run} {devices} -o study.csv"), compare], measured.len(), "")
    } else {
        let names: Vec<String> = sides.sides.iter().enumerate().map(|(place, side)| short_name(place, &side.name)).collect();
        // A line of its own, since not every shell knows comments.
        let of_side = |(name, side): (&String, &Side)| {
            let run = format!("{run} {} -o {name}-study.csv", device(side, sides));
            [format!("where {} was measured:", side.name), format!("  {run}")]
        };
        let mut runs: Vec<String> = names.iter().zip(&sides.sides).flat_map(of_side).collect();
        let files: Vec<String> = names.iter().map(|name| format!("{name}={name}-study.csv")).collect();
        let pool = if sides.sides.iter().any(|side| side.pools_devices) { " --pool-devices" } else { "" };
        runs.push(
            if pool.is_empty() { "then:" } else { "each on two devices or more, in files of one name; then:" }.to_owned(),
        );
        runs.push(format!("  lanescope compare {}{pool}", files.join(" ")));
        (runs, 1, " for each side")
    };
    let time = estimate(suspects.len() * times, comparisons);
    let count = counted(suspects.len() as u64, "case");
    let mut lines = vec![format!("{}: {count}: {}. Measure them again, in {time}{of_each}:", file.shown(), suspects.told())];
    lines.extend(runs.into_iter().map(|line| format!("  {line}")));
    lines
}

fn estimate(cases: usize, comparisons: &[Comparison]) -> Estimate {
    let is_processor = comparisons.iter().any(|comparison| comparison.between_runs.contains_key(&Repeatability::Processor));
    let kind = if is_processor { DeviceKind::Cpu } else { DeviceKind::Discrete };
    let device = DeviceInfo { kind, ..DeviceInfo::default() };
    Estimate::of_cases(cases as u64, &device, STUDY_PROCESSES.into(), DEFAULT_TIME)
}

/// The sides whose devices are measured in one run, which is then compared by this column with this value; nothing where each side is
/// measured by itself. Devices and drivers of one host can be measured together, and what isn't the device's.
fn together<'c>(sides: &'c Sides, comparisons: &'c [Comparison]) -> Option<(&'c [Side], &'c str, &'c str)> {
    let all = sides.sides.as_slice();
    let differences = || comparisons.iter().flat_map(|comparison| &comparison.differences);
    let is_one_host = || !differences().any(|difference| difference.column == "host");
    if let Some(column) = sides.by.as_deref() {
        // A driver's versions replace each other, but for those that bring devices of their own.
        let devices: BTreeSet<&str> = all.iter().flat_map(|side| &side.devices).map(|key| key.device.as_str()).collect();
        let is_of_devices = OF_DEVICES.contains(&column);
        if is_of_devices && (devices.len() < all.len() || !is_one_host()) {
            return None;
        }
        return Some((if is_of_devices { all } else { &all[..1] }, column, all[0].name.as_str()));
    }
    // One driver's versions replace each other; drivers of several names, and devices, may be there together.
    let mut apart = ["device_name", "device_uuid", "driver_name"].into_iter();
    let found = apart.find_map(|column| differences().find(|difference| difference.column == column));
    let found = found.filter(|_| is_one_host() && all.iter().all(|side| side.devices.len() == 1));
    found.map(|difference| (all, difference.column, difference.values[0].as_str()))
}

/// A side's devices, as `run` takes them: by name, or by UUID where several have that name.
fn device(side: &Side, sides: &Sides) -> String {
    let known = || sides.sides.iter().flat_map(|side| &side.devices);
    let names = side.devices.iter().map(|own| {
        let is_alone = known().filter(|other| other.name == own.name).all(|other| other.device == own.device);
        format!("-d {}", shell_word(if is_alone { &own.name } else { &own.device }))
    });
    names.collect::<Vec<_>>().join(" ")
}

fn short_name(place: usize, name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match (!name.is_empty() && name.chars().all(is_word), place) {
        (true, _) => name.to_owned(),
        (false, 0) => "base".to_owned(),
        (false, 1) => "new".to_owned(),
        (false, _) => format!("new{place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_without_a_word_for_a_name_have_one() {
        let names = [(0, "before"), (0, "a/b.csv"), (1, "c d"), (2, "")].map(|(place, name)| short_name(place, name));
        assert_eq!(names, ["before", "base", "new", "new2"]);
    }
}
