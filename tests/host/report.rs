//! Rows as a page and as figures: what the page holds and what it can't do, whatever the rows say; and what it does in a browser.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

mod browser;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use lanescope::model::{AxisValue, Point};
use lanescope::output::{Csv, Writer};
use lanescope::record::{Header, Record, SCHEMA_VERSION};
use sha2::{Digest, Sha256};

use crate::support::tables::Table;
use crate::support::{Folder, Ran, lanescope, ran, rows, succeeded};

fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).display().to_string()
}

/// The page of these arguments.
fn page(arguments: &[&str]) -> String {
    succeeded(&[&["report", "-q", "-o", "-"], arguments].concat()).out
}

/// What stands between two texts, each time.
fn between<'t>(text: &'t str, begin: &str, end: &str) -> Vec<&'t str> {
    text.split(begin).skip(1).filter_map(|after| after.split_once(end)).map(|(inside, _)| inside).collect()
}

/// The rows that a page keeps: its header line, and those of each experiment.
fn kept(page: &str) -> (String, Vec<String>) {
    let unpacked = |packed: &str| {
        let bytes = BASE64_STANDARD.decode(packed).unwrap();
        std::io::read_to_string(GzDecoder::new(bytes.as_slice())).unwrap()
    };
    let header = between(page, "<script type=\"text/plain\" id=\"header\">", "</script>");
    let parts = between(page, "<script class=\"rows\" type=\"text/plain\">", "</script>");
    assert_eq!(header.len(), 1);
    (unpacked(header[0]), parts.into_iter().map(unpacked).collect())
}

#[test]
fn a_page_is_alone() {
    let page = page(&[&data("nvidia-h100-overview-6.csv")]);
    for outside in
        [" src=", "url(", "@import", "<link", "<iframe", "<img", "onclick", "style=\"", "http://www.w3.org/2000/svg\" href"]
    {
        assert!(!page.contains(outside), "{outside}");
    }
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"")[0];
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    for (begin, end) in [("<style>", "</style>"), ("<script>", "</script>")] {
        let texts = between(&page, begin, end);
        assert_eq!(texts.len(), 1, "{begin}");
        let hash = BASE64_STANDARD.encode(Sha256::digest(texts[0]));
        assert!(policy.contains(&format!("'sha256-{hash}'")), "{begin} isn't what {policy} allows");
    }
}

/// A sheet of paper is as narrow as a phone, and nobody can scroll it.
#[test]
fn paper_is_no_phone() {
    let page = page(&[&data("nvidia-h100-overview-6.csv")]);
    let rules = between(&page, "@media", "{");
    let narrow: Vec<&&str> = rules.iter().filter(|rule| rule.contains("max-width")).collect();
    assert!(!narrow.is_empty() && narrow.iter().all(|rule| rule.contains("screen and")), "{rules:?}");
    assert!(between(&page, "@media print {", "</style>")[0].contains(".scroll { overflow: visible; }"));
}

#[test]
fn a_page_has_the_card_every_experiment_and_every_row() {
    let file = data("nvidia-h100-overview-6.csv");
    let page = page(&[&file]);
    for told in
        ["92 % of its limit", "subgroup size 32", "id=\"memory-stream\"", "id=\"roofline\"", "<h2><a href=\"#cache-latency\">"]
    {
        assert!(page.contains(told), "no {told}");
    }
    let own = rows(&fs::read_to_string(&file).unwrap());
    let (header, parts) = kept(&page);
    let saved = rows(&(header + &parts.concat()));
    for row in own.iter().filter(|row| !row.is_derived()) {
        let row = Record { schema: SCHEMA_VERSION.to_owned(), ..row.clone() };
        assert_eq!(saved.iter().filter(|saved| **saved == row).count(), 1, "{} isn't kept as it was", row.case_name());
    }
    // What follows from them is told anew, and each of it once.
    let mut ids: Vec<(&str, &str, &str)> =
        saved.iter().map(|row| (row.case_id.as_str(), row.experiment.as_str(), row.variant.as_str())).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
    assert!(page.contains(&format!("{all} rows; ")));
}

