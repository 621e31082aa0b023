//! What a search has asked for, and what it was told.

use std::collections::{HashMap, HashSet};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::model::Permutation;
use crate::tuning::space::Space;

pub(super) struct Book<'s> {
    pub space: &'s Space,
    pub rng: ChaCha8Rng,
    seen: HashSet<usize>,
    out: HashSet<usize>,
    costs: HashMap<usize, f64>,
    /// All configurations in an order of chance, else in their own; and how many of them were looked at.
    order: Option<Permutation>,
    passed: usize,
    start: Option<usize>,
}

impl<'s> Book<'s> {
    pub fn new(space: &'s Space, seed: u64, start: Option<usize>) -> Self {
        Self {
            space,
            rng: ChaCha8Rng::seed_from_u64(seed),
            seen: HashSet::new(),
            out: HashSet::new(),
            costs: HashMap::new(),
            order: Some(Permutation::new(seed, space.len() as u64)),
            passed: 0,
            start,
        }
    }

    pub fn in_order(space: &'s Space, start: Option<usize>) -> Self {
        Self { order: None, ..Self::new(space, 0, start) }
    }

    /// Takes note of a configuration to be asked for; not of one that was seen before.
    pub fn ask(&mut self, configuration: usize) -> bool {
        let is_new = self.seen.insert(configuration);
        if is_new {
            self.out.insert(configuration);
        }
        is_new
    }

    /// Asks for the start, then for any configuration that wasn't seen yet; for none where all were.
    pub fn ask_any(&mut self) -> Option<usize> {
        if let Some(start) = self.start.take().filter(|start| !self.seen.contains(start)) {
            self.ask(start);
            return Some(start);
        }
        while self.passed < self.space.len() {
            #[expect(clippy::cast_possible_truncation, reason = "below the number of configurations")]
            let configuration = self.order.as_ref().map_or(self.passed, |order| order.at(self.passed as u64) as usize);
            self.passed += 1;
            if self.ask(configuration) {
                return Some(configuration);
            }
        }
        None
    }

    /// Takes note of an answer. A cost that is no number is a failure.
    pub fn tell(&mut self, configuration: usize, cost: Option<f64>) {
        let cost = cost.filter(|cost| !cost.is_nan()).unwrap_or(f64::INFINITY);
        self.seen.insert(configuration);
        self.out.remove(&configuration);
        self.costs.insert(configuration, cost);
    }

    pub fn is_waiting(&self) -> bool {
        !self.out.is_empty()
    }

    pub fn is_seen(&self, configuration: usize) -> bool {
        self.seen.contains(&configuration)
    }

    /// What a configuration costs, infinitely much where it failed; nothing where that isn't told.
    pub fn cost(&self, configuration: usize) -> Option<f64> {
        self.costs.get(&configuration).copied()
    }

    /// Those of some configurations that are told, the cheapest first.
    pub fn ranked(&self, configurations: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut told: Vec<(f64, usize)> =
            configurations.into_iter().filter_map(|configuration| Some((self.cost(configuration)?, configuration))).collect();
        told.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        told.dedup();
        told.into_iter().map(|(_, configuration)| configuration).collect()
    }
}
