//! Nominal 95 % intervals hold the truth, stopping included, on a device whose truth is known.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::support::cases_of;
use lanescope::measure::{
    CaseKey, CaseSource, Compared, Dispatcher, LocalBench, LocalOptions, Loss, Measured, Mock, MockOptions, Opener, Options,
    Outcome, PairBase, Pool, Rule, Session, SourcedCase, Task, Timer, ToolCases,
};
use lanescope::model::{Case, DeviceInfo, Failure};
use lanescope::shader::{Compiler, Library, Prepared, prepare};

/// Noise within a visit, and from visit to visit 2.5 times as much.
const WITHIN: f64 = 0.01;
const BETWEEN: f64 = 2.5 * WITHIN;

/// Intervals of each kind. Where processes differ fewer, since each takes new processes.
const INTERVALS: usize = 1000;
const FEW_INTERVALS: usize = 400;

/// Cases of one block: about as many as a run takes. Where processes differ few, since those of a block share their processes.
const AT_ONCE: usize = 50;
const FEW_AT_ONCE: usize = 2;

pub fn cases(filter: &str, axes: &[&str]) -> Vec<Prepared> {
    let mut compiler = Compiler::new(Library::embedded()).expect("the compiler starts");
    let cases = cases_of(&DeviceInfo::mock(), filter, axes);
    cases.into_iter().filter_map(|case| prepare(case, &mut compiler).ok()).collect()
}

pub fn tools() -> ToolCases {
    let case = |name: &str| cases(name, &[]).remove(0);
    ToolCases {
        empty: case("calibration/empty"),
        sentinel: case("calibration/sentinel"),
        core_clock: None,
        evictor: None,
        sweep: None,
    }
}

pub fn mock(options: MockOptions, seed: u64) -> Mock {
    // What it computes isn't looked at here.
    Mock::new(options, seed, Box::new(|_: &Case| Vec::new()))
}

struct Always<'p>(&'p Prepared);

impl CaseSource for Always<'_> {
    fn prepare(&mut self, _: &CaseKey) -> Result<SourcedCase, Failure> {
        Ok(SourcedCase::new(self.0.clone(), |_, _| Ok(Ok(Compared::default()))))
    }
}

/// Measures the same case over and over, its rounds dealt over so many processes; with `paired`, alternately with itself.
fn measure(case: &Prepared, max_noise: f64, paired: bool, processes: usize, options: &MockOptions) -> Vec<Measured> {
    let (at_once, intervals) = if options.process > 0.0 { (FEW_AT_ONCE, FEW_INTERVALS) } else { (AT_ONCE, INTERVALS) };
    let (tools, max_time) = (tools(), Duration::from_secs(5));
    let key = CaseKey::from_case(&case.case);
    let mut all = Vec::new();
    for seed in 0..(intervals / at_once) as u64 {
        let mut process = 0;
        let opener: Opener = Box::new(|known| {
            process += 1;
            let device = mock(options.clone(), seed).in_process(process);
            // That this device's clock is right needn't be found out a thousand times.
            let timer = known.map(|known| known.timer).or_else(|| device.tick_scale().map(Timer::Device));
            let local = LocalOptions { warm_up: Duration::from_millis(1), max_time, timer, sentinel: None, is_cold: false };
            let bench = LocalBench::new(Box::new(device), tools.clone(), Box::new(Always(case)), local).map_err(Loss)?;
            Ok(Box::new(bench))
        });
        let pool = Pool::new(processes, opener).expect("the mock can be calibrated");
        let mut session = Session::new(pool, Options { rule: Rule::Each, max_noise, max_time, seed });
        let task = Task { key: key.clone(), case: &case.case, base: paired.then(|| PairBase::Here(key.clone())) };
        let outcomes = session.measure(&vec![task; at_once], &mut |_| ControlFlow::Continue(()));
        let measured = |outcome: Option<Outcome>| outcome.and_then(|outcome| outcome.result.ok());
        all.extend(outcomes.into_iter().map(|outcome| measured(outcome).expect("the mock measures everything")));
    }
    assert_eq!(all.len(), intervals);
    all
}

/// What a device is by default: noise between visits, none between processes.
fn usual() -> MockOptions {
    MockOptions { noise: WITHIN, spread: BETWEEN, ..MockOptions::default() }
}

/// A pass's time as a device without noise shows it: what a sample takes more for each pass that it has more.
pub fn truth(case: &Prepared) -> f64 {
    const PASSES: u32 = 1000;
    let mut device = mock(MockOptions { noise: 0.0, ..MockOptions::default() }, 0);
    let scale = device.tick_scale().expect("the mock has timestamps");
    let slot = device.load(case).expect("the mock loads everything").slot;
    let mut sample = |batch| {
        let submission = device.sample(slot, batch, 1).expect("the mock samples everything");
        scale.between(submission.samples[0].0, submission.samples[0].1).0
    };
    (sample(PASSES + 1) - sample(1)) / f64::from(PASSES)
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
        let all = measure(&case, max_noise, false, 1, &usual());
        let holds = |measured: &Measured| {
            let interval = measured.interval().expect("there are at least six rounds");
            let truth = truth(&case);
            interval.low <= truth && truth <= interval.high
        };
        let covered = share(&all, holds);
        println!("max_noise {max_noise}: {:.1} % of {INTERVALS} intervals hold the truth", 100.0 * covered);
        assert!(covered >= 0.92, "only {covered} at max_noise {max_noise}");
        for measured in all {
            if !stops.contains(&(measured.stop, measured.rounds.samples.len())) {
                stops.push((measured.stop, measured.rounds.samples.len()));
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
        let all = measure(&case, max_noise, true, 1, &usual());
        let pair = |measured: &Measured| measured.pair.clone().expect("it was paired");
        let holds = |measured: &Measured| pair(measured).interval().is_some_and(|of| of.low <= 1.0 && 1.0 <= of.high);
        let covered = share(&all, holds);
        println!("max_noise {max_noise}: {:.1} % of {INTERVALS} ratios hold 1", 100.0 * covered);
        assert!(covered >= 0.92, "only {covered} at max_noise {max_noise}");
    }
}

/// Each process takes longer or shorter by an error of its own, which its rounds all share: what one process shows is precise and
/// wrong. Dealt over three, the interval holds that error as well.
#[test]
fn intervals_hold_the_truth_where_processes_differ() {
    let case = cases("workgroup/linear", &["n=2^20", "local_size_x=256"]).remove(0);
    let options = MockOptions { process: 2.0 * BETWEEN, ..usual() };
    let covered = |processes, max_noise| {
        let all = measure(&case, max_noise, false, processes, &options);
        let truth = truth(&case);
        let covered = share(&all, |measured| measured.interval().is_some_and(|of| of.low <= truth && truth <= of.high));
        println!(
            "{processes} processes, max_noise {max_noise}: {:.1} % of {INTERVALS} intervals hold the truth",
            100.0 * covered
        );
        covered
    };
    for max_noise in [0.1, 0.03] {
        assert!(covered(3, max_noise) >= 0.92, "three processes");
    }
    assert!(covered(1, 0.05) < 0.8, "one process can't know");
}
