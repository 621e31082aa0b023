//! Text broken into lines.

use super::page::Page;
use super::tone::{Tone, in_lines};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Lines of at most this width. They end at spaces; a word that is longer is cut, if it can be behind a mark within it, and never
/// within a number that fits in a line.
pub fn broken(text: &str, width: usize) -> Vec<String> {
    text.split('\n').flat_map(|line| broken_line(line, width.max(1))).collect()
}

pub fn paragraph(words: &str, page: Page) -> String {
    Tone::Plain.paragraph(words, page)
}

impl Tone {
    /// Words of this tone in lines that fit a page, for [`legible`](super::legible).
    pub fn paragraph(self, words: &str, page: Page) -> String {
        let lines = broken(&in_lines(words), page.width.into());
        lines.iter().fold(String::new(), |text, line| text + &self.marked(line, page) + "\n")
    }
}

pub fn width(text: &str) -> usize {
    text.split('\n').map(UnicodeWidthStr::width).max().unwrap_or(0)
}

pub fn longest_number(text: &str) -> usize {
    text.split(|c| !is_of_number(c)).map(str::len).max().unwrap_or(0)
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

/// A title in lines of at most this width, which end behind its parts.
pub fn parted(title: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in parts(title) {
        let is_full = lines.last().is_some_and(|line| !line.is_empty() && line.width() + part.trim_end().width() > width);
        if is_full {
            lines.push(String::new());
        }
        push(&mut lines, part);
    }
    lines
}

pub fn longest_part(title: &str) -> usize {
    parts(title).map(|part| part.trim_end().width()).max().unwrap_or(0)
}

fn parts(title: &str) -> impl Iterator<Item = &str> {
    title.split_inclusive(['_', ' '])
}

fn broken_line(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut column = 0;
    for word in pieces(line, width) {
        let mut rest = word;
        if column > 0 && is_wider(rest, width.saturating_sub(column + 1)) {
            lines.push(String::new());
            column = 0;
        }
        while is_wider(rest, width) {
            let (head, tail) = rest.split_at(cut(rest, width));
            // A letter that is wider than a line.
            if tail.is_empty() {
                break;
            }
            push(&mut lines, head);
            lines.push(String::new());
            rest = tail;
        }
        if column > 0 {
            push(&mut lines, " ");
            column += 1;
        }
        push(&mut lines, rest);
        column += rest.width();
    }
    lines
}

/// What a line isn't broken within: words, and figures with their units and intervals where these fit in a line.
fn pieces(line: &str, width: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut end) = (0, 0);
    for word in line.split(' ') {
        let word_end = end + word.len();
        let (piece, longer) = (&line[start..end], &line[start..word_end]);
        let is_one = end == 0 || (are_one(piece, word) && longer.width() <= width);
        if !is_one {
            pieces.push(piece.trim_end_matches(' '));
            start = end;
        }
        end = (word_end + 1).min(line.len());
    }
    pieces.push(&line[start..]);
    pieces
}

/// Whether a figure goes on with a word.
fn are_one(piece: &str, word: &str) -> bool {
    let unit = word.trim_end_matches([',', '.', ';', ':', ')']);
    let is_unit = ["%", "ps", "ns", "us", "ms", "s", "B", "KiB", "MiB", "GiB"].contains(&unit) || unit.ends_with("/s");
    let before = piece.trim_end_matches(' ');
    (is_unit && before.ends_with(|c: char| c.is_ascii_digit())) || word == "±" || before.ends_with('±')
}

fn push(lines: &mut [String], text: &str) {
    if let Some(last) = lines.last_mut() {
        last.push_str(text);
    }
}

/// Whether a text is wider than this: of a long one, only the beginning is looked at.
fn is_wider(text: &str, width: usize) -> bool {
    let mut column = 0;
    text.len() > width
        && text.chars().any(|c| {
            column += c.width().unwrap_or(0);
            column > width
        })
}

/// Where a word is cut that is longer than a line.
fn cut(word: &str, width: usize) -> usize {
    let mut column = 0;
    let fitting = word.char_indices().find(|(_, c)| {
        column += c.width().unwrap_or(0);
        column > width
    });
    let first = word.chars().next().map_or(0, char::len_utf8);
    let fitting = fitting.map_or(word.len(), |(end, _)| end).max(first);
    let end = seam(word, fitting).filter(|end| 2 * end >= fitting).unwrap_or(fitting);
    let number = end - word[..end].trim_end_matches(is_of_number).len();
    let is_within = number < end && word[end..].starts_with(is_of_number);
    if is_within { end - number } else { end }
}

/// The last place in so much of a word where it is put together: behind a mark, or before a capital.
fn seam(word: &str, fitting: usize) -> Option<usize> {
    let pairs = word.char_indices().take_while(|(place, _)| *place < fitting).zip(word.chars().skip(1));
    let is_seam = |one: char, other: char| "/_:;=".contains(one) || (one.is_lowercase() && other.is_uppercase());
    let seams = pairs.filter(|((_, one), other)| is_seam(*one, *other)).map(|((place, one), _)| place + one.len_utf8());
    seams.take_while(|seam| *seam <= fitting).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_spaces() {
        assert_eq!(broken("out[0] is 1, should be 2", 12), ["out[0] is 1,", "should be 2"]);
        assert_eq!(broken("a b\nc", 12), ["a b", "c"]);
        assert_eq!(broken("", 12), [""]);
        assert_eq!(width("a b\ncd ef"), 5);
    }

    #[test]
    fn a_figure_keeps_its_unit_and_its_interval() {
        assert_eq!(broken("that is 45.5 %) of it", 12), ["that is", "45.5 %) of", "it"]);
        assert_eq!(broken("It takes 240 us ± 6.9 %.", 20), ["It takes", "240 us ± 6.9 %."]);
        assert_eq!(broken("It takes 240 us ± 6.9 %.", 12), ["It takes", "240 us ± 6.9", "%."], "where it fits in no line");
        assert_eq!(broken("up to 3089 GB/s", 10), ["up to", "3089 GB/s"]);
        assert_eq!(broken("a  b ", 10), ["a  b "]);
    }

    #[test]
    fn a_long_word_is_cut_but_no_number() {
        assert_eq!(broken("it is maxComputeWorkGroupSize", 12), ["it is", "maxCompute", "WorkGroup", "Size"]);
        assert_eq!(broken("/home/somebody/rows.csv", 12), ["/home/", "somebody/", "rows.csv"]);
        assert_eq!(broken("granules1048576x", 12), ["granules", "1048576x"]);
        assert_eq!(broken("value0.123456789", 12), ["value", "0.123456789"]);
        assert_eq!(broken("123456789", 4), ["1234", "5678", "9"], "a number that fits in no line");
    }

    #[test]
    fn a_title_is_broken_behind_its_parts() {
        assert_eq!((longest_part("local_size_x"), longest_part("time / base's")), (6, 6));
        assert_eq!(parted("local_size_x", 6), ["local_", "size_x"]);
        assert_eq!(parted("local_size_x", 11), ["local_size_", "x"]);
        assert_eq!(parted("time / base's", 6), ["time / ", "base's"]);
    }

    #[test]
    fn wide_letters_count_as_two() {
        assert_eq!(broken("\u{6E2C}\u{5B9A} \u{6E2C}", 5), ["\u{6E2C}\u{5B9A}", "\u{6E2C}"]);
        assert_eq!(broken("\u{6E2C}\u{5B9A}", 1), ["\u{6E2C}", "\u{5B9A}"], "one letter has to be in a line");
    }
}
