//! How many banks workgroup memory has, and how wide they are, from the times of strided reads.
//!
//! Lane i of a subgroup reads the 4 bytes at 4 x stride x i. A bank serves one of its words at a time: lanes that read different
//! words of one bank wait for each other, lanes that read the same word don't. Each number and width of banks so predicts the
//! time of every stride, up to two properties of the device: how much of the time conflicts add to, and how many of them
//! something slower than the memory hides. Of the candidates, the one that predicts best is taken, if it predicts well.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::experiments::common::sweep::{mean, sum_of_squares};
use crate::model::NoFigure;

/// The candidates: every number of banks with every width in bytes. 128 banks are known of no device; without them, what has more
/// than 64 would pass for 64.
const BANKS: [u64; 6] = [4, 8, 16, 32, 64, 128];
const WIDTHS: [u64; 3] = [4, 8, 16];

/// Bytes that a lane reads.
const READ_BYTES: u64 = 4;

/// Strides without which a trend, a cache line or an outlier could pass for banks: some of each kind, and where a candidate is
/// fast again after a slow power of two.
const ENOUGH: &str = "such as --axis stride=1,2,3,4,8,16,32,33,64";
const LEAST_STRIDES: usize = 8;
const LEAST_ODD: usize = 2;
const LARGE: u64 = 16;
/// A candidate is believed if at least so many strides conflict in it: one or two slow ones may be anything.
const LEAST_CONFLICTS: usize = 3;
/// A candidate is believed if it explains so much of the variance of the logarithms of the times.
const LEAST_EXPLAINED: f64 = 0.9;
/// And if a steady rise with the stride leaves so many times as much unexplained.
const MUCH: f64 = 4.0;
/// Banks are seen if conflicts slow reads down at least so much.
const LEAST_SLOWDOWN: f64 = 1.5;
/// Candidates can't be told apart where one leaves at most so many times as much unexplained as the other, or no more than
/// times vary anyway.
const ALIKE: f64 = 2.0;
const VARIATION: f64 = 0.02;

/// So many banks of so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    banks: u64,
    width: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// The best candidate and those that can't be told apart from it.
    alike: Vec<Candidate>,
    /// What it rests on and how sure it is.
    pub(super) note: String,
}

impl Finding {
    pub(super) fn banks(&self) -> Result<u64, NoFigure> {
        self.agreed(|candidate| candidate.banks)
    }

    /// Bytes that a bank gives at a time.
    pub(super) fn width(&self) -> Result<u64, NoFigure> {
        self.agreed(|candidate| candidate.width)
    }

    fn agreed(&self, of: impl Fn(&Candidate) -> u64) -> Result<u64, NoFigure> {
        let first = of(&self.alike[0]);
        if self.alike.iter().all(|candidate| of(candidate) == first) {
            return Ok(first);
        }
        let names: Vec<String> = self.alike.iter().map(Candidate::to_string).collect();
        Err(format!("the times of these strides can't distinguish {}: others may", names.join(" and ")).into())
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} banks of {} B", self.banks, self.width)
    }
}

/// Infers banks from the times of strides in words, read by subgroups of so many lanes.
pub(super) fn infer(lanes: u64, times: &[(u64, f64)]) -> Result<Finding, NoFigure> {
    enough(lanes, times)?;
    let slowdown = spread(&times.iter().map(|(_, time)| *time).collect::<Vec<_>>());
    if slowdown < LEAST_SLOWDOWN {
        return Err(none_seen(&format!("the slowest stride takes {slowdown:.2} times as long as the fastest")).into());
    }
    let points: Vec<(u64, f64)> = times.iter().map(|(stride, time)| (*stride, time.ln())).collect();
    let candidates = BANKS.iter().flat_map(|banks| WIDTHS.map(|width| Candidate { banks: *banks, width }));
    let mut fits: Vec<Fit> = candidates.map(|candidate| Fit::new(candidate, lanes, &points)).collect();
    fits.sort_by(|a, b| a.unexplained.total_cmp(&b.unexplained));
    let (best, variation) = (&fits[0], sum_of_squares(&points.iter().map(|(_, y)| *y).collect::<Vec<_>>()));
    let explained = |fit: &Fit| 1.0 - fit.unexplained / variation;
    if let Some(why) = doubt(best, explained(best), unexplained_by_a_rise(&points)) {
        return Err(none_seen(&format!("the nearest, {}, {why}", best.candidate)).into());
    }
    let scatter = VARIATION * VARIATION * count(points.len() as u64);
    let is_alike = |fit: &&Fit| fit.unexplained <= (ALIKE * best.unexplained).max(scatter);
    let (alike, others): (Vec<&Fit>, Vec<&Fit>) = fits.iter().partition(is_alike);
    let percent = |fit: &Fit| format!("{:.1} %", 100.0 * explained(fit));
    let next = others.first().map(|next| format!("; the next best, {}, {}", next.candidate, percent(next)));
    let note = format!(
        "{} explain {} of the variance of the logarithms of {} strides' times (subgroups of {lanes} lanes){}",
        best.candidate,
        percent(best),
        points.len(),
        next.unwrap_or_default()
    );
    Ok(Finding { alike: alike.iter().map(|fit| fit.candidate).collect(), note })
}

