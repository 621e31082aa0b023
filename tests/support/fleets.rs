//! Machines of one kind whose truth is known. Shared by `tests/host/fleet.rs` and `benches/fleet.rs`.
//!
//! A figure is what its machine, its machine's family, its run, its run's family and chance make of it, each by a lognormal factor.

#![allow(dead_code, reason = "each target needs a part of it")]

use std::collections::BTreeMap;

use lanescope::analysis::fleet::{Fleet, Judged, Verdict, judge};
use lanescope::model::AxisValue;
use lanescope::record::Record;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[derive(Clone, Debug)]
pub struct World {
    pub machines: usize,
    pub runs: usize,
    /// Cases of each family.
    pub cases: [(&'static str, usize); 5],
    /// Standard deviations: of machines as a whole, of their families, of their single cases; the same of runs.
    pub of_machines: [f64; 3],
    pub of_runs: [f64; 3],
    /// The machines that deviate, the first ones, and how: the family, and the logarithm of how many times as fast.
    pub changed: (usize, Option<&'static str>, f64),
    /// Machines of a rack, and what the first rack has in common.
    pub racks: Option<(usize, f64)>,
}

impl World {
    pub const STUDY: Self = Self {
        machines: 50,
        runs: 3,
        cases: [("memory", 60), ("cache", 50), ("shared", 40), ("peak", 40), ("algo", 30)],
        of_machines: [0.002, 0.001, 0.002],
        of_runs: [0.001, 0.001, 0.003],
        changed: (0, None, 0.0),
        racks: None,
    };
}

/// What came of one fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// Machines that are named, and don't deviate; and those that do.
    pub wrong: usize,
    pub right: usize,
    pub levels: usize,
}

impl Found {
    /// The share of false ones among all that are named.
    #[allow(clippy::cast_precision_loss, reason = "a few machines")]
    pub fn false_share(&self) -> f64 {
        self.wrong as f64 / (self.wrong + self.right).max(1) as f64
    }
}

struct Chance(ChaCha8Rng);

impl Chance {
    fn times(&mut self, deviation: f64) -> f64 {
        // The sum of twelve is normal enough, but for its tails.
        let sum: f64 = (0..12).map(|_| self.0.random::<f64>()).sum();
        deviation * (sum - 6.0)
    }
}

pub fn simulate(world: &World, seed: u64, margin: f64) -> (Found, Vec<Judged>) {
    let mut chance = Chance(ChaCha8Rng::seed_from_u64(seed));
    let factors = if world.racks.is_some() { vec!["rack".to_owned()] } else { Vec::new() };
    let mut fleet = Fleet::new(factors);
    let (changed, family, by) = world.changed;
    for machine in 0..world.machines {
        let rack = world.racks.map(|(of_rack, _)| machine / of_rack);
        let name = format!("node{machine:03}");
        let own = chance.times(world.of_machines[0]);
        let own_cases: Vec<Vec<f64>> = world
            .cases
            .iter()
            .map(|(of, count)| {
                let of_family = chance.times(world.of_machines[1]);
                let is_changed = machine < changed && family.is_none_or(|family| family == *of);
                let more = own + of_family + if is_changed { by } else { 0.0 };
                (0..*count).map(|_| more + chance.times(world.of_machines[2])).collect()
            })
            .collect();
        let of_rack = world.racks.filter(|_| rack == Some(0)).map_or(0.0, |(_, common)| common);
        for run in 0..world.runs {
            let whole = of_rack + chance.times(world.of_runs[0]);
            for ((of, _), cases) in world.cases.iter().zip(&own_cases) {
                let of_family = whole + chance.times(world.of_runs[1]);
                for (place, case) in cases.iter().enumerate() {
                    let log = case + of_family + chance.times(world.of_runs[2]);
                    let levels: Vec<String> = rack.map(|rack| format!("r{rack}")).into_iter().collect();
                    fleet.take(&row(of, place, &format!("{name}-{run}"), 100.0 * log.exp()), &name, levels);
                }
            }
        }
    }
    let judged = judge(&mut fleet, margin);
    let named = judged.iter().flat_map(|of| &of.machines).enumerate().filter(|(_, of)| of.verdict == Verdict::Deviates);
    let mut found = Found { levels: judged.iter().map(|of| of.levels.len()).sum(), ..Found::default() };
    named.for_each(|(at, _)| *if at < changed { &mut found.right } else { &mut found.wrong } += 1);
    (found, judged)
}

/// A row of a simulated machine.
pub fn row(family: &str, place: usize, run: &str, value: f64) -> Record {
    Record {
        experiment: format!("{family}/case"),
        axis_values: format!("n={place}"),
        by_axis: BTreeMap::from([("n".to_owned(), AxisValue::from(place as u64))]),
        case_id: format!("{family}{place}"),
        status: "ok".to_owned(),
        row_kind: "measured".to_owned(),
        value: Some(value),
        unit: "GB/s".to_owned(),
        run_id: run.to_owned(),
        device_name: "a device".to_owned(),
        ..Record::new()
    }
}
