//! When a case has been measured enough. Pure, so that synthetic streams can test it.

use std::time::Duration;

use crate::model::Stop;

/// The numbers of rounds after which precision is judged. Judging after each would stop at lucky moments and make intervals too narrow.
/// Six is the least whose range of medians is a 95 % interval.
pub const JUDGED_ROUNDS: [u32; 6] = [6, 9, 13, 19, 27, 39];

/// The most rounds that a case is visited in for its own sake, and to tell how it compares with others.
pub const LAST_ROUND: u32 = JUDGED_ROUNDS[3];
pub const LAST_HELD: u32 = JUDGED_ROUNDS[JUDGED_ROUNDS.len() - 1];

/// What is held has this time at least: the few that may be the fastest of many decide what they were searched for.
pub const LEAST_HELD: Duration = Duration::from_millis(250);

#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Rounds that it was visited in so far: one of [`JUDGED_ROUNDS`].
    pub round: u32,
    /// Noise (half the interval over the median) at each judgement so far, this one included.
    pub noise: &'a [f64],
    pub max_noise: f64,
    /// Whether it isn't known yet how it compares with others.
    pub is_held: bool,
    pub spent: Duration,
    pub max_time: Duration,
}

/// Noise that fell by less than this share since a judgement ago has stopped falling.
const FALLING: f64 = 0.05;

pub fn judge(progress: &Progress) -> Option<Stop> {
    if progress.is_held && may_go_on(progress) {
        return None;
    }
    let noise = progress.noise.last().copied().unwrap_or(f64::INFINITY);
    if noise <= progress.max_noise {
        return Some(Stop::Precise);
    }
    if has_stopped_falling(progress.noise) {
        return Some(Stop::Stable);
    }
    if may_go_on(progress) { None } else { Some(Stop::Budget) }
}

/// Noise must fail to fall twice in a row: once happens by chance.
fn has_stopped_falling(noise: &[f64]) -> bool {
    let flat = |pair: &[f64]| pair[1] > pair[0] * (1.0 - FALLING);
    noise.len() >= 3 && noise[noise.len() - 3..].windows(2).all(flat)
}

/// Whether there is another judgement, and the time for it if rounds take as long as those so far.
fn may_go_on(progress: &Progress) -> bool {
    let Progress { round, is_held, spent, max_time, .. } = *progress;
    let (last, max_time) = if is_held { (LAST_HELD, max_time.max(LEAST_HELD)) } else { (LAST_ROUND, max_time) };
    let next = JUDGED_ROUNDS.into_iter().find(|next| *next > round).filter(|next| *next <= last);
    next.is_some_and(|next| spent / round.max(1) * next <= max_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(round: u32, noise: &[f64]) -> Progress<'_> {
        let [spent, max_time] = [Duration::from_millis(u64::from(round) * 10), Duration::from_secs(1)];
        Progress { round, noise, max_noise: 0.01, is_held: false, spent, max_time }
    }

    #[test]
    fn a_precise_case_leaves_at_once() {
        assert_eq!(judge(&progress(6, &[0.01])), Some(Stop::Precise));
        assert_eq!(judge(&progress(6, &[0.02])), None);
    }

    #[test]
    fn noise_that_stays_is_stable_only_after_two_looks() {
        assert_eq!(judge(&progress(9, &[0.05, 0.05])), None);
        assert_eq!(judge(&progress(13, &[0.05, 0.05, 0.05])), Some(Stop::Stable));
        assert_eq!(judge(&progress(13, &[0.05, 0.05, 0.03])), None);
    }

    #[test]
    fn the_last_round_and_the_budget_end_it() {
        assert_eq!(judge(&progress(19, &[0.08, 0.06, 0.04, 0.03])), Some(Stop::Budget));
        let poor = Progress { max_time: Duration::from_millis(80), ..progress(6, &[0.05]) };
        assert_eq!(judge(&poor), Some(Stop::Budget));
    }

    #[test]
    fn what_is_held_goes_on_while_there_are_rounds_and_time() {
        let held = |round| Progress { is_held: true, ..progress(round, &[0.05, 0.05, 0.001]) };
        assert_eq!(judge(&held(19)), None, "precise, but nobody knows how it compares");
        assert_eq!(judge(&held(39)), Some(Stop::Precise));
        let within = |max_time| Progress { max_time, ..held(6) };
        assert_eq!(judge(&within(Duration::from_millis(1))), None, "the least time that it has is left");
        let long = Progress { spent: LEAST_HELD, ..within(Duration::from_millis(300)) };
        assert_eq!(judge(&long), Some(Stop::Precise), "nine rounds take 375 ms");
    }

    #[test]
    fn noise_that_is_no_number_is_not_precise() {
        assert_eq!(judge(&progress(6, &[f64::NAN])), None);
    }
}
