//! Parts that stand in several places of the page: pictures, tables, cards.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, PreEscaped, html};

use super::super::Source;
use super::super::chart::Chart;
use super::super::charts::Picture;
use super::super::draw::{Place, svg};
use super::super::figures::is_doubted;
use super::super::sweep::Row;
use crate::analysis::Card;
use crate::output::{Page, in_a_line, legible, row_table};

/// Rows of a table that are shown; all are in the file that the page can save.
const SHOWN_ROWS: usize = 200;

/// A text of several lines, in which what strangers wrote changes nothing beyond itself: neither colours nor directions.
pub fn lines(text: &str) -> String {
    legible(text, Page::FILE)
}

/// A picture with what it is of, and of which source where there are several.
pub fn figure(picture: &Picture, all: &[Source]) -> Markup {
    let title = if all.len() > 1 { picture.title(all) } else { picture.chart.title.clone() };
    html! {
        figure data-sources=(sources(&picture.sources)) {
            figcaption { (in_a_line(&title)) }
            div.picture tabindex="0" { (drawn(&picture.chart)) }
        }
    }
}

fn drawn(chart: &Chart) -> PreEscaped<String> {
    PreEscaped(svg(chart, Place::Page))
}

/// The places of sources, as the script reads them.
pub fn sources(places: &BTreeSet<usize>) -> String {
    places.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}

/// The rows that are shown: as many of each source.
fn shown<'r>(rows: &[Row<'r>]) -> Vec<Row<'r>> {
    let sources: BTreeSet<usize> = rows.iter().map(|row| row.source).collect();
    let mut room: BTreeMap<usize, usize> = sources.iter().map(|source| (*source, SHOWN_ROWS.div_ceil(sources.len()))).collect();
    let mut has_room = |row: &&Row| {
        room.get_mut(&row.source).is_some_and(|left| {
            let has_room = *left > 0;
            *left = left.saturating_sub(1);
            has_room
        })
    };
    rows.iter().filter(|row| has_room(row)).copied().collect()
}

/// Whether all rows have what the shown ones have on an axis, as in `name=value`.
fn holds_for_all(constant: &str, rows: &[Row]) -> bool {
    let Some((axis, value)) = constant.split_once('=') else { return false };
    rows.iter().all(|row| row.record.by_axis.get(axis).is_some_and(|own| own.to_string() == value))
}

/// The table of an experiment's rows: what people see of them, and whose they are where there are several sources.
pub fn table(rows: &[Row], with_sources: bool) -> Markup {
    let shown = shown(rows);
    let records: Vec<_> = shown.iter().map(|row| row.record.clone()).collect();
    let (constant, table) = row_table(&records);
    let (of_all, of_shown): (Vec<String>, Vec<String>) =
        constant.into_iter().partition(|constant| holds_for_all(constant, rows));
    let columns: Vec<(&str, bool, Vec<&str>)> = table.columns().collect();
    html! {
        @for (whose, constant) in [("In all of these rows: ", of_all), ("In the rows that are shown: ", of_shown)] {
            @if !constant.is_empty() { p.constant { (whose) code { (in_a_line(&constant.join(", "))) } } }
        }
        div.scroll {
            table.rows {
                thead {
                    tr {
                        @if with_sources { th scope="col" { "rows of" } }
                        @for (title, is_number, _) in &columns {
                            th scope="col" class=[is_number.then_some("number")] { (title) }
                        }
                    }
                }
                tbody {
                    @for (place, row) in shown.iter().enumerate() {
                        tr data-source=(row.source) class=[is_doubted(row.record).then_some("doubted")] {
                            @if with_sources { td { (in_a_line(row.label)) } }
                            @for (_, is_number, cells) in &columns {
                                td class=[is_number.then_some("number")] { (cells[place]) }
                            }
                        }
                    }
                }
            }
        }
        @if rows.len() > shown.len() {
            p.remark { (shown.len()) " of " (rows.len()) " rows are shown. Save the rows to have all of them." }
        }
    }
}

/// The cards of sources, a column for each.
pub fn cards(cards: &[(String, Card)]) -> Markup {
    let mut labels: Vec<&str> = Vec::new();
    for (label, _) in cards.iter().flat_map(|(_, card)| &card.facts) {
        if !labels.contains(label) {
            labels.push(label);
        }
    }
    let fact = |card: &Card, label: &str| card.facts.iter().find(|(own, _)| *own == label).map(|(_, text)| text.clone());
    html! {
        div.scroll {
            table.card {
                thead {
                    tr {
                        th {}
                        @for (place, (label, card)) in cards.iter().enumerate() {
                            th scope="col" data-source=(place) {
                                (in_a_line(label))
                                @if *label != card.device { small { (in_a_line(&card.device)) } }
                                small { (in_a_line(&card.driver)) }
                            }
                        }
                    }
                }
                tbody {
                    @for label in labels {
                        tr {
                            th scope="row" { (label) }
                            @for (place, (_, card)) in cards.iter().enumerate() {
                                td data-source=(place) { (lines(&fact(card, label).unwrap_or_default())) }
                            }
                        }
                    }
                    tr {
                        th scope="row" { "trust" }
                        @for (place, (_, card)) in cards.iter().enumerate() {
                            td data-source=(place) { @for line in &card.trust { p { (lines(line)) } } }
                        }
                    }
                }
            }
        }
    }
}
