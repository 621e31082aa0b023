//! Parts that stand in several places of the page: pictures, tables, cards.

use maud::{Markup, PreEscaped, html};

use super::super::chart::Chart;
use super::super::charts::Picture;
use super::super::draw::{Place, svg};
use super::super::figures::is_doubted;
use super::super::sweep::Row;
use crate::analysis::Card;
use crate::output::{in_a_line, row_table};

/// Rows of a table that are shown; all are in the file that the page can save.
const SHOWN_ROWS: usize = 200;

/// A picture with what it is of.
pub fn figure(picture: &Picture) -> Markup {
    html! {
        figure data-sources=(sources(picture)) {
            figcaption { (in_a_line(&picture.chart.title)) }
            div.picture tabindex="0" { (drawn(&picture.chart)) }
        }
    }
}

fn drawn(chart: &Chart) -> PreEscaped<String> {
    PreEscaped(svg(chart, Place::Page))
}

fn sources(picture: &Picture) -> String {
    picture.sources.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}

/// The table of an experiment's rows: what people see of them, and whose they are where there are several sources.
pub fn table(rows: &[Row], with_sources: bool) -> Markup {
    let shown = &rows[..rows.len().min(SHOWN_ROWS)];
    let records: Vec<_> = shown.iter().map(|row| row.record.clone()).collect();
    let (constant, table) = row_table(&records);
    let columns: Vec<(&str, bool, Vec<&str>)> = table.columns().collect();
    html! {
        @if !constant.is_empty() { p.constant { "In all of these rows: " code { (in_a_line(&constant.join(", "))) } } }
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
                                td data-source=(place) { (fact(card, label).unwrap_or_default()) }
                            }
                        }
                    }
                    tr {
                        th scope="row" { "trust" }
                        @for (place, (_, card)) in cards.iter().enumerate() {
                            td data-source=(place) { @for line in &card.trust { p { (line) } } }
                        }
                    }
                }
            }
        }
    }
}
