//! Merging: the files of shards become the file of one run, or it is said what keeps them from it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use csv::StringRecord;
use lanescope::experiments::{CATALOGUE, Experiment, Setting};
use lanescope::model::{AxisValue, DeviceInfo, Preset};
use lanescope::record::{COLUMNS, Record, SCHEMA_VERSION, Use, needed};
use lanescope::tuning;

use crate::support::tables::Table;
use crate::support::{Folder, Ran, data, ran, rows, rows_of, succeeded, typed};

// ---- files ----------------------------------------------------------------------------------------------------------------

/// Bases of variants and of axes, derived rows, rows that are skipped, and kernels without any of that.
static RUN: LazyLock<Vec<&str>> = LazyLock::new(|| {
    typed(
        "run -q --format=csv calibration/timer memory/stride shared/bank_conflict algo/transpose --preset=quick --max-time=20ms -a=n=2^14 -a=matrix_size=64 -a=local_size_x=16,2048 -a=local_size_y=8 -a=stride=1,2,3,4,8,16,32,33",
    )
});

fn whole() -> &'static str {
    static WHOLE: OnceLock<String> = OnceLock::new();
    WHOLE.get_or_init(|| succeeded(&[&RUN[..], &["-d", "mock"]].concat()).out)
}

impl Table {
    /// As shards write them: nothing derived, and of a base in another shard only its name.
    fn shards(&self, count: usize) -> Vec<Self> {
        let shard = |case: &str| case.bytes().fold(7_usize, |hash, byte| hash * 31 % 1009 + usize::from(byte)) % count;
        let mut shards: Vec<Self> =
            (0..count).map(|own| self.measured().only(|row| shard(self.get(row, "case_id")) == own)).collect();
        for (own, table) in shards.iter_mut().enumerate() {
            for row in 0..table.rows.len() {
                let base = table.get(&table.rows[row], "relative_to").to_owned();
                if !base.is_empty() && shard(&base) != own {
                    table.set(row, "relative", "");
                }
            }
        }
        shards
    }
}

/// A folder of files, and what merging makes of them.
impl Folder {
    fn tables(&self, tables: &[Table]) -> Vec<String> {
        tables.iter().enumerate().map(|(i, table)| self.write(&format!("shard{i}.csv"), table.text())).collect()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Merges into `out.csv`.
    fn merge(&self, arguments: &[&str]) -> Ran {
        ran(&[&["merge", "-o", self.path("out.csv").to_str().unwrap()], arguments].concat())
    }

    /// Merges files and demands success; what was written.
    fn merged<P: AsRef<str>>(&self, files: &[P]) -> String {
        let ran = self.merge(&files.iter().map(AsRef::as_ref).collect::<Vec<_>>());
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
        self.read("out.csv")
    }

    /// Merges files, and demands that it fails and leaves everything as it was; the error.
    fn refused<P: AsRef<str>>(&self, files: &[P], code: i32) -> String {
        let before = self.contents();
        let ran = self.merge(&files.iter().map(AsRef::as_ref).collect::<Vec<_>>());
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{}", ran.err);
        assert!(ran.err.contains("error: "), "{}", ran.err);
        assert_eq!(self.contents(), before);
        ran.err
    }

    fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let paths = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().path());
        paths.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
    }
}

#[test]
fn the_run_covers_what_merging_does() {
    let rows = rows(whole());
    let count = |test: &dyn Fn(&Record) -> bool| rows.iter().filter(|row| test(row)).count();
    assert!(count(&|row| row.relative.is_some() && row.relative_to != row.case_id) > 4);
    assert!(count(&|row| row.row_kind == "derived") == 3 && count(&|row| row.status == "skipped") > 2);
    assert!(count(&|row| row.status == "ok" && row.relative.is_none()) > 0);
    let shards = Table::of(whole()).shards(8);
    let elsewhere = |table: &&Table| {
        table.rows.iter().any(|row| table.get(row, "relative").is_empty() && !table.get(row, "relative_to").is_empty())
    };
    assert!(shards.iter().all(|table| !table.rows.is_empty()) && shards.iter().filter(elsewhere).count() > 2);
}

// ---- what comes out -------------------------------------------------------------------------------------------------------

#[test]
fn the_file_of_one_run_comes_out_as_it_went_in() {
    let folder = Folder::new();
    assert_eq!(folder.merged(&[folder.write("whole.csv", whole())]), whole());
}

