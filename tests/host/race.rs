//! Races: the fastest case survives however noisy the device is, and what is far slower costs few samples.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use crate::support::cases_of;
use lanescope::measure::{
    CaseKey, CaseSource, Dispatcher, Event, JUDGED_ROUNDS, LAST_HELD, LocalBench, LocalOptions, Measured, Mock, MockOptions,
    Options, Pool, Progress, Race, Rounds, Rule, Session, SourcedCase, Task, Timer, ToolCases, judge, open_comparisons,
};
use lanescope::model::{AxisValue, BLOCK_CASES, Case, DeviceInfo, Failure, Flag, Point, Status, Stop};
use lanescope::shader::{Compiler, Library, Prepared, prepare};
use lanescope::stats::Timed;
use lanescope::validate::{Mismatch, Outputs, Position};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

// ---- the rule alone, on synthetic streams --------------------------------------------------------------------------------

/// Samples of a visit; what is so many times as slow as the best is looked at but once.
const SAMPLES: usize = 5;
const FAR_SLOWER: f64 = 3.0;

/// The rounds of a race.
const RACE_ROUNDS: u32 = 3;

/// So near is as good as the best.
const TIE: f64 = 1.01;

/// A case whose truth is known.
pub struct Runner {
    pub time: f64,
    /// Relative standard deviations.
    between: f64,
    within: f64,
    pub rounds: Rounds,
    noise: Vec<f64>,
    pub ended: Option<Stop>,
}

impl Runner {
    pub fn new(time: f64, between: f64, ratio: f64) -> Self {
        let within = between / ratio;
        Self { time, between, within, rounds: Rounds::default(), noise: Vec::new(), ended: None }
    }

    fn visit(&mut self, samples: usize, rng: &mut ChaCha8Rng) {
        let time = self.time * (1.0 + self.between * normal(rng));
        self.rounds.samples.push((0..samples).map(|_| time * (1.0 + self.within * normal(rng))).collect());
        self.rounds.processes.push(1);
    }

    /// It stays where more rounds are wanted, as long as there are any.
    fn judge(&mut self, is_held: bool) {
        self.noise.push(self.rounds.noise());
        let round = u32::try_from(self.rounds.samples.len()).unwrap();
        let max_time = Duration::from_secs(1000);
        let progress = Progress { round, noise: &self.noise, max_noise: 0.01, is_held, spent: Duration::ZERO, max_time };
        self.ended = judge(&progress);
    }

    /// Its rounds, which all cases of a block begin together.
    pub fn timed(&self) -> Vec<Timed> {
        (1..).zip(self.rounds.medians()).map(|(round, time)| Timed { round, process: 1, time }).collect()
    }
}

/// Of the standard normal distribution, by Box and Muller.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (radius, angle): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// Measures a block by a rule, as a session does, and counts the samples.
pub fn run(rule: Rule, runners: &mut [Runner], rng: &mut ChaCha8Rng) -> usize {
    let best = runners.iter().map(|runner| runner.time).fold(f64::INFINITY, f64::min);
    for round in 1..=LAST_HELD {
        if runners.iter().all(|runner| runner.ended.is_some()) {
            break;
        }
        for runner in runners.iter_mut().filter(|runner| runner.ended.is_none()) {
            let samples = match (rule, round) {
                (Rule::Race, _) if runner.time > FAR_SLOWER * best => 1,
                _ => SAMPLES,
            };
            runner.visit(samples, rng);
        }
        if rule == Rule::Race {
            drop_beaten(runners);
            if round == RACE_ROUNDS {
                runners
                    .iter_mut()
                    .filter(|runner| runner.ended.is_none())
                    .for_each(|runner| runner.ended = Some(Stop::Glanced));
            }
        }
        if JUDGED_ROUNDS.contains(&round) {
            let beside: Vec<_> = runners.iter().map(|runner| (runner.timed(), runner.ended.is_none())).collect();
            let held = if rule == Rule::Beside { open_comparisons(&beside) } else { BTreeSet::new() };
            let active = runners.iter_mut().enumerate().filter(|(_, runner)| runner.ended.is_none());
            active.for_each(|(i, runner)| runner.judge(held.contains(&i)));
        }
    }
    runners.iter().flat_map(|runner| &runner.rounds.samples).map(Vec::len).sum()
}

