//! What README shows can be typed: its files are in the repository, and its commands run.

use std::fs;
use std::path::Path;

use crate::support::{Folder, Ran, ended, lanescope_as_it_is, succeeded};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The commands that stand in blocks for a shell, without what a comment says of them.
fn commands() -> Vec<Vec<String>> {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let blocks = readme.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap().to_owned());
    let lines: Vec<String> = blocks.flat_map(|block| block.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let commands = lines.iter().filter_map(|line| line.strip_prefix("lanescope "));
    commands.map(|line| words(line.split(" #").next().unwrap())).collect()
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

/// The same on a mock device, and for a short time.
fn on_mock(command: &[String]) -> Vec<String> {
    let mut words = command.to_vec();
    if let Some(place) = words.iter().position(|word| word == "-d") {
        words[place + 1] = "mock".to_owned();
    } else if words[0] == "tune" {
        words.extend(["-d", "mock"].map(str::to_owned));
    }
    if words[0] == "tune" {
        words.extend(["--max-time=5ms", "--budget=4", "-n=2^10"].map(str::to_owned));
    }
    words
}

#[test]
fn the_examples_of_shaders_and_of_the_catalogue_run() {
    let folder = Folder::new();
    for place in ["tests/tune", "glsl/include", "glsl/algo"] {
        fs::create_dir_all(folder.path(place)).unwrap();
        let entries = fs::read_dir(Path::new(ROOT).join(place)).unwrap().map(|entry| entry.unwrap());
        for file in entries.filter(|entry| entry.path().is_file()) {
            fs::copy(file.path(), folder.path(place).join(file.file_name())).unwrap();
        }
    }
    let mut counts = [("inspect", 0), ("tune", 0), ("list", 0), ("describe", 0)];
    for command in commands() {
        let Some((_, count)) = counts.iter_mut().find(|(name, _)| *name == command[0]) else { continue };
        *count += 1;
        let typed = on_mock(&command);
        let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
        ended(lanescope_as_it_is(&typed).current_dir(&folder.0)).says(0, &[]);
        let files = command.iter().filter(|word| word.ends_with(".comp") || word.ends_with(".toml"));
        files.for_each(|file| assert!(Path::new(ROOT).join(file).is_file(), "{file}"));
    }
    assert!(counts.iter().all(|(_, count)| *count > 0), "{counts:?}");
}

/// Its tables that come from recorded rows are what the tool shows of them.
#[test]
fn the_tables_of_recorded_rows_are_what_is_shown() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    for (file, experiment) in [("nvidia-h100-overview-6.csv", "memory/stream: "), ("lavapipe.csv", "workgroup/linear: ")] {
        let file = Path::new(ROOT).join("tests/data").join(file).display().to_string();
        let shown = succeeded(&["merge", "-q", "--partial", &file, "--format", "table"]).out;
        let (_, rest) = readme.split_once(&format!("```text\n{experiment}")).unwrap();
        let table = format!("\n{experiment}{}\n", rest.split("```").next().unwrap());
        assert!(shown.contains(&table), "{table}");
    }
}

/// So is what it shows of a comparison.
#[test]
fn a_comparison_of_recorded_rows_is_what_is_shown() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let of_data = |command: &Vec<String>| command[0] == "compare" && command[1].contains("tests/data");
    let command = commands().into_iter().find(of_data).unwrap();
    let typed: Vec<&str> = command.iter().map(String::as_str).collect();
    let ran: Ran = lanescope_as_it_is(&typed).current_dir(ROOT).output().unwrap().into();
    assert!(readme.contains(&format!("```text\n{}```", ran.out)), "README shows another answer than:\n{}", ran.out);
}

/// Every way of comparing that it shows is one: with files that aren't there, nothing else is at fault.
#[test]
fn the_comparisons_are_spelt_right() {
    let compared: Vec<Vec<String>> = commands().into_iter().filter(|command| command[0] == "compare").collect();
    assert!(compared.len() > 8);
    let folder = Folder::new();
    for command in compared {
        let typed: Vec<&str> = command.iter().map(String::as_str).collect();
        ended(lanescope_as_it_is(&typed).current_dir(&folder.0)).says(2, &[".csv: can't be opened"]);
    }
}

#[test]
fn words_are_a_shells() {
    assert_eq!(words("tune a.comp --groups 'n / 2'  -q"), ["tune", "a.comp", "--groups", "n / 2", "-q"]);
}