/// What speaks against the best candidate.
fn doubt(best: &Fit, explained: f64, unexplained_by_a_rise: f64) -> Option<String> {
    if explained < LEAST_EXPLAINED {
        let (percent, least) = (100.0 * explained, 100.0 * LEAST_EXPLAINED);
        Some(format!("explain {percent:.1} % of the variance of the times' logarithms, less than {least} %"))
    } else if best.unexplained * MUCH > unexplained_by_a_rise {
        Some("explain the times little better than a steady rise with the stride does".to_owned())
    } else if best.slowdown < LEAST_SLOWDOWN {
        Some(format!("slow down {:.2} times, less than {LEAST_SLOWDOWN}", best.slowdown))
    } else if best.conflicts < LEAST_CONFLICTS {
        Some(format!("have conflicts at {} of the strides, fewer than {LEAST_CONFLICTS}", best.conflicts))
    } else {
        None
    }
}

fn none_seen(why: &str) -> String {
    format!("no banks seen: {why}")
}

/// Whether the strides can tell banks from anything else that makes large strides slow.
fn enough(lanes: u64, times: &[(u64, f64)]) -> Result<(), NoFigure> {
    let strides: BTreeSet<u64> = times.iter().map(|(stride, _)| *stride).collect();
    let odd = || strides.iter().filter(|stride| **stride % 2 == 1 && **stride > 1);
    let is_enough = strides.len() >= LEAST_STRIDES
        && strides.contains(&1)
        && odd().count() >= LEAST_ODD
        && odd().any(|stride| *stride > LARGE);
    if !is_enough {
        return Err(NoFigure::TooFew(format!(
            "no banks to be inferred: at least {LEAST_STRIDES} strides are needed, 1 and {LEAST_ODD} larger odd ones among them, \
             one of these beyond {LARGE}, strided, of width 1 and without padding, {ENOUGH}"
        )));
    }
    if lanes < 2 {
        return Err(none_seen("a subgroup of one lane has no conflicts").into());
    }
    if times.iter().any(|(_, time)| !(time.is_finite() && *time > 0.0)) {
        return Err(none_seen("a time is no positive number").into());
    }
    Ok(())
}

/// How well a candidate predicts the times.
struct Fit {
    candidate: Candidate,
    /// The sum of the squares of the logarithms' errors.
    unexplained: f64,
    /// The largest predicted time over the smallest.
    slowdown: f64,
    conflicts: usize,
}

/// Strides that a candidate predicts the same time for.
struct Level {
    /// How many times as many wait for each other as at stride 1.
    relative: f64,
    strides: f64,
    /// The mean of their times' logarithms.
    mean: f64,
}

impl Fit {
    fn new(candidate: Candidate, lanes: u64, points: &[(u64, f64)]) -> Self {
        let mut predicted: Vec<(f64, f64)> =
            points.iter().map(|(stride, y)| (candidate.slow_down(lanes, *stride), *y)).collect();
        predicted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut levels, mut within) = (Vec::new(), 0.0);
        for level in predicted.chunk_by(|a, b| a.0 == b.0) {
            let times: Vec<f64> = level.iter().map(|(_, y)| *y).collect();
            within += sum_of_squares(&times);
            levels.push(Level { relative: level[0].0, strides: count(times.len() as u64), mean: mean(&times) });
        }
        let conflicts = predicted.iter().filter(|(relative, _)| *relative > 1.0).count();
        let (between, slowdown) = fit(&levels);
        Self { candidate, unexplained: within + between, slowdown, conflicts }
    }
}

