//! Fleets whose truth is known: how often is a machine named that doesn't deviate, and how often one that does?
//!
//! `cargo bench --bench fleet [-- FLEETS [MACHINES...]]` simulates so many fleets (200 if none is said) of each world, of these numbers of
//! machines, and prints of each: fleets in which a machine is named falsely, the mean share of false ones among those that are named, and
//! the share of the deviating ones that are found. `tests/host/fleet.rs` holds a short form to its bounds.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it found")]
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

#[path = "../tests/support/fleets.rs"]
mod fleets;

use fleets::{Found, World, simulate};
use rayon::prelude::*;

/// What deviates by less isn't named.
const MARGIN: f64 = 0.0025;

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse::<u32>().ok());
    let fleets = numbers.next().unwrap_or(200).into();
    let asked: Vec<usize> = numbers.map(|machines| machines as usize).collect();
    let sizes = if asked.is_empty() { vec![6, 8, 12, 20, 50, 200] } else { asked };
    println!("any_false false_share found_% levels  world");
    for machines in sizes {
        for of_machines in [[0.002, 0.001, 0.002], [0.0005, 0.0005, 0.001], [0.01, 0.002, 0.002]] {
            for runs in [1, 3] {
                for (count, family, by) in [
                    (0, None, 0.0),
                    (1, Some("memory"), -0.01),
                    (machines / 10, Some("memory"), -0.01),
                    (1, None, -0.02),
                    (1, Some("peak"), -0.1),
                ] {
                    let world = World { machines, runs, of_machines, changed: (count, family, by), ..World::STUDY };
                    print(&world, fleets);
                }
            }
        }
    }
    for common in [0.0, -0.01, -0.05] {
        print(&World { racks: Some((10, common)), ..World::STUDY }, fleets);
        print(&World { racks: Some((10, common)), changed: (1, Some("memory"), -0.015), ..World::STUDY }, fleets);
    }
}

fn print(world: &World, fleets: u64) {
    let all: Vec<Found> = (0..fleets).into_par_iter().map(|seed| simulate(world, seed, MARGIN).0).collect();
    let mean = |of: &dyn Fn(&Found) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    let World { machines, runs, of_machines, changed, racks, .. } = world;
    println!(
        "{:9.3} {:11.3} {:7.1} {:6.2}  {machines} machines, {runs} runs, machines move {of_machines:?}, changed {changed:?}, racks {racks:?}",
        mean(&|found| f64::from(u8::from(found.wrong > 0))),
        mean(&Found::false_share),
        100.0 * mean(&|found| found.right as f64) / changed.0.max(1) as f64,
        mean(&|found| found.levels as f64),
    );
}
