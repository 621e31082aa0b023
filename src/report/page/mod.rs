//! The page: one file that needs nothing else, and fetches nothing.
//!
//! All that it shows is in its HTML: it works, prints and can be searched without a script. The script adds what a page can't do by
//! itself: values where one points at them, filters, sorting, themes, saving rows.

mod document;
mod kept;
mod parts;
mod prose;

use std::collections::BTreeSet;
use std::io;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

pub use document::{Part, document};

use super::charts::{MOST_PICTURES, Picture};
use super::draw::palette::THEMED;
use super::findings::{Finding, Said, banner, findings};
use super::machine::{Examined, Fact, Wrong};
use super::ratios::{self, ratios};
use super::sections::{Outline, Section, Slugs, family};
use super::survey::Survey;
use super::sweep::{Row, grouped};
use super::{Contents, Source};
use crate::analysis::Card;
use crate::analysis::compare::Comparison;
use crate::output::{answer_and_rest, in_a_line};
use crate::record::Header;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the page calls its own places.
const OWN_IDS: [&str; 17] = [
    "card", "clocks", "compared", "doubted", "family", "find", "findings", "found", "header", "machine", "machines",
    "roofline", "save-all", "seen", "source", "theme", "tip",
];

/// A title that is no longer names all devices.
const LONG_TITLE: usize = 90;

/// More rooflines are folded away: they are alike, or not read together.
const MOST_ROOFLINES: usize = 2;

/// Up to so many rows, a table is open from the beginning: below its figures, and beside one.
const FEW_ROWS: usize = 8;
const FEW_ROWS_BESIDE: usize = 40;

/// The page of rows.
pub fn page(contents: &Contents) -> io::Result<String> {
    let survey = Survey::of(contents.sources);
    let header = Header::new(survey.axes.iter().cloned());
    let outline = Outline::new(&survey);
    let mut slugs = Slugs::beside(&OWN_IDS);
    let ids: Vec<String> = outline.names().iter().map(|name| slugs.of(name)).collect();
    let named = || outline.names().iter().copied().zip(&ids);
    let mut kept = Ok(Vec::new());
    // Compressing all rows takes longer than showing them.
    let shown: Vec<Shown> = rayon::in_place_scope(|scope| {
        scope.spawn(|_| kept = outline.names().par_iter().map(|name| kept::rows(&header, outline.rows(name))).collect());
        named().map(|(name, id)| outline.show(name, MOST_PICTURES, |section| shown(section, id, contents.sources))).collect()
    });
    let mut page = format!("{}<html lang=\"en\">{}<body>", DOCTYPE.0, head(contents).0);
    page += &top(contents, &survey, outline.names(), &ids).0;
    page += "<main>";
    let said: Vec<Said> = shown.iter().map(|shown| shown.said.clone()).collect();
    page += &message(contents, &survey, &said, &named().collect::<Vec<_>>()).0;
    page += &overview(contents, &survey).0;
    for (((name, id), shown), kept) in named().zip(shown).zip(kept?) {
        page += &experiment(name, id, shown, &kept).0;
    }
    page += "</main>";
    page += &bottom(&header)?.0;
    page += "</body></html>";
    Ok(page)
}

fn head(contents: &Contents) -> Markup {
    html! { head { (style_of(&title(contents), &format!("{STYLE}{}", themed()), Some(SCRIPT))) } }
}

/// What stands in a page's head: its title, its style, and what it may do.
fn style_of(title: &str, style: &str, script: Option<&str>) -> Markup {
    let script = script.map_or_else(String::new, |script| format!("script-src '{}'; ", hash(script)));
    let policy = format!("default-src 'none'; {script}style-src '{}'; base-uri 'none'; form-action 'none'", hash(style));
    html! {
        meta charset="utf-8";
        meta http-equiv="Content-Security-Policy" content=(policy);
        meta name="viewport" content="width=device-width, initial-scale=1";
        title { (title) }
        style { (PreEscaped(style)) }
    }
}

fn top(contents: &Contents, survey: &Survey, names: &[&str], ids: &[String]) -> Markup {
    html! {
        header.top {
            h1 { (title(contents)) }
            p.files { "From " (contents.files.iter().map(|file| in_a_line(file)).collect::<Vec<_>>().join(", ")) ". " (counts(survey)) }
            (controls(contents.sources, names))
        }
        (contents_list(contents, survey, names, ids))
    }
}

