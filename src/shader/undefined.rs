//! What a shader's text has that its compiler can't say: macros that a build system would define, and characters that no code has.

use std::collections::{BTreeMap, BTreeSet};

use super::Library;
use super::files::Reading;
use super::local_size::tokens;

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

/// What of the error's causes lies outside of the texts, in words: names that nothing defines, each with its first place.
pub(super) fn missing(error: &str, library: &Library, reading: &Reading) -> Option<String> {
    // Nobody knows what a file that isn't there would define.
    if error.contains("'#include' : ") {
        return None;
    }
    let texts: Vec<Text> = library.paths().filter_map(|path| Some(Text::new(path, library.get(path)?))).collect();
    let given = reading.macros.iter().filter_map(|(name, _)| name.split('(').next());
    let known: BTreeSet<&str> = texts.iter().flat_map(Text::defined).chain(given).collect();
    let enumerated: BTreeSet<&str> = texts.iter().flat_map(Text::enumerated).collect();
    let mut found = BTreeMap::<&str, Vec<Use>>::new();
    for used in texts.iter().flat_map(|text| text.at_fault(error, &enumerated)).filter(|used| !known.contains(used.name)) {
        found.entry(used.name).or_default().push(used);
    }
    found.retain(|_, uses| !uses.iter().any(Use::is_no_macro));
    let is_called = |uses: &&Vec<Use>| uses.iter().all(|used| used.after == "(");
    let (functions, macros): (Vec<_>, Vec<_>) = found.values().partition(is_called);
    let flags: Vec<String> = macros.iter().take(MOST).map(|uses| format!("-D {}=VALUE", uses[0].name)).collect();
    let flags = flags.join(" ");
    let noun = if functions.len() == 1 { "function" } else { "functions" };
    let lines = [
        listed(&macros).map(|names| format!("Nothing defines {names}: if a build system does, give what it gives: {flags}")),
        listed(&functions).map(|names| format!("Nothing defines the {noun} {names}: a file that isn't included may")),
    ];
    lines.into_iter().flatten().reduce(|all, line| all + "\n" + &line)
}

/// The first ones with their places; nothing where there is none.
fn listed(names: &[&Vec<Use>]) -> Option<String> {
    let first: Vec<String> = names.iter().take(MOST).map(|uses| uses[0].told()).collect();
    let more = if names.len() > MOST { format!(" and {} more", names.len() - MOST) } else { String::new() };
    (!first.is_empty()).then(|| first.join(", ") + &more)
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

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
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

/// A name where it is used.
struct Use<'t> {
    name: &'t str,
    path: &'t str,
    line: u32,
    after: &'t str,
}

impl Use<'_> {
    fn told(&self) -> String {
        format!("`{}` ({}:{})", self.name, self.path, self.line)
    }

    /// Whether it is a variable's or a type's, which a file would declare. Build systems do define types, in small letters too.
    fn is_no_macro(&self) -> bool {
        let is_type = is_name(self.after) && self.name.contains(|character: char| character.is_ascii_uppercase());
        // Blocks of buffers have names before a brace.
        matches!(self.after, "." | "{") || (!is_macro(self.name) && (self.after == "[" || is_type))
    }
}

type Token<'t> = (u32, &'t str);

/// A source's tokens that mean something, by line: neither blanks nor comments.
struct Text<'t> {
    path: &'t str,
    code: Vec<Token<'t>>,
    /// Each begins with its `#`.
    directives: Vec<Vec<Token<'t>>>,
}

impl<'t> Text<'t> {
    fn new(path: &'t str, text: &'t str) -> Self {
        let (mut code, mut directives) = (Vec::new(), Vec::<Vec<Token>>::new());
        let (mut is_directive, mut is_first, mut before) = (false, true, "");
        for (line, token) in with_lines(text) {
            // A directive may go on behind its line's end.
            if token == "\n" && before != "\\" {
                (is_directive, is_first) = (false, true);
            } else if !token.trim().is_empty() && !is_comment(token) && token != "\\" {
                if is_first && token == "#" {
                    is_directive = true;
                    directives.push(Vec::new());
                }
                is_first = false;
                match directives.last_mut().filter(|_| is_directive) {
                    Some(directive) => directive.push((line, token)),
                    None => code.push((line, token)),
                }
            }
            before = if token == "\r" { before } else { token };
        }
        Self { path, code, directives }
    }