/// Fits the two properties of the device by trying them all. Gives what is left unexplained of the levels' times, and the largest
/// predicted time over the smallest.
fn fit(levels: &[Level]) -> (f64, f64) {
    let mut best = (f64::INFINITY, 1.0);
    for share in (1..=48).map(|step| 0.025 * f64::from(step)) {
        for hidden in [1.0, 1.5, 2.0, 3.0, 4.0] {
            let times: Vec<f64> = levels.iter().map(|level| (1.0 + share * (level.relative - 1.0)).max(hidden)).collect();
            let errors = || levels.iter().zip(&times).map(|(level, time)| (level.strides, level.mean - time.ln()));
            // Their mean is the time that everything is relative to.
            let all: f64 = levels.iter().map(|level| level.strides).sum();
            let shared = errors().map(|(strides, error)| strides * error).sum::<f64>() / all;
            let unexplained = errors().map(|(strides, error)| strides * (error - shared) * (error - shared)).sum();
            if unexplained < best.0 {
                best = (unexplained, spread(&times));
            }
        }
    }
    best
}

impl Candidate {
    /// The candidate of so many banks of so many bytes, if it is one.
    pub(super) fn of(banks: f64, width: f64) -> Option<Self> {
        let known = |values: &[u64], value: f64| values.iter().copied().find(|known| count(*known) == value);
        Some(Self { banks: known(&BANKS, banks)?, width: known(&WIDTHS, width)? })
    }

    /// How many times as many words the busiest bank gives as at stride 1.
    pub(super) fn slow_down(self, lanes: u64, stride: u64) -> f64 {
        self.conflict(lanes, stride) / self.conflict(lanes, 1)
    }

    /// How many words the busiest bank gives for one read of all lanes, as a mean over how the lanes may lie on the banks' words.
    fn conflict(self, lanes: u64, stride: u64) -> f64 {
        let alignments = self.width / READ_BYTES;
        let total: u64 = (0..alignments).map(|shift| self.busiest(lanes, stride, shift)).sum();
        count(total) / count(alignments)
    }

    fn busiest(self, lanes: u64, stride: u64, shift: u64) -> u64 {
        // In order, so that equal words follow each other.
        let mut words: Vec<u64> = (0..lanes).map(|lane| READ_BYTES * (shift + stride * lane) / self.width).collect();
        words.dedup();
        let mut of_bank = BTreeMap::new();
        words.into_iter().for_each(|word| *of_bank.entry(word % self.banks).or_insert(0) += 1);
        of_bank.into_values().max().unwrap_or(0)
    }
}

/// What is left unexplained by any law after which times never fall as strides grow: a trend, a cache's end, a line for each lane
/// at last. These look like banks where strides are powers of two. (Isotonic regression, by pooling adjacent violators: Barlow
/// and others, Statistical Inference under Order Restrictions, 1972.)
fn unexplained_by_a_rise(points: &[(u64, f64)]) -> f64 {
    let mut points = points.to_vec();
    points.sort_by_key(|(stride, _)| *stride);
    let mut pools: Vec<Vec<f64>> = Vec::new();
    for (_, y) in points {
        let mut pool = vec![y];
        while pools.last().is_some_and(|before| mean(before) >= mean(&pool)) {
            pool.extend(pools.pop().unwrap_or_default());
        }
        pools.push(pool);
    }
    pools.iter().map(|pool| sum_of_squares(pool)).sum()
}

fn spread(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max) / values.iter().copied().fold(f64::INFINITY, f64::min)
}

