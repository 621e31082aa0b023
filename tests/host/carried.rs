//! What samples carry beside their passes is in no figure, or its interval holds it: on a device that tells both.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

use lanescope::measure::{
    CaseKey, CaseSource, Compared, Instrument, LocalBench, LocalOptions, Loss, Measured, MockOptions, Options, PairBase, Pool,
    Rule, Session, SourcedCase, Task,
};
use lanescope::model::Failure;
use lanescope::shader::Prepared;
use lanescope::units::Nanos;

use super::coverage::{cases, mock, tools, truth};

/// No more than this may be wrong with a figure where its interval doesn't hold it.
const TOLERATED: f64 = 0.001;

/// So little noise that the constant part shows: two timestamps take 500 ns, which was 0.4 % of a sample of 64 passes of 2 us.
fn quiet() -> MockOptions {
    MockOptions { noise: 0.0005, ..MockOptions::default() }
}

/// These cases, whatever they compute.
struct These(HashMap<CaseKey, Prepared>);

impl CaseSource for These {
    fn prepare(&mut self, key: &CaseKey) -> Result<SourcedCase, Failure> {
        Ok(SourcedCase::new(self.0[key].clone(), |_, _| Ok(Ok(Compared::default()))))
    }
}

/// What a case may take: enough for long samples, and what the quickest run gives it.
const ENOUGH: Duration = Duration::from_secs(1);
const LITTLE: Duration = Duration::from_millis(20);

/// Measures these, each next to that base if one is named.
fn measure(
    all: &[Prepared],
    base: Option<&Prepared>,
    (rule, max_time): (Rule, Duration),
    options: &MockOptions,
    seed: u64,
) -> Vec<Measured> {
    let key = |prepared: &Prepared| CaseKey::from_case(&prepared.case);
    let source = || These(all.iter().chain(base).map(|prepared| (key(prepared), prepared.clone())).collect());
    let tools = tools();
    let opener = Box::new(|known: Option<&Instrument>| {
        let timer = known.map(|known| known.timer);
        let local = LocalOptions { warm_up: Duration::from_millis(1), max_time, timer, sentinel: None, is_cold: false };
        let device = Box::new(mock(options.clone(), seed));
        Ok(Box::new(LocalBench::new(device, tools.clone(), Box::new(source()), local).map_err(Loss)?) as Box<_>)
    });
    let pool = Pool::new(1, opener).expect("the mock can be calibrated");
    let mut session = Session::new(pool, Options { rule, max_noise: 0.01, max_time, seed });
    let task = |prepared| {
        let base = base.map(|base| PairBase::Here(key(base)));
        Task { key: key(prepared), case: &prepared.case, base }
    };
    let tasks: Vec<Task> = all.iter().map(task).collect();
    let outcomes = session.measure(&tasks, &mut |_| ControlFlow::Continue(()));
    outcomes.into_iter().map(|outcome| outcome.expect("it ended").result.expect("it is measured")).collect()
}

/// Passes from a few floors to thousands of them.
fn linear() -> Vec<Prepared> {
    let sizes: Vec<String> = (8..=26).map(|power| format!("2^{power}")).collect();
    cases("workgroup/linear", &[&format!("n={}", sizes.join(",")), "local_size_x=256"])
}

fn is_held(measured: &Measured, truth: f64) -> bool {
    let interval = measured.interval().expect("there are six rounds");
    (measured.value() / truth - 1.0).abs() < TOLERATED || (interval.low <= truth && truth <= interval.high)
}

#[test]
fn no_figure_is_off_by_what_its_samples_carry() {
    let all = linear();
    assert_eq!(all.len(), 19);
    for (timer, options) in [("device", quiet()), ("host", MockOptions { bits: 0, ..quiet() })] {
        for how in [(Rule::Each, ENOUGH), (Rule::Each, LITTLE), (Rule::Race, ENOUGH)] {
            let measured = measure(&all, None, how, &options, 1);
            for (measured, prepared) in measured.iter().zip(&all).filter(|(measured, _)| measured.interval().is_some()) {
                let (truth, value) = (truth(prepared), measured.value());
                assert_eq!(measured.timer.as_str(), timer);
                assert!(is_held(measured, truth), "{}: {value} for {truth} in {}", prepared.case.point, measured.batch);
                assert_eq!(measured.carried.taken_off.is_some(), measured.batch >= 8, "{}", prepared.case.point);
            }
        }
    }
}

