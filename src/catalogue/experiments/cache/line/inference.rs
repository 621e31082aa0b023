//! How many bytes come together, from the time of a missed word and a second one by the distance between them.
//!
//! The time is a staircase: constant up to a sector's or a line's end, higher behind it. The steps are those of the staircase
//! that is nearest to the logarithms of the times, of as many steps as the times pay for.

use crate::experiments::common::sweep::{count, mean, price, sum_of_squares};
use crate::model::NoFigure;

pub(super) const MOST_SECTORS: usize = 3;

/// Distances without which a step could be anything.
const LEAST_DISTANCES: usize = 8;
const ENOUGH: &str = "such as those of the default preset";
/// And of these, so many on each stair.
const LEAST_ON_A_STAIR: usize = 2;

/// Times vary by so much anyway: what fits better isn't believed to be better.
const VARIATION: f64 = 0.005;
/// What a step has to pay for: its place and its height.
const NUMBERS: f64 = 2.0;
/// A step is believed if it is so high, as a share of the time.
const LEAST_STEP: f64 = 0.05;
/// And if it is so many times as high as the stairs beside it are uneven, from their lowest to their highest.
const STANDS_OUT: f64 = 2.0;
/// Steps are seen if a straight line leaves so many times as much unexplained.
const MUCH: f64 = 4.0;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// Of each step, the bytes up to the end of the last word before it, and the first distance behind it.
    pub(super) sectors: Vec<(u64, u64)>,
    /// What it rests on and how sure it is.
    pub(super) note: String,
}

/// Infers sectors and lines from times by distances in bytes.
pub(super) fn infer(times: &[(u64, f64)]) -> Result<Finding, NoFigure> {
    let mut times = times.to_vec();
    times.sort_by_key(|(distance, _)| *distance);
    times.dedup_by_key(|(distance, _)| *distance);
    if times.len() < LEAST_DISTANCES {
        let why = format!("no granules to be inferred: at least {LEAST_DISTANCES} distances are needed, {ENOUGH}");
        return Err(NoFigure::TooFew(why));
    }
    if times.iter().any(|(_, time)| !(time.is_finite() && *time > 0.0)) {
        return Err("no granules seen: a time is no positive number".to_owned().into());
    }
    let logs: Vec<f64> = times.iter().map(|(_, time)| time.ln()).collect();
    let best = best(&logs);
    if best.is_empty() {
        return Err("no granules seen: the times have no step that stands out".to_owned().into());
    }
    if MUCH * unexplained(&best, &logs) > unexplained_by_a_line(&times, &logs) {
        return Err("no granules seen: a steady rise explains the times about as well".to_owned().into());
    }
    Ok(finding(&best, &times, &logs))
}

/// Where stairs begin, by the index of their first distance, but for the first stair: of all staircases whose steps stand out, the
/// one that pays best for itself.
fn best(logs: &[f64]) -> Vec<usize> {
    let mut stairs: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..MOST_SECTORS {
        let longer = stairs.iter().flat_map(|before| {
            let first = before.last().copied().unwrap_or(0) + LEAST_ON_A_STAIR;
            (first..=logs.len() - LEAST_ON_A_STAIR).map(move |next| [&before[..], &[next]].concat())
        });
        stairs = stairs.iter().cloned().chain(longer).collect();
        stairs.sort();
        stairs.dedup();
    }
    let cost = |steps: &Vec<usize>| criterion(steps, logs);
    let stand_out = |steps: &Vec<usize>| (0..steps.len()).all(|step| stands_out(steps, step, logs));
    stairs.into_iter().filter(stand_out).min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or_default()
}

/// What a staircase leaves unexplained and has to pay for: the less the better.
fn criterion(steps: &[usize], logs: &[f64]) -> f64 {
    let n = count(logs.len());
    n * (unexplained(steps, logs) / n).ln() + count(steps.len()) * price(NUMBERS, logs.len())
}

/// The logarithms of each stair.
fn stairs<'a>(steps: &'a [usize], logs: &'a [f64]) -> impl Iterator<Item = &'a [f64]> {
    let ends = steps.iter().copied().chain([logs.len()]);
    [0].into_iter().chain(steps.iter().copied()).zip(ends).map(|(first, end)| &logs[first..end])
}

/// What a staircase leaves unexplained, but no less than times vary anyway.
fn unexplained(steps: &[usize], logs: &[f64]) -> f64 {
    stairs(steps, logs).map(sum_of_squares).sum::<f64>().max(VARIATION * VARIATION * count(logs.len()))
}

/// Whether a step leads up, by enough, and by more than both its stairs are uneven.
fn stands_out(steps: &[usize], step: usize, logs: &[f64]) -> bool {
    let stairs: Vec<&[f64]> = stairs(steps, logs).collect();
    let (before, behind) = (stairs[step], stairs[step + 1]);
    let height = mean(behind) - mean(before);
    height >= LEAST_STEP && height >= STANDS_OUT * unevenness(before).max(unevenness(behind))
}

fn unevenness(stair: &[f64]) -> f64 {
    stair.iter().copied().fold(f64::NEG_INFINITY, f64::max) - stair.iter().copied().fold(f64::INFINITY, f64::min)
}

/// What a straight line in the logarithm of the distance, or in the distance itself, leaves unexplained.
fn unexplained_by_a_line(times: &[(u64, f64)], logs: &[f64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "distances are small")]
    let distances = || times.iter().map(|(distance, _)| *distance as f64);
    let scales: [Vec<f64>; 2] = [distances().map(f64::ln).collect(), distances().collect()];
    scales.iter().map(|x| unexplained_by(x, logs)).fold(f64::INFINITY, f64::min)
}

