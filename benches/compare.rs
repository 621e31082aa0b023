//! Comparison of rows whose truth is known: how often is it right?
//!
//! `cargo bench --bench compare [-- COMPARISONS [WORD...]]` simulates so many comparisons (1,000 if none is said) of 200 cases in each of
//! many worlds, or of those whose line has all of these words, and prints of each: comparisons with any false verdict, the mean share of false ones among all verdicts, unchanged cases that
//! are called the same, changed ones that are found, intervals that hold the truth, how wide these are beside those of one who knows
//! all spreads; and of the whole, how often it is called faster or slower, and how often its interval holds the truth. `tests/host/truth.rs` holds a short form to its bounds.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it found")]
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

#[path = "../tests/support/simulated.rs"]
mod simulated;

use lanescope::analysis::compare::Verdict;
use rayon::prelude::*;
use simulated::{Clock, Found, World, simulate};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let comparisons = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(1000);
    let words: Vec<&String> = arguments.iter().filter(|argument| argument.parse::<u64>().is_err()).collect();
    println!("any_false false_share same_% found_% held_% width whole: called_% held_%  world");
    for (world, name) in clocks().into_iter().chain(wholes()) {
        if words.iter().all(|word| name.contains(word.as_str())) {
            print(&world, &name, comparisons);
        }
    }
    for experiment in ["peak/arith", "memory/stream", "dispatch/empty"] {
        for (processes, runs) in [(1, 1), (3, 1), (6, 1), (1, 3), (6, 3)] {
            for rounds in [0.0005, 0.002, 0.005, 0.01, 0.02] {
                for changed in [(0, 0.0), (20, -0.02), (20, 0.05)] {
                    for (is_uneven, has_rounds) in [(false, true), (true, true), (false, false)] {
                        let world =
                            World { experiment, processes, runs, rounds, changed, is_uneven, has_rounds, ..World::QUIET };
                        let name = name(&world);
                        if words.iter().all(|word| name.contains(word.as_str())) {
                            print(&world, &name, comparisons);
                        }
                    }
                }
            }
        }
    }
}

/// Studies of 63 cases whose clock takes steps, compared within 0.25 %.
fn clocks() -> Vec<(World, String)> {
    let mut worlds = Vec::new();
    for (moves, lower, is_measured) in
        [(0.0003, 0.0, true), (0.001, 0.0, true), (0.0003, 1.0, true), (0.0003, 0.0, false), (0.0003, 1.0, false)]
    {
        for changed in [(0, 0.0), (1, -0.005), (1, -0.0075), (6, -0.02)] {
            let clock = Some(Clock { switches: 1.0 / 150.0, lower, is_measured });
            let (moves, margin) = (Some(moves), Some(0.0025));
            let world = World { processes: 6, cases: 63, rounds: 0.0002, changed, clock, moves, margin, ..World::QUIET };
            let told = if is_measured { "measured" } else { "not measured" };
            let moves = 100.0 * moves.unwrap_or_default();
            worlds.push((world, format!("clock {told}, {lower} steps lower, moves {moves:.2} % changed {changed:?}")));
        }
    }
    worlds
}

/// What moves cases apart, families or runs as a whole, where nothing or all of it changed.
fn wholes() -> Vec<(World, String)> {
    let mut worlds = Vec::new();
    let quiet = World { cases: 60, rounds: 0.002, ..World::QUIET };
    for (moves, common, of_family, runs) in [
        (0.001, 0.0, 0.0, 1),
        (0.01, 0.0, 0.0, 1),
        (0.001, 0.0, 0.01, 1),
        (0.001, 0.001, 0.0, 1),
        (0.001, 0.003, 0.0, 1),
        (0.001, 0.01, 0.0, 1),
        (0.01, 0.0, 0.0, 3),
        (0.001, 0.0, 0.01, 3),
        (0.001, 0.01, 0.0, 3),
        (0.01, 0.01, 0.0, 3),
    ] {
        for whole in [0.0, -0.05, -0.24] {
            let families = (if of_family > 0.0 { 6 } else { 1 }, of_family);
            let world = World { moves: Some(moves), common, families, runs, whole, ..quiet };
            let [moves, common, of_family, whole] = [moves, common, of_family, whole].map(|share| 100.0 * share);
            let name = format!("whole {whole} %, {runs} runs, cases move {moves:.1} %, families {of_family} %, all {common} %");
            worlds.push((world, name));
        }
    }
    for cases in [30, 200] {
        for is_uneven in [false, true] {
            let world = World { moves: Some(0.01), cases, is_uneven, rounds: 0.002, ..World::QUIET };
            worlds.push((world, format!("softened: {cases} cases move 1 %{}", if is_uneven { " uneven" } else { "" })));
        }
    }
    worlds
}

fn name(world: &World) -> String {
    format!(
        "{} {}x{} rounds {:.2} % changed {:?}{}{}",
        world.experiment,
        world.runs,
        world.processes,
        100.0 * world.rounds,
        world.changed,
        if world.is_uneven { " uneven" } else { "" },
        if world.has_rounds { "" } else { " intervals alone" },
    )
}

fn print(world: &World, name: &str, comparisons: u64) {
    let all: Vec<Found> = (0..comparisons).into_par_iter().map(|seed| simulate(world, seed)).collect();
    let sum = |of: fn(&Found) -> usize| all.iter().map(of).sum::<usize>() as f64;
    let any = all.iter().filter(|found| found.wrong > 0).count() as f64 / all.len() as f64;
    let share: f64 =
        all.iter().map(|found| found.wrong as f64 / (found.wrong + found.right).max(1) as f64).sum::<f64>() / all.len() as f64;
    let changed = world.changed.0 as f64 * all.len() as f64;
    let widths = all.iter().fold((0.0, 0.0), |sum, found| (sum.0 + found.widths.0, sum.1 + found.widths.1));
    let called = all.iter().filter(|found| matches!(found.whole.0, Verdict::Faster | Verdict::Slower)).count() as f64;
    let whole_held = all.iter().filter(|found| found.whole.1).count() as f64;
    println!(
        "{any:9.3} {share:11.4} {:6.1} {:7.1} {:6.1} {:5.2} {:15.1} {:6.1}  {name}",
        100.0 * sum(|found| found.same) / (sum(|found| found.cases) - changed),
        100.0 * sum(|found| found.right) / changed,
        100.0 * sum(|found| found.held) / sum(|found| found.cases),
        widths.0 / widths.1,
        100.0 * called / all.len() as f64,
        100.0 * whole_held / all.len() as f64,
    );
}
