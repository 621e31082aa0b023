//! Everything, in order.

use std::collections::HashSet;

use super::Search;
use crate::tuning::space::Space;

/// Every configuration, the start first.
pub(super) struct Exhaustive {
    start: Option<usize>,
    next: usize,
    len: usize,
    seen: HashSet<usize>,
}

impl Exhaustive {
    pub fn new(space: &Space, start: Option<usize>) -> Self {
        Self { start, next: 0, len: space.len(), seen: HashSet::new() }
    }
}

impl Search for Exhaustive {
    fn ask(&mut self, most: usize) -> Vec<usize> {
        let mut asked = Vec::new();
        while asked.len() < most && (self.start.is_some() || self.next < self.len) {
            let configuration = self.start.take().unwrap_or_else(|| {
                self.next += 1;
                self.next - 1
            });
            if self.seen.insert(configuration) {
                asked.push(configuration);
            }
        }
        asked
    }

    fn tell(&mut self, configuration: usize, _: Option<f64>) {
        self.seen.insert(configuration);
    }
}
