//! Which configuration to measure next.
//!
//! A strategy is asked for configurations and told what they cost; in between, the caller compiles and measures as it likes. None
//! knows how much may be measured in all: each gives its best guess at any time, and goes on until everything was tried.

mod book;
mod hill_climbing;
mod listing;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::space::Space;
use book::Book;
use hill_climbing::HillClimbing;
use listing::Listing;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    Exhaustive,
    /// Configurations by chance: the yardstick for the others.
    Random,
    /// From good ones to better neighbours; from where there is none, a jump nearby (greedy iterated local search).
    HillClimbing,
}

impl Strategy {
    pub const ALL: [Self; 3] = [Self::Exhaustive, Self::Random, Self::HillClimbing];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exhaustive => "exhaustive",
            Self::Random => "random",
            Self::HillClimbing => "hill-climbing",
        }
    }
}

/// What a search may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    Time(Duration),
    Count(usize),
}

/// The least that a search spends which isn't to look at everything.
const FEW: usize = 256;

impl Budget {
    /// What a search of so many configurations spends where nothing is said.
    pub fn usual(strategy: Strategy, configurations: usize) -> Self {
        match strategy {
            Strategy::Exhaustive | Strategy::Random => Self::Count(configurations),
            _ => Self::Count(configurations.min(FEW.max(configurations / 20))),
        }
    }
}

/// Chooses configurations of a space. The same seed and the same answers lead to the same choices.
pub trait Search {
    /// The configurations to be measured next, at most so many, none twice. A strategy that needs answers first gives fewer. It
    /// gives none where it has to be told first what is out, and, once all is told, where everything was tried.
    fn ask(&mut self, most: usize) -> Vec<usize>;

    /// What was measured: a cost, such as a time, or none where the configuration failed. What was never asked for may be told as
    /// well, such as from an earlier run; it is not asked for then.
    fn tell(&mut self, configuration: usize, cost: Option<f64>);
}

/// A search of a space that asks for `start` first, such as the default configuration. Only where it is a good one does it look
/// around it, so that a bad default costs no more than its own measurement.
pub fn search<'s>(strategy: Strategy, space: &'s Space, seed: u64, start: Option<usize>) -> Box<dyn Search + 's> {
    match strategy {
        Strategy::Exhaustive => Box::new(Listing { book: Book::in_order(space, start) }),
        Strategy::Random => Box::new(Listing { book: Book::new(space, seed, start) }),
        Strategy::HillClimbing => Box::new(HillClimbing::new(space, seed, start)),
    }
}

#[cfg(test)]
mod tests;