/// What to know first: what to doubt, then what the rows say in a few sentences. `named`: the places of experiments.
fn message(contents: &Contents, survey: &Survey, said: &[Said], named: &[(&str, &String)]) -> Markup {
    let findings = findings(survey, contents, said);
    let place = |name: &str| named.iter().find(|(own, _)| *own == name).map(|(_, id)| format!("#{id}"));
    html! {
        @if let Some(words) = banner(survey) { p.note.banner { (parts::lines(&words)) } }
        @for note in contents.notes { p.note { (parts::lines(note)) } }
        @if !findings.is_empty() {
            section #findings {
                h2 { "In short" }
                dl {
                    @for Finding { lead, text, experiment } in &findings {
                        dt { (lead) }
                        dd {
                            (in_a_line(text))
                            @if let Some(place) = experiment.as_deref().and_then(place) { " " a href=(place) { "See it" } }
                        }
                    }
                }
            }
        }
    }
}

/// What is said of all rows.
fn overview(contents: &Contents, survey: &Survey) -> Markup {
    html! {
        (compared(contents.comparisons, contents.sources))
        @if !contents.machines.is_empty() {
            section #machines {
                h2 { "Machines" }
                div.prose { (PreEscaped(prose::unlinked(contents.machines))) }
            }
        }
        div class=[(contents.sources.len() == 1 && !survey.rooflines.is_empty()).then_some("beside")] {
            (cards(contents))
            (roofline_section(&survey.rooflines, contents.sources))
        }
        @if let Some(examined) = contents.examined { (machine(examined)) }
        @if let Some(clocks) = &survey.clocks {
            section #clocks {
                h2 { "Clocks" }
                div.figures { (parts::figure(clocks, contents.sources)) }
            }
        }
    }
}

fn bottom(header: &Header) -> io::Result<Markup> {
    Ok(html! {
        footer {
            p { "Made by lanescope " (env!("CARGO_PKG_VERSION")) ". The rows are in this page: save them to look further." }
            p {
                "How to read it: " code { "lanescope guide page" } ", " code { "lanescope guide trust" } " (flags), "
                code { "lanescope guide columns" } "."
            }
        }
        script type="text/plain" id="header" { (kept::header_line(header)?) }
        div #tip role="status" hidden {}
        script { (PreEscaped(SCRIPT)) }
    })
}

/// How a content policy names a script or a style that stands in the page.
fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// The colours of pictures are those of the page's theme: the pictures' own where it is light.
fn themed() -> String {
    let rule = |(name, colour): &(&str, _)| {
        format!(
            ":root{{--{name}:light-dark({colour},var(--{name}-dark))}}\n.picture [fill=\"{colour}\"]{{fill:var(--{name})}}\n\
             .picture [stroke=\"{colour}\"]{{stroke:var(--{name})}}\n"
        )
    };
    THEMED.iter().map(rule).collect()
}

fn title(contents: &Contents) -> String {
    if !contents.comparisons.is_empty() {
        let words = |comparison: &Comparison| format!("{} compared with {}", comparison.names[1], comparison.names[0]);
        return in_a_line(&contents.comparisons.iter().map(words).collect::<Vec<_>>().join("; "));
    }
    match contents.sources {
        [] => "No rows".to_owned(),
        [one] => in_a_line(&one.label),
        [one, other] => format!("{} next to {}", in_a_line(&one.label), in_a_line(&other.label)),
        [first, others @ ..] => {
            let all = contents.sources.iter().map(|source| in_a_line(&source.label)).collect::<Vec<_>>().join(", ");
            if all.len() <= LONG_TITLE { all } else { format!("{} and {} others", in_a_line(&first.label), others.len()) }
        }
    }
}

/// How many rows there are, and how many of them are to be doubted or have no figure.
fn counts(survey: &Survey) -> String {
    let all: usize = survey.sources.iter().map(|source| source.rows.len()).sum();
    format!("{all} rows; {} bear a flag, {} failed.", survey.doubted, survey.failed.values().sum::<usize>())
}

fn controls(sources: &[Source], names: &[&str]) -> Markup {
    let families = grouped(names, |name| family(name));
    html! {
        form.controls hidden {
            label { "Find " input #find type="search" placeholder="name or word"; }
            label { "Family "
                select #family {
                    option value="" { "all" }
                    @for (family, _) in families { option value=(in_a_line(family)) { (in_a_line(family)) } }
                }
            }
            @if sources.len() > 1 {
                label { "Rows of "
                    select #source {
                        option value="" { "all" }
                        @for (place, source) in sources.iter().enumerate() { option value=(place) { (in_a_line(&source.label)) } }
                    }
                }
            }
            label { input #doubted type="checkbox" checked; " flagged rows" }
            button #theme type="button" { "Theme: as the system" }
            button #save-all type="button" { "Save all rows" }
            output #found role="status" {}
        }
    }
}

