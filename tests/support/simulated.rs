//! Rows of cases whose truth is known, compared as real ones are. Shared by `tests/host/truth.rs` and `benches/compare.rs`.
//!
//! A time is its truth times what its run, its process and its round make of it, each by a lognormal factor of its own. Rounds end by the
//! rule by which real ones end. Where the core's clock takes steps, it does so after some visits, and all cases go with it.

#![allow(dead_code, reason = "each target needs a part of it")]
#![allow(clippy::unwrap_used, reason = "what is simulated ends by panicking where it is wrong")]

use std::collections::BTreeMap;
use std::time::Duration;

use lanescope::analysis::compare::{Comparison, Sides, Terms, Verdict, compare};
use lanescope::measure::{JUDGED_ROUNDS, Progress, judge};
use lanescope::model::Repeatability;
use lanescope::record::Record;
use lanescope::stats;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[derive(Clone, Copy, Debug)]
pub struct World {
    /// Processes that each run deals its rounds over.
    pub processes: u32,
    pub runs: usize,
    pub cases: usize,
    /// The standard deviation from round to round.
    pub rounds: f64,
    /// The same from process to process, as a share of the class's spread; the rest is from run to run.
    pub of_processes: f64,
    /// Whether cases of one class move by unlike amounts: half of them by half as much, a few by twice as much.
    pub is_uneven: bool,
    /// How many cases, the last ones, are as noisy from round to round as 5 %.
    pub noisy: usize,
    /// The experiment, which decides of the class.
    pub experiment: &'static str,
    /// Whether rows tell their rounds; before schema 2.0 they had the interval alone.
    pub has_rounds: bool,
    /// How many cases are changed, and how: the logarithm of how many times as fast they are.
    pub changed: (usize, f64),
    /// The core's clock, where it takes steps and is measured.
    pub clock: Option<Clock>,
    /// How far cases really move from run to run; `None` for what their class is known to.
    pub moves: Option<f64>,
    /// How far a run moves as a whole.
    pub common: f64,
    /// The families that cases are of by turns, and how far each moves as a whole in a run. Several have the class of foreign kernels.
    pub families: (usize, f64),
    /// How all cases are changed, as a logarithm.
    pub whole: f64,
    pub margin: Option<f64>,
}

/// A clock that takes steps of 0.75 %, of which there are up to two.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// How likely it takes another level after a visit.
    pub switches: f64,
    /// How many steps the new side is lower throughout.
    pub lower: f64,
    /// Whether rows tell it.
    pub is_measured: bool,
}

const STEP: f64 = 0.0075;
const LEVELS: u32 = 3;
/// The error of a reading, and rounds that a row has at most.
const READING: f64 = 0.0001;
const MOST_ROUNDS: usize = 19;

impl World {
    /// Nothing changed; a process a run.
    pub const QUIET: Self = Self {
        processes: 1,
        runs: 1,
        cases: 200,
        rounds: 0.005,
        of_processes: 0.5,
        is_uneven: false,
        noisy: 0,
        experiment: "peak/arith",
        has_rounds: true,
        changed: (0, 0.0),
        clock: None,
        moves: None,
        common: 0.0,
        families: (1, 0.0),
        whole: 0.0,
        margin: None,
    };

    /// The spread of its class.
    pub fn between(&self) -> f64 {
        self.moves.unwrap_or_else(|| match self.experiment {
            "peak/arith" => Repeatability::Core.between_runs(1),
            "memory/stream" => Repeatability::Memory.between_runs(1),
            "dispatch/empty" => Repeatability::Launch.between_runs(1),
            other => panic!("of {other} no spread is told here"),
        })
    }

    /// The variance of one side's figure where all is known, for so many rounds.
    pub fn variance(&self, rounds: f64) -> f64 {
        let class = self.between();
        let process = (self.of_processes * class).powi(2);
        let run = class.powi(2) - process;
        // The median of normal values is 1.25 times as far off as their mean, of few less.
        let median = if rounds < 8.0 { 1.13 } else { 1.23 };
        let own = if self.processes == 1 { process } else { process / f64::from(self.processes) };
        (run + own + (median * self.rounds).powi(2) / rounds) / f64::from(u32::try_from(self.runs).unwrap())
    }
}

