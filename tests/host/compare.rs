//! `lanescope compare`: real rows and those of the mock device, its formats, its exit codes, and input that is none.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::LazyLock;

use lanescope::analysis::compare::{Question, Terms, compare, read};
use lanescope::output::{Page, Report, Style, comparison_text};
use lanescope::platform::shell_word;
use lanescope::record::SCHEMA_VERSION;

use crate::support::tables::Table;
use crate::support::{Folder, Ran, data, lanescope, ran, succeeded};

const COLUMNS: &str = "experiment,variant,case_id,axes,verdict,ratio,ratio_ci_low,ratio_ci_high,base,new,unit,flags,reason,row_kind,side,device,\
     ratio_at_clock,ratio_at_clock_ci_low,ratio_at_clock_ci_high";

/// One H100, measured twice by the overview.
fn twice() -> [String; 2] {
    [data("nvidia-h100-overview-1.csv"), data("nvidia-h100-overview-2.csv")]
}

fn compared(arguments: &[&str]) -> Ran {
    ran(&[&["compare"], arguments].concat())
}

/// The lines of CSV by their columns.
fn lines(csv: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().unwrap().clone();
    let named = |row: csv::StringRecord| header.iter().map(str::to_owned).zip(row.iter().map(str::to_owned)).collect();
    reader.records().map(|row| named(row.unwrap())).collect()
}

/// The same without what is about many cases.
fn cases(csv: &str) -> Vec<BTreeMap<String, String>> {
    lines(csv).into_iter().filter(|row| row.get("row_kind").is_none_or(|kind| kind != "total")).collect()
}

fn count(cases: &[BTreeMap<String, String>], verdict: &str) -> usize {
    cases.iter().filter(|case| case["row_kind"] == "measured" && case["verdict"] == verdict).count()
}

/// Rows of a mock device: a base, it again, 3 % slower, 2 % slower together with its clock, and with wrong results.
struct Mocks {
    folder: Folder,
}

static MOCKS: LazyLock<Mocks> = LazyLock::new(|| {
    let mocks = Mocks { folder: Folder::new() };
    for (name, seed, options) in [
        ("base", "1", "speed=1"),
        ("again", "2", "speed=1"),
        ("slower", "3", "speed=0.97"),
        ("clock", "4", "speed=0.98"),
        ("wrong", "5", "speed=1,wrong=memory/stream"),
    ] {
        let clock = if name == "clock" { 1470 } else { 1500 };
        let device = format!("mock:noise=0.001,spread=0.0005,core_mhz={clock},{options}");
        let experiments = ["shared/bank_conflict", "shared/bandwidth", "peak/arith:i32", "memory/stream", "memory/gather"];
        let axes =
            ["op=fma,write,copy", "issue=interleaved", "width=1,4", "groups=128", "iterations=64", "stride=1,2,4,8", "n=2^18"];
        let mut run = vec!["run", "-q", "-d", &device, "--seed", seed, "--preset=default", "--max-time=50ms"];
        run.extend(experiments);
        axes.iter().for_each(|axis| run.extend(["-a", axis]));
        let file = mocks.file(name);
        run.extend(["-o", &file]);
        let wanted = if name == "wrong" { Some(1) } else { Some(0) };
        let ran = ran(&run);
        assert_eq!(ran.code, wanted, "{}", ran.err);
    }
    mocks
});

impl Mocks {
    fn file(&self, name: &str) -> String {
        self.folder.at(&format!("{name}.csv"))
    }
}

type Change<'c> = &'c dyn Fn(String) -> Vec<u8>;

fn changed(change: impl FnOnce(String) -> Vec<u8>) -> (Folder, String) {
    let folder = Folder::new();
    let text = fs::read_to_string(MOCKS.file("again")).unwrap();
    let file = folder.write("changed.csv", change(text));
    (folder, file)
}

// ---- real rows ------------------------------------------------------------------------------------------------------------

/// One card by its overview, and by its overview in today's way to time, which takes off what samples hold beside passes; by three
/// processes (`lanescope run 'memory/*' 'shared/*' 'algo/*' 'cache/*' --preset quick --processes 3 -o nvidia-h100-families-1.csv`); and
/// another card of the kind, by a catalogue that has more cases.
#[test]
fn what_is_measured_twice_has_no_verdict_of_a_change() {
    let changes = ["slower", "faster", "broken", "missing", "new"];
    for (one, other, changes, same) in [
        ("overview-1", "overview-2", &changes[..], 121),
        ("overview-4", "overview-5", &changes, 160),
        ("families-1", "families-2", &changes, 95),
        ("overview-1", "overview-3", &changes[..2], 115),
    ] {
        let [one, other] = [one, other].map(|name| data(&format!("nvidia-h100-{name}.csv")));
        let cases = cases(&succeeded(&["compare", &one, &other, "--all", "--format", "csv"]).out);
        assert!(changes.iter().all(|verdict| count(&cases, verdict) == 0), "{other}");
        assert!(count(&cases, "same") >= same, "{other}: {}", count(&cases, "same"));
    }
}

#[test]
fn an_answer_has_derived_figures_behind_and_intervals() {
    let [one, other] = twice();
    let csv = succeeded(&["compare", &one, &other, "--format", "csv"]).out;
    assert_eq!(csv.lines().next(), Some(COLUMNS));
    let cases = cases(&csv);
    let derived: Vec<usize> = (0..cases.len()).filter(|i| cases[*i]["row_kind"] == "derived").collect();
    assert!(derived.len() > 20 && derived[0] == cases.len() - derived.len(), "they follow what is measured");
    let stream = cases.iter().find(|case| case["experiment"] == "memory/stream").unwrap();
    let [ratio, low, high, base, new] =
        ["ratio", "ratio_ci_low", "ratio_ci_high", "base", "new"].map(|name| stream[name].parse::<f64>().unwrap());
    assert!(low < ratio && ratio < high && stream["unit"] == "GB/s", "{stream:?}");
    assert!((new / base / ratio - 1.0).abs() < 0.002, "{stream:?}");
}

/// Two H100s, each measured twice with other work between: one by the overview, one by a study of a twentieth of all default cases
/// (`lanescope run '*/*' --preset study --shard 1/20`).
#[test]
fn what_did_not_change_is_decided() {
    let [one, other] = [1, 2].map(|i| ["overview", "study"].map(|kind| data(&format!("nvidia-h100-{kind}-{i}.csv"))).join(","));
    let Ran { out, .. } = compared(&[&format!("one={one}"), &format!("other={other}"), "--format=csv"]).says(0, &[]);
    let cases = cases(&out);
    let decided = |verdict: &str| count(&cases, verdict);
    assert_eq!(["slower", "faster", "broken", "missing", "new", "changed"].map(decided), [0; 6]);
    let (same, unclear) = (decided("same"), decided("unclear"));
    assert!(same + unclear > 280 && 5 * unclear < same + unclear, "{same} the same, {unclear} unclear");
    assert_eq!(
        cases.iter().filter(|case| ["slower", "faster"].contains(&case["verdict"].as_str())).count(),
        0,
        "derived as well"
    );
}

