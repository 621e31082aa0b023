//! Parts that stand in several places of the page: pictures, tables, cards.

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};

use super::super::Source;
use super::super::chart::Chart;
use super::super::charts::Picture;
use super::super::draw::{Medium, svg, svg_of_width};
use super::super::figures::is_doubted;
use super::super::sweep::{Row, grouped};
use crate::analysis::Card;
use crate::output::{Page, card_labels, in_a_line, legible, row_table};

/// Rows of a table that are shown; all are in the file that the page can save.
const SHOWN_ROWS: usize = 200;

/// A text of several lines, in which what strangers wrote changes nothing beyond itself: neither colours nor directions.
pub fn lines(text: &str) -> String {
    legible(text, Page::FILE)
}

/// A picture with what it is of and says, and of which source where there are several.
pub fn figure(picture: &Picture, all: &[Source]) -> Markup {
    html! {
        figure data-sources=(sources(&picture.sources)) {
            (caption(picture, all))
            div.picture tabindex="0" { (PreEscaped(svg(&picture.chart, Medium::Page))) }
        }
    }
}

/// The same for a picture that carries the message: as wide as the page, and once more as wide as a phone.
pub fn wide_figure(picture: &Picture, all: &[Source]) -> Markup {
    html! {
        figure data-sources=(sources(&picture.sources)) { (caption(picture, all)) (both(&picture.chart)) }
    }
}

/// A picture by itself, with what it is of.
pub fn picture(chart: &Chart) -> Markup {
    html! { figure { figcaption { (in_a_line(&chart.title)) } (both(chart)) } }
}

fn caption(picture: &Picture, all: &[Source]) -> Markup {
    let title = if all.len() > 1 { picture.title(all) } else { picture.chart.title.clone() };
    html! {
        figcaption {
            (in_a_line(&title))
            @if let Some(conclusion) = &picture.conclusion { span.says { (in_a_line(&conclusion.text)) } }
        }
    }
}

/// How wide a picture is that has a page's width, and one that has a phone's, in pixels.
const PAGE: f64 = 1080.0;
const PHONE: f64 = 400.0;

fn both(chart: &Chart) -> Markup {
    html! {
        @for (class, width) in [("picture on-page", PAGE), ("picture on-phone", PHONE)] {
            div class=(class) tabindex="0" { (PreEscaped(svg_of_width(chart, Medium::Page, width))) }
        }
    }
}

/// The places of sources, as the script reads them.
pub fn sources(places: &BTreeSet<usize>) -> String {
    places.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}

/// The rows that are shown: as many of each source.
fn shown<'r>(rows: &[Row<'r>]) -> Vec<Row<'r>> {
    let by_source = grouped(rows.iter().copied(), |row| row.source);
    let room = SHOWN_ROWS.div_ceil(by_source.len().max(1));
    by_source.into_iter().flat_map(|(_, rows)| rows.into_iter().take(room)).collect()
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
    let (constant, table) = row_table(&records, &[]);
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
    let labels = card_labels(cards.iter().map(|(_, card)| card));
    let fact = |card: &Card, label: &str| card.facts.iter().find(|(own, _)| *own == label).map(|(_, text)| text.clone());
    html! {
        div.scroll {
            table.card class=[(cards.len() > 1).then_some("several")] {
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
                                td data-source=(place) data-of=(in_a_line(&cards[place].0)) { (lines(&fact(card, label).unwrap_or_default())) }
                            }
                        }
                    }
                    tr {
                        th scope="row" { "trust" }
                        @for (place, (_, card)) in cards.iter().enumerate() {
                            td data-source=(place) data-of=(in_a_line(&cards[place].0)) { @for line in &card.trust { p { (lines(line)) } } }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AxisValue, Point};
    use crate::record::Record;

    /// The rows of every source are seen, however many the first one has, and what is said of all rows holds for all.
    #[test]
    fn some_rows_of_each_source_are_shown() {
        let record = |number: u64| {
            let op = AxisValue::Choice(if number < 250 { "read" } else { "copy" }.into());
            let mut record = Record { experiment: "memory/stream".into(), status: "ok".into(), ..Record::new() };
            record = record.at(&Point::new([("n".into(), number.into()), ("op".into(), op), ("width".into(), 4_u64.into())]));
            record
        };
        let records: Vec<Record> = (0..300).map(record).collect();
        let labels = ["one", "two"];
        let of = |source: usize| records.iter().map(move |record| Row { source, label: labels[source], record });
        let text = table(&of(0).chain(of(1)).collect::<Vec<_>>(), true).into_string();
        assert!([0, 1].iter().all(|source| text.matches(&format!("<tr data-source=\"{source}\"")).count() == 100), "{text}");
        assert!(text.contains("In all of these rows: <code>width=4<"), "fifty are copies: {text}");
        assert!(text.contains("In the rows that are shown: <code>op=read<"), "{text}");
    }
}
