//! The card as text: what devices are, a column for each.

use std::io::{self, Write};

use super::Writer;
use super::page::Page;
use super::text_table::{Cell, Column, Need, TextTable};
use super::tone::{in_a_line, legible};
use crate::analysis::Card;
use crate::model::Published;
use crate::record::{Packed, Record};

/// Gathers rows, and writes their card at the end.
pub struct CardWriter<W> {
    out: W,
    /// Files that hold the rows as well.
    files: Vec<String>,
    page: Page,
    limits: Option<Published>,
    /// The rows of each device by what it is told by, in the order in which devices first come.
    devices: Vec<([String; 3], Vec<Packed>)>,
}

impl<W: Write> CardWriter<W> {
    pub fn new(out: W, files: Vec<String>, page: Page, limits: Option<Published>) -> Self {
        Self { out, files, page, limits, devices: Vec::new() }
    }
}

impl<W: Write> Writer for CardWriter<W> {
    fn write(&mut self, record: &Record) -> io::Result<()> {
        let key = [&record.device_uuid, &record.driver_uuid, &record.driver_info];
        match self.devices.iter_mut().find(|(own, _)| own.iter().eq(key)) {
            Some((_, rows)) => rows.push(Packed::new(record)),
            None => self.devices.push((key.map(String::clone), vec![Packed::new(record)])),
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        let cards: Vec<Card> = self.devices.iter().map(|(_, rows)| Card::new(rows, self.limits.as_ref())).collect();
        let text = if cards.is_empty() { "No rows.\n".to_owned() } else { shown(&cards, &self.files, self.page) };
        self.out.write_all(legible(&text, self.page).as_bytes())?;
        self.out.flush()
    }
}

/// The cards side by side, where the rows are, and what to try next.
fn shown(cards: &[Card], files: &[String], page: Page) -> String {
    let between = if cards.len() == 1 { ", " } else { "\n" };
    let heads = cards.iter().map(|card| {
        let is_alone = cards.iter().filter(|other| (&other.device, &other.driver) == (&card.device, &card.driver)).count() == 1;
        let which = if is_alone { String::new() } else { format!(" ({}...)", in_a_line(&card.uuid)) };
        let between = if card.driver.starts_with('(') { " " } else { between };
        Column::words([in_a_line(&card.device), which, between.to_owned(), in_a_line(&card.driver)].concat(), Need::Central)
    });
    let mut table =
        TextTable::new([Column::words("", Need::Key)].into_iter().chain(heads)).whole_in("a wider terminal has them");
    for label in card_labels(cards) {
        let fact = |card: &Card| {
            let own = card.facts.iter().find(|(own, _)| *own == label);
            own.map_or_else(String::new, |(_, text)| text.clone())
        };
        table.row(std::iter::once(label.to_owned()).chain(cards.iter().map(fact)));
    }
    let trust = cards.iter().map(|card| Cell::of_lines(&card.trust.join("\n")));
    table.row(std::iter::once(Cell::from("trust")).chain(trust));
    let mut text = table.fitted(page);
    let rows = match files {
        [] => "nowhere: -o FILE.csv keeps them".to_owned(),
        [file] => in_a_line(file),
        [first, others @ ..] => format!("{} and {} more", in_a_line(first), others.len()),
    };
    text += &format!("\nrows: {rows}\n");
    for command in next(cards, files) {
        text += &format!("next: {command}\n");
    }
    text
}

/// The labels of all cards, each once, in the order in which a card has them.
pub fn card_labels<'c>(cards: impl IntoIterator<Item = &'c Card>) -> Vec<&'static str> {
    let mut labels: Vec<&'static str> = Vec::new();
    for card in cards {
        let mut place = 0;
        for (label, _) in &card.facts {
            match labels.iter().position(|known| known == label) {
                Some(known) => place = known + 1,
                None => {
                    labels.insert(place, label);
                    place += 1;
                }
            }
        }
    }
    labels
}

/// Two commands that say more.
fn next(cards: &[Card], files: &[String]) -> [String; 2] {
    let better = if cards.iter().any(|card| card.is_doubtful) {
        "lanescope run memory/stream --preset thorough -o stream.csv  # for longer"
    } else {
        "lanescope run memory/stream -o stream.csv  # one experiment, whole sweep"
    };
    let more = match files.first() {
        Some(_) => "lanescope describe memory/stream  # what it measures, how to read it".to_owned(),
        None => "lanescope run -o rows.csv --tables  # every figure, and a file of them".to_owned(),
    };
    [better.to_owned(), more]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(device: &str, facts: &[(&'static str, &str)], is_doubtful: bool) -> Card {
        Card {
            device: device.to_owned(),
            uuid: "0123abcd".to_owned(),
            driver: "a driver (discrete)".to_owned(),
            facts: facts.iter().map(|(label, text)| (*label, (*text).to_owned())).collect(),
            trust: vec!["2 cases measured, 2 checked; median noise 0.1 %".to_owned()],
            is_doubtful,
        }
    }

    #[test]
    fn devices_stand_side_by_side() {
        let cards = [
            card("one", &[("fp32", "1 GFLOP/s"), ("subgroup", "8 invocations")], false),
            card("another", &[("fp32", "2 GFLOP/s"), ("fp64", "1 GFLOP/s")], true),
        ];
        insta::assert_snapshot!(shown(&cards, &["rows.csv".to_owned()], Page { width: 80, ..Page::FILE }), @"
                    one                            another
                    a driver (discrete)            a driver (discrete)
        ────────────────────────────────────────────────────────────────────────
         fp32       1 GFLOP/s                      2 GFLOP/s
         fp64                                      1 GFLOP/s
         subgroup   8 invocations
         trust      2 cases measured, 2 checked;   2 cases measured, 2 checked;
                    median noise 0.1 %             median noise 0.1 %

        rows: rows.csv
        next: lanescope run memory/stream --preset thorough -o stream.csv  # for longer
        next: lanescope describe memory/stream  # what it measures, how to read it
        ");
        assert_eq!(card_labels(&cards), ["fp32", "fp64", "subgroup"]);
    }

    #[test]
    fn devices_of_one_name_are_told_apart() {
        let cards = [card("one", &[], false), card("one", &[], false)];
        assert_eq!(shown(&cards, &[], Page { width: 80, ..Page::FILE }).matches("one (0123abcd...)").count(), 2);
    }

    #[test]
    fn a_card_is_at_most_25_lines() {
        let labels = "fp32 fp16 fp64 int32 dot matrix read copy shared caches clock workgroups dispatch barrier transfer";
        let facts: Vec<_> = labels.split(' ').map(|label| (label, "66.45 TFLOP/s, 100 % of its limit")).collect();
        let mut card = card("NVIDIA H100 80GB HBM3", &facts, true);
        card.trust.push("141 of 155 cases bear the flag contended: other programs took the processor: run it again".to_owned());
        let text = shown(&[card], &["rows.csv".to_owned()], Page { width: 80, ..Page::FILE });
        assert!(text.lines().count() <= 25, "{text}");
    }

    #[test]
    fn nothing_is_wider_than_asked_for() {
        let long = "23.6 ns in 16 KiB, 135 ns in 512 KiB, 147 ns in 8 MiB, 326 ns in 256 MiB";
        let cards = [card("one", &[("latency", long)], false), card("another", &[("latency", long)], false)];
        for width in [60, 80, 120] {
            let text = shown(&cards, &[], Page { width, ..Page::FILE });
            let grid = text.split("\nrows: ").next().unwrap_or_default();
            assert!(grid.lines().all(|line| line.chars().count() <= usize::from(width)), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80 || width > 80), "{text}");
        }
    }
}