/// What strangers may write into rows, as a device's name, a variant, a reason or a shader's name.
const HOSTILE: [&str; 7] = [
    "<script>alert(1)</script>",
    "</style></title>",
    "${x}`",
    "=cmd()",
    "\"><img src=x onerror=alert(1)>",
    "\u{1b}[31m\u{202e}",
    "[a](https://b.c)",
];

/// Rows in which every text that people see is one of strangers.
fn hostile(folder: &Folder) -> String {
    let mut records = rows(&fs::read_to_string(data("nvidia-h100-overview-6.csv")).unwrap());
    for (place, row) in records.iter_mut().enumerate() {
        let word = HOSTILE[place % HOSTILE.len()];
        for text in [&mut row.device_name, &mut row.driver_name, &mut row.driver_info] {
            *text = HOSTILE.concat();
        }
        for text in [&mut row.variant, &mut row.reason, &mut row.metric, &mut row.check_note] {
            *text = word.to_owned();
        }
        if place % 2 == 0 {
            row.experiment = format!("tune/{word}");
        }
        if place % 3 == 0 {
            row.quality_flags = word.to_owned();
        }
        // Axes, too, are called as their author likes.
        let axis = |(name, value): (&String, &AxisValue)| {
            let other = ["op", "pattern", "type"].iter().zip([0, 1, 6]).find(|(own, _)| *own == name);
            match other {
                Some((_, word)) => (HOSTILE[word].into(), AxisValue::Choice(format!("{value}{}", HOSTILE[place % 2]).into())),
                None => (name.clone().into(), value.clone()),
            }
        };
        *row = row.clone().at(&Point::new(row.by_axis.iter().map(axis).collect::<Vec<_>>()));
    }
    let header = Header::new(records.iter().flat_map(|row| row.by_axis.keys().cloned()));
    let mut text = Vec::new();
    let mut file = Csv::new(&mut text, &header).unwrap();
    records.iter().for_each(|row| file.write(row).unwrap());
    // Windows has no such names.
    folder.write(if cfg!(windows) { "=cmd().csv" } else { "<_script>.csv" }, text)
}

#[test]
fn what_strangers_wrote_stays_text() {
    let folder = Folder::new();
    let file = hostile(&folder);
    let text = page(&[&file]);
    assert_eq!(text.matches("<script").count(), text.matches("<script class=\"rows\"").count() + 2);
    for dangerous in ["<script>alert", "<img", "</style></title>", "\u{1b}", "\u{202e}"] {
        assert!(!text.contains(dangerous), "{dangerous:?}");
    }
    assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && text.contains("=cmd()") && text.contains("${x}`"));
    let compared = page(&[&format!("base={file}"), &format!("new={file}"), "--compare"]);
    assert!(!text.contains("\"https://b.c") && !compared.contains("\"https://b.c"), "a name became a link");
    let figures = folder.path("figures");
    succeeded(&["report", "-q", &file, "--figures", figures.to_str().unwrap()]);
    let mut count = 0;
    for entry in fs::read_dir(&figures).unwrap() {
        let path = entry.unwrap().path();
        let svg = fs::read_to_string(&path).unwrap();
        roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(
            !["<script", "<img", "\u{1b}", "\u{202e}"].iter().any(|dangerous| svg.contains(dangerous)),
            "{}",
            path.display()
        );
        count += 1;
    }
    assert!(count > 10);
    // A file of rows keeps them as they are.
    let (header, parts) = kept(&text);
    assert!((header + &parts.concat()).contains("<script>alert(1)</script>"));
}

#[test]
fn figures_are_a_file_each() {
    let folder = Folder::new();
    let figures = folder.path("fi gures");
    let figures = figures.to_str().unwrap();
    let said = succeeded(&["report", &data("nvidia-h100-overview-6.csv"), "--figures", figures]).err;
    let names: Vec<String> =
        fs::read_dir(figures).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert!(said.contains(&format!("{} figures in {figures}", names.len())), "{said}");
    for name in ["memory-stream.svg", "roofline-nvidia-h100-80gb-hbm3.svg", "shared-bank-conflict.svg", "cache-latency.svg"] {
        assert!(names.iter().any(|own| own == name), "no {name} in {names:?}");
    }
}