#[test]
fn the_answer_comes_first_and_fits() {
    let [one, other] = twice();
    let named = |name: &str, file: &str| (Some(name.to_owned()), file.into());
    let sides = read(&Question::Files(vec![named("first", &one), named("second", &other)]), false).unwrap();
    let comparisons = compare(&sides, &Terms::default()).unwrap();
    for width in [80, 120] {
        let report = Report { comparisons: &comparisons, failures: &[], unjudged: &[], is_whole: false };
        let text = comparison_text(&report, Style::Text(Page { width, ..Page::FILE }));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "second compared with first");
        assert!(lines[1].starts_with("The same in all: 1.0") && lines[1].ends_with("of 156 of 166 cases."), "{text}");
        assert!(lines[2].starts_with("166 cases: ") && lines[2].contains("derived: "), "{text}");
        assert!(text.contains("\nFamilies, by geometric mean:\n"), "{text}");
        assert!(lines.len() <= 60 && lines.iter().all(|line| line.chars().count() <= width.into()), "{text}");
    }
}

#[test]
fn all_shows_every_case() {
    let [one, other] = twice();
    let few = succeeded(&["compare", &one, &other]).out;
    let all = succeeded(&["compare", &one, &other, "--all"]).out;
    assert!(few.lines().count() < 60 && all.lines().count() > 160 && !all.contains("and more"), "{few}");
}

#[test]
fn rows_of_schema_1_compare_with_todays() {
    let cases = cases(&succeeded(&["compare", &data("v1/lavapipe.csv"), &data("lavapipe.csv"), "--format=csv"]).out);
    assert_eq!(["slower", "faster", "broken", "missing"].map(|verdict| count(&cases, verdict)), [0; 4]);
    assert!(cases.len() > 100);
}

/// The rows of an overview of an H100, each changed.
fn edited(name: &str, folder: &Folder, edit: impl Fn(&mut BTreeMap<String, String>)) -> String {
    edited_of("nvidia-h100-overview-1.csv", name, folder, edit)
}

fn edited_of(base: &str, name: &str, folder: &Folder, edit: impl Fn(&mut BTreeMap<String, String>)) -> String {
    let text = fs::read_to_string(data(base)).unwrap();
    let header = text.lines().next().unwrap().split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut kept = csv::Writer::from_writer(Vec::new());
    kept.write_record(&header).unwrap();
    for mut row in cases(&text) {
        edit(&mut row);
        kept.write_record(header.iter().map(|name| &row[name])).unwrap();
    }
    folder.write(name, kept.into_inner().unwrap())
}

fn scaled(text: &str, factor: f64) -> String {
    text.parse::<f64>().map_or_else(|_| text.to_owned(), |value| (value * factor).to_string())
}

/// A text whose lines were broken.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// So many times as long, whatever tells it.
fn slow(row: &mut BTreeMap<String, String>, factor: f64) {
    for name in ["time_ns", "ci_low_ns", "ci_high_ns", "time_min_ns", "time_max_ns"] {
        let longer = scaled(&row[name], factor);
        row.insert(name.to_owned(), longer);
    }
    for name in ["gb_per_s", "gflop_per_s", "gop_per_s", "gitems_per_s"] {
        let fewer = scaled(&row[name], 1.0 / factor);
        row.insert(name.to_owned(), fewer);
    }
    let rounds = row["round_medians_ns"].split(';').filter_map(|round| round.split_once(':'));
    let rounds = rounds.map(|(process, time)| format!("{process}:{}", scaled(time, factor))).collect::<Vec<_>>().join(";");
    row.insert("round_medians_ns".to_owned(), rounds);
    let of_value = if row["better"] == "lower" { factor } else { 1.0 / factor };
    for name in ["value", "value_ci_low", "value_ci_high"] {
        let other = scaled(&row[name], of_value);
        row.insert(name.to_owned(), other);
    }
}

/// The core's clock beside each round, so many times as high.
fn reclock(row: &mut BTreeMap<String, String>, clock: f64) {
    let clocks = row["round_clocks_mhz"].split(';').filter_map(|round| round.split_once(':'));
    let of_round = |(process, mhz): (&str, &str)| {
        let mhz: Vec<String> = mhz.split('/').map(|mhz| scaled(mhz, clock)).collect();
        format!("{process}:{}", mhz.join("/"))
    };
    let clocks = clocks.map(of_round).collect::<Vec<_>>().join(";");
    row.insert("round_clocks_mhz".to_owned(), clocks);
}

/// A study whose core ran this many times as fast, with one case that changed beside.
fn at_another_clock(folder: &Folder, clock: f64, change: f64) -> [String; 2] {
    let base = "nvidia-h100-clocks-1.csv";
    let other = edited_of(base, "clocks.csv", folder, |row| {
        let family = row["experiment"].split('/').next().unwrap().to_owned();
        if row["row_kind"] == "measured" {
            reclock(row, clock);
            let own = if row["experiment"] == "shared/bandwidth" { change } else { 1.0 };
            slow(row, if family == "shared" { own / clock } else { own });
        }
    });
    // Those of which it is known how they go with the clock.
    let part = |file: &str, name: &str| {
        let table = Table::of(&fs::read_to_string(file).unwrap());
        folder.write(name, table.only(|row| row[0].starts_with("shared/") || row[0].starts_with("memory/")).text())
    };
    [part(&data(base), "base.csv"), part(&other, "other.csv")]
}

#[test]
fn what_the_clock_explains_is_left_out_of_verdicts_and_gates() {
    let folder = Folder::new();
    // A clock that is 1 % lower, and a case that is 0.6 % slower beside.
    let [base, file] = at_another_clock(&folder, 0.99, 1.006);
    let arguments = [&base, &file, "--margin", "0.25%", "--format=csv"];
    let code = |gate: &str| compared(&[&arguments[..], &["--fail-on", gate]].concat()).code;
    assert_eq!((code("slower:0.4%:shared/*"), code("slower:1%:shared/*")), (Some(1), Some(0)));
    let cases = cases(&compared(&arguments).out);
    let of = |name: &str| cases.iter().find(|case| case["experiment"] == name).unwrap();
    let (changed, same) = (of("shared/bandwidth"), of("shared/tile"));
    assert_eq!((changed["verdict"].as_str(), same["verdict"].as_str()), ("slower", "same"));
    let number = |case: &BTreeMap<String, String>, name: &str| case[name].parse::<f64>().unwrap();
    assert!((number(changed, "ratio_at_clock") - 1.0 / 1.006).abs() < 1e-3, "{changed:?}");
    assert!((number(changed, "ratio") - 0.99 / 1.006).abs() < 1e-3 && changed["reason"].contains("as measured"), "{changed:?}");
    assert_eq!(count(&cases, "slower"), 1);
}

/// A case that got slower by as much as the clock rose.
#[test]
fn what_went_against_the_clock_changed() {
    let folder = Folder::new();
    let [base, file] = at_another_clock(&folder, 1.01, 1.01);
    let cases = cases(&compared(&[&base, &file, "--margin", "0.25%", "--format=csv"]).out);
    let case = cases.iter().find(|case| case["experiment"] == "shared/bandwidth").unwrap();
    assert!(case["verdict"] == "slower" && case["ratio"].starts_with("1.0"), "{case:?}");
}

/// Studies of two H100s, three times each, with nothing changed (`lanescope run --cases overview.csv --preset study`).
#[test]
fn the_same_study_twice_is_the_same_but_for_the_clock() {
    for card in ["", "second-"] {
        for (one, other) in [(1, 2), (1, 3), (2, 3)] {
            let [one, other] = [one, other].map(|i| data(&format!("nvidia-h100-{card}clocks-{i}.csv")));
            let of = |margin: &str| cases(&compared(&[&one, &other, "--margin", margin, "--format=csv"]).out);
            let (usual, narrow) = (of("1%"), of("0.25%"));
            let changes = |cases: &[BTreeMap<String, String>]| count(cases, "slower") + count(cases, "faster");
            assert_eq!((changes(&usual), changes(&narrow)), (0, 0), "{other}");
            let whole = lines(&compared(&[&one, &other, "--format=csv"]).out).pop().unwrap();
            assert_eq!((whole["experiment"].as_str(), whole["verdict"].as_str()), ("total", "same"));
            // Two depend on where buffers lie.
            assert!(count(&usual, "same") >= 60 && count(&narrow, "same") >= 40, "{other}: {}", count(&narrow, "same"));
        }
    }
}

