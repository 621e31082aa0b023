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
use super::ratios::{MOST_RATIOS, ratios};
use super::sections::{Outline, Section, Slugs, family};
use super::survey::Survey;
use super::sweep::{Row, grouped};
use super::{Contents, Source};
use crate::analysis::Card;
use crate::analysis::compare::Comparison;
use crate::output::{self, Style, comparison_text, in_a_line};
use crate::record::Header;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the page calls its own places.
const OWN_IDS: [&str; 13] = [
    "card", "compared", "doubted", "family", "find", "found", "header", "roofline", "save-all", "seen", "source", "theme",
    "tip",
];

/// From so few rows on, a table is open from the beginning.
const FEW_ROWS: usize = 8;

/// The page of rows.
pub fn page(contents: &Contents) -> io::Result<String> {
    let survey = Survey::of(contents.sources);
    let header = Header::new(survey.axes.iter().cloned());
    let outline = Outline::new(&survey);
    let mut slugs = Slugs::beside(&OWN_IDS);
    let ids: Vec<String> = outline.names().iter().map(|name| slugs.of(name)).collect();
    let mut page = format!("{}<html lang=\"en\">{}<body>", DOCTYPE.0, head(contents.sources).0);
    page += &top(contents, &survey, outline.names(), &ids).0;
    page += "<main>";
    page += &overview(contents, &survey).0;
    let named = || outline.names().iter().copied().zip(&ids);
    let mut kept = Ok(Vec::new());
    // Compressing all rows takes longer than showing them.
    let shown: Vec<Shown> = rayon::in_place_scope(|scope| {
        scope.spawn(|_| kept = outline.names().par_iter().map(|name| kept::rows(&header, outline.rows(name))).collect());
        named().map(|(name, id)| outline.show(name, MOST_PICTURES, |section| shown(section, id, contents.sources))).collect()
    });
    for (((name, id), shown), kept) in named().zip(shown).zip(kept?) {
        page += &experiment(name, id, shown, &kept).0;
    }
    page += "</main>";
    page += &bottom(&header)?.0;
    page += "</body></html>";
    Ok(page)
}

fn head(sources: &[Source]) -> Markup {
    html! { head { (style_of(&title(sources), &format!("{STYLE}{}", themed()), Some(SCRIPT))) } }
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
            h1 { (title(contents.sources)) }
            p.files { "From " (contents.files.iter().map(|file| in_a_line(file)).collect::<Vec<_>>().join(", ")) ". " (counts(survey)) }
            (controls(contents.sources, names))
        }
        (contents_list(contents, !survey.rooflines.is_empty(), names, ids))
    }
}

/// What is said of all rows.
fn overview(contents: &Contents, survey: &Survey) -> Markup {
    html! {
        @for note in contents.notes { p.note { (parts::lines(note)) } }
        (cards(contents))
        (compared(contents.comparisons, contents.sources))
        (roofline_section(&survey.rooflines, contents.sources))
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

fn title(sources: &[Source]) -> String {
    let labels: Vec<String> = sources.iter().map(|source| in_a_line(&source.label)).collect();
    if labels.is_empty() { "No rows".to_owned() } else { labels.join(" next to ") }
}

/// How many rows there are, and how many of them are to be doubted or have no figure.
fn counts(survey: &Survey) -> String {
    let all: usize = survey.sources.iter().map(|source| source.rows.len()).sum();
    format!("{all} rows; {} bear a flag, {} failed.", survey.doubted, survey.failed)
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

fn contents_list(contents: &Contents, has_roofline: bool, names: &[&str], ids: &[String]) -> Markup {
    let entries: Vec<(&&str, &String)> = names.iter().zip(ids).collect();
    html! {
        nav aria-label="Contents" {
            ul {
                li { a href="#card" { "Card" } }
                @if !contents.comparisons.is_empty() { li { a href="#compared" { "Comparison" } } }
                @if has_roofline { li { a href="#roofline" { "Roofline" } } }
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

/// What a comparison says: the largest changes as a picture, then its report.
fn compared(comparisons: &[Comparison], sources: &[Source]) -> Markup {
    if comparisons.is_empty() {
        return html! {};
    }
    html! {
        section #compared {
            h2 { "Comparison" }
            @for comparison in comparisons {
                @if let Some(picture) = ratios(comparison, sources.len()) {
                    div.figures.wide { (parts::figure(&picture, sources)) }
                    @let known = comparison.cases.iter().filter(|case| case.effect().is_some()).count();
                    @if known > MOST_RATIOS {
                        p.remark { "The " (MOST_RATIOS) " largest changes of " (known) " cases; those that are sure come first." }
                    }
                }
                @let one = std::slice::from_ref(comparison);
                @let report = output::Report { comparisons: one, failures: &[], unjudged: &[], is_whole: false };
                div.prose { (PreEscaped(prose::unlinked(&comparison_text(&report, Style::Markdown)))) }
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
                    "measured (peak/summary); why one is far below isn't said by the picture. Without lines, no peak was measured." }
                div.figures.wide { @for picture in pictures { (parts::figure(picture, sources)) } }
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
    inner: Markup,
}

fn experiment(name: &str, id: &str, shown: Shown, kept: &str) -> Markup {
    let sources = parts::sources(&shown.sources);
    html! {
        section.experiment id=(id) data-family=(in_a_line(family(name))) data-text=(shown.words) data-sources=(sources) {
            (shown.inner)
            button.save type="button" hidden data-name=(format!("{id}.csv")) { "Save these rows" }
            script.rows type="text/plain" { (kept) }
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
    let is_open = section.shown().next().is_none() || all.len() <= FEW_ROWS;
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
            pre data-source=(row.source) { (parts::lines(&tuned.answer)) }
        }
        div.figures { @for picture in section.shown() { (parts::figure(picture, sources)) } }
        @if section.pictures.left_out > 0 {
            p.remark { "Figures that are left out here, and drawn by lanescope report --figures: " (section.pictures.left_out) "." }
        }
        @if section.pictures.too_large > 0 {
            p.remark { "The rows have more names than a figure can show: see the table." }
        }
        details.table open[is_open] {
            summary { "Rows (" (all.len()) ")" }
            @for (name, rows) in section.tables() {
                @if !section.derived.is_empty() { h3 { (in_a_line(name)) @if name != section.name { small { "follows from these rows" } } } }
                (parts::table(rows, with_sources))
            }
        }
    };
    Shown { words: words(section, &all), sources: all.iter().map(|row| row.source).collect(), inner }
}
