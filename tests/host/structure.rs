//! The tree keeps its rules: which stage imports which, where `unsafe`, Vulkan's types and printing live, and where an
//! experiment's files lie. Every rule is a function from text or data to faults, so that each is shown to be able to fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem::{Discriminant, discriminant};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use lanescope::experiments::{CATALOGUE, DERIVATIONS};
use lanescope::model::{Axis, AxisKind, AxisValue, Preset};
use lanescope::plan::{Plan, Request};
use lanescope::record::schema::{ALSO_AXES, COLUMNS};
use lanescope::shader::Library;
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use crate::support::{each_setting, setting, skip};

/// Modules that every stage may import, and that import only each other; the last two are macros.
const LEAVES: &str =
    "model units error digest globs guide platform process properties regular staged stats validate named words";
/// The stages, in the order in which data flows: each may import those to its left.
const STAGES: [&str; 18] = [
    "experiments",
    "plan",
    "shader",
    "trace",
    "subject",
    "tuning",
    "gpu",
    "measure",
    "record",
    "capture",
    "analysis",
    "output",
    "report",
    "worker",
    "campaign",
    "doctor",
    "explain",
    "cli",
];
/// What may import them all.
const ROOTS: [&str; 2] = ["main", "lib"];
/// Leaves and the first stage are a crate.
const CATALOGUE_CRATE: &str = "src/catalogue";
/// Crates below all of them: the one that reads tables, and what makes Vulkan layers.
const TABLE: &str = "src/table";
const CRATES: [&str; 4] = ["catalogue", "chain", "layer", "table"];

// ---- reading Rust ---------------------------------------------------------------------------------------------------------

/// One source file: where it stands below its root, `src` or another, and its tokens, those of macros among them.
struct Source {
    root: &'static str,
    path: PathBuf,
    tokens: Vec<Token>,
}

/// A name, a bracket, a punctuation mark, of which `::` is one, or a literal, which is `"` whatever it holds.
struct Token {
    text: String,
    line: usize,
}

impl Source {
    fn new(root: &'static str, path: &str, text: &str) -> Self {
        let mut source = Self::whole(root, path, text);
        let tests: Vec<usize> = source.find("# [ cfg ( test ) ]").collect();
        // The last one first: one may lie within another.
        for test in tests.into_iter().rev() {
            let item = test..source.end_of_item(test);
            source.tokens.drain(item);
        }
        source
    }

    fn whole(root: &'static str, path: &str, text: &str) -> Self {
        let mut tokens = Vec::new();
        flatten(text.parse().unwrap_or_else(|error| panic!("{path}: {error}")), &mut tokens);
        Self { root, path: path.into(), tokens }
    }

    fn is(&self, root: &str, path: &str) -> bool {
        self.root == root && self.path == Path::new(path)
    }

    /// Its module, as names from the crate's root: `cli/tune/mod.rs` is `cli tune`.
    fn module(&self) -> Vec<String> {
        let names = self.path.with_extension("");
        names.iter().map(|name| name.to_string_lossy().into_owned()).filter(|name| name != "mod").collect()
    }

    fn fault(&self, place: usize, what: &str) -> String {
        let line = self.tokens.get(place).map_or(1, |token| token.line);
        format!("{}/{}:{line}: {what}", self.root, self.path.display())
    }

    /// A token's text; nothing before the first and behind the last.
    fn at(&self, place: usize) -> &str {
        self.tokens.get(place).map_or("", |token| &token.text)
    }

    fn before(&self, place: usize) -> &str {
        place.checked_sub(1).map_or("", |before| self.at(before))
    }

    /// Whether these tokens, parted by blanks, begin here.
    fn has(&self, place: usize, tokens: &str) -> bool {
        (place..).zip(tokens.split(' ')).all(|(place, token)| self.at(place) == token)
    }

    fn find(&self, tokens: &str) -> impl Iterator<Item = usize> {
        (0..self.tokens.len()).filter(move |place| self.has(*place, tokens))
    }

    /// Behind the item, or the statement, that begins here: behind its semicolon, or its last brace.
    fn end_of_item(&self, start: usize) -> usize {
        let mut depth = 0;
        let is_end = |place: &usize| {
            depth += match self.at(*place) {
                "(" | "[" | "{" => 1,
                ")" | "]" | "}" => -1,
                _ => 0,
            };
            depth == 0 && [";", "}"].contains(&self.at(*place))
        };
        (start..self.tokens.len()).find(is_end).map_or(self.tokens.len(), |end| end + 1)
    }

    /// Every path of an import, and every one in an expression that begins at the crate's root or above, as names from the root; of a
    /// group each: `a::{b, c::d}` is `a b` and `a c d`.
    fn paths(&self) -> Vec<(usize, Vec<String>)> {
        let (own, mut found, mut place) = (self.module(), Vec::new(), 0);
        while place < self.tokens.len() {
            match self.at(place) {
                "use" => place = self.tree(place + 1, Vec::new(), &mut found),
                // Not how far something is visible.
                "crate" | "super" if self.at(place + 1) == "::" && self.before(place) != "in" => {
                    place = self.tree(place, Vec::new(), &mut found);
                }
                _ => place += 1,
            }
        }
        let absolute = |path: Vec<&str>| -> Vec<String> {
            let above = path.iter().take_while(|name| **name == "super").count();
            let (base, rest) = match path[..] {
                ["crate", ..] => (&own[..0], &path[1..]),
                ["self", ..] => (&own[..], &path[1..]),
                _ => (&own[..own.len().saturating_sub(above)], &path[above..]),
            };
            base.iter().cloned().chain(rest.iter().map(ToString::to_string)).collect()
        };
        found.into_iter().map(|(place, path)| (place, absolute(path))).collect()
    }