/// A case draws so much power that it lowers the clock, on one side or more on one: what it loses by that is its own.
#[test]
fn what_a_case_makes_of_the_clock_is_not_excused() {
    let folder = Folder::new();
    let file = |name: &str, clock: f64| {
        edited_of("nvidia-h100-clocks-1.csv", name, &folder, |row| {
            if row["experiment"] == "shared/bandwidth" && row["row_kind"] == "measured" {
                reclock(row, clock);
                slow(row, 1.0 / clock);
            }
        })
    };
    for (base, new, words) in [
        (0.985, 0.965, "fall by 1.5 % on the base side, fall by 3."),
        (1.0, 0.97, "on the new side it makes the core's clock fall by 3.0 %"),
        (0.9984, 0.967, "on the new side it makes the core's clock fall by 3.4 %"),
        (1.0025, 0.975, "on the new side it makes the core's clock fall by 2.5 %"),
    ] {
        let cases = cases(&compared(&[&file("base.csv", base), &file("new.csv", new), "--format=csv"]).out);
        let case = cases.iter().find(|case| case["experiment"] == "shared/bandwidth").unwrap();
        assert!(case["verdict"] == "slower" && case["reason"].contains(words), "{base} {new}: {case:?}");
    }
}

/// Variants of one run stand in the same rounds: a step of the clock falls on both, and a difference is a variant's own.
#[test]
fn what_two_variants_of_one_run_make_of_the_clock_is_theirs() {
    let folder = Folder::new();
    let table = Table::of(&fs::read_to_string(data("nvidia-h100-second-clocks-1.csv")).unwrap());
    let one = folder.write("one.csv", table.only(|row| row[0].starts_with("shared/b")).text());
    let text = fs::read_to_string(&one).unwrap();
    let header: Vec<String> = text.lines().next().unwrap().split(',').map(str::to_owned).collect();
    let mut both = csv::Writer::from_writer(Vec::new());
    both.write_record(&header).unwrap();
    for row in cases(&text).into_iter().filter(|row| row["row_kind"] == "measured") {
        for (variant, clock) in [("one", 1.0), ("two", 0.97)] {
            let mut row = row.clone();
            row.insert("variant".to_owned(), variant.to_owned());
            row.insert("case_id".to_owned(), format!("{}{variant}", row["case_id"]));
            reclock(&mut row, clock);
            slow(&mut row, 1.0 / clock);
            both.write_record(header.iter().map(|name| &row[name])).unwrap();
        }
    }
    let both = folder.write("both.csv", both.into_inner().unwrap());
    let cases = cases(&compared(&[&both, "--by=variant", "--base=one", "--format=csv"]).out);
    assert!(cases.len() >= 8 && count(&cases, "slower") == cases.len(), "{}", count(&cases, "slower"));
}

/// A shard of a plan, 64 cases of which are measured beside each other wherever they stand in the plan: the second block of the new run
/// was two steps lower.
#[test]
fn a_step_between_blocks_of_a_shard_is_nobodys_own() {
    let folder = Folder::new();
    let text = fs::read_to_string(data("nvidia-h100-clocks-1.csv")).unwrap();
    let header: Vec<String> = text.lines().next().unwrap().split(',').map(str::to_owned).collect();
    let row = cases(&text).into_iter().find(|row| row["experiment"] == "shared/bandwidth").unwrap();
    let shard = |name: &str, clock: f64| {
        let mut shard = csv::Writer::from_writer(Vec::new());
        shard.write_record(&header).unwrap();
        for i in 0..128 {
            let mut row = row.clone();
            row.insert("case_id".to_owned(), format!("c{i:016x}"));
            row.insert("axis_values".to_owned(), format!("{};x={i}", row["axis_values"]));
            row.insert("plan_index".to_owned(), (3 * i + 42).to_string());
            if i >= 64 {
                reclock(&mut row, clock);
                slow(&mut row, 1.0 / clock);
            }
            shard.write_record(header.iter().map(|name| &row[name])).unwrap();
        }
        folder.write(name, shard.into_inner().unwrap())
    };
    let cases = cases(&compared(&[&shard("base.csv", 1.0), &shard("new.csv", 0.985), "--format=csv"]).out);
    assert_eq!((count(&cases, "same"), count(&cases, "slower")), (128, 0));
}

/// A study of a device without counters, edited.
fn without_counters(i: u32, name: &str, folder: &Folder, edit: impl Fn(&mut BTreeMap<String, String>)) -> String {
    edited_of(&format!("nvidia-h100-second-clocks-{i}.csv"), name, folder, |row| {
        row.insert("round_clocks_mhz".to_owned(), String::new());
        edit(row);
    })
}

/// The sentinel's speed takes the clock's place: its steps are no change, and hide none.
#[test]
fn without_a_measured_clock_the_sentinel_shows_it() {
    let folder = Folder::new();
    let base = without_counters(1, "base.csv", &folder, |_| {});
    let out = compared(&[&base, &without_counters(2, "other.csv", &folder, |_| {})]).out;
    assert!(out.contains("sentinel's speed"), "{out}");
    let of = |file: &str| cases(&compared(&[&base, file, "--format=csv"]).out);
    for i in [2, 3] {
        let cases = of(&without_counters(i, "other.csv", &folder, |_| {}));
        assert!(count(&cases, "slower") + count(&cases, "faster") == 0 && count(&cases, "same") >= 59, "{i}");
    }
    // Two steps down, and one case that is 3 % slower besides.
    let stepped = without_counters(1, "stepped.csv", &folder, |row| {
        let longer = scaled(&row["sentinel_ns"], 1.015);
        row.insert("sentinel_ns".to_owned(), longer);
        if row["row_kind"] == "measured" && row["experiment"].starts_with("shared/") {
            slow(row, if row["experiment"] == "shared/bandwidth" { 1.045 } else { 1.015 });
        }
    });
    let slower: Vec<String> =
        of(&stepped).iter().filter(|case| case["verdict"] == "slower").map(|case| case["experiment"].clone()).collect();
    assert_eq!(slower, ["shared/bandwidth"]);
}

/// Another driver, or another environment of it, may make other code of the sentinel: it takes nobody's place, and is a reason for doubt.
#[test]
fn another_drivers_sentinel_takes_no_clocks_place() {
    let folder = Folder::new();
    let base = without_counters(1, "base.csv", &folder, |_| {});
    for (column, cell) in [("driver_info", "590.44"), ("environment", "RADV_DEBUG=llvm"), ("tool_version", "v0.2.0")] {
        let newer = without_counters(2, "newer.csv", &folder, |row| drop(row.insert(column.to_owned(), cell.to_owned())));
        let out = compared(&[&base, &newer]).out;
        assert!(out.contains("wasn't measured") && !out.contains("Clocks: "), "{column}: {out}");
        let cases = cases(&compared(&[&base, &newer, "--format=csv"]).out);
        assert_eq!(count(&cases, "slower") + count(&cases, "faster"), 0);
        assert!(cases.iter().all(|case| case["ratio_at_clock"].is_empty()));
    }
}