/// Where there is time, what stays in is below 0.1 %; and what was taken off is what the device was told to take.
#[test]
fn with_time_enough_the_figure_itself_is_right() {
    let all = linear();
    let measured = measure(&all, None, (Rule::Each, ENOUGH), &quiet(), 2);
    let mut batches = Vec::new();
    for (measured, prepared) in measured.iter().zip(&all) {
        let error = measured.value() / truth(prepared) - 1.0;
        assert!(error.abs() < TOLERATED, "{}: {error} in {}", prepared.case.point, measured.batch);
        if let Some(Nanos(time)) = measured.carried.taken_off.filter(|_| measured.batch >= 128) {
            assert!((time - 500.0).abs() < 100.0, "{}: {time} ns were taken off", prepared.case.point);
        }
        let is_empty = |overhead: Nanos| (overhead.0 - 2000.0).abs() < 20.0;
        assert!(measured.batch < 8 || measured.overhead.is_some_and(is_empty), "{:?}", measured.overhead);
        batches.push(measured.batch);
    }
    batches.dedup();
    assert!(batches.len() >= 4 && batches.contains(&1) && batches.is_sorted_by(|more, less| more >= less), "{batches:?}");
}

/// A pass that has to be reset or prepared before each is a sample by itself, however short.
#[test]
fn the_interval_holds_what_can_not_be_taken_off() {
    let all = cases("calibration/evict", &["evict_bytes=4096,65536,2^20"]);
    assert!(all.len() >= 3);
    for (measured, prepared) in measure(&all, None, (Rule::Each, ENOUGH), &quiet(), 3).iter().zip(&all) {
        let (truth, interval) = (truth(prepared), measured.interval().expect("there are six rounds"));
        assert_eq!((measured.batch, measured.carried.taken_off), (1, None));
        assert!(interval.low <= truth && truth <= interval.high, "{}: {interval:?} for {truth}", prepared.case.point);
        // It is no noise, and more rounds wouldn't help.
        assert!(measured.noise() < 0.001 && measured.rounds.samples.len() == 6, "{}", measured.noise());
    }
}

/// A case and its base have other batches, so they carry other shares of the constant part.
#[test]
fn no_ratio_is_off_by_what_either_side_carries() {
    let all = linear();
    for (base, time) in [0, 14, 18].map(|base| &all[base]).into_iter().flat_map(|base| [(base, ENOUGH), (base, LITTLE)]) {
        for (measured, prepared) in measure(&all, Some(base), (Rule::Each, time), &quiet(), 4).iter().zip(&all) {
            let pair = measured.pair.as_ref().expect("it was paired");
            let (ratio, truth) = (pair.value(), truth(prepared) / truth(base));
            let interval = measured.pair_interval().expect("there are six rounds");
            let is_held = (ratio / truth - 1.0).abs() < TOLERATED || (interval.low <= truth && truth <= interval.high);
            assert!(is_held, "{} over {}: {ratio} for {truth}", prepared.case.point, base.case.point);
        }
    }
}

/// Other noise, another floor by that, the same batches.
#[test]
fn batches_are_the_same_from_run_to_run() {
    let all = linear();
    let options = MockOptions { noise: 0.02, ..MockOptions::default() };
    let run = |seed| {
        measure(&all, None, (Rule::Each, ENOUGH), &options, seed).iter().map(|measured| measured.batch).collect::<Vec<_>>()
    };
    let first = run(10);
    let flips: usize = (11..16).map(|seed| run(seed).iter().zip(&first).filter(|(one, other)| one != other).count()).sum();
    assert!(flips <= 1, "{flips} of {} batches are others", 5 * all.len());
}