#[test]
fn several_runs_stand_side_by_side_and_are_compared() {
    let [base, new] = ["nvidia-h100-overview-5.csv", "nvidia-h100-overview-6.csv"].map(data);
    let text = page(&[&format!("before={base}"), &format!("after={new}"), "--compare"]);
    assert!(text.contains("<h1>after compared with before</h1>") && text.contains("times as fast as before"));
    // The verdict comes first, and its figure before the card.
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}"));
    assert!(place("What changed") < place("id=\"compared\"") && place("id=\"compared\"") < place("id=\"card\""));
    assert!(text.contains("href=\"#compared\"") && text.contains("href=\"#roofline\""));
}

/// What a pipe gives is there once, and is shown as well as compared.
#[test]
fn a_side_may_come_by_a_pipe() {
    let [base, new] = ["nvidia-h100-overview-5.csv", "nvidia-h100-overview-6.csv"].map(data);
    let of_files = page(&[&format!("before={base}"), &format!("after={new}"), "--compare"]);
    for stream in ["-", "/dev/stdin"] {
        if cfg!(windows) && stream != "-" {
            continue;
        }
        let (before, after) = (format!("before={base}"), format!("after={stream}"));
        let arguments = ["report", "-q", "-o", "-", &before, &after, "--compare"];
        let mut child = lanescope(&arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut pipe, rows) = (child.stdin.take().unwrap(), fs::read(&new).unwrap());
        let writer = std::thread::spawn(move || pipe.write_all(&rows));
        let text = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        writer.join().unwrap().unwrap();
        let name = if stream == "-" { "standard input" } else { "stdin" };
        assert_eq!(text.replace(name, "nvidia-h100-overview-6.csv"), of_files, "{stream}");
    }
    for command in [&["merge", "-", "-"][..], &["card", "-", "-"]] {
        ran(command).says(2, &["can be read once"]);
    }
}

#[test]
fn parts_of_a_run_are_joined_and_another_run_is_not() {
    let folder = Folder::new();
    let file = data("nvidia-h100-overview-6.csv");
    let rows = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = rows.lines().collect();
    let part = |name: &str, lines: &[&str]| folder.write(name, lines.join("\n") + "\n");
    let halves = [part("a.csv", &lines[..100]), part("b.csv", &[&lines[..1], &lines[100..]].concat())];
    let heading = |arguments: &[&str]| between(&page(arguments), "<h1>", "</h1>")[0].to_owned();
    let one = "NVIDIA H100 80GB HBM3";
    assert_eq!(heading(&[&halves[0], &halves[1]]), one);
    assert_eq!(heading(&[&halves[0], &file]), one);
    let another = data("nvidia-h100-overview-5.csv");
    assert_eq!(heading(&[&file, &another]).matches(one).count(), 2);
    assert_eq!(heading(&[&format!("a={file}"), &format!("b={another}"), &format!("c={file}")]), "a, b, c");
}

/// The first run isn't the median one, nor is the last.
#[test]
fn of_the_runs_of_a_side_the_median_one_is_shown() {
    let folder = Folder::new();
    let table = Table::of(&fs::read_to_string(data("nvidia-h100-overview-6.csv")).unwrap()).measured();
    let table = table.only(|row| table.get(row, "status") == "ok" && !table.get(row, "time_ns").is_empty());
    let run = |name: &str, factor: f64| {
        let mut table = table.clone();
        table.set_all("run_id", name);
        (0..table.rows.len()).for_each(|row| table.slow(row, factor));
        format!("a={}", folder.write(&format!("{name}.csv"), table.text()))
    };
    let sides = [run("slow", 1.5), run("median", 1.2), run("fast", 1.0), format!("b={}", data("nvidia-h100-overview-5.csv"))];
    let text = page(&sides.iter().map(String::as_str).chain(["--compare"]).collect::<Vec<_>>());
    assert_eq!(between(&text, "<h1>", "</h1>"), ["b compared with a"]);
    assert!(
        text.contains("a has 3 runs. The figures show the one of median time, ")
            && text.contains("median.csv; a comparison takes all of them")
    );
    assert!(!text.contains("more than one result"));
}