/// What disturbs the sentinel alone makes no case faster, and a row without a time spoils no other.
#[test]
fn a_sentinel_that_was_disturbed_makes_no_change() {
    let folder = Folder::new();
    let base = without_counters(1, "base.csv", &folder, |_| {});
    let disturbed = without_counters(1, "disturbed.csv", &folder, |row| {
        let longer = scaled(&row["sentinel_ns"], 1.02);
        row.insert("sentinel_ns".to_owned(), longer);
        if row["experiment"] == "shared/tile" {
            row.insert("time_ns".to_owned(), "0".to_owned());
        }
    });
    let cases = cases(&compared(&[&base, &disturbed, "--format=csv"]).out);
    assert_eq!(count(&cases, "slower") + count(&cases, "faster"), 0);
    let out = compared(&[&base, &disturbed]).out;
    assert!(!out.contains("NaN"), "{out}");
}

/// Two devices without counters, whose sentinels are unlike: that is no step of a clock, and hides no change.
#[test]
fn unlike_sentinels_hide_no_change() {
    let folder = Folder::new();
    let file = |i: u32, times: f64| {
        edited_of("nvidia-h100-second-clocks-1.csv", &format!("{i}.csv"), &folder, |row| {
            row.insert("round_clocks_mhz".to_owned(), String::new());
            let sentinel = scaled(&row["sentinel_ns"], times);
            row.insert("sentinel_ns".to_owned(), sentinel);
            if row["row_kind"] == "measured" {
                slow(row, times);
            }
        })
    };
    let cases = cases(&compared(&[&file(1, 1.0), &file(2, 2.0), "--format=csv"]).out);
    let core: Vec<&str> =
        cases.iter().filter(|case| case["experiment"] == "shared/bank_conflict").map(|case| case["verdict"].as_str()).collect();
    assert_eq!(core, ["slower"; 9]);
}

/// Other clocks than steps of one: a driver that lowers it by 6 % has done something.
#[test]
fn another_clock_is_no_step_and_counts() {
    let folder = Folder::new();
    let [base, file] = at_another_clock(&folder, 0.94, 1.0);
    let cases = cases(&compared(&[&base, &file, "--format=csv"]).out);
    let of = |name: &str| cases.iter().find(|case| case["experiment"] == name).unwrap();
    assert!(
        of("shared/tile")["ratio_at_clock"].is_empty() && of("shared/tile")["verdict"] == "slower",
        "{:?}",
        of("shared/tile")
    );
    let out = compared(&[&base, &file]).out;
    assert!(out.contains("Steps are smaller than that"), "{out}");
}

#[test]
fn what_is_set_on_one_side_alone_is_told() {
    let folder = Folder::new();
    let [without, with] = [("without.csv", ""), ("with.csv", "RADV_DEBUG=nodcc")].map(|(name, environment)| {
        edited(name, &folder, |row| drop(row.insert("environment".to_owned(), environment.to_owned())))
    });
    let out = compared(&[&without, &with]).out;
    assert!(out.contains("environment") && out.contains("(none)") && out.contains("RADV_DEBUG=nodcc"), "{out}");
}

#[test]
fn a_status_that_is_none_is_refused_with_its_line() {
    let folder = Folder::new();
    let file = edited("status.csv", &folder, |row| {
        if row["experiment"] == "calibration/sentinel" {
            row.insert("status".to_owned(), "OK".to_owned());
        }
    });
    compared(&[&data("nvidia-h100-overview-1.csv"), &file]).says(2, &[", line ", "column `status`: `OK` is none"]);
}

/// Calibration is in both files, and is no common ground.
#[test]
fn cold_rows_are_no_warm_ones() {
    let (folder, base) = (Folder::new(), data("nvidia-h100-overview-1.csv"));
    let cold = edited("cold.csv", &folder, |row| {
        if !row["experiment"].starts_with("calibration/") {
            let id = row["case_id"].replacen('c', "cc", 1)[..17].to_owned();
            row.insert("case_id".to_owned(), id);
            row.insert("cache".to_owned(), "cold".to_owned());
        }
    });
    compared(&[&base, &cold]).says(2, &["the rows of one are warm, of the other cold"]);
    let forced = cases(&compared(&[&base, &cold, "--force", "--format=csv"]).out);
    assert!(count(&forced, "same") > 120 && count(&forced, "missing") == 0);
}

/// A failure in any run counts, whatever another one met.
#[test]
fn a_wrong_result_beside_a_crash_is_found() {
    let (folder, base) = (Folder::new(), data("nvidia-h100-overview-1.csv"));
    let failed = |status: &'static str| {
        edited(&format!("{status}.csv"), &folder, |row| {
            row.insert("run_id".to_owned(), format!("r{status}"));
            if row["experiment"] == "shared/bandwidth" {
                ["value", "time_ns"].iter().for_each(|name| drop(row.insert((*name).to_owned(), String::new())));
                row.insert("status".to_owned(), status.to_owned());
            }
        })
    };
    let new = format!("new={},{}", failed("crashed"), failed("wrong_result"));
    assert_eq!(compared(&[&base, &new, "--fail-on", "wrong_result"]).code, Some(1));
    let before = format!("before={base},{}", failed("crashed"));
    let flaky = cases(&compared(&[&before, &format!("new={base},{}", failed("crashed")), "--format=csv"]).out);
    assert_eq!((count(&flaky, "broken"), count(&flaky, "failing")), (0, 1), "it failed now and then before as well");
}

// ---- what a mock device shows ---------------------------------------------------------------------------------------------

#[test]
fn a_slower_device_is_found_named_and_fails() {
    let (base, slower) = (MOCKS.file("base"), MOCKS.file("slower"));
    let Ran { code, out, err, .. } = compared(&[&base, &slower, "--fail-on", "slower:2%:shared/*", "--fail-on", "broken"]);
    assert_eq!((code, err.as_str()), (Some(1), ""));
    assert!(out.contains("Slower most: "), "{out}");
    let failed = out.split_once("\nFailed:\n").unwrap().1;
    assert!(failed.contains("--fail-on slower:2%:shared/*: ") && failed.contains(" cases, the worst shared/"), "{out}");
    assert!(!failed.contains("--fail-on broken"), "{out}");
    let cases = cases(&succeeded(&["compare", &base, &slower, "--format=csv"]).out);
    let is_core =
        |case: &&BTreeMap<String, String>| ["shared/b", "peak/a"].iter().any(|name| case["experiment"].starts_with(name));
    let core: Vec<&str> = cases.iter().filter(is_core).map(|case| case["verdict"].as_str()).collect();
    assert_eq!(core, ["slower"; 12], "what isn't launch-bound is found");
    for case in cases.iter().filter(|case| case["verdict"] == "slower" && !case["ratio"].is_empty()) {
        let ratio: f64 = case["ratio"].parse().unwrap();
        assert!((ratio / 0.97 - 1.0).abs() < 0.005, "{case:?}");
    }
}

/// One family alone is 3 % slower: it is named, the others aren't, and it is no change of the whole system.
#[test]
fn a_slower_family_is_told_from_the_others() {
    let folder = Folder::new();
    let part = |name: &str, is_slow: bool| {
        let table = Table::of(&fs::read_to_string(MOCKS.file(name)).unwrap());
        folder.write(&format!("{name}.csv"), table.only(|row| row[0].starts_with("shared/") == is_slow).text())
    };
    let after = format!("after={},{}", part("again", false), part("slower", true));
    let Ran { code, out, .. } = compared(&[&MOCKS.file("base"), &after, "--fail-on", "slower"]);
    let failed = out.split_once("\nFailed:\n").unwrap().1;
    assert!(code == Some(1) && failed.contains("the worst shared/"), "{out}");
    let cases = cases(&succeeded(&["compare", &MOCKS.file("base"), &after, "--format=csv"]).out);
    let slower: Vec<&str> =
        cases.iter().filter(|case| case["verdict"] == "slower").map(|case| case["experiment"].as_str()).collect();
    assert!(slower.len() > 4 && slower.iter().all(|name| name.starts_with("shared/")), "{slower:?}");
}

