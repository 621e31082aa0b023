//! JSON for standard output: a terminal may show it, so what it would obey stands there as JSON's own escapes, which change nothing of
//! what a program reads.

use serde::Serialize;
use serde_json::{Map, Value};

use super::tone::is_unseen;
use crate::record::Cell;

/// Over several lines, with an end.
pub fn json<T: Serialize>(value: &T) -> serde_json::Result<String> {
    Ok(escaped(&serde_json::to_string_pretty(value)?) + "\n")
}

/// In one line, with its end.
pub fn json_line<T: Serialize>(value: &T) -> serde_json::Result<String> {
    Ok(escaped(&serde_json::to_string(value)?) + "\n")
}

/// A row as an object in one line: keys in the order of the cells, typed values; an empty cell has no key.
pub fn json_row<'c>(cells: impl Iterator<Item = (&'c str, Cell<'c>)>) -> serde_json::Result<String> {
    let filled = cells.filter(|(_, cell)| !cell.is_empty());
    let values = filled.map(|(name, cell)| Ok((name.to_owned(), serde_json::to_value(cell)?)));
    json_line(&values.collect::<serde_json::Result<Map<String, Value>>>()?)
}

/// Outside of strings there are line feeds alone.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || !is_unseen(c) {
            out.push(c);
        } else {
            out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|half| format!("\\u{half:04x}")));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped_is_read_as_it_was() {
        let hostile = ["\u{1b}[31m\n\u{9b}31m\u{202e}\u{e0041}\"\\", "\u{e9}\u{4e2d}"];
        for text in [json(&hostile).unwrap(), json_line(&hostile).unwrap()] {
            assert!(text.chars().all(|c| c == '\n' || !is_unseen(c)), "{text}");
            assert_eq!(serde_json::from_str::<[String; 2]>(&text).unwrap(), hostile);
            assert!(text.contains("\u{e9}\u{4e2d}") && text.ends_with("]\n"), "{text}");
        }
    }
}
