//! Comparison is right about rows whose truth is known: a short form of `benches/compare.rs`.

#![expect(clippy::cast_precision_loss, reason = "its counts are small")]

use lanescope::analysis::compare::{FALSE_DISCOVERIES, Verdict};

use crate::support::simulated::{Clock, Found, World, simulate};

/// Comparisons of each world: a false verdict in three of them would be far more than a twentieth.
const COMPARISONS: u64 = 40;

fn of(world: World) -> Vec<Found> {
    (0..COMPARISONS).map(|seed| simulate(&world, seed)).collect()
}

fn sum(all: &[Found], what: fn(&Found) -> usize) -> f64 {
    f64::from(u32::try_from(all.iter().map(what).sum::<usize>()).unwrap())
}

/// One, three and six processes a run, three runs a side, and rows that have their interval alone.
fn shapes() -> impl Iterator<Item = World> {
    let shape = |(processes, runs, has_rounds)| World { processes, runs, has_rounds, ..World::QUIET };
    [(1, 1, true), (3, 1, true), (6, 1, true), (6, 3, true), (1, 1, false), (3, 1, false), (6, 1, false)].into_iter().map(shape)
}

#[test]
fn where_nothing_changed_nothing_is_said_to_have() {
    for world in shapes() {
        let all = of(world);
        let wrong = all.iter().filter(|found| found.wrong > 0).count();
        assert!(wrong <= 2, "{wrong} of {COMPARISONS} comparisons have a false verdict: {world:?}");
    }
}

/// A few cases that are far noisier than the others say nothing of how far those move from run to run.
#[test]
fn a_few_noisy_cases_do_not_make_the_others_look_steadier() {
    for (processes, runs, experiment) in [(1, 2, "memory/stream"), (6, 2, "memory/stream"), (1, 3, "dispatch/empty")] {
        let all = of(World { processes, runs, experiment, noisy: 10, rounds: 0.0005, ..World::QUIET });
        let wrong = all.iter().filter(|found| found.wrong > 0).count();
        assert!(
            wrong <= 2,
            "{wrong} of {COMPARISONS} comparisons have a false verdict: {experiment}, {runs} runs of {processes}"
        );
    }
}

/// A few cases that move twice as far as their class from run to run aren't said to have changed, however precise their rounds are.
#[test]
fn cases_that_move_unevenly_are_not_said_to_have_changed() {
    let worlds = [(1, 1, "peak/arith", 0.002), (6, 1, "memory/stream", 0.002), (6, 3, "dispatch/empty", 0.02)];
    let wrong = |(processes, runs, experiment, rounds)| {
        let all = of(World { processes, runs, experiment, rounds, is_uneven: true, ..World::QUIET });
        all.iter().filter(|found| found.wrong > 0).count()
    };
    let wrong: Vec<usize> = worlds.into_iter().map(wrong).collect();
    assert!(wrong.iter().sum::<usize>() <= 6, "of {COMPARISONS} comparisons each, so many have a false verdict: {wrong:?}");
}

#[test]
fn two_percent_are_found_beside_half_a_percent_from_round_to_round() {
    for world in shapes() {
        let all = of(World { changed: (20, -0.02), ..world });
        let (right, wrong) = (sum(&all, |found| found.right), sum(&all, |found| found.wrong));
        assert!(right > 0.95 * 20.0 * COMPARISONS as f64, "{right} were found: {world:?}");
        assert!(wrong < 5.0 * FALSE_DISCOVERIES * right, "{wrong} false beside {right}: {world:?}");
        assert_eq!(sum(&all, |found| found.missed), 0.0);
    }
}

#[test]
fn what_is_measured_well_is_called_the_same() {
    let all = of(World { rounds: 0.0005, ..World::QUIET });
    assert!(sum(&all, |found| found.same) > 0.95 * sum(&all, |found| found.cases));
}