#[test]
fn gates_let_pass_what_is_below_them_and_what_the_clock_explains() {
    let [base, again, slower, clock] = ["base", "again", "slower", "clock"].map(|name| MOCKS.file(name));
    let code = |file: &str, gate: &str| compared(&[&base, file, "--fail-on", gate]).code;
    assert_eq!([code(&slower, "slower"), code(&slower, "slower:5%"), code(&again, "slower")], [Some(1), Some(0), Some(0)]);
    assert_eq!(code(&clock, "slower:shared/*"), Some(0));
    let Ran { out, .. } = compared(&[&base, &clock]).says(0, &[]);
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Clocks: the core ran at 15") && words.contains("Its steps are taken out"), "{out}");
}

#[test]
fn wrong_results_are_broken() {
    let (base, wrong) = (MOCKS.file("base"), MOCKS.file("wrong"));
    for gate in ["broken", "wrong_result", "broken::memory/stream"] {
        let Ran { code, out, .. } = compared(&[&base, &wrong, "--fail-on", gate]);
        let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == Some(1) && words.contains("broken: wrong_result: after one pass"), "{gate}: {out}");
    }
    assert_eq!(compared(&[&base, &wrong, "--fail-on", "broken::shared/*"]).code, Some(0));
    assert_eq!(compared(&[&wrong, &base, "--fail-on", "broken"]).code, Some(0), "mended");
    let fixed = cases(&succeeded(&["compare", &wrong, &base, "--format", "csv"]).out);
    assert_eq!(count(&fixed, "fixed"), 2);
}

/// Where standard output is for programs, the lines that decided are on the error stream.
#[test]
fn what_failed_is_told_once() {
    let (base, slower) = (MOCKS.file("base"), MOCKS.file("slower"));
    let arguments = [&base, &slower, "--fail-on", "slower", "-q", "--format"];
    for (format, is_told) in [("table", true), ("markdown", true), ("csv", false), ("jsonl", false)] {
        let Ran { code, out, err, .. } = compared(&[&arguments[..], &[format]].concat());
        let told = [&out, &err].map(|text| text.contains("--fail-on slower: "));
        assert_eq!((code, told), (Some(1), [is_told, !is_told]), "{format}: {err}");
    }
}

#[test]
fn a_gate_that_could_never_fail_is_refused() {
    let (base, slower) = (MOCKS.file("base"), MOCKS.file("slower"));
    for (gate, said) in [
        ("slower:0.5%", "a change within 1 % counts as none; ask for more, or for a smaller --margin"),
        ("slower:3%:memroy/*", "no measured case bears such a name"),
        ("worse", "it is slower, broken, wrong_result, missing or unjudged"),
        ("broken:3%", "broken has no share"),
    ] {
        compared(&[&base, &slower, "--fail-on", gate]).refuses(&[said]);
    }
    assert_eq!(compared(&[&base, &slower, "--fail-on", "slower:0.5%", "--margin", "0.3%"]).code, Some(1));
}

#[test]
fn sides_have_names_and_several_runs() {
    let [base, again, slower] = ["base", "again", "slower"].map(|name| MOCKS.file(name));
    let [apart, together] = [
        vec![format!("old={base}"), format!("new={slower}"), format!("old={again}")],
        vec![format!("old={base},{again}"), format!("new={slower}")],
    ]
    .map(|sides| compared(&sides.iter().map(String::as_str).collect::<Vec<_>>()).out);
    assert!(apart.starts_with("new compared with old\n") && apart.contains("old → new"), "{apart}");
    assert_eq!(apart, together);
    assert!(apart.contains("degrees of freedom"), "{apart}");
    // A file of that name is a file.
    let (_folder, odd) = Folder::with("old=1,2.csv", fs::read(&base).unwrap());
    assert!(compared(&[&odd, &slower]).out.starts_with(&format!("{slower} compared with {odd}\n")));
    let others = compared(&[&base, &again, &slower]).out;
    assert!(others.matches(&format!(" compared with {base}\n")).count() == 2, "{others}");
}

#[test]
fn standard_input_is_a_side() {
    let base = MOCKS.file("base");
    let mut command = lanescope(&["compare", &base, "new=-"]);
    let input = fs::File::open(MOCKS.file("slower")).unwrap();
    let ran: Ran = command.stdin(Stdio::from(input)).output().unwrap().into();
    assert!(ran.code == Some(0) && ran.out.contains(" slower"), "{}", ran.err);
    compared(&["-", "new=-"]).says(2, &["can be read once"]);
    #[cfg(unix)]
    {
        let ran: Ran = lanescope(&["compare", "-", "/dev/stdin"]).stdin(Stdio::piped()).output().unwrap().into();
        ran.says(2, &["can be read once"]);
    }
}

#[test]
fn values_of_a_column_or_an_axis_are_sides() {
    let base = MOCKS.file("base");
    let Ran { code, out, err, .. } = compared(&[&base, "--by", "width", "--base", "4"]);
    assert!(code == Some(0) && out.starts_with("1 compared with 4\n"), "{err}{out}");
    assert!(compared(&[&base, "--by", "stride"]).out.matches(" compared with 1\n").count() == 3);
    // Values of one axis belong to several experiments: what has nothing in common with the base is left out, and told.
    let Ran { code, out, err, .. } = compared(&[&data("nvidia-h100-overview-1.csv"), "--by", "op", "--base", "read"]);
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        code == Some(0) && out.contains("copy compared with read\n") && words.contains("no case in common with read: op "),
        "{err}{out}"
    );
    assert_eq!(compared(&[&data("nvidia-h100-overview-1.csv"), "--by", "variant"]).code, Some(0));
    for (arguments, said) in [
        (vec!["--by", "wdth"], "unknown column or axis `wdth`; did you mean width?"),
        (vec!["--by", "width", "--base", "2"], "--base 2: width is one of "),
        (vec!["--by", "device_name"], "so there is nothing to compare"),
        (vec!["--by", "time_ns"], "rows of one case don't differ in it, or only in what was found"),
        (vec!["--base", "4"], "--by"),
        (vec![], "two sides are needed"),
    ] {
        compared(&[&[base.as_str()], arguments.as_slice()].concat()).says(2, &[said]);
    }
}

// ---- where it goes --------------------------------------------------------------------------------------------------------

#[test]
fn every_format_says_the_same() {
    let (folder, base, slower) = (Folder::new(), MOCKS.file("base"), MOCKS.file("slower"));
    let [csv, jsonl, md, txt] = ["answer.csv", "answer.jsonl", "answer.md", "answer.txt"].map(|name| folder.at(name));
    let Ran { code, out, .. } = compared(&[&base, &slower, "-o", &csv, "-o", &jsonl, "-o", &md, "-o", &txt]);
    assert_eq!((code, out.as_str()), (Some(0), ""));
    let read = |file: &str| fs::read_to_string(file).unwrap();
    let cases = lines(&read(&csv));
    let objects: Vec<serde_json::Value> = read(&jsonl).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(cases.len(), objects.len());
    for (case, object) in cases.iter().zip(&objects) {
        for (name, cell) in case {
            let value = &object[name.as_str()];
            match value.as_f64() {
                Some(number) => assert_eq!(cell.parse(), Ok(number)),
                None => assert_eq!(cell, value.as_str().unwrap_or_default()),
            }
        }
    }
    assert_eq!(read(&csv), succeeded(&["compare", &base, &slower, "--format=csv"]).out);
    assert_eq!(read(&txt), succeeded(&["compare", &base, &slower]).out, "a table is the default in a pipe, too");
    assert!(read(&md).starts_with("### ") && read(&md).contains("|---"), "{}", read(&md));
    assert!(fs::read_dir(&folder.0).unwrap().count() == 4, "nothing is left under a temporary name");
}