    /// Reads the paths that begin here, behind these names; where they end.
    fn tree<'s>(&'s self, mut place: usize, mut path: Vec<&'s str>, found: &mut Vec<(usize, Vec<&'s str>)>) -> usize {
        loop {
            match self.at(place) {
                "{" => {
                    place += 1;
                    while !["}", ""].contains(&self.at(place)) {
                        place = self.tree(place, path.clone(), found);
                        place += if self.has(place, "as") { 2 } else { 0 };
                        place += usize::from(self.at(place) == ",");
                    }
                    return place + 1;
                }
                name if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => path.push(name),
                _ => {}
            }
            if self.at(place + 1) != "::" {
                found.push((place, path));
                return place + 1;
            }
            place += 2;
        }
    }
}

fn flatten(stream: TokenStream, into: &mut Vec<Token>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let (line, behind) = (tree.span().start().line, tree.span().end().line);
        let mut add = |text: &str, line| into.push(Token { text: text.to_owned(), line });
        match tree {
            TokenTree::Literal(_) => add("\"", line),
            TokenTree::Punct(mark) if mark.as_char() == ':' && mark.spacing() == Spacing::Joint => {
                let is_path = trees.next_if(|next| matches!(next, TokenTree::Punct(mark) if mark.as_char() == ':')).is_some();
                add(if is_path { "::" } else { ":" }, line);
            }
            TokenTree::Group(group) => {
                let [open, close] = match group.delimiter() {
                    Delimiter::Parenthesis => ["(", ")"],
                    Delimiter::Bracket => ["[", "]"],
                    Delimiter::Brace | Delimiter::None => ["{", "}"],
                };
                add(open, line);
                flatten(group.stream(), into);
                into.push(Token { text: close.to_owned(), line: behind });
            }
            name_or_mark => add(&name_or_mark.to_string(), line),
        }
    }
}

static TREE: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let mut sources = read_below("src", Source::new);
    sources.retain(|source| !CRATES.iter().any(|own| source.path.starts_with(own)));
    for below in [CATALOGUE_CRATE, TABLE] {
        sources.extend(read_below(below, Source::new));
    }
    assert!(sources.len() > 50, "only {} files below src", sources.len());
    sources
});

fn read_below(root: &'static str, read: fn(&'static str, &str, &str) -> Source) -> Vec<Source> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(root);
    let source = |path: &PathBuf| read(root, &below(&folder, path), &fs::read_to_string(path).unwrap());
    files(&folder, "rs").iter().map(source).collect()
}

/// A path from a folder on, parted by slashes.
fn below(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap().to_string_lossy().replace('\\', "/")
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files(&entry, ending));
        } else if entry.extension().is_some_and(|own| own == ending) {
            found.push(entry);
        }
    }
    found.sort();
    found
}

/// What a rule finds in the crate.
fn faults_of_tree(rule: impl Fn(&Source) -> Vec<String>) -> Vec<String> {
    TREE.iter().flat_map(rule).collect()
}

/// How many faults a rule finds in a file below src.
fn count(rule: impl Fn(&Source) -> Vec<String>, path: &str, text: &str) -> usize {
    rule(&Source::new("src", path, text)).len()
}

#[test]
fn what_follows_a_test_is_still_read() {
    for before in ["#[cfg(test)]\nmod tests { const A: char = '}'; }", "#[cfg(test)]\nuse a::b;", "#[cfg(test)]\nmod a;"] {
        assert_eq!(count(import_faults, "plan/mod.rs", &format!("{before} use crate::gpu;")), 1, "{before}");
    }
}

// ---- tests that skip themselves ----------------------------------------------------------------------------------------------

/// Ways out of a test that say nothing. A part of a test, in a process that the test starts, may have them.
fn silent_ends(source: &Source) -> Vec<String> {
    let of_test = |test: usize| {
        let item = test..source.end_of_item(test);
        let is_part = item.clone().any(|place| source.has(place, "# [ ignore"));
        let is_end = |place: &usize| source.at(*place) == "return" && [";", "}", ","].contains(&source.at(place + 1));
        item.filter(is_end).filter(move |_| !is_part).map(|place| source.fault(place, "a test ends early: `skip!` says why"))
    };
    source.find("# [ test ]").flat_map(of_test).collect()
}

#[test]
fn no_test_is_skipped_unseen() {
    let sources: Vec<Source> = ["src", "tests"].into_iter().flat_map(|root| read_below(root, Source::whole)).collect();
    let tests: usize = sources.iter().map(|source| source.find("# [ test ]").count()).sum();
    assert!(tests > 1000, "only {tests} tests");
    assert_eq!(sources.iter().flat_map(silent_ends).collect::<Vec<_>>(), [""; 0]);
    // By its own choice, proptest would keep what failed in a folder at the top.
    let of_src = || sources.iter().filter(|source| source.root == "src");
    let blocks = |source: &Source| source.find("proptest ! {").count();
    let chosen = |source: &Source| source.find("proptest ! { # ! [ proptest_config (").count();
    assert!(of_src().map(blocks).sum::<usize>() > 10);
    let others: Vec<&PathBuf> = of_src().filter(|source| blocks(source) != chosen(source)).map(|source| &source.path).collect();
    assert!(others.is_empty(), "no `#![proptest_config(crate::properties::config())]`: {others:?}");
}

