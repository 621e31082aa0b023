//! How well each strategy of `lanescope tune` searches: replayed on spaces whose every time is known. Exact by its seeds.
//! `cargo bench --bench replay` prints more, and takes other recorded spaces.

use std::fmt::Write as _;
use std::sync::LazyLock;

use lanescope::stats;
use lanescope::tuning::search::Strategy;

use crate::support::recorded::{Recorded, models, rows};

/// What is asked of a strategy: within 2 % of the best, after 5 % of the evaluations, in the median of 50 seeds.
const BAR: f64 = 1.02;
const SHARE: f64 = 0.05;
const SEEDS: u64 = 50;
/// How many configurations may be out at a time: one by one, and as many as compile in parallel.
const BATCHES: [usize; 2] = [1, 16];

/// Products of matrices on an NVIDIA H100 80GB HBM3, driver 580.159.04: `lanescope tune tests/tune/sgemm.comp -n 2^20
/// --push size=1024 --groups '1024 / (local_size_x * TN), 1024 / (local_size_y * TM)' -a local_size_x=4,8,16,32,64
/// -a local_size_y=4,8,16,32 -a TM=1,2,4,8 -a TN=1,2,4,8 -a BK=4,8,16,32 -a PAD=0,1,4 -a SPREAD=0,1 --restrict 'local_size_x *
/// local_size_y >= 64' --restrict 'local_size_x * TN <= 256 && local_size_y * TM <= 256' --strategy exhaustive`, in 105 s; of its
/// columns what a replay needs.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/nvidia-h100-sgemm.csv");

/// Made-up spaces, and the recorded one.
static SPACES: LazyLock<Vec<Recorded>> = LazyLock::new(|| {
    let mut spaces = models::all();
    spaces.extend(rows::read(RECORDED.as_ref()).unwrap());
    spaces
});

fn reached(space: &Recorded, strategy: Strategy, batch: usize) -> f64 {
    stats::median(&space.replays(strategy, SEEDS, batch, &[SHARE])[0])
}

#[test]
fn hill_climbing_comes_near_the_best_soon() {
    for space in SPACES.iter() {
        assert!(space.times.len() >= 5000, "{} has only {} configurations", space.name, space.times.len());
        for batch in BATCHES {
            let reached = reached(space, Strategy::HillClimbing, batch);
            eprintln!("{} by {batch}: {reached:.4}", space.name);
            assert!(reached <= BAR, "{} by {batch} is {reached:.4} of the best", space.name);
        }
    }
}

/// Else the spaces would show nothing.
#[test]
fn chance_alone_does_not() {
    for space in SPACES.iter() {
        let reached = reached(space, Strategy::Random, 1);
        assert!(reached > BAR, "{}: {reached:.4}", space.name);
    }
}

#[test]
fn all_of_a_space_holds_its_best() {
    for space in SPACES.iter() {
        let course = space.replay(Strategy::Exhaustive, 0, 64, usize::MAX);
        assert_eq!((course.len(), course.last()), (space.times.len(), Some(&1.0)), "{}", space.name);
    }
}

#[test]
fn spaces_are_read_from_rows() {
    let mut csv = "schema,case_id,axes,row_kind,experiment,status,time_ns\n".to_owned();
    for (axes, status, time) in [
        ("n=8;op=a;x=1", "ok", "4"),
        ("n=8;op=a;x=2", "ok", "3"),
        ("n=8;op=b;x=1", "wrong_result", ""),
        ("n=8;op=b;x=2", "skipped", ""),
        ("n=8;op=a;x=1", "ok", "5"),
    ] {
        writeln!(csv, "v1.0,c1,{axes},measured,tune/mine,{status},{time}").unwrap();
    }
    let file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    std::fs::write(file.path(), csv).unwrap();
    let spaces = rows::read(file.path()).unwrap();
    let space = &spaces[0];
    let shown: Vec<String> = (0..space.space.len()).map(|i| format!("{} {:?}", space.space.point(i), space.times[i])).collect();
    assert_eq!((spaces.len(), space.name.as_str(), space.optimum()), (1, "tune/mine", 3.0));
    assert_eq!(shown, ["op=a;x=1 Some(5.0)", "op=a;x=2 Some(3.0)", "op=b;x=1 None"]);
}