#[test]
fn rows_are_never_overwritten_by_their_comparison() {
    let (_folder, file) = changed(String::into_bytes);
    let (base, before) = (MOCKS.file("base"), fs::read(&file).unwrap());
    for arguments in [["-o", &file], ["--suspects", &file]] {
        compared(&[&[base.as_str(), &file], &arguments[..]].concat()).says(2, &["holds the rows: name another file"]);
    }
    assert_eq!(fs::read(&file).unwrap(), before);
    compared(&[&base, &file, "-o", "answer.xlsx"]).says(2, &["can't tell the format"]);
}

#[test]
fn suspects_are_cases_and_the_commands_that_decide_them() {
    let (folder, [one, other]) = (Folder::new(), twice());
    let file = folder.at("suspects.csv");
    let sides = [format!("before={one}"), format!("after={other}")];
    let Ran { code, out, err, .. } = compared(&[&sides[0], &sides[1], "--suspects", &file]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let commands = out.split_once(&format!("\n{file}: ")).unwrap().1;
    let [quoted, device] = [file.as_str(), "NVIDIA H100 80GB HBM3"].map(shell_word);
    for told in [
        "8 controls",
        " for each side:\n",
        &format!("lanescope run --cases {quoted} --preset study -d {device} -o before-study.csv"),
        "lanescope compare before=before-study.csv after=after-study.csv",
    ] {
        assert!(commands.contains(told), "no {told} in {commands}");
    }
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().next(), Some("experiment,variant,case_id,axis_values,cache,verdict,why"));
    let suspects = cases(&text);
    let of = |why: &str| suspects.iter().filter(|case| case["why"] == why).count();
    let verdicts = cases(&succeeded(&["compare", &one, &other, "--format=csv"]).out);
    let can_be_decided = |case: &&BTreeMap<String, String>| {
        let is_timers = ["calibration/timer", "calibration/clock"].contains(&case["experiment"].as_str());
        case["row_kind"] == "measured" && !is_timers && !case["flags"].contains("near_floor")
    };
    let unclear =
        verdicts.iter().filter(can_be_decided).filter(|case| case["verdict"] == "unclear" && !case["ratio"].is_empty());
    assert_eq!((of("unclear"), of("control"), of("changed")), (unclear.count(), 8, 0));
    let families = suspects.iter().filter(|case| case["why"] == "control").map(|case| case["experiment"].split('/').next());
    assert_eq!(families.collect::<std::collections::BTreeSet<_>>().len(), 8, "spread over families");
}

#[test]
fn where_nothing_is_suspect_nothing_is_written() {
    let (folder, base) = (Folder::new(), MOCKS.file("base"));
    let file = folder.at("suspects.csv");
    let Ran { code, err, out, .. } =
        compared(&[&base, &MOCKS.file("again"), "--suspects", &file, "--format=csv", "--margin=20%"]);
    assert!(code == Some(0) && err.contains("nothing to write") && cases(&out).len() > 10, "{err}");
    assert!(!Path::new(&file).exists());
}

/// Their two drivers or cards can be measured in turn.
#[test]
fn suspects_of_an_axis_are_measured_at_once() {
    let (folder, base) = (Folder::new(), MOCKS.file("base"));
    let file = folder.at("suspects.csv");
    let out = succeeded(&["compare", &base, "--by", "width", "--suspects", &file]).out;
    assert!(out.contains("\n  lanescope compare study.csv --by width --base 1\n"), "{out}");
    let widths: Vec<bool> =
        cases(&fs::read_to_string(&file).unwrap()).iter().map(|case| case["axis_values"].contains("width=4")).collect();
    assert!(widths.contains(&true) && widths.contains(&false), "cases of both sides");
}

// ---- input that is none ---------------------------------------------------------------------------------------------------

/// How rows are changed that say the same nevertheless.
#[test]
fn what_spreadsheets_and_tools_do_to_a_file_is_read() {
    let base = MOCKS.file("base");
    let wanted = succeeded(&["compare", &base, &format!("new={}", MOCKS.file("again")), "--format=csv"]).out;
    let columns = |text: &str, change: &dyn Fn(&mut Vec<String>)| {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in reader.records() {
            let mut cells: Vec<String> = row.unwrap().iter().map(str::to_owned).collect();
            change(&mut cells);
            writer.write_record(cells).unwrap();
        }
        writer.into_inner().unwrap()
    };
    let number = |cell: &String| cell.parse::<f64>().ok().filter(|_| cell.contains('.'));
    let changes: [(&str, Change); 8] = [
        ("CRLF", &|text| text.replace('\n', "\r\n").into_bytes()),
        ("a byte order mark", &|text| format!("\u{feff}{text}").into_bytes()),
        ("columns reordered", &|text| columns(&text, &|cells| cells.reverse())),
        ("a column added", &|text| columns(&text, &|cells| cells.push("mine".to_owned()))),
        ("TRUE and FALSE", &|text| text.replace(",true,", ",TRUE,").replace(",false,", ",FALSE,").into_bytes()),
        ("exponents", &|text| {
            columns(&text, &|cells| {
                cells.iter_mut().for_each(|cell| *cell = number(cell).map_or(cell.clone(), |number| format!("{number:E}")));
            })
        }),
        ("everything in quotes", &|text| {
            let mut writer = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(Vec::new());
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
            reader.records().for_each(|row| writer.write_record(&row.unwrap()).unwrap());
            writer.into_inner().unwrap()
        }),
        ("the same rows twice", &|text| format!("{text}{}", text.split_once('\n').unwrap().1).into_bytes()),
    ];
    for (what, change) in changes {
        let (_folder, file) = changed(change);
        let Ran { out, .. } = compared(&[&base, &format!("new={file}"), "--format=csv"]).says(0, &[]);
        assert!(out == wanted, "{what}");
    }
}

#[test]
fn a_torn_last_row_is_left_out_and_told() {
    let (_folder, file) = changed(|text| text.as_bytes()[..text.len() - 40].to_vec());
    compared(&[&MOCKS.file("base"), &file]).says(0, &["the last row was cut at line ", "is left out"]);
    assert_eq!(compared(&[&MOCKS.file("base"), &file, "-q"]).err, "");
}

