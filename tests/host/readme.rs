//! What README and the guides show can be typed: their files are in the repository, and their commands run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lanescope::guide::GUIDES;

use crate::support::texts::{blocks, guide, readme, texts};
use crate::support::{Folder, Ran, ended, lanescope_as_it_is, succeeded};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The commands that stand in blocks for a shell, without what a comment says of them.
fn commands(text: &str) -> Vec<Vec<String>> {
    let lines = blocks(text, "sh").into_iter().flat_map(str::lines);
    lines.filter_map(|line| line.strip_prefix("lanescope ")).map(|line| words(line.split(" #").next().unwrap())).collect()
}

/// The words of a line as a shell takes them: quotes keep blanks.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut is_quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The same on a mock device, and for a short time: of everything only a few cases. Nothing where a mock can't do it.
fn on_mock(command: &[String]) -> Option<Vec<String>> {
    let mut words = command.to_vec();
    for i in 1..words.len() {
        match words[i - 1].as_str() {
            "-d" => words[i] = "mock".to_owned(),
            "--preset" => words[i] = "quick".to_owned(),
            _ => {}
        }
    }
    let has = |flag: &str| command.iter().any(|word| word == flag);
    let mut more: Vec<&str> = Vec::new();
    match command[0].as_str() {
        // A mock has no applications, nor what was captured of one, and is no cluster.
        "devices" | "capture" | "fleet" => return None,
        _ if command.iter().any(|word| word.ends_with("/kernels.csv") || word.starts_with("kernels/")) => return None,
        // Its rows would be the mock's, which runs no shader.
        "trace" | "explain" if has("--rows") => return None,
        "tune" => more.extend(["--max-time=5ms", "--budget=4", "-n=2^10"]),
        "run" => {
            more.extend(["--max-time=1ms"].into_iter().filter(|_| !has("--max-time")));
            let is_everything = !has("--cases") && command.iter().all(|word| !word.contains('/'));
            more.extend(["memory/stream"].into_iter().filter(|_| is_everything));
            let is_long = is_everything || has("memory/stream");
            more.extend(["--preset=quick"].into_iter().filter(|_| is_long && !has("--preset")));
        }
        _ => {}
    }
    more.extend(["-d", "mock"].into_iter().filter(|_| !has("-d") && ["doctor", "run", "tune"].contains(&command[0].as_str())));
    words.extend(more.into_iter().map(str::to_owned));
    Some(words)
}

/// A folder with what commands read of the repository.
fn folder() -> Folder {
    let folder = Folder::new();
    for place in ["tests/tune", "glsl/include", "glsl/algo", "tests/data", "tests/data/v1"] {
        fs::create_dir_all(folder.path(place)).unwrap();
        let entries = fs::read_dir(Path::new(ROOT).join(place)).unwrap().map(|entry| entry.unwrap());
        for file in entries.filter(|entry| entry.path().is_file()) {
            fs::copy(file.path(), folder.path(place).join(file.file_name())).unwrap();
        }
    }
    folder
}

/// In their order, each text in a folder of its own: a command may read what an earlier one wrote.
#[test]
fn the_commands_run() {
    let mut seen = BTreeSet::new();
    for (name, text) in texts() {
        let folder = folder();
        blocks(&text, "toml").iter().for_each(|toml| drop(folder.write("mine.toml", toml.as_bytes())));
        for command in commands(&text) {
            let Some(typed) = on_mock(&command) else { continue };
            let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
            let ran: Ran = ended(lanescope_as_it_is(&typed).current_dir(&folder.0));
            assert_eq!(ran.code, Some(0), "{name}: {typed:?}: {}", ran.err);
            seen.insert(command[0].clone());
        }
    }
    for command in ["run", "list", "describe", "tune", "inspect", "compare", "report", "merge", "card", "schema"] {
        assert!(seen.contains(command), "no text shows {command}");
    }
}

/// The table that comes from recorded rows is what the tool shows of them.
#[test]
fn the_table_of_recorded_rows_is_what_is_shown() {
    let file = Path::new(ROOT).join("tests/data/lavapipe.csv").display().to_string();
    let shown = succeeded(&["merge", "-q", "--partial", &file, "--format", "table"]).out;
    let [table] = blocks(guide("columns"), "text")[..] else { panic!("one table") };
    assert!(shown.contains(table), "{table}");
}

/// So is what it shows of a comparison.
#[test]
fn a_comparison_of_recorded_rows_is_what_is_shown() {
    let of_data = |command: &Vec<String>| command[0] == "compare" && command[1].contains("tests/data");
    let command = commands(guide("compare")).into_iter().find(of_data).unwrap();
    let typed: Vec<&str> = command.iter().map(String::as_str).collect();
    let ran: Ran = lanescope_as_it_is(&typed).current_dir(ROOT).output().unwrap().into();
    assert!(
        guide("compare").contains(&format!("```text\n{}```", ran.out)),
        "the guide shows another answer than:\n{}",
        ran.out
    );
}

/// A guide is shown on a terminal of 80 columns, in lines that fit it but for commands and what they printed.
#[test]
fn guides_are_listed_found_and_rendered() {
    let list = succeeded(&["guide"]).out;
    for guide in GUIDES {
        let summary = guide.summary();
        assert!(list.contains(guide.topic) && (20..=90).contains(&summary.len()), "{}: {summary}", guide.topic);
        let shown = succeeded(&["guide", guide.topic]).out;
        let is_prose = |line: &&str| !line.starts_with("    ");
        assert!(shown.lines().filter(is_prose).all(|line| line.chars().count() <= 100), "{}", guide.topic);
        assert!(!shown.contains("```") && !shown.contains("**"), "{}", guide.topic);
        assert_eq!(succeeded(&["guide", guide.topic, "--markdown"]).out, guide.text);
    }
    let known: BTreeSet<&str> = GUIDES.iter().map(|guide| guide.topic).collect();
    for (name, text) in texts() {
        let named = text.split("`lanescope guide ").skip(1).map(|rest| rest.split('`').next().unwrap());
        named.for_each(|topic| assert!(topic == "TOPIC" || known.contains(topic), "{name} names the guide {topic}"));
    }
    ended(&mut lanescope_as_it_is(&["guide", "tun"])).says(2, &["there is no guide `tun`; did you mean", "tune"]);
}

#[test]
fn readme_is_short_and_names_each_guide() {
    let readme = readme();
    assert!(readme.lines().count() <= 200);
    GUIDES.iter().for_each(|guide| assert!(readme.contains(guide.topic), "{}", guide.topic));
}

#[test]
fn the_glossary_has_a_term_once() {
    let rows = guide("glossary").lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let terms: Vec<&str> = rows.filter(|term| *term != "term").flat_map(|term| term.split(", ")).collect();
    let distinct: BTreeSet<&&str> = terms.iter().collect();
    assert!((40..=70).contains(&terms.len()) && distinct.len() == terms.len(), "{terms:?}");
}

#[test]
fn words_are_a_shells() {
    assert_eq!(words("tune a.comp --groups 'n / 2'  -q"), ["tune", "a.comp", "--groups", "n / 2", "-q"]);
}