/// Failures, pairs with a base and across devices, evicted caches.
#[test]
fn runs_of_every_kind_come_out_as_they_went_in() {
    let few = ["run", "-q", "--format=csv", "--preset=quick", "--max-time=20ms"];
    let stride = ["memory/stride", "shared/*", "-a=stride=1,2,4", "-a=n=2^14"];
    let transpose = ["algo/transpose", "-a=local_size_x=16", "-a=local_size_y=8", "-a=matrix_size=64", "--paired"];
    for (arguments, what) in [
        (&[&stride[..], &["-d=mock:wrong=memory/*"]].concat()[..], "wrong_result"),
        (&[&stride[..], &["-d=mock:lost=memory/stride*op=read;stride=[24];*"]].concat(), "device_lost"),
        (&[&stride[..], &["-d=mock:memory=shared/*"]].concat(), "out_of_memory"),
        (&[&stride[..], &["-d=mock", "--cold", "--evict-bytes=64Ki"]].concat(), "cold"),
        (&[&transpose[..], &["-d=mock"]].concat(), "padded"),
        (&[&transpose[..], &["-d=mock", "-d=mock:speed=2"]].concat(), "@"),
    ] {
        let (folder, file) = Folder::with("whole.csv", &ran(&[&few[..], arguments].concat()).out);
        let text = folder.read("whole.csv");
        assert!(text.contains(what) && text.lines().count() > 4, "{arguments:?}");
        assert_eq!(folder.merged(&[file]), text, "{arguments:?}");
    }
}

#[test]
fn shards_in_any_order_become_the_whole() {
    let folder = Folder::new();
    for count in [1, 2, 8] {
        let mut files = folder.tables(&Table::of(whole()).shards(count));
        assert_eq!(folder.merged(&files), whole());
        files.reverse();
        files.swap(0, count / 2);
        assert_eq!(folder.merged(&files), whole());
    }
}

/// The order of devices and plans is that of the files; within them it is the plan's.
#[test]
fn rows_stand_in_the_order_of_one_run() {
    let folder = Folder::new();
    let [one, two] = [Table::of(whole()), other_device(&Table::of(whole()))];
    let both = format!("{}{}", one.text(), two.text().split_once('\n').unwrap().1);
    let [one, two] = [one.shards(2), two.shards(2)];
    let files = folder.tables(&[one[0].clone(), two[1].clone(), two[0].clone(), one[1].clone()]);
    assert_eq!(folder.merged(&files), both);
    let by_device = |text: &str| Table::of(text).rows.first().unwrap().iter().any(|cell| cell == OTHER);
    assert!(by_device(&folder.merged(&[&files[2], &files[0], &files[1], &files[3]])), "the second device comes first");
}

const OTHER: &str = "00000000-0000-0000-0000-0000000000ff";

fn other_device(table: &Table) -> Table {
    let mut other = table.clone();
    other.set_all("device_uuid", OTHER);
    other
}

/// A software driver has the same UUIDs on every machine.
#[test]
fn the_rows_of_two_processors_are_of_two_devices() {
    let folder = Folder::new();
    let mut shards = Table::of(whole()).shards(2);
    for (shard, host) in shards.iter_mut().zip(["here", "there"]) {
        shard.set_all("device_type", "cpu");
        shard.set_all("host", host);
    }
    let error = folder.refused(&folder.tables(&shards), 1);
    for host in ["here", "there"] {
        assert!(error.contains(&format!("{host}, plan ")), "{error}");
    }
    shards.iter_mut().for_each(|shard| shard.set_all("device_type", "discrete"));
    folder.merged(&folder.tables(&shards));
}

#[test]
fn exact_duplicates_are_one_row() {
    let folder = Folder::new();
    let mut files = folder.tables(&Table::of(whole()).shards(2));
    files.push(files[0].clone());
    files.push(folder.write("whole.csv", whole()));
    assert_eq!(folder.merged(&files), whole());
    // What was merged before is an input like others, and may be the output as well.
    files[3] = folder.at("out.csv");
    assert_eq!(folder.merged(&files), whole());
}

#[test]
fn relations_are_of_the_rows_that_stand() {
    // A shard whose base is half as fast as another try of it found.
    let folder = Folder::new();
    let table = Table::of(whole()).measured();
    let is_base = |row: &StringRecord| table.get(row, "case_id") == table.get(row, "relative_to");
    let [mut bases, others] = [table.only(is_base), table.only(|row| !is_base(row))];
    for row in 0..bases.rows.len() {
        bases.slow(row, 2.0);
    }
    let merged = rows(&folder.merged(&folder.tables(&[others.clone(), bases])));
    for (old, new) in rows(whole()).iter().zip(&merged).filter(|(old, _)| old.relative_to != old.case_id) {
        assert_eq!(new.relative, old.relative.map(|relative| relative * 2.0), "{}", old.axis_values);
    }
    // Bases that have no figure compare nothing.
    let mut failed = table.only(is_base);
    for (column, value) in [("status", "timeout"), ("value", ""), ("time_ns", "")] {
        failed.set_all(column, value);
    }
    let merged = rows(&folder.merged(&folder.tables(&[others, failed])));
    assert!(merged.iter().all(|row| row.relative.is_none() && row.relative_to.is_empty()));
}