#[test]
fn a_silent_end_is_found() {
    let faults = |text: &str| silent_ends(&Source::whole("tests", "a.rs", text)).len();
    for end in [
        "let Some(a) = b() else { return };",
        "if a { return; }",
        "match a { B => return, C => {} }",
        "on(|d| if d { return; });",
    ] {
        assert_eq!(faults(&format!("#[test]\nfn f() {{ {end} }}")), 1, "{end}");
        assert_eq!(faults(&format!("#[test]\n#[ignore = \"a part of g\"]\nfn f() {{ {end} }}")), 0, "{end}");
        assert_eq!(faults(&format!("#[test]\nfn f() {{}}\nfn helper() {{ {end} }}")), 0, "{end}");
    }
    assert_eq!(faults("#[test]\nfn f() { if a { skip!(\"return;\"); } let b = || return 3; }"), 0);
}

/// The lines that a merge leaves where two sides differ.
fn unmerged(text: &str) -> Vec<usize> {
    let is_mark = |line: &str| ["<<<<<<< ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark));
    (1..).zip(text.lines()).filter(|(_, line)| is_mark(line)).map(|(number, _)| number).collect()
}

/// Documents too, which no compiler reads.
#[test]
fn no_merge_is_left_halfway() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts: Vec<PathBuf> = ["README.md", "CHANGELOG.md"].map(|name| root.join(name)).into();
    texts.extend(
        ["src", "glsl"]
            .iter()
            .flat_map(|folder| ["md", "toml", "comp", "glsl"].map(|ending| files(&root.join(folder), ending)))
            .flatten(),
    );
    texts.extend(files(&root.join("tests"), "toml"));
    let faults: Vec<_> = texts
        .iter()
        .map(|path| (path, unmerged(&fs::read_to_string(path).unwrap())))
        .filter(|(_, lines)| !lines.is_empty())
        .collect();
    assert!(texts.len() > 100 && faults.is_empty(), "{faults:#?}");
    assert_eq!(unmerged("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> 123\n"), [2, 6]);
}

// ---- which stage imports which --------------------------------------------------------------------------------------------

fn import_faults(source: &Source) -> Vec<String> {
    let importer = &source.module().first().cloned().unwrap_or_else(|| "mod".to_owned());
    // The other crate's manifest says what that may import.
    if ROOTS.contains(&importer.as_str()) || source.root == TABLE {
        return Vec::new();
    }
    let place = |name: &str| STAGES.iter().position(|stage| *stage == name);
    let is_leaf = |name: &str| LEAVES.split(' ').any(|leaf| leaf == name);
    if !is_leaf(importer) && place(importer).is_none() {
        return vec![source.fault(0, &format!("`{importer}` is neither a leaf nor a stage: give it its place in this test"))];
    }
    let allowed = |imported: &str| {
        imported == importer || is_leaf(imported) || place(imported).is_some_and(|place_of| Some(place_of) < place(importer))
    };
    let imports = source.paths().into_iter().filter_map(|(place, path)| Some((place, path.first()?.clone())));
    let wrong = imports.filter(|(_, imported)| !allowed(imported));
    wrong.map(|(place, imported)| source.fault(place, &format!("`{importer}` may not import `{imported}`"))).collect()
}

#[test]
fn a_stage_imports_leaves_and_the_stages_before_it() {
    assert_eq!(faults_of_tree(import_faults), [""; 0]);
}

#[test]
fn an_import_from_the_right_is_found() {
    let faults = |path: &str, text: &str| import_faults(&Source::new("src", path, text));
    assert_eq!(faults("plan/mod.rs", "\nuse crate::gpu::Device;\n"), ["src/plan/mod.rs:2: `plan` may not import `gpu`"]);
    assert_eq!(
        faults("subject/kernel.rs", "use crate::tuning::space::Space;"),
        ["src/subject/kernel.rs:1: `subject` may not import `tuning`"]
    );
    for (path, text) in [
        ("gpu/memory.rs", "use crate::{model::{Case, Kernel}, units, record::Record};"),
        ("model/case.rs", "fn f() -> crate::plan::Plan { todo!() }"),
        ("model/case.rs", "fn f() { println!(\"{}\", crate::plan::A) }"),
        ("shader/reflect/index.rs", "use super::super::super::measure;"),
        ("plan/mod.rs", "use super::output;"),
        ("error.rs", "use super::output;"),
        ("campaign/claim.rs", "use crate::cli::args::Arguments;"),
        ("novelty/mod.rs", ""),
    ] {
        assert_eq!(faults(path, text).len(), 1, "{path}: {text}");
    }
    for (path, text) in [
        ("gpu/memory.rs", "use crate::{model::{Case, Kernel}, units};\nuse super::error;\nuse super::super::shader;"),
        ("plan/mod.rs", "// crate::gpu\n/* crate::gpu /* nested */ crate::gpu */\nconst A: &str = \"crate::gpu\";"),
        ("plan/mod.rs", "#[cfg(test)]\nmod tests { use crate::gpu::Device; fn f() { if true {} } }\nfn g() {}"),
        ("output/mod.rs", "#[cfg(test)]\nmod testing;\nuse crate::record::Record;"),
        ("tuning/diagnosis.rs", "use super::super::subject::Reference;\nuse crate::subject::LOCAL_SIZE_AXES;"),
        ("cli/run.rs", "use crate::output;"),
    ] {
        assert_eq!(faults(path, text), [""; 0], "{text}");
    }
}

