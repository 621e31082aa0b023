//! Nominal 95 % intervals hold the truth, stopping included, on a device whose truth is known.

use std::time::Duration;

use lanescope::experiments::Setting;
use lanescope::measure::{Dispatcher, Job, Measured, Mock, MockOptions, Options, Session, ToolCases};
use lanescope::model::{Case, DeviceInfo, Preset};
use lanescope::plan::{Plan, Request};
use lanescope::shader::{Compiler, Library, Prepared, prepare};
use lanescope::units::Nanos;
use lanescope::validate::Verdict;

/// Noise within a visit, and from visit to visit 2.5 times as much.
const WITHIN: f64 = 0.01;
const BETWEEN: f64 = 2.5 * WITHIN;

/// Intervals of each kind.
const INTERVALS: usize = 1000;

/// Cases of one block: as many as a run takes.
const AT_ONCE: usize = 50;

fn cases(filter: &str, axes: &[&str]) -> Vec<Prepared> {
    let info = DeviceInfo::mock();
    let setting = Setting { device: &info, queue: None, preset: Preset::Quick, seed: 1 };
    let axes = axes.iter().map(ToString::to_string).collect();
    let request = Request { filters: vec![filter.to_owned()], axes, ..Request::default() };
    let mut compiler = Compiler::new(Library::embedded()).expect("the compiler starts");
    let plan = Plan::new(&request, setting).expect("the request is right");
    plan.iter().filter_map(|planned| prepare(planned.case.ok()?, &mut compiler).ok()).collect()
}

fn tools() -> ToolCases {
    let case = |name: &str| cases(name, &[]).remove(0);
    ToolCases { empty: case("calibration/empty"), sentinel: case("calibration/sentinel"), evictor: None }
}

fn mock(options: MockOptions, seed: u64) -> Mock {
    // What it computes isn't looked at here.
    Mock::new(options, seed, Box::new(|_: &Case| Vec::new()))
}

/// Measures the same case over and over; with `paired`, alternately with itself.
fn measure(case: &Prepared, max_noise: f64, paired: bool) -> Vec<Measured> {
    let tools = tools();
    let options = |seed| Options { max_noise, max_time: Duration::from_secs(5), warm_up: Duration::from_millis(1), seed };
    let mut all = Vec::new();
    for seed in 0..(INTERVALS / AT_ONCE) as u64 {
        let mut device = mock(MockOptions { noise: WITHIN, spread: BETWEEN, ..MockOptions::default() }, seed);
        let mut session = Session::new(&mut device, tools.clone(), options(seed)).expect("the mock can be calibrated");
        let jobs = vec![Job { case, base: paired.then_some(case) }; AT_ONCE];
        let outcomes = session.measure(&jobs, &mut |_, _, _| Verdict::Right, &mut |_| {});
        all.extend(outcomes.into_iter().map(|outcome| outcome.expect("the mock measures everything")));
    }
    assert_eq!(all.len(), INTERVALS);
    all
}

/// A pass's time as a device without noise shows it, in batches of this size.
fn truth(case: &Prepared, batch: u32) -> f64 {
    let mut device = mock(MockOptions { noise: 0.0, ..MockOptions::default() }, 0);
    let scale = device.tick_scale().expect("the mock has timestamps");
    let slot = device.load(case).expect("the mock loads everything").slot;
    let submission = device.sample(slot, batch, 1).expect("the mock samples everything");
    let Nanos(time) = scale.between(submission.samples[0].0, submission.samples[0].1);
    time / f64::from(batch)
}

/// The share of intervals that hold what they should.
#[expect(clippy::cast_precision_loss, reason = "a thousand")]
fn share(all: &[Measured], holds: impl Fn(&Measured) -> bool) -> f64 {
    all.iter().filter(|measured| holds(measured)).count() as f64 / all.len() as f64
}

/// The precision asked for decides when measuring stops, and stopping early is what makes intervals too narrow: so the coverage
/// has to hold wherever that happens, from "at once" to "never".
#[test]
fn intervals_hold_the_truth_however_early_measuring_stops() {
    let case = cases("workgroup/linear", &["n=2^20", "local_size_x=256"]).remove(0);
    let mut stops = Vec::new();
    for max_noise in [0.05, 0.025, 0.02, 0.01] {
        let all = measure(&case, max_noise, false);
        let holds = |measured: &Measured| {
            let interval = measured.interval().expect("there are at least six rounds");
            let truth = truth(&case, measured.batch);
            interval.low <= truth && truth <= interval.high
        };
        let covered = share(&all, holds);
        println!("max_noise {max_noise}: {:.1} % of {INTERVALS} intervals hold the truth", 100.0 * covered);
        assert!(covered >= 0.92, "only {covered} at max_noise {max_noise}");
        for measured in all {
            if !stops.contains(&(measured.stop, measured.rounds.len())) {
                stops.push((measured.stop, measured.rounds.len()));
            }
        }
    }
    // The rules were all at work: stops at every look, and of every kind.
    for rounds in [6, 9, 13, 19] {
        assert!(stops.iter().any(|(_, at)| *at == rounds), "none stopped after {rounds} rounds: {stops:?}");
    }
    assert!(stops.len() >= 6, "{stops:?}");
}

#[test]
fn intervals_of_ratios_hold_one_where_a_case_is_paired_with_itself() {
    let case = cases("workgroup/linear", &["n=2^20", "local_size_x=256"]).remove(0);
    for max_noise in [0.01, 0.003] {
        let all = measure(&case, max_noise, true);
        let pair = |measured: &Measured| measured.pair.clone().expect("it was paired");
        let holds = |measured: &Measured| pair(measured).interval().is_some_and(|of| of.low <= 1.0 && 1.0 <= of.high);
        let covered = share(&all, holds);
        println!("max_noise {max_noise}: {:.1} % of {INTERVALS} ratios hold 1", 100.0 * covered);
        assert!(covered >= 0.92, "only {covered} at max_noise {max_noise}");
    }
}
