//! The page: one file that needs nothing else, and fetches nothing.
//!
//! All that it shows is in its HTML: it works, prints and can be searched without a script. The script adds what a page can't do by
//! itself: values where one points at them, filters, sorting, themes, saving rows.

mod kept;
mod parts;
mod prose;

use std::collections::BTreeSet;
use std::io;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::charts::{MOST_PICTURES, Picture};
use super::draw::palette::THEMED;
use super::ratios::{MOST_RATIOS, ratios};
use super::roofline::rooflines;
use super::sections::{Section, Slugs, sections};
use super::sweep::{Row, grouped};
use super::{Contents, Source};
use crate::analysis::Card;
use crate::analysis::compare::Comparison;
use crate::model::Status;
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
    let sources = contents.sources;
    let header = Header::new(sources.iter().flat_map(|source| &source.rows).flat_map(|row| row.by_axis.keys().cloned()));
    let sections = sections(sources, MOST_PICTURES);
    let mut slugs = Slugs::beside(&OWN_IDS);
    let ids: Vec<String> = sections.iter().map(|section| slugs.of(section.name)).collect();
    let rooflines = rooflines(sources);
    let style = format!("{STYLE}{}", themed());
    let body = html! {
        header.top {
            h1 { (title(sources)) }
            p.files { "From " (contents.files.iter().map(|file| in_a_line(file)).collect::<Vec<_>>().join(", ")) ". " (counts(sources)) }
            (controls(sources, &sections))
        }
        (contents_list(contents, !rooflines.is_empty(), &sections, &ids))
        main {
            @for note in contents.notes { p.note { (parts::lines(note)) } }
            (cards(contents))
            (compared(contents.comparisons, sources))
            (roofline_section(&rooflines, sources))
            @for (section, id) in sections.iter().zip(&ids) {
                (experiment(section, id, sources, &header)?)
            }
        }
        footer {
            p { "Made by lanescope " (env!("CARGO_PKG_VERSION")) ". The rows are in this page: save them to look further." }
            p {
                "How to read it: " code { "lanescope guide page" } ", " code { "lanescope guide trust" } " (flags), "
                code { "lanescope guide columns" } "."
            }
        }
        script type="text/plain" id="header" { (kept::header_line(&header)?) }
        div #tip role="status" hidden {}
        script { (PreEscaped(SCRIPT)) }
    };
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(&style)
    );
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title(sources)) }
                style { (PreEscaped(&style)) }
            }
            body { (body) }
        }
    };
    Ok(document.into_string())
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
fn counts(sources: &[Source]) -> String {
    let rows = || sources.iter().flat_map(|source| &source.rows);
    let failed = rows().filter(|row| Status::named(&row.status).is_some_and(Status::is_failure)).count();
    let flagged = rows().filter(|row| super::figures::is_doubted(row)).count();
    format!("{} rows; {flagged} bear a flag, {failed} failed.", rows().count())
}

fn controls(sources: &[Source], sections: &[Section]) -> Markup {
    let families = grouped(sections, |section| section.family());
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

fn contents_list(contents: &Contents, has_roofline: bool, sections: &[Section], ids: &[String]) -> Markup {
    let entries: Vec<(&Section, &String)> = sections.iter().zip(ids).collect();
    html! {
        nav aria-label="Contents" {
            ul {
                li { a href="#card" { "Card" } }
                @if !contents.comparisons.is_empty() { li { a href="#compared" { "Comparison" } } }
                @if has_roofline { li { a href="#roofline" { "Roofline" } } }
                @for of_family in entries.chunk_by(|(one, _), (other, _)| one.family() == other.family()) {
                    li data-family=(in_a_line(of_family[0].0.family())) {
                        (in_a_line(of_family[0].0.family()))
                        ul {
                            @for (section, id) in of_family {
                                li { a href=(format!("#{id}")) { (in_a_line(section.name.split_once('/').map_or(section.name, |(_, name)| name))) } }
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
                @let report = output::Report { comparisons: one, failures: &[], is_whole: false };
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

fn experiment(section: &Section, id: &str, sources: &[Source], header: &Header) -> io::Result<Markup> {
    let with_sources = sources.len() > 1;
    let tables = section.derived.iter().map(|(name, rows)| (*name, rows.as_slice()));
    let tables: Vec<(&str, &[Row])> = std::iter::once((section.name, section.rows.as_slice())).chain(tables).collect();
    let all = || tables.iter().flat_map(|(_, rows)| rows.iter());
    let kept = kept::rows(header, all().map(|row| row.record))?;
    let mut words: Vec<&str> = all().map(|row| row.record.variant.as_str()).collect();
    words.sort_unstable();
    words.dedup();
    let summary = section.text.map_or("", |text| text.summary);
    let search = [section.name, summary, &words.join(" ")].join(" ").to_lowercase();
    let of_rows: BTreeSet<usize> = all().map(|row| row.source).collect();
    let is_open = section.shown().next().is_none() || all().count() <= FEW_ROWS;
    Ok(html! {
        section.experiment id=(id) data-family=(in_a_line(section.family())) data-text=(in_a_line(&search)) data-sources=(parts::sources(&of_rows)) {
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
                summary { "Rows (" (all().count()) ")" }
                @for (name, rows) in &tables {
                    @if tables.len() > 1 { h3 { (in_a_line(name)) @if *name != section.name { small { "follows from these rows" } } } }
                    (parts::table(rows, with_sources))
                }
            }
            button.save type="button" hidden data-name=(format!("{id}.csv")) { "Save these rows" }
            script.rows type="text/plain" { (kept) }
        }
    })
}