/// What reads rows: that needs neither a compiler nor a GPU.
const READERS: [&str; 2] = ["record", "analysis"];
/// What does, by itself or by what it imports.
const NOT_FOR_READERS: [&str; 4] = ["shader", "subject", "gpu", "measure"];

fn reader_faults(source: &Source) -> Vec<String> {
    let is_reader = source.module().first().is_some_and(|own| READERS.contains(&own.as_str()));
    let found = source
        .paths()
        .into_iter()
        .filter(|(_, path)| is_reader && path.first().is_some_and(|imported| NOT_FOR_READERS.contains(&imported.as_str())));
    found.map(|(place, path)| source.fault(place, &format!("`{}` isn't for what reads rows", path[0]))).collect()
}

#[test]
fn rows_are_read_without_a_compiler_or_a_gpu() {
    assert_eq!(TREE.iter().flat_map(reader_faults).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(count(reader_faults, "analysis/rows.rs", "use crate::{model::Case, measure::Stop};"), 1);
    assert_eq!(count(reader_faults, "record/schema.rs", "fn f() { crate::shader::explain(); }"), 1);
    assert_eq!(count(reader_faults, "measure/mod.rs", "use crate::gpu::Device;"), 0);
}

// ---- what an application builds that reads tuning tables ------------------------------------------------------------------------

/// Serde, what reads JSON by it, and theirs.
const OF_TABLE: &str =
    "lanescope-table serde serde_core serde_derive proc-macro2 unicode-ident quote syn serde_json itoa memchr zmij";

/// The packages of a tree, by `cargo tree --prefix none`, that don't belong there.
fn other_packages(tree: &str) -> BTreeSet<&str> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| !OF_TABLE.split(' ').any(|known| known == *name)).collect()
}

#[test]
fn an_application_that_reads_tables_builds_serde_alone() {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args(["tree", "--package=lanescope-table", "--edges=normal,build", "--target=all", "--prefix=none"]);
    let Ok(Output { status, stdout, stderr }) = cargo.args(["--locked", "--offline"]).output() else {
        skip!("there is no cargo");
    };
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let tree = String::from_utf8(stdout).unwrap();
    assert!(["lanescope-table", "serde", "serde_json"].iter().all(|name| tree.contains(&format!("{name} v"))), "{tree}");
    assert_eq!(other_packages(&tree), BTreeSet::new());
}

#[test]
fn another_package_is_found() {
    let tree = "lanescope-table v0.1.0 (/src/table)\nserde v1.0.229\ncsv v1.4.0\nitoa v1.0.18\nserde v1.0.229 (*)\n\n";
    assert_eq!(other_packages(tree), BTreeSet::from(["csv"]));
}

// ---- length of functions --------------------------------------------------------------------------------------------------

/// The most lines that a function of these has: whoever reads it sees all of it.
const LONGEST: usize = 40;
const SHORT: [&str; 2] = ["campaign", "cli"];

fn length_faults(source: &Source) -> Vec<String> {
    if source.root != "src" || !SHORT.iter().any(|module| source.path.starts_with(module)) {
        return Vec::new();
    }
    let length = |place: usize| {
        let last = source.tokens.get(source.end_of_item(place) - 1).map_or(0, |token| token.line);
        last.saturating_sub(source.tokens[place].line) + 1
    };
    let functions = source.find("fn").map(|place| (place, length(place)));
    let long = functions.filter(|(_, lines)| *lines > LONGEST);
    long.map(|(place, lines)| source.fault(place, &format!("`{}` has {lines} lines", source.at(place + 1)))).collect()
}

#[test]
fn functions_of_commands_and_of_campaigns_are_short() {
    assert_eq!(faults_of_tree(length_faults), [""; 0]);
    let of = |lines: usize| format!("fn f() {{\n{}}}", "    g();\n".repeat(lines - 2));
    assert_eq!(count(length_faults, "cli/run.rs", &of(LONGEST)), 0);
    assert_eq!(count(length_faults, "cli/run.rs", &of(LONGEST + 1)), 1);
}

// ---- circles --------------------------------------------------------------------------------------------------------------

/// The files below a folder that import each other in a circle, each with one of those that lead back to it. A file needs those of the
/// modules that it declares.
fn circles(sources: &[Source], folder: &str) -> Vec<String> {
    let below: Vec<&Source> =
        sources.iter().filter(|source| source.module().first().is_some_and(|own| own == folder)).collect();
    let modules: Vec<Vec<String>> = below.iter().map(|source| source.module()).collect();
    // The file that a path leads into.
    let file_of = |path: &[String]| (1..=path.len()).rev().find_map(|end| modules.iter().position(|own| *own == path[..end]));
    let imports = |(file, source): (usize, &&Source)| -> BTreeSet<usize> {
        let declared = source.find("mod").filter(|place| source.at(place + 2) == ";");
        let declared = declared.map(|place| [&modules[file][..], &[source.at(place + 1).to_owned()]].concat());
        let paths = source.paths().into_iter().map(|(_, path)| path).chain(declared);
        paths.filter_map(|path| file_of(&path)).filter(|imported| *imported != file).collect()
    };
    let edges: Vec<BTreeSet<usize>> = below.iter().enumerate().map(imports).collect();
    let reached = |from: usize| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(file) = next.pop() {
            next.extend(edges[file].iter().filter(|imported| seen.insert(**imported)));
        }
        seen
    };
    let name = |file: usize| modules[file].join("::");
    let back = |file: usize| edges[file].iter().copied().find(|imported| reached(*imported).contains(&file));
    (0..below.len()).filter_map(|file| Some(format!("{} needs {}, and that needs it", name(file), name(back(file)?)))).collect()
}

