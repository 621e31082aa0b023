//! Texts of pictures: kept as text, as wide as they may be, and numbers in words.

use unicode_width::UnicodeWidthChar;

use crate::output::is_unseen;

/// A text as it may stand in XML, as an attribute or between tags: what isn't to be shown is left out.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| is_shown(*c)) {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// A text in one line, without what isn't to be shown.
pub fn one_line(text: &str) -> String {
    let words = text.split_whitespace().map(|word| word.chars().filter(|c| is_shown(*c)).collect::<String>());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What XML 1.0 can hold, but for what nobody sees or a reader obeys, such as a mark that turns the direction of what follows: a legend's
/// words aren't to be turned by a name.
fn is_shown(c: char) -> bool {
    c == '\n' || c == '\t' || !(is_unseen(c) || matches!(c, '\u{fffe}' | '\u{ffff}'))
}

/// How wide a text is, about, in the widest of the usual fonts without serifs.
pub fn width(text: &str, size: f64) -> f64 {
    size * text.chars().map(advance).sum::<f64>()
}

/// How wide the widest of some texts is, each in one line.
pub fn widest<'t>(texts: impl IntoIterator<Item = &'t String>, size: f64) -> f64 {
    texts.into_iter().map(|text| width(&one_line(text), size)).fold(0.0, f64::max)
}

fn advance(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' | ' ' => 0.33,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '/' | '-' => 0.41,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 0.98,
        'A'..='Z' | '+' | '=' | '<' | '>' | '~' | '×' => 0.78,
        c if c.is_ascii() => 0.64,
        c => match c.width() {
            Some(0) | None => 0.0,
            Some(1) => 0.72,
            Some(_) => 1.1,
        },
    }
}

/// A text in one line that is no wider than this: what doesn't fit is left out of its middle, since names of one list often begin alike.
pub fn fit(text: &str, room: f64, size: f64) -> String {
    let text = one_line(text);
    if width(&text, size) <= room {
        return text;
    }
    let chars: Vec<char> = text.chars().collect();
    let shortened = |kept: usize| {
        let tail = kept / 2;
        let head = kept - tail;
        chars[..head].iter().chain(['…'].iter()).chain(&chars[chars.len() - tail..]).collect::<String>()
    };
    // Marks without a width could be kept by the thousand.
    let most = chars.len().min(200).saturating_sub(1);
    (0..=most).rev().map(shortened).find(|short| width(short, size) <= room).unwrap_or_default()
}

/// A text in lines that are no wider than this, and no more than so many.
pub fn lines(text: &str, room: f64, size: f64, most: usize) -> Vec<String> {
    let text = one_line(text);
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let Some(last) = lines.last_mut() else { break };
        let longer = if last.is_empty() { word.to_owned() } else { format!("{last} {word}") };
        if width(&longer, size) <= room || last.is_empty() {
            *last = longer;
        } else {
            lines.push(word.to_owned());
        }
    }
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1));
        lines.push(rest.join(" "));
    }
    lines.into_iter().map(|line| fit(&line, room, size)).filter(|line| !line.is_empty()).collect()
}

/// A number with at most four digits that matter.
pub fn plain(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    if !is_plain(value) {
        return power(value);
    }
    trimmed(format!("{value:.*}", usize::try_from(3 - exponent(value)).unwrap_or(0)))
}

/// Whether a number is written without a power of ten.
pub fn is_plain(value: f64) -> bool {
    (-3..6).contains(&exponent(value))
}

/// A number by its power of ten: `2×10⁶`.
pub fn power(value: f64) -> String {
    scientific(value, exponent(value), 3)
}

/// Numbers that are so far apart, of which this is the largest: with as many digits as tell them apart.
pub fn stepped(value: f64, step: f64, largest: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let (step, largest) = (exponent(step), exponent(largest));
    if (-3..6).contains(&largest) {
        return format!("{value:.*}", usize::try_from(-step).unwrap_or(0).min(12));
    }
    scientific(value, largest, usize::try_from(largest - step).unwrap_or(0).min(12))
}

