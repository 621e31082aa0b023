//! The rows of sources, experiment by experiment: what a page or a folder of figures is made of.

use std::collections::{BTreeMap, HashMap};

use super::application::{self, is_captured};
use super::charts::{Picture, Pictures, pictures};
use super::survey::Survey;
use super::sweep::Row;
use super::tuned::{Tuned, is_tuned, tuned};
use crate::experiments::{CATALOGUE, Experiment, Text, derived_with, find, text};
use crate::record::{Packed, Record};

pub struct Section<'r> {
    pub name: &'r str,
    /// What is said of it; nothing where this version doesn't know it.
    pub text: Option<Text>,
    pub rows: Vec<Row<'r>>,
    /// What follows from them: under which name, and the rows.
    pub derived: Vec<(&'r str, Vec<Row<'r>>)>,
    pub pictures: Pictures,
    /// What a search says of a shader, for each source that searched it.
    pub tuned: Vec<(Row<'r>, Tuned)>,
}

/// Which experiments are shown, and what follows from them.
pub struct Outline<'s> {
    survey: &'s Survey<'s>,
    names: Vec<&'s str>,
    /// What follows from several experiments stands below the first of them.
    owners: BTreeMap<&'static str, &'s str>,
}

/// Rows of one experiment, each with the place of its source.
type Unpacked = Vec<(usize, Record)>;

impl<'s> Outline<'s> {
    /// Shaders that were tuned, and applications, come first, then the catalogue's in its order, then what this version doesn't know.
    pub fn new(survey: &'s Survey<'s>) -> Self {
        let mut names: Vec<&str> = survey.names.iter().map(String::as_str).collect();
        let place = |name: &str| CATALOGUE.iter().position(|experiment| experiment.name() == name);
        names.sort_by_key(|name| (!is_tuned(name) && !is_captured(name), place(name).unwrap_or(CATALOGUE.len())));
        let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
        for name in &names {
            for derived in derived_by(name) {
                owners.entry(derived).or_insert(name);
            }
        }
        names.retain(|name| !owners.contains_key(name));
        Self { survey, names, owners }
    }

    pub fn names(&self) -> &[&'s str] {
        &self.names
    }

    /// The rows that are shown of an experiment: its own, then those that follow from them.
    pub fn rows(&self, name: &str) -> impl Iterator<Item = &'s Packed> {
        let derived = derived_by(name).into_iter().filter(move |derived| self.owners.get(derived) == Some(&name));
        std::iter::once(name).chain(derived).flat_map(|name| self.survey.rows(name)).map(|(_, row)| *row)
    }

    /// Shows what there is of an experiment, with at most so many pictures. Only its rows are unpacked.
    pub fn show<T>(&self, name: &str, most: usize, show: impl FnOnce(&Section) -> T) -> T {
        let (own, derived) = (self.unpacked(name), derived_by(name).into_iter().map(|name| (name, self.unpacked(name))));
        let derived: Vec<(&str, Unpacked)> = derived.filter(|(_, rows)| !rows.is_empty()).collect();
        let of_derived = derived.iter().map(|(name, unpacked)| (*name, self.placed(unpacked))).collect();
        show(&section(name, self.placed(&own), of_derived, &self.owners, most))
    }

    fn unpacked(&self, name: &str) -> Unpacked {
        self.survey.rows(name).iter().map(|(source, packed)| (*source, packed.record())).collect()
    }

    fn placed<'r>(&'r self, unpacked: &'r Unpacked) -> Vec<Row<'r>> {
        let row =
            |(source, record): &'r (usize, Record)| Row { source: *source, label: &self.survey.sources[*source].label, record };
        unpacked.iter().map(row).collect()
    }
}

fn derived_by(name: &str) -> Vec<&'static str> {
    find(name).map(derived_with).unwrap_or_default()
}