#[test]
fn what_is_no_file_of_rows_is_refused_in_words() {
    let base = MOCKS.file("base");
    let line = |text: &str, place: usize, from: &str, to: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines[place] = lines[place].replacen(from, to, 1);
        (lines.join("\n") + "\n").into_bytes()
    };
    let other_value = |text: &str| {
        let mut table = Table::of(text);
        let place = table.rows.iter().position(|row| table.get(row, "value").parse::<f64>().is_ok()).unwrap();
        table.rows.push(table.rows[place].clone());
        table.slow(table.rows.len() - 1, 1.5);
        table.text().into_bytes()
    };
    let changes: [(&str, Change); 14] = [
        ("it ends within its header line", &|_| Vec::new()),
        ("holds no rows", &|text| format!("{}\n", text.lines().next().unwrap()).into_bytes()),
        ("is missing: this is not a file that lanescope wrote", &|_| b"name,time\na,1\n".to_vec()),
        ("holds JSON lines", &|_| b"{\"experiment\":\"memory/stream\"}\n".to_vec()),
        ("line 3: this is not UTF-8", &|text| {
            let mut bytes = text.clone().into_bytes();
            let third = text.lines().take(2).map(|line| line.len() + 1).sum::<usize>();
            bytes[third] = 0xff;
            bytes
        }),
        ("line 4: the row has ", &|text| line(&text, 3, ",", "")),
        ("line 3, column `schema`: version `v9.0` can't be read", &|text| line(&text, 2, SCHEMA_VERSION, "v9.0")),
        ("is not of type integer: a formula; save its value", &|text| line(&text, 1, ",1,", ",=1+0,")),
        ("its cells are parted by semicolons", &|text| text.replace(',', ";").into_bytes()),
        ("has two results of one run and device: which row counts?", &|text| other_value(&text)),
        ("its lines end in carriage returns alone", &|text| text.replace('\n', "\r").into_bytes()),
        ("it is UTF-16", &|text| [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()),
        ("it is compressed by gzip", &|text| [&[0x1f, 0x8b, 8, 0][..], text.as_bytes()].concat()),
        ("it is compressed by zstd", &|text| [&[0x28, 0xb5, 0x2f, 0xfd][..], text.as_bytes()].concat()),
    ];
    for (said, change) in changes {
        let (_folder, file) = changed(change);
        compared(&[&base, &file]).refuses(&[said, "changed.csv"]);
    }
}

#[test]
fn what_can_not_be_compared_is_refused_in_words() {
    let (folder, base) = (Folder::new(), MOCKS.file("base"));
    let other = folder.at("other.csv");
    succeeded(&["run", "-q", "calibration/empty", "-d", "mock", "--max-time=10ms", "-o", &other]);
    let directory = folder.0.path().display().to_string();
    for (file, said) in [
        (other.as_str(), "have no case in common: were they measured with other filters, axes or presets?"),
        (directory.as_str(), "can't be opened: it is a folder"),
        ("no/such.csv", "no/such.csv: can't be opened: "),
        ("new=", "a file is missing: new=FILE"),
    ] {
        compared(&[&base, file]).says(2, &[said]);
    }
    let (_folder, validated) = changed(|text| text.replace(",false,", ",true,").into_bytes());
    compared(&[&base, &validated]).says(2, &["validation is false on one side"]);
    assert_eq!(compared(&[&base, &validated, "--force"]).code, Some(0));
}

/// Half of what a processor had is gone: no case is sure, the whole is.
#[test]
fn a_whole_that_is_slower_is_said_first_and_fails_its_gate() {
    let folder = Folder::new();
    // Every row as uncertain as on a processor that does other things beside.
    let noisy = |name: &str, slower: f64| {
        edited_of("nvidia-h100-overview-1.csv", name, &folder, |row| {
            if row["row_kind"] == "measured" && !row["round_medians_ns"].is_empty() {
                slow(row, slower);
                let rounds = row["round_medians_ns"].split(';').enumerate();
                let rounds = rounds.filter_map(|(i, round)| Some((i, round.split_once(':')?.0)));
                let time = row["time_ns"].clone();
                let rounds: Vec<String> =
                    rounds.map(|(i, process)| format!("{process}:{}", scaled(&time, [0.8, 1.0, 1.25][i % 3]))).collect();
                row.insert("round_medians_ns".to_owned(), rounds.join(";"));
            }
        })
    };
    let [base, slower] = [noisy("base.csv", 1.0), noisy("slower.csv", 1.3)];
    let of = |gate: &str| compared(&[&base, &slower, "--fail-on", gate]);
    let Ran { code, out, .. } = of("slower:10%:total");
    assert_eq!(code, Some(1), "{out}");
    let first = out.lines().nth(1).unwrap();
    assert!(first.starts_with("Slower in all: 0.7") && out.contains("no single case is sure"), "{out}");
    assert!(out.contains("larger than runs usually differ") && out.contains("--fail-on slower:10%:total: all 0.7"), "{out}");
    assert_eq!(of("slower:10%:family/memory").code, Some(1));
    // Case by case nothing is sure, which is said, and fails those who ask for that.
    let case_by_case = of("slower:10%");
    assert_eq!(case_by_case.code, Some(0));
    assert!(case_by_case.out.contains("Not judged:") && case_by_case.out.contains("too uncertain"), "{}", case_by_case.out);
    assert_eq!((of("unjudged").code, of("unjudged:50%").code), (Some(1), Some(1)));
    let csv = compared(&[&base, &slower, "--format=csv"]).out;
    let whole = csv.lines().find(|line| line.starts_with("total,")).unwrap();
    assert!(whole.contains(",slower,0.7") && whole.contains(",total,"), "{whole}");
}

/// A base without rows disarms no gate, and neither does one run of several that has another shader, another timer or no figure.
#[test]
fn what_only_some_rows_have_is_no_ground_to_pass() {
    let folder = Folder::new();
    let is_memory = |row: &BTreeMap<String, String>| row["experiment"].starts_with("memory/");
    let base = data("nvidia-h100-overview-1.csv");
    let none = edited("none.csv", &folder, |row| {
        if is_memory(row) {
            row.insert("status".to_owned(), "not_run".to_owned());
        }
    });
    for gate in ["slower:5%:memory/*", "slower:5%:family/memory"] {
        let Ran { code, out, .. } = compared(&[&none, &base, "--fail-on", gate]);
        assert!(code == Some(0) && joined(&out).contains("can't judge 45 of 45 cases"), "{out}");
    }
    assert_eq!(compared(&[&none, &base, "--fail-on=unjudged:memory/*"]).code, Some(1));
    let run = |name: &str, column: &str, value: &str| {
        edited(&format!("{name}.csv"), &folder, |row| {
            row.insert("run_id".to_owned(), name.to_owned());
            if is_memory(row) {
                row.insert(column.to_owned(), value.to_owned());
            }
        })
    };
    let plain = run("r1", "reason", "");
    for (column, value, words) in [
        ("spirv_hash", "another", "the shader is another one"),
        ("timer", "host", "the timer is another one"),
        ("groups_x", "3", "groups_x is"),
    ] {
        let other = run("r2", column, value);
        for new in [[&plain, &other], [&other, &plain]] {
            let sides = [format!("a={base}"), format!("b={}", new[0]), format!("b={}", new[1])];
            let csv = compared(&[&sides[0], &sides[1], &sides[2], "--format=csv"]).out;
            let of_memory: Vec<_> = cases(&csv).into_iter().filter(is_memory).collect();
            let all = of_memory.iter().filter(|case| case["reason"].contains(words)).count();
            assert!(
                all > 20 && of_memory.iter().all(|case| !["slower", "faster", "same"].contains(&case["verdict"].as_str())),
                "{csv}"
            );
        }
    }
    let second = edited_of("nvidia-h100-overview-2.csv", "r3.csv", &folder, |row| {
        if is_memory(row) {
            row.insert("status".to_owned(), "not_run".to_owned());
        }
    });
    let sides = [format!("a={base}"), format!("b={plain}"), format!("b={second}")];
    let out = compared(&sides.iter().map(String::as_str).collect::<Vec<_>>()).out;
    assert!(out.contains("cases of b have a figure in fewer than 2 runs"), "{out}");
}