/// Bytes: `64 KiB`.
pub fn bytes(value: f64) -> String {
    by_1024(value, &[" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"])
}

/// From so much on, a power of two is hard to read digit by digit.
const LONG: f64 = 65_536.0;

/// By powers of two: `1024`, `64 Ki`.
pub fn binary(value: f64) -> String {
    if value.abs() < LONG { plain(value) } else { by_1024(value, &["", " Ki", " Mi", " Gi", " Ti", " Pi", " Ei"]) }
}

fn by_1024(value: f64, units: &[&str]) -> String {
    let (mut rest, mut unit) = (value, 0);
    while rest.abs() >= 1024.0 && unit + 1 < units.len() {
        (rest, unit) = (rest / 1024.0, unit + 1);
    }
    let number = if (1.0..1024.0).contains(&rest.abs()) { trimmed(format!("{rest:.3}")) } else { plain(rest) };
    number + units[unit]
}

/// The power of ten of a number's first digit.
#[expect(clippy::cast_possible_truncation, reason = "within -324 and 308")]
pub fn exponent(value: f64) -> i32 {
    if value == 0.0 || !value.is_finite() { 0 } else { (value.abs().log10() + 1e-9).floor() as i32 }
}

fn scientific(value: f64, exponent: i32, decimals: usize) -> String {
    // In two steps, since 10^-310 is no whole number's inverse.
    let mantissa = value / 10_f64.powi(exponent / 2) / 10_f64.powi(exponent - exponent / 2);
    let mantissa = trimmed(format!("{mantissa:.decimals$}"));
    let power = format!("10{}", exponent.to_string().chars().map(raised).collect::<String>());
    match mantissa.as_str() {
        "1" => power,
        "-1" => format!("-{power}"),
        _ => format!("{mantissa}×{power}"),
    }
}

fn raised(c: char) -> char {
    "0⁰1¹2²3³4⁴5⁵6⁶7⁷8⁸9⁹".chars().skip_while(|own| *own != c).nth(1).unwrap_or('⁻')
}

/// Without the zeros behind its last digit.
fn trimmed(number: String) -> String {
    if !number.contains('.') {
        return number;
    }
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts() {
        assert_eq!(escaped("<a b=\"'\">&\n\u{1b}\0\u{ffff}\u{85}\u{202e}x"), "&lt;a b=&quot;&#39;&quot;&gt;&amp;\nx");
        assert_eq!(one_line(" a\r\n b\tc\u{7}d "), "a b cd");
    }

    #[test]
    fn long_names_keep_both_ends() {
        let name = "algo/matmul:registers_and_vectors_of_four";
        let short = fit(name, 120.0, 11.0);
        assert!(short.starts_with("algo/") && short.ends_with("four") && short.contains('…'), "{short}");
        assert!(width(&short, 11.0) <= 120.0);
        assert_eq!(fit("short", 120.0, 11.0), "short");
        assert_eq!(fit(name, 0.0, 11.0), "");
        assert_eq!(lines("one two three", width("one two", 10.0), 10.0, 2), ["one two", "three"]);
        assert_eq!(lines("one two three four five", width("one two", 10.0), 10.0, 2).len(), 2);
    }

    #[test]
    fn numbers_are_short_and_told_apart() {
        for (value, text) in
            [(0.5, "0.5"), (250.0, "250"), (1e6, "10⁶"), (2e-9, "2×10⁻⁹"), (5e15, "5×10¹⁵"), (123.456, "123.5")]
        {
            assert_eq!(plain(value), text);
        }
        for (value, text) in [(256.0, "256 B"), (65536.0, "64 KiB"), (1536.0, "1.5 KiB"), (0.5, "0.5 B")] {
            assert_eq!(bytes(value), text);
        }
        assert_eq!(binary(65536.0), "64 Ki");
        assert_eq!((stepped(0.25, 0.05, 0.3), stepped(300.0, 100.0, 900.0)), ("0.25".to_owned(), "300".to_owned()));
        assert_ne!(stepped(1.000_1e15, 1e11, 1.001e15), stepped(1.000_2e15, 1e11, 1.001e15));
    }
}