/// What is shown of an experiment. `derived`: what follows from its rows; of it is shown what it owns.
fn section<'r>(
    name: &'r str,
    rows: Vec<Row<'r>>,
    mut derived: Vec<(&'r str, Vec<Row<'r>>)>,
    owners: &BTreeMap<&str, &str>,
    most: usize,
) -> Section<'r> {
    let of_sources = rows.chunk_by(|one, other| one.source == other.source).filter(|_| is_tuned(name));
    let tuned: Vec<(Row, Tuned)> = of_sources.flat_map(tuned).collect();
    let is_drawn = tuned.iter().any(|(_, tuned)| tuned.picture.is_some());
    let following: Vec<Row> = derived.iter().flat_map(|(_, rows)| rows).copied().collect();
    derived.retain(|(derived, _)| owners.get(derived) == Some(&name));
    let pictures = if is_drawn {
        Pictures::default()
    } else if is_captured(name) {
        application::pictures(&rows)
    } else {
        all_pictures(&rows, find(name), &following, &derived, most)
    };
    Section { name, text: text(name), rows, derived, pictures, tuned }
}

/// The pictures of an experiment's own rows, then those of what follows from them, unless those are marks in the first.
fn all_pictures(
    rows: &[Row],
    experiment: Option<&Experiment>,
    following: &[Row],
    derived: &[(&str, Vec<Row>)],
    most: usize,
) -> Pictures {
    let plot = experiment.and_then(Experiment::plot);
    let marks = plot.and_then(|plot| plot.marks).map(|marks| marks.experiment);
    let expected = plot.and_then(|plot| plot.expected).map(|expected| expected.experiment);
    let mut all = pictures(rows, experiment, following, most);
    for (_, rows) in derived.iter().filter(|(name, _)| Some(*name) != marks && Some(*name) != expected) {
        let Pictures { shown, left_out, too_large } = pictures(rows, None, &[], most.saturating_sub(all.shown.len()));
        all.shown.extend(shown);
        all.left_out += left_out;
        all.too_large += too_large;
    }
    all
}

impl Section<'_> {
    pub fn shown(&self) -> impl Iterator<Item = &Picture> {
        self.tuned.iter().filter_map(|(_, tuned)| tuned.picture.as_ref()).chain(&self.pictures.shown)
    }

    /// Its rows, then what follows from them, each under its name.
    pub fn tables(&self) -> impl Iterator<Item = (&str, &[Row<'_>])> {
        let derived = self.derived.iter().map(|(name, rows)| (*name, rows.as_slice()));
        std::iter::once((self.name, self.rows.as_slice())).chain(derived)
    }
}

/// The part of an experiment's name before the slash.
pub fn family(name: &str) -> &str {
    name.split('/').next().unwrap_or_default()
}

/// Names of files and places on a page, each once, of letters, digits and hyphens: with the number to try next where another is called so.
#[derive(Default)]
pub struct Slugs(HashMap<String, usize>);

const LONGEST: usize = 80;

impl Slugs {
    /// The same beside names that are taken.
    pub fn beside(taken: &[&str]) -> Self {
        Self(taken.iter().map(|name| ((*name).to_owned(), 2)).collect())
    }

    /// A name for what is called so, which no other has.
    pub fn of(&mut self, words: &str) -> String {
        let mut slug = String::new();
        for c in words.chars() {
            match c {
                c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
                _ if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
                _ => {}
            }
        }
        slug.truncate(LONGEST);
        let slug = slug.trim_end_matches('-');
        let slug = if slug.is_empty() { "rows" } else { slug };
        let mut name = slug.to_owned();
        while self.0.contains_key(&name) {
            let number = self.0.entry(slug.to_owned()).or_insert(2);
            name = format!("{slug}-{number}");
            *number += 1;
        }
        self.0.insert(name.clone(), 2);
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_safe_and_its_own() {
        let mut slugs = Slugs::default();
        let names = ["memory/stream: op=copy", "Memory/Stream op=copy!", "../../etc/passwd", "<script>", "\u{202e}", ""];
        assert_eq!(
            names.map(|name| slugs.of(name)),
            ["memory-stream-op-copy", "memory-stream-op-copy-2", "etc-passwd", "script", "rows", "rows-2"]
        );
        assert_eq!(slugs.of(&"a".repeat(500)).len(), LONGEST);
        assert_eq!(Slugs::beside(&["tip"]).of("Tip"), "tip-2");
    }
}
