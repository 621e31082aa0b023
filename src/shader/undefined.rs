//! What a shader's text has that its compiler can't say: macros that a build system would define, and characters that no code has.

use std::collections::{BTreeMap, BTreeSet};

use super::Library;
use super::files::{self, Reading};
use super::local_size::{is_word, tokens};

/// The most that are listed.
const MOST: usize = 8;

/// What may stand before a type; behind any other word, a name is declared.
const BEFORE_TYPES: [&str; 22] = [
    "const",
    "shared",
    "in",
    "out",
    "inout",
    "uniform",
    "buffer",
    "readonly",
    "writeonly",
    "coherent",
    "volatile",
    "restrict",
    "highp",
    "mediump",
    "lowp",
    "precise",
    "return",
    "else",
    "case",
    "do",
    "flat",
    "subgroupuniformEXT",
];

/// In words: names as macros have them that nothing defines or declares, where the compiler stumbled over one; each with its first place.
pub(super) fn missing(error: &str, library: &Library, reading: &Reading) -> Option<String> {
    let texts: Vec<(&str, &str)> = library.paths().filter_map(|path| Some((path, library.get(path)?))).collect();
    let known: BTreeSet<&str> = texts.iter().flat_map(|(_, text)| defined(text)).collect();
    let is_given = |name: &str| reading.macros.iter().any(|(given, _)| given.split('(').next() == Some(name));
    let is_undeclared = |name: &str| error.contains(&format!("'{name}' : undeclared identifier"));
    let mut places = BTreeMap::new();
    for (path, text) in texts {
        for (line, name) in used(text) {
            let is_missing = is_undeclared(name) || (is_macro(name) && !known.contains(name));
            if is_missing && !is_given(name) {
                places.entry(name).or_insert_with(|| format!("{path}:{line}"));
            }
        }
    }
    let is_at_fault = error.contains("undeclared identifier") || error.contains("syntax error");
    if places.is_empty() || !is_at_fault {
        return None;
    }
    let listed: Vec<String> = places.iter().take(MOST).map(|(name, place)| format!("`{name}` ({place})")).collect();
    let flags: Vec<String> = places.keys().take(MOST).map(|name| format!("-D {name}=VALUE")).collect();
    let more = if places.len() > MOST { format!(" and {} more", places.len() - MOST) } else { String::new() };
    Some(format!(
        "Nothing defines {}{more}: if a build system does, give what it gives: {}",
        listed.join(", "),
        flags.join(" ")
    ))
}

/// The first character of a text that isn't ASCII, outside of comments: on this line if there is one.
pub(super) fn stray_character(text: &str, line: Option<u32>) -> Option<char> {
    let code = with_lines(text).filter(|(_, token)| !is_comment(token));
    let stray =
        |(at, token): (u32, &str)| token.chars().find(|character| !character.is_ascii()).map(|character| (at, character));
    let all: Vec<(u32, char)> = code.filter_map(stray).collect();
    let on_line = all.iter().find(|(at, _)| Some(*at) == line);
    on_line.or(all.first()).map(|(_, character)| *character)
}

/// All capitals, as macros are written, but for those of the language's own.
fn is_macro(name: &str) -> bool {
    name.len() > 1
        && name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|character| character.is_ascii_uppercase() || character.is_ascii_digit() || character == '_')
        && !name.starts_with("GL_")
}

fn is_comment(token: &str) -> bool {
    token.starts_with("//") || token.starts_with("/*")
}

/// Tokens with the number of the line that each begins on, as the compiler counts.
fn with_lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let numbers = line_numbers(text);
    tokens(text).scan(0, move |line, token| {
        let at = numbers.get(*line).copied().unwrap_or(0);
        *line += token.matches('\n').count();
        Some((at, token))
    })
}

/// The numbers of a text's lines, which `#line` sets.
fn line_numbers(text: &str) -> Vec<u32> {
    let set = |line: &str| line.trim().strip_prefix("#line ")?.split_whitespace().next()?.parse::<u32>().ok();
    let mut next = 1_u32;
    let number = |line: &str| {
        let own = next;
        next = set(line).unwrap_or(own.saturating_add(1));
        own
    };
    text.split('\n').map(number).collect()
}

