//! Made-up trials whose answers are known.

use std::convert::Infallible;

use super::*;
use crate::model::{AxisValue, Status};
use crate::tuning::space::Dimension;

fn space(axes: &[(&'static str, u64)]) -> Space {
    let axes = axes.iter().map(|(name, count)| Dimension::new(*name, 0..*count));
    Space::new(axes, |_| Ok::<_, Infallible>(true)).unwrap()
}

fn point(values: &[(&'static str, u64)]) -> Point {
    Point::new(values.iter().map(|(name, value)| ((*name).into(), (*value).into())))
}

/// A time that is known to so much, as a share of it.
fn timing(time: f64, noise: f64) -> Timing {
    Timing::precise(time, Interval { low: time * (1.0 - noise), high: time * (1.0 + noise) })
}

fn rough(time: f64, noise: f64) -> Timing {
    Timing { is_precise: false, ..timing(time, noise) }
}

fn trial(point: Point, timing: Timing) -> Trial {
    Trial { point, outcome: Ok(timing) }
}

fn failed(point: Point, status: Status) -> Trial {
    Trial { point, outcome: Err(Failure::new(status, "it did")) }
}

/// Trials of a space's configurations, of those that are taken.
fn trials(space: &Space, is_taken: impl Fn(usize) -> bool, time: impl Fn(&Point) -> f64) -> Vec<Trial> {
    let taken = (0..space.len()).filter(|configuration| is_taken(*configuration));
    taken
        .map(|configuration| space.point(configuration))
        .map(|point| trial(point.clone(), timing(time(&point), 0.001)))
        .collect()
}

/// What follows where the precise ones were measured beside each other, their intervals alone being known.
fn answered(space: &Space, trials: &[Trial], default: Option<&Point>) -> Option<Answer> {
    let figures: Vec<Figure> = trials.iter().filter_map(Figure::from_interval).collect();
    Answer::new(space, trials, Finale { figures: &figures, cut: 0, nearest: None }, default)
}

fn line(timings: &[Timing]) -> Answer {
    let space = space(&[("x", timings.len() as u64)]);
    let trials: Vec<Trial> = timings.iter().zip(0_u64..).map(|(timing, x)| trial(point(&[("x", x)]), *timing)).collect();
    answered(&space, &trials, None).unwrap()
}

fn values(placed: &[Placed]) -> Vec<u64> {
    placed.iter().map(|placed| placed.point.integer("x")).collect()
}

// ---- the best, ties, the gain ---------------------------------------------------------------------------------------------

#[test]
fn an_answer_follows_from_what_was_measured_beside_the_best_alone() {
    let answer = line(&[timing(120.0, 0.01), rough(90.0, 0.3), timing(100.0, 0.01), rough(150.0, 0.1)]);
    assert_eq!((answer.best.point.integer("x"), answer.best.ratio), (2, Ratio { value: 1.0, low: 1.0, high: 1.0 }));
    assert_eq!((answer.outcome, answer.tied.len(), answer.next.unwrap().timing.time), (Outcome::ThisOne, 0, 120.0));
    let answer = line(&[rough(120.0, 0.01), rough(90.0, 0.3)]);
    assert_eq!((answer.best.point.integer("x"), answer.outcome), (1, Outcome::CantTell(Obstacle::TooFewRounds)));
}

#[test]
fn what_is_hardly_known_is_no_answer() {
    // The second takes 0.5 to 7 times as long, for all that is known.
    let vague = Timing::precise(110.0, Interval { low: 50.0, high: 700.0 });
    assert_eq!(line(&[timing(100.0, 0.01), vague, timing(100.5, 0.01)]).outcome, Outcome::CantTell(Obstacle::TooRough));
    // Neither is the only one, nor one that all others are slower than.
    assert_eq!(line(&[timing(120.0, 3.0)]).outcome, Outcome::CantTell(Obstacle::TooRough));
    assert_eq!(line(&[timing(120.0, 0.3), timing(50_000.0, 0.1)]).outcome, Outcome::CantTell(Obstacle::TooRough));
    assert_eq!(line(&[timing(120.0, 0.2)]).outcome, Outcome::ThisOne);
    // Nothing stands beside the only one that can be.
    let (space, trials) =
        (space(&[("x", 2)]), [trial(point(&[("x", 0)]), rough(120.0, 0.2)), failed(point(&[("x", 1)]), Status::WrongResult)]);
    let figure = Figure { point: trials[0].point.clone(), timing: rough(120.0, 0.2), timed: Vec::new(), disturbance: None };
    let finale = || Finale { figures: std::slice::from_ref(&figure), cut: 0, nearest: None };
    let outcome = |trials: &[Trial]| Answer::new(&space, trials, finale(), None).unwrap().outcome;
    assert_eq!(outcome(&trials), Outcome::ThisOne);
    assert_eq!(outcome(&trials[..1]), Outcome::CantTell(Obstacle::TooFewRounds), "the other wasn't tried");
}

#[test]
fn without_a_time_there_is_no_answer() {
    let space = space(&[("x", 2)]);
    let trials = [failed(point(&[("x", 0)]), Status::Crashed), trial(point(&[("x", 1)]), timing(f64::NAN, 0.1))];
    assert_eq!(answered(&space, &trials, None), None);
}

#[test]
fn the_interval_of_a_ratio_is_that_of_both_times() {
    // Halves of 3 % and 4 % make one of 5 %, as logarithms.
    let known =
        |time: f64, half: f64| Timing::precise(time, Interval { low: time * f64::exp(-half), high: time * f64::exp(half) });
    let ratio = known(300.0, 0.03).over(&known(200.0, 0.04));
    for (got, expected) in [(ratio.value, 1.5), (ratio.low, 1.5 * f64::exp(-0.05)), (ratio.high, 1.5 * f64::exp(0.05))] {
        assert!((got - expected).abs() < 1e-12, "{ratio:?}");
    }
    let exact = known(300.0, 0.0).over(&known(200.0, 0.0));
    assert_eq!(exact, Ratio { value: 1.5, low: 1.5, high: 1.5 });
    // The interval of few processes that differ much may reach below nothing.
    let wide = Timing::precise(100.0, Interval { low: -5.0, high: 130.0 });
    assert_eq!(wide.over(&known(100.0, 0.01)).low, 0.0);
    assert_eq!(known(100.0, 0.01).over(&wide).high, f64::INFINITY);
}

#[test]
fn two_are_tied_where_their_ratio_may_be_one() {
    // Halves of 1 % each: the ratio is known to 1.41 %. Intervals that overlap, up to 2 %, would say tied.
    let tied = line(&[timing(100.0, 0.01), timing(101.3, 0.01)]);
    assert_eq!((values(&tied.tied), tied.outcome), (vec![1], Outcome::Alike));
    assert_eq!(line(&[timing(100.0, 0.01), timing(101.7, 0.01)]).outcome, Outcome::ThisOne);
    // Up to 1.2 + 2.1 %: more than 3 %, and it may be none.
    assert_eq!(line(&[timing(100.0, 0.015), timing(101.2, 0.015)]).outcome, Outcome::CantTell(Obstacle::TooRough));
}

#[test]
fn the_best_of_many_is_lucky_and_told_from_less() {
    let mut timings = vec![timing(100.0, 0.01), timing(101.7, 0.01)];
    timings.resize(100, timing(150.0, 0.01));
    assert_eq!(values(&line(&timings).tied), [1]);
}

/// Of equal configurations, whose times vary by chance alone, at least 95 in 100 searches call any given one tied.
#[test]
fn equals_are_tied_in_nearly_all_searches() {
    use rand::{Rng, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let error = 0.01;
    for count in [2, 10, 60] {
        let mut missed = 0;
        for _ in 0..200 {
            let known = |time: f64| {
                let half = 1.96 * error;
                Timing::precise(time, Interval { low: time * f64::exp(-half), high: time * f64::exp(half) })
            };
            let timings: Vec<Timing> = (0..count).map(|_| known(100.0 * f64::exp(error * normal()))).collect();
            let answer = line(&timings);
            let is_there = answer.best.point.integer("x") == 0 || values(&answer.tied).contains(&0);
            missed += usize::from(!is_there);
        }
        assert!(missed <= 10, "{missed} of 200 among {count}");
    }
}

#[test]
fn the_gain_is_over_the_default() {
    let space = space(&[("x", 4)]);
    let at = |x: u64| point(&[("x", x)]);
    let trials = [
        trial(at(0), timing(100.0, 0.0)),
        trial(at(1), timing(250.0, 0.0)),
        failed(at(2), Status::WrongResult),
        trial(at(9), timing(50.0, 0.0)),
    ];
    let default = |trials: &[Trial], x: u64| answered(&space, trials, Some(&at(x))).unwrap().default.unwrap();
    assert_eq!(default(&trials[..3], 1).gain, Some(Ratio { value: 2.5, low: 2.5, high: 2.5 }));
    assert_eq!(default(&trials[..3], 0).gain, Some(Ratio { value: 1.0, low: 1.0, high: 1.0 }));
    let wrong = default(&trials, 2);
    assert_eq!((wrong.gain, wrong.timing, wrong.failure.as_deref()), (None, None, Some("wrong_result: it did")));
    assert_eq!(default(&trials, 3).failure, None, "it wasn't measured");
    // A default beside the space competes like any other.
    assert_eq!(default(&trials, 9).gain.unwrap().value, 1.0);
}

// ---- what matters ---------------------------------------------------------------------------------------------------------

fn shares(answer: &Answer) -> Vec<f64> {
    answer.axes.iter().map(|axis| axis.share.unwrap()).chain(answer.together).collect()
}

fn assert_near(got: &[f64], expected: &[f64], by: f64) {
    let near = got.len() == expected.len() && got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() <= by);
    assert!(near, "{got:?}, not {expected:?}");
}

#[expect(clippy::cast_precision_loss, reason = "numbers are small")]
fn real(n: u64) -> f64 {
    n as f64
}

/// Doubling with `a`, fourfold with `b`: the logarithm's variance is as 1 to 4.
fn product(point: &Point) -> f64 {
    100.0 * (1.0 + real(point.integer("a"))) * (1.0 + 3.0 * real(point.integer("b")))
}

#[test]
fn axes_that_act_alone_share_the_variance() {
    let space = space(&[("a", 2), ("b", 2), ("c", 3)]);
    let answer = answered(&space, &trials(&space, |_| true, product), None).unwrap();
    assert_near(&shares(&answer), &[0.2, 0.8, 0.0, 0.0], 1e-9);
}

#[test]
fn axes_that_act_together_explain_nothing_alone() {
    let space = space(&[("a", 2), ("b", 2)]);
    let together = |point: &Point| if point.integer("a") == point.integer("b") { 10.0 } else { 20.0 };
    let answer = answered(&space, &trials(&space, |_| true, together), None).unwrap();
    assert_near(&shares(&answer), &[0.0, 0.0, 1.0], 1e-9);
}

/// Where restrictions tie axes to each other, what either would explain belongs to both, and the shares are still the whole.
#[test]
fn axes_that_depend_on_each_other_share_what_they_explain() {
    let restricted = |allows: fn(u64, u64) -> bool| {
        let axes = ["a", "b"].map(|name| Dimension::new(name, 0..8_u64));
        let is_allowed = move |point: &Point| Ok::<_, Infallible>(allows(point.integer("a"), point.integer("b")));
        Space::new(axes, is_allowed).unwrap()
    };
    let alike = restricted(|a, b| a == b);
    let doubling = |point: &Point| real(point.integer("a")).exp2();
    let answer = answered(&alike, &trials(&alike, |_| true, doubling), None).unwrap();
    assert_near(&shares(&answer), &[0.5, 0.5, 0.0], 1e-9);

    // As a workgroup's extents: more of the one leaves less room for the other, and either makes it faster.
    let tied = restricted(|a, b| a + b < 8);
    let halving = |point: &Point| 1000.0 * real(point.integer("a") + point.integer("b")).exp2().recip();
    let all = shares(&answered(&tied, &trials(&tied, |_| true, halving), None).unwrap());
    assert_near(&all, &[0.5, 0.5, 0.0], 1e-9);
    let one = |point: &Point| 1000.0 * real(point.integer("a")).exp2().recip();
    let all = shares(&answered(&tied, &trials(&tied, |_| true, one), None).unwrap());
    assert!(all[0] > 0.75 && all[1] > 0.0 && (all.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{all:?}");
}

/// A value that nobody has measured says nothing, however many there are.
#[test]
fn values_without_a_time_have_no_part_in_shares() {
    let space = space(&[("a", 40), ("b", 4)]);
    let time = |point: &Point| real(1 + point.integer("a")) * 4.0_f64.powf(real(point.integer("b")));
    let of = |space: &Space, is_taken: &dyn Fn(usize) -> bool| {
        shares(&answered(space, &trials(space, is_taken, time), None).unwrap())
    };
    let few = of(&space, &|configuration| space.point(configuration).integer("a") < 8);
    let small = self::space(&[("a", 8), ("b", 4)]);
    assert_near(&few, &of(&small, &|_| true), 1e-9);
}

#[test]
fn too_many_axes_have_no_shares() {
    let axes: Vec<(&str, u64)> =
        ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"].into_iter().map(|name| (name, 2)).collect();
    let time = |used: &[(&'static str, u64)]| {
        let names: Vec<&str> = used.iter().map(|(name, _)| *name).collect();
        move |point: &Point| names.iter().map(|name| 1.0 + real(point.integer(name))).product::<f64>()
    };
    let told = |count: usize| {
        let space = space(&axes[..count]);
        answered(&space, &trials(&space, |_| true, time(&axes[..count])), None).unwrap().axes[0].share
    };
    assert_eq!(told(13), None);
    assert!(told(12).is_some_and(|share| (share - 1.0 / 12.0).abs() < 1e-9));
}

#[test]
fn an_uneven_sample_does_not_mislead() {
    let space = space(&[("a", 2), ("b", 2), ("c", 10), ("d", 10)]);
    // Most of those measured are of the fast half of `b`, and `a` goes along with it.
    let is_taken = |configuration: usize| {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|axis| space.point(configuration).integer(axis));
        if b == 0 { a == 0 || (c + d) % 3 == 0 } else { (c + 3 * d) % 10 == a }
    };
    let some = trials(&space, is_taken, product);
    assert_eq!((some.len(), some.iter().filter(|trial| trial.point.integer("b") == 0).count()), (154, 134));
    let answer = answered(&space, &some, None).unwrap();
    assert_near(&shares(&answer), &[0.2, 0.8, 0.0, 0.0, 0.0], 0.01);
}

#[test]
fn an_axis_that_does_nothing_has_no_share_in_noise() {
    let space = space(&[("a", 2), ("few", 16), ("many", 32)]);
    let chance = |point: &Point, salt: &str| {
        let hash =
            format!("{point}{salt}").bytes().fold(7_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
        real(hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) / real(1 << 24)
    };
    // Of a variance of 1, a quarter is the axis's. Without regard to chance, `many` would explain about a tenth.
    let shares: Vec<Vec<f64>> = (0..20)
        .map(|seed| {
            let time = |point: &Point| 100.0 * (real(point.integer("a")) + 3.0 * chance(point, &format!("time {seed}"))).exp();
            let is_taken = |configuration| chance(&space.point(configuration), &format!("taken {seed}")) < 0.25;
            let some = trials(&space, is_taken, time);
            shares(&answered(&space, &some, None).unwrap())
        })
        .collect();
    for shares in &shares {
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?} are more or less than the whole");
    }
    let mean = |i: usize| shares.iter().map(|shares| shares[i]).sum::<f64>() / 20.0;
    // A share can't be less than nothing, so that the mean of nothing is a little more.
    assert_near(&[0, 1, 2, 3].map(mean), &[0.25, 0.0, 0.0, 0.75], 0.06);
}

#[test]
fn too_few_tell_no_shares() {
    let space = space(&[("a", 2), ("b", 2), ("c", 40)]);
    let answer = answered(&space, &trials(&space, |configuration| configuration % 40 == 0, product), None).unwrap();
    assert_eq!((answer.axes[0].share, answer.together), (None, None));
    let same = answered(&space, &trials(&space, |_| true, |_| 7.0), None).unwrap();
    assert_eq!((same.axes[0].share, same.together), (None, None));
}

#[test]
fn losses_are_those_beside_the_best() {
    let space = space(&[("a", 4), ("b", 2)]);
    let at = |a: u64, b: u64| point(&[("a", a), ("b", b)]);
    let trials = [
        trial(at(1, 1), timing(100.0, 0.0)),
        trial(at(0, 1), timing(300.0, 0.0)),
        trial(at(2, 1), rough(110.0, 0.0)),
        failed(at(3, 1), Status::OutOfMemory),
        trial(at(2, 0), timing(105.0, 0.0)),
    ];
    let answer = answered(&space, &trials, None).unwrap();
    let [a, b] = &answer.axes[..] else { panic!("{:?}", answer.axes) };
    let loss = |loss: &Option<Loss>| loss.as_ref().map(|loss| (loss.value.clone(), (loss.ratio.value * 1000.0).round()));
    assert_eq!((a.best.clone(), a.others, a.measured), (Some(AxisValue::Integer(1)), 3, 2));
    assert_eq!((loss(&a.least), loss(&a.most)), (Some((2_u64.into(), 1100.0)), Some((0_u64.into(), 3000.0))));
    assert_eq!((b.others, b.measured, loss(&b.least)), (1, 0, None), "(1, 0) wasn't measured");
    let flat = Flatness { measured: 4, configurations: 8, within_5_percent: 2, within_10_percent: 3 };
    assert_eq!((answer.flatness, answer.failures["out_of_memory"].count), (flat, 1));
}

// ---- as JSON --------------------------------------------------------------------------------------------------------------

fn an_answer() -> Answer {
    let axes = [
        Dimension::new("local_size_x", [32_u64, 64, 128, 256]),
        Dimension { name: "order".into(), values: vec!["row".into(), "column".into()] },
    ];
    let space = Space::new(axes, |_| Ok::<_, Infallible>(true)).unwrap();
    let at = |x: u64, order: &'static str| Point::new([("local_size_x".into(), x.into()), ("order".into(), order.into())]);
    let trials = [
        trial(at(32, "row"), timing(123_456.0, 0.004)),
        trial(at(64, "row"), timing(101_000.0, 0.004)),
        trial(at(128, "row"), timing(101_200.0, 0.004)),
        trial(at(32, "column"), rough(250_000.0, 0.05)),
        failed(at(64, "column"), Status::WrongResult),
        trial(at(256, "row"), rough(254_000.0, 0.05)),
        trial(at(256, "column"), rough(291_000.0, 0.05)),
        trial(at(128, "column"), rough(104_000.0, 0.05)),
    ];
    answered(&space, &trials, Some(&at(32, "row"))).unwrap()
}

#[test]
fn an_answer_is_json() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&an_answer().best).unwrap(), @r#"
    {
      "point": {
        "local_size_x": 64,
        "order": "row"
      },
      "time_ns": 101000.0,
      "ci_low_ns": 100596.0,
      "ci_high_ns": 101404.0,
      "is_precise": true,
      "ratio": {
        "value": 1.0,
        "low": 1.0,
        "high": 1.0
      }
    }
    "#);
    let json = serde_json::to_value(an_answer()).unwrap();
    assert_eq!(json["default"]["gain"]["value"].as_f64().unwrap(), 123_456.0 / 101_000.0);
    assert_eq!(json["axes"][1]["axis"], "order");
    assert_eq!(json["failures"]["wrong_result"]["count"], 1);
}
