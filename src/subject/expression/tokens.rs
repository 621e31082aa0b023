//! The words, numbers and signs that an expression is made of.

use std::ops::Range;

use super::{Fault, Value};
use crate::units::parse_number;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Value(Value),
    Name(String),
    Sign(&'static str),
    End,
}

/// All signs; of two that begin alike, the longer comes first.
const SIGNS: [&str; 19] = ["==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "^", "!", "?", ":", "(", ")"];

const SLIPS: [(&str, &str); 3] = [("=", "=="), ("&", "&&"), ("|", "||")];

/// The tokens with their places; the last is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, Fault> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = token(&text[at..], first).map_err(|(length, what)| Fault::new(at..at + length, what))?;
        found.push((token, at..at + length));
        at += length;
    }
    found.push((Token::End, at..at));
    Ok(found)
}

/// The token that the text begins with, and its length; or the length of what is none, and what is wrong with it.
fn token(text: &str, first: char) -> Result<(Token, usize), (usize, String)> {
    if first.is_ascii_digit() || first == '.' {
        let length = number_length(text);
        return number(&text[..length]).map(|value| (Token::Value(value), length)).map_err(|what| (length, what));
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let length = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
        return Ok((named(&text[..length]), length));
    }
    if first == '"' || first == '\'' {
        let end = text[1..].find(first).ok_or_else(|| (1, "this quote isn't closed".to_owned()))?;
        return Ok((Token::Value(Value::Word(text[1..=end].to_owned())), end + 2));
    }
    if first == ',' {
        return Ok((Token::Sign(","), 1));
    }
    if let Some(sign) = SIGNS.iter().find(|sign| text.starts_with(**sign)) {
        return Ok((Token::Sign(sign), sign.len()));
    }
    let slip = SLIPS.iter().find(|(slip, _)| text.starts_with(slip));
    let hint = slip.map(|(_, meant)| format!("; did you mean `{meant}`?")).unwrap_or_default();
    Err((first.len_utf8(), format!("`{}` is no operator{hint}", first.escape_debug())))
}

fn named(word: &str) -> Token {
    match word {
        "true" => Token::Value(Value::Truth(true)),
        "false" => Token::Value(Value::Truth(false)),
        name => Token::Name(name.to_owned()),
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// As far as what is to be a number goes: letters belong to it, and the sign of an exponent.
fn number_length(text: &str) -> usize {
    // An `e` is a digit there.
    let (mut before, is_hexadecimal) = (' ', text.starts_with("0x") || text.starts_with("0X"));
    let end = text.char_indices().find(|(_, c)| {
        let is_exponent = !is_hexadecimal && matches!(before, 'e' | 'E') && matches!(c, '+' | '-');
        before = *c;
        !(is_word(*c) || *c == '.' || is_exponent)
    });
    end.map_or(text.len(), |(end, _)| end)
}

fn number(text: &str) -> Result<Value, String> {
    if let Some(n) = parse_number(text) {
        return Ok(Value::Integer(n.into()));
    }
    // The standard parser also takes words, but none that begins with a digit or a point.
    match text.parse::<f64>() {
        Ok(x) if text.contains(['.', 'e', 'E']) && x.is_finite() => Ok(Value::Real(x)),
        Ok(_) => Err(format!("{text} is too large: whole numbers are below 2^64")),
        Err(_) => Err(format!("`{text}` is no number, as are 4096, 0x1000, 64Ki, 1Mi, 1Gi, 1.5 and 1e9")),
    }
}