fn unexplained_by(x: &[f64], y: &[f64]) -> f64 {
    let (x_mean, y_mean) = (mean(x), mean(y));
    let products: f64 = x.iter().zip(y).map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    sum_of_squares(y) - products * products / sum_of_squares(x)
}

fn finding(steps: &[usize], times: &[(u64, f64)], logs: &[f64]) -> Finding {
    let sector = |step: &usize| (times[step - 1].0 + 4, times[*step].0);
    let stairs: Vec<&[f64]> = stairs(steps, logs).collect();
    let rises: Vec<String> = stairs.windows(2).map(|pair| format!("{:.2}", (mean(pair[1]) - mean(pair[0])).exp())).collect();
    let uneven = stairs.iter().map(|stair| unevenness(stair)).fold(0.0, f64::max);
    let note = format!(
        "of {} distances, each step takes {} times as long as the one before; on a stair, times differ by up to {:.1} %",
        times.len(),
        rises.join(", "),
        100.0 * uneven.exp_m1()
    );
    Finding { sectors: steps.iter().map(sector).collect(), note }
}

#[cfg(test)]
mod tests {
    use super::super::DISTANCES;
    use super::*;
    use crate::experiments::common::sweep::Noise;

    /// A time by the distance.
    type Law = fn(f64) -> f64;

    fn times(seed: u64, by: f64, law: impl Fn(f64) -> f64) -> Vec<(u64, f64)> {
        let mut noise = Noise::new(seed);
        #[expect(clippy::cast_precision_loss, reason = "distances are small")]
        DISTANCES.map(|distance| (distance, law(distance as f64) * (1.0 + by * noise.uniform()))).to_vec()
    }

    /// Granules of so many bytes, and what a second word beyond each takes.
    fn staircase(first: f64, sectors: &[(f64, f64)]) -> impl Fn(f64) -> f64 {
        move |distance| sectors.iter().rev().find(|(bytes, _)| distance >= *bytes).map_or(first, |(_, time)| *time)
    }

    #[track_caller]
    fn none_seen(times: &[(u64, f64)], name: &str) {
        let found = infer(times);
        assert!(found.as_ref().is_err_and(|reason| reason.to_string().starts_with("no granules seen: ")), "{name}: {found:?}");
    }

    #[test]
    fn steps_are_found_in_noisy_times() {
        let devices: [&[(f64, f64)]; 6] = [
            &[(32.0, 800.0), (64.0, 1100.0)],
            &[(64.0, 1150.0)],
            &[(128.0, 900.0)],
            &[(32.0, 760.0), (128.0, 1100.0)],
            &[(32.0, 760.0), (64.0, 900.0), (128.0, 1100.0)],
            &[(16.0, 700.0), (512.0, 1000.0)],
        ];
        for sectors in devices {
            for (seed, by) in (1..=4).zip([0.0, 0.01, 0.02, 0.02]) {
                let finding = infer(&times(seed, by, staircase(620.0, sectors)));
                let finding = finding.unwrap_or_else(|reason| panic!("{sectors:?}, noise {by}: {reason}"));
                #[expect(clippy::cast_precision_loss, reason = "distances are small")]
                let found: Vec<f64> = finding.sectors.iter().map(|(_, bytes)| *bytes as f64).collect();
                assert_eq!(found, sectors.iter().map(|(bytes, _)| *bytes).collect::<Vec<_>>(), "noise {by}: {finding:?}");
                assert!(finding.sectors.iter().all(|(low, high)| low <= high && high < &(2 * low)), "{finding:?}");
            }
        }
    }

    #[test]
    fn what_has_no_steps_has_no_sectors() {
        let laws: [(&str, Law); 6] = [
            ("flat", |_| 600.0),
            ("linear", |distance| 600.0 + distance),
            ("logarithmic", |distance| 600.0 + 100.0 * distance.log2()),
            ("a power", |distance| 500.0 * distance.powf(0.2)),
            ("falling", |distance| 1000.0 - 50.0 * distance.log2()),
            ("a step down", |distance| if distance < 64.0 { 900.0 } else { 600.0 }),
        ];
        for (name, law) in laws {
            for (seed, by) in (1..=4).zip([0.0, 0.01, 0.02, 0.05]) {
                none_seen(&times(seed, by, law), &format!("{name}, noise {by}"));
            }
        }
    }

    #[test]
    fn noise_and_outliers_are_no_steps() {
        for seed in 0..100 {
            none_seen(&times(seed, 0.05, |_| 600.0), "noise");
            none_seen(&times(seed, 0.3, |_| 600.0), "much noise");
        }
        for outlier in [0, 5, 12, 25] {
            for factor in [0.5, 2.0] {
                let mut times = times(1, 0.01, |_| 600.0);
                times[outlier].1 *= factor;
                none_seen(&times, "an outlier");
            }
        }
    }

    #[test]
    fn too_few_distances_tell_nothing() {
        let times = times(1, 0.0, staircase(600.0, &[(32.0, 800.0)]));
        assert!(infer(&times[..7]).unwrap_err().to_string().contains("at least 8 distances"));
        assert!(infer(&[]).unwrap_err().to_string().contains("at least 8 distances"));
        let mut broken = times;
        broken[3].1 = f64::NAN;
        none_seen(&broken, "no number");
    }
}
