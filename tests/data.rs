//! Rows of real runs, kept as files: later versions must still read them, and what the README says of them must be in them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

mod support;

use std::path::{Path, PathBuf};

use lanescope::record::{Reader, Record};

/// `lanescope run --stats -o nvidia-h100.csv`
const H100: &str = "nvidia-h100.csv";
/// `lanescope run memory/stream 'shared/*' algo/transpose --stats -o nvidia-h100-default.csv`: default axes, nothing left out.
const H100_DEFAULT: &str = "nvidia-h100-default.csv";
/// `lanescope run 'memory/*' 'load/*' 'cache/*' 'transfer/*' --processes 1 -o nvidia-h100-memory.csv`: default axes, nothing left out.
const H100_MEMORY: &str = "nvidia-h100-memory.csv";
/// `lanescope run -o lavapipe.csv`
const LAVAPIPE: &str = "lavapipe.csv";

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn rows(name: &str) -> Vec<Record> {
    let reader = Reader::open(&path(name)).expect("the file is there");
    reader.collect::<Result<Vec<_>, _>>().expect("every row can be read")
}

fn best(rows: &[Record], op: &str) -> f64 {
    let of_op = rows.iter().filter(|row| row.experiment == "memory/stream" && row.axes.contains(&format!("op={op};")));
    of_op.filter_map(|row| row.gb_per_s).fold(0.0, f64::max)
}

#[test]
fn every_row_is_measured_and_checked_or_says_why_not() {
    for name in [H100, H100_DEFAULT, H100_MEMORY, LAVAPIPE] {
        let rows = rows(name);
        assert!(rows.len() > 60, "{name}");
        for row in &rows {
            let case = format!("{name}: {} {}", row.experiment, row.axes);
            assert!(row.status == "ok" || (row.status == "skipped" && !row.reason.is_empty()), "{case}");
            assert!(row.status == "skipped" || row.checked == "true" || !row.check_note.is_empty(), "{case}");
            if row.row_kind == "measured" {
                assert!(row.status == "skipped" || row.rounds >= Some(6), "{case}");
                let timer = if row.axes.contains("by=mapped") { "host" } else { "device" };
                assert!(row.status == "skipped" || row.timer == timer, "{case}");
            }
        }
    }
}

/// The physical limit is 3352 GB/s (HBM3, nominal): a figure above it would be as wrong as one far below.
#[test]
fn an_h100_reads_and_copies_near_its_memory_limit() {
    let rows = rows(H100);
    let (read, copy) = (best(&rows, "read"), best(&rows, "copy"));
    assert!((2900.0..3352.0).contains(&read), "{read}");
    assert!((2800.0..3352.0).contains(&copy), "{copy}");
    assert!(rows.iter().filter(|row| row.experiment == "memory/stream").all(|row| row.registers.is_some()));
}

/// Bank conflicts as 32 banks of 4 bytes make them, from a baseline near the limit of 132 x 128 bytes x 1.98 GHz.
#[test]
fn an_h100_has_the_bank_conflicts_of_its_banks() {
    let rows = rows(H100_DEFAULT);
    let row = |stride: &str| {
        let is = |row: &&Record| row.axes.contains(&format!(";stride={stride};")) && row.axes.ends_with("width=1");
        rows.iter().filter(|row| row.experiment == "shared/bank_conflict").find(is).expect("the row is there")
    };
    assert!(row("1").gb_per_s.is_some_and(|rate| (0.8..1.0).contains(&(rate / 33_454.0))));
    let slower =
        ["1", "2", "4", "8", "16", "32"].map(|stride| 1.0 / row(stride).relative.expect("it is compared with stride 1"));
    assert!(slower.is_sorted() && slower[5] >= 24.0, "{slower:?}");
    assert!(row("33").relative.is_some_and(|relative| relative > 0.98));
    let derived = |variant: &str| rows.iter().find(|row| row.experiment == "shared/banks" && row.variant == variant);
    assert_eq!(["count", "width"].map(|variant| derived(variant).and_then(|row| row.value)), [Some(32.0), Some(4.0)]);
}

/// The measured row whose axes hold these, each with its value.
fn find<'r>(rows: &'r [Record], experiment: &str, variant: &str, axes: &[&str]) -> &'r Record {
    let has = |row: &Record| axes.iter().all(|axis| row.axes.split(';').any(|own| own == *axis));
    let is = |row: &&Record| row.experiment == experiment && row.variant == variant && has(row);
    rows.iter().find(is).unwrap_or_else(|| panic!("no {experiment} {variant} {axes:?}"))
}

