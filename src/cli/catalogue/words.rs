//! Words for what several pages of the catalogue tell alike.

use super::entry::Defaults;
use super::nominal::is_nominal;
use crate::cli::prose::wrapped;
use crate::model::{AxisValue, DeviceInfo};

/// More values or variants than this are shown by both ends.
const SHOWN: usize = 12;

/// The values that an axis has by default: those of most variants first, then those of others.
pub fn defaults(all: &[Defaults]) -> String {
    let [first, others @ ..] = all else { return String::new() };
    let of_others = others.iter().map(|other| {
        let variants = other.variants.iter().filter(|variant| !variant.is_empty()).copied();
        format!("; {} for {}", values(other.values), variants.collect::<Vec<_>>().join(", "))
    });
    std::iter::once(values(first.values)).chain(of_others).collect()
}

fn values(values: &[AxisValue]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    shortened(&values.iter().map(String::as_str).collect::<Vec<_>>(), "values")
}

/// A few words as they are, many by both ends.
pub fn shortened(words: &[&str], what: &str) -> String {
    match words.len() {
        0..=SHOWN => words.join(", "),
        count => format!("{}, ..., {} ({count} {what})", words[..4].join(", "), words[count - 1]),
    }
}

/// Whose defaults are shown.
pub fn whose(device: &DeviceInfo) -> String {
    if is_nominal(device) {
        return "a discrete GPU with 16 GiB that can do everything".to_owned();
    }
    format!("device {}, {} ({})", device.index, device.name, device.kind.as_str())
}

/// Lines of at most this width, all but the first further in.
pub fn hanging(text: &str, width: usize, indent: usize) -> String {
    let indent = " ".repeat(indent);
    // The first line breaks where the others do.
    wrapped(text, width - indent.len()).replace('\n', &format!("\n{indent}"))
}