#[test]
fn what_cant_be_shown_is_refused() {
    let folder = Folder::new();
    let file = folder.write("rows.csv", fs::read_to_string(data("nvidia-h100-overview-6.csv")).unwrap());
    let before = fs::read_to_string(&file).unwrap();
    let none = folder.path("none.html").display().to_string();
    let no_rows = folder.write("empty.csv", before.lines().next().unwrap().to_owned() + "\n");
    let few = folder.write("few.csv", "schema,case_id,axis_values,status\nv2.3,c1,,ok\n");
    for (arguments, says) in [
        (&[file.as_str()][..], "--output"),
        (&[&file, "-o", &file], "holds the rows: name another file"),
        (&[&file, "--compare", "-o", &none], "nothing to be compared with"),
        (&["a=", "-o", &none], "a file is missing"),
        (&["-", "new=-", "--compare", "-o", &none], "can be read once"),
        (&["no-such.csv", "-o", &none], "no-such.csv"),
        (&[&no_rows, "-o", &none], "there is no row"),
        (&[&few, "-o", &none], "there is no page without"),
        (&[&file, "--margin", "1%", "-o", &none], "--compare"),
        (&[&file, "-o", "/no/such/folder/report.html"], "/no/such/folder/report.html"),
        (&[&file, "--figures", &file], "rows.csv"),
    ] {
        let Ran { code, err, .. } = ran(&[&["report"], arguments].concat());
        assert!(code == Some(2) && err.contains(says), "{arguments:?}: {code:?} {err}");
    }
    assert!(!Path::new(&none).exists());
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

/// What no browser can show is refused while it is read, whatever is still to come.
#[test]
fn a_page_of_too_many_rows_is_refused() {
    let text = fs::read_to_string(data("nvidia-h100-overview-6.csv")).unwrap();
    let header = text.lines().next().unwrap();
    let empty = vec![""; header.split(',').count()];
    let place = |name: &str| header.split(',').position(|own| own == name).unwrap();
    let row = |number: usize| {
        let (mut cells, case) = (empty.clone(), format!("c{number}"));
        [("schema", "v2.3"), ("status", "ok"), ("case_id", &case)]
            .into_iter()
            .for_each(|(name, cell)| cells[place(name)] = cell);
        cells.join(",") + "\n"
    };
    let (folder, none) = (Folder::new(), "no-such.csv");
    let file = folder.write("many.csv", format!("{header}\n{}", (0..=200_000).map(row).collect::<String>()));
    ran(&["report", &file, none, "-o", "-"]).says(2, &["more than 200000 rows, which no page can show"]);
}

#[test]
fn a_search_has_its_answer_and_its_times() {
    let folder = Folder::new();
    let file = folder.path("tuned.csv").display().to_string();
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tune/reduce.toml");
    let search = ["tune", "--manifest", manifest.to_str().unwrap(), "-a", "local_size_x=32,64,128", "-d", "mock", "-q"];
    succeeded(&[&search[..], &["--format", "csv", "-o", &file]].concat());
    let text = page(&[&file]);
    assert!(text.contains("<pre") && text.contains("What each axis matters:"), "{text}");
    let picture = between(&text, "<div class=\"picture\"", "</svg>")[0];
    assert!(picture.contains("spec_ITEMS") && picture.matches("class=\"hit").count() > 4, "{picture}");
}

/// As on the terminal: beside the default, and with its doubts first.
#[test]
fn a_search_says_what_its_rows_alone_would_not() {
    let folder = Folder::new();
    let file = folder.path("tuned.csv").display().to_string();
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tune/reduce.toml");
    let search =
        ["tune", "--manifest", manifest.to_str().unwrap(), "-a", "local_size_x=32,128", "-d", "mock", "--max-time", "20ms"];
    let said = succeeded(&[&search[..], &["--format", "csv", "-o", &file]].concat()).err;
    let rows = fs::read_to_string(&file).unwrap();
    let table = Table::of(&rows);
    let with = |column: &str| (0..table.rows.len()).filter(|row| table.get(&table.rows[*row], column) == "true").count();
    assert!(said.contains("default") && with("is_default") == 1, "{said}");
    let note = "All results are the reference's bit by bit.";
    assert!(said.contains(note) && rows.matches(note).count() == 1, "{said}");
    let text = page(&[&file]);
    let answer = between(&rows, "Best: ", ".")[0];
    assert!(said.contains(&format!("Best: {answer}")), "{answer}: {said}");
    assert!(between(&text, "<dt>What is fastest</dt>", "</dd>")[0].contains(answer), "{text}");
    assert!(text.contains(&format!("<p data-source=\"0\">{note}</p>")) && !text.contains("What to doubt"), "{text}");
    let doubt = "Doubt: inputs are all zero.";
    let doubted = page(&[&folder.write("doubted.csv", rows.replace(note, doubt))]);
    assert!(between(&doubted, "<dt>What to doubt</dt>", "</dd>")[0].contains("inputs are all zero"), "{doubted}");
}

#[test]
fn what_doctor_found_and_machines_that_deviate_are_on_the_page() {
    let folder = Folder::new();
    let file = data("nvidia-h100-overview-6.csv");
    let doctor = folder.write(
        "doctor.json",
        r#"{"findings": [{"name": "busy", "what": "Others <b>run</b>.", "evidence": "", "advice": "end them"}], "facts": [{"about": "loader", "is": "1.3"}]}"#,
    );
    let text = page(&[&file, "--doctor", &doctor]);
    assert!(
        text.contains("id=\"machine\"") && text.contains("Others &lt;b&gt;run&lt;/b&gt;.") && !text.contains("id=\"machines\"")
    );
    assert!(between(&text, "<dt>What to doubt</dt>", "</dd>")[0].contains("the machine: Others"), "{text}");
    ran(&["report", &file, "--doctor", &file, "-o", "-"]).says(2, &["isn't what lanescope doctor --json writes"]);
    let table = Table::of(&fs::read_to_string(&file).unwrap()).measured();
    let table = table.only(|row| table.get(row, "status") == "ok" && !table.get(row, "time_ns").is_empty());
    let machine = |number: usize| {
        let mut table = table.clone();
        table.set_all("host", &format!("node{number}"));
        table.set_all("run_id", &format!("run{number}"));
        // The third is slower, the others differ a little.
        let factor = if number == 3 { 1.2 } else { 1.0 + 0.0005 * number as f64 };
        (0..table.rows.len()).for_each(|row| table.slow(row, factor));
        folder.write(&format!("{number}.csv"), table.text())
    };
    let files: Vec<String> = (0..8).map(machine).collect();
    let text = page(&files.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(between(&text, "<dt>Which deviate</dt>", "</dd>")[0].contains("1 deviates from the others"), "{text}");
    assert!(between(&text, "id=\"machines\"", "</section>")[0].contains("node3"));
}

/// They can't be told anew, and don't vanish without a word.
#[test]
fn derived_rows_of_another_version_are_told_of() {
    let folder = Folder::new();
    let rows = fs::read_to_string(data("nvidia-h100-overview-6.csv")).unwrap();
    let other = rows.replace("\nshared/banks,", "\nnovel/banks,");
    assert_ne!(rows, other);
    let [rows, other] = [folder.write("rows.csv", rows), folder.write("other.csv", other)];
    let told = |file: &str| succeeded(&["card", file]).err.contains("can't derive are left out: novel/banks");
    assert!(told(&other) && !told(&rows));
    assert!(page(&[&other]).contains("can't derive are left out: novel/banks"));
}

/// README shows it.
#[test]
fn the_figure_that_readme_shows_is_what_is_drawn() {
    let folder = Folder::new();
    let figures = folder.path("figures").display().to_string();
    succeeded(&["report", "-q", &data("nvidia-h100-memory.csv"), "--figures", &figures]);
    let drawn = fs::read_to_string(Path::new(&figures).join("cache-latency.svg")).unwrap();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/figures/cache-latency.svg");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|how| how == "always") {
        fs::write(&kept, &drawn).unwrap();
    }
    let is_as_drawn = fs::read_to_string(&kept).unwrap_or_default() == drawn;
    assert!(is_as_drawn, "{} isn't as drawn today: INSTA_UPDATE=always writes it", kept.display());
}