fn relative(rows: &[Record], experiment: &str, variant: &str, axes: &[&str]) -> f64 {
    find(rows, experiment, variant, axes).relative.expect("it is compared")
}

/// Sectors of 32 bytes, of which memory gives two at a time.
#[test]
fn an_h100_fetches_sectors_whole() {
    let rows = rows(H100_MEMORY);
    let streams = ["read", "copy", "triad"].map(|op| best(&rows, op));
    assert!(streams[0] >= 2950.0 && streams[1] >= 2900.0 && streams[2] >= 2900.0, "{streams:?}");
    let costs = |stride: &str| 1.0 / relative(&rows, "memory/stride", "", &["op=read", stride]);
    assert!((7.0..9.0).contains(&costs("stride=8")), "{}", costs("stride=8"));
    assert!(["stride=16", "stride=32", "stride=40"].iter().all(|stride| (8.0..20.0).contains(&costs(stride))));
    let costs = |layout: &str| 1.0 / relative(&rows, "memory/layout", layout, &["fields_used=1"]);
    assert!((2.7..3.2).contains(&costs("aos")) && (3.6..4.2).contains(&costs("padded")) && costs("aosoa32") < 1.2);
    assert!(relative(&rows, "memory/gather", "", &["pattern=random"]) < 0.25);
    let granules: Vec<_> = rows.iter().filter(|row| row.experiment == "cache/granules").map(|row| row.value).collect();
    assert_eq!(granules, [Some(32.0), Some(64.0)]);
}

/// A derived row of what caches are inferred to be.
fn level<'r>(rows: &'r [Record], variant: &str) -> &'r Record {
    let is = |row: &&Record| row.experiment == "cache/levels" && row.variant == variant;
    rows.iter().find(is).unwrap_or_else(|| panic!("no {variant}"))
}

fn value(rows: &[Record], variant: &str) -> f64 {
    level(rows, variant).value.unwrap_or_else(|| panic!("{variant} has no value"))
}

/// Whether the interval of a figure holds another one.
fn holds(rows: &[Record], variant: &str, truth: f64) -> bool {
    level(rows, variant).value_ci_low <= Some(truth) && Some(truth) <= level(rows, variant).value_ci_high
}

/// A first cache of 256 KiB less what workgroup memory has of it, 48 KiB here, and a second one of 50 MB in two partitions.
#[test]
fn an_h100_has_its_caches() {
    let rows = rows(H100_MEMORY);
    let (first, second) = (f64::from(208 << 10), f64::from(50_000 << 10));
    assert_eq!(value(&rows, "count"), 3.0);
    assert!((0.85..1.15).contains(&(value(&rows, "capacity_1") / first)), "{}", value(&rows, "capacity_1"));
    let mib = ["capacity_2", "capacity_3"].map(|variant| value(&rows, variant) / f64::from(1 << 20));
    assert!((20.0..30.0).contains(&mib[0]) && (40.0..55.0).contains(&mib[1]), "{mib:?}");
    assert!(
        holds(&rows, "capacity_1", first) && holds(&rows, "capacity_2", second / 2.0) && holds(&rows, "capacity_3", second)
    );
    let latencies = ["latency_1", "latency_2", "latency_3", "latency_beyond"].map(|variant| value(&rows, variant));
    assert!(latencies.is_sorted() && latencies[0] > 15.0 && latencies[3] < 700.0, "{latencies:?}");
}

/// From the first cache nearly 128 bytes per processor and cycle, from the second one less than its published limit of an H200, and
/// memory behind both.
#[test]
fn an_h100_has_its_bandwidths() {
    let rows = rows(H100_MEMORY);
    assert_eq!(value(&rows, "bandwidth_count"), 2.0);
    let rates = ["bandwidth_1", "bandwidth_2"].map(|variant| value(&rows, variant));
    assert!((0.9..1.0).contains(&(rates[0] / 33_454.0)) && (5500.0..10_000.0).contains(&rates[1]), "{rates:?}");
    assert!(holds(&rows, "bandwidth_capacity_1", f64::from(208 << 10)), "{:?}", level(&rows, "bandwidth_capacity_1"));
    assert!(holds(&rows, "bandwidth_capacity_2", f64::from(50_000 << 10)), "{:?}", level(&rows, "bandwidth_capacity_2"));
}

