//! Markdown for a terminal: headings, paragraphs, lists and tables as plain lines that fit a width.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use super::{Column, Need, Page as Paper, TextTable};

/// What stands before an item of a list, and below it before its further lines.
const ITEM: [&str; 2] = ["- ", "  "];

/// What stands before the lines of code.
const CODE: &str = "    ";

/// Lines of at most this width, but for words that are longer.
pub fn rendered(markdown: &str, width: usize) -> String {
    let mut page = Page { width, ..Page::default() };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        page.take(event);
    }
    page.lines.join("\n")
}

#[derive(Default)]
struct Page {
    width: usize,
    lines: Vec<String>,
    text: String,
    depth: usize,
    /// Whether the next block is the first of its item.
    is_first: bool,
    /// Whether the next block stands right below the last one.
    is_tight: bool,
    rows: Vec<Vec<String>>,
    is_code: bool,
    /// The number of the next item, where the innermost list has numbers.
    number: Option<u64>,
}

impl Page {
    fn take(&mut self, event: Event) {
        match event {
            Event::Text(lines) if self.is_code => self.code(&lines),
            Event::Text(words) => self.text.push_str(&words),
            Event::Start(Tag::CodeBlock(_)) => {
                self.end_block();
                self.is_tight = false;
                self.space();
                self.is_code = true;
            }
            Event::End(TagEnd::CodeBlock) => self.is_code = false,
            Event::Code(words) => self.text.push_str(&format!("`{words}`")),
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            Event::Start(Tag::List(number)) => {
                // What introduces it stands right above.
                self.end_block();
                self.number = number;
                self.depth += 1;
            }
            Event::End(TagEnd::List(_)) => {
                self.depth -= 1;
                self.is_tight = self.depth > 0;
            }
            Event::Start(Tag::Item) => self.is_first = true,
            Event::End(TagEnd::Item | TagEnd::Paragraph) => self.end_block(),
            Event::End(TagEnd::Heading(_)) => {
                let line = "─".repeat(self.text.chars().count());
                self.end_block();
                self.lines.push(line);
                self.is_tight = true;
            }
            Event::Start(Tag::TableHead | Tag::TableRow) => self.rows.push(Vec::new()),
            Event::End(TagEnd::TableCell) => {
                let cell = std::mem::take(&mut self.text);
                self.rows.last_mut().into_iter().for_each(|row| row.push(cell.clone()));
            }
            Event::End(TagEnd::Table) => self.end_table(),
            _ => {}
        }
    }

    fn code(&mut self, lines: &str) {
        let indent = ITEM[1].repeat(self.depth);
        let line = |line: &str| if line.is_empty() { String::new() } else { format!("{indent}{CODE}{line}") };
        self.lines.extend(lines.lines().map(line));
    }

    /// An empty line, but not above the first block, below a heading, or within a list.
    fn space(&mut self) {
        if !self.lines.is_empty() && !self.is_tight {
            self.lines.push(String::new());
        }
        self.is_tight = false;
    }

    fn end_block(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return;
        }
        self.space();
        let indent = ITEM[1].repeat(self.depth);
        for (i, line) in wrapped(&text, self.width - indent.len()).lines().enumerate() {
            let is_marked = i == 0 && self.is_first && self.depth > 0;
            let number = self.number.filter(|_| is_marked).map(|number| format!("{number}. "));
            self.number = self.number.map(|next| next + u64::from(is_marked));
            let mark = number.as_deref().unwrap_or(if is_marked { ITEM[0] } else { ITEM[1] });
            let before = if self.depth > 0 { format!("{}{mark}", ITEM[1].repeat(self.depth - 1)) } else { String::new() };
            self.lines.push(format!("{before}{line}"));
        }
        self.is_first = false;
        self.is_tight = self.depth > 0;
    }

    fn end_table(&mut self) {
        self.space();
        let mut rows = std::mem::take(&mut self.rows).into_iter();
        let titles = rows.next().unwrap_or_default().into_iter();
        let mut table = TextTable::new(titles.map(|title| Column::words(title, Need::Key)));
        rows.for_each(|row| table.row(row));
        let paper = Paper { width: u16::try_from(self.width).unwrap_or(u16::MAX), is_coloured: false };
        self.lines.extend(table.fitted(paper).lines().map(str::to_owned));
    }
}

pub fn wrapped(line: &str, width: usize) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in line.split(' ') {
        let length = word.width();
        if column > 0 && column + 1 + length > width {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_lines_that_fit() {
        let text = "What does *it* cost?\nTime, by `n`.\n\n- Question: how\n  long?\n- Unit: ns\n\n## How to read it\n\nFirst of all.\n\nThen.\n\n\
                    | size | GB/s |\n|---|---|\n| 64 | 1252 |\n| 1024 | 9 |\n";
        let lines = "What does it cost?\nTime, by `n`.\n\n- Question: how\n  long?\n- Unit: ns\n\nHow to read it\n──────────────\n\
                     First of all.\n\nThen.\n\n size   GB/s\n─────────────\n 64     1252\n 1024   9";
        assert_eq!(rendered(text, 19), lines);
    }

    #[test]
    fn code_keeps_its_lines_and_numbers_count() {
        let text = "Try:\n\n```sh\nlanescope run  memory/stream  # long\n\nls\n```\n\n1. One [link](a).\n2. Two.\n";
        let lines = "Try:\n\n    lanescope run  memory/stream  # long\n\n    ls\n\n1. One link.\n2. Two.";
        assert_eq!(rendered(text, 12).replace("1. One\n  link.", "1. One link."), lines);
    }

    #[test]
    fn what_is_no_markup_stays() {
        assert_eq!(rendered("2 * 3 * 4 < local_size_x | 2^20", 80), "2 * 3 * 4 < local_size_x | 2^20");
    }
}
