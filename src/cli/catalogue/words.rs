//! Words for what several pages of the catalogue tell alike.

use super::entry::Defaults;
use super::nominal::is_nominal;
use crate::model::{AxisValue, DeviceInfo};
use crate::output::prose::wrapped;

/// More values or variants than this are shown by both ends.
const SHOWN: usize = 12;

/// As many names of variants stand behind a default, at most.
const NAMED: usize = 4;

/// As many variants that begin alike are called by their beginning.
const ALIKE: usize = 3;

/// The values that an axis has by default: those of most variants first, then those of others.
pub fn defaults(all: &[Defaults]) -> String {
    let [first, others @ ..] = all else { return String::new() };
    let known: Vec<&str> = all.iter().flat_map(|one| one.variants.iter().copied()).collect();
    let of_others = others.iter().map(|other| format!("; {} for {}", values(other.values), briefly(&other.variants, &known)));
    std::iter::once(values(first.values)).chain(of_others).collect()
}

/// Some of all variants, in few words: `stem_*` where they are all that begin so, and only the first of what are still many.
fn briefly(variants: &[&str], known: &[&str]) -> String {
    let mut words: Vec<String> = Vec::new();
    for variant in variants.iter().filter(|variant| !variant.is_empty()) {
        let word = stem(variant, variants, known).map_or_else(|| (*variant).to_owned(), |stem| format!("{stem}*"));
        if !words.contains(&word) {
            words.push(word);
        }
    }
    match words.len() {
        0..=NAMED => words.join(", "),
        count => format!("{} and {} more", words[..NAMED - 1].join(", "), count - (NAMED - 1)),
    }
}

/// The shortest beginning of a variant that it shares with [`ALIKE`] or more of these, and with no other.
fn stem<'v>(variant: &'v str, variants: &[&str], known: &[&str]) -> Option<&'v str> {
    let stems = variant.match_indices('_').map(|(place, _)| &variant[..=place]);
    let of = |stem: &str, names: &[&str]| names.iter().filter(|name| name.starts_with(stem)).count();
    stems.into_iter().find(|stem| of(stem, variants) >= ALIKE && of(stem, variants) == of(stem, known))
}

fn values(values: &[AxisValue]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    shortened(&values.iter().map(String::as_str).collect::<Vec<_>>(), "values")
}

pub fn shortened(words: &[&str], what: &str) -> String {
    match words.len() {
        0..=SHOWN => words.join(", "),
        count => format!("{}, ..., {} ({count} {what})", words[..4].join(", "), words[count - 1]),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_told_in_few_words() {
        let known = ["a", "image_x", "image_y", "image_z", "texel_buffer_x", "texel_buffer_y", "texel_x", "texel_z"];
        let told = |variants: &[&str]| briefly(variants, &known);
        assert_eq!(told(&["a", "image_x", "image_y"]), "a, image_x, image_y");
        assert_eq!(told(&["image_z", "a", "image_x", "image_y"]), "image_*, a");
        assert_eq!(told(&known[4..7]), "texel_buffer_x, texel_buffer_y, texel_x");
        assert_eq!(told(&known[4..]), "texel_*");
        assert_eq!(told(&["a", "image_x", "image_y", "texel_x", "texel_z"]), "a, image_x, image_y and 2 more");
        assert_eq!(told(&[""]), "");
    }
}