/// What came of one comparison.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Changed cases that were called faster or slower, rightly.
    pub right: usize,
    /// Cases that were called faster or slower, wrongly: nothing changed, or the other way.
    pub wrong: usize,
    /// Unchanged cases that were called the same.
    pub same: usize,
    /// Changed cases that were called the same, though the change is beyond the margin.
    pub missed: usize,
    /// Cases whose interval holds the truth, and of how many.
    pub held: usize,
    pub cases: usize,
    /// The sum of the intervals' widths, as logarithms, and of those where all is known.
    pub widths: (f64, f64),
    /// The same of the whole, and whether its interval holds the truth.
    pub whole: (Verdict, bool),
}

/// Compares two sides of a world.
pub fn simulate(world: &World, seed: u64) -> Found {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let spreads: Vec<f64> = (0..world.cases).map(|_| if world.is_uneven { uneven(&mut rng) } else { 1.0 }).collect();
    let [base, new] = [false, true].map(|is_new| side(world, is_new, &spreads, &mut rng));
    let sides = Sides::of_records([("base", base.as_slice()), ("new", new.as_slice())]).expect("each case comes once a run");
    let terms = Terms { margin: world.margin, ..Terms::default() };
    let comparison = compare(&sides, &terms).expect("they have all cases in common").remove(0);
    let rounds =
        stats::mean(&base.iter().filter_map(|row| Some(f64::from(u32::try_from(row.rounds?).ok()?))).collect::<Vec<_>>());
    found(world, &comparison, rounds)
}

fn found(world: &World, comparison: &Comparison, rounds: f64) -> Found {
    let (changed, shift) = world.changed;
    let whole = comparison.totals.iter().find(|total| total.family.is_none()).unwrap();
    #[expect(clippy::cast_precision_loss, reason = "cases are few")]
    let truth = world.whole + shift * changed as f64 / world.cases as f64;
    let is_held = whole.ratio.low.ln() <= truth && truth <= whole.ratio.high.ln();
    let mut found = Found {
        right: 0,
        wrong: 0,
        same: 0,
        missed: 0,
        held: 0,
        cases: 0,
        widths: (0.0, 0.0),
        whole: (whole.verdict, is_held),
    };
    let known = 2.0 * 1.96 * (2.0 * world.variance(rounds)).sqrt();
    for (place, case) in comparison.cases.iter().enumerate() {
        let truth = world.whole + if place < world.changed.0 { world.changed.1 } else { 0.0 };
        let called = match case.verdict {
            Verdict::Faster => 1.0,
            Verdict::Slower => -1.0,
            _ => 0.0,
        };
        found.cases += 1;
        found.right += usize::from(called * truth > 0.0);
        found.wrong += usize::from(called != 0.0 && called * truth <= 0.0);
        found.same += usize::from(truth == 0.0 && case.verdict == Verdict::Same);
        found.missed += usize::from(truth.abs() > comparison.margin && case.verdict == Verdict::Same);
        if let Some(ratio) = case.effect() {
            found.held += usize::from(ratio.low.ln() <= truth && truth <= ratio.high.ln());
            found.widths.0 += (ratio.high / ratio.low).ln();
            found.widths.1 += known;
        }
    }
    found
}

/// The rows of one side, case by case, run by run.
fn side(world: &World, is_new: bool, spreads: &[f64], rng: &mut ChaCha8Rng) -> Vec<Record> {
    let class = world.between();
    let process_part = world.of_processes * class;
    let run_part = (class.powi(2) - process_part.powi(2)).max(0.0).sqrt();
    let mut rows = Vec::new();
    let levels = levels(world, is_new, rng);
    let (families, of_family) = world.families;
    let moved: Vec<Vec<f64>> = (0..world.runs)
        .map(|_| {
            let common = world.common * normal(rng);
            (0..families).map(|_| common + of_family * normal(rng)).collect()
        })
        .collect();
    for (place, spread) in spreads.iter().enumerate() {
        let own = if place < world.changed.0 { world.changed.1 } else { 0.0 };
        let change = if is_new { own + world.whole } else { 0.0 };
        let rounds = if place + world.noisy >= world.cases { 0.05 } else { world.rounds };
        for run in 0..world.runs {
            let of_run = run_part * spread * normal(rng) - change - moved[run][place % families];
            let of_processes: Vec<f64> = (0..world.processes).map(|_| process_part * spread * normal(rng)).collect();
            let clock = |round: usize| world.clock.map(|_| levels[(run * MOST_ROUNDS + round) * world.cases + place]);
            rows.push(row(world, (place, run, is_new), &mut |process, round| {
                let log = of_run + of_processes[process] + rounds * normal(rng) - clock(round).unwrap_or(0.0);
                let read = clock(round).map(|level| 1980.0 * (level + READING * normal(rng)).exp());
                (1e5 * log.exp(), read.filter(|_| world.clock.is_some_and(|clock| clock.is_measured)))
            }));
        }
    }
    rows
}