#[test]
fn no_files_of_cli_and_none_of_campaign_need_each_other() {
    assert_eq!([circles(&TREE, "cli"), circles(&TREE, "campaign")].concat(), [""; 0]);
}

#[test]
fn a_circle_is_found() {
    let found = |files: &[(&str, &str)]| {
        circles(&files.iter().map(|(path, text)| Source::new("src", path, text)).collect::<Vec<_>>(), "cli").len()
    };
    let root = ("cli/mod.rs", "mod a;\nmod b;\nmod c;");
    assert_eq!(found(&[root, ("cli/a.rs", "use super::b::{self, B};"), ("cli/b.rs", "use crate::model::A;")]), 0);
    assert_eq!(found(&[root, ("cli/a.rs", "use super::b::B;"), ("cli/b.rs", "use crate::{cli::a::A, model};")]), 2);
    assert_eq!(found(&[root, ("cli/a.rs", "pub use super::{c, b::B};"), ("cli/b.rs", ""), ("cli/c.rs", "use super::a;")]), 2);
    assert_eq!(found(&[root, ("cli/a.rs", "use super::print;")]), 2, "what the parent has");
    let by_path = ("cli/a.rs", "fn f() { crate::cli::b::g(1) }");
    assert_eq!(found(&[root, by_path, ("cli/b.rs", "use super::a;")]), 2, "a path in an expression");
    assert_eq!(found(&[("cli/a/mod.rs", "mod b;"), ("cli/a/b.rs", "use super::super::a::A;")]), 2);
    assert_eq!(
        found(&[root, ("cli/a.rs", "#[cfg(test)]\nmod tests { use super::super::b; }"), ("cli/b.rs", "use super::a;")]),
        0
    );
}

// ---- unsafe, Vulkan's types, printing -------------------------------------------------------------------------------------

/// Where Vulkan is called: the crate's one stage for it, the layer that tests put below it, and a program that they capture. The crates of
/// layers do nothing else.
const VULKAN: [(&str, &str); 3] = [("src", "gpu"), ("tests", "fault_layer"), ("tests", "dispatches")];
/// What else is called that isn't Rust.
const UNSAFE: [(&str, &str); 5] = [
    // The optimizer and the validator of SPIR-V, a C library.
    ("src", "shader/inlined.rs"),
    ("src", "shader/validator.rs"),
    // Windows: no crate that wraps job objects limits memory.
    ("src", "platform/windows/calls.rs"),
    // What is looked at before the standard library begins.
    ("src", "platform/unix/started.rs"),
    // The keys of Windows' console.
    ("tests", "support/console.rs"),
];

fn unsafe_faults(source: &Source) -> Vec<String> {
    if VULKAN.iter().any(|(root, folder)| source.root == *root && source.path.starts_with(folder)) {
        return Vec::new();
    }
    let may_be_unsafe = UNSAFE.iter().any(|(root, path)| source.is(root, path));
    let is_fault = |place: &usize| match source.at(*place) {
        "unsafe" | "unsafe_code" => !may_be_unsafe && !source.has(place.saturating_sub(2), "forbid ("),
        "vk" | "ash" | "gpu_allocator" => source.at(place + 1) == "::" || ["use", "crate"].contains(&source.before(*place)),
        _ => false,
    };
    let found = (0..source.tokens.len()).filter(is_fault);
    found.map(|place| source.fault(place, &format!("`{}` belongs to gpu", source.at(place)))).collect()
}