    fn definitions(&self) -> impl Iterator<Item = &Vec<Token<'t>>> {
        self.directives.iter().filter(|words| words.get(1).is_some_and(|(_, kind)| *kind == "define"))
    }

    /// What it defines by `#define`, and what it declares: names behind a type's.
    fn defined(&self) -> impl Iterator<Item = &'t str> {
        let macros = self.definitions().filter_map(|words| Some(words.get(2)?.1));
        let is_declared = |pair: &&[Token]| is_name(pair[0].1) && is_name(pair[1].1) && !BEFORE_TYPES.contains(&pair[0].1);
        macros.chain(self.code.windows(2).filter(is_declared).map(|pair| pair[1].1))
    }

    /// Of several declared together all but the first stand between commas; so do arguments, but the compiler names those.
    fn enumerated(&self) -> impl Iterator<Item = &'t str> {
        let is_enumerated =
            |three: &&[Token]| three[0].1 == "," && is_name(three[1].1) && matches!(three[2].1, "," | ";" | "=" | "[");
        self.code.windows(3).filter(is_enumerated).map(|three| three[1].1)
    }

    /// The names that an error may be about.
    fn at_fault(&self, error: &str, enumerated: &BTreeSet<&str>) -> Vec<Use<'t>> {
        let is_undeclared = |used: &Use| error.contains(&format!("'{}' : undeclared identifier", used.name));
        let has_unknown = ["undeclared identifier", "syntax error", "no matching overloaded function found"];
        let has_unknown = has_unknown.iter().any(|what| error.contains(what));
        let is_unknown = |used: &Use| has_unknown && is_macro(used.name) && !enumerated.contains(used.name);
        let in_code = self.uses(&self.code).filter(|used| is_unknown(used) || is_undeclared(used));
        // Macros' parameters may be in capitals, too.
        let in_macros = self.definitions().flat_map(|words| self.uses(words)).filter(is_undeclared);
        self.tested(error).into_iter().chain(in_code).chain(in_macros).collect()
    }

    /// The names of the conditions that an error is about: `#error` is about the innermost one that led to it.
    fn tested(&self, error: &str) -> Vec<Use<'t>> {
        let (mut open, mut found) = (Vec::new(), Vec::new());
        for words in &self.directives {
            let Some((line, kind)) = words.get(1) else { continue };
            let says = |what: &str| error.contains(&format!("{}:{line}: error: '{what}' :", self.path));
            let is_unknown = |used: &Use| error.lines().any(|line| line.ends_with(&format!(" es profile {}", used.name)));
            match *kind {
                "if" | "ifdef" | "ifndef" => open.push(vec![words]),
                "elif" => open.last_mut().into_iter().for_each(|chain: &mut Vec<_>| chain.push(words)),
                "endif" => drop(open.pop()),
                "error" if says("#error") => {
                    found.extend(open.last().into_iter().flatten().flat_map(|words| self.macros(words)));
                }
                _ => {}
            }
            if says("preprocessor evaluation") {
                found.extend(self.macros(words).filter(is_unknown));
            } else if says("#if") || says("#elif") {
                found.extend(self.macros(words).filter(|used| used.after == "("));
            }
        }
        found
    }

    /// The macros in a condition that aren't the language's own.
    fn macros(&self, words: &[Token<'t>]) -> impl Iterator<Item = Use<'t>> {
        let is_own = |name: &str| name == "defined" || name == "VULKAN" || name.starts_with("GL_") || name.starts_with("__");
        self.uses(words.get(2..).unwrap_or_default()).filter(move |used| !is_own(used.name))
    }

    /// The names that tokens use; those of members aren't.
    fn uses(&self, tokens: &[Token<'t>]) -> impl Iterator<Item = Use<'t>> {
        let ends = |i: usize| tokens.get(i).map_or("", |(_, token)| *token);
        let names = tokens.iter().enumerate().filter(|(i, (_, token))| is_name(token) && ends(i.wrapping_sub(1)) != ".");
        let used = |(i, (line, name)): (usize, &Token<'t>)| Use { name, path: self.path, line: *line, after: ends(i + 1) };
        names.map(used).collect::<Vec<_>>().into_iter()
    }
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
    fn what_macros_are_not_is_not_offered_as_one() {
        let given = |names: &str| Some(format!("if a build system does, give what it gives: {names}"));
        for (body, undeclared, flags) in [
            ("sun.color", "sun", None),
            ("sun \\\n .color", "sun", None),
            ("suns[2]", "suns", None),
            ("Light l;", "Light", None),
            ("CAMERA.pos + b.CAMERA_2", "sun", None),
            ("LOAD_T x = LOAD_T(3);", "", given("-D LOAD_T=VALUE")),
            ("float16 x;", "float16", given("-D float16=VALUE")),
            // Of other places, and of printed words.
            ("{ int i = 0; } b[i] = 1;", "i", None),
            ("print(\"ODD /* \"); x", "x", given("-D x=VALUE")),
            ("\n#ifdef A\n#define SIZE 3\n#endif\nSIZE", "SIZE", None),
            ("\n#define SIZE(N) (WIDTH * N)\nSIZE(2)", "WIDTH", given("-D WIDTH=VALUE")),
        ] {
            let text = format!("#version 460\nvoid main() {{ {body} }}");
            let error = format!("a.comp:2: error: '{undeclared}' : undeclared identifier");
            let said = said(&error, &text, &[]);
            assert_eq!(said.as_ref().and_then(|said| said.split_once(": ")).map(|(_, what)| what.to_owned()), flags, "{body}");
        }
        let text = "void main() { LOAD(1); D_GGX(LOAD(2)) + SIZE; max(1); }";
        let error = "a.comp:1: error: 'LOAD' : no matching overloaded function found";
        let functions = "the functions `D_GGX` (a.comp:1), `LOAD` (a.comp:1): a file that isn't included may";
        let macros = "Nothing defines `SIZE` (a.comp:1): if a build system does, give what it gives: -D SIZE=VALUE\n";
        assert_eq!(said(error, text, &[]), Some(format!("{macros}Nothing defines {functions}")));
        let one = "Nothing defines the function `D_GGX` (a.comp:1): a file that isn't included may";
        assert_eq!(said(error, text, &["LOAD(x)", "SIZE"]).as_deref(), Some(one));
    }

    #[test]
    fn what_leads_to_an_error_directive_is_listed() {
        for (text, names) in [
            ("#ifndef A\n#error", "`A` (a.comp:1)"),
            ("#if !defined ( A ) /* C */ \\\n || !defined B // D\n#error", "`A` (a.comp:1), `B` (a.comp:2)"),
            ("#ifdef A\n#elif defined(B)\n#else\n#error \"C\"", "`A` (a.comp:1), `B` (a.comp:2)"),
            ("#if SIZE == 3\n#else\n#error", "`SIZE` (a.comp:1)"),
            ("#ifndef A\n#ifdef B\n#endif\n#ifndef C\n#error", "`C` (a.comp:4)"),
            ("#ifndef A\n#endif\n#error", ""),
            ("#ifndef GIVEN\n#error", ""),
            ("#define A 2\n#if A > GL_X + __VERSION__ + VULKAN\n#error", ""),
        ] {
            let line = text.matches('\n').count() + 1;
            let said = said(&format!("a.comp:{line}: error: '#error' : no"), &format!("{text}\n#endif"), &["GIVEN"]);
            let listed = said.as_deref().and_then(|said| said.strip_prefix("Nothing defines ")?.split(": if").next());
            assert_eq!(listed.unwrap_or_default(), names, "{text}");
        }
        let text = "#ifdef X\n#elif ONE && TWO == LOAD(3)";
        let error = "a.comp:2: error: 'preprocessor evaluation' : undefined macro in expression not allowed in es profile ONE";
        assert!(said(error, text, &[]).unwrap().starts_with("Nothing defines `ONE` (a.comp:2): if"));
        let error = "a.comp:2: error: '#if' : unexpected tokens following directive";
        assert!(said(error, text, &[]).unwrap().starts_with("Nothing defines the function `LOAD` (a.comp:2): a"));
    }

    #[test]
    fn nothing_is_said_of_what_an_absent_file_may_define() {
        let error = "a.comp:1: error: '#include' : no `b.h`\na.comp:2: error: 'WG' : undeclared identifier";
        assert_eq!(said(error, "#include \"b.h\"\nlayout(local_size_x = WG) in;", &[]), None);
    }

    #[test]
    fn a_character_is_found_in_code_alone() {
        assert_eq!(stray_character("// é\n/* ü */ a = b × c;\nd “", Some(2)), Some('×'));
        assert_eq!(stray_character("a ×\n b", Some(2)), Some('×'));
        assert_eq!(stray_character("// ×", None), None);
    }
}