/// `unjudged` is about what the other gates can't judge, by their shares; and about a mean that they can't.
#[test]
fn unjudged_goes_by_the_other_gates() {
    let folder = Folder::new();
    let slower = edited("slower.csv", &folder, |row| {
        if row["row_kind"] == "measured" && row["experiment"].starts_with("algo/") {
            slow(row, 1.5);
        }
    });
    let base = data("nvidia-h100-overview-1.csv");
    let of = |gates: &[&str]| {
        let gates: Vec<String> = gates.iter().map(|gate| format!("--fail-on={gate}")).collect();
        compared(&[&[base.as_str(), &slower], &gates.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat())
    };
    // What is slower for sure is judged.
    let Ran { code, out, .. } = of(&["unjudged:algo/*"]);
    assert_eq!(code, Some(0), "{out}");
    let many = |ran: Ran| ran.out.split("can't judge ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
    let [strict, lax] = [of(&["unjudged"]), of(&["unjudged", "slower:40%"])].map(many);
    assert!(strict > lax, "{strict:?} {lax:?}");
    let refused = of(&["slower:5%:family/nothing"]);
    assert!(refused.code == Some(2) && refused.err.contains("family/NAME, of algo, "), "{}", refused.err);
    assert_eq!(of(&["slower:40%:algo/transpose *naive*"]).code, of(&["slower:40%:algo/transpose"]).code);
    let failed = of(&["slower:40%:family/algo"]);
    assert!(failed.code == Some(1) && joined(&failed.out).contains("it takes 50.0 % longer"), "{}", failed.out);
}

/// What a gate of speed can't judge is said: another shader, a row that isn't there, figures that can't be right.
#[test]
fn what_a_gate_can_not_judge_is_said_and_fails_unjudged() {
    let folder = Folder::new();
    let changed = edited("changed.csv", &folder, |row| {
        if row["experiment"] == "memory/stream" {
            row.insert("spirv_hash".to_owned(), "another".to_owned());
            row.insert("source_hash".to_owned(), "another".to_owned());
        }
        if row["experiment"] == "shared/bandwidth" {
            row.insert("quality_flags".to_owned(), "implausible".to_owned());
        }
    });
    let base = data("nvidia-h100-overview-1.csv");
    let of = |gate: &str| compared(&[&base, &changed, "--fail-on", gate]);
    for (glob, words) in [("memory/stream", "the shader is another one"), ("shared/bandwidth", "implausible")] {
        let Ran { code, out, .. } = of(&format!("slower:3%:{glob}"));
        let line = joined(out.split("Not judged:").nth(1).unwrap_or_default());
        assert!(code == Some(0) && line.contains("can't judge") && line.contains(words), "{out}");
        assert_eq!(of(&format!("unjudged:{glob}")).code, Some(1), "{glob}");
    }
    // Nor does a mean pass silently that has lost its cases.
    let gone = edited("gone.csv", &folder, |row| {
        if row["experiment"].starts_with("shared/") {
            row.insert("quality_flags".to_owned(), "implausible".to_owned());
        }
    });
    for gate in ["slower:3%:family/shared", "slower:3%:total"] {
        let out = compared(&[&base, &gone, "--fail-on", gate]).out;
        let line = out.split("Not judged:").nth(1).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(line.contains("can't judge") && line.contains("implausible"), "{gate}: {out}");
    }
    let sure = compared(&[&base, &base, "--fail-on", "unjudged:algo/*", "--fail-on", "slower:3%:family/algo"]);
    assert!(sure.code == Some(0) && !sure.out.contains("Not judged:"), "{}", sure.out);
}

/// A pass that took no time at all has no rate: what had a figure has none now, and nothing else was said to be wrong.
#[test]
fn a_row_that_is_right_but_has_no_figure_is_broken() {
    let folder = Folder::new();
    let file = edited("none.csv", &folder, |row| {
        if row["experiment"] == "shared/bandwidth" {
            for name in [
                "value",
                "value_ci_low",
                "value_ci_high",
                "gb_per_s",
                "gitems_per_s",
                "ci_low_ns",
                "ci_high_ns",
                "time_min_ns",
                "time_max_ns",
                "round_medians_ns",
            ] {
                row.insert(name.to_owned(), String::new());
            }
            row.insert("time_ns".to_owned(), "0".to_owned());
            row.insert("quality_flags".to_owned(), "implausible".to_owned());
        }
    });
    let base = data("nvidia-h100-overview-1.csv");
    let cases = cases(&compared(&[&base, &file, "--format=csv"]).out);
    let case = cases.iter().find(|case| case["experiment"] == "shared/bandwidth").unwrap();
    assert!(case["verdict"] == "broken" && case["reason"].contains("no figure"), "{case:?}");
    assert_eq!(compared(&[&base, &file, "--fail-on=broken"]).code, Some(1));
}

/// Whoever reads rows refuses one that no run wrote, and names its line.
#[test]
fn a_row_that_contradicts_itself_is_refused_with_its_line() {
    let folder = Folder::new();
    let base = data("nvidia-h100-overview-1.csv");
    for (column, cell, words) in [
        ("value", "1e9", "is outside its interval"),
        ("time_ns", "-1", "can't be measured"),
        ("gb_per_s", "1", "doesn't follow from the time"),
        ("better", "more", "neither higher nor lower"),
        ("row_kind", "guessed", "neither measured nor derived"),
    ] {
        let file = edited("odd.csv", &folder, |row| {
            if row["experiment"] == "shared/bandwidth" {
                row.insert(column.to_owned(), cell.to_owned());
            }
        });
        let to = folder.at("to.csv");
        for command in [
            vec!["compare", &base, &file],
            vec!["card", &file],
            vec!["report", &file, "-o", "-"],
            vec!["merge", &file, "-o", &to],
        ] {
            ran(&command).says(2, &["odd.csv, line ", &format!("column `{column}`"), words]);
        }
    }
}

#[test]
fn devices_of_one_kind_are_pooled_and_judged_where_there_are_several() {
    let folder = Folder::new();
    let on = |run: u32, uuid: char| {
        edited_of(&format!("nvidia-h100-overview-{run}.csv"), &format!("{run}{uuid}.csv"), &folder, |row| {
            row.insert("device_uuid".into(), format!("0000000{uuid}-0000-0000-0000-000000000000"));
            row.insert("host".into(), format!("node{uuid}"));
        })
    };
    let [a, b, c, d] = [on(1, 'a'), on(2, 'b'), on(3, 'c'), on(4, 'd')];
    let refused = compared(&[&format!("old={a},{b}"), &format!("new={c},{d}")]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("old has 2 devices, new has 2 devices, and none is the same"), "{}", refused.err);
    assert!(refused.err.contains("`--pool-devices`"), "{}", refused.err);
    let pooled = |sides: &[&str]| {
        let all = compared(&[&["--pool-devices", "--format", "csv"], sides].concat());
        assert_eq!(all.code, Some(0), "{}", all.err);
        all
    };
    let several = pooled(&[&format!("old={a},{b}"), &format!("new={c},{d}")]);
    assert!(several.err.contains("old is of 2 devices, taken for one of each kind"), "{}", several.err);
    assert!(count(&cases(&several.out), "same") > 50, "{}", several.out);
    let of_two = pooled(&[&a, &c]);
    let judged = cases(&of_two.out).into_iter().filter(|row| row["row_kind"] == "measured");
    let judged: Vec<_> = judged.filter(|row| ["same", "slower", "faster"].contains(&row["verdict"].as_str())).collect();
    assert!(judged.is_empty() && of_two.out.contains("each side has it from one device"), "{judged:?}");
    let of_one = pooled(&[&a, &on(2, 'a')]);
    assert!(count(&cases(&of_one.out), "same") > 50, "{}", of_one.out);
}