fn drop_beaten(runners: &mut [Runner]) {
    let rounds: Vec<Rounds> = runners.iter().map(|runner| runner.rounds.clone()).collect();
    let race = Race::new(&rounds);
    let Some(leader) = race.leader((0..runners.len()).filter(|&i| runners[i].ended != Some(Stop::Beaten))) else { return };
    for (i, runner) in runners.iter_mut().enumerate() {
        if runner.ended.is_none() && race.is_beaten(i, leader) {
            runner.ended = Some(Stop::Beaten);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Space {
    /// Spread over a factor of ten, four of them within 1 % of the best.
    Ties,
    /// The same, but the best stands alone by 1.5 %, and half the others are within 10 % of it.
    Crowd,
}

fn times(space: Space, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let spread = |i: usize, rng: &mut ChaCha8Rng| {
        let at = rng.random::<f64>();
        match space {
            _ if i == 0 => 1.0,
            Space::Ties if i < 5 => 1.0 + (TIE - 1.0) * at,
            Space::Crowd if i < BLOCK_CASES / 2 => 1.015 + 0.085 * at,
            Space::Crowd => 1.1 * 9.0_f64.powf(at),
            Space::Ties => 10.0_f64.powf(at),
        }
    };
    (0..BLOCK_CASES).map(|i| spread(i, rng)).collect()
}

#[derive(Clone, Copy, Debug)]
enum Noise {
    /// From visit to visit by this; within a visit by so many times less.
    Alike(f64, f64),
    /// Each by an error of its own, from 0.2 % to 5 %, and 1 to 3 times less within a visit.
    Mixed,
}

fn block(space: Space, noise: Noise, rng: &mut ChaCha8Rng) -> Vec<Runner> {
    let runner = |time: f64, rng: &mut ChaCha8Rng| match noise {
        Noise::Alike(between, ratio) => Runner::new(time, between, ratio),
        Noise::Mixed => Runner::new(time, 0.002 * 25.0_f64.powf(rng.random()), rng.random_range(1.0..3.0)),
    };
    times(space, rng).into_iter().map(|time| runner(time, rng)).collect()
}

const NOISES: [Noise; 6] = [
    Noise::Alike(0.002, 1.0),
    Noise::Alike(0.01, 3.0),
    Noise::Alike(0.05, 1.0),
    Noise::Alike(0.05, 3.0),
    Noise::Alike(0.02, 5.0),
    Noise::Mixed,
];

/// In how many of these races the best, or one as good, is measured to the end; and in how many it is the best itself.
fn survivals(space: Space, noise: Noise, races: u64) -> [u64; 2] {
    let mut survivals = [0; 2];
    for seed in 0..races {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut runners = block(space, noise, rng);
        run(Rule::Race, &mut runners, rng);
        let stays = |runner: &&Runner| runner.ended != Some(Stop::Beaten);
        survivals[0] += u64::from(runners.iter().any(|runner| runner.time <= TIE && stays(&runner)));
        survivals[1] += u64::from(stays(&&runners[0]));
    }
    survivals
}

#[test]
fn the_fastest_survives_a_race() {
    const RACES: u64 = 400;
    for space in [Space::Ties, Space::Crowd] {
        let tally = |noise| (noise, std::thread::spawn(move || survivals(space, noise, RACES)));
        for (noise, tally) in NOISES.map(tally) {
            let [good, best] = tally.join().unwrap();
            println!("{space:?} {noise:?}: in {good} of {RACES} races one as good as the best survives, in {best} the best");
            assert!(good * 100 >= RACES * 99, "{space:?} {noise:?}: {good}");
        }
    }
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "samples are few")]
fn a_race_takes_a_third_of_the_samples_at_most() {
    for noise in NOISES {
        let samples = |rule| -> usize {
            let once = |seed| {
                let rng = &mut ChaCha8Rng::seed_from_u64(seed);
                // Most spaces have no ties by design: this is the usual one.
                let mut runners = block(Space::Ties, noise, rng);
                run(rule, &mut runners, rng)
            };
            (0..20).map(once).sum()
        };
        let [each, race] = [Rule::Each, Rule::Race].map(samples);
        println!("{noise:?}: {:.1} times fewer samples", each as f64 / race as f64);
        assert!(race * 3 <= each, "{noise:?}: {race} of {each}");
    }
}

// ---- a session, on the mock ------------------------------------------------------------------------------------------------

/// A block of cases, the nth of which takes `times[n]` microseconds and a little.
fn cases(times: &[f64]) -> Vec<Prepared> {
    let case = catalogue("workgroup/linear", &["n=4096", "local_size_x=64"]);
    let timed = |(i, time): (usize, &f64)| {
        let mut prepared = case.clone();
        prepared.case.point = Point::new([("case".into(), AxisValue::from(i as u64))]);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
        let bytes = (time * 1e6) as u64;
        (prepared.case.work.bytes, prepared.case.work.ops) = (Some(bytes), None);
        prepared
    };
    times.iter().enumerate().map(timed).collect()
}

fn catalogue(filter: &str, axes: &[&str]) -> Prepared {
    let case = cases_of(&DeviceInfo::mock(), filter, axes).remove(0);
    prepare(case, &mut Compiler::new(Library::embedded()).unwrap()).unwrap()
}

/// Cases that are compiled already. The results of the first one are wrong from the given comparison on.
struct Compared<'p> {
    cases: &'p [Prepared],
    wrong_from: usize,
    compared: Rc<Cell<usize>>,
}

impl CaseSource for Compared<'_> {
    fn prepare(&mut self, key: &CaseKey) -> Result<SourcedCase, Failure> {
        let prepared = self.cases.iter().find(|prepared| CaseKey::from_case(&prepared.case) == *key).unwrap().clone();
        let (is_first, wrong_from) = (prepared.case.point == self.cases[0].case.point, self.wrong_from);
        let compared = Rc::clone(&self.compared);
        let judge = move |_: &Case, _: Outputs| {
            compared.set(compared.get() + usize::from(is_first));
            if !is_first || compared.get() < wrong_from {
                return Ok(Ok(Default::default()));
            }
            let [output, got, expected] = ["out", "1", "2"].map(str::to_owned);
            Ok(Err(Mismatch::single(&output, Position::Element(0), got, expected)))
        };
        Ok(SourcedCase::new(prepared, judge))
    }
}

