//! Rows of real runs, kept as files: later versions must still read them, and what the README says of them must be in them.

use std::path::Path;

use lanescope::record::{Reader, Record};

/// `lanescope run --stats -o nvidia-h100.csv`
const H100: &str = "nvidia-h100.csv";
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
    for name in [H100, LAVAPIPE] {
        let rows = rows(name);
        assert!(rows.len() > 60, "{name}");
        for row in &rows {
            let case = format!("{name}: {} {}", row.experiment, row.axes);
            assert!(row.status == "ok" || (row.status == "skipped" && !row.reason.is_empty()), "{case}");
            assert!(row.status == "skipped" || row.checked == "true" || !row.check_note.is_empty(), "{case}");
            assert!(row.status == "skipped" || row.rounds >= Some(6), "{case}");
            assert_eq!(row.timer, "device", "{case}");
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
