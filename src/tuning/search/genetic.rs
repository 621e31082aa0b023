//! A genetic algorithm: the population is the best that were measured, a child has each axis from one of two parents, and some
//! axes change by chance.

use rand::Rng;
use rand::seq::IteratorRandom;

use super::Search;
use super::book::Book;
use crate::tuning::space::Space;

/// The first generation, by chance.
const FIRST: usize = 24;
/// How many live: parents are the best ones only.
const POPULATION: usize = 12;
/// Children that may be out at a time.
const BATCH: usize = 8;
/// Tries at a child that is allowed and new.
const TRIES: usize = 100;
/// Children of which one comes from elsewhere, so that the population does not end as one family.
const STRANGERS: usize = 12;

/// A genetic algorithm whose children compete with their parents at once (steady state).
pub(super) struct Genetic<'s> {
    book: Book<'s>,
    /// How many of the first generation are still to be asked for.
    first: usize,
    /// The best, the cheapest first.
    population: Vec<usize>,
    children: usize,
}

impl<'s> Genetic<'s> {
    pub fn new(space: &'s Space, seed: u64, start: Option<usize>) -> Self {
        Self { book: Book::new(space, seed, start), first: FIRST, population: Vec::new(), children: 0 }
    }

    /// The better of two by chance.
    fn parent(&mut self) -> Option<usize> {
        let places = 0..self.population.len();
        let two = [places.clone().choose(&mut self.book.rng)?, places.choose(&mut self.book.rng)?];
        two.into_iter().min().map(|place| self.population[place])
    }

    /// A configuration that wasn't seen yet, out of two parents and chance.
    fn child(&mut self) -> Option<usize> {
        let space = self.book.space;
        for _ in 0..TRIES {
            let parents = [self.parent()?, self.parent()?].map(|parent| space.places(parent));
            let rng = &mut self.book.rng;
            let mut places: Vec<usize> =
                (0..space.axes().len()).map(|axis| parents[usize::from(rng.random::<bool>())][axis]).collect();
            let mutations = if parents[0] == parents[1] { 1 } else { usize::from(rng.random::<bool>()) };
            for _ in 0..mutations {
                let axis = (0..places.len()).choose(rng)?;
                places[axis] = rng.random_range(0..space.axes()[axis].values.len());
            }
            let child = space.at(&places);
            if let Some(child) = child.filter(|child| self.book.ask(*child)) {
                return Some(child);
            }
        }
        None
    }

    fn next(&mut self) -> Option<usize> {
        if self.first > 0 {
            self.first -= 1;
            return self.book.ask_any();
        }
        if self.population.len() < POPULATION && self.book.is_waiting() {
            return None;
        }
        self.children += 1;
        if self.children % STRANGERS == 0 {
            return self.book.ask_any();
        }
        self.child().or_else(|| self.book.ask_any())
    }
}

impl Search for Genetic<'_> {
    fn ask(&mut self, most: usize) -> Vec<usize> {
        let most = if self.first > 0 { most } else { most.min(BATCH) };
        let mut asked = Vec::new();
        while asked.len() < most {
            let Some(next) = self.next() else { break };
            asked.push(next);
        }
        asked
    }

    fn tell(&mut self, configuration: usize, cost: Option<f64>) {
        self.book.tell(configuration, cost);
        let all = self.population.iter().copied().chain([configuration]);
        self.population = self.book.ranked(all);
        self.population.truncate(POPULATION);
    }
}
