//! The samples of a curve: how much they vary, which of them stand alone, and where the curve bends upwards.

use super::piece::Piece;
use super::{CLEARLY, LEAST_RISE};
use crate::model::NoFigure;

/// Sizes without which there are no two stretches to be told from each other.
const LEAST_SIZES: usize = 2 * Piece::LEAST;

/// The least standard deviation, as a share: two of them are the noise of one percent at which the default preset stops measuring.
const LEAST_VARIATION: f64 = 0.005;

#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// The binary logarithm of the size.
    pub(super) size: f64,
    pub(super) cost: f64,
    pub(super) deviation: f64,
}

/// The samples by rising size, without outliers.
pub(super) fn samples(curve: &[(u64, f64)]) -> Result<Vec<Sample>, NoFigure> {
    #[expect(clippy::cast_precision_loss, reason = "a size needs no 53 bits")]
    let mut points: Vec<(f64, f64)> = curve.iter().map(|(size, cost)| ((*size as f64).log2(), *cost)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 == b.0);
    if points.len() < LEAST_SIZES {
        return Err(too_few());
    }
    if points.iter().any(|(_, cost)| !(cost.is_finite() && *cost > 0.0)) {
        return Err("no levels seen: a figure is no positive number".to_owned().into());
    }
    let variation = variation(&points);
    if variation > LEAST_RISE - 1.0 {
        return Err(format!("no levels seen: the figures vary by {:.0} % from size to size", 100.0 * variation).into());
    }
    let points = without_outliers(points, variation);
    if points.len() < LEAST_SIZES {
        return Err(too_few());
    }
    // Of the sample itself the deviation would make low samples count more than high ones.
    let typical = |i: usize| median([i.saturating_sub(1), i, (i + 1).min(points.len() - 1)].map(|i| points[i].1));
    let sample = |i: usize| Sample { size: points[i].0, cost: points[i].1, deviation: variation * typical(i) };
    Ok((0..points.len()).map(sample).collect())
}

fn too_few() -> NoFigure {
    let why = format!("no levels to be inferred: at least {LEAST_SIZES} sizes are needed, such as those of the default preset");
    NoFigure::TooFew(why)
}

fn median<const N: usize>(mut values: [f64; N]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[N / 2]
}

/// The standard deviation as a share of the cost: from the median of how far samples lie from between their neighbours, which the
/// few that lie on steps don't move.
fn variation(points: &[(f64, f64)]) -> f64 {
    let aside = |three: &[(f64, f64)]| {
        let share = (three[1].0 - three[0].0) / (three[2].0 - three[0].0);
        let between = three[0].1 + share * (three[2].1 - three[0].1);
        let spread = (1.0 + share.powi(2) + (1.0 - share).powi(2)).sqrt();
        (three[1].1 / between - 1.0).abs() / spread
    };
    let mut aside: Vec<f64> = points.windows(3).map(aside).collect();
    aside.sort_by(f64::total_cmp);
    // A normal deviate is as often below 0.6745 standard deviations as above.
    (aside[aside.len() / 2] / 0.6745).max(LEAST_VARIATION)
}

/// Those that don't stand alone above or below both of their neighbours, by what two samples differ clearly.
fn without_outliers(points: Vec<(f64, f64)>, variation: f64) -> Vec<(f64, f64)> {
    let far = 1.0 + 2.0 * CLEARLY * variation;
    let stands_alone = |i: usize| {
        let three = i.checked_sub(1).and_then(|first| points.get(first..first + 3));
        three.is_some_and(|three| {
            let [before, own, behind] = [three[0].1, three[1].1, three[2].1];
            own > before.max(behind) * far || own * far < before.min(behind)
        })
    };
    let kept: Vec<bool> = (0..points.len()).map(|i| !stands_alone(i)).collect();
    points.into_iter().zip(kept).filter_map(|(point, kept)| kept.then_some(point)).collect()
}

/// How surely the curve bends upwards at a sample, in standard deviations: the change of its slope there, over as many samples to
/// either side as show it best, at most an octave of them.
pub(super) fn bend(samples: &[Sample], at: usize) -> f64 {
    let within = |reach: &usize| samples[at + reach].size - samples[at].size <= 1.0 + 1e-9;
    let room = at.min(samples.len() - 1 - at);
    // Two at least: of one sample to either side, the one that deviates makes a bend.
    let most = (2..=room).take_while(within).last().unwrap_or(2).min(room);
    let certainty = |reach: usize| {
        let window = &samples[at - reach..=at + reach];
        let mut factors = vec![0.0; window.len()];
        slope(&window[..=reach]).zip(&mut factors).for_each(|(factor, sum)| *sum -= factor);
        slope(&window[reach..]).zip(&mut factors[reach..]).for_each(|(factor, sum)| *sum += factor);
        let change: f64 = factors.iter().zip(window).map(|(factor, sample)| factor * sample.cost).sum();
        let variance: f64 = factors.iter().zip(window).map(|(factor, sample)| (factor * sample.deviation).powi(2)).sum();
        change / variance.sqrt()
    };
    (2..=most).map(certainty).fold(0.0, f64::max)
}

/// The factors of the costs whose sum is the slope of a straight line through them.
fn slope(part: &[Sample]) -> impl Iterator<Item = f64> {
    let mean = part.iter().map(|sample| sample.size).sum::<f64>() / super::count(part.len());
    let squares: f64 = part.iter().map(|sample| (sample.size - mean).powi(2)).sum();
    part.iter().map(move |sample| (sample.size - mean) / squares)
}