/// On a device that gets faster by the second the later shard has more work done in less time: only both together tell.
#[test]
fn rows_of_different_shards_make_each_other_implausible() {
    let device = ["-d", "mock:noise=0.002,drift=-0.3"];
    let steps =
        ["calibration/sentinel", "-a=groups=16", "-a=steps=2000..2099", "--preset=default", "--max-time=20ms", "--processes=1"];
    let whole = ran(&[&["run", "-q", "--format=csv", "--max-noise=50%"], &steps[..], &device].concat()).out;
    let table = Table::of(&whole);
    let is_implausible = |row: &StringRecord| table.get(row, "quality_flags").contains("implausible");
    let mut later = table.only(is_implausible);
    assert!(
        later.rows.len() > 10 && later.rows.iter().all(|row| table.get(row, "reason").contains("more work can't be faster"))
    );
    for row in 0..later.rows.len() {
        let flags = later.get(&later.rows[row], "quality_flags").replace(";implausible", "").replace("implausible", "");
        later.set(row, "quality_flags", &flags);
        later.set(row, "reason", "");
    }
    let folder = Folder::new();
    assert!(folder.merged(&folder.tables(&[later.clone(), table.only(|row| !is_implausible(row))])) == whole);
    assert!(folder.merged(&[folder.write("whole.csv", &whole)]) == whole, "what was said is not said again");
    // Both forms of a row are one measurement.
    assert!(folder.merged(&folder.tables(&[later, table.clone()])) == whole);
}

/// Merging asks experiments for their axes without knowing the device.
#[test]
fn what_is_work_depends_on_no_device() {
    let monotone = |experiment: &Experiment, setting: &Setting| {
        let axes = experiment.axes(setting).into_iter();
        axes.filter(|axis| axis.is_monotone).map(|axis| axis.name).collect::<Vec<_>>()
    };
    let mock = DeviceInfo::mock();
    crate::support::each_setting(|setting| {
        for experiment in CATALOGUE {
            let of_mock = monotone(experiment, &crate::support::setting(&mock, Preset::Default));
            assert_eq!(monotone(experiment, &setting), of_mock, "{}", experiment.name());
        }
    });
}

/// Rows of the same cases on different hosts: what is derived from both is of neither.
#[test]
fn a_derived_row_tells_of_runs_what_they_share() {
    let folder = Folder::new();
    let mut shards = Table::of(whole()).shards(2);
    for (shard, (run, time)) in shards.iter_mut().zip([("r1", "2026-01-02T03:04:05Z"), ("r2", "2026-01-02T03:04:06Z")]) {
        shard.set_all("run_id", run);
        shard.set_all("written_at", time);
    }
    for order in [[0, 1], [1, 0]] {
        let merged = rows(&folder.merged(&folder.tables(&order.map(|i| shards[i].clone()))));
        let derived: Vec<_> = merged.iter().filter(|row| row.row_kind == "derived").collect();
        assert_eq!(derived.len(), 3);
        for row in derived {
            assert_eq!((row.run_id.as_str(), row.host.as_str(), row.written_at.as_str()), ("", "mock", "2026-01-02T03:04:06Z"));
            assert_eq!((row.plan_id.as_str(), row.plan_cases), (merged[0].plan_id.as_str(), merged[0].plan_cases));
        }
    }
}

/// The rows of its second turn that are no pairs, such as those of the timer, look like those of the first.
#[test]
fn a_device_may_be_paired_with_itself() {
    let devices = ["-d", "mock", "-d", "mock:speed=2", "--paired"];
    let mut table = Table::of(&succeeded(&[&RUN[..], &devices].concat()).out);
    let first = table.get(&table.rows[0], "device_uuid").to_owned();
    table.set_all("device_uuid", &first);
    let folder = Folder::new();
    assert_eq!(folder.merged(&[folder.write("whole.csv", table.text())]), table.text());
    assert_eq!(folder.merged(&folder.tables(&table.shards(3))), table.text());
    // And what is missing of one turn is no less missing for being there in the other.
    let is_lost = |row: &StringRecord| table.get(row, "plan_index") == "4" && !table.get(row, "pair_base").is_empty();
    let error = folder.refused(&[folder.write("whole.csv", table.only(|row| !is_lost(row)).text())], 1);
    assert_eq!((error.matches("1 case of").count(), error.matches("case 4, memory/stride").count()), (1, 1), "{error}");
}

#[test]
fn every_format_is_written_at_once() {
    let (folder, file) = Folder::with("whole.csv", whole());
    let outputs = ["out.csv", "out.jsonl", "out.md", "out.txt"].map(|name| folder.at(name));
    let outputs: Vec<&str> = outputs.iter().flat_map(|path| ["-o", path]).collect();
    let ran = succeeded(&[&["merge", &file, "-o", "-"], &outputs[..]].concat());
    assert_eq!((ran.out.as_str(), folder.read("out.csv").as_str()), (whole(), whole()));
    let count = rows(whole()).len();
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.contains("measured, ") && ran.err.contains("3 derived from 1 file"), "{}", ran.err);
    assert_eq!(folder.read("out.jsonl").lines().count(), count);
    assert!(folder.read("out.md").contains("| ") && folder.read("out.txt").contains("──"));
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 5, "nothing temporary is left");
    let silent = succeeded(&["merge", "-q", &file, "--format=jsonl"]);
    assert_eq!((silent.out.lines().count(), silent.err.as_str()), (count, ""));
}