/// What follows from the rows is what this version infers: derived rows are no older than it is.
#[test]
fn derived_rows_follow_from_the_others() {
    for name in [H100, H100_DEFAULT, H100_MEMORY, LAVAPIPE] {
        let folder = support::Folder::new();
        let merged = folder.path("merged.csv");
        support::succeeded(&["merge", path(name).to_str().expect("UTF-8"), "-o", merged.to_str().expect("UTF-8")]);
        let derived = |rows: Vec<Record>| rows.into_iter().filter(|row| row.row_kind == "derived").collect::<Vec<_>>();
        let [kept, merged] = [derived(rows(name)), derived(support::rows_of(&merged))];
        assert_eq!(kept.len(), merged.len(), "{name}");
        for (kept, merged) in kept.iter().zip(&merged) {
            let figures = |row: &Record| [row.value, row.value_ci_low, row.value_ci_high];
            assert_eq!((&kept.case_id, figures(kept)), (&merged.case_id, figures(merged)), "{name}: {}", kept.variant);
            assert_eq!((&kept.reason, &kept.check_note), (&merged.reason, &merged.check_note), "{name}: {}", kept.variant);
        }
    }
}

/// What PCIe 5.0 x16 carries in one direction. Other guests of the host share it, so that not every size reaches it.
#[test]
fn an_h100_fills_its_bus() {
    let rows = rows(H100_MEMORY);
    for direction in ["direction=host_to_device", "direction=device_to_host"] {
        let is_one = |row: &&Record| row.experiment == "transfer/copy" && row.axes.contains(direction);
        let copies: Vec<&Record> = rows.iter().filter(is_one).filter(|row| row.status == "ok").collect();
        let most = copies.iter().filter_map(|row| row.gb_per_s).fold(0.0, f64::max);
        assert!((50.0..63.0).contains(&most), "{direction}: {most}");
        assert!(copies.iter().all(|row| row.memory_types.contains("host_visible")), "{direction}");
    }
}

/// All 46 loads of perftest in three patterns, and what was added.
#[test]
fn an_h100_has_every_load_path() {
    let rows = rows(H100_MEMORY);
    let paths: Vec<&Record> = rows.iter().filter(|row| row.experiment == "load/path").collect();
    assert_eq!((paths.len(), paths.iter().filter(|row| row.status == "ok").count()), (57 * 3, 57 * 3));
}

/// Where rows of a workgroup are as long as a subgroup, each step of the ladder is faster than the one before.
#[test]
fn an_h100_gains_by_tiles_and_again_by_padding() {
    let rows = rows(H100_DEFAULT);
    for height in [1, 2, 4, 8, 16, 32] {
        let shape = format!("local_size_x=32;local_size_y={height};");
        let time = |variant: &str| {
            let is = |row: &&Record| row.variant == variant && row.axes.starts_with(&shape);
            rows.iter().filter(|row| row.experiment == "algo/transpose").find(is).and_then(|row| row.time_ns)
        };
        let ladder = ["padded", "tiled", "naive"].map(|variant| time(variant).expect("it was measured"));
        assert!(ladder.is_sorted(), "32 x {height}: {ladder:?}");
    }
}

#[test]
fn long_rows_of_an_h100_are_precise_to_a_percent() {
    let (quick, default) = (rows(H100), rows(H100_DEFAULT));
    for row in quick.iter().chain(&default).filter(|row| row.time_ns > Some(20_000.0)) {
        assert!(row.noise < Some(0.01), "{} {} {}: {:?}", row.experiment, row.variant, row.axes, row.noise);
    }
}

#[test]
fn equal_configurations_have_equal_ids_on_both_devices() {
    let id = |rows: &[Record], experiment: &str| {
        rows.iter().find(|row| row.experiment == experiment).expect("the row is there").case_id.clone()
    };
    let (h100, lavapipe) = (rows(H100), rows(LAVAPIPE));
    for experiment in ["calibration/timer", "calibration/clock", "calibration/empty", "calibration/barrier"] {
        assert_eq!(id(&h100, experiment), id(&lavapipe, experiment), "{experiment}");
    }
}