#[test]
fn only_gpu_is_unsafe_and_knows_vulkans_types() {
    let tests = ["tests", "benches"].into_iter().flat_map(|root| read_below(root, Source::new));
    let faults = tests.flat_map(|source| unsafe_faults(&source));
    assert_eq!(faults.chain(faults_of_tree(unsafe_faults)).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn unsafe_code_and_vulkans_types_are_found() {
    let faults = |path: &str, text: &str| count(unsafe_faults, path, text);
    for text in [
        "fn f() { unsafe { g() } }",
        "use ash::vk;",
        "use ash;",
        "fn f(_: vk::Buffer) {}",
        "use gpu_allocator::vulkan::Allocator;",
        "#![allow(unsafe_code)]",
    ] {
        assert_eq!(faults("measure/vulkan.rs", text), 1, "{text}");
        assert_eq!(faults("gpu/memory.rs", text), 0, "{text}");
    }
    assert_eq!(faults("shader/validator.rs", "unsafe { f() }"), 0);
    assert_eq!(faults("shader/validator.rs", "use ash::vk;"), 1);
    assert_eq!(faults("shader/loader.rs", "unsafe { f() }"), 1);
    assert_eq!(faults("platform/windows/calls.rs", "unsafe { f() }"), 0);
    assert_eq!(faults("platform/windows/mod.rs", "unsafe { f() }"), 1);
    let in_tests = |path: &str| unsafe_faults(&Source::new("tests", path, "use ash::vk;"));
    assert_eq!(in_tests("gpu.rs"), ["tests/gpu.rs:1: `ash` belongs to gpu"]);
    assert_eq!(in_tests("fault_layer/calls.rs"), [""; 0]);
    assert_eq!(faults("fault_layer/calls.rs", "use ash::vk;"), 1, "a layer in the crate");
    assert_eq!(faults("measure/vulkan.rs", "#![forbid(unsafe_code)]"), 0);
    assert_eq!(faults("measure/vulkan.rs", "// unsafe\nlet vk = 1; let hash = ash(2); \"unsafe vk::\";"), 0);
}

/// A path's name may hold line ends: people are shown it in one line.
fn display_faults(source: &Source) -> Vec<String> {
    let may_show = source.is(CATALOGUE_CRATE, "model/path/mod.rs") || source.is(TABLE, "file.rs");
    let found = source.find(". display ( )").filter(|_| !may_show);
    found.map(|place| source.fault(place, "`display()`: `shown()` keeps a path in its line")).collect()
}

#[test]
fn paths_are_shown_in_one_line() {
    assert_eq!(faults_of_tree(display_faults), [""; 0]);
    let faults = |text: &str| count(display_faults, "cli/run.rs", text);
    assert_eq!(faults("fn f() { format!(\"{}\", path.display()); }"), 1);
    assert_eq!(faults("fn display() {} // .display()\n#[cfg(test)]\nmod tests { fn f() { path.display(); } }"), 0);
}

/// What opens a file by its path, whatever that leads to. `create_new` doesn't.
const OPENERS: [&str; 8] = ["open", "create", "options", "OpenOptions", "read", "read_to_string", "write", "copy"];

/// The files that open what nobody but the system can have put in place: a folder to bring to the disk, and what the kernel tells.
const OPEN: [&str; 4] = ["staged.rs", "campaign/host.rs", "gpu/clock.rs", "gpu/others.rs"];

/// What others may have put in place is opened in one place, which looks at it.
fn opening_faults(source: &Source) -> Vec<String> {
    let is_of_tool =
        source.path.starts_with("platform") || ["regular.rs"].iter().chain(&OPEN).any(|path| source.is("src", path));
    // An application has no use for what `regular` asks of the system.
    let is_known = is_of_tool || source.is(TABLE, "file.rs");
    let opens = |place: &usize| match source.at(*place) {
        // The second: a crate that writes files by itself.
        "OpenOptions" | "generate_to" => true,
        name if OPENERS.contains(&name) && source.at(place + 1) == "(" => {
            ["fs ::", "File ::"].iter().any(|of| place.checked_sub(2).is_some_and(|before| source.has(before, of)))
        }
        _ => false,
    };
    let found = (0..source.tokens.len()).filter(opens).filter(|_| !is_known);
    found
        .map(|place| source.fault(place, &format!("`{}` opens a file: `regular` looks at it first", source.at(place))))
        .collect()
}

#[test]
fn files_are_opened_in_one_place() {
    assert_eq!(faults_of_tree(opening_faults), [""; 0]);
    let fault = |path: &str, text: &str| count(opening_faults, path, text);
    for text in [
        "fn f() { fs::read(path); }",
        "fn f() { std::fs::copy(a, b); }",
        "fn f() { File::open(path); }",
        "use std::fs::OpenOptions;",
        "fn f() { clap_mangen::generate_to(command, folder); }",
    ] {
        assert_eq!(fault("cli/run.rs", text), 1, "{text}");
        assert_eq!(fault("regular.rs", text), 0, "{text}");
    }
    assert_eq!(fault("cli/run.rs", "fn f() { File::create_new(path); regular::open(path); file.read(bytes); }"), 0);
}

/// The files that write to standard output or the error stream, or ask about them. What people read goes through the first, which
/// lets nothing through that a terminal would obey.
const PRINT: [&str; 8] = [
    "output/people.rs",
    // Whether there is a terminal, and how wide it is.
    "output/page.rs",
    // Bars, whose texts are made legible there.
    "output/progress.rs",
    // Rows, as they are where they are for programs.
    "output/mod.rs",
    // Whether standard output is closed.
    "platform/unix/mod.rs",
    "platform/windows/mod.rs",
    // What a worker says to its supervisor.
    "worker/serve.rs",
    // What another process asked for.
    "shader/apart.rs",
];

fn print_faults(source: &Source) -> Vec<String> {
    const MACROS: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];
    let prints = |place: &usize| match source.at(*place) {
        // Not of another process, of a page, whether it is a terminal, or the module of this name.
        name @ ("stdout" | "stderr") => {
            let is_of = |before: &str| place.checked_sub(2).is_some_and(|start| source.has(start, before));
            let is_asked = source.has(place + 1, "( ) . is_terminal ( )");
            let is_module = name == "stdout" && (source.before(*place) == "mod" || is_of("super ::"));
            !(source.before(*place) == "." || is_of("Page ::") || is_asked || is_module)
        }
        name => MACROS.contains(&name) && source.at(place + 1) == "!",
    };
    let may_print = PRINT.iter().any(|path| source.is("src", path));
    let found = (0..source.tokens.len()).filter(prints).filter(|_| !may_print);
    found.map(|place| source.fault(place, &format!("`{}`: output/people.rs prints", source.at(place)))).collect()
}

#[test]
fn what_people_read_is_printed_in_one_place() {
    assert_eq!(faults_of_tree(print_faults), [""; 0]);
}

#[test]
fn printing_is_found() {
    let faults = |path: &str, text: &str| count(print_faults, path, text);
    for text in ["println!(\"a\");", "eprintln ! ()", "dbg!(1)", "std::io::stdout().write_all(b\"a\")"] {
        for path in ["measure/mod.rs", "cli/run.rs", "output/table.rs"] {
            assert_eq!(faults(path, text), 1, "{path}: {text}");
        }
        assert_eq!(faults("output/people.rs", text), 0, "{text}");
    }
    let asked =
        "mod stdout; use super::stdout::print; Page::stdout(); io::stdout().is_terminal(); command.stdout(Stdio::piped());";
    assert_eq!(faults("cli/run.rs", asked), 0);
    assert_eq!(faults("measure/mod.rs", "// println!()\nfn print() {} #[cfg(test)] mod tests { fn f() { println!(); } }"), 0);
}

// ---- messages -------------------------------------------------------------------------------------------------------------

/// What is sent as text, and has a path that may be none: `FilePath` is one that is sent whole.
fn message_faults(source: &Source) -> Vec<String> {
    let is_sent = |derive: &usize| {
        (derive + 4..)
            .map(|place| source.at(place))
            .take_while(|name| ![")", ""].contains(name))
            .any(|name| name == "Serialize")
    };
    let items = source.find("# [ derive (").filter(is_sent).flat_map(|derive| derive..source.end_of_item(derive));
    let names = items.filter(|place| ["PathBuf", "OsString"].contains(&source.at(*place)));
    names.map(|place| source.fault(place, &format!("`{}` may be no text: FilePath is sent whole", source.at(place)))).collect()
}

#[test]
fn no_message_has_a_path_that_is_refused_where_it_is_no_text() {
    assert_eq!(faults_of_tree(message_faults), [""; 0]);
    let faults = |text: &str| count(message_faults, "worker/host.rs", text);
    assert_eq!(
        faults("#[derive(Clone, Serialize, Deserialize)]\npub struct A { a: Option<PathBuf>, b: Vec<(u8, PathBuf)> }"),
        2
    );
    assert_eq!(faults("#[derive(Serialize)] enum A { B { a: u8 }, C(PathBuf) }"), 1);
    assert_eq!(faults("#[derive(Serialize)] struct A(OsString);"), 1);
    assert_eq!(faults("#[derive(Serialize)] struct A { a: FilePath }\n#[derive(Clone)] struct B { a: PathBuf }"), 0);
    assert_eq!(faults("#[derive(Serialize)] struct A(u8); fn f(_: PathBuf) {}"), 0);
}

// ---- experiments and shaders ----------------------------------------------------------------------------------------------

/// Experiments whose file isn't where their name says, and files that are no experiment's. Parts of one lie in the folder of its
/// name; what several share lies in `common`.
fn place_faults(names: &[&str], files: &[&str]) -> Vec<String> {
    let expected: BTreeSet<String> = names.iter().map(|name| format!("{name}.rs")).collect();
    let folders: Vec<&str> = names.iter().copied().chain(["common"]).collect();
    let is_part = |file: &str| folders.iter().any(|name| file.strip_prefix(name).is_some_and(|rest| rest.starts_with('/')));
    let others = files.iter().filter(|file| **file != "mod.rs" && !is_part(file));
    let found: BTreeSet<String> = others.map(ToString::to_string).collect();
    expected.symmetric_difference(&found).cloned().collect()
}

#[test]
fn an_experiment_is_the_file_of_its_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(CATALOGUE_CRATE).join("experiments");
    let derivations = DERIVATIONS.iter().map(|derivation| derivation.name);
    let names: Vec<&str> = CATALOGUE.iter().map(|experiment| experiment.name()).chain(derivations).collect();
    let found = files(&folder, "rs");
    let found: Vec<String> = found.iter().map(|file| below(&folder, file)).collect();
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(place_faults(&names, &found), [""; 0]);
}

