//! By chance.

use super::Search;
use super::book::Book;
use crate::tuning::space::Space;

/// Every configuration, in an order of chance.
pub(super) struct Random<'s> {
    book: Book<'s>,
}

impl<'s> Random<'s> {
    pub fn new(space: &'s Space, seed: u64, start: Option<usize>) -> Self {
        Self { book: Book::new(space, seed, start) }
    }
}

impl Search for Random<'_> {
    fn ask(&mut self, most: usize) -> Vec<usize> {
        (0..most).map_while(|_| self.book.ask_any()).collect()
    }

    fn tell(&mut self, configuration: usize, cost: Option<f64>) {
        self.book.tell(configuration, cost);
    }
}
