//! Finds experiments: by filters as `run` takes them, and by words of their names or their texts.

use super::entry::{CatalogueEntry, entries, said};
use crate::error::{Error, nearest, suggestion};
use crate::experiments::{Setting, derived_with};
use crate::model::{Axis, AxisKind};

/// What begins a filter's end, or stands for any letters.
const OF_FILTERS: [char; 6] = ['/', ':', '*', '?', '[', '{'];

/// The experiments of all filters together that have all of the words: in their names first, then in summaries, then among what they can be
/// told to measure; or, where none has, in what else is said of them.
/// Errors: a filter or a word that nothing has, with the nearest ones.
pub fn find(typed: &[String], setting: &Setting) -> Result<Vec<CatalogueEntry>, Error> {
    let (filters, words): (Vec<String>, Vec<String>) = typed.iter().cloned().partition(|word| word.contains(OF_FILTERS));
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let all = entries(&filters, setting)?;
    let has_all = |text: &str| words.iter().all(|word| has(text, word));
    let (mut found, others): (Vec<CatalogueEntry>, Vec<CatalogueEntry>) =
        all.into_iter().partition(|entry| has_all(&choices(entry)));
    if !found.is_empty() {
        found.sort_by_key(|entry| (!has_all(entry.name()), !has_all(&headline(entry))));
        return Ok(found);
    }
    let (found, others): (Vec<CatalogueEntry>, Vec<CatalogueEntry>) =
        others.into_iter().partition(|entry| has_all(&text(entry)));
    if found.is_empty() { Err(nothing(&words, &others)) } else { Ok(found) }
}

/// Whether a word of a text begins so, or would in the singular: in "holds" there is no `lds`, and `atomics` are there where "atomic" is.
fn has(text: &str, word: &str) -> bool {
    let begins = |beginning: &str| text.match_indices(beginning).any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric));
    begins(word) || word.strip_suffix('s').is_some_and(|singular| singular.len() > 2 && begins(singular))
}

/// Its names and what is told of it first, without capitals.
fn headline(entry: &CatalogueEntry) -> String {
    [vec![entry.name(), entry.summary()], derived_with(entry.experiment)].concat().join(" ").to_lowercase()
}

/// The same, its variants, and the words that its axes take.
fn choices(entry: &CatalogueEntry) -> String {
    let of_axis =
        |(axis, _): (&Axis, _)| if let AxisKind::Choices(words) = axis.kind { words.join(" ") } else { String::new() };
    let words: Vec<String> = entry.axes().into_iter().map(of_axis).collect();
    [headline(entry), entry.variants.join(" "), words.join(" ")].join(" ").to_lowercase()
}

/// What is said of it, without capitals: besides, its text and its axes.
fn text(entry: &CatalogueEntry) -> String {
    // What was measured on a device, and how to read it, mentions much that it isn't about.
    let introduction = said(entry.name()).body.split("\n## ").next().unwrap_or_default();
    let of_axis = |(axis, _): (&Axis, _)| format!("{} {}", axis.name, axis.description);
    let axes: Vec<String> = entry.axes().into_iter().map(of_axis).collect();
    [&choices(entry), introduction, &axes.join(" ")].join(" ").to_lowercase()
}

fn nothing(words: &[String], entries: &[CatalogueEntry]) -> Error {
    let Some(word) = words.iter().find(|word| entries.iter().all(|entry| !has(&text(entry), word))) else {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        return Error::Usage(format!("no experiment has all of {}: name fewer", words.join(", ")));
    };
    let known: String = entries.iter().map(|entry| headline(entry) + " ").collect();
    let near = suggestion(&nearest(word, known.split(|c: char| !c.is_alphanumeric())));
    let hint = if near.is_empty() { ": `lanescope list` shows all there are".to_owned() } else { near };
    Error::Usage(format!("no experiment is about `{word}`{hint}"))
}
