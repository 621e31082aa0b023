//! Finds experiments: by a name or a glob, by a family, by words of their summaries, and by words of their texts, variants and axes.

use globset::GlobMatcher;

use super::entry::{Entry, entries, said};
use crate::error::{Error, nearest, suggestion};
use crate::experiments::{Setting, derived_with};
use crate::globs::{self, beginning};
use crate::model::{Axis, AxisKind};

/// Words of other fields, and what the catalogue calls it.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("texture", &["sampled", "texel"]),
    ("thread", &["invocation"]),
    ("warp", &["subgroup"]),
    ("wave", &["subgroup"]),
    ("wavefront", &["subgroup"]),
    ("lds", &["shared"]),
    ("smem", &["shared"]),
    ("scratchpad", &["shared"]),
    ("tensor", &["matrices"]),
    ("matmul", &["matrices"]),
    ("gemm", &["matrices"]),
    ("vram", &["memory"]),
    ("dram", &["memory"]),
    ("pcie", &["transfer"]),
    ("launch", &["dispatch"]),
    ("fp16", &["f16"]),
    ("fp32", &["f32"]),
    ("fp64", &["f64"]),
];

/// Shorter words mean themselves only, not all that begins with them.
const LEAST_BEGINNING: usize = 3;

pub struct Found {
    /// What the words name, or what is about them: the nearest first.
    pub entries: Vec<Entry>,
    /// What only mentions them.
    pub also: Vec<Entry>,
}

/// Where an experiment has a word: the nearer, the more it is about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Name,
    Summary,
    Text,
}

/// The experiments that have all of these words. Of words with `/` or `:`, which are filters as `run` takes them, each adds some.
///
/// # Errors
/// A filter or a word that nothing has, with the nearest ones.
pub fn find(words: &[String], setting: &Setting) -> Result<Found, Error> {
    let (filters, words): (Vec<String>, Vec<String>) = words.iter().cloned().partition(|word| word.contains(['/', ':']));
    let words = words.iter().map(|word| Word::new(word)).collect::<Result<Vec<_>, _>>()?;
    let all = entries(&filters, setting)?;
    let mut found: Vec<(Vec<Place>, Entry)> = Vec::new();
    let mut others = Vec::new();
    for entry in all {
        match places(&words, &entry) {
            Some(places) => found.push((places, entry)),
            None => others.push(entry),
        }
    }
    if found.is_empty() {
        return Err(nothing(&words, &others));
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    let is_mentioned = |places: &[Place]| places.first() == Some(&Place::Text);
    // Where nothing is nearer, what mentions them is what was asked for.
    let none_is_near = found.iter().all(|(places, _)| is_mentioned(places));
    let (also, near): (Vec<_>, Vec<_>) = found.into_iter().partition(|(places, _)| !none_is_near && is_mentioned(places));
    let entries = |found: Vec<(Vec<Place>, Entry)>| found.into_iter().map(|(_, entry)| entry).collect();
    Ok(Found { entries: entries(near), also: entries(also) })
}

/// Where it has each of the words, the furthest first; nothing where it lacks one.
fn places(words: &[Word], entry: &Entry) -> Option<Vec<Place>> {
    let texts = Texts::new(entry);
    let mut places = words.iter().map(|word| texts.place(word)).collect::<Option<Vec<_>>>()?;
    places.sort_unstable_by(|one, other| other.cmp(one));
    Some(places)
}

fn nothing(words: &[Word], entries: &[Entry]) -> Error {
    let is_nowhere = |word: &&Word| entries.iter().all(|entry| Texts::new(entry).place(word).is_none());
    let Some(word) = words.iter().find(is_nowhere) else {
        let words: Vec<String> = words.iter().map(|word| format!("`{}`", word.text)).collect();
        return Error::Usage(format!("no experiment has all of {}: name fewer", words.join(", ")));
    };
    let known: Vec<String> = entries.iter().flat_map(|entry| tokens(&Texts::new(entry).headline())).collect();
    let near = suggestion(&nearest(&word.text, known.iter().map(String::as_str)));
    let hint = if near.is_empty() { ": `lanescope list` shows all there are".to_owned() } else { near };
    Error::Usage(format!("no experiment is about `{}`{hint}", word.text))
}

/// What an experiment's words are looked for in.
struct Texts {
    name: String,
    summary: String,
    text: String,
}

impl Texts {
    fn new(entry: &Entry) -> Self {
        let text = said(entry.name());
        // What was measured on a device, and how to read it, mentions much that it isn't about.
        let introduction = text.body.split("\n## ").next().unwrap_or_default();
        let of_axis = |(axis, _): (&Axis, _)| {
            let words = if let AxisKind::Choices(words) = axis.kind { words.join(" ") } else { String::new() };
            format!("{} {} {words}", axis.name, axis.description)
        };
        let axes: Vec<String> = entry.axes().into_iter().map(of_axis).collect();
        Self {
            name: [vec![entry.name()], derived_with(entry.experiment)].concat().join(" "),
            summary: text.summary.to_owned(),
            text: [introduction, &entry.variants.join(" "), &axes.join(" ")].join(" "),
        }
    }

    /// What is told of it first.
    fn headline(&self) -> String {
        format!("{} {}", self.name, self.summary)
    }

    fn place(&self, word: &Word) -> Option<Place> {
        let places = [(Place::Name, &self.name), (Place::Summary, &self.summary), (Place::Text, &self.text)];
        places.into_iter().find_map(|(place, text)| word.is_in(text).then_some(place))
    }
}

struct Word {
    text: String,
    form: Form,
}

enum Form {
    Glob(GlobMatcher),
    /// Beginnings of words, all of which must be there, each with those that mean the same.
    Beginnings(Vec<Vec<String>>),
}

impl Word {
    fn new(text: &str) -> Result<Self, Error> {
        let form = if text.contains(['*', '?', '[', '{']) {
            let glob = globs::matcher(text, |glob| glob.case_insensitive(true).literal_separator(true));
            Form::Glob(glob.map_err(|why| Error::Usage(format!("`{}` is no valid glob: {why}", beginning(text))))?)
        } else {
            Form::Beginnings(tokens(text).iter().map(|token| alike(token)).collect())
        };
        Ok(Self { text: text.to_owned(), form })
    }

    fn is_in(&self, text: &str) -> bool {
        match &self.form {
            Form::Glob(glob) => {
                pieces(text).any(|piece| glob.is_match(piece)) || tokens(text).iter().any(|token| glob.is_match(token))
            }
            Form::Beginnings(all) => {
                let there = tokens(text);
                let begins = |beginning: &String, token: &String| {
                    if beginning.len() < LEAST_BEGINNING { token == beginning } else { token.starts_with(beginning) }
                };
                !all.is_empty()
                    && all.iter().all(|alike| there.iter().any(|token| alike.iter().any(|beginning| begins(beginning, token))))
            }
        }
    }
}

/// What is looked for where a word is typed: it, without the ending of the plural, and what the catalogue calls it.
fn alike(token: &str) -> Vec<String> {
    let singular = token.strip_suffix('s').filter(|rest| rest.len() >= LEAST_BEGINNING).unwrap_or(token);
    let others = SYNONYMS.iter().find(|(word, _)| *word == singular).map(|(_, others)| *others).unwrap_or_default();
    [singular].iter().chain(others).map(|word| (*word).to_owned()).collect()
}

/// The words of a text as they stand, names whole and in their parts.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().flat_map(|piece| std::iter::once(piece).chain(piece.split('/')))
}

/// Letters and figures that stand together, without capitals.
fn tokens(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect()
}
