//! How searches end, on synthetic streams: what is published isn't lucky, and what isn't shown isn't said.

use lanescope::measure::Rule;
use lanescope::model::Point;
use lanescope::model::Stop;
use lanescope::stats::{Timed, median, reach};
use lanescope::tuning::answer::Timing;
use lanescope::tuning::ending::{Ending, Figure, Obstacle, Outcome};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::race::{Runner, run};

/// As many are measured beside each other in the end.
const FINALISTS: usize = 15;

/// Within a visit times vary by so many times less than from visit to visit.
const STEADIER: f64 = 3.0;

struct Ended {
    ending: Ending,
    /// The place of the one that is taken, and what its published time is over the truth.
    taken: usize,
    over_truth: f64,
    /// What the search saw of the fastest, over the truth.
    seen: f64,
}

fn figure(place: usize, runner: &Runner) -> Figure {
    let point = Point::new([("x".into(), (place as u64).into())]);
    let timing = Timing::precise(runner.rounds.value(), runner.rounds.interval().unwrap());
    Figure { point, timing, timed: runner.timed(), disturbance: None }
}

/// Searches among configurations that take so long, as `lanescope tune` does: a race, and then those within reach beside each other.
/// The last one is the default.
fn ended(times: &[f64], noise: f64, seed: u64) -> Ended {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let runners = |those: &[usize]| those.iter().map(|i| Runner::new(times[*i], noise, STEADIER)).collect::<Vec<Runner>>();
    let all: Vec<usize> = (0..times.len()).collect();
    let mut raced = runners(&all);
    run(Rule::Race, &mut raced, rng);
    let open: Vec<usize> = all.iter().copied().filter(|i| raced[*i].ended != Some(Stop::Beaten)).collect();
    let timed: Vec<Vec<Timed>> = open.iter().map(|i| raced[*i].timed()).collect();
    let fastest = (0..open.len()).min_by(|a, b| value(&timed[*a]).total_cmp(&value(&timed[*b]))).unwrap();
    let mut near: Vec<(usize, f64)> = (open.iter().zip(reach::within(&timed, fastest)))
        .filter_map(|(i, (over, is_near))| is_near.then_some((*i, over)))
        .collect();
    near.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut those: Vec<usize> = near.into_iter().map(|(i, _)| i).take(FINALISTS).collect();
    let default = times.len() - 1;
    if !those.contains(&default) {
        those.push(default);
    }
    let mut beside = runners(&those);
    run(Rule::Beside, &mut beside, rng);
    let figures: Vec<Figure> = those.iter().zip(&beside).map(|(i, runner)| figure(*i, runner)).collect();
    let ending = Ending::of(&figures, Some(&figure(default, &beside[0]).point)).unwrap();
    let taken = those[ending.chosen];
    let over_truth = figures[ending.chosen].timing.time / times[taken];
    Ended { taken, over_truth, seen: value(&timed[fastest]) / times[open[fastest]], ending }
}

fn value(timed: &[Timed]) -> f64 {
    median(&timed.iter().map(|timed| timed.time).collect::<Vec<_>>())
}

fn tally(times: &[f64], noise: f64, searches: u64) -> Vec<Ended> {
    (0..searches).map(|seed| ended(times, noise, seed)).collect()
}

fn count(all: &[Ended], is_so: impl Fn(&Ended) -> bool) -> usize {
    all.iter().filter(|ended| is_so(ended)).count()
}

#[test]
fn of_equals_none_is_the_best_and_no_published_time_is_lucky() {
    const SEARCHES: usize = 300;
    for noise in [0.005, 0.01, 0.02] {
        let all = tally(&[100.0; 40], noise, SEARCHES as u64);
        let this_one = count(&all, |ended| ended.ending.outcome == Outcome::ThisOne);
        let alike = count(&all, |ended| ended.ending.outcome == Outcome::Alike);
        let mean = |of: &dyn Fn(&Ended) -> f64, those: &dyn Fn(&Ended) -> bool| {
            let values: Vec<f64> = all.iter().filter(|ended| those(ended)).map(of).collect();
            lanescope::stats::mean(&values) - 1.0
        };
        // What goes into tables.
        let told = |ended: &Ended| ended.ending.outcome == Outcome::Alike || ended.ending.outcome == Outcome::ThisOne;
        let (seen, published) = (mean(&|ended| ended.seen, &|_| true), mean(&|ended| ended.over_truth, &told));
        println!(
            "{noise}: this one {this_one}, alike {alike} of {SEARCHES}; the search's best {seen:+.4}, published {published:+.4}"
        );
        assert!(this_one * 100 <= SEARCHES * 5, "{noise}: {this_one}");
        assert!(seen < -noise / 2.0, "the winner of many is lucky: {seen}");
        // Of few there is no mean.
        let told_often = this_one + alike > SEARCHES / 10;
        assert!(!told_often || published.abs() < 0.003, "{noise}: {published}");
        assert!(noise > 0.005 || alike * 100 >= SEARCHES * 95, "{noise}: {alike}");
    }
}

#[test]
fn one_that_is_faster_is_found_and_said() {
    const SEARCHES: usize = 200;
    let mut times = vec![105.0; 40];
    times[7] = 100.0;
    for (noise, least) in [(0.01, 95), (0.02, 80)] {
        let all = tally(&times, noise, SEARCHES as u64);
        let right = count(&all, |ended| ended.ending.outcome == Outcome::ThisOne && ended.taken == 7);
        let wrong = count(&all, |ended| ended.ending.outcome != Outcome::CantTell(Obstacle::TooRough) && ended.taken != 7);
        println!("{noise}: right {right}, wrong {wrong} of {SEARCHES}");
        assert!(right * 100 >= SEARCHES * least && wrong * 100 <= SEARCHES, "{noise}: {right} and {wrong}");
        let over: Vec<f64> = all.iter().filter(|ended| ended.taken == 7).map(|ended| ended.over_truth).collect();
        assert!((median(&over) - 1.0).abs() < 0.003, "{noise}: {}", median(&over));
    }
}

#[test]
fn what_is_too_rough_is_no_answer() {
    for times in [vec![100.0; 40], (0..40).map(|i| 100.0 + f64::from(i)).collect()] {
        let all = tally(&times, 0.3, 100);
        let told = count(&all, |ended| !matches!(ended.ending.outcome, Outcome::CantTell(_)));
        assert!(told <= 2, "{told} of 100");
    }
}
