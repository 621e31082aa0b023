//! The tree keeps its rules: which stage imports which, where `unsafe`, Vulkan's types and printing live, and where an
//! experiment's files lie. Every rule is a function from text or data to faults, so that each is shown to be able to fail.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem::{Discriminant, discriminant};
use std::path::{Path, PathBuf};

use lanescope::experiments::{CATALOGUE, DERIVATIONS, Setting};
use lanescope::model::{Axis, AxisKind, AxisValue, Preset};
use lanescope::plan::{Plan, Request};
use lanescope::record::schema::may_name_axis;
use lanescope::shader::Library;

/// Modules that every stage may import, and that import only each other.
const LEAVES: [&str; 12] = [
    "model",
    "units",
    "error",
    "digest",
    "globs",
    "platform",
    "process",
    "properties",
    "regular",
    "staged",
    "stats",
    "validate",
];
/// The stages, in the order in which data flows: each may import those to its left.
const STAGES: [&str; 11] =
    ["experiments", "plan", "shader", "subject", "tuning", "gpu", "measure", "record", "analysis", "output", "report"];
/// What composes the stages, and may import them all.
const ROOTS: [&str; 4] = ["cli", "worker", "main", "lib"];

// ---- tests that skip themselves ----------------------------------------------------------------------------------------------

/// Ways out of a test that say nothing. A part of a test, in a process that the test starts, may have them.
fn silent_ends(source: &Source) -> Vec<String> {
    let mut faults = Vec::new();
    for (start, _) in source.code.match_indices("#[test]") {
        let Some(open) = source.code[start..].find('{').map(|length| start + length) else { continue };
        let end = open + block(&source.code[open..]);
        let is_part = source.code[start..open].contains("#[ignore");
        let names = source.names().filter(|(position, name)| *name == "return" && (open..end).contains(position));
        let ends = names.filter(|(position, name)| source.after(*position, name).starts_with([';', '}', ',']));
        let fault = |(position, _)| source.fault(position, "a test ends early: `skip!` says why");
        faults.extend(ends.filter(|_| !is_part).map(fault));
    }
    faults
}

/// How long the block is that the code begins with.
fn block(code: &str) -> usize {
    let mut depth = 0;
    let is_end = |(_, c): &(usize, char)| {
        depth += i32::from(*c == '{') - i32::from(*c == '}');
        depth == 0
    };
    code.char_indices().find(is_end).map_or(code.len(), |(end, _)| end + 1)
}

