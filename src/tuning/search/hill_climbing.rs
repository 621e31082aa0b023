//! Greedy iterated local search, after Kernel Tuner's `greedy_ils` (van Werkhoven, Kernel Tuner: A search-optimizing GPU code
//! auto-tuner, Future Generation Computer Systems 90, 2019): the first better neighbour is taken at once, where none is better a few
//! axes change by chance, and where that no longer helps it begins anew.

use rand::Rng;
use rand::seq::{IndexedRandom, SliceRandom};

use super::Search;
use super::book::Book;
use crate::tuning::space::Space;

/// Configurations by chance, of which the best is where climbing begins.
const FIRST: usize = 16;
const AGAIN: usize = 8;
/// Configurations that may be out at a time: what comes back may show that the others need not have been asked for.
const BATCH: usize = 8;
/// Jumps from one local optimum without a better one, before it begins anew.
const PATIENCE: u32 = 12;
/// Steps to an adjacent configuration that a jump has at most: far jumps lose what the optimum has found.
const JUMP: usize = 3;

enum Phase {
    /// It asks for so many more by chance; the best of those is the next to climb from.
    Sampling {
        left: usize,
        samples: Vec<usize>,
    },
    Landing(usize),
    Climbing {
        at: usize,
        untried: Vec<usize>,
    },
}

pub(super) struct HillClimbing<'s> {
    book: Book<'s>,
    phase: Phase,
    /// The best local optimum since it last began anew, and how many jumps from there led to nothing better.
    home: Option<usize>,
    jumps: u32,
}

impl<'s> HillClimbing<'s> {
    pub fn new(space: &'s Space, seed: u64, start: Option<usize>) -> Self {
        let phase = Phase::Sampling { left: FIRST, samples: Vec::new() };
        Self { book: Book::new(space, seed, start), phase, home: None, jumps: 0 }
    }

    /// Goes to a configuration whose cost is known, and on to those of its neighbours that are known to be better.
    fn climb(&mut self, mut at: usize) {
        let mut neighbours = self.book.space.neighbours(at);
        while let Some(better) =
            self.book.ranked(neighbours.iter().copied()).first().copied().filter(|n| self.is_better(*n, at))
        {
            at = better;
            neighbours = self.book.space.neighbours(at);
        }
        // Long axes have many values far off and few near by, which are more alike: those are tried first, and so stand last.
        let near = self.book.space.adjacent(at);
        neighbours.retain(|neighbour| !self.book.is_seen(*neighbour));
        neighbours.shuffle(&mut self.book.rng);
        neighbours.sort_by_key(|neighbour| near.contains(neighbour));
        self.phase = Phase::Climbing { at, untried: neighbours };
    }

    fn is_better(&self, a: usize, b: usize) -> bool {
        self.book.cost(a).unwrap_or(f64::INFINITY) < self.book.cost(b).unwrap_or(f64::INFINITY)
    }

    fn leave(&mut self, optimum: usize) {
        if self.home.is_none_or(|home| self.is_better(optimum, home)) {
            (self.home, self.jumps) = (Some(optimum), 0);
        }
        self.jumps += 1;
        let home = self.home.filter(|_| self.jumps <= PATIENCE);
        match home.and_then(|home| self.jump(home)) {
            Some(there) => self.phase = Phase::Landing(there),
            None => {
                self.home = None;
                self.phase = Phase::Sampling { left: AGAIN, samples: Vec::new() };
            }
        }
    }

    /// A configuration that wasn't seen yet, a few axes away.
    fn jump(&mut self, from: usize) -> Option<usize> {
        let space = self.book.space;
        for _ in 0..64 {
            let mut there = from;
            for _ in 0..self.book.rng.random_range(2..=JUMP) {
                there = space.adjacent(there).choose(&mut self.book.rng).copied()?;
            }
            if !self.book.is_seen(there) {
                return Some(there);
            }
        }
        None
    }

    /// The next configuration to ask for; none where answers are needed first, or nothing is left.
    fn next(&mut self) -> Option<usize> {
        loop {
            match &mut self.phase {
                Phase::Sampling { left, samples } if *left > 0 => {
                    let Some(any) = self.book.ask_any() else {
                        // Everything was asked for: what is still out can't change what comes next.
                        return None;
                    };
                    *left -= 1;
                    samples.push(any);
                    return Some(any);
                }
                Phase::Climbing { untried, .. } if !untried.is_empty() => {
                    let neighbour = untried.pop()?;
                    if self.book.ask(neighbour) {
                        return Some(neighbour);
                    }
                }
                Phase::Landing(there) if !self.book.is_seen(*there) => {
                    let there = *there;
                    self.book.ask(there);
                    return Some(there);
                }
                _ if self.book.is_waiting() => return None,
                Phase::Sampling { samples, .. } => {
                    let samples = std::mem::take(samples);
                    let best = self.book.ranked(samples)[0];
                    self.climb(best);
                }
                Phase::Landing(there) => {
                    let there = *there;
                    self.climb(there);
                }
                Phase::Climbing { at, .. } => {
                    let at = *at;
                    self.leave(at);
                }
            }
        }
    }
}

impl Search for HillClimbing<'_> {
    fn ask(&mut self, most: usize) -> Vec<usize> {
        let most = if matches!(self.phase, Phase::Sampling { .. }) { most } else { most.min(BATCH) };
        let mut asked = Vec::new();
        while asked.len() < most {
            let Some(next) = self.next() else { break };
            asked.push(next);
        }
        asked
    }

    fn tell(&mut self, configuration: usize, cost: Option<f64>) {
        self.book.tell(configuration, cost);
        if let Phase::Climbing { at, .. } = self.phase {
            if self.is_better(configuration, at) {
                self.climb(configuration);
            }
        }
    }
}