/// The tokens of code that mean something, by line: neither blanks and comments nor directives.
fn code(text: &str) -> Vec<(u32, &str)> {
    let (mut found, mut is_directive, mut is_first, mut before) = (Vec::new(), false, true, "");
    for (line, token) in with_lines(text) {
        // A directive may go on behind its line's end.
        if token == "\n" && before != "\\" {
            (is_directive, is_first) = (false, true);
        } else if !token.trim().is_empty() && !is_comment(token) {
            is_directive |= is_first && token == "#";
            is_first = false;
            if !is_directive {
                found.push((line, token));
            }
        }
        before = if token == "\r" { before } else { token };
    }
    found
}

/// What a text defines by `#define`, and what it declares: names behind a type's.
fn defined(text: &str) -> Vec<&str> {
    let macros = text.lines().filter_map(files::defined);
    let code = code(text);
    let is_name = |token: &str| token.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let is_declared = |pair: &&[(u32, &str)]| is_name(pair[0].1) && is_name(pair[1].1) && !BEFORE_TYPES.contains(&pair[0].1);
    // Of several that are declared together, all but the first stand between commas, as arguments may: the compiler names those.
    let is_further =
        |three: &&[(u32, &str)]| three[0].1 == "," && is_name(three[1].1) && matches!(three[2].1, "," | ";" | "=" | "[");
    let declared = code.windows(2).filter(is_declared).map(|pair| pair[1].1);
    macros.chain(declared).chain(code.windows(3).filter(is_further).map(|three| three[1].1)).collect()
}

/// The names that a text's code uses, with their lines; those of members aren't.
fn used(text: &str) -> Vec<(u32, &str)> {
    let code = code(text);
    let before = std::iter::once("").chain(code.iter().map(|(_, token)| *token));
    code.iter()
        .zip(before)
        .filter(|((_, token), before)| token.chars().all(is_word) && *before != ".")
        .map(|(used, _)| *used)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(error: &str, text: &str, macros: &[&str]) -> Option<String> {
        let macros = macros.iter().map(|name| ((*name).to_owned(), String::new())).collect();
        let library = Library::empty(Vec::new()).with("a.comp", text);
        missing(error, &library, &Reading { macros, ..Reading::default() })
    }

    #[test]
    fn macros_that_nothing_defines_are_listed_with_their_places() {
        let text = "#version 460\n#define ONE \\\n 1\n/* NOT */ layout(local_size_x = WG) in;\n#ifdef OPTIONAL\n#endif\nconst uint TILE = 4;\n\
                    buffer B { A_TYPE b[]; };\nshared A_TYPE cache[TILE * ONE]; // NOR THIS\nvoid main() { b[0] = ONE + WG + GL_X + s.MEMBER; }";
        let error = "a.comp:4: error: 'WG' : undeclared identifier";
        let expected = "Nothing defines `A_TYPE` (a.comp:8), `WG` (a.comp:4): if a build system does, give what it gives: -D A_TYPE=VALUE -D WG=VALUE";
        assert_eq!(said(error, text, &[]).as_deref(), Some(expected));
        assert!(!said(error, text, &["WG"]).unwrap().contains("WG"));
        assert_eq!(said(error, text, &["WG", "A_TYPE"]), None);
        assert_eq!(said("a.comp:1: error: '+' : wrong operand types", text, &[]), None);
        // As some projects write theirs; what the compiler doesn't know is no macro for certain otherwise.
        let small = "#version 460\nvoid main() { sfp x = lower; }";
        assert!(said("a.comp:2: error: 'sfp' : undeclared identifier", small, &[]).unwrap().contains("`sfp` (a.comp:2): if"));
    }

    #[test]
    fn a_character_is_found_in_code_alone() {
        assert_eq!(stray_character("// é\n/* ü */ a = b × c;\nd “", Some(2)), Some('×'));
        assert_eq!(stray_character("a ×\n b", Some(2)), Some('×'));
        assert_eq!(stray_character("// ×", None), None);
    }
}