#[test]
fn no_test_is_skipped_unseen() {
    let sources: Vec<Source> = ["src", "tests"].into_iter().flat_map(whole_tree_below).collect();
    let tests: usize = sources.iter().map(|source| source.code.matches("#[test]").count()).sum();
    assert!(tests > 1000, "only {tests} tests");
    let faults: Vec<String> = sources.iter().flat_map(silent_ends).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_silent_end_is_found() {
    let faults = |text: &str| silent_ends(&Source::new("a.rs", text)).len();
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

/// By its own choice, proptest would keep what failed in a folder at the top.
#[test]
fn what_failed_once_is_kept_below_tests() {
    let blocks = |source: &Source| source.code.matches("proptest! {").count();
    let chosen = |source: &Source| {
        source.code.split("proptest! {").skip(1).filter(|block| block.trim_start().starts_with("#![proptest_config(")).count()
    };
    let sources = whole_tree_below("src");
    assert!(sources.iter().map(blocks).sum::<usize>() > 10);
    let others: Vec<&PathBuf> =
        sources.iter().filter(|source| blocks(source) != chosen(source)).map(|source| &source.path).collect();
    assert!(others.is_empty(), "no `#![proptest_config(crate::properties::config())]`: {others:?}");
}

// ---- reading Rust ---------------------------------------------------------------------------------------------------------

/// One source file: where it stands below its root, `src` or another, and its text without comments, literals and tests.
struct Source {
    root: &'static str,
    path: PathBuf,
    code: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        Self::below("src", path, text)
    }

    fn below(root: &'static str, path: &str, text: &str) -> Self {
        Self { root, path: path.into(), code: without_tests(&without_words(text)) }
    }

    /// With its tests.
    fn whole(root: &'static str, path: &str, text: &str) -> Self {
        Self { root, path: path.into(), code: without_words(text) }
    }

    /// The module directly below the crate's root that it belongs to.
    fn module(&self) -> String {
        Path::new(self.path.iter().next().unwrap()).file_stem().unwrap().to_string_lossy().into_owned()
    }

    /// How many modules it lies below the crate's root: `error.rs` and `gpu/mod.rs` one, `gpu/memory.rs` two.
    fn depth(&self) -> usize {
        self.path.iter().count() - usize::from(self.path.file_stem().is_some_and(|stem| stem == "mod"))
    }

    fn fault(&self, position: usize, what: &str) -> String {
        let line = self.code[..position].matches('\n').count() + 1;
        format!("{}/{}:{line}: {what}", self.root, self.path.display())
    }

    /// Names as Rust sees them, with their positions; `super::super` is two.
    fn names(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut rest = 0;
        std::iter::from_fn(move || {
            let start = rest + self.code[rest..].find(is_name)?;
            let end = self.code[start..].find(|c| !is_name(c)).map_or(self.code.len(), |length| start + length);
            rest = end;
            Some((start, &self.code[start..end]))
        })
    }

    /// What follows a name, blanks passed over.
    fn after(&self, position: usize, name: &str) -> &str {
        self.code[position + name.len()..].trim_start()
    }

    /// The crate's modules that it imports, by `crate::` or by as many `super::` as lead to the root.
    fn imports(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        for (position, name) in self.names() {
            let above = if name == "crate" { Some(self.after(position, name)) } else { self.above_root(position, name) };
            let Some(path) = above.and_then(|path| path.strip_prefix("::")) else { continue };
            found.extend(first_names(path).into_iter().map(|module| (position, module)));
        }
        found
    }

    /// What follows a chain of `super` that begins here and ends at the crate's root.
    fn above_root(&self, position: usize, name: &str) -> Option<&str> {
        if name != "super" || self.code[..position].trim_end().ends_with("super::") {
            return None;
        }
        let mut rest = &self.code[position..];
        let mut steps = 0;
        while let Some(next) = rest.strip_prefix("::").unwrap_or(rest).strip_prefix("super") {
            rest = next;
            steps += 1;
        }
        (steps == self.depth()).then_some(rest)
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The first name of a path, or of each path of a group: `a::b` has `a`, `{a::{b, c}, d}` has `a` and `d`.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| text.trim_start().chars().take_while(|c| is_name(*c)).collect::<String>();
    let Some(group) = path.trim_start().strip_prefix('{') else { return vec![name(path)] };
    let (mut names, mut depth, mut start) = (Vec::new(), 0, 0);
    for (i, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(name(&group[start..i]));
                start = i + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// The text with comments and the insides of literals blanked, lines kept.
fn without_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let before_is_name = out.chars().next_back().is_some_and(is_name);
        let words = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if c == '"' {
            string(rest)
        } else if let (Some(length), false) = (raw_string(rest), before_is_name) {
            length
        } else if c == '\'' {
            character(rest)
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        out.extend(rest[..words].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[words..];
    }
    out
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut i) = (0, 0);
    while i < text.len() {
        match &text.as_bytes()[i..] {
            [b'/', b'*', ..] => (depth, i) = (depth + 1, i + 2),
            [b'*', b'/', ..] => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    text.len()
}

fn string(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut i = 1;
    while i < bytes.len() && bytes[i] != b'"' {
        i += if bytes[i] == b'\\' { 2 } else { 1 };
    }
    (i + 1).min(text.len())
}

fn raw_string(text: &str) -> Option<usize> {
    let hashes = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let count = hashes.bytes().take_while(|b| *b == b'#').count();
    let inside = hashes[count..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(count));
    Some(text.len() - inside.len() + inside.find(&end).map_or(inside.len(), |i| i + end.len()))
}

/// A character literal; a lifetime is only its tick.
fn character(text: &str) -> usize {
    let mut chars = text[1..].char_indices();
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((i, c))) => {
            let after = 1 + i + c.len_utf8();
            text[after..].find('\'').map_or(text.len(), |end| after + end + 1)
        }
        (Some(_), Some((i, '\''))) => i + 2,
        _ => 1,
    }
}

/// The code with every item under `#[cfg(test)]` blanked, lines kept.
fn without_tests(code: &str) -> String {
    let mut out = code.to_owned();
    while let Some(start) = out.find("#[cfg(test)]") {
        let mut depth = 0;
        let end = out[start..].char_indices().find(|(_, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            depth == 0 && matches!(c, '}' | ';')
        });
        let end = end.map_or(out.len(), |(i, _)| start + i + 1);
        let blank: String = out[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        out.replace_range(start..end, &blank);
    }
    out
}

fn tree() -> Vec<Source> {
    let sources = tree_below("src");
    assert!(sources.len() > 50, "only {} files below src", sources.len());
    sources
}

fn tree_below(root: &'static str) -> Vec<Source> {
    read_below(root, Source::below)
}

fn whole_tree_below(root: &'static str) -> Vec<Source> {
    read_below(root, Source::whole)
}

fn read_below(root: &'static str, read: fn(&'static str, &str, &str) -> Source) -> Vec<Source> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(root);
    let source = |path: &PathBuf| {
        let relative = path.strip_prefix(&folder).unwrap().to_string_lossy().replace('\\', "/");
        read(root, &relative, &fs::read_to_string(path).unwrap())
    };
    files(&folder, "rs").iter().map(source).collect()
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
    let importer = source.module();
    if ROOTS.contains(&importer.as_str()) {
        return Vec::new();
    }
    let place = |name: &str| STAGES.iter().position(|stage| *stage == name);
    let is_leaf = |name: &str| LEAVES.contains(&name);
    if !is_leaf(&importer) && place(&importer).is_none() {
        return vec![source.fault(0, &format!("`{importer}` is neither a leaf nor a stage: give it its place in this test"))];
    }
    let allowed = |imported: &str| {
        imported == importer || is_leaf(imported) || place(imported).is_some_and(|place_of| Some(place_of) < place(&importer))
    };
    let wrong = source.imports().into_iter().filter(|(_, imported)| !allowed(imported));
    wrong.map(|(position, imported)| source.fault(position, &format!("`{importer}` may not import `{imported}`"))).collect()
}

#[test]
fn a_stage_imports_leaves_and_the_stages_before_it() {
    let faults: Vec<String> = tree().iter().flat_map(import_faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn an_import_from_the_right_is_found() {
    let faults = |path: &str, text: &str| import_faults(&Source::new(path, text));
    assert_eq!(faults("plan/mod.rs", "\nuse crate::gpu::Device;\n"), ["src/plan/mod.rs:2: `plan` may not import `gpu`"]);
    assert_eq!(faults("gpu/memory.rs", "use crate::{model::{Case, Kernel}, units, record::Record};").len(), 1);
    assert_eq!(faults("model/case.rs", "fn f() -> crate::plan::Plan { todo!() }").len(), 1, "a path in an expression");
    assert_eq!(faults("shader/reflect/index.rs", "use super::super::super::measure;").len(), 1, "by way of the root");
    assert_eq!(faults("plan/mod.rs", "use super::output;").len(), 1);
    assert_eq!(
        faults("subject/kernel.rs", "use crate::tuning::space::Space;"),
        ["src/subject/kernel.rs:1: `subject` may not import `tuning`"]
    );
    assert_eq!(faults("error.rs", "use super::output;").len(), 1);
    assert_eq!(faults("novelty/mod.rs", "").len(), 1, "a module without a place");
    for (path, text) in [
        ("gpu/memory.rs", "use crate::{model::{Case, Kernel}, units};\nuse super::error;\nuse super::super::shader;"),
        ("plan/mod.rs", "// crate::gpu\n/* crate::gpu /* nested */ crate::gpu */\nconst A: &str = \"crate::gpu\";"),
        ("plan/mod.rs", "const A: &str = r#\"crate::gpu \" \"#; const B: char = '\"'; fn f<'a>(_: &'a str) {}"),
        ("plan/mod.rs", "#[cfg(test)]\nmod tests { use crate::gpu::Device; fn f() { if true {} } }\nfn g() {}"),
        ("output/mod.rs", "#[cfg(test)]\nmod testing;\nuse crate::record::Record;"),
        ("tuning/diagnosis.rs", "use super::super::subject::Reference;\nuse crate::subject::LOCAL_SIZE_AXES;"),
        ("cli/run.rs", "use crate::output;"),
    ] {
        assert_eq!(faults(path, text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn what_follows_a_literal_or_a_test_is_still_read() {
    let faults = |text: &str| import_faults(&Source::new("plan/mod.rs", text)).len();
    for before in [
        "const A: char = '\\'';",
        "const A: char = '\"';",
        "const A: char = '\\u{22}';",
        "const A: &str = \"\\\"\";",
        "const A: &str = r\"\\\";",
        "const A: &[u8] = br##\"\"#\"##;",
        "fn f<'a>() {}",
        "#[cfg(test)]\nmod tests { const A: char = '}'; }",
        "#[cfg(test)]\nuse a::b;",
        "/* // */",
    ] {
        assert_eq!(faults(&format!("{before} use crate::gpu;")), 1, "{before}");
    }
}

// ---- circles --------------------------------------------------------------------------------------------------------------

/// The paths of a use tree, each as its names: `a::{b, c::d}` has `a b` and `a c d`.
fn paths(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let names = tree.split(" as ").next().unwrap_or_default().split("::").map(|name| name.trim().to_owned());
        return vec![names.filter(|name| !name.is_empty()).collect()];
    };
    let head: Vec<String> = tree[..open].split("::").map(|name| name.trim().to_owned()).filter(|n| !n.is_empty()).collect();
    let (mut depth, mut start, mut parts) = (0, open + 1, Vec::new());
    for (i, c) in tree.char_indices().skip_while(|(i, _)| *i <= open) {
        match c {
            '{' => depth += 1,
            ',' if depth == 0 => {
                parts.push(&tree[start..i]);
                start = i + 1;
            }
            '}' if depth == 0 => {
                parts.push(&tree[start..i]);
                break;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    let of_part = |part: &str| paths(part).into_iter().map(|path| [head.clone(), path].concat()).collect::<Vec<_>>();
    parts.into_iter().filter(|part| !part.trim().is_empty()).flat_map(of_part).collect()
}

/// A file's module, as names from the crate's root: `cli/tune/mod.rs` is `cli tune`.
fn module_names(source: &Source) -> Vec<String> {
    let names = source.path.with_extension("");
    let names = names.iter().map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name != "mod").collect()
}

/// The files below a folder that import each other in a circle, each with one of those that lead back to it. A file needs those of the
/// modules that it declares.
fn circles(sources: &[Source], folder: &str) -> Vec<String> {
    let below: Vec<&Source> = sources.iter().filter(|source| source.module() == folder).collect();
    let modules: Vec<Vec<String>> = below.iter().map(|source| module_names(source)).collect();
    // The file that a path leads into.
    let file_of = |path: &[String]| (1..=path.len()).rev().find_map(|end| modules.iter().position(|own| *own == path[..end]));
    let imports = |(file, source): (usize, &&Source)| -> BTreeSet<usize> {
        let own = &modules[file];
        let uses = source.code.split(';').filter_map(|item| item.rsplit_once("use ").map(|(_, tree)| tree));
        let absolute = uses.flat_map(paths).map(|path| {
            let above = path.iter().take_while(|name| *name == "super").count();
            match path.first().map(String::as_str) {
                Some("crate") => path[1..].to_vec(),
                Some("self") => [own, &path[1..]].concat(),
                _ if above > 0 => [&own[..own.len().saturating_sub(above)], &path[above..]].concat(),
                _ => [own, &path[..]].concat(),
            }
        });
        let declared =
            source.code.split(';').filter_map(|item| item.rsplit_once("mod ").map(|(_, name)| name.trim().to_owned()));
        let declared = declared.filter(|name| name.chars().all(is_name)).map(|name| [&own[..], &[name]].concat());
        // A path in an expression, from the crate's root.
        let root = source.names().filter(|(_, name)| *name == "crate");
        let told = root.filter_map(|(position, name)| {
            let path = source.after(position, name).strip_prefix("::")?;
            let mut names: Vec<String> = Vec::new();
            for part in path.split("::") {
                let name: String = part.chars().take_while(|c| is_name(*c)).collect();
                let is_last = name.len() < part.len();
                names.extend((!name.is_empty()).then_some(name));
                if is_last {
                    break;
                }
            }
            // Groups of imports are read above.
            (names.len() > 1).then_some(names)
        });
        let found: BTreeSet<usize> =
            absolute.chain(declared).chain(told).filter_map(|path: Vec<String>| file_of(&path)).collect();
        found.into_iter().filter(|imported| *imported != file).collect()
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
fn no_files_of_cli_need_each_other() {
    assert_eq!(circles(&tree(), "cli"), Vec::<String>::new());
}

#[test]
fn a_circle_is_found() {
    let found = |files: &[(&str, &str)]| {
        circles(&files.iter().map(|(path, text)| Source::new(path, text)).collect::<Vec<_>>(), "cli").len()
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

/// Where Vulkan is called: the crate's one stage for it, and the layer that tests put below it.
const VULKAN: [(&str, &str); 2] = [("src", "gpu"), ("tests", "fault_layer")];
/// What else is called that isn't Rust.
const UNSAFE: [(&str, &str); 3] = [
    // The validator of SPIR-V, a C library.
    ("src", "shader/validator.rs"),
    // Windows: no crate that wraps job objects limits memory.
    ("src", "platform/windows/calls.rs"),
    // The keys of Windows' console.
    ("tests", "support/console.rs"),
];

fn unsafe_faults(source: &Source) -> Vec<String> {
    if VULKAN.contains(&(source.root, source.module().as_str())) {
        return Vec::new();
    }
    let is_vulkan = |position, name: &str| {
        ["vk", "ash", "gpu_allocator"].contains(&name) && {
            let before = source.code[..position].trim_end();
            source.after(position, name).starts_with("::") || before.ends_with("use") || before.ends_with("crate")
        }
    };
    let may_be_unsafe = UNSAFE.iter().any(|(root, path)| source.root == *root && source.path == Path::new(path));
    let is_unsafe = |name: &str| !may_be_unsafe && (name == "unsafe" || name == "unsafe_code");
    let found = source.names().filter(|(position, name)| is_unsafe(name) || is_vulkan(*position, name));
    found.map(|(position, name)| source.fault(position, &format!("`{name}` belongs to gpu"))).collect()
}

#[test]
fn only_gpu_is_unsafe_and_knows_vulkans_types() {
    let tests = ["tests", "benches"].into_iter().flat_map(tree_below);
    let faults: Vec<String> = tree().into_iter().chain(tests).flat_map(|source| unsafe_faults(&source)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn unsafe_code_and_vulkans_types_are_found() {
    let faults = |path: &str, text: &str| unsafe_faults(&Source::new(path, text)).len();
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
    let in_tests = |path: &str| unsafe_faults(&Source::below("tests", path, "use ash::vk;"));
    assert_eq!(in_tests("gpu.rs"), ["tests/gpu.rs:1: `ash` belongs to gpu"]);
    assert_eq!(in_tests("fault_layer/calls.rs"), Vec::<String>::new());
    assert_eq!(faults("fault_layer/calls.rs", "use ash::vk;"), 1, "a layer in the crate");
    assert_eq!(faults("measure/vulkan.rs", "// unsafe\nlet vk = 1; let hash = ash(2); \"unsafe vk::\";"), 0);
}

/// A path's name may hold line ends: people are shown it in one line.
fn display_faults(source: &Source) -> Vec<String> {
    if source.root != "src" || source.path == Path::new("model/path.rs") {
        return Vec::new();
    }
    let is_shown_raw = |position: usize, name: &str| {
        name == "display" && source.code[..position].ends_with('.') && source.after(position, name).starts_with("()")
    };
    let found = source.names().filter(|(position, name)| is_shown_raw(*position, name));
    found.map(|(position, _)| source.fault(position, "`display()`: `shown()` keeps a path in its line")).collect()
}

#[test]
fn paths_are_shown_in_one_line() {
    let faults: Vec<String> = tree().iter().flat_map(display_faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    let fault = |path: &str, text: &str| display_faults(&Source::new(path, text)).len();
    assert_eq!(fault("cli/run.rs", "fn f() { format!(\"{}\", path.display()); }"), 1);
    assert_eq!(fault("cli/run.rs", "fn display() {} // .display()\n#[cfg(test)]\nmod tests { fn f() { path.display(); } }"), 0);
}

/// What opens a file by its path, whatever that leads to. `create_new` doesn't.
const OPENERS: [&str; 8] = ["open", "create", "options", "OpenOptions", "read", "read_to_string", "write", "copy"];

/// The files that open what nobody but the system can have put in place: a folder to bring to the disk, and what the kernel tells.
const OPEN: [&str; 3] = ["staged.rs", "cli/host.rs", "gpu/clock.rs"];

/// What others may have put in place is opened in one place, which looks at it.
fn opening_faults(source: &Source) -> Vec<String> {
    let is_known = source.path == Path::new("regular.rs") || OPEN.iter().any(|path| source.path == Path::new(path));
    if source.root != "src" || source.module() == "platform" || is_known {
        return Vec::new();
    }
    let opens = |position: usize, name: &str| {
        let is_of_files = ["fs::", "File::"].iter().any(|path| source.code[..position].ends_with(path));
        name == "OpenOptions" || OPENERS.contains(&name) && is_of_files && source.after(position, name).starts_with('(')
    };
    // A crate that writes files by itself.
    let found = source.names().filter(|(position, name)| opens(*position, name) || *name == "generate_to");
    found
        .map(|(position, name)| source.fault(position, &format!("`{name}` opens a file: `regular` looks at it first")))
        .collect()
}

#[test]
fn files_are_opened_in_one_place() {
    let faults: Vec<String> = tree().iter().flat_map(opening_faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    let fault = |path: &str, text: &str| opening_faults(&Source::new(path, text)).len();
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
    if source.root == "src" && PRINT.iter().any(|path| source.path == Path::new(path)) {
        return Vec::new();
    }
    let prints = |position, name: &str| MACROS.contains(&name) && source.after(position, name).starts_with('!');
    // Of another process, of a page, or whether it is a terminal.
    let is_harmless = |position: usize, name: &str| {
        let before = source.code[..position].trim_end();
        let is_asked = source.after(position, name).starts_with("().is_terminal()");
        before.ends_with('.') || before.ends_with("Page::") || is_asked
    };
    let writes = |position, name: &str| ["stdout", "stderr"].contains(&name) && !is_harmless(position, name);
    let is_module = |position: usize, name: &str| {
        let before = source.code[..position].trim_end();
        name == "stdout" && (before.ends_with("mod") || before.ends_with("super::"))
    };
    let found = source
        .names()
        .filter(|(position, name)| prints(*position, name) || writes(*position, name) && !is_module(*position, name));
    found.map(|(position, name)| source.fault(position, &format!("`{name}`: output/people.rs prints"))).collect()
}

#[test]
fn what_people_read_is_printed_in_one_place() {
    let faults: Vec<String> = tree().iter().flat_map(print_faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn printing_is_found() {
    let faults = |path: &str, text: &str| print_faults(&Source::new(path, text)).len();
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
    let mut faults = Vec::new();
    for (start, _) in source.code.match_indices("#[derive(") {
        let Some(length) = source.code[start..].find(")]") else { continue };
        let (derived, behind) = source.code[start..].split_at(length);
        if !derived.contains("Serialize") {
            continue;
        }
        // To the end of the type: its last brace, or the semicolon where it has none.
        let mut depth = 0;
        let end = behind.char_indices().find(|(_, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            depth == 0 && matches!(c, '}' | ';')
        });
        let body = &behind[..end.map_or(behind.len(), |(at, _)| at)];
        let names = body.match_indices("PathBuf").chain(body.match_indices("OsString"));
        faults.extend(
            names.map(|(at, name)| {
                source.fault(start + length + at, &format!("`{name}` may be no text: FilePath is sent whole"))
            }),
        );
    }
    faults
}

#[test]
fn no_message_has_a_path_that_is_refused_where_it_is_no_text() {
    let faults: Vec<String> = tree().iter().flat_map(message_faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_path_in_a_message_is_found() {
    let faults = |text: &str| message_faults(&Source::new("worker/host.rs", text)).len();
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/experiments");
    let derivations = DERIVATIONS.iter().map(|derivation| derivation.name());
    let names: Vec<&str> = CATALOGUE.iter().map(|experiment| experiment.name()).chain(derivations).collect();
    let found = files(&folder, "rs");
    let found: Vec<String> =
        found.iter().map(|file| file.strip_prefix(&folder).unwrap().to_string_lossy().replace('\\', "/")).collect();
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(place_faults(&names, &found), Vec::<String>::new());
}

/// The overview is a cross-section that a user waits for.
#[test]
fn a_quick_run_has_few_cases() {
    for device in crate::support::device_classes() {
        let setting = Setting { queue: None, device: &device, preset: Preset::Quick, seed: 1 };
        let cases = Plan::new(&Request::default(), setting).unwrap().len();
        assert!(cases <= 225, "{cases} on {}", device.name);
    }
}

#[test]
fn a_misplaced_experiment_is_found() {
    assert_eq!(place_faults(&["memory/stream"], &["memory/stream.rs"]), Vec::<String>::new());
    assert_eq!(place_faults(&["memory/stream"], &["memory/stream.rs", "memory/stream/twin.rs"]), Vec::<String>::new());
    assert_eq!(place_faults(&["memory/stream"], &["memory/stream/twin.rs"]), ["memory/stream.rs"]);
    assert_eq!(place_faults(&["memory/stream"], &["memory/stream.rs", "memory/streams/twin.rs"]), ["memory/streams/twin.rs"]);
    assert_eq!(place_faults(&["memory/stream"], &["cache/stream.rs"]), ["cache/stream.rs", "memory/stream.rs"]);
    assert_eq!(place_faults(&[], &["memory/old.rs"]), ["memory/old.rs"]);
    assert_eq!(place_faults(&[], &["mod.rs", "common/levels.rs", "common/levels/cut.rs"]), Vec::<String>::new());
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
    let mut used = BTreeSet::new();
    for device in crate::support::device_classes().into_iter().chain([crate::support::with_matrices()]) {
        for preset in crate::support::PRESETS {
            let setting = Setting { queue: None, device: &device, preset, seed: 1 };
            let plan = Plan::new(&Request::default(), setting).unwrap();
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
    assert_eq!(shader_faults(&shaders, &used), Vec::<String>::new());
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
        if !may_name_axis(name) {
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
fn an_axis_has_a_name_of_its_own_and_one_type_everywhere() {
    let mut faults = BTreeSet::new();
    for device in crate::support::device_classes() {
        for preset in crate::support::PRESETS {
            let setting = Setting { queue: None, device: &device, preset, seed: 1 };
            let axes = CATALOGUE.iter().flat_map(|e| e.axes(&setting).into_iter().map(|axis| (e.name(), axis)));
            faults.extend(axis_faults(&axes.collect::<Vec<_>>()));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn the_name_of_an_axis_has_one_description_of_its_kind() {
    // A device or a preset may change an axis's defaults, never what it is.
    let mut known: BTreeMap<(&str, String), (Discriminant<AxisKind>, String)> = BTreeMap::new();
    for device in crate::support::device_classes() {
        for preset in crate::support::PRESETS {
            for experiment in CATALOGUE {
                for axis in experiment.axes(&Setting { queue: None, device: &device, preset, seed: 1 }) {
                    let here = (discriminant(&axis.kind), axis.description.to_string());
                    let key = (experiment.name(), axis.name.to_string());
                    assert_eq!(known.entry(key).or_insert_with(|| here.clone()), &here, "{}", experiment.name());
                }
            }
        }
    }
}

#[test]
fn a_bad_axis_is_found() {
    let axis = |name: &'static str, kind| Axis::new(name, "", kind, [1_u64]);
    let number = || AxisKind::AtLeast(1);
    assert_eq!(
        axis_faults(&[("a/b", axis("stride", number())), ("a/c", axis("local_size_x", number()))]),
        Vec::<String>::new()
    );
    assert_eq!(axis_faults(&[("a/b", axis("rounds", number()))]), ["axis rounds of a/b bears a fixed column's name"]);
    let words = Axis::new("n", "", AxisKind::Choices(&["many"]), ["many"]);
    assert_eq!(axis_faults(&[("a/b", axis("n", number())), ("a/c", words)]), ["axis n of a/c has another type than in a/b"]);
    assert_eq!(axis_faults(&[("a/b", axis("n", AxisKind::AtLeast(2)))]), ["axis n of a/b has a default that it doesn't take"]);
    let digits = Axis::new("mode", "", AxisKind::Choices(&["12"]), ["12"]);
    assert_eq!(axis_faults(&[("a/b", digits)]), ["axis mode of a/b has a word that can't be read back"]);
    let none = Axis::new("n", "", number(), [0_u64; 0]);
    assert_eq!(axis_faults(&[("a/b", none)]), ["axis n of a/b has no defaults, or of several types"]);
}