fn contents_list(contents: &Contents, survey: &Survey, names: &[&str], ids: &[String]) -> Markup {
    let entries: Vec<(&&str, &String)> = names.iter().zip(ids).collect();
    html! {
        nav aria-label="Contents" {
            ul {
                @let own = [
                    ("#compared", "Comparison", !contents.comparisons.is_empty()),
                    ("#machines", "Machines", !contents.machines.is_empty()),
                    ("#card", "Card", true),
                    ("#roofline", "Roofline", !survey.rooflines.is_empty()),
                    ("#machine", "Machine", contents.examined.is_some()),
                    ("#clocks", "Clocks", survey.clocks.is_some()),
                ];
                @for (place, name, _) in own.iter().filter(|(_, _, is_there)| *is_there) { li { a href=(place) { (name) } } }
                @for of_family in entries.chunk_by(|(one, _), (other, _)| family(one) == family(other)) {
                    li data-family=(in_a_line(family(of_family[0].0))) {
                        (in_a_line(family(of_family[0].0)))
                        ul {
                            @for (name, id) in of_family {
                                li { a href=(format!("#{id}")) { (in_a_line(name.split_once('/').map_or(**name, |(_, own)| own))) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cards(contents: &Contents) -> Markup {
    let of = |source: &Source| (source.label.clone(), Card::new(&source.rows, contents.limits));
    let cards: Vec<(String, Card)> = contents.sources.iter().map(of).collect();
    html! {
        section #card {
            h2 { "Card" }
            (parts::cards(&cards))
        }
    }
}

fn machine(examined: &Examined) -> Markup {
    html! {
        section #machine {
            h2 { "Machine" }
            @if examined.findings.is_empty() { p { "lanescope doctor found nothing wrong with it." } }
            ol {
                @for Wrong { name, what, evidence, advice } in &examined.findings {
                    li {
                        strong { (in_a_line(name)) } ": " (in_a_line(what)) " " (in_a_line(evidence)) " "
                        @if !advice.is_empty() { "To do: " (in_a_line(advice)) }
                    }
                }
            }
            table {
                @for Fact { about, is } in &examined.facts { tr { th scope="row" { (in_a_line(about)) } td { (in_a_line(is)) } } }
            }
        }
    }
}

/// What a comparison says: the answer, the largest changes as a picture, then the rest of its report.
fn compared(comparisons: &[Comparison], sources: &[Source]) -> Markup {
    if comparisons.is_empty() {
        return html! {};
    }
    html! {
        section #compared {
            h2 { "Comparison" }
            @for comparison in comparisons {
                @let [answer, rest] = answer_and_rest(comparison);
                @if comparisons.len() > 1 { h3 { (in_a_line(&format!("{} compared with {}", comparison.names[1], comparison.names[0]))) } }
                div.prose { (PreEscaped(prose::unlinked(&answer))) }
                @if let Some(picture) = ratios(comparison, sources.len()) {
                    (parts::wide_figure(&picture, sources))
                    @let (shown, known) = ratios::shown(comparison);
                    @if known > shown {
                        p.remark { "The " (shown) " largest differences of " (known) " cases; those that were decided come first." }
                    }
                }
                div.prose { (PreEscaped(prose::unlinked(&rest))) }
            }
        }
    }
}

fn roofline_section(pictures: &[Picture], sources: &[Source]) -> Markup {
    html! {
        @if !pictures.is_empty() {
            section #roofline {
                h2 { "Roofline" }
                p { "Every kernel that counts its operations and its bytes. None can be above a line that bounds it, as far as that was "
                    "measured (peak/summary); why one is far below isn't said by the picture." }
                @let figures = html! { div.figures { @for picture in pictures { (parts::figure(picture, sources)) } } };
                @if pictures.len() > MOST_ROOFLINES {
                    details { summary { (pictures.len()) " rooflines" } (figures) }
                } @else {
                    (figures)
                }
            }
        }
    }
}

/// What is shown of an experiment.
struct Shown {
    /// By what words it is found.
    words: String,
    /// The sources whose rows it shows.
    sources: BTreeSet<usize>,
    /// What its pictures and answers say.
    said: Said,
    inner: Markup,
}

fn experiment(name: &str, id: &str, shown: Shown, kept: &str) -> Markup {
    let sources = parts::sources(&shown.sources);
    html! {
        section.experiment id=(id) data-family=(in_a_line(family(name))) data-text=(shown.words) data-sources=(sources) {
            button.save type="button" hidden data-name=(format!("{id}.csv")) { "Save these rows" }
            (shown.inner)
            script.rows type="text/plain" { (kept) }
        }
    }
}

/// Whether what a search said speaks against its answer.
fn is_doubt(notes: &str) -> bool {
    ["Doubt:", "Wrong results:", "Correct it"].iter().any(|word| notes.contains(word))
}

fn tables(section: &Section, with_sources: bool) -> Markup {
    html! {
        div.tables {
            @for (name, rows) in section.tables() {
                @if !section.derived.is_empty() {
                    h3 { (in_a_line(name)) @if name != section.name { small { "follows from these rows" } } }
                }
                (parts::table(rows, with_sources))
            }
        }
    }
}

fn words(section: &Section, rows: &[&Row]) -> String {
    let mut variants: Vec<&str> = rows.iter().map(|row| row.record.variant.as_str()).collect();
    variants.sort_unstable();
    variants.dedup();
    let summary = section.text.map_or("", |text| text.summary);
    in_a_line(&[section.name, summary, &variants.join(" ")].join(" ").to_lowercase())
}

fn shown(section: &Section, id: &str, sources: &[Source]) -> Shown {
    let with_sources = sources.len() > 1;
    let all: Vec<&Row> = section.tables().flat_map(|(_, rows)| rows).collect();
    // Two figures stand side by side: beside the last of an odd number there is room.
    let figures = section.shown().count();
    let is_open = figures == 0 || all.len() <= if figures % 2 == 1 { FEW_ROWS_BESIDE } else { FEW_ROWS };
    let summary = section.text.map_or("", |text| text.summary);
    let inner = html! {
        h2 { a href=(format!("#{id}")) { (in_a_line(section.name)) } @if !summary.is_empty() { small { (summary) } } }
        @if let Some(text) = section.text {
            details.prose { summary { "What it measures, and how to read it" } (PreEscaped(prose::rendered(text.body))) }
        }
        @for (row, tuned) in &section.tuned {
            @let of = [Some(row.label).filter(|_| with_sources), Some(tuned.of.as_str())];
            @let of: Vec<&str> = of.into_iter().flatten().filter(|of| !of.is_empty()).collect();
            @if !of.is_empty() { h3 data-source=(row.source) { (in_a_line(&of.join(", "))) } }
            @if tuned.is_kept { p data-source=(row.source) { (in_a_line(&tuned.in_short)) } }
            @if !tuned.answer.is_empty() { pre data-source=(row.source) { (parts::lines(&tuned.answer)) } }
            @if !tuned.notes.is_empty() {
                p class=[is_doubt(&tuned.notes).then_some("note")] data-source=(row.source) { (parts::lines(&tuned.notes)) }
            }
        }
        div.figures {
            @for picture in section.shown() { (parts::figure(picture, sources)) }
            @if all.len() == 1 {
                div.table { (tables(section, with_sources)) }
            } @else {
                details.table open[is_open] { summary { "Rows (" (all.len()) ")" } (tables(section, with_sources)) }
            }
        }
        @if section.pictures.left_out > 0 {
            p.remark { "Figures that are left out here, and drawn by lanescope report --figures: " (section.pictures.left_out) "." }
        }
        @if section.pictures.too_large > 0 {
            p.remark { "The rows have more names than a figure can show: see the table." }
        }
    };
    let conclusions = section.shown().filter_map(|picture| {
        let title = if with_sources { picture.title(sources) } else { picture.chart.title.clone() };
        Some((title, picture.conclusion.clone()?))
    });
    let answers = section.tuned.iter().map(|(row, tuned)| {
        let of = [Some(row.label).filter(|_| with_sources), Some(tuned.of.as_str())].into_iter().flatten();
        (of.filter(|of| !of.is_empty()).collect::<Vec<_>>().join(", "), tuned.in_short.clone())
    });
    let doubts = section.tuned.iter().map(|(_, tuned)| &tuned.notes).filter(|notes| is_doubt(notes)).cloned().collect();
    let said =
        Said { experiment: section.name.to_owned(), conclusions: conclusions.collect(), answers: answers.collect(), doubts };
    Shown { words: words(section, &all), sources: all.iter().map(|row| row.source).collect(), said, inner }
}