// ---- conflicts ------------------------------------------------------------------------------------------------------------

#[test]
fn results_that_contradict_are_named_with_their_places() {
    let folder = Folder::new();
    let table = Table::of(whole()).measured();
    let mut other = table.clone();
    let place = table.rows.iter().position(|row| table.get(row, "variant") == "padded").unwrap();
    other.slow(place, 1.5);
    let files = folder.tables(&[table.clone(), other.clone(), other.clone()]);
    folder.write("out.csv", "old");
    let error = folder.refused(&files, 1);
    let axes = table.get(&table.rows[place], "axis_values");
    let line = place + 2;
    for part in [
        "1 case with more than one result".to_owned(),
        format!("algo/transpose padded {axes} on mock"),
        format!("shard0.csv, line {line}; "),
        format!("shard1.csv, line {line}; "),
        format!("shard2.csv, line {line}\n"),
        "nothing was written".to_owned(),
    ] {
        assert!(error.contains(&part), "no `{part}` in {error}");
    }
    // A right and a wrong result of one case can't both stand.
    let mut wrong = table.clone();
    wrong.set(place, "status", "wrong_result");
    assert!(folder.refused(&folder.tables(&[table.clone(), wrong]), 1).contains("more than one result"));
    // Many are counted.
    let mut all = table.clone();
    all.set_all("status", "wrong_result");
    let many = folder.refused(&folder.tables(&[table.clone(), all]), 1);
    assert!(
        many.lines().count() < 30 && many.contains(&format!("{} cases with", table.rows.len())) && many.contains(" more"),
        "{many}"
    );
}

#[test]
fn a_plan_can_not_be_two() {
    let folder = Folder::new();
    let table = Table::of(whole()).measured();
    let cases = table.rows.len();
    let mut longer = table.only(|row| table.get(row, "plan_index") == "3");
    longer.set(0, "plan_cases", "999");
    let error = folder.refused(&folder.tables(&[table.clone(), longer]), 1);
    assert!(error.contains(&format!("{cases} cases by")) && error.contains("case 3 of 999 cases"), "{error}");
    let mut twice = table.clone();
    twice.set(4, "plan_index", "3");
    let error = folder.refused(&folder.tables(&[twice]), 1);
    assert!(error.contains("case 3 of plan") && error.contains("as well as"), "{error}");
    let mut beyond = table.clone();
    beyond.set(4, "plan_index", &cases.to_string());
    let error = folder.refused(&folder.tables(&[beyond]), 1);
    assert!(error.contains(&format!("holds case {cases} of {cases} cases")), "{error}");
}

// ---- gaps -----------------------------------------------------------------------------------------------------------------

/// The table without the cases at these places.
fn without(table: &Table, indexes: &[&str]) -> Table {
    table.only(|row| !indexes.contains(&table.get(row, "plan_index")))
}

fn plan() -> Table {
    Table::of(&succeeded(&[&RUN[..], &["-d", "mock", "--dry-run"]].concat()).out)
}