#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn count(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A time by the stride, as a number and as it is.
    type Law = fn(f64, u64) -> f64;

    const FEW: [u64; 9] = [1, 2, 3, 4, 8, 16, 32, 33, 64];

    /// Strides of a default and of a quick run.
    fn sweeps() -> [Vec<u64>; 2] {
        [(1..=64).collect(), FEW.to_vec()]
    }

    /// A reproducible number, uniform from -1 to 1.
    fn noise(seed: u64, stride: u64) -> f64 {
        let mut z = ((seed << 32) | stride).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        f64::from(u32::try_from((z ^ (z >> 31)) >> 32).unwrap()) / f64::from(1_u32 << 31) - 1.0
    }

    /// Times in ns that differ by up to so much from a law.
    fn times(strides: &[u64], seed: u64, by: f64, law: impl Fn(f64, u64) -> f64) -> Vec<(u64, f64)> {
        strides.iter().map(|stride| (*stride, 5e5 * law(count(*stride), *stride) * (1.0 + by * noise(seed, *stride)))).collect()
    }

    /// Reads from these banks, of whose time conflicts add to this share.
    fn banked(banks: u64, width: u64, lanes: u64, share: f64) -> impl Fn(f64, u64) -> f64 {
        let candidate = Candidate { banks, width };
        move |_, stride| 1.0 + share * (candidate.conflict(lanes, stride) / candidate.conflict(lanes, 1) - 1.0)
    }

    #[track_caller]
    fn none_seen(lanes: u64, times: &[(u64, f64)], name: &str) {
        let found = infer(lanes, times);
        assert!(found.as_ref().is_err_and(|reason| reason.to_string().starts_with("no banks seen: ")), "{name}: {found:?}");
    }

    #[test]
    fn conflicts_are_the_known_ones() {
        let conflict = |banks, width, lanes, stride| Candidate { banks, width }.conflict(lanes, stride);
        // CUDA C++ Programming Guide: 32 banks of 4 bytes, degree is the greatest common divisor of stride and 32.
        let gcd = |stride: u64| count((1..=32).rev().find(|n| stride % n == 0 && 32 % n == 0).unwrap());
        assert!((1..=64).all(|stride| conflict(32, 4, 32, stride) == gcd(stride)));
        // 8-byte banks (Kepler's): lanes that read both halves of a word don't conflict.
        assert_eq!([1, 2, 4, 64].map(|stride| conflict(32, 8, 32, stride)), [1.0, 1.0, 2.0, 32.0]);
        // Twice as many lanes as banks take twice as long even where they follow each other.
        assert_eq!([1, 2, 32, 33].map(|stride| conflict(32, 4, 64, stride)), [2.0, 4.0, 64.0, 2.0]);
        // Fewer lanes than banks need larger strides to meet.
        assert_eq!([4, 8, 16, 32, 64].map(|stride| conflict(32, 4, 8, stride)), [1.0, 2.0, 4.0, 8.0, 8.0]);
    }

    #[test]
    fn banks_are_found_in_noisy_times() {
        let devices = [(16, 4, 32), (32, 4, 32), (32, 8, 32), (64, 4, 32), (32, 4, 64), (64, 4, 64), (16, 4, 16), (32, 4, 16)];
        for (strides, (banks, width, lanes)) in sweeps().iter().flat_map(|strides| devices.map(|device| (strides, device))) {
            for (seed, share) in (1..=6).zip([1.0, 1.0, 0.9, 0.9, 0.8, 0.6]) {
                let times = times(strides, seed, 0.05, banked(banks, width, lanes, share));
                let name = format!("{banks} x {width}, {lanes} lanes, {} strides, seed {seed}", strides.len());
                let finding = infer(lanes, &times).unwrap_or_else(|reason| panic!("{name}: {reason}"));
                assert_eq!((finding.banks(), finding.width()), (Ok(banks), Ok(width)), "{name}: {finding:?}");
            }
        }
    }

    #[test]
    fn few_lanes_show_few_banks() {
        for (strides, lanes) in sweeps().iter().flat_map(|strides| [4, 8].map(|lanes| (strides, lanes))) {
            let finding = infer(lanes, &times(strides, 1, 0.02, banked(16, 4, lanes, 1.0))).unwrap();
            assert_eq!((finding.banks(), finding.width()), (Ok(16), Ok(4)), "{finding:?}");
        }
    }

    #[test]
    fn a_start_that_something_else_limits_is_not_taken_for_more_banks() {
        for strides in sweeps() {
            let slower = banked(32, 4, 32, 1.0);
            let times = times(&strides, 1, 0.03, |s, stride| slower(s, stride).max(2.0));
            let finding = infer(32, &times).unwrap();
            // 16 banks of 8 B differ in conflicts of two lanes only, at odd strides, and these are hidden.
            let [four, eight] = [(32, 4), (16, 8)].map(|(banks, width)| Candidate { banks, width });
            assert!(finding.alike == [four, eight] || finding.alike == [eight, four], "{finding:?}");
        }
    }

    #[test]
    fn the_note_says_how_sure_it_is() {
        let finding = infer(32, &times(&FEW, 1, 0.05, banked(32, 4, 32, 0.9))).unwrap();
        assert!(finding.note.starts_with("32 banks of 4 B explain "), "{}", finding.note);
        assert!(finding.note.contains("9 strides' times (subgroups of 32 lanes); the next best, "), "{}", finding.note);
    }

    #[test]
    fn what_does_not_slow_down_has_no_banks() {
        for (strides, lanes) in sweeps().iter().flat_map(|strides| [2, 4, 8, 32, 64].map(|lanes| (strides, lanes))) {
            none_seen(lanes, &times(strides, 1, 0.0, |_, _| 1.0), "flat");
            none_seen(lanes, &times(strides, 1, 0.1, |_, _| 1.0), "flat but for noise");
            none_seen(lanes, &times(strides, 1, 0.1, banked(32, 4, 32, 0.01)), "hidden conflicts");
        }
    }

    /// Trends, caches and disturbances, as processors show them.
    #[test]
    fn what_slows_down_otherwise_has_no_banks() {
        let laws: [(&str, Law); 8] = [
            ("linear", |s, _| 1.0 + 0.1 * s),
            ("proportional", |s, _| s),
            ("root", |s, _| s.sqrt()),
            ("cliff at 16", |_, stride| if stride < 16 { 1.0 } else { 3.0 }),
            ("cliff at 32", |_, stride| if stride < 32 { 1.0 } else { 10.0 }),
            ("cliff at 64", |_, stride| if stride < 64 { 1.0 } else { 10.0 }),
            ("a cache line of 64 bytes for each lane in the end", |s, _| s.min(16.0)),
            ("faster with the stride", |s, _| 1.0 / s),
        ];
        for (strides, lanes) in sweeps().iter().flat_map(|strides| [4, 8, 16, 32, 64].map(|lanes| (strides, lanes))) {
            for (name, law) in laws {
                [0.0, 0.05].into_iter().for_each(|by| none_seen(lanes, &times(strides, 3, by, law), name));
            }
        }
    }

    #[test]
    fn one_slow_stride_is_no_bank() {
        for (strides, lanes) in sweeps().iter().flat_map(|strides| [4, 8, 32].map(|lanes| (strides, lanes))) {
            for slow in strides.iter().filter(|stride| FEW.contains(stride) || *stride % 7 == 0) {
                none_seen(
                    lanes,
                    &times(strides, 1, 0.03, |_, stride| if stride == *slow { 4.0 } else { 1.0 }),
                    "one slow stride",
                );
            }
        }
    }

    #[test]
    fn noise_alone_has_no_banks() {
        let strongly = |seed| move |_, stride| (1.2 * noise(seed, stride).powi(3)).exp();
        for seed in 0..200 {
            none_seen(8, &times(&FEW, 1, 0.05, strongly(seed)), "noise");
            none_seen(4, &times(&FEW, 1, 0.05, strongly(seed)), "noise");
        }
    }

    #[test]
    fn strides_that_can_not_tell_are_asked_for() {
        let law = banked(32, 4, 32, 1.0);
        for strides in [&[1, 2, 4, 8, 16, 32, 64, 128][..], &[2, 3, 4, 8, 16, 32, 33, 64], &[1, 3, 33], &[]] {
            let reason = infer(32, &times(strides, 1, 0.0, &law)).unwrap_err().to_string();
            assert!(reason.contains("at least 8 strides are needed") && reason.contains("--axis stride=1,2,3,4,8"), "{reason}");
        }
        let mut times = times(&FEW, 1, 0.0, law);
        assert!(infer(1, &times).unwrap_err().to_string().contains("one lane"));
        times[3].1 = 0.0;
        none_seen(32, &times, "no number");
    }

    #[test]
    fn candidates_that_predict_alike_are_all_named() {
        // Up to stride 8, sixteen banks slow down as much as 32 do.
        let finding = infer(32, &times(&[1, 2, 3, 4, 5, 6, 7, 8, 17, 19], 1, 0.0, banked(32, 4, 32, 1.0))).unwrap();
        let reason = finding.banks().unwrap_err().to_string();
        assert!(reason.contains("16 banks of 4 B") && reason.contains("32 banks of 4 B"), "{reason}");
        assert_eq!(finding.width(), Ok(4));
    }
}