#[test]
fn intervals_hold_the_truth_and_are_hardly_wider_than_they_have_to_be() {
    // At 1 % from round to round, rounds end when they happen to look precise.
    for (world, rounds) in shapes().flat_map(|world| [0.0005, 0.005, 0.01].map(|rounds| (world, rounds))) {
        let all = of(World { rounds, ..world });
        let held = sum(&all, |found| found.held) / sum(&all, |found| found.cases);
        let widths = all.iter().fold((0.0, 0.0), |sum, found| (sum.0 + found.widths.0, sum.1 + found.widths.1));
        assert!(held > 0.935, "{held} of the intervals hold the truth: {rounds} {world:?}");
        assert!(
            widths.0 < 1.3 * widths.1,
            "they are {} times as wide as they have to be: {rounds} {world:?}",
            widths.0 / widths.1
        );
    }
}

/// Studies of a GPU whose clock takes steps of 0.75 % that last for 150 visits, measured beside each.
const STEPS: Clock = Clock { switches: 1.0 / 150.0, lower: 0.0, is_measured: true };
const STUDY: World = World {
    processes: 6,
    cases: 63,
    rounds: 0.0002,
    clock: Some(STEPS),
    moves: Some(0.0003),
    margin: Some(0.0025),
    ..World::QUIET
};

#[test]
fn a_change_below_a_step_of_the_clock_is_found() {
    for (change, least) in [(-0.005, 0.85), (-0.0075, 0.95)] {
        let all = of(World { changed: (1, change), ..STUDY });
        let (right, wrong) = (sum(&all, |found| found.right), all.iter().filter(|found| found.wrong > 0).count());
        assert!(right >= least * COMPARISONS as f64 && wrong <= 2, "{right} of {COMPARISONS} found, {wrong} false: {change}");
    }
}

#[test]
fn a_step_of_the_clock_and_runs_that_move_more_are_no_change() {
    let lower = Clock { lower: 1.0, ..STEPS };
    let worlds = [World { clock: Some(lower), ..STUDY }, World { moves: Some(0.001), ..STUDY }];
    for world in worlds {
        let wrong = of(world).iter().filter(|found| found.wrong > 0).count();
        assert!(wrong <= 2, "{wrong} of {COMPARISONS} comparisons have a false verdict: {world:?}");
    }
    // Without the measured clock, a whole step is a change.
    let unmeasured = World { clock: Some(Clock { is_measured: false, ..lower }), ..STUDY };
    let wrong = of(unmeasured).iter().filter(|found| found.wrong > 0).count();
    assert!(wrong > 4, "the simulation can't fail: {wrong}");
}

#[test]
fn a_world_that_moves_more_than_it_is_told_to_shows() {
    // The same world, but figures move three times as much from process to process as the class says. Of many cases that is noticed.
    let all = of(World { of_processes: 3.0, rounds: 0.0005, cases: 10, ..World::QUIET });
    let held = sum(&all, |found| found.held) / sum(&all, |found| found.cases);
    assert!(held < 0.8, "the simulation can't fail: {held}");
}

/// All cases together: whatever moves cases, families or runs, nothing is said where nothing changed, and a loss of all is found.
#[test]
fn the_whole_has_a_verdict_where_all_changed() {
    const QUIET: World = World { cases: 60, rounds: 0.002, moves: Some(0.01), ..World::QUIET };
    let families = World { families: (6, 0.01), moves: Some(0.001), ..QUIET };
    let called = |world: World| {
        let all = of(world);
        let is_called = |found: &&Found| matches!(found.whole.0, Verdict::Slower | Verdict::Faster);
        (all.iter().filter(is_called).count(), all.iter().filter(|found| found.whole.1).count())
    };
    for world in [QUIET, families, World { runs: 3, ..QUIET }, World { runs: 3, ..families }] {
        let (changed, held) = called(world);
        assert!(changed <= 1 && held >= 37, "{changed} false, {held} hold: {world:?}");
        let whole = if world.runs > 1 { -0.05 } else { -0.24 };
        assert!(called(World { whole, ..world }).0 >= 38, "{world:?}");
    }
    // One run a side that moves as a whole can't be told from a change: the text says so.
    let (changed, _) = called(World { common: 0.01, moves: Some(0.001), ..QUIET });
    assert!(changed > 10, "the simulation can't fail: {changed}");
}