/// What comes of the cases in one block, and how often the end of a case was told.
fn session(rule: Rule, prepared: &[Prepared], wrong_from: usize) -> (Vec<Result<Measured, Status>>, usize) {
    let (outcomes, ended) = broken_off(rule, prepared, wrong_from, usize::MAX, true);
    (outcomes.into_iter().map(Option::unwrap).collect(), ended)
}

/// The same, broken off when so many visits have begun. What has few rounds is kept then, or isn't.
fn broken_off(
    rule: Rule,
    prepared: &[Prepared],
    wrong_from: usize,
    visits: usize,
    keeps_few: bool,
) -> (Vec<Option<Result<Measured, Status>>>, usize) {
    let tools = ToolCases {
        empty: catalogue("calibration/empty", &[]),
        sentinel: catalogue("calibration/sentinel", &[]),
        core_clock: None,
        evictor: None,
        sweep: None,
    };
    // Results that differ each time: else they would be compared but once.
    let count = Rc::new(Cell::new(0_u64));
    let oracle = move |_: &Case| {
        count.set(count.get() + 1);
        vec![count.get().to_le_bytes().to_vec()]
    };
    let mock = Mock::new(MockOptions { noise: 0.004, spread: 0.01, ..MockOptions::default() }, 1, Box::new(oracle));
    let (timer, max_time) = (mock.tick_scale().map(Timer::Device), Duration::from_secs(2));
    let source = Compared { cases: prepared, wrong_from, compared: Rc::default() };
    let local = LocalOptions { warm_up: Duration::from_millis(1), max_time, timer, sentinel: None, is_cold: false };
    let bench = LocalBench::new(Box::new(mock), tools, Box::new(source), local).unwrap();
    let mut session = Session::new(Pool::single(bench), Options { rule, max_noise: 0.01, max_time, seed: 1 });
    if keeps_few {
        session = session.keeping_few_rounds();
    }
    let task = |prepared: &'_ Prepared| CaseKey::from_case(&prepared.case);
    let tasks: Vec<Task> = prepared.iter().map(|p| Task { key: task(p), case: &p.case, base: None }).collect();
    let (mut ended, mut begun) = (0, 0);
    let outcomes = session.measure(&tasks, &mut |event| {
        ended += usize::from(matches!(event, Event::Ended));
        begun += usize::from(matches!(event, Event::Timing(..)));
        if begun >= visits { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let result = |outcome: Option<lanescope::measure::Outcome>| Some(outcome?.result.map_err(|failure| failure.status));
    (outcomes.into_iter().map(result).collect(), ended)
}

/// From 100 us up to a millisecond, in shuffled order but for the first two, which are the fastest.
#[expect(clippy::cast_precision_loss, reason = "a block of cases")]
fn spread() -> Vec<f64> {
    (0..BLOCK_CASES)
        .map(|i| if i < 2 { 100.0 + 10.0 * i as f64 } else { 115.0 * 8.7_f64.powf(((i * 37) % 64) as f64 / 63.0) })
        .collect()
}

fn is_beaten(outcome: &Result<Measured, Status>) -> bool {
    outcome.as_ref().is_ok_and(|measured| measured.stop == Stop::Beaten)
}

#[test]
fn a_session_drops_what_is_beaten_and_measures_the_rest() {
    let cases = cases(&spread());
    let (race, ended) = session(Rule::Race, &cases, usize::MAX);
    assert_eq!(ended, BLOCK_CASES);
    let (each, _) = session(Rule::Each, &cases, usize::MAX);
    // What beat others was compared after a timed batch.
    assert!(race[0].as_ref().is_ok_and(|measured| measured.is_compared && measured.stop == Stop::Glanced));
    assert!(each.iter().flatten().all(|measured| measured.is_compared));
    let samples = |all: &[Result<Measured, Status>]| all.iter().flatten().map(Measured::samples).sum::<usize>();
    println!("{} samples, and {} in a race", samples(&each), samples(&race));
    assert!(samples(&race) * 3 <= samples(&each));
    assert!(!is_beaten(&race[0]) && is_beaten(&race[1]) && race[2..].iter().all(is_beaten));
    for (own, (race, each)) in spread().into_iter().zip(race.iter().zip(&each)) {
        let (race, each) = (race.as_ref().unwrap(), each.as_ref().unwrap());
        assert!((race.value() / each.value() - 1.0).abs() < 0.1, "{} and {}", race.value(), each.value());
        assert!(race.rounds.samples.len() <= 3 && race.rounds.samples.iter().all(|visit| visit.len() <= 5), "it is short");
        assert!(!race.flags.contains(&Flag::Noisy), "no precision was asked: {:?}", race.flags);
        assert!(own < 320.0 || race.samples() == 1, "{own} us: {} samples", race.samples());
        assert!(each.stop != Stop::Beaten);
    }
}

#[test]
fn one_look_is_one_short_visit() {
    let cases = cases(&spread());
    let (glanced, ended) = session(Rule::Glance, &cases, usize::MAX);
    assert_eq!(ended, BLOCK_CASES);
    for outcome in &glanced {
        let Ok(measured) = outcome else { panic!("{outcome:?}") };
        assert_eq!((measured.stop, measured.rounds.samples.len()), (Stop::Glanced, 1));
        assert!(!measured.is_compared, "after the first pass alone");
        assert!(measured.samples() <= 5 && measured.interval().is_none(), "{} samples", measured.samples());
        assert!(!measured.flags.contains(&Flag::Noisy), "no precision was asked: {:?}", measured.flags);
    }
}

#[test]
fn a_search_that_is_broken_off_keeps_what_it_has_seen() {
    let cases = cases(&[100.0, 150.0, 200.0, 300.0]);
    let after = |visits, wrong_from, keeps_few| broken_off(Rule::Each, &cases, wrong_from, visits, keeps_few).0;
    // In the third round: too few for an interval.
    let kept = after(9, usize::MAX, true);
    assert_eq!(kept.iter().flatten().count(), 4);
    for measured in kept.iter().flatten().map(|outcome| outcome.as_ref().unwrap()) {
        assert!(measured.stop == Stop::BrokenOff && measured.stop.is_early() && measured.interval().is_none());
        assert!((2..=3).contains(&measured.rounds.samples.len()) && measured.value() > 0.0);
        assert!(!measured.flags.contains(&Flag::Noisy), "no precision was asked: {:?}", measured.flags);
    }
    // In the first one: those that were visited.
    let seen = after(3, usize::MAX, true).iter().flatten().count();
    assert!((2..=3).contains(&seen), "{seen} kept");
    // A run can be resumed: what it hasn't measured is no outcome.
    assert!(after(9, usize::MAX, false).iter().all(Option::is_none));
    // What a timed batch leaves behind is compared before anything is kept.
    let wrong = after(9, 2, true);
    assert_eq!(wrong.iter().flatten().filter(|outcome| outcome.as_ref().err() == Some(&Status::WrongResult)).count(), 1);
    let glanced = broken_off(Rule::Glance, &cases, usize::MAX, 3, true).0;
    assert!(glanced.iter().flatten().all(|outcome| outcome.as_ref().unwrap().stop == Stop::Glanced));
}

#[test]
fn what_computes_wrong_beats_nothing() {
    let mut times = spread();
    times[1] = 200.0;
    let cases = cases(&times);
    let second = times.iter().enumerate().skip(1).min_by(|(_, one), (_, two)| one.total_cmp(two)).unwrap().0;
    // Wrong from its first pass, and once it would beat others.
    for wrong_from in [1, 2] {
        let (outcomes, ended) = session(Rule::Race, &cases, wrong_from);
        assert_eq!(ended, BLOCK_CASES, "wrong from {wrong_from}");
        assert_eq!(outcomes[0].as_ref().err(), Some(&Status::WrongResult), "wrong from {wrong_from}");
        let finalist = outcomes[second].as_ref().unwrap();
        assert_eq!(finalist.stop, Stop::Glanced, "wrong from {wrong_from}");
        assert!(outcomes.iter().filter(|outcome| is_beaten(outcome)).count() > 50, "wrong from {wrong_from}");
    }
}