/// The overview is a cross-section that a user waits for.
#[test]
fn a_quick_run_has_few_cases() {
    for device in crate::support::device_classes() {
        let cases = Plan::new(&Request::default(), setting(&device, Preset::Quick)).unwrap().count();
        assert!(cases <= 225, "{cases} on {}", device.name);
    }
}

#[test]
fn a_misplaced_experiment_is_found() {
    assert_eq!(place_faults(&["memory/stream"], &["memory/stream.rs"]), [""; 0]);
    assert_eq!(place_faults(&["memory/stream"], &["memory/stream.rs", "memory/stream/twin.rs"]), [""; 0]);
    assert_eq!(place_faults(&["memory/stream"], &["memory/stream/twin.rs"]), ["memory/stream.rs"]);
    assert_eq!(place_faults(&["memory/stream"], &["memory/stream.rs", "memory/streams/twin.rs"]), ["memory/streams/twin.rs"]);
    assert_eq!(place_faults(&["memory/stream"], &["cache/stream.rs"]), ["cache/stream.rs", "memory/stream.rs"]);
    assert_eq!(place_faults(&[], &["memory/old.rs"]), ["memory/old.rs"]);
    assert_eq!(place_faults(&[], &["mod.rs", "common/levels.rs", "common/levels/cut.rs"]), [""; 0]);
    assert_eq!(place_faults(&[], &["levels.rs", "levels/cut.rs"]), ["levels.rs", "levels/cut.rs"]);
}

/// Shaders that no case uses, and shaders outside the folder of the family that uses them.
fn shader_faults(shaders: &[&str], used: &BTreeSet<(String, String)>) -> Vec<String> {
    let is_used = |path: &str| used.iter().any(|(_, source)| source == path);
    let unused = shaders.iter().filter(|path| !is_used(path)).map(|path| format!("glsl/{path} is used by no experiment"));
    let family = |path: &str| path.split('/').next().unwrap_or_default().to_owned();
    let strays = used.iter().filter(|(experiment, source)| family(experiment) != family(source));
    unused.chain(strays.map(|(experiment, source)| format!("{experiment} uses {source} of another family"))).collect()
}

