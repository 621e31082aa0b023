//! Rows of real runs, kept as files: later versions must still read them, and what the README says of them must be in them.

use std::path::Path;

use lanescope::record::{Reader, Record};

/// `lanescope run --stats -o nvidia-h100.csv`
const H100: &str = "nvidia-h100.csv";
/// `lanescope run memory/stream 'shared/*' algo/transpose --stats -o nvidia-h100-default.csv`: default axes, nothing left out.
const H100_DEFAULT: &str = "nvidia-h100-default.csv";
/// `lanescope run -o lavapipe.csv`
const LAVAPIPE: &str = "lavapipe.csv";

fn rows(name: &str) -> Vec<Record> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let reader = Reader::open(&path).expect("the file is there");
    reader.collect::<Result<Vec<_>, _>>().expect("every row can be read")
}

fn best(rows: &[Record], op: &str) -> f64 {
    let of_op = rows.iter().filter(|row| row.experiment == "memory/stream" && row.axes.contains(&format!("op={op};")));
    of_op.filter_map(|row| row.gb_per_s).fold(0.0, f64::max)
}

#[test]
fn every_row_is_measured_and_checked_or_says_why_not() {
    for name in [H100, H100_DEFAULT, LAVAPIPE] {
        let rows = rows(name);
        assert!(rows.len() > 60, "{name}");
        for row in &rows {
            let case = format!("{name}: {} {}", row.experiment, row.axes);
            assert!(row.status == "ok" || (row.status == "skipped" && !row.reason.is_empty()), "{case}");
            assert!(row.status == "skipped" || row.checked == "true" || !row.check_note.is_empty(), "{case}");
            if row.row_kind == "measured" {
                assert!(row.status == "skipped" || row.rounds >= Some(6), "{case}");
                assert!(row.status == "skipped" || row.timer == "device", "{case}");
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
