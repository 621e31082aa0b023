//! Simulated annealing (Kirkpatrick, Gelatt, Vecchi: Optimization by Simulated Annealing, Science 220, 1983), on the logarithm of the
//! cost, so that the unit of time doesn't matter, and reheated whenever it has cooled.

use rand::Rng;
use rand::seq::IndexedRandom;

use super::Search;
use super::book::Book;
use crate::tuning::space::Space;

/// Configurations by chance, of which the best is where it begins.
const FIRST: usize = 16;
/// Steps that may be out at a time.
const BATCH: usize = 4;
/// At the start of the first cycle, one in e steps is taken to a neighbour that costs so much more (as a logarithm).
const HOT: f64 = 0.2;
/// The same at the end of a cycle, and in later cycles at the start.
const COLD: f64 = 0.005;
const REHEATED: f64 = 0.08;
/// Steps of a cycle for each neighbour that a configuration has: so many that each could be tried some times.
const STEPS: usize = 4;
/// Steps in a row to what is known already, after which it goes elsewhere.
const IDLE: usize = 100;

/// Simulated annealing.
pub(super) struct Annealing<'s> {
    book: Book<'s>,
    /// How many are still to be asked for by chance.
    sampling: usize,
    samples: Vec<usize>,
    at: Option<usize>,
    /// The neighbours of where it is: those next to it, and all.
    near: Vec<usize>,
    around: Vec<usize>,
    heat: f64,
    /// What the heat is multiplied by at each step.
    cooling: f64,
}

impl<'s> Annealing<'s> {
    pub fn new(space: &'s Space, seed: u64, start: Option<usize>) -> Self {
        let book = Book::new(space, seed, start);
        let mut this = Self {
            book,
            sampling: FIRST,
            samples: Vec::new(),
            at: None,
            near: Vec::new(),
            around: Vec::new(),
            heat: HOT,
            cooling: 1.0,
        };
        this.heat_to(HOT);
        this
    }

    /// Begins a cycle that ends cold.
    #[expect(clippy::cast_precision_loss, reason = "axes have few values")]
    fn heat_to(&mut self, heat: f64) {
        let neighbours: usize = self.book.space.axes().iter().map(|axis| axis.values.len() - 1).sum();
        let steps = (STEPS * neighbours.max(1)) as f64;
        (self.heat, self.cooling) = (heat, (COLD / heat).powf(1.0 / steps));
    }

    fn go(&mut self, to: usize) {
        if self.at != Some(to) {
            self.at = Some(to);
            self.near = self.book.space.adjacent(to);
            self.around = self.book.space.neighbours(to);
        }
    }

    /// Decides on a step to a configuration whose cost is known.
    fn step(&mut self, to: usize) {
        let Some(at) = self.at else { return };
        let costs = [at, to].map(|configuration| self.book.cost(configuration).unwrap_or(f64::INFINITY));
        let worse = (costs[1] / costs[0]).ln();
        if costs[1] < costs[0] || self.book.rng.random::<f64>() < (-worse / self.heat).exp() {
            self.go(to);
        }
        self.heat *= self.cooling;
        if self.heat < COLD {
            self.go(self.book.best().unwrap_or(at));
            self.heat_to(REHEATED);
        }
    }

    /// A neighbour that wasn't seen yet; those that were are stepped to, or not, on the way.
    fn neighbour(&mut self) -> Option<usize> {
        for _ in 0..IDLE {
            // Long axes have many values far off and few near by, which are more alike.
            let nearby = self.book.rng.random::<bool>();
            let to = if nearby { &self.near } else { &self.around }.choose(&mut self.book.rng).copied()?;
            if self.book.ask(to) {
                return Some(to);
            }
            if self.book.cost(to).is_some() {
                self.step(to);
            }
        }
        None
    }

    fn next(&mut self) -> Option<usize> {
        if self.sampling > 0 {
            self.sampling -= 1;
            let any = self.book.ask_any();
            self.samples.extend(any);
            return any;
        }
        if !self.samples.is_empty() {
            if self.book.is_waiting() {
                return None;
            }
            let samples = std::mem::take(&mut self.samples);
            if let Some(best) = self.book.ranked(samples).first() {
                self.go(*best);
            }
        }
        // Where all around is known, one from elsewhere is a step like any other.
        self.neighbour().or_else(|| self.book.ask_any())
    }
}

impl Search for Annealing<'_> {
    fn ask(&mut self, most: usize) -> Vec<usize> {
        let most = if self.sampling > 0 { most } else { most.min(BATCH) };
        let mut asked = Vec::new();
        while asked.len() < most {
            let Some(next) = self.next() else { break };
            asked.push(next);
        }
        asked
    }

    fn tell(&mut self, configuration: usize, cost: Option<f64>) {
        self.book.tell(configuration, cost);
        self.step(configuration);
    }
}
