//! A text in the making, for a page or as Markdown.

use super::super::lines::broken;
use super::super::table::Style;
use super::super::text_table::{TextTable, remark};
use super::super::tone::{Tone, in_a_line, in_lines};

/// From so many rows on, a table is folded in Markdown: who reads a pull request wants the answer.
const FOLDED: usize = 12;

/// A text in the making.
pub struct Sheet {
    style: Style,
    text: String,
}

impl Sheet {
    /// An empty one.
    pub fn new(style: Style) -> Self {
        Self { style, text: String::new() }
    }

    pub fn text(self) -> String {
        format!("{}\n", self.text.trim_end())
    }

    /// A heading; there may be several.
    pub fn heading(&mut self, words: &str) {
        self.space();
        let words = in_a_line(words);
        self.text += &match self.style {
            Style::Text(page) => Tone::Plain.paragraph(&words, page),
            Style::Markdown => format!("### {words}\n\n"),
        };
    }

    pub fn answer(&mut self, words: &str) {
        match self.style {
            Style::Text(_) => self.words(words, Tone::Plain),
            Style::Markdown => self.text += &format!("**{words}**\n\n"),
        }
    }

    /// A sentence or more. In Markdown a paragraph; else its lines follow the ones before it.
    pub fn words(&mut self, words: &str, tone: Tone) {
        self.text += &match self.style {
            Style::Text(page) => tone.paragraph(words, page),
            Style::Markdown => format!("{words}\n\n"),
        };
    }

    /// A line of words, and a list of others below it, where there are any.
    pub fn points(&mut self, words: &str, points: &[String]) {
        if points.is_empty() {
            return;
        }
        self.space();
        match self.style {
            Style::Text(page) => {
                self.text += &Tone::Plain.paragraph(words, page);
                for point in points {
                    let lines = broken(&in_lines(point), usize::from(page.width).saturating_sub(4));
                    for (i, line) in lines.iter().enumerate() {
                        self.text += &format!("{}{line}\n", if i == 0 { "  " } else { "    " });
                    }
                }
            }
            Style::Markdown => {
                self.text += &format!("**{words}**\n\n");
                points.iter().for_each(|point| self.text += &format!("- {point}\n"));
                self.text.push('\n');
            }
        }
    }

    /// A table of so many rows under a title, and what else is to be said of it.
    pub fn table(&mut self, title: &str, (table, rows): (&TextTable, usize), remarks: &[String]) {
        self.space();
        match self.style {
            Style::Text(page) => {
                self.text += &Tone::Plain.paragraph(title, page);
                self.text += &table.fitted(page);
                remarks.iter().for_each(|words| self.text += &remark(words, page));
            }
            Style::Markdown => {
                let mut text = format!("{}\n", table.markdown());
                remarks.iter().for_each(|words| text += &format!("{words}\n\n"));
                self.text += &match rows {
                    0..FOLDED => format!("**{title}**\n\n{text}"),
                    _ => format!("<details><summary>{}</summary>\n\n{text}</details>\n\n", title.trim_end_matches(':')),
                };
            }
        }
    }

    /// A line between parts, where there is none.
    pub fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }
}
