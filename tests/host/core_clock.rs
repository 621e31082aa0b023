//! The core's clock, read from a mock device with counters.

use lanescope::record::{Record, round_clocks};

use crate::support::{Folder, measured, rows_of, succeeded};

const LONG: &str = "steps=2000000";
const CORE: [&str; 5] = ["calibration/sentinel", "-a", "groups=64", "-a", LONG];

fn on_mock(options: &str, arguments: &[&str]) -> Vec<Record> {
    let device = format!("mock:noise=0.0001,{options}");
    measured(&[&["-q", "--preset=default", "--processes=2", "-d", &device], arguments].concat())
}

#[test]
fn rows_have_the_clock_of_each_round_where_counters_show_it() {
    let rows = on_mock("core_mhz=1980", &[&CORE[..], &["calibration/core_clock"]].concat());
    for row in &rows {
        let rounds = round_clocks(&row.round_clocks_mhz);
        assert_eq!(rounds.len() as u64, row.rounds.unwrap());
        let levels = |mhz: f64| (mhz - 1980.0).abs() < 0.1 || (mhz - 1994.85).abs() < 0.1;
        assert!(rounds.iter().all(|clock| clock.is_some_and(|clock| levels(clock.before) && levels(clock.after))), "{row:?}");
        let processes =
            |text: &str| text.split(';').map(|round| round.split(':').next().unwrap().to_owned()).collect::<Vec<_>>();
        if row.time_ns.is_some() {
            assert_eq!(processes(&row.round_clocks_mhz), processes(&row.round_medians_ns));
        }
    }
    let clock = rows.iter().find(|row| row.experiment == "calibration/core_clock").unwrap();
    assert!(clock.value > Some(1979.9) && clock.value < Some(1994.9) && clock.unit == "MHz", "{:?}", clock.value);
    let levels: Vec<bool> =
        rows.iter().flat_map(|row| round_clocks(&row.round_clocks_mhz)).map(|clock| clock.unwrap().before > 1990.0).collect();
    assert!(levels.contains(&true) && levels.contains(&false), "the clock moved: {levels:?}");
}

#[test]
fn without_counters_no_clock_is_claimed() {
    let rows = on_mock("core_mhz=0", &[&CORE[..], &["calibration/core_clock"]].concat());
    let clock = rows.iter().find(|row| row.experiment == "calibration/core_clock").unwrap();
    assert_eq!(clock.status, "skipped");
    assert!(rows.iter().all(|row| row.core_clock_mhz.is_none() && row.round_clocks_mhz.is_empty()));
}

/// All processes relate clocks to the first one's, and a run that goes on from rows to theirs.
#[test]
fn clocks_relate_to_the_plans_first_process_also_after_a_resume() {
    let (folder, device) = (Folder::new(), "mock:noise=0.0001");
    let file = folder.at("rows.csv");
    let run = |resumed: &'static str| {
        succeeded(
            &[&["run", "-q", "--preset=default", "-d", device], &CORE[..3], &["-a", "steps=100000,2000000", resumed, &file]]
                .concat(),
        );
        rows_of(file.as_ref())
    };
    let rows = run("-o");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].sentinel_ns, rows[1].sentinel_ns);
    let ns = rows[0].sentinel_ns.unwrap();
    // One row stays, and tells of a sentinel that took twice as long.
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().take(2).collect();
    let cell = lanescope::record::Cell::real(ns).to_string();
    let doubled = lanescope::record::Cell::real(2.0 * ns).to_string();
    std::fs::write(&file, lines.join("\n").replace(&format!(",{cell},"), &format!(",{doubled},")) + "\n").unwrap();
    let resumed = run("--resume");
    assert_eq!(resumed.iter().map(|row| row.sentinel_ns.unwrap()).collect::<Vec<_>>(), [2.0 * ns; 2]);
    let ratio = resumed.iter().find(|row| row.case_id == rows[1].case_id).unwrap().clock_ratio.unwrap();
    assert!((1.99..2.01).contains(&ratio), "{ratio}");
}
