//! What `cargo bench --bench second_opinion` concludes, and how it reads what both sides wrote.

use crate::support::second_opinion::{Answer, answer, judge, process_times};

const MARGIN: f64 = 0.02;

/// Times of six processes about a centre, scattered by a share.
fn times(centre: f64, share: f64) -> Vec<f64> {
    [-1.2, -0.7, -0.1, 0.2, 0.6, 1.2].map(|place: f64| centre * (share * place).exp()).to_vec()
}

fn verdict(own: f64, share: f64) -> &'static str {
    judge(&times(own, share), &times(100.0, share), MARGIN).map_or("none", |judged| judged.verdict)
}

#[test]
fn lines_of_the_program_are_read() {
    assert_eq!(answer("stream copy 4\t716.5\t2e9"), Some(("stream copy 4", Answer::Measured { ns: 716.5, units: 2e9 })));
    assert_eq!(answer("peak f64\twrong"), Some(("peak f64", Answer::Failed("wrong".to_owned()))));
    for failed in ["x\tfailed: out of memory", "x\tinf\t2", "x\t0\t2", "x\t5", "x\t5\t"] {
        assert!(matches!(answer(failed), Some(("x", Answer::Failed(_)))), "{failed}");
    }
    assert_eq!([answer(""), answer("a word")], [None, None]);
}

#[test]
fn rounds_of_a_process_count_once() {
    assert_eq!(process_times("1:10;2:20;1:14;2:22;2:40"), [12.0, 22.0]);
    assert_eq!(process_times("3:10.5"), [10.5]);
    assert!(process_times("").is_empty() && process_times("x;1:").is_empty());
}

#[test]
fn verdicts_are_what_tests_show() {
    assert_eq!([100.0, 101.0, 80.0].map(|own| verdict(own, 0.003)), ["same"; 3]);
    assert_eq!([103.0, 150.0].map(|own| verdict(own, 0.003)), ["slower"; 2]);
    // For all that is known, within the margin or beyond it.
    assert_eq!([100.0, 102.0].map(|own| verdict(own, 0.03)), ["unclear"; 2]);
}

#[test]
fn the_interval_is_that_of_welch() {
    // Equal spreads of six each have ten degrees of freedom, whose quantile is 2.228.
    let judged = judge(&times(50.0, 0.01), &times(100.0, 0.01), MARGIN).unwrap();
    assert!((judged.ratio - 2.0).abs() < 1e-12);
    // The squares of the places sum up to 3.78.
    let spread = 0.01 * (3.78_f64 / 5.0 / 6.0 * 2.0).sqrt();
    let interval = judged.interval.unwrap();
    assert!(((interval.high / 2.0).ln() / spread - 2.228_14).abs() < 1e-4, "{interval:?}");
    assert!((interval.low * interval.high - 4.0).abs() < 1e-12);
}

#[test]
fn without_replicates_there_is_no_interval() {
    let judged = judge(&[50.0], &times(100.0, 0.01), MARGIN).unwrap();
    assert!(judged.interval.is_none() && judged.verdict == "no interval" && (judged.ratio - 2.0).abs() < 1e-12);
    assert_eq!(judge(&[], &[1.0], MARGIN), None);
    // Equal times leave no doubt.
    let equal = |own: f64| judge(&[own; 3], &[100.0; 3], MARGIN).unwrap().verdict;
    assert_eq!([100.0, 101.0, 103.0].map(equal), ["same", "same", "slower"]);
}
