//! Spaces whose every configuration has a known time, from rows or from a model, and searches replayed on them. Shared by
//! `tests/host/search.rs` and `benches/replay.rs`.

#![allow(dead_code, reason = "each target needs a part of it")]

pub mod models;
pub mod rows;

use lanescope::tuning::search::{Strategy, search};
use lanescope::tuning::space::Space;

/// A space and what each of its configurations takes; nothing where it fails.
pub struct Recorded {
    pub name: String,
    pub space: Space,
    pub times: Vec<Option<f64>>,
}

impl Recorded {
    /// The shortest time of all.
    pub fn optimum(&self) -> f64 {
        self.times.iter().flatten().copied().fold(f64::INFINITY, f64::min)
    }

    /// How many configurations take at most so many times the shortest time.
    pub fn within(&self, factor: f64) -> usize {
        let most = self.optimum() * factor;
        self.times.iter().flatten().filter(|time| **time <= most).count()
    }

    /// A share of the configurations, rounded down.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "few and positive"
    )]
    pub fn share(&self, share: f64) -> usize {
        (self.times.len() as f64 * share).floor() as usize
    }

    /// Lets a strategy search, a batch at a time. The best time over the optimum after each evaluation; fewer than asked for where
    /// the strategy came to an end.
    pub fn replay(&self, strategy: Strategy, seed: u64, batch: usize, evaluations: usize) -> Vec<f64> {
        let mut search = search(strategy, &self.space, seed, None);
        let (optimum, mut best, mut course) = (self.optimum(), f64::INFINITY, Vec::new());
        while course.len() < evaluations {
            let asked = search.ask(batch.min(evaluations - course.len()));
            if asked.is_empty() {
                break;
            }
            for configuration in asked {
                let time = self.times[configuration];
                best = time.unwrap_or(f64::INFINITY).min(best);
                course.push(best / optimum);
                search.tell(configuration, time);
            }
        }
        course
    }

    /// What strategies reach, seed by seed, after shares of all evaluations: a list of `best / optimum` for each share.
    pub fn replays(&self, strategy: Strategy, seeds: u64, batch: usize, shares: &[f64]) -> Vec<Vec<f64>> {
        let most = shares.iter().map(|share| self.share(*share)).max().unwrap_or(0);
        let courses: Vec<Vec<f64>> = (0..seeds).map(|seed| self.replay(strategy, seed, batch, most)).collect();
        let after = |course: &Vec<f64>, evaluations: usize| {
            course.get(evaluations.max(1) - 1).or(course.last()).copied().unwrap_or(f64::INFINITY)
        };
        shares.iter().map(|share| courses.iter().map(|course| after(course, self.share(*share))).collect()).collect()
    }
}
