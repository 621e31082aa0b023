//! The weights of a blur along an axis: whole numbers, so that the twin's sums are exact.

use std::f64::consts::E;

use super::Rung;
use crate::model::{Contents, Data, Resource};
use crate::validate::Near;

/// What a Gaussian's weights add up to: a power of two, so that each is an exact `f32` after the division. The sum over both axes, of
/// bytes, is below 2^32.
const GAUSSIAN_TOTAL: u32 = 1 << 12;

/// Taps that kernels have room for, as the shader has them.
const MOST_TAPS: usize = 129;

const MOST: f64 = 255.0;

/// What rounding a colour between 0 and 1 to `f16` may move it by, in steps of bytes: below 1, neighbours are at most 2^-11 apart, and
/// Vulkan leaves to devices which of them they take.
const OF_HALF: f64 = MOST / 2048.0;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    /// The weights of all taps, from one end to the other.
    pub(super) weights: Vec<u32>,
}

impl Filter {
    /// One of this radius, of 0 one that changes nothing: a box, or a Gaussian that ends at twice its standard deviation.
    pub(super) fn new(is_box: bool, radius: u32) -> Self {
        Self { weights: if is_box { vec![1; taps(radius)] } else { gaussian(radius) } }
    }

    pub(super) fn taps(&self) -> u64 {
        self.weights.len() as u64
    }

    /// What they add up to.
    pub(super) fn total(&self) -> u32 {
        self.weights.iter().sum()
    }

    /// What kernels know of it: for each tap its weight, that of it and the next one together, and how far between the two a linear filter
    /// has to sample.
    pub(super) fn resource(&self) -> Resource {
        let total = f64::from(self.total());
        let weight = |tap: usize| self.weights.get(tap).copied().map_or(0.0, f64::from);
        let tap = |tap: usize| {
            let both = weight(tap) + weight(tap + 1);
            let between = if both > 0.0 { weight(tap + 1) / both } else { 0.0 };
            [weight(tap) / total, both / total, between, 0.0]
        };
        let mut bytes = Vec::new();
        for value in (0..MOST_TAPS).flat_map(tap) {
            #[expect(clippy::cast_possible_truncation, reason = "as near as f32 comes")]
            bytes.extend_from_slice(&(value as f32).to_ne_bytes());
        }
        Resource::words("filter", bytes.len() as u64 / 4, Contents::Data(Data::new(bytes)))
    }

    /// How far a variant's byte may be from the exact one.
    ///
    /// An image of bytes takes one of the two nearest, and Vulkan leaves to devices which of them: a step. To that comes what is off
    /// before (Vulkan, Conversion From Floating-Point to Normalized Fixed-Point; an H100 takes the farther one where both are nearly as near). Along each axis a sum in `f32` rounds with
    /// each of its products and sums, and none of them is larger than 1 after the division. A running sum goes on from what it has, and
    /// each of its steps adds one and takes one off.
    pub(super) fn error(&self, rung: Rung, segment: u64) -> f64 {
        let of_axis = if rung == Rung::Running { self.taps() + 2 * segment } else { 2 * self.taps() };
        // A fetch, a division of the weights, and whatever else there is once.
        let rounded = Near { value: 0.0, error: 0.0 }.rounded(2 * (of_axis + 8), MOST).error;
        let stored_as_halves = if rung == Rung::Naive { 0.0 } else { OF_HALF };
        let of_sampler = if rung == Rung::Filtered { samplers() } else { 0.0 };
        1.0 + rounded + stored_as_halves + of_sampler
    }
}

/// What two samplers may be off by: they weigh by fractions of eight bits, which may be off by the last of them, along both axes of each
/// sample. Bytes may be rounded to bytes after either axis, and halves to halves.
fn samplers() -> f64 {
    let of_fractions = 2.0 * MOST / 256.0;
    let of_bytes = of_fractions + 2.0 * 0.5;
    let of_halves = of_fractions + 2.0 * OF_HALF;
    of_bytes + of_halves
}

fn taps(radius: u32) -> usize {
    2 * radius as usize + 1
}

/// Rounded to whole numbers, but for the one in the middle, which has what is left.
fn gaussian(radius: u32) -> Vec<u32> {
    // Of a radius of 0, whatever it is: there is one tap.
    let deviation = f64::from(radius.max(1)) / 2.0;
    let density = |tap: usize| E.powf(-((tap as f64 - f64::from(radius)) / deviation).powi(2) / 2.0);
    let all: f64 = (0..taps(radius)).map(density).sum();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the total")]
    let mut weights: Vec<u32> =
        (0..taps(radius)).map(|tap| (f64::from(GAUSSIAN_TOTAL) * density(tap) / all).round() as u32).collect();
    let middle = radius as usize;
    let others: u32 = weights.iter().sum::<u32>() - weights[middle];
    weights[middle] = GAUSSIAN_TOTAL - others;
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gaussian_is_even_falls_to_both_sides_and_adds_up() {
        for radius in 0..=64 {
            let Filter { weights } = Filter::new(false, radius);
            let middle = radius as usize;
            assert_eq!(weights.iter().sum::<u32>(), GAUSSIAN_TOTAL);
            assert!(weights.iter().eq(weights.iter().rev()), "{weights:?}");
            // What is left to the one in the middle may make it a little too small.
            assert!(weights[..middle].is_sorted(), "{weights:?}");
            assert!(weights[..middle].last().is_none_or(|next| weights[middle] + 64 > *next), "{weights:?}");
            assert!(weights[0] > 0, "{weights:?}");
        }
    }

    #[test]
    fn sums_over_both_axes_fit_into_words() {
        for filter in [Filter::new(false, 64), Filter::new(true, 64)] {
            assert!(u64::from(filter.total()).pow(2) * 255 <= u32::MAX.into());
        }
        assert_eq!(Filter::new(true, 3).weights, [1; 7]);
    }

    /// A bound that is far too wide would find nothing.
    #[test]
    fn bytes_are_off_by_little_more_than_a_step_unless_a_sampler_mixes() {
        for rung in Rung::ALL.iter().filter(|rung| **rung != Rung::Filtered) {
            let error = Filter::new(true, 16).error(*rung, 256);
            assert!((1.0..1.25).contains(&error), "{rung:?}: {error}");
        }
        assert!(Filter::new(false, 16).error(Rung::Filtered, 256) < 6.5);
    }

    #[test]
    fn pairs_weigh_what_their_taps_do() {
        let filter = Filter::new(false, 3);
        let Contents::Data(data) = filter.resource().contents else { panic!("no data") };
        let floats: Vec<f32> = data.bytes().chunks_exact(4).map(|four| f32::from_ne_bytes(four.try_into().unwrap())).collect();
        assert_eq!(floats.len(), 4 * MOST_TAPS);
        let pairs: f32 = (0..7).step_by(2).map(|tap| floats[4 * tap + 1]).sum();
        assert!((pairs - 1.0).abs() < 1e-6, "{pairs}");
        for tap in (0..7).step_by(2) {
            let [own, both, between] = [0, 1, 2].map(|at| floats[4 * tap + at]);
            assert!((both * (1.0 - between) - own).abs() < 1e-6, "{tap}");
        }
    }
}