#[test]
fn every_shader_is_used_by_an_experiment_of_its_family() {
    let library = Library::embedded();
    // With this one `tune` compares what passes leave, on the device.
    let mut used = BTreeSet::from([("calibration/tune".to_owned(), "calibration/changed.comp".to_owned())]);
    for device in crate::support::device_classes().into_iter().chain([crate::support::with_matrices()]) {
        for preset in crate::support::PRESETS {
            let plan = Plan::new(&Request::default(), setting(&device, preset)).unwrap();
            for planned in plan.iter() {
                let kernels = planned.case.map(|case| case.kernels).unwrap_or_default();
                used.extend(
                    kernels.into_iter().map(|kernel| (planned.experiment.name().to_owned(), kernel.source.into_owned())),
                );
            }
        }
    }
    let shaders: Vec<&str> = library.shaders().collect();
    let on_disk = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("glsl"), "comp").len();
    assert_eq!(shaders.len(), on_disk, "what is embedded is what lies in glsl/");
    assert_eq!(shader_faults(&shaders, &used), [""; 0]);
}

#[test]
fn an_unused_or_borrowed_shader_is_found() {
    let used = BTreeSet::from([("memory/stream".to_owned(), "cache/line.comp".to_owned())]);
    assert_eq!(
        shader_faults(&["cache/line.comp", "cache/old.comp"], &used),
        ["glsl/cache/old.comp is used by no experiment", "memory/stream uses cache/line.comp of another family"]
    );
}

/// Axes with a fixed column's name, with another type elsewhere, with default or neutral values that they don't take, or with
/// words that a reader of rows would take for numbers.
fn axis_faults(axes: &[(&str, Axis)]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut types: BTreeMap<&str, (bool, &str)> = BTreeMap::new();
    for (experiment, axis) in axes {
        let name = axis.name.as_ref();
        let mut fault = |what: &str| faults.push(format!("axis {name} of {experiment} {what}"));
        // In any case: SQL ignores it.
        let is_columns = COLUMNS.iter().any(|column| column.name.eq_ignore_ascii_case(name));
        if is_columns && !ALSO_AXES.contains(&name) {
            fault("bears a fixed column's name");
        }
        let of_words = matches!(axis.kind, AxisKind::Choices(_));
        let (earlier, elsewhere) = *types.entry(name).or_insert((of_words, experiment));
        if earlier != of_words {
            fault(&format!("has another type than in {elsewhere}"));
        }
        if axis.defaults.iter().chain(&axis.neutral).any(|value| !axis.accepts(value)) {
            fault("has a default that it doesn't take");
        }
        if matches!(axis.kind, AxisKind::Choices(words) if words.iter().any(|word| word.parse::<f64>().is_ok() || word.contains([';', '='])))
        {
            fault("has a word that can't be read back");
        }
        let kinds: BTreeSet<bool> = axis.defaults.iter().map(|value| matches!(value, AxisValue::Choice(_))).collect();
        if axis.defaults.is_empty() || kinds.len() > 1 {
            fault("has no defaults, or of several types");
        }
    }
    faults
}

#[test]
fn an_axis_has_a_name_of_its_own_and_one_type_and_description_everywhere() {
    let mut faults = BTreeSet::new();
    // A device or a preset may change an axis's defaults, never what it is.
    let mut known: BTreeMap<(&str, String), (Discriminant<AxisKind>, String)> = BTreeMap::new();
    each_setting(|setting| {
        let axes = CATALOGUE.iter().flat_map(|e| e.axes(&setting).into_iter().map(|axis| (e.name(), axis)));
        let axes: Vec<_> = axes.collect();
        faults.extend(axis_faults(&axes));
        for (experiment, axis) in axes {
            let here = (discriminant(&axis.kind), axis.description.to_string());
            let known = known.entry((experiment, axis.name.to_string())).or_insert_with(|| here.clone());
            assert_eq!(known, &here, "{experiment}");
        }
    });
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_bad_axis_is_found() {
    let axis = |name: &'static str, kind| Axis::new(name, "", kind, [1_u64]);
    let number = || AxisKind::AtLeast(1);
    assert_eq!(axis_faults(&[("a/b", axis("stride", number())), ("a/c", axis("local_size_x", number()))]), [""; 0]);
    assert_eq!(axis_faults(&[("a/b", axis("rounds", number()))]), ["axis rounds of a/b bears a fixed column's name"]);
    let words = Axis::new("n", "", AxisKind::Choices(&["many"]), ["many"]);
    assert_eq!(axis_faults(&[("a/b", axis("n", number())), ("a/c", words)]), ["axis n of a/c has another type than in a/b"]);
    assert_eq!(axis_faults(&[("a/b", axis("n", AxisKind::AtLeast(2)))]), ["axis n of a/b has a default that it doesn't take"]);
    let digits = Axis::new("mode", "", AxisKind::Choices(&["12"]), ["12"]);
    assert_eq!(axis_faults(&[("a/b", digits)]), ["axis mode of a/b has a word that can't be read back"]);
    let none = Axis::new("n", "", number(), [0_u64; 0]);
    assert_eq!(axis_faults(&[("a/b", none)]), ["axis n of a/b has no defaults, or of several types"]);
}