fn row(
    world: &World,
    (case, run, is_new): (usize, usize, bool),
    time: &mut dyn FnMut(usize, usize) -> (f64, Option<f64>),
) -> Record {
    let processes = usize::try_from(world.processes).unwrap();
    let (mut times, mut clocks, mut clusters, mut noises) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let interval = loop {
        let round = times.len();
        let (took, clock) = time(round % processes, round);
        times.push(took);
        clocks.extend(clock);
        clusters.push(u32::try_from(round % processes).unwrap() + 1);
        let count = u32::try_from(times.len()).unwrap();
        if !JUDGED_ROUNDS.contains(&count) {
            continue;
        }
        let interval = stats::clustered_interval(&times, &clusters).unwrap();
        noises.push(stats::noise(interval, stats::median(&times)));
        let (spent, max_time) = (Duration::from_millis(10 * u64::from(count)), Duration::from_secs(2));
        if judge(&Progress { round: count, noise: &noises, max_noise: 0.01, is_held: false, spent, max_time }).is_some() {
            break interval;
        }
    };
    let median = stats::median(&times);
    let told = times.iter().zip(&clusters).filter(|_| world.has_rounds);
    let rounds = told.map(|(time, process)| format!("{process}:{time}"));
    let clocks = clocks.iter().zip(&clusters).map(|(mhz, process)| format!("{process}:{mhz}"));
    Record {
        round_clocks_mhz: clocks.collect::<Vec<_>>().join(";"),
        experiment: match world.families.0 {
            1 => world.experiment.to_owned(),
            families => format!("family{}/kernel", case % families),
        },
        case_id: format!("c{case:016x}"),
        axis_values: format!("n={case}"),
        by_axis: BTreeMap::new(),
        row_kind: "measured".to_owned(),
        status: "ok".to_owned(),
        timer: "device".to_owned(),
        device_type: "discrete".to_owned(),
        run_id: format!("r{}{run}", u8::from(is_new)),
        value: Some(median),
        unit: "ns".to_owned(),
        better: "lower".to_owned(),
        time_ns: Some(median),
        ci_low_ns: Some(interval.low),
        ci_high_ns: Some(interval.high),
        round_medians_ns: rounds.collect::<Vec<_>>().join(";"),
        processes: Some(world.processes.into()),
        rounds: Some(times.len() as u64),
        batch: Some(100),
        ..Record::new()
    }
}

/// The clock's logarithm at each visit: of each run, round by round, case by case.
fn levels(world: &World, is_new: bool, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let Some(Clock { switches, lower, .. }) = world.clock else { return Vec::new() };
    let mut level = rng.random_range(0..LEVELS);
    let visits = world.runs * MOST_ROUNDS * world.cases;
    let at = |_| {
        if rng.random::<f64>() < switches {
            level = rng.random_range(0..LEVELS);
        }
        STEP * (f64::from(level) - if is_new { lower } else { 0.0 })
    };
    (0..visits).map(at).collect()
}

/// How far one case moves beside the class: their mean square is one.
fn uneven(rng: &mut ChaCha8Rng) -> f64 {
    match rng.random_range(0..20) {
        0..10 => 0.5,
        10..18 => 1.0,
        _ => 2.179,
    }
}

/// A standard normal value: Box and Muller, The Annals of Mathematical Statistics 29 (1958).
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let [one, other]: [f64; 2] = [rng.random(), rng.random()];
    (-2.0 * (1.0 - one).ln()).sqrt() * (std::f64::consts::TAU * other).cos()
}