#[test]
fn what_is_missing_is_told_by_its_neighbours() {
    let folder = Folder::new();
    let table = Table::of(whole()).measured();
    let last = table.rows.len() - 1;
    let name = |index: usize| {
        let row = &table.rows[index];
        ["experiment", "variant", "axis_values"]
            .map(|column| table.get(row, column))
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let gaps = without(&table, &["0", "5", "6", "7", "9", &last.to_string()]);
    let error = folder.refused(&folder.tables(&[gaps]), 1);
    for part in [
        format!("plan {}: 6 cases of {} (0 to {last}) are missing:\n", table.get(&table.rows[0], "plan_id"), last + 1),
        format!("  case 0, before {}\n", name(1)),
        format!("  cases 5 to 7, between {} and {}\n", name(4), name(8)),
        format!("  case 9, between {} and {}\n", name(8), name(10)),
        format!("  case {last}, after {}\n", name(last - 1)),
    ] {
        assert!(error.contains(&part), "no `{part}` in {error}");
    }
    // A device may lack what another has: which case that is, is known then.
    let files = folder.tables(&[other_device(&table), without(&table, &["7"])]);
    let error = folder.refused(&files, 1);
    assert!(error.contains(": 1 case of") && error.contains(&format!("  case 7, {}\n", name(7))), "{error}");
}

/// Files may name as many devices as rows: then each lacks what all the others have.
#[test]
fn what_many_devices_lack_is_counted() {
    let folder = Folder::new();
    let mut table = Table::of(whole()).measured();
    table.rows.truncate(30);
    for row in 0..30 {
        table.set(row, "device_uuid", &format!("00000000-0000-0000-0000-0000000000{row:02x}"));
    }
    let cases: u64 = table.get(&table.rows[0], "plan_cases").parse().unwrap();
    let error = folder.refused(&folder.tables(&[table]), 1);
    assert_eq!(error.matches("cases of ").count(), 20, "{error}");
    assert!(error.contains("  and 10 more\n"), "{error}");
    assert!(error.contains(&format!("10 more plans, counted on each device, lack {} cases", 10 * (cases - 1))), "{error}");
}

/// Each axis is a column of every row that is written.
#[test]
fn rows_of_more_axes_than_there_can_be_are_refused() {
    let folder = Folder::new();
    let mut table = Table::of(whole()).measured();
    table.rows = vec![table.rows[0].clone(); 6];
    let axes = |row: usize| (0..200).map(|axis| format!("a{row}x{axis:03}=1")).collect::<Vec<_>>().join(";");
    for row in 0..6 {
        table.set(row, "axis_values", &axes(row));
        table.set(row, "case_id", &format!("c{row:016}"));
    }
    let error = folder.refused(&folder.tables(&[table]), 2);
    assert!(error.contains("line 7: the rows so far have more than 1000 axes"), "{error}");
}

#[test]
fn a_plan_names_what_is_missing_and_vanishes_behind_what_is_there() {
    let folder = Folder::new();
    let table = Table::of(whole()).measured();
    let ok: Vec<&str> =
        table.rows.iter().filter(|row| table.get(row, "status") == "ok").map(|row| table.get(row, "plan_index")).collect();
    let gaps = without(&table, &ok[1..4]);
    for files in [[plan(), gaps.clone()], [gaps.clone(), plan()]] {
        let error = folder.refused(&folder.tables(&files), 1);
        for index in &ok[1..4] {
            let row = table.rows.iter().find(|row| table.get(row, "plan_index") == *index).unwrap();
            let named = format!("  case {index}, {} ", table.get(row, "experiment"));
            assert!(error.contains(&named) && error.contains(table.get(row, "axis_values")), "no {named} in {error}");
        }
        assert!(error.contains(": 3 cases of") && !error.contains("between"), "{error}");
    }
    let complete = |tables: &[Table]| folder.merged(&folder.tables(tables));
    assert_eq!(complete(&[plan(), table.clone()]), whole());
    assert_eq!(complete(&[table.clone(), plan()]), whole());
    assert!(folder.refused(&folder.tables(&[plan()]), 1).contains("are missing"), "a plan alone");
}

#[test]
fn a_part_can_be_merged_with_the_rest_later() {
    let folder = Folder::new();
    let mut shards = Table::of(whole()).shards(4);
    // The first one is to come later: let it hold a base of others.
    let names = |table: &Table, case: &str| table.rows.iter().any(|row| table.get(row, "relative_to") == case);
    let is_base = |own: &Table, case: &str| shards.iter().any(|table| table != own && names(table, case));
    let first = shards.iter().position(|table| table.rows.iter().any(|row| is_base(table, table.get(row, "case_id"))));
    shards.swap(0, first.unwrap());
    let files = folder.tables(&shards);
    for more in [vec![], vec![folder.write("plan.csv", plan().text())]] {
        let most: Vec<&str> = files[1..].iter().chain(&more).map(String::as_str).collect();
        folder.merge(&[&["--partial"], &most[..]].concat()).says(0, &["note: ", "missing"]);
        let part = rows_of(&folder.path("out.csv"));
        let lost: Vec<Record> = rows(&shards[0].text());
        assert!(lost.iter().all(|lost| {
            part.iter().all(|row| row.case_id != lost.case_id || ["planned", "skipped"].contains(&row.status.as_str()))
        }));
        // Whose base isn't there still names it.
        assert!(part.iter().any(|row| row.relative.is_none() && lost.iter().any(|lost| lost.case_id == row.relative_to)));
        let rest = [folder.at("out.csv"), files[0].clone()];
        assert_eq!(folder.merged(&rest), whole());
    }
    // What contradicts is no gap.
    let mut other = shards[1].clone();
    other.set(0, "status", "wrong_result");
    folder.write("shard0.csv", other.text());
    assert!(folder.refused(&[&["--partial".to_owned()], &files[..]].concat(), 1).contains("more than one result"));
}

/// A device that can't be calibrated leaves a row for each case; another try of the shard has the figures.
#[test]
fn a_finished_row_supersedes_one_of_a_failed_try() {
    let folder = Folder::new();
    let table = Table::of(whole()).measured();
    let failed = |options: &str| Table::of(&ran(&[&RUN[..], &["-d", &format!("mock:{options}")]].concat()).out).measured();
    let [lost, not_run] = [failed("lost=memory/*"), failed("lost=calibration/sentinel")];
    let status = |table: &Table, status: &str| table.rows.iter().filter(|row| table.get(row, "status") == status).count();
    assert!(not_run.rows.iter().any(|row| not_run.get(row, "status") == "not_run"), "{not_run:?}");
    // Other cases of the shard that failed are finished in both.
    let lost = lost.only(|row| lost.get(row, "status") == "device_lost");
    assert!(lost.rows.len() > 3);
    for files in [
        [lost.clone(), table.clone()],
        [table.clone(), lost.clone()],
        [not_run.clone(), table.clone()],
        [table.clone(), not_run.clone()],
    ] {
        assert_eq!(folder.merged(&folder.tables(&files)), whole());
    }
    // A case that was tried and failed is no gap, one that was not tried is.
    let rest = table.only(|row| lost.rows.iter().all(|lost_row| lost.get(lost_row, "case_id") != table.get(row, "case_id")));
    let merged = folder.merged(&folder.tables(&[rest.clone(), lost.clone(), not_run.clone()]));
    assert_eq!(status(&Table::of(&merged), "device_lost"), lost.rows.len());
    let error = folder.refused(&folder.tables(&[rest, not_run]), 1);
    assert!(error.contains(" are missing") && error.contains("memory/stride") && error.contains(": not run: "), "{error}");
}

// ---- files that can't be merged -------------------------------------------------------------------------------------------

#[test]
fn older_files_are_merged_without_looking_for_gaps() {
    let folder = Folder::new();
    let data = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let old = data("nvidia-h100-default.csv");
    folder
        .merge(&[old.to_str().unwrap(), &folder.write("whole.csv", whole())])
        .says(0, &["note: 303 rows without a place in a plan"]);
    // Derived rows and relations included, but for the version, all is as it was.
    let (all, before) = (rows(&folder.read("out.csv")), rows_of(Path::new(&old)));
    // What is derived today and wasn't then comes with them.
    let (new, merged): (Vec<_>, Vec<_>) = all.into_iter().partition(|row| is_of_later(row, &before));
    assert!(new.iter().all(|row| row.row_kind == "derived"));
    let mut old = before;
    old.iter_mut().for_each(|row| SCHEMA_VERSION.clone_into(&mut row.schema));
    assert_eq!(merged[..old.len()], old);
    assert_eq!(merged.len() + new.len(), old.len() + rows(whole()).len() + 1);
}

/// Whether a row is of an old file's device, and of a derivation that the file has no rows of.
fn is_of_later(row: &Record, old: &[Record]) -> bool {
    row.device_uuid == old[0].device_uuid && old.iter().all(|old| old.experiment != row.experiment)
}

/// A row of schema 1.0, and others of 1.2: merging one file is what turns it into today's. The same rows of schema 2.0 become the same.
#[test]
fn rows_of_schema_1_become_rows_of_today() {
    let folder = Folder::new();
    let data = |name: &str| fs::read_to_string(data(name)).unwrap();
    for name in ["lavapipe.csv", "nvidia-h100-dot.csv"] {
        let old = data(&format!("v1/{name}"));
        let new = folder.merged(&[folder.write("new.csv", data(name))]);
        for column in [",memory_speed_ratio,", ",taken_off_ns,"] {
            assert!(new.contains(column) && !data(name).contains(column), "{name}: {column}");
        }
        let reversed = |table: &Table| {
            let turned = |row: &StringRecord| row.iter().rev().collect::<StringRecord>();
            Table { header: turned(&table.header), rows: table.rows.iter().map(turned).collect() }
        };
        let forms = [old.clone(), old.replace('\n', "\r\n"), reversed(&Table::of(&old)).text()];
        for (i, text) in forms.into_iter().enumerate() {
            assert_eq!(folder.merged(&[folder.write(&format!("old{i}.csv"), text)]), new, "{name}, form {i}");
        }
        let torn = folder.write("torn.csv", &old[..old.len() - 9]);
        let error = folder.refused(std::slice::from_ref(&torn), 2);
        assert!(error.contains("the last row was cut at line") && error.contains("--partial"), "{error}");
        folder.merge(&["--partial", &torn]).says(0, &["is left out"]);
        let header = folder.write("header.csv", &old[..400]);
        assert!(folder.refused(&[header], 2).contains("ends within its header line"));
        // A value by its own name, as Python's csv module would look it up.
        let [old, new] = [Table::of(&old), Table::of(&new)];
        let new = new.only(|row| new.get(row, "experiment") != "algo/ladder");
        for (old_name, name) in [("axes", "axis_values"), ("timestamp", "written_at"), ("items", "items_per_pass")] {
            assert_eq!(old.cells(old_name), new.cells(name), "{name}");
        }
    }
}

// ---- columns --------------------------------------------------------------------------------------------------------------

/// What is refused for want of a column can't do without it; all other columns may be missing, and change nothing elsewhere.
#[test]
fn a_column_that_merging_needs_is_named() {
    let folder = Folder::new();
    let table = Table::of(whole());
    let without = |place: usize| {
        let kept = |row: &StringRecord| row.iter().enumerate().filter(|(i, _)| *i != place).map(|(_, cell)| cell).collect();
        Table { header: kept(&table.header), rows: table.rows.iter().map(kept).collect() }
    };
    let mut merged_anyway = 0;
    for (place, column) in COLUMNS.iter().enumerate() {
        let file = folder.write("lacking.csv", without(place).text());
        if column.is_for(&[Use::Rows]) || column.name == "schema" {
            assert!(folder.refused(&[file], 2).contains(&format!("`{}`", column.name)), "{}", column.name);
            continue;
        }
        merged_anyway += 1;
        let mut expected = table.clone();
        // That is found again.
        if column.name != "relative" {
            expected.set_all(column.name, "");
        }
        let merged = folder.merged(&[file]);
        // What a derived row says of its kind, it says in any case.
        let is_own = |row: &StringRecord| table.get(row, "row_kind") == "measured";
        assert_eq!(Table::of(&merged).only(is_own), expected.only(is_own), "{}", column.name);
        let derived = |table: &Table| table.only(|row| table.get(row, "row_kind") == "derived");
        let [found, right] = [derived(&Table::of(&merged)), derived(&table)];
        for name in ["value", "value_ci_low", "value_ci_high", "quality_flags", "check_note", "reason"] {
            assert_eq!(found.cells(name), right.cells(name), "{}", column.name);
        }
    }
    assert!(merged_anyway > 50);
}

#[test]
fn columns_can_be_chosen_and_the_host_withheld() {
    let (folder, file) = Folder::with("whole.csv", whole());
    let merged = |more: &[&str]| succeeded(&[&["merge", "-q", file.as_str()], more].concat()).out;
    let chosen = Table::of(&merged(&["--columns", "value,unit,stride"]));
    let names: Vec<&str> = chosen.header.iter().take(9).collect();
    let kept = ["axis_values", "status", "value", "unit", "case_id", "driver_info", "device_uuid", "driver_uuid", "schema"];
    assert_eq!(names, kept);
    let all = Table::of(whole());
    for name in chosen.header.iter() {
        assert_eq!(chosen.cells(name), all.cells(name), "{name}");
    }
    ran(&["merge", &file, "--columns", "vallue"]).says(2, &["unknown column `vallue`; did you mean value"]);
    // What was written without something is no other measurement.
    let copies = [&["--anonymous"][..], &["--columns", &needed(&[Use::Rows]).join(",")]].map(merged);
    for (i, copy) in copies.into_iter().enumerate() {
        assert_eq!(folder.merged(&[file.clone(), folder.write(&format!("copy{i}.csv"), copy)]), whole());
    }
    let anonymous = rows(&merged(&["--anonymous"]));
    assert!(anonymous.iter().all(|row| row.host.is_empty() && !row.cpu_name.is_empty()));
    let run = ["run", "calibration/empty", "-d", "mock", "--anonymous", "--columns", "host,os,value", "--format", "jsonl"];
    let json = succeeded(&run).out;
    assert!(json.contains("\"os\":\"mock\"") && !json.contains("\"host\"") && !json.contains("time_ns"), "{json}");
}

#[test]
fn a_newer_minor_version_is_read_without_its_columns() {
    let folder = Folder::new();
    let newer = whole().replace(",ratio_ci_high,", ",ratio_ci_high,novelty,");
    // The new column is filled by what stood in the next one: give every row a cell for it.
    let mut table = Table { header: Table::of(&newer[..=newer.find('\n').unwrap()]).header, rows: Table::of(whole()).rows };
    let (place, schema) = (table.column("novelty"), table.column("schema"));
    for row in &mut table.rows {
        let mut cells: Vec<&str> = row.iter().collect();
        cells.insert(place, "new");
        cells[schema] = "v2.99";
        *row = StringRecord::from(cells);
    }
    let ran = folder.merge(&[&folder.write("newer.csv", table.text())]);
    assert_eq!((ran.code, folder.read("out.csv").as_str()), (Some(0), whole()));
    let words = "newer.csv was written by a newer lanescope (schema v2.99)";
    assert!(ran.err.contains(words), "{}", ran.err);
    let compared = succeeded(&["compare", &folder.path("newer.csv").display().to_string(), &folder.write("old.csv", whole())]);
    assert!(format!("{}{}", compared.out, compared.err).contains(words), "{}{}", compared.out, compared.err);
}

#[test]
fn files_of_another_kind_are_refused_by_name() {
    let (folder, good) = Folder::with("whole.csv", whole());
    let refused = |name: &str, text: &str, part: &str| {
        let error = folder.refused(&[good.clone(), folder.write(name, text)], 2);
        assert!(error.contains(name) && error.contains(part), "{error}");
    };
    refused("major.csv", &whole().replace(&format!(",{SCHEMA_VERSION},"), ",v3.0,"), "line 2, column `schema`: version `v3.0`");
    refused("rows.jsonl", &succeeded(&["merge", "-q", &good, "--format=jsonl"]).out, "JSON lines");
    refused("notes.csv", "a,b\n1,2\n", "not a file that lanescope wrote");
    refused("empty.csv", "", "holds no rows");
    let absent = folder.refused(&[good.clone(), folder.at("absent.csv")], 2);
    assert!(absent.contains("absent.csv: can't be opened"), "{absent}");
    ran(&["merge", &good, "-o", "out.xlsx"]).says(2, &[".jsonl"]);
    let nowhere = ran(&["merge", &good, "-o", folder.path("no/such.csv").to_str().unwrap()]);
    assert!(
        nowhere.code == Some(2) && nowhere.err.contains("can't write") && !nowhere.err.contains("measured"),
        "{}",
        nowhere.err
    );
    assert_eq!(ran(&["merge", "-o", "out.csv"]).code, Some(2), "no file");
}

#[test]
fn a_file_that_was_cut_is_to_be_finished_first() {
    let (folder, good) = Folder::with("whole.csv", whole());
    let lines = whole().lines().count();
    for cut in [1, 2, 100] {
        let torn = folder.write("torn.csv", &whole()[..whole().len() - cut]);
        let error = folder.refused(&[good.clone(), torn.clone()], 2);
        assert!(error.contains(&format!("torn.csv: the last row was cut at line {lines}")), "{error}");
        assert!(error.contains(&format!("--resume {torn}")), "{error}");
    }
}

// ---- many rows ------------------------------------------------------------------------------------------------------------

/// Rows are held, but not as the hundred fields that they are.
#[cfg(target_os = "linux")]
#[test]
fn rows_take_little_memory() {
    let folder = Folder::new();
    let peak = |cases: u64| {
        let file = folder.at("plan.csv");
        let axis = format!("n=4..{}:+4", cases * 4);
        let run = "run memory/stream -d=mock --dry-run -q -a=op=copy -a=width=1 -a=issue=interleaved -o";
        succeeded(&[&typed(run)[..], &[&file, "-a", &axis]].concat());
        crate::support::processes::peak_before_the_end(&["merge", "-q", "--partial", &file], cases)
    };
    const CASES: u64 = 8000;
    let (few, many) = (peak(1000), peak(CASES));
    let each = (many - few) / (CASES - 1000);
    assert!(each < 2048, "{each} bytes for each row");
}

// ---- tuning tables --------------------------------------------------------------------------------------------------------

#[test]
fn the_best_workgroups_go_into_a_tuning_table() {
    let folder = Folder::new();
    let [file, table] = ["rows.csv", "table.json"].map(|name| folder.path(name));
    let sweep =
        ["run", "-q", "algo/adaptive:transpose", "-d", "mock", "-a=n=256,4096", "-a=local_size_x=8,16", "-a=local_size_y=8"];
    succeeded(&[&sweep[..], &["--max-time=1ms", "-o", file.to_str().unwrap()]].concat());
    let saved = succeeded(&["merge", file.to_str().unwrap(), "--save-table", table.to_str().unwrap(), "--format=csv"]);
    assert!(saved.err.contains("2 best workgroups in "), "{}", saved.err);
    let found = tuning::Table::load(&table).unwrap();
    let best: Vec<(u64, u64)> = [256, 4096]
        .map(|n| {
            let rows = rows_of(&file)
                .into_iter()
                .filter(|row| row.row_kind == "measured" && row.by_axis["n"] == AxisValue::Integer(n));
            let best = rows.min_by(|a, b| a.time_ns.unwrap().total_cmp(&b.time_ns.unwrap())).unwrap();
            let AxisValue::Integer(width) = best.by_axis["local_size_x"] else { panic!("{best:?}") };
            (n, width)
        })
        .into();
    let told: Vec<(u64, u64)> = found
        .entries()
        .map(|entry| {
            assert_eq!(
                (entry.kernel.name.as_str(), entry.configuration["local_size_y"].clone()),
                ("algo/adaptive:transpose", 8_u64.into())
            );
            let AxisValue::Integer(width) = entry.configuration["local_size_x"] else { panic!("{entry:?}") };
            (entry.size["n"], width)
        })
        .collect();
    assert_eq!(told, best);
}

#[test]
fn rows_of_others_make_no_tuning_table() {
    let folder = Folder::new();
    let [file, table] = ["rows.csv", "table.json"].map(|name| folder.path(name));
    fs::write(&file, whole()).unwrap();
    let Ran { code, err, .. } = ran(&["merge", file.to_str().unwrap(), "--save-table", table.to_str().unwrap(), "--partial"]);
    assert!(code == Some(2) && err.contains("lanescope run algo/adaptive") && !table.exists(), "{err}");
}
