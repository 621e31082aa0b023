//! The mock device from end to end: the same seed gives the same bytes, and every format shows a small run as it was agreed.
//!
//! After an intended change: INSTA_UPDATE=always cargo test --test host golden::, and read the difference.

use std::sync::LazyLock;

use crate::support::{ran, rows, succeeded, typed};

/// Calibration, right rows, skipped ones, and flags, in eleven cases.
static RUN: LazyLock<Vec<&str>> = LazyLock::new(|| {
    typed(
        "run calibration/* workgroup/linear memory/stream --device=mock:spread=0.03 --axis=evict_bytes=64Ki --axis=groups=16 --axis=steps=64 --axis=local_size_x=32,2048 --axis=n=2^16 --axis=op=copy --axis=width=4 --axis=unroll=8 --max-time=50ms --max-noise=2% --preset=default --processes=3",
    )
});

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&RUN[..], more].concat()
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = || succeeded(&with(&["--format=csv"])).out;
    assert_eq!(run(), run());
}

#[test]
fn another_seed_gives_other_times_of_the_same_cases() {
    let [one, two] =
        ["--seed=1", "--seed=18446744073709551615"].map(|seed| rows(&succeeded(&with(&["--format=csv", seed])).out));
    let ids = |rows: &[lanescope::record::Record]| rows.iter().map(|row| row.case_id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&one), ids(&two));
    let differs = one.iter().zip(&two).filter(|(one, two)| one.status == "ok" && one.time_ns != two.time_ns).count();
    assert!(differs > 3, "{differs}");
    assert!(one.iter().all(|row| row.seed == Some(1)) && two.iter().all(|row| row.seed == Some(u64::MAX)));
}

/// What the snapshots show is worth showing.
#[test]
fn the_run_covers_what_a_row_can_say() {
    let rows = rows(&succeeded(&with(&["--format=csv"])).out);
    let has = |test: &dyn Fn(&lanescope::record::Record) -> bool| rows.iter().any(test);
    assert!(has(&|row| row.status == "ok" && row.checked == "true"));
    assert!(has(&|row| row.status == "ok" && row.checked == "false" && !row.check_note.is_empty()));
    assert!(has(&|row| row.status == "skipped" && row.reason.contains("maxComputeWorkGroupSize[0]")));
    assert!(has(&|row| row.quality_flags.contains("noisy")) && has(&|row| row.quality_flags.contains("launch_bound")));
    assert!(has(&|row| row.experiment == "calibration/clock" && row.time_ns.is_none() && row.value.is_some()));
    assert!(has(&|row| row.quality_flags.is_empty() && row.status == "ok"));
}

#[test]
fn csv() {
    insta::assert_snapshot!(succeeded(&with(&["--format=csv"])).out);
}

#[test]
fn jsonl() {
    insta::assert_snapshot!(succeeded(&with(&["--format=jsonl"])).out);
}

#[test]
fn table() {
    insta::assert_snapshot!(succeeded(&with(&["--format=table"])).out);
}

#[test]
fn markdown() {
    insta::assert_snapshot!(succeeded(&with(&["--format=markdown"])).out);
}

#[test]
fn dry_run() {
    let ran = succeeded(&with(&["--format=csv", "--dry-run"]));
    let rows = rows(&ran.out);
    assert!(rows.iter().all(|row| ["planned", "skipped"].contains(&row.status.as_str()) && row.time_ns.is_none()));
    insta::assert_snapshot!(ran.out);
}

#[test]
fn what_goes_wrong() {
    let run: Vec<&str> = RUN.iter().copied().filter(|argument| !argument.starts_with("--device")).collect();
    let ran = ran(&[&run[..], &["--format=table", "--device=mock:wrong=memory/*,lost=workgroup/*"]].concat()).says(1, &[]);
    insta::assert_snapshot!(ran.out);
}
